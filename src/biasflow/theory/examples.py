"""Random problems for claims: small, so that a verdict takes a moment, and generic."""

from __future__ import annotations

import numpy as np

from .._core.problems import Dataset, MirrorProblem, Problem
from ..data import hypercube, sparse_regression
from ..losses import SquareLoss
from ..models import DiagonalNetwork, FixedDirections, FixedDirectionsParams, random_network
from ..potentials import Entropy, Euclidean, Hypentropy, ScaledPotential


def diagonal_problem(
    key: int,
    depth: int = 2,
    scale: float = 0.1,
    n: int = 8,
    d: int = 24,
    normalisation: str = "sum",
) -> Problem:
    """Sparse regression with a diagonal network from α·1."""
    data = sparse_regression(n=n, d=d, sparsity=3, noise_var=0.01, key=key)
    model = DiagonalNetwork(depth)
    return Problem(model, data, SquareLoss(normalisation), model.init(scale, dim=d))


def mirror_problem(key: int, n: int = 8, d: int = 24) -> MirrorProblem:
    """½Φ_r with random r from a random start: R's setting after its reduction (R, Theorem 3.4)."""
    rng = np.random.default_rng((17, key))
    X = rng.uniform(-1, 1, (n, d))
    y = rng.choice([-1.0, 1.0], n)
    r = rng.uniform(0.05, 0.5, d)
    return MirrorProblem(ScaledPotential(0.5, Hypentropy(r)), X, y, 0.1 * rng.standard_normal(d))


def euclidean_problem(key: int, n: int = 8, d: int = 24) -> MirrorProblem:
    """Plain gradient flow from a random start."""
    problem = mirror_problem(key, n, d)
    return MirrorProblem(Euclidean(), problem.X, problem.y, problem.beta0)


def half_line_problem(key: int, n: int = 8, d: int = 24) -> MirrorProblem:
    """As `mirror_problem`, with r = 0 on every third coordinate."""
    problem, rng = mirror_problem(key, n, d), np.random.default_rng((19, key))
    r = np.where(np.arange(d) % 3 == 0, 0.0, rng.uniform(0.05, 0.5, d))
    beta0 = 0.1 * rng.standard_normal(d)
    return MirrorProblem(
        ScaledPotential(0.5, Hypentropy(r, sign=np.sign(beta0))), problem.X, problem.y, beta0
    )


def boundary_problem(key: int, n: int = 6, d: int = 8) -> MirrorProblem:
    """r = 0 everywhere, more samples than directions, and three of these twice: minimisers on the
    boundary, and many of them."""
    rng = np.random.default_rng((23, key))
    X, y = rng.uniform(-1, 1, (n, d)), rng.choice([-1.0, 1.0], n)
    beta0 = rng.uniform(0.1, 0.5, d) * rng.choice([-1.0, 1.0], d)
    X[:, d - 3 :], beta0[d - 3 :] = X[:, :3], np.abs(beta0[d - 3 :]) * np.sign(beta0[:3])
    return MirrorProblem(
        ScaledPotential(0.5, Hypentropy(np.zeros(d), sign=np.sign(beta0))), X, y, beta0
    )


def fixed_directions_problem(key: int, n: int = 5, d: int = 6, m: int = 12) -> Problem:
    """R's random network in the cone; every third neuron starts on the edge a = |b| where the key
    is odd."""
    model, params = random_network(m, d, 1.0, key=key)
    if key % 2:
        edge = np.arange(m) % 3 == 0
        params = FixedDirectionsParams(
            params.a, np.where(edge, np.sign(params.b) * params.a, params.b)
        )
    return Problem(model, hypercube(n, d, key=key), SquareLoss("half"), params)


def twin_problem(key: int) -> Problem:
    """The same with every direction twice: the merged neurons are of Theorem 3.4's kind, and of W's
    on the edge."""
    problem, other = fixed_directions_problem(key), fixed_directions_problem(key + 1000)
    directions = np.vstack([problem.model.directions, problem.model.directions])
    params = FixedDirectionsParams(
        *(np.concatenate(pair) for pair in zip(problem.start, other.start, strict=True))
    )
    return Problem(FixedDirections(directions), problem.data, problem.loss, params)


