"""Pictures of networks on a line: the function with its kinks, the neurons in the plane (w, bias),
losses, animations.

A panel is drawn once and hands back `show(k)`, which moves what moves to frame k: stills and
animations are the same pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MARK, MUTED, panels, titled
from .movies import movie, sheet
from .running import ITERATION

if TYPE_CHECKING:
    import xarray

    from ..._core.arguments import Array

Show = Callable[[int], None]
Overlays = Sequence[tuple[str, str, str, str]]
"""Reference functions: variable, label, colour, line style."""
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
WIDE_RANGE = 1e2
"""Ratio of norms above which the plane has a logarithmic radius."""
OUTER_TEXT = {"fontsize": 6.5, "color": MUTED, "ha": "center", "va": "center"}


def typical(summary: xarray.Dataset) -> int:
    """The place of the seed in the pictures, the median one in when it leaves the second saddle.

    Where the start is large and there is no saddle: in its distance from the tangent kernel's
    interpolator.
    """
    values = summary["left_second" if np.any(summary["direction"]) else "lazy_distance"].values
    return int(np.nanargmin(np.abs(values - np.nanmedian(values))))


def function_panel(
    axis: Any, run: xarray.Dataset, overlays: Overlays = (), room: slice = EVERY
) -> Show:
    """h against x with the data, and each neuron as a star at its kink −bias/w, as high as a (B,
    figs. 2, 4, 5).

    room: the frames for which the panel has room.
    """
    x, y = run["input"].values, run["label"].values
    for name, label, colour, style in overlays:
        axis.plot(run["x"], run[name], color=colour, linestyle=style, linewidth=1.4, label=label)
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
        ylim=_heights(run.isel(frame=room)),
        xlabel="x",
    )

    def show(k: int) -> None:
        a, W = run["a"].values[k], run["W"].values[k]
        line.set_data(run["x"].values, run["function"].values[k])
        with np.errstate(divide="ignore"):
            kink = -W[:, 1] / W[:, 0]
        for sign, artist in drawn.items():
            artist.set_data(kink[a * sign > 0], a[a * sign > 0])
        rings = run["pinned"].values[k]
        pinned.set_data(kink[rings], a[rings])

    return show


def _heights(run: xarray.Dataset) -> tuple[float, float]:
    """Room for the labels, the functions where the data are, and the neurons."""
    drawn = run["function"].sel(x=slice(float(run["input"].min()), float(run["input"].max())))
    values = [run["label"].values, drawn.values.ravel(), run["a"].values.ravel()]
    least, most = min(map(np.min, values)), max(map(np.max, values))
    pad = 0.1 * (most - least)
    return float(least - pad), float(most + pad)


def plane_panel(axis: Any, run: xarray.Dataset, targets: bool = True) -> Show:
    """Each neuron in the plane (w, bias); the radius is log‖w‖ where norms grow by decades, else
    ‖w‖."""
    W = run["W"].values
    norms = np.linalg.norm(W, axis=2)
    low, high = float(np.min(norms[0])), float(np.max(norms))
    logarithmic = high > WIDE_RANGE * low
    axis.set(
        aspect="equal",
        xlim=(-1.12, 1.12),
        ylim=(-1.12, 1.12),
        xticks=[],
        yticks=[],
        xlabel="w",
        ylabel="bias",
    )
    axis.grid(False)
    axis.spines[:].set_visible(False)
    for k, x in enumerate(run["input"].values):
        along = np.array([1.0, -x]) / np.hypot(1.0, x)  # ⟨w, (x, 1)⟩ = 0
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
    label = "slides: a gate stays at zero" if np.any(run["pinned"]) else None
    (pinned,) = axis.plot([], [], color=COLOURS[4], zorder=5, label=label, **RING)

    def show(k: int) -> None:
        a, place = run["a"].values[k], _place(W[k], low, high, logarithmic)
        for sign, artist in drawn.items():
            artist.set_data(*place[a * sign > 0].T)
        pinned.set_data(*place[run["pinned"].values[k]].T)

    return show


def _place(W: Array, low: float, high: float, logarithmic: bool) -> Array:
    norms = np.linalg.norm(W, axis=1, keepdims=True)
    share = np.log(norms / low) / np.log(high / low) if logarithmic else norms / high
    place: Array = (
        W
        / norms
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


def _rays(axis: Any, run: xarray.Dataset) -> None:
    """Where early alignment turns neurons, with the colour of their sign."""
    for sign, _, colour in SIGNS:
        chosen = (np.sign(run["a"].values[0]) == sign) & np.any(
            run["direction"].values != 0, axis=1
        )
        for u in np.unique(np.round(run["direction"].values[chosen], 6), axis=0):
            axis.plot(
                [0, 1.08 * u[0]],
                [0, 1.08 * u[1]],
                color=colour,
                linewidth=4,
                alpha=0.22,
                solid_capstyle="butt",
            )


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
    for column, (iteration, text) in enumerate(wanted.items()):
        upper, lower = axes[f"function {column}"], axes[f"plane {column}"]
        function_panel(upper, run, **options)(places[iteration])
        plane_panel(lower, run)(places[iteration])
        titled(upper, f"{text}\niteration {iteration:,}")
    axes["function 0"].set_ylabel("h(x);  a of each neuron at its kink")
    _legend(figure, axes["function 0"], axes["plane 0"], ncols=7, fontsize=8)


def _legend(figure: Any, *axes: Any, **options: Any) -> None:
    """One legend for several panels, below them."""
    labelled = [
        pair for axis in axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)
    ]
    handles, labels = zip(*labelled, strict=True)
    figure.legend(handles, labels, loc="outside lower center", frameon=False, **options)


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
    states(figure, axes, run, MOMENTS4, overlays=[LEAST])
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
    function_panel(axes["function 0"], run, room=slice(0, 1))(0)
    function_panel(axes["function 1"], run, [LAZY, LEAST], room=slice(last, None))(last)
    plane_panel(axes["plane"], run, targets=False)(last)
    far = (
        f"{float(run['lazy_distance']):.1f}‖h‖ from the kernel's, "
        f"{float(run['rich_distance']):.1f}‖h‖ from min norm"
    )
    for name, text in {
        "function 0": "start",
        "function 1": f"end, iteration {int(run['frame'][-1]):,}\n{far}",
    }.items():
        titled(axes[name], text)
    _legend(figure, axes["function 1"], axes["plane"], ncols=8, fontsize=8)
    titled(axes["plane"], f"weights move by {float(run['moved']):.0%} of their size")
    loss_panel(axes["loss"], summary, {})
    axes["loss"].set(xscale="log", yscale="log", xlim=(5, None))
    axes["loss"].legend(fontsize=7.5)
    titled(axes["loss"], "no saddle on the way")
    return figure


def animate(
    summary: xarray.Dataset, overlays: Overlays = (), targets: bool = True, room: slice = EVERY
) -> Any:
    """The function and the neurons of the shown seed through the frames."""
    figure, axes = sheet([["function", "plane"]], 8.4, 4.4)
    run = summary.isel(seed=typical(summary))
    show_function, show_plane = (
        function_panel(axes["function"], run, overlays, room),
        plane_panel(axes["plane"], run, targets),
    )
    _legend(figure, axes["function"], axes["plane"], ncols=3, fontsize=7)
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
