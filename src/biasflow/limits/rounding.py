"""Brackets of least norms that hold in exact arithmetic: evaluated in float64, with a derived bound on its rounding taken off.

For min ‖β‖ subject to Xβ = y any ν proves ⟨y, ν⟩/‖Xᵀν‖_* from below. A β that leaves r = y − Xβ proves ‖β‖ + c‖r‖₂/σ from above:
X has a right inverse that costs at most c/σ, σ its least singular value, c = 1 for ℓ2 and √d for ℓ1. A sum of n products is good
to n + 2 roundings of the sum of their absolute values (Higham, Accuracy and Stability, §3.1).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg as sl

from ..inputs import Array, length

EPS = float(np.finfo(float).eps)
"""Twice the unit roundoff: room for terms of higher order and for the rounding of the bounds themselves."""
CLEAR = 1e-8
"""Least over largest eigenvalue of XXᵀ above which it shows the least singular value; below, X itself is decomposed."""


def norm_bracket(X: Array, y: Array, beta: Array, nu: Array, norm: str) -> tuple[float, float]:
    """(primal, dual) around min ‖β‖ subject to Xβ = y, for X and y as they are given. norm: 'l1' or 'l2'."""
    n, d = X.shape
    rows, unit = _exponents(X), int(_exponents(y[None])[0])
    A, b = np.ldexp(X, -rows[:, None]), np.ldexp(y, -unit - rows)
    point, multiplier = np.ldexp(beta, -unit), np.ldexp(nu, rows)
    multiplier = multiplier / (float(np.max(np.abs(multiplier))) or 1.0)
    correlation, doubt = np.abs(multiplier @ A), (n + 2) * EPS * (np.abs(multiplier) @ np.abs(A))
    reach = float(np.max(correlation + doubt)) if norm == "l1" else length(correlation + doubt) * (1 + d * EPS)
    gain = float(b @ multiplier) - (n + 2) * EPS * float(np.abs(b) @ np.abs(multiplier))
    dual = max(gain / reach, 0.0) * (1 - 4 * EPS) if reach > 0 else 0.0
    left = np.abs(A @ point - b) + (d + 2) * EPS * (np.abs(A) @ np.abs(point) + np.abs(b))
    size = float(np.sum(np.abs(point))) if norm == "l1" else length(point)
    cost = (math.sqrt(d) if norm == "l1" else 1.0) / _least_singular_value(A)
    primal = size * (1 + (d + 2) * EPS) + cost * length(left) * (1 + (d + 2) * EPS)
    return float(np.ldexp(primal, unit)), float(np.ldexp(dual, unit))


def _exponents(A: Array) -> Array:
    """k for each row, with its largest entry between 2^(k−1) and 2^k; zero for a row of zeros."""
    return np.frexp(np.max(np.abs(A), axis=1))[1]


def _least_singular_value(A: Array) -> float:
    """A lower bound on the least one that is not zero to rounding."""
    n, d = A.shape
    values = sl.eigvalsh(A @ A.T) if n <= d else np.zeros(1)
    if values[0] > CLEAR * values[-1]:
        return math.sqrt(values[0] - (n + d) * EPS * values[-1])
    singular = sl.svdvals(A)
    noise = (n + d) * EPS * float(singular[0])
    kept = singular[singular > 2 * noise]
    return float(kept[-1]) - noise if kept.size else math.inf
