"""Lines, tables and progress bars for a terminal."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .._core.offers import OWN
from .._core.progress import doing, hidden, on_terminal
from ..errors import InputError
from ..sweeps import Progress, Store

if TYPE_CHECKING:
    from ..report import ClaimEntry, FigureEntry, Number, Report
    from ..sweeps.shards import Failure

ID_WIDTH = 16


def one_line(id: str, text: str, source: str = OWN) -> str:
    """An id, the package it comes from where that is not ours, and the text: as much of it as a
    terminal holds, all of it in a pipe or a file."""
    text = " ".join([*([f"[{source}]"] if source != OWN else []), *text.split()])
    room = max(shutil.get_terminal_size((130, 24)).columns - ID_WIDTH - 3, 40)
    if sys.stdout.isatty() and len(text) > room:
        text = text[: room - 1] + "…"
    return f"  {id:<{ID_WIDTH - 1}} {text}"


def contents() -> Iterator[str]:
    """Claims and figures under the names of their papers; then those of other packages."""
    from .. import experiments, theory
    from ..theory.papers import PAPERS, SINCE

    lines: dict[str, tuple[list[str], list[str]]] = {}
    for id in theory.claims():
        tag = id.partition("/")[0]
        source = theory.REGISTER.offer(id).source if id in theory.REGISTER.ids else OWN
        line = one_line(id, theory.claim(id).statement, source)
        lines.setdefault(tag, ([], []))[0].append(line)
    for id in experiments.figures():
        tag = id.partition("/")[0]
        source = experiments.REGISTER.offer(id).source if id in experiments.REGISTER.ids else OWN
        line = one_line(id, experiments.experiment(id).caption, source)
        lines.setdefault(tag, ([], []))[1].append(line)
    known = {paper.tag: paper for paper in PAPERS}
    for tag in [
        *(tag for tag in known if tag in lines),
        *(tag for tag in lines if tag not in known),
    ]:
        if tag in known:
            yield f"{known[tag]}"
            yield f"  {known[tag].subject}"
            yield from (one_line(id, p.cited) for p in SINCE for id in p.ids if f"{tag}/" in id)
        else:
            yield f"{tag}: offered by another package"
        for heading, found in zip((" claims", " figures"), lines[tag], strict=True):
            if found:
                yield heading
                yield from found
    yield "one of them in full: `biasflow explain ID` for claims, `biasflow figure ID` for figures"


def answers(query: str) -> str:
    """What answers a query in the papers: claims and functions with file and line, and figures."""
    from .. import experiments, theory
    from ..theory.equations import is_about

    places = theory.find(query)
    asked = places[0].asked if places else ""
    captions = {id: experiments.experiment(id).caption for id in experiments.figures()}
    figure = re.sub(r"^(\w)[\s,/]*fig(?:ure|\.)?\s*", r"\1/fig", query.strip().lower())
    figures = [id for id in captions if id.lower() == figure]
    if not asked and not figures:
        figures = [id for id, caption in captions.items() if is_about(query, id, caption)]
    if not places and not figures:
        raise InputError(
            f"nothing answers {query!r}; ask for an equation ('W (27)'), a statement "
            "('B, Lemma 15'), an id ('C/thm3'), or fewer words"
        )
    drawn = [f"{id}\n    {captions[id]}" for id in figures]
    return "\n".join([*([asked] if asked else []), *map(str, places), *drawn])


def numbers_table(numbers: Iterable[Number]) -> str:
    from ..report import paper_in_words, runs_in_words

    lines = []
    for number in numbers:
        values = (
            f"paper {paper_in_words(number)}, ours {number.ours:.4g} {runs_in_words(number)}"
        ).rstrip()
        words = (number.reported.chosen, number.why)
        why = "".join(f"\n    {said}" for said in words if said)
        lines.append(f"  {number.reported.name}: {values}: {number.agreement}{why}\n")
    return "".join(lines)


def counts(statuses: Iterable[str]) -> str:
    return (
        ", ".join(f"{count} {status}" for status, count in sorted(Counter(statuses).items()))
        or "none"
    )


def report_lines(report: Report, page: Path) -> str:
    from ..report import counted

    entries: list[FigureEntry | ClaimEntry] = [*report.figures, *report.claims]
    failures = [f"{entry.id}: {entry.failure}" for entry in entries if entry.failure]
    named = ("violated", "inconclusive")
    unsettled = [f"{each.id}: {each.status}" for each in report.claims if each.status in named]
    return "\n".join(
        [
            *failures,
            *unsettled,
            f"figures: {sum(figure.failure is None for figure in report.figures)} drawn",
            f"claims: {counts(claim.status for claim in report.claims)}",
            counted(report.numbers),
            f"written to {page}",
        ]
    )


@contextmanager
def bars() -> Iterator[Progress]:
    """A bar with an ETA for each label that reports progress, on stderr; in a pipe, its words in
    the lines that say where a command stands."""
    if not on_terminal():
        last = ""

        def say(done: int, total: int, label: str) -> None:
            nonlocal last
            last = f"{label} {done} of {total}"

        with doing(lambda: last):
            yield say
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    eta = (TextColumn("ETA"), TimeRemainingColumn())
    with hidden(), Progress(*columns, *eta, console=Console(stderr=True)) as display:
        tasks: dict[str, int] = {}

        def tell(done: int, total: int, label: str) -> None:
            if label not in tasks:
                tasks[label] = display.add_task(label, total=total, completed=done)
            display.update(tasks[label], completed=done, total=total)  # type: ignore[arg-type]

        yield tell


SHOWN_FAILURES = 5


def failure_lines(failures: Iterable[Failure]) -> Iterator[str]:
    """The first failures with their settings, the first of all with its traceback."""
    listed = list(failures)
    for failure in listed[:SHOWN_FAILURES]:
        yield f"  failed at {dict(failure.setting)}: {failure}"
    if len(listed) > SHOWN_FAILURES:
        yield f"  and {len(listed) - SHOWN_FAILURES} more"
    if listed and listed[0].traceback:
        yield "  the first traceback:"
        yield from (f"    {line}" for line in listed[0].traceback.splitlines())


def survey_lines(store: Store) -> Iterator[str]:
    """What is on each shelf of a store; that of other code is named as such."""
    from ..sweeps.survey import stale_folders, survey

    found = survey(store)
    yield f"store {store.folder}" + ("" if found else ": no sweeps yet")
    for one in found:
        parts = [
            f"{one.points} points",
            f"{one.failed} failed",
            f"{one.running} chunks running",
            f"{one.bytes / 1e6:.1f} MB",
        ]
        parts += [f"{one.abandoned} abandoned locks"] * bool(one.abandoned) + [
            f"{one.leftovers} leftover files"
        ] * bool(one.leftovers)
        yield (
            f"  {one.function} [{'' if one.current else 'stale: '}{one.version}]: "
            f"{', '.join(parts)}"
        )
    if stale_folders(store):
        yield (
            "results of other code versions are there but never used; `biasflow sweep clean` "
            "deletes them"
        )
