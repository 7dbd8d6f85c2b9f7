"""Where mirror flow goes when labels are out of reach: least squares on the boundary, then
projection (R, Theorem 2.3)."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.optimize import nnls

import biasflow as bf
from biasflow import bregman_projection, mirror_flow
from biasflow.errors import InputError
from biasflow.limits import mirror_limit
from biasflow.potentials import Entropy, Euclidean, Hypentropy


def half_lines(signs):
    """α = 0 and that sign where a sign is given, α = 0.1 elsewhere."""
    return Hypentropy(
        np.where(np.asarray(signs) == 0, 0.1, 0.0),
        sign=np.where(np.asarray(signs) == 0, 1.0, signs),
    )


def kkt(X, y, value, signs, tolerance=1e-9):
    """Optimality of least squares with signs: β in its closed orthant, slopes outward or zero, zero
    wherever β is free."""
    slope = X.T @ (X @ value - y)
    size = np.linalg.norm(X, axis=0) * max(np.linalg.norm(y), 1e-300)
    assert np.all(signs * value >= 0)
    assert np.all(signs * slope >= -tolerance * size)
    assert np.all(
        np.abs(slope[(signs == 0) | (value != 0)]) <= tolerance * size[(signs == 0) | (value != 0)]
    )


class TestClosedForms:
    def test_one_coordinate_at_the_wall(self):
        limit = mirror_limit(Entropy(), [[1.0]], [-2.0], [0.7])
        assert limit.value[0] == 0 and limit.objective == pytest.approx(0.7)  # D(0, β₀) = β₀
        assert limit.stats["infimum"] == pytest.approx(2.0) and list(limit.stats["wall"]) == [0]
        assert list(limit.stats["boundary"]) == [0] and limit.stats["fit"][0] == 0

    def test_all_coordinates_pushed_to_the_wall(self):
        X = np.array([[1.0, 2.0, 0.5], [0.3, 1.0, 1.0]])
        limit = mirror_limit(Entropy(), X, [-1.0, -2.0], [0.1, 0.2, 0.3])
        assert not np.any(limit.value) and list(limit.stats["wall"]) == [0, 1, 2]
        assert limit.objective == pytest.approx(0.6) and limit.stats["infimum"] == pytest.approx(
            2.5
        )
        assert limit.certificate.gap == 0 and limit.certificate.residual == 0
        flow = mirror_flow(Entropy(), X, [-1.0, -2.0], [0.1, 0.2, 0.3])
        assert flow.result is bf.Result.INFEASIBLE
        assert flow.loss[-1] == pytest.approx(2.5, rel=1e-9)

    @pytest.mark.parametrize("ratio", [1.0, 3.0, 1e6])
    def test_equal_columns_share_in_proportion_to_their_start(self, ratio):
        """β_i = β₀_i·e^{⟨x_i, ν⟩}: equal columns keep their ratio, whatever else is at the wall."""
        X = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
        limit = mirror_limit(Entropy(), X, [2.0, -1.0], [ratio, 1.0, 0.5])
        np.testing.assert_allclose(
            limit.value, [2 * ratio / (1 + ratio), 2 / (1 + ratio), 0.0], rtol=1e-9
        )
        assert list(limit.stats["wall"]) == [2]

    def test_wall_holds_all_that_vanish_in_every_minimiser(self):
        """Held without being pushed: inconsistent rows whose fit is zero leave no room for a
        positive β."""
        limit = mirror_limit(Entropy(), [[1.0, 1.0], [0.0, 0.0]], [0.0, 1.0], [1.0, 1.0])
        assert not np.any(limit.value) and list(limit.stats["wall"]) == [0, 1]
        assert limit.stats["infimum"] == pytest.approx(0.5)

    def test_a_free_coordinate_beside_the_wall(self):
        """β₀ may go anywhere, β₁ ≥ 0 is pushed: least squares on the first column alone."""
        X, y = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([-1.0, 1.5])
        limit = mirror_limit(half_lines([0, 1]), X, y, [0.3, 0.4])
        np.testing.assert_allclose(limit.value, [0.25, 0.0], atol=1e-12)
        assert list(limit.stats["wall"]) == [1]
        np.testing.assert_allclose(limit.stats["fit"], [0.25, 0.25], atol=1e-12)

    def test_inconsistent_without_walls_is_least_squares(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
        best, rest = np.linalg.lstsq(X, y, rcond=None)[:2]
        for potential in (Hypentropy(0.1), Euclidean(), bf.potentials.DepthPotential(3, scale=0.5)):
            limit = mirror_limit(potential, X, y)
            np.testing.assert_allclose(limit.value, best, atol=1e-9)
            assert (
                limit.stats["infimum"] == pytest.approx(rest[0] / 2)
                and limit.stats["wall"].size == 0
            )


@pytest.mark.parametrize("seed", range(6))
def test_feasible_labels_give_the_bregman_projection(seed):
    rng = np.random.default_rng(seed)
    X, beta0 = rng.standard_normal((3, 7)), rng.uniform(0.1, 1, 7)
    y = X @ rng.uniform(0, 1, 7)
    for potential, start in (
        (Entropy(), beta0),
        (Hypentropy(0.01), None),
        (half_lines([1, 1, 1, 0, 0, 0, 0]), beta0),
    ):
        limit, projection = (
            mirror_limit(potential, X, y, start),
            bregman_projection(potential, X, y, start),
        )
        assert (
            np.array_equal(limit.value, projection.value)
            and limit.objective == projection.objective
        )
        assert limit.stats["infimum"] == 0 and np.array_equal(
            limit.stats["wall"], projection.stats["boundary"]
        )
        assert np.array_equal(limit.stats["fit"], y)


def test_feasible_on_the_boundary_only():
    X, y = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 0.0])
    limit = mirror_limit(Entropy(), X, y, [0.2, 0.3, 0.4])
    np.testing.assert_allclose(limit.value, [1.0, 0.0, 0.0], atol=1e-12)
    assert list(limit.stats["wall"]) == [1, 2] and limit.stats["infimum"] == 0


@given(seed=st.integers(0, 10**6), tall=st.booleans(), scale=st.sampled_from([1e-8, 1.0, 1e8]))
@settings(max_examples=30, deadline=None)
def test_unique_least_squares_is_scipys_nnls(seed, tall, scale):
    """Independent columns in the support make the minimiser unique; signs are absorbed in the
    columns."""
    rng = np.random.default_rng(seed)
    n, d = (6, 4) if tall else (4, 4)
    X, y, signs = (
        rng.standard_normal((n, d)),
        scale * rng.standard_normal(n),
        rng.choice([-1.0, 1.0], d),
    )
    limit = mirror_limit(half_lines(signs), X, y, signs * scale * rng.uniform(0.1, 1, d))
    best = signs * nnls(X * signs, y)[0]
    np.testing.assert_allclose(limit.value, best, atol=1e-8 * scale)
    assert limit.stats["infimum"] == pytest.approx(
        0.5 * np.sum((X @ best - y) ** 2), rel=1e-6, abs=1e-18 * scale**2
    )
    kkt(X, y, limit.value, signs)


@given(seed=st.integers(0, 10**6))
@example(seed=2665)
@settings(max_examples=30, deadline=None)
def test_mixed_signs_satisfy_the_optimality_conditions(seed):
    """β in its orthant minimises F; on the coordinates inside, ∇φ(β) − ∇φ(β₀) ∈ Im Xᵀ."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 5)), int(rng.integers(2, 8))
    X, y, signs = (
        rng.standard_normal((n, d)),
        rng.standard_normal(n),
        rng.choice([-1.0, 0.0, 1.0], d),
    )
    beta0 = np.where(signs == 0, rng.standard_normal(d), signs * rng.uniform(0.1, 1, d))
    potential = half_lines(signs)
    limit = mirror_limit(potential, X, y, beta0)
    kkt(X, y, limit.value, signs, 1e-8)
    assert limit.certificate.residual < 1e-9
    # e^{−1000} is inside, and zero
    inside = np.setdiff1d(np.flatnonzero(np.abs(limit.value) > 1e-290), limit.stats["boundary"])
    if inside.size:
        change = (
            potential.oriented(beta0).at(limit.value).eta - potential.oriented(beta0).at(beta0).eta
        )[inside]
        rows = X[:, inside].T
        rest = change - rows @ np.linalg.lstsq(rows, change, rcond=None)[0]
        # condition: labels drawn next to the edge of the cone leave β of size 1e-9 with η accurate
        # to 1e-6 or so; the certificate says where it is less (seed 2665, β of size 1e-186)
        allowed = max(1e-6, limit.certificate.membership)
        assert np.max(np.abs(rest)) < allowed * max(1.0, np.max(np.abs(change)))
        assert limit.certificate.membership < 1e-3


