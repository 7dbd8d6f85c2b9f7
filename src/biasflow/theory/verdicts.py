"""Claims and what is said of them: checks that can fail, their sharpness, and verdicts that say
what evidence they rest on."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.results import Limit
from ..errors import InputError

if TYPE_CHECKING:
    from .evidence import Evidence

TELLING = 0.1
"""Error of an equality, over the size of what is compared, above which it says nothing."""
DECADES = 3.0
"""Decades over which an exponent must be fitted for an asymptotic statement to hold rather than to
be consistent."""


class Status(enum.StrEnum):
    """What a verdict says."""

    HOLDS = "holds"
    CONSISTENT = "consistent"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    HYPOTHESES_FAIL = "hypotheses fail"
    DOES_NOT_APPLY = "does not apply"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Status.HOLDS: (
        "every check is inside its bound by more than the error, against evidence that "
        "does not assume the statement"
    ),
    Status.CONSISTENT: (
        "no check is outside its bound, but the evidence shares an assumption with "
        "the statement, or is finite"
    ),
    Status.VIOLATED: "a check is outside its bound by more than the error",
    Status.INCONCLUSIVE: "the error exceeds the slack, or a check could not be made",
    Status.HYPOTHESES_FAIL: "the problem does not satisfy the claim's hypotheses",
    Status.DOES_NOT_APPLY: (
        "the claim speaks about another kind of problem, or the evidence is no gradient flow"
    ),
}


class Kind(enum.StrEnum):
    """What a statement is about, and with it what evidence counts."""

    FLOW = "flow"
    STATIC = "static"
    ASYMPTOTIC = "asymptotic"
    EXISTENCE = "existence"
    UNIQUENESS = "uniqueness"
    PROBABILITY = "probability"
    ASSUMPTION = "assumption"

    @property
    def evidence(self) -> str:
        return _EVIDENCE[self]


_EVIDENCE = {
    Kind.FLOW: (
        "a flow integrated from the gradient of the loss alone, in the weights or, for a mirror "
        "flow, in β"
    ),
    Kind.STATIC: "both sides by unrelated routes",
    Kind.ASYMPTOTIC: (
        "an exponent fitted over at least three decades; if none is fitted, or over fewer, the "
        "verdict is at best consistent"
    ),
    Kind.EXISTENCE: "an exhibit with a certificate",
    Kind.UNIQUENESS: "strict convexity or a dual certificate",
    Kind.PROBABILITY: "an exact binomial test on fresh draws",
    Kind.ASSUMPTION: (
        "the definition, on the problem itself; where it is violated the assumption "
        "fails, not the theorem"
    ),
}


@dataclass(frozen=True)
class Check:
    """One comparison: `measured` relation `bound`, known up to ± error. relation: '<=', '>=' or
    '=='.

    witness: where the evidence comes from that does not assume the statement; without one the check
    is at best consistent.
    reason: why the check could not be made, or what is missing. null: what `measured` is for the
    claim's null model.
    base, exponent: where the bound is a constant times base^exponent; log_base in its place where
    no float holds the base. size: for '==', the size against which the error is judged (by default
    |bound|, or one where that is zero). decades: over which a fitted exponent was measured.
    """

    quantity: str
    measured: float
    relation: str
    bound: float
    error: float = 0.0
    witness: str = ""
    reason: str = ""
    null: float | None = None
    base: float | None = None
    exponent: float | None = None
    size: float | None = None
    decades: float | None = None
    log_base: float | None = None

    def __post_init__(self) -> None:
        if self.relation not in ("<=", ">=", "=="):
            raise InputError(f"relation: expected '<=', '>=' or '==', found {self.relation!r}")
        for name in ("measured", "bound", "error"):
            try:
                object.__setattr__(self, name, float(getattr(self, name)))
            except (TypeError, ValueError):
                raise InputError(
                    f"{name}: expected a number, found {getattr(self, name)!r}"
                ) from None
        if self.error < 0:
            raise InputError(f"error: expected none or a positive one, found {self.error:g}")

    @property
    def slack(self) -> float:
        """How far inside the bound, in units of the quantity; for '==' what the error leaves of the
        distance."""
        return self._slack(self.measured)

    def _slack(self, measured: float) -> float:
        difference = self.bound - measured
        return {"<=": difference, ">=": -difference, "==": -abs(difference)}[self.relation]

    @property
    def status(self) -> Status:
        found = self._judged(self.measured)
        return Status.CONSISTENT if found is Status.HOLDS and not self.witness else found

    def _judged(self, measured: float) -> Status:
        if not (np.isfinite(measured) and np.isfinite(self.bound) and np.isfinite(self.error)):
            return Status.INCONCLUSIVE
        if self.relation == "==":
            if self.error > TELLING * self._size:
                return Status.INCONCLUSIVE
            return Status.HOLDS if abs(measured - self.bound) <= self.error else Status.VIOLATED
        slack = self._slack(measured)
        if slack >= self.error:
            return Status.HOLDS
        return Status.VIOLATED if slack < -self.error else Status.INCONCLUSIVE

    @property
    def _size(self) -> float:
        return self.size if self.size is not None else abs(self.bound) or 1.0

    @property
    def why(self) -> str:
        """The reason of a check that does not hold outright, in words."""
        status = self.status
        if self.reason or status in (Status.HOLDS, Status.VIOLATED):
            return self.reason
        if status is Status.CONSISTENT:
            return "no witness: the evidence shares an assumption with the statement"
        if not (np.isfinite(self.measured) and np.isfinite(self.bound)):
            return "could not be measured"
        return f"the error {self.error:.2g} exceeds " + (
            "what tells" if self.relation == "==" else f"the slack {self.slack:.2g}"
        )

    @property
    def sharpness(self) -> float | None:
        """The factor by which the bound could be tightened here and still hold; None for equalities
        and bounds without a sign."""
        if self.relation == "==" or not np.isfinite(self.measured) or self.bound <= 0:
            return None
        if self.relation == "<=":
            return float("inf") if self.measured <= 0 else self.bound / self.measured
        return max(self.measured, 0.0) / self.bound

    @property
    def room(self) -> float | None:
        """The sharpness where it says something: of a bound that is met, by more than a
        hundredth."""
        met = self._judged(self.measured) is Status.HOLDS
        found = self.sharpness if met else None
        return found if found is not None and np.isfinite(found) and found >= 1.01 else None

    def figures(self, digits: int) -> str:
        """What was measured; in an equality whose sides print alike, the bound and the
        difference."""
        measured, bound = f"{self.measured:.{digits}g}", f"{self.bound:.{digits}g}"
        if self.relation != "==" or measured != bound or self.measured == self.bound:
            return measured
        return f"{bound} {self.measured - self.bound:+.2g}"

    @property
    def best_exponent(self) -> float | None:
        """The exponent at which the bound would be attained here: the largest of a small base that
        still holds."""
        log_base = (
            self.log_base if self.base is None else np.log(self.base) if self.base > 0 else None
        )
        if log_base is None or self.exponent is None or not (self.measured > 0 and self.bound > 0):
            return None
        return self.exponent + float(np.log(self.measured / self.bound) / log_base)

    @property
    def informative(self) -> bool | None:
        """Whether the null model fails this check; None where there is no null model."""
        return None if self.null is None else self._judged(self.null) is not Status.HOLDS

    def __str__(self) -> str:
        extra = [self.why] if self.why else []
        if self.witness:
            extra.append(f"witness: {self.witness}")
        if self.room is not None:
            extra.append(f"could be {self.room:.3g} times tighter")
        if self.best_exponent is not None:
            extra.append(f"exponent {self.exponent:.3g}, attained {self.best_exponent:.3g}")
        if self.null is not None:
            extra.append(
                f"null model: {self.null:.3g}" + ("" if self.informative else ", passes too")
            )
        notes = f" [{'; '.join(extra)}]" if extra else ""
        return (
            f"{self.quantity}: {self.figures(6)} {self.relation} {self.bound:.6g} (± "
            f"{self.error:.1g}) {self.status}{notes}"
        )


def unknown_check(quantity: str, reason: str) -> Check:
    """A check that could not be made: inconclusive, with its reason."""
    return Check(quantity, float("nan"), "==", 0.0, reason=reason)


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A condition of a theorem: `test(evidence)` returns None where it holds, else a sentence that
    says what fails.

    structural: it says what kind of problem the claim is about; where it fails, the claim does not
    apply.
    """

    id: str
    statement: str
    test: Callable[[Evidence], str | None]
    structural: bool = False


