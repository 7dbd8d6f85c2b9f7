"""Workers and who waits for them: processes that are replaced when they die or take too long.

Every page has at most one request waiting, the newest, and pages wait in line: one that drags
without end does not keep the others from theirs. A newer request cancels the older one where it
runs; what that still says is not delivered. Requests are known to workers by a number that is never
used twice, so that no answer can reach a page that did not ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .scene import Scene, State
from .worker_process import COMPILE

HANDS = 2
"""Workers that compute, one for each core up to so many; a further one waits, warm."""
WARMING_S = 600.0
"""Seconds within which a worker must have loaded and compiled what a scene needs."""
LARGEST_PART = 8 * 2**20
"""Bytes of one part: a worker that says more is replaced."""
MOST_RUNNING = 2
"""Requests of one page that may run at once: a cancelled one that has not heard of it, and the
newest."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 10.0
"""Before a worker is replaced that died before it had done anything: doubled each time."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Of linear algebra, unless the user says otherwise: its matrices are small, and there is a worker
for each core."""
COMMAND = ("-P", "-m", "biasflow.explore.worker_process")
COMPILE_AFTER_S = 5.0
"""Seconds after which the scenes that nobody has asked for are compiled, too, at low priority."""
COMPILE_TRIES = 8
READY = (0, 0)
"""The delay of a worker that has loaded the scene and loads no other."""

Deliver = Callable[[dict[str, Any], str | None], None]
"""Takes {"part": name} with its data as JSON, {"warming": scene}, or {"end": sentence}."""


@dataclass(eq=False)
class Job:
    """A request of somebody: a page, or one of its exports."""

    owner: Hashable
    scene: Scene
    state: State
    deliver: Deliver
    serial: int = 0
    abandoned: bool = False


@dataclass(eq=False)
class Worker:
    """A process, what it is doing, and which scenes it has loaded."""

    process: Process
    job: Job | None = None
    reason: str = ""
    timer: asyncio.TimerHandle | None = None
    warm: set[str] = field(default_factory=set)
    serials: dict[int, str] = field(default_factory=dict)
    done: int = 0

    def delay(self, scene: str) -> tuple[int, int]:
        """What is to be loaded before this scene can be computed, for comparison."""
        others = sum(name != scene for name in self.serials.values())
        loading = scene in self.serials.values()
        return others, 0 if scene in self.warm else 1 if loading else 2

    @property
    def leaves(self) -> bool:
        """Whether it computes what nobody waits for, and will hear of it soon."""
        return self.job is not None and self.job.abandoned and self.job.scene.name in self.warm

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def kill(self, reason: str) -> None:
        self.reason = self.reason or reason
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


