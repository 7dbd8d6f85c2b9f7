"""The mutation matrix: every claim is false in some worlds, and its verdict says so there."""

import margin_worlds
import mirror_worlds
import pytest
import regimes_worlds
import relu_worlds
import since_worlds
from worlds import unspoiled, verdict_in

import biasflow as bf

PARTS = (mirror_worlds, relu_worlds, margin_worlds, regimes_worlds, since_worlds)
WORLDS = [world for part in PARTS for world in part.WORLDS]
FEWER = {name: why for part in PARTS for name, why in part.FEWER.items()}
"""Claims with fewer than three false worlds, and why."""


INSTEAD = {
    "B/nearly": "neurons that realign from δ*/1000 on",
    "B/remarks": "every flow ends at least norm",
    "B/scale": "every flow 1.001 times too large",
    "B/thm1": "first label times 1.01",
    "C/cor4": "a polynomial tail",
    "C/interchange": "the sign of Corollary 11 as printed",
    "C/thm2": "a polynomial tail",
    "C/thm3": "a polynomial tail",
    "C/thm5": "a polynomial tail",
    "C/thm8": "the first term to the power 1.1",
    "S/relu-saddles": "plateaus are 1% lower",
    "W/sec6": "Gaussian factors of variance 1/k",
}
"""Claims whose first false world takes several times as long as this one."""


def sample(worlds):
    """For the fast set a false world of each claim: the first that is listed, or the one instead;
    the whole matrix is in the thorough set."""
    chosen = {}
    for world in worlds:
        meant = INSTEAD.get(world.claim, world.change) == world.change
        if meant and world.outcome == "noticed" and not world.slow:
            chosen.setdefault(world.claim, world)
    return list(chosen.values())


def marked(worlds):
    fast = {world.id for world in sample(worlds)}

    def marks(world):
        if world.id in fast:
            return []
        return [pytest.mark.slow if world.slow else pytest.mark.thorough]

    return [pytest.param(world, id=world.id, marks=marks(world)) for world in worlds]


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
    assert len(fast) >= min(2, len(false)), "too few of them are not slow"
    assert [world.claim for world in sample(false)] == [name], "none of them is in the fast set"
