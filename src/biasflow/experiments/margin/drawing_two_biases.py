"""Drawing of C/fig3: the classifier over time between two max margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, titled
from ...pictures.movies import movie, sheet
from .planes import legend, plane_panel, stacked

if TYPE_CHECKING:
    import xarray

F1, TANGENT = COLOURS[2], COLOURS[3]
LINES = (
    ("trained network", "black", "solid", 1.5),
    ("tangent-kernel max margin", TANGENT, "dashed", 1.6),
    ("F1 max margin", F1, "dashed", 1.6),
)
LAZY_CHANGE = 0.1
"""Relative change of the weights up to which the network is compared with its linearisation."""
MOST_FRAMES = 24
"""Most frames of the animation."""
LETTERS = "abcdef"
STYLES = (("-", 2.0), ("--", 1.3), (":", 1.3))
"""Lines of the starts, from the largest."""


def moments(run: xarray.Dataset) -> list[int]:
    """Six frames: two on the way to the tangent kernel, (c) nearest to it, two on the way to F1,
    the end."""
    nearest, last = int(np.argmin(run["angle_tangent"].values)), run.sizes["frame"] - 1
    before, after = np.linspace(nearest / 3, nearest, 3), np.linspace(nearest, last, 4)[1:]
    return [round(k) for k in (*before, *after)]


def classifier_panel(axis: Any, run: xarray.Dataset, k: int) -> None:
    lines = [
        (run[name].values, *line[1:])
        for name, line in zip(("tangent", "f1"), LINES[1:], strict=True)
    ]
    values = run["function"].isel(frame=k).values
    plane_panel(
        axis, run["input"].values, run["label"].values, [*lines, (values, *LINES[0][1:])], values
    )
    angles = (float(run[name][k]) for name in ("angle_tangent", "angle_f1"))
    axis.set_xlabel("{:.1f}° from the kernel's\n{:.1f}° from F1's".format(*angles), fontsize=8.5)


def draw(summary: xarray.Dataset) -> Any:
    """The first training set: C's start above, the largest below it, and what all of them do over
    time."""
    first = summary.sortby("sigma").isel(seed=0)
    runs = [first.isel(sigma=k) for k in range(first.sizes["sigma"])]
    figure, planes, (angles, margins) = stacked(len(LETTERS), 16, 10.2, 0.55)
    for row, run in zip(planes, (runs[0], runs[-1]), strict=True):
        for axis, letter, k in zip(row, LETTERS, moments(run), strict=True):
            classifier_panel(axis, run, k)
            axis.set_title(f"({letter})  t = {_short(run['time'].values[k])}", fontsize=10)
        row[0].set_ylabel(f"start σ = {float(run['sigma']):g}", fontsize=11)
    for run, (style, width) in zip(runs[::-1], STYLES, strict=False):
        _angles(angles, run, style, width)
        _margins(margins, run, style, width)
    for k in range(1, summary.sizes["seed"]):
        other = summary.sortby("sigma").isel(seed=k, sigma=-1)
        for name, colour in (("angle_tangent", TANGENT), ("angle_f1", F1)):
            angles.plot(other["time"], other[name], color=colour, linewidth=0.8, alpha=0.4)
    for axis in (angles, margins):
        _marks(axis, runs[-1])
    titled(
        angles,
        f"angle on the square to the two max margins; letters: σ = {float(runs[-1]['sigma']):g}",
    )
    titled(margins, "margins, in units of the largest possible in each norm")
    angles.legend(fontsize=8, loc="lower left", ncols=len(runs))
    margins.legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 0.95))
    legend(figure, LINES, ncols=5, fontsize=9)
    return figure


def _short(time: float) -> str:
    """Two digits, with a power of ten only where it saves many zeros."""
    return f"{float(f'{time:.2g}'):g}"


def _angles(axis: Any, run: xarray.Dataset, style: str, width: float) -> None:
    sigma = f"σ = {float(run['sigma']):g}"
    axis.plot(
        run["time"],
        run["angle_tangent"],
        color=TANGENT,
        linestyle=style,
        linewidth=width,
        label=f"kernel's, {sigma}",
    )
    axis.plot(
        run["time"],
        run["angle_f1"],
        color=F1,
        linestyle=style,
        linewidth=width,
        label=f"F1's, {sigma}",
    )
    axis.set(xscale="log", yscale="log", xlabel="time", ylabel="angle (degrees)", ylim=(0.2, 130))


def _margins(axis: Any, run: xarray.Dataset, style: str, width: float) -> None:
    labels: tuple[str | None, str | None] = (None, None)
    if style == STYLES[0][0]:
        lazy = (
            f"min y·h / ‖w − w₀‖, over the tangent kernel's γ; while ‖w − w₀‖ < {LAZY_CHANGE:g}‖w₀‖"
        )
        labels = (lazy, "min y·h / ‖w‖², over γ₁")
    few = run["tangent_margin"].where(run["moved"] < LAZY_CHANGE)
    for values, colour, label in zip((few, run["margin"]), (TANGENT, F1), labels, strict=True):
        axis.plot(run["time"], values, color=colour, linestyle=style, linewidth=width, label=label)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set(xscale="log", xlabel="time", ylabel="margin / largest", ylim=(-0.1, 1.55))


def _marks(axis: Any, run: xarray.Dataset) -> None:
    for letter, k in zip(LETTERS, moments(run), strict=True):
        at = float(run["time"][k])
        axis.axvline(at, color=MUTED, linewidth=0.8, linestyle=":")
        axis.annotate(
            letter,
            (at, 1),
            (0, -9),
            axis.get_xaxis_transform(),
            "offset points",
            ha="center",
            fontsize=9,
            color=MUTED,
        )


def animate(summary: xarray.Dataset) -> Any:
    """The classifier through the frames, and where it stands between the two max margins."""
    frames = np.unique(np.linspace(0, summary.sizes["frame"] - 1, MOST_FRAMES).round().astype(int))
    run = summary.isel(seed=0, sigma=int(np.argmax(summary["sigma"].values)), frame=frames)
    figure, axes = sheet([["plane", "angles"]], 8.6, 4.4)
    _angles(axes["angles"], run, "-", 1.8)
    axes["angles"].legend(fontsize=8, loc="lower left")
    mark = axes["angles"].axvline(float(run["time"][0]), color="black", linewidth=1)
    titled(axes["angles"], "angle to the two max margins")
    legend(figure, LINES, ncols=5, fontsize=7)

    def show(k: int) -> None:
        axes["plane"].clear()
        classifier_panel(axes["plane"], run, k)
        titled(axes["plane"], f"t = {_short(float(run['time'][k]))}")
        mark.set_xdata([float(run["time"][k])] * 2)

    return movie(figure, show, run.sizes["frame"])
