"""W, §5: diagonal networks of depth D ≥ 3.

How near the limit is to its two ends follows from q_D' = h_D⁻¹, for every α. Since 1 −
|β/α^D|^{−(D−2)/D} ≤ |q_D'| ≤ 1, ‖β̂_α‖₁ ≤ ‖β_L1‖₁ + (D/2)α^{D−2}Σ|β̂_i|^{2/D}: the distance from
min ℓ1 falls with a power of α, where D = 2 has a logarithm. And since z = h_D⁻¹(β̂_α/α^D) is in Im
Xᵀ, β̂_α − β_L2 is the part of α^D(h_D(z) − 2pz) in the null space of X, p = D/(D−2), which falls
like α^{−2D}.
"""

from __future__ import annotations

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL, Array
from ...flows import limit
from ..evidence import FAR_FROM_LIMIT_ERROR, Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale, start_spread
from ..mirror.limits_of_flows import of_this_flow
from ..verdicts import Check, Claim, Kind, unknown_check
from .depth_two import l1_excess
from .ends import ROUNDING, end_check, remaining, residual_integrals
from .families import diagonal_family
from .regulariser import beyond_linear, dual_slope, steepness

DEEP = depth(3)
ENDS_FACTOR = 100.0
"""By which α is divided, and α^D exceeds the largest entry of the ℓ2 solution, to see the two
ends."""
LIMIT_ERROR = 1e-9
"""Relative accuracy of a limit: the threshold at which its solver accepts it."""
LEAST_SLACK = 1e-6
"""1 − |Xᵀν|_i of a linear program, off the support, below which its vertex is not told from
others."""
SLOPE_ERROR = 1e-6
"""Error of q_D' that this accuracy may make on a coordinate that counts."""
INVERTED = "h_D inverted by bisection"


def _optimal(evidence: Evidence) -> Check:
    """∇Q at the limit is in Im Xᵀ, with q_D' by bisection, on the coordinates whose q_D' the
    limit's accuracy decides."""
    problem, D = evidence.network, evidence.network.model.depth
    unit, beta = start_scale(problem) ** D, evidence.limit.value
    quantity = "distance of ∇Q_α^D(β*) from Im Xᵀ, relative"
    if unit < SMALLEST_NORMAL:
        return unknown_check(quantity, f"α^D = {start_scale(problem):g}^{D} is no float")
    slope = dual_slope(beta / unit, D)
    if not np.any(slope):
        return unknown_check(quantity, "the limit is zero, where every gradient is")
    felt = LIMIT_ERROR * float(np.max(np.abs(beta))) / unit <= SLOPE_ERROR * steepness(slope, D)
    X = problem.data.X[:, felt]
    off = slope[felt] - X.T @ np.linalg.lstsq(X.T, slope[felt], rcond=None)[0]
    worst = float(np.linalg.norm(off)) / float(np.linalg.norm(slope[felt]))
    error = SLOPE_ERROR / float(np.max(np.abs(slope)))
    return Check(quantity, worst, "==", 0.0, error, witness=INVERTED)


def _ends(evidence: Evidence) -> tuple[Check, ...]:
    """The limit's distance from min ℓ1 at a smaller α and from min ℓ2 at a large one, against what
    q_D allows."""
    problem, D = evidence.network, evidence.network.model.depth
    model, data, l2 = problem.model, problem.data, evidence.l2.value
    alpha = min(start_scale(problem), evidence.l1.objective ** (1 / D)) / ENDS_FACTOR
    rich = limit(model, data, scale=alpha, time_s=evidence.time_left).value
    allowed = (
        D / 2 * alpha ** (D - 2) * float(np.sum(np.abs(rich) ** (2 / D))) / evidence.l1.objective
    )
    size = float(np.max(np.abs(l2)))
    unit = ENDS_FACTOR * size
    lazy = limit(model, data, scale=unit ** (1 / D), time_s=evidence.time_left).value
    bound = unit * float(np.linalg.norm(beyond_linear(dual_slope(lazy / unit, D), D)))
    return (
        *_vector(evidence, rich, allowed),
        Check(
            "‖β̂_α‖₁/‖β_L1‖₁ − 1 at a hundredth of α, against (D/2)α^{D−2}Σ|β̂_i|^{2/D}/‖β_L1‖₁",
            l1_excess(evidence, rich),
            "<=",
            allowed,
            LIMIT_ERROR,
            witness="a linear program",
            null=l1_excess(evidence, l2),
            base=alpha,
            exponent=float(D - 2),
        ),
        Check(
            "‖β̂_α − β_L2‖₂/‖β_L2‖_∞ at α^D = 100‖β_L2‖_∞, against α^D‖h_D(z) − 2pz‖₂",
            float(np.linalg.norm(lazy - l2)) / size,
            "<=",
            bound / size,
            ROUNDING * ENDS_FACTOR,
            witness=INVERTED,
            null=float(np.linalg.norm(evidence.l1.value - l2)) / size,
            base=unit,
            exponent=-2.0,
        ),
    )


