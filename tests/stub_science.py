"""A small experiment and three claims with known outcomes, in place of the real ones."""

from __future__ import annotations

import numpy as np
import xarray

from biasflow import experiments, theory
from biasflow.errors import unknown
from biasflow.experiments.experiment import Experiment, Reading, Reported
from biasflow.experiments.told_numbers import told
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid
from biasflow.theory import Check, Claim, Hypothesis, Verdict

CALLS: list[str] = []


def point(scale: float, seed: int, n: int) -> xarray.Dataset:
    CALLS.append(f"point {scale} {seed}")
    return xarray.Dataset(
        {"error": ("t", scale * np.arange(3.0) + seed + n)}, coords={"t": [0.0, 0.5, 1.0]}
    )


def summarise(data: xarray.Dataset) -> xarray.Dataset:
    numbers = told("mean error", data.error.mean(("t", "scale")).values, np.mean) | told(
        "worst <error>", data.error.max()
    )
    return data.mean("seed").assign_attrs(numbers)


def draw(summary: xarray.Dataset):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 2))
    figure.subplots().plot(summary.t, summary.error.T)
    return figure


EXPERIMENT = Experiment(
    id="W/fig1",
    caption="Error against time & scale <α>",
    grids={
        "quick": Grid({"scale": (0.1, 10.0), "seed": (0, 1)}, {"n": 5}),
        "paper": Grid({"scale": (0.1, 1.0, 10.0), "seed": (0, 1, 2)}, {"n": 5}),
    },
    point=point,
    summarise=summarise,
    draw=draw,
    reported=(
        Reported("mean error", Reading.printed("10.5"), "Figure 1 & text"),
        Reported("worst <error>", Reading.exact(8.0), "Figure 1", None, why="ours is <larger>"),
        Reported("mean error", Reading.exact(1.0), "Figure 1", incomparable="of another thing"),
    ),
    alt="Error falls with <time>.",
)


def _claim(id: str, statement: str, *checks: Check) -> Claim:
    full_rank = Hypothesis(
        "rank",
        "X has full row rank",
        lambda problem: None if problem != "spoiled" else "rank 1 of 2",
    )
    return Claim(
        id,
        statement,
        "Theorem 1",
        (full_rank,),
        example=lambda key: key,
        check=lambda evidence: checks,
    )


CLAIMS = (
    _claim(
        "W/thm1",
        "β∞ minimises Q_α & interpolates",
        Check("distance <to the limit>", 1e-9, "<=", 1e-6, witness="weights & LSODA", null=2e-9),
        Check("gap", 0.0, "==", 0.0, witness="a second route"),
    ),
    _claim("R/eq3", "the rate is at least λ", Check("rate", 0.9, ">=", 1.0, error=0.2)),
    _claim("R/sharp", "the constant is sharp", Check("ratio", 2.0, "<=", 1.0, error=0.1)),
)


def figure(id, preset="quick", store=None, progress=None, engine=None):
    return summarise(sweep(point, experiment(id).grids[preset], store=store, progress=progress))


def experiment(id):
    if id != EXPERIMENT.id:
        raise unknown("figure", id, [EXPERIMENT.id])
    return EXPERIMENT


def claim(id):
    return {claim.id: claim for claim in CLAIMS}[id]


def verify(id, problem=None, key=0, time_s=None):
    CALLS.append(f"verify {id} {key}")
    stated = claim(id)
    on = stated.example(key) if problem is None else problem
    return Verdict(stated, tuple((h, h.test(on)) for h in stated.hypotheses), stated.check(on))


def install(monkeypatch, claims=CLAIMS) -> None:
    """Put the stubs where the report and the command line look."""
    CALLS.clear()
    for name, stub in {
        "figures": lambda: (EXPERIMENT.id,),
        "experiment": experiment,
        "figure": figure,
    }.items():
        monkeypatch.setattr(experiments, name, stub, raising=False)
    for name, stub in {
        "claims": lambda: tuple(c.id for c in claims),
        "claim": claim,
        "verify": verify,
    }.items():
        monkeypatch.setattr(theory, name, stub, raising=False)
