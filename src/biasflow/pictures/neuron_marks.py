"""What pictures of ReLU networks mark: neurons that slide, and where early alignment turns them."""

from __future__ import annotations

import numpy as np

from .._core.arguments import Array, Mask, instance
from .._core.problems import Problem
from .._core.results import Trajectory
from ..flows import early_alignment
from ..models import TwoLayerParams

LEFT_SHARE = 0.1
"""Share of the loss whose fall marks leaving a saddle, as in `bf.diagnostics.phases`."""
EARLY_SIZE = 0.01
"""Size of h at the start, relative to the labels, up to which there is an early phase."""


def sliding(flow: Trajectory, times: Array, neurons: int, samples: int) -> Mask:
    """Which pre-activations slide along zero at these increasing times, (times, neurons,
    samples)."""
    state, table, k = (
        np.zeros((neurons, samples), dtype=bool),
        np.zeros((len(times), neurons, samples), dtype=bool),
        0,
    )
    for event in sorted(flow.events, key=lambda event: event.time):
        while k < len(times) and times[k] < event.time:
            table[k], k = state, k + 1
        state[event.neuron, event.sample] = event.kind == "slide in"
    table[k:] = state
    return table


def early_directions(flow: Trajectory) -> Array:
    """Where early alignment turns each neuron that has grown when the first saddle is left, (m, d);
    zero for all others.

    All zero where there is no early phase: the start already matters beside the labels.
    """
    problem = instance("flow.problem", flow.problem, Problem)
    data, start = problem.data, problem.start
    directions = np.zeros_like(start.W)
    if np.max(np.abs(problem.model(start, data.X))) > EARLY_SIZE * np.max(np.abs(data.y)):
        return directions
    left = np.append(flow.loss <= (1 - LEFT_SHARE) * flow.loss[0], True)
    escaped = min(int(np.argmax(left)), len(flow.loss) - 1)
    grown = np.flatnonzero(np.abs(flow.states.a[escaped]) > np.abs(start.a))
    aligned = early_alignment(data, TwoLayerParams(start.a[grown], start.W[grown]))
    directions[grown] = np.where(aligned.rates[:, None] > 0, aligned.directions, 0.0)
    return directions
