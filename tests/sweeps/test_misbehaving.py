"""Points that misbehave cost themselves, never their neighbours, and never answer for somebody
else."""

import json
import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import fault_points
from biasflow.errors import InputError
from biasflow.sweeps import (
    Processes,
    Serial,
    Store,
    StoreError,
    SweepError,
    sweep,
    versions as versions_module,
)
from biasflow.sweeps.encoding import sealed_json, unsealed_json
from biasflow.sweeps.grids import Batched, Grid
from biasflow.sweeps.resumable import make_ledger
from biasflow.sweeps.survey import survey

GRID = Grid({"x": tuple(range(6))})
ENGINES = [Serial(), Processes(1)]


@pytest.mark.parametrize(
    "function", [fault_points.huge_at_three, fault_points.odd_attribute_at_three]
)
@pytest.mark.parametrize("chunk", [2, 6])
def test_a_point_that_cannot_be_stored_leaves_its_neighbours_alone(tmp_path, function, chunk):
    """The whole chunk used to fail."""
    with pytest.warns(RuntimeWarning, match=r"1 of 6 points failed; the first at {'x': 3}"):
        data = sweep(function, GRID, store=Store(tmp_path), chunk=chunk)
    assert data.failed.values.tolist() == [x == 3 for x in range(6)]
    assert data.v.values[[0, 1, 2, 4, 5]].tolist() == [0, 1, 2, 4, 5]
    assert make_ledger(function, GRID, Store(tmp_path), chunk).done.sum() == 5


