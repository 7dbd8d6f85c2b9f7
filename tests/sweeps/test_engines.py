"""Every engine gives the same numbers, bit for bit, and says clearly what goes wrong."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xarray

import engine_points
from biasflow.errors import InputError
from biasflow.sweeps import (
    Dask,
    EngineError,
    Processes,
    Serial,
    Store,
    SweepError,
    files,
    shards as shards_module,
    sweep,
)
from biasflow.sweeps.grids import Batched, Grid
from biasflow.sweeps.resumable import assembled, make_ledger

GRID = Grid(
    {"scale": (1e-3, 0.1, 2.0), "seed": tuple(range(4))}, {"n": 6}, {"scale": "1", "value": "m"}
)


def identical(a: xarray.Dataset, b: xarray.Dataset) -> None:
    xarray.testing.assert_identical(a, b)
    for name in a.variables:
        assert (
            a[name].values.tobytes() == b[name].values.tobytes() and a[name].dtype == b[name].dtype
        )


@pytest.fixture(scope="module")
def expected():
    return sweep(engine_points.point, GRID)


@pytest.mark.parametrize("workers, chunk", [(1, None), (2, None), (2, 5), (3, 100)])
def test_processes_and_chunks_do_not_change_a_bit(expected, tmp_path, workers, chunk):
    identical(
        sweep(
            engine_points.point, GRID, store=Store(tmp_path), engine=Processes(workers), chunk=chunk
        ),
        expected,
    )


def test_without_a_store_results_travel_through_the_pipe(expected):
    identical(sweep(engine_points.point, GRID, workers=2), expected)


def test_dask_does_not_change_a_bit(expected, tmp_path):
    pytest.importorskip("distributed")
    identical(
        sweep(engine_points.point, GRID, store=Store(tmp_path), engine=Dask(workers=2), chunk=2),
        expected,
    )


def test_a_worker_that_does_not_see_the_store_hands_its_results_back(
    expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(shards_module.Shelf, "reachable", lambda self: False)
    with ThreadPoolExecutor(2) as executor:
        identical(sweep(engine_points.point, GRID, executor, Store(tmp_path), chunk=5), expected)
    assert make_ledger(engine_points.point, GRID, Store(tmp_path)).done.all()


def test_workers_have_one_thread_and_double_precision():
    data = sweep(engine_points.conditions, Grid({"x": (0, 1)}), workers=2)
    assert set(data.threads.values.tolist()) == {"1"} and set(data.x64.values.tolist()) == {"1"}
    assert int(data.pools.max()) == 1 and os.getpid() not in data.process


def test_axes_variables_and_provenance_are_labelled(expected):
    assert expected.scale.attrs == {"units": "1"} and expected.value.attrs["units"] == "m"
    assert expected.attrs["seeds"] == '{"seed":[0,1,2,3]}' and expected.attrs["device"] == "cpu"
    assert expected.attrs["dtype"] == "float64" and expected.attrs["settings"] == '{"n":6}'


def test_batches_go_through_one_call(tmp_path):
    both = Batched(engine_points.double, engine_points.double_many)
    grid = Grid({"x": tuple(range(10))})
    for engine in (Serial(), Processes(2)):
        data = sweep(both, grid, engine=engine, chunk=4)
        assert data.twice.values.tolist() == [2.0 * x for x in range(10)]
        assert data.company.values.tolist() == [4] * 8 + [2] * 2
    stored = sweep(both, grid, store=Store(tmp_path), chunk=4)
    identical(stored, sweep(both, grid, store=Store(tmp_path), chunk=4))


def test_a_batch_that_raises_is_computed_point_by_point():
    data = sweep(
        Batched(engine_points.double, engine_points.broken_batch), Grid({"x": (1, 2)}), chunk=2
    )
    assert data.twice.values.tolist() == [2.0, 4.0] and data.company.values.tolist() == [1, 1]


def test_failures_are_masked_recorded_and_retried_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_points, "CALLS", [])
    store, grid = Store(tmp_path), Grid({"x": tuple(range(5))})
    with pytest.warns(
        RuntimeWarning, match=r"1 of 5 points failed; the first at {'x': 3}: ArithmeticError: three"
    ):
        data = sweep(engine_points.not_three, grid, store=store, chunk=2)
    assert data.failed.values.tolist() == [False, False, False, True, False]
    assert np.isnan(data.v.values[3]) and data.v.values[4] == 4.0 and data.word.values[3] == ""
    (path,) = tmp_path.rglob("failures/*.json")
    assert (
        "ArithmeticError" in path.read_text()
        and '"x":3' in path.read_text()
        and "not_three" in path.read_text()
    )
    engine_points.CALLS.clear()
    with pytest.warns(RuntimeWarning, match="1 of 5"):
        sweep(engine_points.not_three, grid, store=store, chunk=2)
    assert engine_points.CALLS == []
    monkeypatch.setattr(engine_points, "FIXED", True)
    whole = sweep(engine_points.not_three, grid, store=store, chunk=2, retry_failed=True)
    assert (
        engine_points.CALLS == [3]
        and "failed" not in whole
        and whole.v.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    )
    assert not list(tmp_path.rglob("failures/*.json"))


def test_failures_can_raise_after_the_rest_is_done(tmp_path):
    with pytest.raises(SweepError, match="1 of 5 points failed") as caught:
        sweep(
            engine_points.not_three,
            Grid({"x": tuple(range(5))}),
            store=Store(tmp_path),
            failures="raise",
        )
    assert caught.value.failures[0].setting == {"x": 3}
    assert (
        make_ledger(
            engine_points.not_three, Grid({"x": tuple(range(5))}), Store(tmp_path)
        ).done.sum()
        == 4
    )


@pytest.mark.parametrize("engine", [Serial(), Processes(1)])
def test_where_all_points_fail_the_first_error_is_raised(engine, tmp_path):
    with pytest.raises(ArithmeticError, match="three") as caught:
        sweep(engine_points.not_three, Grid({"x": (3,)}), engine=engine, store=Store(tmp_path))
    assert caught.value.__notes__ == ["at the point {'x': 3}"]
    with pytest.raises(SweepError, match="ArithmeticError: three"):  # the next time from the record
        sweep(engine_points.not_three, Grid({"x": (3,)}), engine=engine, store=Store(tmp_path))


def test_what_cannot_be_stored_is_a_failure_with_its_reason(tmp_path):
    with pytest.raises(InputError, match="complex128"):
        sweep(engine_points.complex_value, Grid({"x": (1.0,)}), store=Store(tmp_path))


def test_a_full_disk_stops_the_sweep_and_keeps_what_is_there(tmp_path, monkeypatch):
    writes = []

    def full(handle):
        writes.append(handle)
        if len(writes) > 8:  # a file and its folder: what results rest on, the shelf, two points
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(files.StoreError, match="No space left"):
            sweep(engine_points.point, GRID, store=Store(tmp_path))
    assert make_ledger(engine_points.point, GRID, Store(tmp_path)).done.sum() == 2
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith((".part", ".lock"))]


def test_a_store_that_is_complete_may_be_read_only(expected, tmp_path, monkeypatch):
    sweep(engine_points.point, GRID, store=Store(tmp_path))

    def refused(*arguments, **options):
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.tempfile, "mkstemp", refused)
    identical(sweep(engine_points.point, GRID, store=Store(tmp_path)), expected)
    with pytest.raises(files.StoreError, match="Read-only"):
        sweep(
            engine_points.point,
            Grid({"scale": (5.0,), "seed": (0,)}, {"n": 6}),
            store=Store(tmp_path),
        )


def test_a_damaged_shard_costs_only_its_own_points(expected, tmp_path, monkeypatch):
    store = Store(tmp_path)
    sweep(engine_points.point, GRID, store=store, chunk=3)
    victim = sorted(tmp_path.rglob("*.nc"))[0]
    victim.write_bytes(victim.read_bytes()[:-9])
    monkeypatch.setattr(engine_points, "CALLS", [])
    with pytest.warns(RuntimeWarning, match="damaged"):
        identical(sweep(engine_points.point, GRID, store=store, chunk=3), expected)
    assert len(engine_points.CALLS) == 3


def test_a_shard_damaged_after_the_look_is_noticed_when_read(tmp_path):
    sweep(engine_points.point, GRID, store=Store(tmp_path), chunk=3)
    ledger = make_ledger(engine_points.point, GRID, Store(tmp_path))
    victim = sorted(tmp_path.rglob("*.nc"))[0]
    victim.write_bytes(b"")
    with pytest.warns(RuntimeWarning, match="damaged"):
        assembled(ledger)
    assert ledger.done.sum() == GRID.size - 3


def test_other_code_never_mixes_in(tmp_path, monkeypatch):
    from biasflow.sweeps import store as store_module

    monkeypatch.setattr(engine_points, "CALLS", [])
    sweep(engine_points.point, GRID, store=Store(tmp_path))
    monkeypatch.setattr(store_module, "code_version", lambda *roots: "0" * 16)
    monkeypatch.setattr(store_module, "function_version", lambda function: "0" * 16)
    sweep(engine_points.point, GRID, store=Store(tmp_path))
    assert len(engine_points.CALLS) == 2 * GRID.size


def test_functions_that_cannot_travel_are_refused():
    with pytest.raises(InputError, match="cannot be sent"):
        sweep(lambda x: x, Grid({"x": (1, 2)}), workers=1)


SCRIPT = """
import xarray
import biasflow as bf

