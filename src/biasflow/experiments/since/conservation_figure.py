"""S/laws: conservation laws along flows, descent, weight decay and momentum."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.look import COLOURS, MUTED, band, panels, titled
from ..._core.problems import Problem
from ..._core.trees import leaf_map
from ..._numerics.deadlines import Deadline
from ...diagnostics import ConservationLaws
from ...diagnostics.commuting import flatten
from ...sweeps.grids import Grid
from ...theory.since.damped import decayed_states, moved_states, quadratic_values
from ...theory.since.kept_quantities import flat_velocity, lawful_problem, laws_at, pace
from ...theory.witness import witness_flow
from ..experiment import Experiment

if TYPE_CHECKING:
    import xarray

MODELS = {
    "UVᵀ, 3×2, rank 2": 0,
    "diagonal, D = 3": 1,
    "two-layer ReLU": 2,
    "linear, depth 3": 3,
}
"""What is trained, and its place among the examples of S/laws."""
EXAMPLES = 6
"""In a round of these examples."""
WITH_KINKS = "two-layer ReLU"
"""Followed through its kinks by a flow, but not under decay and momentum, whose integrator is
smooth."""
FRICTION, DECAY = 2.0, 0.2
"""γ and κ in units of ‖∇L‖/‖θ‖ at the start."""
FLOW_PATIENCE_S = 60.0
LARGEST_STEP = 0.05
"""Of descent, in the unit of time: four times that is not stable for every problem."""


def point(model: str, seed: int, span: float, moments: int, halvings: int) -> xarray.Dataset:
    """One problem: the drift of its laws along a flow, along descent at several steps, under weight
    decay and under momentum; times in units of ‖θ‖/‖∇L‖ at the start."""
    import xarray

    problem = lawful_problem(EXAMPLES * seed + MODELS[model])
    laws, unit = laws_at(problem), pace(problem)
    times = np.linspace(0, span, moments)
    steps: Array = LARGEST_STEP * np.ldexp(1.0, -np.arange(halvings)).astype(float)
    found = {
        **_along_flow(problem, laws, unit * times),
        **_along_descent(problem, laws, unit * steps, unit * span),
    }
    if model != WITH_KINKS:
        found.update(_with_decay(problem, laws, unit * times, DECAY / unit))
        found.update(_with_momentum(problem, laws, unit * times, FRICTION / unit))
    blank = np.full(moments, np.nan)
    data = {
        name: (("time",), found.get(name, blank))
        for name in ("flow", "norm", "decay", "decay_error", "momentum", "momentum_error")
    }
    data |= {name: (("step",), found[name]) for name in ("descent", "descent_error")}
    return xarray.Dataset(data, coords={"time": times, "step": steps}).assign(
        number=float(laws.upper), degree=float(laws.degrees[0])
    )


def _along_flow(problem: Problem, laws: ConservationLaws, times: Array) -> dict[str, Array]:
    flow = witness_flow(problem, times[-1], times, time_s=FLOW_PATIENCE_S)
    if isinstance(flow, str):
        return {}
    states = [leaf_map(itemgetter(k), flow.states) for k in range(len(times))]
    squares = np.array([float(np.sum(flatten(state)[0] ** 2)) for state in states])
    return {
        "flow": np.max(laws.drift(flow).drift, axis=1),
        "norm": np.abs(squares - squares[0]) / np.max(squares),
    }


def _along_descent(
    problem: Problem, laws: ConservationLaws, steps: Array, t1: float
) -> dict[str, Array]:
    """Drift at time t1, and its distance from Σγ²C(∇L), which for laws that are no quadratic forms
    is not known."""
    start, unflatten = flatten(problem.start)
    drifts, errors = [], []
    for step in steps:
        w, gained, states = start, np.zeros(len(laws.labels)), [problem.start]
        for _ in range(round(t1 / step)):
            velocity = flat_velocity(problem, unflatten(w))
            gained = gained + step**2 * quadratic_values(laws, unflatten(velocity))
            w = w + step * velocity
            states.append(unflatten(w))
        drift = laws.drift(states)
        apart = np.abs(drift.values[-1] - drift.values[0] - gained) / drift.units
        drifts.append(float(np.max(drift.drift[-1])))
        errors.append(float(np.max(apart)) if np.all(laws.quadratic) else np.nan)
    return {"descent": np.array(drifts), "descent_error": np.array(errors)}


def _with_decay(
    problem: Problem, laws: ConservationLaws, times: Array, kappa: float
) -> dict[str, Array]:
    states, _ = decayed_states(problem, kappa, times, Deadline())
    _, unflatten = flatten(problem.start)
    drift = laws.drift([unflatten(w) for w in states], times=times, weight_decay=kappa)
    largest = int(np.argmax(np.abs(drift.values[0])))
    return {
        "decay": drift.values[:, largest] / drift.values[0, largest],
        "decay_error": np.max(drift.drift, axis=1),
    }


def _with_momentum(
    problem: Problem, laws: ConservationLaws, times: Array, gamma: float
) -> dict[str, Array]:
    """Drift from rest, and how far C̈ + γĊ = 2C(θ̇), once integrated, is from it."""
    start, unflatten = flatten(problem.start)
    P = start.size
    states, _ = moved_states(problem, gamma, np.zeros(P), times, laws, Deadline())
    drift = laws.drift([unflatten(row[:P]) for row in states])
    found = {"momentum": np.max(drift.drift, axis=1)}
    if np.all(laws.quadratic):
        ahead, behind = (
            np.array([laws.values(unflatten(row[:P] + s * row[P : 2 * P])) for row in states])
            for s in (1, -1)
        )
        left = (ahead - behind) / 2 + gamma * (drift.values - drift.values[0])
        apart = np.abs(left - 2 * states[:, 2 * P :]) / (gamma * drift.units)
        found["momentum_error"] = np.max(apart, axis=1)
    return found


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    fine = data["descent"].sel(model=next(iter(MODELS)))
    slope = np.log2((fine.isel(step=-2) / fine.isel(step=-1)).values)
    last = data.isel(time=-1)
    attributes = {
        "largest drift along the flow": float(data["flow"].max()),
        "median change of ‖θ‖² along the flow": float(last["norm"].median()),
        "exponent of the drift in the step": float(np.median(slope)),
        "largest distance of descent from Σγ²C(∇L)": float(data["descent_error"].max()),
        "largest distance from C(0)e^{−kκt}": float(data["decay_error"].max()),
        "median drift under momentum": float(last["momentum"].median()),
        "largest distance from C̈ + γĊ = 2C(θ̇)": float(data["momentum_error"].max()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


def draw(summary: xarray.Dataset) -> Any:
    figure, (flow, descent, decay, momentum) = panels(4)
    times, steps = summary["time"].values, summary["step"].values
    for colour, name in zip(COLOURS, MODELS, strict=False):
        runs = summary.sel(model=name)
        along = runs["flow"].transpose("time", "seed").values[1:]
        band(flow, times[1:], np.maximum(along, 1e-16), colour, name)
        reached = runs["descent"].transpose("step", "seed").values
        band(descent, steps, reached, colour, name, marker="o", markersize=3)
        if name == WITH_KINKS:
            continue
        band(decay, times, runs["decay"].transpose("time", "seed").values, colour, name)
        degree = float(runs["degree"].median())
        curve = np.exp(-degree * DECAY * times)
        decay.plot(times, curve, color="black", linestyle=":", linewidth=2, zorder=3)
        turned = runs["momentum"].transpose("time", "seed").values[1:]
        band(momentum, times[1:], turned, colour, name)
    norm = summary["norm"].stack(run=("model", "seed")).transpose("time", "run").values[1:]
    band(flow, times[1:], norm, MUTED, "‖θ‖², no law", linestyle="--")
    anchor = float(summary["descent"].isel(step=0).median())
    descent.plot(steps, anchor * steps / steps[0], color=MUTED, linestyle=":", label="∝ step")
    decay.plot([], [], color="black", linestyle=":", linewidth=2, label="exp(−kκt), k = 2 and −1")
    unit = "t, in ‖θ‖/‖∇L‖ at the start"
    flow.set(xlabel=unit, ylabel="drift / size of the law's terms", yscale="log")
    descent.set(xlabel=f"step, same unit; time {times[-1]:g}", xscale="log", yscale="log")
    descent.xaxis.set_minor_formatter("")
    decay.set(xlabel=unit, ylabel="C(t)/C(0)")
    momentum.set(xlabel=unit, ylabel="drift / size of the law's terms", yscale="log")
    titled(flow, "gradient flow keeps the laws")
    titled(descent, "steps drift, in proportion to the step")
    titled(decay, "decay shrinks them; at D = 3 it grows")
    titled(momentum, "momentum breaks them")
    for axis in (flow, descent, decay, momentum):
        axis.legend(fontsize=7.5)
    return figure


SETTING = {"span": 3.0, "moments": 31, "halvings": 6}

laws_figure = Experiment(
    "S/laws",
    "Conservation laws of four models on random data, the largest drift of each relative to the "
    "terms of which the law is made: (a) along gradient flow, integrated from ∇L alone, against "
    "‖θ‖², which is no law; (b) along gradient descent, at a fixed time, against the step: "
    "quadratic laws change by Σγ²C(∇L), exactly; (c) under weight decay a law of degree k follows "
    "C(0)e^{−kκt}: UᵀU − VᵀV and its like decay, w₊⁻¹ + w₋⁻¹ grows; (d) under momentum, from rest, "
    "no law is left. Medians over problems, bands 10–90%.",
    {
        "quick": Grid({"model": tuple(MODELS), "seed": (0, 1, 2)}, SETTING),
        "paper": Grid(
            {"model": tuple(MODELS), "seed": tuple(range(20))}, {**SETTING, "halvings": 9}
        ),
    },
    point,
    summarise,
    draw,
    alt=(
        "Four panels. Along gradient flow laws drift by less than one part in a hundred million, "
        "while the squared norm of the weights changes by a large part. Along gradient descent the "
        "drift is proportional to the step. Under weight decay quadratic laws fall exponentially "
        "and the law of the diagonal network of depth three grows, on the dotted curves. Under "
        "momentum all laws drift, by up to a hundredth."
    ),
)

EXPERIMENTS = (laws_figure,)
