"""What is swept: a grid of settings, and point functions that take many at once or are
made of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import instance
from .._core.facts import record_line
from ..errors import InputError

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Grid:
    """Named axes with their values, and settings shared by every point. No axes means one point.

    units: by the name of an axis or of a variable; they become `units` attributes of the result.
    chunk: points that a sweep computes and stores together, where it is not told otherwise.

    Examples
    --------
    >>> grid = bf.sweeps.Grid({"scale": [0.1, 1.0], "seed": range(3)}, units={"scale": "1"})
    >>> list(grid.axes)
    ['scale', 'seed']
    """

    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    chunk: int | None = None

    def __repr__(self) -> str:
        return record_line(self)

    def __post_init__(self) -> None:
        for kind in ("axes", "settings", "units"):
            table = instance(kind, getattr(self, kind), Mapping)
            if not all(isinstance(name, str) for name in table):
                raise InputError(
                    f"grid: {kind}: names are texts, found "
                    f"{next(name for name in table if not isinstance(name, str))!r}"
                )
        for name, values in self.axes.items():
            if isinstance(values, (str, bytes, Mapping)) or not (
                hasattr(values, "__len__") and hasattr(values, "__getitem__")
            ):
                raise InputError(
                    f"grid: axis {name!r}: expected a sequence of values, found "
                    f"{type(values).__name__}"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        """The number of points, counted without making them."""
        return math.prod(self.shape)

    def point(self, index: int) -> dict[str, Any]:
        """The setting at this place, the last axis fastest."""
        place = {}
        for name, values in reversed(list(self.axes.items())):
            index, k = divmod(index, len(values))
            value = values[k]
            # the plain number that names the point
            place[name] = value.item() if isinstance(value, np.generic) else value
        return {**self.settings, **dict(reversed(place.items()))}

    def points(self) -> list[dict[str, Any]]:
        """Every setting, the last axis fastest."""
        return [self.point(index) for index in range(self.size)]


@dataclass(frozen=True)
class Batched:
    """A point function that can also do many points in one vectorised call.

    batch(settings) -> one dataset per setting, in order. A sweep hands it what is to be computed of
    a chunk; where it raises, the chunk is computed point by point. Both functions are importable.
    """

    point: Callable[..., xarray.Dataset]
    batch: Callable[[Sequence[Mapping[str, Any]]], Sequence[xarray.Dataset]]

    def __call__(self, **setting: Any) -> xarray.Dataset:
        return self.point(**setting)

    @property
    def parts(self) -> tuple[Callable[..., Any], ...]:
        return (self.point, self.batch)


@dataclass(frozen=True)
class Composed:
    """A point function made of two importable ones: outer(inner(**setting))."""

    outer: Callable[[Any], xarray.Dataset]
    inner: Callable[..., Any]

    def __call__(self, **setting: Any) -> xarray.Dataset:
        return self.outer(self.inner(**setting))

    @property
    def parts(self) -> tuple[Callable[..., Any], ...]:
        return (self.outer, self.inner)
