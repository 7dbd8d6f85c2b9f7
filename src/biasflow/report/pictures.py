"""Drawings as PNG bytes and animations as GIF bytes, without a screen."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

DPI = 150
MOVIE_DPI = 80
FRAMES_A_SECOND = 6


def file_name(id: str) -> str:
    """W/fig1 → W-fig1.png."""
    return f"{id.replace('/', '-')}.png"


def movie_name(path: Path) -> Path:
    """Where the animation lies beside a picture: W-fig1.png → W-fig1.gif."""
    return path.with_suffix(".gif")


def headless() -> None:
    """Choose the Agg backend, unless the caller already draws with pyplot."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")


def png(figure: Any) -> bytes:
    """The figure as PNG; it is closed if pyplot holds it."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": "biasflow"}
    )
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return buffer.getvalue()


def gif(animation: Any) -> bytes:
    """A matplotlib animation as a GIF that repeats for ever."""
    from matplotlib.animation import PillowWriter

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "movie.gif"
        animation.save(path, writer=PillowWriter(fps=FRAMES_A_SECOND), dpi=MOVIE_DPI)
        return path.read_bytes()
