"""W/fig4e at the size of the paper, from the points up into the file that is shipped: what matters
most first, for as many seconds as there are.

Points that are whole are in the store, and in the file, which is written anew as they come; runs
that were cut off have checkpoints, and the next call goes on from them.
"""

from __future__ import annotations

import datetime
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...images.classifier_training import Clock
from ...images.wide_trainings import (
    KERNEL_SCALE,
    KERNELS,
    OUTPUT_LAYER,
    TRAINED,
    steps_tried,
    wide_points,
)
from ...sweeps.assembly import MISSING
from ...sweeps.blocks import stacked
from ...sweeps.checkpoints import Checkpoint
from ...sweeps.encoding import write_netcdf
from ...sweeps.grids import Grid
from ...sweeps.resumable import assembled, finished_dataset, make_ledger
from ...sweeps.shards import Shelf, shard_bytes
from ...sweeps.store import Store
from ...sweeps.versions import environment
from .image_results import WIDE_RESULTS as FILE, wide

if TYPE_CHECKING:
    import xarray

READINGS_FIRST = (*TRAINED, OUTPUT_LAYER, *KERNELS)
SCALES_FIRST = (1.0, 50.0, 100.0, 10.0, 2.0, 5.0, 20.0, 0.5)
"""What is trained first; other scales come last."""
SECONDS_A_RUN_EPOCH = 0.0096
"""On an H200 with 5000 units, in tensorfloat32 with sixteen runs, measured every ten epochs; only
the plan rests on it."""
PAPER_WIDTH = 5000
SAVE_EVERY_S = 120.0
WRITE_EVERY_S = 20.0
TELL_EVERY_S = 10.0
LEFT_FOR_SAVING = 0.05, 12.0
"""Share of the time, and most seconds, that are kept for the last checkpoints."""


def ship_wide(
    grid: Grid, store: Store, folder: Path, time_s: float | None, tell: Callable[[str], None]
) -> list[Path]:
    """Train what the store does not have, and write `FILE` into the folder; its path."""
    begun = time.monotonic()
    shelf, address = store.shelf(wide), store.addresses(wide)
    ledger = make_ledger(wide, grid, store)
    todo = sorted((grid.point(i) for i in ledger.open(range(grid.size))), key=importance)
    tell(f"{grid.size - len(todo)} of {grid.size} points are in the store")
    for line in plan(todo):
        tell(line)
    kept = min(LEFT_FOR_SAVING[0] * time_s, LEFT_FOR_SAVING[1]) if time_s is not None else 0.0
    until = float("inf") if time_s is None else begun + time_s - kept
    clock = Clock(until, _told_now_and_then(tell))
    keys = [address(setting) for setting in todo]
    saving = [Checkpoint(shelf.checkpoint(key).folder, SAVE_EVERY_S) for key in keys]
    path, written, done = folder / FILE, time.monotonic(), 0
    for i, point in _going_on(todo, saving, clock):
        _store(shelf, keys[i], todo[i], point)
        saving[i].forget()
        done += 1
        if time.monotonic() > written + WRITE_EVERY_S:
            write_results(grid, store, path, time.monotonic() - begun)
            written = time.monotonic()
    seconds = time.monotonic() - begun
    write_results(grid, store, path, seconds)
    tell(f"{done} points in {seconds:.0f} s, {len(todo) - done} left; written to {path}")
    return [path]


def importance(setting: Mapping[str, Any]) -> tuple[int, ...]:
    """What comes first: MNIST; the unbiased reading; the ends of the range of scales."""
    scales = SCALES_FIRST
    alpha = setting["alpha"]
    return (
        int(setting["data"] != "mnist"),
        READINGS_FIRST.index(setting["reading"]),
        scales.index(alpha) if alpha in scales else len(scales),
    )


