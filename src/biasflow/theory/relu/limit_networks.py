"""Networks that somebody hands in: as where flows end from vanishing starts, and as interpolators
of least norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.results import Limit
from ...limits import min_norm_interpolator
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need
from ..verdicts import Check
from .course import Course
from .relu_setting import distance, squared_norm

NORM_ERROR = 1e-9
"""Relative error of a norm, beyond what the flow states: rounding, and the residual of 1e-10 that
is left."""
QUOTIENT_ERROR = 1e-9
"""Relative error of quotients of sums over neurons."""
SOLVER_ERROR = 1e-8
"""Relative error of a solver that stops at a gap of 1e-9."""
SUMMED = "h and ‖θ‖² summed over neurons"


def of_vanishing_scale(evidence: Evidence, limit: Limit[TwoLayerParams]) -> tuple[Check, ...]:
    """θ* is balanced, interpolates with the least norm, and is the function near which the flow
    ends; in which neurons its mass lies, and in how many, is left open."""
    best, course = _network(limit), Course(evidence)
    return (_balance(best), _same_sums(course, best), *_least(course, best))


def of_each_neuron(evidence: Evidence, limit: Limit[TwoLayerParams]) -> tuple[Check, ...]:
    """θ* is balanced, interpolates with the least norm, and has the neurons with which the flow
    ends, one for each."""
    best, width = _network(limit), evidence.network.model.width
    if len(best.a) != width:
        raise Unmeasured(
            f"expected {width} neurons, one for each of the problem's, found {len(best.a)}"
        )
    return (_balance(best), *limit_checks(Course(evidence), best))


def _balance(best: TwoLayerParams) -> Check:
    size = float(np.sqrt(squared_norm(best)))
    apart = np.abs(np.abs(best.a) - np.linalg.norm(best.W, axis=1))
    return Check(
        "largest ||a_j| − ‖w_j‖|/‖θ*‖ of the limit given",
        float(np.max(apart, initial=0.0)) / size if size > 0 else 0.0,
        "==",
        0.0,
        QUOTIENT_ERROR,
        witness=SUMMED,
    )


def _same_sums(course: Course, best: TwoLayerParams) -> Check:
    """Σ a_jw_j over the neurons of each sign, which is what a network with two directions is."""
    s, end = course.setting, course.flow.final

    def apart(network: TwoLayerParams) -> float:
        return sum(
            float(
                np.linalg.norm(
                    network.a[cluster.neurons] @ network.W[cluster.neurons]
                    - np.where(cluster.sign * best.a > 0, best.a, 0.0) @ best.W
                )
            )
            for cluster in s.clusters
        ) / float(s.least_norm)

    error, kept = _end_error(course)
    return Check(
        "Σ a_jw_j over the clusters: ‖flow − θ*‖ over ‖θ∞‖²",
        apart(end),
        "==",
        0.0,
        2 * (error + course.idle + kept),
        null=apart(s.start),
        **course.notes,
    )


def _end_error(course: Course) -> tuple[float, float]:
    """Relative to ‖θ∞‖: the error of the flow's end, and what w(0) keeps across D_±, which moves
    |a|."""
    s, end = course.setting, course.flow.final
    size = float(np.sqrt(s.least_norm))
    error = float(course.flow.error[-1]) * np.sqrt(len(end.a) * (1 + s.X.shape[1])) / size
    inside = np.concatenate([cluster.neurons for cluster in s.clusters])
    return error + NORM_ERROR, 2 * float(np.sqrt(squared_norm(only(s.start, inside)))) / size


def limit_checks(course: Course, best: TwoLayerParams) -> tuple[Check, ...]:
    """Whether θ* is where the flow ends, up to what the start leaves of it, and interpolates with
    the least norm."""
    s, end = course.setting, course.flow.final
    size = float(np.sqrt(s.least_norm))
    inside = np.concatenate([cluster.neurons for cluster in s.clusters])
    rest = np.setdiff1d(np.arange(len(end.a)), inside)
    error, kept = _end_error(course)
    equal = TwoLayerParams(best.a.copy(), best.W.copy())
    for cluster in s.clusters:
        share = np.sqrt(cluster.capacity / cluster.neurons.size)
        equal.a[cluster.neurons], equal.W[cluster.neurons] = (
            cluster.sign * share,
            share * cluster.target,
        )
    found, null = (distance(only(end, inside), only(each, inside)) / size for each in (best, equal))
    idle, allowed = (
        distance(only(end, rest), only(best, rest)),
        np.sqrt(2) * float(np.linalg.norm(s.idle_sizes(course.offsets))),
    )
    return (
        Check(
            "‖θ∞ − θ*‖/‖θ*‖ over the clusters",
            found,
            "==",
            0.0,
            error + course.idle + kept,
            null=null,
            **course.notes,
        ),
        Check(
            "the same over all others, at most what they grow to",
            idle / size,
            "<=",
            2 * allowed / size + 2 * error,
            error,
            log_base=s.log_scale,
            exponent=s.slowest,
            **course.notes,
        ),
        *_least(course, best),
    )


def _least(course: Course, best: TwoLayerParams) -> tuple[Check, ...]:
    """θ* interpolates with the least norm."""
    s = course.setting
    misfit = np.maximum(s.X @ best.W.T, 0.0) @ best.a - s.y
    return (
        Check(
            "‖θ*‖² over 2n(‖D_+‖ + ‖D_−‖)",
            squared_norm(best) / s.least_norm,
            "==",
            1.0,
            QUOTIENT_ERROR,
            witness=SUMMED,
        ),
        Check(
            "largest |h(x_k) − y_k| of θ* over max|y|",
            float(np.max(np.abs(misfit)) / np.max(np.abs(s.y))),
            "==",
            0.0,
            QUOTIENT_ERROR,
            witness=SUMMED,
        ),
    )


def of_least_norm(evidence: Evidence, limit: Limit[TwoLayerParams]) -> tuple[Check, ...]:
    """The network given interpolates, and its norm is the least, between certified bounds; it may
    have any number of neurons."""
    data, found = evidence.network.data, _network(limit)
    best = need(min_norm_interpolator(data.X, data.y, time_s=evidence.time_left / 4))
    least, gap = squared_norm(best.value), max(best.certificate.gap, 0.0)
    misfit = np.maximum(data.X @ found.W.T, 0.0) @ found.a - data.y
    top = float(np.max(np.abs(data.y)))
    return (
        Check(
            "largest |h(x_k) − y_k| of the network given over max|y|",
            float(np.max(np.abs(misfit))) / (top or 1.0),
            "==",
            0.0,
            SOLVER_ERROR,
            witness=SUMMED,
        ),
        Check(
            "‖θ‖² of the network given over the least",
            squared_norm(found) / least if least > 0 else 1.0 + squared_norm(found),
            "==",
            1.0,
            SOLVER_ERROR + gap,
            witness=SUMMED,
        ),
    )


def _network(limit: Limit[TwoLayerParams]) -> TwoLayerParams:
    """The network that was handed in, of any number of neurons."""
    found = limit.value
    if not isinstance(found, TwoLayerParams):
        raise Unmeasured(f"expected a network, TwoLayerParams(a, W), found {type(found).__name__}")
    return TwoLayerParams(np.asarray(found.a, dtype=float), np.asarray(found.W, dtype=float))


def only(params: TwoLayerParams, neurons: Any) -> TwoLayerParams:
    return TwoLayerParams(params.a[neurons], params.W[neurons])
