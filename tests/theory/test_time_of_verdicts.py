"""The seconds of a verdict: one clock for all of its evidence."""

import dataclasses
import time

import pytest

import biasflow as bf
from biasflow._numerics import compilation
from biasflow.theory import claim
from biasflow.theory.unmeasured import part
from biasflow.theory.verdicts import Check


def solver(seconds):
    """A solver that takes all the time it is given."""
    time.sleep(seconds)
    return Check("what it found", 0.0, "==", 0.0, witness="a clock")


def slow(count):
    """A claim of so many parts, each of which takes all the time that is left."""

    def check(evidence):
        return tuple(
            one for k in range(count) for one in part(f"({k})", lambda: solver(evidence.time_left))
        )

    return dataclasses.replace(claim("W/lem1"), hypotheses=(), check=check)


def test_parts_share_the_seconds_and_what_does_not_fit_is_not_measured():
    begin = time.monotonic()
    verdict = bf.verify(slow(3), time_s=0.2)
    assert time.monotonic() - begin <= 0.2 + 1
    assert [check.status for check in verdict.checks] == ["holds", *2 * ["inconclusive"]]
    assert "time limit of 0.2 s" in verdict.why


def test_the_clock_stands_still_while_kernels_are_compiled():
    def check(evidence):
        compilation._ClockStop().on_start(None)
        time.sleep(0.3)
        compilation._ClockStop().on_end(None)
        evidence.time_left  # noqa: B018
        return (Check("what it found", 0.0, "==", 0.0, witness="a clock"),)

    compiling = dataclasses.replace(claim("W/lem1"), hypotheses=(), check=check)
    assert bf.verify(compiling, time_s=0.2).status == "holds"


@pytest.mark.parametrize("name", ["W/thm1", "W/thm2", "R/eq2", "B/lem1"])
def test_a_flow_that_is_handed_in_and_the_rest_share_the_seconds(name):
    problem = claim(name).example(0)
    is_mirror = isinstance(problem, bf.MirrorProblem)
    flow = bf.mirror_flow(problem) if is_mirror else bf.gradient_flow(problem)
    begin = time.monotonic()
    verdict = bf.verify(name, problem, flow=flow, time_s=0.3)
    assert time.monotonic() - begin <= 0.3 + 1
    assert verdict.status != "violated"


def test_the_reason_of_a_flow_that_gave_up_has_no_advice_for_its_caller():
    problem = claim("W/lem1").example(0)

    def check(evidence):
        return (bf.gradient_flow(evidence.problem, time_s=1e-6),)

    verdict = bf.verify(dataclasses.replace(claim("W/lem1"), hypotheses=(), check=check), problem)
    assert verdict.why == "the flow gave up: the time limit was reached at t = 0"
