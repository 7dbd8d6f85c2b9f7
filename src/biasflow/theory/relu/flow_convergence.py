"""B, Theorem 1: convergence, the norm of the limit against λ, and the limit neuron by neuron."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array
from ..._core.results import Trajectory
from ..evidence import Evidence
from ..fits import fitted_exponent
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Kind
from ..witness import witness_flow
from .course import IDLE_FACTOR, Course
from .limit_networks import NORM_ERROR, limit_checks, of_each_neuron, of_vanishing_scale, only
from .reference_networks import kernel_interpolator, rescaled
from .relu_examples import (
    lengths_family,
    ordinary_family,
    ordinary_problem,
    pairs_problem,
)
from .relu_hypotheses import ANY_LENGTHS, SMALL_START
from .relu_setting import Setting, squared_norm
from .three_phases import GRADIENT

GAPS = tuple(10.0**-power for power in (3.0, 3.75, 4.5, 5.25, 6.0))
"""Relative norm gaps at which Theorem 1 is looked at: λ is chosen so that λ^{2(1−κ)} is each."""
LARGEST_SCALE = 1e-2
"""Scale above which a start is no small one."""
DECADES = 3.0
"""Decades of λ without which an exponent is not fitted."""
MASS_LOGS = -np.log(10) * np.array([4.0, 5.0, 6.0, 7.0, 8.0])
"""Logarithms of λ at which idle neurons are weighed where they are too light for a gap to be
seen."""
CONVERGED_LOSS = 1e-18
"""Loss over its start where a flow has converged: a witness stops at 1e-20."""
GAP_EXPONENT = "exponent of that gap in λ, other powers taken out"


def _thm1(evidence: Evidence) -> tuple[Check, ...]:
    """L → 0, and the norm gap to 2n(‖D_+‖ + ‖D_−‖) against λ: at the problem's own, and the
    exponent it has."""
    s = Setting(evidence.network)
    return (
        *part("loss and norm at the end of the flow", lambda: _end(Course(evidence))),
        *part(GAP_EXPONENT, lambda: gap_exponent(evidence, s, s)),
    )


def _end(course: Course) -> tuple[Check, ...]:
    s, flow = course.setting, course.flow
    error = 4 * course.error(course.end) + NORM_ERROR
    gap = squared_norm(flow.final) / s.least_norm - 1
    lazy = kernel_interpolator(s.problem)
    null = None if lazy is None else squared_norm(lazy) / s.least_norm - 1
    mass = (
        1.5
        * course.idle
        * min(cluster.capacity for cluster in s.clusters)
        / s.least_norm
        * 4
        / IDLE_FACTOR
    )
    return (
        Check(
            "final loss over its start",
            float(flow.loss[-1] / flow.loss[0]),
            "<=",
            CONVERGED_LOSS,
            0.0,
            null=1.0,
            **course.notes,
        ),
        Check(
            "‖θ∞‖² over its least, minus one: nothing is below",
            gap,
            ">=",
            -2 * error,
            error,
            **course.notes,
        ),
        Check(
            "the same: at most what idle neurons, of size λ^{1−κ}, add",
            gap,
            "<=",
            mass + 2 * error,
            error,
            null=null,
            log_base=s.log_scale,
            exponent=2 * s.slowest,
            **course.notes,
        ),
    )


def gap_exponent(evidence: Evidence, s: Setting, signed: Setting) -> Check:
    """The exponent over several λ against 2(1−κ). signed: the same with the signs that idle neurons
    take, which make their κ."""
    logs = np.array(
        sorted(
            {
                min(float(np.log(gap)) / (2 * signed.slowest), float(np.log(LARGEST_SCALE)))
                for gap in GAPS
            },
            reverse=True,
        )
    )
    decades = float(np.ptp(logs) / np.log(10))
    if decades < DECADES:
        return _mass_exponent(evidence, s, signed, MASS_LOGS)
    runs = _runs(evidence, s, logs)
    gaps = np.array([squared_norm(run.final) / s.least_norm - 1 for run in runs])
    errors = np.array(
        [4 * float(run.error[-1]) / float(np.max(np.abs(run.final.W))) + NORM_ERROR for run in runs]
    )
    # a neuron that lacks a tiny label adds to the norm and is spared elsewhere, but for 1 − κ of it
    if np.any(gaps <= errors):
        return _mass_exponent(evidence, s, signed, logs, runs)
    relative = errors / gaps
    expected = 2 * signed.slowest
    others = _other_powers(signed, logs, runs[-1], _excesses(signed, runs[-1]))
    # λ itself may be below float range
    slope, spread, _ = fitted_exponent(np.exp(expected * logs), gaps / others, relative)
    error = expected * (spread + _taken(signed, runs))
    return Check(
        GAP_EXPONENT,
        expected * slope,
        "==",
        expected,
        error,
        decades=decades,
        witness="∇L followed in the weights",
    )


def _runs(evidence: Evidence, s: Setting, logs: Array) -> list[Trajectory]:
    """The problem's flows from these log λ."""
    starts = [rescaled(s.problem, log_scale=float(log_scale)) for log_scale in logs]
    return [need(witness_flow(start, time_s=evidence.time_left / 4)) for start in starts]


