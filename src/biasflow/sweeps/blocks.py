"""Points of the same shape as one block of arrays: what workers send and shards hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .encoding import as_written, decode_variables, encode_variables, read_trailer

if TYPE_CHECKING:
    import xarray

POINT_DIMENSION = "point__"
"""The dimension that counts the points of a stack in its shard."""


@dataclass(frozen=True, eq=False)
class Column:
    """One variable at every point of a stack. values: (points, *shape), or (*shape) where `shared`
    by all points."""

    name: Any
    dims: tuple[Any, ...]
    values: Any
    attrs: dict[str, Any]
    coordinate: bool
    shared: bool


@dataclass(frozen=True, eq=False)
class Stack:
    """Points with the same variables, dimensions and shapes.

    rows: which point of its task (or shard) each one is; attrs: the attributes of each.
    """

    rows: tuple[int, ...]
    columns: tuple[Column, ...]
    attrs: tuple[dict[str, Any], ...]

    def only(self, rows: Sequence[int]) -> Stack:
        """Some of the points, counted from the top of the stack."""
        if len(rows) == len(self.rows):
            return self
        columns = tuple(
            c if c.shared else replace(c, values=c.values[list(rows)]) for c in self.columns
        )
        return Stack(
            tuple(self.rows[row] for row in rows), columns, tuple(self.attrs[row] for row in rows)
        )


def stacked(points: Sequence[tuple[int, xarray.Dataset]]) -> list[Stack]:
    """The points in as few stacks as their shapes allow: one, unless a function changes its
    mind."""
    groups: dict[Any, list[tuple[int, xarray.Dataset]]] = {}
    for row, point in points:
        groups.setdefault(_signature(point), []).append((row, point))
    return [_stack(group) for group in groups.values()]


def _signature(point: xarray.Dataset) -> Any:
    own = point.dims
    return tuple(
        (
            name,
            v.dims,
            v.shape,
            v.dtype.kind,
            name in point.coords,
            v.values.tobytes() if name in own else None,
        )
        for name, v in point.variables.items()
    )


def _stack(group: Sequence[tuple[int, xarray.Dataset]]) -> Stack:
    first = group[0][1]
    columns = []
    for name, variable in first.variables.items():
        shared = name in first.dims
        values = (
            variable.values
            if shared
            else np.stack([point.variables[name].values for _, point in group])
        )
        columns.append(
            Column(
                name,
                variable.dims,
                as_written(values),
                dict(variable.attrs),
                name in first.coords,
                shared,
            )
        )
    return Stack(
        tuple(row for row, _ in group),
        tuple(columns),
        tuple(dict(point.attrs) for _, point in group),
    )


def stack_to_bytes(stack: Stack, trailer: dict[str, Any]) -> bytes:
    """A shard: InputError where a value cannot be stored."""
    variables = {
        c.name: (c.dims if c.shared else (POINT_DIMENSION, *c.dims), c.values, c.attrs)
        for c in stack.columns
    }
    coordinates = [c.name for c in stack.columns if c.coordinate]
    return encode_variables(
        variables, {"attrs": {}, "coords": coordinates}, {**trailer, "attrs": list(stack.attrs)}
    )


def stack_from_bytes(data: bytes) -> Stack:
    """The stack of a shard, ValueError where it is damaged."""
    attrs, (variables, about) = read_trailer(data)["attrs"], decode_variables(data)
    columns = []
    for name, (dims, values, own) in variables.items():
        shared = POINT_DIMENSION not in dims
        columns.append(
            Column(name, dims if shared else dims[1:], values, own, name in about["coords"], shared)
        )
    return Stack(tuple(range(len(attrs))), tuple(columns), tuple(attrs))
