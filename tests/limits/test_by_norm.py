import cvxpy as cp
import numpy as np
import pytest

import biasflow as bf

RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((5, 9)), RNG.standard_normal(5)
PLANE = np.array([[1.0, 0.2], [0.8, -0.5], [-1.0, 0.4], [-0.7, -0.9]])
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
K = PLANE @ PLANE.T + 0.3 * np.eye(4)


@pytest.mark.parametrize(
    ("norm", "solve"),
    [("l1", bf.limits.min_l1), ("l2", bf.limits.min_l2), ("relu", bf.limits.min_norm_interpolator)],
)
def test_least_norms_are_those_of_their_functions(norm, solve):
    for found in (bf.min_norm(X, Y, norm=norm), bf.min_norm(bf.Dataset(X, Y), norm=norm)):
        assert (
            found.objective == solve(X, Y).objective
            and found.certificate == solve(X, Y).certificate
        )


def test_least_norms_of_kernels_and_matrices():
    assert np.array_equal(
        bf.min_norm(PLANE, SIGNS, norm=K).value, bf.limits.kernel_interpolator(K, SIGNS).value
    )
    entries = (3, 2), [0, 1, 2], [0, 0, 1], [1.0, 2.0, 3.0]
    data = bf.data.from_entries(*entries)
    assert (
        bf.min_norm(data, norm="nuclear", shape=(3, 2)).objective
        == bf.limits.min_nuclear_norm(*entries).objective
    )
    assert bf.min_norm(data, norm="frobenius", shape=(3, 2)).objective == pytest.approx(14**0.5)


@pytest.mark.parametrize("order", [1, 2])
def test_linear_margins_against_a_cone_program(order):
    beta, gamma = cp.Variable(2), cp.Variable()
    program = cp.Problem(
        cp.Maximize(gamma), [cp.multiply(SIGNS, PLANE @ beta) >= gamma, cp.norm(beta, order) <= 1]
    )
    program.solve(solver="CLARABEL")
    found = bf.max_margin(PLANE, SIGNS, norm=f"l{order}")
    assert found.objective == pytest.approx(program.value, abs=1e-6)
    assert found.certificate.primal <= found.certificate.dual
    assert np.linalg.norm(found.value, order) == pytest.approx(1.0)
    assert np.min(SIGNS * (PLANE @ found.value)) == pytest.approx(found.objective)


def test_margins_are_those_of_their_functions():
    assert (
        bf.max_margin(PLANE, SIGNS, norm="f2").objective
        == bf.limits.f2_max_margin(PLANE, SIGNS).objective
    )
    assert (
        bf.max_margin(bf.Dataset(PLANE, SIGNS), norm=K).objective
        == bf.limits.kernel_max_margin(K, SIGNS).objective
    )
    assert (
        bf.max_margin(PLANE, SIGNS, norm="f1", gap=1e-6).objective
        == bf.limits.f1_max_margin(PLANE, SIGNS, gap=1e-6).objective
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bf.min_norm(X, Y, norm="l3"), "norm"),
        (lambda: bf.min_norm(X, norm="l1"), "needs labels"),
        (lambda: bf.min_norm(bf.Dataset(X, Y), Y, norm="l1"), "a Dataset alone"),
        (lambda: bf.min_norm(X, Y, norm=np.eye(4)), r"\(5, 5\)"),
        (lambda: bf.min_norm(X, Y, norm="nuclear"), "shape"),
        (lambda: bf.max_margin(X, Y, norm="l2"), "±1"),
        (lambda: bf.max_margin(PLANE, SIGNS, norm="f3"), "norm"),
    ],
)
def test_what_cannot_be_answered_is_said(call, words):
    with pytest.raises(bf.errors.BiasflowError, match=words):
        call()
