"""Results on images: trained here, or computed at paper size on a GPU and shipped (`shipped/`,
netCDF with settings, versions, device and seconds inside)."""

from __future__ import annotations

import functools
import io
import itertools
import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import one_of
from ...errors import InputError
from ...images.vgg_trainings import Training, vgg_point
from ...images.wide_trainings import wide_point

if TYPE_CHECKING:
    import xarray

WIDE_RESULTS, VGG_RESULTS = "fig4e-2.nc", "fig4f-1.nc"
NEXT_VGG_RESULTS = "fig4f-2.nc"
"""Files in `shipped/`; another content has another name, since stores remember points by their
settings."""
EARLIER = {WIDE_RESULTS: "fig4e-1.nc", NEXT_VGG_RESULTS: "fig4f-1.nc"}
"""What was shipped before, for what a file does not have: readings of W/fig4e with 50 epochs and
four steps, trainings of W/fig4f with 40 epochs."""


def shipped(name: str) -> xarray.Dataset:
    """Results that travel with the package; nothing else can be named."""
    return _read_shipped(one_of("shipped_in", name, (WIDE_RESULTS, VGG_RESULTS)))


@functools.lru_cache(maxsize=2)
def _read_shipped(name: str) -> xarray.Dataset:
    held = read_results(resources.files(__package__).joinpath("shipped", name).read_bytes())
    if name not in EARLIER:
        return held
    content = resources.files(__package__).joinpath("shipped", EARLIER[name]).read_bytes()
    join = with_earlier if "reading" in held.dims else with_earlier_trainings
    return join(held, read_results(content))


def with_earlier(held: xarray.Dataset, earlier: xarray.Dataset) -> xarray.Dataset:
    """The results, and for each data set the readings of which they have nothing, from an earlier
    file; which those are is told in `run_earlier`."""

    def known(results: xarray.Dataset) -> xarray.DataArray:
        return results["test_error"].notnull().any(["alpha", "step", "seed"])

    ours = known(held).reindex_like(known(earlier), fill_value=False)
    taken = known(earlier) & ~ours
    whole = held.combine_first(earlier.where(taken))
    pairs = [
        [str(data), str(reading)]
        for data in earlier["data"].values
        for reading in earlier["reading"].values
        if bool(taken.sel(data=data, reading=reading))
    ]
    settings = json.loads(earlier.attrs["run_settings"])
    told = {"readings": pairs, "epochs": settings["epochs"], "steps": settings["steps"]}
    return whole.sortby("step", ascending=False).assign_attrs(
        {**held.attrs, "run_earlier": json.dumps(told)}
    )


def with_earlier_trainings(held: xarray.Dataset, earlier: xarray.Dataset) -> xarray.Dataset:
    """The trainings of both files; of one that is in both, the newer."""
    import xarray

    ours = set(held["training"].values)
    kept = [name for name in earlier["training"].values if name not in ours]
    whole = xarray.concat([held, earlier.sel(training=kept)], "training", join="outer")
    return whole.assign_attrs({**held.attrs, "run_earlier": json.dumps({"trainings": kept})})


def read_results(content: bytes) -> xarray.Dataset:
    """A file of results."""
    import xarray

    with xarray.open_dataset(io.BytesIO(content), engine="scipy") as dataset:
        held = dataset.load()
    if "rule" in held.dims:
        return by_training(held)
    return held if "start" not in held.dims else by_reading(held)


def by_reading(held: xarray.Dataset) -> xarray.Dataset:
    """Results as they were first shipped: the output layer and the kernels beside the start they
    were computed with."""
    import xarray

    steps = sorted({*held["step"].values, *held["readout_step"].values}, reverse=True)
    drawn = held.sel(start="as drawn")
    runs = held[[name for name in held if {"step", "seed"} <= set(held[name].dims)]]
    parts = [runs.sel(start=[start]).rename(start="reading") for start in ("unbiased", "as drawn")]
    layer = drawn[["readout_test_error", "readout_train_error"]].rename(
        readout_step="step",
        readout_test_error="test_error",
        readout_train_error="train_error",
    )
    layer["diverged"] = xarray.zeros_like(layer["test_error"])
    layer["epochs_used"] = xarray.full_like(
        layer["test_error"], json.loads(held.attrs["run_settings"])["readout_epochs"]
    ).where(layer["test_error"].notnull())
    parts.append(layer.expand_dims(reading=["output layer"]))
    kernels = drawn.sel(alpha=[1.0])[["kernel_test_error", "kernel_residual"]].rename(
        kernel="reading", kernel_test_error="test_error", kernel_residual="residual"
    )
    parts.append(kernels[["test_error"]].expand_dims(step=steps[:1], seed=held["seed"].values[:1]))
    table = [
        part.drop_vars(["start", "kernel", "readout_step"], errors="ignore").reindex(
            step=steps, alpha=held["alpha"], seed=held["seed"]
        )
        for part in parts
    ]
    whole = xarray.concat(table, "reading", join="outer", data_vars="all", coords="minimal")
    whole["residual"] = kernels["residual"].reindex(
        reading=whole["reading"], alpha=held["alpha"], fill_value=np.nan
    )
    return whole.assign_attrs(held.attrs)


def by_training(held: xarray.Dataset) -> xarray.Dataset:
    """Results of W/fig4f as they were first shipped, by scale, rule for the step and seed: a row a
    training. What neither converged nor diverged there was stopped."""
    import xarray

    names, rows = [], []
    for alpha, rule, seed in itertools.product(
        *(held[name].values for name in ("alpha", "rule", "seed"))
    ):
        row = held.sel(alpha=alpha, rule=rule, seed=seed, drop=True)
        if not np.isfinite(row["epochs_used"]):
            continue
        reading = rule if rule == "output layer" else "as drawn"
        names.append(
            Training(
                str(reading), float(alpha), float(row["step_size"]), "tensorfloat32", int(seed)
            ).name
        )
        finished = (row["converged"] == 1) | (row["diverged"] == 1)
        rows.append(row.drop_vars(["step_size", "seconds"]).assign(finished=finished.astype(float)))
    whole = xarray.concat(rows, "training").assign_coords(training=names)
    return whole.assign_attrs(held.attrs)


def wide(data: str, shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every reading and scale, from the shipped results; or one of them, trained."""
    if not _is_shipped(shipped_in, WIDE_RESULTS, setting):
        return wide_point(data=data, **setting)
    results = shipped(WIDE_RESULTS)
    return results.sel(data=one_of("data", data, results["data"].values.tolist()), drop=True)


def vgg(shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every run, from the shipped results; or one run, trained."""
    return (
        shipped(VGG_RESULTS)
        if _is_shipped(shipped_in, VGG_RESULTS, setting)
        else vgg_point(**setting)
    )


def _is_shipped(name: Any, results: str, setting: Mapping[str, Any]) -> bool:
    """Whether the results that came with the package are asked for; with them no other setting has
    a meaning."""
    if not one_of("shipped_in", name, ("", results)):
        return False
    if setting:
        raise InputError(
            f"{next(iter(setting))}: has no effect on shipped results; give shipped_in or the "
            "settings of a training"
        )
    return True


def origin(data: xarray.Dataset) -> dict[str, str]:
    """Where the numbers come from: settings and device of the shipped results, or of this sweep."""
    settings, device = data.attrs.get("settings", "{}"), data.attrs.get("device", "cpu")
    name = json.loads(settings).get("shipped_in")
    attrs = shipped(name).attrs if name else data.attrs
    told = {key: value for key, value in attrs.items() if key.startswith("run_")}
    return told or {"run_settings": settings, "run_device": device}
