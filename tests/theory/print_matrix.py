"""Print the mutation matrix as Markdown: `make matrix`."""

import sys

from test_mutations import WORLDS
from worlds import unspoiled, verdict_in

print("| claim | what is changed | verdict before | verdict then | |")
print("|---|---|---|---|---|")
missed = 0
for world in WORLDS:
    before, after = unspoiled(world.claim, world.key).status, verdict_in(world).status
    noticed = after not in ("holds", before)
    missed += noticed != (world.outcome == "noticed")
    word = (
        "noticed"
        if noticed
        else f"still true: {world.why}"
        if world.outcome == "still true"
        else "MISSED"
    )
    print(f"| `{world.claim}` | {world.change} | {before} | {after} | {word} |", flush=True)
print(f"\n{len(WORLDS)} worlds, {missed} missed")
sys.exit(missed > 0)
