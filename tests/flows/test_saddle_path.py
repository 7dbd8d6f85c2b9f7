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


ZHAO = np.array([[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]), np.array([1.0, 0.0])
"""The data of Zhao et al. 2026, Section 8 and Appendix C."""


def test_the_example_of_zhao_et_al():
    """Features 1, 3 and 4 enter after 1, 3 and 80/49; feature 1 leaves. Then, at s₁ = 1 with pull
    −1/20, its growth time downwards is 2/(1/20) = 40, where the paper prints 20."""
    X, y = ZHAO
    path = bf.saddle_path(X, y)
    assert np.allclose(np.diff(path.times), [1.0, 3.0, 80 / 49], rtol=1e-12)
    assert np.allclose(path.states[1:3], [[0.8, 0, 0, 0], [0, 0, 1.4, 0]], atol=1e-12)
    assert np.allclose(path.final, [0, 0, 10 / 7, -10 / 49], atol=1e-12)
    s = np.diff(path.times[:3]) @ ((y - path.states[:2] @ X.T) @ X)
    pull = X.T @ (y - X @ path.states[2])
    assert s[0] == pytest.approx(1.0) and pull[0] == pytest.approx(-0.05)
    assert (s[0] + 1) / -pull[0] == pytest.approx(40.0)
    half = bf.saddle_path(X, y, growth=[0.5, 1, 1, 1])
    assert np.allclose(half.final, [1, 0, 0, -5 / 7], atol=1e-12)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_a_problem_has_its_growth_times(depth):
    """c^{2−D} for D ≥ 3, of both signs; equal for D = 2; whatever the scale and the loss."""
    rng = np.random.default_rng(1)
    X, y, c = rng.standard_normal((4, 9)), rng.standard_normal(4), rng.uniform(0.5, 2, (2, 9))
    expected = np.ones((2, 9)) if depth == 2 else (c / c.max()) ** (2 - depth)
    paths = []
    for scale, loss in ((1e-2, "half"), (1e-4, "sum")):
        start = bf.models.DiagonalParams(*(scale * c))
        problem = bf.Problem(bf.DiagonalNetwork(depth), (X, y), bf.SquareLoss(loss), start)
        paths.append(bf.saddle_path(problem))
        assert np.allclose(paths[-1].stats["growth"], expected, rtol=1e-9)
    assert np.allclose(paths[0].times, paths[1].times)
    weighted = bf.saddle_path(X, y, growth=expected)
    assert np.allclose(weighted.final, paths[0].final)


def shaped(depth, log_alpha, c):
    """The potential from α·c whose time is that of the path."""
    if depth == 2:
        inner = bf.potentials.Hypentropy(log_alpha=2 * (log_alpha + np.log(c)))
        return bf.potentials.ScaledPotential(-1 / (2 * log_alpha), inner)
    inner = bf.potentials.DepthPotential(depth, log_scale=log_alpha + np.log(c))
    return bf.potentials.ScaledPotential(c ** (2.0 - depth), inner)


@pytest.mark.parametrize(("depth", "log_alpha"), [(2, -25_000.0), (3, -18.0), (4, -9.0)])
def test_flows_from_tiny_starts_of_any_shape_are_on_the_path(depth, log_alpha):
    """Depth two far below floats; deeper ones as far as a jump, e^{(D−2)log α} of the time, can be
    resolved. Depth two forgets c, the others do not."""
    X, y = ZHAO
    c = np.array([2.0, 1.0, 1.0, 1.0])
    mirror = bf.MirrorProblem(shaped(depth, log_alpha, c), X, y)
    path, plain = bf.saddle_path(mirror), bf.saddle_path(X, y)
    clock = 1.0 if depth == 2 else 2.0 ** (2 - depth)  # the least growth time, c = 2
    middle = (path.times[1:] + np.append(path.times[2:], 2 * path.times[-1])) / 2
    flow = bf.mirror_flow(mirror, times=clock * middle)
    assert np.max(np.abs(flow.states - path.states[1:])) < 1e-3
    assert (np.max(np.abs(flow.states[-1] - plain.final)) > 0.5) == (depth > 2)


@pytest.mark.parametrize("depth", [3, 4])
def test_limits_far_below_floats_are_the_end_of_the_path(depth):
    X, y = ZHAO
    c = np.array([2.0, 1.0, 1.0, 1.0])
    potential = shaped(depth, -25_000.0 / depth, c)
    end = bf.saddle_path(bf.MirrorProblem(potential, X, y)).final
    assert np.allclose(bf.bregman_projection(potential, X, y).value, end, atol=1e-9)


def test_labels_out_of_reach_end_at_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 5)), rng.standard_normal(12)
    path = bf.saddle_path(X, y)
    assert path.result is bf.Result.STATIONARY
    assert np.allclose(path.final, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-12)
    assert path.loss[-1] == pytest.approx(0.5 * np.sum((X @ path.final - y) ** 2))
    flow = bf.mirror_flow(
        bf.potentials.Hypentropy(log_alpha=-3000.0), X, y, times=3000 * 1.5 * path.times[-1:]
    )
    assert np.allclose(flow.final, path.final, atol=1e-6)


def test_an_infinite_growth_time_forbids_a_sign():
    X, y = ZHAO
    path = bf.saddle_path(X, y, growth=[np.ones(4), np.full(4, np.inf)])
    assert path.result is bf.Result.INFEASIBLE and np.allclose(path.final, [0, 0, 1.4, 0])
    problem = bf.Problem(
        bf.DiagonalNetwork(2),
        (X, y),
        bf.SquareLoss("half"),
        bf.models.DiagonalParams(np.full(4, 1e-3), np.zeros(4)),
    )
    assert np.allclose(bf.saddle_path(problem).final, path.final)


def test_bad_growth_times_and_problems_are_refused():
    X, y = ZHAO
    for growth in ([1.0, 2.0], [0.0, 1, 1, 1], [np.nan, 1, 1, 1], "fast"):
        with pytest.raises(bf.errors.InputError):
            bf.saddle_path(X, y, growth=growth)
    euclid = bf.MirrorProblem(bf.potentials.Euclidean(), X, y)
    with pytest.raises(bf.errors.RefusedError, match="does not vanish"):
        bf.saddle_path(euclid)
    with pytest.raises(bf.errors.InputError, match="give it alone"):
        bf.saddle_path(euclid, y)
