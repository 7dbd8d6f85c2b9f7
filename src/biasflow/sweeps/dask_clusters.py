"""Dask: a cluster on this machine, one that is already up, or jobs on Slurm."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, final

from .._core.arguments import positive_float, positive_int
from .._numerics.cores import available_cores
from ..errors import InputError
from .engines import Engine, EngineError, Finished, FuturePool, Pool
from .worker import THREAD_SETTINGS, Task

DASK_LOG_LEVEL = "ERROR"


@final
@dataclass(frozen=True)
class Dask(Engine):
    """Dask distributed.

    address: of a scheduler that is up, such as 'tcp://host:8786'; otherwise a cluster is started
    and stopped with the sweep.
    workers: of the cluster started: processes here, jobs on Slurm.
    slurm: keyword arguments of `dask_jobqueue.SLURMCluster`, such as queue, cores, memory,
    walltime; they may come from
        Dask's own configuration instead, so that an empty mapping is enough.
    patience: seconds to wait for a scheduler that does not answer, and for the first worker; a
    Slurm job may be queued for longer
        and is waited for without limit.
    """

    address: str | None = None
    workers: int | None = None
    slurm: Mapping[str, Any] | None = None
    patience: float = 60.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.address is not None and self.slurm is not None:
            raise InputError("dask: give an address or slurm, not both")
        if self.workers is not None:
            positive_int("workers", self.workers)
        positive_float("patience", self.patience)

    @contextmanager
    def open(self) -> Iterator[Pool]:
        pool = _DaskPool(self)
        try:
            yield pool
        finally:
            pool.close()


@final
class _DaskPool(Pool):
    """Futures of a client; client and cluster are made again when they are lost."""

    def __init__(self, engine: Dask) -> None:
        self._engine = engine
        self._out: dict[tuple[int, ...], Task] = {}
        self._known_threads = 1
        self._connect()

    def _connect(self) -> None:
        self._resources = ExitStack()
        try:
            self._client = _client(self._engine, self._resources)
            self._futures = FuturePool(self._submit, self._threads, _lost)
            self._wait_for_workers()
        except BaseException:
            self._resources.close()
            raise

    @property
    def width(self) -> int:
        return max(1, self._threads())

    def submit(self, task: Task) -> None:
        self._out[task.indices] = task
        self._futures.submit(task)

    def wait(self, seconds: float) -> list[Finished]:
        if self._client.status not in ("running", "connecting"):
            return self._reconnected()
        try:
            finished = self._futures.wait(seconds)
        except ConnectionError:
            return self._reconnected()
        for result in finished:
            del self._out[result.task.indices]
        return finished

    def close(self) -> None:
        self._futures.cancel()
        self._resources.close()

    def _submit(self, *call: Any) -> Any:
        return self._client.submit(*call, pure=False)

    def _threads(self) -> int:
        """Of all workers; as many as there were, while the scheduler does not answer."""
        try:
            if self._client.status == "running":
                self._known_threads = sum(self._client.nthreads().values())
        except (OSError, TimeoutError):  # `wait` finds out what that means
            pass
        return self._known_threads

    def _reconnected(self) -> list[Finished]:
        """With a new client, hand out again everything that was out: nothing that is shelved is in
        there."""
        self._resources.close()
        self._connect()
        for task in self._out.values():
            self._futures.submit(task)
        return []

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + self._engine.patience
        while not self._client.nthreads():
            if self._engine.slurm is None and time.monotonic() > deadline:
                raise EngineError(f"dask: no worker came up within {self._engine.patience:g} s")
            time.sleep(0.05)


def _client(engine: Dask, resources: ExitStack) -> Any:
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError:
        raise EngineError("dask: not installed; pip install 'biasflow[dask]'") from None
    environment = dict.fromkeys(THREAD_SETTINGS, "1")
    resources.enter_context(
        dask.config.set(
            {"distributed.scheduler.allowed-failures": 0, "distributed.admin.tick.limit": "1h"}
        )
    )
    try:
        if engine.address is not None:
            target: Any = engine.address
        elif engine.slurm is not None:
            target = resources.enter_context(_slurm(engine))
        else:
            workers = engine.workers or available_cores()
            settings = {
                "threads_per_worker": 1,
                "dashboard_address": "127.0.0.1:0",
                "silence_logs": DASK_LOG_LEVEL,
                "env": environment,
                **engine.options,
            }
            target = resources.enter_context(
                LocalCluster(n_workers=workers, processes=True, **settings)
            )
        return resources.enter_context(
            Client(target, timeout=engine.patience, set_as_default=False)
        )
    except (OSError, TimeoutError) as reason:
        where = engine.address or "the cluster"
        raise EngineError(
            f"dask: no answer from {where} within {engine.patience:g} s ({reason}); finished "
            "chunks are kept"
        ) from None


def _slurm(engine: Dask) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise EngineError("dask: Slurm needs dask-jobqueue; pip install 'biasflow[dask]'") from None
    cluster = SLURMCluster(**dict(engine.slurm or {}))
    jobs = engine.workers or 1
    # replaces jobs that die or reach their wall time
    cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    return cluster


def _lost(error: BaseException) -> str | None:
    """KilledWorker: the task's worker died. A cancelled future: the scheduler is gone, and with it
    the task."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return "the worker died"
    if type(error).__name__ in ("CancelledError", "FutureCancelledError", "CommClosedError"):
        raise ConnectionError("the scheduler is gone")
    return None
