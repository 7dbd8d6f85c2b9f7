"""`biasflow figure ID --ship`: results that travel with the package, made from the points up."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from .. import experiments
from ..errors import InputError, unknown
from ..sweeps import Grid, default_store


def ship_figure(
    id: str, preset: str, folder: Path | None, time_s: float | None, changed: Sequence[str]
) -> None:
    """Compute what the store does not have of a figure, and write its files."""
    if id not in experiments.figures():
        raise unknown("figure", id, list(experiments.figures()))
    experiment = experiments.experiment(id)
    if experiment.ship is None:
        known = [one for one in experiments.figures() if experiments.experiment(one).ship]
        raise InputError(f"--ship: {id} has no shipped results; {', '.join(known)} has")
    if preset not in experiment.grids:
        raise unknown("preset", preset, list(experiment.grids))
    grid = with_changes(experiment.grids[preset], changed)
    if "shipped_in" in grid.settings:
        raise InputError(f"--ship: the preset {preset} draws what is shipped; give --preset paper")
    begun = time.monotonic()

    def tell(sentence: str) -> None:
        typer.echo(f"{time.monotonic() - begun:6.1f} s  {sentence}")
        sys.stdout.flush()

    folder = folder or shipped_folder(experiment.point)
    experiment.ship(grid, default_store(), folder, time_s, tell)


def shipped_folder(point: Any) -> Path:
    """Where the package has the results of a figure."""
    return Path(sys.modules[point.__module__].__file__ or "").parent / "shipped"


def with_changes(grid: Grid, changed: Sequence[str]) -> Grid:
    """The grid with some settings and axes in place of its own."""
    axes, settings = dict(grid.axes), dict(grid.settings)
    for text in changed:
        name, equals, value = text.partition("=")
        if not equals or name not in {**axes, **settings}:
            raise InputError(
                f"--set: expected NAME=VALUE with one of {', '.join([*axes, *settings])}, found "
                f"{text}"
            )
        try:
            read = json.loads(value)
        except ValueError:
            raise InputError(f"--set: {name}: expected JSON, found {value}") from None
        if name in axes and not (isinstance(read, list) and read):
            raise InputError(f"--set: {name}: an axis is a list of values, found {value}")
        (axes if name in axes else settings)[name] = read
    return replace(grid, axes=axes, settings=settings)
