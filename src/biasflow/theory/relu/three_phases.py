"""B, §4.2 and B.3–B.5: the state of the network at the end of each phase, for small λ.

B's statements hold for λ ≤ λ*, which is not explicit; each check compares with the printed power of
λ as it stands, and reports the power at which it would be attained. Lemma 3 (ii) and Lemma 4 (ii)
define t₂ and t₃: what can fail is that the level is reached by the printed time, and what is
measured is what is missing. Lemma 3 (i) has ε/2, Lemma 4 (ii) ε/29, as in version 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind, unknown_check
from .course import Course
from .limit_networks import of_vanishing_scale
from .relu_examples import (
    ordinary_family,
    ordinary_problem,
    orthonormal_family,
    orthonormal_problem,
    tiny_family,
    tiny_problem,
)
from .relu_hypotheses import (
    ANY_LENGTHS,
    ASSUMED,
    CROSSED,
    PHASES_APART as APART_POWER,
    SMALL_START,
    TINY_START,
    TWO_SIGNS,
)
from .relu_setting import LabelCluster, Setting, distance, squared_norm, unit_rows

KINK_COSINE = 1e-11
"""Cosine of a neuron and an input that is rounding, in witnesses and in flows."""
ORDER_FACTOR = 4.0
"""Factor within which something is 'of order' a power of λ."""
STATIONARY_GRADIENT = 1e-10
"""‖∇L‖ at a saddle that is rounding, over ‖D_+‖‖θ_S‖."""
CURVATURE_ERROR = 1e-4
"""Relative error of a second difference with steps of 1e-3‖θ_S‖: its third and fourth
derivatives."""


def _lem2(evidence: Evidence) -> tuple[Check, ...]:
    """Also Lemmas 7 (iii) and 8 (iii): at t₁ no neuron of a cluster is active on labels of the
    other sign."""
    course = Course(evidence)
    s, power = course.setting, course.setting.power(1)
    (state, logs), start = course.polar(s.ends[0]), s.unit
    error = course.relative(s.ends[0])
    powers: dict[str, Any] = {"log_base": s.log_scale, "exponent": s.epsilon, **course.notes}
    checks = []
    for cluster, name in zip(
        s.clusters,
        ("(i) misalignment of S_{+,1} with D_+", "(ii) the same of S_{−,1} with −D_−"),
        strict=True,
    ):
        found, before = (cluster.misalignment(each) / cluster.rate for each in (state, start))
        spread = error * (np.sqrt(2 * found) + error)
        checks.append(
            Check(f"{name} at t₁, over ‖D‖", found, "<=", 2 * power, spread, null=before, **powers)
        )
    top, late = (
        float(np.max(each) - np.log(2 * s.c)) / s.log_scale
        for each in (logs, course.polar(course.end)[1])
    )
    what, spread = "(iii) exponent of λ in the largest ‖w_j‖/2c at t₁", error / abs(s.log_scale)
    checks.append(
        Check(what, top, ">=", 1 - s.ratio * s.epsilon, spread, null=late, **course.notes)
    )
    for cluster, t, lemma in (
        (s.first, s.time(s.epsilon, s.first), "7"),
        (s.second, s.ends[0], "8"),
    ):
        found, before = (_wrong(s, cluster, each) for each in (course.polar(t)[0], start))
        what = f"largest cosine in a cluster with inputs of the other sign (Lemma {lemma} (iii))"
        # gates close after a time that does not depend on λ: t₁ must be longer
        if power > APART_POWER:
            checks.append(
                unknown_check(
                    what, f"λ^ε = {power:.2g}: λ may not be below B's λ*, which is not explicit"
                )
            )
            continue
        checks.append(
            Check(
                what, found, "==", 0.0, KINK_COSINE + error, size=1.0, null=before, **course.notes
            )
        )
    return tuple(checks)


def _wrong(s: Setting, cluster: LabelCluster, params: TwoLayerParams) -> float:
    """The largest positive cosine of the cluster's neurons with inputs of the other sign."""
    other = cluster.sign * s.y < 0
    products = unit_rows(params.W[cluster.neurons]) @ (s.X[other] / s.lengths[other, None]).T
    return float(np.max(products, initial=0.0))


def _lem3(evidence: Evidence) -> tuple[Check, ...]:
    course = Course(evidence)
    s, printed = course.setting, course.setting.ends[1]
    size = s.n * s.first.rate
    late = float(s.first.size(course.at(printed)))
    return (
        Check(
            "(ii) what u_+ lacks of n‖D_+‖ at −(1+3ε)ln λ/‖D_+‖",
            abs(size - late),
            "<=",
            s.power(1 / 5),
            2 * course.error(printed) * size,
            null=size - float(s.first.size(s.start)),
            log_base=s.log_scale,
            exponent=s.epsilon / 5,
            **course.notes,
        ),
        *part("(i), (iii) and the loss at t₂", lambda: _at_t2(course)),
    )


