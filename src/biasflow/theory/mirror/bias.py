"""R, §2.1 and A.1: that a mirror flow exists, and which minimiser it picks, inside the domain or on its boundary."""

from __future__ import annotations

import numpy as np

from ...errors import BiasflowError
from ...inputs import Array
from ...limits import mirror_limit
from ...limits.half_lines import forced_zeros
from ...potentials.base import Potential
from ...records import Limit, Result
from ..evidence import Evidence
from ..examples import boundary_problem, mirror_problem
from ..hypotheses import CONSISTENT, CONTINUOUS, HALF_LINES, MIRROR, NONTRIVIAL, REACHED, SQUARE
from ..verdicts import Check, Claim


def limit_checks(evidence: Evidence) -> tuple[Check, ...]:
    """The flow ends at the projection, and the projection is proved to be one."""
    certificate = evidence.limit.certificate
    distance = float(np.max(np.abs(evidence.predictors[-1] - evidence.limit.value)))
    if not evidence.arrived:  # a flow that is still under way says nothing about its limit
        distance = float("nan")
    floor = 1e-9  # the solver's own acceptance threshold
    return (
        Check("‖β(T) − β*‖_∞, flow against projection", distance, "==", 0.0, evidence.distance_error),
        Check("constraint residual of β*", certificate.residual, "<=", floor),
        Check("distance of ∇φ(β*) − ∇φ(β₀) from Im Xᵀ", certificate.membership, "<=", floor),
        Check("relative duality gap of β*", certificate.gap, "<=", floor),
    )


thm2_2 = Claim(
    "R/thm2.2",
    "Mirror flow converges to the Bregman projection of β₀ onto the minimisers of F: Xβ* = y and ∇φ(β*) − ∇φ(β₀) ∈ Im Xᵀ.",
    "R, Theorem 2.2",
    (MIRROR, SQUARE, CONSISTENT, NONTRIVIAL, REACHED),
    mirror_problem,
    limit_checks,
)


def _existence(evidence: Evidence) -> tuple[Check, ...]:
    """F never rises, and the mirror coordinate stays in η₀ + Im Xᵀ for as long as the flow was followed."""
    flow, m, F = evidence.trajectory, evidence.mirror, evidence.half_loss
    gain = float(np.linalg.norm(m.X, 2)) * np.sqrt(m.X.shape[1]) * flow.error
    numerical = float(np.max(gain * np.sqrt(2 * F) + gain**2)) / float(F[0]) + 1e-13
    rise = float(np.max(np.diff(F), initial=0.0)) / float(F[0])
    given_up = float(flow.result in (Result.DIVERGED, Result.STEP_TOO_SMALL, Result.STEP_LIMIT))
    return (
        Check("largest rise of F between saved times, over F(0), against the numerical error", rise, "<=", numerical),
        Check("times at which the flow broke off", given_up, "==", 0.0),
        Check("all β finite", float(np.mean(np.isfinite(evidence.predictors))), "==", 1.0),
    )


GONE, WALL = 1e-6, 1e-3
"""Share of D_φ(β*, β₀), and of the largest β*, that a flow which followed F to 1e-10 of its infimum may have left."""
FALLING = 0.5
"""Fall of D over the second half of the flow below which it is still on its way."""


def _boundary(evidence: Evidence) -> tuple[Check, ...]:
    """The flow against the projection onto the minimisers on the closed domain."""
    m, flow = evidence.mirror, evidence.trajectory
    limit = mirror_limit(m.potential, m.X, m.y, m.beta0)
    potential = m.potential if m.beta0 is None else m.potential.oriented(m.beta0)
    best = potential.at(limit.value)
    D = np.array([float(np.sum(best.divergence(potential.at(beta)))) for beta in evidence.predictors])
    excess = evidence.half_loss - limit.stats["infimum"]
    wall = float(np.max(np.abs(evidence.predictors[-1][limit.stats["boundary"]]), initial=0.0))
    size = max(float(np.max(np.abs(limit.value))), float(np.max(np.abs(evidence.origin.beta))))
    earlier = float(np.interp(flow.times[-1] / 2, flow.times, D))
    arrived = D[-1] <= GONE * D[0] or D[-1] > FALLING * earlier  # else D is small but still falling: nothing to judge yet
    objective = float(np.sum(best.divergence(evidence.origin)))
    return (
        Check("D_φ(β*, β(T)) over D_φ(β*, β₀)", float(D[-1] / D[0]) if arrived else float("nan"), "<=", GONE),
        Check("largest rise of D_φ(β*, β(t)), over its start", float(np.max(np.diff(D), initial=0.0)) / D[0], "<=", 1e-7),
        Check("max t·(F(β(t)) − F*)/D_φ(β*, β₀) (R, equation 5)", float(np.max(flow.times * excess)) / D[0], "<=", 1.0, 1e-7),
        Check(
            "largest |β(T)| where β* lies on the boundary, over the larger of ‖β*‖_∞, ‖β₀‖_∞",
            wall / size if arrived else float("nan"),
            "<=",
            WALL,
        ),
        Check("D_φ(β*, β₀) of the limit against its objective", objective / limit.objective, "==", 1.0, 1e-9),
        Check(
            "minimisers inside the domain (1: there are) against β* inside", _inside(m.X, limit, potential), "==", _no_wall(limit)
        ),
        Check("constraint residual of β*", limit.certificate.residual, "<=", 1e-9),
        Check("relative duality gap of β*", limit.certificate.gap, "<=", 1e-9),
    )


def _inside(X: Array, limit: Limit, potential: Potential) -> float:
    """Whether some minimiser of F lies inside the open domain, by a linear program on the fit."""
    try:
        return float(not np.any(forced_zeros(X, limit.stats["fit"], potential.half_lines(X.shape[1]))))
    except BiasflowError:  # the fit is on the edge of what can be reached, to rounding
        return 0.0


def _no_wall(limit: Limit) -> float:
    return float(limit.stats["boundary"].size == 0)


lemA1 = Claim(
    "R/lemA1",
    "The mirror flow exists for all time, and F never rises along it.",
    "R, Lemma A.1",
    (MIRROR, SQUARE, NONTRIVIAL),
    mirror_problem,
    _existence,
)
thm2_3 = Claim(
    "R/thm2.3",
    "Where φ extends continuously to the closed domain, mirror flow converges to the Bregman projection of β₀ onto the"
    " minimisers of F there, on the boundary where no minimiser lies inside.",
    "R, Theorem 2.3",
    (MIRROR, SQUARE, NONTRIVIAL, HALF_LINES, CONTINUOUS),
    boundary_problem,
    _boundary,
)

CLAIMS = (lemA1, thm2_2, thm2_3)
