"""A direction by log-norm, and what its margin lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.look import COLOURS, MUTED, panels, titled

MOST_CURVES = 12
"""Coordinates that are drawn: the largest at the end."""
FLOOR = 1e-12
"""Share of the margin below which there is only rounding."""


def direction_picture(path: Any) -> Any:
    """Entries of β/‖β‖₁ and 1 − margin/γ against log Σ(w₊² + w₋²)."""
    figure, (entries, deficit) = panels(2, height=3.5, width=4.9)
    order = np.argsort(-np.abs(path.directions[-1]), kind="stable")[:MOST_CURVES]
    moved = np.any(path.directions != 0, axis=1)
    x = path.log_norm[moved] - path.log_norm[0]
    for place, k in enumerate(order):
        named = place < len(COLOURS) and abs(path.directions[-1, k]) > 1e-3
        colour = COLOURS[place] if place < len(COLOURS) else MUTED
        label = f"β{k}" if named else None
        entries.plot(x, path.directions[moved, k], color=colour, linewidth=1.4, label=label)
    words = "log-norm less its start"
    entries.set(xlabel=words, ylabel="β/‖β‖₁", xscale="symlog")
    titled(entries, "the direction")
    if entries.get_legend_handles_labels()[0]:
        entries.legend(fontsize=7.5, frameon=False)
    lacking = np.maximum(1 - path.margin[moved] / path.best, FLOOR)
    deficit.plot(x, lacking, color="black", linewidth=1.6)
    deficit.set(xlabel=words, ylabel="1 − margin/γ", xscale="symlog", yscale="log")
    titled(deficit, f"its margin, {path.margin[-1] / path.best:.4f} of the largest at the end")
    return figure
