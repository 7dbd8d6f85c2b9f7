"""Stationary is what is shown to be: along thin directions of the data too, and on the right side
of every kink."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.relu.resting import _inside

STAMPS = np.c_[1.7e9 + np.arange(8) * 3600.0 * 24 * 365, np.ones(8)]
CLASSES = np.array([-1.0] * 4 + [1.0] * 4)


def flow_of(X, y, start, **options):
    return bf.gradient_flow(
        bf.TwoLayer(len(start.a), 2),
        bf.Dataset(X, y),
        bf.SquareLoss(),
        start,
        throw=False,
        **options,
    )


def test_timestamps_are_not_called_stationary():
    """Years apart in seconds: what is left once a constant is fitted is a 1e-12 of the first pull,
    and still moves."""
    flow = flow_of(STAMPS, CLASSES, bf.TwoLayer(20, 2).init(0.1, key=0), time_s=2.0)
    assert flow.result is bf.Result.TIME_LIMIT and not flow.result.success
    outputs = bf.SquareLoss().gradient(flow.problem.model(flow.final, STAMPS), CLASSES)
    # the pull on the second weight, all samples being on
    assert abs(np.sum(outputs)) > 1e-3 * np.sum(np.abs(outputs))


@pytest.mark.parametrize("ends", [{}, {"t1": 1.0}])
def test_a_side_of_a_kink_that_its_rounded_direction_does_not_tell(ends):
    """⟨w, x⟩ = 60 on the second sample, exactly, of terms of 1.7e9: it is on, and the neuron
    moves."""
    start = bf.models.TwoLayerParams(np.array([1.0]), np.array([[1.0, -1.7e9]]))
    flow = flow_of([[1.7e9, 1.0], [1.7e9 + 60, 1.0]], [1.0, -1.0], start, **ends)
    assert flow.result is bf.Result.UNRESOLVED and not flow.result.success


def test_a_side_of_a_kink_is_not_told_where_it_is_rounding():
    """The same with inputs on which the pre-activation is a rounding of its terms: on the kink, and
    off."""
    start = bf.models.TwoLayerParams(np.array([1.0]), np.array([[0.3, -0.1]]))
    flow = flow_of([[0.1, 0.3], [0.2, 0.6]], [-1.0, -1.0], start)
    assert flow.result is bf.Result.STATIONARY and flow.times[-1] == 0


def test_inputs_that_only_their_rounded_directions_make_parallel():
    """A minute apart, opposite labels: a network fits them, though only after an age."""
    start = bf.TwoLayer(6, 2).init(1e-5, key=1)
    flow = flow_of([[1.7e9, 1.0], [1.7e9 + 60, 1.0]], [1.0, -1.0], start, time_s=2.0)
    assert not flow.result.success
    with pytest.raises(
        bf.errors.ConvergenceError,
        match=r"lost in the rounding.*`\.partial`.*stiffest rate.*offsets",
    ):
        bf.gradient_flow(
            bf.TwoLayer(6, 2),
            bf.Dataset([[1.7e9, 1.0], [1.7e9 + 60, 1.0]], [1.0, -1.0]),
            bf.SquareLoss(),
            start,
            time_s=2.0,
        )


@pytest.mark.parametrize("n", [2, 5])
def test_what_lies_inside_an_ellipsoid(n):
    """Both ways to tell, for fewer and for more half-axes than dimensions; thin ones by ten
    decades."""
    rng = np.random.default_rng(n)
    axes = rng.standard_normal((n, 3)) * [1.0, 1e-10, 1.0]
    noise = 1e-8 * np.array([1.0, 1e-10, 1.0])
    spread = axes.T @ axes + np.diag(noise**2)
    for direction in rng.standard_normal((20, n)):
        D = axes.T @ direction
        # equilibrated, in which the equations are well conditioned
        scale = np.diag([1.0, 1e10, 1.0])
        size = (
            np.sqrt(D @ scale @ np.linalg.solve(scale @ spread @ scale, scale @ D))
            if n > 3
            else np.linalg.norm(direction)
        )
        assert _inside(0.99 * D / size, axes, noise) and not _inside(1.01 * D / size, axes, noise)
    assert not _inside(np.array([0.0, 1e-8, 0.0]), axes, noise)
