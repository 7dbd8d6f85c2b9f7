"""Every claim with little time and with much: no verdict may turn from violated to holds or back,
and time_s is kept.

    python tests/search/times.py R W        # letters of papers; continues where it was stopped
    python tests/search/times.py --print R  # the table that is committed

Seconds are of the wall clock, without compilation. On a busy machine they say little; processor
seconds stand beside them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import biasflow as bf

TIMES = (0.3, 1.0, 3.0, 60.0)
KEYS = (0, 1)
SHORT = {
    "holds": "h",
    "consistent": "c",
    "inconclusive": "?",
    "violated": "VIOLATED",
    "hypotheses fail": "f",
    "does not apply": "n",
}


def store(paper: str) -> Path:
    return Path(tempfile.gettempdir()) / f"biasflow-times-{paper}.jsonl"


def lines(paper: str) -> list[dict]:
    place = store(paper)
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def search(paper: str, part: str) -> None:
    done = {(line["claim"], line["key"], line["time_s"]) for line in lines(paper)}
    for id in bf.claims():
        if not id.startswith(f"{paper}/") or part not in id:
            continue
        for key in KEYS:
            for time_s in sorted(TIMES, reverse=True):  # what is compiled is compiled first
                if (id, key, time_s) in done:
                    continue
                wall, spent = time.monotonic(), time.process_time()
                status = bf.verify(id, key=key, time_s=time_s).status.value
                line = {
                    "claim": id,
                    "key": key,
                    "time_s": time_s,
                    "status": status,
                    "wall": round(time.monotonic() - wall, 2),
                    "spent": round(time.process_time() - spent, 2),
                }
                with store(paper).open("a") as file:
                    file.write(json.dumps(line) + "\n")


def table(paper: str) -> str:
    found = {(line["claim"], line["key"], line["time_s"]): line for line in lines(paper)}
    head = "claim, key: status after " + ", ".join(f"{t:g}" for t in TIMES) + " s"
    rows, turned, late = [f"{head} | processor seconds"], [], []
    for id, key in dict.fromkeys((id, key) for id, key, _ in found):
        one = [found[id, key, t] for t in TIMES if (id, key, t) in found]
        statuses = [line["status"] for line in one]
        rows.append(
            f"{id}, {key}: {' '.join(SHORT[s] for s in statuses)} | "
            + " ".join(f"{line['spent']:.1f}" for line in one)
        )
        if {"holds", "violated"} <= set(statuses):
            turned.append(f"{id}, {key}")
        late += [
            f"{id}, {key}, {line['time_s']:g}: {line['spent']:.1f}"
            for line in one
            if line["spent"] > line["time_s"] + max(1.0, 0.2 * line["time_s"])
        ]
    rows.append("turned with time: " + ("; ".join(turned) or "none"))
    rows.append("beyond its time by 20% and one second: " + ("; ".join(late) or "none"))
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="+")
    parser.add_argument("--claim", default="", help="only claims whose id contains this")
    parser.add_argument("--print", action="store_true")
    asked = parser.parse_args()
    for letter in asked.papers:
        if asked.print:
            print(table(letter))
        else:
            search(letter, asked.claim)