def f(x):
    return xarray.Dataset({"v": float(x)})

print(bf.sweep(f, bf.sweeps.Grid({"x": (1, 2)}), workers=2).v.values.tolist())
"""


def test_a_script_without_a_guard_is_told_so(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0 and 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


def test_a_guarded_script_sweeps_its_own_function(tmp_path):
    guarded = SCRIPT.replace("\nprint", '\nif __name__ == "__main__":\n    print')
    (tmp_path / "script.py").write_text(guarded)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[1.0, 2.0]", done.stderr


def test_a_broken_executor_is_a_clear_error(tmp_path):
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor,
        pytest.raises(EngineError),
    ):
        sweep(engine_points.dies, Grid({"x": (1, 2)}), executor, Store(tmp_path))


@pytest.mark.parametrize(
    "options, word",
    [
        ({"engine": Serial(), "workers": 2}, "one of engine, executor and workers"),
        ({"workers": 0}, "workers"),
        ({"chunk": 0}, "chunk"),
        ({"max_points": 11}, r"12 points are more than the limit of 11"),
        ({"failures": "ignore"}, "'mask', 'raise'"),
    ],
)
def test_bad_options_are_refused(options, word):
    with pytest.raises(InputError, match=word):
        sweep(engine_points.point, GRID, **options)


def test_astronomical_grids_are_counted_not_made():
    with pytest.raises(InputError, match="1,000,000,000,000,000 points"):
        sweep(engine_points.point, Grid({name: range(1000) for name in "abcde"}))
    with pytest.raises(InputError, match="not both"):
        Dask("tcp://here:1", slurm={})


def test_the_tally_adds_up(tmp_path):
    seen = []
    sweep(engine_points.point, GRID, store=Store(tmp_path), chunk=5, watch=seen.append)
    assert (seen[0].done, seen[-1].done, seen[-1].total, seen[-1].running) == (0, 12, 12, 0)
    assert seen[-1].rate > 0 and seen[-1].remaining_seconds == 0.0
    again = []
    sweep(engine_points.point, GRID, store=Store(tmp_path), watch=again.append)
    assert again[-1].found == 12 and again[-1].rate == 0.0 and again[-1].remaining_seconds is None
