"""Random problems for claims: small, so that a verdict takes a moment, and generic."""

from __future__ import annotations

import numpy as np

from ..data import hypercube, sparse_regression
from ..losses import SquareLoss
from ..models import DiagonalNetwork, FixedDirections, FixedDirectionsParams, random_network
from ..potentials import Euclidean, Hypentropy, ScaledPotential
from ..records import MirrorProblem, Problem


def diagonal_problem(
    key: int, depth: int = 2, scale: float = 0.1, n: int = 8, d: int = 24, normalisation: str = "sum"
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
    return MirrorProblem(ScaledPotential(0.5, Hypentropy(r, sign=np.sign(beta0))), problem.X, problem.y, beta0)


def boundary_problem(key: int, n: int = 6, d: int = 8) -> MirrorProblem:
    """r = 0 everywhere, more samples than directions, and three of these twice: minimisers on the boundary, and many of them."""
    rng = np.random.default_rng((23, key))
    X, y = rng.uniform(-1, 1, (n, d)), rng.choice([-1.0, 1.0], n)
    beta0 = rng.uniform(0.1, 0.5, d) * rng.choice([-1.0, 1.0], d)
    X[:, d - 3 :], beta0[d - 3 :] = X[:, :3], np.abs(beta0[d - 3 :]) * np.sign(beta0[:3])
    return MirrorProblem(ScaledPotential(0.5, Hypentropy(np.zeros(d), sign=np.sign(beta0))), X, y, beta0)


def fixed_directions_problem(key: int, n: int = 5, d: int = 6, m: int = 12) -> Problem:
    """R's random network in the cone; every third neuron starts on the edge a = |b| where the key is odd."""
    model, params = random_network(m, d, 1.0, key=key)
    if key % 2:
        edge = np.arange(m) % 3 == 0
        params = FixedDirectionsParams(params.a, np.where(edge, np.sign(params.b) * params.a, params.b))
    return Problem(model, hypercube(n, d, key), SquareLoss("half"), params)


def twin_problem(key: int) -> Problem:
    """The same with every direction twice: the merged neurons are of Theorem 3.4's kind, and of W's on the edge."""
    problem, other = fixed_directions_problem(key), fixed_directions_problem(key + 1000)
    directions = np.vstack([problem.model.directions, problem.model.directions])
    params = FixedDirectionsParams(*(np.concatenate(pair) for pair in zip(problem.params0, other.params0, strict=True)))
    return Problem(FixedDirections(directions), problem.data, problem.loss, params)
