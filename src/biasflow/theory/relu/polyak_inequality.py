"""B, Lemmas 5, 14 and 15: the local PL inequality, along flows and all over a ball around the
limit."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind, unknown_check
from .course import Course
from .limit_networks import QUOTIENT_ERROR, of_vanishing_scale
from .relu_examples import (
    orthonormal_family,
    orthonormal_problem,
)
from .relu_hypotheses import ASSUMED, SMALL_START
from .relu_setting import Setting
from .three_phases import slopes

GROWN_SHARE = 0.9
"""Share of n‖D_±‖ at which a cluster has grown."""
DRAWS, CLIMBS = 300, 300
"""Points of the ball that are drawn, and steps of a search downhill from the worst of them."""
RATE_ERROR = 1e-8
"""Relative error of a rate at θ*: rounding of h over residuals of 1e-5."""
SMALL_STEP = 1e-5
"""Relative size of the residuals at which rates are read off θ*."""


def _lem5(evidence: Evidence) -> tuple[Check, ...]:
    """Lemma 14 along the flow, Lemmas 5 and 15 over a ball around θ*, and the rates of small errors
    at θ*.

    Lemma 14 needs neurons of the clusters to be active on the labels of their sign, which its proof
    uses: points of the ball where they are not are left out. Radius: λ^{ε/240}, but at most (1 −
    2^{−½})(n‖D_−‖)^{½}, up to which u_− ≥ n‖D_−‖/2 and Lemma 15 follows.
    """
    course = Course(evidence)
    s, best = course.setting, course.limit.value
    radius = min(s.power(1 / 240), (1 - np.sqrt(0.5)) * np.sqrt(s.n * s.second.rate))
    worst, count = _worst_in_ball(s, best, radius)
    sampled = f"{count} balanced networks drawn from the ball, and a search from the worst"
    along = "least ‖∇L‖²/(2L·min u_±/n), once both clusters have grown"
    checks = [*part(along, lambda: _along(course, along))]
    if count < DRAWS // 10:
        checks.append(
            unknown_check(
                "least ‖∇L‖²/(L‖D_−‖) in a ball around θ*",
                f"{count} of {DRAWS} draws have active clusters",
            )
        )
    else:
        checks.append(
            Check(
                "least ‖∇L‖²/(L‖D_−‖) in a ball around θ*",
                worst,
                ">=",
                1.0,
                QUOTIENT_ERROR,
                witness=sampled,
            )
        )
    return (*checks, *_rates(s, best))


def _quotient(s: Setting, params: TwoLayerParams) -> tuple[float, float] | None:
    """‖∇L‖²/(2L·min u_±/n) and ‖∇L‖²/(L‖D_−‖) in B's clock; None where a cluster is off on its
    labels, or L = 0."""
    for cluster in s.clusters:
        if np.any(params.W[cluster.neurons] @ s.X[cluster.sign * s.y > 0].T <= 0):
            return None
    value = float(s.problem.loss(s.problem.model(params, s.X), s.y))
    if value <= 0:
        return None
    quotient = float(np.sum(slopes(s.problem, params) ** 2)) / value / s.speed
    least = min(float(cluster.size(params)) for cluster in s.clusters) / s.n
    return quotient / (2 * least), quotient / s.second.rate


def _along(course: Course, quantity: str) -> Check:
    s, flow = course.setting, course.flow
    grown = (
        np.min([cluster.size(flow.states) / (s.n * cluster.rate) for cluster in s.clusters], axis=0)
        >= GROWN_SHARE
    )
    late = np.flatnonzero(grown & (flow.loss >= 1e-12 * flow.loss[0]))
    found = [_quotient(s, TwoLayerParams(flow.states.a[k], flow.states.W[k])) for k in late]
    ratios = [pair[0] for pair in found if pair is not None]
    if len(ratios) < 4:
        raise Unmeasured(
            f"{len(ratios)} states of the flow have both clusters grown and labels left"
        )
    return Check(quantity, min(ratios), ">=", 1.0, QUOTIENT_ERROR, **course.notes)


def _worst_in_ball(s: Setting, best: TwoLayerParams, radius: float) -> tuple[float, int]:
    """The least ‖∇L‖²/(L‖D_−‖) found in B(θ*, radius)∩Θ, and how many draws had active clusters."""
    rng, signs = np.random.default_rng(0), np.where(best.a != 0, np.sign(best.a), np.sign(s.unit.a))
    worst, place, count = np.inf, None, 0

    def value(step: Array) -> float | None:
        length = float(np.linalg.norm(step))
        # |a_j| = ‖w_j‖ moves at most as far again
        W = best.W + step * min(1.0, radius / np.sqrt(2) / max(length, 1e-300))
        found = _quotient(s, TwoLayerParams(signs * np.linalg.norm(W, axis=1), W))
        return None if found is None else found[1]

    for k in range(DRAWS):
        step = rng.standard_normal(best.W.shape)
        if k % 2:
            step[best.a == 0] = 0.0  # clusters alone, which idle neurons would drown
        step *= (
            radius
            / np.sqrt(2)
            / max(float(np.linalg.norm(step)), 1e-300)
            * rng.uniform() ** (1 / 8)
        )
        found = value(step)
        if found is not None:
            count += 1
            if found < worst:
                worst, place = found, step
    size = 0.3
    for _ in range(CLIMBS if place is not None else 0):
        assert place is not None
        trial = place + size * float(np.linalg.norm(place)) * rng.standard_normal(
            best.W.shape
        ) / np.sqrt(best.W.size)
        found = value(trial)
        if found is not None and found < worst:
            worst, place, size = found, trial, min(1.0, 1.5 * size)
        else:
            size = max(1e-3, 0.97 * size)
    return worst, count


def _rates(s: Setting, best: TwoLayerParams) -> tuple[Check, ...]:
    """‖∇L‖²/L at θ* for small residuals on the labels of the second cluster: 4‖D_−‖ along D_−,
    2‖D_−‖ across."""
    own = np.flatnonzero(s.second.sign * s.y > 0)
    along = np.zeros(s.n)
    along[own] = s.y[own] / np.linalg.norm(s.y[own])
    cases = [("along D_−, over 4‖D_−‖", along, 4.0)]
    if own.size > 1:
        across = np.zeros(s.n)
        across[own[0]], across[own[1]] = along[own[1]], -along[own[0]]
        cases.append(("across D_−, over 2‖D_−‖", across, 2.0))
    checks = []
    for name, residual, factor in cases:
        y = s.y + SMALL_STEP * float(np.max(np.abs(s.y))) * residual
        moved = Problem(s.problem.model, type(s.problem.data)(s.X, y), s.problem.loss, s.unit)
        value = float(moved.loss(moved.model(best, s.X), y))
        rate = float(np.sum(slopes(moved, best) ** 2)) / value / s.speed / (factor * s.second.rate)
        checks.append(
            Check(
                f"‖∇L‖²/L at θ* for residuals {name}",
                rate,
                "==",
                1.0,
                RATE_ERROR,
                witness="∇L at θ*",
            )
        )
    return tuple(checks)


WAITS = (*ASSUMED, SMALL_START)
lem5 = Claim(
    "B/lem5",
    "‖∇L‖² ≥ 2L·min{u_+, u_−}/n for balanced parameters whose cluster neurons are active on the "
    "labels of their sign, so near θ* ‖∇L‖² ≥ ‖D_−‖L among them; small errors on the second labels "
    "decay at 4‖D_−‖ in L along D_− and at 2‖D_−‖ across.",
    "B, Lemmas 5, 14 (corrected) and 15",
    WAITS,
    orthonormal_problem,
    _lem5,
    Kind.FLOW,
    "raw gradients along a flow followed in the weights, and all over a ball",
    "",
    orthonormal_family,
    below_floats=True,
    limit=of_vanishing_scale,
)

CLAIMS = (lem5,)
