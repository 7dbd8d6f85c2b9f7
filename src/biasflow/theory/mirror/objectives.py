"""Mirror flow on F(β) = Σℓ_i(⟨x_i, β⟩) for convex ℓ_i beside the square: what R, §5 compares least squares with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import ConvergenceError
from ...inputs import Array
from ...potentials.base import MirrorPoint

SETTLED = 1e-9
"""Gradient of F in the predictions, relative to its start, at which a flow has arrived."""
SPANS = 60
"""Times by which the horizon may double before giving up."""


@dataclass(frozen=True, eq=False)
class Objective:
    """Σℓ_i as a function of the predictions: its gradient."""

    name: str
    gradient: Callable[[Array], Array]


def least_squares(y: Array) -> Objective:
    return Objective("least squares", lambda u: u - y)


def logistic(labels: Array) -> Objective:
    """Every sample twice with its label and once with the opposite one: not separable, minimised where ⟨x_i, β⟩ = label·log 2."""
    return Objective("logistic, not separable", lambda u: (-2 * _sigmoid(-labels * u) + _sigmoid(labels * u)) * labels)


def squared_hinge(labels: Array) -> Objective:
    """½Σ(1 − label·⟨x, β⟩)₊²: minimised wherever all margins are at least one."""
    return Objective("squared hinge", lambda u: -labels * np.maximum(1 - labels * u, 0.0))


def _sigmoid(u: Array) -> Array:
    return 0.5 * (1 + np.tanh(u / 2))


def objective_flow(objective: Objective, origin: MirrorPoint, X: Array) -> tuple[list[MirrorPoint], Array]:
    """Points along ν̇ = −ℓ'(Xβ(ν)), β = ∇φ*(η₀ + Xᵀν), until its gradient is gone; and the ν at the end."""
    from scipy.integrate import solve_ivp

    def field(t: float, nu: Array) -> Array:
        return -objective.gradient(X @ origin.moved(X.T @ nu).beta)

    start = float(np.linalg.norm(field(0.0, np.zeros(len(X)))))
    weight = float(np.max(origin.weight())) * float(np.linalg.norm(X, 2)) ** 2
    nu, span, points = np.zeros(len(X)), 1.0 / weight, [origin]
    for _ in range(SPANS):
        if not np.all(np.isfinite(field(0.0, nu))):
            raise ConvergenceError(f"mirror flow of the {objective.name} objective: values overflow")
        run = solve_ivp(field, (0.0, span), nu, method="LSODA", rtol=1e-10, atol=1e-12 * max(1.0, float(np.max(np.abs(nu)))))
        nu, span = run.y[:, -1], 2 * span
        points.append(origin.moved(X.T @ nu))
        if np.linalg.norm(field(0.0, nu)) <= SETTLED * start:
            break
    return points, nu
