"""C/fig4: the field ∇F'_μ of a ReLU neuron (a, b) on a plane through the origin, and the invariant set ‖a‖ = |b|.

C writes φ(w, x) = b(⟨a, (x, 1)⟩)₊: here a is the neuron and b its output weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import with_bias
from ...inputs import Array
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Experiment, Grid, Reported
from ..style import COLOURS, MUTED, panels, titled

if TYPE_CHECKING:
    import xarray

INTERVALS = ((-0.95, -0.75, 1.0), (-0.45, -0.25, -1.0), (0.05, 0.25, -1.0), (0.8, 1.0, 1.0))
"""The population: x uniform on these, with their labels. Both halves of the line have as much of either class, so that a neuron
without a bias feels no pull on its bias: the plane (a, b) = (s, 0, b) is invariant."""
CELLS = 400
"""Midpoints in an interval. Where a neuron's kink is in a gap, sums over them are the integrals."""
SPAN = 1.25
"""Half the side of the picture."""
TICKS = 25
TIMES = 401
ON_THE_SET = tuple((r * s, r * b) for r in (0.3, 0.55) for s in (1, -1) for b in (1, -1))
OFF_THE_SET = ((0.35, -0.9), (-0.3, -1.1), (0.9, -0.35), (-1.1, -0.4), (0.05, 0.4), (-0.05, 0.3))
"""Starts (s, b); on the set, arrows with b < 0 point to the origin."""
RTOL = 1e-11
"""Local tolerance of the trajectories, relative and absolute."""


def population() -> Dataset:
    """Midpoints of the intervals' cells, with a bias column, and their labels."""
    share = (np.arange(CELLS) + 0.5) / CELLS
    x = np.concatenate([low + (high - low) * share for low, high, _ in INTERVALS])
    y = np.repeat([label for *_, label in INTERVALS], CELLS)
    return with_bias(Dataset(x[:, None], y, "C/fig4"))


def field(ds: Dataset, w: Array) -> Array:
    """∇F'_μ at w = (a, b) (3,), for a network that is zero: ∇S = ρ weighs all inputs alike (C, Appendix H)."""
    neuron = TwoLayerParams(w[2:], w[None, :2])
    gradient = TwoLayer(1, 2).gradient(neuron, ds.X, ds.y / ds.n)
    return np.concatenate([gradient.W[0], gradient.a])


def follow(ds: Dataset, start: Array, times: Array) -> tuple[Array, float]:
    """ẇ = ∇F'_μ(w) in all three dimensions, (times, 3), and when it reaches a = 0 (∞: not by the end); NaN from there on."""
    from scipy.integrate import solve_ivp

    def vanishes(_: float, w: Array) -> float:
        return float(w[0])

    vanishes.terminal = True  # type: ignore[attr-defined]
    solved = solve_ivp(lambda _, w: field(ds, w), (0.0, times[-1]), start, "DOP853", times, events=vanishes, rtol=RTOL, atol=RTOL)
    path = np.full((times.size, 3), np.nan)
    path[: solved.t.size] = solved.y.T
    return path, float(solved.t_events[0][0]) if solved.t_events[0].size else np.inf


def arrival(pull: float, start: tuple[float, float]) -> float:
    """When s = s₀cosh(gt) + b₀sign(s₀)sinh(gt) vanishes: never on or inside |b| ≤ |s|, nor where b pulls outwards."""
    ratio = -start[0] / (np.sign(start[0]) * start[1])
    return float(np.arctanh(ratio) / pull) if 0 < ratio < 1 else np.inf


