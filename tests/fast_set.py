"""Which tests `make test` leaves to `make test-thorough`: those that thorough.txt lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("thorough.txt")
GONE = pytest.StashKey[list[str]]()
"""Lines that this run found to name no test."""
SHARE = re.compile(r"1/(\d+) (.+)")
"""A line about a test with many parameters: one in so many stays."""


def listed() -> tuple[str, ...]:
    """The lines of the list: `folder/file.py::name`, with its parameters or for all of them, or
    `1/N folder/file.py::name`, of which every Nth stays, the first among them."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def names(nodeid: str) -> tuple[str, str]:
    """What the list may call a test: with its parameters, and without."""
    place = nodeid.removeprefix("tests/")
    return place, place.partition("[")[0]


def left_out(nodeids: Sequence[str], lines: Iterable[str]) -> set[str]:
    """Of tests in the order of their collection, those that the lines leave to the thorough set."""
    shares = {name: int(n) for n, name in _shares(lines)}
    whole = {line for line in lines if SHARE.fullmatch(line) is None}
    out, seen = set(), Counter[str]()
    for nodeid in nodeids:
        name = names(nodeid)[1]
        if not whole.isdisjoint(names(nodeid)):
            out.add(nodeid)
        elif name in shares:
            if seen[name] % shares[name]:
                out.add(nodeid)
            seen[name] += 1
    return out


def gone(nodeids: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Lines that name no test, of files all of whose tests are given."""
    known = {name for nodeid in nodeids for name in names(nodeid)}
    files = {name.partition("::")[0] for name in known}
    meant = {line: SHARE.sub(r"\2", line) for line in lines}
    return sorted(
        line
        for line, name in meant.items()
        if name.partition("::")[0] in files and name not in known
    )


def _shares(lines: Iterable[str]) -> list[tuple[str, str]]:
    found = [SHARE.fullmatch(line) for line in lines]
    return [(match[1], match[2]) for match in found if match is not None]
