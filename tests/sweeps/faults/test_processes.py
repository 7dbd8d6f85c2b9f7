"""Workers and drivers that are killed, tasks that kill, drivers that share a store."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import xarray

from .conftest import PATHS, PATIENCE, eventually, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


def test_a_killed_worker_costs_its_open_chunk(scene, monkeypatch):
    run = scene(function="slow", points=16, settings={"pause": 0.15}, engine="processes", chunk=2)
    driver = run.start()
    eventually(lambda: len(run.computed) >= 6, "six points begun")
    victim = next(pid for pid in run.processes if not gone(pid))
    os.kill(victim, signal.SIGKILL)
    assert driver.wait(PATIENCE) == 0, driver.stderr.read()
    again = [x for x, times in Counter(run.computed).items() if times > 1]
    assert len(again) <= 2 and len({x // 2 for x in again}) <= 1, (
        "only points of the one open chunk"
    )
    assert all(gone(pid) for pid in run.processes) and run.rubbish() == []
    before = len(run.computed)
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())
    assert len(run.computed) == before


def test_a_worker_killed_in_the_middle_of_a_write_leaves_no_rubbish(scene, tmp_path):
    settings = {"victim": 3, "marker": str(tmp_path / "marker")}
    run = scene(function="dies_writing", points=8, settings=settings, engine="processes", chunk=2)
    driver = run.start()
    assert driver.wait(PATIENCE) == 0, driver.stderr.read()
    assert sorted(run.computed) == [0, 1, 2, 2, 3, 3, 4, 5, 6, 7], (
        "the one open chunk is computed again"
    )
    assert run.stored() == set(range(8)) and run.rubbish() == []


def test_a_killed_driver_takes_its_workers_along_and_is_resumed(scene, monkeypatch):
    run = scene(function="slow", points=16, settings={"pause": 0.15}, engine="processes", chunk=2)
    driver = run.start()
    eventually(lambda: len(run.stored()) >= 4, "two chunks stored")
    driver.kill()
    driver.wait()
    workers = run.processes
    eventually(lambda: all(gone(pid) for pid in workers), "no orphans", seconds=5.0)
    stored, before = run.stored(), run.computed
    assert len(stored) >= 4
    open_chunks = {x // 2 for x in before} - {x // 2 for x in stored}
    assert len(open_chunks) <= 2, "at most one open chunk a worker"
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())
    assert not stored & set(run.computed[len(before) :]) and run.rubbish() == []


def test_workers_do_not_finish_a_long_point_for_a_driver_that_is_gone(scene):
    run = scene(function="slow", points=2, settings={"pause": 60.0}, engine="processes", chunk=1)
    driver = run.start()
    eventually(lambda: len(run.processes) == 2, "two workers at work")
    driver.kill()
    driver.wait()
    eventually(lambda: all(gone(pid) for pid in run.processes), "no orphans", seconds=5.0)


def test_a_driver_killed_in_the_middle_of_a_write(scene, monkeypatch, tmp_path):
    run = scene(function="slow", points=10, settings={"pause": 0.0}, engine="serial", chunk=2)
    marker = tmp_path / "marker"
    driver = run.start(stuck_at=3, marker=str(marker))
    eventually(marker.exists, "the third write begun")
    driver.kill()
    driver.wait()
    assert any(name.endswith(".part") for name in run.rubbish()), "the write was under way"
    assert run.stored() == {0, 1, 2, 3}
    before = len(run.computed)
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())
    assert run.computed[before:] == [4, 5, 6, 7, 8, 9] and run.rubbish() == []


@pytest.mark.parametrize("how, word", [("exit", "code 3"), ("segv", "SIGSEGV")])
def test_a_task_that_crashes_the_interpreter_is_found_and_recorded(scene, monkeypatch, how, word):
    run = scene(
        function="deadly", points=8, settings={"victim": 5, "how": how}, engine="processes", chunk=4
    )
    driver = run.start()
    _, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    assert run.stored() == {0, 1, 2, 3, 4, 6, 7} and word in err
    before = len(run.computed)
    data = run.finish(monkeypatch)  # a recorded failure is not tried again
    assert len(run.computed) == before
    assert data.failed.values.tolist() == [x == 5 for x in range(8)]
    others = np.arange(8) != 5
    np.testing.assert_array_equal(data.v.values[others], np.sin(np.arange(8.0))[others])
    assert np.isnan(data.v.values[5])
    assert all(gone(pid) for pid in run.processes - {os.getpid()}) and run.rubbish() == []


def test_nan_is_a_result_like_any_other(scene, monkeypatch):
    run = scene(function="sometimes_nan", points=9, engine="processes", chunk=3)
    driver = run.start()
    assert driver.wait(PATIENCE) == 0, driver.stderr.read()
    before = len(run.computed)
    data = run.finish(monkeypatch)
    assert len(run.computed) == before == 9
    assert "failed" not in data and np.isnan(data.v.values).tolist() == [
        x % 3 == 0 for x in range(9)
    ]
    xarray.testing.assert_identical(data, run.undisturbed())


def test_two_drivers_share_the_work(scene, monkeypatch):
    run = scene(function="slow", points=20, settings={"pause": 0.1}, engine="serial", chunk=2)
    drivers = [run.start(), run.start()]
    outputs = [driver.communicate(timeout=PATIENCE) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], outputs
    assert sorted(run.computed) == list(range(20)), "every point exactly once"
    assert len(run.processes) == 2, "both took part"
    assert outputs[0][0] == outputs[1][0] and run.rubbish() == []
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())


def test_a_driver_takes_over_from_one_that_was_killed(scene, monkeypatch):
    run = scene(function="slow", points=20, settings={"pause": 0.1}, engine="serial", chunk=2)
    drivers = [run.start(), run.start()]
    eventually(lambda: len(run.processes) == 2, "both at work")
    drivers[0].kill()
    drivers[0].wait()
    assert drivers[1].wait(PATIENCE) == 0, drivers[1].stderr.read()
    again = [x for x, times in Counter(run.computed).items() if times > 1]
    assert len({x // 2 for x in again}) <= 1 and run.rubbish() == []
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())


SPEC = """
function = "gradient_descent"
[axes]
seed = { range = [0, 400] }
[settings]
n = 30
d = 100
scale = 0.1
stepsize = 1e-9
steps = 20000
"""


def test_ctrl_c_stops_cleanly(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    environment = {**os.environ, "BIASFLOW_CACHE": str(tmp_path / "store"), "PYTHONPATH": PATHS}
    command = [sys.executable, "-m", "biasflow.cli", "sweep", "run", "spec.toml", "--workers", "2"]
    driver = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell's background jobs inherit it as ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        eventually(lambda: len(list(tmp_path.rglob("*.nc"))) >= 2, "two shards")
        os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to the driver and to its workers
        _, err = driver.communicate(timeout=PATIENCE)
    finally:
        driver.kill()
    assert driver.returncode == 130 and "run the command again" in err and "Traceback" not in err
    eventually(lambda: _session_is_empty(driver.pid), "no worker left", seconds=5.0)
    assert len(list(tmp_path.rglob("*.nc"))) >= 2
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith((".part", ".lock"))]


def _session_is_empty(session: int) -> bool:
    time.sleep(0.1)
    for stat in (path for path in os.listdir("/proc") if path.isdecimal()):
        if not gone(int(stat)):
            try:
                if os.getsid(int(stat)) == session:
                    return False
            except ProcessLookupError:
                continue
    return True
