"""Processes of our own: spawned, on one thread each, watched, and gone when the driver is gone.

Not a `ProcessPoolExecutor`: there a worker that dies takes every pending task with it and leaves no
word about which one it was at, and workers outlive a driver that is killed.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from typing import Any, ClassVar, final

from .._core.arguments import positive_int
from .._numerics.cores import available_cores
from ..errors import InputError
from .engines import Engine, EngineError, Finished, Pool
from .worker import (
    BEGUN,
    DOUBLE_PRECISION,
    OVER,
    THREAD_SETTINGS,
    Outcome,
    Task,
    assert_double_precision,
    perform,
    settle_worker,
)

MOST_FALSE_STARTS = 3
"""So many workers in a row that die before they are ready mean that none will."""
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_spawning = threading.Lock()


@final
@dataclass(frozen=True)
class Processes(Engine):
    """Spawned processes on this machine, as many as there are cores unless told otherwise.

    The function is imported in each: a script needs `if __name__ == "__main__":` around what it
    runs.

    Examples
    --------
    >>> bf.sweeps.Processes(4)
    Processes(workers=4)
    """

    workers: int | None = None
    stops_points: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.workers is not None:
            positive_int("workers", self.workers)

    @contextmanager
    def open(self) -> Iterator[Pool]:
        pool = _ProcessPool(self.workers or available_cores())
        try:
            yield pool
        finally:
            pool.close()


@final
class _Worker:
    """One process, the pipe to it, and the task it is at."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: Task | None = None
        self.ready = False
        self.deadline = math.inf  # of the point it is at, by our clock
        self.process: SpawnProcess = context.Process(
            target=_serve, args=(theirs, os.getpid()), name="biasflow worker", daemon=True
        )
        with (
            _spawning,
            _environment({**dict.fromkeys(THREAD_SETTINGS, "1"), DOUBLE_PRECISION: "1"}),
        ):
            self.process.start()
        theirs.close()

    def end(self) -> str:
        """Make sure that it is gone, and say how it went."""
        self.pipe.close()
        self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        return (
            f"the worker died of {_signal_name(-code)}"
            if code < 0
            else f"the worker exited with code {code}"
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # of real time, which has no names
        return f"signal {number}"


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Set for the processes started inside: libraries read their number of threads once, when they
    load."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@final
class _ProcessPool(Pool):
    def __init__(self, workers: int) -> None:
        self._most = workers
        self._workers: list[_Worker] = []
        self._waiting: deque[Task] = deque()
        self._false_starts = 0

    @property
    def width(self) -> int:
        # one at work and one at hand for each: no worker waits while the driver keeps its books
        return 2 * self._most

    def submit(self, task: Task) -> None:
        self._waiting.append(task)
        if (
            len(self._waiting) > sum(worker.task is None for worker in self._workers)
            and len(self._workers) < self._most
        ):
            self._workers.append(_Worker())
        self._hand_out()

    def wait(self, seconds: float) -> list[Finished]:
        by_pipe = {worker.pipe: worker for worker in self._workers}
        finished: list[Finished] = []
        next_deadline = min((worker.deadline for worker in self._workers), default=math.inf)
        for pipe in connection.wait(
            list(by_pipe), max(0.0, min(seconds, next_deadline - time.monotonic()))
        ):
            worker = by_pipe[pipe]  # type: ignore[index]
            try:
                news = pickle.loads(worker.pipe.recv_bytes())
            except (EOFError, OSError):
                finished += self._buried(worker)
                continue
            self._false_starts = 0
            if news in (BEGUN, OVER) and worker.task is not None and worker.task.time_s is not None:
                worker.deadline = (
                    time.monotonic() + worker.task.time_s if news == BEGUN else math.inf
                )
                continue
            if worker.ready and worker.task is not None:
                finished.append(Finished(worker.task, news))
                worker.task, worker.deadline = None, math.inf
            worker.ready = True
        now = time.monotonic()
        # its news may be waiting for us
        for worker in [w for w in self._workers if w.deadline <= now and not w.pipe.poll()]:
            finished += self._buried(worker, stopped=True)
        self._hand_out()
        return finished

    def close(self) -> None:
        for worker in self._workers:  # all at once, then wait for each
            worker.process.kill()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if self._waiting and worker.ready and worker.task is None:
                task = self._waiting.popleft()
                worker.task = task
                try:
                    worker.pipe.send_bytes(_packed(task))
                except OSError:  # it died idle: `wait` finds out, and the task is handed out again
                    worker.task = None
                    self._waiting.appendleft(task)

    def _buried(self, worker: _Worker, stopped: bool = False) -> list[Finished]:
        """Replace a worker that is dead, or that is to be stopped; its task is lost."""
        reason = worker.end()
        self._workers.remove(worker)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts >= MOST_FALSE_STARTS:
                raise EngineError(
                    f"workers do not start ({reason}); their own words are above. A script that "
                    "sweeps in processes keeps what it"
                    ' runs under `if __name__ == "__main__":`'
                )
        if self._waiting or worker.task is not None:
            self._workers.append(_Worker())
        return [Finished(worker.task, None, reason, stopped)] if worker.task is not None else []


def _packed(task: Task) -> bytes:
    try:
        return _by_value(task) if task.by_value else pickle.dumps(task)
    except ModuleNotFoundError:
        raise InputError(
            "function: it is defined in a notebook cell, which worker processes cannot import; "
            "install cloudpickle, which sends it as it is, or write the cell to a file "
            "(%%writefile points.py) and import it from there"
        ) from None
    except Exception as reason:
        raise InputError(
            f"function: cannot be sent to another process ({reason}); define it at the top of a "
            "module, and give it plain values"
        ) from None


def _by_value(task: Task) -> bytes:
    """With the function's own code and what it uses of its notebook, for our own workers."""
    import cloudpickle

    packed: bytes = cloudpickle.dumps(task)
    return packed


def _serve(pipe: Any, driver: int) -> None:
    """The life of a worker: tasks in, outcomes out, until the driver hangs up."""
    # Ctrl-C reaches the whole terminal; the driver decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with(driver)
    settle_worker()
    assert_double_precision()
    pipe.send_bytes(pickle.dumps(None))
    while True:
        try:
            packed = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(
            pickle.dumps(_outcome(packed, lambda news: pipe.send_bytes(pickle.dumps(news))))
        )


def _outcome(packed: bytes, tell: Callable[[str], None]) -> Outcome:
    try:
        task = pickle.loads(packed)
    except Exception as reason:
        found = f"{type(reason).__name__}: {reason}"
        return Outcome(
            fatal=InputError(
                f"function: a worker cannot import it ({found}); define it in a file that is on "
                "its path"
            )
        )
    try:
        return perform(task) if task.time_s is None else perform(task, tell)
    except Exception as reason:
        return Outcome(
            fatal=EngineError(f"a worker cannot go on: {type(reason).__name__}: {reason}")
        )


def _die_with(driver: int) -> None:
    """No worker survives its driver: by the kernel's hand on Linux, by a thread that watches
    everywhere."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(
            target=_watch, args=(parent.sentinel,), name="biasflow-watch", daemon=True
        ).start()
    if sys.platform == "linux":
        with suppress(ImportError, AttributeError, OSError):  # a Python, or a kernel, without it
            import ctypes

            ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != driver:  # it was gone before the kernel was asked
            os._exit(1)


def _watch(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
