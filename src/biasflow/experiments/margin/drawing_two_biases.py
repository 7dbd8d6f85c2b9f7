"""Drawing of C/fig3: the classifier over time between two max margins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..relu.movies import movie, sheet
from ..style import COLOURS, MUTED, titled
from .planes import legend, plane_panel

if TYPE_CHECKING:
    import xarray

F1, TANGENT = COLOURS[2], COLOURS[3]
LINES = (
    ("trained network", "black", "solid", 1.5),
    ("tangent-kernel max margin", TANGENT, "dashed", 1.6),
    ("F1 max margin", F1, "dashed", 1.6),
)
LETTERS = "abcdef"
STYLES = ((":", 1.1), ("--", 1.2), ("-", 2.0))
"""Lines of the scales, from the smallest; the last is that of the pictures."""


def moments(run: xarray.Dataset) -> list[int]:
    """Six frames: two on the way to the tangent kernel, (c) nearest to it, two on the way to F1, the end."""
    nearest, last = int(np.argmin(run["angle_tangent"].values)), run.sizes["frame"] - 1
    before, after = np.linspace(nearest / 4, nearest, 3), np.linspace(nearest, last, 4)[1:]
    return [round(k) for k in (*before, *after)]


def shown(summary: xarray.Dataset) -> xarray.Dataset:
    """The run of the pictures: the largest start."""
    return summary.isel(sigma=int(np.argmax(summary["sigma"].values)))


def classifier_panel(axis: Any, run: xarray.Dataset, k: int) -> None:
    lines = [(run[name].values, *line[1:]) for name, line in zip(("tangent", "f1"), LINES[1:], strict=True)]
    values = run["function"].isel(frame=k).values
    plane_panel(axis, run["input"].values, run["label"].values, [*lines, (values, *LINES[0][1:])], values)
    axis.set_xlabel(f"{run['angle_tangent'].values[k]:.0f}° from the kernel's, {run['angle_f1'].values[k]:.0f}° from F1's", fontsize=8.5)


def draw(summary: xarray.Dataset) -> Any:
    run = shown(summary)
    rows = [[*"abc", "angles", "angles"], [*"def", "margins", "margins"]]
    figure, axes = sheet(rows, 17, 7.6)
    for letter, k in zip(LETTERS, moments(run), strict=True):
        classifier_panel(axes[letter], run, k)
        axes[letter].set_title(f"({letter})  t = {run['time'].values[k]:.2g}", fontsize=10)
    for k, (_, one) in enumerate(summary.sortby("sigma").groupby("sigma")):
        style, width = STYLES[k - summary.sizes["sigma"]]
        _angles(axes["angles"], one.squeeze("sigma"), style, width)
        _margins(axes["margins"], one.squeeze("sigma"), style, width)
    for name in ("angles", "margins"):
        _marks(axes[name], run)
    sigma = float(run["sigma"])
    titled(axes["angles"], f"angle to the two max margins on the square (pictures: σ = {sigma:g})")
    titled(axes["margins"], "margins over the largest possible: of the tangent kernel's norm, of F1's")
    axes["angles"].legend(fontsize=8, loc="lower left", ncols=2)
    axes["margins"].legend(fontsize=8, loc="upper left")
    legend(figure, LINES, ncols=5, fontsize=9)
    return figure


def _angles(axis: Any, run: xarray.Dataset, style: str, width: float) -> None:
    sigma = f"σ = {float(run['sigma']):g}"
    axis.plot(run["time"], run["angle_tangent"], color=TANGENT, linestyle=style, linewidth=width, label=f"kernel's, {sigma}")
    axis.plot(run["time"], run["angle_f1"], color=F1, linestyle=style, linewidth=width, label=f"F1's, {sigma}")
    axis.set(xscale="log", yscale="log", xlabel="time", ylabel="angle (degrees)")


def _margins(axis: Any, run: xarray.Dataset, style: str, width: float) -> None:
    first = style == STYLES[-1][0]
    labels = ("min y·h / (‖w − w₀‖·γ of the tangent kernel)", "min y·h / (‖w‖²·γ₁)") if first else (None, None)
    for name, colour, label in zip(("tangent_margin", "margin"), (TANGENT, F1), labels, strict=True):
        axis.plot(run["time"], run[name], color=colour, linestyle=style, linewidth=width, label=label)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set(xscale="log", xlabel="time", ylabel="margin / largest", ylim=(-0.2, 1.3))


def _marks(axis: Any, run: xarray.Dataset) -> None:
    for letter, k in zip(LETTERS, moments(run), strict=True):
        at = float(run["time"][k])
        axis.axvline(at, color=MUTED, linewidth=0.8, linestyle=":")
        axis.annotate(letter, (at, 1), (0, -9), axis.get_xaxis_transform(), "offset points", ha="center", fontsize=9, color=MUTED)


def animate(summary: xarray.Dataset) -> Any:
    """The classifier through the frames, and where it stands between the two max margins."""
    run = shown(summary)
    figure, axes = sheet([["plane", "angles"]], 8.6, 4.4)
    _angles(axes["angles"], run, "-", 1.8)
    axes["angles"].legend(fontsize=8, loc="lower left")
    mark = axes["angles"].axvline(float(run["time"][0]), color="black", linewidth=1)
    titled(axes["angles"], "angle to the two max margins")
    legend(figure, LINES, ncols=5, fontsize=7)

    def show(k: int) -> None:
        axes["plane"].clear()
        classifier_panel(axes["plane"], run, k)
        titled(axes["plane"], f"t = {float(run['time'][k]):.2g}")
        mark.set_xdata([float(run["time"][k])] * 2)

    return movie(figure, show, run.sizes["frame"])
