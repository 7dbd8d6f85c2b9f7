"""Workers that stay up: the same numbers, the same processes, and other work in between."""

import os

import pytest
import xarray

import engine_points
from biasflow.sweeps import Processes, Serial, Store, sweep
from biasflow.sweeps.grids import Grid
from biasflow.sweeps.kept import Kept

GRID = Grid({"scale": (1e-3, 0.1), "seed": (0, 1)}, {"n": 6})


def whose(scale, seed):
    return xarray.Dataset({"process": os.getpid()})


def left_in(folder, name):
    (folder / name).write_text(str(os.getpid()), encoding="utf-8")
    return xarray.Dataset()


def refused(folder):
    raise ZeroDivisionError("no work")


def settled(kept):
    found = []
    while kept.wait(0.05):
        found += kept.settled()
    return found + kept.settled()


def test_sweeps_share_workers_and_other_work_is_done_by_them(tmp_path):
    entered = []

    class Beside:
        def __enter__(self):
            entered.append("up")

        def __exit__(self, *reason):
            entered.append("down")

    one = Grid({"scale": (1.0, 2.0, 3.0), "seed": (0,)})
    with Kept(Processes(1), Beside) as kept:
        assert entered == []
        for name in ("a", "b"):
            kept.add(name, left_in, {"folder": tmp_path, "name": name})
        first, second = sweep(whose, one, engine=kept), sweep(whose, one, engine=kept)
        names = [work.name for work in settled(kept)]
        assert entered == ["up"]
    assert entered == ["up", "down"] and sorted(names) == ["a", "b"]
    found = {int((tmp_path / name).read_text(encoding="utf-8")) for name in names}
    used = {*first["process"].values.ravel(), *second["process"].values.ravel()}
    assert len(used) == 1 and found == used and os.getpid() not in used


def test_numbers_are_those_of_any_engine_and_seconds_are_counted(tmp_path):
    with Kept(Processes(2)) as kept:
        kept.add("x", left_in, {"folder": tmp_path, "name": "x"}, first=True)
        found = sweep(engine_points.point, GRID, store=Store(tmp_path / "store"), engine=kept)
        (work,) = settled(kept)
    xarray.testing.assert_identical(found, sweep(engine_points.point, GRID))
    assert kept.seconds > 0 and work.name == "x" and work.seconds > 0


def test_work_that_raises_is_over_and_a_sweep_that_fails_loses_none(tmp_path):
    with Kept(Serial()) as kept:
        kept.add("bad", refused, {"folder": tmp_path})
        kept.add("good", left_in, {"folder": tmp_path, "name": "good"})

        def interrupt(done, total, label):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sweep(whose, GRID, engine=kept, progress=interrupt)
        assert {work.name for work in settled(kept)} == {"bad", "good"}
    assert (tmp_path / "good").exists()
