"""Sweeps described in TOML. A spec names a figure or a function of `LIBRARY`; nothing is imported
for it.

function = "limit"          # or the id of a figure, such as "W/fig1"
preset = "quick"            # figures only: axes and settings that are not given below come from it
chunk = 20                  # points stored together; optional

[axes]
scale = { geomspace = [1e-4, 10.0, 11] }    # also linspace = [first, last, count], range = [start,
stop, step] seed = { range = [0, 20] }
n = [40, 80]

[settings]
d = 200

[units]                     # optional, by axis or variable
scale = "1"

[slurm]                     # optional, for --slurm
queue = "short"
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import experiments
from .._core.arguments import positive_int
from ..errors import InputError, unknown
from ..sweeps.grids import Batched, Grid
from .library import LIBRARY

if TYPE_CHECKING:
    import xarray

ENTRIES = ("function", "preset", "chunk", "axes", "settings", "units", "slurm")


@dataclass(frozen=True)
class Spec:
    """A sweep that was described in a file."""

    name: str
    point: Callable[..., xarray.Dataset]
    grid: Grid
    chunk: int | None = None
    slurm: Mapping[str, Any] = field(default_factory=dict)


def read_spec(path: Path | str) -> Spec:
    """The sweep that a file describes; InputError says what is wrong with it."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"spec: no file {path}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as reason:
        raise InputError(f"spec: cannot read {path}: {reason}") from None
    return parse_spec(content)


def parse_spec(content: Mapping[str, Any]) -> Spec:
    for entry in content:
        if entry not in ENTRIES:
            raise unknown("entry of a spec", entry, list(ENTRIES))
    axes, settings, units = (_table(content, name) for name in ("axes", "settings", "units"))
    name = content.get("function")
    if not isinstance(name, str):
        raise InputError(
            f"spec: function: expected the id of a figure or a function's name, found {name!r}"
        )
    point, grid = _function(name, content.get("preset"))
    wanted = {axis: _values(axis, values) for axis, values in axes.items()}
    _check_names(name, point, [*wanted, *settings])
    both = [axis for axis in wanted if axis in settings]
    if both:
        raise InputError(f"spec: {both[0]!r} is both an axis and a setting")
    kept = {
        axis: values
        for axis, values in grid.axes.items()
        if axis not in wanted and axis not in settings
    }
    others = {key: value for key, value in grid.settings.items() if key not in wanted}
    full = Grid({**kept, **wanted}, {**others, **settings}, {**grid.units, **units}, grid.chunk)
    _check_complete(name, point, full)
    chunk = content.get("chunk")
    return Spec(
        name,
        point,
        full,
        None if chunk is None else positive_int("chunk", chunk),
        _table(content, "slurm"),
    )


def _function(name: str, preset: Any) -> tuple[Callable[..., xarray.Dataset], Grid]:
    if name in LIBRARY:
        if preset is not None:
            raise InputError(f"spec: preset: only figures have presets, {name!r} is a function")
        return LIBRARY[name], Grid()
    if name not in experiments.figures():
        raise unknown("figure or function", name, [*experiments.figures(), *LIBRARY])
    chosen = experiments.experiment(name)
    if preset is None:
        return chosen.point, Grid()
    if not isinstance(preset, str) or preset not in chosen.grids:
        raise unknown("preset", str(preset), list(chosen.grids))
    return chosen.point, chosen.grids[preset]


def _table(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"spec: {name}: expected a table, found {table!r}")
    return table


def _values(axis: str, given: Any) -> Sequence[Any]:
    """The values of an axis: a list, or a table that says how to count."""
    if isinstance(given, list):
        return tuple(given)
    if not isinstance(given, dict) or len(given) != 1:
        raise InputError(
            f"spec: axis {axis!r}: expected a list, or one of {', '.join(SPACINGS)}; found "
            f"{given!r}"
        )
    ((spacing, arguments),) = given.items()
    if spacing not in SPACINGS:
        raise unknown(f"spacing of the axis {axis!r}", spacing, list(SPACINGS))
    try:
        return SPACINGS[spacing](*arguments)
    except (TypeError, ValueError) as reason:
        raise InputError(f"spec: axis {axis!r}: {spacing} = {arguments!r}: {reason}") from None


MOST_VALUES = 10_000_000
"""Values of one axis that a spec may ask for; the number of points has its own, lower limit."""


def _counted(count: int) -> int:
    if not isinstance(count, int) or not 1 <= count <= MOST_VALUES:
        raise InputError(
            f"spacing: the count must be an integer from 1 to {MOST_VALUES:,}, found {count!r}"
        )
    return count


def _linspace(first: float, last: float, count: int) -> Sequence[float]:
    return tuple(float(value) for value in np.linspace(first, last, _counted(count)))


def _geomspace(first: float, last: float, count: int) -> Sequence[float]:
    return tuple(float(value) for value in np.geomspace(first, last, _counted(count)))


SPACINGS: Mapping[str, Callable[..., Sequence[Any]]] = {
    "range": range,
    "linspace": _linspace,
    "geomspace": _geomspace,
}


def _check_names(name: str, point: Callable[..., Any], given: Sequence[str]) -> None:
    known = _known_names(name, point)
    for parameter in given:
        if parameter not in known:
            raise unknown(f"axis or setting of {name}", parameter, known)


def _check_complete(name: str, point: Callable[..., Any], grid: Grid) -> None:
    given = {*grid.axes, *grid.settings}
    needed, rest = _signature(point)
    # the figure is drawn from any of its presets: what is missing from the nearest of them is
    # missing
    if rest:
        presets = [
            [key for key in (*preset.axes, *preset.settings) if key not in given]
            for preset in _presets(name)
        ]
        missing = min(presets, key=len)
    else:
        missing = [
            key
            for key, default in needed.items()
            if default is inspect.Parameter.empty and key not in given
        ]
    if missing:
        hint = "; `preset` fills in what is not given" if name not in LIBRARY else ""
        raise InputError(
            f"spec: {name} needs {', '.join(missing)} among its axes or settings{hint}"
        )


def _known_names(name: str, point: Callable[..., Any]) -> list[str]:
    """What a spec may give: the parameters, and where the point hands further ones on, those of the
    figure's presets."""
    parameters, rest = _signature(point)
    handed_on = (
        [key for preset in _presets(name) for key in (*preset.axes, *preset.settings)]
        if rest
        else []
    )
    return list(dict.fromkeys([*parameters, *handed_on]))


def _signature(point: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """The parameters of a point with their defaults, and whether it takes others beside them."""
    parameters = inspect.signature(
        point.point if isinstance(point, Batched) else point
    ).parameters.values()
    rest = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return {
        p.name: p.default for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD
    }, rest


def _presets(name: str) -> Sequence[Grid]:
    return () if name in LIBRARY else tuple(experiments.experiment(name).grids.values())
