"""Diagonal networks of depth two on separable data (Moroshko et al. 2020, arXiv:2007.06738; Pesme,
Dragomir and Flammarion 2024, arXiv:2406.12763): the direction, and how fast it comes.

β follows the mirror flow of the hypentropy, whose horizon function, the limit of φ(cβ)/φ(c·1) as
c → ∞, is a multiple of ‖β‖₁: the direction is that of the largest margin in ℓ1. How fast is not in
the papers; `flows/separable/separable_flow.py` derives

    γ − S̃/N ≤ (log(2N₁/r) − 4γσ₁ + 4·log n·∫dσ/N)/(4(σ − σ₁)),

like 1/log N uniformly over all data: z = (1, 1 − δ) has a deficit of δ/(1 + e^{4δσ}), whose
largest over δ is 0.28/4σ. On one data set it is faster in the end, a power of N, for entropic
linear programs converge exponentially in 1/temperature, which is here 4σ.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Limit
from ..._numerics.deadlines import RECORDED_S
from ..._numerics.exact_sums import as_integers
from ...flows import DirectionPath, direction_path
from ...limits import l1_max_margin, l2_max_margin
from ...limits.rank import integer_ranks
from ...limits.rational_games import exact_game
from ...losses import ExponentialLoss, SmoothMargin
from ...models import DiagonalNetwork
from ..evidence import Evidence
from ..hypotheses import DIAGONAL
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import ERROR_FACTOR, witness_flow

FARTHEST = 1e4
"""Log-norm at which the limit is looked at."""
SEEN = 21
"""Times at which the weights are looked at."""
GROWN = 1.5
"""Log-norm beyond the one from which the bound speaks, up to which raw gradients are followed."""
SEPARATED = 10.0
"""S̃ in units of log n from which the bound speaks."""
PROGRAM_ERROR = 1e-7
"""What a linear program's optimum is off by at most."""


def signed_rows(problem: Problem) -> Array:
    return np.asarray(problem.data.y[:, None] * problem.data.X)


def best_direction(problem: Problem) -> Limit[Array]:
    """The largest ℓ1 margin; value: β/‖β‖₁."""
    Z = signed_rows(problem)
    found = l1_max_margin(np.hstack([Z, -Z]), time_s=RECORDED_S)
    return dataclasses.replace(found, value=found.value[: Z.shape[1]] - found.value[Z.shape[1] :])


def followed(problem: Problem, log_norm: float, time_s: float) -> DirectionPath:
    return direction_path(problem, log_norm, time_s=time_s)


def farthest_with(Z: Array, least: float, direction: Array) -> float:
    """The largest |b_j − a_j| over all b with ‖b‖₁ ≤ 1 and margin at least `least`: linear
    programs."""
    n, d = Z.shape
    rows = np.vstack([-np.hstack([Z, -Z]), np.ones((1, 2 * d))])
    right = np.append(np.full(n, -least), 1.0)
    worst = 0.0
    for j in range(d):
        for sign in (1.0, -1.0):
            cost = np.zeros(2 * d)
            cost[j], cost[d + j] = -sign, sign
            found = linprog(cost, rows, right, method="highs")
            if found.x is None:
                return float("nan")
            worst = max(worst, -float(found.fun) - sign * float(direction[j]))
    return worst


def rate_bound(
    gamma: float, log_r: float, sigma: Array, log_norm: Array, n: int, first: int
) -> float:
    """The bound on γ − S̃/N at the last σ, from the place `first` on; 1/N falls, so that its sum
    from the left is more than its integral."""
    spent = float(np.sum(np.diff(sigma[first:]) * np.exp(-log_norm[first:-1])))
    excess = np.log(2.0) + log_norm[first] - log_r - 4 * gamma * sigma[first]
    return float((excess + 4 * np.log(n) * spent) / (4 * (sigma[-1] - sigma[first])))


def speaks_from(gamma: float, log_least: Array, log_norm: Array, n: int) -> int:
    """The first place at which S̃ ≥ 0, shown by a least margin of log n, and γN exceeds ten times
    log n: before it the bound says little."""
    if n == 1:
        return 0
    wanted = np.log(SEPARATED * np.log(n) / gamma)
    speaks = (log_least >= np.log(np.log(n))) & (log_norm >= wanted)
    return int(np.argmax(speaks)) if np.any(speaks) else len(log_norm) - 1


def least_margins(path: DirectionPath) -> Array:
    """log min_i u_i of a path, or less: N ≤ ‖β‖₁ + N₀."""
    with np.errstate(divide="ignore"):
        grown = np.log(-np.expm1(np.minimum(path.log_norm[0] - path.log_norm, 0.0)))
        return np.asarray(np.log(np.maximum(path.margin, 0.0)) + path.log_norm + grown)


