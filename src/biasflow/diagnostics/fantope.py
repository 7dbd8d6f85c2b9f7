"""max_P min_k ⟨δ_k, Pδ_k⟩ over 0 ≤ P ≤ 1, tr P = r, and the weights that bound it: a barrier method
with cutting planes.

Duality: for weights λ in the simplex, min_k ⟨δ_k, Pδ_k⟩ ≤ ⟨P, M⟩ ≤ the sum of the r largest
eigenvalues of M = Σλ_kδ_kδ_kᵀ. On the central path λ_k is inversely proportional to the slack of
pair k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array, Index


@dataclass(frozen=True)
class BarrierControls:
    """How the barrier method goes, and where multiplicative weights take over."""

    shrink: float = 0.15
    """Factor by which the barrier's weight falls from one centre to the next."""
    newton_steps: int = 30
    """Most Newton steps to a centre."""
    centred_below: float = 1e-3
    """Squared Newton decrement that ends them: half of it bounds what a centre is off by, in units
    of the barrier's weight."""
    pairs_per_entry: int = 3
    """Pairs to begin with per free entry of P: the closest; as many may join in a round."""
    cutting_rounds: int = 30
    """Most rounds in which violated pairs join."""
    largest_dimension: int = 45
    """Largest dimension for Newton's method; above it, multiplicative weights: cheap, and
    looser."""
    weighing_steps: int = 600
    """Steps of multiplicative weights."""


CONTROLS = BarrierControls()


def fantope_bound(differences: Array, rank: int, gap: float) -> tuple[float, Array, float]:
    """An upper bound on max_P min_k, the P found, and the relative gap between the two. differences
    δ (K, d)."""
    unit = float(np.min(np.sum(differences**2, axis=1)))
    if unit == 0:
        return 0.0, np.eye(differences.shape[1]) * rank / differences.shape[1], 0.0
    scaled = differences / np.sqrt(unit)
    upper, P = (_cutting if differences.shape[1] <= CONTROLS.largest_dimension else _weighing)(
        scaled, rank, gap
    )
    lower = float(np.min(np.sum((scaled @ P) * scaled, axis=1)))
    return upper * unit, P, (upper - lower) / upper


def _cutting(differences: Array, rank: int, gap: float) -> tuple[float, Array]:
    d = differences.shape[1]
    size = CONTROLS.pairs_per_entry * d * (d + 1) // 2
    active: Index = np.argsort(np.sum(differences**2, axis=1))[:size]
    P, best, best_P, best_lower = np.eye(d) * rank / d, np.inf, np.eye(d) * rank / d, -np.inf
    for _ in range(CONTROLS.cutting_rounds):
        P, upper = _centred_path(differences[active], rank, gap / 4)
        best = min(best, upper)
        values = np.sum((differences @ P) * differences, axis=1)
        lower = float(np.min(values))
        if lower > best_lower:
            best_lower, best_P = lower, P
        if lower >= best * (1 - gap) or active.size == values.size:
            break
        joining = np.argsort(values)[:size]
        active = np.union1d(active, joining[values[joining] < best])
    return best, best_P


def _top(differences: Array, weights: Array, rank: int) -> float:
    """The sum of the r largest eigenvalues of Σλδδᵀ, λ = weights/Σweights."""
    weights = weights / np.sum(weights)
    return float(np.sum(np.linalg.eigvalsh((differences.T * weights) @ differences)[-rank:]))


def _centred_path(differences: Array, rank: int, gap: float) -> tuple[Array, float]:
    """Follow the barrier t + μ[Σlog(⟨A_k, P⟩ − t) + log det P + log det(1 − P)] down to a relative
    gap: P, and the best bound."""
    K, d = differences.shape
    basis = _symmetric_basis(d)
    A = np.einsum("kij,ni,nj->nk", basis, differences, differences, optimize=True)
    P = np.eye(d) * rank / d
    t = float(np.min(A @ _coordinates(basis, P))) * 0.9 - 1e-3
    mu, best = max(abs(t), 1e-2) / 10, np.inf
    while True:
        for _ in range(CONTROLS.newton_steps):
            step, dt, decrement = _newton(A, basis, P, t, mu, rank)
            P, t = _moved(A, basis, P, t, step, dt)
            if decrement <= CONTROLS.centred_below:
                break
        best = min(best, _top(differences, 1 / (A @ _coordinates(basis, P) - t), rank))
        if best - t <= gap * best or mu * (K + 2 * d) <= gap * max(t, 1e-12) / 10:
            return P, best
        mu *= CONTROLS.shrink


