"""A dataset as a plain netCDF file that any tool opens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .encoding import as_written
from .files import write_whole

if TYPE_CHECKING:
    import xarray


def write_netcdf(dataset: xarray.Dataset, path: Path) -> None:
    """netCDF 3, whole or not at all. Integers beyond 32 bits become floats, booleans 0 and 1: the
    format has neither."""
    plain = dataset.copy()
    for name, variable in dataset.variables.items():
        values = as_written(variable.values)
        if values.dtype.kind == "b":
            values = values.astype(np.int8)
        elif values.dtype.kind in "iu":
            fits = not values.size or (values.min() >= -(2**31) and values.max() < 2**31)
            values = values.astype(np.int32 if fits else np.float64)
        plain[name] = (variable.dims, values, variable.attrs)
    plain.attrs = {
        name: value if isinstance(value, (str, int, float)) else str(value)
        for name, value in dataset.attrs.items()
    }
    write_whole(path, bytes(plain.to_netcdf(None, engine="scipy")))
