"""Squared ReLU networks with fixed signs: predictions, derivatives, and what is refused."""

import numpy as np
import pytest

import biasflow as bf

MODEL = bf.SignedTwoLayer(5, 3, signs=[1, 1, -1, 1, -1])
X = np.random.default_rng(0).standard_normal((4, 3))


def test_predictions_are_the_sum_over_neurons():
    params = MODEL.init(0.7, key=1)
    by_hand = [
        sum(s * max(w @ x, 0.0) ** 2 for s, w in zip(MODEL.signs, params.W, strict=True)) for x in X
    ]
    np.testing.assert_allclose(MODEL(params, X), by_hand, rtol=1e-13)
    stacked = bf.models.SignedTwoLayerParams(np.stack([params.W, 3 * params.W]))
    np.testing.assert_allclose(
        MODEL(stacked, X), np.stack([by_hand, np.multiply(9, by_hand)]), rtol=1e-13
    )
    assert MODEL.homogeneity == 2
    assert np.array_equal(bf.SignedTwoLayer(3, 2).signs, [1, -1, 1])


def test_gradient_and_jacobian_are_derivatives():
    params, g, step = MODEL.init(0.7, key=3), np.array([1.0, -2.0, 0.5, 3.0]), 1e-6

    def value(flat):
        return MODEL(bf.models.SignedTwoLayerParams(flat.reshape(5, 3)), X)

    flat = params.W.ravel()
    differences = np.array(
        [(value(flat + step * e) - value(flat - step * e)) / (2 * step) for e in np.eye(flat.size)]
    )
    jacobian = MODEL.jacobian(params, X).W.reshape(4, -1)
    np.testing.assert_allclose(jacobian, differences.T, atol=1e-8)
    np.testing.assert_allclose(MODEL.gradient(params, X, g).W.ravel(), jacobian.T @ g, atol=1e-12)


def test_linearised_is_the_derivative_of_the_effective_predictor():
    params, direction, step = MODEL.init(1.0, key=1), MODEL.init(1.0, key=2), 1e-6
    moved = [bf.models.SignedTwoLayerParams(params.W + s * direction.W) for s in (step, -step)]
    difference = (MODEL.effective(moved[0]) - MODEL.effective(moved[1])) / (2 * step)
    np.testing.assert_allclose(MODEL.linearised(params, direction), difference, atol=1e-8)
    zero = bf.models.SignedTwoLayerParams(np.zeros((5, 3)))
    assert np.all(MODEL.linearised(zero, direction) == 0)


def test_it_descends_under_any_loss():
    data = bf.Dataset(X, np.array([1.0, -1.0, 1.0, -1.0]))
    for loss in (bf.SquareLoss(), bf.LogisticLoss(), bf.SmoothMargin()):
        flow = bf.gradient_flow(MODEL, data, loss, MODEL.init(0.3), t1=0.5, method="weights")
        assert flow.loss[-1] < flow.loss[0]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: bf.SignedTwoLayer(0, 2), "width"),
        (lambda: bf.SignedTwoLayer(2, 2, signs=[1, 0]), "signs: expected labels of ±1"),
        (lambda: bf.SignedTwoLayer(2, 2, signs=[1]), "signs: expected length 2"),
        (lambda: MODEL.init(0.0), "scale"),
        (lambda: MODEL.init(1.0, dim=2), "dim: the model has dimension 3"),
        (lambda: MODEL.checked((np.ones(2), np.ones(2)), 3), "expected SignedTwoLayerParams"),
        (lambda: MODEL.checked((np.ones((5, 2)),), 3), r"expected shape \(5, 3\)"),
        (lambda: MODEL.checked((np.full((5, 3), np.nan),), 3), "every entry must be finite"),
        (lambda: MODEL.checked((np.ones((5, 3)),), 4), "inputs of dimension 3, found 4"),
        (lambda: MODEL.potential(scale=1.0), "no mirror flow"),
        (lambda: MODEL.features(X), "not linear"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(bf.errors.InputError, match=message):
        make()
