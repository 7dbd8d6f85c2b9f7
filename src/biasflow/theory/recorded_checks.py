"""What a claim measures, from its first examples as `tests/print_recorded_checks.py` last wrote
them down: so that explaining it need not compute."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from .verdicts import Check

FILE = Path(__file__).with_name("recorded_checks.json")


@functools.cache
def _recorded() -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def recorded_checks(id: str) -> tuple[tuple[int, Check], ...]:
    """The checks of a claim with the key of the example that made them; none where it is another
    package's."""
    found = []
    for key, quantity, measured, *rest in _recorded().get(id, []):
        number = float("nan") if measured is None else measured
        found.append((key, Check(quantity, number, *rest)))
    return tuple(found)
