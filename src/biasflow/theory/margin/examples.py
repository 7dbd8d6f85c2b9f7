"""Random problems for C's claims: clusters on a grid, and networks to be trained on them."""

from __future__ import annotations

import numpy as np

from ...data import clusters
from ...losses import ExponentialLoss, LogisticLoss
from ...records import Dataset
from .setting import Alternating, Scores


def cluster_data(key: int, n: int = 24, d: int = 2, k: int = 3) -> Dataset:
    """C's clusters, both classes present."""
    for attempt in range(100):
        data = clusters(n, d, k, key=100 * key + attempt)
        if np.unique(data.y).size == 2:
            return data
    raise AssertionError("a hundred draws of one class")  # pragma: no cover


def scores(key: int) -> Scores:
    """Positive scores with two least ones, judged by either loss."""
    rng = np.random.default_rng((37, key))
    margins = np.append(rng.uniform(0.3, 2.0, 8), [0.2, 0.2])
    return Scores(margins * rng.uniform(0.5, 2.0), LogisticLoss() if key % 2 else ExponentialLoss())


def alternating(key: int) -> Alternating:
    """Lines for even keys, checkerboards for odd ones."""
    return Alternating(2, (3, 5, 9), key=key) if key % 2 else Alternating(1, (9, 17, 33, 65), key=key)
