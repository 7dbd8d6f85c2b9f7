"""The trajectory of the depth-2 model as α → 0 (after Pesme and Flammarion 2023), with its rate.

In the time τ = 8ct/L, L = log(‖β(∞)‖_∞/2α²), the mirror coordinates over L are s = ±1 + O(1/L) on the active coordinates and run
as in the jump process elsewhere. So every jump comes O(1/L) too early or late, and takes O(1/L); between jumps the flow is
exponentially near its plateau. Hence the mean distance over τ falls like 1/L: a law that can be fitted, and be wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...flows import saddle_path
from ...inputs import Array
from ...records import Problem, Trajectory
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import fitted_exponent
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE, UNIFORM, UNIQUE, depth
from ..verdicts import Check, Claim, Hypothesis, Kind, unknown_check
from .depth_two import EXPONENT, LINEAR_PROGRAM
from .families import diagonal_family
from .log_weights import TOLERANCE, log_flow

LOGS = tuple(float(log) for log in np.geomspace(200, 220_000, 5))
"""L of the flows that are compared with the jump process: three decades."""
BEYOND = 1.2
"""End of the comparison, over the time of the last jump."""
FINER = 8
"""Points on each step of a flow at which its distance from the process is taken."""


def mean_distance(problem: Problem, path: Trajectory, log: float) -> tuple[float, float] | str:
    """Mean over τ of ‖β − plateau‖_∞/‖β(∞)‖_∞ of the flow from 2α² = ‖β(∞)‖_∞e^{−log}, with its numerical error."""
    clock = EXPONENT * problem.loss.factor(problem.data.n) / log
    last, size = BEYOND * float(path.times[-1]), float(np.max(np.abs(path.final)))
    run = log_flow(problem, (np.log(size / 2) - log) / 2, last / clock)
    if isinstance(run, str):
        return run
    ends, at = run
    inner = (ends[:-1, None] + np.diff(ends)[:, None] * np.linspace(0, 1, FINER, endpoint=False)).ravel()
    jumps = np.concatenate([path.times, np.nextafter(path.times, np.inf)]) / clock
    times = np.unique(np.concatenate([inner, jumps, ends[-1:]]))
    times = times[times <= ends[-1]]
    plateau = path.states[np.clip(np.searchsorted(path.times, times * clock, side="right") - 1, 0, None)]
    distance = np.max(np.abs(at(times) - plateau), axis=1) / size
    fine, rough = (float(np.trapezoid(distance[::k], times[::k])) * clock / last for k in (1, 2))
    return fine, abs(fine - rough) + len(path.times) * TOLERANCE  # each jump may come earlier or later by the tolerance


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
    found = [mean_distance(problem, path, log) for log in LOGS]
    failure = next((run for run in found if isinstance(run, str)), None)
    if failure is not None:
        return ending, unknown_check(quantity, failure)
    values: Array = np.array(found, dtype=float)
    slope, spread, decades = fitted_exponent(LOGS, values[:, 0], values[:, 1] / values[:, 0])
    late = fitted_exponent(LOGS[-3:], values[-3:, 0])[0]  # plateaus too short for the first L bend the law there
    notes: dict[str, Any] = {"decades": decades, "witness": "∇L followed in the logarithms of the weights"}
    return ending, Check(quantity, slope, "==", -1.0, spread + abs(late - slope), **notes)


def _general(evidence: Evidence) -> str | None:
    rank, entries = int(evidence.l1.stats["rank"]), int(np.count_nonzero(evidence.path.final))
    return None if entries >= rank else f"the end of the path has {entries} entries, X has rank {rank}"


GENERAL = Hypothesis(
    "general",
    "the labels are in general position: min ℓ1 has as many entries as X has rank (else the rate is L⁻¹log L)",
    _general,
)

vanishing = Claim(
    "W/limit",
    "As α → 0, in the time t/log(1/r), the flow of the depth-2 model converges to a process of jumps between saddles"
    " that ends at min ℓ1, at the rate 1/log(1/r).",
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
