"""A claim explained: what it says in words and symbols, what each symbol and hypothesis means, what
is measured and how the numbers read, what follows, and where it is from."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.arguments import instance, positive_float
from .claim_words import WORDS, title_of
from .evidence import Evidence
from .glossary import define, signs_in
from .hypothesis_words import meaning_of
from .judgement import judge
from .papers import papers_of
from .printed_pages import errata_of, sharpness_of
from .recorded_checks import recorded_checks
from .symbols import symbols_in
from .verdicts import Check, Claim, Verdict
from .verification import claim as claim_of

WIDTH = 100
"""Columns of the text."""
EXAMPLES_SHOWN = 12
"""Checks shown of a claim that has more: the rest are the same at other sizes or places."""


class Item(NamedTuple):
    """A paragraph, under a term where it has one."""

    text: str
    term: str = ""


class Section(NamedTuple):
    heading: str
    items: tuple[Item, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """A claim explained. Prints as text; `markdown` for documents, and notebooks show a page.

    tested: each hypothesis with None where it holds, a sentence where it fails, on the problem that
    was given; verdict: on that problem.
    """

    claim: Claim
    verdict: Verdict | None = None
    tested: tuple[tuple[str, str | None], ...] = ()

    @property
    def symbols(self) -> tuple[tuple[str, str], ...]:
        """Every symbol of the statement, the words, the hypotheses and the checks with its meaning;
        and those that meanings use."""
        found: dict[str, str] = {}
        texts = list(texts_of(self.claim))
        for text in texts:  # which grow
            for symbol in symbols_in(text):
                meaning = define(self.claim.id, symbol)
                if meaning is not None and symbol not in found:
                    found[symbol] = meaning
                    texts.append(meaning)
        return (*found.items(), *signs_in(" ".join(texts)))

    @property
    def sections(self) -> tuple[Section, ...]:
        """What there is to say, in order; sections that would be empty are left out."""
        made = (
            Section("In words", tuple(self._words())),
            Section("In symbols", (Item(self.claim.statement),)),
            Section("Symbols", tuple(Item(text, term) for term, text in self.symbols)),
            Section("Hypotheses", tuple(self._hypotheses())),
            Section("On this problem", tuple(self._on_problem())),
            Section("What is measured", tuple(self._measured())),
            Section("What it means for you", tuple(self._means())),
            Section("How sharp it is", tuple(self._sharp())),
            Section("Errata", tuple(self._errata())),
            Section("Source", tuple(self._source())),
        )
        return tuple(section for section in made if section.items)

    def _words(self) -> Iterator[Item]:
        words = WORDS.get(self.claim.id)
        if words is not None:
            yield Item(words.says)

    def _means(self) -> Iterator[Item]:
        words = WORDS.get(self.claim.id)
        if words is not None:
            yield Item(words.means)

    def _hypotheses(self) -> Iterator[Item]:
        for hypothesis in self.claim.hypotheses:
            kind = "; else the claim does not apply" if hypothesis.structural else ""
            meaning = meaning_of(self.claim.id, hypothesis)
            yield Item(f"{hypothesis.statement}{kind}. {meaning}".strip(), hypothesis.id)

    def _measured(self) -> Iterator[Item]:
        recorded = recorded_checks(self.claim.id)
        yield Item(f"Evidence of the kind '{self.claim.kind}': {self.claim.kind.evidence}.")
        if self.claim.witness:
            yield Item(f"Compared with: {self.claim.witness}.")
        if self.claim.null:
            yield Item(
                f"Null model, which knows nothing of the claim: {self.claim.null}. Where it passes "
                "every check that has one, the verdict is not informative."
            )
        for key, check in recorded[:EXAMPLES_SHOWN]:
            yield Item(f"example {key} has {reading(check)}.", check.quantity)
        if len(recorded) > EXAMPLES_SHOWN:
            yield Item(
                f"And {len(recorded) - EXAMPLES_SHOWN} more, of the same kinds; "
                f"`biasflow verify {self.claim.id}` prints them."
            )

    def _on_problem(self) -> Iterator[Item]:
        for name, failure in self.tested:
            yield Item("holds" if failure is None else f"fails: {failure}", name)
        if self.verdict is not None:
            why = f": {self.verdict.why}" if self.verdict.why else ""
            yield Item(f"{self.verdict.status}{why} ({self.verdict.status.meaning})", "verdict")
            for check in self.verdict.checks:
                yield Item(f"{reading(check)}.", check.quantity)

    def _sharp(self) -> Iterator[Item]:
        found = sharpness_of(self.claim.id)
        if found is None:
            return
        yield Item(f"A search judged {found.judged} problems: {found.verdicts}.")
        if found.tighter == "1":
            yield Item("On one of them a bound is attained: it cannot be tightened.")
        elif found.tighter:
            yield Item(f"On all of them its bounds could be {found.tighter} times tighter.")
        if found.exponents:
            yield Item(f"Exponents as stated → as attained: {found.exponents}.")
        yield Item(
            f"Tightest in: {found.check}. Rerun: biasflow verify {self.claim.id} --problem "
            f"'{found.lineage}'"
        )

    def _errata(self) -> Iterator[Item]:
        for erratum in errata_of(self.claim.id):
            yield Item(f"printed: {erratum.printed}. Corrected: {erratum.corrected}", erratum.where)

    def _source(self) -> Iterator[Item]:
        yield Item(f"{self.claim.reference}")
        for paper in papers_of(self.claim.id):
            yield Item(f"{paper.authors}, {paper.title}, {paper.year}.")
            yield Item(paper.bibtex)

    @property
    def text(self) -> str:
        lines = [f"{self.claim.id}: {title_of(self.claim)}"]
        for section in self.sections:
            lines += ["", section.heading]
            for item in section.items:
                lines += _wrapped(item)
        return "\n".join(lines)

    @property
    def markdown(self) -> str:
        lines = [f"# `{self.claim.id}`: {title_of(self.claim)}"]
        for section in self.sections:
            lines += ["", f"## {section.heading}", ""]
            for item in section.items:
                if item.text.startswith("@"):
                    lines += ["```bibtex", item.text, "```"]
                else:
                    lines.append(f"- {f'**{item.term}**: ' if item.term else ''}{item.text}")
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        parts = [f"<h3>{_escaped(f'{self.claim.id}: {title_of(self.claim)}')}</h3>"]
        for section in self.sections:
            parts.append(f"<h4>{_escaped(section.heading)}</h4>")
            for item in section.items:
                if item.text.startswith("@"):
                    parts.append(f"<pre>{_escaped(item.text)}</pre>")
                else:
                    term = f"<b>{_escaped(item.term)}</b>: " if item.term else ""
                    parts.append(f"<p style='margin:0.2em 0'>{term}{_escaped(item.text)}</p>")
        return "".join(["<div style='max-width:60em'>", *parts, "</div>"])

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(claim_or_id: Claim | str, problem: Any = None, *, time_s: float = 10.0) -> Explanation:
    """Explain a claim; with a problem, also which hypotheses hold there, and its verdict.

    Parameters
    ----------
    claim_or_id : str or theory.Claim
    problem : optional
    time_s : float
        Seconds that evidence on the problem may take.

    Returns
    -------
    theory.Explanation
        Prints as text; `markdown` for documents, and notebooks show a page.

    Examples
    --------
    >>> print(str(bf.theory.explain("W/lem1")).splitlines()[0])
    W/lem1: How near Q is to the ℓ1 norm for small scales
    """
    statement = (
        claim_of(claim_or_id)
        if isinstance(claim_or_id, str)
        else instance("claim_or_id", claim_or_id, (str, Claim))
    )
    time_s = positive_float("time_s", time_s)
    if problem is None:
        return Explanation(statement)
    evidence = Evidence(problem, time_s=time_s)
    return Explanation(statement, judge(statement, evidence), tuple(_tested(statement, evidence)))


def _tested(statement: Claim, evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """Every hypothesis, also after one that fails; what cannot be tested then is left out."""
    failed = False
    for hypothesis in statement.hypotheses:
        try:
            failure = hypothesis.test(evidence)
        except Exception as reason:
            if not failed:
                yield hypothesis.id, f"cannot be tested: {reason}"
            failed = True
            continue
        yield hypothesis.id, failure
        if failure is not None and hypothesis.structural:
            return
        failed = failed or failure is not None


def texts_of(statement: Claim) -> Iterator[str]:
    """The texts of a claim in which symbols may stand."""
    yield statement.statement
    yield from WORDS.get(statement.id, ())
    yield from (hypothesis.statement for hypothesis in statement.hypotheses)
    yield from (meaning_of(statement.id, hypothesis) for hypothesis in statement.hypotheses)
    yield from (check.quantity for _, check in recorded_checks(statement.id))


def reading(check: Check) -> str:
    """A check's numbers in words."""
    if check.reason and check.measured != check.measured:
        return f"not measured: {check.reason}"
    error = f" (known to ±{check.error:.1g})" if check.error else ""
    side = {"==": "", "<=": "at most ", ">=": "at least "}[check.relation]
    words = f"{check.figures(4)}{error}, must be {side}{check.bound:.4g}"
    if check.room is not None:
        words += f"; the bound could be {check.room:.3g} times tighter here"
    if check.null is not None:
        words += f"; the null model has {check.null:.3g}"
        words += " and fails" if check.informative else " and passes too"
    return f"{words}: {check.status}"


def _wrapped(item: Item) -> list[str]:
    if item.text.startswith("@"):
        return [f"  {line}" for line in item.text.splitlines()]
    term = f"{item.term}: " if item.term else ""
    return textwrap.wrap(
        f"{term}{item.text}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="    " if term else "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