def _mass_exponent(
    evidence: Evidence,
    s: Setting,
    signed: Setting,
    logs: Array,
    runs: list[Trajectory] | None = None,
) -> Check:
    """Where the gap is below the errors, or seen over few decades only: that of what it is made of,
    known relative to itself."""
    quantity = (
        "exponent in λ of Σ(a_j² + ‖w_j‖²) over neurons outside the clusters, of which "
        "that gap is made, others taken out"
    )
    idle = np.array([j for j, _, _ in signed.growths], dtype=int)
    if idle.size == 0:
        return _no_gap(evidence, s)
    runs = _runs(evidence, s, logs) if runs is None else runs
    masses = np.array([squared_norm(only(run.final, idle)) for run in runs])
    errors = [
        2 * float(run.stats["relative"][-1]) if "relative" in run.stats else float("nan")
        for run in runs
    ]
    expected, decades = 2 * signed.slowest, float(np.ptp(logs) / np.log(10))
    others = _other_powers(signed, logs, runs[-1], np.ones(idle.size))
    # λ itself may be below float range
    slope, spread, _ = fitted_exponent(np.exp(expected * logs), masses / others, errors)
    error = expected * (spread + _taken(signed, runs))
    return Check(
        quantity,
        expected * slope,
        "==",
        expected,
        error,
        decades=decades,
        witness="∇L followed in the weights",
    )


def _no_gap(evidence: Evidence, s: Setting) -> Check:
    """All neurons are in the clusters, as in B's smallest networks, of two: nothing is in excess
    from any small λ."""
    scale = LARGEST_SCALE * float(np.sqrt(np.max(np.abs(s.y))))
    quantity = f"‖θ∞‖² over its least, minus one, from λ = {scale:.2g}: there are no idle neurons"
    (run,) = _runs(evidence, s, np.log([scale]))
    gap, size = squared_norm(run.final) / s.least_norm - 1, float(np.max(np.abs(run.final.W)))
    error = 4 * float(run.error[-1]) / size + NORM_ERROR
    # what of w(0) is across D_± stays, and moves |a|: both are of size λ
    left = 2 * scale**2 * squared_norm(s.unit) / s.least_norm
    return Check(quantity, gap, "<=", left, error, witness="∇L followed in the weights")


def _other_powers(s: Setting, logs: Array, deepest: Trajectory, parts: ArrayLike) -> Array:
    """Σ_j p_jm_j over its part that goes as λ^{2(1−κ)}, at these log λ: each m_j is λ^{2(1−κ_j)}
    times what the deepest run has.

    parts: p_j, what of its mass each neuron outside the clusters adds.
    """
    powers = np.array([2 * (1 - growth) for _, _, growth in s.growths])
    above = powers - np.min(powers)
    added = np.sum(deepest.final.W[[j for j, _, _ in s.growths]] ** 2, axis=1) * np.asarray(parts)
    return np.asarray(np.exp((logs - logs[-1])[:, None] * above) @ added / np.sum(added))


def _excesses(s: Setting, deepest: Trajectory) -> list[float]:
    """What each neuron outside the clusters adds to the least norm, over its mass: 1 − Σ_k⟨û_j,
    x_k⟩₊∂‖V‖/∂|y_k|.

    V = Σ_±|y_k|x_k/‖x_k‖², twice whose length is the least norm of fitting the labels of a sign:
    what a neuron of direction û_j fits of them the cluster is spared. On orthonormal inputs that is
    1 − κ_j.
    """
    found = []
    for j, i, _ in s.growths:
        mine = s.clusters[i].sign * s.y > 0
        X, squares = s.X[mine], s.lengths[mine] ** 2
        V = (np.abs(s.y[mine]) / squares) @ X
        direction = deepest.final.W[j] / np.linalg.norm(deepest.final.W[j])
        spared = np.maximum(X @ direction, 0.0) @ (X @ V / (np.linalg.norm(V) * squares))
        found.append(1 - float(spared))
    return found


def _taken(s: Setting, runs: list[Trajectory]) -> float:
    """The largest share of a cluster that idle neurons take: masses go as λ^{2(1−κ)}u^κ, u what is
    left of the cluster, so that their exponent, relative to itself, is off by that at most."""
    idle, least = [j for j, _, _ in s.growths], min(cluster.capacity for cluster in s.clusters)
    return max(float(np.sum(run.final.W[idle] ** 2)) for run in runs) / least


def _limit(evidence: Evidence) -> tuple[Check, ...]:
    """θ* neuron by neuron from the early phase alone, against the flow."""
    course = Course(evidence)
    return limit_checks(course, course.limit.value)


thm1 = Claim(
    "B/thm1",
    "L → 0, and as λ → 0 the limit is an interpolator of least norm; the norm gap vanishes like "
    "λ^{2(1−κ)}, κ the largest ‖D_A‖/‖D_±‖ over patterns A of neurons outside the clusters, at "
    "most max_±√(1 − y²_min/Σ_±y²) on orthonormal inputs.",
    "B, Theorem 1, inputs of any lengths; exponent from the early phase",
    (*ANY_LENGTHS, SMALL_START),
    pairs_problem,
    _thm1,
    Kind.ASYMPTOTIC,
    GRADIENT,
    "an interpolator from a kernel",
    lengths_family,
    below_floats=True,
    limit=of_vanishing_scale,
)
limit = Claim(
    "B/limit",
    "The limit λ → 0 neuron by neuron: ‖w_j*‖² = n‖D_±‖·C_j²/ΣC², with C_j = lim "
    "e^{−‖D_±‖t}‖w_j‖/λ from the early phase; for"
    " inputs of any lengths ‖Σ_±y_kx_k/‖x_k‖²‖ in place of n‖D_±‖.",
    "saddle-to-saddle limit on orthogonal data; makes B, Theorem 1 explicit",
    (*ANY_LENGTHS, SMALL_START),
    ordinary_problem,
    _limit,
    Kind.FLOW,
    GRADIENT,
    "equal shares in each cluster",
    ordinary_family,
    below_floats=True,
    limit=of_each_neuron,
)

CLAIMS = (thm1, limit)
