"""One look for all figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import Array

COLOURS = ("#2460d8", "#b5330f", "#1ec18e", "#a93d9b", "#d9a51e", "#333333")
"""Blue, red, green, purple, amber, black: readers without red or green cones see them ten
noticeable differences apart."""
MUTED = "#6e6e6e"
MARK = "#8a6400"
"""Amber dark enough for small print: what a paper says, beside our curves."""
GOOD, FAIR, BAD, NEUTRAL, LINE = ACCENTS = ("#1f9d61", "#d18a00", "#d64545", "#8a8a8a", "#4a7fe0")
"""Accents of notebooks, whose background is the reader's: in the middle of the scale, with a
contrast near three to black and to white; what is read is written in the page's own colour."""


def panels(
    count: int, height: float = 3.4, width: float = 4.4, rows: int = 1, run_on: bool = False
) -> tuple[Any, list[Any]]:
    """A figure with panels side by side, lettered; further rows have the same letters, or run
    on."""
    from matplotlib import rc_context

    from .shown_figures import ShownFigure

    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
        }
    ):
        figure = ShownFigure(figsize=(width * count, height * rows), layout="constrained")
        axes = list(np.ravel(figure.subplots(rows, count)))
    letters = "abcdefgh" if run_on else "abcdefgh"[:count] * rows
    for letter, axis in zip(letters, axes, strict=False):
        axis.set_title(f"({letter})", loc="left", fontsize=10, fontweight="bold")
    return figure, axes


def band(axis: Any, x: Array, samples: Array, colour: str, label: str, **line: Any) -> None:
    """Median over the last axis with the 10–90% band."""
    known = np.any(np.isfinite(samples), axis=-1)
    x, samples = x[known], samples[known]
    low, middle, high = np.nanquantile(samples, [0.1, 0.5, 0.9], axis=-1)
    axis.plot(x, middle, color=colour, label=label, **line)
    axis.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def titled(axis: Any, text: str) -> None:
    """What the panel shows, beside its letter."""
    axis.set_title(text, fontsize=9.5)
