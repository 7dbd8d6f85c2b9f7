"""Completions of least norm: the two ends that W, §6 names for gradient flow on UVᵀ.

Least nuclear norm: min ‖M‖_* with M_Ω = y, dual to max ⟨y, λ⟩ with ‖Λ‖_op ≤ 1, Λ the matrix with λ
on Ω and zeros elsewhere. The barrier ⟨y, λ⟩ + μ·log det(1 − ΛᵀΛ) is concave in n numbers; where it
is largest, M = 2μΛ(1 − ΛᵀΛ)⁻¹ fits the entries, and its gap is below μ·min(rows, cols). Newton's
method follows it down to a small μ, which shows the rank; from there Gauss–Newton on

    ΛB = A,  ΛᵀA = B,  (ABᵀ)_Ω = y,    M = ABᵀ with A, B of that rank,

the conditions for a minimiser, gains the remaining digits. What is returned fits the entries
exactly, so that primal and dual value prove each other whatever the path here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from .._core.arguments import Array, length, matrix_shape
from .._core.results import Certificate, Limit
from ..data.matrix_entries import Entries, read_entries
from ..errors import ConvergenceError
from .rounding import EPS

SHRINK = 0.15
"""Factor between one μ and the next."""
POLISHED, DEEPEST = 1e-5, 1e-10
"""μ, for labels of size one, from which on the rank is read, and to which the path is followed
where that does not help."""
CUTOFFS = (1e-3, 1e-5, 1e-7)
"""Singular values, relative to the largest, below which a direction of Gauss–Newton counts as free.
Off the solution the free directions (rotations of A and B, multipliers that are not unique) have
small ones, on it none."""
CENTRED = 1e-9
"""Squared Newton decrement at which a point counts as the barrier's maximum: quadratic convergence
does the rest."""
NEWTON, POLISH = 60, 12
FASTER = 0.5
"""What an iteration must make of the violation of the conditions; one that makes more of it is on
no way to a solution."""
ENOUGH = 1e-12
"""Gap at which nothing is left to gain."""
PROVEN = 1e-10
"""Largest gap from which uniqueness is concluded."""
GAP = 1e-6
"""Largest relative gap that is returned."""
LARGEST_POLISH = 3000
"""Unknowns up to which the dense least-squares polish is worth its time."""
ON_FACE = 1e-6
"""Distance of a singular value of Λ from one that counts as none."""


class _Pair(NamedTuple):
    """A completion and a multiplier."""

    M: Array
    multiplier: Array


def min_nuclear_norm(
    shape: tuple[int, int], rows: ArrayLike, cols: ArrayLike, values: ArrayLike
) -> Limit[Array]:
    """argmin ‖M‖_* subject to M[rows, cols] = values.

    Certificate: λ with ‖Λ‖_op ≤ 1 proves ‖M‖_* ≥ ⟨y, λ⟩.

    Parameters
    ----------
    shape : (int, int)
    rows, cols : array of int, shape (n,)
    values : array of shape (n,)

    Returns
    -------
    Limit
        value: M; objective: ‖M‖_*. stats: rank, multiplier (Λ), and `unique`: whether the
        certificate proves that there is no other minimiser.

    Examples
    --------
    >>> least = bf.limits.min_nuclear_norm((2, 2), [0, 0, 1], [0, 1, 0], [2.0, 1.0, 1.0])
    >>> print(least.value.round(4), round(least.objective, 4))
    [[2.  1. ]
     [1.  0.5]] 2.5
    """
    shape = matrix_shape(shape)
    entries = read_entries(shape, rows, cols, values)
    size = float(np.max(np.abs(entries.values)))
    if size == 0:
        zero = np.zeros(shape)
        return Limit(
            zero,
            0.0,
            Certificate(0.0, 0.0, 0.0, "closed-form"),
            {"rank": 0, "multiplier": zero, "unique": True},
        )
    scaled = entries._replace(values=entries.values / size)
    best = _solve(scaled, shape)
    primal, dual = _bounds(best, scaled)
    M = size * best.M
    M[entries.rows, entries.cols] = entries.values
    certificate = Certificate(size * primal * (1 + EPS), size * dual * (1 - EPS), 0.0, "exact")
    if not (primal - dual) / primal <= GAP:
        raise ConvergenceError(
            f"min_nuclear_norm: stopped at a gap of {certificate.gap:.1e}",
            Limit(M, size * primal, certificate),
        )
    return Limit(M, size * primal, certificate, _describe(best, scaled))


def min_frobenius_norm(
    shape: tuple[int, int], rows: ArrayLike, cols: ArrayLike, values: ArrayLike
) -> Limit[Array]:
    """argmin ‖M‖_F subject to M[rows, cols] = values: zeros elsewhere, the limit from large α (W,
    §6).

    Parameters
    ----------
    shape : (int, int)
    rows, cols : array of int, shape (n,)
    values : array of shape (n,)

    Returns
    -------
    Limit
        value: M; objective: ‖M‖_F.

    Examples
    --------
    >>> bf.limits.min_frobenius_norm((2, 2), [0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0]).value
    array([[1., 2.],
           [2., 0.]])
    """
    shape = matrix_shape(shape)
    entries = read_entries(shape, rows, cols, values)
    M = _spread(entries, shape, entries.values)
    norm, rounding = length(M), (entries.values.size + 4) * EPS
    certificate = Certificate(norm * (1 + rounding), norm * (1 - rounding), 0.0, "closed-form")
    return Limit(M, norm, certificate, {"rank": int(np.linalg.matrix_rank(M))})


def _solve(entries: Entries, shape: tuple[int, int]) -> _Pair:
    """The best pair of the barrier's path and its polished end."""
    multiplier, mu = np.zeros(entries.values.size), 1.0
    best = _fitted(entries, np.zeros(shape), np.zeros(shape))
    while mu > DEEPEST and _gap(best, entries) > ENOUGH:
        try:
            multiplier, M = _centre(entries, shape, multiplier, mu)
        except np.linalg.LinAlgError:  # the barrier's curvature is lost in rounding
            break
        found = _fitted(entries, M, _spread(entries, shape, multiplier))
        tries = (
            [_polish(entries, found, mu, cutoff) for cutoff in CUTOFFS] if mu <= POLISHED else []
        )
        best = min([best, found, *tries], key=lambda pair: _gap(pair, entries))
        mu *= SHRINK
    return best


