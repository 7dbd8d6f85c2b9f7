"""Random problems for B's claims: orthogonal inputs, labels of both signs with ‖D_+‖ ≠ ‖D_−‖,
neurons in both cones."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core.problems import Dataset, Problem
from ...data import orthonormal, two_points
from ...losses import SquareLoss
from ...models import TwoLayer, TwoLayerParams
from .relu_setting import Setting

LABELS = ((1.5, -0.7), (0.6, 0.8, -2.0), (1.4, -0.9, 1.1), (1.2, -0.5, 1.0, -0.6))
"""Labels by key: two clear scales in each, positive or negative ones first."""
BELOW_FLOATS = -1000.0
"""A log λ that no float holds."""


def orthonormal_problem(key: int, scale: float = 1e-80, m: int = 30, d: int = 6) -> Problem:
    """B's setting at a scale λ; the first two neurons lie in the two cones (Assumption 3)."""
    rng = np.random.default_rng((29, key))
    y = np.array(LABELS[key % len(LABELS)]) * rng.uniform(
        0.95, 1.05, len(LABELS[key % len(LABELS)])
    )
    data = Dataset(orthonormal(len(y), d, key=key).X, y, f"orthonormal key={key}")
    model = TwoLayer(m, d)
    return Problem(
        model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, scale)
    )


def tiny_problem(key: int) -> Problem:
    """Two labels, so that ε is large, at the smallest scale that floats hold: B's powers of λ are
    then small."""
    return orthonormal_problem(len(LABELS) * key, scale=1e-290)


def pairs_problem(key: int) -> Problem:
    """Two labels of each sign, or three of one: neurons outside the cones can fit labels one by
    one, and κ > 0."""
    return orthonormal_problem(len(LABELS) * key + len(LABELS) - 1, scale=1e-30, m=60)


def in_cones(params: TwoLayerParams, data: Dataset, scale: float) -> TwoLayerParams:
    """The start at a scale, with neurons 0 and 1 turned into the cones S_{+,1} and S_{−,1}."""
    a, W = params.a.copy(), params.W.copy()
    for j, sign in ((0, 1.0), (1, -1.0)):
        products = data.X @ W[j]
        flipped = np.where(sign * data.y > 0, np.abs(products), products)
        # orthogonal inputs: each product is changed alone
        W[j] += ((flipped - products) / np.sum(data.X**2, axis=1)) @ data.X
        a[j] = sign * np.linalg.norm(W[j])
    return TwoLayerParams(scale * a, scale * W)


def ordinary_problem(key: int, nats: float = 10.0) -> Problem:
    """Orthogonal inputs as they come: by key, orthonormal ones, B's Figure 2, and Gaussian labels
    on inputs of any lengths.

    The last start below float range, and as far below one as their labels need: λ^{1−κ} and λ^ε are
    e^{−nats} at most.
    """
    if key % 3 == 0:
        return orthonormal_problem(key)
    if key % 3 == 1:
        model, data = TwoLayer(60, 2), two_points()
        return Problem(
            model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, 1e-25)
        )
    rng = np.random.default_rng((61, key))
    n, d = 5, 7
    X = orthonormal(n, d, key=key).X * rng.uniform(0.5, 2.0, (n, 1))
    return _gaussian_labels(
        Dataset(X, rng.standard_normal(n), f"Gaussian labels key={key}"), 20, key, nats
    )


def _gaussian_labels(data: Dataset, m: int, key: int, nats: float) -> Problem:
    """These data, labels of both signs, with a start as small as they need."""
    y = data.y * np.where(
        np.arange(data.n) == 0,
        np.sign(data.y),
        np.where(np.arange(data.n) == 1, -np.sign(data.y), 1.0),
    )
    data = Dataset(data.X, y, data.name)
    model = TwoLayer(m, data.d)
    start = in_cones(model.init(1.0, key=key), data, 1.0)
    s = Setting(Problem(model, data, SquareLoss("half-mean"), start))
    return Problem(
        model,
        data,
        SquareLoss("half-mean"),
        start,
        min(-nats / min(s.epsilon, s.slowest), BELOW_FLOATS),
    )


def ordinary_family(key: int) -> Problem:
    """B's setting, wider: orthonormal inputs or of lengths over a decade, labels uniform or
    Gaussian, λ without a floor."""
    rng = np.random.default_rng((67, key))
    if key % 2 == 0:
        return orthonormal_family(key)
    n = int(rng.integers(2, 7 if key % 3 == 0 else 4))
    d = n + int(rng.integers(0, 4))
    lengths = (
        10.0 ** rng.uniform(-0.5, 0.5, (n, 1))
        if key % 4 == 1
        else np.full((n, 1), 10.0 ** rng.uniform(-1, 1))
    )
    y = 10.0 ** rng.uniform(-2, 2) * rng.standard_normal(n)
    data = Dataset(lengths * orthonormal(n, d, key=key).X, y, f"ordinary family key={key}")
    return _gaussian_labels(data, int(rng.integers(4, 30)), key, float(rng.uniform(8, 14)))


