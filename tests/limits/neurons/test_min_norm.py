"""Minimum-norm two-layer ReLU interpolators: closed forms, an independent cone program,
certificates, errors."""

import itertools
import time

import cvxpy as cp
import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.neurons.listed_cells import ArcsOracle, CellsOracle
from biasflow.limits.neurons.patterns import cell_count_bound, cells
from biasflow.limits.neurons.rays import read_samples
from biasflow.limits.neurons.relaxation import relaxed_maximum

FIG2 = (np.array([[-0.5, 1.0], [2.0, 1.0]]), np.array([-1.0, 1.0]))
FIG4 = (
    np.array([[-1.5, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.25, 1.0], [2.0, 1.0]]),
    np.array([0.7, -0.3, -0.3, 0.4, 0.2]),
)


def predict(params, X):
    return np.maximum(X @ params.W.T, 0.0) @ params.a


def with_bias(x):
    return np.stack([x, np.ones_like(x)], axis=1)


def cone_program(X, y):
    """½‖θ‖² by Clarabel: one vector per activation pattern and sign (convex program over all
    patterns, tried by sign vectors)."""
    patterns = [np.array(p, dtype=float) for p in itertools.product([0, 1], repeat=len(y))]
    terms, fit = [], 0
    for active in patterns:
        for sign in (1, -1):
            v = cp.Variable(X.shape[1])
            terms.append((v, active, sign))
            fit = fit + sign * cp.multiply(active, X @ v)
    constraints = [fit == y] + [cp.multiply(2 * active - 1, X @ v) >= 0 for v, active, _ in terms]
    program = cp.Problem(cp.Minimize(sum(cp.norm(v) for v, _, _ in terms)), constraints)
    program.solve(solver="CLARABEL")
    return program.value


def check(limit, X, y, gap=1e-9):
    """The certificate, recomputed: interpolation, balance, the objective, and λ on many neurons."""
    params, proof = limit.value, limit.certificate
    np.testing.assert_allclose(
        predict(params, X), y, atol=1e-11 * max(1.0, np.max(np.abs(y))) * max(1.0, limit.objective)
    )
    np.testing.assert_allclose(np.abs(params.a), np.linalg.norm(params.W, axis=1), rtol=1e-12)
    assert limit.objective == pytest.approx(np.sum(params.a**2) + np.sum(params.W**2), rel=1e-14)
    assert proof.dual <= proof.primal and limit.objective <= proof.primal
    assert proof.primal - proof.dual <= gap * proof.primal
    assert proof.residual <= 1e-11 * max(1.0, limit.objective)
    lam = limit.stats["multipliers"]
    assert proof.dual <= 2 * y @ lam <= proof.dual * (1 + gap)  # rounding was taken off
    u = np.random.default_rng(0).standard_normal((4000, X.shape[1]))
    u = np.vstack(
        [
            u / np.linalg.norm(u, axis=1)[:, None],
            params.W / np.linalg.norm(params.W, axis=1)[:, None],
        ]
    )
    assert np.max(np.abs(np.maximum(u @ X.T, 0.0) @ lam)) <= 1 + 1e-9


def test_two_points_of_figure_two():
    limit = bf.limits.min_norm_interpolator(*FIG2)
    assert limit.objective == pytest.approx(6 / np.sqrt(5), rel=1e-14)
    assert (
        limit.certificate.kind == "closed-form"
        and limit.stats["unique"]
        and limit.value.a.size == 2
    )
    check(limit, *FIG2)


@pytest.mark.parametrize(("n", "d", "seed"), [(4, 4, 0), (6, 9, 1), (5, 5, 2)])
def test_orthonormal_inputs(n, d, seed):
    """B, Proposition 1: 2n(‖D_+‖ + ‖D_−‖), D_± = (1/n)Σ_{±y_k>0} y_kx_k."""
    rng = np.random.default_rng(seed)
    X, y = np.linalg.qr(rng.standard_normal((d, n)))[0].T, rng.standard_normal(n)
    D = [np.where(s * y > 0, y, 0.0) @ X / n for s in (1, -1)]
    limit = bf.limits.min_norm_interpolator(X, y)
    assert limit.objective == pytest.approx(2 * n * sum(np.linalg.norm(v) for v in D), rel=1e-13)
    check(limit, X, y)
    for a, w in zip(limit.value.a, limit.value.W, strict=True):
        along = D[0] if a > 0 else -D[1]
        np.testing.assert_allclose(w / np.linalg.norm(w), along / np.linalg.norm(along), atol=1e-13)


