"""Drawings as PNG bytes, without a screen."""

from __future__ import annotations

import io
import sys
from typing import Any

DPI = 150


def file_name(id: str) -> str:
    """W/fig1 → W-fig1.png."""
    return f"{id.replace('/', '-')}.png"


def headless() -> None:
    """Choose the Agg backend, unless the caller already draws with pyplot."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")


def png(figure: Any) -> bytes:
    """The figure as PNG; it is closed if pyplot holds it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": "biasflow"})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    return buffer.getvalue()
