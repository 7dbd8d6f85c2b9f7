"""C/fig4: the field ∇F'_μ of a ReLU neuron (a, b) on a plane through the origin, and the invariant
set ‖a‖ = |b|.

C writes φ(w, x) = b(⟨a, (x, 1)⟩)₊: here a is the neuron and b its output weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, panels, titled
from ..._core.problems import Dataset
from ...data import with_bias
from ...models import TwoLayer, TwoLayerParams
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told

if TYPE_CHECKING:
    import xarray

INNER, OUTER, LENGTH = (0.05, 0.3), (0.55, 0.8), 0.2
"""The population: x uniform on four intervals of this length, two on either side of zero, beginning
at distances drawn from these ranges; the inner ones have label −1, the outer ones +1. Both halves
of the line have as much of either class, so that a neuron
without a bias feels no pull on its bias: the plane (a, b) = (s, 0, b) is invariant."""
CELLS = 400
"""Midpoints in an interval. Where a neuron's kink is in a gap, sums over them are the integrals."""
HALF_SIDE = 1.25
"""Half the side of the picture."""
TICKS = 25
TIMES = 401
ON_THE_SET = tuple((r * s, r * b) for r in (0.3, 0.55) for s in (1, -1) for b in (1, -1))
OFF_THE_SET = ((0.35, -0.9), (-0.3, -1.1), (0.9, -0.35), (-1.1, -0.4), (0.05, 0.4), (-0.05, 0.3))
"""Starts (s, b); on the set, arrows with b < 0 point to the origin."""
DRIFT = "largest change of ‖a‖² − b² from the set"
REACHING = "trajectories from the set that reach a = 0"
RTOL = 1e-11
"""Local tolerance of the trajectories, relative and absolute."""


def population(seed: int) -> Dataset:
    """Midpoints of the intervals' cells, with a bias column, and their labels."""
    share, rng = (np.arange(CELLS) + 0.5) / CELLS, np.random.default_rng(seed)
    begins = [
        (side, label, rng.uniform(*distances))
        for side in (1, -1)
        for label, distances in ((-1.0, INNER), (1.0, OUTER))
    ]
    x = np.concatenate([side * (begin + LENGTH * share) for side, _, begin in begins])
    y = np.repeat([label for _, label, _ in begins], CELLS)
    return with_bias(Dataset(x[:, None], y, "C/fig4"))


def field(data: Dataset, w: Array) -> Array:
    """∇F'_μ at w = (a, b) (3,), for a network that is zero: ∇S = ρ weighs all inputs alike (C,
    Appendix H)."""
    neuron = TwoLayerParams(w[2:], w[None, :2])
    gradient = TwoLayer(1, 2).gradient(neuron, data.X, data.y / data.n)
    return np.concatenate([gradient.W[0], gradient.a])


def follow(data: Dataset, start: Array, times: Array, rtol: float = RTOL) -> tuple[Array, float]:
    """ẇ = ∇F'_μ(w) in all three dimensions, (times, 3), and when it reaches a = 0 (∞: not by the
    end); NaN from there on.

    There the flow need not go on in one way only: b(⟨a, (x, 1)⟩)₊ has no gradient.
    """
    from scipy.integrate import solve_ivp

    def vanishes(_: float, w: Array) -> float:
        return float(w[0])

    vanishes.terminal = True  # type: ignore[attr-defined]
    solved = solve_ivp(
        lambda _, w: field(data, w),
        (0.0, times[-1]),
        start,
        "DOP853",
        times,
        events=vanishes,
        rtol=rtol,
        atol=rtol,
    )
    path = np.full((times.size, 3), np.nan)
    path[: solved.t.size] = solved.y.T
    return path, float(solved.t_events[0][0]) if solved.t_events[0].size else np.inf


def arrival(pull: float, start: tuple[float, float]) -> float:
    """When s = s₀cosh(gt) + b₀sign(s₀)sinh(gt) vanishes: never on or inside |b| ≤ |s|, nor where b
    pulls outwards."""
    ratio = -start[0] / (np.sign(start[0]) * start[1])
    return float(np.arctanh(ratio) / pull) if 0 < ratio < 1 else np.inf


