"""Gradient descent and SGD on the weights, and the projection that a finite step leads to."""

import numpy as np
import pytest

import biasflow as bf


@pytest.fixture(scope="module")
def small():
    return bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)


@pytest.mark.parametrize("depth", [2, 3])
def test_descent_approaches_the_flow_at_first_order(small, depth):
    model, loss, end = bf.DiagonalNetwork(depth), bf.SquareLoss("half-mean"), 1.0
    start = model.init(0.5, dim=small.d)
    flow = model.effective(bf.gradient_flow(model, small, loss, start, t1=end).final)
    distances = []
    for steps in (100, 200, 400):
        descent = bf.training.gradient_descent(model, small, loss, start, end / steps, steps)
        assert descent.times[-1] == pytest.approx(end)
        distances.append(np.max(np.abs(model.effective(descent.final) - flow)))
    orders = np.log2(np.array(distances[:-1]) / np.array(distances[1:]))
    assert np.all(np.abs(orders - 1) < 0.1)


def test_descent_converges_and_says_so(small):
    model = bf.DiagonalNetwork(2)
    run = bf.training.gradient_descent(
        model, small, bf.SquareLoss("half-mean"), model.init(0.3, dim=small.d), 0.05, 50_000
    )
    assert run.result is bf.Result.CONVERGED
    assert run.loss[-1] <= 1e-20 * run.loss[0]
    assert run.times[-1] == pytest.approx(0.05 * run.stats["steps"])
    assert not np.any(run.error)
    assert np.max(np.abs(small.X @ model.effective(run.final) - small.y)) < 1e-8


def test_a_diverging_step_is_named(small):
    model = bf.DiagonalNetwork(2)
    run = bf.training.gradient_descent(
        model, small, bf.SquareLoss("sum"), model.init(1.0, dim=small.d), 1.0, 1000
    )
    assert run.result is bf.Result.DIVERGED
    assert run.stats["steps"] < 1000


def test_taking_all_steps_without_converging_is_no_failure(small):
    model = bf.DiagonalNetwork(2)
    run = bf.training.gradient_descent(
        model, small, bf.SquareLoss("half-mean"), model.init(0.3, dim=small.d), 0.01, 20
    )
    assert run.result is bf.Result.REACHED_T1
    assert run.times[-1] == pytest.approx(0.2)


def test_sgd_is_the_same_for_the_same_key(small):
    model, loss = bf.DiagonalNetwork(2), bf.SquareLoss("half-mean")

    def final(key):
        run = bf.training.gradient_descent(
            model, small, loss, model.init(0.3, dim=small.d), 0.02, 300, batch=2, key=key
        )
        return model.effective(run.final)

    assert np.array_equal(final(1), final(1))
    assert np.max(np.abs(final(1) - final(2))) > 1e-6


@pytest.mark.parametrize("normalisation", ["half", "sum", "half-mean"])
def test_a_batch_of_everything_is_gradient_descent(small, normalisation):
    model, loss = bf.DiagonalNetwork(2), bf.SquareLoss(normalisation)
    arguments = (model, small, loss, model.init(0.3, dim=small.d), 1e-3, 200)
    whole = model.effective(bf.training.gradient_descent(*arguments).final)
    batched = model.effective(bf.training.gradient_descent(*arguments, batch=small.n).final)
    assert np.allclose(whole, batched, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"step": 0.0}, "step"),
        ({"steps": 0}, "steps"),
        ({"batch": 9}, "batch"),
        ({"batch": 0}, "batch"),
    ],
)
def test_bad_arguments_are_named(small, change, name):
    model = bf.DiagonalNetwork(2)
    arguments = {"step": 0.01, "steps": 10, **change}
    with pytest.raises(bf.errors.InputError, match=name):
        bf.training.gradient_descent(
            model, small, bf.SquareLoss(), model.init(0.1, dim=small.d), **arguments
        )


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("stepsize", [0.01, 0.08])
def test_the_limit_of_descent_is_the_effective_projection(small, batch, stepsize):
    model, loss, start = (
        bf.DiagonalNetwork(2),
        bf.SquareLoss("half-mean"),
        bf.DiagonalNetwork(2).init(0.2, dim=24),
    )
    limit, weights = bf.training.effective_limit(
        model, small, loss, start, stepsize, 100_000, batch=batch, key=5
    )
    assert limit.stats["descent"] is bf.Result.CONVERGED
    reached = model.effective(weights)
    assert np.max(np.abs(reached - limit.value)) < 1e-8  # loss 1e-20 leaves 1e-10·κ(X)
    plain = bf.limit(model, small, scale=0.2).value
    assert np.max(np.abs(plain - limit.value)) > 1e-5  # and it is not the flow's


@pytest.mark.parametrize("batch", [None, 2])
def test_the_effective_scale_is_the_product_of_the_final_weights(small, batch):
    model, rng = bf.DiagonalNetwork(2), np.random.default_rng(0)
    start = bf.models.DiagonalParams(rng.uniform(0.1, 0.4, small.d), rng.uniform(0.1, 0.4, small.d))
    limit, weights = bf.training.effective_limit(
        model, small, bf.SquareLoss("half-mean"), start, 0.05, 3000, batch=batch, key=5
    )
    gained = np.abs(weights.plus * weights.minus) / (start.plus * start.minus)
    assert np.allclose(np.log(gained), limit.stats["log_gain"], atol=1e-10)
    assert np.all(limit.stats["log_gain"] <= 0)


def test_a_vanishing_step_has_the_limit_of_the_flow(small):
    model, start = bf.DiagonalNetwork(2), bf.DiagonalNetwork(2).init(0.3, dim=24)
    distances = []
    flow = bf.limit(model, small, scale=0.3).value
    for stepsize in (4e-2, 2e-2, 1e-2):
        limit, _ = bf.training.effective_limit(
            model, small, bf.SquareLoss("half-mean"), start, stepsize, 50_000
        )
        distances.append(np.max(np.abs(limit.value - flow)))
    assert distances[2] < distances[1] < distances[0]
    assert distances[2] < 0.35 * distances[0]


def test_the_effective_limit_is_known_for_depth_two_only(small):
    model = bf.DiagonalNetwork(3)
    with pytest.raises(bf.errors.RefusedError, match="depth=2"):
        bf.training.effective_limit(
            model, small, bf.SquareLoss(), model.init(0.1, dim=small.d), 0.01, 10
        )


def test_the_effective_limit_needs_positive_weights(small):
    start = bf.models.DiagonalParams(np.full(small.d, 0.1), np.zeros(small.d))
    with pytest.raises(bf.errors.InputError, match="start"):
        bf.training.effective_limit(bf.DiagonalNetwork(2), small, bf.SquareLoss(), start, 0.01, 10)


def test_a_diverged_run_ends_before_it_is_nan():
    model, ds = bf.MatrixFactorisation((2, 3), 6), bf.Dataset(np.eye(6)[:4], np.ones(4))
    run = bf.training.gradient_descent(model, ds, bf.SquareLoss("sum"), model.init(1.0), 5.0, 50)
    assert (
        run.result is bf.Result.DIVERGED
        and not np.any(np.isnan(run.loss))
        and np.all(np.isfinite(run.final.U))
    )
