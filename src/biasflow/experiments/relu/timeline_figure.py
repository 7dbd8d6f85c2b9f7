"""B/fig1: the timeline of training on orthonormal data, predicted and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, titled
from ..._core.problems import Dataset
from ..._core.results import Limit, Trajectory
from ...data import orthonormal
from ...diagnostics import phases
from ...flows import gradient_flow, saddle_limit
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...pictures.movies import sheet
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told

if TYPE_CHECKING:
    import xarray

LAST_TIME = 1.45
"""How far curves go, in units of −ln λ/‖D_−‖: past the last phase."""
POINTS = 800
NAMES = (
    "early alignment",
    "fitting positive labels",
    "intermediate saddle",
    "fitting negative labels",
    "final convergence",
)
SHADES = (COLOURS[4], COLOURS[0], MUTED, COLOURS[1], COLOURS[2])
LEAST_DRAWN = 1e-24
"""Smallest loss drawn."""


def labelled(labels: list[float], d: int, seed: int) -> Dataset:
    """Random orthonormal inputs with these labels."""
    y = np.array(labels)
    return Dataset(orthonormal(len(y), d, key=seed).X, y, "B/fig1")


def pulls(y: Array) -> tuple[float, float]:
    """‖D_+‖ and ‖D_−‖ for orthonormal inputs."""
    return float(np.linalg.norm(y[y > 0])) / y.size, float(np.linalg.norm(y[y < 0])) / y.size


def epsilon(y: Array) -> float:
    """The largest ε that B allows (B.2, with α and β divided by n² as its proofs need), for ‖D_+‖ >
    ‖D_−‖."""
    plus, minus = pulls(y)
    alpha, beta = (
        float(np.min(y[chosen] ** 2)) / (2 * (y.size * D) ** 2)
        for chosen, D in ((y > 0, plus), (y < 0, minus))
    )
    slowest = max(1 - alpha, minus / plus)
    return min((1 - slowest) / (1 + 3 * slowest), beta / (1 + 3 * plus / minus * (1 - beta)))


def predicted_ends(y: Array) -> Array:
    """Ends of B's first four phases, in units of −ln λ/‖D_−‖ (B, fig. 1)."""
    plus, minus = pulls(y)
    e, r = epsilon(y), plus / minus
    return np.array([e, (1 + 3 * e) / r, 1 - e, 1 + 3 * r * e])


def point(scale: float, seed: int, labels: list[float], d: int, m: int) -> xarray.Dataset:
    """One network from λ·g on orthonormal data until converged: loss, norms by group, measured
    phases."""
    import xarray

    data, model = labelled(labels, d, seed), TwoLayer(m, d)
    unit = model.init(1.0, key=seed)
    limit = saddle_limit(data, unit)
    start = TwoLayerParams(scale * unit.a, scale * unit.W)
    objective = SquareLoss("half-mean")
    flow = gradient_flow(model, data, objective, start, time_s=None)
    clock = -np.log(scale) / pulls(data.y)[1]
    shown = np.linspace(0, LAST_TIME, POINTS + 1)
    states = [flow.at(min(tau * clock, flow.times[-1])) for tau in shown]
    squares = np.array([np.sum(state.W**2, axis=1) for state in states])
    loss = np.array([objective(model(state, data.X), data.y) for state in states])
    plus, minus = (np.asarray(group) for group in limit.stats["neurons"])
    idle = np.setdiff1d(np.arange(m), np.concatenate([plus, minus]))
    variables = {
        "loss": ("tau", loss),
        "u_plus": ("tau", np.sum(squares[:, plus], axis=1)),
        "u_minus": ("tau", np.sum(squares[:, minus], axis=1)),
        "u_idle": ("tau", np.max(squares[:, idle], axis=1, initial=0.0)),
        "predicted": ("phase", predicted_ends(data.y)),
        "ratio": pulls(data.y)[1] / pulls(data.y)[0],
        "measured": ("phase", measured_ends(flow) / clock),
        "midpoint": ("cluster", midpoints(limit, scale) / clock),
        "half": ("cluster", halves(flow, limit) / clock),
        "capacity": ("cluster", np.array(limit.stats["capacity"])),
        "excess": float(np.sum(flow.final.a**2) + np.sum(flow.final.W**2)) / limit.objective - 1,
    }
    return xarray.Dataset(variables, {"tau": shown})


