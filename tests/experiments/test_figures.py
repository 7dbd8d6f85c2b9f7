"""Figures: presets, the numbers the papers report, and what the pictures rest on."""

import copy

import golden_figures
import numpy as np
import pytest

import biasflow as bf
import stub_science
from biasflow.experiments import EXPERIMENTS, experiment
from biasflow.experiments.regimes.depth_figure import coordinate_regulariser, sparse_to_dense_ratio
from biasflow.experiments.regimes.sparse import largest_unit, point, population_error
from biasflow.report.numbers import numbers_of
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid


@pytest.mark.parametrize("figure", EXPERIMENTS, ids=lambda e: e.id)
def test_presets(figure):
    assert {"quick", "paper"} <= set(figure.grids)
    assert len(figure.grids["paper"].points()) > len(figure.grids["quick"].points())
    assert figure.caption.endswith(".")


def test_every_number_has_a_source_and_a_word_for_a_difference():
    """Numbers that agree today may differ tomorrow: then the page says that we do not know why."""
    for figure in EXPERIMENTS:
        for reported in figure.reported:
            assert reported.source and reported.relation in ("==", "<=", ">=")
            assert reported.reading.within >= 0 and not (reported.why and reported.incomparable)


def test_unknown_figure_and_preset():
    with pytest.raises(bf.errors.UnknownNameError, match="W/fig1"):
        bf.figure("W/fig11")
    with pytest.raises(bf.errors.UnknownNameError, match="quick"):
        bf.figure("W/fig1", preset="quik")


def test_fig1_reported_numbers_over_seeds():
    """The paper's ≈ 0.9 (ℓ2) and ≈ 0.01 (ℓ1) at full size, over eight data sets."""
    grid = Grid(
        {"n": (100,), "seed": tuple(range(8))},
        {"d": 1000, "sparsity": 5, "noise_var": 0.01, "alphas": [1e-3]},
    )
    data = sweep(point, grid)
    assert [
        n.agreement for n in numbers_of("W/fig1", "quick", experiment("W/fig1").summarise(data))
    ] == ["agrees", "agrees"]
    assert (
        0.85 < float(data["error_l2"].median()) < 0.97
        and 0.005 < float(data["error_l1"].median()) < 0.025
    )
    assert (
        float(data["error_l1"].median())
        <= float(data["error"].median())
        <= float(data["error_l2"].median())
    )


def test_threshold_is_where_recovery_ends():
    data, model = bf.data.sparse_regression(60, 200, 3, key=0), bf.DiagonalNetwork(2)
    unit = largest_unit(model, data)
    errors = [
        population_error(data, bf.limit(model, data, log_scale=(unit + s) * np.log(10) / 2).value)
        for s in (-0.05, 0.05)
    ]
    assert errors[0] <= 0.025 < errors[1]


def test_threshold_is_nan_where_nothing_recovers():
    assert np.isnan(
        largest_unit(bf.DiagonalNetwork(2), bf.data.sparse_regression(5, 100, 5, key=0))
    )


def test_q2_is_the_papers():
    z = np.linspace(0, 10, 50)
    assert coordinate_regulariser(2, z) == pytest.approx(
        2 - np.sqrt(4 + z**2) + z * np.arcsinh(z / 2), abs=1e-13
    )


def test_q3_integrates_the_inverse_of_h():
    """q_D' = h_D⁻¹ (W, Theorem 3), by central differences."""
    z, step = np.array([0.5, 2.0, 8.0]), 1e-5
    slope = (coordinate_regulariser(3, z + step) - coordinate_regulariser(3, z - step)) / (2 * step)
    assert (1 - slope) ** -3.0 - (1 + slope) ** -3.0 == pytest.approx(z, rel=1e-7)


@pytest.mark.parametrize("depth", [2, 3, 10])
def test_ratio_runs_from_l1_to_l2(depth):
    rich, lazy = sparse_to_dense_ratio(depth, np.array([1e-60, 1e6]), 100)
    assert lazy == pytest.approx(1, abs=1e-6)
    # depth 2 gets there logarithmically
    assert rich == pytest.approx(0.1, rel=0.05 if depth == 2 else 1e-6)


def test_small_grid_draws():
    figure = experiment("W/descent")
    settings = {**figure.grids["quick"].settings, "n": 6, "d": 12, "steps": 20_000}
    summary = figure.summarise(
        sweep(figure.point, Grid({"share": (0.1, 0.3), "batch": (0, 5), "seed": (0,)}, settings))
    )
    assert summary.attrs["largest relative distance from the projection"] < 1e-6
    assert len(figure.draw(summary).axes) == 3


FAST = (
    *("R/fig1", "R/fig4", "R/fig5", "W/fig4e", "W/fig4f", "W/fig6", "W/scales"),
    *("B/fig2", "B/fig3", "B/fig5", "C/fig4"),
)
"""Figures whose quick preset takes less than three seconds."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(f, marks=[] if f in FAST else [pytest.mark.slow]) for f in bf.figures()],
)
def test_quick_preset_end_to_end(name):
    """The data are those that were written down (tests/golden/golden_figures.py), the numbers agree
    or say why not, and there is a picture."""
    summary, golden = golden_figures.summary(name), golden_figures.kept()
    assert name in golden, f"write it down: python tests/golden/golden_figures.py {name}"
    digest = golden_figures.digest(summary)
    assert golden_figures.differences(name, golden[name], digest) == []
    for number in numbers_of(name, "quick", summary):
        assert number.agreement == "agrees" or number.why, number.reported
    assert experiment(name).draw(summary).axes


def test_data_that_moved_are_noticed():
    golden = golden_figures.kept()["R/fig1"]
    assert golden_figures.differences("R/fig1", golden, golden) == []
    name = next(n for n, kept in golden["variables"].items() if any(kept.get("quantiles", [])))
    for key, value in (("shape", [1]), ("unfit", 99), ("quantiles", [1e9] * 7)):
        moved = copy.deepcopy(golden)
        moved["variables"][name][key] = value
        assert len(golden_figures.differences("R/fig1", golden, moved)) == 1
    gone = copy.deepcopy(golden)
    del gone["variables"][name]
    assert golden_figures.differences("R/fig1", golden, gone) == [f"no {name!r}"]
    looser = copy.deepcopy(golden)
    for kept in looser["variables"].values():
        kept["quantiles"] = [q * (1 + 1e-8) for q in kept.get("quantiles", [])]
    assert golden_figures.differences("R/fig1", golden, looser) == []


def test_a_figure_is_drawn_in_one_call():
    drawn = bf.experiments.draw(stub_science.EXPERIMENT)
    assert len(drawn.axes) == 1 and len(drawn.axes[0].lines) == 2
    with pytest.raises(bf.errors.UnknownNameError, match="did you mean"):
        bf.experiments.draw("W/fig11")