def point(seed: int, end: float) -> xarray.Dataset:
    """The field on a grid of the plane, and neurons that follow it until time `end`."""
    import xarray

    data = population(seed)
    ticks, times = np.linspace(-HALF_SIDE, HALF_SIDE, TICKS), np.linspace(0, end, TIMES)
    arrows = np.array([[field(data, np.array([s, 0.0, b])) for s in ticks] for b in ticks])
    starts = (*ON_THE_SET, *OFF_THE_SET)
    found = [follow(data, np.array([s, 0.0, b]), times) for s, b in starts]
    paths = np.array([path for path, _ in found])
    coarser = np.array(
        [follow(data, np.array([s, 0.0, b]), times, 10 * RTOL)[0] for s, b in starts]
    )
    pulls = {sign: float(field(data, np.array([sign, 0.0, 0.0]))[2]) for sign in (1.0, -1.0)}
    variables = {
        "field_s": (("b", "s"), arrows[..., 0]),
        "field_bias": (("b", "s"), arrows[..., 1]),
        "field_b": (("b", "s"), arrows[..., 2]),
        "path": (("start", "time", "coordinate"), paths),
        "path_error": ("start", np.nanmax(np.abs(paths - coarser), axis=(1, 2))),
        "on_set": ("start", np.arange(len(starts)) < len(ON_THE_SET)),
        "reaches_zero": ("start", [when for _, when in found]),
        "predicted": ("start", [arrival(pulls[np.sign(s)], (s, b)) for s, b in starts]),
        "pull": ("side", [pulls[1.0], pulls[-1.0]]),
    }
    return xarray.Dataset(
        variables, {"s": ticks, "b": ticks, "time": times, "side": ["right", "left"]}
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Over all populations: how far from the set its trajectories come, and how near to a = 0."""
    a, bias, b = data["path"].transpose("coordinate", "time", "seed", "start").values
    invariant, length = a**2 + bias**2 - b**2, np.hypot(a, bias)
    drift = np.nanmax(np.abs(invariant - invariant[0]), axis=0)
    on = data["on_set"].isel(seed=0).values
    reached, expected = (
        data[name].transpose("seed", "start").values for name in ("reaches_zero", "predicted")
    )
    due = expected < data["time"].values[-1]
    attributes = {
        **told(DRIFT, np.max(drift[:, on], axis=1), np.max, error=invariant_error(data)),
        "largest change of ‖a‖² − b² off the set": float(np.max(drift[:, ~on])),
        **told(REACHING, np.sum(np.isfinite(reached[:, on]), axis=1), np.max),
        "share of trajectories from elsewhere that reach a = 0": float(
            np.mean(np.isfinite(reached[:, ~on]))
        ),
        "error of their arrival times": float(np.max(np.abs(reached[due] - expected[due]))),
        "least ‖a‖ on the set": float(np.min(length[..., on])),
        "distance from the plane": float(np.nanmax(np.abs(bias))),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def invariant_error(data: xarray.Dataset) -> float:
    """Of ‖a‖² − b² from the set: twice a path's length times its error, which a tolerance ten times
    as large shows from above."""
    on = data.isel(start=np.flatnonzero(data["on_set"].isel(seed=0).values))
    longest = (on["path"] ** 2).sum("coordinate").max("time") ** 0.5
    return float((2 * longest * on["path_error"]).max())


def draw(summary: xarray.Dataset) -> Any:
    figure, (plane, length) = panels(2, height=5.4, width=6.0)
    drift, summary = summary.attrs[DRIFT], summary.isel(seed=0)
    _field(plane, summary)
    for k, on in enumerate(summary["on_set"].values):
        colour, style = (COLOURS[0], "-") if on else (COLOURS[1], "--")
        path, dies = summary["path"].isel(start=k).values, float(summary["reaches_zero"][k])
        plane.plot(path[:, 0], path[:, 2], color=colour, linewidth=2.2, zorder=4)
        plane.plot(path[0, 0], path[0, 2], "o", color=colour, markersize=5, zorder=5)
        length.plot(
            summary["time"],
            np.hypot(path[:, 0], path[:, 1]),
            color=colour,
            linewidth=1.8,
            linestyle=style,
        )
        if np.isfinite(dies):
            last = int(np.sum(np.isfinite(path[:, 2]))) - 1
            plane.plot(0, path[last, 2], zorder=6, markeredgecolor="white", **CROSS)
            length.plot(dies, LOWEST, clip_on=False, zorder=6, **CROSS)
    for label, line in LEGEND.items():
        plane.plot([], [], label=label, **line)
    plane.legend(
        fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False
    )
    length.set(
        yscale="log",
        ylim=(LOWEST, 4),
        xlim=(0, float(summary["time"][-1])),
        xlabel="time",
        ylabel="‖a‖",
    )
    note = f"from D: ‖a‖² − b² changes by less than {10.0 ** np.ceil(np.log10(drift)):.0e}"
    length.text(0.98, 0.02, note, transform=length.transAxes, ha="right", fontsize=8.5, color=MUTED)
    titled(length, "from D, ‖a‖ = ‖a₀‖exp(±gt): never zero")
    return figure


def _field(axis: Any, summary: xarray.Dataset) -> None:
    """Arrows, the invariant set, and where the field is not differentiable."""
    size = np.hypot(summary["field_s"].values, summary["field_b"].values)
    axis.quiver(
        summary["s"],
        summary["b"],
        summary["field_s"],
        summary["field_b"],
        size,
        cmap="Blues",
        pivot="mid",
        scale=4.6,
        width=0.0028,
        clim=(-0.12, float(size.max())),
    )
    for slope in (1, -1):
        axis.plot(
            [-HALF_SIDE, HALF_SIDE],
            [-slope * HALF_SIDE, slope * HALF_SIDE],
            **LEGEND["invariant set D: ‖a‖ = |b|"],
        )
    axis.axvline(0, **LEGEND["a = 0: not differentiable"])
    axis.set(
        xlim=(-HALF_SIDE, HALF_SIDE),
        ylim=(-HALF_SIDE, HALF_SIDE),
        aspect="equal",
        xlabel="s, where a = (s, 0)",
        ylabel="output weight b",
    )
    axis.grid(False)
    titled(axis, "the field, and neurons that follow it")


CROSS = {"marker": "X", "color": COLOURS[1], "markersize": 9, "linestyle": "none"}
LEGEND: dict[str, dict[str, Any]] = {
    "invariant set D: ‖a‖ = |b|": {"color": "black", "linewidth": 1, "linestyle": "--"},
    "a = 0: not differentiable": {"color": COLOURS[4], "linewidth": 5, "alpha": 0.45},
    "starts on D and stays": {
        "color": COLOURS[0],
        "linewidth": 2.2,
        "marker": "o",
        "markersize": 5,
    },
    "starts elsewhere": {"color": COLOURS[1], "linewidth": 2.2, "marker": "o", "markersize": 5},
    "reaches a = 0 in finite time: no flow from there": CROSS,
}
LOWEST = 0.015
"""Least ‖a‖ drawn."""
SETTING = {"end": 12.0}

fig4 = Experiment(
    "C/fig4",
    "One ReLU neuron, φ = b(⟨a, (x, 1)⟩)₊, in the field ∇F'_μ of C's Appendix H, for a population "
    "on four intervals and a network that is zero. (a) A plane that the flow does not leave, a = "
    "(s, 0): F'_μ = b·G(s), G with slopes g at s > 0 and −g' at s < 0. On the set D, ‖a‖ = |b|, "
    "the field points along D: neurons that start there stay (computed in all three dimensions). "
    "Others move on hyperbolas ‖a‖² − b² = const; where b < 0 and |b| > ‖a‖ they reach a = 0 in "
    "finite time, where the field jumps and the flow is not defined. (b) From D, a shrinks at most "
    "exponentially.",
    {"quick": Grid({"seed": (0,)}, SETTING), "paper": Grid({"seed": tuple(range(12))}, SETTING)},
    point,
    summarise,
    draw,
    (
        Reported(DRIFT, Reading.exact(0.0), "Figure 4 and Lemma 26", None),
        Reported(REACHING, Reading.exact(0.0), 'Figure 4: "allows to avoid a = 0"', None),
    ),
    alt=(
        "Arrows of a vector field in the plane of a neuron's two weights, with the diagonal lines "
        "of the invariant set. Trajectories that start on the diagonals stay on them; two that "
        "start elsewhere run into the vertical line a = 0 and end at crosses. Beside it, the size "
        "of a grows or shrinks exponentially on the set; off it, it can reach zero."
    ),
)
