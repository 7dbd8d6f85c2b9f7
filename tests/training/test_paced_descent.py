"""Descent at the pace of the tangent kernel: starts of every scale arrive, and follow the flow."""

import jax.numpy as jnp
import numpy as np
import pytest

from biasflow._numerics.double_precision import jax_in_double
from biasflow.limits import tangent_interpolator
from biasflow.training.paced_descent import LARGEST_MOVE, paced_descent

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
Y = np.sign(X[:, :1])
START = RNG.standard_normal((3, 20)), RNG.standard_normal((20, 1)) / 4


def network(weights, X):
    return jnp.maximum(X @ weights[0], 0) @ weights[1]


@pytest.fixture(scope="module")
def trained():
    scales = np.array([0.03, 1.0, 50.0])
    with jax_in_double():
        descent = paced_descent(network, X, Y, 0.05)
        starts = tuple(jnp.asarray(scales[:, None, None] * part) for part in START)
        lanes = descent.opened(starts)
        after_one = descent.advance(lanes, 0, 1)
        ends = descent.advance(lanes, 0, 20_000)
        losses = [float(descent.loss(type(ends)(*_lane(ends, k)))) for k in range(3)]
    return starts, after_one, ends, losses


def _lane(lanes, k):
    return [
        tuple(part[k] for part in field) if isinstance(field, tuple) else field[k]
        for field in lanes
    ]


def test_starts_of_every_scale_arrive(trained):
    _, _, ends, losses = trained
    assert np.all(np.asarray(ends.ended)) and np.max(losses) <= 0.0505


def test_a_step_moves_the_weights_by_a_few_percent_at_most(trained):
    starts, after_one, _, _ = trained
    for k in range(3):
        size, moved = (
            np.sqrt(sum(float(np.sum(np.asarray(part[k]) ** 2)) for part in parts))
            for parts in (starts, [b - a for a, b in zip(starts, after_one.weights, strict=True)])
        )
        assert 0 < moved <= LARGEST_MOVE * size * (1 + 1e-9)


def test_a_large_start_ends_at_its_kernel_machine(trained):
    _, _, ends, _ = trained
    start = tuple(50.0 * part for part in START)
    other = RNG.standard_normal((30, 3))
    with jax_in_double():
        end = tuple(np.asarray(part[2]) for part in ends.weights)
        learned, offset = (
            np.asarray(network(end, x) - network(start, x))[:, 0] for x in (other, X)
        )
        labels = np.asarray(network(start, X))[:, 0] + offset
    machine = tangent_interpolator(network, start, X, labels, output=0).value
    with jax_in_double():
        expected = machine(other) - np.asarray(network(start, other))[:, 0]
    assert np.linalg.norm(learned - expected) <= 0.01 * np.linalg.norm(expected)
