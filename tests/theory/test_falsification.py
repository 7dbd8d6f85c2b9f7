"""Searches find what is false, name problems so that they can be rebuilt, keep to their time, and
go on where they stopped."""

import dataclasses
import time

import numpy as np
import pytest
from worlds import contents

import biasflow as bf
from biasflow.sweeps import Serial, Store
from biasflow.theory import claim, problem_at, tightest_known
from biasflow.theory.falsification import tightness


def mean_is_small(evidence):
    """Wrong for some data, and tighter as the mean grows."""
    mean = float(np.mean(evidence.problem.y))
    return (bf.theory.Check("mean of the labels", mean, "<=", 1.0, witness="arithmetic"),)


def labels(key):
    rng = np.random.default_rng(key)
    return bf.Dataset(rng.standard_normal((6, 2)), 0.3 * rng.standard_normal(6) + 0.2)


MEAN = bf.theory.Claim(
    "X/mean", "the labels have a mean of at most one", "nowhere", (), labels, mean_is_small
)


def test_moves_lead_to_a_violation_that_random_problems_do_not_show():
    found = bf.falsify(MEAN, time_s=8.0, problems=20)
    assert all(bf.verify(MEAN, labels(key)).status == "holds" for key in range(20))
    assert found.verdict.status == "violated" and found.slack < 0 and " " in found.lineage
    assert found.tried >= 100 and found.judged == found.tried


def test_a_lineage_rebuilds_its_problem():
    found = bf.falsify(MEAN, time_s=1.0, problems=10)
    again = problem_at(MEAN, found.lineage)
    assert np.array_equal(again.X, found.problem.X) and np.array_equal(again.y, found.problem.y)
    assert str(bf.verify(MEAN, again)) == str(found.verdict)


@pytest.mark.parametrize("lineage", ["", "x3", "3 q1", "3  x1", "-1", "3 x"])
def test_a_lineage_that_is_none_is_refused(lineage):
    with pytest.raises(bf.errors.InputError, match="lineage"):
        problem_at(MEAN, lineage)


def test_a_search_of_a_claim_of_the_library_is_kept_and_goes_on(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(bf.errors.InputError, match="no search"):
        tightest_known("R/lem2.4", store)
    first = bf.falsify("R/lem2.4", time_s=3.0, problems=8, store=store, engine=Serial())
    assert tightest_known("R/lem2.4", store) == first.lineage
    begun = time.monotonic()
    second = bf.falsify("R/lem2.4", time_s=3.0, problems=8, store=store, engine=Serial())
    assert second.tried >= first.tried and second.slack <= first.slack + 1e-12
    assert time.monotonic() - begun < 10.0


def test_searches_with_other_keys_look_at_other_problems(tmp_path):
    found = [bf.falsify(MEAN, time_s=0.5, problems=5, key=key) for key in (0, 1)]
    assert found[0].lineage.split()[0] != found[1].lineage.split()[0]


def test_a_search_that_can_judge_nothing_says_so():
    refused = dataclasses.replace(
        MEAN, hypotheses=(bf.theory.Hypothesis("never", "never", lambda evidence: "no"),)
    )
    with pytest.raises(bf.errors.InputError, match=r"no problem.*hypotheses fail, .*no"):
        bf.falsify(refused, time_s=0.5, problems=5)
    broken = dataclasses.replace(MEAN, example=lambda key: 1 / 0)
    with pytest.raises(bf.errors.InputError, match="could be made; the first: ZeroDivisionError"):
        bf.falsify(broken, time_s=0.5, problems=5)


@pytest.mark.parametrize(
    "keywords", [{"time_s": 0.0}, {"problems": 0}, {"key": -1}, {"time_s": np.inf}]
)
def test_bad_budgets_are_refused(keywords):
    with pytest.raises(bf.errors.InputError):
        bf.falsify(MEAN, **keywords)
    with pytest.raises(bf.errors.UnknownNameError):
        bf.falsify("W/thm11", time_s=1.0)


def test_progress_is_told_in_seconds():
    told = []
    bf.falsify(
        MEAN,
        time_s=1.5,
        problems=5,
        progress=lambda done, total, label: told.append((done, total, label)),
    )
    assert told and all(done <= total == 1 and label == "X/mean" for done, total, label in told)


@pytest.mark.parametrize(
    "name", ["R/thm2.2", "W/thm1", "C/gamma1", "C/lem13", "R/lem5.1", "C/lem20"]
)
def test_every_kind_of_problem_can_be_moved(name):
    statement = claim(name)
    moved = [problem_at(statement, f"0 {letter}1") for letter in "xcysw"]
    first = problem_at(statement, "0")
    assert any(type(one) is type(first) and one is not first for one in moved)
    assert any(not _same(one, first) for one in moved)


def _same(one, other):
    return repr(contents(one)) == repr(contents(other))


def test_tightness():
    assert tightness(bf.theory.Check("q", 1.0, "<=", 2.0)) == pytest.approx(0.5)
    assert tightness(bf.theory.Check("q", 4.0, "<=", 2.0)) == pytest.approx(-0.5)
    assert tightness(bf.theory.Check("q", 1.0, "==", 1.01, 0.02)) == pytest.approx(0.5)
    assert np.isnan(tightness(bf.theory.Check("q", np.nan, "<=", 2.0)))
