"""W, §5: regularising ‖w‖₂ explicitly is regularising ‖β‖_{2/D}, which is not what small starts do.

Among weights with w₊^D − w₋^D = β the least ‖w‖² is Σ|β_i|^{2/D}: one of w₊, w₋ vanishes. For D = 2
that is the ℓ1 norm, the rich regime's. For D ≥ 3 it is concave in |β_i|: its least interpolators
sit at vertices of {Xβ = y}, among which it may choose another than the ℓ1 norm does, while the flow
goes to min ℓ1 for every D.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ...losses import SquareLoss
from ...models import DiagonalNetwork
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, depth
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem
from ..witness import witness_flow
from .depth_two import l1_excess
from .families import diagonal_family

RANDOM_PREDICTORS = 400
"""Random predictors for which the least ‖w‖² is looked for."""
GRID = 2001
"""Values of w₋ over |β|^{1/D} among which it is looked for."""
VERTICES = 60_000
"""Interpolators with n entries up to which all are looked at."""
SLACK = 1e-9
"""Relative residual of an interpolator among them."""
EXHIBIT_SCALE = 0.05
"""α of the exhibit's start, at which the flow is near min ℓ1."""


def bridge(beta: Array, order: int) -> Array:
    """Σ|β_i|^{2/D}."""
    return np.asarray(np.sum(np.abs(beta) ** (2 / order), axis=-1))


def least_weights(size: float, order: int) -> float:
    """The least w₊² + w₋² with w₊^D − w₋^D = |β|, over a grid of w₋ ≥ 0: the definition, without
    its solution."""
    minus = np.linspace(0.0, 2.0, GRID) * size ** (1 / order)
    plus = (size + minus**order) ** (1 / order)
    return float(np.min(plus**2 + minus**2))


def vertices(X: Array, y: Array) -> Array:
    """All interpolators with as many entries as X has rank: a concave function of |β| is least at
    one of them."""
    n, d = X.shape
    found = []
    for support in itertools.combinations(range(d), n):
        columns = X[:, support]
        values = np.linalg.lstsq(columns, y, rcond=None)[0]
        if np.max(np.abs(columns @ values - y)) <= SLACK * np.max(np.abs(y)):
            beta = np.zeros(d)
            beta[list(support)] = values
            found.append(beta)
    return np.array(found)


def exhibit(order: int) -> Problem:
    """y is one column, or 0.45 times the sum of two: ‖·‖_{2/D} prefers the one, ℓ1 the two, for D ≥
    3."""
    X = np.array([[0.45, 1.0, 0.0], [0.45, 0.0, 1.0]])
    model = DiagonalNetwork(order)
    return Problem(model, Dataset(X, X[:, 0]), SquareLoss("sum"), model.init(EXHIBIT_SCALE, dim=3))


EXHIBIT = "exhibit: ‖β(T) − β̄‖_∞, end of the flow against the least Σ|β_i|^{2/D}"


def _apart(D: int, time_s: float) -> Check:
    """Where the flow goes on the exhibit, against the interpolator of least Σ|β_i|^{2/D}."""
    problem = exhibit(D)
    run = need(witness_flow(problem, time_s=time_s))
    corners = vertices(problem.data.X, problem.data.y)
    best = corners[int(np.argmin(bridge(corners, D)))]
    distance = float(np.max(np.abs(problem.model.effective(run.final) - best)))
    return Check(
        EXHIBIT,
        distance,
        ">=",
        0.5,
        float(run.predictor_error[-1]),
        witness="∇L followed in the weights",
        null=0.0,
    )


def _explicit(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    X, y, D = problem.data.X, problem.data.y, problem.model.depth
    rng = np.random.default_rng(0)
    sizes = 10 ** rng.uniform(-6, 6, RANDOM_PREDICTORS)
    ratios = np.array(
        [least_weights(float(size), D) / float(bridge(np.array([size]), D)) for size in sizes]
    )
    corners = vertices(X, y)
    best = corners[int(np.argmin(bridge(corners, D)))]
    even = evidence.l2.value
    aside = rng.standard_normal((RANDOM_PREDICTORS, len(even)))
    aside -= aside @ np.linalg.pinv(X) @ X
    others = np.vstack(
        [
            even,
            evidence.l1.value,
            even + rng.uniform(0, 1, (RANDOM_PREDICTORS, 1)) * float(np.max(np.abs(even))) * aside,
        ]
    )
    least = float(np.min(bridge(others, D))) / float(bridge(best, D))
    # entries at rounding
    lost = (
        len(even)
        * float(bridge(np.array([1e-13 * np.max(np.abs(best))]), D))
        / float(bridge(best, D))
    )
    checks = (
        Check(
            "largest |least ‖w‖² with w₊^D − w₋^D = β over |β|^{2/D} − 1|",
            float(np.max(np.abs(ratios - 1))),
            "==",
            0.0,
            1e-12,
            witness="a search over w₋",
        ),
        Check(
            "least Σ|β_i|^{2/D} over other interpolators over that at the vertices, less one: it "
            "is least at one of them",
            least - 1,
            ">=",
            -2 * lost,
            lost,
            witness="interpolators at random, min ℓ1 and min ℓ2",
        ),
    )
    if D == 2:
        name = "D = 2: ‖β‖₁ of the least ‖w‖² over the least ℓ1 norm, less one"
        error = 1e-9 + abs(evidence.l1.certificate.gap)
        return (
            *checks,
            Check(name, l1_excess(evidence, best), "==", 0.0, error, witness="a linear program"),
        )
    return (*checks, *part(EXHIBIT, lambda: _apart(D, evidence.time_left / 2)))


def _few(problem: Any) -> str | None:
    n, d = problem.data.X.shape
    if int(np.linalg.matrix_rank(problem.data.X)) < n:
        return "the samples are dependent"
    count = math.comb(d, n)
    return None if count <= VERTICES else f"{count} vertices are too many to look at"


def _example(key: int) -> Problem:
    return diagonal_problem(key, depth=2 + key % 4, scale=0.1, n=3, d=8)


FEW = Hypothesis(
    "few", "few enough samples and coordinates that every vertex can be looked at", on_problem(_few)
)

explicit = Claim(
    "W/explicit",
    "Regularising ‖w‖₂ explicitly is regularising ‖β‖_{2/D}: the least ‖w‖² with w₊^D − w₋^D = β "
    "is Σ|β_i|^{2/D}. It is least at a vertex of the interpolators: for D = 2 at that of least ℓ1 "
    "norm, for D ≥ 3 possibly at another one, to which the flow from a small start does not go.",
    'W, Section 5 ("regularizing ‖w‖₂ is equivalent to ‖β‖_{2/D} regularization") and Section 8',
    (depth(2), SQUARE, CONSISTENT, NONTRIVIAL, FEW),
    _example,
    _explicit,
    kind=Kind.STATIC,
    witness="a search over w₋; every vertex of the interpolators; a linear program",
    null="a flow that goes where explicit regularisation does",
    family=lambda key: diagonal_family(key, 2 + key % 4),
)

CLAIMS = (explicit,)
