"""Deep networks: predictions, derivatives, homogeneity, starts, and what is refused."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map, leaves
from biasflow.models import DeepNetwork, DeepParams

MODELS = [
    DeepNetwork((3, 5, 4)),
    DeepNetwork((3, 5, 4), bias=True),
    DeepNetwork((3, 4), activation="leaky_relu", symmetric=True),
    DeepNetwork((3, 4, 3, 2), bias=True, symmetric=True),
    DeepNetwork((3, 5, 4), rounding=0.3),
    DeepNetwork((3, 4), activation="linear"),
    DeepNetwork((3,), bias=True),
]


def some(model, key=0):
    """Parameters without any structure, inputs, and a gradient of the output."""
    rng = np.random.default_rng(key)
    params = leaf_map(lambda leaf: rng.standard_normal(leaf.shape), model.init(1.0))
    return params, rng.standard_normal((6, 3)), rng.standard_normal(6)


def layer_by_layer(model, params, x):
    """One prediction, neuron by neuron."""
    slope = {"relu": 0.0, "leaky_relu": 0.01, "linear": 1.0}[model.activation]
    hidden = x
    for k, weight in enumerate(params.weights):
        before = np.array([row @ hidden for row in weight]) + (
            params.biases[k] if model.bias else 0
        )
        hidden = np.array([z if z > 0 else slope * z for z in before])
    return before[0]


@pytest.mark.parametrize("model", [m for m in MODELS if not m.rounding], ids=str)
def test_predictions_are_the_composition_of_the_layers(model):
    params, X, _ = some(model)
    if model.symmetric:
        copies = [leaf_map(lambda leaf, k=k: leaf[k], params) for k in (0, 1)]
        by_hand = [
            layer_by_layer(model, copies[0], x) - layer_by_layer(model, copies[1], x) for x in X
        ]
    else:
        by_hand = [layer_by_layer(model, params, x) for x in X]
    np.testing.assert_allclose(model(params, X), by_hand, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_leading_axis_of_parameters_is_kept(model):
    (one, X, g), (two, _, _) = some(model), some(model, key=1)
    others = iter(leaves(two))
    stacked = leaf_map(lambda leaf: np.stack([leaf, next(others)]), one)
    np.testing.assert_allclose(model(stacked, X), [model(one, X), model(two, X)], atol=1e-12)
    np.testing.assert_array_equal(
        model.effective(stacked), [model.effective(one), model.effective(two)]
    )
    assert model.effective(one).shape == (model.size,)
    gradient = model.gradient(stacked, X, np.stack([g, g]))
    for both, single in zip(leaves(gradient), leaves(model.gradient(two, X, g)), strict=True):
        np.testing.assert_allclose(both[1], single, atol=1e-12)


def test_with_biases_only_weighted_homogeneity_is_left():
    model = DeepNetwork((3, 5, 4), bias=True)
    params, X, _ = some(model)
    with pytest.raises(bf.errors.RefusedError, match="not homogeneous"):
        _ = model.homogeneity
    assert not np.allclose(
        model(leaf_map(lambda leaf: 3 * leaf, params), X), 27 * model(params, X), rtol=0.1
    )
    weighted = DeepParams(
        tuple(3 * W for W in params.weights),
        tuple(3.0**k * b for k, b in enumerate(params.biases, 1)),
    )
    np.testing.assert_allclose(model(weighted, X), 27 * model(params, X), rtol=1e-12)
    assert DeepNetwork((3,), bias=True).homogeneity == 1


def test_starts_scale_and_have_the_variance_of_he():
    model = DeepNetwork((50, 200, 100))
    for law in ("uniform-he", "normal-he"):
        one, half = model.init(1.0, key=1, law=law), model.init(0.5, key=1, law=law)
        for big, small, (_, fan_in) in zip(one.weights, half.weights, model.layers, strict=True):
            np.testing.assert_allclose(small, big / 2, rtol=1e-15)
            if big.size > 1000:
                assert np.var(big) == pytest.approx(2 / fan_in, rel=0.1)
            if law == "uniform-he":
                assert np.max(np.abs(big)) <= np.sqrt(6 / fan_in)
    assert np.max(np.abs(model.init(1.0, key=1, law="normal-he").weights[1])) > np.sqrt(6 / 50)
    assert not np.array_equal(model.init(1.0, key=1).weights[0], model.init(1.0, key=2).weights[0])


def test_a_symmetric_start_is_zero_with_twice_the_kernel():
    model, X = (
        DeepNetwork((2, 9, 7, 5), symmetric=True),
        np.random.default_rng(0).standard_normal((8, 2)),
    )
    params = model.init(1.3, key=4)
    assert np.all(model(params, X) == 0)
    plain = dataclasses.replace(model, symmetric=False)
    half = bf.tangent_kernel(plain, plain.init(1.3, key=4), X)
    np.testing.assert_allclose(bf.tangent_kernel(model, params, X), 2 * half, rtol=1e-12)


def test_biases_start_at_zero():
    model = DeepNetwork((2, 3), bias=True)
    assert all(not np.any(bias) for bias in model.init(1.0).biases)


def test_rounded_kinks_are_smooth_and_close():
    model, X = DeepNetwork((3, 5, 4)), np.random.default_rng(0).standard_normal((2000, 3))
    params = model.init(1.0)
    distances = [
        np.max(np.abs(dataclasses.replace(model, rounding=r)(params, X) - model(params, X)))
        for r in (1e-2, 1e-3)
    ]
    assert distances[1] < 0.3 * distances[0] < 0.3 * 0.05
    assert model.kinks is not None and dataclasses.replace(model, rounding=1e-3).kinks is None
    with pytest.raises(bf.errors.RefusedError, match="rounded"):
        _ = dataclasses.replace(model, rounding=1e-3).homogeneity


def small():
    return DeepNetwork((2, 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: DeepNetwork(()),
        lambda: DeepNetwork(3),
        lambda: DeepNetwork((2, 0)),
        lambda: DeepNetwork((2, 2.5)),
        lambda: DeepNetwork((2, -3)),
        lambda: DeepNetwork((2, True)),
        lambda: DeepNetwork((2, 3), activation="tanh"),
        lambda: DeepNetwork((2, 3), bias="no"),
        lambda: DeepNetwork((2, 3), rounding=-1.0),
        lambda: small().init(float("nan")),
        lambda: small().init("small"),
        lambda: small().init(0.0),
        lambda: small().init(1.79e308),
        lambda: small().init(1.0, law="glorot"),
        lambda: small().init(1.0, dim=3),
        lambda: small().init(1.0, key=-1),
        lambda: small().checked(3, 2),
        lambda: small().checked(small().init(1.0), 3),
        lambda: small().checked(DeepNetwork((2, 4)).init(1.0), 2),
        lambda: small().checked(DeepNetwork((2, 3, 3)).init(1.0), 2),
        lambda: small().checked(DeepNetwork((2, 3), bias=True).init(1.0), 2),
        lambda: small().checked(DeepParams((np.ones((3, 2)), np.ones((2, 3)))), 2),  # two outputs
        lambda: small().checked(DeepParams((np.ones((3, 2)), np.full((1, 3), np.nan))), 2),
        lambda: bf.Dataset(np.ones((4, 2)), np.ones((4, 2))),
    ],
)
def test_bad_input_is_named(make):
    with pytest.raises(bf.errors.InputError, match=r"^\w+(\.\w+)?: "):
        make()


def test_an_overflowing_scale_is_a_scale_error():
    with pytest.raises(bf.errors.ScaleError, match="overflow"):
        small().init(1.79e308)


def test_there_is_no_mirror_form_and_the_refusals_say_so():
    model, ds = small(), bf.data.circle_teacher()
    with pytest.raises(bf.errors.RefusedError, match=r"mirror: .*layers change"):
        bf.models.mirror(bf.Problem(model, ds, bf.SquareLoss(), model.init(1.0)))
    with pytest.raises(bf.errors.RefusedError, match="train_batch"):
        bf.limit(model, ds, scale=1.0)
