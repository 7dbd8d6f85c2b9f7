"""Pictures of W/fig4e, fig4f and fig6."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MARK, MUTED, panels, titled

if TYPE_CHECKING:
    import xarray

TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
PAPER = (
    ((0.0, 2.0), 1.4, "1.4%", -27),
    ((50.0, np.inf), 2.4, "2.4%", -13),
    ((0.0, np.inf), 2.7, "2.7%, output layer only", 17),
)
"""W's test errors on MNIST, in percent, where they are said to hold, and how far above the words
are."""
SHOWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "unbiased": ("all layers, from f(w) − f(w₀)", COLOURS[0], {"marker": "s", "linewidth": 2.2}),
    "as drawn": ("all layers, from f(w) as drawn", COLOURS[2], {"linewidth": 1.1}),
    "output layer": ("output layer only", COLOURS[1], {"marker": "^", "linewidth": 1.1}),
}
"""Label, colour and line of what is trained."""
KERNELS = ("tangent kernel", "random features")
ROUNDING = 1e-6
"""Cosine distances of kernels below this are rounding in float32."""
HOLLOW: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none"}
MOST_LEFT = 0.1
"""Share of training images: with more of them left, a test error says nothing of the end."""
MARKS = ("", "o", "s")
"""Of the steps of one scale whose lines look alike."""
EPOCH_TICKS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
VGG_SHOWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "borne": (
        "all layers, f(w) − f(w₀), a step that the flow bears (crosses: with momentum)",
        COLOURS[0],
        {"marker": "s", "linewidth": 2.2},
    ),
    "larger": ("the same, a larger step", COLOURS[4], {"marker": "o"}),
    "W's": ("the same, step 1e-4, as W", COLOURS[1], {"marker": "v"}),
    "as drawn": ("all layers, f(w) as drawn", COLOURS[2], {"marker": "D"}),
    "output layer": ("output layer only", COLOURS[3], {"marker": "^"}),
}
"""Label, colour and line of the kinds of trainings."""


def spread(
    axis: Any, values: xarray.DataArray, colour: str, label: str, factor: float = 1.0, **line: Any
) -> None:
    """Mean over seeds against α, with bars from the least to the largest seed."""
    values = factor * values.transpose("alpha", "seed")
    known = values.notnull().any("seed").values
    if not known.any():
        return
    alpha, held = values["alpha"].values[known], values.values[known]
    middle = np.nanmean(held, axis=1)
    bars = np.stack([middle - np.nanmin(held, axis=1), np.nanmax(held, axis=1) - middle])
    axis.errorbar(
        alpha,
        middle,
        bars,
        color=colour,
        label=label,
        **{"marker": "o", "markersize": 4, "capsize": 2.5, **line},
    )


def legend_below(axis: Any, columns: int = 1) -> None:
    """The legend under the axis, where it hides nothing."""
    axis.legend(
        fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False
    )


def draw_wide(summary: xarray.Dataset) -> Any:
    """A column a data set: test errors above, how far tangent features moved below."""
    held = summary["chosen_test_error"].notnull()
    names = [name for name in TITLES if name in summary["data"].values]
    names = [name for name in names if bool(held.sel(data=name).any())]
    figure, axes = panels(len(names), width=6.6, height=4.0, rows=2, run_on=True)
    for column, name in enumerate(names):
        part = summary.sel(data=name)
        _test_errors(axes[column], part, name)
        _movements(axes[len(names) + column], part, name)
        axes[column].sharex(axes[len(names) + column])
    figure.supxlabel(_provenance(summary, 95 * len(names)), fontsize=8, color=MUTED)
    return figure


def _test_errors(axis: Any, part: xarray.Dataset, name: str) -> None:
    chosen = part["chosen_test_error"]
    for reading, (label, colour, line) in SHOWN.items():
        spread(axis, chosen.sel(reading=reading), colour, label, 100, **line)
    left = chosen.where(part["chosen_train_error"] > 0)
    for reading, (_, colour, _) in SHOWN.items():
        spread(axis, left.sel(reading=reading), colour, "", 100, linestyle="none", **HOLLOW)
    axis.plot([], [], linestyle="none", color=MUTED, label="not all training images fit", **HOLLOW)
    for style, kernel in zip(("--", "-."), KERNELS, strict=True):
        values = part["test_error"].sel(reading=kernel)
        if bool(values.notnull().any()):
            axis.axhline(
                100 * float(values.mean()),
                color=COLOURS[3],
                linestyle=style,
                linewidth=1.2,
                label=f"exact {kernel}, least squares",
            )
    alpha = part["alpha"].values
    if name == "mnist" and not _reduced(part):
        for (least, most), value, words, words_at in PAPER:
            where = max(least, alpha.min()), min(most, alpha.max())
            axis.plot(where, (value, value), color=MARK, linewidth=5, alpha=0.35, zorder=0)
            axis.annotate(
                f"W: {words}",
                (where[0], value),
                xytext=(0, words_at),
                textcoords="offset points",
                fontsize=8,
                color=MARK,
            )
    axis.set(xscale="log", ylabel="test error, %", ylim=(0, None))
    titled(axis, f"{TITLES[name]}: test error against the scale of the start")
    handles, labels = axis.get_legend_handles_labels()
    first = [labels.index(label) for label, _, _ in SHOWN.values() if label in labels]
    order = [*first, *(k for k in range(len(labels)) if k not in first)]
    axis.legend(
        [handles[k] for k in order],
        [labels[k] for k in order],
        fontsize=8,
        loc="lower right",
        framealpha=0.9,
        edgecolor="none",
    )


def _movements(axis: Any, part: xarray.Dataset, name: str) -> None:
    """Full lines are gradients, dashed ones kernels."""
    styles: dict[str, dict[str, Any]] = {"unbiased": {"marker": "s"}, "as drawn": {"marker": "o"}}
    for reading, style in styles.items():
        _, colour, _ = SHOWN[reading]
        chosen = part.sel(reading=reading)
        spread(axis, chosen["chosen_gradient_distance"], colour, f"gradients, {reading}", **style)
        spread(
            axis,
            chosen["chosen_kernel_distance"].where(lambda distance: distance > ROUNDING),
            colour,
            f"kernel, {reading}",
            linestyle="--",
            **{**style, "markerfacecolor": "white"},
        )
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="cosine distance, start to end",
    )
    titled(axis, f"{TITLES[name]}: how far tangent features moved")
    axis.legend(fontsize=8, loc="best", framealpha=0.9, edgecolor="none")


def _provenance(
    summary: xarray.Dataset, width: int, seeds: str = "Bars: least and largest seed"
) -> str:
    """A line or two: what was run, where, and how it ended."""
    attrs, settings = summary.attrs, json.loads(summary.attrs["run_settings"])
    reduced = _reduced(summary)
    images = f"{settings['train']} of the training images" if reduced else "all images"
    size = (
        f"{settings['width']} units"
        if "width" in settings
        else f"channels {_channels(settings['blocks'])}"
    )
    precision = settings.get("precision") or " or ".join(_precisions(summary))
    parts = [f"{attrs['run_device']}, {precision}", size, images]
    if "most epochs" in attrs:
        parts += [
            f"at most {attrs['most epochs']:.0f} epochs (paper: 2000)",
            f"{attrs['runs that diverged']:.0f} diverged",
            f"{attrs['trainings with 100% training accuracy']:.0f} of the other "
            f"{attrs['trainings']:.0f} have 100% training accuracy",
        ]
    else:
        parts += [f"at most {settings['epochs']} epochs"]
        for name in ("mnist",):
            fitted = 100 * attrs[f"{name}: share with 100% training accuracy"]
            below = 100 * attrs[f"{name}: share with training loss below 1e-5"]
            parts += [
                f"{TITLES[name]}, f(w) − f(w₀): 100% training accuracy in {fitted:.0f}%, loss "
                f"below 1e-5 in {below:.0f}% of the chosen runs"
            ]
    line = ("REDUCED preset: " if reduced else "") + "; ".join(parts) + f". {seeds}."
    return "\n".join(textwrap.wrap(line, width))


def _precisions(summary: xarray.Dataset) -> list[str]:
    return sorted(set(map(str, summary["precision"].values)))


def _reduced(summary: xarray.Dataset) -> bool:
    """Whether a part of the images was used: then the paper's numbers are no comparison."""
    return bool(json.loads(summary.attrs["run_settings"])["train"])


