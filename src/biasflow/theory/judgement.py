"""A claim and its evidence make a verdict."""

from __future__ import annotations

from .._core.problems import Problem
from .._core.progress import doing
from .._numerics.compilation import announced
from ..errors import ConvergenceError, ScaleError
from .evidence import Evidence
from .unmeasured import Unmeasured
from .verdicts import Check, Claim, Hypothesis, Status, Verdict, unknown_check


def judge(statement: Claim, evidence: Evidence) -> Verdict:
    """The verdict of a claim on evidence. Hypotheses are tested in order; after the first that
    fails nothing is predicted. The evidence's clock stands still while kernels are compiled."""
    with doing(statement.id):
        return announced("numerical", _judged, statement, evidence, deadline=evidence.deadline)


def _judged(statement: Claim, evidence: Evidence) -> Verdict:
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
        checks = tuple(statement.check(evidence))
        ignored = evidence.ignored
    except (Unmeasured, ConvergenceError) as reason:
        unknown = unknown_check("what the claim is about", str(reason))
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
    verdict = Verdict(statement, tuple(outcomes), checks)
    if ignored and verdict.status is not Status.VIOLATED:
        words = (
            f"it says nothing about the {' and the '.join(ignored)} given; leave "
            f"{'them' if len(ignored) > 1 else 'it'} out"
        )
        return Verdict(statement, tuple(outcomes), (), Status.DOES_NOT_APPLY, words)
    return verdict