def point(end: float) -> xarray.Dataset:
    """The field on a grid of the plane, and neurons that follow it until time `end`."""
    import xarray

    ds = population()
    ticks, times = np.linspace(-SPAN, SPAN, TICKS), np.linspace(0, end, TIMES)
    arrows = np.array([[field(ds, np.array([s, 0.0, b])) for s in ticks] for b in ticks])
    starts = (*ON_THE_SET, *OFF_THE_SET)
    found = [follow(ds, np.array([s, 0.0, b]), times) for s, b in starts]
    paths = np.array([path for path, _ in found])
    pulls = {sign: float(field(ds, np.array([sign, 0.0, 0.0]))[2]) for sign in (1.0, -1.0)}
    variables = {
        "field_s": (("b", "s"), arrows[..., 0]),
        "field_bias": (("b", "s"), arrows[..., 1]),
        "field_b": (("b", "s"), arrows[..., 2]),
        "path": (("start", "time", "coordinate"), paths),
        "on_set": ("start", np.arange(len(starts)) < len(ON_THE_SET)),
        "reaches_zero": ("start", [when for _, when in found]),
        "predicted": ("start", [arrival(pulls[np.sign(s)], (s, b)) for s, b in starts]),
        "pull": ("side", [pulls[1.0], pulls[-1.0]]),
    }
    return xarray.Dataset(variables, {"s": ticks, "b": ticks, "time": times, "side": ["right", "left"]})


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """How far from the set its trajectories come, and how near to a = 0."""
    a, bias, b = (data["path"].isel(coordinate=k) for k in range(3))
    invariant = a**2 + bias**2 - b**2
    drift = np.abs(invariant - invariant.isel(time=0)).max("time")
    length = np.sqrt(a**2 + bias**2)
    on, reached, expected = data["on_set"].values, data["reaches_zero"].values, data["predicted"].values
    hit = np.isfinite(expected)
    attributes = {
        "largest change of ‖a‖² − b² from the set": float(drift.values[on].max()),
        "largest change of ‖a‖² − b² off the set": float(drift.values[~on].max()),
        "trajectories from the set that reach a = 0": float(np.sum(np.isfinite(reached[on]))),
        "trajectories from off the set that reach a = 0": float(np.sum(np.isfinite(reached[~on]))),
        "error of their arrival times": float(np.max(np.abs(reached[hit] - expected[hit]))),
        "least ‖a‖ on the set": float(length.values[on].min()),
        "distance from the plane": float(np.nanmax(np.abs(bias.values))),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (plane, length) = panels(2, height=5.2, width=6.2)
    s, b = summary["s"].values, summary["b"].values
    size = np.hypot(summary["field_s"], summary["field_b"]).values
    plane.quiver(s, b, summary["field_s"], summary["field_b"], size, cmap="Blues", pivot="mid", scale=4.6, width=0.0028,
                 clim=(-0.12, float(size.max())))  # fmt: skip
    plane.plot([-SPAN, SPAN], [-SPAN, SPAN], color="black", linewidth=1, linestyle="--", label="invariant set D: ‖a‖ = |b|")
    plane.plot([-SPAN, SPAN], [SPAN, -SPAN], color="black", linewidth=1, linestyle="--")
    plane.axvline(0, color=COLOURS[4], linewidth=5, alpha=0.45, label="a = 0: not differentiable")
    labels = {True: "from D: stays on D", False: "from elsewhere"}
    for k, on in enumerate(summary["on_set"].values):
        colour, label = (COLOURS[0] if on else COLOURS[1]), labels.pop(bool(on), None)
        path = summary["path"].isel(start=k)
        first, last = path.isel(coordinate=0), path.isel(coordinate=2)
        plane.plot(first, last, color=colour, linewidth=2.2, label=label, zorder=4)
        plane.plot(first[0], last[0], "o", color=colour, markersize=5, zorder=5)
        lengths = np.hypot(path.isel(coordinate=0), path.isel(coordinate=1))
        length.plot(summary["time"], lengths, color=colour, linewidth=1.8, linestyle="-" if on else "--")
        if np.isfinite(summary["reaches_zero"][k]):
            there = int(np.sum(np.isfinite(first))) - 1
            plane.plot(0, last[there], "X", color=COLOURS[1], markersize=9, markeredgecolor="white", zorder=6)
            length.plot(summary["reaches_zero"][k], _floor(summary), "X", color=COLOURS[1], markersize=9, clip_on=False, zorder=6)
    plane.plot([], [], "X", color=COLOURS[1], markersize=9, linestyle="none", label="reaches a = 0: dead from then on")
    plane.set(xlim=(-SPAN, SPAN), ylim=(-SPAN, SPAN), aspect="equal", xlabel="a = s·e  (s)", ylabel="output weight b")
    plane.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    titled(plane, "∇F'_μ on an invariant plane, and neurons that follow it")
    _lengths(length, summary)
    return figure


def _floor(summary: xarray.Dataset) -> float:
    return float(summary.attrs["least ‖a‖ on the set"]) / 2


def _lengths(axis: Any, summary: xarray.Dataset) -> None:
    """‖a‖ against time: from D no faster than exponentially to zero."""
    axis.plot([], [], color=COLOURS[0], label="from D: at worst e^(−gt)")
    axis.plot([], [], color=COLOURS[1], linestyle="--", label="from elsewhere: zero in finite time where |b| > ‖a‖, b < 0")
    times = summary["time"].values
    for start, pull, place in zip((-0.3, -0.55), (0, 0), ("bottom", "bottom"), strict=True):
        del place
        axis.plot(times, -start * np.exp(-float(summary["pull"][pull]) * times), color="black", linestyle=":", linewidth=1)
    axis.plot([], [], color="black", linestyle=":", label="‖a₀‖e^(−gt), g the field's slope for a > 0")
    axis.set(yscale="log", ylim=(_floor(summary), 6), xlim=(0, times[-1]), xlabel="time", ylabel="‖a‖")
    axis.legend(fontsize=8, loc="upper left")
    drift = summary.attrs["largest change of ‖a‖² − b² from the set"]
    axis.text(0.98, 0.02, f"largest change of ‖a‖² − b² from D: {drift:.0e}", transform=axis.transAxes, ha="right", fontsize=8, color=MUTED)
    titled(axis, "on D a never vanishes")


fig4 = Experiment(
    "C/fig4",
    "x",
    {"quick": Grid({}, {"end": 12.0}), "paper": Grid({}, {"end": 12.0})},
    point,
    summarise,
    draw,
    (
        Reported("largest change of ‖a‖² − b² from the set", 0.0, (0.0, 1e-9)),
        Reported("trajectories from the set that reach a = 0", 0.0, (0.0, 0.0)),
    ),
)
