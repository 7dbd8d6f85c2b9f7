"""What claims measure on their first examples, for `biasflow explain`: `python
tests/print_recorded_checks.py > src/biasflow/theory/recorded_checks.json`.

Of the second example only checks that the first does not make are kept.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

import biasflow as bf

NUMBER = re.compile(r"\d[\d.e+−-]*")
EXAMPLES = (0, 1)
DIGITS = 6


def rounded(number: float | None) -> float | None:
    """Six digits, which is more than a reader needs; None for what is not finite."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.{DIGITS}g}")


def rows_of(id: str) -> list[list[Any]]:
    rows, seen = [], set()
    for key in EXAMPLES:
        fresh = set()
        for check in bf.verify(id, key=key).checks:
            name = NUMBER.sub("#", check.quantity)
            if name in seen:
                continue
            fresh.add(name)
            rows.append(
                [
                    key,
                    check.quantity,
                    rounded(check.measured),
                    check.relation,
                    rounded(check.bound),
                    rounded(check.error),
                    check.witness,
                    check.reason,
                    rounded(check.null),
                ]
            )
        seen |= fresh
    return rows


def main() -> None:
    lines = []
    for id in bf.claims():
        print(id, file=sys.stderr, flush=True)
        found = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows_of(id))
        lines.append(f"{json.dumps(id)}: [\n{found}\n]")
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