def plan(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be trained, a line a block, with the seconds that it takes at most on an H200."""
    lines, total = [], 0.0
    blocks: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for setting in settings:
        if setting["reading"] not in KERNELS or setting["alpha"] == KERNEL_SCALE:
            blocks.setdefault((setting["data"], setting["reading"]), []).append(setting)
    for (data, reading), some in blocks.items():
        runs = sum(
            len(steps_tried(one["searched"], data, reading, one["alpha"])) * len(one["seeds"])
            for one in some
        )
        line = f"{data}, {reading}: {len(some)} points, {runs} runs"
        if reading in TRAINED:
            epochs = runs * some[0]["epochs"]
            line += f", at most {epochs} run-epochs"
            if _paper_size(some[0]):
                total += SECONDS_A_RUN_EPOCH * epochs
                line += f", {SECONDS_A_RUN_EPOCH * epochs:.0f} s on an H200, {total:.0f} s so far"
        lines.append(line)
    return lines


def _paper_size(setting: Mapping[str, Any]) -> bool:
    return setting["width"] == PAPER_WIDTH and not setting["train"]


def _going_on(todo: Sequence[Mapping[str, Any]], saving: Sequence[Checkpoint], clock: Clock) -> Any:
    """Points as they come; a block that fails is told of, and the next begins."""
    left = list(range(len(todo)))
    while left and not clock.is_past():
        here = list(left)
        try:
            for k, point in wide_points([todo[i] for i in here], [saving[i] for i in here], clock):
                left.remove(here[k])
                yield here[k], point
            return
        except (MemoryError, RuntimeError, ValueError) as reason:
            first = todo[left[0]]
            block = first["data"], first["reading"]
            warnings.warn(f"{block[0]}, {block[1]}: {reason}", RuntimeWarning, stacklevel=2)
            left = [i for i in left if (todo[i]["data"], todo[i]["reading"]) != block]


def _store(shelf: Shelf, key: str, setting: Mapping[str, Any], point: xarray.Dataset) -> None:
    (stack,) = stacked([(0, point)])
    shelf.put(key, [key], [setting], shard_bytes([key], [setting], _device(), stack))


def write_results(grid: Grid, store: Store, path: Path, seconds: float) -> None:
    """What the store has of the grid, with settings, versions, device and seconds."""
    ledger = make_ledger(wide, grid, store, make_shelf=False)
    whole = finished_dataset(ledger, assembled(ledger))
    missing = []
    if MISSING in whole:
        missing = [grid.point(i) for i in ledger.open(range(grid.size))]
    told = ("data", "reading", "alpha")
    versions = {name: value for name, value in environment().items() if value != "not installed"}
    axes = {name: list(values) for name, values in grid.axes.items()}
    attributes = {
        "title": "W/fig4e: depth 2, SGD, cross-entropy, MNIST and Fashion-MNIST",
        "run_device": _device(),
        "run_settings": json.dumps({**grid.settings, **axes}),
        "run_versions": json.dumps(versions),
        "run_dtype": whole.attrs.get("dtype", ""),
        "run_date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "run_seconds": seconds,
        "run_missing": json.dumps([[point[name] for name in told] for point in missing]),
        "run_command": "biasflow figure W/fig4e --preset paper --ship",
        "run_note": "Losses, errors and distances measured in float32. NaN: not run. Seconds are "
        "of the last of the calls that made the file.",
    }
    whole = whole.drop_vars(MISSING, errors="ignore")
    whole.attrs = attributes
    path.parent.mkdir(parents=True, exist_ok=True)
    write_netcdf(whole, path)


def _device() -> str:
    import jax

    return str(jax.devices()[0].device_kind)


def _told_now_and_then(tell: Callable[[str], None]) -> Callable[[float, float, float], None]:
    last = time.monotonic()

    def told(done: float, left: float, rate: float) -> None:
        nonlocal last
        if rate > 0 and time.monotonic() > last + TELL_EVERY_S:
            last = time.monotonic()
            tell(
                f"{done:.0f} run-epochs done, {rate:.0f} a second; at most {left:.0f} are left, "
                f"{left / rate:.0f} s"
            )

    return told
