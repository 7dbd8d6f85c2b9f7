"""The papers' figures, each a sweep that is summarised and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import unknown
from ..records import Experiment
from ..run import Store, sweep
from . import margin, mirror, regimes, relu
from .transition import TransitionScale, transition_scale

if TYPE_CHECKING:
    import xarray

    from ..run import Engine, Progress

EXPERIMENTS: tuple[Experiment, ...] = (*mirror.EXPERIMENTS, *regimes.EXPERIMENTS, *relu.EXPERIMENTS, *margin.EXPERIMENTS)

__all__ = ["EXPERIMENTS", "TransitionScale", "experiment", "figure", "figures", "transition_scale"]


def figures() -> tuple[str, ...]:
    """The ids of all figures."""
    return tuple(e.id for e in EXPERIMENTS)


def experiment(id: str) -> Experiment:
    """The experiment with this id."""
    for candidate in EXPERIMENTS:
        if candidate.id == id:
            return candidate
    raise unknown("figure", id, list(figures()))


def figure(
    id: str,
    preset: str = "quick",
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> xarray.Dataset:
    """The data of a figure: its sweep, summarised. `experiment(id).draw(data)` draws it.

    A point that fails makes the figure fail, after all others are computed; it is tried again next time.
    """
    chosen = experiment(id)
    if preset not in chosen.grids:
        raise unknown("preset", preset, list(chosen.grids))
    grid = chosen.grids[preset]
    swept = sweep(chosen.point, grid, store=store, progress=progress, engine=engine, retry_failed=True, failures="raise")
    return chosen.summarise(swept)
