"""The page: one template, filled with a report."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..theory.verdicts import Status
from .entries import PAPERS, SEVERITY, Agreement, ClaimEntry, FigureEntry, Paper, Report, tag_of
from .numbers import paper_in_words, runs_in_words

MEANINGS = {
    **{str(status): status.meaning for status in (*Status, *Agreement)},
    "failed": "the computation stopped with an error",
}
OTHERS = {Agreement.DIFFERS: "differ", Agreement.NOT_COMPARABLE: "are not comparable"}
MOST_SHOWN = 4
"""Values of an axis that are all printed."""
MOST_DEAR = 12
"""Entries that are listed with what they cost."""
REFRESH_S = 10
"""How often a browser that shows an unfinished page looks for more."""


def render(report: Report) -> str:
    """The whole page; it refers to nothing outside itself."""
    papers = [
        paper
        for paper in _papers(report)
        if any(_belongs_to(entry, paper) for entry in _entries(report))
    ]
    style = Markup((resources.files(__package__) / "page.css").read_text(encoding="utf-8"))
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            papers=papers,
            tiles=list(_tiles(report)),
            dearest=_dearest(report),
            seconds=sum(entry.seconds for entry in _entries(report)),
            style=style,
            refresh_s=REFRESH_S,
        )
    )


def _environment() -> Environment:
    """Every value is escaped, and a name that the template does not know is an error."""
    loader = PackageLoader(__package__, "")
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["belongs_to"] = _belongs_to
    made.filters |= {
        "anchor": lambda entry: entry.id.replace("/", "-"),
        "base64": lambda content: base64.b64encode(content).decode(),
        "belongs_to": _belongs_to,
        "css": lambda status: status.replace(" ", "-"),
        "described": _described,
        "evidence": _evidence,
        "facts": _facts,
        "hypotheses": _hypotheses,
        "others": _others,
        "meaning": lambda status: MEANINGS.get(status, ""),
        "paper_in_words": paper_in_words,
        "relation": {"<=": "≤", ">=": "≥", "==": "="}.__getitem__,
        "runs_in_words": runs_in_words,
        "value": _value,
    }
    return made


def _entries(report: Report) -> tuple[FigureEntry | ClaimEntry, ...]:
    return (*report.figures, *report.claims)


def _dearest(report: Report) -> list[FigureEntry | ClaimEntry]:
    """What took most time, none where nothing is known of it."""
    entries = [entry for entry in _entries(report) if entry.seconds > 0]
    return sorted(entries, key=lambda entry: -entry.seconds)[:MOST_DEAR]


def _belongs_to(entry: FigureEntry | ClaimEntry, paper: Paper) -> bool:
    return tag_of(entry.id) == paper.tag


def _papers(report: Report) -> tuple[Paper, ...]:
    """The known papers, then any other tag in use."""
    known = {paper.tag for paper in PAPERS}
    others = sorted({tag_of(entry.id) for entry in _entries(report)} - known)
    return (*PAPERS, *(Paper(tag, "", tag, 0) for tag in others))


def _tiles(report: Report) -> Iterator[tuple[str, str, str]]:
    """(count, what is counted, how good that is) of the headline."""
    statuses = Counter(entry.status for entry in report.claims)
    for status in reversed(SEVERITY):
        if statuses[status]:
            yield f"{statuses[status]}", _claims_that(status, statuses[status]), status
    if report.numbers:
        agree = f"{report.agreements[Agreement.AGREES]}/{len(report.numbers)}"
        others = [
            f"{report.agreements[other]} {words}"
            for other, words in OTHERS.items()
            if report.agreements[other]
        ]
        fitted = sum(
            number.agreement is Agreement.AGREES and bool(number.reported.chosen)
            for number in report.numbers
        )
        others = [f"{fitted} of these with something chosen to fit them"] * bool(fitted) + others
        text = ", ".join(["of the papers' numbers agree with ours", *others])
        yield agree, text, "differs" if report.agreements[Agreement.DIFFERS] else "agrees"
    if report.figures:
        drawn = sum(figure.failure is None for figure in report.figures)
        yield (
            f"{drawn}/{len(report.figures)}",
            "figures drawn",
            "holds" if drawn == len(report.figures) else "failed",
        )


def _others(report: Report) -> str:
    """What is not on the page yet: each figure, and how many claims of which papers."""
    claims = Counter(tag_of(id) for id in report.other_claims)
    counted = (f"{n} claim{'s' if n > 1 else ''} of {tag}" for tag, n in claims.items())
    return ", ".join([*report.other_figures, *counted])


def _claims_that(status: str, count: int) -> str:
    noun = "claim" if count == 1 else "claims"
    verbs = {
        "holds": "holds" if count == 1 else "hold",
        "hypotheses fail": "whose hypotheses fail",
        "failed": "failed to run",
    }
    return f"{noun} {verbs.get(status, status)}"


def _described(figure: FigureEntry) -> str:
    """The picture in words."""
    return f"{figure.id}: {figure.experiment.alt}" if figure.experiment.alt else figure.id


def _facts(figure: FigureEntry) -> Iterator[str]:
    """What the figure was computed with, and how long that took."""
    yield f"preset {figure.preset}"
    yield from _settings(figure.grid.axes, figure.grid.settings)
    if figure.failure is None:
        yield f"{figure.seconds:.1f} processor seconds"


def _settings(axes: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    for name, values in axes.items():
        yield f"{name}: {_span(values)}"
    for name, value in settings.items():
        yield (
            f"{name}: {_span(value)}"
            if isinstance(value, list | tuple)
            else f"{name} = {_value(value)}"
        )


def _span(values: Sequence[Any]) -> str:
    """A list of values, its middle left out where it is long."""
    shown = [_value(value) for value in values]
    return (
        ", ".join(shown)
        if len(shown) <= MOST_SHOWN
        else f"{shown[0]}, {shown[1]}, …, {shown[-1]} ({len(shown)} values)"
    )


def _evidence(entry: ClaimEntry) -> Iterator[str]:
    """What the statement was compared with, what would make it empty, and what keeps it from
    holding."""
    claim = entry.claim
    yield (
        f"Evidence ({claim.kind}): {claim.witness}."
        if claim.witness
        else f"Evidence that counts: {claim.kind.evidence}."
    )
    if claim.null:
        told = [
            verdict.informative
            for verdict in entry.verdicts.values()
            if verdict.informative is not None
        ]
        empty = (
            f" On {told.count(False)} of {len(told)} examples it passes too: not informative there."
            if False in told
            else ""
        )
        yield f"Null model: {claim.null}.{empty}"
    yield from dict.fromkeys(verdict.why for verdict in entry.verdicts.values() if verdict.why)


def _hypotheses(entry: ClaimEntry) -> Iterator[tuple[str, dict[int, str]]]:
    """Each hypothesis with the examples on which it fails, and why."""
    for place, hypothesis in enumerate(entry.claim.hypotheses):
        tested = {
            key: v.hypotheses[place][1]
            for key, v in entry.verdicts.items()
            if place < len(v.hypotheses)
        }
        yield (
            hypothesis.statement,
            {key: str(failure) for key, failure in tested.items() if failure is not None},
        )


def _value(value: Any, digits: int = 4) -> str:
    # + 0.0 drops the sign of −0
    return f"{value + 0.0:.{digits}g}" if isinstance(value, float) else str(value)