def test_closed_form_and_solver_agree_on_orthogonal_inputs_of_any_length(monkeypatch):
    rng = np.random.default_rng(3)
    X = np.diag([0.1, 1.0, 3.0, 20.0]) @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    y = np.array([1.0, -2.0, 0.0, 3.0])
    closed = bf.limits.min_norm_interpolator(X, y)
    monkeypatch.setattr("biasflow.limits.neurons.least_norm._orthogonal", lambda samples: False)
    solved = bf.limits.min_norm_interpolator(X, y)
    assert (closed.certificate.kind, solved.certificate.kind) == ("closed-form", "exact")
    assert closed.objective == pytest.approx(solved.objective, rel=1e-10)
    assert closed.stats["unique"] and solved.stats["unique"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d"), [(5, 2), (4, 3), (4, 4)])
def test_against_the_cone_program_over_all_patterns(n, d, seed):
    rng = np.random.default_rng([n, d, seed])
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    limit = bf.limits.min_norm_interpolator(X, y)
    # Clarabel stops at 1e-8
    assert limit.objective == pytest.approx(2 * cone_program(X, y), rel=1e-6)
    check(limit, X, y)


def test_five_points_of_figure_four():
    limit = bf.limits.min_norm_interpolator(*FIG4)
    assert limit.objective == pytest.approx(2 * cone_program(*FIG4), rel=1e-6)
    # as first computed, gap 1e-14
    assert limit.objective == pytest.approx(16.4079539116143, rel=1e-12)
    assert limit.stats["method"] == "arcs" and limit.stats["unique"]
    check(limit, *FIG4, gap=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20, 30])
@pytest.mark.parametrize("labels", ["random", "smooth"])
def test_one_dimensional_inputs_with_a_bias(n, labels):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n)
    y = rng.standard_normal(n) if labels == "random" else np.sin(2 * x)
    limit = bf.limits.min_norm_interpolator(with_bias(x), y)
    assert limit.certificate.kind in ("exact", "closed-form") and limit.value.a.size <= n + 1
    check(limit, with_bias(x), y)
    # penalising the bias makes the function unique (Boursier & Flammarion 2023)
    assert limit.stats["unique"]


@pytest.mark.parametrize(("n", "d"), [(12, 3), (10, 4), (8, 5), (7, 20)])
def test_listed_cells(n, d):
    rng = np.random.default_rng([n, d])
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    limit = bf.limits.min_norm_interpolator(X, y)
    assert limit.stats["method"] == "cells" and limit.certificate.kind == "exact"
    check(limit, X, y)
    np.testing.assert_allclose(limit.value.W @ (np.eye(d) - np.linalg.pinv(X) @ X), 0, atol=1e-12)


def test_two_minimisers_are_noticed():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.ones(4)
    limit = bf.limits.min_norm_interpolator(X, y)  # {(1, 1), (−1, −1)} or {(1, −1), (−1, 1)}
    assert limit.objective == pytest.approx(4 * np.sqrt(2), rel=1e-12)
    assert not limit.stats["unique"] and not limit.stats["unique_measure"]
    # only the first fits this
    more = bf.limits.min_norm_interpolator(np.vstack([X, [[1.0, 1.0]]]), np.append(y, 2.0))
    assert more.objective == pytest.approx(4 * np.sqrt(2), rel=1e-12) and more.stats["unique"]


