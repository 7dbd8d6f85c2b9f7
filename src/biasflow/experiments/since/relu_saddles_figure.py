"""S/relu-saddles: extremal vectors, ReLU networks from saddle to saddle, and a spurious limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.problems import Dataset, Problem
from ...data import two_points
from ...flows import gradient_flow, relu_saddle_path
from ...limits import extremal_vectors
from ...losses import SquareLoss
from ...models import TwoLayer
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

TIMES, CIRCLE, MOST = 400, 721, 12
SEEN = 1.25
"""End of what is drawn, over the time of the last jump."""
THREE = Dataset(np.column_stack([[-0.75, -0.5, 0.125], np.ones(3)]), np.array([1.1, 0.1, 0.8]))
"""The samples of Boursier and Flammarion's experiment, with a bias column."""


def samples(which: str) -> tuple[Dataset, TwoLayer, int]:
    """Boursier and Flammarion's, three random ones in three dimensions, or B's two."""
    if which == "three points":
        return THREE, TwoLayer(20, 2), 0
    if which == "two points":
        return two_points(), TwoLayer(30, 2), 0
    rng = np.random.default_rng(41)
    return Dataset(rng.standard_normal((3, 3)), rng.standard_normal(3)), TwoLayer(12, 3), 4


def point(data: str, logs: tuple[float, ...]) -> xarray.Dataset:
    """The path, and losses of flows from e^{−T}·start at the same τ; G around the circle where the
    inputs are in the plane."""
    import xarray

    own, model, key = samples(data)
    start, loss = model.init(1.0, key=key), SquareLoss("half-mean")
    path = relu_saddle_path(own, start, loss, time_s=None)
    tau = np.linspace(0, SEEN * float(path.times[-1]), TIMES)
    flows = np.array(
        [
            gradient_flow(Problem(model, own, loss, start, -T), times=tau[1:] * T, time_s=None).loss
            for T in logs
        ]
    )
    angle = np.linspace(-180, 180, CIRCLE)
    u = np.stack([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))], axis=1)
    G, marks = np.full(CIRCLE, np.nan), np.full((3, MOST), np.nan)
    if own.d == 2:
        found = extremal_vectors(own, loss)
        G = np.maximum(u @ own.X.T, 0.0) @ found.weights
        places = np.rad2deg(np.arctan2(found.directions[:, 1], found.directions[:, 0]))
        marks[:, : len(found)] = places, found.growth, found.attracts
    steps = np.full((2, MOST), np.nan)
    steps[:, : len(path.saddles)] = path.times, path.losses
    return xarray.Dataset(
        {
            "time": ("moment", tau[1:]),
            "flow": (("T", "moment"), flows),
            "jump_time": ("stop", steps[0]),
            "jump_loss": ("stop", steps[1]),
            "spurious": ((), float(path.kinds[-1] == "spurious")),
            "angle": ("direction", angle),
            "G": ("direction", G),
            "marks": (("what", "stop"), marks),
        },
        {"T": np.array(logs)},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """How far from the path's last loss the flows end, and the end of least squares."""
    told: dict[str, float] = {}
    for name in data["data"].values:
        one = data.sel(data=name)
        last = one["jump_loss"].values[np.isfinite(one["jump_loss"].values)][-1]
        told[f"loss at the end of the path, {name}"] = float(last)
        told[f"farthest end of a flow from it, {name}"] = float(
            np.max(np.abs(one["flow"].values[:, -1] - last))
        )
    beta = np.linalg.lstsq(THREE.X, THREE.y, rcond=None)[0]
    told["loss of least squares, three points"] = float(
        np.mean((THREE.X @ beta - THREE.y) ** 2) / 2
    )
    return data.assign_attrs({**data.attrs, **told})


def draw(summary: xarray.Dataset) -> Any:
    figure, (circle, three, four) = panels(3)
    one = summary.sel(data="three points")
    circle.plot(one["angle"], one["G"], color="black", lw=1.1)
    place, height, sign = one["marks"].values
    for s, marker, label in ((1, "^", "positive neurons turn here"), (-1, "v", "negative do")):
        own = sign == s
        if not np.any(own):
            continue
        circle.plot(place[own], height[own], marker, color=COLOURS[0 if s > 0 else 1], label=label)
    circle.set(xlabel="direction u (degrees)", ylabel="G(u)", xticks=range(-180, 181, 90))
    circle.legend(fontsize=7)
    titled(circle, "one direction to grow in")
    for axis, name in ((three, "three points"), (four, "random")):
        run = summary.sel(data=name)
        known = np.isfinite(run["jump_time"].values)
        times, losses = run["jump_time"].values[known], run["jump_loss"].values[known]
        until = SEEN * times[-1]
        axis.step(
            np.append(times, until),
            np.append(losses, losses[-1]),
            where="post",
            color=MUTED,
            alpha=0.4,
            lw=5,
            label="the path",
        )
        for k, T in enumerate(run["T"].values):
            axis.plot(
                run["time"], run["flow"].values[k], color=COLOURS[k], lw=1.2, label=f"T = {T:g}"
            )
        axis.set(xlabel="τ = t/T", ylabel="loss")
        axis.set_ylim(bottom=0.0)
        axis.legend(fontsize=7)
        end = "ends short of the labels" if float(run["spurious"]) else "fits the labels"
        titled(axis, f"{name}: {end}")
    return figure


LOGS = {"logs": (15.0, 60.0, 1000.0)}
relu_saddles = Experiment(
    "S/relu-saddles",
    "ReLU networks from e^{−T}·start. (a) G(u) = Σy_k(⟨u, x_k⟩)₊/n around the circle for the three "
    "samples of Boursier and Flammarion 2024: its critical points are where small neurons turn. "
    "(b) Loss of twenty neurons on these samples against t/T: all positive ones grow as one, and "
    "training ends at least squares, whatever T. (c) Three random samples in three dimensions: the "
    "loss jumps from saddle to saddle, at the times of the path as T grows.",
    {
        "quick": Grid({"data": ("three points", "random")}, LOGS),
        "paper": Grid(
            {"data": ("three points", "random", "two points")}, {"logs": (15.0, 60.0, 3000.0)}
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: a curve over all directions with one maximum, at which positive neurons turn. "
        "Middle: the loss falls once, to a plateau well above zero; curves for three T "
        "approach a step. Right: the loss falls in steps, and the curve for the largest T lies on "
        "the path."
    ),
)
