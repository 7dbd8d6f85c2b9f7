import itertools
import math

import numpy as np
import pytest

import biasflow as bf
from biasflow.diagnostics import projection_lines
from biasflow.diagnostics.fantope import fantope_bound
from biasflow.diagnostics.projection_cells import projected_bracket
from biasflow.diagnostics.projection_lines import line_bracket


def test_one_pair():
    """One difference δ: Δ_r = ‖δ‖ for every r."""
    for rank in (1, 2, 3):
        limit = bf.diagnostics.interclass_distance([[0.0, 0, 0], [3.0, 0, 4]], [1, -1], rank)
        assert limit.objective == pytest.approx(
            5, rel=1e-4
        ) and limit.certificate.dual == pytest.approx(5, rel=1e-4)


def test_orthogonal_differences():
    """δ = e₁, …, e_d: the sum of the squared lengths of their projections is r, so Δ_r = √(r/d),
    reached by a flat frame."""
    X = np.vstack([np.zeros(4), np.eye(4)])
    for rank in (1, 2, 3):
        limit = bf.diagnostics.interclass_distance(X, [1, -1, -1, -1, -1], rank)
        assert limit.certificate.dual == pytest.approx(np.sqrt(rank / 4), rel=1e-3)
        assert limit.objective == pytest.approx(np.sqrt(rank / 4), rel=1e-2)


def test_brackets_grow_with_rank_and_end_exact():
    ds = bf.data.clusters(40, 5, 3, key=1)
    limits = [bf.diagnostics.interclass_distance(ds.X, ds.y, rank) for rank in range(1, 6)]
    for small, large in itertools.pairwise(limits):
        assert (
            small.objective <= large.certificate.dual and small.objective <= small.certificate.dual
        )
    assert limits[-1].certificate.kind == "exact" and limits[-1].certificate.gap <= 1e-14
    full = min(np.linalg.norm(a - b) for a in ds.X[ds.y > 0] for b in ds.X[ds.y < 0])
    assert limits[-1].objective == pytest.approx(full, rel=1e-12)
    frame = limits[1].value
    np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-12)
    i, j = limits[1].stats["pair"]
    assert ds.y[i] != ds.y[j] and np.linalg.norm((ds.X[i] - ds.X[j]) @ frame) == pytest.approx(
        limits[1].objective
    )


def test_relaxation_against_clarabel():
    import cvxpy as cp

    differences = np.random.default_rng(0).standard_normal((300, 5))
    P, t = cp.Variable((5, 5), symmetric=True), cp.Variable()
    rows = np.einsum("ki,kj->kij", differences, differences).reshape(300, -1)
    problem = cp.Problem(
        cp.Maximize(t),
        [rows @ cp.vec(P, order="C") >= t, P >> 0, np.eye(5) - P >> 0, cp.trace(P) == 2],
    )
    problem.solve(solver=cp.CLARABEL)
    upper, found, gap = fantope_bound(differences, 2, 1e-4)
    assert (
        gap <= 1e-4
        and upper >= float(t.value) - 1e-7
        and upper == pytest.approx(float(t.value), rel=2e-4)
    )
    assert np.trace(found) == pytest.approx(2)


def spread(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), np.where(np.arange(n) % 2 == 0, 1, -1)


@pytest.mark.parametrize("seed", range(4))
def test_lines_of_the_plane_are_exact(seed):
    """The relaxation left up to 2.7 times. Between two angles at which a pair is orthogonal to the
    line signs are fixed, and the best line is where two pairs are equal or one is along it."""
    X, y = spread(14, 2, seed)
    limit = bf.diagnostics.interclass_distance(X, y, 1)
    assert limit.certificate.kind == "exact"
    δ = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, 2)
    both = np.vstack([δ[:, None] - δ[None], δ[:, None] + δ[None]]).reshape(-1, 2)
    lines = np.vstack([δ, both[:, ::-1] * [1, -1]])
    lines = lines[np.linalg.norm(lines, axis=1) > 0]
    lines /= np.linalg.norm(lines, axis=1)[:, None]
    truth = np.max(np.min(np.abs(lines @ δ.T), axis=1))
    assert limit.certificate.primal <= truth * (1 + 1e-12)
    assert truth <= limit.certificate.dual * (1 + 1e-15)
    assert limit.objective == pytest.approx(truth, rel=2e-11)


