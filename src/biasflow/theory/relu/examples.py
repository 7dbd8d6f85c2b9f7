"""Random problems for B's claims: orthonormal inputs, labels of both signs with ‖D_+‖ ≠ ‖D_−‖, neurons in both cones."""

from __future__ import annotations

import numpy as np

from ...data import orthonormal
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from ...records import Dataset, Problem

LABELS = ((1.5, -0.7), (0.6, 0.8, -2.0), (1.4, -0.9, 1.1), (1.2, -0.5, 1.0, -0.6))
"""Labels by key: two clear scales in each, positive or negative ones first."""


def orthonormal_problem(key: int, scale: float = 1e-80, m: int = 30, d: int = 6) -> Problem:
    """B's setting at a scale λ; the first two neurons lie in the two cones (Assumption 3)."""
    rng = np.random.default_rng((29, key))
    y = np.array(LABELS[key % len(LABELS)]) * rng.uniform(0.95, 1.05, len(LABELS[key % len(LABELS)]))
    data = Dataset(orthonormal(len(y), d, key).X, y, f"orthonormal key={key}")
    model = TwoLayer(m, d)
    return Problem(model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, scale))


def tiny_problem(key: int) -> Problem:
    """Two labels, so that ε is large, at the smallest scale that floats hold: B's powers of λ are then small."""
    return orthonormal_problem(len(LABELS) * key, scale=1e-290)


def pairs_problem(key: int) -> Problem:
    """Two labels of each sign, or three of one: neurons outside the cones can fit labels one by one, and κ > 0."""
    return orthonormal_problem(len(LABELS) * key + len(LABELS) - 1, scale=1e-30, m=60)


def in_cones(params: TwoLayerParams, data: Dataset, scale: float) -> TwoLayerParams:
    """The start at a scale, with neurons 0 and 1 turned into the cones S_{+,1} and S_{−,1}."""
    a, W = params.a.copy(), params.W.copy()
    for j, sign in ((0, 1.0), (1, -1.0)):
        products = data.X @ W[j]
        flipped = np.where(sign * data.y > 0, np.abs(products), products)
        W[j] += (flipped - products) @ data.X  # orthonormal inputs: each product is changed alone
        a[j] = sign * np.linalg.norm(W[j])
    return TwoLayerParams(scale * a, scale * W)


def general_problem(key: int) -> Problem:
    """Inputs in general position, a start that is balanced where the key is even."""
    rng = np.random.default_rng((31, key))
    data = Dataset(rng.standard_normal((6, 4)), rng.standard_normal(6), f"general key={key}")
    model = TwoLayer(12, 4)
    return Problem(model, data, SquareLoss("half-mean"), model.init(0.1, key=key, balanced=key % 2 == 0))
