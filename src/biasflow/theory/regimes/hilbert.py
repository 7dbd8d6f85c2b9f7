"""W, §4: the rich regime's bias is no RKHS norm, for any choice of kernel; the kernel regime's is
one.

What a norm of predictors costs to fit labels y, N(y) = min{‖β‖ : Xβ = y}, is a norm of y. For an
RKHS norm it is yᵀK⁻¹y under a root, and satisfies the parallelogram law. For ℓ1 its unit ball is
the convex hull of the columns of X and their opposites, a
polytope, which is an ellipsoid in one dimension only: so the law fails, and no kernel gives this N.
Where p and q, two such columns, are on one face, N(p) = N(q) = 1 and N(p + q) = 2: the law would
ask for N(p − q) = 0, but N(y) ≥ ‖y‖₂/max‖x_j‖₂. The
columns that a minimiser uses, with its signs, are on one face: its dual vector is one on each, at
most one on all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...limits import min_l1
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import DIAGONAL, NONTRIVIAL, SQUARE
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .families import diagonal_family

PAIRS = 10
"""Pairs of labels at which the law is looked at."""
PROGRAMS_ERROR = 1e-6
"""Relative error of a defect that is made of four linear programs with HiGHS' tolerance of 1e-7."""
LEAST_ENTRY = 1e-6
"""Share of the largest entry below which a minimiser's entry is none: what the tolerance of linear
programs leaves."""


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


def on_one_face(X: Array, y: Array) -> tuple[Array, Array] | None:
    """Two columns that a minimiser of ‖β‖₁ with Xβ = y uses, with their signs: of its largest
    entries the two farthest apart."""
    beta = np.asarray(min_l1(X, y).value)
    used = np.flatnonzero(np.abs(beta) > LEAST_ENTRY * np.max(np.abs(beta)))
    columns = (X[:, used] * np.sign(beta[used])).T
    apart = np.linalg.norm(columns[:, None] - columns, axis=2)
    i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return None if i == j else (columns[i], columns[j])


def _hilbert(evidence: Evidence) -> tuple[Check, ...]:
    X, rng = evidence.network.data.X, np.random.default_rng(0)
    longest = float(np.linalg.norm(X, axis=0).max())
    pairs = [tuple((X @ rng.standard_normal((2, X.shape[1])).T).T / longest) for _ in range(PAIRS)]
    kernel = [parallelogram(kernel_cost, X, *pair) for pair in pairs]
    rich = parallelogram(rich_cost, X, *pairs[0])
    singular = np.linalg.svd(X, compute_uv=False)
    condition = float(
        singular[0] / singular[singular > max(X.shape) * np.finfo(float).eps * singular[0]][-1]
    )
    face = on_one_face(X, pairs[0][0])
    quantity = (
        "defect of the parallelogram law of min{‖β‖₁ : Xβ = y} at two columns on a face, "
        "over its bound: no RKHS norm"
    )
    if face is None:
        first: tuple[Check, ...] = (
            unknown_check(quantity, "the minimiser found uses one column alone"),
        )
    else:
        far = float(np.linalg.norm(face[0] - face[1])) / longest
        least = far**2 / 4  # N(p − q)² over 2N(p)² + 2N(q)² = 4
        first = (
            Check(
                "min{‖β‖₁ : Xβ = p + q} for two columns on a face, over their own two",
                rich_cost(X, face[0] + face[1]) / (rich_cost(X, face[0]) + rich_cost(X, face[1])),
                "==",
                1.0,
                PROGRAMS_ERROR,
                witness="linear programs",
                null=kernel_cost(X, face[0] + face[1])
                / (kernel_cost(X, face[0]) + kernel_cost(X, face[1])),
            ),
            Check(
                quantity,
                parallelogram(rich_cost, X, *face) / least,
                ">=",
                1.0 - 2 * PROGRAMS_ERROR / least,
                PROGRAMS_ERROR / least,
                witness="linear programs",
                null=parallelogram(kernel_cost, X, *face) / least,
            ),
        )
    return (
        *first,
        Check(
            "the same for min{‖β‖₂ : Xβ = y}: an RKHS norm",
            max(kernel),
            "==",
            0.0,
            1e-12 * condition**2,
            witness="singular values",
            null=rich,
            size=1.0,
        ),
    )


def _plane(problem: Problem) -> str | None:
    rank = int(np.linalg.matrix_rank(problem.data.X))
    return (
        None if rank >= 2 else "X has rank one: every norm of one number is a multiple of its size"
    )


RANK = Hypothesis("rank", "X has rank two or more", on_problem(_plane))

hilbert = Claim(
    "W/hilbert",
    "The rich regime's bias is no RKHS norm for any kernel: what it costs to fit labels, min{‖β‖₁ "
    ": Xβ = y}, fails the parallelogram law, by ‖p − q‖²/(4·max‖x_j‖²) or more where p, q are "
    "columns on one face of its unit ball; the kernel regime's min{‖β‖₂ : Xβ = y} satisfies it.",
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
