"""C/fig1: decision boundaries in the plane, both layers against the output layer, trained as in C and exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import clusters, with_bias
from ...flows import InverseRootStep, Proposition7Step, margin_ascent
from ...limits import FeatureClassifier, f1_max_margin, f2_max_margin
from ...models import TwoLayer, TwoLayerParams, as_particles
from ...records import Dataset, Experiment, Grid, Reported, Trajectory
from .drawing_boundaries import draw
from .planes import on_square

if TYPE_CHECKING:
    import xarray

RECORDS = 60
"""States kept of a training, at geometric steps."""
AUTHORS = InverseRootStep(0.5, offset=2, with_norm=True)
"""The step of the authors' code for the output layer, ½β(t)/√(t+2)."""


def point(seed: int, n: int, m: int, k: int, steps: int, scales: list[float]) -> xarray.Dataset:
    """One training set: the exact max margins, and networks of width m after `steps` steps.

    Both layers: weights N(0, σ²) in C's h = (1/m)Σφ, for every σ of `scales`, steps ½/√(t+1). Output layer: unit neurons,
    a = 0, the steps of Proposition 7.
    """
    import xarray

    ds = clusters(n, k=k, key=seed)
    f1, f2 = f1_max_margin(ds.X, ds.y), f2_max_margin(ds.X, ds.y)
    unit = TwoLayer(m, 3).init(1.0, key=seed, balanced=False)
    runs = [both_layers(ds, unit, scale, steps) for scale in scales]
    variables = {
        "input": (("sample", "coordinate"), ds.X),
        "label": ("sample", ds.y),
        "gamma1": f1.objective,
        "gamma1_gap": f1.certificate.dual / f1.certificate.primal - 1,
        "gamma2": f2.objective,
        "gamma2_gap": f2.certificate.dual / f2.certificate.primal - 1,
        "f1": (("y", "x"), on_square(f1.value)),
        "f2": (("y", "x"), on_square(f2.value)),
        "both": (("sigma", "y", "x"), [on_square(as_particles(run.final)) for run in runs]),
        "margin": (("sigma", "step"), [run.stats["margin"] / f1.objective for run in runs]),
        "best": ("sigma", [run.stats["best_margin"][-1] / f1.objective for run in runs]),
        **output_layer(ds, unit.W / np.linalg.norm(unit.W, axis=1)[:, None], steps),
    }
    return xarray.Dataset(variables, {"sigma": scales, "step": runs[0].times})


def both_layers(ds: Dataset, unit: TwoLayerParams, scale: float, steps: int) -> Trajectory:
    """C's weights σ·w are σ·w/√m in the plain sum."""
    size = scale / np.sqrt(unit.a.size)
    return margin_ascent(with_bias(ds), TwoLayerParams(size * unit.a, size * unit.W), steps, records=RECORDS)


def output_layer(ds: Dataset, directions: Any, steps: int) -> dict[str, Any]:
    """γ₂^(m) of these neurons, and where training them leads, in its units."""
    limit = f2_max_margin(ds.X, ds.y, features=directions)
    start, data = TwoLayerParams(np.zeros(len(directions)), directions), with_bias(ds)
    run, authors = (margin_ascent(data, start, steps, step, training="output") for step in (Proposition7Step(), AUTHORS))
    return {
        "gamma2_m": limit.objective,
        "output": (("y", "x"), on_square(FeatureClassifier(directions, run.final.a))),
        "output_exact": (("y", "x"), on_square(limit.value)),
        "output_margin": run.stats["margin"][-1] / limit.objective,
        "output_authors": authors.stats["margin"][-1] / limit.objective,
    }


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    """Medians over the training sets."""
    last = data["margin"].isel(step=-1).median("seed")
    attributes = {
        "margin over γ₁, σ = 1": float(last.sel(sigma=1.0)),
        "margin over γ₁, σ = 10": float(last.sel(sigma=10.0)),
        "largest relative gap of γ₁": float(data["gamma1_gap"].max()),
        "largest relative gap of γ₂": float(data["gamma2_gap"].max()),
        "largest margin over γ₁": float(np.max(data["best"])),
        "margin over γ₂ of the same neurons, output layer": float(data["output_margin"].median()),
        "the same, authors' steps": float(data["output_authors"].median()),
    }
    return data.assign_attrs({**data.attrs, **attributes})


SCALES = [1.0, 3.0, 10.0, 40.0]
QUICK = {"n": 100, "m": 100, "k": 4, "steps": 30_000, "scales": SCALES}
PAPER = {"n": 100, "m": 500, "k": 4, "steps": 300_000, "scales": SCALES}

fig1 = Experiment(
    "C/fig1",
    "x",
    {"quick": Grid({"seed": (0, 1, 2, 3)}, QUICK), "paper": Grid({"seed": (0, 1, 2, 3)}, PAPER)},
    point,
    summarise,
    draw,
    (
    ),
)
