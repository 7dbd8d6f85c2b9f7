"""The points of a grid as one dataset, with the grid's axes in front."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..records import Grid

if TYPE_CHECKING:
    import xarray


def check_axes(grid: Grid) -> None:
    """Axis values are the coordinates of the result: strings, or numbers, not both."""
    for name, values in grid.axes.items():
        if not values:
            raise InputError(f"grid: axis {name!r} has no values")
        for kind in (str, Real):
            if all(isinstance(value, kind) for value in values):
                break
        else:
            raise InputError(f"grid: axis {name!r} needs values that are all numbers or all strings, found {tuple(values)!r}")
        if name in grid.settings:
            raise InputError(f"grid: {name!r} is both an axis and a setting")


def combine(grid: Grid, points: Sequence[xarray.Dataset]) -> xarray.Dataset:
    """Every variable with the grid's axes before its own dimensions; coordinates shared by all points stay as they are."""
    import xarray

    if not grid.axes:
        return points[0]
    shape = tuple(len(values) for values in grid.axes.values())
    first = points[0]
    variables: dict[Any, Any] = {}
    for name, variable in first.variables.items():
        columns = _columns(name, variable, grid, points)
        if name in first.coords and all(np.array_equal(columns[0], column) for column in columns):
            variables[name] = variable
        elif name in first.dims:
            raise InputError(f"point: the coordinate {name!r} differs from point to point; return it as a variable instead")
        else:
            stacked = np.stack(columns).reshape(shape + variable.shape)
            variables[name] = ((*grid.axes, *variable.dims), stacked, dict(variable.attrs))
    axes = {name: (name, np.asarray(values)) for name, values in grid.axes.items()}
    shared = {name: value for name, value in first.attrs.items() if all(_same(value, p.attrs.get(name)) for p in points)}
    return xarray.Dataset({**variables, **axes}, attrs=shared).set_coords(list(first.coords))


def _columns(name: Any, variable: xarray.Variable, grid: Grid, points: Sequence[xarray.Dataset]) -> list[Any]:
    """The values of one variable at every point, or an error that names the first point where it does not fit."""
    clash = [axis for axis in grid.axes if axis == name or axis in variable.dims]
    if clash:
        raise InputError(f"point: {clash[0]!r} is an axis of the grid and cannot be a variable or a dimension of a point too")
    for setting, point in zip(grid.points(), points, strict=True):
        if set(point.variables) != set(points[0].variables):
            found, wanted = sorted(map(str, point.variables)), sorted(map(str, points[0].variables))
            raise InputError(f"point: at {setting} the variables are {found}, at the first point {wanted}")
        other = point.variables[name]
        if other.dims != variable.dims or other.shape != variable.shape:
            raise InputError(
                f"point: at {setting} {name!r} has dimensions {dict(other.sizes)}, at the first point {dict(variable.sizes)}"
            )
    return [point.variables[name].values for point in points]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(np.array_equal(a, b))
