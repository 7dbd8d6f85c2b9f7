"""All interpolants of least ∫|f″|, where biases are free: a closed form, and a set.

f′ has to pass the chords' slopes in their order, which costs T = Σ|s_i − s_{i−1}| and no more if
and only if it moves from each to the next without a detour (Debarre et al. 2022; Hanin 2021). So f
is a chord wherever labels change between convex and concave, and any convex function through the
samples where they bend up: its slopes stay between those of the chords around. Without an affine
part the norm is max(∫|f″|, |f′(−∞) + f′(∞)|) (Savarese et al. 2019). If A = |s_0 + s_{n−2}| is
above T, slopes may fall at both ends, in all by (A − T)/2, and the least norm is (A + T)/2.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ..._numerics.exact_sums import sign_of_sum, sum_bounds
from .line_proofs import Kink, Multipliers
from .line_samples import LineSamples

ZERO = Fraction(0)


class Bend(NamedTuple):
    """From start to stop, possibly infinite, every function that bends one way and passes through
    the samples belongs to a minimiser: convex ones where sign is 1, concave ones where it is −1.
    Its slopes stay between those at start and stop, which all minimisers share unless infinite."""

    start: float
    stop: float
    sign: int


@dataclass(frozen=True, eq=False)
class FreeBends:
    """spare: (A − T)/2 or zero, how much the slopes may change at both ends together; lean: the
    sign of s_0 + s_{n−2} where it is not zero. value: bounds of the least norm."""

    samples: LineSamples
    spare: Fraction
    lean: int
    value: tuple[Fraction, Fraction]

    @property
    def multipliers(self) -> Multipliers:
        """ψ = ±1 where labels bend, or half of that and ½ where the ends count."""
        signs = [Fraction(sign) for sign in self.samples.signs]
        if not self.lean:
            return Multipliers(tuple(signs), ZERO, ZERO)
        m = Fraction(self.lean)
        inner = [(sign + m) / 2 for sign in signs[1:-1]]
        return Multipliers((m, *inner, ZERO), ZERO, m)

    @property
    def signs(self) -> list[int]:
        """Those of the labels, and at both ends those of what may be spared there."""
        signs = self.samples.signs
        return [self.lean, *signs[1:-1], -self.lean] if self.lean else signs

    def free_pieces(self) -> list[tuple[int, int]]:
        """(i, sign) of pieces from x_i to x_{i+1} on which f need not be the chord."""
        if self.samples.n < 3:
            return []
        signs = self.signs
        return [
            (i, one)
            for i, (one, other) in enumerate(itertools.pairwise(signs))
            if one == other and one
        ]

    def bends(self) -> tuple[Bend, ...]:
        """Where there is a choice."""
        x = [float(t) for t in self.samples.x]
        found: list[Bend] = []
        for i, sign in self.free_pieces():
            if found and found[-1].stop == x[i] and found[-1].sign == sign:
                found[-1] = found[-1]._replace(stop=x[i + 1])
            else:
                found.append(Bend(x[i], x[i + 1], sign))
        if self.lean:
            begin, end = Bend(-float("inf"), x[0], self.lean), Bend(x[-1], float("inf"), -self.lean)
            if found and found[0].start == x[0]:
                found[0] = found[0]._replace(start=begin.start)
            else:
                found.insert(0, begin)
            if found[-1].stop == x[-1] and found[-1].sign == end.sign:
                found[-1] = found[-1]._replace(stop=end.stop)
            else:
                found.append(end)
        return tuple(found)

    def sparsest(self) -> tuple[list[Kink], Fraction, Fraction]:
        """A minimiser with the fewest kinks, and its outer slopes: every second chord of a run of r
        bends and its two outer chords, ⌈r/2⌉ kinks. What is to be spared at an end takes no
        kink more where the run there has an odd number."""
        samples, x, slopes = self.samples, self.samples.x, self.samples.slopes
        runs = [
            list(own)
            for sign, own in itertools.groupby(
                range(1, samples.n - 1), key=samples.signs.__getitem__
            )
            if sign
        ]
        change = self.lean * self.spare
        at_left = bool(runs) and self._joins(runs[0], self.lean)
        at_right = bool(runs) and not at_left and self._joins(runs[-1], -self.lean)
        kinks: list[Kink] = []
        if self.lean and not at_left and not at_right:
            kinks.append(Kink(x[0], change, samples.y[0]))
        for run in runs:
            lines = [(slopes[i], i) for i in range(run[0] - 1, run[-1] + 1)]
            chosen = lines[:-1:2] + lines[-1:]
            if at_left and run is runs[0]:  # through x_0 alone, then every second chord
                chosen = [(slopes[0] - change, 0), *lines[1::2]]
            if at_right and run is runs[-1]:
                chosen = [*lines[:-1:2], (slopes[-1] - change, samples.n - 1)]
            kinks += [_meet(samples, *pair) for pair in itertools.pairwise(chosen)]
        first = slopes[0] - change if self.lean and not at_right else slopes[0]
        last = slopes[-1] - change if at_right else slopes[-1]
        return kinks, first, last

    def _joins(self, run: list[int], sign: int) -> bool:
        """Whether a run of an odd number of bends reaches an end with the sign spared there."""
        reached = run[0] == 1 if sign == self.lean else run[-1] == self.samples.n - 2
        own = self.samples.signs[run[0]] == sign
        return bool(self.lean) and reached and own and len(run) % 2 == 1


def _meet(samples: LineSamples, one: tuple[Fraction, int], other: tuple[Fraction, int]) -> Kink:
    """Where two lines meet, each a slope and the sample it passes through."""
    (a, i), (b, j) = one, other
    left, right = samples.y[i] - a * samples.x[i], samples.y[j] - b * samples.x[j]
    t = (left - right) / (b - a)
    return Kink(t, b - a, left + a * t)


def free_bends(samples: LineSamples, skip: bool) -> FreeBends:
    """What is known of all minimisers, in rationals."""
    variation = samples.variation
    low, high = sum_bounds(variation)
    if skip or samples.n < 2:
        return FreeBends(samples, ZERO, 0, (low, high))
    outer = samples.outer
    if sign_of_sum([abs(outer), *(-one for one in variation)]) <= 0:
        return FreeBends(samples, ZERO, 0, (low, high))
    spare = sum_bounds([abs(outer) / 2, *(-one / 2 for one in variation)])[0]
    lean = 1 if outer > 0 else -1
    return FreeBends(samples, spare, lean, ((abs(outer) + low) / 2, (abs(outer) + high) / 2))
