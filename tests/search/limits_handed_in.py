"""Every claim that takes a limit, on its own limit and on wrong ones.

    python tests/search/limits_handed_in.py        # continues where it was stopped

Keeps a line for each verdict in tests/search/limits_handed_in.txt and prints those that should not
be: the own limit with another verdict than without it, a wrong one that is not noticed. To repeat a
claim after a repair, delete its lines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import biasflow as bf
from biasflow.theory import claim

sys.path.insert(0, str(Path(__file__).parent.parent / "theory"))
from handed_in_limits import TAKING, own_limit, spoiled

FOUND = Path(__file__).with_suffix(".txt")
KEYS = (0, 1, 2)
NOTICED = ("violated", "inconclusive", "hypotheses fail", "does not apply")


def rows(name: str, key: int, done: set[str]) -> None:
    place = f"{name} {key}"
    if place in done:
        return
    problem = claim(name).example(key)
    try:
        own = own_limit(name, problem)
    except bf.errors.BiasflowError as reason:
        print(f"{place}: no limit of its own: {reason}")
        return
    plain = bf.verify(name, problem).status.value
    found = [("its own", bf.verify(name, problem, limit=own).status.value)]
    found += [
        (how, bf.verify(name, problem, limit=wrong).status.value)
        for how, wrong in spoiled(problem, own, key)
    ]
    with FOUND.open("a") as file:
        file.write(f"{place} | without: {plain} | " + " | ".join(map(": ".join, found)) + "\n")
    if found[0][1] != plain:
        print(f"{place}: {plain} without, {found[0][1]} with its own limit", flush=True)
    for how, status in found[1:]:
        if status not in NOTICED:
            print(f"{place}, {how}: {status}", flush=True)


if __name__ == "__main__":
    lines = FOUND.read_text().splitlines() if FOUND.exists() else []
    for each in TAKING:
        for number in KEYS:
            rows(each, number, {line.split(" | ")[0] for line in lines})
