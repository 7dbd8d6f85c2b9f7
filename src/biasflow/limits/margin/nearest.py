"""Hard-margin problems in a Hilbert space: the point of least norm in a convex hull, by non-negative least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from ...errors import InputError
from ...inputs import Array, Index, labels, matrix
from ...records import Certificate, Limit
from ..kernels import SYMMETRY

INSEPARABLE = 1e-13
"""‖Bᵀp‖ relative to the longest row below which the hull counts as containing the origin."""
ROUNDS = 3
"""Solutions on the support, each followed by a change of the support, after non-negative least squares."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """p (n,) in the simplex, w = Bᵀp: min_i⟨b_i, w⟩/‖w‖ = lower ≤ γ ≤ upper = ‖w‖."""

    p: Array
    w: Array
    lower: float
    upper: float


def nearest_point(B: Array) -> Nearest:
    """γ = max_{‖w‖ ≤ 1} min_i ⟨b_i, w⟩ = min_{p in the simplex} ‖Bᵀp‖ for the rows b_i of B (n, r).

    Least-distance programming (Lawson & Hanson, ch. 23): u ≥ 0 that minimises ‖Bᵀu‖² + (1 − Σu)² is a multiple of p. Then the
    linear system on the support adds the last digits.
    """
    size = float(np.max(np.linalg.norm(B, axis=1)))
    if size == 0:
        return Nearest(np.full(B.shape[0], 1 / B.shape[0]), np.zeros(B.shape[1]), 0.0, 0.0)
    best = _measured(B, np.full(B.shape[0], 1 / B.shape[0]))
    unit = size
    for _ in range(2):  # once more in units of γ, for which the two terms are of one size
        u, _ = nnls(
            np.vstack([B.T / unit, np.ones((1, B.shape[0]))]), np.append(np.zeros(B.shape[1]), 1.0), maxiter=30 * B.shape[0]
        )
        best = _better(best, _measured(B, u))
        if best.upper >= 1e-2 * unit or best.upper <= INSEPARABLE * size:
            break
        unit = best.upper
    if best.upper <= INSEPARABLE * size:
        return Nearest(best.p, np.zeros(B.shape[1]), 0.0, best.upper)
    return _polished(B, best)


def _measured(B: Array, u: Array) -> Nearest:
    total = float(np.sum(u))
    p = u / total if total > 0 else np.full(u.size, 1 / u.size)
    w = p @ B
    length = float(np.linalg.norm(w))
    return Nearest(p, w, float(np.min(B @ w)) / length if length > 0 else 0.0, length)


def _better(one: Nearest, other: Nearest) -> Nearest:
    """That of the smaller gap; γ ≥ 0 whatever w is, so that where the hull has the origin the least upper bound wins."""
    return other if other.upper - max(other.lower, 0.0) < one.upper - max(one.lower, 0.0) else one


def _polished(B: Array, best: Nearest) -> Nearest:
    """On the support every ⟨b_i, w⟩ is the same: G·p ∝ 1 there."""
    support: Index = np.flatnonzero(best.p)
    for _ in range(ROUNDS):
        rows = B[support]
        u, *_ = np.linalg.lstsq(rows @ rows.T, np.ones(support.size), rcond=None)
        p = np.zeros(B.shape[0])
        p[support] = np.maximum(u, 0.0)
        trial = _measured(B, p)
        best = _better(best, trial)
        if np.all(u > 0):
            break
        support = support[u > 0]
        if support.size == 0:
            break
    return best


def l2_max_margin(Z: ArrayLike) -> Limit[Array]:
    """γ₂^(m) = max_{√m‖a‖₂ ≤ 1} min_i (Za)_i for signed features z_ij = y_iσ(⟨u_j, x_i⟩), Z (n, m) (C, Proposition 7).

    value: a (m,). certificate: p in the simplex proves γ₂^(m) ≤ ‖Zᵀp‖/√m. Features that do not separate have γ₂^(m) = 0 and
    a = 0. stats: weights p on the samples, support (those with p > 0), separable.
    """
    Z = matrix("Z", Z)
    left, rows = _reduced(Z)
    found = nearest_point(left)
    root = np.sqrt(Z.shape[1])
    length = float(np.linalg.norm(found.w))
    a = (found.w @ rows) / (length * root) if found.lower > 0 else np.zeros(Z.shape[1])
    lower = float(np.min(Z @ a))
    stats = {"weights": found.p, "support": np.flatnonzero(found.p), "separable": found.lower > 0}
    return Limit(a, lower, Certificate(lower, max(found.upper / root, lower), 0.0, "exact"), stats)


def _reduced(Z: Array) -> tuple[Array, Array]:
    """Z = left·rows with orthonormal rows: at most min(n, m) coordinates."""
    if Z.shape[1] <= Z.shape[0]:
        return Z, np.eye(Z.shape[1])
    q, r = np.linalg.qr(Z.T)
    return r.T, q.T


def kernel_max_margin(K: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """max y_if(x_i) over ‖f‖ ≤ 1 in the RKHS of a kernel matrix K (n, n), labels y = ±1: the hard-margin SVM without intercept.

    value: the coefficients c (n,) of f = Σc_ik(x_i, ·), ‖f‖² = cᵀKc = 1; objective: γ. certificate: p in the simplex proves γ ≤
    ‖Σp_iy_ik(x_i, ·)‖. Kernels that do not separate the classes have γ = 0 and c = 0. stats: weights p, support, separable.
    """
    K = matrix("K", K)
    if K.shape[0] != K.shape[1] or np.max(np.abs(K - K.T)) > SYMMETRY * max(float(np.max(np.abs(K))), 1e-300):
        raise InputError(f"K: expected a symmetric matrix, found shape {K.shape}")
    y = labels("y", y, K.shape[0])
    B = kernel_factor(K)
    found = nearest_point(y[:, None] * B)
    c = found.p * y / float(np.linalg.norm(found.w)) if found.lower > 0 else np.zeros(y.size)
    stats = {"weights": found.p, "support": np.flatnonzero(found.p), "separable": found.lower > 0}
    return Limit(c, found.lower, Certificate(found.lower, found.upper, 0.0, "exact"), stats)


def kernel_factor(K: Array) -> Array:
    """B (n, r) with K = BBᵀ; eigenvalues within rounding of zero are dropped."""
    values, vectors = sl.eigh(K)
    if values[0] < -SYMMETRY * max(values[-1], 1e-300):
        raise InputError(f"K: expected a positive semi-definite matrix, its least eigenvalue is {values[0]:g}")
    kept = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])
