"""R, §2.1: which minimiser a mirror flow picks."""

from __future__ import annotations

import numpy as np

from ...records import Check, Claim
from ..evidence import Evidence
from ..examples import mirror_problem
from ..hypotheses import CONSISTENT, MIRROR, NONTRIVIAL, REACHED, SQUARE


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

CLAIMS = (thm2_2,)
