"""Random problems for claims: small, so that a verdict takes a moment, and generic."""

from __future__ import annotations

import numpy as np

from ..data import sparse_regression
from ..losses import SquareLoss
from ..models import DiagonalNetwork
from ..potentials import Hypentropy, ScaledPotential
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
