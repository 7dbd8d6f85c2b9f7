"""Limits under potentials that are known through their gradient fields alone, separable or not.

With ∇φ(β₀) = 0 at β₀ = G(w₀), the limit of flow on Xβ = y is argmin D_φ(β, β₀), and its dual is the
largest of q(ν) = ⟨ν, y⟩ − φ*(Xᵀν), concave, with the gradient r = y − X∇φ*(Xᵀν) and the curvature
X∂G∂GᵀXᵀ. Every ν proves q(ν) from below. Where that curvature is at least m on the ball of radius
2‖r‖/m around ν, the maximum lies in it, at most ‖r‖/m away: so q(ν) + ‖r‖²/2m is proven from
above, and β is off by at most ‖∂G∂GᵀXᵀ‖‖r‖/m. Both rest on φ* and ∇φ* that were integrated:
estimates of that error are added, and m is half of what was found at ν and at points around it. So
a certificate is heuristic, never exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, label_size, length, system
from .._core.results import Certificate, Limit
from ..errors import ConvergenceError
from ..potentials.gradient_fields import DualPoint, GradientFields
from .constraints import reduce_constraints
from .newton import solve_gram

ROUGH = 1e-9
"""Tolerance of steps until Newton's method has nearly converged."""
MOST_ITERATIONS = 300
ENOUGH = 1e-13
"""Residual, relative to the sums it is made of, at which Newton's method may end."""
SLOWEST = 2.0**-40
"""Share of a Newton step below which none is taken any more."""
ARMIJO = 1e-4
AROUND = 3
"""Points around the solution at which the curvature is looked at."""
SOLVED = 1e-7
"""Residual, relative likewise, above which nothing was found."""
EPS = float(np.finfo(float).eps)


def dual_limit(fields: GradientFields, X: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """argmin D_φ(β, G(w₀)) subject to Xβ = y. stats: error (d,) of β, nu, weights, iterations."""
    X, y = system(X, y)
    constraints = reduce_constraints(X, y)
    A, t = constraints.basis, constraints.target
    nu, count = _solve(fields, A, t)
    point = _point(fields, A, nu)
    for _ in range(3):  # to the last digit that the fine steps leave
        residual = t - A @ point.beta
        pushed = A @ point.jacobian
        move = solve_gram(pushed @ pushed.T, residual)
        other = fields.at(A.T @ (nu + move))
        if other is None or length(t - A @ other.beta) >= length(residual):
            break
        nu, point = nu + move, other
    left = np.abs(t - A @ point.beta)
    sums = np.abs(A) @ np.abs(point.beta) + np.abs(t)
    if np.any(left > SOLVED * sums + np.abs(A) @ point.error):
        raise ConvergenceError(
            f"limit: stopped after {count} iterations with a residual of {np.max(left):.1e}: the "
            "labels may be out of reach of this parametrisation from this start, or on the "
            "boundary of what it reaches"
        )
    off = length(left + np.abs(A) @ point.error + (A.shape[1] + 4) * EPS * sums)
    m = _least_curvature(fields, A, nu, point, off)
    pull = point.jacobian @ (A @ point.jacobian).T
    value = float(nu @ t) - point.conjugate
    doubt = point.conjugate_error + (nu.size + 4) * EPS * float(np.abs(nu) @ np.abs(t))
    error = point.error + 2 * np.linalg.norm(pull, axis=1) * (off / m if m > 0 else np.inf)
    primal = value + doubt + (off**2 / (2 * m) if m > 0 else np.inf)
    misfit = float(np.max(np.abs(X @ point.beta - y))) / label_size(y)
    return Limit(
        point.beta,
        value,
        Certificate(primal, max(value - doubt, 0.0), misfit, "heuristic"),
        {
            "error": error,
            "nu": constraints.lift(nu),
            "weights": point.w,
            "iterations": count,
            "rank": constraints.rank,
        },
        "Li et al. 2022: commuting gradients",
    )


def _point(fields: GradientFields, A: Array, nu: Array) -> DualPoint:
    point = fields.at(A.T @ nu)
    if point is None:
        raise ConvergenceError("limit: the potential ends where the limit should be")
    return point


def _solve(fields: GradientFields, A: Array, t: Array) -> tuple[Array, int]:
    """Newton's method with a line search, from ν = 0: steps that leave the domain of φ* or do not
    descend are halved."""
    nu, w, area = np.zeros(len(A)), fields.start, 0.0
    if not len(A):
        return nu, 0
    for count in range(MOST_ITERATIONS):
        beta, J = fields.value(w), fields.jacobian(w)
        residual = t - A @ beta
        sums = np.abs(A) @ np.abs(beta) + np.abs(t)
        hidden = np.abs(A) @ fields.rounding(w, J, beta)
        if np.all(np.abs(residual) <= 10 * ROUGH * sums + hidden):
            return nu, count
        pushed = A @ J
        move = solve_gram(pushed @ pushed.T, residual)
        gain, share = float(residual @ move), 1.0
        before = area - float(nu @ t)
        while share > SLOWEST:
            trial = nu + share * move
            end = fields.carried(fields.start, A.T @ trial, ROUGH)
            if end is not None and np.all(np.isfinite(fields.value(end[0]))):
                slack = ROUGH * (abs(end[1]) + float(np.abs(trial) @ np.abs(t)))
                if end[1] - float(trial @ t) <= before - ARMIJO * share * gain + slack:
                    break
            share /= 2
        else:
            return nu, count
        nu, (w, area) = trial, end
    return nu, MOST_ITERATIONS


def _least_curvature(
    fields: GradientFields, A: Array, nu: Array, point: DualPoint, off: float
) -> float:
    """Half of the least eigenvalue of X∂G∂GᵀXᵀ at ν and around it; zero where it is not clear."""
    if not len(A):
        return 1.0
    pushed = A @ point.jacobian
    least = float(np.linalg.eigvalsh(pushed @ pushed.T)[0]) / 2
    if least <= 0:
        return 0.0
    rng = np.random.default_rng(0)
    for _ in range(AROUND):
        way = rng.standard_normal(nu.size)
        end = fields.carried(fields.start, A.T @ (nu + 2 * off / least * way / length(way)), ROUGH)
        if end is None:
            return 0.0
        pushed = A @ fields.jacobian(end[0])
        if not float(np.linalg.eigvalsh(pushed @ pushed.T)[0]) >= least:
            return 0.0
    return least
