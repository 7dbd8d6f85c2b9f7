"""Every claim on its examples with little time: what turns from *violated* to *holds* or back, and
what takes longer than it was given.

    python tests/search/verdict_times.py B      # letters of papers; continues where it was stopped

Keeps a line for each verdict in tests/search/verdict_times-B.txt (one file a paper): id, key,
seconds given, status, seconds of the wall, seconds of a core, what is violated. To repeat a claim
after a repair, delete its lines.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from pathlib import Path

import biasflow as bf

HERE = Path(__file__).parent
KEYS = (0, 1)
SECONDS = (0.3, 1.0, 3.0, 60.0)


def one_verdict(id: str, key: int, time_s: float) -> str:
    problem = bf.theory.claim(id).example(key)
    wall, core = time.monotonic(), time.process_time()
    verdict = bf.verify(id, problem, time_s=time_s)
    wall, core = time.monotonic() - wall, time.process_time() - core
    note = "; ".join(c.quantity for c in verdict.checks if c.status is bf.theory.Status.VIOLATED)
    note = note.replace("\n", " ").replace("|", "¦")
    return f"{id} | {key} | {time_s:g} | {verdict.status} | {wall:.1f} | {core:.1f} | {note}"


def print_defects(lines: list[str]) -> None:
    statuses = defaultdict(set)
    for line in lines:
        id, key, given, status, wall, core, _ = line.split(" | ")
        statuses[id, key].add(status)
        # the machine may be shared: what is late counts by the seconds of a core
        if min(float(wall), float(core)) > float(given) + max(0.2 * float(given), 1.0):
            print(f"late: {line}")
    for example, found in statuses.items():
        if {"holds", "violated"} <= found or {"consistent", "violated"} <= found:
            print("turns over:", *example, *sorted(found))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("papers", nargs="+")
    asked.add_argument("--claim", default="", help="only claims whose id contains this")
    options = asked.parse_args()
    for paper in options.papers:
        place = HERE / f"verdict_times-{paper}.txt"
        lines = place.read_text().splitlines() if place.exists() else []
        seen = {tuple(line.split(" | ")[:3]) for line in lines}
        ids = [id for id in bf.claims() if id.startswith(f"{paper}/") and options.claim in id]
        with place.open("a") as out:
            for time_s in SECONDS:
                for id in ids:
                    for key in KEYS:
                        if (id, str(key), f"{time_s:g}") not in seen:
                            bf.verify(id, key=key, time_s=0.1)  # imports and compiles
                            lines.append(one_verdict(id, key, time_s))
                            print(lines[-1], file=out, flush=True)
        print_defects(lines)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
