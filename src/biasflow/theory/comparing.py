"""A flow and a prediction, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..inputs import instance
from ..limits import TangentPredictor
from ..records import Certificate, Limit, Result, Trajectory
from .evidence import Evidence
from .verdicts import Status, Verdict
from .verifying import claim, judge

COMPARED = ("W/thm1", "W/thm2", "W/thm3", "W/lem4", "R/thm2.2", "R/eq3", "R/sharp")
"""Claims about one trajectory and its limit."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far a flow ended from a predicted limit, how well each is known, and which claims hold on the pair."""

    distance: float
    relative: float
    flow_error: float
    final_loss: float
    result: Result
    certificate: Certificate
    verdicts: tuple[Verdict, ...]

    def __str__(self) -> str:
        c = self.certificate
        lines = [
            f"flow: {self.result.value}; final loss {self.final_loss:.1e}, integration error {self.flow_error:.1e}",
            f"limit: {c.kind}, residual {c.residual:.1e}, relative gap {c.gap:.1e}",
            f"distance ‖β(T) − β*‖_∞ = {self.distance:.1e} (relative {self.relative:.1e})",
        ]
        for status in (Status.HOLDS, Status.CONSISTENT, Status.INCONCLUSIVE, Status.VIOLATED, Status.HYPOTHESES_FAIL):
            names = [v.claim.id for v in self.verdicts if v.status == status]
            if names:
                lines.append(f"{status}: {', '.join(names)}")
        return "\n".join(lines)


def compare(trajectory: Trajectory, limit: Limit) -> Comparison:
    """Distance between the end of a flow and a predicted limit, with the claims that speak about the two."""
    instance("trajectory", trajectory, Trajectory)
    instance("limit", limit, Limit)
    evidence = Evidence(trajectory.problem, trajectory, limit)
    if isinstance(limit.value, TangentPredictor):
        raise InputError(
            "limit: its value is a linearised network, not a β; compare its predictions, limit.value(X), with the flow's"
        )
    if np.shape(limit.value) != evidence.predictors.shape[1:]:
        raise InputError(f"limit: shape {np.shape(limit.value)} does not fit the flow's β {evidence.predictors.shape[1:]}")
    distance = float(np.max(np.abs(evidence.predictors[-1] - limit.value)))
    size = max(float(np.max(np.abs(limit.value))), np.finfo(float).tiny)
    is_flow = trajectory.interpolant is not None  # theorems on flows say nothing of descent or of the jump process
    verdicts = tuple(judge(claim(name), evidence) for name in COMPARED) if is_flow else ()
    return Comparison(
        distance,
        distance / size,
        float(trajectory.error[-1]),
        float(trajectory.loss[-1]),
        trajectory.result,
        limit.certificate,
        verdicts,
    )
