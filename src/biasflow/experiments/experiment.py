"""A figure as a record: its sweep, summary and drawing, and the numbers a paper reports of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._core.facts import record_line
from ..sweeps.grids import Grid
from ..sweeps.store import Store

if TYPE_CHECKING:
    import xarray


PLOT_READING = 0.01
"""A printed plot is read to about 1% of its axis: the width of a line."""


@dataclass(frozen=True)
class Reading:
    """A number of a paper, known up to ±within, and how it was read."""

    value: float
    within: float
    how: str

    @classmethod
    def exact(cls, value: float) -> Reading:
        """What the paper states or proves without rounding."""
        return cls(value, 0.0, "exact")

    @classmethod
    def printed(cls, text: str) -> Reading:
        """A rounded number as it is printed, such as "6.2e-2": half a unit of its last digit."""
        digits, _, power = text.partition("e")
        decimals = len(digits.partition(".")[2])
        within = 0.5 * 10.0 ** (int(power or 0) - decimals)
        count = len(digits.replace(".", "").lstrip("0"))
        return cls(float(text), within, f"printed to {count} digit{'' if count == 1 else 's'}")

    @classmethod
    def rounded(cls, value: float, to: float) -> Reading:
        """A round number of the text: half of what it is rounded to."""
        return cls(value, to / 2, f"in round numbers, to {to:g}")

    @classmethod
    def plot(cls, value: float, axis: float) -> Reading:
        """What a plot shows, whose axis is this long."""
        return cls(value, PLOT_READING * axis, "read off a plot")


@dataclass(frozen=True)
class Reported:
    """A number that a paper gives, to be compared with ours.

    source: where, with the paper's words. runs: how many random runs the paper's number is the mean
    of; None where it is said of every run. relation: "==", or "<=" and ">=" where the paper says at
    most or at least.
    why: what explains a difference, or that we do not know; shown where there is one.
    incomparable: why the two cannot be compared, where they cannot.
    chosen: what the paper leaves open and we chose so that numbers of the same run fit, this one
    among them; such numbers are counted apart.
    """

    name: str
    reading: Reading
    source: str
    runs: int | None = 1
    relation: str = "=="
    why: str = ""
    incomparable: str = ""
    chosen: str = ""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A figure of a paper as a sweep: `point(**setting)` at every point of a grid, summarised,
    drawn.

    grids: at least 'quick' and 'paper'. summarise(data) -> dataset whose attributes hold the
    reported numbers by name (`experiments.telling`). draw(summary) -> matplotlib figure. alt: the
    picture in words, for readers who do not see it. ship(grid, store, folder, time_s, tell) ->
    the files of results that travel with the package, made from the points up; told sentences.
    """

    id: str
    caption: str
    grids: Mapping[str, Grid]
    point: Callable[..., xarray.Dataset]
    summarise: Callable[[xarray.Dataset], xarray.Dataset]
    draw: Callable[[xarray.Dataset], Any]
    reported: tuple[Reported, ...] = ()
    animate: Callable[[xarray.Dataset], Any] | None = None
    alt: str = ""
    ship: Callable[[Grid, Store, Path, float | None, Callable[[str], None]], list[Path]] | None = (
        None
    )

    def __repr__(self) -> str:
        return record_line(self)