def measured_ends(flow: Trajectory) -> Array:
    """When the first drop starts and ends, and when the second does: read off the loss."""
    drops = [phase for phase in phases(flow) if phase.name == "drop"]
    final = [phase for phase in phases(flow) if phase.name == "final convergence"]
    plateau = [phase for phase in phases(flow) if phase.name == "plateau"]
    if not drops or not plateau or not final:
        return np.full(4, np.nan)
    return np.array([drops[0].start, plateau[0].start, plateau[-1].end, final[0].start])


def midpoints(limit: Limit[TwoLayerParams], scale: float) -> Array:
    """When u_± reaches half its capacity, as λ → 0: −ln λ/‖D_±‖ and the exact offset."""
    return -np.log(scale) / np.array(limit.stats["rate"]) + np.array(limit.stats["offset"])


BISECTED = 1e-9
"""Share of itself to which a time is found."""


def halves(flow: Trajectory, limit: Limit[TwoLayerParams]) -> Array:
    """When it does, by bisection on the flow."""
    found = []
    for neurons, capacity in zip(limit.stats["neurons"], limit.stats["capacity"], strict=True):
        low, high = 0.0, float(flow.times[-1])
        while high - low > BISECTED * high:
            middle = (low + high) / 2
            low, high = (
                (low, middle)
                if np.sum(flow.at(middle).W[neurons] ** 2) > capacity / 2
                else (middle, high)
            )
        found.append((low + high) / 2)
    return np.array(found)


