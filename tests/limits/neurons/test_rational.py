"""l1 and F1 margins where float64 has too few digits: against rationals and 80 digits, by other
roads."""

import itertools
import time
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.exact_sums import as_integers
from biasflow.limits.rational_games import exact_game, line_bracket

OFFSETS = (0.0, 1.0, 1e4, 1.7e9)
SCALES = (1e-12, 1.0, 1e12)


def l1_margin(X, y):
    """min ‖Σp_iy_ix_i‖_∞ over the simplex for x in the plane, separable: the least over segments
    between two y_ix_i."""
    points = [
        [int(label) * Fraction(float(value)) for value in row]
        for row, label in zip(X, y, strict=True)
    ]
    best = None
    for (a, c), (b, d) in itertools.combinations_with_replacement(points, 2):
        slopes = (b - a, d - c)
        breaks = [
            (-a, slopes[0]),
            (-c, slopes[1]),
            (c - a, slopes[0] - slopes[1]),
            (-c - a, slopes[0] + slopes[1]),
        ]
        shares = [
            Fraction(0),
            Fraction(1),
            *(top / bottom for top, bottom in breaks if bottom and 0 <= top / bottom <= 1),
        ]
        least = min(max(abs(a + t * slopes[0]), abs(c + t * slopes[1])) for t in shares)
        best = least if best is None or least < best else best
    return best


def stamps(n, offset, scale, seed=0):
    """A line of inputs of random steps, the later ones positive."""
    steps = np.cumsum(np.random.default_rng(seed).integers(1, 60, n))
    return (offset + steps) * scale, np.where(np.arange(n) < n // 2, -1, 1)


def holds(limit, truth, width=1e-6):
    """primal ≤ truth ≤ dual, narrow and called so."""
    assert limit.certificate.primal <= truth <= limit.certificate.dual, limit
    assert (
        limit.certificate.dual - limit.certificate.primal <= width * truth
        and limit.certificate.kind == "exact"
    )
    assert limit.objective == limit.certificate.primal


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [2, 12])
def test_l1_margins_whatever_the_units_and_offsets(offset, scale, n):
    x, y = stamps(n, offset, scale)
    X = np.column_stack([x, np.ones(n)])
    holds(bf.max_margin(X, y, norm="l1"), l1_margin(X, y))
    holds(bf.max_margin(np.repeat(X, 2, axis=0), np.repeat(y, 2), norm="l1"), l1_margin(X, y))


@pytest.mark.parametrize("apart", [1e-9, 1e-15])
def test_l1_margins_of_points_close_by(apart):
    X, y = [[0.3, 0.4], [0.3, 0.4 + apart], [0.3 + apart, 0.4], [1.0, -1.0]], [1, -1, 1, 1]
    holds(bf.max_margin(X, y, norm="l1"), l1_margin(X, y))


def test_l1_margins_of_many_samples_and_of_none_that_separates():
    rng = np.random.default_rng(3)
    x = 1.7e9 + 60 * np.arange(200.0)
    X, y = np.column_stack([x, rng.standard_normal(200), np.ones(200)]), np.where(x > x[80], 1, -1)
    began = time.monotonic()
    found = bf.max_margin(X, y, norm="l1")
    assert (
        found.certificate.kind == "exact" and found.objective > 0 and time.monotonic() - began < 5
    )
    mixed = bf.max_margin(
        np.column_stack([x, np.ones(200)]), np.where(np.arange(200) % 2 == 0, 1, -1), norm="l1"
    )
    assert (
        mixed.certificate.primal == mixed.certificate.dual == 0
        and mixed.stats["separable"] is False
    )


def test_games_in_integers():
    """Both strategies prove the value, whatever the rank: duplicates, ties, one row, one column,
    scales of 1e±200."""
    rng = np.random.default_rng(0)
    games = [
        rng.integers(-2, 3, (n, m)) * 1.0
        for n, m in itertools.product((1, 2, 5, 9), repeat=2)
        for _ in range(5)
    ]
    games += [
        rng.standard_normal((6, 4)) * 10.0 ** rng.integers(-200, 200, (6, 4)),
        np.zeros((3, 2)),
        np.ones((4, 4)),
    ]
    for Z in games:
        W = as_integers(Z).entries
        found = exact_game(W)
        assert min(found.a) >= 0 and min(found.p) >= 0
        assert (
            Fraction(int(min(W @ found.a)), int(sum(found.a)))
            == found.value
            == Fraction(int(max(found.p @ W)), int(sum(found.p)))
        )