@pytest.mark.parametrize("d, rank", [(3, 1), (3, 2), (4, 1), (4, 2), (4, 3)])
def test_few_dimensions_have_narrow_brackets(d, rank):
    X, y = spread(14, d, d + rank)
    limit = bf.diagnostics.interclass_distance(X, y, rank)
    low, high = limit.certificate.primal, limit.certificate.dual
    assert low <= high <= 1.25 * low
    δ = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, d)
    assert np.min(np.linalg.norm(δ @ limit.value, axis=1)) == pytest.approx(low, rel=1e-10)
    frames = np.linalg.qr(np.random.default_rng(0).standard_normal((20_000, d, rank)))[0]
    reached = np.min(np.linalg.norm(np.einsum("kd,mdr->mkr", δ, frames), axis=2), axis=1)
    assert np.max(reached) <= high


@pytest.mark.parametrize("d", [2, 3, 4])
def test_signs_and_cells_agree_on_lines(d):
    """Two ways to divide lines; of the plane, to rounding."""
    X, y = spread(14, d, d)
    δ = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, d)
    gap = 1e-11 if d == 2 else 1e-3
    cells, signs = projected_bracket(δ, 1, 0.0, gap), line_bracket(δ, 0.0, gap)
    assert signs.lower <= signs.upper <= signs.lower * (1 + 2 * gap)
    assert cells.lower <= signs.upper and signs.lower <= cells.upper
    assert np.min(np.abs(δ @ signs.frame)) == pytest.approx(signs.lower, rel=1e-12)


@pytest.mark.parametrize("nodes", [1, 7, 100])
def test_an_ended_search_over_signs_is_a_bound(nodes, monkeypatch):
    """Whatever is left open: no line found with more time is above."""
    X, y = spread(30, 4, 3)
    δ = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, 4)
    best = line_bracket(δ, 0.0, 1e-4)
    assert best.upper <= best.lower * (1 + 2e-4)
    monkeypatch.setattr(projection_lines, "MOST_NODES", nodes)
    early = line_bracket(δ, 0.0, 1e-4)
    assert early.lower <= best.upper and best.lower <= early.upper
    assert early.upper > 1.01 * early.lower


def test_lines_among_nine_hundred_pairs_have_narrow_brackets():
    """Cells left 2.1 times."""
    data = bf.data.clusters(60, 4, 3, key=1)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    proof = bf.diagnostics.interclass_distance(X, data.y, 1, restarts=2).certificate
    assert proof.primal <= proof.dual <= 1.001 * proof.primal


def test_wide_inputs_are_bounded_too():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 60)), np.repeat([1.0, -1.0], 12)
    limit = bf.diagnostics.interclass_distance(X, y, 2, restarts=2)
    assert 0 < limit.objective <= limit.certificate.dual and limit.certificate.kind == "bound"


@pytest.mark.parametrize(
    "X, y, rank, words",
    [
        ([[0.0], [1.0]], [1, 1], 1, ("y", "one class")),
        ([[0.0], [1.0]], [1, -1], 2, ("rank", "exceeds the dimension 1")),
        ([[0.0], [1.0]], [1, -1], 0, ("rank", "at least 1")),
        ([[0.0], [1.0]], [1, 3], 1, ("y", "±1")),
    ],
)
def test_bad_input(X, y, rank, words):
    with pytest.raises(bf.errors.InputError) as caught:
        bf.diagnostics.interclass_distance(X, y, rank)
    assert str(caught.value).startswith(words[0]) and all(
        word in str(caught.value) for word in words
    )


def test_equal_points_have_distance_zero():
    limit = bf.diagnostics.interclass_distance([[1.0, 0.0], [1.0, 0.0]], [1, -1], 1)
    assert limit.objective == 0 and limit.certificate.dual == 0