class Crew:
    """So many workers, and a spare. command: what a worker is started by, after Python's name."""

    def __init__(self, hands: int | None = None, command: Sequence[str] = COMMAND) -> None:
        self._command = tuple(command)
        self.hands = min(HANDS, os.cpu_count() or 1) if hands is None else hands
        self.workers: list[Worker] = []
        self.spare: Worker | None = None
        self.deaths = 0
        self._waiting: dict[Hashable, Job] = {}
        self._running: dict[Hashable, set[Job]] = {}
        self._serials = itertools.count(1)
        self._used: dict[str, None] = {}
        self._compiling: Process | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._replacing = asyncio.Lock()
        self._stopping = False
        self._idle_deaths = 0

    async def start(self, first: Scene | None = None) -> None:
        """Start them all; they load the first scene, one after the other, so that the first is
        soon ready."""
        started = await asyncio.gather(*(self._started() for _ in range(self.hands + 1)))
        self.workers, self.spare = list(started[:-1]), started[-1]
        if first is not None:
            self._used[first.name] = None
            self._spread(first.name)
        self._run(self._compile())
        self._assign()

    async def stop(self) -> None:
        """End every worker, and wait until they are gone."""
        self._stopping = True
        for worker in self._everyone:
            worker.kill("stopped")
        await asyncio.gather(*(worker.process.wait() for worker in self._everyone))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def ask(self, job: Job) -> None:
        """Put a request in line; an older one of the same owner gives its place to it."""
        job.serial = next(self._serials)
        self.cancel(job.owner, keep_place=True)
        self._waiting[job.owner] = job
        if job.scene.name not in self._used:
            self._used[job.scene.name] = None
            if self._compiling is not None and self._compiling.returncode is None:
                self._compiling.kill()  # it has the lowest priority, and locks what it compiles
        self._assign()

    def cancel(self, owner: Hashable, keep_place: bool = False) -> None:
        """Nobody waits for what this owner asked."""
        if not keep_place:
            self._waiting.pop(owner, None)
        for job in list(self._running.get(owner, ())):
            if not job.abandoned:
                job.abandoned = True
                for worker in self.workers:
                    if worker.job is job:
                        worker.tell({"cancel": job.serial})
                        if job.scene.name not in worker.warm:  # it loads on, for whoever is next
                            self._end(worker, "")

    @property
    def idle(self) -> bool:
        return not self._waiting and not self._running

    def _assign(self) -> None:
        """Give the requests that wait longest to workers that are free, those that are warm for the
        scene first."""
        if self._stopping:
            return
        for owner in list(self._waiting):
            if len(self._running.get(owner, ())) >= MOST_RUNNING:
                continue
            worker = self._chosen(self._waiting[owner].scene.name)
            if worker is not None:
                self._begin(worker, self._waiting.pop(owner))

    def _chosen(self, scene: str) -> Worker | None:
        """The free worker that can begin soonest: one that loads no other scene, and has loaded
        this one. None where there is none, or where one that has is about to be free."""
        free = [worker for worker in self.workers if worker.job is None]
        leaving = [worker for worker in self.workers if worker.leaves and scene in worker.warm]
        if not free:
            return None
        soonest = min(free, key=lambda worker: worker.delay(scene))
        return None if leaving and soonest.delay(scene) > READY else soonest

    def _begin(self, worker: Worker, job: Job) -> None:
        worker.job, worker.reason = job, ""
        self._running.setdefault(job.owner, set()).add(job)
        loading = worker.delay(job.scene.name) > READY
        worker.serials[job.serial] = job.scene.name
        self._limit(worker, WARMING_S)
        if loading:
            job.deliver({"warming": job.scene.name}, None)
        worker.tell({"id": job.serial, "scene": job.scene.name, "state": job.state})

    def _limit(self, worker: Worker, seconds: float) -> None:
        if worker.timer is not None:
            worker.timer.cancel()
        job = worker.job
        assert job is not None
        sentence = (
            f"this took longer than {seconds:g} seconds and was stopped; fewer points, neurons or "
            "steps, or a less extreme scale, take less"
        )
        loop = asyncio.get_running_loop()
        worker.timer = loop.call_later(seconds, worker.kill, sentence)

    def _end(self, worker: Worker, sentence: str) -> None:
        """The request of a worker is over, well or not."""
        job, worker.job = worker.job, None
        if worker.timer is not None:
            worker.timer.cancel()
            worker.timer = None
        if job is None:
            return
        running = self._running[job.owner]
        running.discard(job)
        if not running:
            del self._running[job.owner]
        if not job.abandoned:
            job.deliver({"end": sentence}, None)

    async def _process(self, *arguments: str) -> Process:
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        return await asyncio.create_subprocess_exec(
            *(sys.executable, *self._command, *arguments),
            stdin=PIPE,
            stdout=PIPE,
            limit=LARGEST_PART,
            env={
                **ONE_THREAD,
                **os.environ,
                "BIASFLOW_PROGRESS": "0",
                "PYTHONPATH": os.pathsep.join(paths),
            },
            start_new_session=True,  # Ctrl-C is for the server, which ends its workers itself
        )

    async def _compile(self) -> None:
        """A process of its own that compiles every scene and ends; where it gave way to somebody
        who asks for one of them, it is started again once nothing is loaded."""
        for _ in range(COMPILE_TRIES):
            await asyncio.sleep(COMPILE_AFTER_S)
            while any(worker.serials for worker in self._everyone):
                await asyncio.sleep(COMPILE_AFTER_S)
            process = self._compiling = await self._process(COMPILE)
            try:
                await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()
            if process.returncode == 0:
                return

    async def _started(self) -> Worker:
        """A new process; a task listens to it until it ends."""
        worker = Worker(await self._process())
        for name in self._used:
            self._warm(worker, name)
        self._run(self._listen(worker))
        return worker

    def _warm(self, worker: Worker, scene: str) -> None:
        """Have a worker load a scene before anybody asks it to."""
        serial = next(self._serials)
        worker.serials[serial] = scene
        worker.tell({"id": serial, "scene": scene, "state": None})

    def _spread(self, scene: str) -> None:
        """Have the next worker load a scene, the spare last; one at a time, since whoever waits for
        a picture needs the cores."""
        if any(scene in worker.serials.values() for worker in self._everyone):
            return
        for worker in self._everyone:
            if scene not in worker.warm:
                self._warm(worker, scene)
                return

    def _run(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        try:
            while line := await worker.process.stdout.readline():
                self._hear(worker, line)
        except ValueError:  # of a reader, where a line is too long
            worker.kill("the answer was too large for a page")
        except (OSError, json.JSONDecodeError):
            worker.kill("the worker could not be understood")
        while await worker.process.stdout.read(2**16):  # what nobody reads would keep it waiting
            pass
        await worker.process.wait()
        if not self._stopping:
            await self._replace(worker)

    def _hear(self, worker: Worker, line: bytes) -> None:
        head, _, payload = line.partition(b"\t")
        message = json.loads(head)
        serial, job = message.pop("id"), worker.job
        if "begun" in message:
            worker.warm.add(worker.serials[serial])
        if "end" in message:
            scene = worker.serials.pop(serial, None)
            worker.done += 1
            self._idle_deaths = 0
            if scene in worker.warm:
                self._spread(scene)
        if job is None or job.serial != serial:
            self._assign()
            return
        if "begun" in message:
            self._limit(worker, job.scene.seconds)
        elif "end" in message:
            self._end(worker, message["end"])
            self._assign()
        elif not job.abandoned:
            job.deliver(message, payload.decode())

    async def _replace(self, worker: Worker) -> None:
        """A worker died: say so to whoever waited, and let the spare take its place."""
        self.deaths += 1
        code = worker.process.returncode
        sentence = worker.reason or (
            f"the process that computed this ended (exit code {code}); another has taken its place"
        )
        self._end(worker, sentence)
        if worker is self.spare:
            self.spare = None
        elif worker in self.workers:
            self.workers.remove(worker)
            if self.spare is not None:
                self.workers.append(self.spare)
                self.spare = None
                self._assign()
        if worker.done == 0:
            self._idle_deaths += 1
            if self._idle_deaths > self.hands + 1:
                wait = FIRST_WAIT_S * 2 ** min(self._idle_deaths, 10)
                await asyncio.sleep(min(wait, LONGEST_WAIT_S))
        async with self._replacing:
            while not self._stopping and len(self.workers) < self.hands:
                self.workers.append(await self._started())
                self._assign()
            if not self._stopping and self.spare is None:
                self.spare = await self._started()
        if self._stopping:
            for late in self._everyone:
                late.kill("stopped")

    @property
    def _everyone(self) -> list[Worker]:
        return [*self.workers, *([self.spare] if self.spare else [])]
