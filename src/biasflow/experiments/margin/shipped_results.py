"""C/fig2 at the size of the paper, computed once on a GPU and shipped.

    python -m biasflow.experiments.margin.shipped_results paper FILE      # or code

Networks are trained in batches, one curve after the other, on JAX's default device; kernel
classifiers and bounds on γ₁ are computed by `--workers` processes. The file is written anew after
every curve, so that an interrupted run leaves what it has. `--kinds` chooses some; `--merge` joins
files of one preset that hold different curves.
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import __version__
from ...sweeps.grids import Grid
from ...sweeps.versions import environment
from .paper_trainings import KINDS, batch

if TYPE_CHECKING:
    import xarray

TRAINED = ("both", "output")


def shipped(preset: str) -> xarray.Dataset | None:
    """The data that come with the package, or None."""
    import io

    import xarray

    file = resources.files(__package__) / "shipped" / f"fig2-{preset}.nc"
    if not file.is_file():
        return None
    with xarray.open_dataset(io.BytesIO(file.read_bytes()), engine="scipy") as data:
        return data.load()


def make(
    grid: Grid, preset: str, path: Path, kinds: Sequence[str] = KINDS, workers: int = 1
) -> xarray.Dataset:
    """Compute the curves of these kinds and write them, after each."""
    curves = [curve for curve in grid.axes["curve"] if curve.partition(" ")[0] in kinds]
    parts: list[xarray.Dataset] = []
    for curve in curves:
        begin = time.perf_counter()
        settings = [{**grid.settings, "curve": curve, "seed": seed} for seed in grid.axes["seed"]]
        values = (
            batch(settings)
            if curve.partition(" ")[0] in TRAINED
            else _side_by_side(settings, workers)
        )
        parts.append(_row(curve, grid.axes["seed"], values, time.perf_counter() - begin))
        whole = _described(parts, grid, preset)
        write(whole, path)
        print(f"{preset} {curve}: {time.perf_counter() - begin:.1f} s", flush=True)
    return whole


def _side_by_side(settings: Sequence[Mapping[str, Any]], workers: int) -> list[xarray.Dataset]:
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        return [values for (values,) in pool.map(batch, [[setting] for setting in settings])]


def _row(
    curve: str, seeds: Sequence[int], values: Sequence[xarray.Dataset], seconds: float
) -> xarray.Dataset:
    import xarray

    stacked = (
        xarray.concat(values, "seed").assign_coords(seed=list(seeds)).expand_dims(curve=[curve])
    )
    stacked["curve"] = stacked["curve"].astype(object)
    return stacked.assign(seconds=("curve", [seconds]))


def _described(parts: Sequence[xarray.Dataset], grid: Grid, preset: str) -> xarray.Dataset:
    import jax
    import xarray

    (device, *_) = jax.devices()
    versions = {f"{name}_version": value for name, value in environment().items()}
    attributes = {
        **versions,
        "biasflow_version": __version__,
        "jax_version": jax.__version__,
        "device": device.device_kind,
        "made": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "preset": preset,
        "settings": json.dumps(dict(grid.settings)),
    }
    return xarray.concat(parts, "curve").assign_attrs(attributes)


def write(data: xarray.Dataset, path: Path) -> None:
    """As netCDF 3 with float32 variables, whole or not at all."""
    for variable in data.variables.values():
        variable.encoding.clear()
    small = data.map(lambda v: v.astype(np.float32) if v.dtype.kind == "f" else v, keep_attrs=True)
    partial = path.with_suffix(".part")
    partial.write_bytes(bytes(small.assign_attrs(data.attrs).to_netcdf(engine="scipy")))
    partial.replace(path)


def merge(paths: Sequence[Path], order: Sequence[str]) -> xarray.Dataset:
    """Curves of several files in the order of the grid; the attributes are those of the first, and
    the devices of all."""
    import xarray

    parts = [xarray.load_dataset(path, engine="scipy") for path in paths]
    whole = xarray.concat(parts, "curve", combine_attrs="override")
    devices = dict.fromkeys(part.attrs["device"] for part in parts)
    whole = whole.sel(curve=[curve for curve in order if curve in whole["curve"].values])
    return whole.assign_attrs(device=" and ".join(devices), biasflow_version=__version__)


def main(arguments: Sequence[str] | None = None) -> None:
    from .performance import GRIDS

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("preset", choices=[name for name in GRIDS if name != "quick"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--kinds", default=",".join(KINDS), type=lambda text: text.split(","))
    parser.add_argument("--workers", default=1, type=int)
    parser.add_argument("--dtype", choices=("float32", "float64"), help="instead of the preset's")
    parser.add_argument(
        "--merge", nargs="*", type=Path, help="join these files instead of computing"
    )
    chosen = parser.parse_args(arguments)
    grid = GRIDS[chosen.preset]
    if chosen.dtype:
        grid = Grid(grid.axes, {**grid.settings, "dtype": chosen.dtype}, grid.units)
    if chosen.merge:
        write(merge(chosen.merge, grid.axes["curve"]), chosen.file)
    else:
        make(grid, chosen.preset, chosen.file, chosen.kinds, chosen.workers)


if __name__ == "__main__":
    main()
