"""The arc-cosine Gram matrix of labelled inputs to any number of digits, and the F2 margin from it.

With a = (x, 1), b = (x', 1), c = ⟨a, b⟩ and s = √(‖a‖²‖b‖² − c²) the kernels of `arc_cosine_kernel`
are (s + (π−θ)c)/(2πp) and (3sc + (π−θ)(‖a‖²‖b‖² + 2c²))/(2πp(p+2)), π − θ the angle of (−c, s).
Products of floats are integers up to a power of two: c and s² are known without rounding, however
close the inputs are or far from the origin; one root and one angle are left to round.

A margin is never zero but for equal inputs of opposite labels: distinct inputs give rays (x, 1) of
distinct directions, none opposite, whose functions (⟨·, a⟩)₊ have their kinks on distinct
hyperplanes and are therefore linearly independent.

The float64 matrix of `arc_cosine_kernel` proposes weights. Its entries are good to (16d + 80)
roundings, relative to √(k_iik_jj): with p = d + 1 unit vectors to (p/2 + 2) roundings, hence θ to
(5.2p + 18), which the shapes of both kernels multiply by at most 1.2 of their value at θ = 0, and
lengths to (2p + 8); twice the sum of these first-order terms.
"""

from __future__ import annotations

import time
from math import isqrt
from typing import Any

import numpy as np
from mpmath import libmp
from mpmath.libmp.libelefun import ATAN_TAYLOR_PREC, atan_newton, atan_taylor

from ..._core.arguments import Array, Index
from ..._numerics.exact_sums import exact_gram
from ...models import augmented
from ..hard_margins import EXACT, UNIT, measured_in_floats, nearest_weights
from ..hull import (
    FEWEST,
    GAP,
    MOST_BITS,
    Corners,
    HullBracket,
    better,
    measured,
    proposal,
    searched,
    searched_near,
)
from .kernel_classifiers import kernel_in_floats

SPARE = 128
"""Bits beyond those that the closest pair of opposite labels cancels."""
SLACK = 2
"""The entries are good to SLACK² of their last bit: one is lost in truncation, below one to the
rounding of root and angle."""
INTEGERS_S = 8e-7
"""Seconds for each entry in which the Gram matrix of the inputs is made in integers."""
EXTRA = 10
"""Bits to which root and angle are worked out beyond the last one kept."""
GUARD = 30
"""Bits for the rounding inside an angle, as mpmath keeps for its own."""


AFFORDED = 50_000
"""Entries that are worked out to many digits whatever float64 found, about a second's work; with
more, a gap of EXACT will do."""


