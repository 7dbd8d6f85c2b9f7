"""Limits that are handed in: the right one changes no verdict, a wrong one is never passed over."""

import dataclasses

import numpy as np
import pytest
from handed_in_limits import TAKING, own_limit, spoiled

import biasflow as bf
from biasflow.models import TwoLayerParams
from biasflow.theory import Checkpoints, claim

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


def permuted(a, W):
    order = np.random.default_rng(0).permutation(len(a))
    return TwoLayerParams(a[order], W[order])


def split(a, W):
    """Its largest neuron is two of the same direction: the same function, norm and balance."""
    j = np.argmax(np.abs(a))
    share = np.where(np.arange(len(a)) == j, np.sqrt(0.7), 1.0)
    rest = np.sqrt(0.3)
    return TwoLayerParams(
        np.append(share * a, rest * a[j]), np.vstack([share[:, None] * W, rest * W[j]])
    )


@pytest.mark.parametrize("name", ["B/prop1", "B/kkt", "B/lem12"])
def test_networks_of_the_same_mass_in_other_neurons_are_the_same_limit(name):
    problem = claim(name).example(2)
    found = bf.limit(problem)
    a, W = found.value
    same = [permuted(a, W), split(a, W)]
    other = [TwoLayerParams(1.25 * a, W / 1.25), TwoLayerParams(-a, W)]
    other += [TwoLayerParams(factor * a, factor * W) for factor in (0.9, 1.001, 1.1)]
    for networks, status in ((same, "holds"), (other, "violated")):
        for network in networks:
            given = dataclasses.replace(found, value=network)
            assert bf.verify(name, problem, limit=given).status == status, network


@pytest.mark.parametrize("name", ["R/eq2", "R/eq3", "R/lem2.5", "W/escape"])
@pytest.mark.parametrize("stated", [True, False])
def test_a_clock_that_is_one_percent_off_is_noticed(name, stated):
    problem = claim(name).example(0)
    mirrored = isinstance(problem, bf.MirrorProblem)
    flow = (bf.mirror_flow if mirrored else bf.gradient_flow)(problem)
    states = flow.states
    listed = [
        states[k] if mirrored else type(states)(*(leaf[k] for leaf in states))
        for k in range(len(flow.times))
    ]
    error = flow.predictor_error if stated else None
    given = Checkpoints(1.01 * flow.times, listed, error=error)
    assert bf.verify(name, problem, flow=given).status in ("does not apply", "inconclusive")
