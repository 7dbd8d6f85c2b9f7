"""C, §7: the distribution of its experiments, and what Theorem 8 asks of it: Δ₂(P) ≥ 1/(3k−1) and R
≤ √d."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...data import clusters
from ...diagnostics import interclass_distance
from ..evidence import Evidence
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from .margin_setting import Clusters

FRESH_POINTS = 100_000
"""Fresh points."""
BRACKETED_POINTS = 24
"""Points among which Δ₂ is bracketed over all projections."""
LOG_UNLUCKY = 14.0
"""−log of the probability with which no point of a disc comes as near to the other as is said:
below 1e-6."""
CAP_SHARE = 0.5
"""Share of a disc's area in a cap of depth s, over (s/r)^{3/2}: 4√2/3π = 0.6 for small s, and 0.5
at s = r."""
ROUNDING = 1e-9
"""Of distances of coordinates up to one half, over 1/(3k−1), and of Δ₂'s bracket."""
FRESH = "fresh points of the distribution"


def promised(k: int) -> float:
    """1/(3k − 1): centres are 3/(3k − 1) apart, and radii 1/(3k − 1)."""
    return 1 / (3 * k - 1)


def least_distance(X: Array, y: Array) -> float:
    """Of points of both classes."""
    from scipy.spatial import cKDTree

    return float(np.min(cKDTree(X[y > 0]).query(X[y < 0])[0]))


def _disc_gap(X: Array, y: Array, k: int) -> tuple[float, int]:
    """The distance of two nearest discs of opposite classes, over 1/(3k − 1), and the points of the
    emptier of them."""
    # each cell of the unit square's grid has one disc
    cell = np.clip(np.floor((X[:, :2] + 0.5) * k), 0, k - 1).astype(int)
    number, first, count = np.unique(
        cell[:, 0] * k + cell[:, 1], return_index=True, return_counts=True
    )
    places, labels = np.column_stack([number // k, number % k]), y[first]
    best = (np.inf, 0)
    for i in np.flatnonzero(labels > 0):
        for j in np.flatnonzero(labels < 0):
            gap = 3 * float(np.linalg.norm(places[i] - places[j])) - 2
            best = min(best, (gap, -int(min(count[i], count[j]))))
    return best[0], -best[1]


def _sec7(evidence: Evidence) -> tuple[Check, ...]:
    problem: Clusters = evidence.problem
    k, d = problem.k, problem.d
    drawn = clusters(FRESH_POINTS, d, k, key=problem.key, draw=1)
    X, y = np.asarray(drawn.X), np.asarray(drawn.y)
    names = (
        "Δ₂(P) by the first two coordinates of fresh points, over 1/(3k − 1)",
        "the same, over the distance of discs: attained",
    )
    radius = Check(
        "largest ‖x‖ over √d/2",
        float(np.max(np.linalg.norm(X, axis=1))) / (d**0.5 / 2),
        "<=",
        1.0,
        ROUNDING,
        witness=FRESH,
    )
    if np.unique(y).size < 2:
        return (*(unknown_check(name, "all clusters have one class") for name in names), radius)
    least, mixed = least_distance(X[:, :2], y), np.random.default_rng(0).permutation(y)
    gap, points = _disc_gap(X, y, k)
    depth = (LOG_UNLUCKY / (CAP_SHARE * max(points, 1))) ** (2 / 3)
    if depth > 1:
        attained = unknown_check(names[1], f"{points} points of a disc are too few")
    else:
        # a cap of depth s of a disc of radius r has width √(8rs) and a share of
        # CAP_SHARE·(s/r)^{3/2} of its area or more
        allowed = float(np.hypot(gap + 2 * depth, 2 * (2 * depth) ** 0.5)) / gap
        attained = Check(
            names[1], least / promised(k) / gap, "<=", allowed, ROUNDING, witness=FRESH
        )
    few = _first(X, y)
    bracket = interclass_distance(X[few], y[few], 2)
    return (
        Check(
            names[0],
            least / promised(k),
            ">=",
            1.0 - 2 * ROUNDING,
            ROUNDING,
            witness=FRESH,
            null=least_distance(X[:, :2], mixed) / promised(k),
        ),
        attained,
        Check(
            "upper bound of Δ₂ of a sample, over 1/(3k − 1)",
            bracket.upper / promised(k),
            ">=",
            1.0 - 2 * ROUNDING,
            ROUNDING,
            witness="a relaxation over all projections",
        ),
        radius,
    )


def _first(X: Array, y: Array) -> Array:
    """The first points of either class, BRACKETED_POINTS in all."""
    return np.concatenate(
        [np.flatnonzero(y == sign)[: BRACKETED_POINTS // 2] for sign in (1.0, -1.0)]
    )


def _distribution(problem: object) -> str | None:
    if isinstance(problem, Clusters):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs bf.theory.Clusters(k, d, key=…)"


def _any_clusters(key: int) -> Clusters:
    rng = np.random.default_rng((139, key))
    return Clusters(int(rng.integers(1, 9)), int(rng.integers(2, 21)), key=key)


CLUSTERS = Hypothesis(
    "clusters", "the distribution of C's experiments", on_problem(_distribution), structural=True
)

sec7 = Claim(
    "C/sec7",
    "The distribution of C's experiments, k² discs with classes at random in the first two "
    "coordinates and uniform in the others,"
    " has Δ₂(P) ≥ 1/(3k−1), attained where two neighbours differ, and R ≤ √d/2 (C: √d).",
    "C, §7, setting",
    (CLUSTERS,),
    lambda key: Clusters(3, 2 + 3 * (key % 3), key=key),
    _sec7,
    Kind.STATIC,
    FRESH,
    "classes drawn for each point",
    _any_clusters,
)

CLAIMS = (sec7,)
