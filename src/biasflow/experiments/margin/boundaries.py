"""C/fig1: decision boundaries in the plane, both layers against the output layer, trained as in C
and exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._numerics.deadlines import RECORDED_S
from ...data import clusters, with_bias
from ...flows import gradient_flow
from ...limits import FeatureClassifier, f1_max_margin, f2_max_margin
from ...losses import SmoothMargin
from ...models import TwoLayer, TwoLayerParams, as_particles
from ...sweeps.grids import Grid
from ...training import InverseRootStep, Proposition7Step, margin_ascent
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told
from .drawing_boundaries import draw
from .planes import on_square

if TYPE_CHECKING:
    import xarray

AUTHORS = InverseRootStep(0.5, offset=2, with_norm=True)
"""The step of the authors' code for the output layer, ½β(t)/√(t+2)."""
STEPS = "steps of C, both layers: margin over γ₁"
POINTS = 30
"""Times at which flows are saved, geometric from 1."""


def point(
    seed: int, n: int, m: int, k: int, steps: int, scales: list[float], end: float, rtol: float
) -> xarray.Dataset:
    """One training set: the exact max margins, networks of width m after `steps` steps, and
    gradient flows until `end`.

    Both layers: weights N(0, σ²) in C's h = (1/m)Σφ; steps ½/√(t+1) from the first σ of `scales`,
    flows from all. Output layer: unit neurons, a = 0, the steps of Proposition 7.
    """
    import xarray

    points, unit = clusters(n, k=k, key=seed), TwoLayer(m, 3).init(1.0, key=seed, balanced=False)
    f1, f2 = (
        f1_max_margin(points.X, points.y, time_s=RECORDED_S),
        f2_max_margin(points.X, points.y, time_s=RECORDED_S),
    )
    run = margin_ascent(with_bias(points), scaled(unit, scales[0]), steps)
    times = np.geomspace(1.0, end, POINTS)
    flows = [
        gradient_flow(
            TwoLayer(m, 3),
            with_bias(points),
            SmoothMargin(),
            scaled(unit, scale),
            times=times,
            rtol=rtol,
            time_s=None,
        )
        for scale in scales
    ]
    variables = {
        "input": (("sample", "coordinate"), points.X),
        "label": ("sample", points.y),
        "gamma1": f1.objective,
        "gamma1_gap": f1.certificate.dual / f1.certificate.primal - 1,
        "gamma2": f2.objective,
        "gamma2_gap": f2.certificate.dual / f2.certificate.primal - 1,
        "f1": (("y", "x"), on_square(f1.value)),
        "f2": (("y", "x"), on_square(f2.value)),
        "both": (("y", "x"), on_square(as_particles(run.final))),
        "both_margin": ("step", np.asarray(run.margin) / f1.objective),
        "best": np.asarray(run.best_margin)[-1] / f1.objective,
        "step_time": ("step", elapsed(run.times)),
        "margin": (("sigma", "time"), [np.asarray(flow.margin) / f1.objective for flow in flows]),
        "margin_error": (
            "sigma",
            [np.asarray(flow.margin_error)[-1] / f1.objective for flow in flows],
        ),
        **output_layer(points, unit.W / np.linalg.norm(unit.W, axis=1)[:, None], steps),
    }
    return xarray.Dataset(variables, {"sigma": scales, "step": run.times, "time": times})


def scaled(unit: TwoLayerParams, sigma: float) -> TwoLayerParams:
    """C's weights σ·w are σ·w/√m in the plain sum."""
    size = sigma / np.sqrt(unit.a.size)
    return TwoLayerParams(size * unit.a, size * unit.W)


def elapsed(steps: Array) -> Array:
    """Σ_{s<t} ½/√(s+1), the time of gradient flow that t steps stand for."""
    sums = np.cumsum(np.append(0.0, 0.5 / np.sqrt(np.arange(1.0, steps[-1] + 1))))
    return sums[steps.astype(int)]


