"""Sheets of panels, animations whose layout stays put, and how these are written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOVIE_DPI = 80
FRAMES_A_SECOND = 6
LAST_FRAME_REPEATS = 8
"""How often the last frame is shown, so that the end can be read."""


def sheet(
    rows: Any, width: float, height: float, ratios: list[float] | None = None
) -> tuple[Any, dict[str, Any]]:
    """A figure with named panels, laid out like the rows (lists) of names; a name that repeats
    spans its places."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
        }
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplot_mosaic(rows, height_ratios=ratios)
    return figure, axes


def movie(figure: Any, show: Callable[[int], None], frames: int) -> Any:
    """A matplotlib animation that calls show(k) for every frame, the last one for a while."""
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    show(frames - 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the panels stay where the last frame puts them
    order = [*range(frames), *[frames - 1] * LAST_FRAME_REPEATS]

    def draw(k: int) -> list[Any]:
        show(k)
        return []

    return FuncAnimation(
        figure, draw, frames=order, interval=1000 / FRAMES_A_SECOND, blit=False, repeat=True
    )


def gif(animation: Any) -> bytes:
    """A matplotlib animation as a GIF that repeats for ever."""
    from matplotlib.animation import PillowWriter

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "movie.gif"
        animation.save(path, writer=PillowWriter(fps=FRAMES_A_SECOND), dpi=MOVIE_DPI)
        return path.read_bytes()