FITS = {
    "positive": "time that fits the positive labels, over -ln(lambda)/|D+|, lambda to 0",
    "negative": "time that fits the negative labels, over -ln(lambda)/|D-|, lambda to 0",
}
STAYS = "runs on the saddle throughout its predicted stay"


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Every seed at the smallest scale; fits as λ → 0, with the change of that limit from one pair
    of scales to the next."""
    smallest = data.isel(scale=int(np.argmin(data["scale"].values)))
    measured, ends = (
        smallest[name].transpose("seed", ...).values for name in ("measured", "predicted")
    )
    stays = (measured[:, 1] <= ends[:, 1]) & (measured[:, 2] >= ends[:, 2])
    limits, earlier = (extrapolated(data.sortby("scale"), k) for k in (0, 1))
    sizes = np.log(np.sort(data["scale"].values)[:2])
    found = BISECTED * float(np.abs(np.sum(sizes) / np.diff(sizes)[0]))  # enters both scales
    attributes: dict[str, Any] = {}
    for k, name in enumerate(FITS.values()):
        change = float(np.max(np.abs(limits[k] - earlier[k])))
        attributes |= told(name, limits[k], error=change + found)
    attributes |= told(STAYS, stays, np.mean)
    attributes["largest distance of a midpoint from the exact formula"] = float(
        np.max(np.abs(smallest["half"] - smallest["midpoint"]))
    )
    attributes["excess of the squared norm over the least"] = float(smallest["excess"].median())
    return data.assign_attrs({**data.attrs, **attributes})


def extrapolated(data: xarray.Dataset, first: int) -> Array:
    """Times in units of −ln λ/‖D_±‖ as λ → 0, (clusters, seeds), from two scales: what is left
    falls like 1/ln λ."""
    pair = data.isel(scale=slice(first, first + 2))
    half, sizes = (
        pair["half"].transpose("scale", "cluster", "seed").values,
        np.log(pair["scale"].values),
    )
    limits = (sizes[1] * half[1] - sizes[0] * half[0]) / (sizes[1] - sizes[0])
    ratio = data["ratio"].isel(scale=first).values
    return np.array([limits[0] / ratio, limits[1]])


def draw(summary: xarray.Dataset) -> Any:
    figure, axes = sheet(
        [["bars", "scales"], ["loss", "scales"], ["norms", "scales"]], 14.5, 7.6, [0.42, 1, 1.15]
    )
    scale = float(summary["scale"].min())
    run = summary.sel(scale=scale).isel(seed=0)
    _draw_bars(axes["bars"], run)
    _draw_loss(axes["loss"], run, scale)
    _draw_norms(axes["norms"], run)
    _draw_scales(axes["scales"], summary)
    return figure


def _draw_bars(axis: Any, run: xarray.Dataset) -> None:
    """B's phases above, those read off the loss below."""
    for row, key in ((1, "predicted"), (0, "measured")):
        edges = [0.0, *run[key].values, LAST_TIME]
        for name, colour, left, right in zip(NAMES, SHADES, edges[:-1], edges[1:], strict=True):
            axis.barh(row, right - left, left=left, height=0.8, color=colour, alpha=0.35)
            text = (
                "escape from the first saddle"
                if row == 0 and left == 0
                else name.replace(" ", "\n", 1)
            )
            if right - left > 0.1:
                axis.text((left + right) / 2, row, text, ha="center", va="center", fontsize=7)
    end = float(run["predicted"][0])
    axis.annotate(
        "early alignment",
        (end / 2, 1.4),
        (0.0, 1.75),
        fontsize=7,
        ha="left",
        arrowprops={"arrowstyle": "-", "lw": 0.6},
    )
    axis.set(
        xlim=(0, LAST_TIME),
        ylim=(-0.5, 2),
        yticks=[0, 1],
        yticklabels=["measured\n(loss)", "predicted\n(B, fig. 1)"],
        xticks=[],
    )
    axis.grid(False)
    axis.spines[:].set_visible(False)


def _draw_loss(axis: Any, run: xarray.Dataset, scale: float) -> None:
    axis.plot(run["tau"], run["loss"], color="black", linewidth=2)
    axis.set(xlim=(0, LAST_TIME), ylabel="loss")
    _mark(axis, run)
    titled(axis, f"loss at λ = {scale:.0e}: two plateaus")


def _draw_norms(axis: Any, run: xarray.Dataset) -> None:
    curves = {
        "u_plus": ("u₊ = Σ‖w‖², neurons that fit positive labels", COLOURS[0]),
        "u_minus": ("u₋, those that fit negative labels", COLOURS[1]),
        "u_idle": ("largest ‖w‖² of all others", MUTED),
    }
    for name, (label, colour) in curves.items():
        axis.plot(run["tau"], run[name], color=colour, linewidth=2, label=label)
    for k, colour in enumerate((COLOURS[0], COLOURS[1])):
        axis.plot(
            float(run["midpoint"][k]),
            float(run["capacity"][k]) / 2,
            "D",
            color=colour,
            markeredgecolor="white",
            zorder=5,
        )
    axis.plot([], [], "D", color=MUTED, label="exact midpoints (B/limit)")
    axis.set(
        yscale="log",
        xlim=(0, LAST_TIME),
        xlabel="time in units of −ln λ/‖D₋‖",
        ylabel="squared norms",
    )
    _mark(axis, run)
    axis.legend(fontsize=8, loc="lower right")
    titled(axis, "neurons grow exponentially, one cluster at a time")


def _mark(axis: Any, run: xarray.Dataset) -> None:
    for end, colour in zip(run["predicted"].values, SHADES, strict=False):
        axis.axvline(float(end), color=colour, linewidth=1, linestyle="--")