def output_layer(points: Dataset, directions: Array, steps: int) -> dict[str, Any]:
    """γ₂^(m) of these neurons, and where training them leads, in its units."""
    limit = f2_max_margin(points.X, points.y, features=directions, time_s=RECORDED_S)
    start, data = TwoLayerParams(np.zeros(len(directions)), directions), with_bias(points)
    run, authors = (
        margin_ascent(data, start, steps, step, training="output")
        for step in (Proposition7Step(), AUTHORS)
    )
    return {
        "gamma2_m": limit.objective,
        "output": (("y", "x"), on_square(FeatureClassifier(directions, run.final.a))),
        "output_exact": (("y", "x"), on_square(limit.value)),
        "output_margin": np.asarray(run.margin)[-1] / limit.objective,
        "output_authors": np.asarray(authors.margin)[-1] / limit.objective,
    }


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Medians over the training sets."""
    last = data["margin"].isel(time=-1)
    attributes = {
        **told(STEPS, data["both_margin"].isel(step=-1).values),
        "flow from σ = 1: margin over γ₁": float(last.sel(sigma=1.0).median()),
        "flow from σ = 1: least margin over γ₁": float(last.sel(sigma=1.0).min()),
        "flow from σ = 40: margin over γ₁": float(last.sel(sigma=40.0).median()),
        "largest margin over γ₁": float(np.max(last)),
        "largest error of a flow's margin over γ₁": float(data["margin_error"].max()),
        "largest relative gap of γ₁": float(data["gamma1_gap"].max()),
        "largest relative gap of γ₂": float(data["gamma2_gap"].max()),
        "steps of C, output layer: margin over γ₂ of the same neurons": float(
            data["output_margin"].median()
        ),
        "the same with the authors' steps": float(data["output_authors"].median()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


SCALES = [1.0, 3.0, 10.0, 40.0]
FEWER = [1.0, 10.0, 40.0]
QUICK = {"n": 40, "m": 100, "k": 4, "steps": 30_000, "scales": FEWER, "end": 300.0, "rtol": 3e-4}
PAPER = {
    "n": 100,
    "m": 500,
    "k": 4,
    "steps": 300_000,
    "scales": SCALES,
    "end": 2000.0,
    "rtol": 3e-4,
}

NO_MARGINS = (
    "C draws decision boundaries and prints no margins; 1 is Theorem 3's, for infinitely wide "
    "networks and infinite time. C's"
    " steps are not converged, and from σ = 1 the flow of some sets ends below γ₁ for good."
)
REPORTED = (
    Reported(
        STEPS,
        Reading.exact(1.0),
        '§7: training both layers "leads to a max margin classifier in F1"',
        incomparable=NO_MARGINS,
    ),
)

fig1 = Experiment(
    "C/fig1",
    "Random training sets in the plane: sixteen clusters, classes at random. Above: both layers "
    "trained from weights N(0, σ²), σ = 1, by C's steps, and the exact F1 max-margin classifier, "
    "which is piecewise affine. Middle: the output layer alone: what training these m neurons "
    "tends to, exactly, and the exact F2 max margin of infinitely many, which is smooth. Dotted is "
    "where C's steps have come, which is no limit yet: at C's number of them (preset paper) some "
    "output layers do not yet separate the classes. The numbers say how far; γ₁ and γ₂ are "
    "certified. Below: the same networks by gradient flow, from several scales: from σ = 1 a set "
    "may stop below γ₁ for good, from large scales none does. Preset quick has fewer sets, "
    "samples, neurons, steps and scales; preset paper has 500 neurons, as the authors' notebook, "
    "where C's text says 1000.",
    {"quick": Grid({"seed": (0, 1, 2)}, QUICK), "paper": Grid({"seed": (0, 1, 2, 3)}, PAPER)},
    point,
    summarise,
    draw,
    REPORTED,
    alt=(
        "Three training sets in three columns. Above, boundaries trained with both layers are "
        "polygons near the exact F1 max-margin ones, at 79 to 95% of its margin. In the middle, "
        "the smooth F2 boundaries, of infinitely many and of these neurons. Below, margins over "
        "time and against the scale of the start: large starts reach γ₁, small ones may not."
    ),
)
