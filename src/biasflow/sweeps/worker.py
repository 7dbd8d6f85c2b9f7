"""What a worker does: the points of one chunk, in float64 and on one thread, onto the shelf."""

from __future__ import annotations

import functools
import os
import pickle
import platform
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .blocks import Stack, stacked
from .checkpoints import checkpointing
from .files import StoreError
from .grids import Batched
from .shards import Failure, Shelf, shard_bytes
from .versions import code_version, function_version

if TYPE_CHECKING:
    import xarray

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
DOUBLE_PRECISION = "JAX_ENABLE_X64"
BEGUN, OVER = "begun", "over"
"""What is told of a point with a time limit."""


@dataclass(frozen=True)
class Task:
    """Some points of a chunk. keys: empty without a shelf; indices: places in the grid; driver: the
    process that asks;
    version: of its code, where results are stored; time_s: after which the engine stops it;
    by_value: the function itself travels, for want of a file to import it from."""

    function: Callable[..., Any]
    chunk: str
    indices: tuple[int, ...]
    settings: tuple[dict[str, Any], ...]
    keys: tuple[str, ...] = ()
    shelf: Shelf | None = None
    driver: tuple[str, int] = ("", 0)
    version: str = ""
    time_s: float | None = None
    by_value: bool = False

    def halves(self) -> tuple[Task, Task]:
        middle = len(self.indices) // 2
        return self._part(slice(None, middle)), self._part(slice(middle, None))

    def _part(self, some: slice) -> Task:
        return replace(
            self, indices=self.indices[some], settings=self.settings[some], keys=self.keys[some]
        )


@dataclass(frozen=True)
class Block:
    """A stack that is not on a shelf yet; data: its bytes as a shard, where there is to be one."""

    rows: tuple[int, ...]
    stack: Stack | None
    data: bytes = b""


@dataclass(frozen=True)
class Outcome:
    """What became of a task. failures: by row; blocks: what the worker did not shelve itself;
    fatal: stops the sweep; seconds: of the processor."""

    failures: dict[int, Failure] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    device: str = "cpu"
    shelved: bool = False
    fatal: Exception | None = None
    seconds: float = 0.0


def here() -> tuple[str, int]:
    return platform.node(), os.getpid()


def perform(task: Task, tell: Callable[[str], None] = lambda news: None) -> Outcome:
    """Compute every point of the task, and shelve what was computed where the shelf is in sight.

    tell: told when a point begins and when it is over; what comes before and after is not the
    point's own time.
    """
    if task.driver != here():
        settle_worker()
    if task.version and task.driver != here() and (problem := _other_code(task)) is not None:
        return Outcome(fatal=problem)
    begun = time.process_time()
    points, failures = _computed(task, tell)
    device = _device()
    try:
        blocks = _blocks(task, points, failures, device)
        shelved = task.shelf is not None and task.shelf.reachable()
        if shelved:
            shelve(task, blocks, failures)
            blocks = []
    except StoreError as reason:
        return Outcome(fatal=reason)
    return Outcome(
        {row: _portable(failure) for row, failure in failures.items()},
        tuple(blocks),
        device,
        shelved,
        seconds=time.process_time() - begun,
    )


def _other_code(task: Task) -> StoreError | None:
    """A worker that runs other code than its driver must not shelve anything under the driver's
    version."""
    try:
        mine = code_version() if task.by_value else function_version(task.function)
    except InputError as reason:
        return StoreError(f"worker: {reason}")
    if mine == (task.version.partition("+")[0] if task.by_value else task.version):
        return None
    return StoreError(
        f"worker: runs version {mine} of the code, the driver {task.version}; restart the workers "
        "with the same code"
    )


def shelve(task: Task, blocks: Sequence[Block], failures: dict[int, Failure]) -> None:
    """Each block as a shard, and the failures beside them."""
    if task.shelf is None:
        return
    for block in blocks:
        keys, settings = (
            [task.keys[row] for row in block.rows],
            [task.settings[row] for row in block.rows],
        )
        task.shelf.put(task.chunk, keys, settings, block.data)
        for key in keys:
            task.shelf.checkpoint(key).forget()
    if failures:
        task.shelf.put_failures(
            task.chunk, {task.keys[row]: failure for row, failure in failures.items()}
        )


def _computed(
    task: Task, tell: Callable[[str], None]
) -> tuple[list[tuple[int, xarray.Dataset]], dict[int, Failure]]:
    """The points that came out, and the failures of the others, by row."""
    import xarray  # noqa: F401  # not on the first point's time

    if isinstance(task.function, Batched) and len(task.settings) > 1:
        try:
            batch = functools.partial(
                task.function.batch, [dict(setting) for setting in task.settings]
            )
            points = list(_called(batch))
            if len(points) == len(task.settings):
                return [
                    (row, _checked(point, task.settings[row])) for row, point in enumerate(points)
                ], {}
        except Exception:  # point by point says which one is to blame
            pass
    results, failures = [], {}
    shelf = task.shelf if task.shelf is not None and task.shelf.reachable() else None
    for row, setting in enumerate(task.settings):
        tell(BEGUN)
        try:
            with checkpointing(shelf.checkpoint(task.keys[row]) if shelf else None):
                point = _called(functools.partial(task.function, **setting))
            results.append((row, _checked(point, setting)))
        except (Exception, SystemExit) as error:
            error.add_note(f"at the point {setting}")
            failures[row] = failure_of(setting, error)
        tell(OVER)
    return results, failures


