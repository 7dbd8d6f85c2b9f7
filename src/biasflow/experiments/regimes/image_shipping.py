"""W/fig4e, fig4f and fig6 at the size of the paper, from the points up into the files that are
shipped: what matters most first, for as many seconds as there are.

Of W/fig4e, points that are whole are in the store, and in the file, which is written anew as they
come; runs that were cut off have checkpoints, and the next call goes on from them. Of W/fig4f,
everything is in the folder, so that it can travel: the file, with the curves of unfinished
trainings too, and their checkpoints.
"""

from __future__ import annotations

import datetime
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...images.classifier_training import Clock
from ...images.vgg_trainings import read_training, vgg_training
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
from .image_results import VGG_RESULTS as VGG_FILE, WIDE_RESULTS as FILE, read_results, wide

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
    whole = whole.drop_vars(MISSING, errors="ignore").assign_attrs(
        run_missing=json.dumps([[point[name] for name in told] for point in missing])
    )
    title = "W/fig4e: depth 2, SGD, cross-entropy, MNIST and Fashion-MNIST"
    write_shipped(whole, path, "W/fig4e", title, grid, seconds)


def write_shipped(
    whole: xarray.Dataset, path: Path, figure: str, title: str, grid: Grid, seconds: float
) -> None:
    """The file, with settings, versions, device and seconds."""
    versions = {name: value for name, value in environment().items() if value != "not installed"}
    axes = {name: list(values) for name, values in grid.axes.items()}
    attributes = {
        "title": title,
        "run_device": _device(),
        "run_settings": json.dumps({**grid.settings, **axes}),
        "run_versions": json.dumps(versions),
        "run_dtype": whole.attrs.get("dtype", ""),
        "run_date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "run_seconds": seconds,
        "run_missing": whole.attrs["run_missing"],
        "run_command": f"biasflow figure {figure} --preset paper --ship",
        "run_note": "Losses, errors and distances measured in float32. NaN: not run. Seconds are "
        "of the last of the calls that made the file.",
    }
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


VGG_ROUNDS = 100, 400, 2000
"""Epochs to which every training is brought before any goes further."""
UNFINISHED = "unfinished"
VGG_SAVE_EVERY_S = 60.0


def ship_vgg(
    grid: Grid, store: Store, folder: Path, time_s: float | None, tell: Callable[[str], None]
) -> list[Path]:
    """Go on with every training that is not finished in the folder, in the order of the grid, and
    write what is known into `VGG_FILE` there. The store has no part in it."""
    begun, path = time.monotonic(), folder / VGG_FILE
    names = [read_training(name).name for name in grid.axes["training"]]
    rows = _known_rows(path, grid)
    kept = min(LEFT_FOR_SAVING[0] * time_s, LEFT_FOR_SAVING[1]) if time_s is not None else 0.0
    until = float("inf") if time_s is None else begun + time_s - kept
    clock = Clock(until, _told_now_and_then(tell))
    most = grid.settings["epochs"]
    failed: set[str] = set()
    for rounds in sorted({*(end for end in VGG_ROUNDS if end < most), most}):
        for name in names:
            so_far = _epochs(rows.get(name))
            if name in failed or so_far >= rounds or clock.is_past():
                continue
            clock.most = rounds - so_far
            saving = Checkpoint(folder / UNFINISHED / name.replace(" ", "-"), VGG_SAVE_EVERY_S)
            tell(f"{name}: from epoch {so_far:.0f}")
            try:
                found = vgg_training(training=name, **grid.settings, checkpoint=saving, clock=clock)
            except (MemoryError, RuntimeError, ValueError) as reason:
                warnings.warn(f"{name}: {reason}", RuntimeWarning, stacklevel=2)
                failed.add(name)
                continue
            if _epochs(found) >= so_far:
                rows[name] = found
            if found["finished"]:
                saving.forget()
            _write_vgg(rows, path, grid, time.monotonic() - begun)
            tell(f"{name}: {_standing(rows[name])}")
    left = [name for name in names if name not in rows or not rows[name]["finished"]]
    seconds = time.monotonic() - begun
    tell(f"{len(names) - len(left)} of {len(names)} trainings finished, in {seconds:.0f} s; {path}")
    return [path] if path.exists() else []


def _epochs(row: xarray.Dataset | None) -> float:
    """How far a training is; at its end however far."""
    if row is None or not np.isfinite(row["epochs_used"]):
        return 0.0
    return float("inf") if row["finished"] else float(row["epochs_used"])


def _standing(row: xarray.Dataset) -> str:
    values = {name: float(row[name]) for name in ("train_loss", "train_error", "test_error")}
    ended = "converged" if row["converged"] else "diverged" if row["diverged"] else "epochs used"
    return (
        f"epoch {float(row['epochs_used']):.0f}, loss {values['train_loss']:.3g}, errors "
        f"{100 * values['train_error']:.2f}% and {100 * values['test_error']:.2f}%, "
        + (ended if row["finished"] else "goes on")
    )


def _known_rows(path: Path, grid: Grid) -> dict[str, xarray.Dataset]:
    """What a file that is there has of each training."""
    if not path.exists():
        return {}
    held = read_results(path.read_bytes())
    settings = json.loads(held.attrs["run_settings"])
    for name, value in grid.settings.items():
        if settings.get(name) != value:
            raise InputError(
                f"--ship-to: {path} has {name} {settings.get(name)}, where {value} is asked for; "
                "name another folder"
            )
    names = [str(name) for name in held["training"].values]
    return {name: held.sel(training=name, drop=True) for name in names}


def _write_vgg(rows: Mapping[str, xarray.Dataset], path: Path, grid: Grid, seconds: float) -> None:
    import xarray

    whole = xarray.concat(list(rows.values()), "training", combine_attrs="drop_conflicts")
    whole = whole.assign_coords(training=list(rows))
    names = [read_training(name).name for name in grid.axes["training"]]
    missing = [name for name in names if name not in rows]
    title = "W/fig4f and fig6: VGG11-like network without biases, SGD, cross-entropy, CIFAR-10"
    precision = "float32, products in training as the name of a training says"
    whole = whole.assign_attrs(run_missing=json.dumps(missing), dtype=precision)
    write_shipped(whole, path, "W/fig4f", title, grid, seconds)
