import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

import biasflow as bf
from biasflow.errors import InputError
from biasflow.limits import min_l1, min_l2

EPS = float(np.finfo(float).eps)


def problem(seed, n=8, d=25):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(5))
def test_least_l2_against_the_pseudo_inverse(seed):
    X, y = problem(seed)
    limit = min_l2(X, y)
    expected = np.linalg.pinv(X) @ y
    tolerance = 100 * EPS * np.linalg.cond(X) ** 2  # normal equations, refined once
    np.testing.assert_allclose(limit.value, expected, atol=tolerance)
    assert limit.objective == pytest.approx(np.linalg.norm(expected), rel=tolerance)
    assert limit.certificate.gap <= tolerance and limit.certificate.residual <= tolerance
    assert limit.certificate.kind == "closed-form" and limit.stats["rank"] == 8
    np.testing.assert_allclose(X.T @ limit.stats["nu"], limit.value, atol=tolerance)


def test_least_l2_of_dependent_and_badly_scaled_rows():
    X, y = problem(7)
    mixing = np.vstack(
        [np.diag(10.0 ** np.linspace(-5, 5, 8)), np.random.default_rng(0).standard_normal((3, 8))]
    )
    limit = min_l2(mixing @ X, mixing @ y)
    assert limit.stats["rank"] == 8
    np.testing.assert_allclose(limit.value, np.linalg.pinv(X) @ y, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_least_l1_against_linear_programming(seed):
    X, y = problem(seed)
    limit = min_l1(X, y)
    b, bound = cp.Variable(25), np.full(50, 1.0)
    cone = cp.Problem(cp.Minimize(cp.norm1(b)), [X @ b == y])
    cone.solve(solver="CLARABEL")
    assert limit.objective == pytest.approx(cone.value, rel=1e-6)  # Clarabel stops at 1e-8
    program = linprog(bound, A_eq=np.hstack([X, -X]), b_eq=y, method="highs-ds")
    assert limit.objective == pytest.approx(program.fun, rel=1e-9)
    # the proof: Xβ = y, ‖Xᵀν‖_∞ ≤ 1, ⟨y, ν⟩ = ‖β‖₁
    assert limit.certificate.residual <= 1e-13
    nu = limit.stats["nu"]
    assert np.max(np.abs(X.T @ nu)) <= 1 + 1e-12
    assert y @ nu == pytest.approx(limit.objective, rel=1e-10)
    assert (
        limit.certificate.gap <= 1e-10
        and limit.certificate.dual <= limit.certificate.primal + 1e-12
    )
    assert limit.stats["unique"] and limit.stats["support"].size <= 8
    assert np.count_nonzero(limit.value) == limit.stats["support"].size


def test_least_l1_recovers_a_planted_sparse_vector():
    X, _ = problem(3, n=20, d=40)
    truth = np.zeros(40)
    truth[[3, 17]] = [2.0, -1.0]
    limit = min_l1(X, X @ truth)
    np.testing.assert_allclose(limit.value, truth, atol=1e-13)
    assert list(limit.stats["support"]) == [3, 17]


def test_least_l1_says_when_the_minimiser_is_not_unique():
    limit = min_l1([[1.0, 1.0]], [1.0])
    assert limit.objective == pytest.approx(1.0) and not limit.stats["unique"]
    assert min_l1([[1.0, 0.5]], [1.0]).stats["unique"]


def test_small_and_large_labels():
    X, y = problem(11)
    reference = min_l1(X, y)
    for scale in (1e-12, 1e12):
        limit = min_l1(X, scale * y)
        np.testing.assert_allclose(limit.value / scale, reference.value, atol=1e-9)
        np.testing.assert_allclose(
            min_l2(X, scale * y).value / scale, min_l2(X, y).value, atol=1e-12
        )


@pytest.mark.parametrize("function", [min_l1, min_l2])
def test_zero_labels_and_no_constraint(function):
    assert not np.any(function(problem(1)[0], np.zeros(8)).value)
    assert function(problem(1)[0], np.zeros(8)).objective == 0.0
    assert not np.any(function(np.zeros((2, 3)), np.zeros(2)).value)


@pytest.mark.parametrize("function", [min_l1, min_l2])
@pytest.mark.parametrize(
    "X, y, words",
    [
        ([[np.nan, 1.0]], [1.0], ("X", "nan")),
        ([[1.0, 1.0]], [np.inf], ("y", "inf")),
        ([1.0, 1.0], [1.0], ("X", "matrix")),
        ([[1.0, 1.0]], [1.0, 2.0], ("y", "(1,)")),
        ([[1j, 1.0]], [1.0], ("X", "complex")),
    ],
)
def test_bad_input(function, X, y, words):
    with pytest.raises(InputError) as caught:
        function(X, y)
    assert str(caught.value).startswith(words[0])
    assert all(word in str(caught.value) for word in words)


def test_wide_brackets_are_called_so_and_rows_that_were_left_out_are_named():
    """β = (1, 1) solves both, of ℓ1 norm 2 and ℓ2 norm √2; the rows are 2^-46 and 2^-52 apart."""
    for apart, kinds in ((2.0**-20, ("exact", "closed-form")), (2.0**-46, ("bound", "bound"))):
        X, y = [[1.0, 0.0], [1.0, apart]], [1.0, 1.0 + apart]
        for solve, truth, kind in zip(
            (bf.limits.min_l1, bf.limits.min_l2), (2.0, 2.0**0.5), kinds, strict=True
        ):
            certificate = solve(X, y).certificate
            assert certificate.kind == kind and certificate.dual <= truth <= certificate.primal
    for solve in (bf.limits.min_l1, bf.limits.min_l2):
        assert (
            "up to rounding"
            in solve([[1.0, 0.0], [1.0, 2.0**-52]], [1.0, 1.0 + 2.0**-52]).stats["note"]
        )


def test_what_only_floats_cannot_solve_is_not_called_unsolvable():
    """Timestamps a minute apart beside a bias: two rows, two unknowns, one solution; and one system
    that has none."""
    X = [[1.7e9, 1.0], [1.7e9 + 60, 1.0]]
    for solve in (bf.limits.min_l1, bf.limits.min_l2):
        with pytest.raises(bf.errors.InconsistentError, match="though not exactly"):
            solve(X, [1.0, 2.0])
        with pytest.raises(bf.errors.InconsistentError, match="no β solves"):
            solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 3.0])
    for solve in (bf.limits.min_l1, bf.limits.min_l2):  # a row given twice: still one solution
        with pytest.raises(bf.errors.InconsistentError, match="though not exactly"):
            solve([*X, X[0]], [1.0, 2.0, 1.0])


def test_residuals_of_small_labels_are_not_zero():
    with pytest.raises(bf.errors.InconsistentError, match=r"residual is 2.24e-171"):
        bf.limits.min_l2([[1.0], [2.0]], [1e-170, 2.5e-170])