def _at_t2(course: Course) -> tuple[Check, ...]:
    s, t2, size = course.setting, course.t2, course.setting.n * course.setting.first.rate
    state, error = course.at(t2), course.error(t2)
    aligned, before = (s.first.misalignment(each) for each in (state, s.unit))
    others, grown = (
        course.others(each, s.first) / (2 * s.c) for each in (state, course.flow.final)
    )
    residual = float(np.sum(course.residual(state, s.first) ** 2))
    unseen = 2 * error * size * np.sqrt(residual)
    powers: dict[str, Any] = {"log_base": s.log_scale, **course.notes}
    spread = error * (np.sqrt(2 * aligned * s.first.rate) + error)
    return (
        Check(
            "(i) misalignment of S_{+,1} at t₂",
            aligned,
            "<=",
            s.power(1 / 2),
            spread,
            null=before,
            exponent=s.epsilon / 2,
            **powers,
        ),
        Check(
            "(iii) largest other ‖w_j‖/2c at t₂",
            others,
            "<=",
            s.power(1),
            others * course.relative(t2),
            null=grown,
            exponent=s.epsilon,
            **powers,
        ),
        Check(
            "Σ(y_k − h)² over the first labels at t₂, at most of order λ^{2ε/5}",
            residual,
            "<=",
            ORDER_FACTOR * s.power(2 / 5),
            unseen,
            null=float(np.sum(s.y[s.first.sign * s.y > 0] ** 2)),
            exponent=2 * s.epsilon / 5,
            **powers,
        ),
        Check(
            "the same, at least of that order",
            residual,
            ">=",
            s.power(2 / 5) / ORDER_FACTOR,
            unseen,
            null=float(np.sum(course.residual(course.flow.final, s.first) ** 2)),
            exponent=2 * s.epsilon / 5,
            **powers,
        ),
    )


def _lem4(evidence: Evidence) -> tuple[Check, ...]:
    """With Lemma 11 (iv): the first labels stay fitted."""
    course = Course(evidence)
    s, printed = course.setting, course.setting.ends[3]
    size = s.n * s.second.rate
    late = float(s.second.size(course.at(printed)))
    return (
        Check(
            "(ii) what u_− lacks of n‖D_−‖ at −(1+3rε)ln λ/‖D_−‖",
            abs(size - late),
            "<=",
            s.power(1 / 29),
            2 * course.error(printed) * size,
            null=size - float(s.second.size(s.start)),
            log_base=s.log_scale,
            exponent=s.epsilon / 29,
            **course.notes,
        ),
        *part("(i), (iii), (iv) and Lemma 11 (iv) at t₃", lambda: _at_t3(course)),
    )


def _at_t3(course: Course) -> tuple[Check, ...]:
    s = course.setting
    powers: dict[str, Any] = {"log_base": s.log_scale, **course.notes}
    before, state, error = course.at(course.t2), course.at(course.t3), course.error(course.t3)
    aligned, never = (s.second.misalignment(each) for each in (state, s.unit))
    moved, from_start = (
        float(np.max(np.linalg.norm((state.W - each.W)[s.first.neurons], axis=1)))
        for each in (before, s.start)
    )
    others, both = (
        course.others(state, *clusters) / (3 * s.c) for clusters in (s.clusters, (s.first,))
    )
    left, whole = (
        float(np.linalg.norm(course.residual(each, s.first))) / s.n for each in (state, s.start)
    )
    scale = float(np.max(np.abs(state.W)))
    spread = error * (np.sqrt(2 * aligned * s.second.rate) + error)
    return (
        Check(
            "(i) misalignment of S_{−,1} at t₃",
            aligned,
            "<=",
            s.power(1 / 14),
            spread,
            null=never,
            exponent=s.epsilon / 14,
            **powers,
        ),
        Check(
            "(iii) largest ‖w_j(t₃) − w_j(t₂)‖ in S_{+,1}",
            moved,
            "<=",
            s.power(1 / 15),
            2 * error * scale,
            null=from_start,
            exponent=s.epsilon / 15,
            **powers,
        ),
        Check(
            "(iv) largest other ‖w_j‖/3c at t₃",
            others,
            "<=",
            s.power(1),
            others * course.relative(course.t3),
            null=both,
            exponent=s.epsilon,
            **powers,
        ),
        Check(
            "‖D_+^{t₃}‖, what the first labels lack (Lemma 11 (iv))",
            left,
            "<=",
            s.power(1 / 14),
            2 * error * s.first.rate,
            null=whole,
            exponent=s.epsilon / 14,
            **powers,
        ),
    )


