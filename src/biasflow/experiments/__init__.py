"""The papers' figures, each a sweep that is summarised and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.offers import Register
from ..errors import unknown
from ..sweeps import Store, sweep
from . import margin, mirror, regimes, relu, since
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
    *since.EXPERIMENTS,
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
    """The ids of all figures: the papers', then those that other packages offer.

    Returns
    -------
    tuple of str
        For `figure` and `experiments.draw`; `biasflow list` has them with their captions.

    Examples
    --------
    >>> bf.figures()[:3]
    ('R/fig1', 'R/fig2', 'R/fig3')
    """
    return REGISTER.ids


def experiment(id: str) -> Experiment:
    """The experiment with this id.

    Parameters
    ----------
    id : str

    Returns
    -------
    experiments.Experiment

    Raises
    ------
    UnknownNameError
        It suggests the nearest ids.

    Examples
    --------
    >>> sorted(bf.experiments.experiment("W/fig1").grids)
    ['paper', 'quick']
    """
    return REGISTER.offer(id).value


def figure(
    id: str | Experiment,
    preset: str = "quick",
    store: Store | None = None,
    progress: Progress | bool | None = None,
    engine: Engine | None = None,
) -> xarray.Dataset:
    """The data of a figure: its sweep, summarised. `experiments.draw` gives the picture.

    Parameters
    ----------
    id : str or experiments.Experiment
        One of `figures()`, or an experiment of your own.
    preset : {'quick', 'paper'}
        Which of its grids: up to a minute or two, or as large as the paper's.
    store : sweeps.Store, optional
        Points found there are not computed again, and new ones are kept; by default nothing is.
    progress : bool or callable, optional
        As for `sweep`.
    engine : sweeps.Engine, optional
        Where points are computed.

    Returns
    -------
    xarray.Dataset
        Its attributes hold the numbers that the paper reports, as we find them.

    Raises
    ------
    SweepError
        Of a point that fails, after all others are computed; it is tried again next time.

    Examples
    --------
    >>> found = bf.figure("R/fig1", progress=False)
    >>> sorted(found.data_vars), dict(found.sizes)
    (['exponent', 'value'], {'alpha': 7, 'x': 401})
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
    """The picture of a figure, as a matplotlib figure.

    Parameters
    ----------
    id, preset, store, progress, engine
        As for `figure`, which has the data.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> picture = bf.experiments.draw("R/fig1", progress=False)
    >>> from matplotlib.figure import Figure
    >>> isinstance(picture, Figure)
    True
    """
    chosen = id if isinstance(id, Experiment) else experiment(id)
    drawn: Figure = chosen.draw(figure(chosen, preset, store, progress, engine))
    return drawn
