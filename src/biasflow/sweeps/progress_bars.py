"""How far a sweep is, while it runs: a bar on a terminal, the same in a notebook, nothing
elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from .._core.look import LINE
from .._core.markup import Markup, beside, escaped
from .._core.progress import display_below_cell, hidden, in_notebook
from .driver import Tally, Watch

PATIENCE_S = 1.0
"""Seconds before a bar that nobody asked for appears: what is shorter needs none."""


@contextmanager
def sweep_bar(label: str, patience_s: float = 0.0) -> Iterator[Watch]:
    """Live progress of a sweep: done, running, failed, points a second, time left.

    In a notebook below the cell, elsewhere on stderr; after some patience, if it lasts so long.
    """
    with ExitStack() as stack:
        shown: list[Callable[[Tally], None]] = []

        def watch(tally: Tally) -> None:
            if not shown and tally.seconds >= patience_s:
                stack.enter_context(hidden())
                shown.append(
                    _below_cell() if in_notebook() else stack.enter_context(_on_terminal(label))
                )
            for show in shown:
                show(tally)

        yield watch


@contextmanager
def _on_terminal(label: str) -> Iterator[Callable[[Tally], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[news]}"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as display:
        bar = display.add_task(label, total=None, news="")

        def show(tally: Tally) -> None:
            done = tally.done + tally.failed
            display.update(bar, total=tally.total, completed=done, news=tally_line(tally))

        yield show


def _below_cell() -> Callable[[Tally], None]:
    show = display_below_cell()
    return lambda tally: show(tally_markup(tally))


def tally_markup(tally: Tally) -> Markup:
    """The bar as HTML, in the page's own colours."""
    done = tally.done + tally.failed
    share = 100 * done / max(tally.total, 1)
    bar = Markup(
        '<span style="display:inline-block;width:200px;height:9px;border:1px solid currentColor;'
        'border-radius:3px;vertical-align:middle"><span style="display:block;height:100%;'
        f'width:{share:.1f}%;background:{LINE}"></span></span>'
    )
    words = Markup(f"{done}/{tally.total}")
    return Markup(
        f"<div>{beside(escaped(tally.label), bar, words, escaped(tally_line(tally)))}</div>"
    )


def tally_line(tally: Tally) -> str:
    """What is going on, in words."""
    parts = [f"{tally.running} running", f"{tally.failed} failed"]
    if tally.elsewhere:
        parts.append(f"{tally.elsewhere} elsewhere")
    if tally.rate:
        parts.append(f"{tally.rate:.3g}/s")
    left = tally.remaining_seconds
    if left is not None:
        parts.append(f"ETA {int(left) // 3600}:{int(left) // 60 % 60:02}:{int(left) % 60:02}")
    return ", ".join(parts)
