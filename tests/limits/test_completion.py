"""Completions of least norm: certificates checked by hand, cvxpy as the witness."""

import cvxpy as cp
import numpy as np
import pytest

import biasflow as bf

EPS = float(np.finfo(float).eps)


def entries_of(key, shape=(10, 10), rank=1, observed=60):
    ds = bf.data.completion(shape, rank, observed, key=key)
    return bf.data.observed_entries(ds, shape), ds.truth.reshape(shape)


def prove(limit, entries):
    """The proof, from scratch: M fits, ‖Λ‖_op ≤ 1 with Λ zero off the entries, ‖M‖_* − ⟨y, λ⟩ is
    the gap."""
    rows, cols, values = entries
    multiplier = limit.stats["multiplier"].copy()
    np.testing.assert_array_equal(limit.value[rows, cols], values)
    dual = float(values @ multiplier[rows, cols])
    assert np.linalg.norm(multiplier, 2) <= 1 + 10 * EPS
    multiplier[rows, cols] = 0
    assert not np.any(multiplier)
    primal = np.linalg.norm(limit.value, "nuc")
    assert limit.objective == pytest.approx(primal, rel=1e-13)
    assert limit.certificate.primal == pytest.approx(primal, rel=1e-13)
    assert limit.certificate.dual == pytest.approx(dual, rel=1e-13)
    assert dual <= primal * (1 + 10 * EPS)
    return (primal - dual) / primal


@pytest.mark.parametrize("key", range(8))
def test_certificate(key):
    entries, truth = entries_of(key)
    limit = bf.limits.min_nuclear_norm((10, 10), *entries)
    assert prove(limit, entries) <= 1e-10
    assert limit.objective <= np.linalg.norm(truth, "nuc") * (1 + 1e-12)
    assert limit.stats["unique"]


@pytest.mark.parametrize(
    "shape, rank, observed",
    [((10, 10), 2, 60), ((4, 7), 1, 15), ((7, 4), 1, 15), ((12, 12), 3, 90)],
)
def test_other_shapes_and_ranks(shape, rank, observed):
    entries, _ = entries_of(0, shape, rank, observed)
    assert prove(bf.limits.min_nuclear_norm(shape, *entries), entries) <= 1e-7


@pytest.mark.parametrize(
    "key, shape, observed", [(0, (6, 6), 20), (2, (10, 10), 60), (4, (5, 8), 12)]
)
def test_against_cvxpy(key, shape, observed):
    entries, _ = entries_of(key, shape, 1, observed)
    limit = bf.limits.min_nuclear_norm(shape, *entries)
    M = cp.Variable(shape)
    program = cp.Problem(
        cp.Minimize(cp.normNuc(M)), [M[entries.rows, entries.cols] == entries.values]
    )
    program.solve(solver="CLARABEL")
    assert limit.objective == pytest.approx(program.value, rel=1e-6)  # Clarabel stops at 1e-8
    if limit.stats["unique"]:
        # its M is known to the root of its gap only
        np.testing.assert_allclose(limit.value, M.value, atol=1e-3)


def test_often_it_is_not_the_planted_matrix():
    """Of rank-one matrices with 60 of 100 entries observed, nearly half have a completion of
    smaller nuclear norm, provably."""
    smaller = 0
    for key in range(20):
        entries, truth = entries_of(key)
        limit = bf.limits.min_nuclear_norm((10, 10), *entries)
        away = np.linalg.norm(limit.value - truth) > 1e-6 * np.linalg.norm(truth)
        assert away == (np.linalg.norm(truth, "nuc") > limit.certificate.primal * (1 + 1e-9))
        smaller += away
    assert 4 <= smaller <= 14  # 19 of the first 40; 8.5 ± 2.2 expected of 20


def test_a_two_by_two_by_hand():
    """[[1, ·], [1, 1]] has the completion of ones; [[1, ·], [0, 1]] fills in zero, with nuclear
    norm two."""
    ones = bf.limits.min_nuclear_norm((2, 2), [0, 1, 1], [0, 0, 1], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(ones.value, np.ones((2, 2)), atol=1e-6)
    assert ones.objective == pytest.approx(2.0, abs=1e-9)
    identity = bf.limits.min_nuclear_norm((2, 2), [0, 1, 1], [0, 0, 1], [1.0, 0.0, 1.0])
    np.testing.assert_allclose(identity.value, np.eye(2), atol=1e-6)
    assert identity.objective == pytest.approx(2.0, abs=1e-9)


def test_a_diagonal_has_many_minimisers():
    limit = bf.limits.min_nuclear_norm(
        (2, 2), [0, 1], [0, 1], [1.0, 1.0]
    )  # [[1, c], [c, 1]] for |c| ≤ 1
    assert limit.objective == pytest.approx(2.0, rel=1e-9) and not limit.stats["unique"]


def test_everything_observed():
    _, truth = entries_of(1, (4, 4), 2, 3)
    i, j = np.divmod(np.arange(16), 4)
    limit = bf.limits.min_nuclear_norm((4, 4), i, j, truth[i, j])
    np.testing.assert_array_equal(limit.value, truth)
    assert limit.certificate.gap <= 1e-8


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales_with_the_values(scale):
    entries, _ = entries_of(2)
    reference = bf.limits.min_nuclear_norm((10, 10), *entries)
    limit = bf.limits.min_nuclear_norm((10, 10), entries.rows, entries.cols, scale * entries.values)
    np.testing.assert_allclose(limit.value / scale, reference.value, atol=1e-9)


def test_zero_values():
    limit = bf.limits.min_nuclear_norm((2, 3), [0, 1], [0, 2], [0.0, 0.0])
    assert not np.any(limit.value) and limit.objective == 0 and limit.certificate.gap == 0
    assert bf.limits.min_frobenius_norm((2, 3), [0], [0], [0.0]).objective == 0


def test_least_frobenius_norm_is_min_l2_of_the_indicators():
    ds = bf.data.completion((5, 6), 1, 12, key=3)
    entries = bf.data.observed_entries(ds, (5, 6))
    limit, least = bf.limits.min_frobenius_norm((5, 6), *entries), bf.limits.min_l2(ds.X, ds.y)
    np.testing.assert_allclose(limit.value.ravel(), least.value, atol=1e-15)
    assert limit.objective == pytest.approx(least.objective, rel=1e-14)
    assert limit.certificate.gap <= 1e-14 and limit.certificate.kind == "closed-form"
    model = bf.MatrixFactorisation((5, 6), 12)
    kernel = bf.limits.tangent_kernel_limit(model, ds, model.init(0.3))
    np.testing.assert_allclose(kernel.value, limit.value, atol=1e-14)
