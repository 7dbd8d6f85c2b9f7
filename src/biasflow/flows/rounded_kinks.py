"""Gradient flow of small deep ReLU networks, kinks rounded.

The gradient of a ReLU network jumps where an activation changes; where the flow pushes a
pre-activation towards zero from both sides it stays there, in Filippov's sense, and a step size
control that knows nothing of it stalls. With the kink replaced by a parabola of half-width ε the
flow is smooth, if stiff, and within O(ε) of Filippov's. A second flow with a 30th of the ε, at a
tighter tolerance, measures that error. A wider one would not: a pre-activation s ≪ ε sees half the
slope at either width.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .._core.problems import Problem
from .._core.results import Trajectory
from .._numerics.flow_frame import FlowRequest
from ..models import DeepNetwork
from .weights import DENSE_JACOBIAN, follow_weights

TIGHTEST = 1e-9
"""Relative tolerance below which rounding the kinks is not worth its stiffness."""
ROUNDING = 100.0
"""Half-width of the rounded kinks, in units of the tolerance and of the largest weight at the start
times the largest input."""
SHARPER_KINKS = 1 / 30
"""Half-width of the flow that measures the error, in units of the first. Twice their distance is
less than the error of the first where a pre-activation lingers within half that share of ε only;
elsewhere the second has at most this share of the error."""


def too_many_weights(model: DeepNetwork) -> str | None:
    """Why a network is too large for the stiff integrator, or None."""
    if model.size <= DENSE_JACOBIAN:
        return None
    return (
        "the flow with rounded kinks is stiff, which takes a dense Jacobian: at most "
        f"{DENSE_JACOBIAN} weights, found"
        f" {model.size}; bf.training.train_batch or bf.training.gradient_descent with a small "
        "step follows larger "
        "networks"
    )


def integrate_rounded(problem: Problem, request: FlowRequest) -> Trajectory[Any]:
    """The flow with rounded kinks; `error` is twice its distance from a flow with sharper ones.

    Converged means that the network with rounded kinks interpolates; `loss` is that of the network
    asked for.
    """
    rtol = max(request.rtol, TIGHTEST)
    inputs = float(np.max(np.abs(problem.data.X)))
    largest = float(np.max(np.abs(problem.model.effective(problem.start))))
    half_width = ROUNDING * rtol * max(inputs * largest, np.finfo(float).tiny)
    ours, finer = (_rounded(problem, factor * half_width) for factor in (1.0, SHARPER_KINKS))

    def meant(flow: Trajectory[Any]) -> Trajectory[Any]:
        losses = problem.loss(problem.model(flow.states, problem.data.X), problem.data.y)
        stats, on = {**flow.stats, "method": "general", "rounding": half_width}, flow.continuation
        further = None if on is None else lambda request: meant(on(request))
        return dataclasses.replace(
            flow, loss=losses, problem=problem, stats=stats, continuation=further
        )

    return meant(follow_weights(ours, dataclasses.replace(request, rtol=rtol), finer))


def _rounded(problem: Problem, half_width: float) -> Problem:
    return dataclasses.replace(
        problem, model=dataclasses.replace(problem.model, rounding=half_width)
    )
