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
RULE_LABELS = {
    "1e-4": "step 1e-4, as in the paper",
    "between": "step √(1e-4·s)",
    "scaled": "step s = 0.05·min(1, α⁻⁵)",
}


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
    parts = [f"{attrs['run_device']}, {settings['precision']}", size, images]
    if "most epochs" in attrs:
        parts += [
            f"at most {attrs['most epochs']:.0f} epochs (paper: 2000)",
            f"{attrs['runs that diverged']:.0f} runs diverged",
        ]
        parts += [
            "100% training accuracy in "
            f"{100 * attrs['share of runs with 100% training accuracy']:.0f}% of the others"
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


def _reduced(summary: xarray.Dataset) -> bool:
    """Whether a part of the images was used: then the paper's numbers are no comparison."""
    return bool(json.loads(summary.attrs["run_settings"])["train"])


def _channels(blocks: list[list[int]]) -> str:
    return "-M-".join("-".join(map(str, block)) for block in blocks) + "-M"


def draw_vgg(summary: xarray.Dataset) -> Any:
    figure, (error, moved) = panels(2, width=6.2, height=5.6)
    for colour, (rule, label) in zip(COLOURS[:3], RULE_LABELS.items(), strict=True):
        part = summary.sel(rule=rule)
        spread(error, part["test_error"].where(part["train_error"] == 0), colour, label, 100)
        spread(
            error,
            part["test_error"].where(part["train_error"] > 0),
            colour,
            f"{label}: training error left",
            100,
            marker="x",
            linestyle=":",
        )
        spread(moved, part["gradient_distance"], colour, f"gradient, {label}")
        spread(
            moved, part["kernel_distance"], colour, f"kernel, {label}", marker="x", linestyle="--"
        )
    readout = summary.sel(rule="output layer")
    spread(error, readout["test_error"], COLOURS[3], "output layer only", 100, marker="^")
    spread(
        error,
        readout["train_error"],
        COLOURS[3],
        "output layer only, training error",
        100,
        marker="^",
        linestyle=":",
        alpha=0.6,
    )
    if not _reduced(summary):
        error.axhline(
            49.62,
            color=MUTED,
            linestyle=":",
            linewidth=0.9,
            label="paper: training error of the output layer, 49.62",
        )
    error.set(xscale="log", xlabel="initialisation scale α", ylabel="error, %", ylim=(0, 100))
    titled(error, "CIFAR-10: error")
    moved.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="cosine distance, start to end",
    )
    titled(moved, "how far tangent features moved")
    run = summary["alpha"].values[
        summary["test_error"].notnull().any([d for d in summary["test_error"].dims if d != "alpha"])
    ]
    for axis in (error, moved):
        axis.set_xticks(run, [f"{alpha:g}" for alpha in run], minor=False)
        axis.set_xticks([], minor=True)
        legend_below(axis)
    figure.supxlabel(_provenance(summary, 130), fontsize=8, color=MUTED)
    return figure


def draw_curves(summary: xarray.Dataset) -> Any:
    figure, axes = panels(3, width=4.6, height=4.8)
    shown = (
        ("train_error", "training error, %", 100),
        ("train_loss", "training loss", 1),
        ("test_error", "test error, %", 100),
    )
    for axis, (name, label, factor) in zip(axes, shown, strict=True):
        for colour, alpha in zip(COLOURS, summary["alpha"].values, strict=False):
            for rule, style in (("scaled", "-"), ("between", "-."), ("1e-4", "--")):
                for seed in summary["seed"].values:
                    curve = factor * summary[f"{name}_history"].sel(
                        alpha=alpha, rule=rule, seed=seed
                    )
                    if curve.notnull().sum() > 1:
                        step = summary["step_size"].sel(alpha=alpha, rule=rule, seed=seed)
                        first = f"α = {alpha:g}, step {float(step):.2g}"
                        label_once = first if seed == summary["seed"].values[0] else None
                        axis.plot(
                            curve["epoch"],
                            curve,
                            style,
                            color=colour,
                            label=label_once,
                            linewidth=1.4,
                        )
        axis.set(xlabel="epoch", ylabel=label)
        titled(axis, label.partition(",")[0])
    axes[1].set(yscale="log")
    legend_below(axes[1], 2)
    figure.supxlabel(_provenance(summary, 170, "One curve a seed"), fontsize=8, color=MUTED)
    return figure