def test_one_function_of_two_measures():
    """Σ_k λ_kx_k = 0: both neurons of a line are tight, and mass moves between them without
    changing h."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((15, 3)), rng.standard_normal(15)
    limit = bf.limits.min_norm_interpolator(X, y)
    np.testing.assert_allclose(X.T @ limit.stats["multipliers"], 0, atol=1e-9)
    assert limit.stats["unique"] and not limit.stats["unique_measure"]


@pytest.mark.parametrize(("n", "d"), [(6, 2), (6, 3)])
def test_invariances(n, d):
    rng = np.random.default_rng([n, d, 7])
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    norm = bf.limits.min_norm_interpolator(X, y).objective
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    lengths, order = 10.0 ** rng.uniform(-2, 2, n), rng.permutation(n)
    embedded = X @ np.linalg.qr(rng.standard_normal((d + 4, d)))[0].T
    for inputs, labels, factor in [
        (X @ rotation, y, 1.0),
        (X, -y, 1.0),
        (X, 1e-6 * y, 1e-6),
        (X, 1e6 * y, 1e6),
        (10.0 * X, y, 0.1),
        (lengths[:, None] * X, lengths * y, 1.0),
        (X[order], y[order], 1.0),
        (np.vstack([X, 2 * X[:1], np.zeros((1, d))]), np.append(y, [2 * y[0], 0.0]), 1.0),
        (embedded, y, 1.0),
    ]:
        assert bf.limits.min_norm_interpolator(inputs, labels).objective == pytest.approx(
            factor * norm, rel=1e-9
        )


def test_zero_labels_and_one_dimension():
    limit = bf.limits.min_norm_interpolator([[1.0, 2.0], [0.0, 0.0]], [0.0, 0.0])
    assert limit.objective == 0.0 and limit.value.W.shape == (0, 2) and limit.certificate.gap == 0
    line = bf.limits.min_norm_interpolator([[1.0], [-2.0], [3.0]], [1.0, 1.0, 3.0])
    assert line.objective == pytest.approx(2 * (1 + 0.5)) and line.stats["unique"]


def test_many_patterns_give_a_bracket():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((16, 16)), rng.standard_normal(16)
    limit = bf.limits.min_norm_interpolator(X, y, time_s=2.0, key=1)
    proof = limit.certificate
    assert limit.stats["method"] == "columns" and limit.stats["unique"] is None
    assert (
        proof.kind == ("exact" if proof.gap <= 1e-9 else "bound") and 0 < proof.dual <= proof.primal
    )
    assert proof.dual >= 0.5 * proof.primal
    np.testing.assert_allclose(predict(limit.value, X), y, atol=1e-9)


def test_the_bracket_contains_the_exact_minimum(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((8, 4)), rng.standard_normal(8)
    exact = bf.limits.min_norm_interpolator(X, y).objective
    monkeypatch.setattr("biasflow.limits.neurons.least_norm.MAX_CELLS", 0)
    bracket = bf.limits.min_norm_interpolator(X, y, time_s=2.0)
    assert bracket.stats["method"] == "columns"
    assert bracket.certificate.dual <= exact * (
        1 + 1e-9
    ) and exact <= bracket.certificate.primal * (1 + 1e-9)
    assert bracket.objective == pytest.approx(exact, rel=1e-3)


def test_faces_prove_what_many_starts_found():
    """Too many cells to list, few enough faces to visit: the relaxation left half of the norm
    open."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((20, 5)), rng.standard_normal(20)
    limit = bf.limits.min_norm_interpolator(X, y)
    assert limit.stats["method"] == "columns" and limit.certificate.kind == "exact"
    check(limit, X, y)


@pytest.mark.parametrize(("n", "d", "seed"), [(6, 3, 0), (7, 4, 1), (5, 6, 2)])
def test_relaxation_bounds_the_exact_oracle(n, d, seed):
    rng = np.random.default_rng(seed)
    samples = read_samples(rng.standard_normal((n, d)), np.ones(n)).directions
    oracle = CellsOracle(samples)
    for lam in (rng.standard_normal(n), np.abs(rng.standard_normal(n))):
        exact = float(np.max(lam @ oracle.maximisers(lam, 1.0).features(samples), initial=0.0))
        assert exact * (1 - 1e-12) <= relaxed_maximum(samples, lam) <= 1.3 * exact


