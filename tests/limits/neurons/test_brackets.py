"""Properties of the brackets: invariance, nesting, budgets, determinism; the exact search against
random neurons."""

import time

import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.neurons import cone_bounds, cone_branching
from biasflow.limits.neurons.best_neuron import SearchOracle
from biasflow.limits.neurons.columns import no_neurons


def search(rows, signed, rng, effort, restarts=60):
    return SearchOracle(rows / 2, rng, restarts).search(
        signed, no_neurons(rows.shape[1]), 0.0, effort, restarts
    )


def rotation(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


@pytest.fixture(scope="module")
def plane():
    ds = bf.data.clusters(40, 2, 3, key=1)
    return ds, bf.limits.f1_max_margin(ds.X, ds.y)


class TestExactSearch:
    @pytest.mark.parametrize("n, d", [(9, 1), (25, 2), (14, 3), (9, 4), (3, 4), (2, 2), (1, 3)])
    def test_no_random_neuron_is_better(self, n, d):
        rng = np.random.default_rng(n + d)
        rows = np.hstack([rng.uniform(-1, 1, (n, d)), np.ones((n, 1))])
        signed = rng.dirichlet(np.ones(n)) * rng.choice([-1, 1], n)
        answer = search(rows, signed, rng, np.inf)
        u = rng.standard_normal((200_000, d + 1))
        u = np.vstack([u / np.linalg.norm(u, axis=1)[:, None], answer.neurons.u])
        values = 0.5 * np.maximum(u @ rows.T, 0) @ signed
        assert answer.kind == "exact"
        assert np.max(np.abs(values)) <= answer.maximum * (1 + 1e-12)
        np.testing.assert_allclose(answer.neurons.s * values[200_000:], answer.values, atol=1e-13)
        assert np.max(answer.values) == pytest.approx(answer.maximum, rel=1e-11)

    @pytest.mark.parametrize("d", [2, 3])
    def test_points_in_special_position(self, d):
        """A lattice: many hyperplanes through one point, collinear triples. The climbing search
        never beats the exact one."""
        grid = np.stack(np.meshgrid(*[np.arange(3.0)] * d), axis=-1).reshape(-1, d)[:14]
        rng = np.random.default_rng(0)
        rows, signed = (
            np.hstack([grid, np.ones((len(grid), 1))]),
            rng.dirichlet(np.ones(len(grid))) * rng.choice([-1, 1], len(grid)),
        )
        exact = search(rows, signed, rng, np.inf)
        climbed = search(rows, signed, rng, 0.0, 300)
        assert climbed.kind == "heuristic" and climbed.maximum <= exact.maximum * (1 + 1e-12)
        assert climbed.maximum >= exact.maximum * (1 - 1e-6)

    def test_equal_maxima(self):
        """Regular polygon, one class: every neuron that sees all points gives the same; the
        candidates overflow their room."""
        angles = 2 * np.pi * np.arange(60) / 60
        rows = np.column_stack([np.cos(angles), np.sin(angles), np.ones(60)])
        answer = search(rows, np.full(60, 1 / 60), np.random.default_rng(0), np.inf)
        assert answer.maximum == pytest.approx(0.5, rel=1e-12)


class TestInvariance:
    def test_rotation_order_and_copies(self, plane):
        ds, limit = plane
        order = np.random.default_rng(0).permutation(ds.n)
        for X, y in (
            (ds.X @ rotation(2), ds.y),
            (ds.X, -ds.y),
            (ds.X[order], ds.y[order]),
            (np.vstack([ds.X, ds.X[:5]]), np.append(ds.y, ds.y[:5])),
            (np.hstack([ds.X, np.zeros((ds.n, 2))]), ds.y),
        ):
            other = bf.limits.f1_max_margin(X, y)
            assert other.certificate.kind == "exact"
            assert other.objective == pytest.approx(limit.objective, rel=2e-9)
            assert other.stats["weights"].shape == (len(y),) and np.sum(
                other.stats["weights"]
            ) == pytest.approx(1)

    def test_more_samples_less_margin(self, plane):
        ds, limit = plane
        part = bf.limits.f1_max_margin(ds.X[:20], ds.y[:20])
        assert part.certificate.dual >= limit.objective

    def test_sizes(self):
        """Inputs of size 1e-5 or 1e5: gaps are relative. Far away the bias does not matter: γ₁
        scales with the inputs."""
        ds = bf.data.clusters(15, 2, 2, key=3)
        values = {}
        for size in (1e-5, 1.0, 1e5, 1e6):
            limit = bf.limits.f1_max_margin(size * ds.X, ds.y, gap=1e-7, time_s=10)
            assert limit.stats["relative_gap"] <= 1e-7, (size, limit.stats)
            values[size] = limit.objective / size
        assert values[1e6] == pytest.approx(values[1e5], rel=1e-3)

    def test_fixed_directions_reach_less(self, plane):
        ds, limit = plane
        rng = np.random.default_rng(0)
        u = rng.standard_normal((300, 3))
        particles = bf.models.Particles(
            u / np.linalg.norm(u, axis=1)[:, None], rng.choice([-1.0, 1.0], 300), np.zeros(300)
        )
        some = bf.limits.l1_max_margin(ds.y[:, None] * particles.features(ds.X))
        assert some.objective <= limit.certificate.dual
        with_optimal = (
            np.hstack([particles.features(ds.X), limit.value.features(ds.X)]) * ds.y[:, None]
        )
        assert bf.limits.l1_max_margin(with_optimal).objective == pytest.approx(
            limit.objective, rel=2e-9
        )


class TestBudgets:
    def test_history_is_nested(self, plane):
        _, limit = plane
        seconds, lower, upper, _ = np.array(limit.stats["history"]).T
        assert (
            np.all(np.diff(seconds) >= 0)
            and np.all(np.diff(lower) >= 0)
            and np.all(np.diff(upper) <= 0)
        )
        assert np.all(lower <= upper)

    def test_value_has_what_is_certified(self, plane):
        ds, limit = plane
        assert limit.value.norm == pytest.approx(1, rel=1e-12)
        assert limit.value.margin(ds.X, ds.y) == pytest.approx(limit.objective, rel=1e-12)
        assert limit.objective <= limit.certificate.dual and limit.stats["stopped"] == "gap reached"

    def test_loose_gap_and_no_time(self, plane):
        ds, limit = plane
        loose = bf.limits.f1_max_margin(ds.X, ds.y, gap=1e-2)
        assert loose.stats["rounds"] < limit.stats["rounds"]
        rushed = bf.limits.f1_max_margin(ds.X, ds.y, time_s=1e-6)
        assert rushed.stats["stopped"] == "time is up" and rushed.certificate.kind == "bound"
        for other in (loose, rushed):
            assert (
                other.objective <= limit.certificate.dual
                and other.certificate.dual >= limit.objective
            )

    def test_the_same_key_gives_the_same(self):
        ds = bf.data.clusters(30, 6, 2, key=1)
        one, two = (
            bf.limits.f1_max_margin(ds.X, ds.y, gap=1e-3, key=5, time_s=30) for _ in range(2)
        )
        assert one.objective == two.objective and one.certificate.dual == two.certificate.dual
        assert np.array_equal(one.value.directions, two.value.directions)

    def test_high_dimension_says_what_is_proven(self):
        ds = bf.data.clusters(60, 12, 2, key=1)
        limit = bf.limits.f1_max_margin(ds.X, ds.y, gap=1e-3, time_s=4)
        assert limit.certificate.kind == "bound" and limit.stats["upper_kind"] == "bound"
        assert limit.objective <= limit.stats["heuristic_upper"] <= limit.certificate.dual
        assert limit.stats["heuristic_upper"] <= limit.objective * 1.1
        assert "12" in limit.stats["note"] and "faces" in limit.stats["note"]


def test_an_early_exact_bound_does_not_hide_what_is_believed():
    """Few samples in many dimensions: weights with few support points are searched exactly, the
    best ones are not."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 40)), rng.choice([-1.0, 1.0], 12)
    limit = bf.limits.f1_max_margin(X, y, gap=1e-4, time_s=2)
    assert (
        limit.certificate.kind == "bound"
        and limit.objective <= limit.stats["heuristic_upper"] < limit.certificate.dual
    )
    assert (
        limit.stats["heuristic_upper"] <= limit.objective * 1.01 and "faces" in limit.stats["note"]
    )


@pytest.mark.parametrize("d", [2, 5])
def test_the_relaxation_is_a_bound(d):
    """Against exact searches: for its own weights and for given ones."""
    from biasflow.limits.neurons.pair_relaxation import proven_level
    from biasflow.limits.neurons.relaxation import bounded_gain

    ds = bf.data.clusters(20, d, 2, key=d)
    rows = np.hstack([ds.X, np.ones((ds.n, 1))])
    limit = bf.limits.f1_max_margin(ds.X, ds.y, gap=1e-4)
    bound, q = proven_level(rows / 2, ds.y, limit.stats["weights"] * ds.y, np.inf)
    p = q * ds.y
    assert bound >= limit.objective and p.min() >= 0 and np.sum(p) == pytest.approx(1)
    for weights in (p, limit.stats["weights"], np.full(ds.n, 1 / ds.n)):
        exact = bf.limits.margin_certificate(limit.value, ds.X, ds.y, weights=weights, time_s=600)
        assert exact.kind == "exact" and bounded_gain(rows / 2, weights * ds.y) >= exact.upper


@pytest.mark.parametrize("scale", [1e-8, 1e-6, 1e-4, 1.0])
def test_the_upper_bound_holds_where_inputs_are_close(scale):
    """Rows (x, 1) cancel almost completely; a direction that gains more than the bound would refute
    it."""
    rng = np.random.default_rng(0)
    X, y = scale * rng.standard_normal((12, 2)), np.sign(rng.standard_normal(12))
    found = bf.limits.f1_max_margin(X, y)
    on = found.stats["weights"] > 0
    rows, q = np.hstack([X, np.ones((12, 1))])[on], (found.stats["weights"] * y)[on]
    _, values, vt = np.linalg.svd(rows, full_matrices=False)
    u = rng.standard_normal((200_000, values.size)) / values @ vt
    u /= np.linalg.norm(u, axis=1)[:, None]
    gains = 0.5 * np.abs(np.maximum(u @ rows.T, 0.0) @ q)
    assert np.max(gains) <= found.certificate.dual + np.finfo(float).eps  # of the products here
    assert found.certificate.kind == ("exact" if found.stats["relative_gap"] <= 1e-9 else "bound")


def test_one_sample_is_exact():
    found = bf.limits.f1_max_margin([[0.3, 2.0]], [1])
    assert found.certificate.kind == "exact"
    assert found.stats["note"] == ""
    assert found.objective == pytest.approx(np.sqrt(0.3**2 + 4 + 1) / 2, rel=1e-12)


@pytest.mark.parametrize("n, d", [(12, 1), (25, 2), (14, 3), (10, 4)])
def test_cones_bound_what_faces_find(n, d):
    """Never below the exact maximum, and within a thousandth of it given time; weights of both
    signs, and of one."""
    from biasflow.limits.neurons.cone_branching import bound_by_cones

    rng = np.random.default_rng(n * d)
    rows = np.hstack([rng.standard_normal((n, d)), np.ones((n, 1))])
    for q in (rng.standard_normal(n), np.abs(rng.standard_normal(n))):
        exact = search(2 * rows, q, rng, np.inf).maximum
        for aim, deadline in ((0.5 * exact, 0.0), (1.001 * exact, np.inf)):
            bound = bound_by_cones(rows, q, aim, deadline)
            assert bound >= exact * (1 - 1e-12)
            assert deadline == 0.0 or bound <= aim * (1 + 1e-9)


def test_cones_that_time_ends_still_bound():
    from biasflow.limits.neurons.cone_branching import bound_by_cones

    rng = np.random.default_rng(3)
    rows, q = rng.standard_normal((30, 6)), rng.standard_normal(30)
    u = rng.standard_normal((100_000, 6))
    u /= np.linalg.norm(u, axis=1)[:, None]
    gains = np.max(np.abs(np.maximum(u @ rows.T, 0.0) @ q))
    began = time.monotonic()
    assert bound_by_cones(rows, q, 0.0, began + 0.5) >= gains
    assert time.monotonic() - began < 2.0


def test_five_dimensions_are_proven_to_a_thousandth():
    """A relaxation left a factor of two here; and what really proves the bound is said."""
    ds = bf.data.clusters(40, 5, 3, key=1)
    X = (ds.X - ds.X.mean(axis=0)) / ds.X.std(axis=0)
    limit = bf.limits.f1_max_margin(X, ds.y, gap=1e-2, time_s=30)
    assert limit.stats["relative_gap"] <= 1e-2 and limit.certificate.kind == "exact"
    rough = bf.limits.f1_max_margin(X, ds.y, gap=1e-5, time_s=4)
    assert rough.certificate.kind == "bound" and "cones" in rough.stats["note"]
    assert rough.objective <= limit.certificate.dual and limit.objective <= rough.certificate.dual


def test_a_cones_bound_asks_every_corner():
    """κw has to exceed h at all corners: where h < 0 too, which once was not asked."""
    V, z = np.eye(2), np.zeros(2)
    assert cone_bounds.proven(V, np.array([1.0, -0.1]), np.array([1.0, -1.0]), z, 0.0) == np.inf
    found = cone_bounds.proven(V, np.array([1.0, -2.0]), np.array([1.0, -1.0]), z, 0.0)
    assert found == pytest.approx(np.sqrt(2))


def test_cones_are_made_ready_once(monkeypatch):
    """What is split to compile has an end: once it was split until floats were."""
    asked = []
    monkeypatch.setattr(cone_branching, "announced", lambda *given: asked.append(given))
    cone_branching._compiled.cache_clear()
    cone_branching.ready()
    assert cone_branching.ready() < 0.3 and len(asked) == 1
    _, _, rows, q, target, deadline = asked[0]
    search = cone_branching.ConeSearch(rows, q, target)
    search.bound(deadline)
    assert max(part.state[1] for part in search.parts) < 10
    cone_branching._compiled.cache_clear()  # nothing was


@pytest.mark.parametrize("n, r", [(1000, 7), (5000, 6)])
def test_thousands_of_samples_are_looked_at_everywhere(n, r):
    """Every part of the sphere has a bound before any cone is split, and no square matrix of all
    samples is held: once the bound was the sum of all lengths."""
    cone_branching.ready()
    rng = np.random.default_rng(0)
    rows, q = rng.standard_normal((n, r)), rng.choice([-1.0, 1.0], n) / n
    u = rng.standard_normal((200, r))
    gains = np.abs(np.maximum(u @ rows.T, 0.0) @ q) / np.linalg.norm(u, axis=1)
    began = time.monotonic()
    search = cone_branching.ConeSearch(rows, q, 1e-3)
    first, later = search.bound(0.0), search.bound(began + 0.2)
    assert np.max(gains) <= later <= first < 0.2 * np.abs(q) @ np.linalg.norm(rows, axis=1)
    assert time.monotonic() - began < 1.0
    assert all(part.arrays[3].size < 1e6 for part in search.parts)


def test_the_descent_without_products_of_samples_is_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    rows, q = rng.standard_normal((40, 4)), rng.standard_normal(40)
    exact = search(2 * rows, q, rng, np.inf).maximum
    monkeypatch.setattr(cone_branching, "DENSE", 0)
    bound = cone_branching.bound_by_cones(rows, q, 1.001 * exact, np.inf)
    assert exact * (1 - 1e-12) <= bound <= 1.001 * exact * (1 + 1e-9)


def test_too_many_samples_for_cones():
    rows = np.ones((cone_branching.MOST_SAMPLES + 1, 2))
    assert cone_branching.bound_by_cones(rows, rows[:, 0], 1.0, np.inf) == np.inf
    rows, y = np.random.default_rng(0).standard_normal(rows.shape), rows[:, 0]
    proof = SearchOracle(rows, np.random.default_rng(0), 1).proven(y, y / y.size, 0.0, 0.0)
    assert proof.how == "a relaxation" and proof.upper < np.inf
