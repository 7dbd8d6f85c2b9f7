"""Limits that are handed in: the right one changes no verdict, a wrong one is never passed over."""

import dataclasses

import pytest
from handed_in_limits import TAKING, own_limit, spoiled

import biasflow as bf
from biasflow.theory import claim

PLACES = [(name, k % 3, k) for k, name in enumerate(TAKING)]
"""One key and one way to spoil a limit for each claim; tests/search/limits_handed_in.py tries
all."""


@pytest.mark.parametrize(("name", "key", "turn"), PLACES, ids=TAKING)
def test_a_wrong_limit_is_noticed(name, key, turn):
    problem = claim(name).example(key)
    wrong = list(spoiled(problem, own_limit(name, problem), key))
    how, limit = wrong[turn % len(wrong)]
    verdict = bf.verify(name, problem, limit=limit)
    assert verdict.status in ("violated", "inconclusive"), f"{how}: {verdict}"


@pytest.mark.parametrize(
    "name", ["B/timeline", "B/u-plus", "B/remarks", "B/kkt", "W/thm1", "C/gamma1", "R/thm2.3"]
)
def test_the_right_limit_changes_no_verdict(name):
    problem = claim(name).example(2)
    limit = own_limit(name, problem)
    assert bf.verify(name, problem, limit=limit).status == bf.verify(name, problem).status


@pytest.mark.parametrize("power", [30, 80])
@pytest.mark.parametrize("name", ["B/limit", "B/u-plus", "B/kkt"])
def test_the_right_limit_of_a_tiny_start_changes_no_verdict(name, power):
    problem = claim(name).example(0)
    tiny = dataclasses.replace(problem, start=problem.model.init(10.0**-power, key=3))
    plain, given = bf.verify(name, tiny), bf.verify(name, tiny, limit=bf.limit(tiny))
    assert given.status == plain.status == "holds"


def test_a_claim_about_a_ball_says_nothing_about_the_limit():
    problem = claim("B/lem15").example(0)
    assert bf.verify("B/lem15", problem, limit=bf.limit(problem)).status == "does not apply"
