"""Figures on real images: shipped results, tiny trainings through the same sweep, and what happens
without data."""

import json

import numpy as np
import pytest
import xarray

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.regimes.image_drawing import _best_by_scale
from biasflow.experiments.regimes.image_figures import at_step, best_step, step_at_edge
from biasflow.experiments.regimes.image_results import (
    VGG_RESULTS,
    WIDE_RESULTS,
    read_results,
    shipped,
)
from biasflow.images import Images, training_points as image_points, vgg_trainings, wide_trainings
from biasflow.report.numbers import numbers_of
from biasflow.sweeps import Store, sweep
from biasflow.sweeps.grids import Grid

IDS = ("W/fig4e", "W/fig4f", "W/fig6")
SEARCHED = [
    ["unbiased", 1.0, [0.5, 0.1]],
    ["unbiased", 1e9, [0.1, 0.02]],
    ["as drawn", 1e9, [0.5, 0.1]],
    ["output layer", 1e9, [0.1]],
]
WIDE = {
    "width": 8,
    "train": 0,
    "test": 0,
    "searched": SEARCHED,
    "seeds": [0, 1],
    "readout_epochs": 1,
    "probes": 3,
    "batch": 16,
    "lanes": 2,
    "epochs": 1,
    "every": 1,
    "loss": 1e-5,
    "precision": "float32",
}
VGG = {
    "blocks": [[2], [3]],
    "train": 0,
    "test": 0,
    "probes": 2,
    "batch": 16,
    "epochs": 2,
    "every": 1,
    "loss": 1e-3,
}
TRAININGS = (
    "unbiased 1 0.05 bfloat16 0",
    "unbiased 2 0.0001 tensorfloat32 0",
    "as drawn 1 0.05 float32 0",
    "output layer 1 0.001 float32 0",
)
NOT_REPRODUCED = {
    "MNIST test error in % for alpha <= 2, learning f(w) - f(w0)": "differs",
    "MNIST test error in % for alpha >= 50, learning f(w)": "differs",
    "CIFAR-10 training accuracy in % of the output layer alone": "not comparable",
    "CIFAR-10 scales with 100% training accuracy, in %": "not comparable",
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
        wide_trainings.wide_arrays,
        vgg_trainings.vgg_arrays,
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
    assert int(held["test_error"].count()) > 9 and float(held["test_error"].min()) > 0


def test_what_was_found_on_the_gpu():
    """The statements of the caption, on the shipped numbers, by more than the spread of seeds."""
    summary = bf.figure("W/fig4e").sel(data="mnist")
    error = summary["chosen_test_error"]
    rich, drawn, unbiased = (
        error.sel(reading=r, alpha=a)
        for r, a in (("unbiased", 1), ("as drawn", 50), ("unbiased", 50))
    )
    assert rich.max() < unbiased.min() and unbiased.max() < drawn.min()
    kernels = summary["test_error"].sel(reading=list(wide_trainings.KERNELS)).max()
    trained = error.sel(reading=[*wide_trainings.TRAINED, "output layer"])
    assert kernels < trained.min()
    assert float(summary["residual"].max()) < 1e-8
    at_one = error.sel(reading="unbiased", alpha=1).values
    assert at_one == pytest.approx([0.0151, 0.0142, 0.0138], abs=1e-6)
    edge = summary["step_at_edge"].sel(reading=list(wide_trainings.TRAINED))
    assert [edge["alpha"].values[row].tolist() for row in edge.values] == [[5.0], [5.0]]
    fits = (summary["train_error"] == 0).all("seed").sel(reading="output layer")
    layer = summary["test_error"].sel(reading="output layer").mean("seed").where(fits)
    assert float((layer.max("step") - layer.min("step")).max()) < 0.002
    assert float(error.sel(reading="as drawn", alpha=[50, 100]).mean("seed").min()) > 0.03
    finer = summary.sel(reading="unbiased", alpha=50, step=1e-4)
    assert 0 < 60_000 * finer["train_error"].mean() < 3 and finer["test_error"].mean() < 0.0225
    flat = summary["test_error_history"].sel(reading="unbiased", seed=[0, 1, 2]).mean("seed")
    for alpha, step in ((0.5, 1.0), (1.0, 2.0), (2.0, 2.0)):
        at = flat.sel(alpha=alpha, step=step)
        assert at.sel(epoch=100) - at.sel(epoch=200) < 1.1e-4
    moved = summary["chosen_kernel_distance"].mean("seed")
    assert moved.sel(reading="unbiased", alpha=50) < 0.1 * moved.sel(reading="unbiased", alpha=1)
    assert moved.sel(reading="unbiased", alpha=50) < 0.1 * moved.sel(reading="as drawn", alpha=50)


def test_what_was_found_over_scales_and_widths():
    """The statements of the caption of W/scales, on the shipped numbers."""
    summary = bf.figure("W/scales")
    assert summary["transition"].values.round(2)[:, [0, -1]].tolist() == [
        [0.88, 0.32],
        [0.94, 0.51],
    ]
    assert np.all(np.diff(summary["transition"].values, axis=1) < 0)  # at every width
    assert np.all(summary["transition"].diff("depth") > 0)
    for depth, told in ((3, (-0.39, 0.04)), (5, (-0.22, 0.04))):
        power = summary.attrs[f"power of the width, depth {depth}"]
        error = summary.attrs[f"its standard error, depth {depth}"]
        assert (round(power, 2), round(error, 2)) == told
        assert abs(power + 1 / depth) <= 2 * error  # what is expected
    last = summary.isel(time=-1).mean("seed").sel(depth=3)
    errors = (100 * last["test_error"]).round()
    assert 8 <= errors.sel(scale=0.1).min() <= errors.sel(scale=0.1).max() <= 9
    assert 9 <= errors.sel(scale=3.0).min() <= errors.sel(scale=3.0).max() <= 16
    assert np.all(last["test_error"].sel(scale=0.1) < last["test_error"].sel(scale=3.0))
    moved = summary["kernel_movement"].mean("seed").sel(depth=3, width=64)
    assert moved.sel(scale=0.1, time=10) > 1 and moved.sel(scale=3.0).max() < 0.002
    fallen = summary["train_loss"].mean("seed").sel(depth=3, width=64, scale=0.1, time=10)
    assert fallen > 0.9  # the kernel moved before the loss
    whole = shipped("scales-1.nc")["train_loss"].isel(time=-1)
    unfit = whole.where(whole > 0.2, drop=True)
    assert whole.size == 300 and summary.attrs["trainings that did not fit"] == unfit.count() == 9
    assert unfit["depth"].values.tolist() == [5] and unfit["scale"].values.tolist() == [3.0]
    assert unfit["width"].values.tolist() == [16, 32, 64]


def test_what_was_found_on_cifar10():
    """The statements of the captions of W/fig4f and fig6, on the shipped numbers."""
    summary = bf.figure("W/fig4f")
    borne = _best_by_scale(summary, "borne")
    assert borne["alpha"].values.tolist() == [0.3, 0.5, 0.7, 1, 1.25, 1.5, 2, 3]
    assert (100 * borne["test_error"].values).round().tolist() == [27, 23, 23, 32, 36, 37, 38, 38]
    left = 50_000 * borne["train_error"].values
    assert left.round(3).tolist() == [0, 0, 0, 0, 0, 2, 0, 2]
    assert (borne["momentum"] > 0).values.tolist() == [False] * 4 + [True] * 4
    assert borne["epochs_used"].values[[5, 7]].tolist() == [135, 135]
    gradient = borne["gradient_distance"].values
    assert (gradient[:3] > 0.9).all() and (gradient[3:] < gradient[2:-1]).all()
    assert gradient[[3, 5, 7]] == pytest.approx([0.50, 0.052, 5.1e-4], rel=0.01)
    papers = summary.sel(training=(summary["kind"] == "W's").values)
    papers = papers.set_index(training="alpha").sortby("training")
    assert papers["epochs_used"].values.tolist() == [40, 90, 90, 50]  # α = 0.3, 0.5, 1, 2
    assert (100 * papers["train_error"].values).round().tolist() == [88, 72, 30, 0]
    assert round(100 * float(papers["test_error"][-1])) == 47
    assert 20 < float(papers["train_loss_history"][-1].max()) < 40
    plain, pushed = (
        summary["train_loss_history"].sel(training=f"unbiased 1.5 7.7e-06 tensorfloat32 0{more}")
        for more in ("", " momentum 0.9")
    )
    curve = pushed.dropna("epoch")
    same = np.interp(350, 10 * curve["epoch"], curve)  # an epoch with momentum is worth ten
    assert same == pytest.approx(float(plain.sel(epoch=350)), rel=0.15)
    errors = 100 * summary["test_error"].sel(
        training=[f"unbiased 1 0.05 {precision} 0" for precision in ("bfloat16", "tensorfloat32")]
    )
    assert errors.values.round(1).tolist() == [25.8, 25.9]
    left = summary["train_error_history"].sel(epoch=10)
    names = [f"unbiased {alpha} 0.05 bfloat16 0" for alpha in ("0.7", "0.5", "0.3")]
    assert (100 * left.sel(training=names).values).round().tolist() == [4, 11, 33]
    readout = 100 * summary["train_error_history"].sel(training="output layer 1 0.001 float32 0")
    assert float(readout.sel(epoch=30)) > 100 - 50.38 > float(readout.sel(epoch=40))
    for alpha, step, since in ((1.5, "7.7e-06", 290), (2, "2.4e-07", 90)):
        row = summary.sel(training=f"unbiased {alpha:g} {step} tensorfloat32 0")
        before = row.sel(epoch=since)
        assert before["train_error_history"] > 1.8 * row["train_error"]
        assert abs(before["test_error_history"] - row["test_error"]) < 0.005
    assert 1.16e-3 * 1.23**-12 < 1e-4 < 1.16e-3 * 1.22**-12


def test_reduced_without_data_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("BIASFLOW_DATA", str(tmp_path))
    image_points.chosen_images.cache_clear()
    wide_trainings.wide_arrays.cache_clear()
    with pytest.raises(bf.errors.DataFileError, match="biasflow data fetch mnist"):
        experiment("W/fig4e").point(
            data="mnist", reading="as drawn", alpha=1.0, **{**WIDE, "train": 10}
        )


def test_a_small_sweep_trains_resumes_and_draws(made_up, tmp_path):
    figure, store = experiment("W/fig4e"), Store(tmp_path)
    axes = {"data": ("mnist",), "reading": wide_trainings.READINGS, "alpha": (1.0, 50.0)}
    first = sweep(figure.point, Grid({**axes, "alpha": (1.0,)}, WIDE), store=store)
    told = []
    data = sweep(
        figure.point,
        Grid(axes, WIDE),
        store=store,
        progress=lambda done, total, label: told.append((done, total)),
    )
    assert told[0][0] >= 5 and told[-1] == (10, 10)  # five points were there
    xarray.testing.assert_equal(data.sel(alpha=[1.0]), first)
    assert data.attrs["dtype"] == "float32, products in training float32"
    tried = data["epochs_used"].notnull().any("seed").sel(data="mnist")
    assert data["step"].values.tolist() == [0.5, 0.1, 0.02]
    assert tried.sel(reading="unbiased").values.tolist() == [
        [True, True, False],
        [False, True, True],
    ]
    trained = data.sel(reading=list(wide_trainings.TRAINED))
    assert trained["gradient_distance"].notnull().sum() == trained["epochs_used"].notnull().sum()
    kernel = data["test_error"].sel(reading="tangent kernel")
    assert int(kernel.notnull().sum()) == 1 and float(kernel.max()) <= 1
    drawn = figure.draw(
        figure.summarise(data.assign_attrs(settings=json.dumps({**WIDE, "train": 48})))
    )
    assert "REDUCED" in drawn.get_supxlabel()


def test_one_command_makes_the_shipped_file_and_goes_on(made_up, tmp_path, monkeypatch, capsys):
    """Cut off by its time limit it leaves finished points in the file and the others in
    checkpoints; called again it ends with the numbers of a sweep."""
    from biasflow.cli.ship_command import ship_figure
    from biasflow.experiments.regimes import image_shipping

    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "store"))
    settings = {**WIDE, "epochs": 3}
    axes = {"data": ["mnist"], "reading": list(wide_trainings.READINGS), "alpha": [1.0, 50.0]}
    changed = [f"{name}={json.dumps(value)}" for name, value in {**settings, **axes}.items()]
    held, ticks = image_shipping.Clock.is_over, []

    def soon(clock, left):
        ticks.append(left)
        return held(clock, left) or len(ticks) == 5

    monkeypatch.setattr(image_shipping.Clock, "is_over", soon)
    ship_figure("W/fig4e", "paper", tmp_path, None, changed)
    cut_off = read_results((tmp_path / image_shipping.FILE).read_bytes())
    missing = json.loads(cut_off.attrs["run_missing"])
    assert missing and ["mnist", "output layer", 1.0] not in missing
    assert list((tmp_path / "store").rglob("checkpoint.json"))
    ship_figure("W/fig4e", "paper", tmp_path, None, changed)
    whole = read_results((tmp_path / image_shipping.FILE).read_bytes())
    assert json.loads(whole.attrs["run_missing"]) == []
    assert not list((tmp_path / "store").rglob("checkpoint.json"))
    assert {"run_device", "run_versions", "run_seconds", "run_dtype"} <= set(whole.attrs)
    assert "points are in the store" in capsys.readouterr().out
    swept = sweep(experiment("W/fig4e").point, Grid(axes, settings))
    for name in ("test_error", "train_loss", "epochs_used"):
        assert whole[name].values == pytest.approx(swept[name].values, rel=1e-4, nan_ok=True)
    summary = experiment("W/fig4e").summarise(whole)
    assert experiment("W/fig4e").draw(summary).axes


