"""S/saddles: flows from vanishing starts of any depth and shape, and the path they approach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.results import Trajectory
from ...flows import mirror_flow, saddle_path
from ...limits import bregman_projection
from ...potentials import DepthPotential, Hypentropy, Potential, ScaledPotential
from ...sweeps.grids import Grid
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

X = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]])
Y = np.array([1.0, 0.0])
"""The data of Zhao et al.'s experiment."""
TIMES = 160
SEEN = 1.3
"""End of what is drawn, over the time of the last jump."""
LEAST = -1000.0
"""log α of the ends: far below float range."""


def potential_of(depth: int, log_alpha: float, shape: Array) -> Potential:
    """That of the network from α·c, in the time over the growth time of c = 1."""
    if depth == 2:
        log_r = np.log(2.0) + 2 * (log_alpha + np.log(shape))
        return ScaledPotential(-1 / (2 * log_alpha), Hypentropy(log_alpha=log_r))
    inner = DepthPotential(depth, log_scale=log_alpha + np.log(shape))
    return ScaledPotential(shape ** (2.0 - depth), inner)


def path_of(depth: int, shape: Array) -> Trajectory:
    """The limit in the same time."""
    return saddle_path(X, Y, growth=np.ones(4) if depth == 2 else shape ** (2.0 - depth))


def point(depth: int, shape: float, decades: tuple[float, ...]) -> xarray.Dataset:
    """Where flows of one depth from α·(c, 1, 1, 1) end, from e^{−1000}; at the shape that is
    followed also flows at growth times T = 10^decades, and their distance from the path."""
    import xarray

    c = np.array([shape, 1.0, 1.0, 1.0])
    path, plain = path_of(depth, c), path_of(2, c)
    tau = np.linspace(0, SEEN * float(path.times[-1]), TIMES)
    flows = np.full((len(decades), TIMES, 4), np.nan)
    distances, others = np.full((2, len(decades)), np.nan)
    for k, growth in enumerate(10.0 ** np.array(decades if shape == SHAPE else ())):
        log_alpha = -growth / 2 if depth == 2 else np.log(growth) / (2 - depth)
        fine = _near_jumps(path, float(tau[-1]))
        flow = mirror_flow(potential_of(depth, log_alpha, c), X, Y, times=fine, time_s=None)
        flows[k] = [flow.at(float(t)) for t in tau]
        distances[k], others[k] = _mean_distance(flow, path), _mean_distance(flow, plain)
    return xarray.Dataset(
        {
            "time": ("moment", tau),
            "path": (("moment", "coordinate"), _plateaus(path, tau)),
            "flow": (("growth", "moment", "coordinate"), flows),
            "distance": ("growth", distances),
            "distance_from_equal_times": ("growth", others),
            "end": ("coordinate", _end(depth, c)),
            "end_of_path": ("coordinate", path.final),
        },
        {"growth": 10.0 ** np.array(decades)},
    )


def _end(depth: int, c: Array) -> Array:
    return np.asarray(bregman_projection(potential_of(depth, LEAST, c), X, Y).value)


def _near_jumps(path: Trajectory, last: float) -> Array:
    """Times that are dense around every jump."""
    offsets = np.geomspace(1e-7, 1.0, 90)
    near = [path.times[1:, None] + side * offsets for side in (-1, 1)]
    times = np.unique(np.concatenate([*map(np.ravel, near), np.linspace(0, last, TIMES)]))
    return np.asarray(times[(times >= 0) & (times <= last)])


def _plateaus(path: Trajectory, times: Array) -> Array:
    return np.asarray(path.states[np.searchsorted(path.times, times, side="right") - 1])


def _mean_distance(flow: Trajectory, path: Trajectory) -> float:
    off = np.max(np.abs(flow.states - _plateaus(path, flow.times)), axis=1)
    return float(np.trapezoid(off, flow.times) / flow.times[-1])


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """How the distances fall, and how far the ends from e^{−1000} are from those of the paths."""
    growth = np.log(data["growth"].values)
    told = {}
    for depth in data["depth"].values:
        for name, words in (
            ("distance", "path"),
            ("distance_from_equal_times", "path of equal growth times"),
        ):
            fall = np.log(data[name].sel(depth=depth, shape=SHAPE).values)
            slope = float(np.polyfit(growth, fall, 1)[0])
            told[f"exponent in T of the distance from the {words}, D = {depth}"] = slope
    ends = abs(data["end"] - data["end_of_path"]).max("coordinate")
    for depth in data["depth"].values:
        told[f"largest distance of an end from the path's, D = {depth}"] = float(
            ends.sel(depth=depth).max()
        )
    return data.assign_attrs({**data.attrs, **told})


