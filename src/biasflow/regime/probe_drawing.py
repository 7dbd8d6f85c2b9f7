"""One picture of a probe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .probing import Probe

SHOWN = {
    "linear_gap": "linear gap",
    "kernel_movement": "kernel movement",
    "kernel_turn": "kernel turn",
    "gradient_distance": "gradient distance",
    "weight_movement": "weight movement",
}
"""Measures that vanish when nothing moves, top down."""
COLOURS = {"linear_gap": "#b5330f", "kernel_movement": "#2460d8", "gradient_distance": "#1ec18e"}
MUTED = "#6e6e6e"
LEAST_DRAWN_MOVEMENT = 1e-4
"""Movements below this are drawn at the left edge."""


def draw(probe: Probe) -> Any:
    """Movements with their references, through time where there are several checkpoints, and f
    against its linearisation."""
    from matplotlib import rc_context

    from .._core.shown_figures import ShownFigure

    count = 3 if len(probe.along) > 1 else 2
    with rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
        }
    ):
        figure = ShownFigure(figsize=(1.2 + 4.2 * count, 3.9), layout="constrained")
        axes = figure.subplots(1, count)
    _movements(axes[0], probe)
    if count == 3:
        _through_time(axes[1], probe)
    _linearised(axes[-1], probe)
    figure.suptitle(f"Verdict: {probe.verdict}", fontweight="bold")
    return figure


def _each(probe: Probe) -> str:
    return "one input each" if probe.trained.ndim == 1 else "one output of one input each"


MOST_LABELLED_LAYERS = 40
"""Layers up to which every one is named in the picture."""


def draw_layers(probe: Probe, measure: str) -> Any:
    """One measure, layer by layer from the input down, through the checkpoints; beside it the null
    reference."""
    from matplotlib.colors import LogNorm

    from .._core.shown_figures import ShownFigure

    names = list(probe.layers)
    values = np.array(
        [
            [
                *(one[measure].value for one in probe.layers[name]),
                probe.layer_null[name][measure].value,
            ]
            for name in names
        ]
    )
    known = values[np.isfinite(values) & (values > 0)]
    norm, floor = None, values
    if measure not in ("label_alignment", "label_gain") and known.size:
        least = max(float(known.min()), LEAST_DRAWN_MOVEMENT)
        norm, floor = LogNorm(least, max(float(known.max()), 1e-3)), np.maximum(values, least)
    steps = len(probe.along)
    height = 1.6 + 0.24 * min(len(names), MOST_LABELLED_LAYERS)
    figure = ShownFigure(figsize=(3.6 + 0.5 * steps, height), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(floor, aspect="auto", norm=norm, cmap="viridis", interpolation="nearest")
    axis.axvline(steps - 0.5, color="white", lw=3)
    counted = np.array_equal(probe.times, np.arange(len(probe.times)))
    axis.set_xticks(
        np.arange(steps + 1),
        [*(f"{time:g}" for time in probe.times[1:]), "other\nseed"],
        fontsize=8,
    )
    every = -(-len(names) // MOST_LABELLED_LAYERS)
    axis.set_yticks(np.arange(len(names))[::every], names[::every], fontsize=8)
    axis.set_xlabel("checkpoint" if counted else "time")
    figure.colorbar(image, label=measure.replace("_", " "))
    axis.set_title("Which layers moved", fontsize=10)
    return figure


def _movements(axis: Any, probe: Probe) -> None:
    """A dot with two standard errors for each movement, a grey one for untrained networks of other
    seeds."""
    from .probing import KERNEL_BELOW, RICH_ABOVE

    places = np.arange(len(SHOWN))[::-1]
    for estimates, colour, shift, marker, label in (
        (probe.final, "#2460d8", 0.1, "o", "this training"),
        (probe.null, MUTED, -0.16, "s", "another seed, untrained"),
    ):
        values = np.array([estimates[name].value for name in SHOWN])
        errors = np.array([estimates[name].error for name in SHOWN])
        drawn = np.isfinite(values) & (values > 0)
        reach = np.nan_to_num(
            np.vstack(
                [np.minimum(2 * errors, np.maximum(values - LEAST_DRAWN_MOVEMENT, 0)), 2 * errors]
            )
        )
        axis.errorbar(
            np.maximum(values, LEAST_DRAWN_MOVEMENT)[drawn],
            (places + shift)[drawn],
            xerr=reach[:, drawn],
            fmt=marker,
            color=colour,
            capsize=3,
            label=label,
        )
    axis.set_xscale("log")
    axis.set_xlim(left=LEAST_DRAWN_MOVEMENT / 1.5)
    axis.axvspan(axis.get_xlim()[0], KERNEL_BELOW, color="#2460d8", alpha=0.07, lw=0)
    axis.axvspan(RICH_ABOVE, axis.get_xlim()[1], color="#b5330f", alpha=0.07, lw=0)
    axis.set(yticks=places, yticklabels=list(SHOWN.values()), ylim=(-0.6, len(SHOWN) - 0.1))
    axis.set_xlabel("relative to the start (0: as it was)")
    axis.text(
        KERNEL_BELOW / 1.15,
        len(SHOWN) - 0.3,
        "kernel",
        ha="right",
        va="center",
        fontsize=8,
        color="#2460d8",
    )
    axis.text(
        RICH_ABOVE * 1.15,
        len(SHOWN) - 0.3,
        "rich",
        ha="left",
        va="center",
        fontsize=8,
        color="#b5330f",
    )
    axis.legend(frameon=False, fontsize=8, loc="lower left")
    axis.set_title("How far it moved (bars: two errors)", fontsize=10)


def _through_time(axis: Any, probe: Probe) -> None:
    for name, colour in COLOURS.items():
        values = np.array([one[name].value for one in probe.along])
        errors = np.array([one[name].error for one in probe.along])
        axis.errorbar(
            probe.times[1:],
            values,
            yerr=2 * errors,
            color=colour,
            marker="o",
            ms=4,
            capsize=2,
            label=SHOWN[name],
        )
    counted = np.array_equal(probe.times, np.arange(len(probe.times)))
    axis.set(xlabel="checkpoint" if counted else "time", ylabel="movement", yscale="log")
    axis.legend(frameon=False, fontsize=8)
    axis.set_title("When it moved", fontsize=10)


def _linearised(axis: Any, probe: Probe) -> None:
    learned, linear = (np.ravel(part - probe.initial) for part in (probe.trained, probe.linear))
    ends = np.array([min(learned.min(), linear.min()), max(learned.max(), linear.max())])
    axis.plot(ends, ends, color=MUTED, lw=1, ls="--", label="kernel machine")
    axis.plot(learned, linear, ".", color="#b5330f", alpha=0.6, label=_each(probe))
    axis.set(xlabel="change of f by training", ylabel="change of the linearised network")
    axis.legend(frameon=False, fontsize=8)
    axis.set_title("What linearising explains", fontsize=10)


STORY = {
    "label_alignment": ("label alignment", "#a93d9b"),
    "effective_rank": ("effective rank", MUTED),
}


def draw_story(probe: Probe, steps: Sequence[int], losses: Sequence[float]) -> Any:
    """Loss, movements, alignment with the labels, and layers, through a training. losses: as the
    training told them at these steps; without any, those on the inputs looked at."""
    from .._core.look import panels, titled

    figure, axes = panels(4 if probe.layers else 3, height=3.6, width=4.3)
    told = np.asarray(losses, dtype=float)
    if np.any(np.isfinite(told)):
        axes[0].plot(np.asarray(steps)[1:], told[1:], "o-", ms=4, color="black", label="training")
    own = np.array([one["loss"].value for one in probe.along])
    if np.any(np.isfinite(own)):
        axes[0].plot(
            probe.times[1:], own, "s--", ms=3, color=MUTED, label="on the inputs looked at"
        )
    if axes[0].lines:
        axes[0].legend(frameon=False, fontsize=8)
    axes[0].set(xscale="log", yscale="log", xlabel="step", ylabel="loss")
    titled(axes[0], "Loss")
    _through_time(axes[1], probe)
    axes[1].set(xscale="log", xlabel="step")
    titled(axes[1], f"Movement; at the end: {probe.verdict}")
    _aligned(axes[2], probe)
    if probe.layers:
        _layer_map(figure, axes[3], probe)
    return figure


def _aligned(axis: Any, probe: Probe) -> None:
    from .._core.look import titled

    for name, (words, colour) in STORY.items():
        side = axis if name == "label_alignment" else axis.twinx()
        values = np.array([one[name].value for one in probe.along])
        errors = np.array([one[name].error for one in probe.along])
        side.errorbar(
            probe.times[1:], values, 2 * errors, color=colour, marker="o", ms=3, capsize=2
        )
        side.axhline(probe.start[name].value, color=colour, ls=":", lw=1)
        side.set_ylabel(words, color=colour)
        side.grid(visible=name == "label_alignment")
    axis.set(xscale="log", xlabel="step")
    when = probe.alignment
    if when is not None and not when.reason:
        axis.axvline(when.rise.value, color="#a93d9b", lw=1, ls="--")
        axis.axvline(when.fall.value, color="black", lw=1, ls="--")
        axis.set_xlabel("step (dashed: half of the rise; black: half of the loss)", fontsize=9)
    titled(axis, "Kernel and labels (dotted: at the start)")


def _layer_map(figure: Any, axis: Any, probe: Probe) -> None:
    """How far each layer's part of the kernel moved, through time."""
    from matplotlib.colors import LogNorm

    from .._core.look import titled

    names = list(probe.layers)
    values = np.array([[one["kernel_movement"].value for one in probe.layers[n]] for n in names])
    known = values[np.isfinite(values) & (values > 0)]
    least = max(float(known.min()), LEAST_DRAWN_MOVEMENT) if known.size else LEAST_DRAWN_MOVEMENT
    most = max(float(known.max()), 10 * least) if known.size else 1.0
    image = axis.imshow(
        np.maximum(values, least), aspect="auto", norm=LogNorm(least, most), cmap="viridis"
    )
    axis.grid(visible=False)
    every = max(1, len(probe.times) // 6)
    axis.set_xticks(
        np.arange(values.shape[1])[::every], [f"{t:g}" for t in probe.times[1::every]], fontsize=8
    )
    some = -(-len(names) // MOST_LABELLED_LAYERS)
    axis.set_yticks(np.arange(len(names))[::some], names[::some], fontsize=8)
    axis.set_xlabel("step")
    figure.colorbar(image, ax=axis, label="kernel movement")
    titled(axis, "Which layers moved, and when")