def _vector(evidence: Evidence, rich: Array, excess: float) -> tuple[Check, ...]:
    """The limit itself, if min ℓ1 is one vector: off its support Σ(1 − |Xᵀν|_i)|β_i| is at most
    what ‖β‖₁ exceeds the least norm by, and on it Xβ = y says the rest."""
    data, best = evidence.network.data, evidence.l1.value
    on = np.abs(best) > LIMIT_ERROR * float(np.max(np.abs(best)))
    slack = 1 - np.abs(data.X.T @ evidence.l1.stats["nu"])[~on]
    if not evidence.l1.stats["unique"] or np.min(slack, initial=1.0) < LEAST_SLACK:
        return ()
    off = excess * evidence.l1.objective / float(np.min(slack, initial=1.0))
    answer = np.linalg.lstsq(data.X[:, on], data.X[:, ~on], rcond=None)[0]
    size = float(np.max(np.abs(best)))
    return (
        Check(
            "‖β̂_α − β_L1‖_∞/‖β_L1‖_∞ at a hundredth of α, against what that excess allows",
            float(np.max(np.abs(rich - best))) / size,
            "<=",
            off * max(1.0, float(np.max(np.abs(answer), initial=0.0))) / size,
            LIMIT_ERROR,
            witness="a linear program",
            null=float(np.max(np.abs(evidence.l2.value - best))) / size,
        ),
    )


def _thm3(evidence: Evidence) -> tuple[Check, ...]:
    return (end_check(evidence, evidence.l2.value), _optimal(evidence), *_ends(evidence))


def _lem4(evidence: Evidence) -> tuple[Check, ...]:
    """Measured on the weights themselves: in the dual the bound is the domain of the potential and
    could not fail."""
    problem, D = evidence.network, evidence.network.model.depth
    c, alpha = problem.loss.factor(problem.data.n), start_scale(problem)
    bound = lemma_4_bound(alpha, D, c)
    flow, size = evidence.trajectory, float(np.max(np.abs(evidence.predictors[-1])))
    _, integrals, errors = residual_integrals(problem, flow)
    seen = remaining(problem, flow.final) <= FAR_FROM_LIMIT_ERROR * size
    unseen = f"nothing after t = {flow.times[-1]:.3g} was seen, where the flow is still under way"
    columns = float(np.max(np.sum(np.abs(problem.data.X), axis=0)))
    linearised = float(np.max(np.abs(evidence.l2.value))) / (4 * c * D**2 * alpha ** (2 * D - 2))
    return (
        Check(
            "largest ‖Xᵀ∫₀ᵗr‖_∞ over all times, over its bound α^{2−D}/(2cD(D−2))",
            float(np.max(np.abs(integrals @ problem.data.X))) / bound,
            "<=",
            1.0,
            float(errors[-1]) * columns / bound + ROUNDING + (D - 2) * start_spread(problem),
            witness=evidence.source if seen else "",
            reason=evidence.missing if seen else unseen,
            null=linearised / bound,
        ),
    )


def lemma_4_bound(alpha: float, depth: int, c: float) -> float:
    """α^{2−D}/(2cD(D−2)) for the loss c‖·‖²."""
    return float(alpha ** (2 - depth) / (2 * c * depth * (depth - 2)))


thm3 = Claim(
    "W/thm3",
    "For D ≥ 3 from α·1, gradient flow that interpolates converges to argmin Q_α^D s.t. Xβ = y; as "
    "α → 0 that is min ℓ1 (its norm; the vector, if there is only one), as α → ∞ min ℓ2.",
    "W, Theorem 3 and its proof, (103)–(110)",
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.1, 0.5, 0.7][key % 3]),
    _thm3,
    kind=Kind.FLOW,
    witness="∇L followed in the weights; h_D inverted by bisection; a linear program",
    null="the other end's solution: minimum ℓ2 for small α, minimum ℓ1 for large",
    family=lambda key: diagonal_family(key, 3 + key % 3),
    limit=of_this_flow,
)
lem4 = Claim(
    "W/lem4",
    "For D ≥ 3, ‖Xᵀ∫₀ᵗr‖_∞ ≤ α^{2−D}/(2cD(D−2)) at all times, for the loss c‖·‖².",
    "W, Lemma 4 (as printed for ½‖·‖²)",
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.1, 0.3, 0.4][key % 3]),
    _lem4,
    kind=Kind.FLOW,
    witness="∇L followed in the weights; ∫r added up along it",
    null="the linearised network",
    family=lambda key: diagonal_family(key, 3 + key % 3),
)

CLAIMS = (thm3, lem4)