def general_problem(key: int) -> Problem:
    """Inputs in general position, a start that is balanced where the key is even."""
    rng = np.random.default_rng((31, key))
    data = Dataset(rng.standard_normal((6, 4)), rng.standard_normal(6), f"general key={key}")
    model = TwoLayer(12, 4)
    return Problem(
        model, data, SquareLoss("half-mean"), model.init(0.1, key=key, balanced=key % 2 == 0)
    )


def orthonormal_family(key: int) -> Problem:
    """B's setting, wider: up to six labels of any sizes, scales over many decades, more or fewer
    neurons, d from n on."""
    rng = np.random.default_rng((37, key))
    n = int(rng.integers(2, 7 if key % 3 == 0 else 4))
    size = 10.0 ** rng.uniform(-3, 3) if key % 4 == 3 else 1.0
    y = size * rng.uniform(0.3, 2.0, n) * rng.choice([-1.0, 1.0], n)
    y[:2] = np.abs(y[:2]) * (1, -1)
    d = n + int(rng.integers(0, 5))
    model = TwoLayer(int(rng.integers(4, 60)), d)
    data = Dataset(orthonormal(n, d, key=key).X, y, f"orthonormal family key={key}")
    scale = np.sqrt(size) * 10.0 ** rng.uniform(-250, -20)
    return Problem(
        model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, scale)
    )


def tiny_family(key: int) -> Problem:
    """Two labels of sizes between 0.5 and 8 at scales near the end of float range."""
    rng = np.random.default_rng((41, key))
    y = rng.uniform(0.5, 8.0, 2) * (1, -1)
    d = 2 + int(rng.integers(0, 5))
    model = TwoLayer(int(rng.integers(4, 40)), d)
    data = Dataset(orthonormal(2, d, key=key).X, y, f"tiny family key={key}")
    scale = 10.0 ** rng.uniform(-300, -250)
    return Problem(
        model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, scale)
    )


def general_family(key: int) -> Problem:
    """Any inputs: near-parallel or repeated ones, unscaled columns, more inputs than dimensions,
    labels of any size."""
    rng = np.random.default_rng((43, key))
    n, d = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    X = (
        rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d)
        if key % 3 == 0
        else rng.standard_normal((n, d))
    )
    if key % 4 == 1 and n > 1:
        X[-1] = X[0] + 1e-6 * rng.standard_normal(d)
    if key % 8 == 2 and n > 1:
        X[-1] = X[0]
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
    model = TwoLayer(int(rng.integers(2, 20)), d)
    start = model.init(10.0 ** rng.uniform(-4, 1), key=key, balanced=key % 2 == 0)
    return Problem(
        model, Dataset(X, y, f"general family key={key}"), SquareLoss("half-mean"), start
    )


def pairs_family(key: int) -> Problem:
    """Three to five labels of moderate spread, so that neurons outside the cones grow visibly, at
    scales from 1e-30 to 1e-100."""
    rng = np.random.default_rng((59, key))
    n = int(rng.integers(3, 6))
    y = (
        10.0 ** rng.uniform(-2, 2)
        * rng.uniform(0.7, 1.4, n)
        * np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    )
    d = n + int(rng.integers(0, 4))
    model = TwoLayer(int(rng.integers(10, 60)), d)
    data = Dataset(orthonormal(n, d, key=key).X, y, f"pairs family key={key}")
    scale = np.sqrt(np.max(np.abs(y))) * 10.0 ** rng.uniform(-100, -30)
    return Problem(
        model, data, SquareLoss("half-mean"), in_cones(model.init(1.0, key=key), data, scale)
    )


def planar_problem(key: int) -> Problem:
    """Inputs in the plane, where measures on the circle can be listed; a start that is balanced
    where the key is even."""
    rng = np.random.default_rng((47, key))
    data = Dataset(rng.standard_normal((5, 2)), rng.standard_normal(5), f"planar key={key}")
    model = TwoLayer(12, 2)
    return Problem(
        model, data, SquareLoss("half-mean"), model.init(0.1, key=key, balanced=key % 2 == 0)
    )


def lengths_family(key: int) -> Problem:
    """As `pairs_family`, for every other key with inputs of lengths between a half and two."""
    problem = pairs_family(key)
    if key % 2 == 0:
        return problem
    lengths = np.random.default_rng((163, key)).uniform(0.5, 2.0, (problem.data.n, 1))
    data = Dataset(lengths * problem.data.X, problem.data.y, f"lengths family key={key}")
    return dataclasses.replace(problem, data=data)


def planar_family(key: int) -> Problem:
    """Up to eight inputs in two to four dimensions, of any lengths, with labels of any size."""
    rng = np.random.default_rng((53, key))
    d = 2 if key % 2 == 0 else int(rng.integers(2, 5))
    n = int(rng.integers(1, 9 if d == 2 else 6))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, (n, 1))
    data = Dataset(
        X, rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3), f"planar family key={key}"
    )
    model = TwoLayer(int(rng.integers(2, 20)), d)
    return Problem(
        model, data, SquareLoss("half-mean"), model.init(0.1, key=key, balanced=key % 4 < 2)
    )
