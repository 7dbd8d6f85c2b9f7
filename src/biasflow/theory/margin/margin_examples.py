"""Random problems for C's claims: clusters on a grid, and networks to be trained on them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.problems import Dataset, Problem
from ...data import clusters, with_bias
from ...losses import ExponentialLoss, LogisticLoss, SmoothMargin
from ...models import SignedTwoLayer, SignedTwoLayerParams, TwoLayer, TwoLayerParams
from .margin_setting import Alternating, Scores, inputs_of


def cluster_data(key: int, n: int = 24, d: int = 2, k: int = 3) -> Dataset:
    """C's clusters, both classes present."""
    for attempt in range(100):
        data = clusters(n, d, k, key=100 * key + attempt)
        if np.unique(data.y).size == 2:
            return data
    raise AssertionError("a hundred draws of one class")  # pragma: no cover


def labelled_family(key: int, classes: int = 1) -> Dataset:
    """Labelled inputs of many kinds: scales over eight decades, far from zero, repeated, nearly
    equal, on a line or a lattice."""
    rng = np.random.default_rng((61, key))
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    kind = key % 8
    if kind == 1:
        X = X * 10.0 ** rng.uniform(-4, 4)
    elif kind == 2:
        X = X + 10.0 ** rng.uniform(0, 4)
    elif kind == 3:
        X = X * 10.0 ** rng.uniform(-2, 2, d)
    elif kind == 4:
        X = X[rng.integers(0, n, n)]
    elif kind == 5:
        X[1] = X[0] + 10.0 ** rng.uniform(-9, -1) * rng.standard_normal(d)
    elif kind == 6:
        X = np.round(X)
    elif kind == 7:
        X = np.outer(X[:, 0], np.ones(d))
    _, group = np.unique(X, axis=0, return_inverse=True)
    y = rng.choice([-1.0, 1.0], n)[group.ravel()]
    if classes == 2 and np.unique(y).size < 2:
        return cluster_data(key, 10, 2, 2)
    return Dataset(X, y, f"labelled family key={key}")


def scores(key: int) -> Scores:
    """Positive scores with two least ones, judged by either loss."""
    rng = np.random.default_rng((37, key))
    margins = np.append(rng.uniform(0.3, 2.0, 8), [0.2, 0.2])
    return Scores(margins * rng.uniform(0.5, 2.0), LogisticLoss() if key % 2 else ExponentialLoss())


def scores_family(key: int) -> Scores:
    """Scores over ten decades, one to thirty of them, with ties and near ties."""
    rng = np.random.default_rng((67, key))
    margins = 10.0 ** rng.uniform(-5, 5) * np.exp(
        rng.uniform(0.0, 10.0 ** rng.uniform(-2, 1)) * rng.uniform(size=int(rng.integers(1, 31)))
    )
    if key % 4 == 1:
        margins[0] = margins[-1]
    if key % 4 == 2:
        margins[0] = np.min(margins) * (1 + 10.0 ** rng.uniform(-8, -2))
    return Scores(margins, LogisticLoss() if key % 2 else ExponentialLoss())


def alternating(key: int) -> Alternating:
    """Points of a line."""
    centre = float(np.random.default_rng((43, key)).uniform(-0.3, 0.3))
    return Alternating(1, (9, 17, 33, 65), centre=centre)


def alternating_family(key: int) -> Alternating:
    """Lines, and checkerboards for every fourth key; turned, moved, of other sizes."""
    rng = np.random.default_rng((43, key))
    angle, centre = rng.uniform(-0.7, 0.7, 2).tolist()
    if key % 4 == 3:
        return Alternating(2, (3, 5, 7), angle, centre)
    sizes = ((9, 17, 33, 65), (8, 15, 29, 57), (11, 21, 41), (10, 20, 40))[key % 4]
    return Alternating(1, sizes, centre=centre * 10.0 ** rng.uniform(-2, 0.5))


def population(key: int, n: int = 20_000) -> Dataset:
    """Two classes far apart on a line, and one positive row between them, which every third sample
    of n rows misses."""
    rng = np.random.default_rng((41, key))
    places = np.sort(rng.uniform(3.5, 4.5, 6)) * np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    common = rng.integers(0, 6, n - 1)
    X = np.append(places[common], -rng.uniform(0.4, 0.8))
    return Dataset(X[:, None], np.append(np.sign(places[common]), 1.0), f"population key={key}")


