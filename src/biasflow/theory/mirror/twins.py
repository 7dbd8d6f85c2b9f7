"""R, §5.4, last paragraph: two samples that are equal, or nearly, with equal responses; and with
different ones.

A sample given twice with one response is the sample times √2: the flow has one rate for both, while
‖Xᵀ†‖ is infinite and R's bounds are void. At a distance, x' = x + εz, equal responses ask for ⟨z,
β⟩ = 0 as well, whatever ε. F falls as fast as for the sample given twice, to ¼ε²⟨z, β̂⟩², β̂ being
that limit. But β then has to go on to β*, where ⟨z, β*⟩ = 0, by the force −½ε²z⟨z, β⟩: D_φ(β*, β)
stays at D_φ(β*, β̂) for a time of order ε^{−2}. So R's bounds on D_φ are not loose for such data.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import MirrorProblem
from ..._core.results import Trajectory
from ...errors import BiasflowError
from ...limits import bregman_projection
from ..evidence import Evidence
from ..examples import euclidean_problem, mirror_family, mirror_problem
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, FREE, FULL_RANK, MIRROR, REPRESENTABLE, SQUARE
from ..verdicts import Check, Claim, Hypothesis, Kind, unknown_check
from ..witness import ERROR_FACTOR, WITNESS_RTOL
from .conditions import MOVES
from .formulas import Formulas, formulas_of
from .measured import EPS, within_floats
from .mirror_witness import primal_flow

SECOND_PHASE = 3e-3
"""ε²T·zᵀ(φ'')⁻¹z of the farthest samples: how far the second phase has gone when the first, of
length T, is over."""
NEAR = tuple(float(s) for s in np.geomspace(1.0, 9e-4, 4))
"""Distances of two samples, over the farthest: three decades."""
SLOW = tuple(float(s) for s in np.geomspace(0.5, 1.5e-2, 4))
"""The same for flows that are followed through the second phase: three decades of time."""
TIMES_COMPARED = 40
"""Times at which two flows are compared."""
FOLLOWED = "β̇ = −∇F/φ'' followed in β"


def with_twin(problem: MirrorProblem, shift: Array, label: float = 0.0) -> MirrorProblem:
    """The first sample once more, moved by `shift`, its response by `label`."""
    X, y = np.vstack([problem.X, problem.X[0] + shift]), np.append(problem.y, problem.y[0] + label)
    return dataclasses.replace(problem, X=X, y=y)


def heavier(problem: MirrorProblem) -> MirrorProblem:
    """The first sample and its response times √2."""
    weight = np.append(np.sqrt(2.0), np.ones(len(problem.y) - 1))
    return dataclasses.replace(problem, X=weight[:, None] * problem.X, y=weight * problem.y)


def direction(problem: MirrorProblem) -> Array:
    """A random z as long as the first sample."""
    z = np.random.default_rng(11).standard_normal(problem.X.shape[1])
    return np.asarray(z * np.linalg.norm(problem.X[0]) / np.linalg.norm(z))


def floor_of_loss(eps: float, tilt: float) -> float:
    """¼ε²⟨z, β̂⟩²: both samples half off."""
    return eps**2 * tilt**2 / 4


def farthest_twin(f: Formulas, z: Array, beta: Array, last: float) -> float:
    """The ε at which the second phase has hardly begun when the first, of length `last`, is
    over."""
    return float(np.sqrt(SECOND_PHASE / (last * float(z @ (f.weight(beta) * z)))))


@within_floats
def _twins(evidence: Evidence) -> tuple[Check, ...]:
    p, share = evidence.mirror, evidence.time_left / 12
    f = formulas_of(p.potential, p.X.shape[1], p.beta0)
    equal = primal_flow(with_twin(p, np.zeros(p.X.shape[1])), None, None, WITNESS_RTOL, share)
    if isinstance(equal, str):
        return (unknown_check("the flow with a sample given twice", equal),)
    last, end, z = float(equal.times[-1]), equal.final, direction(p)
    checks = [_weighted(p, equal, share)]
    try:
        best = bregman_projection(
            p.potential, np.vstack([p.X, z]), np.append(p.y, 0.0), p.beta0
        ).value
        checks += _different(p, f, z, best)
    except BiasflowError as reason:
        return (*checks, unknown_check("the limit with a second sample nearby", str(reason)))
    eps = farthest_twin(f, z, end, last)
    return (
        *checks,
        *_first_phase(p, f, z, best, end, eps, last, share),
        *_second_phase(p, f, z, best, end, eps, share),
    )


def _weighted(p: MirrorProblem, equal: Trajectory, time_s: float) -> Check:
    """The flow with a sample twice against that with the sample times √2."""
    name = (
        "equal samples and responses: largest distance from the flow with that sample times "
        "√2, relative"
    )
    times = np.unique(equal.times[np.linspace(1, len(equal.times) - 1, TIMES_COMPARED).astype(int)])
    other = primal_flow(heavier(p), None, times, WITNESS_RTOL, time_s)
    if isinstance(other, str):
        return unknown_check(name, other)
    states, size = (
        np.array([equal.at(float(t)) for t in times]),
        float(np.max(np.abs(equal.states))),
    )
    error = ERROR_FACTOR * (float(np.max(equal.error)) + float(np.max(other.error))) / size
    return Check(
        name,
        float(np.max(np.abs(states - other.states))) / size,
        "==",
        0.0,
        error,
        witness=FOLLOWED,
    )


def _different(p: MirrorProblem, f: Formulas, z: Array, best: Array) -> list[Check]:
    """With responses that differ by δ, ⟨z, β⟩ = δ/ε: D_φ(β*, β₀) is convex in that, and its excess
    over 1/ε grows."""
    start = np.asarray(p.beta0 if p.beta0 is not None else f.inverse(np.zeros(p.X.shape[1])))
    unit, least = float(np.max(np.abs(p.y))), float(np.sum(f.divergence(best, start)))
    sizes = []
    for eps in (1e-1, 1e-3):
        far = bregman_projection(
            p.potential, np.vstack([p.X, z]), np.append(p.y, unit / eps), p.beta0
        ).value
        sizes.append((float(np.sum(f.divergence(far, start))) - least) * eps)
    name = (
        "responses that differ: growth of ε·(D_φ(β*, β₀) − that for equal ones) as ε falls "
        "from 1e-1 to 1e-3, relative"
    )
    growth = (sizes[1] - sizes[0]) / max(abs(sizes[0]), abs(sizes[1]))
    # D_φ that does not depend on ε
    return [Check(name, growth, ">=", 0.0, 1e-6, witness="the definition of D_φ", null=-0.99)]


def _first_phase(
    p: MirrorProblem,
    f: Formulas,
    z: Array,
    best: Array,
    end: Array,
    eps: float,
    last: float,
    time_s: float,
) -> tuple[Check, ...]:
    """F and D_φ when the flow with the sample given twice has ended."""
    words = (
        "equal responses: exponent in ε of F at the end of the first phase",
        "that F over ¼ε²⟨z, β̂⟩², at the least ε",
        "D_φ(β*, β) there over D_φ(β*, β̂), at the least ε: what is left to go",
    )
    losses, errors, left = [], [], []
    plateau, tilt = float(np.sum(f.divergence(best, end))), float(z @ end)
    for share in NEAR:
        twin = with_twin(p, eps * share * z)
        flow = primal_flow(twin, last, np.array([last]), WITNESS_RTOL, time_s)
        if isinstance(flow, str):
            return tuple(unknown_check(name, flow) for name in words)
        beta, spread = flow.final, flow.stats["spread"][-1]
        residual = np.sqrt(2 * float(flow.loss[-1]))
        off = float(
            np.linalg.norm(
                np.abs(twin.X) @ (spread + 4 * EPS * np.abs(beta)) + 4 * EPS * np.abs(twin.y)
            )
        )
        losses.append(float(flow.loss[-1]))
        errors.append(2 * off / residual)
        with np.errstate(all="ignore"):
            left.append(
                (
                    float(np.sum(f.divergence(best, beta))) / plateau,
                    float(np.sum(np.abs(f.gradient(beta) - f.gradient(best)) * spread)) / plateau,
                )
            )
    ratios = np.array(losses) / np.array([floor_of_loss(eps * share, tilt) for share in NEAR])
    notes: dict[str, Any] = {"witness": FOLLOWED}
    settled = abs(float(ratios[-1] - ratios[-2]))
    return (
        exponent_check(words[0], NEAR, losses, 2.0, np.array(errors), null=0.0, **notes),
        Check(
            words[1],
            float(ratios[-1]),
            "==",
            1.0,
            settled + errors[-1] + SECOND_PHASE * NEAR[-1],
            **notes,
        ),
        Check(
            words[2],
            left[-1][0],
            "==",
            1.0,
            abs(left[-1][0] - left[-2][0]) + left[-1][1] + SECOND_PHASE * NEAR[-1],
            null=0.0,
            **notes,
        ),
    )


def _second_phase(
    p: MirrorProblem, f: Formulas, z: Array, best: Array, end: Array, eps: float, time_s: float
) -> tuple[Check, ...]:
    """When D_φ(β*, β) has fallen to half of D_φ(β*, β̂)."""
    from scipy.optimize import brentq

    name = "equal responses: exponent in ε of the time at which D_φ(β*, β) is half of D_φ(β*, β̂)"
    half = float(np.sum(f.divergence(best, end))) / 2
    times: list[float] = []
    for k, share in enumerate(SLOW):
        # twice what ε^{−2} says
        longest = None if k == 0 else 2 * times[-1] * (SLOW[k - 1] / share) ** 2
        flow = primal_flow(with_twin(p, eps * share * z), longest, None, WITNESS_RTOL, time_s)
        if isinstance(flow, str):
            return (unknown_check(name, flow),)

        def above(t: float, flow: Trajectory = flow) -> float:
            return float(np.log(max(float(np.sum(f.divergence(best, flow.at(t)))), 1e-300) / half))

        late = [float(t) for t in flow.times if above(float(t)) < 0]
        if not late or late[0] == 0:
            return (unknown_check(name, "D_φ did not fall to half of what the first phase leaves"),)
        before = max(float(t) for t in flow.times if t < late[0])
        times.append(float(brentq(above, before, late[0], rtol=1e-8)))
    return (exponent_check(name, SLOW, times, -2.0, 1e-6, witness=FOLLOWED, null=0.0),)


def _another(evidence: Evidence) -> str | None:
    n, d = evidence.mirror.X.shape
    return None if d > n else f"n = {n} samples leave no direction for another, d = {d}"


def _example(key: int) -> MirrorProblem:
    return (euclidean_problem if key % 3 == 2 else mirror_problem)(key, 3, 6)


ROOM = Hypothesis("room", "d > n, so that one more sample can be fitted", _another)

twins = Claim(
    "R/twins",
    "A sample given twice with one response is the sample times √2: the flow is as fast, though "
    "‖Xᵀ†‖ = ∞. At a distance ε with equal responses F falls as fast, to ¼ε²⟨z, β̂⟩², but D_φ(β*, "
    "β) stays at D_φ(β*, β̂) for a time of order ε^{−2}: in D_φ the problem is made more "
    "difficult. With different responses D_φ(β*, β₀) itself grows, faster than 1/ε.",
    'R, §5.4, last paragraph ("the problem is not made much more difficult"; true of F, not of '
    "D_φ)",
    (MIRROR, SQUARE, FREE, REPRESENTABLE, CONSISTENT, MOVES, FULL_RANK, ROOM),
    _example,
    _twins,
    kind=Kind.FLOW,
    witness="flows in β with a second sample nearby",
    null="a time that does not depend on ε",
    family=mirror_family,
)

CLAIMS = (twins,)
