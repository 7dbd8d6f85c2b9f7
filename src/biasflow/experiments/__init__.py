"""The papers' figures, each a sweep that is summarised and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.offers import Register
from ..errors import unknown
from ..sweeps import Store, sweep
from . import margin, mirror, regimes, relu
from .experiment import Experiment, Reading, Reported

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from ..sweeps import Engine, Progress

EXPERIMENTS: tuple[Experiment, ...] = (
    *mirror.EXPERIMENTS,
    *regimes.EXPERIMENTS,
    *relu.EXPERIMENTS,
    *margin.EXPERIMENTS,
)

__all__ = [
    "EXPERIMENTS",
    "REGISTER",
    "Experiment",
    "Reading",
    "Reported",
    "draw",
    "experiment",
    "figure",
    "figures",
]


REGISTER = Register("figure", "biasflow.figures", Experiment, EXPERIMENTS)


def figures() -> tuple[str, ...]:
    """The ids of all figures: the papers', then those that other packages offer
    (`biasflow._core.offers`)."""
    return REGISTER.ids


def experiment(id: str) -> Experiment:
    """The experiment with this id."""
    return REGISTER.offer(id).value


def figure(
    id: str | Experiment,
    preset: str = "quick",
    store: Store | None = None,
    progress: Progress | bool | None = None,
    engine: Engine | None = None,
) -> xarray.Dataset:
    """The data of a figure: its sweep, summarised. `draw` gives the picture.

    id: of a figure that `figures()` lists, or an `Experiment` of your own.
    A point that fails makes the figure fail, after all others are computed; it is tried again next
    time.
    """
    chosen = id if isinstance(id, Experiment) else experiment(id)
    if preset not in chosen.grids:
        raise unknown("preset", preset, list(chosen.grids))
    grid = chosen.grids[preset]
    swept = sweep(
        chosen.point,
        grid,
        store=store,
        progress=progress,
        engine=engine,
        retry_failed=True,
        failures="raise",
    )
    return chosen.summarise(swept)


def draw(
    id: str | Experiment,
    preset: str = "quick",
    store: Store | None = None,
    progress: Progress | bool | None = None,
    engine: Engine | None = None,
) -> Figure:
    """The picture of a figure, as a matplotlib figure: `draw("W/fig1").savefig("mine.pdf")`. What
    is computed for it, and how, is as in `figure`."""
    chosen = id if isinstance(id, Experiment) else experiment(id)
    drawn: Figure = chosen.draw(figure(chosen, preset, store, progress, engine))
    return drawn