def population_family(key: int) -> Dataset:
    """Populations of other sizes and dimensions, some so small that the bound says nothing."""
    rng = np.random.default_rng((73, key))
    data = population(key, int(10.0 ** rng.uniform(3.5, 4.7)))
    d = int(rng.integers(1, 4))
    turned = np.linalg.qr(rng.standard_normal((d, d)))[0][:1]
    return Dataset(
        data.X @ turned * 10.0 ** rng.uniform(-0.5, 1.5), data.y, f"population family key={key}"
    )


def relu_problem(
    key: int, n: int = 16, m: int = 80, scale: float = 1.0, *, balanced: bool = False
) -> Problem:
    """A ReLU network on clusters under the exponential's smooth margin; scale: σ of C's neurons,
    σ/√m in the plain sum."""
    data = with_bias(cluster_data(key, n, k=2))
    model = TwoLayer(m, data.d)
    start = model.init(scale / np.sqrt(m), key=key, balanced=balanced)
    return Problem(model, data, SmoothMargin(), start)


def smooth_problem(key: int, n: int = 16, m: int = 80, scale: float = 1.0) -> Problem:
    """A squared-ReLU network on clusters; logistic loss for odd keys."""
    data = with_bias(cluster_data(key, n, k=2))
    model = SignedTwoLayer(m, data.d)
    loss = SmoothMargin(LogisticLoss() if key % 2 else ExponentialLoss())
    return Problem(model, data, loss, model.init(scale / np.sqrt(m), key=key))


def few_problem(key: int) -> Problem:
    """A squared-ReLU network of few neurons on few samples, which is soon followed to ten
    digits."""
    return smooth_problem(key, n=8, m=24)


def exponential_problem(key: int) -> Problem:
    """The same under the exponential's smooth margin."""
    return dataclasses.replace(few_problem(key), loss=SmoothMargin())


def logistic_problem(key: int) -> Problem:
    """The same under the logistic loss's smooth margin."""
    return dataclasses.replace(few_problem(key), loss=SmoothMargin(LogisticLoss()))


def network_problem(key: int) -> Problem:
    """Either kind of network."""
    return smooth_problem(key) if key % 2 else relu_problem(key)


def network_family(key: int, smooth: bool | None = None) -> Problem:
    """Either kind of network on labelled inputs of many kinds: one neuron to fifty, starts over
    eight decades, dead neurons."""
    rng = np.random.default_rng((71, key))
    data, m = labelled_family(key), int(rng.integers(1, 51))
    _, first = np.unique(data.X, axis=0, return_index=True)  # (A3) asks for distinct inputs
    data = with_bias(Dataset(data.X[first], data.y[first], data.name) if smooth else data)
    scale, kind = 10.0 ** rng.uniform(-4, 4), bool(key % 2) if smooth is None else smooth
    model: Any = SignedTwoLayer(m, data.d) if kind else TwoLayer(m, data.d)
    start = (
        model.init(scale, key=key) if kind else model.init(scale, key=key, balanced=bool(key % 3))
    )
    if key % 5 == 4 and m > 1:
        start.W[0] = 0.0
    return Problem(
        model, data, SmoothMargin(LogisticLoss() if key % 4 < 2 else ExponentialLoss()), start
    )


def feature_problem(key: int, n: int = 6, m: int = 24) -> Problem:
    """Few samples far apart and neurons that separate them, so that C's rates say something after
    some ten thousand steps."""
    rng = np.random.default_rng((47, key))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    data = with_bias(Dataset((y * rng.uniform(3.0, 4.0, n))[:, None], y, f"far apart key={key}"))
    model = TwoLayer(m, 2)
    return Problem(model, data, SmoothMargin(), model.init(1 / np.sqrt(m), key=key))


