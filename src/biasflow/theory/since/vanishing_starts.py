"""Vanishing starts of diagonal networks of any depth and shape (Pesme and Flammarion 2023,
arXiv:2304.00488; Zhao et al. 2026, arXiv:2607.12332): the path, and where it ends.

The start is α·c, c± of either sign's weights. In the time τ = t/T, T = L/(8c) with
L = log(‖β(∞)‖_∞/2α²) for D = 2, and the least growth time (max w)^{2−D}/(2cD(D−2)) for D ≥ 3, every
jump comes O(1/T) too early or late and takes O(1/T): η is within O(1) of its wall wherever β is not
small, and before that β is e^{−L(1−|s|)}, or (T(1−|s|))^{−D/(D−2)}, whose mean over τ is O(1/T),
too. For D = 2 the shape moves the walls by O(1) of L: it is forgotten at the same rate.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ...flows import saddle_path
from ...losses import SquareLoss
from ...models import DiagonalNetwork
from ...models.diagonal import DiagonalParams
from ..evidence import Evidence
from ..fits import fitted_exponent
from ..hypotheses import DIAGONAL, NONTRIVIAL, SQUARE
from ..regimes.depth_two import EXPONENT, LINEAR_PROGRAM
from ..regimes.families import diagonal_family
from ..regimes.log_weights import log_flow
from ..regimes.vanishing import COMPARED_OVER_LAST_JUMP, path_distance, settling
from ..verdicts import TELLING, Check, Claim, Hypothesis, Kind, unknown_check
from ..witness import witness_flow
from .averages import BOTH_WEIGHTS

LOGS = tuple(float(log) for log in np.geomspace(200, 220_000, 5))
"""T of depth-two flows: three decades."""
UNITS = tuple(float(unit) for unit in np.geomspace(100, 110_000, 4))
"""T of deeper ones, in units of the weight that the largest coordinate ends at."""


def network_path(problem: Problem) -> Trajectory:
    return saddle_path(problem)


def least_weighted(X: Array, y: Array, growth: Array) -> float:
    """min Σ(t⁺k⁺ + t⁻k⁻) over the least-squares solutions, by a linear program."""
    basis = np.linalg.svd(X, full_matrices=False)[2][: np.linalg.matrix_rank(X)]
    target = basis @ np.linalg.lstsq(X, y, rcond=None)[0]
    # in units of its own: the program's tolerances are absolute
    size, price = float(np.max(np.abs(target))) or 1.0, float(np.max(growth)) or 1.0
    rows = np.hstack([basis, -basis])
    found = linprog(growth.ravel() / price, A_eq=rows, b_eq=target / size, method="highs")
    return price * size * float(found.fun) if found.success else float("nan")


def weighted_norm(k: Array, growth: Array) -> float:
    """Σ(t⁺k⁺ + t⁻k⁻)."""
    return float(growth[0] @ np.maximum(k, 0) + growth[1] @ np.maximum(-k, 0))


def distances_at(
    problem: Problem, paths: tuple[Trajectory, ...], T: float, size: float, time_s: float
) -> tuple[tuple[float, float], ...] | str:
    """Mean distances from paths of the flow from the start of this shape whose T is given, with
    their numerical errors."""
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    last = COMPARED_OVER_LAST_JUMP * float(paths[0].times[-1])
    both = np.abs(np.stack([problem.start.plus, problem.start.minus]))
    if D == 2:
        clock = EXPONENT * c / T
        shape = np.log(both) - np.mean(np.log(both))
        run = log_flow(problem, (np.log(size / 2) - T) / 2 + shape, last / clock)
        if isinstance(run, str):
            return run
        return tuple(path_distance(*run, path, clock, last, size) for path in paths)
    top = size ** (1 / D) * T ** (1 / (2 - D))
    clock = 2 * c * D * (D - 2) * top ** (D - 2)
    start = DiagonalParams(*(top * both / np.max(both)))
    flow = witness_flow(dataclasses.replace(problem, start=start), t1=last / clock, time_s=time_s)
    if isinstance(flow, str):
        return flow

    def at(times: Array) -> Array:
        return np.array([problem.model.effective(flow.at(float(t))) for t in times])

    return tuple(path_distance(flow.times, at, path, clock, last, size, 4) for path in paths)


def _saddles(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    X, y, D = problem.data.X, problem.data.y, problem.model.depth
    path, plain = network_path(problem), saddle_path(X, y)
    growth, size = path.stats["growth"], float(np.max(np.abs(path.final)))
    least = least_weighted(X, y, growth)
    ending = Check(
        "Σ(t⁺k⁺ + t⁻k⁻) at the end of the path over the least of all fits",
        weighted_norm(path.final, growth) / least,
        "==",
        1.0,
        LINEAR_PROGRAM,
        witness="a linear program",
        null=weighted_norm(np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], float), growth) / least,
    )
    words = "exponent in T of the mean distance from the path"
    units, rest = (LOGS if D == 2 else UNITS), evidence.time_left / 5
    # the null model where it costs least: at the two ends
    apart = {units[0], units[-1]} if D > 2 else set[float]()
    found = [
        distances_at(problem, (path, plain) if T in apart else (path,), T, size, rest)
        for T in units
    ]
    failure = next((run for run in found if isinstance(run, str)), None)
    if failure is not None:
        return ending, unknown_check(words, failure)
    runs = [run for run in found if not isinstance(run, str)]
    values: Array = np.array([run[0] for run in runs], dtype=float)
    other = [runs[k][-1][0] for k in (0, -1)]
    unsettled = np.exp(-settling(problem, path) * np.array(LOGS)) if D == 2 else 0.0
    relative = values[:, 1] / values[:, 0] + unsettled
    slope, spread, decades = fitted_exponent(units, values[:, 0], relative)
    late = fitted_exponent(units[-3:], values[-3:, 0])[0]
    notes: dict[str, Any] = {
        "witness": "∇L followed in the " + ("logarithms of the weights" if D == 2 else "weights"),
        "decades": decades,
        "null": None
        if D == 2
        else float(np.log(other[1] / other[0]) / np.log(units[-1] / units[0])),
    }
    return ending, Check(words, slope, "==", -1.0, spread + abs(late - slope), **notes)


def _distinct(evidence: Evidence) -> str | None:
    problem = evidence.network
    path, X = network_path(problem), problem.data.X
    if not path.stats["unique"]:
        return "a plateau is not the only fit of its kind"
    entries, rank = int(np.sum(path.final != 0)), int(np.linalg.matrix_rank(X))
    if entries < rank:
        return f"the end of the path has {entries} entries, X has rank {rank}"
    if problem.model.depth > 2:
        return None
    x = settling(problem, path)
    spread = fitted_exponent(LOGS, 1 / np.array(LOGS), np.exp(-x * np.array(LOGS)))[1]
    return None if spread <= TELLING else f"a plateau settles like e^(−{x:.2g}L) only"


DISTINCT = Hypothesis(
    "general",
    "labels in general position: every plateau is the only fit of its kind and long enough to "
    "settle, and the last has as many entries as X has rank",
    _distinct,
)


def shaped_problem(key: int) -> Problem:
    """A diagonal network from weights that differ by a factor of up to e; every third has more
    samples than coordinates, and labels out of reach."""
    D = 2 + key % 3
    n, d = (9, 5) if D == 4 else (5, 12)
    for draw in range(100):
        rng = np.random.default_rng((67, key, draw))
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        start = DiagonalParams(*(0.1 * np.exp(rng.uniform(-0.5, 0.5, (2, d)))))
        problem = Problem(DiagonalNetwork(D), Dataset(X, y), SquareLoss("half"), start)
        if _distinct(Evidence(problem)) is None:
            break
    return problem


def shaped_family(key: int) -> Problem:
    """Those on the data of the other claims about diagonal networks."""
    problem = diagonal_family(key, 2 + key % 3)
    rng = np.random.default_rng((71, key))
    shape = np.exp(rng.uniform(-1, 1, (2, problem.data.d)))
    start = DiagonalParams(*(shape * problem.start.plus))
    return dataclasses.replace(problem, start=start)


saddles = Claim(
    "S/saddles",
    "As α → 0 from the start α·c, the flow of a diagonal network of depth D ≥ 2 converges, in the "
    "time t/T, to a process of jumps between saddles in which s, the sum of Xᵀ(y − Xβ) over time, "
    "stays in [−t⁻, t⁺], at the rate 1/T; it ends at argmin Σ(t⁺k⁺ + t⁻k⁻) over the least-squares "
    "solutions. The growth times t are c^{2−D} for D ≥ 3, and equal for D = 2, which forgets c.",
    "Zhao et al. 2026, arXiv:2607.12332, Theorems 4.2 and 4.5 with Corollary 4.6, here for W's "
    "networks; Pesme and Flammarion 2023, arXiv:2304.00488, for D = 2; the rate, and labels out of "
    "reach, are ours",
    (DIAGONAL, SQUARE, NONTRIVIAL, BOTH_WEIGHTS, DISTINCT),
    shaped_problem,
    _saddles,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights, or in their logarithms; a linear program",
    null="the least-squares solution of least ℓ2 norm; for D ≥ 3 equal growth times",
    family=shaped_family,
)

CLAIMS = (saddles,)
