"""C, Proposition 12 for any network: residuals, gap, and what is refused."""

import numpy as np
import pytest

import biasflow as bf


@pytest.fixture(scope="module")
def solved():
    ds = bf.data.clusters(30, 2, 3, key=4)
    return ds, bf.limits.f1_max_margin(ds.X, ds.y)


def network(seed, m=40, d=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(m), rng.standard_normal((m, d + 1))


def test_the_optimum_closes(solved):
    ds, limit = solved
    for certificate in (
        bf.limits.margin_certificate(limit.value, ds.X, ds.y),
        bf.limits.margin_certificate(limit.value, ds.X, ds.y, weights=limit.stats["weights"]),
    ):
        assert certificate.kind == "exact" and certificate.relative_gap <= 2e-9
        assert certificate.direction_slack >= -1e-15 and certificate.sample_slack >= -1e-15
        assert set(np.flatnonzero(certificate.weights)) <= set(certificate.on_margin)


def test_residuals_add_up_to_the_gap(solved):
    ds, limit = solved
    for weights in (None, np.ones(ds.n), np.arange(ds.n)):
        certificate = bf.limits.margin_certificate(
            network(0), ds.X, ds.y, weights=weights, gap=1e-6
        )
        assert certificate.gap == pytest.approx(
            certificate.direction_slack + certificate.sample_slack, rel=1e-12
        )
        assert certificate.direction_slack >= 0 and certificate.sample_slack >= 0
        assert certificate.margin <= limit.objective and certificate.upper >= limit.objective * (
            1 - 1e-12
        )
    best = bf.limits.margin_certificate(network(0), ds.X, ds.y)
    assert best.upper == pytest.approx(limit.objective, rel=2e-9)


def test_a_network_and_its_measure_have_one_certificate(solved):
    ds, _ = solved
    a, W = network(1)
    predictions = np.maximum(np.hstack([ds.X, np.ones((ds.n, 1))]) @ W.T, 0) @ a
    particles = bf.models.as_particles((a, W))
    np.testing.assert_allclose(particles(ds.X), predictions, rtol=1e-12)
    direct, scaled = (
        bf.limits.margin_certificate(net, ds.X, ds.y, gap=1e-6)
        for net in (particles, (3 * a, 0.1 * W))
    )
    assert direct.margin == pytest.approx(scaled.margin, rel=1e-12)
    assert direct.margin == pytest.approx(
        np.min(ds.y * predictions) / (2 * np.sum(np.abs(a) * np.linalg.norm(W, axis=1))), rel=1e-12
    )


def test_too_many_faces_give_a_bound():
    ds = bf.data.clusters(40, 10, 2, key=0)
    certificate = bf.limits.margin_certificate(
        network(0, d=10), ds.X, ds.y, weights=np.ones(40), time_s=1
    )
    assert certificate.kind == "bound" and certificate.heuristic_upper <= certificate.upper


def test_equal_points_of_opposite_labels():
    X, y = [[0.5, 0.0], [1.0, 0.0], [0.5, 0.0]], [1, 1, -1]
    one, two = bf.limits.f1_max_margin(X, y), bf.limits.f2_max_margin(X, y)
    for limit in (one, two):
        assert (
            limit.objective == 0
            and limit.certificate.dual == 0
            and limit.certificate.kind == "exact"
        )
        assert "samples 0 and 2" in limit.stats["note"]
        np.testing.assert_array_equal(limit.stats["weights"], [0.5, 0, 0.5])
    assert (
        one.value.norm == pytest.approx(1)
        and not np.any(one.value(X))
        and two.value.margin(X, y) == 0
    )
    assert bf.limits.f2_max_margin(X, y, features=50).objective == 0
    for weights in (None, [1, 0, 1]):
        certificate = bf.limits.margin_certificate(network(0), X, y, weights=weights)
        assert certificate.upper == 0 and certificate.kind == "exact"


def test_features_that_do_not_separate():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (30, 2)), rng.choice([-1.0, 1.0], 30)
    limit = bf.limits.f2_max_margin(X, y, features=5)
    assert limit.objective == 0 and not limit.stats["separable"] and "zero" in limit.stats["note"]
    assert bf.limits.f1_max_margin(X, y).objective > 0


def test_dependent_features():
    """Copies of columns and of rows change nothing but the √m of the norm."""
    Z = np.random.default_rng(0).uniform(0.1, 1, (5, 4))
    for function, factor in ((bf.limits.l1_max_margin, 1.0), (bf.limits.l2_max_margin, 1.0)):
        once = function(Z)
        for other in (np.hstack([Z, Z]), np.vstack([Z, Z])):
            again = function(other)
            assert again.objective == pytest.approx(factor * once.objective, rel=1e-12)
            assert again.certificate.gap <= 1e-12


