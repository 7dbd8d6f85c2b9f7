"""Whether one direction has the largest ℓ1 margin is decided in integers."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.evidence import Evidence
from biasflow.theory.since.separable_directions import ONE_DIRECTION, separable_problem


def unique(X):
    problem = bf.Problem(
        bf.DiagonalNetwork(2), (X, np.ones(len(X))), bf.ExponentialLoss(), scale=1.0
    )
    return ONE_DIRECTION.test(Evidence(problem))


@pytest.mark.parametrize("short", [2.0**-52, 1e-12, 1e-10])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_ties_are_ties_to_the_last_bit(short, size):
    assert unique(size * np.array([[1.0, 1.0 - short]])) is None
    assert "not shown" in unique(size * np.array([[1.0, 1.0]]))


def test_columns_that_repeat_share_a_margin_only_where_it_needs_them():
    problem = separable_problem(0)
    Z = problem.data.y[:, None] * problem.data.X
    used = bf.limit(problem).stats["support"]
    rest = np.setdiff1d(np.arange(problem.data.d), used)
    assert unique(np.hstack([Z, Z[:, rest]])) is None
    assert "not shown" in unique(np.hstack([Z, Z[:, used[:1]]]))
    assert unique(np.vstack([Z, Z])) is None


def test_samples_beyond_the_support_are_looked_at():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 20))
    X = np.where(X @ rng.standard_normal(20) > 0, 1.0, -1.0)[:, None] * X
    assert unique(X) is None
