"""W/fig3 and W/fig5 on a small grid: what the pictures rest on."""

import numpy as np
import pytest

from biasflow.experiments import experiment
from biasflow.experiments.regimes.completion_figure import differing, point
from biasflow.report.numbers import numbers_of
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid

ALPHAS = [1e-4, 0.1, 10.0]


@pytest.fixture(scope="module")
def summary():
    grid = Grid({"k": (0, 8, 64), "seed": (0,)}, {"size": 6, "observed": 24, "alphas": ALPHAS})
    return experiment("W/fig3").summarise(sweep(point, grid))


def test_both_regimes(summary):
    identity = summary.sel(k=0)
    assert float(identity["reconstruction"].isel(alpha=0).max()) < 0.01 * float(
        identity["unobserved"].min()
    )
    assert float(identity["change"].isel(alpha=-1).max()) < 1e-4
    assert float(identity["excess_frobenius"].isel(alpha=-1).max()) < 1e-4
    assert float(summary["excess_nuclear"].min()) > -1e-8 and float(summary["gap"].max()) < 1e-8


def test_the_flow_goes_to_the_planted_matrix_where_another_has_less_nuclear_norm(summary):
    identity = summary.sel(k=0).isel(alpha=0)
    others = differing(identity)
    assert np.any(others)
    assert np.all(
        identity["distance_nuclear"].values[others] > 10 * identity["reconstruction"].values[others]
    )


def test_wider_starts_turn_earlier(summary):
    scales = summary["transition"].mean("seed")
    assert float(scales.sel(k=64)) < float(scales.sel(k=8)) < 10
    assert float(scales.sel(k=64)) * 8 == pytest.approx(float(scales.sel(k=0)), rel=0.5)
    assert -1.5 < summary.attrs["exponent of the transition scale between the two largest k"] < -0.3


@pytest.mark.parametrize("name", ["W/fig3", "W/fig5"])
def test_draws(summary, name):
    figure = experiment(name).draw(summary)
    assert len(figure.axes) == 3 and all(
        axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes
    )


def test_the_papers_limits_are_ours(summary):
    assert [number.agreement for number in numbers_of("W/fig3", "quick", summary)] == [
        "agrees",
        "agrees",
    ]
