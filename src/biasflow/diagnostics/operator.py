"""The operator norm ‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} in which R's rates are written (R, §5.4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from .._core.arguments import Array, matrix, one_of, positive_float, positive_int, vector
from .._core.former_names import renamed
from .._core.results import Bracket
from ..errors import InputError
from ..limits.rank import MOST_WORK, exact_ranks
from ..limits.rounding import WIDE

NORMS = ("l2", "l1", "linf")
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SearchControls:
    """How both ends of a bracket are searched for."""

    roundings: float = 64.0
    """Roundings, for each row and column, of the eigenvalues that bound the norm from above, in
    well-conditioned coordinates."""
    frank_wolfe_steps: int = 400
    """Frank–Wolfe steps on the upper bound: it improves by a per cent or so after that."""
    softness: float = 30.0
    """Inverse temperature, in units of the mean eigenvalue, of the soft least eigenvalue."""
    linear_programs: int = 30
    """Most linear programs of an ascent."""
    settled_gain: float = 1e-9
    """Relative gain of a linear program below which an ascent stops."""


CONTROLS = SearchControls()


@renamed(starts="restarts")
def inverse_norm(
    X: ArrayLike,
    norm: str = "l2",
    *,
    weights: ArrayLike | None = None,
    restarts: int = 6,
    key: int = 0,
    time_s: float = 20.0,
) -> Bracket[Array]:
    """‖Xᵀ†‖ = sup{‖u‖₂ : ‖Xᵀu‖_* ≤ 1} over u ∈ R^n; infinite where X (n, m) has rank below n (R,
    §5.4).

    'l2' is exact, 1/σ_min(X·diag(√ω)). 'l1' and 'linf' are a convex maximisation, hard in general,
    so a bracket: the upper end comes from ‖v‖_∞² ≥ Σp_iv_i² for p in the simplex and ‖v‖₁² ≥ E⟨s,
    v⟩² for random signs s: both give ‖u‖² ≤ 1/λ_min(G), and G is chosen by Frank–Wolfe.

    Parameters
    ----------
    X : array of shape (n, m)
    norm : {'l2', 'l1', 'linf'}
        ‖·‖_* on R^m.
    weights : array of shape (m,), optional
        ω ≥ 0, for 'l2': ‖v‖² = Σω_iv_i².
    restarts, key : int
        Of the search.
    time_s : float
        Both searches end by then; the bracket is what they have.

    Returns
    -------
    Bracket
        value: the u found, objective: its ‖u‖₂; lower: the bound that it proves, rounding taken
        off.

    Examples
    --------
    >>> found = bf.diagnostics.inverse_norm([[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    >>> print(round(found.upper, 6), found.kind)
    2.0 exact
    """
    X = matrix("X", X)
    one_of("norm", norm, NORMS)
    restarts, key = positive_int("restarts", restarts), positive_int("key", key, least=0)
    begun, time_s = time.monotonic(), positive_float("time_s", time_s)
    if weights is not None:
        if norm != "l2":
            raise InputError("weights: used with norm='l2' only")
        omega = vector("weights", weights, X.shape[1])
        if np.any(omega < 0):
            raise InputError(f"weights: expected numbers of at least zero, found {omega.min():g}")
        X = X * np.sqrt(omega)
    left, values, right = sl.svd(X, full_matrices=True)
    (n, m), least = X.shape, float(values[-1])
    noise = (n + m + 4) * EPS * float(values[0])  # of singular values, and of the roots of weights
    if n > m or least <= noise:
        return _singular(X, norm, left[:, -1], float(values[-1]) + noise)
    if norm == "l2":
        bounds = (1 - 4 * EPS) / (least + noise), (1 + 4 * EPS) / (least - noise)
        kind = "exact" if bounds[1] - bounds[0] <= WIDE * bounds[0] else "bound"
        return Bracket(*bounds, kind, left[:, -1] / least, 1 / least, {"norm": norm})
    if n == 1:
        size = 1 / _size(X[0], norm)
        bounds = size * (1 - (m + 4) * EPS), size * (1 + (m + 4) * EPS)
        return Bracket(*bounds, "exact", np.array([size]), size, {"norm": norm})
    # in singular coordinates s = σ⊙Uᵀu the ball is ‖Vs‖_* ≤ 1, of size one, and the objective ‖s/σ‖
    V, inverse = right[: len(X)], values[0] / values
    upper, soft = _upper(V, inverse, norm, begun + time_s / 2)
    rng = np.random.default_rng(key)
    candidates = [soft, np.eye(len(X))[-1], *rng.standard_normal((max(restarts - 2, 0), len(X)))]
    found = [_ascend(V, inverse, norm, start, begun + time_s) for start in candidates[:restarts]]
    best = max(found, key=lambda point: float(np.linalg.norm(inverse * point)))
    u = left @ (inverse * best) / values[0]
    lower, upper = _rounded(X, norm, u, upper / float(values[0]), noise)
    return Bracket(lower, upper, "bound", u, float(np.linalg.norm(u)), {"norm": norm})


def _singular(X: Array, norm: str, u: Array, least: float) -> Bracket[Array]:
    """Where the least singular value is zero up to rounding: infinite, or at least what rounding
    leaves of it."""
    n, m = X.shape
    if n > m or (n * X.size <= MOST_WORK and exact_ranks(X, np.zeros(n))[0] < n):
        return Bracket(np.inf, np.inf, "exact", u, np.inf, {"norm": norm})
    # ‖v‖₂ ≥ ‖v‖_∞ ≥ …, ‖v‖₁ ≤ √m‖v‖₂
    size = {"l2": 1.0, "l1": float(np.sqrt(m)), "linf": 1.0}[norm]
    note = "the rank is below n up to rounding, in exact arithmetic it may not be"
    lower = (1 - 4 * EPS) / (size * least)
    return Bracket(lower, np.inf, "bound", u, np.inf, {"norm": norm, "note": note})


def _rounded(X: Array, norm: str, u: Array, upper: float, noise: float) -> tuple[float, float]:
    """The lower bound of u itself, and the upper one, found in singular coordinates, for X: they
    are off by `noise`, so that the ball of u with ‖Xᵀu‖_* ≤ 1 is one of radius up to 1 +
    √m·noise·‖u‖."""
    n, m = X.shape
    doubt = (n + 2) * EPS * (np.abs(u) @ np.abs(X))
    lower = (
        float(np.linalg.norm(u))
        * (1 - (n + 4) * EPS)
        / (_size(np.abs(u @ X) + doubt, norm) * (1 + (m + 4) * EPS))
    )
    off = float(np.sqrt(m)) * noise * upper + CONTROLS.roundings * (n + m) * EPS
    upper = upper * (1 + 2 * off) if off < 0.5 else np.inf
    return lower, max(upper, lower)


def _size(v: Array, norm: str) -> float:
    return float(np.sum(np.abs(v)) if norm == "l1" else np.max(np.abs(v)))


def _upper(V: Array, inverse: Array, norm: str, deadline: float) -> tuple[float, Array]:
    """√λ_max(S·M⁻¹·S), S = diag(1/σ), M in the hull of V·v·vᵀ·Vᵀ, v a unit or sign vector; with the
    s it comes from."""
    atom = _column_atom if norm == "linf" else _sign_atom
    M = V @ V.T / (V.shape[1] if norm == "linf" else 1)
    best, vector = np.inf, np.eye(len(V))[-1]
    for k in range(CONTROLS.frank_wolfe_steps):
        if k and time.monotonic() > deadline:
            break
        try:
            # L⁻¹S
            factor = sl.solve_triangular(sl.cholesky(M, lower=True), np.diag(inverse), lower=True)
        except np.linalg.LinAlgError:
            break
        # S·M⁻¹·S, whose large eigenvalues are the accurate ones
        values, vectors = sl.eigh(factor.T @ factor)
        # those of G, the least first
        values = 1 / np.maximum(values[::-1], np.finfo(float).eps * values[-1])
        vectors = vectors[:, ::-1]
        # eigenvectors in the coordinates of the atoms, up to size
        directions = vectors / inverse[:, None]
        if 1 / values[0] < best:
            best, vector = 1 / float(values[0]), directions[:, 0]
        cold = np.exp(-CONTROLS.softness * np.sqrt(k + 1) * (values - values[0]) / np.mean(values))
        x = atom(V, directions, cold / np.sum(cold))
        step = 2 / (k + 3)
        M = (1 - step) * M + step * np.outer(x, x)
    return float(np.sqrt(best)), vector


def _column_atom(X: Array, vectors: Array, share: Array) -> Array:
    """The column of X with the largest xᵀρx."""
    return X[:, int(np.argmax(share @ (vectors.T @ X) ** 2))]


def _sign_atom(X: Array, vectors: Array, share: Array) -> Array:
    """X·s for the signs s of Xᵀv, v the eigenvector for which xᵀρx comes out largest."""
    atoms = X @ np.where(X.T @ vectors[:, share > 1e-3 * share.max()] < 0, -1.0, 1.0)
    return atoms[:, int(np.argmax(share @ (vectors.T @ atoms) ** 2))]


def _ascend(V: Array, inverse: Array, norm: str, start: Array, deadline: float) -> Array:
    """A convex function has its maximum at a vertex: climb by linear programs max ⟨s_k/σ², s⟩ over
    the ball ‖Vs‖_* ≤ 1."""
    solve = _linf_program(V) if norm == "linf" else _l1_program(V)
    point = start / _size(V.T @ start, norm)
    for _ in range(CONTROLS.linear_programs):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        slope = inverse * (inverse * point / np.max(np.abs(inverse * point)))
        better = solve(slope / np.max(np.abs(slope)), left)
        if better is None or np.linalg.norm(inverse * better) <= (
            1 + CONTROLS.settled_gain
        ) * np.linalg.norm(inverse * point):
            break
        point = better / max(1.0, _size(V.T @ better, norm))
    return point / _size(V.T @ point, norm)


def _linf_program(X: Array) -> Callable[[Array, float], Array | None]:
    A, n = np.vstack([X.T, -X.T]), X.shape[0]

    def solve(direction: Array, left: float) -> Array | None:
        found = linprog(
            -direction,
            A_ub=A,
            b_ub=np.ones(len(A)),
            bounds=(None, None),
            method="highs",
            options={"time_limit": left},
        )
        return found.x[:n] if found.status == 0 else None

    return solve


def _l1_program(X: Array) -> Callable[[Array, float], Array | None]:
    """|Xᵀu|_i ≤ t_i, Σt ≤ 1."""
    n, m = X.shape
    A = sparse.block_array(
        [[X.T, -sparse.eye_array(m)], [-X.T, -sparse.eye_array(m)], [None, np.ones((1, m))]],
        format="csr",
    )
    b = np.append(np.zeros(2 * m), 1.0)

    def solve(direction: Array, left: float) -> Array | None:
        cost = np.append(-direction, np.zeros(m))
        found = linprog(
            cost, A_ub=A, b_ub=b, bounds=(None, None), method="highs", options={"time_limit": left}
        )
        return found.x[:n] if found.status == 0 else None

    return solve
