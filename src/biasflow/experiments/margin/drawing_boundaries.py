"""Drawing of C/fig1: boundaries of trained networks over the exact ones, and what training reaches
against its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, titled
from .planes import legend, plane_panel, stacked

if TYPE_CHECKING:
    import xarray

F1, F2 = COLOURS[2], COLOURS[3]
SETS_SHOWN = 4
"""Training sets in the pictures."""
LOWEST = -0.4
"""Least margin drawn, in units of γ₁."""
LINES = (
    ("trained network", "black", "solid", 1.3),
    ("exact F1 max margin", F1, "dashed", 1.8),
    ("exact F2 max margin (kernel)", F2, "dashed", 1.8),
    ("exact F2 max margin of these m neurons", COLOURS[4], "solid", 1.8),
)
UNCONVERGED = ("output layer as trained, not converged", MUTED, "dotted", 1.4)


def draw(summary: xarray.Dataset) -> Any:
    columns = min(SETS_SHOWN, summary.sizes["seed"])
    figure, planes, curves = stacked(columns, max(3.3 * columns, 9.0), 11.0, 0.44)
    for k in range(columns):
        one = summary.isel(seed=k)
        above = [(one["both"].values, *LINES[0][1:]), (one["f1"].values, *LINES[1][1:])]
        plane_panel(
            planes[0][k], one["input"].values, one["label"].values, above, one["both"].values
        )
        exact = one["output_exact"].values
        below = [
            (one["output"].values, *UNCONVERGED[1:]),
            (exact, *LINES[3][1:]),
            (one["f2"].values, *LINES[2][1:]),
        ]
        plane_panel(planes[1][k], one["input"].values, one["label"].values, below, exact)
        planes[0][k].set_xlabel(_both(one), fontsize=8)
        planes[1][k].set_xlabel(_output(one), fontsize=8)
        titled(planes[0][k], f"training set {int(one['seed'])}")
    sigma, steps = float(summary["sigma"][0]), f"{float(summary['step'][-1]):,.0f} steps"
    planes[0][0].set_ylabel(f"both layers, start σ = {sigma:g}\n{steps} ½/√(t+1)", fontsize=9.5)
    planes[1][0].set_ylabel(f"output layer: its limit,\nand {steps} of Proposition 7", fontsize=9.5)
    _against_time(curves[0], summary)
    _against_scale(curves[1], summary)
    legend(figure, (LINES[0], UNCONVERGED, *LINES[1:]), ncols=4, fontsize=9)
    return figure


def _share(value: float, unit: str) -> str:
    return f"{value:.3f} {unit}" if value > 0 else "not positive yet"


def _both(one: xarray.Dataset) -> str:
    gamma, gap = float(one["gamma1"]), float(one["gamma1_gap"])
    reached = _share(float(one["both_margin"][-1]), "γ₁")
    return f"margin: {reached}\nγ₁ = {gamma:.6f}, certified to {gap:.0e}"


def _output(one: xarray.Dataset) -> str:
    reached, authors = (
        _share(float(one[name]), "γ₂⁽ᵐ⁾") for name in ("output_margin", "output_authors")
    )
    gammas = (
        f"γ₂ = {float(one['gamma2']):.6f}; of these neurons γ₂⁽ᵐ⁾ = {float(one['gamma2_m']):.6f}"
    )
    return f"margin: {reached}\nwith the authors' steps: {authors}\n{gammas}"


def _against_time(axis: Any, summary: xarray.Dataset) -> None:
    """The flows' margins, median and range over the sets, and C's steps at the times they stand
    for."""
    for sigma, colour in zip(summary["sigma"].values, COLOURS, strict=False):
        margins = summary["margin"].sel(sigma=sigma).transpose("time", "seed").values
        axis.plot(
            summary["time"],
            np.median(margins, axis=1),
            color=colour,
            linewidth=1.8,
            label=f"flow, σ = {sigma:g}",
        )
        axis.fill_between(
            summary["time"],
            margins.min(axis=1),
            margins.max(axis=1),
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
    steps = summary["both_margin"].median("seed")
    axis.plot(
        summary["step_time"].isel(seed=0),
        steps,
        "k:",
        linewidth=1.6,
        label=f"C's steps, σ = {float(summary['sigma'][0]):g}",
    )
    axis.axhline(1, color="black", linewidth=1, linestyle="--")
    axis.set(
        xscale="log",
        xlim=(2, None),
        ylim=(LOWEST, 1.05),
        xlabel="time; t steps stand for √t",
        ylabel="margin / γ₁",
    )
    axis.legend(fontsize=8, loc="upper left")
    titled(axis, "both layers: margin on the way, median of the sets and range")


def _against_scale(axis: Any, summary: xarray.Dataset) -> None:
    sigma, last = (
        summary["sigma"].values,
        summary["margin"].isel(time=-1).transpose("seed", "sigma").values,
    )
    steps = summary["both_margin"].isel(step=-1).values
    axis.plot(sigma, last.T, "o-", color=COLOURS[0], alpha=0.75, markersize=4.5, linewidth=1)
    axis.plot(
        [],
        [],
        "o-",
        color=COLOURS[0],
        markersize=4.5,
        linewidth=1,
        label=f"flow at t = {float(summary['time'][-1]):,.0f}",
    )
    drawn = np.maximum(steps, LOWEST)
    axis.plot(
        np.full(drawn.size, sigma[0]),
        drawn,
        "kx",
        markersize=6,
        label=f"C's steps ({float(summary['step'][-1]):,.0f})",
    )
    axis.axhline(1, color="black", linewidth=1, linestyle="--", label="γ₁, the limit in Theorem 3")
    bottom = min(0.6, float(np.min(drawn)) - 0.05, float(np.min(last)) - 0.05)
    axis.set(
        xscale="log",
        xlabel="σ, scale of the start",
        ylabel="margin / γ₁",
        ylim=(max(bottom, LOWEST - 0.05), 1.05),
    )
    axis.set_xticks(sigma, [f"{value:g}" for value in sigma])
    axis.minorticks_off()
    if float(np.min(steps)) < LOWEST:
        note = f"least of C's steps: {float(np.min(steps)):.1f}, drawn at {LOWEST:g}"
        axis.text(0.03, 0.08, note, transform=axis.transAxes, fontsize=8, color=MUTED)
    axis.legend(fontsize=8, loc="lower right")
    titled(axis, "what is reached depends on the start: a line for each set")
