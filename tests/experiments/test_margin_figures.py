"""C's figures: what is shipped, what the points compute, and the drawings."""

import numpy as np
import pytest
import xarray

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.margin import shipped_results as shipping
from biasflow.experiments.margin.paper_trainings import (
    STEPS,
    batch,
    error_rate,
    point,
    samples,
    start,
)
from biasflow.experiments.margin.performance import (
    CURVES,
    FRACTION,
    GRIDS,
    SETTING,
    SUPERIOR,
    WIDTHS,
)
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid

SMALL = {
    **SETTING,
    "preset": "paper",
    "n": 20,
    "d": 4,
    "m": 12,
    "steps": 40,
    "tests": 200,
    "dtype": "float64",
    "effort": 1,
}
FEW = ("both n=32", "output n=32", "kernel n=32", "both d=5", "both m=8")


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_shipped_data_are_whole(preset):
    data = shipping.shipped(preset)
    assert list(data["curve"].values) == list(CURVES) and data.sizes["seed"] == 30
    assert data.attrs["preset"] == preset and "H200" in data.attrs["device"] and data.attrs["made"]
    trained = [curve for curve in CURVES if curve != "gamma"]
    assert np.all(np.isfinite(data["test_error"].sel(curve=trained)))
    bounds = data.sel(curve="gamma")
    assert np.all(
        (bounds["lower"] > 0)
        & (bounds["lower"] <= bounds["believed"] + 1e-9)
        & (bounds["believed"] <= bounds["upper"])
    )


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_no_trained_margin_exceeds_the_proven_upper_bound(preset):
    """The same data sets for every width; margins of a network are at most γ₁."""
    data = shipping.shipped(preset)
    margins = data["margin"].sel(curve=[f"both m={m}" for m in WIDTHS])
    assert np.all(margins <= data["upper"].sel(curve="gamma") * (1 + 1e-6))
    mean = margins.mean("seed").values
    assert mean[-1] > mean[0] and np.all(np.diff(mean) > -0.02 * mean[-1])


@pytest.mark.parametrize("preset", ["paper", "code"])
def test_both_layers_err_less_and_kernels_less_than_their_training(preset):
    data = shipping.shipped(preset)
    summary = experiment("C/fig2").summarise(data)
    assert summary.attrs[SUPERIOR] == 1.0
    assert 0.9 < summary.attrs[FRACTION] <= 1.0 + 1e-6
    mean = data["test_error"].mean("seed")
    for n in (128, 256, 512):
        both, output, kernel = (
            float(mean.sel(curve=f"{kind} n={n}")) for kind in ("both", "output", "kernel")
        )
        assert both < kernel < output


def test_a_batch_is_its_points():
    settings = [{**SMALL, "curve": curve, "seed": seed} for curve in FEW for seed in (0, 1)]
    for setting, together in zip(settings, batch(settings), strict=True):
        xarray.testing.assert_identical(together, point(**setting))


def test_a_point_is_the_training_it_says():
    case = {**SMALL, "curve": "both n=32", "n": 32, "kind": "both", "seed": 3}
    ds, test = (bf.data.with_bias(samples(case, draw)) for draw in (0, 1))
    run = bf.training.margin_ascent(ds, start(case, ds.d), 40, STEPS["paper", "both"])
    found = point(**{**SMALL, "curve": "both n=32", "seed": 3})
    assert float(found["test_error"]) == error_rate(bf.TwoLayer(12, ds.d)(run.final, test.X), test)
    assert float(found["margin"]) == run.stats["best_margin"][-1]


def test_starts_are_the_texts_and_the_codes():
    case = {**SMALL, "kind": "both", "seed": 0}
    balanced = start(case, 5)
    assert np.linalg.norm(balanced.W, axis=1) == pytest.approx(np.abs(balanced.a))
    assert np.sum(balanced.a**2) == pytest.approx(1)
    gaussian = start({**case, "preset": "code", "m": 4000}, 5)
    assert np.var(gaussian.W) * 4000 == pytest.approx(1, rel=0.05)
    assert not np.any(start({**case, "kind": "output"}, 5).a)


def test_unknown_curve():
    with pytest.raises(bf.errors.InputError, match="curve"):
        point(**{**SMALL, "curve": "third n=32", "seed": 0})


def test_draws_small_and_shipped():
    small = {**SMALL, "steps": 20}
    quick = sweep(
        experiment("C/fig2").point, Grid({"curve": CURVES, "seed": (0, 1)}, small, chunk=2)
    )
    figure = experiment("C/fig2")
    assert len(figure.draw(figure.summarise(quick)).axes) == 8
    whole = shipping.shipped("code")
    assert len(figure.draw(figure.summarise(whole)).axes) == 8


def test_files_are_written_curve_by_curve_and_merged(tmp_path):
    grid = Grid({"curve": ("both n=32", "kernel n=32"), "seed": (0, 1)}, SMALL)
    parts = [tmp_path / "trained.nc", tmp_path / "kernel.nc"]
    shipping.make(grid, "paper", parts[0], ("both",))
    shipping.make(grid, "paper", parts[1], ("kernel",))
    merged = shipping.merge(parts[::-1], grid.axes["curve"])
    assert list(merged["curve"].values) == list(grid.axes["curve"])
    shipping.write(merged, tmp_path / "whole.nc")
    again = xarray.load_dataset(tmp_path / "whole.nc", engine="scipy")
    assert float(again["test_error"].sel(curve="both n=32", seed=1)) == pytest.approx(
        float(point(**{**SMALL, "curve": "both n=32", "seed": 1})["test_error"]), abs=1e-6
    )
    assert not list(tmp_path.glob("*.part"))


def test_presets_chunk_by_curve():
    assert all(grid.chunk == len(grid.axes["seed"]) for grid in GRIDS.values())