def draw(summary: xarray.Dataset) -> Any:
    figure, (course, ends, fall) = panels(3)
    run = summary.sel(depth=3, shape=SHAPE)
    time = run["time"].values
    for k, colour in enumerate(COLOURS[:4]):
        course.plot(time, run["path"].values[:, k], color=colour, alpha=0.35, linewidth=5)
        course.plot(time, run["flow"].values[0, :, k], color=colour, linewidth=0.9, ls=":")
        course.plot(time, run["flow"].values[1, :, k], color=colour, linewidth=1.2)
        course.plot([], [], color=colour, label=f"coordinate {k + 1}")
    small, large = (f"{value:g}" for value in run["growth"].values[:2])
    for style, label in (
        ({"alpha": 0.35, "linewidth": 5}, "the path"),
        ({"linewidth": 0.9, "ls": ":"}, f"flow, T = {small}"),
        ({"linewidth": 1.2}, f"flow, T = {large}"),
    ):
        course.plot([], [], color="black", label=label, **style)
    course.set(xlabel="time over growth time, τ = t/T", ylabel="β")
    titled(course, f"D = 3, c = {SHAPE:g}")
    shapes = summary["shape"].values
    for depth, colour in zip(summary["depth"].values, COLOURS, strict=False):
        first = summary.sel(depth=depth)
        ends.plot(shapes, first["end_of_path"].values[:, 0], color=colour, label=f"D = {depth}")
        ends.plot(shapes, first["end"].values[:, 0], "o", color=colour, markersize=4, mfc="none")
        at = first.sel(shape=SHAPE)
        fall.plot(
            at["growth"], at["distance"], color=colour, marker="o", ms=3, label=f"D = {depth}"
        )
        if depth > 2:
            wrong = at["distance_from_equal_times"]
            fall.plot(at["growth"], wrong, color=colour, ls=":", label=f"D = {depth}, equal times")
    ends.plot(
        [], [], "o", color="black", markersize=4, mfc="none", label="limits from e$^{-1000}$c"
    )
    ends.set(xlabel="c, the first weight over the others", ylabel="β₁ at the end", xscale="log")
    titled(ends, "depth two forgets the start's shape")
    growth = summary["growth"].values
    start = float(summary["distance"].sel(shape=SHAPE).max())
    fall.plot(growth, 3 * start * growth[0] / growth, color=MUTED, ls="--", label="1/T")
    fall.set(xlabel="growth time T", ylabel="mean distance", xscale="log", yscale="log")
    titled(fall, "flows approach the path")
    ends.xaxis.set_minor_formatter("")
    ends.set(xticks=[0.5, 1, 2, 3], xticklabels=["0.5", "1", "2", "3"])
    course.legend(fontsize=7, loc="center", bbox_to_anchor=(0.4, 0.53))
    ends.legend(fontsize=7)
    fall.legend(fontsize=7)
    return figure


SHAPE = 2.0
"""First weight, over the others, of the flows that are followed in the picture."""
QUICK_SHAPES = (0.5, 0.7, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0)
SETTING = {"decades": (1.0, 2.0, 3.0, 4.0)}

saddles = Experiment(
    "S/saddles",
    "Vanishing starts α·(c, 1, 1, 1) on the data of Zhao et al. 2026 (two samples, four "
    "coordinates). (a) β of depth three with c = 2, over time in units of the growth time T: flows "
    "and the path of jumps between saddles that they tend to. (b) β₁ at the end of the path "
    "(lines) and at the limit of flow from e^{−1000}·c (circles) against c: at depth two the shape "
    "of the start is forgotten, deeper networks weigh |β₁| by c^{2−D} and change their support. "
    "(c) Mean distance of flows from the path at c = 2 against T, log(1/2α²) for depth two and "
    "α^{2−D} for deeper ones; dotted, from the path that equal growth times would make.",
    {
        "quick": Grid({"depth": (2, 3, 4), "shape": QUICK_SHAPES}, SETTING),
        "paper": Grid(
            {
                "depth": (2, 3, 4, 5),
                "shape": (*(float(c) for c in np.geomspace(0.4, 4, 24).round(3)), SHAPE),
            },
            {"decades": (1.0, 2.0, 3.0, 4.0, 4.6)},
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Left: coordinates jump at two times; the flow at T = 100 runs along the jumps, that at "
        "T = 10 rounds them. Middle: the end of the first coordinate stays zero at depth two "
        "whatever c is, and jumps to one at depths three and four once c is large enough; circles "
        "lie on the lines. Right: distances fall like 1/T at every depth, and stay constant for "
        "depths three and four where the growth times are taken as equal."
    ),
)
