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
    ],
)
def test_bad_input(make, message):
    with pytest.raises(bf.errors.InputError, match=message):
        make()
