"""W, §4: the depth-2 model, its implicit regulariser Q_α, and how it meets ℓ1 and ℓ2."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import quad_vec
from scipy.optimize import brentq

from ...inputs import Array
from ...records import Problem, Trajectory
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale
from ..mirror.bias import limit_checks
from ..verdicts import Check, Claim, Hypothesis, on_problem

QUADRATURE = 1e-9
"""Relative error asked of ∫r."""
DEPTH_TWO = depth(2, 2)


def regulariser(problem: Problem, beta: Array) -> float:
    """α²·Q_α(β) = Φ_{2α²}(β)."""
    return float(problem.model.potential(scale=start_scale(problem)).value(beta))


def _half_time(evidence: Evidence) -> float:
    """The first saved time at which half of the loss is gone, or the last there is."""
    gone = np.flatnonzero(evidence.half_loss <= 0.5 * evidence.half_loss.max())
    return float(evidence.trajectory.times[gone[0] if gone.size else -1])


def residual_integral(problem: Problem, trajectory: Trajectory, t: float) -> Array:
    """∫₀ᵗ(Xβ − y), by adaptive quadrature over the dense output."""
    integral, _ = quad_vec(
        lambda s: problem.model(trajectory.at(s), problem.data.X) - problem.data.y, 0.0, t, epsrel=QUADRATURE, limit=2000
    )
    return np.asarray(integral)


def _thm1(evidence: Evidence) -> tuple[Check, ...]:
    problem, t = evidence.network, _half_time(evidence)
    alpha, speed = start_scale(problem), 8 * problem.loss.factor(problem.data.n)
    if t == 0:
        return limit_checks(evidence)
    formula = 2 * alpha**2 * np.sinh(-speed * problem.data.X.T @ residual_integral(problem, evidence.trajectory, t))
    beta = problem.model.effective(evidence.trajectory.at(t))
    tolerance = 1e-6 * float(np.max(np.abs(beta))) + float(np.max(evidence.trajectory.error))
    distance = float(np.max(np.abs(beta - formula)))
    along = Check("‖β(t) − 2α²sinh(−8c·Xᵀ∫r)‖_∞ when half of the loss is gone", distance, "<=", tolerance)
    return (*limit_checks(evidence), along)


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


def _thresholds(problem: Any) -> tuple[float | None, float | None]:
    evidence = Evidence(problem)
    alpha, d = start_scale(problem), problem.data.d
    return least_epsilon_l1(alpha, evidence.l1.objective, d), least_epsilon_l2(alpha, evidence.l2.objective, d)


def _in_reach(problem: Any) -> str | None:
    if _thresholds(problem) == (None, None):
        return f"α = {start_scale(problem):g} lies between the thresholds of the theorem for every ε < d"
    return None


def _thm2(evidence: Evidence) -> tuple[Check, ...]:
    small, large = _thresholds(evidence.network)
    beta, checks = evidence.limit.value, []
    if small is not None:
        ratio = float(np.sum(np.abs(beta))) / evidence.l1.objective
        checks.append(Check("‖β̂_α‖₁/‖β_L1‖₁ against 1+ε, least ε of the theorem", ratio, "<=", 1 + small, 1e-9))
    if large is not None:
        ratio = float(np.sum(beta**2)) / evidence.l2.objective**2
        checks.append(Check("‖β̂_α‖₂²/‖β_L2‖₂² against 1+ε, least ε of the theorem", ratio, "<=", 1 + large, 1e-9))
    return tuple(checks)


def _test_vectors(evidence: Evidence) -> list[Array]:
    return [evidence.limit.value, evidence.l1.value, evidence.l2.value, np.ones(evidence.network.data.d)]


def _lem1(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    alpha, d = start_scale(problem), problem.data.d
    log = np.log(1 / alpha)
    low, high = [], []
    for beta in _test_vectors(evidence):
        norm = float(np.sum(np.abs(beta)))
        if alpha > min(1.0, np.sqrt(norm)):
            continue
        eps = max(np.log(2 * norm) / (2 * log), d / (2 * norm * log))  # the least ε with α ≤ α₁(ε, ‖β‖₁, d)
        value = regulariser(problem, beta) / (2 * log * norm)
        low.append(value - (1 - eps))
        high.append(1 + eps - value)
    return (
        Check("least of α²Q/(ln(1/α²)‖β‖₁) − (1−ε) over test vectors", float(min(low)), ">=", 0.0, 1e-12),
        Check("least of (1+ε) − α²Q/(ln(1/α²)‖β‖₁) over test vectors", float(min(high)), ">=", 0.0, 1e-12),
    )


def _lem2(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    d, eps = problem.data.d, _lem2_epsilon(problem)
    first, even = np.eye(d)[0], np.full(d, 1 / np.sqrt(d))
    ratio = np.sqrt(d) * regulariser(problem, first) / regulariser(problem, even)
    return (Check("(Q(e₁)/‖e₁‖₁)/(Q(1/√d)/‖1/√d‖₁) against 1+ε, largest ε of the lemma", float(ratio), ">=", 1 + eps, 1e-12),)


def _lem2_epsilon(problem: Any) -> float:
    """The largest ε with d ≥ max(e, 12^{4ε}) and α ≥ d^{−1/4−1/(8ε)}; at most zero where there is none."""
    d, alpha = problem.data.d, start_scale(problem)
    cap = np.log(d) / (4 * np.log(12))
    excess = -np.log(alpha) / np.log(d) - 0.25
    return float(min(cap, 1 / (8 * excess)) if excess > 0 else cap)


def _lem3(evidence: Evidence) -> tuple[Check, ...]:
    problem, alpha = evidence.network, start_scale(evidence.network)
    low, high = [], []
    for beta in _test_vectors(evidence):
        norm = float(np.linalg.norm(beta))
        if alpha <= np.sqrt(norm):
            continue
        eps = (alpha / np.sqrt(norm) - 1) ** -4.0  # the least ε with α ≥ √‖β‖₂(1 + ε^{−1/4})
        value = 4 * alpha**2 * regulariser(problem, beta) / norm**2
        low.append(value - (1 - eps))
        high.append(1 + eps - value)
    return (
        Check("least of 4α⁴Q/‖β‖₂² − (1−ε) over test vectors", float(min(low)), ">=", 0.0, 1e-12),
        Check("least of (1+ε) − 4α⁴Q/‖β‖₂² over test vectors", float(min(high)), ">=", 0.0, 1e-12),
    )


def _scale_hypothesis(id: str, statement: str, holds: Any) -> Hypothesis:
    def test(problem: Any) -> str | None:
        return None if holds(problem) else f"α = {start_scale(problem):g}, d = {problem.data.d}: needs {statement}"

    return Hypothesis(id, statement, on_problem(test))


def _any_vector(problem: Any, condition: Any) -> bool:
    return any(condition(beta) for beta in _test_vectors(Evidence(problem)))


IN_REACH = Hypothesis("threshold", "α is below the ℓ1 or above the ℓ2 threshold for some ε < d", on_problem(_in_reach))
SMALL = _scale_hypothesis(
    "small", "α < 1 and α ≤ √‖β‖₁ for a test vector",
    lambda p: start_scale(p) < 1 and _any_vector(p, lambda b: start_scale(p) <= np.sqrt(np.sum(np.abs(b)))),
)  # fmt: skip
LARGE = _scale_hypothesis(
    "large", "α > √‖β‖₂ for a test vector", lambda p: _any_vector(p, lambda b: start_scale(p) > np.sqrt(np.linalg.norm(b)))
)
WIDE = _scale_hypothesis("wide", "d ≥ max(e, 12^{4ε}) and α ≥ d^{−1/4−1/(8ε)} for some ε > 0", lambda p: p.data.d >= 3)

thm1 = Claim(
    "W/thm1",
    "For D = 2 from α·1, gradient flow converges to argmin Q_α(β) s.t. Xβ = y, along β(t) = 2α²sinh(−8c·Xᵀ∫r)"
    " for the loss c‖·‖².",
    "W, Theorem 1 (exponent corrected: −8 for ‖·‖², −4 for ½‖·‖²)",
    (DEPTH_TWO, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, scale=[0.1, 1.0, 1e-3][key % 3]),
    _thm1,
)
thm2 = Claim(
    "W/thm2",
    "α below (2(1+ε)‖β_L1‖₁)^{−(2+ε)/(2ε)} and e^{−d/(ε‖β_L1‖₁)} gives ‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁;"
    " α above √(2(1+ε)(1+2/ε)‖β_L2‖₂) gives ‖β̂_α‖₂² ≤ (1+ε)‖β_L2‖₂².",
    "W, Theorem 2",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, IN_REACH),
    lambda key: diagonal_problem(key, scale=[1e-12, 10.0, 1e-30][key % 3]),
    _thm2,
)
lem1 = Claim(
    "W/lem1",
    "α ≤ min{1, √‖β‖₁, (2‖β‖₁)^{−1/(2ε)}, e^{−d/(2ε‖β‖₁)}} gives |α²Q(β/α²)/ln(1/α²) − ‖β‖₁| ≤ ε‖β‖₁.",
    "W, Lemma 1",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, SMALL),
    lambda key: diagonal_problem(key, scale=[1e-3, 1e-12, 1e-60][key % 3]),
    _lem1,
)
lem2 = Claim(
    "W/lem2",
    "For d ≥ max(e, 12^{4ε}) and α ≥ d^{−1/4−1/(8ε)}, Q is not proportional to ℓ1: Q(e₁)/‖e₁‖₁ ≥ (1+ε)Q(1/√d)/‖1/√d‖₁.",
    "W, Lemma 2",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, WIDE),
    lambda key: diagonal_problem(key, scale=[1.0, 1e-2, 1e-6][key % 3], d=200),
    _lem2,
)
lem3 = Claim(
    "W/lem3",
    "α ≥ √‖β‖₂(1 + ε^{−1/4}) gives |4α⁴Q(β/α²) − ‖β‖₂²| ≤ ε‖β‖₂².",
    "W, Lemma 3",
    (DEPTH_TWO, UNIFORM, CONSISTENT, NONTRIVIAL, LARGE),
    lambda key: diagonal_problem(key, scale=[3.0, 10.0, 100.0][key % 3]),
    _lem3,
)

CLAIMS = (thm1, thm2, lem1, lem2, lem3)
