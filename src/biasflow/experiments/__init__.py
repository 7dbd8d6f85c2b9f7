"""The papers' figures, each a sweep that is summarised and drawn."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ..errors import unknown
from ..offers import Offer, offers
from ..records import Experiment
from ..run import Store, sweep
from . import margin, mirror, regimes, relu
from .transition import TransitionScale, transition_scale

if TYPE_CHECKING:
    import xarray

    from ..run import Engine, Progress

EXPERIMENTS: tuple[Experiment, ...] = (*mirror.EXPERIMENTS, *regimes.EXPERIMENTS, *relu.EXPERIMENTS, *margin.EXPERIMENTS)

__all__ = ["EXPERIMENTS", "TransitionScale", "experiment", "experiment_source", "figure", "figures", "transition_scale"]


OWN = "biasflow"


def figures() -> tuple[str, ...]:
    """The ids of all figures: the papers', then those that other packages offer (`biasflow.offers`)."""
    return tuple(_register())


def experiment(id: str) -> Experiment:
    """The experiment with this id."""
    if not isinstance(id, str) or id not in _register():
        raise unknown("figure", id, list(figures()))
    return _register()[id].value


def experiment_source(id: str) -> str:
    """The package that a figure comes from: 'biasflow' for the papers' own, else its name and version."""
    experiment(id)
    return _register()[id].source


@functools.cache
def _register() -> dict[str, Offer[Experiment]]:
    own = {one.id: Offer(one, OWN) for one in EXPERIMENTS}
    return own | {offer.value.id: offer for offer in offers("biasflow.figures", Experiment, own)}


def figure(
    id: str | Experiment,
    preset: str = "quick",
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> xarray.Dataset:
    """The data of a figure: its sweep, summarised. `experiment(id).draw(data)` draws it.

    id: of a figure that `figures()` lists, or an `Experiment` of your own.
    A point that fails makes the figure fail, after all others are computed; it is tried again next time.
    """
    chosen = id if isinstance(id, Experiment) else experiment(id)
    if preset not in chosen.grids:
        raise unknown("preset", preset, list(chosen.grids))
    grid = chosen.grids[preset]
    swept = sweep(chosen.point, grid, store=store, progress=progress, engine=engine, retry_failed=True, failures="raise")
    return chosen.summarise(swept)
