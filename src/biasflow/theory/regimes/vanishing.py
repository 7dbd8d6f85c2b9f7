"""The trajectory of the depth-2 model as α → 0 (after Pesme and Flammarion 2023), with its rate.

In the time τ = 8ct/L, L = log(‖β(∞)‖_∞/2α²), the mirror coordinates over L are s = ±1 + O(1/L) on
the active coordinates and run as in the jump process elsewhere. So every jump comes O(1/L) too
early or late, and takes O(1/L); between jumps the flow is exponentially near its plateau. Hence the
mean distance over τ falls like 1/L: a law that can be fitted, and be wrong. It is reached once
every plateau has the time to settle, up to terms e^{−Lx} whose x `settling` reads off the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...flows import saddle_path
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import fitted_exponent
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE, UNIFORM, UNIQUE, depth
from ..unmeasured import need, part
from ..verdicts import TELLING, Check, Claim, Hypothesis, Kind, unknown_check
from .depth_two import EXPONENT, LINEAR_PROGRAM
from .families import diagonal_family
from .log_weights import TOLERANCE, log_flow

LOGS = tuple(float(log) for log in np.geomspace(200, 220_000, 5))
"""L of the flows that are compared with the jump process: three decades."""
COMPARED_OVER_LAST_JUMP = 1.2
"""End of the comparison, over the time of the last jump."""
POINTS_PER_STEP = 8
"""Points on each step of a flow at which its distance from the process is taken."""


def mean_distance(
    problem: Problem, path: Trajectory, log: float, over: Callable[[], bool]
) -> tuple[float, float] | str:
    """Mean over τ of ‖β − plateau‖_∞/‖β(∞)‖_∞ of the flow from 2α² = ‖β(∞)‖_∞e^{−log}, with its
    numerical error."""
    clock = EXPONENT * problem.loss.factor(problem.data.n) / log
    last, size = COMPARED_OVER_LAST_JUMP * float(path.times[-1]), float(np.max(np.abs(path.final)))
    run = log_flow(problem, (np.log(size / 2) - log) / 2, last / clock, over)
    if isinstance(run, str):
        return run
    return path_distance(*run, path, clock, last, size)


def path_distance(
    ends: Array,
    at: Callable[[Array], Array],
    path: Trajectory,
    clock: float,
    last: float,
    size: float,
    per_step: int = POINTS_PER_STEP,
) -> tuple[float, float]:
    """Mean of ‖β − plateau‖_∞/size over τ = clock·t up to `last`, and its numerical error."""
    inner = (
        ends[:-1, None] + np.diff(ends)[:, None] * np.linspace(0, 1, per_step, endpoint=False)
    ).ravel()
    jumps = np.concatenate([path.times, np.nextafter(path.times, np.inf)]) / clock
    times = np.unique(np.concatenate([inner, jumps, ends[-1:]]))
    times = times[times <= ends[-1]]
    plateau = path.states[
        np.clip(np.searchsorted(path.times, times * clock, side="right") - 1, 0, None)
    ]
    distance = np.max(np.abs(at(times) - plateau), axis=1) / size
    fine, rough = (float(np.trapezoid(distance[::k], times[::k])) * clock / last for k in (1, 2))
    # each jump may come earlier or later by the tolerance
    return fine, abs(fine - rough) + len(path.times) * TOLERANCE


def settling(problem: Problem, path: Trajectory) -> float:
    """The least x for which the flow at L is within e^{−Lx} of each plateau at some time of it:
    zero where one is never reached.

    On a plateau dδ/dτ = −L·diag|β|XᵀX·δ for the active coordinates, so that they settle at L times
    the least eigenvalue of
    |β|^½XᵀX|β|^½; the others are e^{−L(1−|s|)}, with s moving evenly, which is least at an end of
    the plateau, or where s = 0.
    """
    X, y = problem.data.X, problem.data.y
    s, least = np.zeros(X.shape[1]), np.inf
    ends = np.append(path.times[1:], COMPARED_OVER_LAST_JUMP * path.times[-1])
    for begun, end, beta in zip(path.times, ends, path.states, strict=True):
        if end <= begun:
            continue
        on = np.flatnonzero(beta)
        arrived = np.clip(
            s + (end - begun) * np.where(beta != 0, 0.0, X.T @ (y - X @ beta)), -1.0, 1.0
        )
        inner = np.where(s * arrived < 0, 0.0, np.minimum(np.abs(s), np.abs(arrived)))
        least = min(least, float(np.min(1 - inner[beta == 0], initial=1.0)))
        if on.size:
            active = X[:, on] * np.sqrt(np.abs(beta[on]))
            slowest = float(np.linalg.eigvalsh(active.T @ active)[0])
            least = min(least, max(slowest, 0.0) * float(end - begun))
        s = np.where(beta != 0, np.sign(beta), arrived)
    return least


def _limit(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    path = saddle_path(problem.data.X, problem.data.y)
    norm = float(np.sum(np.abs(path.final)))
    quantity = "exponent in L = log(‖β(∞)‖_∞/2α²) of the mean distance from the jump process"
    ending = Check(
        "‖β‖₁ at the end of the path over min ℓ1",
        norm / evidence.l1.objective,
        "==",
        1.0,
        max(abs(evidence.l1.certificate.gap), LINEAR_PROGRAM),
        witness="a linear program",
        null=float(np.sum(np.abs(evidence.l2.value))) / evidence.l1.objective,
    )
    x = settling(problem, path)
    unsettled = np.exp(-x * np.array(LOGS))
    if fitted_exponent(LOGS, 1 / np.array(LOGS), unsettled)[1] > TELLING:
        why = (
            f"a plateau is too short, or a coordinate too near its bound, by e^(−{x:.2g}L): the "
            "law 1/L is not reached"
        )
        return ending, unknown_check(quantity, why)
    return ending, *part(quantity, lambda: _rate(evidence, path, unsettled, quantity))


def _rate(evidence: Evidence, path: Trajectory, unsettled: Array, quantity: str) -> Check:
    over = evidence.deadline.over
    found = [need(mean_distance(evidence.network, path, log, over)) for log in LOGS]
    values: Array = np.array(found, dtype=float)
    slope, spread, decades = fitted_exponent(
        LOGS, values[:, 0], values[:, 1] / values[:, 0] + unsettled
    )
    # plateaus too short for the first L bend the law there
    late = fitted_exponent(LOGS[-3:], values[-3:, 0])[0]
    notes: dict[str, Any] = {
        "decades": decades,
        "witness": "∇L followed in the logarithms of the weights",
    }
    return Check(quantity, slope, "==", -1.0, spread + abs(late - slope), **notes)


def _general(evidence: Evidence) -> str | None:
    X, y, end = evidence.network.data.X, evidence.network.data.y, evidence.path.final
    rounding = (
        X.shape[0]
        * np.finfo(float).eps
        * (np.abs(np.linalg.pinv(X)) @ (np.abs(X) @ np.abs(end) + np.abs(y)))
    )
    rank, entries = int(evidence.l1.stats["rank"]), int(np.sum(np.abs(end) > rounding))
    return (
        None if entries >= rank else f"the end of the path has {entries} entries, X has rank {rank}"
    )


GENERAL = Hypothesis(
    "general",
    "the labels are in general position: min ℓ1 has as many entries as X has rank (else the rate "
    "is L⁻¹log L)",
    _general,
)

vanishing = Claim(
    "W/limit",
    "As α → 0, in the time t/log(1/r), the flow of the depth-2 model converges to a process of "
    "jumps between saddles that ends at min ℓ1, at the rate 1/log(1/r).",
    "Pesme and Flammarion 2023, for W's model; the rate is ours",
    (DIAGONAL, depth(2, 2), SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL, UNIQUE, GENERAL),
    lambda key: diagonal_problem(key, n=5, d=12),
    _limit,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the logarithms of the weights; a linear program",
    null="the minimum-ℓ2 (kernel) solution at the end",
    family=lambda key: diagonal_family(key, 2),
)

CLAIMS = (vanishing,)
