"""Scenes: what they refuse, what they compute, and the Python that they print."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

import biasflow as bf
from biasflow.errors import InputError
from biasflow.explore import SCENES
from biasflow.explore.messages import LARGEST_MESSAGE, read_request
from biasflow.explore.page_files import MODULES
from biasflow.explore.scene import (
    Choice,
    Integer,
    Number,
    Table,
    bracketed,
    even_in_loss,
    rounded,
)

EVERY = pytest.mark.parametrize("scene", SCENES.values(), ids=list(SCENES))
STATES = [
    pytest.param(scene, dict(preset.state), id=f"{scene.name}: {preset.title}")
    for scene in SCENES.values()
    for preset in scene.presets
]


@EVERY
def test_a_scene_describes_itself_in_json(scene):
    told = json.loads(json.dumps(scene.described(), allow_nan=False))
    assert told["name"] == scene.name and set(told["fields"]) == set(scene.fields)
    assert scene.read(scene.start) == scene.start == scene.read({})
    assert f"scenes/{scene.name}.js" in MODULES
    assert scene.question and scene.caption and scene.presets


@EVERY
def test_unknown_fields_and_what_is_no_object_are_refused(scene):
    with pytest.raises(InputError, match="has no such field"):
        scene.read({"colour": 1})
    for wrong in ([], 3, "x", None):
        with pytest.raises(InputError, match="expected an object"):
            scene.read(wrong)


@EVERY
def test_every_field_refuses_values_out_of_its_range(scene):
    for name, field in scene.fields.items():
        wrong = ["x", {}, True, [["x"]], [[1e300] * 500], math.nan, math.inf, -1e9, 10**400]
        if not getattr(field, "optional", False):
            wrong.append(None)
        for value in wrong:
            with pytest.raises(InputError, match=name):
                scene.read({name: value})


def test_fields_say_what_they_expected():
    with pytest.raises(InputError, match="from 0 to 1, found 2"):
        Number("n", "", 0.0, 1.0).read("n", 2.0)
    with pytest.raises(InputError, match=r"expected an integer, found 1\.5"):
        Integer("n", "", 0, 5).read("n", 1.5)
    with pytest.raises(InputError, match=r"one of \['a'\], found 'b'"):
        Choice("n", "", {"a": "A"}, "a").read("n", "b")
    table = Table("n", "", ((-1.0, 1.0), (-1.0, 1.0)), 1, 2, signs=(1,))
    with pytest.raises(InputError, match="row 1, column 2: expected a label"):
        table.read("n", [[0.5, 0.5]])
    with pytest.raises(InputError, match="1 to 2 rows, found 3"):
        table.read("n", [[0.0, 1.0]] * 3)
    with pytest.raises(InputError, match="expected 2 numbers, found 1"):
        table.read("n", [[0.0]])


@pytest.mark.parametrize(("scene", "state"), STATES)
def test_presets_compute_the_limit_first(scene, state):
    parts = list(islice(scene.parts(scene.read(state)), 2))
    assert "limit" in [name for name, _ in parts]
    for _, data in parts:
        json.dumps(data, allow_nan=False)


@EVERY
def test_all_parts_are_json_of_a_bounded_size(scene):
    for name, data in scene.parts(scene.start):
        assert len(json.dumps(data, allow_nan=False)) < 10**6, name


@EVERY
def test_the_python_of_a_scene_runs_and_prints_its_limit(scene, tmp_path):
    script = tmp_path / "scene.py"
    script.write_text(scene.as_python(scene.start), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    data = dict(scene.parts(scene.start))["limit"]
    for number in KNOWN.get(scene.name, lambda data: [])(data):
        assert f"{number:.4g}" in done.stdout or f"{number:.5g}"[:-1] in done.stdout, number


KNOWN = {
    "boundary": lambda data: [data["gamma1"]["low"]],
    "plane": lambda data: [place["rate"] for place in data["places"]],
    "sparse": lambda data: [data["l1"], data["l2"], data["l1_end"]["l1"], data["l2_end"]["l2"]],
    "line": lambda data: [data["least_norm"]],
    "completion": lambda data: [data["nuclear_norm"], data["frobenius_norm"]],
}
"""Numbers of the limit that the script must print, too."""


def test_the_sparse_scene_goes_from_least_l2_to_least_l1():
    scene = SCENES["sparse"]

    def limit(exponent):
        return next(
            data
            for name, data in scene.parts(scene.read({"log10_alpha": exponent}))
            if name == "limit"
        )

    large, small = limit(1.0), limit(-200.0)
    assert large["l2"] == pytest.approx(large["l2_end"]["l2"], rel=1e-3)
    assert small["l1"] == pytest.approx(small["l1_end"]["l1"], rel=1e-3)
    assert small["l1"] < large["l1"] and small["l2"] > large["l2"]


def test_the_path_of_saddles_has_the_times_of_the_flow():
    scene, state = SCENES["sparse"], {"log10_alpha": -100.0}
    parts = dict(scene.parts(scene.read(state)))
    flow, path = parts["flow"], parts["saddles"]
    first = int(np.argmax(np.abs(np.array(path["beta"])[:, 1])))
    times, series = np.array(flow["times"]), np.array(flow["beta"][first])
    jump = times[np.argmax(np.abs(series) > 0.5 * np.max(np.abs(series[times < 1.2 * times[-1]])))]
    assert np.min(np.abs(np.array(path["times"]) - jump)) < 0.02 * times[-1]


def test_the_line_scene_ends_near_the_least_norm_from_a_small_start_only():
    scene = SCENES["line"]

    def ratio(exponent):
        parts = dict(scene.parts(scene.read({"log10_lambda": exponent})))
        return parts["flow"]["norm"] / parts["limit"]["least_norm"]

    assert ratio(-6.0) < 1.1 and ratio(1.0) > 5


def test_labels_that_nothing_fits_are_fitted_as_far_as_they_can_be(tmp_path):
    """More rows than columns: what readers bring most often."""
    scene, rng = SCENES["sparse"], np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    state = scene.read({"table": np.column_stack([X, y]).tolist(), "log10_alpha": -3.0})
    parts = dict(scene.parts(state))
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert "least-squares fit, which is one only" in parts["data"]["said"]
    np.testing.assert_allclose(parts["limit"]["beta"], best, atol=1e-4)
    np.testing.assert_allclose(np.array(parts["flow"]["beta"])[:, -1], best, atol=0.05)
    assert "lstsq" in scene.as_python(state) and "lstsq" not in scene.as_python(scene.start)


def test_labels_that_one_choice_fits_are_not_called_unfit():
    """Twelve rows of three columns, the label an exact combination of them."""
    scene, rng = SCENES["sparse"], np.random.default_rng(1)
    X = rng.standard_normal((12, 3))
    state = scene.read({"table": np.column_stack([X, X @ [2.0, -1.0, 0.0]]).tolist()})
    said = dict(scene.parts(state))["data"]["said"]
    assert "leave no choice" in said and "No coefficients fit" not in said
    assert "lstsq" not in scene.as_python(state)
    assert dict(scene.parts(scene.start))["data"]["said"] == "", "twelve samples, twenty unknowns"


def test_labels_that_no_column_follows_are_refused_in_a_sentence():
    """A centred column cannot follow a constant label."""
    scene = SCENES["sparse"]
    state = scene.read({"table": [[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]})
    with pytest.raises(InputError, match="nothing is learnt"):
        list(scene.parts(state))


def test_brackets_are_rounded_outwards():
    for low, high in ((0.123456, 0.1234561), (-2.00001, 3e-9), (1 / 3, 1 / 3), (0.0, 0.0)):
        told = bracketed(bf.Certificate(low, high, 0.0, "exact"))
        assert told["low"] <= low and high <= told["high"], (low, high)
        assert told["high"] - told["low"] <= high - low + 2.1e-4 * max(abs(low), abs(high))
    small = bracketed(bf.Certificate(1e-6, 2e-6, 0.0, "bound"))
    assert small["gap"] == 0.5 and small["kind"] == "bound", "relative to the number, not to one"
    assert bracketed(bf.Certificate(math.inf, 1.0, 0.0, "bound"))["high"] is None


def test_hidden_entries_that_nobody_knows_are_not_said_to_be_missed():
    scene, matrix = SCENES["completion"], [[1.0, 2.0], [0.5, 0.0]]
    brought = scene.read({"matrix": matrix, "seen": [[1, 1], [1, 0]]})
    assert next(scene.parts(brought))[1]["hidden_error"] == [None, None]
    whole = scene.read({"matrix": matrix, "seen": [[1, 1], [1, 1]]})
    assert next(scene.parts(whole))[1]["hidden_error"] == [None, None]
    planted = scene.read({"matrix": [[1.0, 2.0], [0.5, 1.0]], "seen": [[1, 1], [1, 0]]})
    assert next(scene.parts(planted))[1]["hidden_error"][1] == 1.0


def test_a_line_is_drawn_where_the_tangent_kernel_fits_nothing():
    scene = SCENES["line"]
    state = scene.read({"width": 2, "points": [[-2, 1], [-1, -1], [0, 1], [1, -1], [2, 1]]})
    names = []
    for name, data in scene.parts(state):
        names.append(name)
        if name == "limit":
            assert data["kernel"] is None and "tangent kernel" in data["said"]
        if name == "ending":
            break
    assert names[0] == "limit" and "flow" in names and "ending" in names


@pytest.mark.parametrize(("depth", "exponent"), [(3, -4.0), (3, -6.0), (4, -2.0), (5, -1.0)])
def test_deep_flows_from_small_starts_come_to_their_end(depth, exponent):
    scene = SCENES["sparse"]
    state = scene.read({"depth": depth, "log10_alpha": exponent})
    flows, limit = [], None
    for name, data in scene.parts(state):
        limit = data if name == "limit" else limit
        flows += [data] if name == "flow" else []
        if name == "norms":
            break
    assert len(flows) > 1, "shown as it grows"
    assert flows[-1]["said"] == ""
    assert np.max(np.abs(np.array(flows[-1]["beta"])[:, -1] - limit["beta"])) < 0.05
    ends = [flow["times"][-1] for flow in flows]
    assert ends == sorted(ends)


def test_deep_flows_that_no_float_can_hold_say_so():
    scene = SCENES["sparse"]
    for name, data in scene.parts(scene.read({"depth": 4, "log10_alpha": -100.0})):
        if name == "flow":
            assert data["times"] == [] and "no float holds both" in data["said"]
            break


def test_completion_recovers_the_planted_matrix_from_a_small_start_only():
    scene = SCENES["completion"]

    def misses(exponent):
        flow = dict(scene.parts(scene.read({"log10_alpha": exponent})))["flow"]
        found = np.array(flow["matrix"])[:, :, -1]
        return float(np.max(np.abs(found - np.array(scene.start["matrix"]))))

    assert misses(-4.0) < 0.02 and misses(1.0) > 0.5


@pytest.mark.parametrize("name", ["completion", "sparse"])
def test_flows_are_streamed_after_the_limit(name):
    scene = SCENES[name]
    found = [(part, data) for part, data in scene.parts(scene.start) if part in ("limit", "flow")]
    assert [part for part, _ in found] == ["limit", "flow", "flow"]
    first, whole = found[1][1], found[2][1]
    assert not first["last"] and whole["last"]
    assert first["times"][-1] < whole["times"][-1] and first["loss"][-1] > whole["loss"][-1]


def test_completion_refuses_what_does_not_fit():
    scene = SCENES["completion"]
    with pytest.raises(InputError, match="expected the matrix's shape"):
        scene.read({"seen": [[1, 1], [1, 0]]})
    with pytest.raises(InputError, match="must not be zero"):
        scene.read({"matrix": [[0, 1], [1, 1]], "seen": [[1, 0], [0, 0]]})
    with pytest.raises(InputError, match="0 or 1"):
        scene.read({"matrix": [[0, 1], [1, 1]], "seen": [[0.5, 1], [1, 1]]})


def test_the_film_of_the_line_scene_is_the_flow_of_the_library():
    scene = SCENES["line"]
    state = scene.read({"width": 10, "log10_lambda": -2.0})
    part = [data for name, data in scene.parts(state) if name == "flow"][-1]
    points = np.array(state["points"])
    X = np.column_stack([points[:, 0], np.ones(len(points))])
    units, logs = np.array(part["units"])[:, :, -1], np.array(part["logs"])[:, -1]
    predictions = np.maximum(X @ units[:, 1:].T, 0) @ (units[:, 0] * np.exp(2 * logs))
    model = bf.TwoLayer(10, 2)
    problem = bf.Problem(
        model,
        bf.Dataset(X, points[:, 1]),
        bf.SquareLoss("half-mean"),
        model.init(1 / np.sqrt(10), key=0),
        -2.0 * np.log(10.0),
    )
    flow = bf.gradient_flow(problem, t1=part["times"][-1])
    np.testing.assert_allclose(predictions, flow(X), atol=2e-3)


def test_rounded_keeps_digits_and_nests():
    assert rounded([[1.23456789, 0.0], [1e-300, 123456.789]], 3) == [
        [1.23, 0.0],
        [1e-300, 123000.0],
    ]
    assert rounded([math.nan, math.inf, -2.5]) == [None, None, -2.5]
    assert rounded(math.pi, 3) == 3.14 and rounded(math.nan) is None
    values = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-10, 10).repeat(50)
    found = rounded(values, 5)
    assert found == [float(f"{value:.5g}") for value in values]


def test_moments_of_a_film_are_increasing_and_end_when_the_loss_is_gone():
    times = np.linspace(0, 100, 400)
    moments = even_in_loss(times, np.exp(-times), 50, 1e-6)
    assert np.all(np.diff(moments) > 0) and moments[0] == 0
    assert moments[-1] == pytest.approx(6 * np.log(10), abs=0.5)


def request(**message):
    return read_request(json.dumps(message), SCENES)


def test_requests_are_read():
    read = request(kind="ask", id=3, scene="sparse", state={"depth": 3})
    assert (read.kind, read.id, read.scene.name, read.state["depth"]) == ("ask", 3, "sparse", 3)
    assert request(kind="cancel", id=0).scene is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "expected JSON"),
        ("[]", "expected an object"),
        ('{"kind": "ask"}', "id: expected an integer"),
        ('{"kind": "ask", "id": -1}', "id: expected an integer"),
        ('{"kind": "ask", "id": true}', "id: expected an integer"),
        ('{"kind": "run", "id": 1}', "kind: expected one of"),
        ('{"kind": "ask", "id": 1, "scene": "../etc"}', "scene: expected one of"),
        ('{"kind": "ask", "id": 1, "scene": "sparse", "path": "x"}', "no such entry"),
        ('{"kind": "ask", "id": 1, "scene": "sparse", "state": {"noise": NaN}}', "expected JSON"),
        ('{"kind": "ask", "id": 1, "scene": "sparse", "state": {"noise": 1e999}}', "noise"),
        ("[" * 50_000, "nested too deeply"),
        ('"' + "x" * LARGEST_MESSAGE + '"', "at most"),
    ],
)
def test_bad_requests_are_refused_with_a_sentence(text, said):
    with pytest.raises(InputError, match=said):
        read_request(text, SCENES)
