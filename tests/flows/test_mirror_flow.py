"""The dual flow: closed forms, where it goes, how accurate it says it is, and what it does where
labels are out of reach."""

import numpy as np
import pytest
import scipy.linalg as sl

import biasflow as bf

ROUNDING = 1e-12
"""A few thousand eps: closed forms against sums of a hundred terms."""


@pytest.fixture(scope="module")
def small():
    return bf.data.sparse_regression(n=6, d=18, sparsity=3, noise_var=0.01, key=1)


def projection_distance(trajectory, potential, ds, beta0=None):
    return np.max(
        np.abs(trajectory.final - bf.bregman_projection(potential, ds.X, ds.y, beta0).value)
    )


@pytest.mark.parametrize(
    ("normalisation", "speed"), [("half", 1.0), ("sum", 2.0), ("half-mean", 1 / 6)]
)
def test_euclidean_flow_is_the_matrix_exponential(small, normalisation, speed):
    times = np.array([0.01, 0.1, 0.5, 2.0]) / speed
    flow = bf.mirror_flow(
        bf.potentials.Euclidean(), small.X, small.y, times=times, loss=bf.SquareLoss(normalisation)
    )
    gram = small.X @ small.X.T
    for k, t in enumerate(times):
        residual = -sl.expm(-speed * t * gram) @ small.y
        exact = small.X.T @ np.linalg.solve(gram, residual + small.y)
        assert np.max(np.abs(flow.states[k] - exact)) <= flow.error[k] + ROUNDING
        assert flow.error[k] < 1e-6


@pytest.mark.parametrize("alpha", [1e3, 1.0, 1e-3, 1e-10])
def test_the_flow_ends_at_the_projection(small, alpha):
    potential = bf.potentials.Hypentropy(alpha)
    flow = bf.mirror_flow(potential, small.X, small.y)
    assert flow.result is bf.Result.CONVERGED
    assert flow.loss[-1] <= 1e-20 * flow.loss[0]
    # loss 1e-20 leaves β within 1e-10·κ(X)
    assert projection_distance(flow, potential, small) <= flow.error[-1] + 1e-8


def test_from_a_start_with_a_scale_per_coordinate(small):
    rng = np.random.default_rng(0)
    potential, beta0 = (
        bf.potentials.Hypentropy(np.exp(rng.normal(-3, 2, small.d))),
        0.3 * rng.standard_normal(small.d),
    )
    flow = bf.mirror_flow(potential, small.X, small.y, beta0)
    assert np.allclose(flow.states[0], beta0, rtol=1e-12)
    assert projection_distance(flow, potential, small, beta0) <= flow.error[-1] + 1e-8


@pytest.mark.parametrize("depth", [3, 4])
def test_depth_potentials(small, depth):
    potential = bf.potentials.DepthPotential(depth, scale=0.3)
    flow = bf.mirror_flow(potential, small.X, small.y)
    assert projection_distance(flow, potential, small) <= flow.error[-1] + 1e-8


@pytest.mark.parametrize("alpha", [1.0, 1e-4, 1e-20])
def test_the_loss_falls(small, alpha):
    flow = bf.mirror_flow(bf.potentials.Hypentropy(alpha), small.X, small.y)
    # the accuracy asked for
    assert np.all(np.diff(flow.loss) <= 1e-7 * flow.loss[:-1] + 1e-12 * flow.loss[0])


@pytest.mark.parametrize("alpha", [1.0, 1e-6])
def test_the_error_estimate_is_honest_and_follows_the_tolerance(small, alpha):
    times = np.geomspace(
        1e-2, bf.mirror_flow(bf.potentials.Hypentropy(alpha), small.X, small.y).times[-1], 40
    )
    reference = bf.mirror_flow(
        bf.potentials.Hypentropy(alpha), small.X, small.y, times=times, rtol=1e-11
    )
    measured = []
    for rtol in (1e-5, 1e-7, 1e-9):
        flow = bf.mirror_flow(
            bf.potentials.Hypentropy(alpha), small.X, small.y, times=times, rtol=rtol
        )
        distance = np.max(np.abs(flow.states - reference.states), axis=1)
        assert np.max(distance) <= 3 * (np.max(flow.error) + np.max(reference.error))
        measured.append(np.max(distance))
    assert measured[2] < measured[1] < measured[0]
    assert measured[2] < 1e-2 * measured[0]


@pytest.mark.parametrize("log_alpha", [-100 * np.log(10.0), -2300.0])
def test_plateaus_are_not_jumped_over(log_alpha):
    ds = bf.data.sparse_regression(n=6, d=14, sparsity=3, noise_var=0.0, key=4)
    path, clock = bf.saddle_path(ds.X, ds.y), -log_alpha
    flow = bf.mirror_flow(
        bf.potentials.Hypentropy(log_alpha=log_alpha), ds.X, ds.y, t1=1.3 * clock * path.times[-1]
    )
    beyond = np.append(path.times[1:], 1.3 * path.times[-1])
    for k, (start, end) in enumerate(zip(path.times, beyond, strict=True)):
        # long plateaus: half-way through, the flow sits on the saddle
        if end - start > 0.2 * path.times[-1]:
            assert np.max(np.abs(flow.at(clock * (start + end) / 2) - path.states[k])) < 20 / clock
    for (tau, entered, _), _ in zip(path.events, path.times[1:], strict=False):
        for i in entered:
            size = np.max(np.abs(path.states[:, i]))
            first = flow.times[np.argmax(np.abs(flow.states[:, i]) > 0.1 * size)] / clock
            assert abs(first - tau) < 0.2 * tau + 50 / clock


