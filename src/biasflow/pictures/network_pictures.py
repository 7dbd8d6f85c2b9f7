"""A certified network: how its samples lie above the margin, and the steps to the largest one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.look import COLOURS, MUTED, panels, titled
from ..diagnostics import NetworkCertificate

STEPS = ("network", "balanced", "best masses", "one neuron more", "largest")


def network_picture(found: NetworkCertificate) -> Any:
    """Margins in rising order; and, of two layers, the margins that convex steps would reach."""
    count = 1 if found.best is None else 2
    figure, drawn = panels(count, height=3.5, width=4.9)
    axes = np.ravel(drawn)
    _samples(axes[0], found)
    if found.best is not None:
        _ladder(axes[1], found)
    return figure


def _samples(axis: Any, found: NetworkCertificate) -> None:
    order = np.argsort(found.margins)
    heights = found.margins[order]
    place = np.arange(1, heights.size + 1)
    axis.plot(place, heights, ".", color=MUTED, label="samples")
    if found.kkt is not None and found.kkt.multipliers.size == heights.size:
        carries = np.isin(order, found.kkt.support)
        axis.plot(place[carries], heights[carries], "o", color=COLOURS[0], label="carry the margin")
    if np.any(heights <= 0):
        wrong = heights <= 0
        axis.plot(place[wrong], heights[wrong], "x", color=COLOURS[1], label="misclassified")
    if found.best is not None:
        axis.axhline(found.best.upper, color="black", linewidth=1, label="largest margin γ₁")
    axis.axhline(0, color=MUTED, linewidth=0.8)
    power = f"{found.homogeneity.degree:.3g}"
    axis.set(xlabel="samples, by their margin", ylabel=f"y·f/‖θ‖^{power}")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(fontsize=7.5)
    titled(axis, found.verdict)


def _ladder(axis: Any, found: NetworkCertificate) -> None:
    best = found.best
    assert best is not None
    factor = found.margin / found.polish.own if found.polish and found.polish.own else 1.0
    polish = found.polish
    steps: list[float] = [found.margin]
    names = [STEPS[0], STEPS[-1]]
    if polish is not None:
        steps += [factor * polish.balanced, factor * polish.masses, factor * polish.neuron]
        names = list(STEPS)
    shares = np.array([*steps, best.lower]) / best.upper
    axis.barh(np.arange(shares.size), shares, color=[COLOURS[0], *[MUTED] * (shares.size - 1)])
    for k, share in enumerate(shares):
        axis.text(max(share, 0.0) + 0.01, k, f"{share:.3f}", va="center", fontsize=8)
    axis.set_yticks(np.arange(shares.size), names)
    axis.invert_yaxis()
    axis.set(xlabel="fraction of γ₁", xlim=(min(0.0, 1.1 * float(np.min(shares))), 1.15))
    titled(axis, "what convex steps would gain")
