"""What a report holds, before it becomes a page."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ..experiments.experiment import Experiment, Reported
from ..experiments.told_numbers import ERROR, RUNS
from ..sweeps.grids import Grid
from ..theory.papers import PAPERS as PAPERS, Paper as Paper
from ..theory.verdicts import Check, Claim, Verdict

# worst first
SEVERITY = (
    "failed",
    "violated",
    "inconclusive",
    "does not apply",
    "hypotheses fail",
    "consistent",
    "holds",
)


def tag_of(id: str) -> str:
    return id.partition("/")[0]


class Agreement(enum.StrEnum):
    """How a paper's number and ours compare."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"

    @property
    def meaning(self) -> str:
        return {
            "agrees": "the paper's number, as well as it can be read, is one that our runs give",
            "differs": "no run like ours gives the paper's number",
            "not comparable": "the two are not numbers of the same thing",
        }[self.value]


LEVEL = 0.95
"""Probability with which a further run of ours falls into the interval that the paper's is looked
for in."""
ONE_RUN = "One run of ours has no spread to compare with."
UNKNOWN = "We do not know why."


@dataclass(frozen=True)
class Number:
    """A number that a paper reports, beside ours: the middle of our runs, each of them, and the
    error of each."""

    reported: Reported
    ours: float
    runs: tuple[float, ...] = ()
    error: float = 0.0

    @classmethod
    def of(cls, reported: Reported, attributes: Mapping[str, Any]) -> Number:
        """Ours as a summary tells it."""
        runs = attributes.get(RUNS + reported.name, ())
        return cls(
            reported,
            float(attributes[reported.name]),
            tuple(runs),
            float(attributes.get(ERROR + reported.name, 0.0)),
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Where the paper's number would lie if its runs were like ours.

        Of random runs: Student's prediction interval for the mean of as many runs as the paper's,
        on a logarithmic scale where the paper's number and all of ours are positive. Else from our
        least run to our largest. Either way widened by the error of a run.
        """
        runs = np.array([run for run in self.runs if np.isfinite(run)] or [self.ours])
        low, high = float(np.min(runs)), float(np.max(runs))
        if self.reported.runs is not None and not self.reported.incomparable and len(runs) > 1:
            positive = low > 0 and self.reported.reading.value > 0
            scaled = np.log(runs) if positive else runs
            share = np.sqrt(1 / self.reported.runs + 1 / len(runs))
            half = float(stdtrit(len(runs) - 1, (1 + LEVEL) / 2) * np.std(scaled, ddof=1) * share)
            ends = np.array([-half, half]) + np.mean(scaled)
            low, high = (float(end) for end in (np.exp(ends) if positive else ends))
        return low - self.error, high + self.error

    @property
    def agreement(self) -> Agreement:
        """Whether the paper's number, within its reading, lies in the interval; said of every run,
        whether each meets it."""
        if self.reported.incomparable:
            return Agreement.NOT_COMPARABLE
        if self.reported.runs is None:
            return (
                Agreement.AGREES
                if all(map(self._meets, self.runs or (self.ours,)))
                else Agreement.DIFFERS
            )
        (low, high), value, within = (
            self.interval,
            self.reported.reading.value,
            self.reported.reading.within,
        )
        least, most = value - within <= high, value + within >= low
        if {"==": least and most, "<=": most, ">=": least}[self.reported.relation]:
            return Agreement.AGREES
        return Agreement.NOT_COMPARABLE if len(self.runs) == 1 else Agreement.DIFFERS

    def _meets(self, run: float) -> bool:
        beyond, room = run - self.reported.reading.value, self.reported.reading.within + self.error
        return {"==": abs(beyond) <= room, "<=": beyond <= room, ">=": -beyond <= room}[
            self.reported.relation
        ]

    @property
    def why(self) -> str:
        """Why they differ or cannot be compared; nothing where they agree."""
        if self.agreement is Agreement.AGREES:
            return ""
        if self.agreement is Agreement.NOT_COMPARABLE:
            return self.reported.incomparable or ONE_RUN
        return self.reported.why or UNKNOWN


@dataclass(frozen=True, eq=False)
class FigureEntry:
    """A figure that was drawn, or the sentence that says why it was not. seconds: of the processor,
    when it was computed; movie: a GIF, where the experiment moves."""

    experiment: Experiment
    preset: str
    seconds: float = 0.0
    image: bytes = b""
    movie: bytes = b""
    numbers: tuple[Number, ...] = ()
    failure: str | None = None

    @property
    def id(self) -> str:
        return self.experiment.id

    @property
    def grid(self) -> Grid:
        return self.experiment.grids[self.preset]


@dataclass(frozen=True, eq=False)
class ClaimEntry:
    """A claim and its verdict on each of its examples, by key; `failure` says why an example has
    none; seconds: of the processor, when they were made."""

    claim: Claim
    verdicts: Mapping[int, Verdict]
    failure: str | None = None
    seconds: float = 0.0

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def status(self) -> str:
        """That of the worst example."""
        found = [verdict.status for verdict in self.verdicts.values()] + (
            ["failed"] if self.failure else []
        )
        return min(found, key=SEVERITY.index, default="inconclusive")

    def tightest(self) -> list[tuple[int, Check]]:
        """For each quantity the example (by key) where it fares worst."""
        rows: dict[str, tuple[int, Check]] = {}
        for key, verdict in self.verdicts.items():
            for check in verdict.checks:
                kept = rows.get(check.quantity)
                if kept is None or _strain(check) < _strain(kept[1]):
                    rows[check.quantity] = key, check
        return list(rows.values())


def _strain(check: Check) -> tuple[int, float]:
    return SEVERITY.index(check.status), check.slack


@dataclass(frozen=True, eq=False)
class Report:
    """Everything on the page. `interrupted` says that work on it ended before what was asked for
    was here; other figures and claims, by id, are still to come."""

    figures: tuple[FigureEntry, ...]
    claims: tuple[ClaimEntry, ...]
    command: str
    environment: Mapping[str, Any]
    made: str
    interrupted: bool = False
    other_figures: tuple[str, ...] = ()
    other_claims: tuple[str, ...] = ()

    @property
    def under_way(self) -> bool:
        """Whether more is being computed."""
        return not self.interrupted and bool(self.other_figures or self.other_claims)

    @property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(number for figure in self.figures for number in figure.numbers)

    @property
    def agreements(self) -> Counter[Agreement]:
        """How many numbers of the papers agree with ours, differ, cannot be compared."""
        return Counter(number.agreement for number in self.numbers)

    @property
    def sound(self) -> bool:
        """Nothing failed to run and no claim is violated."""
        broken = {"failed", "violated"} & {claim.status for claim in self.claims}
        return not broken and all(figure.failure is None for figure in self.figures)
