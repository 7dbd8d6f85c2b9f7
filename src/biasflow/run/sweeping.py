"""One function at every point of a grid, anywhere, resumably."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import InputError
from ..records import Grid
from .combining import check_axes, combine
from .encoding import canonical_json
from .store import Store
from .versions import environment

if TYPE_CHECKING:
    import xarray

    Point = Callable[..., xarray.Dataset]

MOST_TASKS = 1000  # a task costs an engine milliseconds; beyond this many, points travel together


class Progress(Protocol):
    """Told after every point: how many of how many are done, and of what."""

    def __call__(self, done: int, total: int, label: str) -> None: ...


def sweep(
    function: Point, grid: Grid, executor: Executor | None = None, store: Store | None = None, progress: Progress | None = None
) -> xarray.Dataset:
    """`function(**setting)` at every point of the grid, as one dataset with the grid's axes in front.

    function: pure, importable, returns an xarray.Dataset with the same variables, dimensions and shapes everywhere.
    executor: any `concurrent.futures.Executor`; None computes here, in order. The result does not depend on it.
    store: points found there are not computed again; each new one is there as soon as it is finished.
    Attributes of the result say which code, libraries and settings made it. A grid without axes gives the point's own dataset.
    Raises InputError where the points do not fit together, StoreError where the store cannot be used.
    """
    check_axes(grid)
    settings = grid.points()
    keys = [store.key(function, setting) for setting in settings] if store else []
    found = {index: point for index, key in enumerate(keys) if store and (point := store.read(key)) is not None}
    tell = progress or _silent
    label = getattr(function, "__name__", "sweep")
    tell(len(found), len(settings), label)
    with closing(_computed(function, settings, found, executor)) as computed:
        for index, point in computed:
            if store:
                store.write(keys[index], point)
            found[index] = point
            tell(len(found), len(settings), label)
    result = combine(grid, [found[index] for index in range(len(settings))])
    return result.assign_attrs(_provenance(result, grid))


def _computed(
    function: Point, settings: Sequence[dict[str, Any]], known: dict[int, Any], executor: Executor | None
) -> Generator[tuple[int, xarray.Dataset], None, None]:
    """The points not known yet, as they finish."""
    known = dict(known)
    if executor is None:
        for index, setting in enumerate(settings):
            if index not in known:
                yield index, _at(function, setting)
        return
    size = math.ceil(len(settings) / MOST_TASKS)
    chunks = [range(start, min(start + size, len(settings))) for start in range(0, len(settings), size)]
    missing = [[index for index in chunk if index not in known] for chunk in chunks]
    futures = {executor.submit(_chunk, function, [settings[i] for i in indices]): indices for indices in missing if indices}
    try:
        for future in as_completed(futures):
            yield from zip(futures.pop(future), future.result(), strict=True)
    finally:
        for future in futures:
            future.cancel()


def _chunk(function: Point, settings: Sequence[dict[str, Any]]) -> list[xarray.Dataset]:
    return [_at(function, setting) for setting in settings]


def _at(function: Point, setting: dict[str, Any]) -> xarray.Dataset:
    import xarray

    try:
        point = function(**setting)
    except Exception as error:
        error.add_note(f"at the point {setting}")
        raise
    if not isinstance(point, xarray.Dataset):
        raise InputError(f"function: expected an xarray.Dataset at {setting}, found {type(point).__name__}")
    return point


def _provenance(result: xarray.Dataset, grid: Grid) -> dict[str, str]:
    versions = {f"{name}_version": value for name, value in environment().items() if name != "platform"}
    floats = sorted({variable.dtype.name for variable in result.data_vars.values() if variable.dtype.kind == "f"})
    return {**versions, "settings": canonical_json("settings", dict(grid.settings)), "dtype": " ".join(floats) or "float64"}


def _silent(done: int, total: int, label: str) -> None:
    """Progress that nobody watches."""