def _channels(blocks: list[list[int]]) -> str:
    return "-M-".join("-".join(map(str, block)) for block in blocks) + "-M"


def draw_vgg(summary: xarray.Dataset) -> Any:
    """Test errors, and how far tangent features moved, against the scale."""
    figure, (error, moved) = panels(2, width=6.4, height=5.4)
    for kind, (label, colour, line) in VGG_SHOWN.items():
        best = _best_by_scale(summary, kind)
        if best is None:
            continue
        line = {"linewidth": 1.1, "markersize": 6, "color": colour, **line}
        fits = best["train_error"].values == 0
        alpha, values = best["alpha"].values, 100 * best["test_error"].values
        error.plot(alpha, values, label=label, **line)
        hollow = {**line, "linestyle": "none", "markerfacecolor": "white"}
        error.plot(alpha[~fits], values[~fits], **hollow)
        pushed = best["momentum"].values > 0
        crosses = {**line, "linestyle": "none", "marker": "P", "markersize": 10}
        error.plot(alpha[fits & pushed], values[fits & pushed], **crosses)
        for one in best["training"].values[~fits]:
            row = best.sel(training=one)
            left = 100 * float(row["train_error"])
            error.annotate(
                f"{left:.0f}%" if left > 1 else f"{left:.1g}%",
                (float(row["alpha"]), 100 * float(row["test_error"])),
                xytext=(8, -9),
                textcoords="offset points",
                fontsize=8,
                color=colour,
            )
        if not bool(best["gradient_distance"].notnull().any()):
            continue
        moved.plot(alpha, best["gradient_distance"], label=f"gradients: {label}", **line)
        dashed = {**line, "linestyle": "--", "linewidth": 1.0, "markerfacecolor": "white"}
        moved.plot(alpha, best["kernel_distance"], **dashed)
    error.plot(
        [],
        [],
        linestyle="none",
        marker="s",
        markerfacecolor="white",
        color=MUTED,
        label="open: training images left, beside it how many",
    )
    moved.plot([], [], "--", color=MUTED, label="dashed: kernels")
    error.set(xscale="log", xlabel="initialisation scale α", ylabel="test error, %", ylim=(0, None))
    titled(error, "CIFAR-10: test error")
    moved.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="cosine distance, start to end",
    )
    titled(moved, "how far tangent features moved")
    scales = np.unique(summary["alpha"].values[summary["test_error"].notnull().values])
    for axis in (error, moved):
        axis.set_xticks(scales, [f"{alpha:g}" for alpha in scales], minor=False)
        axis.set_xticks([], minor=True)
        legend_below(axis)
    figure.supxlabel(_provenance(summary, 130, "One seed"), fontsize=8, color=MUTED)
    return figure


