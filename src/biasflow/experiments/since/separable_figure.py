"""S/separable: kernel or rich on separable data, by the scale of the start and the norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.problems import Dataset, Problem
from ..._numerics.deadlines import RECORDED_S
from ...flows import direction_path
from ...limits import l1_max_margin, l2_max_margin
from ...losses import ExponentialLoss
from ...models import DiagonalNetwork
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

GROWTH = np.concatenate([np.linspace(0.0, 4.0, 17)[1:], np.geomspace(4.5, 5e4, 24)])
"""log-norm less that of the start, at which directions are kept."""
ADDED = 5e4
FLOOR = 1e-9


def classes(key: int) -> Dataset:
    """Five samples, eight features, classes that a direction separates."""
    rng = np.random.default_rng((97, key))
    X = rng.standard_normal((5, 8))
    return Dataset(X, np.where(X @ rng.standard_normal(8) > 0, 1.0, -1.0))


def point(log10_scale: float, key: int) -> xarray.Dataset:
    """The path of one start."""
    import xarray

    data = classes(key)
    Z = data.y[:, None] * data.X
    problem = Problem(DiagonalNetwork(2), data, ExponentialLoss(), scale=10.0**log10_scale)
    begin = np.log(2.0 * data.d) + 2 * log10_scale * np.log(10.0)
    path = direction_path(problem, begin + ADDED, time_s=None)
    best = l1_max_margin(np.hstack([Z, -Z]), time_s=RECORDED_S)
    a = best.value[: data.d] - best.value[data.d :]
    kernel = l2_max_margin(Z, time_s=RECORDED_S).value
    kernel = kernel / np.sum(np.abs(kernel))
    added = path.log_norm - path.log_norm[0]
    _, first = np.unique(np.maximum.accumulate(added), return_index=True)

    def at_growth(values: Any) -> Any:
        return np.interp(GROWTH, added[first], np.asarray(values)[first])

    apart = [np.sum(np.abs(path.directions - goal), axis=1) for goal in (a, kernel)]
    return xarray.Dataset(
        {
            "deficit": ("growth", at_growth(1 - path.margin / path.best)),
            "from_l1": ("growth", at_growth(apart[0])),
            "from_l2": ("growth", at_growth(apart[1])),
            "margin_size": ("growth", at_growth(np.log(np.maximum(path.margin, 1e-300)))),
            "error": float(np.max(path.error)),
            "steps": float(path.stats["steps"]),
        },
        {"growth": GROWTH},
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Where the deficit is, and how far from either direction."""
    end = data.isel(growth=-1)
    near = data.sel(log10_scale=float(data["log10_scale"].max()))["from_l2"]
    told = {
        "largest deficit at the end": float(end["deficit"].max()),
        "largest distance from the ℓ1 direction at the end": float(end["from_l1"].max()),
        "least distance of the largest start from the ℓ2 direction": float(near.min()),
        "largest stated error": float(data["error"].max()),
        "deficit times added log-norm, largest": float(
            (data["deficit"] * data["growth"]).where(data["growth"] > 1).max()
        ),
    }
    return data.assign_attrs({**data.attrs, **told})


def draw(summary: xarray.Dataset) -> Any:
    figure, (near, far, rate) = panels(3)
    one = summary.isel(key=0)
    for k, scale in enumerate(one["log10_scale"].values):
        run = one.sel(log10_scale=scale)
        colour, label = COLOURS[k % len(COLOURS)], f"α = {10.0**scale:g}"
        near.plot(GROWTH, run["from_l2"], color=colour, label=label)
        far.plot(GROWTH, np.maximum(run["from_l1"], FLOOR), color=colour)
        rate.plot(GROWTH, np.maximum(run["deficit"], FLOOR), color=colour)
    words = "log-norm less that of the start"
    near.set(xlabel=words, ylabel="ℓ1 distance from the largest ℓ2 margin", xscale="log")
    titled(near, "large starts come near the kernel's direction")
    far.set(xlabel=words, ylabel="ℓ1 distance from the largest ℓ1 margin")
    far.set(xscale="log", yscale="log", xlim=(GROWTH[0], 300))
    titled(far, "and leave it as the norm grows")
    limit = np.log(16.0) / GROWTH
    rate.plot(GROWTH, limit, "--", color=MUTED, label="bound for large α")
    rate.set(xlabel=words, ylabel="1 − margin/γ", xscale="log", yscale="log")
    titled(rate, "the bound, and a power of the norm below it")
    near.legend(fontsize=7)
    rate.legend(fontsize=7, loc="upper right")
    return figure


separable_figure = Experiment(
    "S/separable",
    "Diagonal networks of depth two on separable data under the exponential loss (after Moroshko "
    "et al. 2020 and Pesme, Dragomir & Flammarion 2024), to log-norms of 5e4 beyond the start. (a) "
    "From large starts the direction first comes near that of the largest ℓ2 margin, from small "
    "ones it does not. (b) All leave it for the largest ℓ1 margin once the norm has grown from "
    "that of the start. (c) What the margin lacks, with the bound for large starts, log 2d over "
    "the growth of the log-norm: on one data set it falls faster in the end, "
    "like a power of the norm.",
    {
        "quick": Grid({"log10_scale": (-2.0, 0.0, 2.0, 5.0), "key": (0,)}, {}),
        "paper": Grid(
            {"log10_scale": (-100.0, -2.0, 0.0, 2.0, 5.0, 8.0), "key": tuple(range(8))}, {}
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Three panels against the log-norm less that of the start. Left: distances from the "
        "direction of largest ℓ2 margin; for large starts they dip towards zero, then rise. "
        "Middle: distances from that of largest ℓ1 margin fall for all starts. Right: what the "
        "margin lacks falls below a dashed line, the bound of one over the log-norm."
    ),
)