def _lem12(evidence: Evidence) -> tuple[Check, ...]:
    """Both parts: θ* interpolates at least norm, and is near."""
    course = Course(evidence)
    s, best = course.setting, course.limit.value
    misfit = float(np.max(np.abs(s.problem.model(best, s.X) - s.y)) / np.max(np.abs(s.y)))
    norm = squared_norm(best) / s.least_norm
    arithmetic = "h and ‖θ‖² summed over neurons"
    return (
        Check(
            "largest |h(x_k) − y_k| of θ* over max|y|",
            misfit,
            "==",
            0.0,
            1e-12 * s.n,
            witness=arithmetic,
        ),
        Check("‖θ*‖² over 2n(‖D_+‖ + ‖D_−‖)", norm, "==", 1.0, 1e-12 * s.n, witness=arithmetic),
        *part("‖θ(t₃) − θ*‖", lambda: _near_at_t3(course, best)),
    )


def _near_at_t3(course: Course, best: TwoLayerParams) -> Check:
    s, gap = course.setting, course.gap(course.t3, best)
    error = course.error(course.t3) * float(np.sqrt(squared_norm(best)))
    powers: dict[str, Any] = {"log_base": s.log_scale, "exponent": s.epsilon / 31, **course.notes}
    null = distance(s.start, best)
    return Check("‖θ(t₃) − θ*‖", gap, "<=", s.power(1 / 31), error, null=null, **powers)


def _fact1(evidence: Evidence) -> tuple[Check, ...]:
    """θ_S: the first cluster at its limit, all others at zero; a stationary point with a direction
    of negative curvature."""
    course = Course(evidence)
    s, p, saddle = course.setting, course.setting.problem, course.saddle
    size = float(np.sqrt(squared_norm(saddle)))
    if size == 0:
        return (
            unknown_check(
                "‖θ(t) − θ_S‖ on the dwell interval", "θ_S is zero: the limit has no first cluster"
            ),
        )
    if not 0 < s.ends[1] <= s.ends[2]:
        return (
            unknown_check(
                "‖θ(t) − θ_S‖ on the dwell interval",
                f"it is empty: from {s.ends[1]:.4g} to {s.ends[2]:.4g}",
            ),
        )
    slope = float(np.linalg.norm(slopes(p, saddle))) / (s.speed * s.first.rate * size)
    step, j = 1e-3 * size, int(s.second.neurons[0])
    moved = TwoLayerParams(saddle.a.copy(), saddle.W.copy())
    moved.a[j], moved.W[j] = (
        s.second.sign * step / np.sqrt(2),
        s.second.direction * step / np.sqrt(2),
    )
    value, zero = (
        float(p.loss(p.model(each, s.X), s.y))
        for each in (saddle, TwoLayerParams(0 * saddle.a, 0 * saddle.W))
    )
    change = (float(p.loss(p.model(moved, s.X), s.y)) - value) / step**2 / s.speed
    small, first = TwoLayerParams(0 * saddle.a, 0 * saddle.W), int(s.first.neurons[0])
    small.a[first], small.W[first] = (
        s.first.sign * step / np.sqrt(2),
        s.first.direction * step / np.sqrt(2),
    )
    at_zero = (float(p.loss(p.model(small, s.X), s.y)) - zero) / step**2 / s.speed
    differences = "differences of L"
    return (
        *part("‖θ(t) − θ_S‖ on the dwell interval", lambda: _dwells(course, size)),
        Check("‖∇L(θ_S)‖/(‖D_+‖‖θ_S‖)", slope, "==", 0.0, STATIONARY_GRADIENT, witness="∇L at θ_S"),
        Check(
            "L(θ_S) over L(0): labels that are left",
            value / zero,
            "==",
            _left(s),
            1e-9,
            witness=differences,
        ),
        Check(
            "curvature at θ_S along an idle neuron of S_{−,1}, over −½‖D_−‖",
            change / (-s.second.rate / 2),
            "==",
            1.0,
            CURVATURE_ERROR,
            witness=differences,
        ),
        Check(
            "the same at zero, where the flow starts, along one of S_{+,1}, over −½‖D_+‖",
            at_zero / (-s.first.rate / 2),
            "==",
            1.0,
            CURVATURE_ERROR,
            witness=differences,
        ),
    )