class TestMarginBound:
    X = np.array([[0.6, 0.8], [0.0, 0.5]])

    def test_by_hand(self):
        bound = bf.diagnostics.margin_bound(self.X, 0.1, 0.1)
        assert bound.complexity == pytest.approx(
            4 * np.sqrt(2 / 2) / 0.1
        ) and bound.supremum == pytest.approx(np.sqrt(2) / 2)
        assert bound.union == pytest.approx(np.sqrt(np.log(np.log2(4 * np.sqrt(0.5) / 0.1)) / 2))
        assert bound.confidence == pytest.approx(np.sqrt(np.log(10) / 4))
        assert (
            bound.value == pytest.approx(bound.complexity + bound.union + bound.confidence)
            and bound.vacuous
        )
        assert bf.diagnostics.margin_bound(self.X, 0.1, space="F2").rademacher == pytest.approx(
            np.sqrt(2 / (6 * 2))
        )
        assert bf.diagnostics.margin_bound(
            self.X, 0.1, rademacher=1e-3
        ).complexity == pytest.approx(0.04)

    def test_rademacher_bounds(self):
        """E sup over the unit ball of |Σε_if(x_i)|/n, the supremum found exactly for each of 200
        draws of signs."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (12, 2))
        one = bf.models.Particles(np.eye(3), np.ones(3), np.zeros(3))
        draws = [
            bf.limits.margin_certificate(
                one, X, rng.choice([-1.0, 1.0], 12), weights=np.ones(12)
            ).upper
            for _ in range(200)
        ]
        assert np.mean(draws) <= bf.diagnostics.margin_bound(X, 0.01).rademacher

    @pytest.mark.parametrize(
        "arguments, words",
        [
            ({"margin": 0.0}, ("margin", "positive")),
            ({"margin": 5.0}, ("margin", "exceeds")),
            ({"margin": 0.1, "delta": 1.5}, ("delta", "(0, 1)")),
            ({"margin": 0.1, "radius": 0.5}, ("radius", "norm 1")),
            ({"margin": 0.1, "space": "F3"}, ("space", "'F1'")),
        ],
    )
    def test_bad_input(self, arguments, words):
        with pytest.raises(bf.errors.InputError) as caught:
            bf.diagnostics.margin_bound(self.X, **arguments)
        assert str(caught.value).startswith(words[0]) and all(
            word in str(caught.value) for word in words
        )


@pytest.mark.parametrize(
    ("X", "labels", "rank", "distance"),
    [
        ([[1e200, 1e-200], [1e200, -1e-200]], [1, -1], 1, 2e-200),
        ([[1e200, 1e-200], [1e200, -1e-200]], [1, -1], 2, 2e-200),
        ([[1e150, 3e-170], [1e150, 0.0]], [1, -1], 1, 3e-170),
        ([[0.0, 0.0], [1e-156, 0.0], [1.0, 1.0]], [1, -1, -1], 2, 1e-156),
        ([[0.5e308, 0.2e308, 0.0], [-0.5e308, 0.0, 0.0]], [1, -1], 3, math.hypot(1e308, 0.2e308)),
    ],
)
def test_the_ends_of_float_range_are_in_the_bracket(X, labels, rank, distance):
    """Scaling before subtracting lost small columns beside large offsets: [0, 0], called exact."""
    found = bf.diagnostics.interclass_distance(X, labels, rank)
    assert found.lower <= distance * (1 + 1e-15) and distance * (1 - 1e-15) <= found.upper


@pytest.mark.parametrize(
    "X",
    [
        [[0.0, 0.0], [1e-158, 0.0], [1.0, 0.0]],
        [[0.0, 0.0], [1e-200, 0.0], [1e200, 0.0]],
    ],
)
def test_pairs_too_close_beside_others_are_refused_in_words(X):
    with pytest.raises(bf.errors.InputError, match="X: "):
        bf.diagnostics.interclass_distance(X, [1, -1, -1], 1)


def test_a_distance_beyond_floats_has_a_finite_lower_bound():
    found = bf.diagnostics.interclass_distance([[1e308, 0.0], [-1e308, 0.0]], [1, -1], 1)
    assert np.isfinite(found.lower) and found.upper == np.inf and found.kind == "bound"
