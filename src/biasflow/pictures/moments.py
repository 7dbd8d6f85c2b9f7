"""At which moments a flow is shown, and in which state it is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.problems import MirrorProblem
from .._core.results import Trajectory
from .._core.trees import leaf_map
from ..diagnostics.loss_phases import loss_at, loss_curve

SETTLED = 1e-4
"""Share of its fall that the loss has left when nothing more is to be seen."""
AFTERWARDS = 1.15
"""How much longer than until then a film lasts."""
EARLY_LOG_SHARE = 0.02
"""A logarithmic axis shows a flow that does half of its fall in this share of its time."""


def moments(flow: Trajectory, count: int) -> Array:
    """Increasing times, half of them spent on the clock and half on the fall of the loss, until
    that has settled; the last one is the flow's own."""
    times, left = _fall(flow)
    if left[0] == 0:
        return np.linspace(times[0], times[-1], max(count, 2))
    end = settled(flow)
    known = times <= end
    clock = 0.5 * (times[known] - times[0]) / max(end - times[0], np.finfo(float).tiny)
    clock = clock + 0.5 * (1 - left[known])
    inner = np.interp(np.linspace(clock[0], clock[-1], max(count - 1, 1)), clock, times[known])
    return np.append(inner, times[-1])


def settled(flow: Trajectory) -> float:
    """A little after the loss has settled; the flow's own end where it does not fall."""
    times, left = _fall(flow)
    if left[0] == 0:
        return float(times[-1])
    moment = times[int(np.argmax(left <= SETTLED))]
    return min(float(times[-1]), float(times[0] + AFTERWARDS * (moment - times[0])))


def _fall(flow: Trajectory) -> tuple[Array, Array]:
    """Increasing times, and how much of the fall of the loss is left then, from one to zero."""
    times, loss = loss_curve(flow)
    order = np.argsort(times, kind="stable")
    times, loss = times[order], np.minimum.accumulate(loss[order])
    fall = float(loss[0] - loss[-1])
    if not fall > 0 or not np.isfinite(fall):
        return times, np.zeros(len(times))
    return times, (loss - loss[-1]) / fall


def state_at(flow: Trajectory, t: float) -> Any:
    """By dense output, or the state saved last before then."""
    if flow.interpolant is not None:
        return flow.at(float(np.clip(t, 0.0, flow.times[-1])))
    place = int(np.clip(np.searchsorted(flow.times, t, side="right") - 1, 0, len(flow.times) - 1))
    return nth_state(flow.states, place)


def nth_state(states: Any, k: int) -> Any:
    """The k-th of states with a leading time axis."""
    return leaf_map(lambda leaf: np.asarray(leaf[k]), states)


def loss_then(flow: Trajectory, t: float) -> float:
    """The loss at a time, or as saved last before then."""
    if flow.interpolant is not None:
        return loss_at(flow, float(np.clip(t, 0.0, flow.times[-1])))
    place = int(np.clip(np.searchsorted(flow.times, t, side="right") - 1, 0, len(flow.times) - 1))
    return float(flow.loss[place])


def effective_state(flow: Trajectory, state: Any) -> Array:
    """The predictor that a state stands for, flat: β, the entries of a matrix, a_j·w_j."""
    if isinstance(flow.problem, MirrorProblem):
        return np.ravel(state)
    return np.ravel(np.asarray(flow.problem.model.effective(state)))


def early(flow: Trajectory) -> bool:
    """Whether half of the fall of the loss, in decades or in all, is over in the first moments."""
    times, loss = flow.times, np.asarray(flow.loss, dtype=float)
    if len(times) < 3 or not times[-1] > 0 or not np.all(np.isfinite(loss)):
        return False
    height = np.log(loss) if np.all(loss > 0) else loss
    half = int(np.argmax(height <= (height[0] + height[-1]) / 2))
    return bool(times[half] < EARLY_LOG_SHARE * times[-1])