def cvxpy_limit(X, y, signs, beta0):
    """KL from β₀ over the face of minimisers, which is {Xβ = ŷ, signs·β ≥ 0}."""
    fitted = cp.Variable(X.shape[1])
    cp.Problem(cp.Minimize(cp.sum_squares((X * signs) @ fitted - y)), [fitted >= 0]).solve(
        solver=cp.CLARABEL
    )
    b = cp.Variable(X.shape[1])
    constraints = [(X * signs) @ b == (X * signs) @ np.maximum(fitted.value, 0)]
    cp.Problem(cp.Minimize(cp.sum(cp.kl_div(b, np.abs(beta0)))), constraints).solve(
        solver=cp.CLARABEL
    )
    return signs * b.value


@pytest.mark.parametrize("seed", range(8))
def test_against_cvxpy_where_minimisers_are_many(seed):
    """Two columns for each of three directions, one of them out of reach: the KL projection picks
    one of many fits."""
    rng = np.random.default_rng(seed)
    base, signs = rng.uniform(0.2, 1, (3, 3)), rng.choice([-1.0, 1.0], 6)
    X = np.hstack([base, base @ rng.dirichlet(np.ones(3), 3).T]) * signs
    y = base @ np.array([1.0, 0.5, -0.8]) if seed % 2 else base @ np.array([1.0, 0.5, 0.3])
    beta0 = signs * rng.uniform(0.1, 1, 6)
    limit = mirror_limit(half_lines(signs), X, y, beta0)
    assert (limit.stats["infimum"] > 1e-6) == bool(seed % 2)
    # Clarabel's exponential cone, twice
    np.testing.assert_allclose(limit.value, cvxpy_limit(X, y, signs, beta0), atol=2e-4)
    kkt(X, y, limit.value, signs)


