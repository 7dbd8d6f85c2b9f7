"""Pictures of networks on a line: the function with its kinks, the neurons in the plane (w, bias),
losses, animations.

A panel is drawn once and hands back `show(k)`, which moves what moves to frame k: stills and
animations are the same pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MARK, MUTED, panels, titled
from ...pictures.line_panels import (
    EVERY,
    SIGNS,
    LineFrames,
    function_panel,
    legend_below,
    plane_panel,
)
from ...pictures.movies import movie, sheet
from .running import ITERATION

if TYPE_CHECKING:
    import xarray

References = Sequence[tuple[str, str, str, str]]
"""Reference functions: variable, label, colour, line style."""


def frames_of(run: xarray.Dataset) -> LineFrames:
    """One seed of a figure, frame by frame."""
    names = ("input", "label", "x", "function", "a", "W", "pinned", "direction")
    return LineFrames(*(run[name].values for name in names))


def _drawn(run: xarray.Dataset, references: References) -> list[tuple[Any, str, str, str]]:
    return [(run[name].values, label, colour, style) for name, label, colour, style in references]


def typical(summary: xarray.Dataset) -> int:
    """The place of the seed in the pictures, the median one in when it leaves the second saddle.

    Where the start is large and there is no saddle: in its distance from the tangent kernel's
    interpolator.
    """
    values = summary["left_second" if np.any(summary["direction"]) else "lazy_distance"].values
    return int(np.nanargmin(np.abs(values - np.nanmedian(values))))


def loss_panel(
    axis: Any, summary: xarray.Dataset, marks: dict[int, str], height: float = 0.97
) -> None:
    """The loss of every seed, the shown one dark, against the authors' iterations, with the moments
    B names."""
    iterations = summary["iteration"].values
    others = np.delete(
        summary["loss"].transpose("iteration", "seed").values, typical(summary), axis=1
    )
    axis.plot(iterations, others, color=COLOURS[0], linewidth=0.8, alpha=0.25)
    axis.plot(
        [], [], color=COLOURS[0], linewidth=0.8, alpha=0.5, label=f"{others.shape[1]} other starts"
    )
    axis.plot(
        iterations,
        summary["loss"].isel(seed=typical(summary)),
        color="black",
        linewidth=2,
        label="loss, the start shown",
    )
    axis.set(xlabel="iteration (time / 0.002)", ylabel="loss", xlim=(0, iterations[-1]))
    for at, text in marks.items():
        axis.axvline(at, color=COLOURS[4], linewidth=1, linestyle="--")
        place = axis.get_xaxis_transform()
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
        where = {"transform": place, "rotation": 90, "va": "top", "ha": "right"}
        axis.text(at, height, f"{text} ", fontsize=7.5, color=MARK, bbox=box, **where)


def saddle_line(axis: Any, level: float, text: str) -> None:
    axis.axhline(level, color=MUTED, linewidth=1, linestyle=":")
    where = axis.get_yaxis_transform()
    axis.annotate(
        text,
        (0.01, level),
        (0, -4),
        where,
        "offset points",
        ha="left",
        va="top",
        fontsize=8,
        color=MUTED,
    )


def states(
    figure: Any, axes: dict[str, Any], run: xarray.Dataset, wanted: dict[int, str], **options: Any
) -> None:
    """Columns of function and plane, one a moment."""
    places = {int(frame): k for k, frame in enumerate(run["frame"].values)}
    frames = frames_of(run)
    for column, (iteration, text) in enumerate(wanted.items()):
        upper, lower = axes[f"function {column}"], axes[f"plane {column}"]
        function_panel(upper, frames, **options)(places[iteration])
        plane_panel(lower, frames)(places[iteration])
        titled(upper, f"{text}\niteration {iteration:,}")
    axes["function 0"].set_ylabel("h(x);  a of each neuron at its kink")
    legend_below(figure, axes["function 0"], axes["plane 0"], ncols=7, fontsize=8)


MOMENTS2 = {0: "start", 4000: "aligned", 8000: "positive label fitted", 15000: "both labels fitted"}


def draw_fig2(summary: xarray.Dataset) -> Any:
    columns = range(len(MOMENTS2))
    figure, axes = sheet(
        [[f"function {k}" for k in columns], [f"plane {k}" for k in columns]], 14, 6.8
    )
    states(figure, axes, summary.isel(seed=typical(summary)), MOMENTS2)
    return figure


MARKS3 = {
    4000: "B: aligned",
    5000: "B: leaves first saddle",
    11000: "B: leaves second",
    15000: "B: done",
}


def draw_fig3(summary: xarray.Dataset) -> Any:
    figure, (loss, growth, angle) = panels(3, height=4, width=5.4)
    loss_panel(loss, summary, MARKS3, height=0.4)
    saddle_line(loss, 0.5, "saddle θ = 0: loss ½")
    saddle_line(loss, 0.25, "saddle: positive label fitted, loss ¼")
    loss.legend(fontsize=8, loc="upper right")
    titled(loss, "two plateaus, each next to a saddle")
    run = summary.isel(seed=typical(summary))
    for sign, label, colour in SIGNS:
        squares = (run["a"].where(sign * run["a"] > 0, 0.0) ** 2).sum("neuron")
        growth.plot(run["frame"], squares, color=colour, linewidth=2, label=label)
        final = (1 if sign > 0 else 2) / np.sqrt(5)
        growth.axhline(final, color=colour, linewidth=1, linestyle=":")
    growth.plot(
        [], [], color=MUTED, linewidth=1, linestyle=":", label="least possible, 1/√5 and 2/√5"
    )
    growth.set(yscale="log", ylabel="Σ‖w‖² of each sign")
    growth.legend(fontsize=8, loc="lower right")
    titled(growth, "one cluster grows after the other")
    angles = summary["angle"].transpose("iteration", "seed").values
    angle.plot(
        run["iteration"],
        np.delete(angles, typical(summary), axis=1),
        color=COLOURS[3],
        linewidth=0.8,
        alpha=0.25,
    )
    angle.plot(
        run["iteration"],
        run["angle"],
        color=COLOURS[3],
        linewidth=2,
        label="mean over neurons, the start shown",
    )
    angle.plot(
        [],
        [],
        color=COLOURS[3],
        linewidth=0.8,
        alpha=0.5,
        label=f"{angles.shape[1] - 1} other starts",
    )
    angle.set(yscale="log", ylabel="angle to the aligned direction (degrees)")
    angle.legend(fontsize=8, loc="upper right")
    titled(angle, "neurons turn before they grow")
    for axis in (growth, angle):
        axis.set(xlabel="iteration (time / 0.002)", xlim=(0, float(run["frame"][-1])))
    return figure


MOMENTS4 = {
    0: "start",
    15000: "aligned",
    94000: "saddle",
    150000: "growing and turning",
    300000: "end",
}


def draw_fig4(summary: xarray.Dataset) -> Any:
    columns = range(len(MOMENTS4))
    rows = [
        [f"function {k}" for k in columns],
        [f"plane {k}" for k in columns],
        ["loss", "loss", "sliding", "sliding", "sliding"],
    ]
    figure, axes = sheet(rows, 16, 10.2, [1, 1, 0.95])
    run = summary.isel(seed=typical(summary))
    states(figure, axes, run, MOMENTS4, overlays=_drawn(run, [LEAST]))
    loss_panel(axes["loss"], summary, {at: f"B: {text}" for at, text in MOMENTS4.items() if at > 0})
    saddle_line(axes["loss"], float(run["saddle_loss"]), "")
    axes["loss"].legend(fontsize=8, loc="center right")
    titled(axes["loss"], "loss: saddle to saddle")
    sliding_panel(axes["sliding"], run)
    return figure


LEAST = ("least", "minimum-norm interpolator", MUTED, "--")
LAZY = ("lazy", "tangent-kernel interpolator", COLOURS[3], "--")


def sliding_panel(axis: Any, run: xarray.Dataset) -> None:
    """How many neurons have their kink pinned to each data point."""
    for k, colour in enumerate(COLOURS[: run.sizes["sample"]]):
        label = f"x = {float(run['input'][k]):g}"
        axis.plot(
            run["iteration"],
            run["sliding"].isel(sample=k),
            color=colour,
            linewidth=1.8,
            label=label,
        )
    axis.set(
        xlabel="iteration (time / 0.002)",
        ylabel="neurons pinned to the point",
        xlim=(0, float(run["iteration"][-1])),
    )
    axis.legend(fontsize=8, ncols=3, title="data point", title_fontsize=8)
    titled(axis, "sliding: kinks that stay on a data point (rings above)")


def draw_fig5(summary: xarray.Dataset) -> Any:
    rows = [["function 0", "function 1", "plane", "loss"]]
    figure, axes = sheet(rows, 17, 4.6)
    run = summary.isel(seed=typical(summary))
    last = run.sizes["frame"] - 1
    frames = frames_of(run)
    function_panel(axes["function 0"], frames, room=slice(0, 1))(0)
    end = _drawn(run, [LAZY, LEAST])
    function_panel(axes["function 1"], frames, end, room=slice(last, None))(last)
    plane_panel(axes["plane"], frames, targets=False)(last)
    far = (
        f"{float(run['lazy_distance']):.1f}‖h‖ from the kernel's, "
        f"{float(run['rich_distance']):.1f}‖h‖ from min norm"
    )
    for name, text in {
        "function 0": "start",
        "function 1": f"end, iteration {int(run['frame'][-1]):,}\n{far}",
    }.items():
        titled(axes[name], text)
    legend_below(figure, axes["function 1"], axes["plane"], ncols=8, fontsize=8)
    titled(axes["plane"], f"weights move by {float(run['moved']):.0%} of their size")
    loss_panel(axes["loss"], summary, {})
    axes["loss"].set(xscale="log", yscale="log", xlim=(5, None))
    axes["loss"].legend(fontsize=7.5)
    titled(axes["loss"], "no saddle on the way")
    return figure


def animate(
    summary: xarray.Dataset,
    references: References = (),
    targets: bool = True,
    room: slice = EVERY,
) -> Any:
    """The function and the neurons of the shown seed through the frames."""
    figure, axes = sheet([["function", "plane"]], 8.4, 4.4)
    run = summary.isel(seed=typical(summary))
    frames = frames_of(run)
    show_function, show_plane = (
        function_panel(axes["function"], frames, _drawn(run, references), room),
        plane_panel(axes["plane"], frames, targets),
    )
    legend_below(figure, axes["function"], axes["plane"], ncols=3, fontsize=7)
    title = axes["function"].set_title(" ", fontsize=9.5, loc="left")

    def show(k: int) -> None:
        iteration = int(run["frame"][k])
        title.set_text(
            f"iteration {iteration:,}, t = {iteration * ITERATION:g}, loss "
            f"{float(run['frame_loss'][k]):.2g}"
        )
        show_function(k)
        show_plane(k)

    return movie(figure, show, run.sizes["frame"])


def animate_fig4(summary: xarray.Dataset) -> Any:
    return animate(summary, [LEAST])


def animate_fig5(summary: xarray.Dataset) -> Any:
    return animate(summary, [LAZY, LEAST], targets=False, room=slice(-8, None))
