"""The points of a grid as one dataset, with the grid's axes in front."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .blocks import Column, Stack
from .grids import Grid

if TYPE_CHECKING:
    import xarray

FAILED = "failed"
MISSING = "missing"
DTYPE = "dtype"
"""The attribute by which a point says in which precision it computed, where its variables do
not."""


def check_axes(grid: Grid) -> None:
    """Axis values are the coordinates of the result: strings, or numbers, not both."""
    for name, values in grid.axes.items():
        if not len(values):
            raise InputError(f"grid: axis {name!r} has no values, so the grid has no points")
        for kind in (str, Real):
            if all(isinstance(value, kind) for value in values):
                break
        else:
            raise InputError(
                f"grid: axis {name!r} needs values that are all numbers or all strings, found "
                f"{tuple(values)!r}"
            )
        if name in grid.settings:
            raise InputError(f"grid: {name!r} is both an axis and a setting")
        if any(value != value for value in values):
            raise InputError(f"grid: axis {name!r} holds NaN, which no point can be told apart by")
        if len(set(values)) < len(values):
            raise InputError(f"grid: axis {name!r} holds a value twice: {tuple(values)!r}")


class Assembly:
    """A dataset filled stack by stack, in any order; memory is the result's and one stack's.

    Every variable gets the grid's axes before its own dimensions; coordinates shared by all points
    stay as they are.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._have = np.zeros(grid.size, dtype=bool)
        self._columns: dict[Any, Column] = {}
        self._arrays: dict[Any, Any] = {}
        self._attrs: dict[str, Any] = {}
        self._dtypes: set[str] = set()
        self._first = -1

    @property
    def have(self) -> np.ndarray[Any, Any]:
        """Which points are in."""
        return self._have

    def place(self, indices: Sequence[int], stack: Stack) -> None:
        """Put row k of the stack at place indices[k] of the grid."""
        if not self._columns:
            self._begin(indices[0], stack)
        self._check(indices[0], stack)
        where = np.asarray(indices)
        for column in stack.columns:
            if not column.shared:
                array = self._arrays[column.name]
                kind = _common(column.name, array.dtype, column.values.dtype)
                if kind != array.dtype:
                    array = self._arrays[column.name] = array.astype(kind)
                array[where] = column.values
        for attrs in stack.attrs:
            self._dtypes.update(filter(None, [attrs.get(DTYPE)]))
            self._attrs = {
                name: value for name, value in self._attrs.items() if _same(value, attrs.get(name))
            }
        self._have[where] = True

    def dataset(self, masks: dict[str, np.ndarray[Any, Any]]) -> xarray.Dataset:
        """The result; points not placed are NaN (strings: empty), and each mask is a variable."""
        import xarray

        shape, axes = self._grid.shape, tuple(self._grid.axes)
        variables: dict[Any, Any] = {}
        for name, column in self._columns.items():
            if column.shared:
                variables[name] = (column.dims, column.values, column.attrs)
                continue
            array = _filled(self._arrays[name], self._have)
            if column.coordinate and np.all(self._have) and _constant(array):
                variables[name] = (column.dims, array[0], column.attrs)
            else:
                variables[name] = (
                    (*axes, *column.dims),
                    array.reshape(shape + array.shape[1:]),
                    self._with_unit(name, column.attrs),
                )
        for name, mask in masks.items():
            variables[name] = (axes, mask.reshape(shape))
        coordinates = {
            name: (name, np.asarray(values), self._with_unit(name, {}))
            for name, values in self._grid.axes.items()
        }
        attrs = {
            **self._attrs,
            **({DTYPE: "; ".join(sorted(self._dtypes))} if self._dtypes else {}),
        }
        whole = xarray.Dataset({**variables, **coordinates}, attrs=attrs)
        return whole.set_coords(
            [name for name, column in self._columns.items() if column.coordinate]
        )

    def _with_unit(self, name: Any, attrs: dict[str, Any]) -> dict[str, Any]:
        return {**attrs, "units": self._grid.units[name]} if name in self._grid.units else attrs

    def _begin(self, index: int, stack: Stack) -> None:
        for column in stack.columns:
            clash = [axis for axis in self._grid.axes if axis == column.name or axis in column.dims]
            if clash or column.name in (FAILED, MISSING):
                name = (clash or [column.name])[0]
                what = "is an axis of the grid" if clash else "is what a sweep calls its mask"
                raise InputError(
                    f"point: {name!r} {what} and cannot be a variable or a dimension of a point too"
                )
            self._columns[column.name] = column
            if not column.shared:
                self._arrays[column.name] = np.zeros(
                    (self._grid.size, *column.values.shape[1:]), column.values.dtype
                )
        self._attrs, self._first = dict(stack.attrs[0]), index

    def _check(self, index: int, stack: Stack) -> None:
        """Columns fit the first ones, or an error names where they do not."""
        found = {column.name: column for column in stack.columns}
        here = f"point: at {self._grid.point(index)}"
        there = f"at the point {self._grid.point(self._first)}"
        if set(found) != set(self._columns):
            raise InputError(
                f"{here} the variables are {_names(found)}, {there} {_names(self._columns)}"
            )
        for name, column in self._columns.items():
            other = found[name]
            if (other.dims, _shape(other)) != (column.dims, _shape(column)):
                sizes = [dict(zip(c.dims, _shape(c), strict=True)) for c in (other, column)]
                raise InputError(f"{here} {name!r} has dimensions {sizes[0]}, {there} {sizes[1]}")
            if column.shared and not _equal(other.values, column.values):
                raise InputError(
                    f"point: the coordinate {name!r} differs from point to point; return it as a "
                    "variable instead"
                )


def _names(columns: dict[Any, Column]) -> list[str]:
    return sorted(map(str, columns))


def _shape(column: Column) -> tuple[int, ...]:
    return tuple(column.values.shape if column.shared else column.values.shape[1:])


def _common(name: Any, a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    if (a.kind in "US") != (b.kind in "US"):
        raise InputError(f"point: {name!r} is a string at some points and a number at others")
    return np.result_type(a, b)


def _filled(array: Any, have: np.ndarray[Any, Any]) -> Any:
    """NaN where no point is; integers and booleans turn to floats for it."""
    if np.all(have):
        return array
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.kind in "fc":
        array[~have] = np.nan
    return array


def _constant(array: Any) -> bool:
    return all(_equal(array[0], row) for row in array)


def _equal(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(np.array_equal(a, b))
