"""A flow and a prediction, side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..inputs import instance, positive_float
from ..limits import TangentPredictor
from ..records import Certificate, Limit, Result, Trajectory
from .evidence import Evidence
from .verdicts import Status, Verdict
from .verifying import claim, judge, no_flow
from .witness import as_trajectory, flow_defect

COMPARED = ("W/thm1", "W/thm2", "W/thm3", "W/lem4", "R/thm2.2", "R/eq3", "R/sharp")
"""Claims about one trajectory and its limit."""
SHOWN = (Status.HOLDS, Status.CONSISTENT, Status.INCONCLUSIVE, Status.VIOLATED, Status.HYPOTHESES_FAIL)
"""What is printed: claims that do not apply are not."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """How far a flow ended from a predicted limit, how well each is known, and which claims hold on the pair.

    defect: a sentence on whether the flow follows ∇L, which decides what it proves.
    """

    distance: float
    relative: float
    flow_error: float
    final_loss: float
    result: Result
    certificate: Certificate
    verdicts: tuple[Verdict, ...]
    defect: str = ""

    def __str__(self) -> str:
        c = self.certificate
        lines = [
            f"flow: {self.result.value}; final loss {self.final_loss:.1e}, integration error {self.flow_error:.1e}",
            f"limit: {c.kind}, residual {c.residual:.1e}, relative gap {c.gap:.1e}",
            f"distance ‖β(T) − β*‖_∞ = {self.distance:.1e} (relative {self.relative:.1e})",
        ]
        if self.defect:
            lines.append(self.defect)
        for status in SHOWN:
            names = [v.claim.id + _remark(v) for v in self.verdicts if v.status == status]
            if names:
                lines.append(f"{status}: {', '.join(names)}")
        return "\n".join(lines)


def _remark(verdict: Verdict) -> str:
    return " (not informative here)" if verdict.informative is False else ""


class _Unchecked(Evidence):
    """Evidence from a flow of which nobody could say whether it follows ∇L: it proves nothing, and contradicts nothing."""

    unknown = ""

    @property
    def source(self) -> str:
        return ""

    @property
    def missing(self) -> str:
        return f"whether the flow follows ∇L is not known: {self.unknown}"


def compare(trajectory: Trajectory, limit: Limit, *, time_s: float = 30.0) -> Comparison:
    """Distance between the end of a flow and a predicted limit, with the claims that speak about the two.

    The flow is first taken apart: from some of its states ∇L is followed to the next (at most `time_s` seconds). Where that does
    not lead there, it is no gradient flow, and no claim applies; where it is not known, verdicts are at best consistent.
    """
    instance("trajectory", trajectory, Trajectory)
    instance("limit", limit, Limit)
    time_s = positive_float("time_s", time_s)
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
    defect, verdicts = _judged(evidence, time_s) if is_flow else ("", ())
    return Comparison(
        distance,
        distance / size,
        float(trajectory.predictor_error[-1]),
        float(trajectory.loss[-1]),
        trajectory.result,
        limit.certificate,
        verdicts,
        defect,
    )


def _judged(evidence: Evidence, time_s: float) -> tuple[str, tuple[Verdict, ...]]:
    """What the flow's defect is, and the verdicts that it allows."""
    statements = [claim(name) for name in COMPARED]
    defect = flow_defect(as_trajectory(evidence.problem, evidence.trajectory), time_s)
    if isinstance(defect, str):
        evidence = _Unchecked(evidence.problem, evidence.trajectory, evidence.limit)
        evidence.unknown = defect
        return evidence.missing, tuple(judge(statement, evidence) for statement in statements)
    if not defect.sound:
        reason = no_flow(defect.size, defect.allowed)
        return reason, tuple(Verdict(s, (), (), Status.DOES_NOT_APPLY, reason) for s in statements)
    followed = Evidence(evidence.problem, defect.flow, evidence.limit, time_s)
    return "the flow follows ∇L", tuple(judge(statement, followed) for statement in statements)