def on_problem(test: Callable[[Any], str | None]) -> Callable[[Evidence], str | None]:
    """A test that looks at the problem alone."""
    return lambda evidence: test(evidence.problem)


@dataclass(frozen=True, eq=False, repr=False)
class Claim:
    """An executable statement of a paper. `example(key)` makes a random problem that satisfies its
    hypotheses.

    kind: what evidence counts. witness: what the statement is compared with, which does not assume
    it. null: the model that would make the verdict empty if it passed too. family(key): problems
    among which `falsify` looks, by default the examples.
    below_floats: whether it reads a start below float range, a `Problem` with a log_scale; to such
    it does not apply otherwise.
    limit: how a limit that is handed in is checked: by where the flow goes, by what is known as
    the start vanishes, or as the solution of a program. None: the statement is about no limit.
    """

    id: str
    statement: str
    reference: str
    hypotheses: tuple[Hypothesis, ...]
    example: Callable[[int], Any]
    check: Callable[[Any], tuple[Check, ...]]
    kind: Kind = Kind.FLOW
    witness: str = ""
    null: str = ""
    family: Callable[[int], Any] | None = None
    below_floats: bool = False
    limit: Callable[[Evidence, Limit], Check | Iterable[Check]] | None = None

    def __repr__(self) -> str:
        return f"Claim({self.id}, {self.reference}: {self.statement})"

    def _repr_html_(self) -> str:
        from .verdict_pictures import claim_card

        return claim_card(self)


