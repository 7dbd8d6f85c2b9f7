"""Both sides of the least norm on a line in exact arithmetic, from what floats suggest.

Above: slopes at the inputs make an interpolant, whatever they are; neurons make one with what they
leave of the labels added. Below: multipliers. For λ on the samples let ψ(t) = Σλ_i(x_i − t)₊ and
m(t) = Σλ_i(x_i − t) = M₁ − M₀t: neurons (x−t)₊/ρ(t) gain ψ/ρ and (t−x)₊/ρ(t) gain (ψ − m)/ρ, with ρ
= √(1+t²), or one where biases are free. If no gain is above κ, Σλ_iy_i ≤ κ·norm for every
interpolant. ψ is linear between inputs, ψ(x_0) = m(x_0) and ψ(x_{n−1}) = 0; with a free affine part
m = 0.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._numerics.exact_sums import root_sum_bounds, rounded_down, sum_bounds
from .line_samples import LineSamples

ZERO = Fraction(0)


class Kink(NamedTuple):
    """f′ grows by `jump` at t, where f is `value`."""

    t: Fraction
    jump: Fraction
    value: Fraction


def kinks_of(samples: LineSamples, slopes: tuple[Fraction, ...]) -> list[Kink]:
    """The interpolant with these slopes at the inputs, one kink between two of them where that is
    possible, at inputs else; it begins with the first slope."""
    found: dict[Fraction, Kink] = {}
    for i, s in enumerate(samples.slopes):
        p, q = slopes[i] - s, slopes[i + 1] - s
        (begin, end), (first, last) = samples.x[i : i + 2], samples.y[i : i + 2]
        if p * q < 0:
            t = begin + (end - begin) * q / (q - p)
            pairs = [Kink(t, q - p, first + slopes[i] * (t - begin))]
        else:
            pairs = [Kink(begin, -p, first), Kink(end, q, last)]
        for t, jump, value in pairs:
            before = found[t].jump if t in found else ZERO
            found[t] = Kink(t, before + jump, value)
    return [found[t] for t in sorted(found) if found[t].jump]


def length_bounds(kinks: list[Kink]) -> tuple[Fraction, Fraction]:
    """Around Σ|k_i|√(1+t_i²)."""
    return root_sum_bounds([kink.jump**2 * (1 + kink.t**2) for kink in kinks])


@dataclass(frozen=True, eq=False)
class Multipliers:
    """ψ at the inputs (n,), M₀ and M₁; what they prove of samples."""

    psi: tuple[Fraction, ...]
    m0: Fraction
    m1: Fraction

    def proven(self, samples: LineSamples, penalise_bias: bool) -> float:
        """A lower bound on the norm of every interpolant."""
        terms = [self.psi[i] * bend for i, bend in enumerate(samples.bends) if bend]
        terms.append(self.m0 * samples.y[0])
        if samples.slopes:
            terms.append(self._line(samples.x[0]) * samples.slopes[0])
        value, square = sum_bounds(terms)[0], self._gain(samples, penalise_bias)
        if value <= 0 or not square:
            return 0.0
        return rounded_down(value / root_sum_bounds([square])[1] if square > 1 else value)

    def _line(self, t: Fraction) -> Fraction:
        return self.m1 - self.m0 * t

    def _gain(self, samples: LineSamples, penalise_bias: bool) -> Fraction:
        """The square of the largest gain."""
        x, ends = samples.x, (samples.x[0], samples.x[-1])
        if not penalise_bias:  # M₀ is zero: constants are free
            gains = [(psi, psi - self.m1) for psi in self.psi]
            return max(max(one**2, other**2) for one, other in gains)
        opposed = [psi - self._line(t) for psi, t in zip(self.psi, x, strict=True)]
        squares = [self._line(t) ** 2 / (1 + t**2) for t in ends] + [self.m0**2]
        if not self.m1 or not ends[0] < -self.m0 / self.m1 < ends[1]:
            squares.append(self.m0**2 + self.m1**2)
        sides = [self.psi] if not (self.m0 or self.m1) else [self.psi, tuple(opposed)]
        for values in sides:
            squares += [
                largest_gain(*piece)
                for piece in zip(x[:-1], x[1:], values[:-1], values[1:], strict=True)
            ]
        return max(squares)


def largest_gain(x: Fraction, z: Fraction, at_x: Fraction, at_z: Fraction) -> Fraction:
    """max ψ²/(1+t²) on [x, z] for ψ linear with these ends: ψ = a + bt is largest against √(1+t²)
    at t = b/a."""
    b = (at_z - at_x) / (z - x)
    a = at_x - b * x
    if a and x < b / a < z:
        return a**2 + b**2
    return max(at_x**2 / (1 + x**2), at_z**2 / (1 + z**2))


def multipliers_of_path(samples: LineSamples, tightness: Array) -> Multipliers:
    """ψ from a taut path: where labels do not bend, as small as its neighbours allow."""
    x = samples.x
    psi: list[Fraction | None] = [
        None if np.isnan(share) else Fraction(float(share)) * root_sum_bounds([1 + t**2])[0]
        for share, t in zip(tightness, x, strict=True)
    ]
    for i, z in itertools.pairwise(range(samples.n)):
        if x[i] < 0 < x[z] and (psi[i] is None) != (psi[z] is None):
            known, unknown = (i, z) if psi[z] is None else (z, i)
            psi[unknown] = _nearest_to_zero(x[known], psi[known] or ZERO, x[unknown])
    return Multipliers(tuple(value or ZERO for value in psi), ZERO, ZERO)


HALVINGS = 80
"""Of a range of multipliers: beyond the digits of a float."""


def _nearest_to_zero(x: Fraction, at_x: Fraction, z: Fraction) -> Fraction:
    """The smallest ψ(z) with |ψ| ≤ √(1+t²) from x to z. Zero, or on the other side of it: between
    zero and −ψ(x)·√…, by halving."""

    def fits(at_z: Fraction) -> bool:
        pieces = (x, z, at_x, at_z) if x < z else (z, x, at_z, at_x)
        return largest_gain(*pieces) <= max(Fraction(1), at_x**2 / (1 + x**2))

    if fits(ZERO):
        return ZERO
    reach = root_sum_bounds([1 + z**2])[0]
    none, far = ZERO, -reach if at_x > 0 else reach
    for _ in range(HALVINGS):
        middle = (none + far) / 2
        none, far = (none, middle) if fits(middle) else (middle, far)
    return far
