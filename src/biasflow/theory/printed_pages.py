"""What the pages of the documentation say about a claim: its errata, and how sharp it was found to
be. Wheels bring both pages along."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

FOLDERS = (Path(__file__).with_name("pages"), Path(__file__).parents[3] / "docs")
"""Where the pages lie in a wheel, and in a checkout."""
NAME = re.compile(r"`([A-Z]/[^`:]+)(?:: [^`]*)?`")


class Erratum(NamedTuple):
    """A formula of a paper that a computation contradicts, and what is used instead."""

    where: str
    printed: str
    corrected: str
    claims: tuple[str, ...]


class Sharpness(NamedTuple):
    """What a search for the tightest problem found; empty where a cell is."""

    judged: str
    verdicts: str
    check: str
    tighter: str
    exponents: str
    null_fails: str
    lineage: str


@functools.cache
def _page(name: str) -> str:
    path = next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)
    return "" if path is None else path.read_text(encoding="utf-8")


def _rows(page: str) -> list[list[str]]:
    return [
        [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in page.splitlines()
        if line.startswith("| ")
    ]


@functools.cache
def _errata() -> tuple[Erratum, ...]:
    rows = [row for row in _rows(_page("errata.md")) if len(row) == 4 and row[0] != "where"]
    return tuple(
        Erratum(row[0], row[1], row[2], tuple(dict.fromkeys(NAME.findall(row[3])))) for row in rows
    )


def errata_of(id: str) -> tuple[Erratum, ...]:
    """The errata that this claim shows."""
    return tuple(erratum for erratum in _errata() if id in erratum.claims)


def sharpness_of(id: str) -> Sharpness | None:
    """The claim's line of `docs/sharpness.md`; None where it has none."""
    for row in _rows(_page("sharpness.md")):
        if row[0] == f"`{id}`":
            return Sharpness(row[2], row[3], row[4], row[6], row[7], row[8], row[9].strip("`"))
    return None