WORST_FIRST = (Status.VIOLATED, Status.INCONCLUSIVE, Status.CONSISTENT, Status.HOLDS)


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """A claim tested on a problem: which hypotheses hold, and what was measured against what was
    predicted.

    `print` has every check in full; `status` is one word, `plot()` a picture.

    Parameters
    ----------
    claim : theory.Claim
    hypotheses : tuple of (theory.Hypothesis, str or None)
        Those that were tested, in order, with what fails; none is tested after the first that
        fails.
    checks : tuple of theory.Check
    ruling : theory.Status, optional
        A status that does not follow from checks (evidence that is no gradient flow, a check that
        raised).
    reason : str
        Why, for a ruling.

    Examples
    --------
    >>> verdict = bf.verify("W/lem1")
    >>> verdict.status.value, len(verdict.checks)
    ('holds', 2)
    >>> verdict.checks[0].relation, verdict.checks[0].status.value
    ('==', 'holds')
    """

    claim: Claim
    hypotheses: tuple[tuple[Hypothesis, str | None], ...]
    checks: tuple[Check, ...]
    ruling: Status | None = None
    reason: str = ""

    @property
    def status(self) -> Status:
        if self.ruling is not None:
            return self.ruling
        for hypothesis, failure in self.hypotheses:
            if failure is not None:
                return Status.DOES_NOT_APPLY if hypothesis.structural else Status.HYPOTHESES_FAIL
        statuses = {check.status for check in self.checks}
        worst = next((status for status in WORST_FIRST if status in statuses), Status.INCONCLUSIVE)
        return Status.CONSISTENT if worst is Status.HOLDS and self._finite else worst

    @property
    def _finite(self) -> bool:
        """An asymptotic statement without a fitted exponent."""
        return (
            self.claim.kind is Kind.ASYMPTOTIC
            and max((c.decades or 0.0 for c in self.checks), default=0.0) < DECADES
        )

    @property
    def why(self) -> str:
        """What keeps the verdict from 'holds', in words; empty where it holds or is violated."""
        if self.reason or self.status in (Status.HOLDS, Status.VIOLATED):
            return self.reason
        failures = [failure for _, failure in self.hypotheses if failure is not None]
        if failures:
            return failures[0]
        if not self.checks:
            return "no check was made"
        reasons = [check.why for check in self.checks if check.status is self.status and check.why]
        return reasons[0] if reasons else "a limit was looked at from finitely many places"

    @property
    def informative(self) -> bool | None:
        """Whether the claim's null model fails at least one check; None where no check has a null
        model."""
        found = [check.informative for check in self.checks if check.informative is not None]
        return any(found) if found else None

    @property
    def sharpness(self) -> float | None:
        """The least factor by which a bound of the claim could be tightened here; None where no
        check is a bound."""
        found = [check.sharpness for check in self.checks if check.sharpness is not None]
        return min(found) if found else None

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The independent evidence that was used, each once."""
        return tuple(dict.fromkeys(check.witness for check in self.checks if check.witness))

    def __str__(self) -> str:
        why = f" ({self.why})" if self.why else ""
        empty = (
            f"; not informative here: {self.claim.null or 'the null model'} passes too"
            if self.informative is False
            else ""
        )
        lines = [f"{self.claim.id}: {self.status}{why}{empty}. {self.claim.statement}"]
        lines += [
            f"  hypothesis {h.id} fails: {failure}"
            for h, failure in self.hypotheses
            if failure is not None
        ]
        return "\n".join([*lines, *(f"  {check}" for check in self.checks)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .verdict_pictures import verdict_card

        return verdict_card(self)

    def plot(self) -> Any:
        """A matplotlib figure: what was measured in each check, in units of its bound."""
        from .verdict_pictures import verdict_picture

        return verdict_picture(self)
