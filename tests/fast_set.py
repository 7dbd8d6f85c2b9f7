"""Which tests `make test` leaves to `make test-thorough`: those that thorough.txt lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("thorough.txt")
GONE = pytest.StashKey[list[str]]()
"""Lines that this run found to name no test."""


def listed() -> frozenset[str]:
    """The tests of the list: `folder/file.py::name`, with its parameters or for all of them."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def names(nodeid: str) -> tuple[str, str]:
    """What the list may call a test: with its parameters, and without."""
    place = nodeid.removeprefix("tests/")
    return place, place.partition("[")[0]


def gone(nodeids: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Lines that name no test, of files all of whose tests are given."""
    known = {name for nodeid in nodeids for name in names(nodeid)}
    files = {name.partition("::")[0] for name in known}
    return sorted(line for line in lines if line.partition("::")[0] in files and line not in known)
