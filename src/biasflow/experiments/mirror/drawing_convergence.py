"""Drawing of R/fig2, fig3 and fig6: divergence and objective with their bounds, and R's
constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ..experiment import Reported

if TYPE_CHECKING:
    import xarray

FITTED = (1e-12, 1e-3)
"""Where the observed rate of D is fitted, in units of its start: the straight part."""
LEAST_DRAWN = 1e-19
"""Smallest value drawn: flows end at a loss of 1e-20 of their start."""
CURVES = {
    "divergence": "D(β*, β(t)), measured",
    "linear": "R, Lemma 3.6: exponential, rate κ₁",
    "sublinear": "R, Lemma 3.7: 1/(κ₂t + 1/D₀)",
    "sharp_linear": "sharper: exponential, rate 4κ₁",
    "sharp_sublinear": "sharper: ‖ν*‖²/t",
}
"""Curves of D and what they are."""
OBJECTIVES = {
    "objective": "F(β(t)), measured",
    "objective_bound": "R, (3): D₀/(2t)",
    "sharp_objective": "sharper: ‖ν*‖²/(2t²)",
}
LINES: dict[str, dict[str, Any]] = {
    "divergence": {"color": "black", "linewidth": 2.4, "zorder": 4},
    "linear": {"color": COLOURS[1], "linestyle": (0, (5, 5)), "linewidth": 1.6, "zorder": 3},
    "sublinear": {"color": COLOURS[4], "linestyle": (5, (5, 5)), "linewidth": 1.6, "zorder": 3},
    "clock": {"color": COLOURS[4], "linestyle": "-.", "linewidth": 1.8},
    "sharp_linear": {"color": COLOURS[3], "linewidth": 3.5, "alpha": 0.45},
    "sharp_sublinear": {"color": COLOURS[0], "linewidth": 1.6},
    "objective": {"color": "black", "linewidth": 2.4, "zorder": 4},
    "objective_bound": {"color": COLOURS[1], "linestyle": (0, (5, 5)), "linewidth": 1.6},
    "sharp_objective": {"color": COLOURS[0], "linewidth": 1.6},
}
STEP = 1e-4
"""R's step size μ: t = μk after k iterations."""
CLOCK = "Lemma 3.7 with iterations k = t/1e-4 for t: no bound"
HEADROOM = 1e3
"""Top of the panels over D₀."""
MANY_SEEDS = 20
"""Seeds from which 5 and 95% lie inside their range."""
NAMED_WIDTH = 0.12
"""Share of a panel that a phase must fill to be named."""
CONSTANTS = {
    "kappa1": "κ₁",
    "kappa2": "κ₂",
    "inf r": "inf r",
    "op": "‖Xᵀ†‖",
    "M": "M",
    "observed rate": "observed rate",
}
"""The constants that R reports, by their names among the variables."""


def draw(
    summary: xarray.Dataset, scale: str, reported: tuple[Reported, ...], clock: bool = False
) -> Any:
    figure, (divergence, objective, constants) = panels(3, height=4.2, width=5.2)
    shown = summary.isel(seed=0)
    draw_divergence(divergence, shown, scale, clock)
    titled(divergence, "Bregman divergence to the limit, one network")
    draw_objective(objective, shown, scale)
    titled(objective, "objective, same network")
    draw_constants(constants, {"ours, a dot a seed": (summary, "", COLOURS[0])}, reported)
    return figure


def draw_divergence(axis: Any, run: xarray.Dataset, scale: str, clock: bool = False) -> None:
    """D with its bounds; clock: also Lemma 3.7's with iterations for t, which R's words would fit
    as well."""
    times, D, rate = (
        run["share"].values * float(run["end"]),
        run["divergence"].values,
        float(run["asymptotic_rate"]),
    )
    for name, label in CURVES.items():
        axis.plot(times, run[name], label=label, **LINES[name])
    fallen = D / D[0]
    if clock:
        axis.plot(
            times,
            1 / (float(run["kappa2"]) * times / STEP + 1 / D[0]),
            label=CLOCK,
            **LINES["clock"],
        )
    anchor = int(np.flatnonzero(fallen >= 1e-9)[-1])
    tail = fallen <= FITTED[1]
    line = 5 * D[anchor] * np.exp(-rate * (times - times[anchor]))
    axis.plot(
        times[tail],
        line[tail],
        ":",
        color=COLOURS[2],
        linewidth=1.8,
        label=f"slope of the exact final rate, {rate:.2g}",
    )
    _finish(axis, run, scale, "divergence D to the limit")


