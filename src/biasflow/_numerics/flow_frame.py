"""The frame that every flow shares: what is asked of it, where it is saved, and how far it is from
a second run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, positive_float, real_array, relative_tolerance
from .._core.progress import doing
from .._core.results import Result
from .._core.trees import leaves
from ..errors import InputError
from .deadlines import Deadline, deadline_of
from .interrupts import still_saved

CONVERGED = 1e-20
"""Loss relative to its start at which a flow that interpolates has converged."""
LOOSER = 10.0
"""How much looser the second runs of event-driven flows are, whose distance is their error
estimate."""
TIGHTER, CALMER = 0.1, 0.6
"""For methods that take a tighter second run: its tolerance, and its first and stiffest steps, in
units of the first's. Its error, by its order, is a tenth of what the distance tells, while two runs
of the same steps would tell nothing."""
TWICE = 2.0
"""Factor on that distance, for two errors may point the same way."""
SAME_TIME = 1e-12
"""Relative difference up to which two times are one, both rounded."""


@dataclass(frozen=True, eq=False)
class FlowRequest:
    """What is asked of a flow.

    t1: the time to end at; None: until converged, or until the method has an end of its own.
    rtol: the relative tolerance. times: where to save, increasing, none after t1; None: every step.
    deadline: when to give up, first the flow and then what tells its error. units: what time and
    loss are times, and the log-norm plus, where somebody watches.
    """

    t1: float | None
    rtol: float
    times: Array | None
    deadline: Deadline
    units: tuple[float, float, float] = (1.0, 1.0, 0.0)

    @classmethod
    def read(
        cls,
        t1: float | None,
        rtol: float,
        times: ArrayLike | None,
        time_s: float | Deadline | None = None,
    ) -> FlowRequest:
        """The request, or an error that names what is wrong; without t1 the last of the times is
        the end."""
        t1 = None if t1 is None else positive_float("t1", t1)
        tolerance, wanted = relative_tolerance("rtol", rtol), save_times(times, t1)
        return cls.of(t1, tolerance, wanted, deadline_of(time_s))

    @classmethod
    def of(
        cls, t1: float | None, rtol: float, wanted: Array | None, deadline: Deadline
    ) -> FlowRequest:
        """The same of what was read before."""
        end = float(wanted[-1]) if t1 is None and wanted is not None else t1
        return cls(end, rtol, wanted, deadline)

    def further(self, t1: float | None, deadline: Deadline) -> FlowRequest:
        """The same in a new time, and until t1 where one is given, which is then saved, too."""
        if t1 is None:
            return replace(self, deadline=deadline)
        times = self.times
        if times is not None:
            times = np.append(times[times < t1 * (1 - SAME_TIME)], t1)
        return replace(self, t1=t1, times=times, deadline=deadline)

    def watched(self, where: Callable[[], Sequence[float]], quantity: str = "loss") -> doing:
        """While the block runs, whoever watches sees the time, the loss or the log-norm, and the
        events of the flow; `where` gives them in its own units."""

        def words() -> str:
            time, value, *events = where()
            if not time:  # no step is known yet
                return ""
            clock, factor, shift = self.units
            value = value * factor if quantity == "loss" else value + shift
            said = f"t = {time * clock:.3g}, {quantity} {value:.3g}"
            return said + "".join(f", {count} events" for count in events)

        return doing(words)

    def saved(self, ends: Array) -> Array:
        """The times asked for as far as the steps got, and the last where they did not get through;
        else the ends of all steps."""
        saved = ends
        if self.times is not None:
            saved = self.times[self.times <= ends[-1]]
            if saved.size < self.times.size and ends[-1] not in saved[-1:]:
                saved = np.append(saved, ends[-1])
        return saved[still_saved(saved.size)]


def goes_on(result: Result, reached: float, t1: float | None) -> bool:
    """Whether a run that stopped so goes on, until t1 where that is an end."""
    if result is Result.REACHED_T1:
        return t1 is not None and reached < t1
    return result in (Result.TIME_LIMIT, Result.STEP_LIMIT)


def save_times(times: ArrayLike | None, t1: float | None) -> Array | None:
    """The times to save, or an error; None where none are asked for."""
    if times is None:
        return None
    wanted = real_array("times", times)
    if (
        wanted.ndim != 1
        or wanted.size == 0
        or np.count_nonzero(wanted[1:] > wanted[:-1]) < wanted.size - 1
        or wanted[0] < 0
        or wanted[-1] == 0
    ):
        raise InputError(
            "times: expected an increasing vector of non-negative times, the last positive"
        )
    if t1 is not None and wanted[-1] > t1 * (1 + SAME_TIME):
        raise InputError(f"times: the last, {wanted[-1]:g}, lies after t1 = {t1:g}")
    return wanted


def largest_difference(states: Any, others: Any) -> Array:
    """The sup norm of the difference of two states over time, at every time."""
    gaps = [np.abs(a - b) for a, b in zip(leaves(states), leaves(others), strict=True)]
    return np.asarray(
        np.max([np.max(gap.reshape(len(gap), -1), axis=1, initial=0.0) for gap in gaps], axis=0)
    )


def distance_error(
    states: Any, others: Any, saved: Array, reached: float, rounding: Array, factor: float = TWICE
) -> Array:
    """The error that a second run tells: so many times its distance, and what rounding leaves open;
    NaN where it gave up before."""
    error = factor * largest_difference(states, others) + rounding
    error[saved > reached * (1 + SAME_TIME)] = np.nan
    return error
