"""W, §4: the rich regime's bias is no RKHS norm, for any choice of kernel; the kernel regime's is one.

What a norm of predictors costs to fit labels y, N(y) = min{‖β‖ : Xβ = y}, is a norm of y. For an RKHS norm it is yᵀK⁻¹y under a
root, and satisfies the parallelogram law. For ℓ1 its unit ball is the convex hull of the columns of X and their opposites, a
polytope, which is an ellipsoid in one dimension only: so the law fails, and no kernel gives this N.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Array
from ...limits import min_l1
from ...records import Problem
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import DIAGONAL, NONTRIVIAL, SQUARE
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from .families import diagonal_family

PAIRS = 10
"""Pairs of labels at which the law is looked at."""
PROGRAMMED = 1e-6
"""Relative error of a defect that is made of four linear programs with HiGHS' tolerance of 1e-7."""


def rich_cost(X: Array, y: Array) -> float:
    """min{‖β‖₁ : Xβ = y}."""
    return float(min_l1(X, y).objective)


def kernel_cost(X: Array, y: Array) -> float:
    """min{‖β‖₂ : Xβ = y}, by singular values."""
    left, singular, _ = np.linalg.svd(X, full_matrices=False)
    kept = singular > max(X.shape) * np.finfo(float).eps * singular[0]
    return float(np.linalg.norm((left.T @ y)[kept] / singular[kept]))


def parallelogram(cost: Any, X: Array, first: Array, second: Array) -> float:
    """|N(y+y')² + N(y−y')² − 2N(y)² − 2N(y')²| over the last two."""
    apart = cost(X, first + second) ** 2 + cost(X, first - second) ** 2
    own = 2 * cost(X, first) ** 2 + 2 * cost(X, second) ** 2
    return abs(float(apart - own)) / float(own)


def _hilbert(evidence: Evidence) -> tuple[Check, ...]:
    X, rng = evidence.network.data.X, np.random.default_rng(0)
    unit = 1 / np.linalg.norm(X, axis=0).max()
    pairs = [tuple(unit * (X @ rng.standard_normal((2, X.shape[1])).T).T) for _ in range(PAIRS)]
    rich, kernel = ([parallelogram(cost, X, *pair) for pair in pairs] for cost in (rich_cost, kernel_cost))
    singular = np.linalg.svd(X, compute_uv=False)
    condition = float(singular[0] / singular[singular > max(X.shape) * np.finfo(float).eps * singular[0]][-1])
    return (
        Check(
            "largest defect of the parallelogram law of min{‖β‖₁ : Xβ = y}, over pairs of labels: no RKHS norm",
            max(rich),
            ">=",
            0.0,
            PROGRAMMED,
            witness="linear programs",
            null=max(kernel),
        ),
        Check(
            "the same for min{‖β‖₂ : Xβ = y}: an RKHS norm",
            max(kernel),
            "==",
            0.0,
            1e-12 * condition**2,
            witness="singular values",
            null=max(rich),
            size=1.0,
        ),
    )


def _plane(problem: Problem) -> str | None:
    rank = int(np.linalg.matrix_rank(problem.data.X))
    return None if rank >= 2 else "X has rank one: every norm of one number is a multiple of its size"


RANK = Hypothesis("rank", "X has rank two or more", on_problem(_plane))

hilbert = Claim(
    "W/hilbert",
    "The rich regime's bias is no RKHS norm for any kernel: what it costs to fit labels, min{‖β‖₁ : Xβ = y}, fails the"
    " parallelogram law, which the kernel regime's min{‖β‖₂ : Xβ = y} satisfies.",
    'W, Section 4 ("not an RKHS norm for any choice of kernel")',
    (DIAGONAL, SQUARE, NONTRIVIAL, RANK),
    lambda key: diagonal_problem(key, n=4, d=10),
    _hilbert,
    kind=Kind.STATIC,
    witness="linear programs; singular values",
    null="the kernel regime's norm",
    family=lambda key: diagonal_family(key, 2 + key % 3),
)

CLAIMS = (hilbert,)
