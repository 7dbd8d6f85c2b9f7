"""What B's figures share: the authors' clock, the flow, and when the loss falls."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array, Mask
from ..._core.problems import Dataset
from ..._core.results import Trajectory
from ...flows import gradient_flow
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...pictures.neuron_marks import LEFT_SHARE

ITERATION = 2e-3
"""Time of one iteration of B's figures: steps of 1e-3 on 1/n·Σ(h − y)², which is twice the loss
that B prints. With B's own the saddles of Figure 3 are left twice as late as it says (errata)."""
OF_TWICE_THE_LOSS = "; an iteration is a step of 1e-3 on twice B's loss (errata, §5)"
DONE_LOSS = 1e-3
"""Loss, relative to its start, at which a figure looks finished."""
LEAST_SADDLE_LOSS = 0.05
"""Loss, relative to its start, below which no saddle is looked for."""


def flow_at(data: Dataset, model: TwoLayer, start: TwoLayerParams, iterations: Array) -> Trajectory:
    """B's flow, saved at the times of these iterations of the authors' code."""
    return gradient_flow(
        model, data, SquareLoss("half-mean"), start, times=ITERATION * iterations, time_s=None
    )


def turning_points(flow: Trajectory) -> dict[str, float]:
    """Iterations at which the loss leaves the first saddle, reaches the second, is nearest to it,
    leaves it, is done.

    Left: a tenth of the loss is gone; reached: the loss is at most a tenth above. The second
    saddle: where log(loss) falls slowest once it has left the first and before 5% are left. NaN
    where that has not happened by the end.
    """
    iterations, loss = np.append(flow.times / ITERATION, np.nan), np.append(flow.loss, 0.0)
    first, low, done = (
        _first(loss <= share * loss[0]) for share in (1 - LEFT_SHARE, LEAST_SADDLE_LOSS, DONE_LOSS)
    )
    last = min(low, len(loss) - 2)
    saddle = first
    if last > first:
        rates = -np.diff(np.log(loss[first : last + 1])) / np.diff(iterations[first : last + 1])
        saddle += int(np.argmin(rates))
    reached = _first(loss <= (1 + LEFT_SHARE) * loss[saddle])
    second = saddle + _first(loss[saddle:] <= (1 - LEFT_SHARE) * loss[saddle])
    return {
        "left_first": float(iterations[first]),
        "reached_second": float(iterations[reached]),
        "saddle": float(iterations[saddle]),
        "saddle_loss": float(loss[saddle]),
        "left_second": float(iterations[second]),
        "done": float(iterations[done]),
    }


def _first(true: Mask) -> int:
    """The first place that is true; one is."""
    return int(np.argmax(true))


def misalignment(flow: Trajectory, directions: Array) -> Array:
    """Mean angle between neurons and their directions, weighted by |a|‖w‖, at the saved times; NaN
    where none has a direction."""
    turning = np.any(directions != 0, axis=1)
    if not np.any(turning):
        return np.full(len(flow.times), np.nan)
    a, W, directions = (
        np.abs(flow.states.a[:, turning]),
        flow.states.W[:, turning],
        directions[turning],
    )
    lengths = np.linalg.norm(W, axis=2)
    units = W / lengths[..., None]
    angles = 2 * np.arctan2(
        np.linalg.norm(units - directions, axis=2), np.linalg.norm(units + directions, axis=2)
    )
    weight = (lengths / np.max(lengths, axis=1, keepdims=True)) * (
        a / np.max(a, axis=1, keepdims=True)
    )
    mean: Array = np.sum(weight * angles, axis=1) / np.sum(weight, axis=1)
    return mean
