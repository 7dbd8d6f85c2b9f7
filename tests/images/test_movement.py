"""How far tangent features move, against explicit Jacobians."""

import numpy as np
import pytest

from biasflow.images.classifiers import ClassifierParams, VggNetwork, WideNetwork
from biasflow.images.training_points import tangent_movement

ROUNDING = 1e-5
"""A cosine of sums of a few hundred float32 products."""


def jacobian(params, x):
    """∇f_c(x) of a wide network in NumPy, (n, classes, parameters)."""
    W, A = (np.asarray(leaf, np.float64) for leaf in (params.hidden[0], params.output))
    rows = []
    for sample in np.asarray(x, np.float64):
        h = np.maximum(W @ sample, 0)
        hidden = (A * (h > 0))[:, :, None] * sample
        output = np.eye(len(A))[:, :, None] * h
        rows.append(
            np.concatenate([hidden.reshape(len(A), -1), output.reshape(len(A), -1)], axis=1)
        )
    return np.array(rows)


def test_against_the_jacobian():
    network = WideNetwork(30, 8, classes=4)
    start, end = network.init(1.0, key=0), network.init(1.0, key=1)
    x = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    J0, J1 = jacobian(start, x), jacobian(end, x)
    cosines = np.sum(J0 * J1, axis=2) / np.linalg.norm(J0, axis=2) / np.linalg.norm(J1, axis=2)
    K0, K1 = (np.einsum("icp,jcp->ij", J, J) for J in (J0, J1))
    moved = tangent_movement(network, start, end, x)
    assert moved.gradient == pytest.approx(1 - np.mean(cosines), abs=ROUNDING)
    assert moved.kernel == pytest.approx(
        1 - np.sum(K0 * K1) / np.linalg.norm(K0) / np.linalg.norm(K1), abs=ROUNDING
    )


@pytest.mark.parametrize(
    "network, shape",
    [(WideNetwork(30, 8), (4, 8)), (VggNetwork(((4,), (6,)), side=4), (4, 4, 4, 3))],
)
def test_scaling_all_weights_moves_nothing(network, shape):
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    moved = tangent_movement(network, network.init(1.0), network.init(5.0), x)
    assert (moved.gradient, moved.kernel) == pytest.approx((0, 0), abs=ROUNDING)


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_scales_whose_fourth_powers_float32_does_not_hold(scale):
    network = WideNetwork(30, 8)
    x = np.random.default_rng(1).normal(size=(4, 8)).astype(np.float32)
    moved, expected = (
        tangent_movement(network, network.init(s, key=0), network.init(s, key=1), x)
        for s in (scale, 1.0)
    )
    assert (moved.gradient, moved.kernel) == pytest.approx(
        (expected.gradient, expected.kernel), abs=ROUNDING
    )


def test_a_gradient_that_died_is_at_distance_one():
    network = WideNetwork(10, 8)
    start = network.init(1.0)
    dead = ClassifierParams((0 * start.hidden[0],), 0 * start.output)
    assert tangent_movement(
        network, start, dead, np.ones((3, 8), np.float32)
    ).gradient == pytest.approx(1)
