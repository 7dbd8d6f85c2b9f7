"""The driver of the benchmarks: what fails or hangs leaves what it printed, and the others run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = {
    "prints": "print('a table')",
    "fails": "print('half a table', flush=True); raise SystemExit(3)",
    "hangs": "print('begun', flush=True); import time; time.sleep(60)",
    "pinned": "import os; print(len(os.sched_getaffinity(0)), os.environ['JAX_PLATFORMS'])",
}


@pytest.fixture
def driver(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import run_all

    return run_all


def test_one_that_fails_or_hangs_stops_nobody(driver, tmp_path, capsys):
    jobs = [driver.Job(name) for name in SCRIPTS]
    commands = {name: [sys.executable, "-c", text] for name, text in SCRIPTS.items()}
    cores = driver.available_cores()[:2]
    # ten seconds, for a busy machine takes some to start the others
    ended = {
        name: came for name, _, came in driver.run(jobs, commands, tmp_path, cores, 10.0, 60.0)
    }
    assert ended == {
        "prints": "exit code 0",
        "fails": "exit code 3",
        "hangs": "out of time",
        "pinned": "exit code 0",
    }
    text = driver.together(jobs, [(name, 0.0, came) for name, came in ended.items()], tmp_path)
    assert all(part in text for part in ("a table", "half a table", "begun", "out of time"))
    if hasattr(os, "sched_setaffinity"):
        assert (tmp_path / "pinned.txt").read_text().split() == ["1", "cpu"]


def test_one_that_wants_more_cores_than_are_filled_runs_by_itself(driver, tmp_path, capsys):
    alone = driver.Job("pinned", cores=2, seconds=1.0)
    jobs = [driver.Job("prints", seconds=2.0), alone, driver.Job("fails", seconds=0.5)]
    commands = {name: [sys.executable, "-c", text] for name, text in SCRIPTS.items()}
    cores = driver.available_cores()[:1]
    ended = driver.run(jobs, commands, tmp_path, cores, 20.0, 60.0)
    assert [name for name, *_ in ended] == ["prints", "pinned", "fails"]


def test_after_its_time_nothing_is_started(driver, tmp_path, capsys):
    ended = driver.run([driver.Job("prints")], {}, tmp_path, driver.available_cores(), 1.0, -1.0)
    assert ended == [("prints", 0.0, "not started")]


def test_every_benchmark_is_run_and_every_kernel_compiled_before(driver):
    from biasflow.cli.warm_command import FAMILIES

    assert set(driver.FAMILIES) == set(FAMILIES)
    scripts = {path.stem for path in BENCHMARKS.glob("*.py")}
    shared = {"timing", "independent_flows", "relu_arithmetic", "run_all"}
    assert {job.script for job in driver.JOBS} == scripts - shared
    assert len({job.name for job in driver.JOBS}) == len(driver.JOBS)
