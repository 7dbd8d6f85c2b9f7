"""Opt-in: on a machine with Slurm (`pytest -m slow tests/sweeps/test_slurm.py`); one node with
Debian's packages is enough."""

import os
import shutil
from pathlib import Path

import pytest
import xarray

import engine_points
from biasflow.sweeps import Dask, Store, sweep
from biasflow.sweeps.grids import Grid

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("sbatch") is None, reason="no Slurm here"),
]


def test_slurm_jobs_give_what_this_process_gives(tmp_path):
    pytest.importorskip("dask_jobqueue")
    grid = Grid({"scale": (0.1, 1.0), "seed": tuple(range(4))}, {"n": 6})
    paths = os.pathsep.join(
        [str(Path(engine_points.__file__).parent), os.environ.get("PYTHONPATH", "")]
    )
    slurm = {
        "cores": 1,
        "processes": 1,
        "memory": "1GB",
        "walltime": "00:10:00",
        "local_directory": str(tmp_path / "scratch"),
        "log_directory": str(tmp_path / "logs"),
        "job_script_prologue": [f"export PYTHONPATH={paths}"],
    }
    found = sweep(
        engine_points.point,
        grid,
        store=Store(tmp_path / "store"),
        engine=Dask(workers=1, slurm=slurm),
        chunk=2,
    )
    xarray.testing.assert_identical(found, sweep(engine_points.point, grid))
