"""Networks on a line, and in the plane (w, bias): the function with its kinks, and the neurons.

A panel is drawn once and hands back `show(k)`, which moves what moves to frame k: stills and
animations are the same pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, Mask
from .._core.look import COLOURS, MUTED

Show = Callable[[int], None]
Overlays = Sequence[tuple[Array, str, str, str]]
"""Reference functions on the grid: values, label, colour, line style."""
EVERY = slice(None)

SIGNS = ((1, "neurons with a > 0", COLOURS[0]), (-1, "neurons with a < 0", COLOURS[1]))
FUNCTION = COLOURS[2]
STAR: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "markersize": 9,
    "markeredgecolor": "white",
    "markeredgewidth": 0.4,
}
RING: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 10,
    "markerfacecolor": "none",
}
INNER_RADIUS = 0.15
"""Radius of the smallest neuron in the plane."""
SMALLEST_SHOWN = 1e-8
"""Norm, over the largest, below which neurons of a start are drawn on the inmost circle."""
TINY = float(np.finfo(float).tiny)
MOST_GATES = 40
"""Inputs whose gates are drawn in the plane: more lines would cover the neurons."""
WIDE_RANGE = 1e2
"""Ratio of norms above which the plane has a logarithmic radius."""
OUTER_TEXT = {"fontsize": 6.5, "color": MUTED, "ha": "center", "va": "center"}


@dataclass(frozen=True, eq=False)
class LineFrames:
    """A network of inputs (x, 1), or of inputs in the plane, at the frames of a film.

    inputs, labels: (n,), of inputs in the plane (n, 2) and (n,); x: where functions are drawn, with
    functions (frames, x) there; a (frames, m), W (frames, m, 2), pinned (frames, m): whether a
    neuron slides. directions (m, 2): where early alignment turns each neuron, zero where it is not
    known.
    """

    inputs: Array
    labels: Array
    x: Array
    functions: Array
    a: Array
    W: Array
    pinned: Mask
    directions: Array


def function_panel(
    axis: Any, run: LineFrames, overlays: Overlays = (), room: slice = EVERY
) -> Show:
    """h against x with the data, and each neuron as a star at its kink −bias/w, as high as a (B,
    figs. 2, 4, 5).

    room: the frames for which the panel has room.
    """
    x, y = run.inputs, run.labels
    for values, label, colour, style in overlays:
        axis.plot(run.x, values, color=colour, linestyle=style, linewidth=1.4, label=label)
    (line,) = axis.plot([], [], color=FUNCTION, linewidth=2, label="function h")
    axis.plot(x, y, "o", color="black", markersize=5.5, zorder=5, label="data")
    drawn = {
        sign: axis.plot([], [], color=colour, zorder=4, label=label, **STAR)[0]
        for sign, label, colour in SIGNS
    }
    (pinned,) = axis.plot([], [], color=COLOURS[4], zorder=6, **RING)
    margin = 0.28 * np.ptp(x)
    axis.set(
        xlim=(np.min(x) - margin, np.max(x) + margin),
        ylim=_heights(run, room),
        xlabel="x",
    )

    def show(k: int) -> None:
        a, W = run.a[k], run.W[k]
        line.set_data(run.x, run.functions[k])
        with np.errstate(divide="ignore", invalid="ignore"):
            kink = -W[:, 1] / W[:, 0]
        for sign, artist in drawn.items():
            artist.set_data(kink[a * sign > 0], a[a * sign > 0])
        rings = run.pinned[k]
        pinned.set_data(kink[rings], a[rings])

    return show


def _heights(run: LineFrames, room: slice) -> tuple[float, float]:
    """Room for the labels, the functions where the data are, and the neurons."""
    between = (run.x >= np.min(run.inputs)) & (run.x <= np.max(run.inputs))
    values = [run.labels, run.functions[room][:, between].ravel(), run.a[room].ravel()]
    least, most = min(map(np.min, values)), max(map(np.max, values))
    pad = 0.1 * (most - least)
    return float(least - pad), float(most + pad)


def plane_panel(axis: Any, run: LineFrames, targets: bool = True) -> Show:
    """Each neuron in the plane (w, bias); the radius is log‖w‖ where norms grow by decades, else
    ‖w‖."""
    W, on_line = run.W, run.inputs.ndim == 1
    norms = np.linalg.norm(W, axis=2)
    high = float(np.max(norms)) or 1.0
    low = max(float(np.min(norms[0])), SMALLEST_SHOWN * high)
    logarithmic = high > WIDE_RANGE * low
    axis.set(
        aspect="equal",
        xlim=(-1.12, 1.12),
        ylim=(-1.12, 1.12),
        xticks=[],
        yticks=[],
        xlabel="w" if on_line else "w₁",
        ylabel="bias" if on_line else "w₂",
    )
    axis.grid(False)
    axis.spines[:].set_visible(False)
    rows = np.column_stack([run.inputs, np.ones_like(run.inputs)]) if on_line else run.inputs
    for k, (first, second) in enumerate(rows[:MOST_GATES]):
        along = np.array([second, -first]) / max(np.hypot(first, second), TINY)  # ⟨w, x⟩ = 0
        label = "gates switch: ⟨w, x⟩ = 0" if k == 0 else None
        axis.plot(
            *np.outer([-1.1, 1.1], along).T, color=MUTED, linewidth=0.8, linestyle=":", label=label
        )
    _circles(axis, low, high, logarithmic)
    if targets:
        _rays(axis, run)
    else:
        start, end = (_place(W[k], low, high, logarithmic) for k in (0, -1))
        axis.plot(*np.stack([start, end], axis=1).T, color=MUTED, linewidth=0.7)
        axis.plot(
            *start.T,
            "o",
            color=MUTED,
            markersize=5,
            markerfacecolor="none",
            label="start, and the way to the end",
        )
    drawn = {
        sign: axis.plot([], [], color=colour, zorder=4, **STAR)[0] for sign, _, colour in SIGNS
    }
    label = "slides: a gate stays at zero" if np.any(run.pinned) else None
    (pinned,) = axis.plot([], [], color=COLOURS[4], zorder=5, label=label, **RING)

    def show(k: int) -> None:
        a, place = run.a[k], _place(W[k], low, high, logarithmic)
        for sign, artist in drawn.items():
            artist.set_data(*place[a * sign > 0].T)
        pinned.set_data(*place[run.pinned[k]].T)

    return show


def _place(W: Array, low: float, high: float, logarithmic: bool) -> Array:
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    share = (
        np.log(np.maximum(norms, low) / low) / np.log(high / low) if logarithmic else norms / high
    )
    place: Array = (
        W
        / np.maximum(norms, TINY)
        * (INNER_RADIUS + (1 - INNER_RADIUS) * np.clip(share, 0, 1) if logarithmic else share)
    )
    return place


def _circles(axis: Any, low: float, high: float, logarithmic: bool) -> None:
    if not logarithmic:
        return
    decades = np.arange(np.ceil(np.log10(low)) + 1, np.floor(np.log10(high)) + 1)
    turn = np.linspace(0, 2 * np.pi, 121)
    for decade in decades[:: max(1, len(decades) // 2)]:
        radius = INNER_RADIUS + (1 - INNER_RADIUS) * np.log(10.0**decade / low) / np.log(high / low)
        axis.plot(
            radius * np.cos(turn), radius * np.sin(turn), color=MUTED, linewidth=0.5, alpha=0.6
        )
        axis.text(
            0,
            -radius,
            f"1e{decade:.0f}",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
            **OUTER_TEXT,
        )


def _rays(axis: Any, run: LineFrames) -> None:
    """Where early alignment turns neurons, with the colour of their sign."""
    outputs = np.where(run.a[0] != 0, run.a[0], run.a[-1])  # zero where below float range
    for sign, _, colour in SIGNS:
        chosen = (np.sign(outputs) == sign) & np.any(run.directions != 0, axis=1)
        for u in np.unique(np.round(run.directions[chosen], 6), axis=0):
            axis.plot(
                [0, 1.08 * u[0]],
                [0, 1.08 * u[1]],
                color=colour,
                linewidth=4,
                alpha=0.22,
                solid_capstyle="butt",
            )


def legend_below(figure: Any, *axes: Any, **options: Any) -> None:
    """One legend for several panels, below them."""
    labelled = [
        pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)
    ]
    handles, labels = zip(*labelled, strict=True)
    figure.legend(handles, labels, loc="outside lower center", frameon=False, **options)
