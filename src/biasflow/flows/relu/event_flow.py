"""Event-driven gradient flow of two-layer ReLU networks, and the changes of gates that it tells."""

from __future__ import annotations

from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._numerics.deadlines import Deadline
from ..._numerics.flow_frame import FlowRequest
from ...errors import ConvergenceError
from ...models import TwoLayerParams
from .geometry import Network
from .layout import OFF, ON, SLIDE


class GateEvent(NamedTuple):
    """Neuron j's gate on sample k changes at a time. kind: 'on', 'off', 'slide in' or 'slide
    out'."""

    time: float
    neuron: int
    sample: int
    kind: str


def integrate_events(
    problem: Problem, request: FlowRequest, branch: tuple[int, ...] = (), before: Any = None
) -> Trajectory[TwoLayerParams]:
    """The flow of a two-layer ReLU network until t1, or until converged; a tighter run gives the
    error.

    branch: the way to take at each moment from which there are several, the flow's own being number
    zero. before: the runs that go on.
    """
    deadline = request.deadline
    compilation, trajectories = _loaded() if _loaded.cache_info().currsize else _load(deadline)
    found: Trajectory[TwoLayerParams] = compilation.announced(
        "ReLU", trajectories.integrate, problem, request, branch, before, deadline=deadline
    )
    return found


@cache
def _loaded() -> tuple[ModuleType, ModuleType]:
    """The modules with all kernels."""
    from ..._numerics import compilation
    from . import event_trajectory

    return compilation, event_trajectory


def _load(deadline: Deadline) -> tuple[ModuleType, ModuleType]:
    with deadline.paused():
        return _loaded()


def did_not_settle(where: str, net: Network, j: int) -> ConvergenceError:
    return ConvergenceError(
        f"{where}: the gates of neuron {net.alive[j]} did not settle; its weights meet an edge of "
        "the data up to rounding: "
        "change them by a relative 1e-8, or leave this neuron out"
    )


_KIND = {(OFF, ON): "on", (ON, OFF): "off", (OFF, SLIDE): "slide in", (ON, SLIDE): "slide in"}
KINDS = [_KIND.get((before, after), "slide out") for before in range(3) for after in range(3)]
"""What a change is called, by gates before and after."""
TURNED = np.array([ON, OFF, SLIDE])
"""Gates of the samples on a group's other side."""


def gate_events(net: Network, rows: Array) -> tuple[GateEvent, ...]:
    """Changes of gates, sample by sample: a group's members switch together, those of the other
    side the other way."""
    if len(rows) == 0:
        return ()
    group, side = net.geometry.group, net.geometry.side
    members, sizes = net.data.members, net.data.sizes
    neurons, groups, before, after = rows[:, 1:].astype(np.intp).T
    if sizes.size < group.size:  # some have several members
        row = np.repeat(np.arange(len(rows)), sizes[groups])
        within = np.arange(row.size) - np.searchsorted(row, row)
        sample = members[(np.cumsum(sizes) - sizes)[groups[row]] + within]
    else:
        row, sample = np.arange(len(rows)), members[groups]
    before, after, upper = before[row], after[row], side[sample] > 0
    changes = np.where(upper, 3 * before + after, 3 * TURNED[before] + TURNED[after])
    columns = (
        rows[row, 0].tolist(),
        net.alive[neurons[row]].tolist(),
        net.samples[sample].tolist(),
        [KINDS[change] for change in changes.tolist()],
    )
    return tuple(map(partial(tuple.__new__, GateEvent), zip(*columns, strict=True)))
