"""Extremal vectors around the circle, and paths of ReLU networks from saddle to saddle."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.look import COLOURS, MUTED, panels, titled
from ..flows.relu.saddle_sequence import ReluSaddlePath
from ..limits.neurons.extremal import ExtremalVectors

CIRCLE = 721
"""Directions at which G is drawn."""
MARKS = {1: ("^", COLOURS[0]), -1: ("v", COLOURS[1]), 0: ("o", MUTED)}
NAMES = {1: "positive neurons turn here", -1: "negative neurons turn here", 0: "nobody stays"}
KIND_COLOURS = {"saddle": COLOURS[0], "minimum": COLOURS[2], "spurious": COLOURS[1]}


def extremal_picture(found: ExtremalVectors) -> Any:
    """G around the circle where inputs are in the plane, with its critical points; else their
    growth, one by one."""
    figure, (axis,) = panels(1, height=3.5, width=5.6)
    axis.set_title("", loc="left")
    plane = found.data.d == 2
    if plane:
        angle = np.linspace(-180, 180, CIRCLE)
        u = np.stack([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))], axis=1)
        axis.plot(angle, np.maximum(u @ found.data.X.T, 0.0) @ found.weights, color="black", lw=1)
        places = np.rad2deg(np.arctan2(found.directions[:, 1], found.directions[:, 0]))
        axis.set(xlabel="direction u (degrees)", xticks=range(-180, 181, 90))
    else:
        places = np.arange(len(found), dtype=float)
        axis.set(xlabel="extremal vectors, the largest first")
    for sign, (marker, colour) in MARKS.items():
        own = found.attracts == sign
        if np.any(own):
            axis.plot(places[own], found.growth[own], marker, color=colour, label=NAMES[sign])
    axis.axhline(0.0, color=MUTED, lw=0.6)
    axis.set(ylabel="G(u)")
    titled(axis, f"{len(found)} extremal vectors")
    if len(found):
        axis.legend(fontsize=7.5, frameon=False)
    return figure


def draw_path(axis: Any, path: ReluSaddlePath, until: float, label: str = "the path") -> None:
    """The loss of a path against τ, its stops marked by what they are."""
    times, losses = np.append(path.times, until), np.append(path.losses, path.losses[-1])
    axis.step(times, losses, where="post", color=MUTED, alpha=0.45, lw=5, label=label)
    for saddle, end in zip(path.saddles, times[1:], strict=True):
        colour = KIND_COLOURS.get(saddle.kind, MUTED)
        axis.plot((saddle.time + end) / 2, saddle.loss, "o", color=colour, ms=5, zorder=3)
        axis.annotate(
            saddle.kind,
            ((saddle.time + end) / 2, saddle.loss),
            (0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=colour,
        )


def relu_path_picture(path: ReluSaddlePath) -> Any:
    """The loss against τ, and the neurons that each cluster adds to."""
    figure, (loss, growth) = panels(2, height=3.4, width=4.9)
    until = 1.25 * float(path.times[-1]) if path.times[-1] > 0 else 1.0
    draw_path(loss, path, until)
    loss.set(xlabel="τ = t/log(1/λ)", ylabel="loss", ylim=(None, 1.15 * path.losses[0]))
    titled(loss, f"{len(path.saddles) - 1} jumps")
    place = np.arange(len(path.saddles))
    growth.plot(place, [s.growth.lower for s in path.saddles], "o", mfc="none", color="black")
    growth.plot(place, [s.rate for s in path.saddles], "x", color=COLOURS[0])
    growth.plot([], [], "o", mfc="none", color="black", label="of any neuron")
    growth.plot([], [], "x", color=COLOURS[0], label="of those that leave")
    growth.set(xlabel="stop", ylabel="largest growth rate", xticks=place)
    growth.legend(fontsize=7.5, frameon=False)
    titled(growth, "spurious: one could leave, and none does")
    return figure
