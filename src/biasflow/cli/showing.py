"""Lines, tables and progress bars for a terminal."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..run import Progress

if TYPE_CHECKING:
    from ..report import ClaimEntry, FigureEntry, Number, Report

ID_WIDTH = 16


def one_line(id: str, text: str) -> str:
    """An id and as much of the text as the terminal holds."""
    room = max(shutil.get_terminal_size((130, 24)).columns - ID_WIDTH - 3, 40)
    text = " ".join(text.split())
    return f"  {id:<{ID_WIDTH}}{text if len(text) <= room else text[: room - 1] + '…'}"


def numbers_table(numbers: Iterable[Number]) -> str:
    lines = []
    for number in numbers:
        (low, high), where = number.reported.band, "inside" if number.inside else "outside"
        values = f"paper {number.reported.paper_value:.4g}, ours {number.ours:.4g}, band [{low:.4g}, {high:.4g}]"
        lines.append(f"  {number.reported.name}: {values}: {where}\n")
    return "".join(lines)


def counts(statuses: Iterable[str]) -> str:
    return ", ".join(f"{count} {status}" for status, count in sorted(Counter(statuses).items())) or "none"


def report_lines(report: Report, page: Path) -> str:
    entries: list[FigureEntry | ClaimEntry] = [*report.figures, *report.claims]
    failures = [f"{entry.id}: {entry.failure}" for entry in entries if entry.failure]
    violated = [f"{entry.id}: violated" for entry in report.claims if entry.status == "violated"]
    inside = sum(number.inside for number in report.numbers)
    return "\n".join(
        [
            *failures,
            *violated,
            f"figures: {sum(figure.failure is None for figure in report.figures)} drawn",
            f"claims: {counts(claim.status for claim in report.claims)}",
            f"reported numbers: {inside} of {len(report.numbers)} in their band",
            f"written to {page}",
        ]
    )


@contextmanager
def bars() -> Iterator[Progress]:
    """A bar with an ETA for each label that reports progress, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    eta = (TextColumn("ETA"), TimeRemainingColumn())
    with Progress(*columns, *eta, console=Console(stderr=True)) as display:
        tasks: dict[str, int] = {}

        def tell(done: int, total: int, label: str) -> None:
            if label not in tasks:
                tasks[label] = display.add_task(label, total=total, completed=done)
            display.update(tasks[label], completed=done, total=total)  # type: ignore[arg-type]

        yield tell