class ArcCosineGram:
    """y_iy_jk(x_i, x_j) in fixed point, entry by entry as it is asked for."""

    def __init__(self, X: Array, y: Array, activation: str) -> None:
        rows = augmented(X)
        gram = exact_gram(rows)
        self.gram, self.y, self.squared = (
            gram.entries,
            y.astype(np.int64).astype(object),
            activation == "squared_relu",
        )
        self.n, p = rows.shape
        power = 2 if self.squared else 1
        self.top = power * int(np.max(np.diagonal(self.gram))).bit_length() + 2 * power
        self.exponent = power * gram.exponent
        self.constant = 2 * p * (p + 2) if self.squared else 2 * p
        self.bits = 0
        self._start(max(FEWEST, SPARE + 2 * self._cancelled()))

    def _cancelled(self) -> int:
        """Bits of 1/sin³θ for the closest pair of opposite labels: what is left of the kernel where
        θ is small."""
        signs = self.y > 0
        cosines = self.gram[np.ix_(signs, ~signs)]
        if cosines.size == 0:
            return 0
        squares = np.multiply.outer(np.diagonal(self.gram)[signs], np.diagonal(self.gram)[~signs])
        ratios = squares // np.maximum(squares - cosines**2, 1)
        return 3 * int(np.max(ratios)).bit_length() // 2

    def _start(self, bits: int) -> None:
        self.bits = bits
        self.entries: Any = np.full((self.n, self.n), None, dtype=object)

    def refine(self) -> bool:
        """Twice the digits, if that is not too many."""
        if 2 * self.bits > MOST_BITS:
            return False
        self._start(2 * self.bits)
        return True

    def corners(self, support: Index, deadline: float) -> Corners | None:
        """With the columns of the support filled in; None when time ran out."""
        for j in support:
            if time.monotonic() > deadline:
                return None
            for i in range(self.n):
                if self.entries[i, j] is None:
                    self.entries[i, j] = self.entries[j, i] = self._entry(i, int(j))
        divisor = libmp.mpf_mul_int(libmp.mpf_pi(self.bits), self.constant, self.bits)
        slack = np.full(self.n, SLACK, dtype=object)
        return Corners(self.entries, slack, self.exponent + self.top - self.bits, divisor)

    def _entry(self, i: int, j: int) -> int:
        """In whole numbers: the angle to `places` bits behind its point, the root to as many beyond
        the size of the largest product."""
        places, c, squares = (
            self.bits + EXTRA,
            int(self.gram[i, j]),
            int(self.gram[i, i] * self.gram[j, j]),
        )
        if c == 0 and squares == 0:
            return 0
        size = self.top // 2 if self.squared else self.top
        sine = isqrt(_shifted(squares - c * c, 2 * (places - size)))
        angle = _angle(_shifted(-c, places - size), sine, places)
        flat, bent = (3 * c * sine, squares + 2 * c * c) if self.squared else (sine, c)
        value = (flat << size) + angle * bent
        return (value >> EXTRA + self.top) * int(self.y[i] * self.y[j])


def _shifted(number: int, bits: int) -> int:
    return number << bits if bits >= 0 else number >> -bits


def _angle(x: int, y: int, places: int) -> int:
    """2^places times the angle of (x, y), y ≥ 0, to a unit."""
    bits = places + GUARD
    smaller, larger = sorted((abs(x), y))
    ratio = (smaller << bits) // larger if larger else 0
    turn = int(atan_taylor(ratio, bits) if bits < ATAN_TAYLOR_PREC else atan_newton(ratio, bits))
    quarter = int(libmp.pi_fixed(bits)) >> 1
    acute = turn if y <= abs(x) else quarter - turn
    return (acute if x > 0 else 2 * quarter - acute) >> GUARD


def f2_bracket(X: Array, y: Array, activation: str, deadline: float) -> HullBracket:
    """Bracket of γ₂ from weights that float64 proposes on its kernel matrix, then from ones
    searched for in ever more digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        kernel = kernel_in_floats(X, None, activation)
    if not np.all(np.isfinite(kernel)):
        best = HullBracket(np.full(y.size, 1 / y.size), 0.0, np.inf)
    else:
        best = measured_in_floats(
            kernel, y, nearest_weights(kernel, y, deadline), (16 * X.shape[1] + 80) * UNIT
        )
    support = np.flatnonzero(best.p)
    wanted = GAP if support.size * y.size <= AFFORDED else EXACT
    if best.relative_gap <= wanted and wanted > GAP:
        return best
    if best.upper < np.inf and INTEGERS_S * y.size**2 > deadline - time.monotonic():
        return best
    gram = ArcCosineGram(X, y, activation)
    u = proposal(best.p)
    corners = gram.corners(support, deadline)
    if corners is not None:
        best = better(best, measured(corners, u))
        near = (
            searched_near(corners.entries, best.p, gram.bits, deadline)
            if best.relative_gap > wanted
            else None
        )
        best = best if near is None else better(best, measured(corners, near))
    while best.relative_gap > wanted:
        corners = gram.corners(np.arange(gram.n), deadline)
        found = None if corners is None else searched(corners.entries, best.p, gram.bits, deadline)
        if corners is not None and found is not None:
            best = better(best, measured(corners, found))
        if best.relative_gap <= wanted or time.monotonic() > deadline or not gram.refine():
            break
    return best