def _ugly(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Data over four decades of scale: rows of other sizes, columns that are almost equal, n near
    d."""
    n = int(rng.integers(1, 9))
    d = int(rng.integers(n + (rng.random() < 0.8), n + 16))
    X = rng.standard_normal((n, max(d, 2)))
    if rng.random() < 0.25:
        X = X * 10.0 ** rng.uniform(-1, 0, n)[:, None]
    if rng.random() < 0.25:
        X = X * 10.0 ** rng.uniform(-1, 1, X.shape[1])
    if rng.random() < 0.2:
        X[:, 1] = X[:, 0] * (1 + 1e-3)
    return X * 10.0 ** rng.uniform(-2, 2), rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)


def mirror_family(key: int) -> MirrorProblem | Problem:
    """Hypentropies with r over eight decades, some with half-lines, Euclidean ones, entropies,
    diagonal networks of any depth."""
    rng = np.random.default_rng((29, key))
    X, y = _ugly(rng)
    d, kind = X.shape[1], int(rng.integers(0, 8))
    if kind >= 6:
        model = DiagonalNetwork(int(rng.integers(2, 6)))
        return Problem(
            model, Dataset(X, y), SquareLoss("sum"), model.init(10.0 ** rng.uniform(-1.5, 1), dim=d)
        )
    beta0 = rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 1)
    if kind == 5:
        return MirrorProblem(ScaledPotential(10.0 ** rng.uniform(-1, 1), Euclidean()), X, y, beta0)
    if kind == 4:
        X = np.abs(X)
        return MirrorProblem(Entropy(), X, X @ rng.uniform(0.1, 1.0, d), np.abs(beta0))
    r = np.full(d, 10.0 ** rng.uniform(-6, 2)) if kind == 3 else 10.0 ** rng.uniform(-6, 2, d)
    if kind == 2:
        r[rng.random(d) < 0.3] = 0.0
    return MirrorProblem(ScaledPotential(0.5, Hypentropy(r, sign=np.sign(beta0))), X, y, beta0)


def hypentropy_family(key: int) -> MirrorProblem:
    """The hypentropies among them, on all of R^d."""
    rng = np.random.default_rng((31, key))
    X, y = _ugly(rng)
    d = X.shape[1]
    r = (
        10.0 ** rng.uniform(-6, 2, d)
        if rng.random() < 0.7
        else np.full(d, 10.0 ** rng.uniform(-6, 2))
    )
    beta0 = rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 1)
    return MirrorProblem(ScaledPotential(10.0 ** rng.uniform(-1, 1), Hypentropy(r)), X, y, beta0)


def potential_family(key: int) -> MirrorProblem:
    """Hypentropies with α over sixty decades, some of them zero."""
    rng = np.random.default_rng((37, key))
    d = int(rng.integers(1, 9))
    alpha, start = 10.0 ** rng.uniform(-50, 10, d), rng.standard_normal(d)
    alpha[rng.random(d) < 0.3] = 0.0
    return MirrorProblem(
        Hypentropy(alpha, sign=np.sign(start)), rng.standard_normal((1, d)), np.ones(1), start
    )


def euclidean_family(key: int) -> MirrorProblem:
    rng = np.random.default_rng((41, key))
    X, y = _ugly(rng)
    beta0 = rng.standard_normal(X.shape[1]) * 10.0 ** rng.uniform(-3, 1)
    return MirrorProblem(ScaledPotential(10.0 ** rng.uniform(-2, 2), Euclidean()), X, y, beta0)


def boundary_family(key: int) -> MirrorProblem:
    """Half-lines on some coordinates or all, labels that can be fitted or not, columns twice, a
    start over four decades."""
    rng = np.random.default_rng((43, key))
    n, d = int(rng.integers(1, 9)), int(rng.integers(2, 14))
    X, y = (
        rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1),
        rng.standard_normal(n) * 10.0 ** rng.uniform(-1, 1),
    )
    beta0 = rng.uniform(0.1, 1.0, d) * rng.choice([-1.0, 1.0], d) * 10.0 ** rng.uniform(-3, 1)
    if rng.random() < 0.3 and d > 3:
        X[:, -1], beta0[-1] = X[:, 0], np.abs(beta0[-1]) * np.sign(beta0[0])
    r = np.where(rng.random(d) < 0.7, 0.0, 10.0 ** rng.uniform(-3, 1, d))
    return MirrorProblem(ScaledPotential(0.5, Hypentropy(r, sign=np.sign(beta0))), X, y, beta0)


def network_family(key: int) -> Problem:
    """R's networks of other sizes and scales, some neurons on the edge of the cone, labels over two
    decades."""
    rng = np.random.default_rng((47, key))
    n, d, m = int(rng.integers(1, 8)), int(rng.integers(2, 10)), int(rng.integers(2, 24))
    model, params = random_network(m, d, 10.0 ** rng.uniform(-1, 0.5), key=key)
    if rng.random() < 0.3:
        edge = rng.random(m) < 0.3
        params = FixedDirectionsParams(
            params.a, np.where(edge, np.sign(params.b) * params.a, params.b)
        )
    data = hypercube(n, d, key=key)
    return Problem(
        model, Dataset(data.X, data.y * 10.0 ** rng.uniform(-1, 1)), SquareLoss("half"), params
    )


def merged_family(key: int) -> Problem:
    """The same with every direction twice or three times."""
    parts = [
        network_family(key),
        *(_again(network_family(key), key + 1000 * k) for k in range(1, 2 + key % 2)),
    ]
    model = FixedDirections(np.vstack([p.model.directions for p in parts]))
    params = FixedDirectionsParams(
        *(np.concatenate(leaf) for leaf in zip(*(p.start for p in parts), strict=True))
    )
    return Problem(model, parts[0].data, parts[0].loss, params)


def _again(problem: Problem, key: int) -> Problem:
    """Other weights on the same directions, inside the cone."""
    rng = np.random.default_rng((53, key))
    a = np.abs(problem.start.a) * rng.uniform(0.5, 2.0, problem.model.width)
    return Problem(
        problem.model,
        problem.data,
        problem.loss,
        FixedDirectionsParams(a, a * rng.uniform(-0.95, 0.95, a.size)),
    )


def design_family(key: int) -> MirrorProblem:
    """Small designs, so that every vertex of a polytope can be looked at; nearly equal rows and
    columns among them."""
    rng = np.random.default_rng((59, key))
    n = int(rng.integers(1, 5))
    d = int(rng.integers(n, n + 7))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2)
    if rng.random() < 0.3 and n > 1:
        X[1] = X[0] + 10.0 ** rng.uniform(-3, -1) * X[1]
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-2, 2, d)
    return MirrorProblem(Euclidean(), X, np.ones(n))


def design_problem(key: int) -> MirrorProblem:
    """A generic design of four samples in ten directions."""
    rng = np.random.default_rng((61, key))
    return MirrorProblem(Euclidean(), rng.uniform(-1, 1, (4, 10)), rng.choice([-1.0, 1.0], 4))
