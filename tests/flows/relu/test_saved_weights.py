"""What surrounds the kernels: saved states as weights, their distances, and data that are read
once."""

import numpy as np

import biasflow as bf
from biasflow.flows.relu.geometry import network
from biasflow.flows.relu.saved_weights import (
    LARGEST_PRODUCT,
    LARGEST_WEIGHT,
    MEASURES,
    OF_PRODUCTS,
    OF_WEIGHTS,
    compare,
    unfold,
)

LOSS = bf.SquareLoss("half-mean")


def _problem(d=4, n=3):
    """Inputs that do not span the space, and a neuron that is zero."""
    rng, model = np.random.default_rng(0), bf.TwoLayer(5, d)
    start = model.init(0.3)
    start.a[2], start.W[2] = 0.0, 0.0
    data = bf.Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    return bf.Problem(model, data, LOSS, start)


def _saved(net, times=3):
    rng = np.random.default_rng(1)
    states = np.repeat(net.start[None], times, axis=0)
    return states + 0.1 * rng.standard_normal(states.shape)


def test_compiled_weights_are_those_of_the_network():
    net = network(_problem())
    states, m = _saved(net), len(net.given.a)
    a, W = np.zeros((3, m)), np.zeros((3, m, 4))
    unfold(states, net.data.axes, net.still, net.alive, a, W)
    expected = net.params(states)
    np.testing.assert_allclose(a, expected.a, rtol=1e-14)
    np.testing.assert_allclose(W, expected.W, rtol=1e-13, atol=1e-15)
    assert not a[:, 2].any() and not W[:, 2].any()


def test_distances_are_sup_norms_as_far_as_the_other_run_came():
    net = network(_problem())
    states, other = _saved(net), _saved(net, 4)[1:3]
    other[1, 0, 0] = np.nan
    mine, found = net.params(states), np.empty((MEASURES, 3))
    compare(other, net.data.axes, net.still, net.alive, mine.a, mine.W, found)
    far = net.params(other[:1])
    products = mine.a[..., None] * mine.W
    apart = max(np.max(np.abs(mine.a[0] - far.a[0])), np.max(np.abs(mine.W[0] - far.W[0])))
    assert np.isclose(found[OF_WEIGHTS, 0], apart, rtol=1e-13)
    off = np.max(np.abs(products[0] - far.a[0][:, None] * far.W[0]))
    assert np.isclose(found[OF_PRODUCTS, 0], off, rtol=1e-13)
    assert np.isnan(found[: OF_PRODUCTS + 1, 1:]).all()
    sizes = [max(np.max(np.abs(mine.a[t])), np.max(np.abs(mine.W[t]))) for t in range(3)]
    np.testing.assert_array_equal(found[LARGEST_WEIGHT], sizes)
    np.testing.assert_array_equal(found[LARGEST_PRODUCT], np.max(np.abs(products), axis=(1, 2)))


def test_data_are_known_by_their_content():
    one = _problem()
    first = network(one)
    assert network(_problem()).geometry is first.geometry
    one.data.y[0] += 1.0
    again = network(one)
    assert again.geometry is not first.geometry
    assert again.geometry.labels[0] == one.data.y[0]
