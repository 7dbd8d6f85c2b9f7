"""The driver's loop: chunks claimed, handed to workers, and accounted for, whatever happens to the
workers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from .blocks import Stack, stack_from_bytes
from .engines import Engine, Finished, Pool
from .grids import Grid
from .locks import Locks
from .shards import LOCKS, Failure, Index, shard_name
from .versions import from_cell, function_version
from .worker import Outcome, Task, here, shelve

DEATHS_BEFORE_SPLIT = 2
"""So many workers may die of a task before it is split, or, where it is one point, recorded as
failed."""
TICK_SECONDS = 0.2
"""How often the display moves on, and chunks that others hold are looked at."""


@dataclass(frozen=True)
class Tally:
    """How a sweep stands, in points. found: in the store at the start; elsewhere: held by other
    drivers on the same store; within: the share of a running point that is done, where it tells."""

    label: str
    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    elsewhere: int = 0
    found: int = 0
    seconds: float = 0.0
    within: float = 0.0

    @property
    def rate(self) -> float:
        """Points a second."""
        made = self.done + self.failed - self.found + self.within
        return made / self.seconds if self.seconds > 0 else 0.0

    @property
    def remaining_seconds(self) -> float | None:
        left = self.total - self.done - self.failed - self.within
        return left / self.rate if self.rate > 0 else None


Watch = Callable[[Tally], None]


@dataclass(frozen=True)
class Chunk:
    """Points start..stop of the grid. Boundaries depend on the grid (and the chunk size asked for),
    on nothing else."""

    start: int
    stop: int
    key: str

    @property
    def indices(self) -> range:
        return range(self.start, self.stop)


@final
class Ledger:
    """What is known of each point of a grid: done, failed, or to be computed. index: None without a
    store."""

    def __init__(self, grid: Grid, size: int, keys: Sequence[str], index: Index | None) -> None:
        self.grid, self.keys, self.index = grid, keys, index
        self.done = np.zeros(grid.size, dtype=bool)
        self.failed: dict[int, Failure] = {}
        self.blocks: list[tuple[tuple[int, ...], Stack]] = []
        self.devices: set[str] = set()
        self.chunks = [
            self._chunk(start, min(start + size, grid.size)) for start in range(0, grid.size, size)
        ]

    def look(self, indices: Sequence[int]) -> None:
        """Bring these points up to date with the shelf."""
        if self.index is not None:
            self.index.refresh()
            for i in indices:
                self.done[i] = self.keys[i] in self.index

    def look_for_failures(self, indices: Sequence[int]) -> None:
        if self.index is not None and (recorded := self.index.shelf.failures()):
            self.failed.update(
                {
                    i: recorded[self.keys[i]]
                    for i in indices
                    if not self.done[i] and self.keys[i] in recorded
                }
            )

    def open(self, indices: Sequence[int]) -> list[int]:
        return [i for i in indices if not self.done[i] and i not in self.failed]

    def _chunk(self, start: int, stop: int) -> Chunk:
        return Chunk(
            start,
            stop,
            shard_name(self.keys[start:stop]).partition(".")[0] if self.keys else f"{start}",
        )


@final
class Driver:
    """One run over the open points of a ledger."""

    def __init__(
        self,
        function: Callable[..., Any],
        ledger: Ledger,
        engine: Engine,
        label: str,
        watch: Watch,
        retry: bool,
        point_time_s: float | None = None,
    ) -> None:
        self._function, self._ledger, self._engine, self._watch, self._retry = (
            function,
            ledger,
            engine,
            watch,
            retry,
        )
        self._point_time_s = point_time_s
        self._chunks = deque(chunk for chunk in ledger.chunks if ledger.open(chunk.indices))
        self._again: deque[tuple[Task, int]] = deque()  # tasks whose worker died, with how often
        # tasks that are out, by their points, with how often their worker died
        self._live: dict[tuple[int, ...], int] = {}
        # chunks that are ours, with how many tasks they still wait for
        self._open: dict[str, int] = {}
        # chunks that lost a worker, perhaps in the middle of a write
        self._littered: set[str] = set()
        self._locks: Locks | None = None
        self._held_elsewhere = 0
        self._start = time.perf_counter()
        done = int(ledger.done.sum())
        self._tally = Tally(
            label, ledger.grid.size, done, len(ledger.failed), found=done + len(ledger.failed)
        )

    def run(self) -> None:
        self._tell()
        if not self._chunks:
            return
        with ExitStack() as stack:
            if self._ledger.index is not None:
                self._locks = stack.enter_context(Locks(self._ledger.index.shelf.folder / LOCKS))
                stack.callback(self._sweep_up)
            self._loop(stack.enter_context(self._engine.open()))
            if self._locks is not None:
                self._locks.bury()

    def _loop(self, pool: Pool) -> None:
        while self._chunks or self._again or self._live:
            if len(self._live) < pool.width:
                self._fill(pool)
            if self._live:
                for result in pool.wait(TICK_SECONDS):
                    self._account(result)
            elif self._chunks:  # others hold all that is left
                time.sleep(TICK_SECONDS)
            self._tell()

    def _fill(self, pool: Pool) -> None:
        """Hand out tasks up to the pool's width."""
        while self._again and len(self._live) < pool.width:
            self._submit(pool, *self._again.popleft())
        for _ in range(len(self._chunks)):
            if len(self._live) >= pool.width:
                return
            chunk = self._chunks.popleft()
            if self._locks is not None and not self._locks.acquire(chunk.key):
                self._chunks.append(chunk)  # somebody else is at it
                continue
            self._begin(pool, chunk)
        self._held_elsewhere = sum(len(self._ledger.open(chunk.indices)) for chunk in self._chunks)

    def _begin(self, pool: Pool, chunk: Chunk) -> None:
        """Compute what is missing of a chunk that is ours now: somebody may have finished it before
        it was."""
        before = int(self._ledger.done[chunk.start : chunk.stop].sum()), len(self._ledger.failed)
        if self._ledger.index is not None:
            if self._locks is not None and self._locks.inherited(chunk.key):
                self._ledger.index.shelf.sweep_up(chunk.key)
            self._ledger.look(chunk.indices)
            if not self._retry:
                self._ledger.look_for_failures(chunk.indices)
        came = (
            int(self._ledger.done[chunk.start : chunk.stop].sum()) - before[0],
            len(self._ledger.failed) - before[1],
        )
        self._tally = replace(
            self._tally, done=self._tally.done + came[0], failed=self._tally.failed + came[1]
        )
        missing = self._ledger.open(chunk.indices)
        if not missing:
            self._release(chunk.key)
            return
        # a point to be stopped stops alone
        parts = [missing] if self._point_time_s is None else [[i] for i in missing]
        self._open[chunk.key] = len(parts)
        for part in parts:
            self._submit(pool, self._task(chunk, part))

    def _task(self, chunk: Chunk, points: Sequence[int]) -> Task:
        index, keys = self._ledger.index, self._ledger.keys
        settings = tuple(self._ledger.grid.point(i) for i in points)
        named = tuple(keys[i] for i in points) if keys else ()
        version = function_version(self._function) if index else ""
        shelf = index.shelf if index else None
        return Task(
            self._function,
            chunk.key,
            tuple(points),
            settings,
            named,
            shelf,
            here(),
            version,
            self._point_time_s,
            from_cell(self._function),
        )

    def _submit(self, pool: Pool, task: Task, losses: int = 0) -> None:
        self._live[task.indices] = losses
        pool.submit(task)

    def _account(self, finished: Finished) -> None:
        task, losses = finished.task, self._live.pop(finished.task.indices)
        if finished.outcome is None:
            self._littered.add(task.chunk)
        if finished.outcome is not None:
            self._take(task, finished.outcome)
        elif finished.stopped:
            limit = f"not done within {task.time_s:g} s, the time limit of a point; it was stopped"
            self._take(task, Outcome({0: Failure(task.settings[0], "TimeLimit", limit, "")}))
        elif losses + 1 < DEATHS_BEFORE_SPLIT:
            self._again.append((task, losses + 1))
        elif len(task.indices) > 1:
            for half in task.halves():
                self._again.append((half, DEATHS_BEFORE_SPLIT - 1 if len(half.indices) > 1 else 0))
            self._open[task.chunk] += 1
        else:
            failure = Failure(
                task.settings[0],
                "WorkerDied",
                f"{finished.reason}, {DEATHS_BEFORE_SPLIT} times",
                "",
            )
            self._take(task, Outcome({0: failure}))

    def _take(self, task: Task, outcome: Outcome) -> None:
        """Book what came out; blocks that the worker could not shelve are shelved here."""
        if outcome.fatal is not None:
            raise outcome.fatal
        ledger = self._ledger
        if not outcome.shelved:
            shelve(task, outcome.blocks, outcome.failures)
        for block in outcome.blocks:
            if task.shelf is None:
                stack = block.stack or stack_from_bytes(block.data)
                ledger.blocks.append((tuple(task.indices[row] for row in block.rows), stack))
        ledger.devices.add(outcome.device)
        for row, i in enumerate(task.indices):
            if row in outcome.failures:
                ledger.failed[i] = outcome.failures[row]
            else:
                ledger.done[i] = True
        failed = len(outcome.failures)
        came = len(task.indices) - failed
        self._tally = replace(
            self._tally, done=self._tally.done + came, failed=self._tally.failed + failed
        )
        self._open[task.chunk] -= 1
        if not self._open[task.chunk]:
            del self._open[task.chunk]
            self._release(task.chunk)

    def _release(self, chunk: str) -> None:
        """Give up a chunk all of whose tasks are done: nobody writes to it now, so what is
        unfinished there is rubbish."""
        if chunk in self._littered and self._ledger.index is not None:
            self._ledger.index.shelf.sweep_up(chunk)
        if self._locks is not None:
            self._locks.release(chunk)

    def _sweep_up(self) -> None:
        """What killed workers left of the chunks that were open."""
        if self._ledger.index is not None:
            for chunk in self._open:
                self._ledger.index.shelf.sweep_up(chunk)

    def _tell(self) -> None:
        running = sum(len(indices) for indices in self._live)
        seconds = time.perf_counter() - self._start
        self._watch(
            replace(self._tally, running=running, elsewhere=self._held_elsewhere, seconds=seconds)
        )
