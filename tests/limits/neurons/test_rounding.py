"""Brackets of margins against 120 digits: offsets, units, near-equal inputs."""

import time

import digits
import mpmath as mp
import numpy as np
import pytest

import biasflow as bf


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(digits.DIGITS):
        yield


def points(seed, n=9, d=2):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1, 1)
    y[:2] = 1, -1
    return rng.standard_normal((n, d)), y


def contains(limit, truth, width):
    low, high = mp.mpf(limit.certificate.primal), mp.mpf(limit.certificate.dual)
    assert low <= truth <= high, (limit.certificate, mp.nstr(truth, 17))
    assert high - low <= width * truth, (limit.certificate, mp.nstr(truth, 17))
    assert limit.objective == limit.certificate.primal


OFFSETS = (0.0, 1e2, 1e4, 1e6, 1e9)
SCALES = (1e-12, 1e-6, 1.0, 1e3, 1e12)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", SCALES)
def test_f2_margins_whatever_the_units_and_offsets(offset, scale):
    X, y = points(int(offset) % 97 + 1)
    X = (X + offset) * scale
    limit = bf.limits.f2_max_margin(X, y)
    contains(limit, digits.margin(digits.arc_cosine(X), y), 1e-6)
    assert limit.certificate.kind == "exact" and limit.stats["separable"] is True


RNG = np.random.default_rng(5)
RAW = {
    "area and smoothness of tumours": np.column_stack(
        [650 + 350 * RNG.standard_normal(20), 0.096 + 0.014 * RNG.standard_normal(20)]
    ),
    "temperatures in kelvin": 290 + 10 * RNG.random((14, 1)),
    "calendar year and a measurement": np.column_stack(
        [np.arange(2010.0, 2024.0), RNG.standard_normal(14)]
    ),
    "time stamps, a second apart": 1.7e9 + np.arange(10.0)[:, None],
    "mixed units": RNG.standard_normal((10, 3)) * [1e-12, 1.0, 1e12],
    "1e-9 apart": np.array([[0.3, 0.4], [0.3, 0.4 + 1e-9], [0.3 + 1e-9, 0.4], [1.0, -1.0]]),
    "far out": RNG.standard_normal((6, 2)) * 1e70,
    "next to nothing": RNG.standard_normal((6, 2)) * 1e-150,
}


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("activation", ["relu", "squared_relu"])
def test_f2_margins_of_raw_columns(name, activation):
    X = RAW[name]
    y = np.where(np.arange(len(X)) % 2 == 0, 1, -1)
    with mp.workdps(700 if name == "next to nothing" else digits.DIGITS):
        truth = digits.margin(digits.arc_cosine(X, activation == "squared_relu"), y)
        contains(bf.limits.f2_max_margin(X, y, activation=activation), truth, 1e-6)


def test_f2_margins_where_the_kernel_overflows():
    X, y = points(6)
    contains(
        bf.limits.f2_max_margin(X * 1e160, y), digits.margin(digits.arc_cosine(X * 1e160), y), 1e-6
    )


