"""S/certify: two starts, two KKT points, one of them the largest margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.problems import Dataset, Problem
from ...diagnostics import certify
from ...flows import gradient_flow
from ...losses import SmoothMargin
from ...models import TwoLayer, TwoLayerParams
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

ANGLES, LENGTHS = np.deg2rad([40.0, 140.0, -90.0]), np.array([1.2, 0.8, 1.0])
X = LENGTHS[:, None] * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
Y = np.array([1.0, 1.0, -1.0])
"""Two samples of one class 100° apart, and one of the other opposite to them."""
STARTS = ("one neuron near each sample", "random neurons")
TIMES = 15
LONGER = 2.5
"""Length at which all the mass is drawn."""
MOST = 200
"""Neurons that are kept for the picture."""


def start_of(start: int, width: int, key: int) -> TwoLayerParams:
    """Small neurons: three that see one sample each, or random ones."""
    if start == 1:
        return TwoLayer(width, 2).init(0.3, key=key)
    rng = np.random.default_rng((17, key))
    size = 0.3 / np.sqrt(LENGTHS)
    W = X / LENGTHS[:, None] + 0.06 * rng.standard_normal(X.shape)
    return TwoLayerParams(Y * size * rng.uniform(0.9, 1.1, 3), size[:, None] * W)


def point(start: int, key: int, width: int, log_norm: float) -> xarray.Dataset:
    """The flow of one start, certified along its way."""
    import xarray

    begin = start_of(start, width, key)
    model = TwoLayer(begin.a.size, 2)
    problem = Problem(model, Dataset(X, Y), SmoothMargin(), begin)
    flow = gradient_flow(problem, log_norm=log_norm, time_s=None)
    assert flow.log_norm is not None
    marks = np.linspace(np.max([flow.log_norm[0], 2.0]), log_norm, TIMES)
    chosen = np.searchsorted(flow.log_norm[:-1], marks)
    a, W = flow.states.a, flow.states.W
    found = [certify((a[k], W[k]), X, Y, time_s=10.0) for k in chosen]
    lengths = np.linalg.norm(W[-1], axis=1)
    mass = np.abs(a[-1]) * lengths
    order = np.argsort(-mass)[:MOST]
    ends = np.full((MOST, 2), np.nan)
    ends[: order.size] = (mass / mass.sum() / lengths)[order, None] * W[-1][order]
    return xarray.Dataset(
        {
            "log_size": ("time", flow.log_norm[chosen]),
            "lower": ("time", [np.nan if c.fraction is None else c.fraction.lower for c in found]),
            "upper": ("time", [np.nan if c.fraction is None else c.fraction.upper for c in found]),
            "residual": ("time", [c.residual for c in found]),
            "neuron": (("number", "axis"), ends),
            "best": np.nan if found[-1].best is None else found[-1].best.upper,
        },
        {"time": np.arange(TIMES), "axis": [0, 1]},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Fractions and residuals at the end."""
    last = data.isel(time=-1)
    told = {"largest margin": float(data["best"].min())}
    for k, name in enumerate(STARTS):
        told[f"fraction of γ₁ at the end, {name}"] = float(last["upper"].sel(start=k).mean())
        told[f"KKT residual at the end, {name}"] = float(last["residual"].sel(start=k).mean())
    told["widest bracket of a fraction"] = float((data["upper"] - data["lower"]).max())
    return data.assign_attrs({**data.attrs, **told})


def draw(summary: xarray.Dataset) -> Any:
    figure, (plane, share, residual) = panels(3)
    for k, name in enumerate(STARTS):
        for number, key in enumerate(summary["key"].values):
            run, colour = summary.sel(start=k, key=key), COLOURS[k]
            label = name if number == 0 else None
            size = np.exp(run["log_size"])
            share.plot(size, run["upper"], color=colour, linewidth=1.3, label=label)
            residual.plot(size, run["residual"], color=colour, linewidth=1.3, label=label)
        ends = summary.sel(start=k, key=summary["key"].values[0])["neuron"].values
        for u in LONGER * ends[np.hypot(*ends.T) > 0.005]:
            plane.plot([0, u[0]], [0, u[1]], color=COLOURS[k], linewidth=1.8 - 0.6 * k)
        plane.plot([], [], color=COLOURS[k], label=f"from {name}")
    for sign, marker in ((1.0, "o"), (-1.0, "s")):
        plane.plot(*X[sign == Y].T, marker, color="black", markersize=5, label=f"class {sign:+g}")
    plane.plot([0, 0], [-1.2, 2.2], alpha=0)  # room for the legend
    plane.set(xlabel="x₁", ylabel="x₂")
    plane.set_aspect("equal", adjustable="datalim")
    plane.legend(fontsize=7, loc="upper center")
    titled(plane, "where two flows end")
    share.axhline(1.0, color=MUTED, linewidth=0.8)
    share.set(xlabel="‖θ‖²", ylabel="fraction of γ₁", xscale="log", ylim=(0.5, 1.03))
    share.legend(fontsize=7.5, loc="lower right")
    titled(share, "one of them has the largest margin")
    residual.set(xlabel="‖θ‖²", ylabel="KKT residual", xscale="log", yscale="log")
    residual.legend(fontsize=7.5, loc="lower left")
    titled(residual, "both tend to KKT points")
    return figure


certified = Experiment(
    "S/certify",
    "KKT points of the margin problem need not be global (after Lyu & Li 2019, Chizat & Bach 2020 "
    "and Vardi, Shamir & Srebro 2022): gradient flow of two-layer ReLU networks without biases on "
    "three samples, two of one class 100° apart. (a) Neurons at the end, as long as their share of "
    "the mass: from one neuron near each sample the flow keeps one for each; from random neurons "
    "the two samples come to share theirs. (b) The fraction of the largest margin along the way, "
    "between bounds closer than the line is thick. (c) The KKT residual falls in both cases: it "
    "does not tell which of them is the best.",
    {
        "quick": Grid({"start": (0, 1), "key": (0,)}, {"width": 60, "log_norm": 24.0}),
        "paper": Grid({"start": (0, 1), "key": tuple(range(6))}, {"width": 150, "log_norm": 36.0}),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: three samples in a plane and the neurons in which two trainings end: one along each "
        "sample, or one shared by the two samples of one class. Middle: the fraction of the "
        "largest margin rises and settles at 0.86 from three neurons, close to one from random "
        "neurons. Right: the KKT residuals of both fall, that of three neurons faster."
    ),
)
