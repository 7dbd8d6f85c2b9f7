"""Dask: a scheduler, a worker and a driver that are killed."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest
import xarray

from .conftest import PATHS, PATIENCE, eventually, gone

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and a worker in processes of their own: (scheduler, address)."""
    environment = {
        **os.environ,
        "PYTHONPATH": PATHS,
        "FAULT_LOG": str(tmp_path / "log"),
        "OMP_NUM_THREADS": "1",
    }
    scheduler_log = (tmp_path / "scheduler").open("w")
    options = {"env": environment, "stdout": subprocess.DEVNULL, "cwd": tmp_path}
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--no-dashboard",
    ]
    scheduler = subprocess.Popen(dask, stderr=scheduler_log, **options)
    started = []

    def address() -> str | None:
        found = re.search(r"tcp://[\d.]+:\d+", (tmp_path / "scheduler").read_text())
        return found and found.group()

    try:
        eventually(lambda: address() or scheduler.poll() is not None, "a scheduler")
        worker = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address(),
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
        ]
        started.append(subprocess.Popen(worker, stderr=subprocess.DEVNULL, **options))
        yield scheduler, address()
    finally:
        for process in (scheduler, *started):
            process.kill()
            process.wait()
        scheduler_log.close()


def test_a_killed_scheduler_loses_nothing_that_is_stored(scene, monkeypatch, cluster):
    scheduler, address = cluster
    run = scene(function="slow", points=20, settings={"pause": 0.2}, engine="dask", chunk=2)
    driver = run.start(address=address, patience=2.0)
    eventually(lambda: len(run.stored()) >= 4, "two chunks stored")
    scheduler.kill()
    _, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode != 0 and "no answer" in err and "finished chunks are kept" in err
    stored, before = run.stored(), run.computed
    assert len({x // 2 for x in before} - {x // 2 for x in stored}) <= 1, (
        "at most the open chunk of the one worker"
    )
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())
    assert not stored & set(run.computed[len(before) :]) and run.rubbish() == []


def test_a_killed_worker_and_a_killed_driver(scene, monkeypatch):
    run = scene(function="slow", points=24, settings={"pause": 0.2}, engine="dask", chunk=2)
    driver = run.start(workers=1)
    eventually(lambda: len(run.stored()) >= 2, "a chunk stored")
    os.kill(run.processes.pop(), signal.SIGKILL)
    eventually(lambda: len(run.processes) == 2 and len(run.stored()) >= 6, "a new worker at work")
    driver.kill()
    driver.wait()
    eventually(lambda: all(gone(pid) for pid in run.processes), "no orphans", seconds=10.0)
    stored, before = run.stored(), run.computed
    xarray.testing.assert_identical(run.finish(monkeypatch), run.undisturbed())
    assert not stored & set(run.computed[len(before) :]) and run.rubbish() == []
    again = {x // 2 for x, times in Counter(run.computed).items() if times > 1}
    assert len(again) <= 2, "one open chunk for the worker, one for the driver"