def _symmetric_basis(d: int) -> Array:
    """An orthonormal basis of symmetric matrices, (d(d+1)/2, d, d)."""
    rows, columns = np.triu_indices(d)
    basis = np.zeros((rows.size, d, d))
    index = np.arange(rows.size)
    size = np.where(rows == columns, 1.0, np.sqrt(0.5))
    basis[index, rows, columns] = size
    basis[index, columns, rows] = size
    return basis


def _coordinates(basis: Array, P: Array) -> Array:
    return basis.reshape(basis.shape[0], -1) @ P.ravel()


def _newton(
    A: Array, basis: Array, P: Array, t: float, mu: float, rank: int
) -> tuple[Array, float, float]:
    """Newton step for (P, t) with tr P fixed, and its squared decrement."""
    flat, d = basis.reshape(basis.shape[0], -1), P.shape[0]
    inverses = [np.linalg.inv(P), np.linalg.inv(np.eye(d) - P)]
    recip = 1 / (A @ (flat @ P.ravel()) - t)
    slope = np.append(
        A.T @ recip + flat @ (inverses[0] - inverses[1]).ravel(), 1 / mu - np.sum(recip)
    )
    H = np.zeros((slope.size, slope.size))
    scaled = A * recip[:, None]
    H[:-1, :-1] = scaled.T @ scaled
    for inverse in inverses:
        H[:-1, :-1] += flat @ (inverse @ basis @ inverse).reshape(flat.shape).T
    H[:-1, -1] = H[-1, :-1] = -scaled.T @ recip
    H[-1, -1] = recip @ recip
    trace = np.append(flat @ np.eye(d).ravel(), 0.0)
    factor = sl.cho_factor(H + 1e-14 * np.trace(H) / slope.size * np.eye(slope.size))
    solved = sl.cho_solve(factor, np.stack([slope, trace], axis=1))
    step = solved[:, 0] - solved[:, 1] * (trace @ solved[:, 0]) / (trace @ solved[:, 1])
    return (step[:-1] @ flat).reshape(d, d), float(step[-1]), float(slope @ step)


def _moved(
    A: Array, basis: Array, P: Array, t: float, step: Array, dt: float
) -> tuple[Array, float]:
    """The longest of 1, ½, ¼, … that stays inside."""
    length = 1.0
    for _ in range(50):
        Q, u = P + length * step, t + length * dt
        values = np.linalg.eigvalsh(Q)
        if values[0] > 0 and values[-1] < 1 and np.min(A @ _coordinates(basis, Q)) > u:
            return Q, u
        length /= 2
    return P, t


def _weighing(differences: Array, rank: int, gap: float) -> tuple[float, Array]:
    """Multiplicative weights: λ_k ∝ exp(−Σ gains of pair k), each round's P the top eigenprojection
    under λ."""
    total, best, mean = (
        np.zeros(differences.shape[0]),
        np.inf,
        np.zeros((differences.shape[1],) * 2),
    )
    for k in range(CONTROLS.weighing_steps):
        weights = np.exp(np.min(total) - total)
        weights /= np.sum(weights)
        values, vectors = np.linalg.eigh((differences.T * weights) @ differences)
        best = min(best, float(np.sum(values[-rank:])))
        top = vectors[:, -rank:]
        mean += (top @ top.T - mean) / (k + 1)
        gains = np.sum((differences @ top) ** 2, axis=1)
        total += np.minimum(gains / best, 4.0) * np.sqrt(np.log(total.size + 1) / (k + 1))
    return best, mean
