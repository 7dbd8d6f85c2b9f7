"""Flows that go on from where they stopped.

A method whose flows can be resumed gives its trajectories a `continuation` that takes the next
`FlowRequest`: it keeps both of its runs as they are, takes them further, and makes one trajectory
of all of it as it does of any. Here this becomes `Trajectory.resume`, in the units that were given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.results import RESUMABLE, Result, Trajectory, altered
from .._numerics.deadlines import deadline_of
from .._numerics.flow_frame import FlowRequest
from .._numerics.interrupts import interrupted, stoppable
from ..errors import InputError
from .endings import in_range, returned
from .units import Units


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of a flow. who: the function called. restored: makes the flow in the units
    given of one in the problem's own."""

    who: str
    request: FlowRequest
    units: Units
    restored: Callable[[Trajectory[Any]], Trajectory[Any]]

    def returned(self, found: Trajectory[Any], throw: bool) -> Trajectory[Any]:
        """The flow that was asked for, of what its method found, or the error that it gave up."""
        flow = in_range(self.restored(found))
        on = None if found.continuation is None else _Continuation(self, found.continuation)
        # a second run that ended before its time goes no further
        stuck = flow.result is Result.UNCHECKED and not self.request.deadline.both()
        if stuck or flow.result not in RESUMABLE:
            on = None
        return returned(self.who, altered(flow, continuation=on), throw and not interrupted())


@dataclass(frozen=True, eq=False)
class _Continuation:
    asked: Asked
    method: Callable[[FlowRequest], Trajectory[Any]]

    def __call__(
        self, flow: Trajectory[Any], time_s: float | None, t1: float | None, throw: bool
    ) -> Trajectory[Any]:
        request = self.asked.request.further(self._end(flow, t1), deadline_of(time_s))
        again = replace(self.asked, request=request)
        return stoppable(lambda: again.returned(self.method(request), throw))

    def _end(self, flow: Trajectory[Any], t1: float | None) -> float | None:
        """t1 in the problem's own units, or an error where the flow does not go on until there."""
        asked, reached = self.asked, flow.result is Result.REACHED_T1
        own, before = asked.units.ends(t1, None)[0], asked.request.t1
        if before is None:
            before = float(np.ldexp(flow.times[-1], -asked.units.time))
        if reached if own is None else own < before or (reached and own == before):
            there = float(np.ldexp(before, asked.units.time))
            raise InputError(f"t1: the flow goes to t = {there:g} already; give a later time")
        return own
