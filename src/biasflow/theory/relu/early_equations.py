"""B, §2.2, §4.1 and B.6: the flow neuron by neuron. Equations (3) and (9); the early phase (10),
(14), (28); and (29).

On orthogonal inputs the process (28), which has no λ, can be written down: in the clock dτ = ‖v‖dt
the products of v with inputs it is active on move linearly, and those with labels of the other sign
stop at zero. Between two such times v = v₀ + τD with a fixed D, so that ‖v‖ = b·cosh(‖D‖t +
asinh(⟨v₀, D⟩/(b‖D‖))), b the part of v₀ across D. B's (28) is for S_{+,1}; with s_j it is that of
S_{−,1} too. In print ρ̃ − ρ − ln λ stands for ρ̃ − ρ + ln λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind
from ..witness import witness_flow
from .course import ROUNDING, Course
from .reference_networks import rescaled
from .relu_assumptions import _flow, _source
from .relu_examples import general_family, general_problem, orthonormal_family, orthonormal_problem
from .relu_hypotheses import ALIVE, ASSUMED, BALANCED, CROSSED, LABELLED, NETWORK, SMALL_START
from .relu_setting import LabelCluster, Setting, row_norms, unit_rows
from .three_phases import GRADIENT

STATES = 12
"""Networks at which (3) is compared with differences."""
STEP = 1e-3
"""Of a difference of L, over the size of the weight: L is quadratic in a single weight, so that
central differences are exact."""
GRADIENT_ERROR = 1e-8
"""Error of such differences over the largest entry of ∇L: rounding of L, 1e-16, over the step, and
sums over neurons."""
DIFFERENCE = 1e-4
"""Time step of central differences in units of the fastest rate: 1e-8 of truncation, 1e-6 of the
witness's error."""
DIFFERENCE_ERROR = 1e-5
"""Error of such differences, in units of that rate."""
TIMES = 40
"""Times at which a flow is looked at."""
SCALES = 10.0 ** -np.array([1.0, 1.75, 2.5, 3.25, 4.0])
"""λ at which the distance of the early phase from (28) is read, over √max|y|: three decades."""
GROWTHS = 1.5
"""Times 1/‖D_+‖ after which it is read: directions have turned by then, and norms have hardly
grown."""
KNOWN_ANGLE = 1e-12
"""1 − cosine from which on a witness knows an angle, relative to itself."""
ALIGNED_ROUNDING = 1e-14
"""Part of a neuron across D, over the rest, that is rounding."""
TANH = 1.0
"""Rate of the bound a·tanh(at) over ‖D_+‖."""
FACTOR = 2.0
"""Of λ^{ε/15} in (29)."""


def summed_outputs(params: TwoLayerParams, X: Array) -> Array:
    """h(x_k), by loops over neurons and inputs."""
    return np.array(
        [sum(a * max(float(w @ x), 0.0) for a, w in zip(*params, strict=True)) for x in X]
    )


def pulls(problem: Problem, params: TwoLayerParams, outputs: Array | None = None) -> Array:
    """D_j = −Σ_k 1[⟨w_j, x_k⟩ > 0]∂L/∂h_k·x_k, (m, d), by loops over neurons and inputs; outputs:
    in place of h."""
    X, y = problem.data.X, problem.data.y
    h = summed_outputs(params, X) if outputs is None else outputs
    slopes = 2 * problem.loss.factor(len(y)) * (h - y)
    found = np.zeros_like(params.W)
    for j, w in enumerate(params.W):
        for x, slope in zip(X, slopes, strict=True):
            if float(w @ x) > 0:
                found[j] -= slope * x
    return found


def _eq9(evidence: Evidence) -> tuple[Check, ...]:
    """(3) against differences of L; (9) against differences in time along a flow; (10) along one
    from a tiny start."""
    difference = "largest difference of ⟨D_j, w_j⟩ and a_jD_j from −∇L, over the largest entry"
    source = {"witness": _source(evidence)}
    return (
        *part(difference, lambda: _differences(evidence, difference)),
        *part(
            "difference of dρ_j/dt and dw_j/dt from (9)",
            lambda: _along(evidence, need(_flow(evidence)), evidence.network, None, "", source),
        ),
        *part("(10) from a start of 1e-9", lambda: _early(evidence)),
    )


