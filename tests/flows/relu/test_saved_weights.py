"""What surrounds the kernels: saved states as weights, their distances, and data that are read
once."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.relu.geometry import network
from biasflow.flows.relu.layout import SLIDE
from biasflow.flows.relu.saved_weights import compare, unfold

LOSS = bf.SquareLoss("half-mean")


def _problem(d=4, n=3, activation="relu"):
    """Inputs that do not span the space, and a neuron that is zero."""
    rng, model = np.random.default_rng(0), bf.TwoLayer(5, d, activation)
    start = model.init(0.3)
    start.a[2], start.W[2] = 0.0, 0.0
    data = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    return bf.Problem(model, data, LOSS, start)


def _saved(net, times=3):
    rng = np.random.default_rng(1)
    states = np.repeat(net.start[None], times, axis=0)
    return states + 0.1 * rng.standard_normal(states.shape)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
def test_compiled_weights_are_those_of_the_network(activation):
    problem = _problem(activation=activation)
    net = network(problem)
    states, m = _saved(net), len(net.given.a)
    a, W, outputs = np.zeros((3, m)), np.zeros((3, m, 4)), np.empty((3, 3))
    kinks = net.data.columns, net.geometry.slope
    unfold(states, net.data.axes, net.still, net.alive, *kinks, a, W, outputs)
    expected = net.params(states)
    np.testing.assert_allclose(a, expected.a, rtol=1e-14)
    np.testing.assert_allclose(W, expected.W, rtol=1e-13, atol=1e-15)
    assert not a[:, 2].any() and not W[:, 2].any()
    predicted = problem.model(expected, problem.data.X)
    np.testing.assert_allclose(outputs, predicted, rtol=1e-13, atol=1e-14)


def test_distances_are_sup_norms_as_far_as_the_other_run_came():
    net = network(_problem())
    states, other = _saved(net), _saved(net, 4)[1:3]
    other[1, 0, 0] = np.nan
    mine, far = net.params(states), net.params(other[:1])
    products = mine.a[..., None] * mine.W
    apart = max(np.max(np.abs(mine.a[0] - far.a[0])), np.max(np.abs(mine.W[0] - far.W[0])))
    products_apart = np.max(np.abs(products[0] - far.a[0][:, None] * far.W[0]))
    size = max(np.max(np.abs(mine.a[0])), np.max(np.abs(mine.W[0])))
    times = np.arange(3.0)
    for event, share in ((0.5, 0.0), (0.0, 0.1)):
        off, changes = np.empty((2, 3)), np.array([[7.0, 0, 0, 0, 1], [event, 0, 0, 1, 0]])
        given = (mine.a, mine.W, 0.0, 0.1, changes, changes[:1], times, off)
        compare(other, net.data.axes, net.still, net.alive, *given)
        assert np.isclose(off[0, 0], apart + share * size, rtol=1e-13)
        whole = products_apart + 2 * share * np.max(np.abs(products[0]))
        assert np.isclose(off[1, 0], whole, rtol=1e-13)
        assert np.isnan(off[:, 1]).all() and np.isposinf(off[:, 2]).all()


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("n", "d"), [(3, 4), (5, 2)])
def test_a_start_is_there_and_back_the_same(n, d, balanced):
    """Weights from states and states from weights, with what is conserved, below floats too."""
    rng, model = np.random.default_rng(2), bf.TwoLayer(5, d)
    data = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    given = model.init(0.3, balanced=balanced)
    given.W[1] -= data.X[0] * (given.W[1] @ data.X[0]) / (data.X[0] @ data.X[0])
    net = network(bf.Problem(model, data, LOSS, given))
    weights, (a, W) = net.params(net.start), given
    np.testing.assert_allclose(weights.a, a, rtol=1e-14)
    np.testing.assert_allclose(weights.W, W, rtol=1e-13, atol=1e-15)
    assert net.gates[1, net.geometry.group[0]] == SLIDE and net.on_kinks and net.felt
    c, kept = a**2 - np.sum(W**2, axis=1), net.invariants
    c[np.abs(c) < 1e-14] = 0.0
    np.testing.assert_array_equal(kept.sign, np.sign(c))
    np.testing.assert_allclose(np.exp(kept.log_size), np.abs(c), rtol=1e-12)
    outside = W - W @ net.basis @ net.basis.T
    expected = np.sum(outside**2, axis=1) if n < d else np.zeros(5)
    np.testing.assert_allclose(np.exp(kept.log_fixed), expected, rtol=1e-12, atol=1e-30)
    assert kept.balanced == (not c.any() and n >= d)
    log_norms = 0.5 * np.log(a**2 + np.sum(W**2, axis=1))
    assert np.isclose(net.lowest, log_norms.min(), rtol=1e-14)
    assert np.isclose(net.log_size, np.log(0.5 * np.exp(2 * log_norms).sum()), rtol=1e-13)
    shift = -np.linspace(800.0, 1200.0, 5)
    below = network(bf.Problem(model, data, LOSS, given, shift))
    np.testing.assert_allclose(below.start[:, 0], log_norms + shift, rtol=1e-14)
    np.testing.assert_array_equal(below.start[:, 1:], net.start[:, 1:])
    np.testing.assert_array_equal(below.gates, net.gates)


def test_data_are_known_by_their_content():
    one = _problem()
    first = network(one)
    assert network(_problem()).geometry is first.geometry
    one.data.y[0] += 1.0
    again = network(one)
    assert again.geometry is not first.geometry
    assert again.geometry.labels[0] == one.data.y[0]