def draw_objective(axis: Any, run: xarray.Dataset, scale: str) -> None:
    times = run["share"].values * float(run["end"])
    for name, label in OBJECTIVES.items():
        axis.plot(times, run[name], label=label, **LINES[name])
    _finish(axis, run, scale, "objective F = ½‖Xβ − y‖²")


def _finish(axis: Any, run: xarray.Dataset, scale: str, label: str) -> None:
    end, top = float(run["end"]), HEADROOM * float(run["divergence"][0])
    left = 1e-4 * end if scale == "log" else 0.0
    axis.set(
        xlabel="time t",
        ylabel=label,
        yscale="log",
        ylim=(LEAST_DRAWN, top),
        xscale=scale,
        xlim=(left, end),
    )
    _mark_phases(axis, run)
    axis.legend(fontsize=7.2, loc="lower left")


def _mark_phases(axis: Any, run: xarray.Dataset) -> None:
    """Escape, slow phase and final convergence, shaded and named along the top."""
    left, right = axis.get_xlim()
    escape, final = max(float(run["escape_end"]), left), max(float(run["final_start"]), left)
    spans = (
        ("escape", left, escape, COLOURS[4]),
        ("drops, plateaus", escape, final, COLOURS[5]),
        ("final phase", final, right, COLOURS[2]),
    )
    if final <= left or escape >= right:
        return  # one phase fills the panel: nothing to tell apart
    for name, start, end, colour in spans:
        width = (
            np.log(end / start) / np.log(right / left)
            if left > 0
            else (end - start) / (right - left)
        )
        axis.axvspan(start, end, color=colour, alpha=0.09 if width > 0 else 0, linewidth=0)
        if width > NAMED_WIDTH:
            middle = np.sqrt(start * end) if left > 0 else (start + end) / 2
            where = axis.get_xaxis_transform()
            axis.text(
                middle,
                0.985,
                name,
                transform=where,
                ha="center",
                va="top",
                fontsize=7.5,
                color=MUTED,
            )


def draw_constants(
    axis: Any, sets: dict[str, tuple[Any, str, str]], reported: tuple[Reported, ...]
) -> None:
    """Every constant over the paper's value of it: a seed each, with the 5–95% range and the
    median."""
    rows = [name for name in CONSTANTS if any(r.name.startswith(name) for r in reported)]
    for k, (label, (data, suffix, colour)) in enumerate(sets.items()):
        for row, name in enumerate(rows):
            paper = next(r.reading.value for r in reported if r.name == name + suffix)
            ratios = data[name].values / paper
            place = len(rows) - 1 - row + (0.2 - 0.4 * k if len(sets) > 1 else 0.0)
            # spread, the same in every run
            jitter = place + 0.12 * np.sin(12.9898 * np.arange(len(ratios)))
            axis.plot(
                ratios,
                jitter,
                ".",
                color=colour,
                markersize=4,
                alpha=0.45,
                label=label if row == 0 else None,
            )
            low, middle, high = np.quantile(
                ratios, [0.05, 0.5, 0.95] if len(ratios) >= MANY_SEEDS else [0, 0.5, 1]
            )
            axis.plot([low, high], [place, place], color=colour, linewidth=2)
            axis.plot(middle, place, "D", color=colour, markersize=6, markeredgecolor="white")
    axis.axvline(1, 0.13, color="black", linewidth=1.2, label="the paper's network")
    axis.set(xscale="log", xlabel="ours / reported", ylim=(-1.2, len(rows) - 0.4))
    axis.set_yticks(range(len(rows)), [CONSTANTS[name] for name in reversed(rows)])
    _plain_ticks(axis)
    axis.legend(
        fontsize=7.5,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(sets) + 1,
        frameon=False,
        columnspacing=1.0,
    )
    titled(
        axis, f"constants over seeds (median, {'5–95%' if len(ratios) >= MANY_SEEDS else 'range'})"
    )


def _plain_ticks(axis: Any) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    low, high = axis.get_xlim()
    ticks = (
        [0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3]
        if high < 2 * low
        else [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10]
    )
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
