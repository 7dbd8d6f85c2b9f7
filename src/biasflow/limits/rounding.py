"""Brackets of least norms that hold in exact arithmetic: evaluated in float64, with a derived bound
on its rounding taken off.

For min ‖β‖ subject to Xβ = y any ν proves ⟨y, ν⟩/‖Xᵀν‖_* from below. A β that leaves r = y − Xβ
proves ‖β‖ + c‖r‖₂/σ from above: X has a right inverse that costs at most c/σ, σ its least singular
value, c = 1 for ℓ2 and √d for ℓ1. A sum of n products is good to n + 2 roundings of the sum of
their absolute values (Higham, Accuracy and Stability, §3.1).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg as sl

from .._core.arguments import SMALLEST_NORMAL, Array, Index, length

EPS = float(np.finfo(float).eps)
"""Twice the unit roundoff: room for terms of higher order and for the rounding of the bounds
themselves."""
WIDE = 1e-6
"""Relative width of a bracket up to which it counts as the number itself, as for margins."""
CLEAR = 1e-8
"""Least over largest eigenvalue of XXᵀ above which it shows the least singular value; below, X
itself is decomposed."""


def kind_of(primal: float, dual: float, kind: str) -> str:
    """The kind, or 'bound' where the bracket is wide."""
    return kind if math.isfinite(primal) and primal - dual <= WIDE * primal else "bound"


def outward(primal: float, dual: float, exponent: int) -> tuple[float, float]:
    """Both bounds times 2^exponent; where the result is no normal float, rounded away from each
    other."""
    with np.errstate(over="ignore", under="ignore"):
        above, below = float(np.ldexp(primal, exponent)), float(np.ldexp(dual, exponent))
    above = math.nextafter(above, math.inf) if primal > 0 and above < SMALLEST_NORMAL else above
    below = (
        math.nextafter(below, 0.0)
        if below < SMALLEST_NORMAL or (math.isinf(below) and math.isfinite(dual))
        else below
    )
    return above, below


def norm_bracket(
    X: Array, y: Array, beta: Array, nu: Array, norm: str, rows: Index | None
) -> tuple[float, float]:
    """(primal, dual) around min ‖β‖ subject to Xβ = y, for X and y as they are given. norm: 'l1' or
    'l2'.

    rows: independent ones from which all others follow, None where that is not known: then nothing
    is from above.
    """
    basis = slice(None) if rows is None else rows
    n, d = X.shape
    units, unit = row_exponents(X), int(row_exponents(y[None])[0])
    A, b = np.ldexp(X, -units[:, None]), np.ldexp(y, -unit - units)
    point, multiplier = np.ldexp(beta, -unit), np.ldexp(nu, units)
    if not np.all(np.isfinite(multiplier)):  # ν beyond float range proves nothing
        multiplier = np.zeros_like(multiplier)
    multiplier = multiplier / (float(np.max(np.abs(multiplier))) or 1.0)
    correlation, doubt = np.abs(multiplier @ A), (n + 2) * EPS * (np.abs(multiplier) @ np.abs(A))
    reach = (
        float(np.max(correlation + doubt))
        if norm == "l1"
        else length(correlation + doubt) * (1 + d * EPS)
    )
    gain = float(b @ multiplier) - (n + 2) * EPS * float(np.abs(b) @ np.abs(multiplier))
    dual = max(gain / reach, 0.0) * (1 - 4 * EPS) if reach > 0 else 0.0
    A, b = A[basis], b[basis]
    left = np.abs(A @ point - b) + (d + 2) * EPS * (np.abs(A) @ np.abs(point) + np.abs(b))
    size = float(np.sum(np.abs(point))) if norm == "l1" else length(point)
    least = _least_singular_value(A) if rows is not None else 0.0
    cost = (math.sqrt(d) if norm == "l1" else 1.0) / least if least > 0 else math.inf
    primal = size * (1 + (d + 2) * EPS) + cost * length(left) * (1 + (d + 2) * EPS)
    return outward(primal, dual, unit)


def row_exponents(A: Array) -> Array:
    """k for each row, with its largest entry between 2^(k−1) and 2^k; zero for a row of zeros."""
    return np.frexp(np.max(np.abs(A), axis=1))[1]


def _least_singular_value(A: Array) -> float:
    """A lower bound on the least of all."""
    n, d = A.shape
    values = sl.eigvalsh(A @ A.T) if n <= d else np.zeros(1)
    if values[0] > CLEAR * values[-1]:
        return math.sqrt(values[0] - (n + d) * EPS * values[-1])
    if n > d:
        return 0.0
    singular = sl.svdvals(A)
    return float(singular[-1]) - (n + d) * EPS * float(singular[0])
