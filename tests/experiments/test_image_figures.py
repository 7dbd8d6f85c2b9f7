"""Figures on real images: shipped results, tiny trainings through the same sweep, and what happens
without data."""

import json

import numpy as np
import pytest
import xarray

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.regimes.image_figures import (
    VGG_RESULTS,
    WIDE_RESULTS,
    at_step,
    best_step,
    shipped,
)
from biasflow.images import Images, training_points as image_points
from biasflow.report.numbers import numbers_of
from biasflow.sweeps import Store, sweep
from biasflow.sweeps.grids import Grid

IDS = ("W/fig4e", "W/fig4f", "W/fig6")
WIDE = {
    **{
        "width": 8,
        "train": 0,
        "test": 0,
        "steps": [0.5, 0.1],
        "seeds": [0, 1],
        "readout_steps": [0.1],
        "readout_epochs": 1,
    },
    **{"probes": 3, "batch": 16, "epochs": 1, "every": 1, "precision": "float32"},
}
VGG = {
    **{
        "blocks": [[2], [3]],
        "train": 0,
        "test": 0,
        "probes": 2,
        "batch": 16,
        "epochs": 2,
        "every": 1,
    },
    **{"loss": 1e-3, "precision": "float32"},
}
NOT_REPRODUCED = {
    "MNIST test error in % for alpha >= 50": "differs",
    "CIFAR-10 training accuracy in % of the output layer alone": "not comparable",
}
"""Numbers of the paper that our runs do not come to; captions say so."""


@pytest.fixture
def made_up(monkeypatch):
    """Small random images in place of the files."""

    def images(name):
        rng, shape = np.random.default_rng(0), (32, 32, 3) if name == "cifar10" else (4, 4, 1)
        return Images(
            *(
                a
                for n in (48, 48)
                for a in (
                    rng.integers(0, 256, (n, *shape), np.uint8),
                    rng.integers(0, 10, n).astype(np.uint8),
                )
            )
        )

    monkeypatch.setattr(image_points, "images", images)
    caches = (
        image_points.chosen_images,
        image_points.wide_arrays,
        image_points._kernel_errors,
        image_points._vgg_arrays,
    )
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("id", IDS)
def test_quick_needs_no_data_and_says_where_its_numbers_come_from(id, monkeypatch, tmp_path):
    monkeypatch.setenv("BIASFLOW_DATA", str(tmp_path))
    summary = bf.figure(id)
    for number in numbers_of(id, "quick", summary):
        assert number.agreement == NOT_REPRODUCED.get(number.reported.name, "agrees") and bool(
            number.why
        ) != (number.agreement == "agrees")
    figure = experiment(id).draw(summary)
    assert "H200" in figure.get_supxlabel() and "REDUCED" not in figure.get_supxlabel()
    assert "data fetch" in experiment(id).caption


@pytest.mark.parametrize("name", [WIDE_RESULTS, VGG_RESULTS])
def test_shipped_results_carry_their_provenance(name):
    held = shipped(name)
    assert json.loads(held.attrs["run_settings"])["batch"] and "jax" in json.loads(
        held.attrs["run_versions"]
    )
    assert held.attrs["run_device"] == "NVIDIA H200"
    assert int(held["test_error"].count()) > 10 and float(held["test_error"].min()) > 0


def test_what_was_found_on_the_gpu():
    """The statements of the caption, on the shipped numbers, by more than the spread of seeds."""
    summary = bf.figure("W/fig4e")
    error = summary["chosen_test_error"]
    for data in ("mnist", "fashion-mnist"):
        rich, lazy, unbiased = (
            error.sel(data=data, start=s, alpha=a)
            for s, a in (("as drawn", 1), ("as drawn", 50), ("unbiased", 50))
        )
        assert rich.max() < unbiased.min() and unbiased.max() < lazy.min()
        assert summary["kernel_test_error"].sel(data=data).max() < error.sel(data=data).min()
    assert float(summary["kernel_residual"].max()) < 1e-8
    mnist = summary.sel(data="mnist", start="as drawn")
    small, large = (
        mnist.sel(alpha=chosen) for chosen in (mnist["alpha"] <= 5, mnist["alpha"] >= 50)
    )
    assert (small["chosen_step_size"] == summary["step"].max()).all()
    assert float(large["test_error"].mean("seed").min()) > 0.032
    readout = mnist["readout_test_error"].mean("seed").fillna(np.inf).argmin("readout_step")
    assert (mnist["readout_step"][readout] == mnist["readout_step"].max()).mean() > 0.5
    fitted = (mnist["readout_train_error"].isel(readout_step=readout) == 0).all("seed")
    assert (fitted == (mnist["alpha"] >= 5)).all()


