"""Problems among which the claims on diagonal networks are tried: wider, and uglier, than their
examples."""

from __future__ import annotations

import numpy as np

from ..._core.problems import Dataset, Problem
from ...data import sparse_regression
from ...losses import SquareLoss
from ...models import DiagonalNetwork


def diagonal_family(key: int, depth: int, extreme: bool = False) -> Problem:
    """Gaussian, sparse, unscaled, repeated and nearly equal columns, n up to d, labels over six
    decades, every normalisation.

    extreme: scales far below and above the labels, where W's thresholds lie.
    """
    rng = np.random.default_rng((29, key, depth))
    d = int(rng.integers(2, 24))
    n = int(rng.integers(1, d + 1))
    X = rng.standard_normal((n, d))
    kind = key % 6
    if kind == 1:
        X = X * 10 ** rng.uniform(-1, 1, d)  # columns of different size
    elif kind == 2 and d > 3:
        X[:, 1] = X[:, 0]  # the same column twice
    elif kind == 3 and d > 3:
        X[:, 1] = X[:, 0] + 1e-3 * rng.standard_normal(n)  # nearly the same
    elif kind == 4:
        X = rng.uniform(0, 1, (n, d))  # all positive: strongly correlated
    elif kind == 5:
        X = sparse_regression(n=n, d=d, sparsity=1, noise_var=0.0, key=key).X
    truth = np.where(rng.uniform(size=d) < 3 / d, rng.standard_normal(d), 0.0)
    y = X @ truth if np.any(truth) and kind in (0, 5) else X @ rng.standard_normal(d)
    y = y * 10 ** rng.uniform(-3, 3) / np.max(np.abs(y))
    unit = float(np.max(np.abs(y))) ** (1 / depth)
    low, high = (-25.0, 2.0) if extreme else ((-3.0, 1.0) if depth == 2 else (-0.7, 0.7))
    scale = unit * 10 ** rng.uniform(low, high)
    model = DiagonalNetwork(depth)
    loss = SquareLoss(("sum", "half", "half-mean")[key % 3])
    return Problem(model, Dataset(X, y), loss, model.init(scale, dim=d))
