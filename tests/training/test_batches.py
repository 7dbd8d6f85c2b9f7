"""Batches of trainings: the same as single runs, stopped run by run, each with its reason."""

import subprocess
import sys

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map
from biasflow.models import DeepNetwork, DeepParams

LOSS = bf.SquareLoss("sum")
MODEL = DeepNetwork((2, 8, 6))


@pytest.fixture(scope="module")
def circle():
    return bf.data.circle_teacher(n=4, key=1)


def starts(count=4, scale=1.0, model=MODEL):
    return [model.init(scale, key=key) for key in range(count)]


@pytest.mark.parametrize("normalisation", ["sum", "half", "half-mean"])
def test_a_batch_is_its_single_runs(circle, normalisation):
    loss, steps = bf.SquareLoss(normalisation), [0.01, 0.02, 0.003, 0.01]
    batch = bf.training.train_batch(MODEL, circle, loss, starts(), steps, 150, threshold=1e-30)
    for k, (start, step) in enumerate(zip(starts(), steps, strict=True)):
        alone = bf.training.gradient_descent(MODEL, circle, loss, start, step, 150)
        np.testing.assert_allclose(
            MODEL.effective(batch[k].params), MODEL.effective(alone.final), rtol=1e-10, atol=1e-12
        )
        assert batch[k].loss == pytest.approx(alone.loss[-1], rel=1e-9)
        assert (batch[k].steps, batch[k].step, batch[k].result) == (
            150,
            step,
            bf.Result.STEP_LIMIT,
        )
    assert len(batch) == 4 and batch.fraction_converged == 0


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (bf.TwoLayer(7, 2), bf.TwoLayer(7, 2).init(0.5, balanced=False)),
        (bf.DiagonalNetwork(3), bf.DiagonalNetwork(3).init(0.5, dim=2)),
        (
            DeepNetwork((2, 5), bias=True, symmetric=True),
            DeepNetwork((2, 5), bias=True, symmetric=True).init(0.9),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_model_trains_in_a_batch(circle, model, start):
    batch = bf.training.train_batch(model, circle, LOSS, [start, start], [0.003, 0.001], 100)
    alone = bf.training.gradient_descent(model, circle, LOSS, start, 0.001, 100)
    np.testing.assert_allclose(
        model.effective(batch[1].params), model.effective(alone.final), rtol=1e-10, atol=1e-12
    )


def test_runs_stop_at_the_first_step_below_the_threshold(circle):
    batch = bf.training.train_batch(MODEL, circle, LOSS, starts(), 0.02, 20_000, threshold=1e-5)
    assert batch.fraction_converged == np.mean(batch.converged) >= 0.5
    for k in np.flatnonzero(batch.converged):
        assert batch[k].loss <= 1e-5
        one_less = bf.training.train_batch(
            MODEL, circle, LOSS, starts()[k : k + 1], 0.02, int(batch.steps[k]) - 1, threshold=1e-5
        )
        assert one_less[0].result is bf.Result.STEP_LIMIT
        assert one_less[0].loss > 1e-5
        measured = float(LOSS(MODEL(batch[k].params, circle.X), circle.y))
        assert measured == pytest.approx(batch[k].loss, rel=1e-6)
    assert f"{int(batch.converged.sum())} converged" in str(batch)


def test_runs_that_leave_the_batch_change_nothing_for_the_others(circle):
    slow, rest = starts(1), starts(5)[1:]
    alone = bf.training.train_batch(MODEL, circle, LOSS, slow, 1e-4, 12_000, threshold=1e-4)[0]
    together = bf.training.train_batch(
        MODEL, circle, LOSS, slow + rest, [1e-4, *[0.02] * 4], 12_000, threshold=1e-4
    )
    np.testing.assert_allclose(
        MODEL.effective(together[0].params), MODEL.effective(alone.params), rtol=1e-8, atol=1e-10
    )
    assert np.count_nonzero(together.steps < 12_000) >= 3


def test_data_may_differ_from_run_to_run(circle):
    other = bf.data.circle_teacher(n=4, key=7)
    batch = bf.training.train_batch(MODEL, [circle, other], LOSS, starts(2), 0.01, 60)
    alone = bf.training.train_batch(MODEL, other, LOSS, starts(2), 0.01, 60)
    np.testing.assert_allclose(
        MODEL.effective(batch[1].params), MODEL.effective(alone[1].params), rtol=1e-12
    )
    assert abs(batch[0].loss - alone[0].loss) > 1e-6


def test_divergence_is_named_and_never_a_nan(circle):
    batch = bf.training.train_batch(
        MODEL, circle, LOSS, [*starts(2), MODEL.init(1e150)], [0.01, 50.0, 0.01], 500
    )
    assert [result is bf.Result.DIVERGED for result in batch.results] == [False, True, True]
    assert batch.steps[1] < 50 and batch.steps[2] == 0
    assert not np.any(np.isnan(batch.loss))
    assert batch.loss[2] == np.inf
    assert not bf.Result.DIVERGED.success
    assert "1 gave up" in str(batch) and "2 diverged" in str(batch)


def test_a_network_that_is_dead_is_stationary(circle):
    dead = DeepParams((-np.ones((8, 2)), np.ones((6, 8)), np.ones((1, 6))))
    quadrant = bf.Dataset(np.abs(circle.X), circle.y)
    batch = bf.training.train_batch(
        MODEL, quadrant, LOSS, [dead, *starts(1)], 0.01, 30_000, threshold=1e-12
    )
    assert batch[0].result is bf.Result.STATIONARY
    np.testing.assert_array_equal(batch[0].params.weights[0], dead.weights[0])
    assert batch.steps[0] < 30_000


def test_steps_below_rounding_end_at_the_floor(circle):
    batch = bf.training.train_batch(MODEL, circle, LOSS, starts(1), 1e-30, 20_000)
    assert batch[0].result is bf.Result.FLOOR
    assert batch.steps[0] < 20_000


def test_sgd_depends_on_the_key_alone(circle):
    batch = 3
    first = bf.training.train_batch(
        MODEL, circle, LOSS, starts(3), 0.005, 101, batch=batch, keys=[5, 6, 7]
    )
    again = bf.training.train_batch(
        MODEL, circle, LOSS, [starts(3)[1]] * 3, 0.005, 101, batch=batch, keys=[8, 9, 6]
    )
    assert np.all(first.steps == 101)
    assert again[2].loss == pytest.approx(first[1].loss, rel=1e-9)
    assert abs(again[0].loss / first[1].loss - 1) > 1e-6


def test_sgd_on_everything_is_descent_and_on_little_converges_too(circle):
    whole = bf.training.train_batch(MODEL, circle, LOSS, starts(2), 0.005, 100, batch=circle.n)
    descent = bf.training.train_batch(MODEL, circle, LOSS, starts(2), 0.005, 100)
    np.testing.assert_allclose(whole.loss, descent.loss, rtol=1e-9)
    little = bf.training.train_batch(
        MODEL, circle, LOSS, starts(4), 0.005, 5000, threshold=1e-2, batch=2
    )
    assert little.fraction_converged >= 0.5
    assert np.all(little.steps[little.converged] % 2 == 0)  # looked at once an epoch


def test_single_precision_is_single_and_close(circle):
    single = bf.training.train_batch(MODEL, circle, LOSS, starts(2), 0.01, 50, dtype="float32")
    double = bf.training.train_batch(MODEL, circle, LOSS, starts(2), 0.01, 50)
    np.testing.assert_allclose(single.loss, double.loss, rtol=1e-3)
    assert np.any(single.loss != double.loss)


def test_classifiers_train_in_batches(circle):
    ds, loss = (
        bf.Dataset(circle.X, np.where(circle.y > np.median(circle.y), 1.0, -1.0)),
        bf.LogisticLoss(),
    )
    batch = bf.training.train_batch(MODEL, ds, loss, starts(), 0.5, 3000, threshold=0.01)
    for run in [batch[k] for k in np.flatnonzero(batch.converged)]:
        assert np.all(ds.y * MODEL(run.params, ds.X) > 0)
    assert batch.fraction_converged >= 0.5
    with pytest.raises(bf.errors.InputError):
        bf.training.train_batch(
            MODEL, circle, loss, starts(), 0.5, 10
        )  # labels that are no classes
    with pytest.raises(bf.errors.InputError):
        bf.training.train_batch(MODEL, ds, bf.SmoothMargin(loss), starts(), 0.5, 10)


def test_progress_is_reported(circle):
    seen = []
    bf.training.train_batch(
        MODEL, circle, LOSS, starts(2), 1e-4, 11_000, progress=lambda *told: seen.append(told)
    )
    assert seen[-1][0] == 11_000 and seen[-1][2] == 2
    assert len(seen) > 1


def test_double_precision_whatever_the_process_is_set_to():
    code = (
        "import jax, biasflow as bf\n"
        "jax.config.update('jax_enable_x64', False)\n"
        "m = bf.DeepNetwork((2, 4))\n"
        "b = bf.training.train_batch(m, bf.data.circle_teacher(), bf.SquareLoss('sum'), "
        "[m.init(1.0)], "
        "0.01, 5)\n"
        "g = bf.training.gradient_descent(m, bf.data.circle_teacher(), bf.SquareLoss('sum'), "
        "m.init(1.0), "
        "0.01, 5)\n"
        "assert abs(b.loss[0] - g.loss[-1]) < 1e-13 * g.loss[-1], (b.loss, g.loss)\n"
        "assert jax.numpy.zeros(1).dtype == 'float32'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"starts": []}, "starts"),
        ({"starts": [MODEL.init(1.0), DeepNetwork((2, 8)).init(1.0)]}, "start"),
        ({"starts": [leaf_map(lambda leaf: leaf * np.nan, MODEL.init(1.0))]}, "start"),
        ({"starts": MODEL.init(1.0)}, "start"),
        ({"step": [0.1, 0.1]}, "step"),
        ({"step": -1.0}, "step"),
        ({"step": np.inf}, "step"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"threshold": 0.0}, "threshold"),
        ({"batch": 5}, "batch"),
        ({"batch": 0}, "batch"),
        ({"keys": [1, 2]}, "keys"),
        ({"keys": [-1]}, "keys"),
        ({"dtype": "float16"}, "dtype"),
        ({"loss": "square"}, "loss"),
        ({"model": "deep"}, "model"),
        ({"data": [np.ones((3, 2))]}, "data"),
        ({"data": []}, "data"),
        ({"data": 3}, "data"),
        ({"data": [bf.data.circle_teacher(4), bf.data.circle_teacher(4)]}, "data"),
        (
            {
                "data": [bf.data.circle_teacher(4), bf.data.circle_teacher(5)],
                "starts": [MODEL.init(1.0)] * 2,
            },
            "data",
        ),
        ({"data": bf.data.orthonormal(2, 3)}, "data"),
    ],
)
def test_bad_arguments_are_named(circle, change, name):
    arguments = {
        "model": MODEL,
        "data": circle,
        "loss": LOSS,
        "starts": [MODEL.init(1.0)],
        "step": 0.01,
        "steps": 10,
    }
    with pytest.raises(bf.errors.InputError, match=f"^{name}"):
        bf.training.train_batch(**{**arguments, **change})
