"""The soft-min and its compiled twin: against each other over wide ranges, and against mpmath."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import biasflow as bf
from biasflow._numerics import soft_minimum as twin
from biasflow._numerics.double_precision import jax_in_double
from biasflow._numerics.float_ranges import EXPONENTIAL_FROM
from biasflow.losses import SoftMinimum, soft_minimum

LOSSES = {"exponential": bf.ExponentialLoss(), "logistic": bf.LogisticLoss()}
EPS = np.finfo(float).eps
AGREE = 2000 * EPS
"""Relative: exponents up to 745 are rounded once or twice, in units of 745·eps."""
margins = st.lists(
    st.one_of(st.floats(-1e4, 1e4), st.floats(-60, 60), st.floats(-1, 1)), min_size=1, max_size=8
)
log_betas = st.one_of(st.floats(-700, 700), st.floats(-3, 10), st.just(0.0))


@settings(max_examples=400, deadline=None)
@given(margins, log_betas, st.sampled_from(sorted(LOSSES)))
def test_the_compiled_twin_is_the_losses(u, log_beta, name):
    u = np.array(u)
    p = np.empty(u.size)
    least = twin.weigh(u, log_beta, name == "logistic", p)
    found = soft_minimum(LOSSES[name], u, log_beta)
    assert least == found.least == np.min(u)
    np.testing.assert_allclose(p, found.weights, rtol=AGREE, atol=1e-290)
    assert np.isfinite(found.value) and np.all(np.isfinite(p))


def exact(name, u, log_beta):
    """S and ∇S in 400 digits."""
    with mpmath.workdps(400):
        beta = mpmath.exp(mpmath.mpf(log_beta))
        powers = [mpmath.exp(-beta * mpmath.mpf(each)) for each in u]
        logistic = name == "logistic"
        values = [mpmath.log1p(z) if logistic else z for z in powers]
        slopes = [z / (1 + z) if logistic else z for z in powers]
        total = sum(values)
        return float(-mpmath.log(total / len(u))), [float(slope / total) for slope in slopes]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "u, log_beta",
    [
        ([0.3, 0.1, 0.2], 0.0),
        ([-3.0, 0.2, 1.0, 40.0, 2.0], 0.0),
        ([-1e4, 3.0, 1e4], -2.0),
        ([35.9, 36.0, 36.1, 50.0], 0.0),
        ([1 + 2e-15, 1 + 1e-15, 1.0], 34.0),  # β·u to a few units, β·(u − min u) to all digits
        ([-1e-3, 1e-3], 6.0),
    ],
)
def test_all_digits(name, u, log_beta):
    """Also where the margins β·u, as floats, no longer tell the samples apart."""
    value, weights = exact(name, u, log_beta)
    found = soft_minimum(LOSSES[name], np.array(u), log_beta)
    assert found.value == pytest.approx(value, rel=1e-14, abs=1e-15)
    np.testing.assert_allclose(found.weights, weights, rtol=AGREE, atol=1e-290)
    p = np.empty(len(u))
    twin.weigh(np.array(u), log_beta, name == "logistic", p)
    np.testing.assert_allclose(p, weights, rtol=AGREE, atol=1e-290)


@pytest.mark.parametrize("name", LOSSES)
def test_samples_left_out_and_jax(name):
    u, counts = np.array([0.3, -2.0, 0.1, 5.0]), np.array([True, False, True, True])
    few = soft_minimum(LOSSES[name], u[counts], 1.5)
    some = soft_minimum(LOSSES[name], u, 1.5, counts)
    with jax_in_double():
        import jax.numpy as jnp

        arrays = jnp.asarray(u), jnp.asarray(1.5), jnp.asarray(counts)
        traced = SoftMinimum(*map(np.asarray, soft_minimum(LOSSES[name], *arrays)))
    for found in (some, traced):
        assert found.value == pytest.approx(few.value, rel=1e-14) and found.least == 0.1
        np.testing.assert_allclose(found.weights[counts], few.weights, rtol=1e-13)
        assert found.weights[1] == 0


def test_the_tail_begins_where_rounding_says():
    below, above = np.exp(-EXPONENTIAL_FROM + 2), np.exp(-EXPONENTIAL_FROM)
    assert np.log1p(below) < below and np.log1p(above) == pytest.approx(above, rel=EPS)


def test_a_loss_of_ones_own_promises_no_tail():
    class Heavy(bf.ExponentialLoss):  # ℓ(−u) = 1/(1 + u)² to the right
        def log_loss(self, margins):
            return -2 * np.log1p(np.maximum(margins, 0.0))

    found = soft_minimum(Heavy(), np.array([1.0, 3.0]), np.log(100.0))
    assert found.value == pytest.approx(-np.log((101.0**-2 + 301.0**-2) / 2), rel=1e-14)