def any_feature_problem(key: int) -> Problem:
    """Fixed neurons of any number on few samples of any size and dimension, some of them nearly
    equal."""
    rng = np.random.default_rng((61, key))
    n, d, m = int(rng.integers(2, 11)), int(rng.integers(1, 4)), int(rng.integers(4, 61))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 3) * 10.0 ** rng.uniform(-1, 1, d)
    if key % 4 == 3:
        X[-1] = X[0] * (1 + 1e-3)
    y = (
        np.where(np.arange(n) < max(n // 2, 1), 1.0, -1.0)
        if key % 3
        else np.sign(X[:, 0] + (X[:, 0] == 0))
    )
    model = TwoLayer(m, d + 1)
    data = with_bias(Dataset(X, y, f"any features key={key}"))
    return Problem(model, data, SmoothMargin(), model.init(10.0 ** rng.uniform(-2, 2), key=key))


def line_problem(key: int, n: int = 12, m: int = 100) -> Problem:
    """Squared ReLUs on a line with classes that alternate; logistic loss for odd keys."""
    rng = np.random.default_rng((53, key))
    X = rng.uniform(-1, 1, (n, 1))
    data = with_bias(
        Dataset(X, np.where(np.sin(4 * X[:, 0] + key) > 0, 1.0, -1.0), f"line key={key}")
    )
    model = SignedTwoLayer(m, 2)
    loss = SmoothMargin(LogisticLoss() if key % 2 else ExponentialLoss())
    return Problem(model, data, loss, model.init(1 / np.sqrt(m), key=key))


def wide_problem(key: int, n: int = 12, m: int = 100) -> Problem:
    """Squared ReLUs on a line with a class on either side, so that neurons soon feel each other;
    logistic loss for odd keys."""
    rng = np.random.default_rng((79, key))
    X = np.sort(rng.uniform(-1, 1, n))[:, None]
    data = with_bias(
        Dataset(
            X, np.where(np.arange(n) < int(rng.integers(4, 7)), -1.0, 1.0), f"two sides key={key}"
        )
    )
    model = SignedTwoLayer(m, 2)
    loss = SmoothMargin(LogisticLoss() if key % 2 else ExponentialLoss())
    return Problem(model, data, loss, model.init(1 / np.sqrt(m), key=key))


def any_line_problem(key: int) -> Problem:
    """Squared ReLUs on a line: other sizes of data, numbers of samples and neurons, and starts over
    decades."""
    rng = np.random.default_rng((67, key))
    n, m = int(rng.integers(2, 11)), int(rng.integers(40, 101))
    X = (np.linspace(-1, 1, n) + rng.uniform(-0.3, 0.3, n) / n)[:, None]
    y = np.where(np.sin(rng.uniform(0.5, 4) * X[:, 0] + rng.uniform(0, 6)) > 0, 1.0, -1.0)
    data = with_bias(
        Dataset(
            X * 10.0 ** rng.uniform(-0.3, 0.5) + rng.uniform(-0.3, 0.3), y, f"any line key={key}"
        )
    )
    model = SignedTwoLayer(m, 2)
    loss = SmoothMargin(LogisticLoss() if key % 2 else ExponentialLoss())
    return Problem(model, data, loss, model.init(10.0 ** rng.uniform(-1, 1) / np.sqrt(m), key=key))


def any_smooth_problem(key: int, exponential: bool = False) -> Problem:
    """Squared ReLUs on a line or in the plane."""
    rng = np.random.default_rng((71, key))
    problem = any_line_problem(key)
    if exponential:
        problem = dataclasses.replace(problem, loss=SmoothMargin())
    if key % 2:
        return problem
    n = int(rng.integers(3, 12))
    data = with_bias(
        Dataset(
            rng.standard_normal((n, 2)) * 10.0 ** rng.uniform(-0.3, 0.3), rng.choice([-1.0, 1.0], n)
        )
    )
    model = SignedTwoLayer(60, 3)
    return Problem(
        model, data, problem.loss, model.init(10.0 ** rng.uniform(-0.5, 0.5) / np.sqrt(60), key=key)
    )


def any_relu_problem(key: int, *, balanced: bool = False) -> Problem:
    """ReLUs on clusters or random points, on a line or in the plane, of other sizes, with starts
    over decades."""
    rng = np.random.default_rng((73, key))
    n, m, d = int(rng.integers(2, 21)), int(rng.integers(30, 121)), int(rng.integers(1, 3))
    if key % 2 and d == 2:
        found = cluster_data(key, max(n, 4), k=int(rng.integers(2, 4)))
    else:
        found = Dataset(
            rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-0.5, 0.5), rng.choice([-1.0, 1.0], n)
        )
    data = with_bias(found)
    model = TwoLayer(m, data.d)
    return Problem(
        model,
        data,
        SmoothMargin(),
        model.init(10.0 ** rng.uniform(-1, 1) / np.sqrt(m), key=key, balanced=balanced),
    )


def plane_problem(key: int) -> Problem:
    """ReLUs on clusters in the plane, neurons all around."""
    return relu_problem(key, m=120, scale=10.0, balanced=True)


def population_problem(key: int, n: int = 42, m: int = 40) -> Problem:
    """A fine sample of three intervals with alternating classes; C's start: input weights uniform
    on the sphere, outputs ±1."""
    rng = np.random.default_rng((59, key))
    centres = np.array([-1.0, 0.0, 1.0]) + rng.uniform(-0.1, 0.1, 3)
    X = (centres[:, None] + np.linspace(-0.25, 0.25, n // 3)).reshape(-1, 1)
    data = with_bias(Dataset(X, np.repeat([1.0, -1.0, 1.0], n // 3), f"population key={key}"))
    # a stratified sample of the circle, signs in turn
    angles = 2 * np.pi * (np.arange(m) + rng.uniform(size=m)) / m
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    start = TwoLayerParams(np.where(np.arange(m) % 2 == 0, 1.0, -1.0) / np.sqrt(m), W / np.sqrt(m))
    return Problem(TwoLayer(m, 2), data, SmoothMargin(), start)


def any_population_problem(key: int) -> Problem:
    """Samples of two to four intervals of other lengths, places and sizes, with classes in any
    order; more or fewer neurons."""
    rng = np.random.default_rng((97, key))
    k, m = int(rng.integers(2, 5)), int(rng.integers(30, 81))
    each = int(rng.integers(4, 11))
    centres = np.cumsum(rng.uniform(0.8, 1.6, k))
    X = (centres - np.mean(centres))[:, None] + rng.uniform(0.1, 0.35, k)[:, None] * np.linspace(
        -1, 1, each
    )
    y = np.where(np.arange(k) % 2 == key % 2, 1.0, -1.0) if key % 3 else rng.choice([-1.0, 1.0], k)
    scale = 10.0 ** rng.uniform(-0.3, 0.3)
    data = with_bias(
        Dataset(scale * X.reshape(-1, 1), np.repeat(y, each), f"any population key={key}")
    )
    angles = 2 * np.pi * (np.arange(m) + rng.uniform(size=m)) / m
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    start = TwoLayerParams(np.where(np.arange(m) % 2 == 0, 1.0, -1.0) / np.sqrt(m), W / np.sqrt(m))
    return Problem(TwoLayer(m, 2), data, SmoothMargin(), start)


def interval_problem(key: int) -> Problem:
    """A ReLU network on a few inputs of a line, whose intervals are a population."""
    rng = np.random.default_rng((83, key))
    n, m = 6, 20
    X = np.linspace(-1, 1, n) + rng.uniform(-0.1, 0.1, n)
    data = with_bias(
        Dataset(X[:, None], np.where(np.arange(n) // 2 % 2 == 0, 1.0, -1.0), f"intervals key={key}")
    )
    model = TwoLayer(m, 2)
    return Problem(model, data, SmoothMargin(), model.init(1.0, key=key, balanced=True))


def any_interval_problem(key: int) -> Problem:
    """Networks of one neuron to forty on one to fifteen inputs of a line, near and far, some of
    them repeated."""
    rng = np.random.default_rng((89, key))
    n, m = int(rng.integers(1, 16)), int(rng.integers(1, 41))
    X = np.round(rng.standard_normal(n), int(rng.integers(1, 4))) * 10.0 ** rng.uniform(
        -1, 1
    ) + rng.uniform(-2, 2)
    _, group = np.unique(X, return_inverse=True)
    data = with_bias(
        Dataset(X[:, None], rng.choice([-1.0, 1.0], n)[group.ravel()], f"any intervals key={key}")
    )
    model = TwoLayer(m, 2)
    return Problem(
        model, data, SmoothMargin(), model.init(10.0 ** rng.uniform(-1, 0.7) / np.sqrt(m), key=key)
    )


def interval_data(key: int) -> Dataset:
    """The inputs of `interval_problem`."""
    return inputs_of(interval_problem(key))


def any_interval_data(key: int) -> Dataset:
    """The inputs of `any_interval_problem`."""
    return inputs_of(any_interval_problem(key))


def point_problem(key: int) -> Problem:
    """Eight neurons on one ray, of lengths that double; ReLUs for even keys, squared ones for
    odd."""
    return _on_one_ray(cluster_data(key, 16, k=2), key, 8, 1.0)


def any_point_problem(key: int) -> Problem:
    """One neuron to twenty on one ray, of lengths over decades, on labelled inputs of many
    kinds."""
    rng = np.random.default_rng((103, key))
    data = labelled_family(key, classes=2)
    size = max(float(np.max(np.abs(data.X))), 1.0)
    return _on_one_ray(data, key, int(rng.integers(1, 21)), 10.0 ** rng.uniform(-3, 0.5) / size)


def _on_one_ray(found: Dataset, key: int, m: int, scale: float) -> Problem:
    rng = np.random.default_rng((107, key))
    data, lengths = with_bias(found), scale * 2.0 ** rng.integers(-3, 4, m)
    # active on some input
    w = data.X[0] + 0.5 * np.linalg.norm(data.X[0]) * rng.standard_normal(data.d) / data.d**0.5
    W = np.outer(lengths, w / np.linalg.norm(w))
    sign = rng.choice([-1.0, 1.0])
    loss = SmoothMargin(LogisticLoss() if key % 4 < 2 else ExponentialLoss())
    if key % 2:
        return Problem(
            SignedTwoLayer(m, data.d, np.full(m, sign)), data, loss, SignedTwoLayerParams(W)
        )
    return Problem(
        TwoLayer(m, data.d), data, loss, TwoLayerParams(sign * rng.uniform(0.5, 2.0) * lengths, W)
    )


def decay_problem(key: int) -> Problem:
    """A ReLU network of sixty neurons on ten inputs of the plane or the line; logistic loss for
    even keys."""
    return _small_network(key, 10, 60, 1 + (key + 1) % 2, 1.0, 0.5)


def any_decay_problem(key: int) -> Problem:
    """Networks of thirty to eighty neurons on two to twelve inputs of other sizes, starts over a
    decade."""
    rng = np.random.default_rng((109, key))
    n, m, d = int(rng.integers(2, 13)), int(rng.integers(30, 81)), int(rng.integers(1, 3))
    return _small_network(
        key, n, m, d, 10.0 ** rng.uniform(-0.7, 1.0), 10.0 ** rng.uniform(-0.7, 0.3)
    )


def _small_network(key: int, n: int, m: int, d: int, size: float, scale: float) -> Problem:
    rng = np.random.default_rng((113, key))
    data = with_bias(
        Dataset(size * rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n), f"small key={key}")
    )
    loss = SmoothMargin(ExponentialLoss() if key % 2 else LogisticLoss())
    return Problem(
        TwoLayer(m, data.d),
        data,
        loss,
        TwoLayer(m, data.d).init(scale / np.sqrt(m * size), key=key),
    )


def kept_problem(key: int) -> Problem:
    """Thirty squared ReLUs, or ReLUs for odd keys, on six inputs under the exponential's smooth
    margin."""
    if key % 2:
        return relu_problem(key, n=6, m=30)
    return dataclasses.replace(wide_problem(key, n=6, m=30), loss=SmoothMargin())


def any_kept_problem(key: int) -> Problem:
    """Networks of nine to forty neurons of either kind on two to eight inputs of a line or the
    plane, starts over decades."""
    rng = np.random.default_rng((131, key))
    n, m, d = int(rng.integers(2, 9)), int(rng.integers(9, 41)), int(rng.integers(1, 3))
    found = _small_network(key, n, m, d, 10.0 ** rng.uniform(-0.5, 0.5), 10.0 ** rng.uniform(-1, 1))
    found = dataclasses.replace(found, loss=SmoothMargin())
    if key % 2:
        return found
    model = SignedTwoLayer(m, found.data.d)
    return dataclasses.replace(found, model=model, start=SignedTwoLayerParams(found.start.W))


def any_trained_problem(key: int, smooth: bool | None = None) -> Problem:
    """Networks of 40 to 150 neurons on inputs of many kinds on a line or in the plane, with starts
    over three decades.

    Inputs of sizes over eight decades, far from zero, nearly equal, on a lattice, with one class or
    two; no input twice.
    """
    if key % 3 == 0:
        return (
            any_relu_problem(key)
            if smooth is False or (smooth is None and key % 2)
            else any_smooth_problem(key)
        )
    rng = np.random.default_rng((127, key))
    found = labelled_family(key)
    _, first = np.unique(found.X[:, :2], axis=0, return_index=True)
    data = with_bias(Dataset(found.X[first, :2], found.y[first], found.name))
    m, size = int(rng.integers(40, 151)), float(np.max(np.linalg.norm(data.X, axis=1)))
    scale = 10.0 ** rng.uniform(-1.5, 1.5) / np.sqrt(m * size)
    model: Any = (
        TwoLayer(m, data.d)
        if smooth is False or (smooth is None and key % 2)
        else SignedTwoLayer(m, data.d)
    )
    loss = SmoothMargin(LogisticLoss() if key % 4 < 2 else ExponentialLoss())
    return Problem(model, data, loss, model.init(scale, key=key))