def _differences(evidence: Evidence, quantity: str) -> Check:
    p, rng, worst = evidence.network, np.random.default_rng(0), 0.0
    for _ in range(STATES):
        size = float(np.sqrt(np.max(np.abs(p.data.y)) or 1.0)) * 10.0 ** rng.uniform(-1, 0.5)
        state = TwoLayerParams(
            size * rng.standard_normal(p.start.a.shape),
            size * rng.standard_normal(p.start.W.shape),
        )
        worst = max(worst, _from_differences(evidence, state))
    witness = f"differences of L at {STATES} networks"
    return Check(quantity, worst, "==", 0.0, GRADIENT_ERROR, size=1.0, witness=witness)


def _early(evidence: Evidence) -> tuple[Check, ...]:
    p = evidence.network
    early = rescaled(p, 1e-9 * float(np.sqrt(np.max(np.abs(p.data.y)))))
    rate = float(np.max(row_norms(pulls(early, early.start))))
    if rate == 0:
        raise Unmeasured("no neuron is pulled at the start")
    flow = need(witness_flow(early, t1=4.0 / rate, time_s=evidence.time_left / 3))
    notes = {"witness": "∇L followed in the weights"}
    along = _along(
        evidence, flow, early, np.zeros(p.data.n), " of (10), from a start of 1e-9", notes
    )
    return (*along, _ascent(flow, early))


def _from_differences(evidence: Evidence, state: TwoLayerParams) -> float:
    p = evidence.network
    D = pulls(p, state)
    predicted = np.column_stack([np.sum(D * state.W, axis=1), state.a[:, None] * D])
    found = np.zeros_like(predicted)
    theta = np.column_stack([state.a, state.W])
    products = np.abs(state.W @ p.data.X[np.any(p.data.X != 0, axis=1)].T)
    for j in evidence.in_time(range(len(theta))):
        # no kink within a step
        room = float(np.min(products[j])) / max(float(np.max(np.abs(p.data.X))), 1e-300)
        for i in range(theta.shape[1]):
            step = (
                STEP * float(np.max(np.abs(theta[j])))
                if i == 0
                else min(STEP * float(np.max(np.abs(theta[j]))), 0.5 * room)
            )
            values = []
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[j, i] += sign * step
                values.append(
                    float(
                        p.loss(
                            p.model(TwoLayerParams(moved[:, 0], moved[:, 1:]), p.data.X), p.data.y
                        )
                    )
                )
            found[j, i] = -(values[0] - values[1]) / (2 * step) if step > 0 else predicted[j, i]
    return float(np.max(np.abs(found - predicted)) / (np.max(np.abs(predicted)) or 1.0))


