"""The page: plain HTML with everything inside it, built from strings."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any

from ..theory.verdicts import Check, Status, Verdict
from .entries import PAPERS, SEVERITY, Agreement, ClaimEntry, FigureEntry, Number, Paper, Report, tag_of
from .numbers import paper_in_words, runs_in_words

VERDICT_TITLES = {
    **{str(status): status.meaning for status in (*Status, *Agreement)},
    "failed": "the computation stopped with an error",
}
OTHERS = (Agreement.DIFFERS, Agreement.NOT_COMPARABLE)


def render(report: Report) -> str:
    """The whole page; it refers to nothing outside itself."""
    papers = [paper for paper in _papers(report) if any(tag_of(entry.id) == paper.tag for entry in _entries(report))]
    links = "".join(f'<a href="#{escape(p.tag)}" title="{escape(p.title)}">{escape(p.tag)}</a>' for p in papers)
    return Template(_resource("page.html")).substitute(
        style=_resource("page.css"),
        navigation=links,
        summary=_summary(report),
        papers="\n".join(_paper(paper, report) for paper in papers),
    )


def _entries(report: Report) -> tuple[FigureEntry | ClaimEntry, ...]:
    return (*report.figures, *report.claims)


def _papers(report: Report) -> tuple[Paper, ...]:
    """The known papers, then any other tag in use."""
    known = {paper.tag for paper in PAPERS}
    others = sorted({tag_of(entry.id) for entry in _entries(report)} - known)
    return (*PAPERS, *(Paper(tag, "", tag, 0) for tag in others))


def _summary(report: Report) -> str:
    claims = Counter(entry.status for entry in report.claims)
    drawn = sum(figure.failure is None for figure in report.figures)
    tiles = [
        _tile(f"{claims[status]}", _claims_that(status, claims[status]), status)
        for status in reversed(SEVERITY)
        if claims[status]
    ]
    if report.numbers:
        agree = f"{report.agreements[Agreement.AGREES]}/{len(report.numbers)}"
        others = [f"{report.agreements[other]} {_of_many(other)}" for other in OTHERS if report.agreements[other]]
        text = ", ".join(["of the papers' numbers agree with ours", *others])
        tiles.append(_tile(agree, text, "differs" if report.agreements[Agreement.DIFFERS] else "agrees"))
    if report.figures:
        tiles.append(
            _tile(f"{drawn}/{len(report.figures)}", "figures drawn", "holds" if drawn == len(report.figures) else "failed")
        )
    warning = '<p class="notice">Interrupted: this page holds what was finished; run the command again to go on.</p>'
    versions = " · ".join(f"{escape(name)} {escape(str(value))}" for name, value in report.environment.items())
    return (
        f"{warning if report.interrupted else ''}<div class='tiles'>{''.join(tiles)}</div>"
        f"<p class='made'>Made by <code>{escape(report.command)}</code> on {escape(report.made)}.<br>{versions}</p>"
    )


def _claims_that(status: str, count: int) -> str:
    noun = "claim" if count == 1 else "claims"
    verbs = {"holds": "holds" if count == 1 else "hold", "hypotheses fail": "whose hypotheses fail", "failed": "failed to run"}
    return f"{noun} {verbs.get(status, status)}"


def _of_many(agreement: Agreement) -> str:
    return {Agreement.DIFFERS: "differ", Agreement.NOT_COMPARABLE: "are not comparable"}[agreement]


def _tile(count: str, text: str, status: str = "") -> str:
    return f'<div class="tile {_css(status)}"><b>{escape(count)}</b> {escape(text)}</div>'


def _paper(paper: Paper, report: Report) -> str:
    figures = [figure for figure in report.figures if tag_of(figure.id) == paper.tag]
    claims = [claim for claim in report.claims if tag_of(claim.id) == paper.tag]
    byline = f"<p class='byline'>{escape(paper.authors)}, {paper.year}</p>" if paper.authors else ""
    return (
        f'<section id="{escape(paper.tag)}"><h2><span class="tag">{escape(paper.tag)}</span> {escape(paper.title)}</h2>{byline}'
        + "".join(map(_figure, figures))
        + _numbers(figures)
        + _claims(claims)
        + "</section>"
    )


def _figure(figure: FigureEntry) -> str:
    anchor = escape(figure.id.replace("/", "-"))
    head = f'<figure id="{anchor}"><h3>{escape(figure.id)}</h3>'
    facts = [f"preset {figure.preset}", *_settings(figure.grid.axes, figure.grid.settings)]
    if figure.failure is not None:
        body = f'<p class="notice">{escape(figure.failure)}</p>'
    else:
        body = _picture(_described(figure), "png", figure.image) + _movie(figure)
        facts.append(f"{figure.seconds:.1f} s")
    items = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    return f'{head}{body}<figcaption>{escape(figure.experiment.caption)}<ul class="facts">{items}</ul></figcaption></figure>'


def _picture(text: str, kind: str, content: bytes) -> str:
    image = base64.b64encode(content).decode()
    return f'<img alt="{escape(text)}" loading="lazy" decoding="async" src="data:image/{kind};base64,{image}">'


def _described(figure: FigureEntry) -> str:
    """The picture in words."""
    return f"{figure.id}: {figure.experiment.alt}" if figure.experiment.alt else figure.id


def _movie(figure: FigureEntry) -> str:
    """Folded away: nothing moves on the page until a reader asks for it."""
    if not figure.movie:
        return ""
    return f"<details><summary>animation</summary>{_picture(f'{_described(figure)} Animated.', 'gif', figure.movie)}</details>"


def _settings(axes: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterable[str]:
    for name, values in axes.items():
        yield f"{name}: {_span(values)}"
    for name, value in settings.items():
        yield f"{name}: {_span(value)}" if isinstance(value, list | tuple) else f"{name} = {_value(value)}"


def _span(values: Sequence[Any]) -> str:
    """A list of values, its middle left out where it is long."""
    shown = [_value(value) for value in values]
    return ", ".join(shown) if len(shown) <= 4 else f"{shown[0]}, {shown[1]}, …, {shown[-1]} ({len(shown)} values)"


def _numbers(figures: Iterable[FigureEntry]) -> str:
    rows = "".join(_number(figure.id, number) for figure in figures for number in figure.numbers)
    if not rows:
        return ""
    head = _head("figure", "number", "the paper's", "read", "ours", "our runs", "", "where, and why they differ")
    return f'<h3>The paper\'s numbers and ours</h3><div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'


def _number(id: str, number: Number) -> str:
    reported = number.reported
    values = (paper_in_words(number), reported.reading.how, _value(number.ours), runs_in_words(number))
    cells = "".join(f'<td class="n">{value}</td>' for value in values)
    why = f"<br><small>{escape(number.why)}</small>" if number.why else ""
    source = f'<td class="evidence">{escape(reported.source)}{why}</td>'
    return f"<tr><td>{escape(id)}</td><td>{escape(reported.name)}</td>{cells}<td>{_badge(number.agreement)}</td>{source}</tr>"


def _claims(claims: Iterable[ClaimEntry]) -> str:
    bodies = "".join(map(_claim, claims))
    if not bodies:
        return ""
    checks = ("quantity", "measured", "", "bound", "error", "", "tighter by", "null model", "evidence")
    head = _head("claim", "statement and hypotheses", *checks)
    return f'<h3>Claims</h3><div class="wide"><table class="claims">{head}{bodies}</table></div>'


def _claim(entry: ClaimEntry) -> str:
    rows = [_check(check) for _, check in entry.tightest()] or ['<td colspan="8">no check was made</td><td></td>']
    span = f' rowspan="{len(rows)}"'
    anchor = escape(entry.id.replace("/", "-"))
    first = (
        f'<td{span} class="claim"><b>{escape(entry.id)}</b><br>{_badge(entry.status)}<br>'
        f"<small>{escape(entry.claim.reference)}</small></td>"
        f'<td{span} class="statement">{escape(entry.claim.statement)}{_evidence(entry)}{_hypotheses(entry)}'
        f"{_examples(entry)}</td>"
    )
    lines = [f"<tr>{first}{rows[0]}</tr>", *(f"<tr>{row}</tr>" for row in rows[1:])]
    return f'<tbody id="{anchor}">{"".join(lines)}</tbody>'


def _evidence(entry: ClaimEntry) -> str:
    """What the statement was compared with, what would make it empty, and what keeps it from holding."""
    claim = entry.claim
    parts = [f"Evidence ({claim.kind}): {claim.witness}." if claim.witness else f"Evidence that counts: {claim.kind.evidence}."]
    if claim.null:
        told = [verdict.informative for verdict in entry.verdicts.values() if verdict.informative is not None]
        empty = f" On {told.count(False)} of {len(told)} examples it passes too: not informative there." if False in told else ""
        parts.append(f"Null model: {claim.null}.{empty}")
    whys = dict.fromkeys(verdict.why for verdict in entry.verdicts.values() if verdict.why)
    return "".join(f"<p><small>{escape(part)}</small></p>" for part in (*parts, *whys))


def _hypotheses(entry: ClaimEntry) -> str:
    items = []
    for place, hypothesis in enumerate(entry.claim.hypotheses):
        tested = {key: v.hypotheses[place][1] for key, v in entry.verdicts.items() if place < len(v.hypotheses)}
        failures = {key: failure for key, failure in tested.items() if failure is not None}
        reasons = "".join(f"<br><small>example {key}: {escape(str(why))}</small>" for key, why in failures.items())
        mark = "✗" if failures else "✓"
        items.append(
            f'<li class="{"fails" if failures else "met"}"><span>{mark}</span> {escape(hypothesis.statement)}{reasons}</li>'
        )
    failure = f'<p class="notice">{escape(entry.failure)}</p>' if entry.failure else ""
    return f'<ul class="hypotheses">{"".join(items)}</ul>{failure}'


def _examples(entry: ClaimEntry) -> str:
    """Every example in full, folded away; the rows beside it show the tightest."""
    if len(entry.verdicts) < 2:
        return ""
    parts = "".join(_example(key, verdict) for key, verdict in entry.verdicts.items())
    return f"<details><summary>{len(entry.verdicts)} examples; the tightest are shown</summary>{parts}</details>"


def _example(key: int, verdict: Verdict) -> str:
    rows = "".join(f"<tr>{_check(check)}</tr>" for check in verdict.checks)
    return f"<p>example {key}: {_badge(verdict.status)}</p><table>{rows}</table>"


def _check(check: Check) -> str:
    values = (_value(check.measured), _relation(check.relation), _value(check.bound), _value(check.error, 2))
    numbers = "".join(f'<td class="n">{value}</td>' for value in values)
    evidence = f'<td class="evidence">{escape(check.witness or check.why or "")}</td>'
    return f"<td>{escape(check.quantity)}</td>{numbers}<td>{_badge(check.status)}</td>{_sharpness(check)}{_null(check)}{evidence}"


def _sharpness(check: Check) -> str:
    """The factor by which the bound could be tightened; for powers, the exponent that would be attained."""
    if check.best_exponent is not None:
        return f'<td class="n">exponent {_value(check.exponent, 3)} → {_value(check.best_exponent, 3)}</td>'
    return f'<td class="n">{"" if check.sharpness is None else _value(check.sharpness, 3)}</td>'


def _null(check: Check) -> str:
    """What the null model gives, and whether that would pass too."""
    if check.null is None:
        return "<td></td>"
    return f'<td class="n">{_value(check.null, 3)} {"fails" if check.informative else "passes too"}</td>'


def _relation(relation: str) -> str:
    return {"<=": "≤", ">=": "≥", "==": "="}[relation]


def _head(*titles: str) -> str:
    return f"<thead><tr>{''.join(f'<th>{title}</th>' for title in titles)}</tr></thead>"


def _badge(status: str) -> str:
    title = VERDICT_TITLES.get(status, "")
    return f'<span class="badge {_css(status)}" title="{escape(title)}">{escape(status)}</span>'


def _css(status: str) -> str:
    return status.replace(" ", "-")


def _value(value: Any, digits: int = 4) -> str:
    return escape(f"{value + 0.0:.{digits}g}" if isinstance(value, float) else str(value))  # + 0.0 drops the sign of −0


def _resource(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
