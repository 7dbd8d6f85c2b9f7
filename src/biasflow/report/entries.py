"""What a report holds, before it becomes a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records import Experiment, Grid, Reported
from ..theory.verdicts import Check, Claim, Verdict

SEVERITY = ("failed", "violated", "inconclusive", "does not apply", "hypotheses fail", "consistent", "holds")  # worst first


@dataclass(frozen=True)
class Paper:
    tag: str
    authors: str
    title: str
    year: int


PAPERS = (
    Paper("W", "B. Woodworth et al.", "Kernel and rich regimes in overparametrized models", 2020),
    Paper(
        "R",
        "D. A. R. Robin",
        "Non-linear parameterizations of least-squares gradient flow: mirror flow, implicit bias and convergence speed",
        2021,
    ),
    Paper(
        "B",
        "E. Boursier, L. Pillaud-Vivien, N. Flammarion",
        "Gradient flow dynamics of shallow ReLU networks for square loss and orthogonal inputs",
        2022,
    ),
    Paper(
        "C",
        "L. Chizat, F. Bach",
        "Implicit bias of gradient descent for wide two-layer neural networks trained with the logistic loss",
        2020,
    ),
)


def tag_of(id: str) -> str:
    return id.partition("/")[0]


@dataclass(frozen=True)
class Number:
    """A number that a paper reports, beside ours."""

    reported: Reported
    ours: float

    @property
    def inside(self) -> bool:
        low, high = self.reported.band
        return low <= self.ours <= high


@dataclass(frozen=True, eq=False)
class FigureEntry:
    """A figure that was drawn, or the sentence that says why it was not. movie: a GIF, where the experiment moves."""

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
    """A claim and its verdict on each of its examples, by key; `failure` says why an example has none."""

    claim: Claim
    verdicts: Mapping[int, Verdict]
    failure: str | None = None

    @property
    def id(self) -> str:
        return self.claim.id

    @property
    def status(self) -> str:
        """That of the worst example."""
        found = [verdict.status for verdict in self.verdicts.values()] + (["failed"] if self.failure else [])
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
    """Everything on the page. `interrupted` says that more was asked for than is here."""

    figures: tuple[FigureEntry, ...]
    claims: tuple[ClaimEntry, ...]
    command: str
    environment: Mapping[str, Any]
    made: str
    interrupted: bool = False

    @property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(number for figure in self.figures for number in figure.numbers)

    @property
    def sound(self) -> bool:
        """Nothing failed to run and no claim is violated."""
        broken = {"failed", "violated"} & {claim.status for claim in self.claims}
        return not broken and all(figure.failure is None for figure in self.figures)
