"""Deeper diagonal networks on separable data (Lyu and Li 2020; the limits of Pesme, Dragomir and
Flammarion 2024, arXiv:2406.12763).

For D ≥ 3 the potential q_D of a diagonal network has a bounded gradient: β = ∇q_D*(η) is infinite
at finite η, the theorem on directions does not apply, and the direction is not that of a largest
margin which data alone determine. What is left is what holds for every network that is homogeneous
in its weights. With N = ‖w‖², S̃ = −log Σℓ(−u_i) of the exponential loss and θ the angle between w
and ∇S̃,

    d log(S̃/N^{D/2}) ≥ (D/2)·tan²θ·d log N   once S̃ > 0,

for dS̃ = ‖∇S̃‖², S̃ ≤ p·u = ⟨w, ∇S̃⟩/D, dN = 2⟨w, ∇S̃⟩. As S̃/N^{D/2} is bounded the mean of tan²θ over
log N goes to zero: w becomes a KKT point of max margin over ‖w‖, and β one of the ℓ_{2/D} margin,
of which there are many. Which one, the start says.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...losses import ExponentialLoss
from ...models import DiagonalNetwork
from ...models.diagonal import DiagonalParams
from ..evidence import Evidence
from ..hypotheses import DIAGONAL
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import ERROR_FACTOR, witness_flow
from .separable_directions import EXPONENTIAL, SEPARATED_CLASSES, signed_rows

SEEN = 33
"""Times at which the weights are looked at, even in log t."""
LATEST = 1e8
"""Time to which they are followed, over that at which S̃ may become positive."""
TURNS = 0.5
"""Least distance of two directions in ℓ1 that counts as another direction."""
SOURCE = "∇L followed in the weights"


def followed(problem: Problem, time_s: float) -> Trajectory[Any] | str:
    """By raw gradients, from where all samples are right until S̃ is about log LATEST."""
    times = np.geomspace(LATEST ** (1 / SEEN), LATEST, SEEN)
    return witness_flow(problem, times=times, time_s=time_s)


def angles(problem: Problem, states: Any) -> tuple[Array, Array, Array]:
    """S̃, log N and tan²θ at every state."""
    Z, D = signed_rows(problem), problem.model.depth
    plus, minus = states
    margins = (plus**D - minus**D) @ Z.T
    least = np.min(margins, axis=1)
    shares = np.exp(least[:, None] - margins)
    total = np.sum(shares, axis=1)
    pull = (shares / total[:, None]) @ Z
    slope = D * np.hstack([plus ** (D - 1) * pull, -(minus ** (D - 1)) * pull])
    w = np.hstack([plus, minus])
    norm = np.sum(w * w, axis=1)
    along = np.sum(w * slope, axis=1) ** 2 / norm
    # what is left beside w, by projection: tan² is a small difference otherwise
    across = slope - (np.sum(w * slope, axis=1) / norm)[:, None] * w
    tangent = np.sum(across * across, axis=1) / along
    return least - np.log(total), np.log(norm), tangent


def other_start(problem: Problem) -> Problem:
    """The same network and data from weights that are largest elsewhere: on the coordinate that
    alone has the largest margin in the reversed order of sizes."""
    start = DiagonalParams(*(leaf[::-1].copy() for leaf in problem.start))
    return dataclasses.replace(problem, start=start)


def _deep(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D = problem.model.depth
    words = (
        "mean of tan²θ over log N, over its bound",
        "ℓ1 distance of the directions from two starts",
    )
    runs = []
    for each in (problem, other_start(problem)):
        flow = followed(each, evidence.time_left / 3)
        if isinstance(flow, str):
            return tuple(unknown_check(name, flow) for name in words)
        runs.append(flow)
    margin, log_norm, tangent = angles(problem, runs[0].states)
    on = np.flatnonzero(margin > 0)
    if on.size < 4:
        return tuple(
            unknown_check(name, "the classes were not separated in time") for name in words
        )
    ratio = np.log(margin[on]) - D / 2 * log_norm[on]
    rise = float(ratio[-1] - ratio[0])
    steps = np.diff(log_norm[on])
    middle = (tangent[on][1:] + tangent[on][:-1]) / 2
    mean = float(np.sum(steps * middle))
    coarse = on[::2] if on.size % 2 else on[1::2]
    rough = float(
        np.sum(np.diff(log_norm[coarse]) * (tangent[coarse][1:] + tangent[coarse][:-1]) / 2)
    )
    fine = on if on.size % 2 else on[1:]
    same = float(np.sum(np.diff(log_norm[fine]) * (tangent[fine][1:] + tangent[fine][:-1]) / 2))
    smallest = float(np.sqrt(np.exp(log_norm[on[0]])))
    doubt = ERROR_FACTOR * float(np.max(runs[0].error[on])) / smallest
    error = abs(rough - same) / 2 + doubt * (1 + 2 * D * float(np.max(np.sqrt(tangent[on]))))
    ends = [_direction(problem, flow) for flow in runs]
    off = [
        ERROR_FACTOR * float(f.predictor_error[-1]) * problem.data.d / s
        for f, (_, s) in zip(runs, ends, strict=True)
    ]
    return (
        Check(
            words[0],
            mean / (2 / D * rise),
            "<=",
            1.0,
            (error + doubt) / (2 / D * rise),
            witness=SOURCE,
            null=float(tangent[on][0] * np.sum(steps)) / (2 / D * rise),
        ),
        Check(
            words[1],
            float(np.sum(np.abs(ends[0][0] - ends[1][0]))),
            ">=",
            TURNS,
            2 * sum(off),
            witness=SOURCE,
            null=0.0,
        ),
    )


def _direction(problem: Problem, flow: Trajectory[Any]) -> tuple[Array, float]:
    beta = problem.model.effective(flow.final)
    size = float(np.sum(np.abs(beta)))
    return beta / size, size


def _depth(problem: Any) -> str | None:
    return None if problem.model.depth > 2 else "found depth 2, where S/separable speaks"


def _lopsided(problem: Any) -> str | None:
    """Each coordinate alone separates, and one starts ahead of its mirror image."""
    Z = signed_rows(problem)
    plus, minus = problem.start
    if not (np.all(Z > 0) and np.all(plus > 0) and np.all(minus > 0)):
        return "a coordinate alone does not separate the classes, or a weight is not positive"
    ahead = plus * np.min(Z, axis=0) ** (1 / max(problem.model.depth - 2, 1))
    behind = plus * np.max(Z, axis=0) ** (1 / max(problem.model.depth - 2, 1))
    first, last = int(np.argmax(plus)), int(np.argmax(plus[::-1]))
    if first == last:
        return "the largest weight is in the middle: reversed, it is the same start"
    others = np.delete(behind, first)
    back = np.delete(plus[::-1] * np.max(Z, axis=0) ** (1 / (problem.model.depth - 2)), last)
    there = plus[::-1][last] * np.min(Z[:, last]) ** (1 / (problem.model.depth - 2))
    if ahead[first] > 2 * np.max(others) and there > 2 * np.max(back):
        return None
    return "no weight starts so far ahead that its coordinate must win"


DEEP = Hypothesis("depth", "the network has depth three or more", on_problem(_depth))
AHEAD = Hypothesis(
    "ahead",
    "every coordinate alone separates, and one weight starts far ahead, also in reversed order",
    on_problem(_lopsided),
)


def deep_problem(key: int) -> Problem:
    """Positive inputs, one class, one weight four times the others."""
    rng = np.random.default_rng((89, key))
    n, d = [(4, 5), (2, 4), (6, 3)][key % 3]
    X = rng.uniform(0.8, 1.25, (n, d))
    weights = rng.uniform(0.2, 0.25, d)
    weights[0] = 1.0
    start = DiagonalParams(weights, np.full(d, 0.2))
    return Problem(DiagonalNetwork(3 + key % 2), Dataset(X, np.ones(n)), ExponentialLoss(), start)


deep = Claim(
    "S/separable-deep",
    "On separable data under the exponential loss a diagonal network of depth D ≥ 3 has "
    "∫tan²θ·dlog N ≤ (2/D)·∫dlog(S̃/N^{D/2}) once S̃ > 0, θ the angle between w and ∇S̃: its weights "
    "tend to KKT points of the margin over ‖w‖, β to those of the ℓ_{2/D} margin. Which one "
    "depends on the start: two starts end at two directions.",
    "Lyu and Li 2020, arXiv:1906.05890, Theorem 4.4, for homogeneous networks; Pesme, Dragomir and "
    "Flammarion 2024, arXiv:2406.12763, whose theorem needs ∇φ onto",
    (DIAGONAL, DEEP, EXPONENTIAL, SEPARATED_CLASSES, AHEAD),
    deep_problem,
    _deep,
    Kind.FLOW,
    "∇L followed in the weights",
    "an angle that stays what it was; a direction that data alone determine",
)

CLAIMS = (deep,)
