"""Figures give the same numbers on every engine, bit for bit."""

import pytest
import xarray

from biasflow.experiments import experiment
from biasflow.sweeps import Dask, Processes, Store, sweep
from biasflow.sweeps.grids import Grid

SAMPLES = {
    "W/fig1": {"n": (60, 100), "seed": (0,)},
    "W/fig2": {"depth": (2, 10), "n": (60,), "seed": (0,)},
}


def assert_engines_agree(id: str, grid: Grid, folder, serial: bool) -> None:
    pytest.importorskip("distributed")
    point = experiment(id).point
    processes = sweep(point, grid, store=Store(folder / "processes"), engine=Processes(2))
    others = [sweep(point, grid, store=Store(folder / "dask"), engine=Dask(workers=2), chunk=2)]
    others += [sweep(point, grid)] if serial else []
    for other in others:
        xarray.testing.assert_identical(processes, other)
        assert all(
            processes[name].values.tobytes() == other[name].values.tobytes()
            for name in processes.variables
        )


@pytest.mark.parametrize("id", SAMPLES)
def test_points_of_paper_size_are_the_same_everywhere(id, tmp_path):
    assert_engines_agree(
        id, Grid(SAMPLES[id], experiment(id).grids["paper"].settings), tmp_path, serial=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("id", SAMPLES)
def test_the_whole_figure_of_paper_size_is_the_same_on_both_engines(id, tmp_path):
    assert_engines_agree(id, experiment(id).grids["paper"], tmp_path, serial=False)
