"""W, §4: w = 0 is a saddle, so that taking α → 0 increases the time needed to escape it; how fast,
for every order D.

While β is small the residual is −y, and the weights grow by themselves: log w₊ at the rate
4c|Xᵀy|_i for D = 2, and w₊^{2−D} falls at the rate 2cD(D−2)|Xᵀy|_i for D ≥ 3. The fastest
coordinate leaves at t = log(1/α²)/(8c‖Xᵀy‖_∞), or at α^{2−D}/(2cD(D−2)‖Xᵀy‖_∞), up to a time that
does not depend on α.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth
from ..unmeasured import need
from ..verdicts import Check, Claim, Kind
from ..witness import WITNESS_RTOL, witness_flow
from .families import diagonal_family
from .log_weights import TOLERANCE, log_flow

UNITS = tuple(float(u) for u in np.geomspace(30, 33_000, 5))
"""(α/w₁)^{2−D} of the flows, w₁ the weight that the fastest coordinate goes to: three decades."""
LOGS = tuple(float(u) for u in np.geomspace(200, 220_000, 5))
"""For D = 2, log(β₁/2α²): three decades."""
FOLLOWED_OVER_EXIT = 1.5
"""How long a flow is followed, over the time at which it should leave."""
EXIT_SHARE = 0.5
"""Share of the loss that the fastest coordinate alone can fit, at which the saddle is left."""


def escape_rate(D: int, c: float, force: float) -> float:
    """8c‖Xᵀy‖_∞ for D = 2, 2cD(D−2)‖Xᵀy‖_∞ for D ≥ 3."""
    return 8 * c * force if D == 2 else 2 * c * D * (D - 2) * force


def first_target(problem: Problem) -> tuple[float, float]:
    """(‖Xᵀy‖_∞, |β| that the coordinate where it is attained would go to alone)."""
    X, y = problem.data.X, problem.data.y
    force = np.abs(X.T @ y)
    k = int(np.argmax(force))
    return float(force[k]), float(force[k] / np.sum(X[:, k] ** 2))


def _crossing(
    problem: Problem, ends: Array, at: Callable[[float], Array], wanted: float
) -> float | None:
    """The first time at which ‖y‖² − ‖Xβ − y‖² exceeds `wanted`."""
    X, y = problem.data.X, problem.data.y

    def excess(t: float) -> float:
        fitted = X @ at(t)
        return float(fitted @ (2 * y - fitted)) / wanted - 1

    above = np.flatnonzero([excess(float(t)) > 0 for t in ends])
    if not above.size or above[0] == 0:
        return None
    k = int(above[0])
    return float(brentq(excess, float(ends[k - 1]), float(ends[k]), rtol=1e-12))


def escape_time(
    problem: Problem, unit: float, time_s: float, over: Callable[[], bool]
) -> float | str:
    """When the flow leaves the saddle, from the start at which this should take `unit` times the
    inverse of the rate."""
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    force, target = first_target(problem)
    wanted = EXIT_SHARE * force * target
    if D == 2:
        run = log_flow(
            problem,
            (np.log(target / 2) - unit) / 2,
            FOLLOWED_OVER_EXIT * unit / escape_rate(D, c, force),
            over,
        )
        if isinstance(run, str):
            return run
        ends, many = run
        found = _crossing(problem, ends, lambda t: many(np.array([t]))[0], wanted)
    else:
        alpha = float(target ** (1 / D) * unit ** (1 / (2 - D)))
        start = dataclasses.replace(problem, start=problem.model.init(alpha, dim=problem.data.d))
        t1 = FOLLOWED_OVER_EXIT * alpha ** (2 - D) / escape_rate(D, c, force)
        flow = witness_flow(start, t1=t1, time_s=time_s)
        if isinstance(flow, str):
            return flow
        found = _crossing(
            problem, flow.times, lambda t: problem.model.effective(flow.at(t)), wanted
        )
    return (
        "the flow did not leave in one and a half times the time predicted"
        if found is None
        else found
    )


def _escape(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    D, c = problem.model.depth, problem.loss.factor(problem.data.n)
    force, target = first_target(problem)
    units = np.array(LOGS if D == 2 else UNITS)
    name = "log(1/α²)" if D == 2 else "α^{2−D}"
    words = f"exponent in {name} of the time to leave the saddle at w = 0"
    share, over = evidence.time_left / len(units), evidence.deadline.over
    found = [need(escape_time(problem, float(unit), share, over)) for unit in units]
    times: Array = np.array(found, dtype=float)
    # the unit's own
    clock = escape_rate(D, c, force) * (1.0 if D == 2 else target ** ((D - 2) / D))
    slopes = np.diff(times) / np.diff(units) * clock
    rounding = (
        (TOLERANCE if D == 2 else WITNESS_RTOL) * 100 * float(units[-1] / (units[-1] - units[-2]))
    )
    notes: dict[str, Any] = {"null": 0.0}
    notes["witness"] = (
        "∇L followed in the logarithms of the weights" if D == 2 else "∇L followed in the weights"
    )
    return (
        exponent_check(words, units, times, 1.0, **notes),
        Check(
            f"d(time)/d({name}) times "
            + ("8c‖Xᵀy‖_∞" if D == 2 else "2cD(D−2)‖Xᵀy‖_∞")
            + ", between the two least α",
            float(slopes[-1]),
            "==",
            1.0,
            # what does not depend on α has gone, the rest falls with it
            abs(float(slopes[-1] - slopes[-2])) + rounding,
            **notes,
        ),
    )


escape = Claim(
    "W/escape",
    "As α → 0 the time needed to escape the saddle at w = 0 grows without bound: it is "
    "log(1/α²)/(8c‖Xᵀy‖_∞) for D = 2 and α^{2−D}/(2cD(D−2)‖Xᵀy‖_∞) for D ≥ 3, up to a time that "
    "does not depend on α, for the loss c‖·‖².",
    'W, Section 4 ("drastically increases the time needed to escape the saddle point"; the times '
    "are ours)",
    (depth(2), SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=2 + key % 4, n=5, d=12),
    _escape,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights, or in their logarithms",
    null="a time that does not depend on α",
    family=lambda key: diagonal_family(key, 2 + key % 4),
)

CLAIMS = (escape,)
