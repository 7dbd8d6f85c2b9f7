"""The papers' numbers beside ours, without the pictures: as a table in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import experiments
from .entries import Agreement, Number

if TYPE_CHECKING:
    import xarray

    from ..sweeps import Engine, Progress, Store

NOT_COMPARED = ("reduced",)
"""Presets on parts of the data, whose numbers are not those of a paper."""


def numbers_of(id: str, preset: str, summary: xarray.Dataset) -> tuple[Number, ...]:
    """The numbers that the paper gives for a figure, beside those of its summary."""
    compared = () if preset in NOT_COMPARED else experiments.experiment(id).reported
    return tuple(Number.of(reported, summary.attrs) for reported in compared)


def all_numbers(
    ids: Sequence[str],
    preset: str,
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> dict[str, tuple[Number, ...]]:
    """By figure; figures without such numbers are not computed."""
    wanted = [id for id in ids if experiments.experiment(id).reported]
    return {
        id: numbers_of(
            id,
            preset,
            experiments.figure(id, preset=preset, store=store, progress=progress, engine=engine),
        )
        for id in wanted
    }


HEAD = """# The papers' numbers and ours

{counts} Made by `{command}`.

A number *agrees* where the paper's, as well as it can be read, lies in the interval that a further
run of ours falls into with probability 95% (Student's prediction interval for as many runs as the
paper's number is a mean of, on a logarithmic scale where all are positive); where the paper says it
of every run, each of ours must meet it, within its error. Bands are not fitted to our runs. What a
paper leaves open, such as a sample size, was in some figures chosen so that the numbers of that
figure fit: the row says so, and these are counted apart, for their agreement is partly our choice.
Of numbers that do agree, one in twenty comes out as different by chance. With few runs the interval
is wide, and agreement says little. Where they differ, the reason is given as far as we know it.

| figure | number | paper | read | ours | our runs | verdict | where, and why they differ |
|---|---|---|---|---|---|---|---|
"""


def numbers_page(found: Mapping[str, Sequence[Number]], command: str) -> str:
    """A table of all numbers, with their counts."""
    rows = "\n".join(_row(id, number) for id, numbers in found.items() for number in numbers)
    return (
        HEAD.format(
            counts=counted([n for numbers in found.values() for n in numbers]), command=command
        )
        + rows
        + "\n"
    )


def counted(numbers: Sequence[Number]) -> str:
    """How many of the papers' numbers are ours too, in a sentence."""
    found = Counter((number.agreement, bool(number.reported.chosen)) for number in numbers)
    free, fitted = (found[Agreement.AGREES, chosen] for chosen in (False, True))
    differ, apart = (
        found[kind, False] + found[kind, True]
        for kind in (Agreement.DIFFERS, Agreement.NOT_COMPARABLE)
    )
    return (
        f"Of {len(numbers)} comparisons with the papers' numbers {free + fitted} agree"
        + (f" ({free} as they are, {fitted} with something chosen to fit them)" if fitted else "")
        + f", {differ} differ, {apart} are not comparable."
    )


def paper_in_words(number: Number) -> str:
    """The paper's number with its precision."""
    reading, relation = (
        number.reported.reading,
        {"==": "", "<=": "≤ ", ">=": "≥ "}[number.reported.relation],
    )
    return f"{relation}{reading.value:.4g}" + (f" ± {reading.within:.2g}" if reading.within else "")


def runs_in_words(number: Number) -> str:
    """How many runs, and where a further one, or all of them, lie."""
    low, high = number.interval
    if len(number.runs) < 2:
        return f"± {number.error:.2g}" if number.error else ""
    return f"{low:.3g} … {high:.3g} ({len(number.runs)} runs)"


def _row(id: str, number: Number) -> str:
    reported = number.reported
    words = (number.reported.chosen, number.why)
    why = "".join(f" {said}" for said in words if said)
    cells = [
        f"`{id}`",
        reported.name,
        paper_in_words(number),
        reported.reading.how,
        f"{number.ours + 0.0:.4g}",
    ]
    cells += [runs_in_words(number), f"**{number.agreement}**", f"{reported.source}.{why}"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
