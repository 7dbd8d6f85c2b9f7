"""Whether anybody still waits: a request can be cancelled while it is computed, since flows look at
their clock at every step, and the clock of a page's flow is over once nobody waits."""

from __future__ import annotations

import threading
from typing import Any

from .._core.results import Result, Trajectory
from .._numerics.deadlines import Deadline

abandoned = threading.Event()
"""Set while this process computes a request that was cancelled."""


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Patience(Deadline):
    """So many seconds, and none once nobody waits."""

    def over(self) -> bool:
        return abandoned.is_set() or super().over()

    def first(self) -> bool:
        return abandoned.is_set() or super().first()

    def both(self) -> bool:
        return abandoned.is_set() or super().both()


class DrawingPatience(Patience):
    """All of the seconds for the run itself: no second run tells an error that a page would not
    draw."""

    def first(self) -> bool:
        return self.over()

    def both(self) -> bool:
        return True


def drawn_flow(problem: Any, patience: Patience, **options: Any) -> Trajectory[Any]:
    """`gradient_flow` for a picture, as far as it came; `Abandoned` where nobody waits for it."""
    from ..flows import gradient_flow

    flow = gradient_flow(problem, time_s=patience, throw=False, **options)  # type: ignore[arg-type]
    check_waiting()
    return flow


def check_waiting() -> None:
    """Go on only where somebody waits."""
    if abandoned.is_set():
        raise Abandoned


def got_there(flow: Trajectory[Any]) -> bool:
    """Whether a flow came to its end, its error told or not."""
    return flow.result.success or flow.result is Result.UNCHECKED
