"""Early stopping as a Lasso: against scikit-learn's own."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

import biasflow as bf
from biasflow.estimators import AveragedFlowRegressor


def table(n=20, d=8, key=0):
    rng = np.random.default_rng(key)
    X = rng.standard_normal((n, d)) + 1
    return X, X[:, 0] - 2 * X[:, 1] + 0.3 * rng.standard_normal(n) + 5


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(20, 8), (8, 20)])
def test_it_is_nearly_the_lasso_and_proves_it(shape, intercept):
    X, y = table(*shape)
    found = AveragedFlowRegressor(0.2, fit_intercept=intercept).fit(X, y)
    peer = Lasso(0.2, fit_intercept=intercept, tol=1e-12, max_iter=100_000).fit(X, y)
    assert found.alpha_ == pytest.approx(0.2, rel=1e-6)

    def objective(model):
        left = model.predict(X) - y
        return left @ left / (2 * len(y)) + found.alpha_ * np.sum(np.abs(model.coef_))

    proof = found.certificate_
    assert proof.upper == pytest.approx(objective(found), rel=1e-12)
    assert proof.lower <= objective(peer) * (1 + 1e-9) <= proof.upper * (1 + 2e-9)
    assert proof.relative_gap < 0.05 and proof.kind == "bound"


def test_smaller_starts_come_nearer():
    X, y = table()
    gaps = [
        AveragedFlowRegressor(0.2, log_scale=log).fit(X, y).certificate_.relative_gap
        for log in (-5.0, -50.0)
    ]
    assert gaps[1] < gaps[0] / 5


def test_a_penalty_beyond_all_pulls_leaves_nothing():
    X, y = table()
    found = AveragedFlowRegressor(1e3).fit(X, y)
    assert not np.any(found.coef_) and found.alpha_ == 1e3
    assert found.intercept_ == pytest.approx(y.mean()) and found.certificate_.relative_gap < 1e-12


def test_too_little_time_is_told():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match="times alpha"):
        AveragedFlowRegressor(1e-3, time_s=1e-6).fit(X, y)


def test_a_penalty_must_be_positive():
    with pytest.raises(bf.errors.InputError, match="alpha"):
        AveragedFlowRegressor(0.0).fit(*table())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("start", [0.0, 100.0, 1.7e12])
def test_the_bracket_holds_in_exact_arithmetic(start, intercept):
    """One column, where the least value is known in rationals, on time stamps too."""
    rng = np.random.default_rng(3)
    x = start + (1e3 * rng.integers(0, 50, 30) if start > 1e6 else rng.standard_normal(30))
    y = (x - x.mean()) / x.std() + 0.3 * rng.standard_normal(30) + 1e4
    alpha = 0.3 * abs((x - x.mean()) @ (y - y.mean())) / 30
    found = AveragedFlowRegressor(alpha, fit_intercept=intercept).fit(x[:, None], y)
    column, labels = ([Fraction(float(v)) for v in part] for part in (x, y))
    if intercept:
        column, labels = ([v - sum(part) / 30 for v in part] for part in (column, labels))
    penalty = 30 * Fraction(found.alpha_)
    pull = sum(a * b for a, b in zip(column, labels, strict=True))
    size = max(abs(pull) - penalty, 0) / sum(a * a for a in column)
    best = size if pull > 0 else -size
    left = [b - a * best for a, b in zip(column, labels, strict=True)]
    least = (sum(v * v for v in left) / 2 + penalty * size) / 30
    assert Fraction(found.certificate_.lower) <= least <= Fraction(found.certificate_.upper)
    assert found.certificate_.relative_gap < 1e-8


def test_a_deep_start_that_cannot_be_followed_is_told():
    with pytest.warns(ConvergenceWarning, match="raise log_scale"):
        AveragedFlowRegressor(0.2, depth=3, time_s=1).fit(*table(6, 3))
