"""Fuzz the public functions and print the table: `python tests/fuzz/print_table.py [--cases N]
[--only ENTRY] [--workers N]`.

Results are kept under `--folder` by the code that made them: run it again to go on after an
interruption.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from fuzz_bases import entries  # noqa: E402
from fuzz_cases import FOREIGN, HANG, OUTCOMES, WRONG, all_cases, base_result, fuzz  # noqa: E402


def table(found: Mapping[str, tuple[str, str]]) -> str:
    """A row for each entry, and their sum."""
    counts: dict[str, Counter[str]] = {}
    for case, (outcome, _) in found.items():
        counts.setdefault(case.partition(" | ")[0], Counter())[outcome] += 1
    rows = [("entry", "tried", *OUTCOMES)]
    for name in entries():
        if name in counts:
            rows.append(
                (
                    name,
                    str(counts[name].total()),
                    *(str(counts[name][outcome]) for outcome in OUTCOMES),
                )
            )
    whole = sum(counts.values(), Counter())
    rows.append(("all", str(whole.total()), *(str(whole[outcome]) for outcome in OUTCOMES)))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]])


def faults(found: Mapping[str, tuple[str, str]]) -> list[str]:
    return [
        f"{outcome}: {case}: {detail}"
        for case, (outcome, detail) in sorted(found.items())
        if outcome in (FOREIGN, HANG, WRONG)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--cases", type=int, default=None, help="only the first so many, a random sample"
    )
    parser.add_argument(
        "--only", default="", help="entries whose name this regular expression finds"
    )
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=Path(".biasflow/fuzz"))
    chosen = parser.parse_args()
    cases = [case for case in all_cases() if re.search(chosen.only, case.partition(" | ")[0])][
        : chosen.cases
    ]
    for name in dict.fromkeys(case.partition(" | ")[0] for case in cases):
        base_result(name)  # compiles once, here, what workers then find on disk
    found = fuzz(
        cases,
        chosen.folder,
        chosen.workers,
        lambda tally: _tell(tally.done + tally.failed, tally.total),
    )
    print(table(found), *faults(found), sep="\n")
    sys.exit(bool(faults(found)))


def _tell(done: int, total: int) -> None:
    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
