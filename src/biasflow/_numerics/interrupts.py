"""Calls that Ctrl-C stops within half a second.

Python raises KeyboardInterrupt in its main thread, between two steps of Python. Numba boxes the
results of compiled code by calling Python, and crashes where that raises. So the main thread never
runs compiled code: a helper thread does, while the main thread waits in short waits, in which it
hears Ctrl-C. It then raises a flag that the call looks at, as at a time limit that is over, waits
for what there is, and raises KeyboardInterrupt again with it as `partial`. No signal handler is
replaced. In other threads, which hear no signals, calls are made as they are.
"""

from __future__ import annotations

import _thread
import atexit
import functools
import os
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Found = TypeVar("Found")

WAIT_S = 0.05
"""Of one wait of the main thread. Windows hears Ctrl-C only between two of them."""
GRACE_S = 0.35
"""After which an interrupted call is left to end by itself, and its result lost: together with a
wait less than the half second that Ctrl-C may take."""
EXIT_S = 10.0
"""For which the end of the process waits for such calls: they may hold what it takes down."""
SAVED = 65
"""States saved, at most, of a flow that Ctrl-C ended; its interpolant keeps all steps."""

Flag = NDArray[np.intp]
"""An array of one entry, which turns from zero to one when a call is to end."""

_flag: ContextVar[Flag | None] = ContextVar("flag", default=None)


def stop_flag() -> Flag:
    """The flag that Ctrl-C raises for the call that this code is part of."""
    flag = _flag.get()
    return np.zeros(1, np.intp) if flag is None else flag


def interrupted() -> bool:
    """Whether Ctrl-C was pressed since the call began that this code is part of."""
    flag = _flag.get()
    return flag is not None and bool(flag[0])


def still_saved(count: int) -> NDArray[np.intp]:
    """Which of so many saved states are made: all, but few after Ctrl-C, which may not take as long
    as a share of the flow so far."""
    if not interrupted():
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, min(count, SAVED)).astype(np.intp))


def stoppable(call: Callable[..., Found], *arguments: Any) -> Found:
    """Call, by a helper thread if this is the main one.

    On KeyboardInterrupt, or what else a signal's handler raises, `stop_flag` is raised; what the
    call then returns, or the `partial` of its error, is the `partial` of the KeyboardInterrupt.
    """
    if _thread.get_ident() != threading.main_thread().ident:
        found = call(*arguments)
        if interrupted():  # the call that this one is part of
            raise KeyboardInterrupt
        return found
    return _by_helper(call, arguments, {}, keep=True)


def apart(call: Callable[..., Found], *arguments: Any, **options: Any) -> Found:
    """The same for a part of a call, of which nothing is kept: compiled code, or a program that
    does not look at the flag and is left to end by itself."""
    if _thread.get_ident() != threading.main_thread().ident:
        return call(*arguments, **options)
    return _by_helper(call, arguments, options, keep=False)


def _by_helper(
    call: Callable[..., Found], arguments: tuple[Any, ...], options: dict[str, Any], keep: bool
) -> Found:
    job = _Job(functools.partial(call, *arguments, **options))
    try:
        helper = _idle.pop() if _idle else _Helper()
        helper.jobs.put(job)
        while not job.ended.acquire(timeout=WAIT_S):
            pass
    except BaseException as stop:
        job.flag[0] = 1
        _wait_for(job)
        if not job.done:
            _left[:] = [job, *(one for one in _left if not one.done)]
        elif keep and isinstance(stop, KeyboardInterrupt):
            found = job.found if job.error is None else getattr(job.error, "partial", None)
            if found is not None:
                stop.partial = found  # type: ignore[attr-defined]
        job.error = None
        raise
    error, job.error = job.error, None
    try:
        if error is not None:
            raise error
        return job.found
    finally:
        del error, job  # which an error's traceback would keep


class _Job:
    """A call, and what came out."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.flag = call, np.zeros(1, np.intp)
        self.found: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.context, self.ended = copy_context(), _thread.allocate_lock()
        self.context.run(_flag.set, self.flag)
        self.ended.acquire()

    def run(self) -> None:
        try:
            self.found = self.context.run(self.call)
        except BaseException as error:  # raised again by the thread that waits
            self.error = error
        self.done = True


class _Helper:
    """A thread that runs one job after the other."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        threading.Thread(target=self._run, name="biasflow", daemon=True).start()

    def _run(self) -> None:
        while True:
            job = self.jobs.get()
            job.run()
            _idle.append(self)
            job.ended.release()
            del job


_idle: list[_Helper] = []
_left: list[_Job] = []  # that did not end in time


def _wait_for(job: _Job) -> None:
    """Until the job ends, but not for long; whoever presses Ctrl-C again waits no less."""
    last = time.monotonic() + GRACE_S
    while not job.done and time.monotonic() < last:
        try:
            job.ended.acquire(timeout=WAIT_S)
        except BaseException:
            continue


def _see_out() -> None:
    last = time.monotonic() + EXIT_S
    while any(not job.done for job in _left) and time.monotonic() < last:
        time.sleep(WAIT_S)


atexit.register(_see_out)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_idle.clear)