@pytest.mark.parametrize("offset", [0.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_kernel_matrix_in_floats_is_known_to_its_rounding(offset, scale):
    X, y = points(3)
    X = (X + offset) * scale
    K = bf.limits.arc_cosine_kernel(X)
    for wrong in (None, 1e-13):
        limit = bf.limits.kernel_max_margin(K, y, rounding=wrong)
        truth = digits.margin(digits.arc_cosine(X), y)
        contains(limit, truth, mp.inf)
        assert limit.stats["separable"] is (True if limit.objective > 0 else None)
        width = (limit.certificate.dual - limit.certificate.primal) / limit.certificate.dual
        assert limit.certificate.kind == ("exact" if width <= 1e-6 else "bound")
    contains(
        bf.limits.kernel_max_margin(K, y),
        truth,
        max(1e-9, 8 * 2.0**-48 * float(np.max(K) / truth**2)),
    )


def test_an_exact_kernel_matrix():
    """Rank one plus 1e-14: float64 sees γ² only to 10%, the matrix as given has it to every
    digit."""
    rng = np.random.default_rng(0)
    K = np.ones((6, 6)) + np.diag(np.ldexp(np.round(rng.random(6) * 8 + 1), -46))
    y = np.array([1, -1, 1, -1, -1, 1])
    truth = digits.margin(mp.matrix(K.tolist()), y)
    contains(bf.limits.kernel_max_margin(K, y, rounding=0), truth, 1e-6)
    contains(bf.limits.kernel_max_margin(K, y), truth, mp.inf)
    ones = np.ones((2, 2))
    assert bf.limits.kernel_max_margin(ones, [1, -1], rounding=0).stats["separable"] is False
    assert bf.limits.kernel_max_margin(ones, [1, -1]).stats["separable"] is None


def test_more_samples():
    X, y = points(8, n=60)
    limit = bf.limits.f2_max_margin(X + 300, y)
    assert limit.certificate.kind == "exact"
    K = digits.arc_cosine(X + 300)
    signed, p = (
        mp.matrix([[K[i, j] * int(y[i] * y[j]) for j in range(60)] for i in range(60)]),
        limit.stats["weights"],
    )
    upper = mp.sqrt((mp.matrix(p).T * signed * mp.matrix(p))[0]) / mp.fsum(p)
    assert limit.certificate.primal < upper


def test_the_time_limit_is_honoured_with_an_honest_bracket():
    X, y = points(2, n=300)
    started = time.monotonic()
    limit = bf.limits.f2_max_margin(X + 1e5, y, time_s=1.0)
    assert time.monotonic() - started < 3.0
    assert limit.certificate.kind == "bound"
    assert 0 <= limit.certificate.primal < limit.certificate.dual
    assert limit.stats["separable"] is True and "time ran out" in limit.stats["note"]


def test_weights_over_many_decades_stay_in_the_simplex():
    limit = bf.limits.f2_max_margin(*points(4))
    assert (
        limit.stats["weights"].sum() == pytest.approx(1, rel=1e-14)
        and limit.stats["weights"].min() >= 0
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-12, 1.0, 1e12, 1e160, 1e290])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_l2_margins_whatever_the_units_and_offsets(offset, scale):
    X, y = points(11, n=6, d=8)
    Z = y[:, None] * (X + offset) * scale
    limit = bf.limits.l2_max_margin(Z)
    contains(limit, digits.margin(digits.products(Z), np.ones(6)) / mp.sqrt(8), 1e-6)
    assert limit.certificate.kind == "exact" and limit.stats["separable"] is True
    if offset == 0:
        assert np.min(Z @ limit.value) == pytest.approx(limit.objective, rel=1e-9)
        assert np.sqrt(8) * np.linalg.norm(limit.value) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_features_that_do_not_separate_are_shown_not_to(scale):
    rng = np.random.default_rng(2)
    for Z in (
        [[1.0, 0.0], [-3.0, 0.0]],
        rng.standard_normal((12, 3)),
        np.ones((3, 2)) * [[1.0], [-2.0], [1.0]],
    ):
        limit = bf.limits.l2_max_margin(np.array(Z) * scale)
        assert limit.stats["separable"] is False and limit.certificate.kind == "exact", Z
        assert limit.certificate.dual == 0 and not np.any(limit.value)


def test_equal_inputs_with_features_give_a_classifier_of_features():
    limit = bf.limits.f2_max_margin([[1.0], [1.0]], [1, -1], features=7)
    assert limit.value.weights.shape == (7,) and limit.stats["separable"] is False


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_margins_of_random_features_hold_in_exact_arithmetic(offset):
    # far out every feature is linear: more than d + 1 samples are not separated
    X, y = points(12, n=3)
    limit = bf.limits.f2_max_margin(X + offset, y, features=12)
    rows = [[mp.mpf(float(v)) for v in row] + [mp.mpf(1)] for row in X + offset]
    hidden = [
        [max(mp.fdot(row, map(mp.mpf, map(float, u))), 0) for u in limit.value.directions]
        for row in rows
    ]
    K = mp.matrix([[mp.fdot(a, b) / 12 for b in hidden] for a in hidden])
    contains(limit, digits.margin(K, y), mp.inf)


def test_l2_margins_of_columns_that_differ_by_decades_end_in_time():
    """Sums of products without rounding have a thousand slices here: they took 80 seconds of the
    one given."""
    Z = np.random.default_rng(0).standard_normal((60, 40)) * 10.0 ** np.linspace(-140, 140, 40)
    began = time.monotonic()
    certificate = bf.limits.l2_max_margin(Z, time_s=1.0).certificate
    assert time.monotonic() - began < 3.0 and certificate.primal <= certificate.dual


def test_features_that_all_vanish_have_no_margin():
    limit = bf.limits.l2_max_margin(np.zeros((3, 4)))
    assert (
        limit.certificate.kind == "exact"
        and limit.certificate.dual == 0
        and limit.stats["separable"] is False
    )


def test_asymmetry_counts_beside_the_entries_own_lengths():
    """1e-3 of an entry of 5e-11 is nothing beside the largest, 1, and all beside √(k_iik_jj) =
    1e-10."""
    K = np.array([[1.0, 5.005e-11], [5e-11, 1e-20]])
    certificate = bf.limits.kernel_max_margin(K, [1.0, 1.0]).certificate
    assert (
        certificate.kind == "bound"
        and certificate.dual - certificate.primal >= 1e-4 * certificate.dual
    )
