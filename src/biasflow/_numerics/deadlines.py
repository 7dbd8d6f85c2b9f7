"""Time limits of flows: one clock for a run and for the second run that tells its error; loading
code does not count. After Ctrl-C every time is over.

Compiled code cannot look at a clock. It reads a flag at every step, which a thread raises when the
time is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import numpy as np

from .._core.arguments import positive_float
from .interrupts import Flag, interrupted, stop_flag

FIRST_RUN, BOTH_RUNS = 0.25, 0.85
"""Shares of the time for the run itself, and with the one that tells its error, which is tighter
and takes twice as many steps or more; states and errors at all saved times take the rest."""
FLOW_S = 120.0
"""Seconds after which flows give up unless something else is asked for."""
RECORDED_S = 600.0
"""Seconds for solvers whose results are recorded: hundreds of times what they take, so that no
result depends on what else the machine does."""
LOOK = 0.02
"""Seconds between two looks at the clock while compiled code runs."""


MOMENT = 1e-3
"""Seconds that are given to what begins when the time is over: it looks at its clock and ends."""


class Deadline:
    """When to give up: so many seconds from now, None for never."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = np.inf if seconds is None else positive_float("time_s", seconds)
        self._begun, self._paused, self._pauses, self._lock = (
            time.monotonic(),
            0.0,
            0,
            threading.Lock(),
        )

    def __reduce__(self) -> tuple[type[Deadline], tuple[float | None]]:
        """In another process the time begins anew."""
        return Deadline, (None if self.seconds == np.inf else self.seconds,)

    def first(self) -> bool:
        """Whether the time of the run itself is over."""
        return interrupted() or self._elapsed() > FIRST_RUN * self.seconds

    def both(self) -> bool:
        """Whether the time of both runs is over."""
        return interrupted() or self._elapsed() > BOTH_RUNS * self.seconds

    def over(self) -> bool:
        """Whether all of the time is over, for what has one run only."""
        return interrupted() or self._elapsed() > self.seconds

    @property
    def left(self) -> float | None:
        """Seconds left, a moment at least, for what is called next; None without an end."""
        if self.seconds == np.inf:
            return None
        return max(self.seconds - self._elapsed(), MOMENT)

    def pause(self) -> None:
        """Code is loaded or compiled: the clock stands still until as many calls of `resume`."""
        with self._lock:
            self._pauses += 1
            if self._pauses == 1:
                self._paused = time.monotonic()

    def resume(self) -> None:
        """Undo a `pause`; without one, as where another thread's compilation began before this
        clock, nothing happens."""
        with self._lock:
            if self._pauses == 0:
                return
            self._pauses -= 1
            if self._pauses == 0:
                self._begun += time.monotonic() - self._paused

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The clock stands still, as while modules are imported."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def _elapsed(self) -> float:
        with self._lock:
            return (self._paused if self._pauses else time.monotonic()) - self._begun

    def flag(self, over: Callable[[], bool]) -> _Watched:
        """A context with a flag that is raised when `first` or `both` is over, or by Ctrl-C."""
        return _Watched(over if self.seconds < np.inf else None)


class _Watched:
    """A flag, which one thread of the process raises for all, where there is an end."""

    def __init__(self, over: Callable[[], bool] | None) -> None:
        self._over, self._stop = over, stop_flag()

    def __enter__(self) -> Flag:
        if self._over is None:
            return self._stop
        self._raised = np.array([self._over()], np.intp)
        if not self._raised[0]:
            _watch(self)
        return self._raised

    def look(self) -> None:
        """Raise the flag if it is time."""
        if self._stop[0] or (self._over is not None and self._over()):
            self._raised[0] = 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _watched.discard(self)


_watched: set[_Watched] = set()
_some = threading.Event()
_watchers: list[threading.Thread] = []  # one, from the first flag on; a forked child has none


def _watch(flag: _Watched) -> None:
    _watched.add(flag)
    if not _watchers or not _watchers[0].is_alive():
        _watchers[:] = [threading.Thread(target=_look, name="biasflow clock", daemon=True)]
        _watchers[0].start()
    _some.set()


def _look() -> None:
    while True:
        _some.wait()
        time.sleep(LOOK)
        for flag in list(_watched):
            flag.look()
        if not _watched:
            _some.clear()
            if _watched:  # one more, since
                _some.set()


def deadline_of(limit: float | Deadline | None) -> Deadline:
    return limit if isinstance(limit, Deadline) else Deadline(limit)
