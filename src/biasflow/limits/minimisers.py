"""Where mirror flow goes whatever the labels: onto the minimisers of F, on the boundary if need be
(R, Theorem 2.3)."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear

from .._core.arguments import Array, Index, instance, label_size, system, vector
from .._core.results import Certificate, Limit
from .._numerics.deadlines import Deadline
from ..errors import InconsistentError, InfeasibleError
from ..potentials.potential import Potential
from .half_lines import forced_zeros
from .newton import origin_at
from .projection import projection_onto, wall_divergence

ROUNDED = 32 * float(np.finfo(float).eps)
"""Of the divergence at a wall, relative."""
PUSHED = 1e-7
"""Slope of F, relative to its largest possible one, above which a coordinate is held at the
wall."""


def mirror_limit(
    potential: Potential, X: ArrayLike, y: ArrayLike, beta0: ArrayLike | None = None
) -> Limit[Array]:
    """The limit of mirror flow: argmin D_φ(β, β₀) over the minimisers of F = ½‖Xβ−y‖² on the closed
    domain (R, Theorem 2.3).

    Where Xβ = y can be solved inside the domain or on its boundary this is `bregman_projection`.
    Elsewhere all minimisers share ŷ = Xβ, since F is strictly convex in it, and the projection is
    onto Xβ = ŷ. The certificate's bracket is then for ŷ without rounding, given the wall; for the ŷ
    that is returned where the rank of X is open in exact arithmetic (stats['note']) or the signs
    force more zeros.

    Parameters
    ----------
    potential : Potential
    X : array of shape (n, d)
    y : array of shape (n,)
    beta0 : array of shape (d,), optional
        As for `bregman_projection`.

    Returns
    -------
    Limit
        value: β (d,). stats: fit ŷ, infimum the least F, wall the coordinates that vanish in every
        minimiser.

    Examples
    --------
    >>> X, y = [[1.0, 2.0], [1.0, 2.0]], [1.0, 3.0]
    >>> found = bf.limits.mirror_limit(bf.potentials.Euclidean(), X, y)
    >>> print(found.value.round(6), round(found.stats["infimum"], 6))
    [0.4 0.8] 1.0
    """
    return limit_among_minimisers(potential, X, y, beta0)


def limit_among_minimisers(
    potential: Potential,
    X: ArrayLike,
    y: ArrayLike,
    beta0: ArrayLike | None,
    deadline: Deadline | None = None,
) -> Limit[Array]:
    """`mirror_limit`, until the deadline."""
    instance("potential", potential, Potential)
    X, y = system(X, y)
    start = None if beta0 is None else vector("beta0", beta0, X.shape[1])
    potential = potential if start is None else potential.oriented(start)
    try:
        found = projection_onto(potential, X, y, start, deadline=deadline)
        fit = y
    except (InconsistentError, InfeasibleError):
        fit, wall = least_squares_fit(X, y, potential.half_lines(X.shape[1]))
        found = _inside(potential, X, y, fit, start, wall, deadline)
    residual = float(np.max(np.abs(X @ found.value - fit))) / label_size(y)
    stats = {
        **found.stats,
        "fit": fit,
        "infimum": 0.5 * float(np.sum((fit - y) ** 2)),
        "wall": found.stats["boundary"],
    }
    return dataclasses.replace(
        found, certificate=dataclasses.replace(found.certificate, residual=residual), stats=stats
    )


def least_squares_fit(X: Array, y: Array, signs: Array) -> tuple[Array, Index]:
    """(ŷ, wall): the fit that all least-squares solutions with these signs share, and the
    coordinates that F pushes to zero."""
    free = np.linalg.lstsq(X, y, rcond=None)[0]
    confined = signs != 0
    if not np.any(confined):
        return X @ free, np.flatnonzero(confined)
    try:
        forced_zeros(X, X @ free, signs)
        return X @ free, np.flatnonzero(np.zeros(X.shape[1], dtype=bool))
    except InfeasibleError:
        low, high = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
        beta = lsq_linear(X, y, (low, high), method="bvls", tol=1e-15, max_iter=100 * X.shape[1]).x
        slope = signs * (X.T @ (X @ beta - y))
        size = np.linalg.norm(X, axis=0) * np.linalg.norm(X @ beta - y)
        wall = confined & (slope > PUSHED * size)
        kept = np.flatnonzero(~wall)
        fit = (
            X[:, kept] @ np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
            if kept.size
            else np.zeros_like(y)
        )
        return fit, np.flatnonzero(wall)


def _inside(
    potential: Potential,
    X: Array,
    y: Array,
    fit: Array,
    start: Array | None,
    wall: Index,
    deadline: Deadline | None,
) -> Limit[Array]:
    """The projection onto Xβ = ŷ with the pushed coordinates at zero."""
    d = X.shape[1]
    kept = np.setdiff1d(np.arange(d), wall)
    value = np.zeros(d)
    origin = origin_at(potential, start, d)
    left = wall_divergence(potential, origin, wall)
    if kept.size == 0:
        return Limit(
            value,
            left,
            Certificate(left, left, 0.0, "exact"),
            {"nu": np.zeros(len(fit)), "boundary": wall},
        )
    part = projection_onto(
        potential.restricted(kept),
        X[:, kept],
        fit,
        None if start is None else start[kept],
        y,
        deadline,
    )
    value[kept] = part.value
    bounds = (
        (part.certificate.primal + left) * (1 + ROUNDED),
        (part.certificate.dual + left) * (1 - ROUNDED),
    )
    certificate = dataclasses.replace(part.certificate, primal=bounds[0], dual=bounds[1])
    boundary = np.sort(np.concatenate([wall, kept[part.stats["boundary"]]]))
    return Limit(value, part.objective + left, certificate, {**part.stats, "boundary": boundary})