GOOD = ([[0.0, 1.0], [1.0, 0.0]], [1, -1])


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: bf.limits.f1_max_margin([[0.0], [np.nan]], [1, -1]), ("X", "nan")),
        (lambda: bf.limits.f1_max_margin([[0.0], [1.0]], [1, 0]), ("y", "±1", "entry 1 is 0")),
        (lambda: bf.limits.f1_max_margin([[0.0], [1.0]], [1, 1, 1]), ("y", "length 2", "3")),
        (lambda: bf.limits.f1_max_margin([0.0, 1.0], [1, 1]), ("X", "matrix")),
        (lambda: bf.limits.f1_max_margin(*GOOD, gap=0), ("gap", "positive")),
        (lambda: bf.limits.f1_max_margin(*GOOD, time_s=-1), ("time_s", "positive")),
        (lambda: bf.limits.f1_max_margin(*GOOD, key=-1), ("key", "at least 0")),
        (lambda: bf.limits.f2_max_margin([[0.0], [1.0]], [1, 2]), ("y", "±1", "2")),
        (
            lambda: bf.limits.f2_max_margin(*GOOD, activation="tanh"),
            ("activation", "'relu'", "'tanh'"),
        ),
        (lambda: bf.limits.f2_max_margin(*GOOD, features=0), ("features", "at least 1")),
        (lambda: bf.limits.f2_max_margin(*GOOD, features=[[1.0, 0.0]]), ("features", "(m, 3)")),
        (lambda: bf.limits.kernel_max_margin([[1.0, 2.0], [0.0, 1.0]], [1, 1]), ("K", "symmetric")),
        (
            lambda: bf.limits.kernel_max_margin([[1.0, 0.0], [0.0, -1.0]], [1, 1]),
            ("K", "positive semi-definite"),
        ),
        (lambda: bf.limits.kernel_max_margin([[1.0]], [0.5]), ("y", "±1")),
        (lambda: bf.limits.l1_max_margin([[np.inf]]), ("Z", "inf")),
        (lambda: bf.limits.l2_max_margin([1.0]), ("Z", "matrix")),
        (lambda: bf.limits.margin_certificate(3.0, *GOOD), ("network", "Particles", "float")),
        (
            lambda: bf.limits.margin_certificate((np.zeros(2), np.ones((2, 3))), *GOOD),
            ("network", "zero measure"),
        ),
        (
            lambda: bf.limits.margin_certificate((np.ones(2), np.ones((2, 2))), *GOOD),
            ("X", "expected 1 columns"),
        ),
        (
            lambda: bf.limits.margin_certificate(network(0), *GOOD, weights=[1, -1]),
            ("weights", "-1"),
        ),
        (
            lambda: bf.limits.margin_certificate(
                bf.models.Particles(np.ones((1, 3)), np.ones(1), np.zeros(1)), *GOOD
            ),
            ("directions", "unit"),
        ),
        (
            lambda: bf.limits.margin_certificate(
                bf.models.Particles(np.eye(3), np.zeros(3), np.zeros(3)), *GOOD
            ),
            ("signs", "±1"),
        ),
        (
            lambda: bf.limits.margin_certificate(
                bf.models.Particles(np.eye(3), np.ones(2), np.zeros(3)), *GOOD
            ),
            ("particles", "(3, 3)"),
        ),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(bf.errors.InputError) as caught:
        call()
    assert str(caught.value).startswith(words[0]), str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("kind", ["clusters", "one class", "duplicates"])
def test_first_games_over_a_few_samples_end_at_the_same_margin(kind, monkeypatch):
    """Samples that a guess gives no weight join the games they matter in."""
    data = bf.data.clusters(60, 2, 4, key=1)
    X, y = np.array(data.X), np.array(data.y)
    if kind == "one class":
        y = np.ones(60)
    elif kind == "duplicates":
        X[30:], y[30:] = X[:30], y[:30]
    whole = bf.limits.f1_max_margin(X, y, gap=1e-6)
    monkeypatch.setattr("biasflow.limits.neurons.masters.MANY_SAMPLES", 1)
    few = bf.limits.f1_max_margin(X, y, gap=1e-6)
    assert few.certificate.primal <= whole.certificate.dual
    assert whole.certificate.primal <= few.certificate.dual
    assert few.stats["relative_gap"] <= max(2 * whole.stats["relative_gap"], 1e-6)
