"""Clusters of directions and kinks of functions: closed forms, invariances, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import biasflow as bf


def network(*neurons):
    """Rows (a, w₁, w₂, …)."""
    rows = np.array(neurons, dtype=float)
    return bf.models.TwoLayerParams(rows[:, 0], rows[:, 1:])


def test_clusters_of_two_directions():
    u, v = np.array([0.6, 0.8]), np.array([-1.0, 0.0])
    found = bf.diagnostics.clusters(
        network([2, *(1.5 * u)], [1, *(2 * u)], [-1, *(4 * v)], [0, 1, 1], [1, 0, 0])
    )
    first, second = found
    assert (first.sign, second.sign) == (1, -1)
    assert first.direction == pytest.approx(u) and second.direction == pytest.approx(v)
    assert first.mass == pytest.approx(5) and first.share == pytest.approx(5 / 9)
    assert first.spread == pytest.approx(0, abs=1e-8) and list(first.neurons) == [0, 1]


def test_signs_and_opposite_directions_are_kept_apart():
    assert len(bf.diagnostics.clusters(network([1, 1, 0], [-1, 1, 0], [1, -1, 0]))) == 3


def test_a_cluster_reaches_as_far_as_its_angle():
    angles = np.array([0.0, 0.04, 0.2])
    params = bf.models.TwoLayerParams(
        np.array([3.0, 1.0, 1.0]), np.column_stack([np.cos(angles), np.sin(angles)])
    )
    near, far = bf.diagnostics.clusters(params, angle=0.05)
    assert list(near.neurons) == [0, 1] and list(far.neurons) == [2]
    # the direction is a quarter of the way to the second
    assert near.spread == pytest.approx(0.03, rel=1e-3)
    assert len(bf.diagnostics.clusters(params, angle=0.3)) == 1


def test_light_clusters_are_left_out():
    params = network([1, 1, 0], [1e-2, 0, 1e-2])
    assert (
        len(bf.diagnostics.clusters(params)) == 1
        and len(bf.diagnostics.clusters(params, least=1e-5)) == 2
    )
    assert bf.diagnostics.clusters(params)[0].share == pytest.approx(1 / (1 + 1e-4))


@given(st.floats(-250, 100))
def test_clusters_do_not_depend_on_the_scale(exponent):
    start = bf.TwoLayer(20, 3).init(1.0, key=1)
    plain, scaled = (
        bf.diagnostics.clusters(start),
        bf.diagnostics.clusters(bf.models.TwoLayerParams(*(10**exponent * leaf for leaf in start))),
    )
    assert [list(c.neurons) for c in plain] == [list(c.neurons) for c in scaled]
    assert [c.share for c in scaled] == pytest.approx([c.share for c in plain], rel=1e-9)


def test_nothing_has_no_clusters_and_no_kinks():
    empty = network([0, 1, 1], [1, 0, 0])
    assert bf.diagnostics.clusters(empty) == () and bf.diagnostics.kinks(empty) == ()
    assert bf.diagnostics.kinks(network([1, 0, 1])) == ()  # constant: no slope to change


def test_kinks_of_a_hat():
    """(x + 1)_+ − 2x_+ + (x − 1)_+, the last neuron looking to the left."""
    hat = network([1, 1, 1], [-1, 2, 0], [1, -1, 1])
    positions = [kink.position for kink in bf.diagnostics.kinks(hat)]
    assert positions == pytest.approx([-1, 0, 1])
    assert [kink.change for kink in bf.diagnostics.kinks(hat)] == pytest.approx([1, -2, 1])


def test_kinks_are_those_of_the_function():
    params = bf.TwoLayer(12, 2).init(1.0, key=3)
    found, model = bf.diagnostics.kinks(params, least=1e-9), bf.TwoLayer(12, 2)
    for kink in found:
        x = kink.position + 1e-4 * np.array([-1.0, 0.0, 1.0])
        left, middle, right = model(params, np.column_stack([x, np.ones(3)]))
        assert (right - 2 * middle + left) / 1e-4 == pytest.approx(kink.change, rel=1e-6, abs=1e-8)


def test_near_kinks_merge_and_opposite_ones_cancel():
    (kink,) = bf.diagnostics.kinks(network([1, 1, 0], [3, 1, -1e-4]))
    assert (
        kink.change == pytest.approx(4)
        and kink.position == pytest.approx(0.75e-4)
        and list(kink.neurons) == [0, 1]
    )
    assert len(bf.diagnostics.kinks(network([1, 1, 0], [3, 1, -1e-4]), apart=1e-5)) == 2
    line = network([1, 1, 0.5], [-1, -1, -0.5], [1, 1, -1])  # the first two are x + ½
    assert [k.position for k in bf.diagnostics.kinks(line)] == pytest.approx([1.0])


def test_the_two_point_network_ends_with_two_kinks():
    ds, model = bf.data.two_points(), bf.TwoLayer(60, 2)
    flow = bf.gradient_flow(
        model, ds, bf.SquareLoss("half-mean"), model.init(1e-6 / np.sqrt(60), key=0)
    )
    found = bf.diagnostics.clusters(flow.final)
    assert [c.sign for c in found] == [-1, 1] and [c.mass for c in found] == pytest.approx(
        [2 / 5**0.5, 1 / 5**0.5], rel=1e-3
    )
    assert [k.position for k in bf.diagnostics.kinks(flow.final)] == pytest.approx(
        [-0.5, 2.0], abs=1e-5
    )


@pytest.mark.parametrize("wrong", [{"apart": 0.0}, {"least": -1.0}])
def test_bad_settings_are_named(wrong):
    with pytest.raises(bf.errors.InputError, match=next(iter(wrong))):
        bf.diagnostics.kinks(network([1, 1, 0]), **wrong)


def test_kinks_need_a_line():
    with pytest.raises(bf.errors.InputError, match="bias"):
        bf.diagnostics.kinks(network([1, 1, 0, 0]))
    with pytest.raises(bf.errors.InputError, match="TwoLayerParams"):
        bf.diagnostics.clusters(3.0)
