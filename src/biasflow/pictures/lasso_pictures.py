"""Averages of a flow, drawn as a Lasso path is."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.look import COLOURS, MUTED, panels, titled
from ..diagnostics.lasso_gaps import LassoGap

MOST_CURVES = 12
"""Coordinates that are drawn: the largest at the end."""
FLOOR = 1e-16
"""Gap over objective below which there is only rounding."""


def lasso_picture(found: LassoGap) -> Any:
    """The averages against 1/λ, and how far from optimal they are at most."""
    figure, (path, gap) = panels(2, height=3.5, width=4.9)
    inverse = 1 / np.where(found.penalty > 0, found.penalty, np.nan)
    order = np.argsort(-np.abs(found.mean[-1]), kind="stable")[:MOST_CURVES]
    for place, k in enumerate(order):
        colour = COLOURS[place] if place < len(COLOURS) else MUTED
        label = f"β̄{k}" if place < len(COLOURS) and found.mean[-1, k] != 0 else None
        path.plot(inverse, found.mean[:, k], color=colour, linewidth=1.4, label=label)
    path.set(xlabel="1/λ, about the training time", ylabel="averages over training", xscale="log")
    titled(path, "each nearly a Lasso solution")
    if path.get_legend_handles_labels()[0]:
        path.legend(fontsize=7.5, frameon=False)
    gap.plot(inverse, np.maximum(found.relative, FLOOR), color="black", linewidth=1.6)
    gap.set(xlabel="1/λ", ylabel="gap / objective", xscale="log", yscale="log")
    titled(gap, f"above the optimum by {np.max(found.relative):.2g} of it at most")
    return figure
