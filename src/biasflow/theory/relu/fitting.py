"""B, B.4 and B.5: what is left to fit. Equations (19) and (26), the growth comparison (20), and
D_+^t between t₂ and t₃.

D_±^t = (1 − u_±/(n‖D_±‖) + h_±)D_± + h_⊥, with |h_±|‖D_±‖ and ‖h_⊥‖ at most (u_±/n)√(2h/‖D_±‖) +
k²mc²λ^{2ε}, where h is the largest misalignment of the cluster and all others are below kcλ^ε: k =
2 up to t₂, 3 up to t₃. In print h of (26) has w_j for the unit vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind
from .course import Course
from .relu_examples import orthonormal_family, orthonormal_problem
from .relu_hypotheses import ASSUMED, CROSSED, SMALL_START
from .relu_setting import LabelCluster, Setting
from .three_phases import GRADIENT

TIMES = 40
"""Times of a phase at which it is looked at."""
DIFFERENCE = 1e-4
"""Time step of central differences, in units of 1/‖D_+‖."""
DIFFERENCE_ERROR = 1e-5
"""Error of such differences, in units of ‖D_+‖."""
NATS = 40.0
"""−ε ln λ of the examples."""
RATE = 2.0
"""Of ‖D_+‖ in the growth of u_+."""


def left_over(
    s: Setting, cluster: LabelCluster, params: TwoLayerParams
) -> tuple[Array, float, float]:
    """D_±^t, and what it is apart from (1 − u_±/(n‖D_±‖))D_±: along D_±, and across."""
    own = cluster.sign * s.y > 0
    outputs = np.maximum(s.X[own] @ params.W.T, 0.0) @ params.a
    D = (s.y[own] - outputs) @ s.X[own] / s.n
    rest = D - (1 - float(cluster.size(params)) / (s.n * cluster.rate)) * cluster.D
    unit = cluster.D / cluster.rate
    along = float(rest @ unit)
    return D, along, float(np.linalg.norm(rest - along * unit))


def _eq19(evidence: Evidence) -> tuple[Check, ...]:
    course = Course(evidence)
    s = course.setting
    left = "largest |h|‖D‖ or ‖h_⊥‖ of "
    first, second = f"{left}(19), from t_{{+1}} to t₂", f"{left}(26), from t_{{−1}} to t₃"
    growth = "least of u_+'/u_+ minus the bound (20), over ‖D_+‖, from t_{+1} to t₂"
    kept = "largest ‖D_+^t‖ from t₂ to t₃ (proof of Lemma 11)"
    return (
        *part(first, lambda: _left(course, s.first, course.t2, 2.0, first)),
        *part(second, lambda: _left(course, s.second, course.t3, 3.0, second)),
        *part(growth, lambda: _growth(course, growth)),
        *part(kept, lambda: _kept(course, kept)),
    )


def _left(course: Course, cluster: LabelCluster, end: float, factor: float, name: str) -> Check:
    """The time at which the bound is tightest, or most exceeded."""
    s = course.setting
    quantity = f"{name}, at most (u/n)√(2h/‖D‖) + {factor**2:g}mc²λ^{{2ε}}; over ‖D‖"
    found = []
    for t in np.linspace(s.time(s.epsilon, cluster), end, TIMES):
        state = course.at(float(t))
        _, along, across = left_over(s, cluster, state)
        u, h = float(cluster.size(state)), cluster.misalignment(course.polar(float(t))[0])
        bound = u / s.n * np.sqrt(2 * h / cluster.rate) + factor**2 * len(
            s.unit.a
        ) * s.c**2 * s.power(2)
        rounding = 4 * course.error(float(t)) * cluster.rate
        found.append(
            (
                max(abs(along), across) / cluster.rate,
                (bound + rounding) / cluster.rate,
                u / s.n / cluster.rate,
            )
        )
    worst, bound, _ = max(found, key=lambda each: each[0] / each[1])
    null = max(grown for _, _, grown in found)
    return Check(quantity, worst, "==", 0.0, bound, size=1.0, null=null, **course.notes)


def _growth(course: Course, quantity: str) -> Check:
    """(20): u_+'/u_+ ≥ 2(‖D_+‖ − λ^{ε/2})(1 − 2√(2/‖D_+‖)λ^{ε/4} − 4λ^{ε/2}/(‖D_+‖ − λ^{ε/2}) −
    u_+/(n‖D_+‖)) up to t₂."""
    s = course.setting
    rate, half, quarter = s.first.rate, s.power(1 / 2), s.power(1 / 4)
    lost = 2 * np.sqrt(2 / rate) * quarter + 4 * half / (rate - half)
    if (
        rate <= half
        or lost >= 1
        or 4 * len(s.unit.a) * s.c**2 * s.power(2) > np.sqrt(2 * rate) * quarter
    ):
        raise Unmeasured(f"λ^(ε/4) = {quarter:.2g}: λ is not below B's λ*, which is not explicit")
    step = DIFFERENCE / rate / s.speed
    least, null = np.inf, np.inf
    for t in np.linspace(s.time(s.epsilon, s.first) + 2 * step, course.t2, TIMES):
        logs = [2 * float(_log_size(course, float(t) + shift)) for shift in (-step, step)]
        growth = (logs[1] - logs[0]) / (2 * step * s.speed)
        share = float(s.first.size(course.at(float(t)))) / (s.n * rate)
        bound = RATE * (rate - half) * (1 - lost - share)
        least, null = min(least, (growth - bound) / rate), min(null, -bound / rate)
    return Check(quantity, least, ">=", 0.0, DIFFERENCE_ERROR, null=null, **course.notes)


def _log_size(course: Course, t: float) -> float:
    """½ ln u_+."""
    logs = course.polar(t)[1][course.setting.first.neurons]
    return float(np.max(logs) + 0.5 * np.log(np.sum(np.exp(2 * (logs - np.max(logs))))))


def _kept(course: Course, quantity: str) -> Check:
    """The first labels stay fitted all the way, not at t₃ alone."""
    s = course.setting
    times = np.linspace(course.t2, course.t3, TIMES)
    largest = max(
        float(np.linalg.norm(left_over(s, s.first, course.at(float(t)))[0])) for t in times
    )
    powers: dict[str, Any] = {"log_base": s.log_scale, "exponent": s.epsilon / 14, **course.notes}
    error = 2 * course.error(course.t3) * s.first.rate
    return Check(quantity, largest, "<=", s.power(1 / 14), error, null=s.first.rate, **powers)


def deep_problem(key: int) -> Problem:
    """λ^ε = e^{−40}: λ^{ε/4} and λ^{ε/29} are then small, and λ^{ε/5} is seen."""
    return _deep(orthonormal_problem(key, m=12))


def deep_family(key: int) -> Problem:
    return _deep(orthonormal_family(key))


def _deep(p: Problem) -> Problem:
    s = Setting(p)
    return Problem(p.model, p.data, p.loss, s.unit, -NATS / s.epsilon)


eq19 = Claim(
    "B/eq19",
    "Up to t₂ what the first labels lack is (1 − u_+/(n‖D_+‖))D_+ up to (u_+/n)√(2h/‖D_+‖) + "
    "4mc²λ^{2ε}, h the misalignment; up to t₃ the second likewise; u_+ grows as (20) says at "
    "least; and from t₂ to t₃ ‖D_+^t‖ ≤ λ^{ε/14}.",
    "B, equations (18)–(20), (24)–(26), and the fourth point of the proof of Lemma 11",
    (*ASSUMED, SMALL_START, CROSSED),
    deep_problem,
    _eq19,
    Kind.FLOW,
    GRADIENT,
    "nothing fitted, or no growth",
    deep_family,
    below_floats=True,
)
CLAIMS = (eq19,)