def test_reduced_without_data_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("BIASFLOW_DATA", str(tmp_path))
    image_points.chosen_images.cache_clear()
    image_points.wide_arrays.cache_clear()
    with pytest.raises(bf.errors.DataFileError, match="biasflow data fetch mnist"):
        experiment("W/fig4e").point(
            data="mnist", start="as drawn", alpha=1.0, **{**WIDE, "train": 10}
        )


def test_a_small_sweep_trains_resumes_and_draws(made_up, tmp_path):
    figure, store = experiment("W/fig4e"), Store(tmp_path)
    axes = {"data": ("mnist",), "start": image_points.STARTS, "alpha": (1.0, 50.0)}
    first = sweep(figure.point, Grid({**axes, "alpha": (1.0,)}, WIDE), store=store)
    told = []
    data = sweep(
        figure.point,
        Grid(axes, WIDE),
        store=store,
        progress=lambda done, total, label: told.append((done, total)),
    )
    assert told[0][0] >= 2 and told[-1] == (4, 4)  # two points were there
    xarray.testing.assert_equal(data.sel(alpha=[1.0]), first)
    assert (
        np.isnan(data["readout_test_error"].sel(start="unbiased")).all()
        and data["readout_test_error"].sel(start="as drawn").notnull().all()
    )
    assert data["gradient_distance"].notnull().all() and (data["epochs_used"] == 1).all()
    assert (data["kernel_test_error"].sel(start="as drawn") <= 1).all()
    drawn = figure.draw(
        figure.summarise(data.assign_attrs(settings=json.dumps({**WIDE, "train": 48})))
    )
    assert "REDUCED" in drawn.get_supxlabel()


def test_a_small_vgg_sweep_draws_both_figures(made_up):
    data = sweep(
        experiment("W/fig4f").point,
        Grid({"alpha": (1.0,), "rule": image_points.RULES, "seed": (0,)}, VGG),
    )
    assert data["train_error_history"].sizes["epoch"] == 3
    assert float(data["step_size"].sel(alpha=1, rule="1e-4", seed=0)) == 1e-4
    for id in ("W/fig4f", "W/fig6"):
        figure = experiment(id)
        assert figure.draw(figure.summarise(data)).axes


def test_diverged_runs_are_marked_and_left_out(made_up):
    point = image_points.wide_point(
        data="mnist", start="as drawn", alpha=1.0, **{**WIDE, "steps": [0.1, 1e30]}
    )
    assert (
        point["diverged"].values.tolist() == [[0, 0], [1, 1]]
        and np.isnan(point["gradient_distance"].values[1]).all()
    )
    assert int(best_step(point, "test_error")) == 0


def test_the_step_is_chosen_among_runs_that_fit():
    """Least mean test error among steps where every seed fits; among all where none does; none
    where nothing was run."""
    errors = xarray.Dataset(
        {
            "test_error": (
                ("alpha", "step", "seed"),
                [[[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]]] * 2 + [[[np.nan] * 2] * 3],
            ),
            "train_error": (
                ("alpha", "step", "seed"),
                [[[0, 0.5], [0, 0], [0, 0]], [[0.5, 0.5]] * 3, [[np.nan] * 2] * 3],
            ),
            "diverged": (
                ("alpha", "step", "seed"),
                [[[0, 0]] * 3, [[1, 0], [0, 0], [0, 0]], [[np.nan] * 2] * 3],
            ),
        },
        coords={"step": [1.0, 0.5, 0.1]},
    )
    index = best_step(errors, "test_error")
    assert index.values.tolist() == [1, 1, -1]
    chosen = at_step(errors, index)
    assert (
        chosen["step_size"].values[:2].tolist() == [0.5, 0.5]
        and np.isnan(chosen["test_error"].values[2]).all()
    )


def test_bad_settings():
    with pytest.raises(bf.errors.InputError, match="start"):
        image_points.wide_point(data="mnist", start="centred", alpha=1.0, **WIDE)
    with pytest.raises(bf.errors.InputError, match="rule"):
        image_points.vgg_point(alpha=1.0, rule="fast", seed=0, **VGG)
    with pytest.raises(bf.errors.InputError, match="every: 2 does not divide"):
        image_points.vgg_point(alpha=1.0, rule="scaled", seed=0, **{**VGG, "epochs": 3, "every": 2})
