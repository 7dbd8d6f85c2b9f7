"""The page while it is made: what is there so far, and what is still to come."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..sweeps import environment
from ..sweeps.files import replace_file
from .entries import ClaimEntry, FigureEntry, Report
from .page import render
from .pictures import file_name, movie_name

REST = 10.0
"""A page is written anew after so many times the time that writing it took: a tenth of the work."""


@dataclass
class GrowingPage:
    """Entries by id, in whatever order they come; the page has them in the order of its lists."""

    path: Path
    command: str
    figure_ids: Sequence[str]
    claim_ids: Sequence[str]
    figures: dict[str, FigureEntry] = field(default_factory=dict)
    claims: dict[str, ClaimEntry] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=environment)
    _due: float = 0.0
    _stale: bool = True

    def report(self, interrupted: bool = False) -> Report:
        """What there is by now."""
        made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        return Report(
            tuple(self.figures[id] for id in self.figure_ids if id in self.figures),
            tuple(self.claims[id] for id in self.claim_ids if id in self.claims),
            self.command,
            self.environment,
            made,
            interrupted,
            tuple(id for id in self.figure_ids if id not in self.figures),
            tuple(id for id in self.claim_ids if id not in self.claims),
        )

    def add(self, entry: FigureEntry | ClaimEntry) -> None:
        """An entry that has come; the pictures of a figure are put beside the page."""
        self._stale = True
        if isinstance(entry, ClaimEntry):
            self.claims[entry.id] = entry
            return
        self.figures[entry.id] = entry
        if entry.failure is None:
            path = self.path.parent / "figures" / file_name(entry.id)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.image)
            if entry.movie:
                movie_name(path).write_bytes(entry.movie)

    def write(self, interrupted: bool = False) -> Report:
        """Put the page where it belongs, whole."""
        begun, report = time.monotonic(), self.report(interrupted)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_name(f".{self.path.name}")
        unfinished.write_text(render(report), encoding="utf-8")
        replace_file(unfinished, self.path)
        ended = time.monotonic()
        self._due, self._stale = ended + REST * (ended - begun), False
        return report

    def grow(self) -> None:
        """Write it if there is news, unless it was written just now."""
        if self._stale and time.monotonic() > self._due:
            self.write()
