"""Bounds by pairs of samples, and by cones where these are thin or the sum is even: slopes, proofs
against directions in rationals, and how near the bounds come."""

import time
from fractions import Fraction

import numpy as np
import pytest

import biasflow as bf
from biasflow.limits.neurons import cone_branching, pair_relaxation, relaxation as plain
from biasflow.limits.neurons.best_neuron import SearchOracle, climbed
from biasflow.limits.neurons.columns import no_neurons
from biasflow.limits.neurons.pair_relaxation import PairRelaxation, proven_level
from biasflow.limits.neurons.relaxation import bounded_gain, relaxed_maximum


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1)[:, None]


def some_point(seed, n=6, r=3):
    """A relaxation and a point at which nothing vanishes."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    relaxation = PairRelaxation(unit(rng.standard_normal((n, r))), signs, rng.uniform(0.5, 1, n))
    theta = relaxation.paired(relaxation.start(rng.uniform(0.1, 1, n)))
    relaxation.leaning = rng.uniform(0.5, 2, (2, n))
    return relaxation, theta + 0.05 * rng.uniform(size=theta.size)


def test_slopes_are_those_of_differences():
    relaxation, theta = some_point(0)
    _, slope = relaxation.softened(theta, 10.0, 0.01)
    steps = 1e-6 * np.eye(theta.size)
    values = [[relaxation.softened(theta + s * e, 10.0, 0.01)[0] for s in (1, -1)] for e in steps]
    np.testing.assert_allclose((np.array(values) @ [1, -1]) / 2e-6, slope, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_any_multipliers_prove_a_bound(seed):
    """Also where no descent has been: below no value on the sphere, and the same for other v."""
    relaxation, theta = some_point(seed, 8, 4)
    rng = np.random.default_rng(seed)
    u = unit(rng.standard_normal((100_000, 4)))
    q = relaxation.signs * theta[:8]
    bound = relaxation.proven(theta)
    assert np.max(np.abs(np.maximum(u @ relaxation.samples.T, 0.0) @ q)) <= bound < np.inf
    assert relaxation.proven(relaxation.renewed(theta)) == pytest.approx(bound, rel=1e-9)


def test_multipliers_that_prove_nothing_are_refused():
    relaxation, theta = some_point(0)
    n, k = 6, 15
    theta[n : 2 * n] = -1.0  # M is not positive definite
    assert relaxation.proven(theta) == np.inf
    theta[2 * n : 2 * n + k] = np.nan
    assert relaxation.proven(theta) == np.inf


def ugly(kind, rng):
    X = rng.standard_normal((30, 6))
    if kind == "columns":
        X = X * np.logspace(-8, 8, 6)
    if kind == "offset":
        X = X + 1e6
    if kind == "copies":
        X[15:] = X[:15] * (1 + 1e-9)
    return np.hstack([X, np.ones((30, 1))]) / 2


@pytest.mark.parametrize("kind", ["plain", "columns", "offset", "copies"])
def test_no_direction_beats_the_bound(kind):
    """In rationals, for the weights that are returned; directions from local ascents under them."""
    rng = np.random.default_rng(7)
    rows, y = ugly(kind, rng), rng.choice([-1.0, 1.0], 30)
    bound, q = proven_level(rows, y, y * rng.dirichlet(np.ones(30)), time.monotonic() + 0.3)
    assert np.min(q * y) >= 0 and q @ y == pytest.approx(1, abs=1e-12)
    on = q != 0
    for sign in (1, -1):
        found, values = climbed(rows[on], sign * q[on], unit(rng.standard_normal((60, 7))))
        for u in found[np.argsort(-values)[:5]]:
            exact = [Fraction(x) for x in u]
            total = Fraction(0)
            for weight, row in zip(q[on], rows[on], strict=True):
                t = sum(Fraction(c) * x for c, x in zip(row, exact, strict=True))
                total += Fraction(weight) * max(t, Fraction(0))
            assert total**2 <= Fraction(bound) ** 2 * sum(x * x for x in exact)


def test_fifteen_dimensions_are_proven_to_a_third():
    """Normal inputs and labels; each sample by itself left a factor of two."""
    rng = np.random.default_rng(15)
    X, y = rng.standard_normal((30, 15)), rng.choice([-1.0, 1.0], 30)
    found = bf.limits.f1_max_margin(X, y, gap=1e-3, time_s=10)
    assert found.certificate.dual <= 4 / 3 * found.objective
    assert found.stats["note"].endswith("a relaxation")


@pytest.mark.parametrize("n, d", [(12, 2), (12, 4)])
def test_half_of_the_sphere_is_enough_for_even_sums(n, d):
    rng = np.random.default_rng(n * d)
    rows, q = rng.standard_normal((n, d)), rng.standard_normal(n)
    q -= rows @ np.linalg.solve(rows.T @ rows, rows.T @ q)
    exact = SearchOracle(rows, rng, 60).search(q, no_neurons(d), 0.0, np.inf, 60).maximum
    assert len(cone_branching._parts(rows, q, exact)) == 4
    bound = cone_branching.bound_by_cones(rows, q, 1.001 * exact, np.inf)
    assert exact * (1 - 1e-12) <= bound <= 1.001 * exact * (1 + 1e-9)


def test_thin_cones_do_not_hold_up_the_others():
    """Coordinate descent along the facets' normals of thin cones stalls: once the same ones were
    split for ever, and the bound stayed half a percent above."""
    data = bf.data.clusters(100, 6, 3, key=1)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    found = bf.limits.f1_max_margin(X, data.y, gap=2e-3, time_s=120)
    assert found.stats["relative_gap"] <= 2e-3


def test_little_time_goes_to_samples_by_themselves(monkeypatch):
    """Pairs come last, and change no bound when they come: with them from the beginning a short
    descent ended far above."""
    rng = np.random.default_rng(4)
    rows, y = unit(rng.standard_normal((30, 9))), rng.choice([-1.0, 1.0], 30)
    relaxation = PairRelaxation(rows, y, np.full(30, 1 / 30))
    theta = relaxation.start(np.full(30, 1.0))
    alone = relaxation.proven(theta)
    assert relaxation.proven(relaxation.paired(theta)) == pytest.approx(alone, rel=1e-12)
    monkeypatch.setattr(pair_relaxation, "STAGES", ())
    monkeypatch.setattr(pair_relaxation, "relaxed_maximum", None)
    bound, _ = proven_level(rows, y, y / 30)
    assert bound < 0.9 * bounded_gain(rows, y / 30) and bound < 0.6 * alone / 30


def test_no_time_is_as_good_as_the_plain_relaxation():
    rng = np.random.default_rng(5)
    rows, y = unit(rng.standard_normal((60, 9))), rng.choice([-1.0, 1.0], 60)
    bound, q = proven_level(rows, y, y / 60, 0.0)
    assert bound <= max(relaxed_maximum(rows, s * q, 0.0) for s in (1, -1))


def test_the_plain_relaxation_is_rounded_outwards():
    """One sample: its length in rationals is the maximum, which once was missed by rounding."""
    rng = np.random.default_rng(6)
    for _ in range(40):
        row, weight = rng.standard_normal(4), rng.uniform()
        square = sum(Fraction(x) ** 2 for x in row) * Fraction(weight) ** 2
        bound = bounded_gain(row[None], np.array([weight]))
        assert square <= Fraction(bound) ** 2 and bound**2 <= float(square) * (1 + 1e-12)


def test_many_samples_are_bounded_block_by_block(monkeypatch):
    rng = np.random.default_rng(8)
    rows, q = unit(rng.standard_normal((12, 4))), rng.standard_normal(12)
    whole = bounded_gain(rows, q)
    monkeypatch.setattr(plain, "BLOCK", 5)
    assert bounded_gain(rows, q) == pytest.approx(whole, rel=1e-12)
    monkeypatch.setattr(plain, "MOST_PRODUCTS", 5)
    assert whole * (1 - 1e-12) <= bounded_gain(rows, q) <= np.sum(np.abs(q)) * (1 + 1e-12)
