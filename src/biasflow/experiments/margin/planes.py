"""Classifiers on C's square: where they are evaluated, how far apart they are, and how they are
drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED

TICKS = np.linspace(-0.5, 0.5, 121)
"""Coordinates of the grid on the square that holds the data."""
SQUARE = np.stack(np.meshgrid(TICKS, TICKS), axis=-1).reshape(-1, 2)
CLASSES = ((1.0, "class +1", COLOURS[0], "o"), (-1.0, "class −1", COLOURS[1], "s"))
Boundary = tuple[Array, str, str, float]
"""Values on the square, colour, line style and width of the line where they change sign."""


def on_square(classifier: Any) -> Array:
    """The values of a classifier of inputs without the bias column: row by row of the square, (121,
    121)."""
    return np.reshape(classifier(SQUARE), (TICKS.size, TICKS.size))


def angle(values: Array, other: Array) -> float:
    """Angle of two functions on the square in L², degrees: zero iff they are the same classifier up
    to a positive factor."""
    f, g = values / np.linalg.norm(values), other / np.linalg.norm(other)
    return float(np.rad2deg(2 * np.arctan2(np.linalg.norm(f - g), np.linalg.norm(f + g))))


def plane_panel(
    axis: Any,
    inputs: Array,
    labels: Array,
    boundaries: Sequence[Boundary],
    shade: Array | None = None,
) -> None:
    """The samples, lines where classifiers change sign, and the two sides of one of them."""
    if shade is not None:
        axis.contourf(
            TICKS, TICKS, np.sign(shade), [-2, 0, 2], colors=[COLOURS[1], COLOURS[0]], alpha=0.1
        )
    for values, colour, style, width in boundaries:
        axis.contour(
            TICKS, TICKS, values, [0.0], colors=[colour], linestyles=[style], linewidths=[width]
        )
    for label, _, colour, marker in CLASSES:
        chosen = labels == label
        axis.plot(
            *inputs[chosen].T, marker, color=colour, markersize=3.2, alpha=0.85, markeredgewidth=0
        )
    axis.set(xlim=(-0.5, 0.5), ylim=(-0.5, 0.5), xticks=[], yticks=[], aspect="equal")
    axis.grid(False)
    for spine in axis.spines.values():
        spine.set(visible=True, color=MUTED, linewidth=0.6)


def stacked(columns: int, width: float, height: float, ratio: float) -> tuple[Any, Any, Any]:
    """Two rows of square panels, and two wide panels below, `ratio` times as high, that do not push
    them apart."""
    from matplotlib import rc_context

    from ..._core.shown_figures import ShownFigure

    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
        }
    ):
        figure: Any = ShownFigure(figsize=(width, height), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=[1.0, ratio])
        return figure, upper.subplots(2, columns, squeeze=False), lower.subplots(1, 2)


def legend(figure: Any, lines: Sequence[tuple[str, str, Any, float]], **options: Any) -> None:
    """One legend for all panels, below them: lines (label, colour, style, width), and the two
    classes."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, linestyle=style, linewidth=width, label=label)
        for label, colour, style, width in lines
    ]
    handles += [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=label)
        for _, label, colour, marker in CLASSES
    ]
    figure.legend(handles=handles, loc="outside lower center", frameon=False, **options)
