"""‖Xᵀ†‖: exact in ℓ2, bracketed in ℓ1 and ℓ∞, infinite below rank n."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

from biasflow.diagnostics import inverse_norm
from biasflow.errors import InputError

SIZES = {
    "l2": np.linalg.norm,
    "l1": lambda v: np.sum(np.abs(v)),
    "linf": lambda v: np.max(np.abs(v)),
}


def vertices(X, norm):
    """All vertices of {u: ‖Xᵀu‖ ≤ 1}: for ℓ1 every sign pattern is a half-space."""
    n, m = X.shape
    if norm == "linf":
        normals = np.vstack([X.T, -X.T])
    else:
        signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * m)).reshape(m, -1).T
        normals = signs @ X.T
    faces = np.hstack([normals, -np.ones((len(normals), 1))])
    return HalfspaceIntersection(faces, np.zeros(n)).intersections


@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), extra=st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_l2_is_one_over_the_least_singular_value(seed, n, extra):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((n, n + extra)), rng.uniform(0.1, 3, n + extra)
    for found, design in (
        (inverse_norm(X), X),
        (inverse_norm(X, weights=weights), X * np.sqrt(weights)),
    ):
        least = np.linalg.svd(design, compute_uv=False)[-1]
        assert found.objective == pytest.approx(1 / least, rel=1e-10)
        certificate = found.certificate
        assert (
            certificate.kind == "exact"
            and certificate.primal <= found.objective <= certificate.dual
        )
        assert np.linalg.norm(found.value) == pytest.approx(found.objective, rel=1e-10)
        assert np.linalg.norm(design.T @ found.value) == pytest.approx(1.0, rel=1e-6)


def test_closed_forms():
    """X = diag(2, ½): u = (0, 2) in every norm. X = I: the corner of the ℓ∞ ball is √n away, the ℓ1
    ball reaches one."""
    for norm in SIZES:
        assert inverse_norm(np.diag([2.0, 0.5])).objective == pytest.approx(2.0)
        assert inverse_norm(np.eye(3), norm).objective == pytest.approx(
            np.sqrt(3) if norm == "linf" else 1.0, rel=1e-8
        )
    assert inverse_norm([[3.0]], "l1").objective == pytest.approx(1 / 3)
    assert inverse_norm(np.eye(2), weights=[4.0, 9.0]).objective == pytest.approx(0.5)


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("n, m", [(2, 2), (2, 6), (3, 5), (4, 6)])
@pytest.mark.parametrize("seed", range(3))
def test_bracket_contains_the_best_vertex(norm, n, m, seed):
    """A convex function has its maximum over a polytope at a vertex, and all are listed here."""
    X = np.random.default_rng(seed).standard_normal((n, m))
    exact = float(np.max(np.linalg.norm(vertices(X, norm), axis=1)))
    found = inverse_norm(X, norm)
    assert SIZES[norm](X.T @ found.value) == pytest.approx(1.0, rel=1e-9)
    assert (
        found.objective == pytest.approx(np.linalg.norm(found.value))
        and found.certificate.kind == "bound"
    )
    assert found.certificate.primal <= exact * (1 + 1e-7) and exact <= found.certificate.dual * (
        1 + 1e-9
    )
    # n ≤ 4: six ascents find the best vertex
    assert found.objective == pytest.approx(exact, rel=1e-6)
    # √(π/2) bounds the relaxation of sign vectors; points on few columns of ℓ∞ lose at most √n
    assert (
        found.certificate.dual
        <= exact * (np.sqrt(np.pi / 2) if norm == "l1" else np.sqrt(n)) * 1.05
    )


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_bracket_contains_random_points(norm):
    """Random search over directions stays below the upper bound, and what is found is at least as
    good."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 15))
    u = rng.standard_normal((20_000, 6))
    sizes = np.sum(np.abs(u @ X), axis=1) if norm == "l1" else np.max(np.abs(u @ X), axis=1)
    best = float(np.max(np.linalg.norm(u, axis=1) / sizes))
    found = inverse_norm(X, norm)
    assert best <= found.objective <= found.certificate.dual


