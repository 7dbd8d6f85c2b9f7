"""Flows far from unit scale: large initialisations, tiny and huge labels, badly scaled inputs."""

import numpy as np
import pytest

import biasflow as bf


@pytest.fixture
def small():
    return bf.data.sparse_regression(n=5, d=12, sparsity=2, noise_var=0.01, key=0)


@pytest.mark.parametrize("r", [1e3, 1e8, 2e12])
def test_large_scales_converge_to_min_l2(small, r):
    flow = bf.mirror_flow(bf.potentials.Hypentropy(r), small.X, small.y)
    assert flow.result is bf.Result.CONVERGED
    assert flow.loss[-1] <= 1e-20 * flow.loss[0]
    predicted = bf.bregman_projection(bf.potentials.Hypentropy(r), small.X, small.y).value
    # residual 1e-10 of the start, well conditioned X
    assert np.max(np.abs(flow.final - predicted)) <= 1e-9


@pytest.mark.parametrize("c", [1e-12, 1e-3, 1e6])
def test_labels_and_scale_together_change_nothing(small, c):
    """β and r scaled by c: the same flow in units of c, and in the same time."""
    plain = bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, times=[0.1, 1.0])
    scaled = bf.mirror_flow(
        bf.potentials.Hypentropy(0.1 * c),
        small.X,
        c * small.y,
        times=[0.1 / c, 1.0 / c],
        loss=bf.SquareLoss("half"),
    )
    assert scaled.states / c == pytest.approx(plain.states, rel=1e-5, abs=1e-6)


def test_the_least_squares_projection_is_reached_to_rounding():
    X = np.vstack([np.eye(3)] * 2)
    flow = bf.mirror_flow(bf.potentials.Euclidean(), X, [1.0, 2.0, 3.0, 2.0, 3.0, 4.0])
    assert flow.result is bf.Result.STATIONARY
    assert flow.final == pytest.approx([1.5, 2.5, 3.5], abs=1e-8)


@pytest.mark.parametrize("c", [1e200, 1e-200])
def test_minimum_norms_at_extreme_units(small, c):
    for solve in (bf.limits.min_l1, bf.limits.min_l2):
        assert c * solve(c * small.X, small.y).value == pytest.approx(
            solve(small.X, small.y).value, rel=1e-9, abs=1e-12
        )
