"""Bregman projections argmin D_φ(β, β₀) subject to Xβ = y (R, Theorems 2.2 and 2.3)."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from .._core.arguments import (
    SMALLEST_NORMAL,
    Array,
    Index,
    instance,
    label_size,
    length,
    system,
    vector,
)
from .._core.progress import doing
from .._core.results import Certificate, Limit
from .._numerics.deadlines import Deadline
from ..errors import ConvergenceError, InfeasibleError
from ..potentials import ScaledPotential
from ..potentials.potential import MirrorPoint, Potential
from .constraints import reduce_constraints
from .divergence import ROUNDINGS, divergence_bracket
from .half_lines import forced_zeros
from .newton import origin_at, project
from .rank import independent_rows, settled_rank
from .rounding import EPS, WIDE, kind_of, outward, row_exponents

TOLERANCE = 2e-14
"""Residual and mismatch asked of the final Newton iteration; it also stops where rounding ends its
progress."""
ACCEPTED = 1e-9
"""Misfit relative to the sums |X||β| of which Xβ = y is made, above which the solver says that it
failed: the rounding floor at log α = −23 000 is about 1e-11."""
TINY = 1e-300
"""Keeps that size from being zero."""


@doing("projection")
def bregman_projection(
    potential: Potential, X: ArrayLike, y: ArrayLike, beta0: ArrayLike | None = None
) -> Limit[Array]:
    """argmin_β D_φ(β, β₀) subject to Xβ = y, through its n-dimensional dual.

    The point is characterised by Xβ = y and ∇φ(β) − ∇φ(β₀) ∈ Im Xᵀ (R, Theorem 2.2). Coordinates on
    half-lines (α_i = 0) keep the sign of β₀ or of the potential; those that every solution sets to
    zero lie on the boundary (R, Theorem 2.3) and are returned as zeros.

    Parameters
    ----------
    potential : Potential
        φ.
    X : array of shape (n, d)
    y : array of shape (n,)
    beta0 : array of shape (d,), optional
        β₀; None is the minimiser of φ.

    Returns
    -------
    Limit
        value: β (d,). stats: iterations, rank, nu (the dual point; on the boundary, of the
        remaining coordinates), boundary (their indices).

    Raises
    ------
    InconsistentError
        Where Xβ = y has no solution.
    InfeasibleError
        With a Farkas vector, where only the signs forbid it.

    Examples
    --------
    >>> X, y = [[1.0, 2.0, 3.0]], [6.0]
    >>> for alpha in (100.0, 1e-6):
    ...     print(np.round(bf.bregman_projection(bf.potentials.Hypentropy(alpha), X, y).value, 3))
    [0.429 0.857 1.286]
    [0.    0.013 1.992]
    """
    return projection_onto(potential, X, y, beta0)


def projected_point(potential: Potential, X: Array, y: Array) -> Array:
    """The β of `bregman_projection` from the minimiser of φ, without its certificate, which takes
    as long: for searches. Of potentials without half-lines."""
    constraints = reduce_constraints(X, y)
    solution = project(potential, constraints.basis, constraints.target, None, TOLERANCE)
    if not solution.converged:
        return bregman_projection(potential, X, y).value  # which says what is wrong
    return solution.state.point.beta


def projection_onto(
    potential: Potential,
    X: ArrayLike,
    y: ArrayLike,
    beta0: ArrayLike | None,
    source: Array | None = None,
    deadline: Deadline | None = None,
) -> Limit[Array]:
    """`bregman_projection`, until the deadline; source: where y is the least-squares fit of other
    labels, these: the bracket is for their own fit then, where the rank of X is settled and no
    coordinate is forced to zero."""
    instance("potential", potential, Potential)
    # c·φ has the same projection, and c times the divergence and ν
    potential, unit = _without_unit(potential)
    X, y = system(X, y)
    d = X.shape[1]
    start = None if beta0 is None else vector("beta0", beta0, d)
    if start is not None:
        potential = potential.oriented(start)
    potential.at_dual(np.zeros(d))  # a missing sign is said before any work
    constraints = reduce_constraints(X, y)
    signs = potential.half_lines(d)
    try:
        zero = (
            forced_zeros(constraints.basis, constraints.target, signs)
            if np.any(signs)
            else np.zeros(d, dtype=bool)
        )
    except InfeasibleError as reason:  # its proof in terms of the rows given
        raise InfeasibleError(str(reason), constraints.lift(reason.certificate)) from None
    inside = np.flatnonzero(~zero)
    inner, basis = (
        (potential.restricted(inside), constraints.basis[:, inside])
        if np.any(zero)
        else (potential, constraints.basis)
    )
    solution = project(
        inner,
        basis,
        constraints.target,
        None if start is None else start[inside],
        TOLERANCE,
        deadline,
    )
    beta = np.zeros(d)
    beta[inside] = solution.state.point.beta
    nu = constraints.lift(solution.state.nu)
    misfit = float(np.max(np.abs(X @ beta - y)))
    sums = beta if np.any(y) or start is None else start  # zero labels have no size of their own
    residual, relative = (
        misfit / label_size(y),
        misfit / max(float(np.max(np.abs(X) @ np.abs(sums))), TINY),
    )
    origin = origin_at(potential, start, d)
    with np.errstate(under="ignore", over="ignore"):
        objective = float(np.sum(potential.at(beta).divergence(origin)))
        inner_origin = origin_at(inner, None if start is None else start[inside], inside.size)
        membership = _membership(solution.state.point, inner_origin, basis.T @ solution.state.nu)
        moving = (
            inside if start is None else inside[(signs[inside] == 0) | (start[inside] != 0)]
        )  # zero on a half-line stays zero
        left, rank = (
            (X[:, moving], reduce_constraints(X[:, moving], y).rank)
            if 0 < moving.size < d
            else (X, constraints.rank)
        )
        fitted = source if moving.size == d else None
        settled, note = settled_rank(left, y if fitted is None else np.zeros_like(y), rank)
        doubt = _fit_doubt(X, fitted, y, beta, rank) if settled and fitted is not None else None
        rows = independent_rows(left, rank) if settled else None
        part = potential if moving.size == d else potential.restricted(moving)
        begin = origin_at(part, None if start is None else start[moving], moving.size)
        primal, dual = (
            divergence_bracket(part, left, y, begin, beta[moving], nu, rows, doubt)
            if moving.size
            else (0.0, 0.0)
        )
        wall = wall_divergence(potential, origin, np.flatnonzero(zero))
        bounds = outward(
            (primal + wall) * (1 + ROUNDINGS * EPS), (dual + wall) * (1 - ROUNDINGS * EPS), unit
        )
        objective, nu = float(np.ldexp(objective, unit)), np.ldexp(nu, unit)
    # the point itself is off where labels drown in rounding
    kind = kind_of(*bounds, "exact") if residual <= WIDE else "bound"
    bounds, kind = _integrated(potential, beta, origin, bounds, kind, unit)
    certificate = Certificate(*bounds, residual, kind, membership)
    stats = {
        "iterations": solution.iterations,
        "rank": constraints.rank,
        "nu": nu,
        "boundary": np.flatnonzero(zero),
        **note,
    }
    result = Limit(beta, objective, certificate, stats)
    if not solution.converged or relative > ACCEPTED:
        raise ConvergenceError(
            f"bregman_projection: stopped after {solution.iterations} iterations with residual "
            f"{residual:.2e}",
            result,
        )
    return result


def _integrated(
    potential: Potential,
    beta: Array,
    origin: MirrorPoint,
    bounds: tuple[float, float],
    kind: str,
    unit: int,
) -> tuple[tuple[float, float], str]:
    """Bounds on a potential that was integrated: further apart by its error in the terms of a
    divergence, and not proven."""
    point = potential.at(beta)
    relative = potential.accuracy(point.eta)
    if not relative:
        return bounds, kind
    terms = np.abs(point.conjugate()) + np.abs(origin.conjugate()) + np.abs(beta * point.eta)
    doubt = float(np.ldexp(2 * relative * np.sum(terms), unit))
    return (bounds[0] + doubt, max(bounds[1] - doubt, 0.0)), "heuristic"


def wall_divergence(potential: Potential, origin: MirrorPoint, wall: Index) -> float:
    """D_φ(0, β₀) of coordinates at the wall of their half-line: |β₀| for the hypentropy at α =
    0."""
    inner = potential.restricted(wall)
    return (
        float(np.sum(inner.at(np.zeros(wall.size)).divergence(inner.at(origin.beta[wall]))))
        if wall.size
        else 0.0
    )


def _fit_doubt(X: Array, y: Array, fit: Array, beta: Array, rank: int) -> Array:
    """How far a computed fit may be from the least-squares fit Py of y, P the projection onto the
    range of X, of this rank.

    Py − f = P(y − f) − (f − Pf), where ‖f − Pf‖ ≤ ‖f − Xβ‖ for any β and ‖Pv‖ ≤ ‖Xᵀv‖/σ, σ the
    least singular value that is not zero; columns, whose units leave P alone, are scaled to size
    one."""
    n, d = X.shape
    if rank == 0:
        return np.zeros(n)
    A = np.ldexp(X, -row_exponents(X.T))
    values = sl.svdvals(A)
    least = float(values[rank - 1]) - (n + d) * EPS * float(values[0])
    if not least > 0:
        return np.full(n, np.inf)
    outside = np.abs(fit - X @ beta) + (d + 2) * EPS * (np.abs(X) @ np.abs(beta) + np.abs(fit))
    left = np.abs(A.T @ (y - fit)) + (n + 3) * EPS * (np.abs(A).T @ (np.abs(y) + np.abs(fit)))
    return np.full(n, (length(left) / least + length(outside)) * (1 + (n + d + 4) * EPS))


def _membership(point: MirrorPoint, origin: MirrorPoint, shift: Array) -> float:
    """‖∇φ(β) − ∇φ(β₀) − Xᵀν‖_∞/max(1, ‖∇φ(β)‖_∞); a β that underflowed has no gradient to
    compare."""
    known = np.isfinite(point.eta) & (np.abs(point.beta) > SMALLEST_NORMAL)
    eta = np.where(known, point.eta, 0.0)
    distance = np.where(known, eta - origin.eta - shift, 0.0)
    return float(np.max(np.abs(distance), initial=0.0)) / float(np.max(np.abs(eta), initial=1.0))


def _without_unit(potential: Potential) -> tuple[Potential, int]:
    """The potential with a factor of size one, and the power of two that was taken off it."""
    if not isinstance(potential, ScaledPotential):
        return potential, 0
    unit = int(np.frexp(np.max(potential.factor))[1])
    return ScaledPotential(np.ldexp(potential.factor, -unit), potential.potential), unit
