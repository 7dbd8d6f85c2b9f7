"""W, §4: the limit of the depth-2 model minimises Q_α, along 2α²sinh of the residual's integral;
how near it is to ℓ1 and ℓ2."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..evidence import FAR_FROM_LIMIT_ERROR, Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale, start_spread
from ..mirror.limits_of_flows import of_this_flow
from ..verdicts import Check, Claim, Hypothesis, Kind, unknown_check
from .ends import ROUNDING, end_check, end_error, residual_integrals
from .families import diagonal_family

DEPTH_TWO = depth(2, 2)
EXPONENT = 8.0
"""β(t) = 2α²sinh(−8c·Xᵀ∫r) under the loss c‖·‖²; W prints 4, which belongs to ½‖·‖²."""
LARGEST_EXPONENT, ALONE = 700.0, 20.0
"""e to the first is a float; beyond the second arcsinh(e^q) is q + log 2 to rounding."""
LINEAR_PROGRAM = 1e-7
"""HiGHS' tolerance: relative error of a least ℓ1 norm whose certificate does not say better."""


def _along(evidence: Evidence) -> tuple[Check, Check]:
    """β(t) against its formula at every step of the flow, and the limit as the minimiser of Q_α: ν
    = −8c∫r closes the gap."""
    problem, flow = evidence.network, evidence.trajectory
    X, alpha = problem.data.X, start_scale(problem)
    r, log_r = 2 * alpha**2, float(np.log(2.0) + 2 * np.log(alpha))
    speed = EXPONENT * problem.loss.factor(problem.data.n)
    times, integrals, errors = residual_integrals(problem, flow)
    eta = -speed * integrals @ X
    formula = scaled_sinh(eta, log_r)
    beta = np.array([problem.model.effective(flow.at(t)) for t in times])
    size = float(np.max(np.abs(beta)))
    # what the error of ∫r makes in the mirror coordinate
    tilt = speed * errors * np.max(np.sum(np.abs(X), axis=0))
    slope = np.max(np.hypot(beta, r), axis=1)
    uneven = 2 * start_spread(problem)  # w±² = α²(1 + 2δ)e^{±η}
    allowed = (
        float(np.max(np.interp(times, flow.times, flow.predictor_error) + slope * (tilt + uneven)))
        / size
        + ROUNDING
    )
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    along = Check(
        "largest ‖β(t) − 2α²sinh(−8c·Xᵀ∫r)‖_∞ over all steps, over the largest β",
        float(np.max(np.abs(beta - formula))) / size,
        "==",
        0.0,
        allowed,
        **notes,
    )
    quantity = "relative duality gap of β* as a minimiser of Q_α, with ν = −8c∫r"
    if not end_error(evidence) <= FAR_FROM_LIMIT_ERROR * float(
        np.max(np.abs(evidence.predictors[-1]))
    ):
        return along, unknown_check(quantity, "the flow is still under way: ∫r is not complete")
    best = evidence.limit.value
    value = float(np.sum(best * scaled_arcsinh(best, log_r) - hyperbolic_part(best, r)))
    conjugate = float(
        np.sum(0.5 * np.exp(np.abs(eta[-1]) + log_r) * np.expm1(-np.abs(eta[-1])) ** 2)
    )
    unit = max(value, conjugate)
    gap = (value + conjugate - float(eta[-1] @ best)) / unit
    # the gap is of second order in ν,
    moved = 0.5 * float(np.sum(np.hypot(best, r))) * float(tilt[-1]) ** 2
    # and at most δβ·δη in β
    moved += len(best) * end_error(evidence) * float(np.max(np.abs(eta[-1])))
    rounded = ROUNDING * (abs(conjugate) + abs(float(np.abs(eta[-1]) @ np.abs(best)))) / unit
    return along, Check(quantity, gap, "==", 0.0, moved / unit + rounded, **notes)


def scaled_sinh(eta: Array, log_r: float) -> Array:
    """r·sinh(η), also where r is below every float."""
    size = np.abs(eta)
    large = np.exp(np.minimum(size + log_r, LARGEST_EXPONENT))
    return np.asarray(-0.5 * np.sign(eta) * large * np.expm1(-2 * size))


