"""What B's figures share: the authors' clock, the flow, which neurons slide, and when the loss falls."""

from __future__ import annotations

import numpy as np

from ...flows import Alignment, gradient_flow
from ...inputs import Array, Mask
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Trajectory

ITERATION = 2e-3
"""Time of one iteration: the authors descend 1/n·Σ(h − y)² by steps of 1e-3, which is twice B's loss."""
DONE = 1e-3
"""Loss, relative to its start, at which a figure looks finished."""
FALLEN = 0.1
"""Share of the loss whose fall marks leaving a saddle, as in `bf.phases`."""
LOW = 0.05
"""Loss, relative to its start, below which no saddle is looked for."""


def flow_at(data: Dataset, model: TwoLayer, start: TwoLayerParams, iterations: Array) -> Trajectory:
    """B's flow, saved at the times of these iterations of the authors' code."""
    return gradient_flow(model, data, SquareLoss("half-mean"), start, times=ITERATION * iterations)


def sliding(flow: Trajectory, times: Array, neurons: int, samples: int) -> Mask:
    """Which pre-activations slide along zero at these increasing times, (times, neurons, samples)."""
    state, table, k = np.zeros((neurons, samples), dtype=bool), np.zeros((len(times), neurons, samples), dtype=bool), 0
    for event in sorted(flow.events, key=lambda event: event.time):
        while k < len(times) and times[k] < event.time:
            table[k], k = state, k + 1
        state[event.neuron, event.sample] = event.kind == "slide in"
    table[k:] = state
    return table


def turning_points(flow: Trajectory) -> dict[str, float]:
    """Iterations at which the loss leaves the first saddle, reaches the second, is nearest to it, leaves it, is done.

    Left: a tenth of the loss is gone; reached: the loss is at most a tenth above. The second saddle: where log(loss) falls
    slowest once it has left the first and before 5% are left. NaN where that has not happened by the end.
    """
    iterations, loss = np.append(flow.times / ITERATION, np.nan), np.append(flow.loss, 0.0)
    first, low, done = (_first(loss <= share * loss[0]) for share in (1 - FALLEN, LOW, DONE))
    last = min(low, len(loss) - 2)
    saddle = first
    if last > first:
        rates = -np.diff(np.log(loss[first : last + 1])) / np.diff(iterations[first : last + 1])
        saddle += int(np.argmin(rates))
    reached = _first(loss <= (1 + FALLEN) * loss[saddle])
    second = saddle + _first(loss[saddle:] <= (1 - FALLEN) * loss[saddle])
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


def misalignment(flow: Trajectory, aligned: Alignment) -> Array:
    """Mean angle between neurons and their directions of early alignment, weighted by |a|‖w‖, at every saved time.

    Neurons that early alignment brings to rest do not count.
    """
    moving = aligned.rates > 0
    W, directions = flow.states.W[:, moving], aligned.directions[moving]
    lengths = np.linalg.norm(W, axis=2)
    units = W / lengths[..., None]
    angles = 2 * np.arctan2(np.linalg.norm(units - directions, axis=2), np.linalg.norm(units + directions, axis=2))
    share = lengths / np.max(lengths, axis=1, keepdims=True)
    weight = share * np.abs(flow.states.a[:, moving]) / np.max(np.abs(flow.states.a[:, moving]), axis=1, keepdims=True)
    mean: Array = np.sum(weight * angles, axis=1) / np.sum(weight, axis=1)
    return mean
