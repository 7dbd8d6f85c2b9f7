"""The exact jump process at vanishing initialisation, by hand on small examples and against flows
from tiny scales."""

import numpy as np
import pytest

import biasflow as bf


def test_identity_inputs_enter_one_by_one():
    y = np.array([0.5, -2.0, 1.0])
    path = bf.saddle_path(np.eye(3), y)
    assert np.allclose(path.times, [0.0, 0.5, 1.0, 2.0])  # τ_i = 1/|y_i|
    assert np.allclose(path.states, [[0, 0, 0], [0, -2, 0], [0, -2, 1], [0.5, -2, 1]])
    assert [entered for _, entered, _ in path.events] == [(1,), (2,), (0,)]
    assert all(left == () for _, _, left in path.events)


def test_equal_labels_enter_together():
    path = bf.saddle_path(np.eye(2), [1.0, -1.0])
    assert np.allclose(path.times, [0.0, 1.0])
    assert np.allclose(path.states[-1], [1.0, -1.0])


def test_a_coordinate_may_leave_again():
    ds = bf.data.sparse_regression(n=12, d=30, sparsity=3, noise_var=0.0, key=5)
    path = bf.saddle_path(ds.X, ds.y)
    left = [i for _, _, gone in path.events for i in gone]
    assert left
    assert not np.any(path.states[-1][left])


def test_one_sample_by_hand():
    path = bf.saddle_path([[1.0, 3.0, -2.0]], [6.0])
    assert np.allclose(path.times, [0.0, 1 / 18])  # |x_1 y| = 18 arrives first, and fits
    assert np.allclose(path.states[-1], [0.0, 2.0, 0.0])


def test_labels_at_zero_never_leave():
    path = bf.saddle_path(np.eye(2), [0.0, 0.0])
    assert np.array_equal(path.times, [0.0])
    assert not np.any(path.states)


def test_inconsistent_labels_raise():
    with pytest.raises(bf.errors.InconsistentError):
        bf.saddle_path([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0])


@pytest.mark.parametrize("key", range(6))
@pytest.mark.parametrize(("n", "d"), [(5, 12), (12, 40), (30, 100)])
def test_ends_at_the_least_l1_norm_along_falling_loss(n, d, key):
    ds = bf.data.sparse_regression(n=n, d=d, sparsity=3, noise_var=0.01, key=key)
    path, least = bf.saddle_path(ds.X, ds.y), bf.limits.min_l1(ds.X, ds.y)
    assert path.times[0] == 0 and not np.any(path.states[0])
    assert np.all(np.diff(path.times) > 0)
    assert np.all(np.diff(path.loss) < 0)
    assert path.loss[-1] < 1e-18 * path.loss[0]
    assert np.sum(np.abs(path.final)) == pytest.approx(least.objective, rel=1e-9)
    if least.stats["unique"]:
        assert np.max(np.abs(path.final - least.value)) < 1e-7


@pytest.mark.parametrize("key", range(4))
def test_every_plateau_satisfies_its_optimality_conditions(key):
    ds = bf.data.sparse_regression(n=12, d=40, sparsity=3, noise_var=0.01, key=key)
    path = bf.saddle_path(ds.X, ds.y)
    s, pull = np.zeros(ds.d), np.max(np.abs(ds.X.T @ ds.y))
    for k, beta in enumerate(path.states):
        force = ds.X.T @ (ds.y - ds.X @ beta)
        support = beta != 0
        assert np.all(np.abs(force[support]) < 1e-9 * pull)  # least squares on the support
        # which lies where |s| = 1, with its sign
        assert np.all(np.abs(s[support] - np.sign(beta[support])) < 1e-8)
        at_wall = (np.abs(s) > 1 - 1e-9) & ~support
        # the others at the wall are pushed back
        assert np.all(s[at_wall] * force[at_wall] < 1e-9 * pull)
        assert np.max(np.abs(s)) <= 1 + 1e-8
        if k + 1 < len(path.times):
            s = s + (path.times[k + 1] - path.times[k]) * force


def test_states_between_jumps_are_the_last_entered():
    path = bf.saddle_path(np.eye(2), [2.0, 1.0])
    assert np.array_equal(path.at(0.49), path.states[0])
    assert np.array_equal(path.at(0.5), path.states[1])
    assert np.array_equal(path.at(0.8), path.states[1])


def test_flows_from_smaller_scales_come_closer():
    ds = bf.data.sparse_regression(n=8, d=20, sparsity=3, noise_var=0.0, key=1)
    path = bf.saddle_path(ds.X, ds.y)
    tau = np.linspace(0, 1.5 * path.times[-1], 400)
    exact = path.states[np.searchsorted(path.times, tau, side="right") - 1]
    distances = []
    for log_r in (-20.0, -200.0, -2000.0):
        flow = bf.mirror_flow(
            bf.potentials.Hypentropy(log_alpha=log_r), ds.X, ds.y, times=-log_r * tau
        )
        distances.append(np.mean(np.abs(flow.states - exact)))
    assert distances[1] < 0.4 * distances[0]
    assert distances[2] < 0.4 * distances[1]