def test_arcs_and_cells_find_the_same_maximum():
    rng = np.random.default_rng(2)
    samples = read_samples(rng.standard_normal((9, 2)), np.ones(9)).directions
    for _ in range(5):
        lam = rng.standard_normal(9)
        values = [
            np.max(lam @ o.maximisers(lam, 1.0).features(samples))
            for o in (ArcsOracle(samples), CellsOracle(samples))
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_cells_of_general_and_special_arrangements():
    rng = np.random.default_rng(4)
    for n, d in [(5, 2), (7, 3), (7, 4), (3, 5)]:
        assert cells(rng.standard_normal((n, min(n, d)))).shape[0] == cell_count_bound(n, min(n, d))
    grid = np.array([[a, b, 1.0] for a in (-1, 0, 1) for b in (-1, 0, 1)])
    w = rng.standard_normal((400_000, 3))
    seen = np.unique(w @ grid.T > 0, axis=0)
    listed = {row.tobytes() for row in cells(grid)}
    assert {row.tobytes() for row in seen} <= listed and len(listed) <= cell_count_bound(9, 3)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0], "samples 0 and 1"),
        ([[1.0, 2.0], [0.0, 1.0], [2.0, 4.0]], [1.0, 5.0, 3.0], "samples 0 and 2"),
        ([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0], "sample 1 has a zero input"),
        (
            [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 1.0], [-1.0, -1.0]],
            [1.0, 0, 1.0, 0, 1.0, 0],
            "opposite inputs",
        ),
    ],
)
def test_labels_that_no_network_fits(X, y, message):
    with pytest.raises(bf.errors.InconsistentError, match=message):
        bf.limits.min_norm_interpolator(X, y)


STAMPS = [[1.7e9, 1.0], [1.7e9 + 60, 1.0]]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (STAMPS, [1.0, 2.0], "directions of samples 0 and 1 apart, though they differ"),
        ([STAMPS[0], [3.4e9, 2.0]], [1.0, 3.0], "positive multiples"),
        # odd labels that are not linear, on pairs of which one is not quite opposite
        (
            [[1, 0], [-1, 1e-13], [0, 1], [0, -1], [1, 1], [-1, -1]],
            [1.0, 0, 1.0, 0, 1.0, 0],
            "floats find no network",
        ),
    ],
)
def test_directions_that_only_floats_cannot_tell_apart(X, y, message):
    """Rationals decide: what is no multiple is not called one, and no labels out of reach that a
    network fits."""
    with pytest.raises(bf.errors.InconsistentError, match=message):
        bf.limits.min_norm_interpolator(X, y)


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        ([[1.0, np.nan]], [1.0], {}, "X: entry"),
        ([[1.0, 2.0]], [1.0, 2.0], {}, "y: expected shape"),
        ([1.0, 2.0], [1.0], {}, "X: expected"),
        ([[1.0]], [1.0], {"gap": -1.0}, "gap"),
        ([[1.0]], [1.0], {"time_s": 0.0}, "time_s"),
        ([[1.0]], [1.0], {"key": -1}, "key"),
    ],
)
def test_malformed_input(X, y, options, message):
    with pytest.raises(bf.errors.InputError, match=message):
        bf.limits.min_norm_interpolator(X, y, **options)


def test_the_time_limit_includes_newtons_steps_and_the_proof():
    """75 inputs in 150 dimensions took three times the limit: neither Newton's method nor the proof
    looked at the clock."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((75, 150)), rng.standard_normal(75)
    started = time.monotonic()
    found = bf.limits.min_norm_interpolator(X, y, time_s=6.0)
    assert time.monotonic() - started <= 8.0
    assert found.certificate.kind == "bound" and found.certificate.residual <= 1e-8
    assert 0 < found.certificate.dual <= found.certificate.primal


def test_inverse_norms_end_in_time():
    X = np.random.default_rng(1).standard_normal((60, 500))
    started = time.monotonic()
    found = bf.diagnostics.inverse_norm(X, "l1", time_s=3.0)
    assert time.monotonic() - started <= 5.0
    assert 0 < found.certificate.primal <= found.certificate.dual < np.inf
    assert np.sum(np.abs(X.T @ found.value)) <= 1 + 1e-9