def _draw_scales(axis: Any, summary: xarray.Dataset) -> None:
    """Both fits against the scale: the fixed times are missed by O(1/ln λ), the exact midpoints are
    not."""
    size = -np.log10(summary["scale"].values)
    ends, ratio = (
        summary["predicted"].isel(scale=0, seed=0).values,
        float(summary["ratio"].isel(scale=0, seed=0)),
    )
    axis.axhspan(
        ends[1], ends[2], color=MUTED, alpha=0.15, linewidth=0, label="B: intermediate saddle"
    )
    for k, (name, colour) in enumerate((("positive", COLOURS[0]), ("negative", COLOURS[1]))):
        half, exact = (
            summary[v].isel(cluster=k).transpose("scale", "seed").values
            for v in ("half", "midpoint")
        )
        axis.plot(
            np.repeat(size[:, None], half.shape[1], axis=1),
            half,
            "o",
            color=colour,
            markersize=4,
            alpha=0.5,
        )
        axis.plot(
            [],
            [],
            "o",
            color=colour,
            markersize=4,
            label=f"{name} labels half fitted, a dot a start",
        )
        axis.plot(size, exact, color=colour, linewidth=0.8, alpha=0.6)
    for value, colour in ((ratio, COLOURS[0]), (1.0, COLOURS[1])):
        axis.axhline(value, color=colour, linewidth=1.2, linestyle=":")
    axis.plot([], [], color=MUTED, linewidth=1, label="exact midpoints of these starts (B/limit)")
    axis.plot([], [], color=MUTED, linewidth=1.2, linestyle=":", label="limit λ → 0")
    axis.set(xlabel="−log10 λ", ylabel="time in units of −ln λ/‖D₋‖")
    axis.legend(fontsize=8, loc="center right")
    titled(axis, "smaller starts: times approach −ln λ/‖D₊‖ and −ln λ/‖D₋‖")


SETTING = {"labels": [1.0, 1.0, -0.6, -0.6], "d": 6, "m": 100}
"""So many neurons that Assumption 3, a neuron of each sign active on all labels of it, fails in one
of 300,000 starts."""

# B's figure 1 gives formulas for λ → 0. Half of the labels of a sign is fitted at −ln λ/‖D_±‖ up to
# an offset that does not
# depend on λ: at λ = 1e-80 the ratio is still 0.987 to 0.994, and it is the limit that is compared.
REPORTED = (
    Reported(
        FITS["positive"],
        Reading.exact(1.0),
        '§4.2: "converges to n‖D₊‖ within a time −ln(λ)/‖D₊‖"',
        None,
    ),
    Reported(FITS["negative"], Reading.exact(1.0), "Figure 1 and §4.4", None),
    Reported(STAYS, Reading.exact(1.0), "Figure 1, with the largest ε that B allows", None),
)

fig1 = Experiment(
    "B/fig1",
    "The timeline of training on orthonormal inputs (n = 4, 100 neurons) from tiny starts. Left: "
    "the phases that B predicts, with the largest ε it allows, above those read off the loss; the "
    "loss with two plateaus; squared norms of the two clusters and of the largest neuron outside "
    "them, with the exact midpoints of both fits. Dashed: where B's phases end. Right: when the "
    "labels of either sign are half fitted, against the scale; lines are the exact formula −ln "
    "λ/‖D_±‖ + offset.",
    {
        "quick": Grid({"scale": (1e-10, 1e-20, 1e-40, 1e-80), "seed": tuple(range(6))}, SETTING),
        "paper": Grid(
            {"scale": (1e-5, 1e-10, 1e-20, 1e-40, 1e-80), "seed": tuple(range(40))}, SETTING
        ),
    },
    point,
    summarise,
    draw,
    REPORTED,
    alt=(
        "Bars of the predicted phases above those read off the loss agree. Below them the loss "
        "falls in two steps between plateaus, and two clusters of neurons grow exponentially, one "
        "after the other. Right: the times of both fits approach their limits as the start gets "
        "smaller, on the exact formula's lines."
    ),
)
