"""What a worker does: the points of one chunk, in float64 and on one thread, onto the shelf."""

from __future__ import annotations

import os
import pickle
import platform
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..records import Batched
from .files import StoreError
from .shards import Failure, Shelf, shard_bytes
from .stacking import Stack, stacked
from .versions import function_version

if TYPE_CHECKING:
    import xarray

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
DOUBLE_PRECISION = "JAX_ENABLE_X64"


@dataclass(frozen=True)
class Task:
    """Some points of a chunk. keys: empty without a shelf; indices: places in the grid; driver: the process that asks;
    version: of its code, where results are stored."""

    function: Callable[..., Any]
    chunk: str
    indices: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]
    keys: tuple[str, ...] = ()
    shelf: Shelf | None = None
    driver: tuple[str, int] = ("", 0)
    version: str = ""

    def halves(self) -> tuple[Task, Task]:
        middle = len(self.indices) // 2
        return self._part(slice(None, middle)), self._part(slice(middle, None))

    def _part(self, some: slice) -> Task:
        return replace(self, indices=self.indices[some], settings=self.settings[some], keys=self.keys[some])


@dataclass(frozen=True)
class Block:
    """A stack that is not on a shelf yet; data: its bytes as a shard, where there is to be one."""

    rows: tuple[int, ...]
    stack: Stack | None
    data: bytes = b""


@dataclass(frozen=True)
class Outcome:
    """What became of a task. failures: by row; blocks: what the worker did not shelve itself; fatal: stops the sweep."""

    failures: dict[int, Failure] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    device: str = "cpu"
    shelved: bool = False
    fatal: Exception | None = None


def here() -> tuple[str, int]:
    return platform.node(), os.getpid()


def perform(task: Task) -> Outcome:
    """Compute every point of the task, and shelve what was computed where the shelf is in sight."""
    if task.driver != here():
        settle_worker()
    assert_double_precision()
    if task.version and task.driver != here() and (problem := _other_code(task)) is not None:
        return Outcome(fatal=problem)
    points, failures = _computed(task)
    assert_double_precision()
    device = _device()
    try:
        blocks = _blocks(task, points, failures, device)
        shelved = task.shelf is not None and task.shelf.reachable()
        if shelved:
            shelve(task, blocks, failures)
            blocks = []
    except StoreError as reason:
        return Outcome(fatal=reason)
    return Outcome({row: _portable(failure) for row, failure in failures.items()}, tuple(blocks), device, shelved)


def _other_code(task: Task) -> StoreError | None:
    """A worker that runs other code than its driver must not shelve anything under the driver's version."""
    try:
        mine = function_version(task.function)
    except InputError as reason:
        return StoreError(f"worker: {reason}")
    if mine == task.version:
        return None
    return StoreError(
        f"worker: runs version {mine} of the code, the driver {task.version}; restart the workers with the same code"
    )


def shelve(task: Task, blocks: Sequence[Block], failures: dict[int, Failure]) -> None:
    """Each block as a shard, and the failures beside them."""
    if task.shelf is None:
        return
    for block in blocks:
        keys, settings = [task.keys[row] for row in block.rows], [task.settings[row] for row in block.rows]
        task.shelf.put(task.chunk, keys, settings, block.data)
    if failures:
        task.shelf.put_failures(task.chunk, {task.keys[row]: failure for row, failure in failures.items()})


def _computed(task: Task) -> tuple[list[tuple[int, xarray.Dataset]], dict[int, Failure]]:
    """The points that came out, and the failures of the others, by row."""
    if isinstance(task.function, Batched) and len(task.settings) > 1:
        try:
            points = list(task.function.batch([dict(setting) for setting in task.settings]))
            if len(points) == len(task.settings):
                return [(row, _checked(point, task.settings[row])) for row, point in enumerate(points)], {}
        except Exception:  # point by point says which one is to blame
            pass
    results, failures = [], {}
    for row, setting in enumerate(task.settings):
        try:
            results.append((row, _checked(task.function(**setting), setting)))
        except (Exception, SystemExit) as error:
            error.add_note(f"at the point {setting}")
            failures[row] = failure_of(setting, error)
    return results, failures


def _checked(point: Any, setting: dict[str, Any]) -> xarray.Dataset:
    import xarray

    if not isinstance(point, xarray.Dataset):
        raise InputError(f"function: expected an xarray.Dataset at {setting}, found {type(point).__name__}")
    return point


def failure_of(setting: dict[str, Any], error: BaseException) -> Failure:
    text = "".join(traceback.format_exception(error))
    return Failure(setting, type(error).__name__, str(error), text, error)


def _blocks(task: Task, points: Sequence[tuple[int, xarray.Dataset]], failures: dict[int, Failure], device: str) -> list[Block]:
    """The points as stacks, as bytes where they go to a shelf; a stack that cannot be stored turns into failures."""
    blocks = []
    for stack in stacked(points):
        if task.shelf is None:
            blocks.append(Block(stack.rows, stack))
            continue
        keys, settings = [task.keys[row] for row in stack.rows], [task.settings[row] for row in stack.rows]
        try:
            blocks.append(Block(stack.rows, None, shard_bytes(keys, settings, device, stack)))
        except InputError as error:
            failures.update({row: failure_of(task.settings[row], error) for row in stack.rows})
    return blocks


def _portable(failure: Failure) -> Failure:
    """Without the exception, where it does not survive the journey to the driver."""
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        return replace(failure, error=None)
    return failure


def settle_worker() -> None:
    """One thread and double precision for a process that is not the driver; cheap when it is so already."""
    if os.environ.get(_SETTLED) == str(os.getpid()):
        return
    os.environ.update({**dict.fromkeys(THREAD_SETTINGS, "1"), DOUBLE_PRECISION: "1", _SETTLED: str(os.getpid())})
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", True)


_SETTLED = "BIASFLOW_WORKER"


def assert_double_precision() -> None:
    """A worker that computes in single precision must not answer."""
    if np.asarray(0.5).dtype != np.float64:
        raise RuntimeError(f"NumPy makes {np.asarray(0.5).dtype} by default here, not float64")
    jax = sys.modules.get("jax")
    if jax is not None and not jax.config.jax_enable_x64:
        raise RuntimeError("JAX is in single precision here; set JAX_ENABLE_X64=1, or jax.config.update('jax_enable_x64', True)")


@contextmanager
def settled_driver() -> Iterator[None]:
    """The same for the driver's own process, while it computes points itself, and undone afterwards."""
    from threadpoolctl import threadpool_limits

    jax, before = sys.modules.get("jax"), os.environ.get(DOUBLE_PRECISION)
    double = jax is None or bool(jax.config.jax_enable_x64)
    os.environ[DOUBLE_PRECISION] = "1"
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if before is None:
            os.environ.pop(DOUBLE_PRECISION, None)
        else:
            os.environ[DOUBLE_PRECISION] = before
        if jax is not None:
            jax.config.update("jax_enable_x64", double)


def _device() -> str:
    """Where JAX computes, if it was used."""
    jax = sys.modules.get("jax")
    if jax is None:
        return "cpu"
    platforms = {
        f"{device.platform}" if device.platform == "cpu" else f"{device.platform} {device.device_kind}"
        for device in jax.devices()
    }
    return ", ".join(sorted(platforms))
