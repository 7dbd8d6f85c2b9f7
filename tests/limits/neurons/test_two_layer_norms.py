"""Variation norm and KKT residual of two-layer ReLU networks."""

import cvxpy as cp
import numpy as np
import pytest

import biasflow as bf
from biasflow.limits import kkt_point, kkt_residual, min_norm_interpolator, variation_norm
from biasflow.models import TwoLayerParams


def network(c, u):
    """Σ c_j(⟨u_j, ·⟩)_+ with weights spread unevenly over the layers."""
    spread = np.linspace(0.5, 2.0, len(c))
    return TwoLayerParams(np.asarray(c) * spread, np.asarray(u, dtype=float) / spread[:, None])


def random_network(seed, m=6, d=3):
    rng = np.random.default_rng(seed)
    return TwoLayerParams(rng.standard_normal(m), rng.standard_normal((m, d)))


def test_closed_forms():
    e = np.eye(2)
    assert variation_norm(TwoLayerParams(np.zeros(0), np.zeros((0, 2)))) == 0
    assert variation_norm(network([0.0, 2.0], [e[0], 0 * e[1]])) == 0
    assert variation_norm(network([-3.0], [2 * e[0]])) == pytest.approx(6)
    # one direction: add up
    assert variation_norm(network([1.0, 2.0], [e[0], 3 * e[0]])) == pytest.approx(7)
    # and cancel
    assert variation_norm(network([3.0, -3.0], [e[0], e[0]])) == pytest.approx(0, abs=1e-15)
    assert variation_norm(network([1.0, -1.0], [e[0], -e[0]])) == pytest.approx(2)  # x ↦ ⟨e, x⟩
    assert variation_norm(network([1.0, 1.0], [e[0], -e[0]])) == pytest.approx(2)  # |⟨e, x⟩|
    # ⟨e_1, x⟩ + ⟨e_2, x⟩ is linear, of length √2: two neurons along (1, 1) do what four did
    assert variation_norm(
        network([1.0, -1.0, 1.0, -1.0], [e[0], -e[0], e[1], -e[1]])
    ) == pytest.approx(2 * np.sqrt(2))
    # (t)_+ and a linear part along the same line: (t)_+ − t = (−t)_+
    assert variation_norm(network([1.0, -1.0, 1.0], [e[0], e[0], -e[0]])) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_against_the_least_measure_on_a_fine_circle(seed):
    """Independently: the least mass on the network's lines and 720 further directions that gives
    the same function."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, np.pi, 3)
    lines = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    u = np.vstack([lines, -lines])
    c = rng.standard_normal(6)
    fine = np.linspace(0, 2 * np.pi, 721)[:-1]
    candidates = np.vstack([u, np.stack([np.cos(fine), np.sin(fine)], axis=1)])
    points = np.stack([np.cos(fine + 1e-3), np.sin(fine + 1e-3)], axis=1)
    mass = cp.Variable(len(candidates))
    values = np.maximum(points @ u.T, 0) @ c
    program = cp.Problem(
        cp.Minimize(cp.norm1(mass)), [np.maximum(points @ candidates.T, 0) @ mass == values]
    )
    program.solve(solver="HIGHS")
    # directions every half degree
    assert variation_norm(network(c, u)) == pytest.approx(program.value, rel=1e-4)
    assert variation_norm(network(c, u)) <= program.value + 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_variation_norm_is_a_norm_of_the_function(seed):
    rng = np.random.default_rng(seed)
    one, two = random_network(seed), random_network(seed + 100)
    norm = variation_norm(one)
    assert norm <= np.sum(np.abs(one.a) * np.linalg.norm(one.W, axis=1)) + 1e-12
    assert norm <= 0.5 * (np.sum(one.a**2) + np.sum(one.W**2))
    both = TwoLayerParams(np.concatenate([one.a, two.a]), np.vstack([one.W, two.W]))
    assert variation_norm(both) <= norm + variation_norm(two) + 1e-10
    assert variation_norm(TwoLayerParams(-2 * one.a, one.W)) == pytest.approx(2 * norm, rel=1e-12)
    scale = 10.0 ** rng.uniform(-3, 3, 6)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    same = TwoLayerParams(one.a / scale, scale[:, None] * one.W @ rotation)
    assert variation_norm(same) == pytest.approx(norm, rel=1e-10)
    # the same function written otherwise: Σ_j c_j(⟨u_j, x⟩)_+ = Σ_j c_j(−⟨u_j, x⟩)_+ + ⟨v, x⟩
    v = one.a @ one.W
    flipped = TwoLayerParams(np.append(one.a, [1.0, -1.0]), np.vstack([-one.W, v, -v]))
    assert variation_norm(flipped) == pytest.approx(norm, rel=1e-9)


def data(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if d == 2:
        X[:, 1] = 1.0
    return bf.Dataset(X, rng.standard_normal(n))


@pytest.mark.parametrize(("n", "d"), [(2, 2), (5, 2), (12, 2), (30, 2), (10, 3), (15, 3), (6, 10)])
def test_minimisers_are_stationary_and_their_norm_is_the_variation_norm(n, d):
    """B, eqs. 8 and 35: λ of the dual problem are multipliers, ½‖θ‖² is the variation norm of the
    function."""
    ds = data([n, d], n, d)
    limit = min_norm_interpolator(ds.X, ds.y)
    point = kkt_point(limit.value, ds)
    assert point.stationarity <= 1e-9 and point.feasibility <= 1e-10
    assert np.all((point.slopes >= 0) & (point.slopes <= 1)) and point.slopes.shape == (
        limit.value.a.size,
        n,
    )
    assert variation_norm(limit.value) == pytest.approx(limit.objective / 2, rel=1e-9)
    gradient_w = limit.value.a[:, None] * ((point.slopes * point.multipliers) @ ds.X)
    scale = np.sqrt(limit.objective)
    np.testing.assert_allclose(gradient_w, limit.value.W, atol=1e-8 * scale)
    np.testing.assert_allclose(
        np.maximum(limit.value.W @ ds.X.T, 0) @ point.multipliers, limit.value.a, atol=1e-8 * scale
    )


def test_splitting_a_neuron_keeps_it_stationary_and_unbalancing_does_not():
    ds = data(3, 6, 2)
    a, W = min_norm_interpolator(ds.X, ds.y).value
    t = np.sqrt(0.3), np.sqrt(0.7)
    split = TwoLayerParams(np.append(a, [t[0] * a[0]]), np.vstack([W, t[0] * W[:1]]))
    split.a[0] *= t[1]
    split.W[0] *= t[1]
    assert kkt_residual(split, ds) <= 1e-9
    unbalanced = TwoLayerParams(2 * a, W / 2)
    assert kkt_residual(unbalanced, ds) > 0.1 and kkt_point(unbalanced, ds).feasibility <= 1e-10


def test_other_networks_are_not_stationary():
    ds = data(4, 6, 3)
    params = random_network(4)
    assert kkt_residual(params, ds) > 0.1
    fitted = kkt_point(min_norm_interpolator(ds.X, ds.y).value, bf.Dataset(ds.X, ds.y + 0.1))
    assert fitted.stationarity <= 1e-9 and fitted.feasibility == pytest.approx(
        0.1 / np.max(np.abs(ds.y + 0.1))
    )
    assert fitted.residual == fitted.feasibility


def test_linear_interpolator_of_two_orthogonal_points_has_a_larger_variation_norm():
    ds = bf.Dataset([[-0.5, 1.0], [2.0, 1.0]], [-1.0, 1.0])
    v = np.linalg.solve(ds.X, ds.y)
    linear = TwoLayerParams(
        np.array([1.0, -1.0]) * np.sqrt(np.linalg.norm(v)),
        np.vstack([v, -v]) / np.sqrt(np.linalg.norm(v)),
    )
    assert variation_norm(linear) == pytest.approx(2 * np.linalg.norm(v))
    # B, Remarks: larger than that of figure 2's final function
    assert variation_norm(linear) > 3 / np.sqrt(5)
    assert kkt_point(linear, ds).feasibility <= 1e-14


def test_a_kink_on_a_sample_may_use_any_slope():
    """x = (1, 0), (0.6, 0.8) and one neuron with ⟨w, x_2⟩ = 0: stationary with slope σ' only if λ_2
    and σ' balance the push."""
    w = np.array([0.8, -0.6])
    ds = bf.Dataset([[1.0, 0.0], [0.6, 0.8]], [0.8, 0.0])
    point = kkt_point(TwoLayerParams(np.array([1.0]), w[None]), ds)
    assert point.stationarity <= 1e-12
    assert point.multipliers[0] == pytest.approx(1.25) and point.multipliers[1] * point.slopes[
        0, 1
    ] == pytest.approx(-0.75)
    assert kkt_point(TwoLayerParams(np.zeros(1), np.zeros((1, 2))), ds).stationarity == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variation_norm(3.0), "params: expected TwoLayerParams"),
        (
            lambda: variation_norm(TwoLayerParams(np.ones(2), np.ones((3, 2)))),
            "params: expected a of shape",
        ),
        (
            lambda: variation_norm(TwoLayerParams(np.array([np.nan]), np.ones((1, 2)))),
            "params.a: entry",
        ),
        (
            lambda: kkt_residual(random_network(0), data(0, 3, 4)),
            "dimension 3, and inputs of dimension 4",
        ),
        (lambda: kkt_residual(random_network(0), "data"), "data: expected Dataset"),
    ],
)
def test_malformed_input(call, message):
    with pytest.raises(bf.errors.InputError, match=message):
        call()
