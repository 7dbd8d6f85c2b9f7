"""Drawing of C/fig1: boundaries of trained networks over the exact ones, and what training reaches against its start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..style import COLOURS, MUTED, titled
from .planes import legend, plane_panel

if TYPE_CHECKING:
    import xarray

F1, F2 = COLOURS[2], COLOURS[3]
SHOWN = 4
"""Training sets in the pictures."""
LOWEST = -0.4
"""Least margin drawn, in units of γ₁."""
LINES = (
    ("trained network", "black", "solid", 1.3),
    ("exact F1 max margin", F1, "dashed", 1.8),
    ("exact F2 max margin (kernel)", F2, "dashed", 1.8),
)


def draw(summary: xarray.Dataset) -> Any:
    columns = min(SHOWN, summary.sizes["seed"])
    figure, planes, curves = _sheet(columns)
    for k in range(columns):
        one = summary.isel(seed=k)
        first, output = one["both"].isel(sigma=0).values, one["output"].values
        for axis, trained, exact, line in ((planes[0][k], first, "f1", LINES[1]), (planes[1][k], output, "f2", LINES[2])):
            lines = [(trained, *LINES[0][1:]), (one[exact].values, *line[1:])]
            plane_panel(axis, one["input"].values, one["label"].values, lines, trained)
        planes[0][k].set_xlabel(_both(one), fontsize=8)
        planes[1][k].set_xlabel(_output(one), fontsize=8)
        titled(planes[0][k], f"training set {int(one['seed'])}")
    sigma, steps = float(summary["sigma"][0]), f"{float(summary['step'][-1]):,.0f} steps"
    planes[0][0].set_ylabel(f"both layers, start σ = {sigma:g}\n{steps} ½/√(t+1)", fontsize=9.5)
    planes[1][0].set_ylabel(f"output layer\n{steps} of Proposition 7", fontsize=9.5)
    _against_steps(curves[0], summary)
    _against_scale(curves[1], summary)
    legend(figure, LINES, ncols=5, fontsize=9)
    return figure


def _sheet(columns: int) -> tuple[Any, Any, Any]:
    """Two rows of square panels, and two wide panels below that do not push them apart."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25}):
        figure = Figure(figsize=(3.3 * columns, 11.6), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=[2.15, 0.9])
        return figure, upper.subplots(2, columns, squeeze=False), lower.subplots(1, 2)


def _share(value: float, unit: str) -> str:
    return f"{value:.3f} {unit}" if value > 0 else "not positive yet"


def _both(one: xarray.Dataset) -> str:
    gamma, gap = float(one["gamma1"]), float(one["gamma1_gap"])
    reached = _share(float(one["margin"].isel(sigma=0, step=-1)), "γ₁")
    return f"margin: {reached}\nγ₁ = {gamma:.6f}, certified to {gap:.0e}"


def _output(one: xarray.Dataset) -> str:
    reached, authors = (_share(float(one[name]), "γ₂⁽ᵐ⁾") for name in ("output_margin", "output_authors"))
    gammas = f"γ₂ = {float(one['gamma2']):.6f}; of these neurons γ₂⁽ᵐ⁾ = {float(one['gamma2_m']):.6f}"
    return f"margin: {reached}\nwith the authors' steps: {authors}\n{gammas}"


def _against_steps(axis: Any, summary: xarray.Dataset) -> None:
    for k, colour in zip(range(summary.sizes["sigma"]), COLOURS, strict=False):
        margins = summary["margin"].isel(sigma=k).transpose("step", "seed").values
        sigma = float(summary["sigma"][k])
        axis.plot(summary["step"], np.median(margins, axis=1), color=colour, linewidth=1.8, label=f"σ = {sigma:g}")
        axis.fill_between(summary["step"], margins.min(axis=1), margins.max(axis=1), color=colour, alpha=0.13, linewidth=0)
    axis.axhline(1, color="black", linewidth=1, linestyle="--")
    axis.set(xscale="log", xlim=(100, None), ylim=(LOWEST, 1.05), xlabel="step", ylabel="margin / γ₁")
    axis.legend(fontsize=8, loc="upper left", title="both layers, start", title_fontsize=8)
    titled(axis, "margin on the way: median of the sets, and their range")


def _against_scale(axis: Any, summary: xarray.Dataset) -> None:
    sigma = summary["sigma"].values
    for k in range(summary.sizes["seed"]):
        last, best = (np.maximum(values, LOWEST) for values in (summary["margin"].isel(seed=k, step=-1), summary["best"].isel(seed=k)))
        labels = ("last step, a line for each training set", "best step") if k == 0 else (None, None)
        axis.plot(sigma, last, "o-", color=COLOURS[0], alpha=0.7, markersize=4, linewidth=1, label=labels[0])
        axis.plot(sigma, best, "^", color=COLOURS[2], alpha=0.8, markersize=5, label=labels[1])
    axis.axhline(1, color="black", linewidth=1, linestyle="--", label="γ₁, the limit in Theorem 3")
    low = float(np.min(summary["margin"].isel(step=-1)))
    bottom = min(0.6, max(low, LOWEST) - 0.05)
    axis.set(xscale="log", xlabel="σ, scale of the start", ylabel="margin / γ₁", ylim=(bottom, 1.05))
    axis.set_xticks(sigma, [f"{value:g}" for value in sigma])
    axis.minorticks_off()
    if low < LOWEST:
        axis.text(0.02, 0.02, f"least: {low:.1f}, drawn at {LOWEST:g}", transform=axis.transAxes, fontsize=8, color=MUTED)
    axis.legend(fontsize=8, loc="lower right")
    titled(axis, f"where training stands after {float(summary['step'][-1]):,.0f} steps depends on its start")
