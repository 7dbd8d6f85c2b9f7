"""The registry of claims, and their verdicts."""

from __future__ import annotations

from typing import Any

from ..errors import unknown
from ..inputs import instance, positive_int
from ..records import Claim, Hypothesis, MirrorProblem, Problem, Verdict
from . import margin, mirror, regimes, relu
from .evidence import Evidence

CLAIMS: tuple[Claim, ...] = mirror.CLAIMS + relu.CLAIMS + margin.CLAIMS + regimes.CLAIMS


def claims() -> tuple[str, ...]:
    """The ids of all claims."""
    return tuple(c.id for c in CLAIMS)


def claim(id: str) -> Claim:
    """The claim with this id."""
    for candidate in CLAIMS:
        if candidate.id == id:
            return candidate
    raise unknown("claim", id, list(claims()))


def verify(id: str, problem: Any = None, key: int = 0) -> Verdict:
    """Test a claim on a problem (None: its random example for this key): hypotheses first, then what it predicts."""
    statement = claim(instance("id", id, str))
    example = statement.example(positive_int("key", key, least=0))
    if problem is not None:
        instance("problem", problem, (Problem, MirrorProblem, type(example)))
    return judge(statement, Evidence(example if problem is None else problem))


def judge(statement: Claim, evidence: Evidence) -> Verdict:
    """The verdict of a claim on evidence; nothing is predicted where a hypothesis fails."""
    outcomes: list[tuple[Hypothesis, str | None]] = []
    for hypothesis in statement.hypotheses:
        if outcomes and outcomes[0][1] is not None:  # the first says what kind of problem the claim is about
            break
        outcomes.append((hypothesis, hypothesis.test(evidence.problem)))
    failed = any(failure is not None for _, failure in outcomes)
    return Verdict(statement, tuple(outcomes), () if failed else statement.check(evidence))
