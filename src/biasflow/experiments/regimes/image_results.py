"""Results on images: trained here, or computed at paper size on a GPU and shipped (`shipped/`,
netCDF with settings, versions, device and seconds inside)."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from ..._core.arguments import one_of
from ...errors import InputError
from ...images.vgg_trainings import vgg_point
from ...images.wide_trainings import wide_point

if TYPE_CHECKING:
    import xarray

WIDE_RESULTS, VGG_RESULTS, SCALE_RESULTS = "fig4e-3.nc", "fig4f-3.nc", "scales-1.nc"
"""Files in `shipped/`; another content has another name, since stores remember points by their
settings."""


def shipped(name: str) -> xarray.Dataset:
    """Results that travel with the package; nothing else can be named."""
    return _read_shipped(one_of("shipped_in", name, (WIDE_RESULTS, VGG_RESULTS, SCALE_RESULTS)))


@functools.lru_cache(maxsize=3)
def _read_shipped(name: str) -> xarray.Dataset:
    return read_results(resources.files(__package__).joinpath("shipped", name).read_bytes())


def read_results(content: bytes) -> xarray.Dataset:
    """A file of results."""
    import xarray

    with xarray.open_dataset(io.BytesIO(content), engine="scipy") as dataset:
        return dataset.load()


def wide(data: str, shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every reading and scale, from the shipped results; or one of them, trained."""
    if not is_shipped(shipped_in, WIDE_RESULTS, setting):
        return wide_point(data=data, **setting)
    results = shipped(WIDE_RESULTS)
    return results.sel(data=one_of("data", data, results["data"].values.tolist()), drop=True)


def vgg(shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every run, from the shipped results; or one run, trained."""
    return (
        shipped(VGG_RESULTS)
        if is_shipped(shipped_in, VGG_RESULTS, setting)
        else vgg_point(**setting)
    )


def is_shipped(name: Any, results: str, setting: Mapping[str, Any]) -> bool:
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
