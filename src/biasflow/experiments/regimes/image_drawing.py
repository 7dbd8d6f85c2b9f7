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
PAPER = {"α ≤ 2": 1.4, "α ≥ 50": 2.4, "output layer only": 2.7}
"""W's test errors on MNIST, in percent."""
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


def legend_beside(axis: Any) -> None:
    """The legend to the right of the axis."""
    axis.legend(fontsize=8.5, loc="center left", bbox_to_anchor=(1.08, 0.5), frameon=False)


def draw_wide(summary: xarray.Dataset) -> Any:
    names = [name for name in TITLES if name in summary["data"].values]
    figure, axes = panels(2, width=7.4, height=4.0, rows=(len(names) + 3) // 2, run_on=True)
    for spare in axes[len(names) + 2 :]:
        spare.remove()
    axes = axes[: len(names) + 2]
    for axis, name in zip(axes, names, strict=False):
        _test_errors(axis, summary.sel(data=name), name)
    _movements(axes[-2], summary, names)
    _steps(axes[-1], summary.sel(data="mnist", start="as drawn"))
    figure.supxlabel(_provenance(summary, 190), fontsize=8, color=MUTED)
    return figure


def _test_errors(axis: Any, part: xarray.Dataset, name: str) -> None:
    drawn = part.sel(start="as drawn")
    spread(axis, drawn["chosen_test_error"], COLOURS[0], "all layers, best step by test error", 100)
    spread(
        axis,
        drawn["test_error_by_loss"],
        COLOURS[0],
        "…, best step by training loss",
        100,
        linestyle=":",
        marker=".",
    )
    spread(
        axis,
        part["chosen_test_error"].sel(start="unbiased"),
        COLOURS[2],
        "all layers, f(w) − f(w₀)",
        100,
        marker="s",
    )
    best = drawn["readout_test_error"].isel(readout_step=_best_readout(drawn))
    spread(axis, best, COLOURS[1], "output layer only", 100, marker="^")
    for style, kernel in zip(("--", "-."), part["kernel"].values, strict=True):
        error = 100 * float(drawn["kernel_test_error"].sel(kernel=kernel).mean())
        axis.axhline(
            error,
            color=COLOURS[3],
            linestyle=style,
            linewidth=1.2,
            label=f"exact {kernel}, least squares",
        )
    if name == "mnist" and not _reduced(part):
        words = ",\n".join(f"{value}% ({label})" for label, value in PAPER.items())
        for value in PAPER.values():
            axis.axhline(
                value,
                color=MARK,
                linewidth=0.9,
                linestyle=":",
                label=f"W: {words}" if value == PAPER["α ≤ 2"] else None,
            )
            axis.annotate(
                f"W: {value}",
                (1.01, value),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8,
                color=MARK,
            )
    axis.set(xscale="log", xlabel="initialisation scale α", ylabel="test error, %", ylim=(0, None))
    titled(axis, f"{TITLES[name]}: test error")
    legend_beside(axis)


def _best_readout(drawn: xarray.Dataset) -> Any:
    score = drawn["readout_test_error"].mean("seed")
    return score.fillna(np.inf).argmin("readout_step")


def _movements(axis: Any, summary: xarray.Dataset, names: list[str]) -> None:
    """A colour for each data set and start; full lines are gradients, dashed ones kernels."""
    pairs = [(name, start) for name in names for start in ("as drawn", "unbiased")]
    for colour, (name, start) in zip(COLOURS, pairs, strict=False):
        part = summary.sel(data=name, start=start)
        spread(axis, part["chosen_gradient_distance"], colour, f"{TITLES[name]}, {start}")
        spread(axis, part["chosen_kernel_distance"], colour, "", linestyle="--", marker="x")
    axis.plot([], [], "o-", color=MUTED, markersize=4, label="of gradients")
    axis.plot([], [], "x--", color=MUTED, label="of kernels")
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="initialisation scale α",
        ylabel="cosine distance, start to end",
    )
    titled(axis, "how far tangent features moved")
    legend_beside(axis)


def _steps(axis: Any, part: xarray.Dataset) -> None:
    for colour, step in zip(COLOURS, part["step"].values, strict=False):
        runs = part.sel(step=step)
        spread(axis, runs["test_error"], colour, f"step {step:g}", 100, marker="none")
        for fitted, marker in ((runs["train_error"] == 0, "o"), (runs["train_error"] > 0, "x")):
            spread(
                axis,
                runs["test_error"].where(fitted),
                colour,
                "",
                100,
                marker=marker,
                linestyle="none",
            )
    # steps that do far worse than the best are cut off
    top = 180 * float(part["test_error"].mean("seed").min("step").max())
    axis.set(xscale="log", xlabel="initialisation scale α", ylabel="test error, %", ylim=(0, top))
    axis.plot([], [], "x", color=MUTED, label="training error left")
    titled(axis, "MNIST by step size")
    legend_beside(axis)


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
        for name in summary["data"].values:
            fitted = 100 * attrs[f"{name}: share with 100% training accuracy"]
            below = 100 * attrs[f"{name}: share with training loss below 1e-5"]
            shares = (
                f"100% training accuracy in {fitted:.0f}%, loss below 1e-5 in {below:.0f}% "
                "of the chosen runs"
            )
            parts += [f"{TITLES[name]} as drawn: {shares}"]
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