def test_saves_exactly_at_the_times_asked_for(small):
    times = np.array([0.0, 0.013, 0.4, 1.7])
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, times=times)
    assert np.array_equal(flow.times, times)
    assert flow.result is bf.Result.REACHED_T1
    for k, t in enumerate(times):
        assert np.array_equal(flow.at(t), flow.states[k])
    whole = bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y)
    for k in (0, 5, len(whole.times) - 1):
        assert np.array_equal(whole.at(whole.times[k]), whole.states[k])
    between = whole.at(0.4)
    assert (
        np.max(np.abs(between - flow.states[2]))
        <= np.max(whole.error) + np.max(flow.error) + ROUNDING
    )


def test_t1_is_reached_and_not_passed(small):
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, t1=0.25)
    assert flow.times[-1] == pytest.approx(0.25, rel=1e-14)
    assert flow.result is bf.Result.REACHED_T1
    with pytest.raises(bf.errors.InputError, match="outside the integrated interval"):
        flow.at(0.3)


@pytest.mark.parametrize("times", [[0.2, 0.1], [-0.1, 1.0], [], [[0.1]], [np.nan], [0.0]])
def test_bad_times_are_named(small, times):
    with pytest.raises(bf.errors.InputError, match="times"):
        bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, times=times)


@pytest.mark.parametrize(("name", "value"), [("t1", -1.0), ("t1", np.inf), ("rtol", 0.0)])
def test_bad_numbers_are_named(small, name, value):
    with pytest.raises(bf.errors.InputError, match=name):
        bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, small.y, **{name: value})


def test_labels_at_zero_are_already_fitted(small):
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), small.X, np.zeros(small.n))
    assert flow.result is bf.Result.CONVERGED
    assert np.array_equal(flow.times, [0.0])
    assert not np.any(flow.states)


def test_one_sample():
    X, y = np.array([[1.0, 2.0, -1.0]]), np.array([3.0])
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.01), X, y)
    assert (
        np.max(
            np.abs(flow.final - bf.bregman_projection(bf.potentials.Hypentropy(0.01), X, y).value)
        )
        <= flow.error[-1] + 1e-9
    )


def test_rank_deficient_but_consistent(small):
    X, y = np.vstack([small.X, small.X[:2]]), np.append(small.y, small.y[:2])
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, y)
    assert flow.result is bf.Result.CONVERGED
    assert (
        np.max(
            np.abs(flow.final - bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, y).value)
        )
        <= flow.error[-1] + 1e-8
    )


def test_inconsistent_labels_lead_to_the_projection_onto_least_squares():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    fitted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, y)
    assert flow.result is bf.Result.STATIONARY
    assert flow.loss[-1] == pytest.approx(0.5 * np.sum((fitted - y) ** 2), rel=1e-8)
    # excess loss 1e-10
    assert (
        np.max(
            np.abs(
                flow.final - bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, fitted).value
            )
        )
        < 1e-4
    )


def test_an_orthant_out_of_reach_is_recognised():
    # β ≥ 0 cannot make the first label negative
    X, y = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([-1.0, 0.5])
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.0, sign=1.0), X, y, beta0=[0.1, 0.1])
    assert flow.result is bf.Result.INFEASIBLE
    assert np.all(flow.final > 0)
    from scipy.optimize import nnls

    assert flow.loss[-1] == pytest.approx(0.5 * nnls(X, y)[1] ** 2, rel=1e-6)


def test_a_limit_on_the_boundary_of_the_orthant():
    # β ≥ 0 forces β₂ = β₃ = 0
    X, y = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 0.0])
    potential, beta0 = bf.potentials.Hypentropy(0.0, sign=1.0), np.full(3, 0.1)
    limit = bf.bregman_projection(potential, X, y, beta0)
    assert np.allclose(limit.value, [1.0, 0.0, 0.0], atol=1e-9)
    flow = bf.mirror_flow(potential, X, y, beta0, t1=1e4)
    assert np.all(flow.final > 0)
    assert np.max(np.abs(flow.final - limit.value)) < 1e-3  # β decays like 1/t on the boundary


def test_conserved_and_dual_quantities(small):
    potential = bf.potentials.Hypentropy(0.01)
    flow = bf.mirror_flow(potential, small.X, small.y)
    eta = potential.grad(flow.states)
    outside = eta - eta @ np.linalg.pinv(small.X) @ small.X
    assert np.max(np.abs(outside)) < 1e-9  # ∇φ(β(t)) stays in Im Xᵀ
