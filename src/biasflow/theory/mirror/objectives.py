"""Mirror flow on F(β) = Σℓ_i(⟨x_i, β⟩) for convex ℓ_i beside the square: what R, §5 compares least
squares with.

Followed in β, by φ'' from its formula: nothing is assumed of where ∇φ goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import MirrorProblem
from ..._core.results import Result, Trajectory
from ...errors import ConvergenceError
from .formulas import formulas_of
from .mirror_witness import PrimalField, follow_twice, spread_of

ARRIVED_GRADIENT = 1e-10
"""Gradient of F in the predictions, relative to its start, at which a flow has arrived."""
TOLERANCE = 1e-10
"""Of the integration, as for every witness."""


@dataclass(frozen=True, eq=False)
class Objective:
    """Σℓ_i as a function of the predictions: its gradient."""

    name: str
    gradient: Callable[[Array], Array]


def least_squares(y: Array) -> Objective:
    return Objective("least squares", lambda u: u - y)


def logistic(labels: Array) -> Objective:
    """Every sample twice with its label and once with the opposite one: not separable, minimised
    where ⟨x_i, β⟩ = label·log 2."""
    return Objective(
        "logistic, not separable",
        lambda u: (-2 * _sigmoid(-labels * u) + _sigmoid(labels * u)) * labels,
    )


def squared_hinge(labels: Array) -> Objective:
    """½Σ(1 − label·⟨x, β⟩)₊²: minimised wherever all margins are at least one."""
    return Objective("squared hinge", lambda u: -labels * np.maximum(1 - labels * u, 0.0))


def _sigmoid(u: Array) -> Array:
    return 0.5 * (1 + np.tanh(u / 2))


def objective_flow(objective: Objective, problem: MirrorProblem, time_s: float) -> Trajectory:
    """Mirror flow of the objective from the problem's start until its gradient is gone."""
    X, d = problem.X, problem.X.shape[1]
    f = formulas_of(problem.potential, d, problem.beta0)
    start = np.asarray(
        f.inverse(np.zeros(d)) if problem.beta0 is None else problem.beta0, dtype=np.float64
    )
    field = PrimalField(f, lambda beta: -(X.T @ objective.gradient(X @ beta)), None)
    size = float(np.linalg.norm(objective.gradient(X @ start)))

    def settled(t: float, beta: Array) -> bool:
        return float(np.linalg.norm(objective.gradient(X @ beta))) <= ARRIVED_GRADIENT * size

    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        runs = follow_twice(field, start, None, TOLERANCE, time.monotonic() + time_s, settled)
    if isinstance(runs, str):
        raise ConvergenceError(f"mirror flow of the {objective.name} objective: {runs}")
    run, rough = runs
    states = np.array([run.at(t) for t in run.ends])
    spread = spread_of(
        f, states, np.array([rough.at(t) for t in run.ends]), np.where(run.ends > 0, TOLERANCE, 0.0)
    )
    loss = 0.5 * np.sum((states @ X.T - problem.y) ** 2, axis=1)
    result = Result.CONVERGED if run.ended else Result.REACHED_T1
    stats = {"method": "primal", "spread": spread}
    return Trajectory(
        run.ends, states, loss, np.max(spread, axis=1), (), stats, result, problem, run.at
    )