def _dwells(course: Course, size: float) -> Check:
    s, saddle = course.setting, course.saddle
    dwell = np.linspace(s.ends[1], s.ends[2], 9)
    return Check(
        "largest ‖θ(t) − θ_S‖ on the dwell interval",
        max(course.gap(t, saddle) for t in dwell),
        "<=",
        s.power(1 / 5),
        max(course.error(t) for t in dwell) * size,
        null=distance(course.flow.final, saddle),
        log_base=s.log_scale,
        exponent=s.epsilon / 5,
        **course.notes,
    )


def _left(s: Setting) -> float:
    """The share of Σy² on the labels of the second cluster."""
    y = s.y[s.second.sign * s.y > 0]
    return float(y @ y / (s.y @ s.y))


def slopes(problem: Problem, params: TwoLayerParams) -> Array:
    """∇L as (m, d+1), with products ⟨w_j, x_k⟩ of rounding size taken for the zeros they are."""
    X, residual = (
        problem.data.X,
        problem.loss.gradient(problem.model(params, problem.data.X), problem.data.y),
    )
    products = params.W @ X.T
    on = products > KINK_COSINE * np.linalg.norm(params.W, axis=1)[:, None] * np.linalg.norm(
        X, axis=1
    )
    return np.column_stack(
        [np.where(on, products, 0.0) @ residual, params.a[:, None] * ((on * residual) @ X)]
    )


WAITS = (*ASSUMED, SMALL_START)
PHASES_APART = (*WAITS, CROSSED)
GRADIENT = "∇L followed in the weights, from kink to kink"

lem2 = Claim(
    "B/lem2",
    "At t₁ = −ε ln λ/‖D_−‖ both clusters are aligned to 2λ^ε, and every ‖w_j‖ ≤ 2cλ^{1−rε}; by "
    "then their neurons are inactive on labels of the other sign.",
    "B, Lemmas 2, 7 and 8; inputs of any lengths",
    (*ANY_LENGTHS, TWO_SIGNS, SMALL_START),
    ordinary_problem,
    _lem2,
    Kind.FLOW,
    GRADIENT,
    "the start (directions) and the end of the flow (norms)",
    ordinary_family,
    below_floats=True,
)
lem3 = Claim(
    "B/lem3",
    "By −(1+3ε)ln λ/‖D_+‖ the first cluster lacks at most λ^{ε/5} of n‖D_+‖; when it does, at t₂, "
    "it is aligned to λ^{ε/2},"
    " all others are below 2cλ^ε, and the loss on its labels is of order λ^{2ε/5}.",
    "B, Lemmas 3 and 10",
    PHASES_APART,
    orthonormal_problem,
    _lem3,
    Kind.FLOW,
    GRADIENT,
    "the start, or the end of the flow",
    orthonormal_family,
    below_floats=True,
)
lem4 = Claim(
    "B/lem4",
    "By −(1+3rε)ln λ/‖D_−‖ the second cluster lacks at most λ^{ε/29} of n‖D_−‖; when it does, at "
    "t₃, it is aligned to λ^{ε/14}, the first has moved by at most λ^{ε/15} and still fits its "
    "labels to λ^{ε/14}; all others are below 3cλ^ε.",
    "B, Lemmas 4 and 11",
    PHASES_APART,
    orthonormal_problem,
    _lem4,
    Kind.FLOW,
    GRADIENT,
    "the start, or clusters taken for others",
    orthonormal_family,
    below_floats=True,
)
fact1 = Claim(
    "B/fact1",
    "Between −(1+3ε)ln λ/‖D_+‖ and −(1−ε)ln λ/‖D_−‖ the flow stays within λ^{ε/5} of a strict "
    "saddle θ_S ≠ 0; zero is one too.",
    "B, Fact 1 and §3.2",
    PHASES_APART,
    orthonormal_problem,
    _fact1,
    Kind.FLOW,
    GRADIENT,
    "the end of the flow",
    orthonormal_family,
    below_floats=True,
    limit=of_vanishing_scale,
)
lem12 = Claim(
    "B/lem12",
    "‖θ(t₃) − θ*‖ ≤ λ^{ε/31}, θ* an interpolator of least norm that does not depend on λ.",
    "B, Lemma 12",
    (*ASSUMED, TINY_START),
    tiny_problem,
    _lem12,
    Kind.FLOW,
    GRADIENT,
    "the start",
    tiny_family,
    below_floats=True,
    limit=of_vanishing_scale,
)

CLAIMS = (lem2, lem3, lem4, fact1, lem12)