def _along(
    evidence: Evidence,
    flow: Trajectory,
    p: Problem,
    outputs: Array | None,
    suffix: str,
    notes: dict[str, Any],
) -> list[Check]:
    """(9), or (10) with given outputs: ρ̇_j and ẇ_j by central differences, away from gates that
    change."""
    names = [
        f"largest difference of {what} from (9){suffix}, over the fastest rate"
        for what in ("dρ_j/dt", "dw_j/dt")
    ]
    end = float(flow.times[-1])
    rate = _fastest(p, flow)
    step, worst, null, seen = DIFFERENCE / rate, np.zeros(2), np.zeros(2), 0
    moments = np.array(sorted({event.time for event in flow.events}))
    middles = (flow.times[1:] + flow.times[:-1]) / 2
    for t in evidence.in_time(middles[:: max(len(middles) // TIMES, 1)]):
        if t - 2 * step <= 0 or t + 2 * step >= end or np.any(np.abs(moments - t) <= 2 * step):
            continue
        low, middle, high = (_polar(flow, float(t) + shift) for shift in (-step, 0.0, step))
        units = middle[0]
        lengths = np.linalg.norm(p.data.X, axis=1)
        clear = np.all((np.abs(units.W @ p.data.X.T) > 1e-9 * lengths) | (lengths == 0), axis=1)
        # gates from directions: weights themselves may be below float range
        h = summed_outputs(flow.at(float(t)), p.data.X) if outputs is None else outputs
        D, signs = pulls(p, units, h), np.sign(units.a)
        radial = signs * np.sum(D * units.W, axis=1)
        laws = (radial, signs[:, None] * D - radial[:, None] * units.W)
        found = ((high[1] - low[1]) / (2 * step), (high[0].W - low[0].W) / (2 * step))
        for i, (one, other) in enumerate(zip(found, laws, strict=True)):
            worst[i] = max(worst[i], float(np.max(np.abs(one - other)[clear], initial=0.0)) / rate)
            null[i] = max(null[i], float(np.max(np.abs(one)[clear], initial=0.0)) / rate)
        seen += int(np.sum(clear))
    if seen == 0:
        raise Unmeasured("no neuron is off all kinks between two changes of gates")
    return [
        Check(name, float(off), "==", 0.0, DIFFERENCE_ERROR, size=1.0, null=float(still), **notes)
        for name, off, still in zip(names, worst, null, strict=True)
    ]


def _polar(flow: Trajectory, t: float) -> tuple[TwoLayerParams, Array]:
    """Unit neurons and log‖w_j‖."""
    params, shift = (flow.at(t), np.zeros(1)) if flow.polar is None else flow.polar(t)
    norms = row_norms(params.W)
    with np.errstate(divide="ignore"):
        return TwoLayerParams(np.sign(params.a), unit_rows(params.W)), np.log(norms) + shift


def _fastest(p: Problem, flow: Trajectory) -> float:
    norms = np.linalg.norm(p.data.X, axis=1)
    slopes = 2 * p.loss.factor(p.data.n) * np.abs(p.data.y)
    size = float(
        np.max(np.sum(flow.states.a**2, axis=-1) + np.sum(flow.states.W**2, axis=(-2, -1)))
    )
    return float(np.sum(slopes * norms)) + 2 * p.loss.factor(p.data.n) * size * float(
        np.sum(norms**2)
    )


def _ascent(flow: Trajectory, p: Problem) -> Check:
    """s_jΣ_k y_kσ(⟨w_j, x_k⟩) on the sphere, which is s_j⟨D_j⁰, w_j⟩: it never falls, across
    changes of gates too."""
    signs, values = np.sign(p.start.a), []
    for t in np.linspace(0, float(flow.times[-1]), TIMES):
        units = _polar(flow, float(t))[0]
        values.append(signs * (np.maximum(units.W @ p.data.X.T, 0.0) @ p.data.y))
    steps = np.diff(np.array(values), axis=0) / (
        np.abs(p.data.y) @ np.linalg.norm(p.data.X, axis=1)
    )
    quantity = (
        "least step of s_j⟨D_j⁰, w_j⟩ along it: each neuron ascends or descends on the sphere"
    )
    return Check(
        quantity,
        float(np.min(steps)),
        ">=",
        -2e-9,
        1e-9,
        witness="∇L followed in the weights",
        null=-float(np.max(steps)),
    )


def without_scale(s: Setting, cluster: LabelCluster, times: Array) -> tuple[Array, Array]:
    """(28) for a cluster's neurons, written down: unit vectors (T, J, d) and ρ̃ (T, J), at times in
    B's clock."""
    units, logs = (
        np.empty((len(times), cluster.neurons.size, s.X.shape[1])),
        np.empty((len(times), cluster.neurons.size)),
    )
    for i, j in enumerate(cluster.neurons):
        v, begin, active = s.unit.W[j].copy(), 0.0, s.X @ s.unit.W[j] > 0
        pending = np.ones(len(times), bool)
        while np.any(pending):
            D = cluster.sign * (s.y * active) @ s.X / s.n
            products, moves = s.X @ v, s.X @ D
            closing = active & (moves < 0)
            taus = np.where(closing, -products / np.where(closing, moves, 1.0), np.inf)
            until = float(np.min(taus, initial=np.inf))
            rate = float(np.linalg.norm(D))
            along = float(v @ D) / rate
            across = v - along * D / rate
            b = float(np.linalg.norm(across))
            if b <= ALIGNED_ROUNDING * abs(along):  # it does not turn any more
                across, b = 0 * across, ALIGNED_ROUNDING * abs(along)
            first = np.arcsinh(along / b)
            last = (
                begin + (np.arcsinh((along + until * rate) / b) - first) / rate
                if np.isfinite(until)
                else np.inf
            )
            for t in np.flatnonzero(pending & (times <= last)):
                angle = rate * (times[t] - begin) + first
                ratio = 1 / np.cosh(angle)
                units[t, i] = ratio * across / b + np.tanh(angle) * D / rate
                logs[t, i] = np.log(b) + np.logaddexp(angle, -angle) - np.log(2)
                pending[t] = False
            if np.any(pending):
                v, begin, active = v + until * D, last, active & (taus > until * (1 + 1e-12))
    return units, logs


def _eq28(evidence: Evidence) -> tuple[Check, ...]:
    course = Course(evidence)
    s = course.setting
    m, eps, c = len(s.unit.a), s.epsilon, s.c
    both = float(np.hypot(s.first.rate, s.second.rate))
    checks: list[Check] = []
    power = float(np.exp((2 - 2 * (1 + np.sqrt(2)) * eps) * s.log_scale))
    for cluster, name in ((s.first, "S_{+,1} up to t_{+1}"), (s.second, "S_{−,1} up to t_{+1}")):
        end = s.time(eps, s.first)
        times = np.linspace(0, end, TIMES)
        units, logs = without_scale(s, cluster, times * s.speed)
        states = [course.polar(float(t)) for t in times]
        turned = np.array([state.W[cluster.neurons] for state, _ in states])
        sizes = np.array([norms[cluster.neurons] for _, norms in states])
        error = course.relative(end)
        apart, null = (
            float(np.max(np.linalg.norm(turned - other, axis=-1))) for other in (units, units[:1])
        )
        bound = 4 * m * c**2 / (np.sqrt(s.n) * both) * power
        what = f"largest ‖w_j − w̃_j‖ in {name}, at most 4mc²λ^{{2−2(1+√2)ε}}/√(n(‖D_+‖² + ‖D_−‖²))"
        checks.append(
            Check(
                what,
                apart,
                "==",
                0.0,
                bound + error + ROUNDING,
                size=1.0,
                null=null,
                **course.notes,
            )
        )
        drift = float(np.max(np.abs(logs - logged(sizes, s.log_scale))))
        bound = -8 * m * c**2 * eps / s.first.rate * s.log_scale * power
        error += abs(s.log_scale) * np.finfo(float).eps * 4
        what = f"largest |ρ̃_j − ρ_j + ln λ| in {name}, at most −8mc²ε ln λ·λ^{{2−2(1+√2)ε}}/‖D_+‖"
        null = float(np.max(np.abs(logs - logs[:1])))
        checks.append(
            Check(
                what,
                drift,
                "==",
                0.0,
                bound + error + ROUNDING,
                size=1.0,
                null=null,
                **course.notes,
            )
        )
    cosine = "largest (1 − cos(w_j, D_+))/(1 − tanh(‖D_+‖t)) up to t_{+1}"
    quadratic = "exponent in λ of ‖w_j − w̃_j‖ at t = 1.5/‖D_+‖"
    return (
        *checks,
        *part(cosine, lambda: _tanh(course, cosine)),
        *part(quadratic, lambda: _quadratic(evidence, s, quadratic)),
        *part("||ρ_i − ρ_j|(t₃) − |ρ̃_i − ρ̃_j|| within a cluster", lambda: _twentynine(course)),
    )


def logged(sizes: Array, log_scale: float) -> Array:
    """ρ_j − ln λ."""
    return np.asarray(sizes - log_scale)


def _tanh(course: Course, quantity: str) -> Check:
    """(14): ⟨w_j, D_+⟩ ≥ a·tanh(at), in terms of what is missing; a differs from ‖D_+‖ by
    λ^{2(1−ε)}."""
    s = course.setting
    times = np.linspace(0, s.time(s.epsilon, s.first), TIMES)
    ratios = []
    for t in times:
        missing = s.first.misalignment(course.polar(float(t))[0]) / s.first.rate
        if missing >= KNOWN_ANGLE:
            x = TANH * s.first.rate * s.speed * float(t)
            ratios.append(missing * (1 + np.exp(-2 * x)) / (2 * np.exp(-2 * x)))
    if not ratios:
        raise Unmeasured("neurons are aligned at the start")
    null = (
        s.first.misalignment(s.unit)
        / s.first.rate
        * (1 + np.exp(2 * s.first.rate * s.speed * times[-1]))
        / 2
    )
    return Check(
        quantity,
        max(ratios),
        "<=",
        1.0,
        course.relative(float(times[-1])) + 1e-4,
        null=float(null),
        **course.notes,
    )


def _quadratic(evidence: Evidence, s: Setting, quantity: str) -> Check:
    """The distance from (28) at a fixed time against λ: h, which it leaves out, is of order λ²."""
    time = GROWTHS / s.first.rate
    units, _ = without_scale(s, s.first, np.array([time]))
    found, errors = [], []
    scales = SCALES * float(np.sqrt(np.max(np.abs(s.y)))) / np.sqrt(len(s.unit.a) * s.X.shape[1])
    for scale in scales:
        start = rescaled(s.problem, float(scale))
        flow = need(witness_flow(start, t1=time / s.speed, time_s=evidence.time_left / 4))
        state = unit_rows(flow.final.W)[s.first.neurons]
        found.append(float(np.max(np.linalg.norm(state - units[0], axis=-1))))
        errors.append((float(flow.stats["relative"][-1]) + 1e-12) / max(found[-1], 1e-300))
    if max(errors) > 0.1:
        raise Unmeasured(f"the distance is {min(found):.1g}, too small to be seen")
    corrections = 10 * SCALES**2  # terms of order λ⁴
    return exponent_check(
        quantity,
        scales,
        found,
        2.0,
        np.array(errors) + corrections,
        witness="∇L followed in the weights",
    )


def _twentynine(course: Course) -> list[Check]:
    """(29), for all pairs of a cluster of two neurons or more."""
    s, checks = course.setting, []
    for cluster, name, time in ((s.first, "S_{+,1}", "t_{+1}"), (s.second, "S_{−,1}", "t_{−1}")):
        quantity = f"largest ||ρ_i − ρ_j|(t₃) − |ρ̃_i − ρ̃_j|({time})| in {name}"
        if cluster.neurons.size >= 2:
            _, logs = without_scale(s, cluster, np.array([s.time(s.epsilon, cluster) * s.speed]))
            sizes = course.polar(course.t3)[1][cluster.neurons]
            gaps = [np.abs(np.subtract.outer(values, values)) for values in (sizes, logs[0])]
            start = np.log(row_norms(s.unit.W[cluster.neurons]))
            null = float(np.max(np.abs(gaps[0] - np.abs(np.subtract.outer(start, start)))))
            powers: dict[str, Any] = {
                "log_base": s.log_scale,
                "exponent": s.epsilon / 15,
                "null": null,
                **course.notes,
            }
            found = float(np.max(np.abs(gaps[0] - gaps[1])))
            checks.append(
                Check(
                    quantity,
                    found,
                    "<=",
                    FACTOR * s.power(1 / 15),
                    2 * course.error(course.t3),
                    **powers,
                )
            )
    return checks


def balanced_problem(key: int) -> Problem:
    return general_problem(2 * key)


def balanced_family(key: int) -> Problem:
    return general_family(2 * key)


eq9 = Claim(
    "B/eq9",
    "−∂L/∂a_j = ⟨D_j, w_j⟩ and −∂L/∂w_j = a_jD_j; so for balanced networks ρ_j = ln‖w_j‖ moves at "
    "s_j⟨D_j, w_j⟩ and w_j/‖w_j‖ at s_j(D_j − ⟨D_j, w_j⟩w_j), for any data. From a small start "
    "each neuron ascends s_j⟨D_j⁰, w_j⟩ on the sphere.",
    "B, equations (3), (9) and (10)",
    (NETWORK, ALIVE, LABELLED, BALANCED),
    balanced_problem,
    _eq9,
    Kind.FLOW,
    "differences of L, and differences in time of a flow followed in the weights",
    "neurons that do not move",
    balanced_family,
    below_floats=True,
)
eq28 = Claim(
    "B/eq28",
    "Up to t_{+1} directions and log-norms of the clusters follow the process without λ, within "
    "powers λ^{2−2(1+√2)ε}, with cosines of at least tanh(‖D_+‖t); afterwards log-norms of a "
    "cluster differ as they did, within 2λ^{ε/15}.",
    "B, equations (10), (14), (28), (29) (a sign corrected)",
    (*ASSUMED, SMALL_START, CROSSED),
    orthonormal_problem,
    _eq28,
    Kind.FLOW,
    GRADIENT,
    "directions and norms of the start",
    orthonormal_family,
    below_floats=True,
)
CLAIMS = (eq9, eq28)