FORKING = """
import sys
import fault_points
from biasflow.sweeps.grids import Grid
from biasflow.sweeps import Processes, Serial, Store, sweep
if __name__ == "__main__":
    engine = Serial() if sys.argv[1] == "serial" else Processes(1)
    grid = Grid({"x": (1, 2, 3)})
    data = sweep(fault_points.forks, grid, store=Store(sys.argv[2]), engine=engine)
    print(data.v.values.tolist(), "failed" in data)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_forked_child_does_not_answer_for_its_parent(tmp_path, engine):
    """The child's value used to be stored, or its failure recorded."""
    (tmp_path / "script.py").write_text(FORKING)
    command = [sys.executable, str(tmp_path / "script.py"), engine, str(tmp_path / "store")]
    done = subprocess.run(
        command, capture_output=True, text=True, env=_plain_environment(), timeout=120
    )
    assert done.stdout == "[1.0, 2.0, 3.0] False\n", done.stderr
    assert (
        done.stderr.count("a process forked by the point function came back with it and was ended")
        == 3
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_that_cannot_speak_is_one_failed_point(tmp_path, engine):
    with pytest.warns(
        RuntimeWarning, match=r"1 of 6 .* Speechless: \(no message: its __str__ raises ValueError\)"
    ):
        data = sweep(
            fault_points.speechless_at_two, GRID, store=Store(tmp_path), engine=engine, chunk=3
        )
    assert data.failed.values.tolist() == [x == 2 for x in range(6)]


def test_a_point_beyond_its_time_is_stopped_and_recorded(tmp_path):
    grid, begin = Grid({"x": tuple(range(4))}, {"victim": 1}), time.monotonic()
    with pytest.warns(RuntimeWarning, match=r"1 of 4 .* TimeLimit: not done within 8 s"):
        data = sweep(
            fault_points.hangs, grid, store=Store(tmp_path), workers=1, chunk=4, point_time_s=8.0
        )
    assert data.failed.values.tolist() == [False, True, False, False] and data.v.values[
        2
    ] == np.sin(2)
    # two starts of a worker on a busy machine; the point itself never ends
    assert time.monotonic() - begin < 120
    ledger = make_ledger(fault_points.hangs, grid, Store(tmp_path))
    ledger.look_for_failures(range(4))
    assert ledger.failed[1].kind == "TimeLimit" and ledger.done.sum() == 3


def test_where_every_point_is_too_slow_the_sweep_says_so():
    with pytest.raises(SweepError, match="TimeLimit"):
        sweep(fault_points.hangs, Grid({"x": (1,)}, {"victim": 1}), workers=1, point_time_s=0.2)


def test_a_limit_does_not_change_results(tmp_path):
    both = Batched(fault_points.result, fault_points.results)
    bare = sweep(fault_points.result, GRID)
    limited = sweep(both, GRID, store=Store(tmp_path), workers=2, chunk=4, point_time_s=60.0)
    assert limited.w.values.tobytes() == bare.w.values.tobytes() and "failed" not in limited


@pytest.mark.parametrize(
    "limit, engine, word",
    [(5.0, Serial(), "Serial cannot stop a point"), (-1.0, Processes(1), "point_time_s")],
)
def test_limits_that_cannot_be_kept_are_refused(limit, engine, word):
    with pytest.raises(InputError, match=word):
        sweep(fault_points.result, GRID, engine=engine, point_time_s=limit)


# --- records ---


def flipped(data: bytes):
    """Every single-bit change of the bytes."""
    for place in range(len(data)):
        for bit in range(8):
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def test_sealed_records_notice_every_flipped_bit():
    data = sealed_json("record", {"token": "ab", "numbers": [1.5, float("inf")], "none": None})
    assert (
        unsealed_json(data) == {"token": "ab", "numbers": [1.5, float("inf")], "none": None}
        and json.loads(data)["content"]["token"] == "ab"
    )
    for damaged in (*flipped(data), b"", data[:-1], data[:20], data + b" "):
        with pytest.raises(ValueError):
            unsealed_json(damaged)


@pytest.mark.parametrize("pattern", ["about.json", "failures/*.json"])
def test_damaged_records_cost_a_warning(tmp_path, pattern):
    """KeyError: 'token' from about.json, TypeError from a failure's record, before they had
    checksums."""
    function, store = fault_points.speechless_at_two, Store(tmp_path)
    with pytest.warns(RuntimeWarning, match="1 of 6"):
        sweep(function, GRID, store=store)
    (path,) = tmp_path.rglob(pattern)
    whole = path.read_bytes()
    for damaged in list(flipped(whole))[::97]:
        path.write_bytes(damaged)
        with pytest.warns(RuntimeWarning, match="damaged"):
            ledger = make_ledger(function, GRID, store, make_shelf=False)
            ledger.look_for_failures(range(6))
        assert ledger.done.sum() == 5
        survey(store) if pattern == "about.json" else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sweep(function, GRID, store=store)
    assert any("damaged" in str(one.message) for one in caught)
    make_ledger(function, GRID, store)


def test_looking_at_a_sweep_writes_nothing(tmp_path):
    assert not make_ledger(fault_points.result, GRID, Store(tmp_path), make_shelf=False).done.any()
    assert list(tmp_path.iterdir()) == []


def test_a_store_whose_name_is_too_long_is_named(tmp_path):
    with pytest.raises(StoreError, match="too long"):
        survey(Store(tmp_path / ("x" * 300)))


# --- precision and threads ---

ALONE = """
import sys
import fault_points
from biasflow.sweeps.grids import Grid
from biasflow.sweeps import sweep
data = sweep(fault_points.in_jax, Grid({"x": (0, 1)}))
import jax
print(data.v.values.tolist() == [1 / 3, 2 / 3], set(data.word.values.tolist()))
print(jax.config.jax_enable_x64, jax.numpy.zeros(1).dtype)
"""


def test_a_sweep_here_is_in_double_and_leaves_the_process_in_single():
    """A sweep in the user's own process used to switch JAX over: for good, where its function was
    what imported JAX."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        capture_output=True,
        text=True,
        env=_plain_environment(),
        timeout=120,
    )
    assert done.stdout.split() == ["True", "{'float64'}", "False", "float32"], done.stderr


def _plain_environment() -> dict[str, str]:
    paths = [entry for entry in sys.path if entry]
    return {
        **{k: v for k, v in os.environ.items() if k != "JAX_ENABLE_X64"},
        "PYTHONPATH": os.pathsep.join(paths),
    }


def test_two_sweeps_at_once_give_what_one_gives():
    """Each used to switch JAX and BLAS for the whole process, and back while the other was still at
    work."""
    import jax

    before, grid = jax.config.jax_enable_x64, Grid({"x": tuple(range(40))})
    found, seen = {}, []

    def work(name: str, function) -> None:
        found[name] = sweep(function, grid)
        seen.append(jax.config.jax_enable_x64)

    functions = {
        "jax": fault_points.in_jax,
        "again": fault_points.in_jax,
        "numpy": fault_points.result,
    }
    threads = [threading.Thread(target=work, args=item) for item in functions.items()]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for name, function in functions.items():
        expected = sweep(function, grid)
        assert found[name].v.values.tobytes() == expected.v.values.tobytes()
    assert seen == [before] * 3 and set(found["jax"].word.values.tolist()) == {"float64"}


def test_another_jax_is_another_key_and_is_told(monkeypatch):
    versions = {name: versions_module.installed_version(name) for name in versions_module.LIBRARIES}
    assert versions["jax"] and versions["jaxlib"]
    told = sweep(fault_points.result, GRID).attrs
    assert told["jax_version"] == versions["jax"] and told["jaxlib_version"] == versions["jaxlib"]
    before = versions_module.code_version()
    other = versions_module.installed_version
    monkeypatch.setattr(
        versions_module, "installed_version", lambda name: "0.0.1" if name == "jax" else other(name)
    )
    assert versions_module.code_version.__wrapped__() != before
