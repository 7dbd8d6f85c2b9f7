"""Π₂, and the transport–growth form of the flow against the flow itself."""

import numpy as np
import pytest

import biasflow as bf

DATA = bf.data.with_bias(bf.data.clusters(n=15, k=2, key=3))
MODELS = [bf.TwoLayer(12, 3), bf.SignedTwoLayer(12, 3)]


@pytest.mark.parametrize("model", MODELS)
def test_the_predictor_is_the_network(model):
    params = model.init(0.7, key=2)
    measure = bf.models.sphere_measure(model, params)
    np.testing.assert_allclose(measure(DATA.X), model(params, DATA.X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(measure.points, axis=1), 1.0, rtol=1e-14)
    beta = sum(np.sum(leaf**2) for leaf in params)
    assert measure.log_norm == pytest.approx(np.log(beta), rel=1e-13) and np.sum(
        measure.shares
    ) == pytest.approx(1.0)


@pytest.mark.parametrize("model", MODELS)
def test_zero_neurons_and_extreme_norms(model):
    params = model.init(1e-200, key=2)
    params.W[3] = 0.0
    if isinstance(model, bf.TwoLayer):
        params.a[3] = 0.0
    measure = bf.models.sphere_measure(model, params)
    assert measure.log_masses[3] == -np.inf and np.all(np.delete(measure.log_masses, 3) < -800)
    np.testing.assert_allclose(np.linalg.norm(measure.points, axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_transport_and_growth_are_those_of_the_flow(model):
    start, h = model.init(0.6, key=4), 1e-4
    flow = bf.gradient_flow(model, DATA, bf.SmoothMargin(), start, times=[0.0, h, 2 * h], rtol=1e-9)
    states = [type(start)(*(leaf[k] for leaf in flow.states)) for k in range(3)]
    before, now, after = (bf.models.sphere_measure(model, state) for state in states)
    weights = bf.SmoothMargin().weights(model(states[1], DATA.X), DATA.y)
    moves = bf.models.transport_growth(now, DATA.X, DATA.y, weights)
    size = np.max(np.abs(moves.velocity))
    # h² and rtol/h
    np.testing.assert_allclose(
        (after.points - before.points) / (2 * h), moves.velocity, atol=1e-5 * size
    )
    np.testing.assert_allclose(
        (after.log_masses - before.log_masses) / (2 * h), moves.growth, atol=1e-5 * size
    )
    np.testing.assert_allclose(moves.growth, 4 * moves.potential, rtol=1e-13)
    np.testing.assert_allclose(
        now.features(DATA.X).T @ (weights * DATA.y), moves.potential, atol=1e-13
    )
    shares = (after.shares - before.shares) / (2 * h) / now.shares  # eq. 12
    np.testing.assert_allclose(shares, moves.growth - now.shares @ moves.growth, atol=1e-5 * size)


def test_bad_input():
    model = MODELS[0]
    measure = bf.models.sphere_measure(model, model.init(1.0))
    with pytest.raises(bf.errors.InputError, match="model: expected TwoLayer or SignedTwoLayer"):
        bf.models.sphere_measure(bf.DiagonalNetwork(2), model.init(1.0))
    with pytest.raises(bf.errors.InputError, match="every entry must be finite"):
        bf.models.sphere_measure(model, (np.full(12, np.nan), np.ones((12, 3))))
    with pytest.raises(bf.errors.InputError, match="weights: expected length 15"):
        bf.models.transport_growth(measure, DATA.X, DATA.y, np.ones(3))
    with pytest.raises(bf.errors.InputError, match="y: expected labels of ±1"):
        bf.models.transport_growth(measure, DATA.X, 2 * DATA.y, np.ones(15))
