"""W/descent: what the step size and the noise of SGD do to the bias of depth-2 diagonal
networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, band, panels, titled
from ..._core.problems import Problem
from ..._core.results import Result
from ..._numerics.deadlines import RECORDED_S
from ...data import sparse_regression
from ...errors import ConvergenceError
from ...flows import limit
from ...limits import min_l1
from ...losses import SquareLoss
from ...models import DiagonalNetwork
from ...sweeps.grids import Grid
from ...theory.regimes.finite_steps import stable_step
from ...training import effective_limit
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

METHODS = {"gradient descent": None, "SGD, batch 5": 5}
BATCHES = tuple(0 if batch is None else batch for batch in METHODS.values())


def point(
    share: float, batch: int, seed: int, n: int, d: int, sparsity: int, alpha: float, steps: int
) -> xarray.Dataset:
    """One run at a share of the largest stable step: its excess ℓ1 norm, effective α, and distance
    from the prediction."""
    import xarray

    data, model = sparse_regression(n, d, sparsity, 0.01, key=seed), DiagonalNetwork(2)
    problem = Problem(model, data, SquareLoss("half"), model.init(alpha, dim=d))
    flow, l1 = limit(model, data, scale=alpha, time_s=RECORDED_S), min_l1(data.X, data.y)
    step = 2 * share * stable_step(problem, flow.value)
    measured = dict.fromkeys(
        ("excess_l1", "alpha_on_support", "alpha_off_support", "distance"), np.nan
    )
    converged = False
    try:
        predicted, params = effective_limit(
            model, data, problem.loss, problem.start, step, steps, batch=batch or None, key=seed
        )
        converged = predicted.stats["descent"] is Result.CONVERGED
    except ConvergenceError:  # the step diverges: a fact about that step
        pass
    if converged:
        beta, gain, support = (
            model.effective(params),
            predicted.stats["log_gain"],
            np.arange(d) < sparsity,
        )
        measured = {
            "excess_l1": float(np.sum(np.abs(beta))) / l1.objective - 1,
            "alpha_on_support": alpha * float(np.exp(np.mean(gain[support]) / 2)),
            "alpha_off_support": alpha * float(np.exp(np.mean(gain[~support]) / 2)),
            "distance": float(np.max(np.abs(beta - predicted.value))) / float(np.max(np.abs(beta))),
        }
    excess_flow = float(np.sum(np.abs(flow.value))) / l1.objective - 1
    return xarray.Dataset(
        {**measured, "converged": float(converged), "excess_l1_flow": excess_flow}
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    attributes = {
        "largest relative distance from the projection": float(data["distance"].max()),
        "share of runs converged": float(data["converged"].mean()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (bias, scale, distance) = panels(3)
    share = summary["share"].values
    for colour, (label, batch) in zip(COLOURS, zip(METHODS, BATCHES, strict=True), strict=False):
        runs = summary.sel(batch=batch).transpose("share", "seed")
        band(bias, share, runs["excess_l1"].values, colour, label, marker="o", markersize=3)
        band(
            scale,
            share,
            runs["alpha_on_support"].values,
            colour,
            f"{label}, on the support",
            marker="o",
            markersize=3,
        )
        band(
            scale,
            share,
            runs["alpha_off_support"].values,
            colour,
            f"{label}, off it",
            linestyle="--",
        )
        band(distance, share, runs["distance"].values, colour, label, marker="o", markersize=3)
    bias.axhline(
        float(summary["excess_l1_flow"].median()), color=MUTED, linestyle=":", label="gradient flow"
    )
    bias.set(xlabel="step size / largest stable one", ylabel="‖β‖₁/min ℓ1 − 1", xscale="log")
    titled(bias, "how the step changes the bias")
    scale.set(
        xlabel="step size / largest stable one", ylabel="effective α (geometric mean)", xscale="log"
    )
    titled(scale, "large steps shrink α, most on the support")
    distance.set(
        xlabel="step size / largest stable one",
        ylabel="relative distance",
        xscale="log",
        yscale="log",
    )
    titled(distance, "run against predicted projection")
    for axis in (bias, scale, distance):
        axis.legend(fontsize=7.5)
    return figure


SETTING = {"n": 20, "d": 60, "sparsity": 3, "alpha": 0.1, "steps": 60_000}

descent = Experiment(
    "W/descent",
    "Gradient descent and SGD with a finite step on a depth-2 diagonal network (α = 0.1; the step "
    "in units of the largest stable one at the flow's limit) end at the Bregman projection for an "
    "effective α per coordinate: (a) the ℓ1 norm they reach, (b) the effective α, (c) the distance "
    "between each run and the projection predicted from its accumulated gains. Runs that do not "
    "reach a loss of 1e-20 of their start are left out. Medians over data sets, bands 10–90%.",
    {
        "quick": Grid(
            {"share": (0.03, 0.1, 0.3, 0.6, 0.9), "batch": BATCHES, "seed": (0, 1, 2)}, SETTING
        ),
        "paper": Grid(
            {
                "share": (0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9),
                "batch": BATCHES,
                "seed": tuple(range(20)),
            },
            {**SETTING, "steps": 400_000},
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: with larger steps gradient descent ends at a larger ℓ1 norm than gradient flow, SGD "
        "at a smaller one, until its largest step. Middle: the effective scale α falls with the "
        "step, for gradient descent more on the support than off it. Right: each run is within "
        "1e-9 of its predicted projection."
    ),
)