def _called(compute: Callable[[], Any]) -> Any:
    """The result in double precision. A process that was forked inside and comes back ends here:
    its parent gives the answer.

    JAX is put in double precision for this thread alone. Where the function is what brought JAX in,
    it began without: once more.
    """
    mine, bare = os.getpid(), "jax" not in sys.modules
    try:
        with nullcontext() if bare else _in_double():
            result = compute()
        if bare and "jax" in sys.modules and not sys.modules["jax"].config.jax_enable_x64:
            with _in_double():
                result = compute()
        return result
    finally:
        if os.getpid() != mine:
            with suppress(OSError):
                os.write(STDERR, FORKED_MESSAGE)
            os._exit(0)


STDERR = 2
FORKED_MESSAGE = (
    b"biasflow: a process forked by the point function came back with it and was ended; the "
    b"point is its parent's\n"
)


@contextmanager
def _in_double() -> Iterator[None]:
    from .._numerics.double_precision import jax_in_double

    with jax_in_double():
        assert_double_precision()
        yield


def _checked(point: Any, setting: dict[str, Any]) -> xarray.Dataset:
    """What a point function returned, as a dataset: itself, numbers by name, or one number."""
    import xarray

    if isinstance(point, xarray.Dataset):
        return point.load()
    if _is_number(point):
        return xarray.Dataset({"value": point})
    if isinstance(point, Mapping) and point and all(isinstance(name, str) for name in point):
        return xarray.Dataset({name: _variable(name, value) for name, value in point.items()})
    raise InputError(
        f"function: expected a number, a dictionary of numbers and arrays by name, or an "
        f"xarray.Dataset at {setting}, found {type(point).__name__}"
    )


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "bifc"


def _variable(name: str, value: Any) -> Any:
    """A number as it is; an array with its dimensions named after it, NAME_0 and so on."""
    if isinstance(value, str) or hasattr(value, "dims"):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "bifc":
        raise InputError(
            f"function: expected numbers in {name!r}, found {type(value).__name__} "
            f"(dtype {array.dtype})"
        )
    return ([f"{name}_{axis}" for axis in range(array.ndim)], array)


def failure_of(setting: dict[str, Any], error: BaseException) -> Failure:
    text = "".join(traceback.format_exception(error))
    return Failure(setting, type(error).__name__, _message(error), text, error)


def _message(error: BaseException) -> str:
    """What the error says; its class is the user's, and may fail to say anything."""
    try:
        return str(error)
    except Exception as reason:
        return f"(no message: its __str__ raises {type(reason).__name__})"


def _blocks(
    task: Task,
    points: Sequence[tuple[int, xarray.Dataset]],
    failures: dict[int, Failure],
    device: str,
) -> list[Block]:
    """The points as stacks, as bytes where they go to a shelf. One that cannot be stored is a
    failure, its neighbours are not."""
    blocks = []
    for stack in stacked(points):
        if task.shelf is None:
            blocks.append(Block(stack.rows, stack))
            continue
        kept = stack
        try:
            data = _shard(task, stack, device)
        except InputError:
            alone = [_why_unstorable(task, stack.only([k]), device) for k in range(len(stack.rows))]
            found = zip(stack.rows, alone, strict=True)
            failures.update(
                {row: failure_of(task.settings[row], why) for row, why in found if why is not None}
            )
            kept = stack.only([k for k, why in enumerate(alone) if why is None])
            if not kept.rows:
                continue
            data = _shard(task, kept, device)
        blocks.append(Block(kept.rows, None, data))
    return blocks


def _shard(task: Task, stack: Stack, device: str) -> bytes:
    return shard_bytes(
        [task.keys[row] for row in stack.rows],
        [task.settings[row] for row in stack.rows],
        device,
        stack,
    )


def _why_unstorable(task: Task, stack: Stack, device: str) -> InputError | None:
    try:
        _shard(task, stack, device)
    except InputError as reason:
        return reason
    return None


def _portable(failure: Failure) -> Failure:
    """Without the exception, where it does not survive the journey to the driver."""
    try:
        pickle.loads(pickle.dumps(failure.error))
    except Exception:
        return replace(failure, error=None)
    return failure


def settle_worker() -> None:
    """One thread for a process that is not the driver; cheap when it is so already."""
    if os.environ.get(_SETTLED) == str(os.getpid()):
        return
    os.environ.update({**dict.fromkeys(THREAD_SETTINGS, "1"), _SETTLED: str(os.getpid())})
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


_SETTLED = "BIASFLOW_WORKER"


def assert_double_precision() -> None:
    """A worker that computes in single precision must not answer."""
    if np.asarray(0.5).dtype != np.float64:
        raise RuntimeError(f"NumPy makes {np.asarray(0.5).dtype} by default here, not float64")
    jax = sys.modules.get("jax")
    if jax is not None and not jax.config.jax_enable_x64:
        raise RuntimeError(
            "JAX is in single precision here, though it was told to compute in double"
        )


class _OneThread:
    """BLAS on one thread while any sweep of this process computes points here; the last to leave
    undoes it."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._inside:
                self._limits = threadpool_limits(1)
            self._inside += 1

    def __exit__(self, *reason: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limits.restore_original_limits()


settled_driver = _OneThread()
"""Around what the driver computes in its own process."""


def _device() -> str:
    """Where JAX computes, if it was used."""
    jax = sys.modules.get("jax")
    if jax is None:
        return "cpu"
    platforms = {
        f"{device.platform}"
        if device.platform == "cpu"
        else f"{device.platform} {device.device_kind}"
        for device in jax.devices()
    }
    return ", ".join(sorted(platforms))
