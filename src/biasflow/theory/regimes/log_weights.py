"""The depth-2 model's flow in the logarithms of its weights, at any scale.

From ẇ± = −∂L/∂w± and β = w₊² − w₋², d(log w±)/dt = ∓2·∂L/∂β: the gradient flow itself in other
coordinates. No conservation law, potential or dual is used, and α = e^{−10000} is no harder than α
= 0.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._numerics.failed_steps import without_warnings

TOLERANCE = 1e-10
"""Of a step, over the logarithm of a weight: relative error of the times of growth."""
LARGEST_LOG = 20.0
"""Largest logarithm that is exponentiated: a step that tries more is rejected for its slope all the
same."""
MAX_STEPS = 50_000


@without_warnings()
def log_flow(
    problem: Problem,
    log_alpha: float | Array,
    t1: float,
    over: Callable[[], bool] = lambda: False,
) -> tuple[Array, Callable[[Array], Array]] | str:
    """(ends of the steps, β at many times) from w± = e^{log_alpha}, one number or (2, d), or why it
    could not be followed. over: whether there is no time left."""
    from scipy.integrate import LSODA

    X, y, d = problem.data.X, problem.data.y, problem.data.d
    curvature = problem.loss.factor(problem.data.n) * 2 * (X.T @ X)

    def squares(logs: Array) -> Array:
        return np.asarray(np.exp(2 * np.minimum(logs, LARGEST_LOG)))

    def predictor(logs: Array) -> Array:
        both = squares(logs)
        return both[..., :d] - both[..., d:]

    def field(t: float, logs: Array) -> Array:
        slope = X.T @ problem.loss.gradient(X @ predictor(logs), y)
        return np.concatenate([-2 * slope, 2 * slope])

    def jacobian(t: float, logs: Array) -> Array:
        both = 2 * squares(logs)
        moved = np.hstack([curvature * both[:d], -curvature * both[d:]])
        return np.vstack([-2 * moved, 2 * moved])

    start = np.array(np.broadcast_to(log_alpha, (2, d)).ravel(), dtype=float)
    first = 1e-3 / float(np.max(np.abs(field(0.0, start))))
    solver = LSODA(
        field,
        0.0,
        start,
        t1,
        rtol=TOLERANCE,
        atol=TOLERANCE,
        jac=jacobian,
        first_step=min(first, t1),
    )
    ends, pieces = [0.0], []
    while solver.status == "running":
        if over():
            return "the logarithms of the weights took longer than the time limit"
        solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)) or len(ends) > MAX_STEPS:
            return (
                "the logarithms of the weights could not be followed beyond "
                f"{solver.t / t1:.2g} of the time"
            )
        ends.append(float(solver.t))
        pieces.append(solver.dense_output())
    times = np.array(ends)

    def at(wanted: Array) -> Array:
        places = np.clip(np.searchsorted(times, wanted) - 1, 0, len(pieces) - 1)
        return predictor(np.array([pieces[k](t) for k, t in zip(places, wanted, strict=True)]))

    return times, at
