"""Batches of trainings of classifiers: one step against NumPy, lanes against single runs, every way
to end."""

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.results import Result
from biasflow.images import classifier_training
from biasflow.images.classifier_training import (
    Arrays,
    EpochSchedule,
    Run,
    _close_ranks,
    train_classifiers,
)
from biasflow.images.classifiers import ClassifierParams, Readout, WideNetwork

NETWORK = WideNetwork(20, 6)
EPS = float(np.finfo(np.float32).eps)


def made(n=40, tests=40, classes=3, key=0):
    """Inputs around one centre a class: easy."""
    rng = np.random.default_rng(key)
    centres = 2 * rng.normal(size=(classes, 6))
    y = rng.integers(classes, size=n + tests)
    x = (centres[y] + 0.3 * rng.normal(size=(n + tests, 6))).astype(np.float32)
    return Arrays(x[:n], y[:n], x[n:], y[n:])


def reference_step(params, x, y, step):
    """One full-batch step in float64: weights after it, and the loss before."""
    W, A, x = (np.asarray(leaf, np.float64) for leaf in (params.hidden[0], params.output, x))
    h = np.maximum(x @ W.T, 0)
    f = h @ A.T
    p = np.exp(f - f.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.mean(np.log(p[np.arange(len(y)), y]))
    slope = (p - np.eye(10)[y]) / len(y)
    return W - step * ((slope @ A) * (h > 0)).T @ x, A - step * slope.T @ h, loss


def test_one_step_is_gradient_descent():
    arrays = made()
    (run,) = train_classifiers(NETWORK, arrays, [Run(1.0, 0.3)], EpochSchedule(40, 1, 1))
    W, A, loss = reference_step(run.start, arrays.train_x, arrays.train_y, 0.3)
    assert np.asarray(run.params.hidden[0]) == pytest.approx(W, abs=200 * EPS)
    assert np.asarray(run.params.output) == pytest.approx(A, abs=200 * EPS)
    assert run.history[0, 1] == pytest.approx(loss, rel=200 * EPS) and run.history[
        :, 0
    ].tolist() == [0, 1]


def test_momentum_adds_a_share_of_the_last_move_and_begins_anew():
    """Full batches: an epoch is a step. Two stretches of three, against NumPy in float64."""
    arrays, schedule = made(), EpochSchedule(40, 6, 3, loss=1e-9, momentum=0.8)
    (run,) = train_classifiers(NETWORK, arrays, [Run(1.0, 0.1)], schedule)
    params, last = run.start, [0.0, 0.0]
    for epoch in range(6):
        last = [0.0, 0.0] if epoch == 3 else last
        W, A, _ = reference_step(params, arrays.train_x, arrays.train_y, 0.1)
        held = [np.asarray(leaf, np.float64) for leaf in (params.hidden[0], params.output)]
        last = [0.8 * old + new - at for old, new, at in zip(last, (W, A), held, strict=True)]
        hidden, output = (at + move for at, move in zip(held, last, strict=True))
        params = ClassifierParams((hidden,), output)
    assert np.asarray(run.params.hidden[0]) == pytest.approx(params.hidden[0], abs=2000 * EPS)
    assert np.asarray(run.params.output) == pytest.approx(params.output, abs=2000 * EPS)


def test_lanes_do_not_change_a_run():
    arrays, schedule = made(), EpochSchedule(8, 20, 5, loss=1e-2)
    runs = [
        Run(1.0, 0.3, 0),
        Run(2.0, 0.1, 1),
        Run(0.5, 0.3, 2),
        Run(1.0, 1e-4, 3),
        Run(1.0, 0.3, 4),
    ]
    together = train_classifiers(NETWORK, arrays, runs, schedule)
    alone = train_classifiers(NETWORK, arrays, runs, EpochSchedule(8, 20, 5, loss=1e-2, lanes=1))
    for run, lane, single in zip(runs, together, alone, strict=True):
        assert lane.run == run and single.result == lane.result
        # rounding, grown over at most 100 steps
        assert lane.history == pytest.approx(single.history, rel=1e-3, abs=1e-5)
    assert {lane.result for lane in together} == {Result.CONVERGED, Result.STEP_LIMIT}


def test_runs_of_one_key_in_one_go_see_batches_together_and_end_the_same(monkeypatch):
    runs = [Run(1.0, step, 3) for step in (0.1, 0.02, 0.5)]
    plan = EpochSchedule(batch=16, epochs=3, every=3, precision="float32")
    seen, held = [], classifier_training.Lanes.__init__

    def watched(self, *arguments):
        held(self, *arguments)
        seen.append(self._one_order)

    monkeypatch.setattr(classifier_training.Lanes, "__init__", watched)
    arrays = made()
    together = train_classifiers(NETWORK, arrays, runs, plan)
    for one, run in zip(together, runs, strict=True):
        (alone,) = train_classifiers(NETWORK, arrays, [run], plan)
        assert one.history == pytest.approx(alone.history, rel=1e-5)
    train_classifiers(NETWORK, arrays, [*runs, Run(1.0, 0.1, 4)], plan)
    assert seen == [True, False, False, False, False]


def test_ways_to_end():
    runs = [Run(1.0, 0.5), Run(1.0, 1e30), Run(1.0, 1e-6)]
    ended = train_classifiers(NETWORK, made(), runs, EpochSchedule(8, 60, 10, loss=1e-2))
    assert [run.result for run in ended] == [Result.CONVERGED, Result.DIVERGED, Result.STEP_LIMIT]
    assert ended[0].final["train_loss"] < 1e-2 and ended[0].final["train_error"] == 0
    assert ended[1].final["epoch"] == 10 and not np.isfinite(ended[1].final["train_loss"])
    assert ended[2].final["epoch"] == 60


def test_a_run_that_never_fits_is_said_to_have_used_its_epochs():
    arrays = made()
    # contradictory
    noisy = Arrays(
        np.repeat(arrays.train_x[:20], 2, axis=0), np.arange(40) % 2, arrays.test_x, arrays.test_y
    )
    (run,) = train_classifiers(NETWORK, noisy, [Run(1.0, 0.1)], EpochSchedule(8, 20, 10))
    assert run.result is Result.STEP_LIMIT and run.final["train_error"] == 0.5


def test_unbiased_starts_compute_zero():
    (run,) = train_classifiers(
        NETWORK, made(), [Run(10.0, 0.01, unbiased=True)], EpochSchedule(8, 5, 5)
    )
    assert run.history[0, 1] == pytest.approx(np.log(10), rel=10 * EPS)


def test_seeds_reproduce_and_differ():
    arrays, schedule = made(), EpochSchedule(8, 5, 5)
    first, again, other = (
        train_classifiers(NETWORK, arrays, [Run(1.0, 0.1, key)], schedule)[0] for key in (0, 0, 1)
    )
    assert np.array_equal(first.history, again.history) and not np.array_equal(
        first.history, other.history
    )


def test_readout_is_logistic_regression():
    """Full batches go to the optimum that scikit-learn finds; labels with noise, so that there is
    one."""
    import jax.numpy as jnp
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 6)).astype(np.float32), rng.integers(3, size=200)
    arrays, begin = Arrays(x, y, x[:5], y[:5]), ClassifierParams((), jnp.zeros((3, 6), jnp.float32))
    chances = (
        LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8, max_iter=1000)
        .fit(x, y)
        .predict_log_proba(x)
    )
    (run,) = train_classifiers(
        Readout(), arrays, [Run(1.0, 0.5)], EpochSchedule(200, 500, 500), start=lambda run: begin
    )
    assert run.final["train_loss"] == pytest.approx(-np.mean(chances[np.arange(200), y]), abs=1e-5)


