"""S/lasso: averages of a flow beside the Lasso path, and the proven gap against the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ...data import sparse_regression
from ...diagnostics import lasso_gap
from ...flows import mirror_flow, saddle_path
from ...potentials import Hypentropy
from ...sweeps.grids import Grid
from ...theory.since.lasso_program import lasso_solution, least_objective, objective
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

TIMES = 25
"""Moments, from half the time of the first jump of the vanishing start to one and a half times that
of the last, evenly in their logarithm."""


def point(log: float, seed: int, n: int, d: int, sparsity: int) -> xarray.Dataset:
    """The averages of the flow from r = e^{−log}, their gaps, and those of the jump process."""
    import xarray

    data = sparse_regression(n, d, sparsity, 0.01, key=seed)
    path = saddle_path(data.X, data.y)
    tau = np.geomspace(0.5 * path.times[1], 1.5 * path.times[-1], TIMES)
    flow = mirror_flow(Hypentropy(log_alpha=-log), data.X, data.y, times=log * tau, time_s=None)
    found, limit = lasso_gap(flow), lasso_gap(path, tau)
    excess = [
        (objective(data.X, data.y, beta, penalty) - least_objective(data.X, data.y, penalty)[0])
        / value
        for beta, penalty, value in zip(flow.states, found.penalty, found.objective, strict=True)
    ]
    solutions = [lasso_solution(data.X, data.y, penalty) for penalty in found.penalty]
    return xarray.Dataset(
        {
            "time": ("moment", tau),
            "penalty": ("moment", found.penalty),
            "gap": ("moment", found.relative),
            "limit_gap": ("moment", limit.relative),
            "excess_of_iterate": ("moment", np.array(excess)),
            "mean": (("moment", "coordinate"), found.mean),
            "iterate": (("moment", "coordinate"), np.asarray(flow.states)),
            "lasso": (("moment", "coordinate"), np.array(solutions)),
            "error": float(np.max(found.error)),
            "leaving": float(sum(len(left) for _, _, left in path.events)),
        }
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """The largest gap at each scale, and how it falls with the scale where no coordinate leaves."""
    worst = data["gap"].max("moment")
    monotone = data["leaving"].isel(log=0) == 0
    logs = np.log(data["log"].values.astype(float))
    slopes = [
        float(np.polyfit(logs[-3:], np.log(worst.sel(seed=seed).values[-3:]), 1)[0])
        for seed in data["seed"].values
        if bool(monotone.sel(seed=seed))
    ]
    attributes = {
        "data sets on which no coordinate leaves": int(monotone.sum()),
        "exponent of the largest gap in log(1/r), median": float(np.median(slopes or [np.nan])),
        "largest gap at the least start": float(worst.isel(log=-1).max()),
        "largest excess of the iterate itself there": float(
            data["excess_of_iterate"].isel(log=-1).max()
        ),
    }
    return data.assign(worst=worst).assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (path, course, fall) = panels(3)
    logs = summary["log"].values
    one = summary.isel(seed=0)
    least = one.isel(log=-1)
    inverse = 1 / least["penalty"].values
    used = np.flatnonzero(np.max(np.abs(least["lasso"].values), axis=0) > 0)
    order = used[np.argsort(-np.abs(least["lasso"].values[-1, used]))]
    for colour, k in zip(COLOURS, order, strict=False):
        path.plot(inverse, least["lasso"].values[:, k], color=colour, alpha=0.35, linewidth=5)
        path.plot(inverse, least["mean"].values[:, k], color=colour, linewidth=1.4)
        path.plot(inverse, least["iterate"].values[:, k], color=colour, linewidth=0.8, ls=":")
    for style, label in (
        ({"alpha": 0.35, "linewidth": 5}, "Lasso at that λ"),
        ({"linewidth": 1.4}, "average of the flow"),
        ({"linewidth": 0.8, "ls": ":"}, "the flow itself"),
    ):
        path.plot([], [], color="black", label=label, **style)
    path.set(xlabel="1/λ (training time over log(1/r))", ylabel="coefficients", xscale="log")
    titled(path, f"r = e$^{{-{logs[-1]:g}}}$, largest coefficients")
    shades = [COLOURS[0], COLOURS[3], COLOURS[1], COLOURS[4], COLOURS[2]]
    for colour, log in zip(shades, logs[:: max(1, len(logs) // 4)], strict=False):
        run = one.sel(log=log)
        course.plot(1 / run["penalty"], run["gap"], color=colour, label=f"log(1/r) = {log:g}")
    course.plot(inverse, least["excess_of_iterate"], color=MUTED, ls=":", label="the flow itself")
    course.set(xlabel="1/λ", ylabel="gap / objective", xscale="log", yscale="log")
    titled(course, "how far from optimal, at most")
    course.set_ylim(1e-6, 3)
    seen = set()
    for seed in summary["seed"].values:
        run = summary.sel(seed=seed)
        leaves = bool(run["leaving"].isel(log=0) > 0)
        label = "some coordinate leaves again" if leaves else "none leaves"
        fall.plot(
            logs,
            run["worst"],
            color=COLOURS[1] if leaves else COLOURS[0],
            marker="o",
            markersize=3,
            label=None if label in seen else label,
        )
        seen.add(label)
    top = float(summary["worst"].isel(log=0).max())
    fall.plot(logs, 2 * top * logs[0] / logs, color=MUTED, ls="--", label="1/log(1/r)")
    fall.set(xlabel="log(1/r)", ylabel="largest gap / objective", xscale="log", yscale="log")
    titled(fall, "smaller starts, smaller gaps")
    for axis in (path, course, fall):
        axis.xaxis.set_minor_formatter("")
        axis.legend(fontsize=7.5)
    return figure


SETTING = {"n": 8, "d": 20, "sparsity": 3}

lasso = Experiment(
    "S/lasso",
    "Training time is regularisation (after Berthier 2025): the average β̄ over training of a "
    "depth-2 diagonal network from a small start, r = 2α², is nearly the Lasso solution at "
    "λ = ‖Xᵀ(y − Xβ̄)‖_∞, which is about log(1/r) over the time. (a) Averages beside the Lasso "
    "solutions at the same λ, and the flow itself, which jumps. (b) The duality gap of β̄ over the "
    "objective, proven at every time, for several starts; dotted, how far the flow itself is from "
    "optimal at the least of them. (c) The largest gap against log(1/r), one line for each data "
    "set: it falls like 1/log(1/r) where no coordinate leaves the path again, else to a small "
    "value.",
    {
        "quick": Grid({"log": (10.0, 30.0, 100.0, 300.0, 1000.0), "seed": (0, 1, 3)}, SETTING),
        "paper": Grid(
            {
                "log": tuple(float(log) for log in np.geomspace(10, 10_000, 10).round()),
                "seed": tuple(range(12)),
            },
            {"n": 20, "d": 60, "sparsity": 4},
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: averaged coefficients of the network lie on the broad lines of the Lasso path, "
        "while the flow itself jumps. Middle: the gap over the objective falls with the scale of "
        "the start, and stays far below the excess of the flow itself. Right: on data sets on "
        "which no coefficient returns to zero the largest gap falls in proportion to 1/log(1/r); "
        "on the others it levels off."
    ),
)