@pytest.mark.parametrize("seed", range(5))
def test_end_of_the_flow(seed):
    """The flow stops when F is within 1e-10 of its start's excess; β is then known to about the
    square root of that."""
    rng = np.random.default_rng(seed)
    X, y, signs = (
        rng.standard_normal((4, 6)),
        rng.standard_normal(4),
        np.array([1.0, 1.0, -1.0, -1.0, 1.0, 0.0]),
    )
    beta0 = signs * rng.uniform(0.3, 1, 6)
    limit = mirror_limit(half_lines(signs), X, y, beta0)
    flow = mirror_flow(half_lines(signs), X, y, beta0)
    assert flow.result in (bf.Result.INFEASIBLE, bf.Result.CONVERGED)
    assert flow.loss[-1] == pytest.approx(limit.stats["infimum"], abs=1e-9 * flow.loss[0])
    np.testing.assert_allclose(flow.final, limit.value, atol=2e-4)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (("no", np.eye(2), [1.0, 1.0]), InputError, "potential: expected Potential, found str"),
        ((Entropy(), np.eye(2), [1.0]), InputError, r"y: expected shape \(2,\)"),
        ((Entropy(), [[np.nan]], [1.0]), InputError, r"X: entry \(0, 0\) is nan"),
        (
            (Entropy(), np.eye(2), [1.0, 1.0], [1.0]),
            InputError,
            "beta0: expected length 2, found 1",
        ),
        (
            (Hypentropy(0.0), np.eye(2), [1.0, 1.0], [1.0, 0.0]),
            bf.errors.DomainError,
            "beta0: coordinate 1 is zero where alpha is zero",
        ),
        (
            (Entropy(), np.eye(2), [1.0, 1.0], [1.0, -1.0]),
            bf.errors.DomainError,
            "coordinate 1 is -1, outside its half-line",
        ),
        ((Hypentropy(0.0), np.eye(2), [-1.0, 1.0]), bf.errors.DomainError, "zero without a sign"),
    ],
)
def test_bad_input(arguments, error, words):
    with pytest.raises(error, match=words):
        mirror_limit(*arguments)