def test_lanes_close_ranks_in_quarters():
    assert _close_ranks([False] * 12) == list(range(12))
    assert len(_close_ranks([False] * 4 + [True] * 8)) == 12
    kept = _close_ranks([True] * 6 + [False] * 2 + [True] * 4)
    assert len(kept) == 3 and {6, 7} <= set(kept)
    assert _close_ranks([True] * 5 + [False]) == [5]


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda: Run(0.0, 0.1), "scale"),
        (lambda: Run(1.0, float("nan")), "step"),
        (lambda: Run(1.0, 0.1, -1), "key"),
        (lambda: EpochSchedule(batch=0), "batch"),
        (lambda: EpochSchedule(epochs=1.5), "epochs"),
        (lambda: EpochSchedule(loss=0.0), "loss"),
        (lambda: EpochSchedule(precision="float16"), "precision"),
        (lambda: train_classifiers(NETWORK, made(), [Run(1.0, 0.1)], EpochSchedule(41)), "batch"),
    ],
)
def test_bad_input(make, name):
    with pytest.raises(bf.errors.InputError, match=name):
        make()


def test_weights_are_float32():
    begin = ClassifierParams((), np.zeros((3, 6)))
    with pytest.raises(bf.errors.InputError, match="float32"):
        train_classifiers(
            Readout(), made(), [Run(1.0, 0.1)], EpochSchedule(8), start=lambda run: begin
        )


def test_measurements_thin_out_and_the_last_epoch_is_measured():
    plan = EpochSchedule(8, 20, 1, loss=1e-9, growth=0.5, lanes=1)
    (run,) = train_classifiers(NETWORK, made(), [Run(1.0, 1e-3)], plan)
    assert run.history[:, 0].tolist() == [0, 1, 2, 3, 5, 8, 12, 18, 20]


def test_moves_below_the_rounding_of_weights_add_up():
    """Weights of size 1e4, moves of 1e-5 a step, which float32 cannot add to them one by one."""
    arrays = Arrays(
        np.full((64, 1), 1e-4, np.float32), np.zeros(64, int), np.zeros((1, 1)), np.zeros(1, int)
    )
    start = ClassifierParams((), np.full((2, 1), 1e4, np.float32))
    moved = []
    for apart in (False, True):
        plan = EpochSchedule(1, 4, 4, precision="float32", summed_apart=apart)
        (run,) = train_classifiers(Readout(), arrays, [Run(1.0, 0.2)], plan, lambda run: start)
        moved.append(np.asarray(run.params.output)[:, 0] - 1e4)
    assert moved[0].tolist() == [0, 0]
    assert moved[1] == pytest.approx([256e-5, -256e-5], abs=1e-3)


def test_a_change_of_numbers_is_a_change_of_their_version():
    """Where this fails for a reason that is meant, raise NUMBERS and put the new numbers here."""
    (run,) = train_classifiers(NETWORK, made(), [Run(1.0, 0.3, 5)], EpochSchedule(8, 2, 1))
    assert classifier_training.NUMBERS == 1
    assert run.history[:, 1] == pytest.approx([6.94128, 0.101968, 0.0347979], rel=1e-3)
