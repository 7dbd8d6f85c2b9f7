"""The mutation matrix: every claim is false in some worlds, and its verdict says so there."""

import margin_worlds
import mirror_worlds
import pytest
import regimes_worlds
import relu_worlds
from worlds import unspoiled, verdict_in

import biasflow as bf

WORLDS = mirror_worlds.WORLDS + relu_worlds.WORLDS + margin_worlds.WORLDS + regimes_worlds.WORLDS
FEWER = {**mirror_worlds.FEWER, **relu_worlds.FEWER, **margin_worlds.FEWER, **regimes_worlds.FEWER}
"""Claims with fewer than three false worlds, and why."""


def marked(worlds):
    return [pytest.param(w, id=w.id, marks=[pytest.mark.slow] if w.slow else []) for w in worlds]


@pytest.mark.parametrize("world", marked(WORLDS))
def test_a_changed_world_is_noticed_unless_the_claim_is_still_true_there(world):
    before, after = unspoiled(world.claim, world.key), verdict_in(world)
    if world.outcome == "noticed":
        assert after.status not in (bf.theory.Status.HOLDS, before.status), str(after)
    else:
        assert world.outcome == "still true" and world.why
        assert after.status == before.status, str(after)


@pytest.mark.parametrize("name", bf.claims())
def test_every_claim_has_worlds_in_which_it_is_false(name):
    false = [world for world in WORLDS if world.claim == name and world.outcome == "noticed"]
    assert len(false) >= 3 or (name in FEWER and false), (
        f"{len(false)} worlds, and no reason for so few"
    )
    fast = [world for world in false if not world.slow]
    assert len(fast) >= min(2, len(false)), "too few of them in the fast set"
