"""Where chunks are computed: here, on somebody's executor, in processes of our own, on a Dask
cluster.

An `Engine` is a frozen description; opened, it is a `Pool` that takes tasks and gives back what
became of them.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar, final

from ..errors import BiasflowError
from .worker import Outcome, Task, perform, settled_driver

CHUNKS_IN_FLIGHT = 64
"""How many chunks an executor of unknown size holds at once."""


class EngineError(BiasflowError, RuntimeError):
    """Workers cannot be started or kept; what was finished is in the store."""


@dataclass(frozen=True)
class Finished:
    """A task and its outcome; without one, its worker died, for the reason given, or was stopped
    since the task took too long."""

    task: Task
    outcome: Outcome | None
    reason: str = ""
    stopped: bool = False


class Pool(ABC):
    """Workers that are up."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many tasks to have out at once."""

    @abstractmethod
    def submit(self, task: Task) -> None: ...

    @abstractmethod
    def wait(self, seconds: float) -> list[Finished]:
        """What finished, after at most this long where nothing has."""


class Engine(ABC):
    """How to bring workers up and down. stops_points: whether it can stop a point that takes too
    long, whatever that is doing."""

    stops_points: ClassVar[bool] = False

    @abstractmethod
    def open(self) -> AbstractContextManager[Pool]:
        """Workers up inside, gone outside, however it is left."""


@final
@dataclass(frozen=True)
class Serial(Engine):
    """In this process, one point after the other."""

    @contextmanager
    def open(self) -> Iterator[Pool]:
        with settled_driver:
            yield _Here()


@final
class _Here(Pool):
    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()

    @property
    def width(self) -> int:
        return 1

    def submit(self, task: Task) -> None:
        self._tasks.append(task)

    def wait(self, seconds: float) -> list[Finished]:
        task = self._tasks.popleft()
        return [Finished(task, perform(task))]


@final
@dataclass(frozen=True)
class Executing(Engine):
    """On an executor that somebody else made, and closes."""

    executor: Executor

    @contextmanager
    def open(self) -> Iterator[Pool]:
        with settled_driver:
            pool = FuturePool(self.executor.submit, lambda: CHUNKS_IN_FLIGHT, _broken)
            try:
                yield pool
            finally:
                pool.cancel()


def _broken(error: BaseException) -> str | None:
    if isinstance(error, BrokenExecutor):
        raise EngineError(
            f"the executor is broken ({error}); what was finished is kept. `engine=Processes()` "
            "replaces workers that die"
        ) from None
    return None


@final
class FuturePool(Pool):
    """Tasks as futures. lost: from an exception to the reason why the worker died, or None where
    that is not what it means."""

    def __init__(
        self,
        submit: Callable[..., Future[Outcome]],
        width: Callable[[], int],
        lost: Callable[[BaseException], str | None],
    ) -> None:
        self._submit, self._width, self._lost = submit, width, lost
        self._tasks: dict[Future[Outcome], Task] = {}
        self._done: queue.SimpleQueue[Future[Outcome]] = queue.SimpleQueue()

    @property
    def width(self) -> int:
        return self._width()

    def submit(self, task: Task) -> None:
        try:
            future = self._submit(perform, task)
        except BrokenExecutor as error:
            self._lost(error)
            raise
        self._tasks[future] = task
        future.add_done_callback(self._done.put)

    def wait(self, seconds: float) -> list[Finished]:
        finished = []
        try:
            finished.append(self._finished(self._done.get(timeout=seconds)))
            while True:
                finished.append(self._finished(self._done.get_nowait()))
        except queue.Empty:
            return finished

    def cancel(self) -> None:
        for future in self._tasks:
            future.cancel()

    def _finished(self, future: Future[Outcome]) -> Finished:
        task = self._tasks.pop(future)
        try:
            return Finished(task, future.result())
        except (Exception, CancelledError) as error:
            reason = self._lost(error)
            if reason is None:
                raise
            return Finished(task, None, reason)
