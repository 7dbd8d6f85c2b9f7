"""Sums of products of floats without rounding, as integers, and the way back to floats with outward
rounding.

A float is an integer times a power of two, so that products and sums of floats are too.
`exact_gram` splits a matrix into slices of few bits, whose products float64 sums exactly (Ozaki,
Ogita, Oishi & Rump, 2012), and adds these up as Python integers.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any, NamedTuple, overload

import numpy as np
from mpmath import libmp

from .._core.arguments import Array

MANTISSA = 53
"""Bits of a float64: integers up to 2^53 are held and added without rounding."""
GUARD = 100
"""Bits to which a bound is worked out before it is rounded outwards to 53."""


class Integers(NamedTuple):
    """The matrix entries·2^exponent, entries being Python integers in an array of objects."""

    entries: Any
    exponent: int


class Slice(NamedTuple):
    """Integers of few bits, held as floats, times 2^exponent."""

    entries: Array
    exponent: int


def slices(A: Array, bits: int) -> list[Slice]:
    """A as a sum of slices of `bits` bits, the largest first, without rounding."""
    rest: Array = np.array(A, dtype=float)
    found: list[Slice] = []
    while True:
        largest = float(np.max(np.abs(rest), initial=0.0))
        if largest == 0:
            return found
        exponent = math.frexp(largest)[1] - bits
        part = np.rint(np.ldexp(rest, -exponent))
        rest = rest - np.ldexp(part, exponent)
        found.append(Slice(part, exponent))


def as_integers(A: Array) -> Integers:
    """A itself, without rounding."""
    return _sum(slices(A, MANTISSA - 1), np.shape(A))


@overload
def exact_gram(A: Array) -> Integers: ...


@overload
def exact_gram(A: Array, deadline: float) -> Integers | None: ...


def exact_gram(A: Array, deadline: float = math.inf) -> Integers | None:
    """AAᵀ without rounding, A (n, k); None where it takes until after the deadline, on the clock of
    `time.monotonic`."""
    bits = (MANTISSA - 1 - max(A.shape[1] - 1, 1).bit_length()) // 2
    parts, products = slices(A, bits), []
    for i, one in enumerate(parts):
        for other in parts[: i + 1]:
            if time.monotonic() > deadline:
                return None
            product = one.entries @ other.entries.T
            products.append(
                Slice(
                    product if one is other else product + product.T, one.exponent + other.exponent
                )
            )
    return _sum(products, (A.shape[0], A.shape[0]), deadline)


@overload
def _sum(parts: list[Slice], shape: Any) -> Integers: ...


@overload
def _sum(parts: list[Slice], shape: Any, deadline: float) -> Integers | None: ...


def _sum(parts: list[Slice], shape: Any, deadline: float = math.inf) -> Integers | None:
    if not parts:
        return Integers(np.zeros(shape, dtype=object), 0)
    exponent = min(part.exponent for part in parts)
    total = np.zeros(shape, dtype=object)
    for part in parts:
        if time.monotonic() > deadline:
            return None
        total = total + part.entries.astype(np.int64).astype(object) * (
            1 << (part.exponent - exponent)
        )
    return Integers(total, exponent)


def root_bounds(
    numerator: int, denominator: int, exponent: int, divisor: Any = libmp.fone
) -> tuple[float, float]:
    """Floats around √(numerator/denominator·2^exponent/divisor), divisor an mpf of libmp good to
    100 bits."""
    if numerator <= 0:
        return 0.0, 0.0
    ratio = libmp.mpf_div(libmp.from_int(numerator), libmp.from_int(denominator), GUARD)
    root = libmp.mpf_sqrt(libmp.mpf_div(libmp.mpf_shift(ratio, exponent), divisor, GUARD), GUARD)
    try:
        # truncated, the float above it may be below the root by its last bits
        value = float(libmp.to_float(root, rnd="n"))
    except OverflowError:
        return float(np.finfo(float).max), math.inf
    return max(math.nextafter(value, -math.inf), 0.0), math.nextafter(value, math.inf)


def rounded_down(value: Fraction) -> float:
    """The largest float that is not above, or −∞."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def rounded_up(value: Fraction) -> float:
    """The smallest float that is not below, or ∞."""
    return -rounded_down(-value)


def sum_bounds(terms: list[Fraction], bits: int = 4 * GUARD) -> tuple[Fraction, Fraction]:
    """Rationals around Σterms: each is rounded to `bits` digits of the largest, down and up, so
    that denominators do not multiply."""
    unit = _unit(max((abs(term) for term in terms), default=Fraction(0)), bits)
    parts = [term / unit for term in terms]
    return sum(map(math.floor, parts)) * unit, sum(map(math.ceil, parts)) * unit


def root_sum_bounds(squares: list[Fraction], bits: int = 4 * GUARD) -> tuple[Fraction, Fraction]:
    """The same around Σ√square."""
    unit = _unit(max(squares, default=Fraction(0)), 2 * bits, half=True)
    parts = [square / unit**2 for square in squares]
    roots = [math.isqrt(math.floor(part)) for part in parts]
    above = sum(root**2 != part for root, part in zip(roots, parts, strict=True))
    return sum(roots) * unit, (sum(roots) + above) * unit


def sign_of_sum(terms: list[Fraction]) -> int:
    """−1, 0 or 1, exactly: by rounded terms, and without rounding where these leave it open."""
    low, high = sum_bounds(terms)
    if low > 0 or high < 0:
        return 1 if low > 0 else -1
    numerator, _ = _tree_sum([(term.numerator, term.denominator) for term in terms])
    return (numerator > 0) - (numerator < 0)


def _tree_sum(ratios: list[tuple[int, int]]) -> tuple[int, int]:
    """Σ numerator/denominator, in halves, so that long integers meet long ones only."""
    if len(ratios) <= 1:
        return ratios[0] if ratios else (0, 1)
    half = len(ratios) // 2
    (p, q), (r, s) = _tree_sum(ratios[:half]), _tree_sum(ratios[half:])
    return p * s + r * q, q * s


def _unit(size: Fraction, bits: int, half: bool = False) -> Fraction:
    """A power of two about 2^−bits of the size, or the root of that."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - bits
    return Fraction(2) ** (exponent // 2 if half else exponent)
