"""Max margins of squared ReLUs on a line."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.neurons.squared_relu_line import largest_squared_gain, squared_f1_max_margin


def line(key, n=12):
    rng = np.random.default_rng(key)
    X = rng.uniform(-1, 1, (n, 1))
    return X, np.where(np.sin(4 * X[:, 0] + key) > 0, 1.0, -1.0)


@pytest.mark.parametrize("key", range(4))
def test_the_measure_has_the_margin_and_a_fine_grid_comes_near_it_from_below(key):
    X, y = line(key)
    found = squared_f1_max_margin(X, y)
    u, signs, masses = found.value
    inputs = np.hstack([X, np.ones_like(X)])
    margins = y * (np.maximum(inputs @ u.T, 0) ** 2 @ (signs * masses))
    assert np.sum(masses) == pytest.approx(1, abs=1e-12)
    assert np.min(margins) == pytest.approx(found.objective, rel=1e-9)
    assert found.certificate.dual - found.objective <= 1e-9 * found.certificate.dual
    angles = np.linspace(0, 2 * np.pi, 4000)
    grid = y[:, None] * np.maximum(inputs @ np.stack([np.cos(angles), np.sin(angles)]), 0) ** 2
    coarse = bf.limits.l1_max_margin(np.hstack([grid, -grid])).objective
    assert coarse <= found.certificate.dual
    # directions are at most 1e-3 off, and gains are stationary there
    assert coarse >= found.objective * (1 - 1e-4)


def test_the_largest_gain_is_that_of_a_fine_grid():
    rng = np.random.default_rng(0)
    inputs, q = np.column_stack([rng.uniform(-1, 1, 9), np.ones(9)]), rng.standard_normal(9)
    gain, angles = largest_squared_gain(inputs, q)
    fine = np.linspace(0, 2 * np.pi, 20_001)
    gains = np.maximum(inputs @ np.stack([np.cos(fine), np.sin(fine)]), 0).T ** 2 @ q
    assert gain == pytest.approx(np.max(np.abs(gains)), rel=1e-6)
    assert gain >= np.max(np.abs(gains))
    assert angles.size == 2


def test_inputs_in_the_plane_are_refused():
    with pytest.raises(bf.errors.InputError, match="one column"):
        squared_f1_max_margin(np.eye(2), np.array([1.0, -1.0]))