def _best_by_scale(summary: xarray.Dataset, kind: str) -> xarray.Dataset | None:
    """Of each scale the training of this kind that fits best: least training error, then loss;
    none that is far from its end."""
    some = summary.sel(training=summary["kind"].values == kind)
    far = (some["train_error"] <= MOST_LEFT) | (some["reading"] == "output layer")
    some = some.sel(training=(some["test_error"].notnull() & far).values)
    if not some.sizes["training"]:
        return None
    order = np.lexsort(
        (some["train_loss"].values, some["train_error"].values, some["alpha"].values)
    )
    some = some.isel(training=order)
    first = np.unique(some["alpha"].values, return_index=True)[1]
    return some.isel(training=first)


def draw_curves(summary: xarray.Dataset) -> Any:
    """Training error, loss and test error against epochs, a colour a scale."""
    figure, axes = panels(3, width=4.6, height=4.8)
    shown = (
        ("train_error", "training error, %", 100),
        ("train_loss", "training loss", 1),
        ("test_error", "test error, %", 100),
    )
    some = summary.sel(training=summary["reading"].values == "unbiased")
    some = some.sortby(["alpha", "step", "precision"])
    scales = list(np.unique(some["alpha"].values))
    for axis, (name, label, factor) in zip(axes, shown, strict=True):
        drawn: list[list[float]] = []
        styles: list[list[Any]] = []
        for training in some["training"].values:
            row = some.sel(training=training)
            curve = factor * row[f"{name}_history"].dropna("epoch")
            curve = curve.sel(epoch=curve["epoch"] > 0)
            if not curve.size:
                continue
            papers = str(row["kind"].values) == "W's"
            precision = str(row["precision"].values)
            colour = _of_scale(scales.index(float(row["alpha"])), len(scales))
            momentum = float(row["momentum"])
            setting = [float(row[by]) for by in ("alpha", "step", "momentum")]
            again = setting in drawn
            drawn += [setting]
            style = "--" if papers else ":" if again else "-." if momentum else "-"
            # marks distinguish steps of one scale that share their line
            alike = [setting[0], style]
            mark = MARKS[styles.count(alike)]
            styles += [alike]
            axis.plot(
                curve["epoch"],
                curve,
                style,
                color=colour,
                marker=mark,
                markersize=4,
                markerfacecolor="white",
                label=f"α = {float(row['alpha']):g}, step {float(row['step']):.2g}"
                + (f", momentum {momentum:g}" if momentum else "")
                + f", {precision}" * again,
                linewidth=1.6,
            )
            end = "" if row["converged"] == 1 else "x" if row["diverged"] == 1 else "|"
            axis.plot(curve["epoch"][-1], curve[-1], end, color=colour, markersize=8)
        axis.set(xlabel="epoch", ylabel=label, xscale="log")
        longest = int(some["epochs_used"].max())
        ticks = [tick for tick in EPOCH_TICKS if tick <= max(longest, EPOCH_TICKS[1])]
        axis.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
        axis.set_xticks([], minor=True)
        titled(axis, label.partition(",")[0])
    axes[1].set(yscale="log")
    legend_below(axes[1], 3)
    note = (
        "Dashed: W's step; dash-dotted: momentum; a bar: goes on from there another time; a cross: "
        "diverged after it"
    )
    figure.supxlabel(_provenance(summary, 170, note), fontsize=8, color=MUTED)
    return figure


def _of_scale(place: int, count: int) -> Any:
    """From dark for the smallest scale to light for the largest."""
    from matplotlib import colormaps

    return colormaps["plasma"](0.05 + 0.8 * place / max(1, count - 1))
