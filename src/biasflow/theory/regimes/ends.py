"""Where the raw flow of a diagonal network ends, against a limit; and its residual added up over
time.

Nothing here knows of a mirror form: the distance that is left to go is measured in the metric of
the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array, label_size
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..evidence import FAR_FROM_LIMIT_ERROR, Evidence
from ..hypotheses import start_scale
from ..verdicts import Check, unknown_check
from ..witness import ERROR_FACTOR

EPS = float(np.finfo(float).eps)
ROUNDING = 100 * EPS
"""Rounding of a limit, over its largest entry, for each unit of the logarithm of its scale."""
NODES = (np.polynomial.legendre.leggauss(3), np.polynomial.legendre.leggauss(4))
"""Gauss rules on each step of a flow: the second is used, their difference is its error."""
PIECES = 400
"""Stretches into which a flow with few saved times is cut for quadrature."""


def end_check(evidence: Evidence, null: Array | None = None) -> Check:
    """The flow's end against the limit, over the largest entry; null: another interpolator, which
    should be elsewhere."""
    quantity = "‖β(T) − β*‖_∞/‖β(T)‖_∞, end of the flow against the limit"
    beta, size = evidence.predictors[-1], float(np.max(np.abs(evidence.predictors[-1])))
    if size == 0:
        return unknown_check(quantity, "the flow never left its start")
    error = end_error(evidence) / size
    distance = float(np.max(np.abs(beta - evidence.limit.value))) / size
    if (
        not remaining(evidence.network, evidence.trajectory.final)
        <= FAR_FROM_LIMIT_ERROR * size / 2
    ):
        return unknown_check(
            quantity, f"the flow is still under way: its end is known to {error:.1g}"
        )
    # beyond its error a limit is wrong, however rough the flow
    if not error <= FAR_FROM_LIMIT_ERROR and not distance > error:
        return unknown_check(
            quantity,
            f"its steps are too long: its end is known to {error:.1g} only; train with smaller "
            "ones",
        )
    other = None if null is None else float(np.max(np.abs(beta - null))) / size
    return Check(
        quantity,
        distance,
        "==",
        0.0,
        error,
        witness=evidence.source,
        reason=evidence.missing,
        null=other,
    )


def end_error(evidence: Evidence) -> float:
    """What the distance of flow and limit may owe to numerics: integration, what is left to go, the
    limit's error, rounding."""
    problem, beta = evidence.network, evidence.predictors[-1]
    X, y, size = problem.data.X, problem.data.y, float(np.max(np.abs(beta)))
    reach = float(np.linalg.norm(np.linalg.pinv(X), np.inf))
    off = evidence.limit.certificate.residual * label_size(y) * reach
    logs = 1 + problem.model.depth * abs(np.log(start_scale(problem)))
    # w₊^D − w₋^D cancels
    formed = (
        max(float(np.max(np.abs(leaf))) for leaf in evidence.trajectory.final)
        ** problem.model.depth
    )
    rounding = ROUNDING * (logs * size + formed)
    return (
        ERROR_FACTOR * float(evidence.trajectory.predictor_error[-1])
        + 2 * remaining(problem, evidence.trajectory.final)
        + off
        + rounding
    )


def remaining(problem: Problem, params: Any) -> float:
    """How far β still has to go from these weights: the step that fits what is left, in the
    weights' own metric there."""
    D, (plus, minus) = problem.model.depth, params
    gain = D * np.sqrt(np.abs(plus) ** (2 * D - 2) + np.abs(minus) ** (2 * D - 2))
    top = float(np.max(gain))
    X, left = problem.data.X, problem.data.y - problem.data.X @ problem.model.effective(params)
    if not (top > 0 and np.isfinite(top)):
        return float("nan")
    scaled = X * (gain / top)
    step = (gain / top) * np.linalg.lstsq(scaled, left, rcond=None)[0]
    missed = np.linalg.pinv(X) @ (left - X @ step)  # what the large weights alone cannot fit
    return float(np.max(np.abs(step)) + np.sqrt(X.shape[1]) * np.max(np.abs(missed)))


def residual_integrals(problem: Problem, flow: Trajectory) -> tuple[Array, Array, Array]:
    """(times, ∫₀ᵗ(Xβ − y) at them, its error at them), by Gauss rules on the flow's own steps."""
    times = (
        flow.times
        if len(flow.times) > PIECES / 4
        else np.union1d(flow.times, np.linspace(0, flow.times[-1], PIECES + 1))
    )
    times = times if times[0] == 0 else np.append(0.0, times)
    half, middle = np.diff(times) / 2, (times[1:] + times[:-1]) / 2
    sums = []
    for nodes, weights in NODES:
        at = middle[:, None] + half[:, None] * nodes
        residual = np.array(
            [
                [problem.model(flow.at(t), problem.data.X) - problem.data.y for t in row]
                for row in at
            ]
        )
        sums.append(half[:, None] * np.einsum("k,skn->sn", weights, residual))
    rough, fine = sums
    rows = np.max(np.sum(np.abs(problem.data.X), axis=1))  # what an error of β makes in Xβ
    errors = np.interp(times, flow.times, flow.predictor_error)
    own = rows * half * (errors[1:] + errors[:-1])
    error = np.append(0.0, np.cumsum(np.max(np.abs(fine - rough), axis=1) + own))
    return times, np.vstack([np.zeros(problem.data.n), np.cumsum(fine, axis=0)]), error
