"""Newton's method for Bregman projections, started cold at any scale.

The unknowns are ν ∈ Rⁿ with ∇φ(β) = ∇φ(β₀) + Xᵀν and Xβ = y. Every coordinate keeps an *anchor*: a
point (β_i, η_i) of the mirror curve, at which the curve is replaced by its tangent. One linear
system H δν = y − Xβ − X(w·e), H = X·diag(w)·Xᵀ, moves all tangents at once; e is what an anchor
still misses of ∇φ(β₀) + Xᵀν. The new anchor is taken on the curve at the new η where |β| falls or
stays small (the exponential side is safe), and at the new β where it grows (the logarithmic side
is). Errors never explode, and differences of η are formed from β where β is large, so slacks far
below rounding survive. Small scales are reached by lowering a floor under the scale; the anchors
carry over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array
from .._numerics.deadlines import Deadline
from ..errors import ConvergenceError
from ..potentials.potential import MirrorPoint, Potential

REVIVAL = 0.3
"""Share of the largest |β| up to which an anchor may grow on the exponential side."""
KEPT = 1e-12
"""Share of the largest |β| above which a coordinate keeps its β, not its η, when the scale
changes."""
NEGLIGIBLE = 1e-20
"""Relative weight below which a column does not change the sum in H, and a β does not change Xβ."""
RIDGE = 4 * np.finfo(float).eps
VANISHED = 1e-8
"""Share of the start that counts as the size of labels that are all zero: residuals stop at 1e-22
of the start."""
ROUGH = 1e-9
"""Accuracy asked of the intermediate problems of the continuation."""
STALLED = 1e-9
"""Accuracy beyond which Newton's method no longer stalls on nonlinearity, only on rounding."""
FIRST_FLOOR = 5.0
"""The continuation starts at units of β e⁵ times below the least-squares solution: there Newton
needs a handful of steps."""


@dataclass(frozen=True, eq=False)
class NewtonState:
    """Anchors, their misfit e, the dual point ν, and the residuals they leave."""

    point: MirrorPoint
    misfit: Array
    nu: Array
    residual: float
    mismatch: float


@dataclass(frozen=True, eq=False)
class NewtonSolution:
    state: NewtonState
    iterations: int
    converged: bool


def weighted_gram(X: Array, weight: Array, block: int = 8192) -> Array:
    """X·diag(weight)·Xᵀ, in blocks of columns, without those whose weight cannot matter."""
    matters = np.flatnonzero(weight > NEGLIGIBLE * np.max(weight))
    n = X.shape[0]
    total = np.zeros((n, n))
    everything = matters.size == X.shape[1]
    for start in range(0, matters.size, block):
        stop = min(start + block, matters.size)
        columns = X[:, start:stop] if everything else X[:, matters[start:stop]]
        root = columns * np.sqrt(weight[matters[start:stop]])
        total += root @ root.T
    return total


def solve_gram(H: Array, rhs: Array) -> Array:
    """H⁻¹rhs with a ridge of a few eps: directions that H cannot see are left alone."""
    if not len(H):
        return rhs
    H = H + np.diag(np.full(len(H), RIDGE * np.trace(H)))
    _, solution, failed = sl.lapack.dposv(H, rhs)
    if failed:
        values, vectors = sl.eigh(H, check_finite=False)
        return vectors @ ((vectors.T @ rhs) / np.maximum(values, len(H) * RIDGE * values[-1]))
    return solution


def project(
    potential: Potential,
    X: Array,
    y: Array,
    beta0: Array | None,
    tol: float,
    deadline: Deadline | None = None,
    max_iterations: int = 3000,
) -> NewtonSolution:
    """Solve for the Bregman projection from a cold start, lowering the floor under the scales as
    far as needed."""
    n, d = X.shape
    if X.size == 0:  # no constraint, or every coordinate forced: nothing moves
        return NewtonSolution(
            NewtonState(origin_at(potential, beta0, d), np.zeros(d), np.zeros(n), 0.0, 0.0), 0, True
        )
    log_units = potential.log_units(d)
    finite = log_units[np.isfinite(log_units)]
    lowest = float(np.min(finite)) if finite.size else np.inf
    floor = max(lowest, _log_size(X, y, beta0) - FIRST_FLOOR) if finite.size else np.inf
    least = float(np.max(np.abs(y)))
    # the limit may be zero itself: then only the start has a size
    if least == 0 and beta0 is not None:
        least = VANISHED * float(np.max(np.abs(beta0)))
    used, converged = 0, False
    while not converged:
        current = potential.raised(floor) if floor > lowest else potential
        origin = origin_at(current, beta0, d)
        start = NewtonState(origin, np.zeros(d), np.zeros(X.shape[0]), np.inf, np.inf)
        state, count, converged = _newton(
            current, X, y, start, ROUGH if floor > lowest else tol, 60, least, deadline
        )
        used += count
        if not converged and (floor > _log_size(X, y, beta0) + FIRST_FLOOR or not finite.size):
            return NewtonSolution(state, used, False)
        floor += 0.0 if converged else 2.0
    drop = 2.0
    while floor > lowest:
        if used > max_iterations or drop < 1e-4:
            return NewtonSolution(state, used, False)
        jump = _transfer(potential, state, origin_at(potential, beta0, d).minus(origin))
        if _settled(state, jump):
            state, count, converged = _newton(current, X, y, state, tol, 40, least, deadline)
            final = _transfer(potential, state, origin_at(potential, beta0, d).minus(origin))
            return NewtonSolution(replace(final, misfit=np.zeros(d)), used + count, converged)
        target = max(lowest, floor - min(drop, potential.stride))
        lowered = potential if target <= lowest else potential.raised(target)
        new_origin = origin_at(lowered, beta0, d)
        moved = _transfer(lowered, state, new_origin.minus(origin))
        last = target <= lowest
        trial, count, converged = _newton(
            lowered, X, y, moved, tol if last else ROUGH, 40 if last else 10, least, deadline
        )
        used += count
        if not converged:
            drop = min(drop, potential.stride) / 4
            continue
        floor, state, origin, current = target, trial, new_origin, lowered
        drop *= 4 if count <= 4 else 2 if count <= 6 else 1
    return NewtonSolution(state, used, True)