def _centre(
    entries: Entries, shape: tuple[int, int], multiplier: Array, mu: float
) -> tuple[Array, Array]:
    """Newton's method for the barrier at μ: its λ, and M = −2μ·R_uv with R = [[1, Λ], [Λᵀ,
    1]]⁻¹."""
    i, j, y = entries
    p = shape[0]
    for _ in range(NEWTON):
        R = _resolvent(_spread(entries, shape, multiplier))
        outer, cross = R[:p, :p][np.ix_(i, i)] * R[p:, p:][np.ix_(j, j)], R[:p, p:][np.ix_(i, j)]
        gradient = y + 2 * mu * R[i, p + j]
        move = sl.cho_solve(
            sl.cho_factor(2 * mu * (outer + cross * cross.T), check_finite=False),
            gradient,
            check_finite=False,
        )
        decrement = float(gradient @ move) / mu
        length = 1.0 if decrement < 0.06 else 1 / (1 + np.sqrt(decrement))  # self-concordance
        while np.linalg.norm(_spread(entries, shape, multiplier + length * move), 2) >= 1:
            length /= 2
        multiplier = multiplier + length * move
        if decrement <= CENTRED:
            break
    return multiplier, -2 * mu * _resolvent(_spread(entries, shape, multiplier))[:p, p:]


def _resolvent(Lambda: Array) -> Array:
    """[[1, Λ], [Λᵀ, 1]]⁻¹ for ‖Λ‖_op < 1."""
    p, q = Lambda.shape
    factor = sl.cho_factor(
        np.block([[np.eye(p), Lambda], [Lambda.T, np.eye(q)]]), check_finite=False
    )
    return sl.cho_solve(factor, np.eye(p + q), check_finite=False)