def _separable(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    Z, n = signed_rows(problem), problem.data.n
    best = best_direction(problem)
    gamma = best.objective
    log_r = float(np.min(np.log(2.0) + 2 * np.log(np.abs(problem.start.plus))))
    path = followed(problem, FARTHEST, evidence.time_left)
    first = speaks_from(gamma, least_margins(path), path.log_norm, n)
    bound = rate_bound(gamma, log_r, path.sigma, path.log_norm, n, first)
    end = path.directions[-1]
    reached = float(np.min(Z @ end)) / float(np.sum(np.abs(end)))
    kernel = l2_max_margin(Z, time_s=evidence.time_left).value
    kernel = kernel / np.sum(np.abs(kernel))
    error = float(path.error[-1])
    size = float(np.max(np.abs(Z)))
    far = (
        Check(
            f"(γ − margin)/γ at log-norm {FARTHEST:g}",
            (gamma - reached) / gamma,
            "<=",
            bound / gamma,
            error * size / gamma + best.certificate.relative_gap,
            witness="a linear program",
            null=1 - float(np.min(Z @ kernel)) / gamma,
            base=float(path.log_norm[-1]),
            exponent=-1.0,
        ),
        Check(
            f"largest |β_j/‖β‖₁ − a_j| at log-norm {FARTHEST:g}, a of largest margin",
            float(np.max(np.abs(end - best.value))),
            "<=",
            farthest_with(Z, gamma - bound, best.value),
            error + PROGRAM_ERROR,
            witness="a linear program",
            null=float(np.max(np.abs(kernel - best.value))),
        ),
    )
    return (*_near(evidence, path, gamma, log_r), *far)


def _near(evidence: Evidence, path: DirectionPath, gamma: float, log_r: float) -> tuple[Check, ...]:
    """By raw gradients, as far as they can be followed."""
    problem = evidence.network
    Z, n = signed_rows(problem), problem.data.n
    first = speaks_from(gamma, least_margins(path), path.log_norm, n)
    goal = path.log_norm[first] + GROWN
    last = min(int(np.searchsorted(path.log_norm, goal)), len(path.sigma) - 1)
    times = np.linspace(0, path.sigma[last], SEEN)
    smooth = dataclasses.replace(problem, loss=SmoothMargin(problem.loss))
    words = (
        "largest fall of S̃/N from S̃ ≥ 0 on, over itself or γ",
        "(γ − S̃/N)/γ as far as weights were followed",
    )
    third = "largest difference of β/‖β‖₁ in the dual and in the weights"
    flow = witness_flow(smooth, times=times, time_s=evidence.time_left / 2)
    if isinstance(flow, str):
        return tuple(unknown_check(name, flow) for name in (*words, third))
    betas = problem.model.effective(flow.states)
    norms = np.sum(flow.states.plus**2 + flow.states.minus**2, axis=1)
    margins = betas @ Z.T
    least = np.min(margins, axis=1)
    smoothed = least - np.log(np.sum(np.exp(least[:, None] - margins), axis=1))
    ratio = smoothed / norms
    doubt = ERROR_FACTOR * flow.predictor_error * np.max(np.sum(np.abs(Z), axis=1)) / norms
    doubt += ERROR_FACTOR * flow.error * np.abs(ratio) * problem.data.d / np.sqrt(norms)
    doubt += 64 * np.finfo(float).eps * np.max(np.abs(Z))
    unit = np.maximum(np.abs(ratio), gamma)[:-1]
    falls, doubts = (ratio[:-1] - ratio[1:]) / unit, (doubt[:-1] + doubt[1:]) / unit
    source = "∇L followed in the weights"
    with np.errstate(divide="ignore"):
        begun = speaks_from(gamma, np.log(np.maximum(least, 0.0)), np.log(norms), n)
    shown = int(np.argmax(smoothed >= 0))
    near = rate_bound(gamma, log_r, times, np.log(norms), n, begun)
    there = betas[-1] / np.sum(np.abs(betas[-1]))
    apart = float(np.max(np.abs(path.directions[last] - there)))
    off = float(path.error[last]) + 2 * ERROR_FACTOR * float(flow.predictor_error[-1]) * float(
        problem.data.d / np.sum(np.abs(betas[-1]))
    )
    return (
        Check(
            words[0],
            float(np.max(falls[shown:])),
            "<=",
            0.0,
            float(np.max(doubts[shown:])),
            witness=source,
        ),
        Check(
            words[1],
            float(gamma - ratio[-1]) / gamma,
            "<=",
            near / gamma,
            float(doubt[-1]) / gamma,
            witness=source,
            base=float(4 * gamma * times[-1]),
            exponent=-1.0,
        ),
        Check(third, apart, "==", 0.0, off, witness=source, size=float(np.max(np.abs(there)))),
    )


def _two_layers(problem: Any) -> str | None:
    return None if problem.model.depth == 2 else f"found depth {problem.model.depth}, needs 2"


def _exponential(problem: Any) -> str | None:
    if isinstance(problem.loss, ExponentialLoss):
        return None
    return f"found {type(problem.loss).__name__}, needs an ExponentialLoss"


def _balanced(problem: Any) -> str | None:
    plus, minus = (np.abs(leaf) for leaf in problem.start)
    if np.all(plus > 0) and np.array_equal(plus, minus):
        return None
    return "the start is not β = 0 with weights that are not zero"


def _separated(problem: Any) -> str | None:
    if not np.all(np.abs(problem.data.y) == 1):
        return "labels other than ±1"
    return (
        None
        if best_direction(problem).stats["separable"] is True
        else "no linear classifier is shown to separate the classes"
    )


def _one_direction(problem: Any) -> str | None:
    """Every optimal b is supported on T = {j : |Zᵀp|_j = γ} and has margin γ on the samples p > 0:
    where the columns T of their rows are independent there is one. In integers, for an optimal p:
    ranks modulo primes are never above those over the rationals."""
    Z = as_integers(signed_rows(problem)).entries
    # a game of some samples is the whole game where its a loses nothing on the others
    some = best_direction(problem).stats["weights"] > 0
    both = np.hstack([Z, -Z])
    game = exact_game(both[some])
    if game is None or min(both @ game.a) == min(both[some] @ game.a):
        Z = Z[some]
    else:
        game = exact_game(both)
    if game is None:
        return "whether one direction has the largest margin in ℓ1 is open: too many samples"
    pulls = np.abs(game.p @ Z)
    tight = np.flatnonzero(pulls == np.max(pulls))
    # integer_ranks leaves the last column out of the first rank
    rows = np.hstack([Z[game.p > 0][:, tight], np.zeros((np.sum(game.p > 0), 1), dtype=int)])
    if integer_ranks(rows.astype(object))[0] == tight.size:
        return None
    return "it is not shown that one direction alone has the largest margin in ℓ1"


DEPTH_TWO = Hypothesis("depth", "the network has depth two", on_problem(_two_layers))
EXPONENTIAL = Hypothesis("loss", "the loss is exponential", on_problem(_exponential))
BALANCED = Hypothesis("balanced", "the start is β = 0, its weights are not", on_problem(_balanced))
SEPARATED_CLASSES = Hypothesis(
    "separable", "a linear classifier separates the classes", on_problem(_separated)
)
ONE_DIRECTION = Hypothesis(
    "unique", "one direction has the largest margin in ℓ1", on_problem(_one_direction)
)


def separable_problem(key: int) -> Problem:
    """Random classes that some direction separates, from α between 0.03 and 3."""
    n, d = [(4, 7), (4, 12), (8, 6), (1, 5)][key % 4]
    for draw in range(100):
        rng = np.random.default_rng((83, key, draw))
        X = rng.standard_normal((n, d))
        y = np.where(X @ rng.standard_normal(d) > 0, 1.0, -1.0)
        scale = float(10.0 ** rng.uniform(-1.5, 0.5))
        problem = Problem(DiagonalNetwork(2), Dataset(X, y), ExponentialLoss(), scale=scale)
        if _one_direction(problem) is None:
            break
    return problem


def separable_family(key: int) -> Problem:
    """The same with columns of other units, duplicates and other scales."""
    problem = separable_problem(key)
    rng = np.random.default_rng((84, key))
    X, y = problem.data.X, problem.data.y
    if key % 3 == 1:
        X = X * 10.0 ** rng.uniform(-2, 2, X.shape[1])
    if key % 3 == 2:
        X, y = np.vstack([X, X[:1]]), np.append(y, y[:1])
    scale = float(10.0 ** rng.uniform(-6, 2))
    return Problem(problem.model, Dataset(X, y), problem.loss, scale=scale)


separable = Claim(
    "S/separable",
    "On separable data under the exponential loss a diagonal network of depth two, from β = 0, has "
    "a margin S̃/N that never falls once S̃ ≥ 0, and β/‖β‖₁ tends to the direction a of largest ℓ1 "
    "margin γ whatever the start: γ − S̃/N ≤ (log(2N₁/r) − 4γσ₁ + 4·log n·∫dσ/N)/(4(σ − σ₁)) for "
    "all σ₁ < σ from there on, like 1/log N.",
    "Pesme, Dragomir and Flammarion 2024, arXiv:2406.12763, for the direction; Moroshko et al. "
    "2020, arXiv:2007.06738; Lyu and Li 2020, arXiv:1906.05890, for the margin; the rate is ours",
    (DIAGONAL, DEPTH_TWO, EXPONENTIAL, BALANCED, SEPARATED_CLASSES, ONE_DIRECTION),
    separable_problem,
    _separable,
    Kind.FLOW,
    "∇L followed in the weights, as far as they can be; linear programs",
    "the direction of largest ℓ2 margin, where the kernel regime goes",
    family=separable_family,
)

CLAIMS = (separable,)
