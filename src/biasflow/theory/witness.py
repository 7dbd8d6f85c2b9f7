"""Flows from the gradient of the loss alone, which share nothing with a mirror form or a limit:
what a claim about gradient flow is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.problems import MirrorProblem
from .._core.progress import doing
from .._core.results import Trajectory
from .._core.trees import leaf_map, leaves
from ..errors import BiasflowError
from ..flows.weights import integrate_weights
from ..models import TwoLayer, nonsmooth

WITNESS_RTOL = 1e-10
"""Tolerance of a witness: two digits beyond the flows it is compared with."""
ERROR_FACTOR = 10.0
"""Times its stated error by which a gradient flow may miss: estimates are of the order of the
error, no bounds."""


@doing("the witness")
def witness_flow(
    problem: Any,
    t1: float | None = None,
    times: ArrayLike | None = None,
    *,
    time_s: float,
    rtol: float = WITNESS_RTOL,
) -> Trajectory | str:
    """The flow ẇ = −∇L(w) by raw gradients, or a sentence that says why there is none within
    `time_s` seconds."""
    if isinstance(problem, MirrorProblem):
        from .mirror.mirror_witness import primal_flow

        return primal_flow(problem, t1, times, rtol, time_s)
    if t1 is None and times is None and not problem.loss.attained:
        return (
            f"{type(problem.loss).__name__} has no minimiser: its flow has no end to compare with"
        )
    if isinstance(problem.model, TwoLayer):
        from .relu.relu_witness import gated_flow

        return gated_flow(problem, t1, times, rtol, time_s)
    failure = nonsmooth(problem.model, problem.start)
    if failure is not None:
        return failure
    try:
        flow = integrate_weights(problem, t1, rtol, times, time_s=time_s)
    except (BiasflowError, ValueError, FloatingPointError) as reason:
        return f"the weights could not be followed: {reason}"
    return (
        flow if flow.result.success else f"the weights could not be followed: {flow.result.value}"
    )


def downhill(problem: Any, state: Any) -> Any:
    """−∇L at a state; for a mirror flow its velocity −Xᵀ(Xβ − y)/φ''."""
    if isinstance(problem, MirrorProblem):
        return -(problem.X.T @ (problem.X @ state - problem.y)) / problem.potential.hessian_diag(
            state
        )
    output = problem.loss.gradient(problem.model(state, problem.data.X), problem.data.y)
    return leaf_map(np.negative, problem.model.gradient(state, problem.data.X, output))


def leaf_stack(states: Sequence[Any]) -> Any:
    """States of one type as one state with a leading axis."""
    return filled(
        states[0], [np.stack(column) for column in zip(*map(leaves, states), strict=True)]
    )


def filled(state: Any, arrays: Sequence[Any]) -> Any:
    """Other arrays in the shape of a state."""
    rest = iter(arrays)
    return leaf_map(lambda leaf: next(rest), state)
