"""Sheets of panels, animations whose layout stays put, and how these are written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
    """A matplotlib animation that calls show(k) for every frame; how long the last one stays is
    its attribute `last_frame_repeats`."""
    from matplotlib.animation import FuncAnimation
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    show(frames - 1)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the panels stay where the last frame puts them

    def draw(k: int) -> list[Any]:
        show(k)
        return []

    made: Any = FuncAnimation(
        figure, draw, frames=frames, interval=1000 / FRAMES_A_SECOND, blit=False, repeat=True
    )
    made.last_frame_repeats = LAST_FRAME_REPEATS
    return made


def gif(animation: Any) -> bytes:
    """A matplotlib animation as a GIF that repeats for ever. Its attribute `last_frame_repeats`, if
    it has one, says for how many frames more the last one stays."""
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    class Drawn(PillowWriter):
        """Takes frames as the animation draws them, where `savefig` draws each twice more."""

        _frames: list[Any]

        def setup(self, fig: Any, outfile: Any, dpi: float | None = None) -> None:
            super().setup(fig, outfile, dpi)
            if type(fig.canvas) is not FigureCanvasAgg:  # others may draw later
                FigureCanvasAgg(fig)
            fig.set_dpi(self.dpi)

        def grab_frame(self, **options: Any) -> None:
            canvas: Any = self.fig.canvas
            pixels = np.asarray(canvas.buffer_rgba())
            self._frames.append(Image.fromarray(pixels[..., :3]))

        def finish(self) -> None:
            stays = [1] * len(self._frames)
            stays[-1] += getattr(animation, "last_frame_repeats", 0)
            first, *others = self._frames
            durations = [stay * 1000 // FRAMES_A_SECOND for stay in stays]
            first.save(
                self.outfile, save_all=True, append_images=others, duration=durations, loop=0
            )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "movie.gif"
        animation.save(path, writer=Drawn(fps=FRAMES_A_SECOND), dpi=MOVIE_DPI)
        return path.read_bytes()