@pytest.mark.parametrize(
    "id, preset, changed, sentence",
    [
        ("W/fig1", "paper", [], "has no shipped results; W/fig4e, W/fig4f, W/scales has"),
        ("W/fig4f", "paper", ['training=["fast"]'], "expected a reading, a scale, a step"),
        ("W/fig4f", "paper", ['training=["centred 1 0.1 float32 0"]'], "reading"),
        ("W/fig4f", "paper", ['training=["unbiased 1 0.1 float16 0"]'], "precision"),
        ("W/fig4e", "quick", [], "draws what is shipped"),
        ("W/fig4e", "paper", ["units=3"], "expected NAME=VALUE with one of data, reading"),
        ("W/fig4e", "paper", ["width=many"], "width: expected JSON"),
        ("W/fig4e", "paper", ["alpha=1.0"], "an axis is a list"),
    ],
)
def test_what_cannot_be_shipped(id, preset, changed, sentence, tmp_path):
    from biasflow.cli.ship_command import ship_figure

    with pytest.raises(bf.errors.InputError, match=sentence):
        ship_figure(id, preset, tmp_path, None, changed)


def test_a_small_vgg_sweep_draws_both_figures(made_up):
    data = sweep(experiment("W/fig4f").point, Grid({"training": TRAININGS}, VGG))
    assert data["train_error_history"].dims == ("training", "epoch") and data.sizes["epoch"] == 3
    assert data["finished"].values.tolist() == [1] * 4
    assert data["gradient_distance"].notnull().values.tolist() == [True, True, True, False]
    unbiased = data["train_loss_history"].sel(training=list(TRAININGS[:2]), epoch=0)
    assert unbiased.values == pytest.approx(np.log(10), rel=1e-5)
    for id in ("W/fig4f", "W/fig6"):
        figure = experiment(id)
        summary = figure.summarise(data)
        assert summary["step"].values.tolist() == [0.05, 1e-4, 0.05, 1e-3]
        assert figure.draw(summary).axes


