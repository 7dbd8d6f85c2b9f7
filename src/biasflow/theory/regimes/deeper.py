"""W, §5: diagonal networks of depth D ≥ 3."""

from __future__ import annotations

import numpy as np

from ...flows import gradient_flow
from ...limits import limit
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale
from ..mirror.bias import limit_checks
from ..verdicts import Check, Claim
from .depth_two import residual_integral

DEEP = depth(3)
VANISHING = -1000.0
"""log α^{D−2} at which the limit has reached its α → 0 form to rounding."""
LATE = 1e-3
"""Share of the loss left when ∫r is measured."""
HUGE = 1e4
"""α^D over the largest entry of the ℓ2 solution at which the limit is ℓ2's to (1e-4)²."""


def _thm3(evidence: Evidence) -> tuple[Check, ...]:
    problem, D = evidence.network, evidence.network.model.depth
    rich = limit(problem.model, problem.data, log_scale=VANISHING / (D - 2)).value
    size = float(np.max(np.abs(evidence.l2.value)))
    lazy = limit(problem.model, problem.data, scale=(HUGE * size) ** (1 / D)).value
    norm_gap = float(np.sum(np.abs(rich))) / evidence.l1.objective - 1
    lazy_gap = float(np.max(np.abs(lazy - evidence.l2.value))) / size
    return (
        *limit_checks(evidence),
        Check("‖β_α‖₁/‖β_L1‖₁ − 1 as α → 0", norm_gap, "<=", 1e-8),
        Check("relative distance from β_L2 at α^D = 10⁴‖β_L2‖_∞", lazy_gap, "<=", 1e-6),
    )


def _lem4(evidence: Evidence) -> tuple[Check, ...]:
    """Measured on the weights themselves: in the dual the bound is the domain of the potential and could not fail."""
    problem, D = evidence.network, evidence.network.model.depth
    c = problem.loss.factor(problem.data.n)
    bound = start_scale(problem) ** (2 - D) / (2 * c * D * (D - 2))
    late = evidence.half_loss <= LATE * evidence.half_loss.max()
    t1 = float(evidence.trajectory.times[np.argmax(late) if np.any(late) else -1])
    flow = gradient_flow(problem.model, problem.data, problem.loss, problem.params0, t1=t1, method="weights", rtol=1e-6)
    integral = problem.data.X.T @ residual_integral(problem, flow, t1)
    return (Check("‖Xᵀ∫r‖_∞ over its bound α^{2−D}/(2cD(D−2))", float(np.max(np.abs(integral))) / bound, "<=", 1.0, 1e-5),)


thm3 = Claim(
    "W/thm3",
    "For D ≥ 3 from α·1, gradient flow that interpolates converges to argmin Q_α^D s.t. Xβ = y; as α → 0 that is min ℓ1,"
    " as α → ∞ min ℓ2.",
    "W, Theorem 3",
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.1, 0.5, 0.7][key % 3]),
    _thm3,
)
lem4 = Claim(
    "W/lem4",
    "For D ≥ 3, ‖Xᵀ∫₀ᵗr‖_∞ ≤ α^{2−D}/(2cD(D−2)) at all times, for the loss c‖·‖².",
    "W, Lemma 4 (as printed for ½‖·‖²)",
    (DEEP, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=3 + key % 3, scale=[0.1, 0.5, 0.7][key % 3]),
    _lem4,
)

CLAIMS = (thm3, lem4)
