"""The operator norm ‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} in which R's rates are written (R, §5.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from ..errors import InputError
from ..inputs import Array, matrix, one_of, positive_int, vector
from ..records import Certificate, Limit

NORMS = ("l2", "l1", "linf")
ITERATIONS = 400
"""Frank–Wolfe steps on the upper bound: it improves by a per cent or so after that."""
SOFTNESS = 30.0
"""Inverse temperature, in units of the mean eigenvalue, of the soft least eigenvalue."""
ASCENTS = 30
SETTLED = 1e-9
"""Relative gain of a linear program below which an ascent stops."""


def inverse_norm(
    X: ArrayLike, norm: str = "l2", *, weights: ArrayLike | None = None, starts: int = 6, key: int = 0
) -> Limit[Array]:
    """‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} over u ∈ R^n; infinite where X (n, m) has rank below n (R, §5.4).

    norm: ‖·‖_* on R^m. 'l2', with `weights` ω ≥ 0 for ‖v‖² = Σω_iv_i²: exact, 1/σ_min(X·diag(√ω)). 'l1' and 'linf': a convex
    maximisation, hard in general, so a bracket. `value` is the u found, `objective` its ‖u‖₂, a lower bound; certificate.dual
    is the upper one. That comes from ‖v‖_∞² ≥ Σp_iv_i² for p in the simplex and ‖v‖₁² ≥ E⟨s, v⟩² for random signs s: both give
    ‖u‖² ≤ 1/λ_min(G), and G is chosen by Frank–Wolfe.
    """
    X = matrix("X", X)
    one_of("norm", norm, NORMS)
    starts, key = positive_int("starts", starts), positive_int("key", key, least=0)
    if weights is not None:
        if norm != "l2":
            raise InputError("weights: used with norm='l2' only")
        omega = vector("weights", weights, X.shape[1])
        if np.any(omega < 0):
            raise InputError(f"weights: expected numbers of at least zero, found {omega.min():g}")
        X = X * np.sqrt(omega)
    left, values, _ = sl.svd(X, full_matrices=True)
    if X.shape[1] < X.shape[0] or values[-1] <= X.shape[1] * np.finfo(float).eps * values[0]:
        return Limit(left[:, -1], np.inf, Certificate(np.inf, np.inf, 0.0, "exact"), {"norm": norm})
    if norm == "l2":
        size = 1 / float(values[-1])
        return Limit(left[:, -1] * size, size, Certificate(size, size, 0.0, "exact"), {"norm": norm})
    unit = float(values[0])
    X = X / unit  # the tolerances of linear programs are absolute
    upper, soft = _upper(X, norm)
    rng = np.random.default_rng(key)
    candidates = [soft, left[:, -1], *rng.standard_normal((max(starts - 2, 0), X.shape[0]))]
    u = max((_ascend(X, norm, start) for start in candidates[:starts]), key=np.linalg.norm) / unit
    lower = float(np.linalg.norm(u))
    return Limit(u, lower, Certificate(lower, max(upper / unit, lower), 0.0, "bound"), {"norm": norm})


def _size(v: Array, norm: str) -> float:
    return float(np.sum(np.abs(v)) if norm == "l1" else np.max(np.abs(v)))


def _upper(X: Array, norm: str) -> tuple[float, Array]:
    """1/√λ_min(G), G in the hull of the atoms X·v·vᵀ·Xᵀ (v a unit vector, or a sign vector); with the last least eigenvector."""
    atom = _column_atom if norm == "linf" else _sign_atom
    gram = X @ X.T / (X.shape[1] if norm == "linf" else 1)
    best, vector = 0.0, np.zeros(X.shape[0])
    for k in range(ITERATIONS):
        values, vectors = sl.eigh(gram)
        if values[0] > best:
            best, vector = float(values[0]), vectors[:, 0]
        cold = np.exp(-SOFTNESS * np.sqrt(k + 1) * (values - values[0]) / np.mean(values))
        x = atom(X, vectors, cold / np.sum(cold))
        step = 2 / (k + 3)
        gram = (1 - step) * gram + step * np.outer(x, x)
    return 1 / np.sqrt(best), vector


def _column_atom(X: Array, vectors: Array, share: Array) -> Array:
    """The column of X with the largest xᵀρx."""
    return X[:, int(np.argmax(share @ (vectors.T @ X) ** 2))]


def _sign_atom(X: Array, vectors: Array, share: Array) -> Array:
    """X·s for the signs s of Xᵀv, v the eigenvector for which xᵀρx comes out largest."""
    atoms = X @ np.where(X.T @ vectors[:, share > 1e-3 * share.max()] < 0, -1.0, 1.0)
    return atoms[:, int(np.argmax(share @ (vectors.T @ atoms) ** 2))]


def _ascend(X: Array, norm: str, start: Array) -> Array:
    """A convex function has its maximum at a vertex: climb by linear programs max ⟨u_k, u⟩ over the ball."""
    solve = _linf_program(X) if norm == "linf" else _l1_program(X)
    u = start / _size(X.T @ start, norm)
    for _ in range(ASCENTS):
        better = solve(u)
        if better is None or np.linalg.norm(better) <= (1 + SETTLED) * np.linalg.norm(u):
            break
        u = better / max(1.0, _size(X.T @ better, norm))
    return u / _size(X.T @ u, norm)


def _linf_program(X: Array) -> Callable[[Array], Array | None]:
    A, n = np.vstack([X.T, -X.T]), X.shape[0]

    def solve(direction: Array) -> Array | None:
        found = linprog(-direction, A_ub=A, b_ub=np.ones(len(A)), bounds=(None, None), method="highs")
        return found.x[:n] if found.status == 0 else None

    return solve


def _l1_program(X: Array) -> Callable[[Array], Array | None]:
    """|Xᵀu|_i ≤ t_i, Σt ≤ 1."""
    n, m = X.shape
    A = sparse.block_array([[X.T, -sparse.eye_array(m)], [-X.T, -sparse.eye_array(m)], [None, np.ones((1, m))]], format="csr")
    b = np.append(np.zeros(2 * m), 1.0)

    def solve(direction: Array) -> Array | None:
        cost = np.append(-direction, np.zeros(m))
        found = linprog(cost, A_ub=A, b_ub=b, bounds=(None, None), method="highs")
        return found.x[:n] if found.status == 0 else None

    return solve
