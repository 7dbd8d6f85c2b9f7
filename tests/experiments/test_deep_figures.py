"""W/fig4: what is measured of a run, batches against points, and pictures from small grids."""

import dataclasses

import numpy as np

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.regimes.deep_figure import critical_step, scale, scales
from biasflow.models import DeepNetwork
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid

SETTING = {"width": 8, "n": 5, "stepsize": 0.01, "steps": 3000, "threshold": 1e-4}


def test_descent_is_unstable_beyond_the_critical_step():
    """In the kernel regime, from a large symmetric start, the loss falls below it and rises above
    it."""
    ds, model = bf.data.circle_teacher(n=5, key=1), DeepNetwork((2, 8), symmetric=True)
    start = model.init(30.0, key=0)
    critical = critical_step(model, start, ds)
    batch = bf.training.train_batch(
        model, ds, bf.SquareLoss("sum"), [start, start], [0.9 * critical, 1.1 * critical], 20
    )
    first = float(np.sum(ds.y**2))
    assert batch.loss[0] < first < batch.loss[1]


def test_points_and_batches_agree():
    settings = [
        {**SETTING, "depth": depth, "unit": unit, "seed": 0}
        for depth in (2, 3)
        for unit in (0.1, 30.0)
    ]
    together = scales(settings)
    for k in (1, 2):
        one = scale(**settings[k])
        for name in one:
            np.testing.assert_allclose(
                together[k][name], one[name], rtol=1e-5, atol=1e-12, err_msg=str(name)
            )


def test_scales_draw_and_show_both_regimes():
    figure = experiment("W/fig4ab")
    summary = figure.summarise(
        sweep(figure.point, Grid({"depth": (2, 3), "unit": (0.01, 30.0), "seed": (0, 1)}, SETTING))
    )
    assert (summary["gradient_distance"].median("seed").diff("unit") < 0).all()
    assert summary.attrs["least ratio of test errors, largest scale to smallest"] > 1
    assert 0 < summary.attrs["share of runs that diverge or die at the step asked for"] < 1
    assert (summary["stepsize"] <= 0.01).all()
    assert len(figure.draw(summary).axes) == 3


def test_steps_draw_and_name_what_is_lost():
    figure = experiment("W/fig4cd")
    settings = {**{k: v for k, v in SETTING.items() if k != "stepsize"}, "unit": 3.0}
    summary = figure.summarise(
        sweep(
            figure.point, Grid({"depth": (2,), "share": (0.5, 1.7, 40.0), "seed": (0, 1)}, settings)
        )
    )
    lost = summary["diverged"] + summary["died"]
    assert (lost.sel(share=40.0) == 1).all() and (lost.sel(share=0.5) == 0).all()
    assert np.isnan(summary["test_error"].sel(share=40.0)).all()
    distance = summary["gradient_distance"].median("seed").sel(depth=2)
    assert distance.sel(share=1.7) > 2 * distance.sel(share=0.5)
    assert len(figure.draw(summary).axes) == 3


def test_a_grid_sets_the_chunk_of_its_sweep():
    import jax  # noqa: F401  # a first call that brings JAX in is made once more, in doubles

    calls = []

    def batch(settings):
        calls.append(len(settings))
        return scales(settings)

    point = dataclasses.replace(experiment("W/fig4ab").point, batch=batch)
    sweep(
        point,
        Grid(
            {"unit": (0.1, 0.2, 0.3, 0.4), "seed": (0,)},
            {**SETTING, "depth": 2, "steps": 5},
            chunk=3,
        ),
    )
    assert calls == [3]  # and a single one by itself