def _newton(
    potential: Potential,
    X: Array,
    y: Array,
    start: NewtonState,
    tol: float,
    limit: int,
    least: float,
    deadline: Deadline | None,
) -> tuple[NewtonState, int, bool]:
    point, misfit, nu = start.point, start.misfit, start.nu
    state, before = start, np.inf
    for k in range(limit + 1):
        beta, weight = point.beta, point.weight()
        if not (
            np.all(np.isfinite(beta))
            and np.all(np.isfinite(weight))
            and np.all(np.isfinite(misfit))
        ):
            return state, k, False
        residual = y - X @ beta
        largest = max(float(np.max(np.abs(beta))), np.finfo(float).tiny)
        size = max(least, largest)  # rows have unit length: Xβ is known to eps·|β|
        state = NewtonState(
            point,
            misfit,
            nu,
            float(np.max(np.abs(residual))) / size,
            float(np.max(np.abs(misfit * weight))) / size,
        )
        now = max(state.residual, state.mismatch)
        stalled = k > 3 and now < STALLED and now > 0.9 * before
        if now < tol or stalled:
            return state, k, True
        if k == limit:
            break
        if deadline is not None and deadline.over():
            raise ConvergenceError(
                f"projection: stopped after {deadline.seconds:g} s with residual "
                f"{state.residual:.2e}; raise time_s"
            )
        before = now
        top = float(np.max(weight))
        step = solve_gram(weighted_gram(X, weight / top), (residual - X @ (weight * misfit)) / top)
        nu = nu + step
        point, misfit = _new_anchors(potential, point, misfit + X.T @ step, largest)
    return state, limit, False


def _new_anchors(
    potential: Potential, point: MirrorPoint, move: Array, largest: float
) -> tuple[MirrorPoint, Array]:
    """Anchors after η should move by `move`: on the curve at η + move, or at the tangent's β where
    that is safer."""
    moved = point.moved(move)
    size = np.where(np.isnan(moved.beta), np.inf, np.abs(moved.beta))
    revival = REVIVAL * largest
    grows = size > np.maximum(np.abs(point.beta), revival)
    if not np.any(grows):
        return moved, np.zeros_like(move)
    with np.errstate(over="ignore", invalid="ignore"):
        tangent = point.beta + point.weight() * move
        sign = np.where(np.isfinite(moved.beta), np.sign(moved.beta), np.sign(move))
    size = np.minimum(size, np.maximum(np.where(tangent * sign > 0, np.abs(tangent), 0.0), revival))
    primal = potential.at(np.where(grows, sign * size, point.beta))
    anchors = primal.where(grows, moved)
    return anchors, np.where(grows, move - anchors.minus(point), 0.0)


def _transfer(lowered: Potential, state: NewtonState, origin_shift: Array) -> NewtonState:
    """The same anchors on the curve of another scale: large β stay, small ones keep their η."""
    old = state.point
    kept = np.abs(old.beta) > KEPT * np.max(np.abs(old.beta))
    primal = lowered.at(np.where(kept, old.beta, 0.0))
    dual = lowered.carried(old, origin_shift)
    misfit = np.where(kept, state.misfit + origin_shift - primal.minus(old), 0.0)
    return NewtonState(primal.where(kept, dual), misfit, state.nu, state.residual, state.mismatch)


def _settled(state: NewtonState, jump: NewtonState) -> bool:
    """Whether a jump to the final scale changes nothing visible: η by less than eps, small β
    negligible before and after."""
    if not np.any(jump.point.beta):
        return not np.any(state.point.beta)
    sizes = [np.abs(side.point.beta) / np.max(np.abs(side.point.beta)) for side in (state, jump)]
    unmoved = bool(np.max(np.abs(jump.misfit)) < np.finfo(float).eps)
    return unmoved and all(bool(np.all((size > KEPT) | (size < NEGLIGIBLE))) for size in sizes)


def origin_at(potential: Potential, beta0: Array | None, d: int) -> MirrorPoint:
    """The mirror point at β₀, or where ∇φ vanishes."""
    return potential.at_dual(np.zeros(d)) if beta0 is None else potential.at(beta0)


def _log_size(X: Array, y: Array, beta0: Array | None) -> float:
    """log of the largest entry of the least-squares solution (or of β₀)."""
    start = np.zeros(X.shape[1]) if beta0 is None else beta0
    shift = X.T @ solve_gram(X @ X.T, y - X @ start)
    return float(
        np.log(max(np.max(np.abs(start + shift)), np.max(np.abs(start)), np.finfo(float).tiny))
    )
