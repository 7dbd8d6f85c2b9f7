"""B, Figure 1 and §4.2: when clusters grow, and along which curve."""

from __future__ import annotations

import functools

import numpy as np

from ..evidence import Evidence
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind, unknown_check
from .course import Course
from .limit_networks import of_vanishing_scale
from .relu_examples import ordinary_family, ordinary_problem
from .relu_hypotheses import ANY_LENGTHS, CROSSED, SMALL_START, TWO_SIGNS
from .relu_setting import LabelCluster
from .three_phases import GRADIENT


def _timeline(evidence: Evidence) -> tuple[Check, ...]:
    """The ends of the phases as printed, and the exact midpoints of the two growths from the early
    phase."""
    course = Course(evidence)
    s = course.setting
    checks: list[Check] = []
    for i, (cluster, low, high, name) in enumerate(
        ((s.first, *s.ends[:2], "first"), (s.second, *s.ends[2:], "second"))
    ):
        checks += part(
            f"midpoint of the {name} growth",
            functools.partial(_midpoint, course, i, cluster, low, high, name),
        )
    return tuple(checks)


def _midpoint(
    course: Course, i: int, cluster: LabelCluster, low: float, high: float, name: str
) -> tuple[Check, ...]:
    """When a cluster has half its size: between the times of its phase, and when exactly."""
    s, middle = course.setting, course.grown(cluster, cluster.capacity / 2)
    late = (middle - course.middle(i)) * s.speed * cluster.rate
    error = 4 * course.error(middle)
    spread = error / (s.speed * cluster.rate)
    other = s.time(1.0, s.second if i == 0 else s.first)
    return (
        Check(
            f"midpoint of the {name} growth over the end of its phase",
            middle / high,
            "<=",
            1.0,
            spread / high,
            **course.notes,
        ),
        Check(
            f"midpoint of the {name} growth over its start",
            middle / low,
            ">=",
            1.0,
            spread / low,
            **course.notes,
        ),
        Check(
            "the same minus −ln λ/‖D‖ + ln(n‖D‖/ΣC²)/(2‖D‖), times ‖D‖"
            if cluster.growth.logistic
            else "the same minus that of one neuron that turns from D to Σy_kx_k/‖x_k‖², times ‖D‖",
            late,
            "==",
            0.0,
            error + course.idle,
            null=(other - course.middle(i)) * s.speed * cluster.rate,
            **course.notes,
        ),
    )


def _u_plus(evidence: Evidence) -> tuple[Check, ...]:
    """u_± against the logistic curve through its exact midpoint; where inputs differ in length,
    against that of one neuron."""
    course = Course(evidence)
    s, checks = course.setting, []
    for i, (cluster, name) in enumerate(zip(s.clusters, ("u_+", "u_−"), strict=False)):
        capacity, rate, middle = cluster.capacity, 2 * cluster.rate * s.speed, course.middle(i)
        t = middle + np.linspace(-6, 6, 41) / rate
        curve, full = (
            ("logistic", "n‖D‖")
            if cluster.growth.logistic
            else ("one neuron's", "‖Σy_kx_k/‖x_k‖²‖")
        )
        quantity = f"largest |{name} − {curve}|/({full}) around the midpoint"
        if t[0] < 0 or t[-1] > course.end:
            why = (
                f"the flow ends at t = {course.end:.4g}, the growth is expected between "
                f"{t[0]:.4g} and {t[-1]:.4g}"
            )
            checks.append(unknown_check(quantity, why))
            continue
        measured = np.array([float(cluster.size(course.at(x))) for x in t])
        expected = cluster.growth.size((t - middle) * s.speed)
        worst = float(np.max(np.abs(measured - expected))) / capacity
        error = 4 * course.error(middle) + course.idle
        straight = float(np.max(np.abs(np.linspace(0, 1, 41) - expected / capacity)))
        checks.append(Check(quantity, worst, "==", 0.0, error, null=straight, **course.notes))
    return tuple(checks)


timeline = Claim(
    "B/timeline",
    "The first cluster grows between −ε ln λ/‖D_−‖ and −(1+3ε)ln λ/‖D_+‖, the second between "
    "−(1−ε)ln λ/‖D_−‖ and −(1+3rε)ln λ/‖D_−‖; both midpoints are known exactly.",
    "B, Figure 1; inputs of any lengths",
    (*ANY_LENGTHS, TWO_SIGNS, SMALL_START, CROSSED),
    ordinary_problem,
    _timeline,
    Kind.FLOW,
    GRADIENT,
    "the other cluster's rate",
    ordinary_family,
    below_floats=True,
    limit=of_vanishing_scale,
)
u_plus = Claim(
    "B/u-plus",
    "u_± = Σ‖w_j‖² over a cluster follows u̇ = 2‖D_±‖(1 − u/(n‖D_±‖))u; where inputs differ in "
    "length, that of one neuron that leaves zero along D_± and turns to Σ_±y_kx_k/‖x_k‖².",
    "B, §4.2; inputs of any lengths",
    (*ANY_LENGTHS, SMALL_START),
    ordinary_problem,
    _u_plus,
    Kind.FLOW,
    GRADIENT,
    "growth along a straight line",
    ordinary_family,
    below_floats=True,
    limit=of_vanishing_scale,
)

CLAIMS = (timeline, u_plus)
