"""The two ends of the transition: interpolators of least ℓ1 and ℓ2 norm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from .._core.arguments import Array, label_size, system
from .._core.results import Certificate, Limit
from .._numerics.interrupts import apart
from ..errors import ConvergenceError
from .constraints import reduce_constraints
from .newton import solve_gram
from .rank import independent_rows, settled_rank
from .rounding import kind_of, norm_bracket

ON_SUPPORT = 1e-9
"""Share of the largest entry below which an entry of a linear program's vertex counts as zero."""
REFINED = 3
"""Refinements with residuals of X itself: the first removes the ridge, the others what the
condition of XXᵀ costs, up to 1e10."""
FEASIBLE = 1e-8
"""Largest relative violation of Xβ = y that is returned."""
STRICT = 1e-7
"""Distance of |⟨x_i, ν⟩| from one that proves an entry zero in every minimiser (HiGHS' dual
tolerance)."""


def min_l2(X: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """argmin ‖β‖₂ subject to Xβ = y: the kernel-regime limit of diagonal networks (W, §4).

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)

    Returns
    -------
    Limit
        value: β (d,); objective: ‖β‖₂.

    Raises
    ------
    InconsistentError
        Where Xβ = y has no solution.

    Examples
    --------
    >>> found = bf.limits.min_l2([[1.0, 2.0, 3.0]], [6.0])
    >>> print(found.value.round(3), round(found.objective, 4))
    [0.429 0.857 1.286] 1.6036
    """
    X, y = system(X, y)
    constraints = reduce_constraints(X, y)
    basis, target = constraints.basis, constraints.target
    gram = basis @ basis.T
    nu = solve_gram(gram, target)
    beta = basis.T @ nu
    for _ in range(REFINED):
        move = solve_gram(gram, target - basis @ beta)
        nu, beta = nu + move, beta + basis.T @ move
    size = float(np.max(np.abs(beta)))  # squares of β may overflow where β does not
    norm = size * float(np.linalg.norm(beta / size)) if size else 0.0
    residual = float(np.max(np.abs(X @ beta - y))) / label_size(y)
    _check(residual, "min_l2")
    nu = constraints.lift(nu)
    certificate, note = _certificate(
        X, y, beta, nu, constraints.rank, "l2", residual, "closed-form"
    )
    return Limit(beta, norm, certificate, {"rank": constraints.rank, "nu": nu, **note})


def min_l1(X: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """argmin ‖β‖₁ subject to Xβ = y: the rich-regime limit of diagonal networks (W, §4).

    A linear program (HiGHS). Certificate: ν with ‖Xᵀν‖_∞ ≤ 1 proves ‖β‖₁ ≥ ⟨y, ν⟩.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)

    Returns
    -------
    Limit
        value: β (d,); objective: ‖β‖₁. stats: support, nu, and `unique`: whether the certificate
        proves that there is no other minimiser.

    Raises
    ------
    InconsistentError
        Where Xβ = y has no solution.

    Examples
    --------
    >>> found = bf.limits.min_l1([[1.0, 2.0, 3.0]], [6.0])
    >>> print(found.value.round(6), round(found.objective, 6), found.stats["unique"])
    [0. 0. 2.] 2.0 True
    """
    X, y = system(X, y)
    constraints = reduce_constraints(X, y)
    basis, target = constraints.basis, constraints.target
    d = X.shape[1]
    size = float(np.max(np.abs(target), initial=0.0)) or 1.0  # HiGHS' tolerances are absolute
    solution = apart(
        linprog,
        np.ones(2 * d),
        A_eq=np.hstack([basis, -basis]),
        b_eq=target / size,
        bounds=(0, None),
        method="highs",
    )
    if solution.status != 0:
        raise ConvergenceError(f"min_l1: {solution.message}")
    beta = size * (solution.x[:d] - solution.x[d:])
    support = np.flatnonzero(np.abs(beta) > ON_SUPPORT * np.max(np.abs(beta), initial=0.0))
    polished = np.zeros(d)
    if support.size:
        polished[support] = np.linalg.lstsq(basis[:, support], target, rcond=None)[0]
        if np.array_equal(np.sign(polished[support]), np.sign(beta[support])):
            beta = polished
    nu = solution.eqlin.marginals
    correlation = basis.T @ nu
    nu = nu / max(1.0, float(np.max(np.abs(correlation))))
    norm = float(np.sum(np.abs(beta)))
    residual = float(np.max(np.abs(X @ beta - y))) / label_size(y)
    _check(residual, "min_l1")
    face = np.abs(correlation) > 1 - STRICT
    unique = bool(np.linalg.matrix_rank(basis[:, face]) == np.sum(face)) if np.any(face) else True
    nu = constraints.lift(nu)
    certificate, note = _certificate(X, y, beta, nu, constraints.rank, "l1", residual, "exact")
    stats = {"support": support, "unique": unique, "rank": constraints.rank, "nu": nu, **note}
    return Limit(beta, norm, certificate, stats)


def _certificate(
    X: Array, y: Array, beta: Array, nu: Array, rank: int, norm: str, residual: float, kind: str
) -> tuple[Certificate, dict[str, str]]:
    """The bracket, both ends zero where y is; a 'bound' where rounding leaves it wide, or rows of X
    depend by rounding only."""
    if not np.any(y):
        return Certificate(0.0, 0.0, residual, kind), {}
    settled, note = settled_rank(X, y, rank)
    primal, dual = norm_bracket(
        X, y, beta, nu, norm, independent_rows(X, rank) if settled else None
    )
    return Certificate(primal, dual, residual, kind_of(primal, dual, kind)), note


def _check(residual: float, name: str) -> None:
    if not residual <= FEASIBLE:
        raise ConvergenceError(
            f"{name}: the solution found violates Xβ = y by {residual:.2g} (relative); rescale X "
            "and y"
        )