def test_bfloat16_trains_as_float32_does(made_up):
    """Curves of one start: closer than they move."""
    wide = {**VGG, "blocks": [[8], [8]], "epochs": 8, "every": 4}
    narrow, full = (
        vgg_trainings.vgg_point(training=f"unbiased 1 0.003 {precision} 0", **wide)
        for precision in ("bfloat16", "float32")
    )
    losses = [point["train_loss_history"].values for point in (narrow, full)]
    assert losses[0][-1] < 0.95 * losses[0][0] and losses[0] == pytest.approx(losses[1], rel=0.02)
    assert narrow.attrs["dtype"].endswith("bfloat16") and full.attrs["dtype"].endswith("float32")


def test_a_folder_of_trainings_travels_and_is_gone_on_from(made_up, tmp_path, monkeypatch):
    """Cut off, the folder has the curves so far and a checkpoint; a copy of it ends with the
    numbers of a sweep, and what is finished is not trained again."""
    from biasflow.cli.ship_command import ship_figure
    from biasflow.experiments.regimes import image_shipping

    settings = {**VGG, "epochs": 4, "training": list(TRAININGS[::-1])}
    changed = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    held, ticks = image_shipping.Clock.is_over, []

    def soon(clock, left):
        ticks.append(left)
        return held(clock, left) or len(ticks) == 10  # in the third training

    monkeypatch.setattr(image_shipping.Clock, "is_over", soon)
    monkeypatch.setattr(image_shipping.Clock, "is_past", lambda clock: len(ticks) >= 10)
    monkeypatch.setattr(image_shipping, "VGG_ROUNDS", (100,))
    here, there = tmp_path / "here", tmp_path / "there"
    ship_figure("W/fig4f", "paper", here, None, changed)
    cut_off = read_results((here / image_shipping.VGG_FILE).read_bytes())
    assert cut_off["finished"].values.tolist() == [1, 1, 0]
    assert cut_off["train_loss_history"].notnull().sum("epoch").values.tolist() == [5, 5, 2]
    assert bool(np.isfinite(cut_off["gradient_distance"][2]))
    assert json.loads(cut_off.attrs["run_missing"]) == [TRAININGS[0]]
    (record,) = here.rglob("checkpoint.json")
    assert record.parent.name == TRAININGS[1].replace(" ", "-")
    summary = experiment("W/fig6").summarise(cut_off)
    assert experiment("W/fig6").draw(summary).axes

    here.rename(there)
    monkeypatch.setattr(image_shipping.Clock, "is_past", lambda clock: False)
    begun = []
    monkeypatch.setattr(
        image_shipping,
        "vgg_training",
        lambda **given: begun.append(given["training"]) or vgg_trainings.vgg_training(**given),
    )
    ship_figure("W/fig4f", "paper", there, None, changed)
    assert begun == [TRAININGS[1], TRAININGS[0]]
    whole = read_results((there / image_shipping.VGG_FILE).read_bytes())
    assert whole["finished"].values.tolist() == [1] * 4 and not list(there.rglob("*.npy"))
    swept = sweep(
        experiment("W/fig4f").point,
        Grid({"training": TRAININGS}, {**VGG, "epochs": 4}),
    ).sel(training=whole["training"].values)
    for name in ("test_error", "train_loss_history", "gradient_distance", "epochs_used"):
        assert whole[name].values == pytest.approx(swept[name].values, rel=1e-4, nan_ok=True)
    with pytest.raises(bf.errors.InputError, match="has batch 16, where 8 is asked for"):
        ship_figure("W/fig4f", "paper", there, None, [*changed, "batch=8"])


def test_diverged_runs_are_marked_and_left_out(made_up):
    searched = [["as drawn", 1e9, [0.1, 1e30]]]
    point = wide_trainings.wide_point(
        data="mnist", reading="as drawn", alpha=1.0, **{**WIDE, "searched": searched}
    )
    assert (
        point["diverged"].values.tolist() == [[1, 1], [0, 0]]
        and np.isnan(point["gradient_distance"].values[0]).all()
    )
    index = best_step(point, "test_error")
    assert int(index) == 1 and bool(step_at_edge(point, index))


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
    with pytest.raises(bf.errors.InputError, match="reading"):
        wide_trainings.wide_point(data="mnist", reading="centred", alpha=1.0, **WIDE)
    with pytest.raises(bf.errors.InputError, match="every: 2 does not divide"):
        vgg_trainings.vgg_point(training=TRAININGS[0], **{**VGG, "epochs": 3, "every": 2})
