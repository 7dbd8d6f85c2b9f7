"""The weights of the implicit step solve their equation, cold and warm, at any norm."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.margin.dual_weights import Kernel, implicit_weights, smooth_margin


def weights(loss, h, K, dt, log_norm, guess):
    """Those of a kernel that gives its rows as they are asked for."""
    kernel = Kernel(np.diagonal(K), lambda seen: K[seen])
    return implicit_weights(loss, h, kernel, dt, log_norm, guess)


def problem(n, m, key):
    rng = np.random.default_rng(key)
    A = rng.standard_normal((n, m)) / np.sqrt(m)
    return 0.05 + 0.05 * rng.random(n), A @ A.T


@pytest.mark.parametrize("n, m", [(5, 20), (60, 20), (60, 200)])
@pytest.mark.parametrize("log_norm", [0.0, 3.0, 8.0, 15.0, 30.0, 60.0, 500.0])
@pytest.mark.parametrize("dt", [1e-6, 1e-3, 0.1, 10.0])
def test_the_equation_holds(n, m, log_norm, dt):
    h, K = problem(n, m, 0)
    p = weights(bf.ExponentialLoss(), h, K, dt, log_norm, np.full(n, 1 / n))
    assert np.sum(p) == pytest.approx(1.0, rel=1e-12) and np.all(p >= 0)
    force = np.exp(-log_norm) * np.log(p) + h + dt * (K @ p)
    unit, active = max(0.05, dt * np.max(np.abs(K))), p > 1e-9
    assert np.ptp(force[active]) <= 1e-12 * unit
    assert np.min(force) >= np.max(force[active]) - np.exp(-log_norm) * 100 - 1e-12 * unit
    moved = h + 1e-4 * np.random.default_rng(1).standard_normal(n)
    warm = weights(bf.ExponentialLoss(), moved, K, dt, log_norm, p)
    cold = weights(bf.ExponentialLoss(), moved, K, dt, log_norm, np.full(n, 1 / n))
    np.testing.assert_allclose(dt * K @ warm, dt * K @ cold, atol=1e-10 * unit)


def test_rows_are_asked_for_of_samples_that_weigh():
    """Far from the margin a sample moves no other, and comes back where the guess forgot it."""
    h, K = problem(60, 200, 0)
    h[20:] += 0.5
    asked = []

    def rows(seen):
        asked.append(set(seen))
        return K[seen]

    guess = np.full(60, 1e-40)
    guess[:5] = 0.2
    p = implicit_weights(bf.ExponentialLoss(), h, Kernel(np.diagonal(K), rows), 1e-3, 9.0, guess)
    assert len(asked[0]) == 5 and max(map(len, asked)) <= 20
    cold = weights(bf.ExponentialLoss(), h, K, 1e-3, 9.0, np.full(60, 1 / 60))
    assert np.sum(p[5:20]) > 0.01
    np.testing.assert_allclose(p, cold, atol=1e-12)


@pytest.mark.parametrize("log_norm", [-500.0, -1.0, 0.0, 30.0])
@pytest.mark.parametrize("n", [1, 3])
def test_samples_that_no_neuron_is_active_on_weigh_alike(n, log_norm):
    """Every entry is zero: there were weights of nan, and the error of a flow whose neurons had
    died was nan."""
    p = weights(
        bf.ExponentialLoss(), np.zeros(n), np.zeros((n, n)), 0.1, log_norm, np.full(n, 1 / n)
    )
    np.testing.assert_allclose(p, 1 / n, rtol=1e-14)


@pytest.mark.parametrize("log_norm", [0.0, 2.0, 5.0, 10.0])
def test_the_logistic_equation_holds_where_it_is_not_the_exponential(log_norm):
    h, K = problem(30, 10, 2)
    h = h - 0.06  # margins of both signs
    p = weights(bf.LogisticLoss(), h, K, 0.05, log_norm, np.full(30, 1 / 30))
    u = np.exp(log_norm) * (h + 0.05 * (K @ p))
    np.testing.assert_allclose(
        p, bf.SmoothMargin(bf.LogisticLoss()).weights(u, np.ones(30)), atol=1e-9
    )


@pytest.mark.parametrize("loss", [bf.ExponentialLoss(), bf.LogisticLoss()])
def test_curvature_is_the_derivative_of_the_weights(loss):
    u, step = np.array([-2.0, 0.3, 1.0, 4.0]), 1e-6
    _, p, curvature = smooth_margin(loss, u)
    hessian = np.outer(p, p) - np.diag(curvature)
    columns = [
        (smooth_margin(loss, u + step * e)[1] - smooth_margin(loss, u - step * e)[1]) / (2 * step)
        for e in np.eye(4)
    ]
    np.testing.assert_allclose(hessian, np.array(columns).T, atol=1e-9)
