"""The scene of claims: who speaks, what is judged, and that nobody waits for ever."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time

import pytest

import biasflow as bf
from biasflow.errors import InputError
from biasflow.explore import SCENES
from biasflow.explore.patience import abandoned
from biasflow.explore.scenes import claims_scene
from biasflow.explore.scenes.claims_scene import at_most, problem_of

SCENE = SCENES["claims"]
OBLIQUE = {"rows": [[1.0, 0.2, 1.0], [0.5, 1.0, -0.5]], "width": 4}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"rows": [[1.0]]}, "at least two columns"),
        ({"rows": [[1.0, 0.0]]}, "every label is zero"),
        ({"about": "margin", "rows": [[1.0, 1.0], [2.0, 0.0]]}, "in neither class"),
        ({"about": "margin", "rows": [[1.0, 1.0], [2.0, 3.0]]}, "two classes are needed"),
        ({"rows": [[1.0] * 10]}, "1 to 9 numbers"),
        ({"rows": [[1.0, 1.0]] * 25}, "1 to 24 rows"),
        ({"about": "everything"}, "expected one of"),
    ],
)
def test_states_out_of_range_are_refused(state, said):
    with pytest.raises(InputError, match=said):
        SCENE.read(state)


def test_verdicts_are_those_of_the_library():
    state = SCENE.read(OBLIQUE)
    parts = list(SCENE.parts(state))
    assert parts[0][0] == "limit"
    spoken = [each["id"] for each in parts[0][1]["claims"]]
    verdicts = {data["id"]: data for name, data in parts if name == "verdict"}
    assert list(verdicts) == spoken and len(spoken) + parts[0][1]["silent"] == len(bf.claims())
    problem = problem_of(state)
    for id in ("B/assumption-1", "B/prop1", "B/lem1", "B/thm1"):
        expected = bf.verify(id, problem, time_s=5.0)
        found = verdicts[id]
        assert found["status"] == str(expected.status) and found["why"] == expected.why
        for shown, check in zip(found["checks"], expected.checks, strict=True):
            assert shown["quantity"] == check.quantity
        assert found["page"][0]["items"], "every claim has a page"
    assert verdicts["B/assumption-1"]["status"] == "violated"
    for id in set(bf.claims()) - set(spoken):
        assert bf.verify(id, problem, time_s=1.0).status == "does not apply", id
    json.dumps(parts, allow_nan=False)


@pytest.mark.parametrize("about", ["relu", "margin", "diagonal"])
def test_the_python_is_of_the_same_problem(about, tmp_path):
    state = SCENE.read({**OBLIQUE, "about": about, "log10_scale": -1.0})
    text = SCENE.as_python(state).split("for id in")[0]
    script = tmp_path / "scene.py"
    script.write_text(text + "print(repr(problem.start), problem.data.y, problem.loss)\n")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    problem = problem_of(state)
    assert done.stdout.strip() == f"{problem.start!r} {problem.data.y} {problem.loss}"


def test_a_theorem_is_not_violated_where_the_square_of_the_scale_is_no_float():
    state = SCENE.read({"about": "diagonal", "rows": [[1.0, 2.0]], "log10_scale": -200.0})
    verdict = bf.verify("W/thm1", problem_of(state), time_s=4.0)
    assert verdict.status in ("holds", "consistent"), [str(each) for each in verdict.checks]


def test_judgement_is_broken_off():
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"not judged within 0\.1 seconds"), at_most(0.1):
        while time.monotonic() < began + 10:
            pass
    assert time.monotonic() - began < 5
    with at_most(0.05):
        pass
    time.sleep(0.1)  # the alarm does not ring for those who are done


def test_judgement_is_broken_off_once_nobody_waits_and_however_often_it_tries_again():
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutError), at_most(20.0):
            with contextlib.suppress(TimeoutError):
                abandoned.set()
                while time.monotonic() < began + 10:
                    pass
            while time.monotonic() < began + 10:  # as one who takes the first alarm for an answer
                pass
    finally:
        abandoned.clear()
    assert time.monotonic() - began < 5


def test_after_its_time_no_claim_is_taken_up(monkeypatch):
    monkeypatch.setattr(claims_scene, "ALL_S", 0.0)
    parts = list(SCENE.parts(SCENE.read(OBLIQUE)))
    assert parts[-1][0] == "over" and "not judged" in parts[-1][1]["said"]
