"""Real processes: drivers to start, watch and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
import xarray

import biasflow
import fault_driver
import fault_points
from biasflow.sweeps import Store, sweep
from biasflow.sweeps.shards import Index

TESTS = Path(fault_driver.__file__).parent
PATHS = os.pathsep.join([str(TESTS), str(Path(biasflow.__file__).parents[1])])
"""Drivers import the points of this folder, and the biasflow that this process imports."""
PATIENCE = 120.0  # seconds that anything here may take on a machine that is busy


def eventually(condition, what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether the process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Scene:
    """A store, a side file, and a plan of one sweep over them."""

    def __init__(self, folder: Path, plan: dict) -> None:
        self.folder, self.log = folder, folder / "log"
        self.plan = {"store": str(folder / "store"), **plan}
        self.function = getattr(fault_points, plan["function"])
        self.drivers: list[subprocess.Popen] = []

    def start(self, **changes) -> subprocess.Popen:
        environment = {
            **os.environ,
            fault_points.LOG: str(self.log),
            "PYTHONPATH": PATHS,
            "OMP_NUM_THREADS": "1",
        }
        command = [
            sys.executable,
            str(TESTS / "fault_driver.py"),
            json.dumps({**self.plan, **changes}),
        ]
        driver = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.drivers.append(driver)
        return driver

    @property
    def computed(self) -> list[int]:
        return [x for x, _ in fault_points.noted(self.log)]

    @property
    def processes(self) -> set[int]:
        return {pid for _, pid in fault_points.noted(self.log)}

    def stored(self) -> set[int]:
        """The points whose shard was renamed."""
        store, grid = Store(self.plan["store"]), fault_driver.grid_of(self.plan)
        index, address = Index(store.shelf(self.function)), store.addresses(self.function)
        index.refresh()
        return {setting["x"] for setting in grid.points() if address(setting) in index}

    def finish(self, monkeypatch) -> xarray.Dataset:
        """The rest of the sweep, in this process."""
        with monkeypatch.context() as patch:
            patch.setenv(fault_points.LOG, str(self.log))
            return sweep(
                self.function,
                fault_driver.grid_of(self.plan),
                store=Store(self.plan["store"]),
                chunk=self.plan["chunk"],
            )

    def undisturbed(self) -> xarray.Dataset:
        return sweep(self.function, fault_driver.grid_of(self.plan))

    def rubbish(self) -> list[str]:
        return [
            path.name
            for path in Path(self.plan["store"]).rglob("*")
            if path.name.endswith((".part", ".lock"))
        ]


@pytest.fixture
def scene(tmp_path):
    """Makes scenes, and leaves no process of theirs behind."""
    scenes: list[Scene] = []

    def make(**plan) -> Scene:
        scenes.append(Scene(tmp_path, plan))
        return scenes[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield make
    for one in scenes:
        for driver in one.drivers:
            driver.kill()
            driver.communicate()
        for pid in one.processes - {os.getpid()}:
            if not gone(pid):
                os.kill(pid, signal.SIGKILL)
