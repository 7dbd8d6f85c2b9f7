"""A claim and its evidence make a verdict."""

from __future__ import annotations

from .._core.problems import Problem
from .._core.progress import doing
from .._core.results import Limit
from .._numerics.compilation import announced
from ..errors import ConvergenceError, ScaleError
from .evidence import Evidence
from .unmeasured import Unmeasured, part, reason_of
from .verdicts import Check, Claim, Hypothesis, Status, Verdict, unknown_check

PASSED = (Status.HOLDS, Status.CONSISTENT)


def judge(statement: Claim, evidence: Evidence, limit: Limit | None = None) -> Verdict:
    """The verdict of a claim on evidence. Hypotheses are tested in order; after the first that
    fails nothing is predicted. The evidence's clock stands still while kernels are compiled.

    limit: one that was handed in. It is checked as the claim says. If it is not where it should
    be, that is the verdict; else the claim is judged on its own evidence, and these checks are
    added.
    """
    with doing(statement.id):
        return announced(
            "numerical", _judged, statement, evidence, limit, deadline=evidence.deadline
        )


def _judged(statement: Claim, evidence: Evidence, limit: Limit | None) -> Verdict:
    outcomes: list[tuple[Hypothesis, str | None]] = []
    problem = evidence.problem
    if isinstance(problem, Problem) and not problem.in_floats and not statement.below_floats:
        return Verdict(
            statement,
            (),
            (),
            Status.DOES_NOT_APPLY,
            "the start is below float range, which this claim does not read",
        )
    try:
        for hypothesis in statement.hypotheses:
            outcomes.append((hypothesis, hypothesis.test(evidence)))
            if outcomes[-1][1] is not None:
                return Verdict(statement, tuple(outcomes), ())
        handed_in: tuple[Check, ...] = ()
        if limit is not None:
            if statement.limit is None:
                return _about_none(statement, outcomes, "limit")
            handed_in = _checked(statement, evidence, limit)
            if any(check.status not in PASSED for check in handed_in):
                return Verdict(statement, tuple(outcomes), handed_in)
        checks = tuple(statement.check(evidence))
    except (Unmeasured, ConvergenceError) as reason:
        unknown = unknown_check("what the claim measures", reason_of(reason))
        return Verdict(statement, tuple(outcomes), (unknown,))
    except ScaleError as refusal:  # in words, for numbers beyond floats
        return Verdict(statement, tuple(outcomes), (), Status.INCONCLUSIVE, str(refusal))
    except Exception as error:  # a claim that cannot be evaluated is an open question, not a crash
        return Verdict(
            statement, tuple(outcomes), (), Status.INCONCLUSIVE, f"{type(error).__name__}: {error}"
        )
    if not all(isinstance(check, Check) for check in checks):
        return Verdict(
            statement,
            tuple(outcomes),
            (),
            Status.INCONCLUSIVE,
            "its check returned something else than checks",
        )
    verdict = Verdict(statement, tuple(outcomes), (*checks, *handed_in))
    if evidence.flow_ignored and verdict.status is not Status.VIOLATED:
        return _about_none(statement, outcomes, "flow")
    return verdict


def _checked(statement: Claim, evidence: Evidence, limit: Limit) -> tuple[Check, ...]:
    route = statement.limit
    assert route is not None
    return part("the limit given", lambda: route(evidence, limit))


def _about_none(
    statement: Claim, outcomes: list[tuple[Hypothesis, str | None]], given: str
) -> Verdict:
    words = f"it says nothing about the {given} given; leave it out"
    return Verdict(statement, tuple(outcomes), (), Status.DOES_NOT_APPLY, words)
