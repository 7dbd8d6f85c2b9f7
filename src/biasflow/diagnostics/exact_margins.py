"""Normalised margins of two-layer ReLU networks between floats, rounding included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .._core.arguments import Array
from .._numerics.exact_sums import as_integers, rounded_down, rounded_up

EPS = float(np.finfo(float).eps)
FINE = 1e-12
"""Relative width of a margin above which it is computed in integers."""
AFFORDABLE = 2_000_000
"""Products of integers up to which that is done: a few seconds."""


def normalised_margins(a: Array, W: Array, rows: Array, y: Array) -> Array:
    """y_iΣ_ja_j(⟨w_j, x_i⟩)₊/(‖a‖² + ‖W‖²), (n,), in floats."""
    a, W, rows, unit = _in_units(a, W, rows)
    q = y * (np.maximum(rows @ W.T, 0.0) @ a)
    return np.asarray(np.ldexp(q / (np.sum(a**2) + np.sum(W**2)), unit))


def margin_bounds(a: Array, W: Array, rows: Array, y: Array) -> tuple[float, float]:
    """Floats around min_i y_iΣ_ja_j(⟨w_j, x_i⟩)₊/(‖a‖² + ‖W‖²), of the numbers given: floats with
    what rounding can do, integers for the samples that may be the least where that is too much."""
    a, W, rows, unit = _in_units(a, W, rows)
    m, p = W.shape
    terms = np.maximum(rows @ W.T, 0.0)
    q = y * (terms @ a)
    # products and sums of p, then of m terms; a ReLU does not enlarge an error
    error = (m + p + 6) * EPS * (np.abs(rows) @ np.abs(W).T @ np.abs(a)) + (m + p) * 1e-300
    low, high = float(np.min(q - error)), float(np.min(q + error))
    near = np.flatnonzero(q - error <= high)
    if high - low > FINE * abs(high) and near.size * m * p <= AFFORDABLE:
        least = _exact_least(a, W, rows[near], y[near])
        low, high = rounded_down(least), rounded_up(least)
    squares = float(np.sum(a**2) + np.sum(W**2))
    most = squares * (1 + (a.size + W.size + 4) * EPS)
    few = squares * (1 - (a.size + W.size + 4) * EPS)
    lower = low / (most if low > 0 else few)
    upper = high / (few if high > 0 else most)
    return (
        float(np.ldexp(np.nextafter(lower, -np.inf), unit)),
        float(np.ldexp(np.nextafter(upper, np.inf), unit)),
    )


def _in_units(a: Array, W: Array, rows: Array) -> tuple[Array, Array, Array, int]:
    """Weights and inputs in units of powers of two, and that of the inputs."""
    own = int(np.frexp(max(float(np.max(np.abs(a))), float(np.max(np.abs(W)))))[1])
    unit = int(np.frexp(float(np.max(np.abs(rows))))[1])
    return np.ldexp(a, -own), np.ldexp(W, -own), np.ldexp(rows, -unit), unit


def _exact_least(a: Array, W: Array, rows: Array, y: Array) -> Fraction:
    outer, inner, inputs = as_integers(a), as_integers(W), as_integers(rows)
    hidden = np.maximum(inputs.entries @ inner.entries.T, 0)
    values = y.astype(int).astype(object) * (hidden @ outer.entries)
    return Fraction(int(min(values))) * Fraction(2) ** (
        outer.exponent + inner.exponent + inputs.exponent
    )