def _polish(entries: Entries, start: _Pair, mu: float, cutoff: float) -> _Pair:
    """Gauss–Newton on the optimality conditions, from the rank that a point of the barrier's path
    shows."""
    i, j, y = entries
    u, s, vt = np.linalg.svd(start.M)
    # s·(1 − σ) ≈ μ for every pair of singular values of M and Λ
    rank = int(np.sum(s > np.sqrt(mu)))
    (p, q), n = start.M.shape, y.size
    best = start
    if n + (p + q) * rank > LARGEST_POLISH:
        return best
    A, B = u[:, :rank] * np.sqrt(s[:rank]), vt[:rank].T * np.sqrt(s[:rank])
    multiplier, missed = start.multiplier[i, j], np.inf
    for _ in range(POLISH):
        Lambda = _spread(entries, (p, q), multiplier)
        misses = np.concatenate(
            [(Lambda @ B - A).ravel(), (Lambda.T @ A - B).ravel(), np.sum(A[i] * B[j], axis=1) - y]
        )
        last, missed = missed, float(np.linalg.norm(misses))
        if not missed <= FASTER * last:
            break
        move = sl.lstsq(
            _conditions(entries, A, B, Lambda), -misses, cond=cutoff, check_finite=False
        )[0]
        A, B = (
            A + move[: p * rank].reshape(p, rank),
            B + move[p * rank : (p + q) * rank].reshape(q, rank),
        )
        multiplier = multiplier + move[(p + q) * rank :]
        found = _fitted(entries, A @ B.T, _spread(entries, (p, q), multiplier))
        best = found if _gap(found, entries) < _gap(best, entries) else best
        if _gap(best, entries) <= ENOUGH:
            break
    return best


def _conditions(entries: Entries, A: Array, B: Array, Lambda: Array) -> Array:
    """The Jacobian of (ΛB − A, ΛᵀA − B, (ABᵀ)_Ω) in (A, B, λ)."""
    i, j, y = entries
    (p, rank), q, n = A.shape, B.shape[0], y.size
    one, places = np.eye(rank), np.arange(n)
    first, second, observed = (
        np.zeros((p, rank, n)),
        np.zeros((q, rank, n)),
        np.zeros((n, (p + q), rank)),
    )
    first[i, :, places], second[j, :, places] = B[j], A[i]
    observed[places, i], observed[places, p + j] = B[j], A[i]
    top = np.hstack([-np.eye(p * rank), np.kron(Lambda, one), first.reshape(p * rank, n)])
    middle = np.hstack([np.kron(Lambda.T, one), -np.eye(q * rank), second.reshape(q * rank, n)])
    return np.vstack([top, middle, np.hstack([observed.reshape(n, -1), np.zeros((n, n))])])


def _fitted(entries: Entries, M: Array, Lambda: Array) -> _Pair:
    """The pair made feasible: M with the entries as given, ‖Λ‖_op ≤ 1."""
    M = M.copy()
    M[entries.rows, entries.cols] = entries.values
    return _Pair(M, Lambda / max(1.0, float(np.linalg.norm(Lambda, 2))))


def _bounds(pair: _Pair, entries: Entries) -> tuple[float, float]:
    """‖M‖_* and ⟨y, λ⟩, moved apart by rounding.

    Each singular value is good to that of the decomposition, (p + q)u·σ₁; ‖Λ‖_op likewise, the sum
    to n roundings.
    """
    singular, rounding = np.linalg.svd(pair.M, compute_uv=False), sum(pair.M.shape) * EPS
    terms = entries.values * pair.multiplier[entries.rows, entries.cols]
    dual = (float(np.sum(terms)) - terms.size * EPS * float(np.sum(np.abs(terms)))) / (1 + rounding)
    return float(np.sum(singular)) + singular.size * rounding * float(singular[0]), dual


def _gap(pair: _Pair, entries: Entries) -> float:
    primal, dual = _bounds(pair, entries)
    return (primal - dual) / primal


def _describe(pair: _Pair, entries: Entries) -> dict[str, Any]:
    """Rank and uniqueness: minimisers are UHVᵀ, H ⪰ 0, over the singular vectors of Λ at one; the
    entries must determine H."""
    s = np.linalg.svd(pair.M, compute_uv=False)
    u, ones, vt = np.linalg.svd(pair.multiplier)
    face = int(np.sum(ones > 1 - ON_FACE))
    left, right = u[entries.rows, :face], vt[:face].T[entries.cols]
    upper = np.triu_indices(face)
    products = left[:, upper[0]] * right[:, upper[1]] + left[:, upper[1]] * right[:, upper[0]]
    unique = _gap(pair, entries) <= PROVEN and int(np.linalg.matrix_rank(products)) == upper[0].size
    return {
        "rank": int(np.sum(s > ON_FACE * s[0])),
        "multiplier": pair.multiplier,
        "unique": bool(unique),
    }


def _spread(entries: Entries, shape: tuple[int, int], numbers: Array) -> Array:
    """The matrix with these numbers at the observed entries and zeros elsewhere."""
    M = np.zeros(shape)
    M[entries.rows, entries.cols] = numbers
    return M
