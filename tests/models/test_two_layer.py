"""Two-layer networks: predictions, derivatives, starts, and what is refused."""

import numpy as np
import pytest

import biasflow as bf

MODELS = [bf.TwoLayer(5, 3), bf.TwoLayer(5, 3, "leaky_relu", slope=0.2)]


def some(model, key=0):
    rng = np.random.default_rng(key)
    params = model.init(0.7, key=key, balanced=False)
    return params, rng.standard_normal((4, model.dim)), rng.standard_normal(4)


@pytest.mark.parametrize("model", MODELS)
def test_predictions_are_the_sum_over_neurons(model):
    params, X, _ = some(model)
    slope = model.negative_slope
    by_hand = [
        sum(a * max(w @ x, slope * (w @ x)) for a, w in zip(*params, strict=True)) for x in X
    ]
    np.testing.assert_allclose(model(params, X), by_hand, rtol=1e-13, atol=1e-13)


def test_the_gate_at_zero_is_that_of_the_negative_side():
    for model in MODELS:
        params = bf.models.TwoLayerParams(np.ones(5), np.zeros((5, 3)))
        assert np.all(model.gates(params, np.ones((1, 3))) == model.negative_slope)


def test_starts_are_balanced_and_scale():
    model = bf.TwoLayer(50, 4)
    params = model.init(1e-3, key=5)
    np.testing.assert_allclose(np.abs(params.a), np.linalg.norm(params.W, axis=1), rtol=1e-14)
    assert set(np.sign(params.a)) == {-1.0, 1.0}
    again = model.init(1e-80, key=5)
    np.testing.assert_allclose(again.W * 1e77, params.W, rtol=1e-12)
    unbalanced = model.init(1e-3, key=5, balanced=False)
    np.testing.assert_array_equal(unbalanced.W, params.W)
    assert np.mean(np.abs(unbalanced.a) < np.linalg.norm(params.W, axis=1)) > 0.5


@pytest.mark.parametrize("scale", [0, -1.0, 1e-320])
def test_scales_that_are_not_positive_are_refused(scale):
    with pytest.raises(bf.errors.ScaleError, match="scale"):
        bf.TwoLayer(3, 2).init(scale)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bf.TwoLayer(0, 2),
        lambda: bf.TwoLayer(2, 2.5),
        lambda: bf.TwoLayer(2, 2, "tanh"),
        lambda: bf.TwoLayer(2, 2, "relu", slope=0.1),
        lambda: bf.TwoLayer(2, 2, "leaky_relu", slope=1.0),
        lambda: bf.TwoLayer(2, 2, "leaky_relu", slope=-0.1),
        lambda: bf.TwoLayer(2, 2).init(float("nan")),
        lambda: bf.TwoLayer(2, 2).init("small"),
        lambda: bf.TwoLayer(2, 2).init(1.0, dim=3),
        lambda: bf.TwoLayer(2, 2).init(1.0, key=-1),
        lambda: bf.TwoLayer(2, 2).checked(3, 2),
        lambda: bf.TwoLayer(2, 2).checked((np.ones(3), np.ones((3, 2))), 2),
        lambda: bf.TwoLayer(2, 2).checked((np.ones(2), np.ones((2, 3))), 2),
        lambda: bf.TwoLayer(2, 2).checked((np.array([1, np.nan]), np.ones((2, 2))), 2),
        lambda: bf.TwoLayer(2, 2).checked((np.ones(2), np.ones((2, 2))), 3),
    ],
)
def test_bad_input_is_named(make):
    with pytest.raises(bf.errors.InputError, match=r"^\w+(\.\w+)?: "):
        make()


def test_there_is_no_mirror_form_and_the_refusal_says_where_to_go():
    model = bf.TwoLayer(2, 2)
    problem = bf.Problem(model, bf.data.two_points(), bf.SquareLoss(), model.init(1.0))
    with pytest.raises(bf.errors.RefusedError, match="activation pattern"):
        bf.models.mirror(problem)
    with pytest.raises(bf.errors.RefusedError, match="saddle_limit"):
        bf.limit(model, bf.data.two_points(), scale=1.0)
