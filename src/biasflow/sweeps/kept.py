"""Workers that stay up from one sweep to the next, and do other work where sweeps leave them
free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, final

from .engines import Engine, Finished, Pool
from .worker import Task, here


@dataclass(frozen=True)
class Settled:
    """Other work that is over, however it went, and the processor seconds that it took."""

    name: str
    seconds: float


@final
class Kept(Engine):
    """Another engine whose workers stay up until this one is left as a context: what they imported
    and compiled is there for the next sweep, one sweep at a time.

    `add` gives them other work. Points of a sweep come first, and it is begun wherever fewer tasks
    are out than the engine has workers. beside: entered with the first worker, left with the last.
    """

    def __init__(
        self,
        engine: Engine,
        beside: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self._engine, self._beside, self._up = engine, beside, ExitStack()
        self._pool: Pool | None = None
        self._queue: deque[Task] = deque()
        self._others: dict[str, Task] = {}  # those that are out
        self._points = 0  # tasks of a sweep that are out
        self._settled: list[Settled] = []
        self.seconds = 0.0
        """Processor seconds of all sweeps so far."""

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *reason: object) -> None:
        self._down()

    @contextmanager
    def open(self) -> Iterator[Pool]:
        self._begin()
        try:
            yield _Shared(self)
        except BaseException:  # points of this sweep may still be out
            self._down()
            raise

    def add(
        self, name: str, function: Callable[..., Any], setting: dict[str, Any], first: bool = False
    ) -> None:
        """`function(**setting)`, which returns an empty dataset and leaves its results elsewhere.
        name: its own; first: before other work and points that are not handed out yet."""
        task = Task(function, name, (0,), (setting,), driver=here())
        if first:
            self._hand_out(task)
        else:
            self._queue.append(task)

    def settled(self) -> list[Settled]:
        """Work that is over and was not told of yet."""
        told, self._settled = self._settled, []
        return told

    def wait(self, seconds: float) -> bool:
        """Wait for other work outside a sweep; whether there is any."""
        if self._queue or self._others:
            self._news(seconds)
        return bool(self._queue or self._others)

    def _begin(self) -> Pool:
        if self._pool is None:
            self._up.enter_context(self._beside())
            self._pool = self._up.enter_context(self._engine.open())
        return self._pool

    def _down(self) -> None:
        """Let the workers go; work that was out is to be done again."""
        self._queue.extendleft(reversed(self._others.values()))
        self._others.clear()
        self._pool, self._points = None, 0
        self._up.close()

    def _submit(self, task: Task) -> None:
        self._points += 1
        self._begin().submit(task)

    def _hand_out(self, task: Task) -> None:
        self._others[task.chunk] = task
        self._begin().submit(task)

    def _news(self, seconds: float) -> list[Finished]:
        """What finished of the sweep that is going on; of other work notes are taken."""
        pool = self._begin()
        workers = max(1, pool.width // 2)
        while self._queue and self._points + len(self._others) < workers:
            self._hand_out(self._queue.popleft())
        points = []
        for finished in pool.wait(seconds):
            spent = 0.0 if finished.outcome is None else finished.outcome.seconds
            if self._others.get(finished.task.chunk) is finished.task:
                del self._others[finished.task.chunk]
                self._settled.append(Settled(finished.task.chunk, spent))
            else:
                self._points -= 1
                self.seconds += spent
                points.append(finished)
        return points


@final
class _Shared(Pool):
    """The pool as one sweep sees it."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    @property
    def width(self) -> int:
        return self._kept._begin().width

    def submit(self, task: Task) -> None:
        self._kept._submit(task)

    def wait(self, seconds: float) -> list[Finished]:
        return self._kept._news(seconds)
