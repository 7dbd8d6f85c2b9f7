"""One function at every point of a grid, anywhere, resumably."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._core.arguments import instance, one_of, positive_float, positive_int
from .._core.progress import hidden, is_seen
from ..errors import BiasflowError, InputError
from .assembly import DTYPE, FAILED, MISSING, Assembly, check_axes
from .driver import Driver, Ledger, Tally, Watch
from .encoding import canonical_json
from .engines import Engine, Executing, Serial
from .grids import Grid
from .processes import Processes
from .progress_bars import PATIENCE_S, sweep_bar
from .shards import Failure, Index
from .store import Store
from .versions import environment, short_name

if TYPE_CHECKING:
    import xarray

    Point = Callable[..., xarray.Dataset | Mapping[str, object] | float]

MOST_CHUNKS = 1000
"""A chunk costs an engine milliseconds and the store a file; in grids larger than this, points
travel together."""
MOST_POINTS = 1_000_000
RANDOM_AXES = ("seed", "key")
"""What axes and settings are called that choose random numbers."""
MOST_REREADS = 3
"""A shard that turns out damaged when it is read is computed again, at most so often."""


class Progress(Protocol):
    """Told whenever points finish: how many of how many are done, and of what."""

    def __call__(self, done: int, total: int, label: str) -> None: ...


class SweepError(BiasflowError, RuntimeError):
    """Points of a sweep failed; the others are in the store, if there is one. failures: by setting,
    in order."""

    def __init__(self, message: str, failures: Sequence[Failure] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)


def sweep(
    function: Point,
    grid: Grid | Mapping[str, Sequence[object]],
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress | bool | None = None,
    *,
    engine: Engine | None = None,
    workers: int | None = None,
    chunk: int | None = None,
    retry_failed: bool = False,
    failures: str = "mask",
    max_points: int = MOST_POINTS,
    point_time_s: float | None = None,
    watch: Watch | None = None,
) -> xarray.Dataset:
    """`function(**setting)` at every point of the grid, as one dataset with the grid's axes in
    front.

    Parameters
    ----------
    function : callable
        Pure, importable, returns a number (the result's variable `value`), a dictionary of numbers
        and arrays, or an xarray.Dataset, with the same variables, dimensions and shapes everywhere;
        `sweeps.Batched(point, batch)` computes a chunk in one call.
    grid : sweeps.Grid or dict
        Axes by name.
    executor : concurrent.futures.Executor, optional
        Instead of an engine. The result does not depend on it, bit for bit.
    store : sweeps.Store, optional
        Points found there are not computed again; each chunk of new ones is there as soon as it is
        finished. Several drivers may share one: none computes what another is computing or has
        computed.
    progress : bool or callable, optional
        True for a bar, False for none, or whom to tell. By default a bar on a terminal and in
        notebooks, after a second, and none in scripts whose stderr is no terminal.
    engine : sweeps.Engine, optional
        `sweeps.Serial()` (the default), `sweeps.Processes(workers)` or `sweeps.Dask(...)`.
    workers : int, optional
        N means Processes(N).
    chunk : int, optional
        Points that travel, and are stored, together; by default the grid's own, else 1, or N/1000
        beyond 1000 points.
    retry_failed : bool
        Whether points that are recorded as failed are computed again.
    failures : {'mask', 'raise'}
        'mask' fills points that raise with NaN, marks them in a variable `failed` and warns;
        'raise' raises SweepError at the end. Where every point fails, the first error is raised.
    max_points : int
        A larger grid is refused.
    point_time_s : float, optional
        A point that takes longer is stopped and recorded as failed, and its worker replaced. For
        `Processes`: no other engine can stop a point, and they refuse a limit. Points are then
        computed and stored one by one, a `Batched` too.
    watch : callable, optional
        Told how the sweep stands, a `sweeps.Tally`.

    Returns
    -------
    xarray.Dataset
        Its attributes say which code, libraries, device and settings made it. A grid without axes
        gives the point's own dataset.

    Raises
    ------
    InputError
        Where the points do not fit together.
    StoreError
        Where the store cannot be used.
    SweepError
        Of points that failed, where failures is 'raise'.

    Examples
    --------
    >>> found = bf.sweep(pow, {"base": [2.0, 3.0], "exp": [1, 2, 3]})
    >>> found.value.values
    array([[ 2.,  4.,  8.],
           [ 3.,  9., 27.]])
    """
    one_of("failures", failures, ("mask", "raise"))
    grid = Grid(grid) if isinstance(grid, Mapping) else instance("grid", grid, Grid)
    engine = _chosen(engine, executor, workers)
    _check_time_limit(point_time_s, engine)
    ledger = make_ledger(function, grid, store, chunk, max_points)
    if not retry_failed:
        ledger.look_for_failures(range(grid.size))
    label = short_name(function)
    with _watching(progress, watch, label) as watcher:
        for _ in range(MOST_REREADS):
            Driver(function, ledger, engine, label, watcher, retry_failed, point_time_s).run()
            assembly = assembled(ledger)
            if not ledger.open(range(grid.size)):
                break
    if ledger.failed:
        _report(ledger, failures)
    if ledger.index is not None:
        ledger.index.shelf.forget_failures(ledger.index.where)
    return finished_dataset(ledger, assembly)


def make_ledger(
    function: Point,
    grid: Grid,
    store: Store | None,
    chunk: int | None = None,
    max_points: int = MOST_POINTS,
    make_shelf: bool = True,
) -> Ledger:
    """What the store knows of a grid that makes sense; without `make_shelf` nothing is written."""
    if grid.size > positive_int("max_points", max_points):
        raise InputError(
            f"grid: {grid.size:,} points are more than the limit of {max_points:,}; raise "
            "max_points (--force) if you mean it"
        )
    check_axes(grid)
    chunk = grid.chunk if chunk is None else chunk
    size = math.ceil(grid.size / MOST_CHUNKS) if chunk is None else positive_int("chunk", chunk)
    canonical_json("settings", dict(grid.settings))
    keys: list[str] = []
    index = None
    if store is not None:
        index, address = Index(store.shelf(function, make_shelf)), store.addresses(function)
        keys = [address(grid.point(i)) for i in range(grid.size)]
    ledger = Ledger(grid, size, keys, index)
    ledger.look(range(grid.size))
    return ledger


def assembled(ledger: Ledger) -> Assembly:
    """Everything that is done, shard by shard; a shard that turns out damaged makes its points open
    again."""
    assembly = Assembly(ledger.grid)
    for indices, stack in sorted(ledger.blocks, key=lambda block: min(block[0])):
        assembly.place(indices, stack)
    if ledger.index is None:
        return assembly
    ledger.look(range(ledger.grid.size))
    by_shard: dict[str, dict[str, int]] = {}
    for i, key in enumerate(ledger.keys):
        if ledger.done[i]:
            by_shard.setdefault(ledger.index.where[key], {})[key] = i
    for name, wanted in by_shard.items():
        trailer = ledger.index.shelf.trailer(name)
        held = ledger.index.shelf.read(name) if trailer else None
        if trailer is None or held is None:
            ledger.done[list(wanted.values())] = False
            continue
        rows = [row for row, key in enumerate(trailer["keys"]) if key in wanted]
        assembly.place([wanted[trailer["keys"][row]] for row in rows], held.only(rows))
    return assembly


def finished_dataset(ledger: Ledger, assembly: Assembly) -> xarray.Dataset:
    """With masks where points failed or are missing, and provenance."""
    masks = {}
    if ledger.failed:
        masks[FAILED] = np.isin(np.arange(ledger.grid.size), list(ledger.failed))
    if missing := ledger.open(range(ledger.grid.size)):
        masks[MISSING] = np.isin(np.arange(ledger.grid.size), missing)
    result = assembly.dataset(masks)
    return result.assign_attrs(_provenance(result, ledger))


def _chosen(engine: Engine | None, executor: Executor | None, workers: int | None) -> Engine:
    if sum(choice is not None for choice in (engine, executor, workers)) > 1:
        raise InputError("engine: give one of engine, executor and workers")
    if executor is not None:
        return Executing(instance("executor", executor, Executor))
    if workers is not None:
        return Processes(workers)
    return Serial() if engine is None else instance("engine", engine, Engine)


def _check_time_limit(point_time_s: float | None, engine: Engine) -> None:
    if point_time_s is not None:
        positive_float("point_time_s", point_time_s)
        if not engine.stops_points:
            raise InputError(
                f"point_time_s: {type(engine).__name__} cannot stop a point that does not end by "
                "itself; engine=Processes() can"
            )


@contextmanager
def _watching(progress: Progress | bool | None, watch: Watch | None, label: str) -> Iterator[Watch]:
    """The functions to call with each tally, and a bar if one is wanted or somebody looks."""
    listener = progress if callable(progress) else None
    wanted = progress is True or (progress is None and watch is None and is_seen())
    if not wanted:
        with hidden() if progress is False else nullcontext():
            yield _watcher(listener, watch)
        return
    with sweep_bar(label, 0.0 if progress is True else PATIENCE_S) as bar:

        def both(tally: Tally) -> None:
            bar(tally)
            if watch is not None:
                watch(tally)

        yield both


def _watcher(progress: Progress | None, watch: Watch | None) -> Watch:
    last = -1

    def tell(tally: Tally) -> None:
        nonlocal last
        if watch is not None:
            watch(tally)
        if progress is not None and tally.done + tally.failed != last:
            last = tally.done + tally.failed
            progress(last, tally.total, tally.label)

    return tell


def _report(ledger: Ledger, policy: str) -> None:
    """Say what failed, or raise it."""
    failed = [ledger.failed[i] for i in sorted(ledger.failed)]
    first, count = failed[0], f"{len(failed)} of {ledger.grid.size} points failed"
    message = f"{count}; the first at {dict(first.setting)}: {first}"
    if ledger.done.any() and policy == "mask":
        warnings.warn(
            f"sweep: {message}; they are NaN in the result, marked in `{FAILED}`",
            RuntimeWarning,
            stacklevel=3,
        )
    elif not ledger.done.any() and first.error is not None:
        raise first.error
    else:
        detail = "".join(f"\n{line}" for line in first.traceback.splitlines())
        raise SweepError(
            f"sweep: {message}; retry_failed (--retry-failed) computes them again{detail}", failed
        )


def _provenance(result: xarray.Dataset, ledger: Ledger) -> dict[str, str]:
    grid = ledger.grid
    versions = {
        f"{name}_version": value for name, value in environment().items() if name != "platform"
    }
    floats = sorted(
        {
            variable.dtype.name
            for variable in result.data_vars.values()
            if variable.dtype.kind == "f"
        }
    )
    seeds = {
        name: list(grid.axes[name]) if name in grid.axes else grid.settings[name]
        for name in RANDOM_AXES
        if name in {**grid.axes, **grid.settings}
    }
    devices = ledger.index.devices if ledger.index is not None else ledger.devices
    return {
        **versions,
        "settings": canonical_json("settings", dict(grid.settings)),
        "seeds": canonical_json("seeds", seeds),
        "device": ", ".join(sorted(devices)) or "cpu",
        DTYPE: result.attrs.get(DTYPE) or " ".join(floats) or "float64",
    }