def scaled_arcsinh(beta: Array, log_r: float) -> Array:
    """arcsinh(β/r), also where r is below every float."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.abs(beta)) - log_r
    near = np.arcsinh(np.exp(np.minimum(ratio, ALONE)))
    return np.asarray(np.sign(beta) * np.where(ratio > ALONE, ratio + np.log(2.0), near))


def hyperbolic_part(beta: Array, r: float) -> Array:
    """β²/(r + √(β² + r²)) = √(β² + r²) − r, which does not cancel."""
    whole = r + np.hypot(beta, r)
    return np.divide(beta**2, whole, out=np.zeros_like(beta), where=whole > 0)


def _thm1(evidence: Evidence) -> tuple[Check, ...]:
    return (end_check(evidence, evidence.l2.value), *_along(evidence))


def least_epsilon_l1(alpha: float, norm: float, d: int) -> float | None:
    """The least ε < d for which W, Theorem 2 promises ‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁, or None."""

    def excess(eps: float) -> float:
        first = -(2 + eps) / (2 * eps) * np.log(2 * (1 + eps) * norm)
        return float(np.log(alpha) - min(first, -d / (eps * norm)))

    grid = np.geomspace(1e-6, d, 2000)  # the first threshold is not monotone in ε: look everywhere
    allowed = np.flatnonzero([excess(e) <= 0 for e in grid])
    if not allowed.size:
        return None
    k = int(allowed[0])
    return float(grid[0]) if k == 0 else float(brentq(excess, grid[k - 1], grid[k]))


def least_epsilon_l2(alpha: float, norm: float, d: int) -> float | None:
    """The least ε < d with α ≥ √(2(1+ε)(1+2/ε)‖β_L2‖₂), or None: ε + 2/ε ≤ α²/(2‖β_L2‖₂) − 3."""
    room = alpha**2 / (2 * norm) - 3
    if room < 2 * np.sqrt(2):
        return None
    eps = 4 / (room + np.sqrt(room**2 - 8))
    return float(eps) if eps < d else None


def _thresholds(evidence: Evidence) -> tuple[float | None, float | None]:
    alpha, d = start_scale(evidence.network), evidence.network.data.d
    return least_epsilon_l1(alpha, evidence.l1.objective, d), least_epsilon_l2(
        alpha, evidence.l2.objective, d
    )


def _in_reach(evidence: Evidence) -> str | None:
    if _thresholds(evidence) == (None, None):
        return (
            f"α = {start_scale(evidence.network):g} lies between the thresholds of the theorem "
            "for every ε < d"
        )
    return None


def l1_excess(evidence: Evidence, beta: Array) -> float:
    """‖β‖₁/‖β_L1‖₁ − 1 for an interpolator, as Σ|β_i| − (Xᵀν)_iβ_i with the linear program's ν,
    which does not cancel."""
    correlation = evidence.mirror.X.T @ evidence.l1.stats["nu"]
    return (
        float(np.sum(np.abs(beta) - np.clip(correlation, -1.0, 1.0) * beta)) / evidence.l1.objective
    )


def _thm2(evidence: Evidence) -> tuple[Check, ...]:
    """Both parts at the least ε of the theorem, which measures how loose it is: sharpness is ε over
    the actual excess."""
    small, large = _thresholds(evidence)
    beta, checks = evidence.limit.value, [end_check(evidence)]
    size = float(np.sum(np.abs(evidence.predictors[-1])))
    shift = len(beta) * end_error(evidence) / size if checks[0].status != "inconclusive" else 0.0
    notes: dict[str, Any] = {"witness": evidence.source, "reason": evidence.missing}
    if small is not None:
        error = abs(evidence.l1.certificate.gap) + ROUNDING * len(beta) + shift
        found, kernel = l1_excess(evidence, beta), l1_excess(evidence, evidence.l2.value)
        quantity = "‖β̂_α‖₁/‖β_L1‖₁ − 1 against the least ε of the theorem"
        checks.append(Check(quantity, found, "<=", small, error, null=kernel, **notes))
    if large is not None:
        # differences of interpolators are orthogonal to β_L2: the squares add up
        kernel_norm = evidence.l2.objective
        found, rich = (
            (float(np.linalg.norm(b - evidence.l2.value)) / kernel_norm) ** 2
            for b in (beta, evidence.l1.value)
        )
        quantity = "‖β̂_α‖₂²/‖β_L2‖₂² − 1 against the least ε of the theorem"
        checks.append(
            Check(
                quantity,
                found,
                "<=",
                large,
                ROUNDING * len(beta) + shift * np.sqrt(found),
                null=rich,
                **notes,
            )
        )
    return tuple(checks)


def two_ended(key: int) -> Problem:
    """α = 1e-30 or 10 with few coordinates, so that ε is small enough to tell the regimes apart."""
    return diagonal_problem(key, scale=[1e-30, 10.0, 1e-30][key % 3], n=4, d=8)


IN_REACH = Hypothesis(
    "threshold", "α is below the ℓ1 or above the ℓ2 threshold for some ε < d", _in_reach
)

thm1 = Claim(
    "W/thm1",
    "For D = 2 from α·1, gradient flow converges to argmin Q_α(β) s.t. Xβ = y, along β(t) = "
    "2α²sinh(−8c·Xᵀ∫r) for the loss c‖·‖².",
    "W, Theorem 1 (exponent corrected: −8 for ‖·‖², −4 for ½‖·‖²)",
    (DEPTH_TWO, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, scale=[0.1, 1.0, 1e-3][key % 3]),
    _thm1,
    kind=Kind.FLOW,
    witness="∇L followed in the weights; ∫r added up along it",
    null="the minimum-ℓ2 (kernel) solution",
    family=lambda key: diagonal_family(key, 2),
    limit=of_this_flow,
)
thm2 = Claim(
    "W/thm2",
    "α below (2(1+ε)‖β_L1‖₁)^{−(2+ε)/(2ε)} and e^{−d/(ε‖β_L1‖₁)} gives ‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁;"
    " α above √(2(1+ε)(1+2/ε)‖β_L2‖₂) gives ‖β̂_α‖₂² ≤ (1+ε)‖β_L2‖₂².",
    "W, Theorem 2",
    (DEPTH_TWO, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL, IN_REACH),
    two_ended,
    _thm2,
    kind=Kind.FLOW,
    witness="∇L followed in the weights; a linear program",
    null="the other regime's solution: minimum ℓ2 for small α, minimum ℓ1 for large",
    family=lambda key: diagonal_family(key, 2, extreme=True),
    limit=of_this_flow,
)

CLAIMS = (thm1, thm2)