def test_norms_are_ordered_as_the_balls_are():
    """‖v‖_∞ ≤ ‖v‖₂ ≤ ‖v‖₁ ≤ √m·‖v‖₂: the operator norms the other way."""
    X = np.random.default_rng(1).standard_normal((4, 9))
    l2, l1, linf = (inverse_norm(X, norm) for norm in ("l2", "l1", "linf"))
    assert (
        l1.objective <= l2.objective <= linf.certificate.dual and linf.objective <= 3 * l2.objective
    )
    assert l2.objective <= 3 * l1.certificate.dual and linf.objective >= l2.objective * (1 - 1e-9)


def test_scales_and_keys():
    X = np.random.default_rng(2).standard_normal((3, 7))
    for norm in SIZES:
        base = inverse_norm(X, norm)
        for c in (1e-8, 1e8):
            scaled = inverse_norm(c * X, norm)
            assert c * scaled.objective == pytest.approx(base.objective, rel=1e-6)
            assert c * scaled.certificate.dual == pytest.approx(base.certificate.dual, rel=1e-6)
        assert inverse_norm(X, norm, key=5).objective == pytest.approx(
            inverse_norm(X, norm, key=5).objective, rel=0
        )
        assert inverse_norm(X, norm, restarts=1).objective <= base.certificate.dual


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize(
    "X",
    [np.ones((2, 5)), np.ones((3, 2)), np.zeros((2, 3)), np.vstack([np.eye(3), np.ones((1, 3))])],
    ids=["equal rows", "fewer columns", "zero", "tall"],
)
def test_infinite_below_rank_n(X, norm):
    found = inverse_norm(X, norm)
    assert found.objective == np.inf and found.certificate.dual == np.inf
    # in the kernel
    assert (
        np.linalg.norm(found.value) == pytest.approx(1.0)
        and np.max(np.abs(X.T @ found.value)) < 1e-14
    )


def test_vanishing_weights_lower_the_rank():
    assert inverse_norm(np.eye(2), weights=[1.0, 0.0]).objective == np.inf
    assert inverse_norm([[1.0, 2.0]], weights=[1.0, 0.0]).objective == pytest.approx(1.0)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: inverse_norm([1.0, 2.0]), "X: expected a non-empty matrix"),
        (lambda: inverse_norm([[np.inf, 1.0]]), r"X: entry \(0, 0\) is inf"),
        (
            lambda: inverse_norm(np.eye(2), "l3"),
            "norm: expected one of 'l2', 'l1', 'linf', found 'l3'",
        ),
        (
            lambda: inverse_norm(np.eye(2), "l1", weights=[1.0, 1.0]),
            "weights: used with norm='l2' only",
        ),
        (lambda: inverse_norm(np.eye(2), weights=[1.0]), "weights: expected length 2, found 1"),
        (
            lambda: inverse_norm(np.eye(2), weights=[1.0, -1.0]),
            "weights: expected numbers of at least zero, found -1",
        ),
        (
            lambda: inverse_norm(np.eye(2), "l1", restarts=0),
            "starts: expected an integer of at least 1",
        ),
        (lambda: inverse_norm(np.eye(2), "l1", key=-1), "key: expected an integer of at least 0"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("least", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_ill_conditioned_designs_keep_a_true_bracket(least, norm):
    """X = U·diag(1, ½, s)·V: in singular coordinates the ball is the same for every s, and the norm
    tends to max|s₃|/s."""
    rng = np.random.default_rng(0)
    U, V = (
        np.linalg.qr(rng.standard_normal((3, 3)))[0],
        np.linalg.qr(rng.standard_normal((8, 8)))[0][:3],
    )
    found = inverse_norm(U @ np.diag([1.0, 0.5, least]) @ V, norm)
    if norm == "linf":
        A, b = np.vstack([V.T, -V.T]), np.ones(16)
        reach = linprog([0.0, 0.0, -1.0], A_ub=A, b_ub=b, bounds=(None, None)).x[2]
    else:
        A = np.block([[V.T, -np.eye(8)], [-V.T, -np.eye(8)], [np.zeros((1, 3)), np.ones((1, 8))]])
        reach = linprog(
            [0.0, 0.0, -1.0] + [0.0] * 8, A_ub=A, b_ub=[0.0] * 16 + [1.0], bounds=(None, None)
        ).x[2]
    assert found.certificate.dual >= reach / least * (1 - 1e-4)
    assert found.objective == pytest.approx(reach / least, rel=1e-4)