def f1_of_two(x, y):
    """min over p of the largest ½|Σp_iy_i(⟨u, (x_i, 1)⟩)₊|, by golden sections; u among kinks and
    gradients."""
    rows = [(mp.mpf(float(value)), mp.mpf(1)) for value in x]

    def largest(p):
        weights = [p * int(y[0]), (1 - p) * int(y[1])]
        parts = [(q * a, q * b) for q, (a, b) in zip(weights, rows, strict=True)]
        rays = [
            *parts,
            (parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]),
            *((-b, a) for a, b in rows),
        ]
        gains = []
        for a, b in [ray for v in rays for ray in (v, (-v[0], -v[1])) if any(v)]:
            size = mp.hypot(a, b)
            values = [max(a * r + b * s, 0) / size for r, s in rows]
            gains.append(abs(mp.fdot(weights, values)) / 2)
        return max(gains)

    low, high, golden = mp.mpf(0), mp.mpf(1), (mp.sqrt(5) - 1) / 2
    for _ in range(300):
        one, two = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two) if largest(one) < largest(two) else (one, high)
    return largest((low + high) / 2)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("labels", [(-1, 1), (1, 1)])
def test_f1_margins_of_two_whatever_the_units_and_offsets(offset, scale, labels):
    with mp.workdps(120):
        x = (offset + np.array([0.0, 60.0])) * scale
        holds(bf.max_margin(x[:, None], labels, norm="f1"), f1_of_two(x, labels))


@pytest.mark.parametrize("seed", range(4))
def test_two_roads_to_f1_margins(seed):
    """Column generation in floats and in integers, where both have the digits."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(7), rng.choice([-1, 1], 7)
    found = bf.limits.f1_max_margin(x[:, None], y)
    line = line_bracket(np.column_stack([x, np.ones(7)]), y, 1e-9, time.monotonic() + 20)
    assert found.certificate.kind == "exact" and line.upper - line.lower <= 1e-9 * line.lower
    assert line.lower <= found.certificate.dual and found.certificate.primal <= line.upper
    masses, rows = line.masses, np.column_stack([x, np.ones(7)])
    margins = y * (0.5 * np.maximum(rows @ line.u.T, 0.0) @ (line.s * masses))
    assert np.min(margins) == pytest.approx(line.lower, rel=1e-9)


def test_f1_margins_of_time_stamps():
    n = 200
    x, y = 1.7e9 + 60 * np.arange(float(n)), np.where(np.arange(n) < 77, -1, 1)
    found = bf.limits.f1_max_margin(x[:, None], y)
    assert found.certificate.kind == "exact" and found.certificate.residual <= 1e-6
    with mp.workdps(120):
        # fewer samples, a larger margin
        assert found.certificate.primal <= f1_of_two(x[76:78], y[76:78])
    close = bf.limits.f1_max_margin(
        [[0.4 + 1e-9 * k] for k in range(8)], [(-1) ** k for k in range(8)]
    )
    assert close.certificate.kind == "exact" and 0 < close.objective < 1e-9


def test_time_ends_with_an_honest_bracket():
    x = 1.7e9 + 60 * np.arange(150.0)
    y = np.random.default_rng(0).choice([-1, 1], 150)
    began = time.monotonic()
    found = bf.limits.f1_max_margin(x[:, None], y, time_s=2.0)
    assert time.monotonic() - began < 2.0 * 1.2 + 2.5
    assert (
        0 <= found.certificate.primal <= found.certificate.dual
        and found.certificate.kind == "bound"
    )


@pytest.mark.parametrize("x", [1e-170, 5e-324, 1e100])
def test_margins_a_hair_above_a_float(x):
    """√(1 + x²)/2 is above ½ by 1e-341, above x/2 by 1e-201 of it: outward rounding lost it.
    Squares of distances underflowed."""
    with mp.workdps(800):
        truth = mp.sqrt(mp.mpf(x) ** 2 + 1) / 2
        for norm in ("f1", "f2"):
            certificate = bf.max_margin([[x]], [1], norm=norm).certificate
            assert certificate.primal <= truth <= certificate.dual
        if x < 1:
            apart = bf.max_margin([[x], [3 * x]], [1, -1], norm="f1").certificate
            assert apart.primal <= f1_of_two([x, 3 * x], [1, -1]) <= apart.dual and apart.dual > 0
