"""Margin losses against mpmath and finite differences, and what they refuse."""

import math

import mpmath
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.double_precision import jax_in_double

LOSSES = [bf.ExponentialLoss(), bf.LogisticLoss()]
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])


def exact_log_risk(loss, margins):
    with mpmath.workdps(60):
        one = {
            bf.ExponentialLoss: lambda u: mpmath.exp(-mpmath.mpf(u)),
            bf.LogisticLoss: lambda u: mpmath.log1p(mpmath.exp(-mpmath.mpf(u))),
        }[type(loss)]
        return float(mpmath.log(sum(one(u) for u in margins) / len(margins)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 9.0, 11.5, 12.0, 40.0, 745.0, 1e6, -30.0, -1e6])
def test_the_logarithm_of_the_risk_has_all_its_digits(loss, size):
    margins = size * np.array([1.0, 1.5, 0.9, 2.0, 1.1])
    assert loss.log_risk(Y * margins, Y) == pytest.approx(
        exact_log_risk(loss, margins), rel=1e-14, abs=1e-15
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_the_risk_is_the_mean(loss):
    f = np.array([0.3, 2.0, -1.0, 0.7, 5.0])
    exponentials = np.exp(-Y * f)
    by_hand = np.mean(
        exponentials if isinstance(loss, bf.ExponentialLoss) else np.log1p(exponentials)
    )
    assert loss(f, Y) == pytest.approx(by_hand, rel=1e-14)
    assert bf.SmoothMargin(loss)(f, Y) == pytest.approx(math.log(by_hand), rel=1e-14)
    assert bf.SmoothMargin(loss)(np.stack([f, 2 * f]), Y).shape == (2,)


@pytest.mark.parametrize("loss", [*LOSSES, *map(bf.SmoothMargin, LOSSES)])
def test_gradients_are_derivatives(loss):
    rng = np.random.default_rng(0)
    f, v, h = 3 * rng.standard_normal(5), rng.standard_normal(5), 1e-5
    slope = (loss(f + h * v, Y) - loss(f - h * v, Y)) / (2 * h)
    assert loss.gradient(f, Y) @ v == pytest.approx(slope, rel=1e-8)  # h² and eps/h


@pytest.mark.parametrize("inner", LOSSES)
def test_weights_are_a_soft_argmin(inner):
    loss = bf.SmoothMargin(inner)
    margins = 1e6 * np.array([2.0, 1.0, 1.0, 3.0, 1.5])
    np.testing.assert_allclose(loss.weights(Y * margins, Y), [0, 0.5, 0.5, 0, 0], atol=1e-9)
    small = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    if isinstance(inner, bf.ExponentialLoss):
        np.testing.assert_allclose(
            loss.weights(Y * small, Y), np.exp(-small) / np.sum(np.exp(-small)), rtol=1e-14
        )
    else:  # ℓ'/Σℓ, which does not sum to one
        expected = 1 / (1 + np.exp(small)) / np.sum(np.log1p(np.exp(-small)))
        np.testing.assert_allclose(loss.weights(Y * small, Y), expected, rtol=1e-14)


@pytest.mark.parametrize("loss", [*LOSSES, *map(bf.SmoothMargin, LOSSES)])
def test_jax_agrees(loss):
    jax = pytest.importorskip("jax")
    f = np.array([0.3, 200.0, -100.0, 0.7, 5.0])
    with jax_in_double():
        arrays = jax.numpy.asarray(f), jax.numpy.asarray(Y)
        np.testing.assert_allclose(loss(*arrays), loss(f, Y), rtol=1e-13)
        np.testing.assert_allclose(
            jax.grad(loss)(*arrays), loss.gradient(f, Y), rtol=1e-12, atol=1e-300
        )


def test_bad_input():
    with pytest.raises(bf.errors.InputError, match=r"data\.y: expected labels of ±1, entry 1 is 0"):
        bf.LogisticLoss().checked(np.array([1.0, 0.0]))
    with pytest.raises(bf.errors.InputError, match="loss: expected MarginLoss, found SquareLoss"):
        bf.SmoothMargin(bf.SquareLoss())
    with pytest.raises(bf.errors.RefusedError, match="no unbiased gradient"):
        bf.SmoothMargin().factor(3)


MODEL = bf.DiagonalNetwork(depth=2)
DATA = bf.Dataset(np.array([[1.0, 2.0], [-1.0, 1.0], [2.0, -1.0]]), np.array([1.0, -1.0, 1.0]))
START = MODEL.init(0.5, dim=2)


@pytest.mark.parametrize("loss", [*LOSSES, bf.SmoothMargin()])
def test_flow_and_descent_need_an_end_and_go_down(loss):
    with pytest.raises(bf.errors.InputError, match=r"t1: .* has no minimiser"):
        bf.gradient_flow(MODEL, DATA, loss, START)
    flow = bf.gradient_flow(MODEL, DATA, loss, START, t1=2.0)
    assert flow.stats["method"] == "weights" and flow.result is bf.Result.REACHED_T1
    assert np.all(np.diff(flow.loss) < 0)
    down = bf.training.gradient_descent(MODEL, DATA, loss, START, 1e-4, 20000)
    assert down.result is bf.Result.REACHED_T1
    assert down.loss[-1] == pytest.approx(flow.loss[-1], rel=1e-3)  # Euler's step 1e-4


def test_what_needs_a_square_loss_says_so():
    network = bf.TwoLayer(4, 2)
    with pytest.raises(
        bf.errors.RefusedError,
        match="method 'dual': the dual flow needs a square loss, found LogisticLoss",
    ):
        bf.gradient_flow(MODEL, DATA, LOSSES[1], START, t1=1.0, method="dual")
    with pytest.raises(
        bf.errors.RefusedError, match="method 'events': the event-driven flow needs a square loss"
    ):
        bf.gradient_flow(network, DATA, LOSSES[1], network.init(1.0), t1=1.0, method="events")
    with pytest.raises(
        bf.errors.RefusedError, match="effective_limit: needs a square loss, found LogisticLoss"
    ):
        bf.training.effective_limit(MODEL, DATA, LOSSES[1], START, 0.1, 10)
    with pytest.raises(bf.errors.RefusedError, match="limit: needs a square loss"):
        bf.limit(MODEL, DATA, LOSSES[0], start=START)
    with pytest.raises(bf.errors.InputError, match=r"data\.y: expected labels of ±1"):
        bf.gradient_flow(MODEL, bf.Dataset(DATA.X, 2 * DATA.y), LOSSES[0], START, t1=1.0)
    with pytest.raises(bf.errors.RefusedError, match="no unbiased gradient"):
        bf.training.gradient_descent(MODEL, DATA, bf.SmoothMargin(), START, 0.1, 10, batch=2)
    batches = bf.training.gradient_descent(MODEL, DATA, LOSSES[1], START, 0.01, 500, batch=2)
    assert batches.loss[-1] < batches.loss[0]
