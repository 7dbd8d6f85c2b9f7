"""Bars where somebody looks, silence elsewhere; functions of a notebook in worker processes."""

import io
import subprocess
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest
import xarray

import biasflow as bf
from biasflow.sweeps import Tally, progress_bars
from biasflow.sweeps.processes import _packed
from biasflow.sweeps.worker import Task, _other_code

GRID = bf.sweeps.Grid({"x": (1.0, 2.0, 3.0)})


def point(x):
    return xarray.Dataset({"y": x * x})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("progress", "shown"), [(None, False), (False, False), (True, True)])
def test_scripts_are_silent_unless_asked(progress, shown, capsys):
    bf.sweep(point, GRID, progress=progress)
    out, err = capsys.readouterr()
    assert out == "" and ("3/3" in err) is shown
    tallies = []
    bf.sweep(point, GRID, progress=progress, watch=tallies.append)
    assert tallies[-1].done == 3  # whoever watches is told, bar or not


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (100.0, False)])
def test_a_terminal_has_a_bar_after_a_while(patience, shown, monkeypatch):
    monkeypatch.setattr("biasflow.sweeps.resumable.PATIENCE_S", patience)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bf.sweep(point, GRID)
    assert ("3/3" in terminal.getvalue()) is shown
    assert bf.sweep(point, GRID, progress=lambda done, total, label: None).sizes["x"] == 3
    assert (terminal.getvalue().count("3/3") > 0) is shown


def test_notebooks_have_the_same_below_the_cell(monkeypatch, capsys):
    shown = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: object()
    display.HTML = str
    display.display = lambda first, display_id: SimpleNamespace(update=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr("biasflow.sweeps.resumable.PATIENCE_S", 0.0)
    bf.sweep(point, GRID)
    assert "3/3" in shown[-1] and "width:100.0%" in shown[-1]
    assert capsys.readouterr() == ("", "")


def test_the_name_of_a_sweep_is_escaped():
    markup = progress_bars.tally_markup(Tally("<script>", 4, 1, 0, found=0))
    assert "<script" not in markup and "&lt;script&gt;" in markup and "1/4" in markup


def test_without_cloudpickle_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(bf.errors.InputError, match=r"cloudpickle.*%%writefile"):
        _packed(Task(point, "0", (0,), ({"x": 1.0},), by_value=True))


def test_a_worker_asks_a_function_that_travels_for_its_library_alone():
    ours = bf.sweeps.code_version()
    task = Task(point, "0", (0,), ({"x": 1.0},), version=f"{ours}+abc", by_value=True)
    assert _other_code(task) is None
    assert "worker: runs version" in str(_other_code(replace(task, version="old+abc")))


CELL = """
import sys
import xarray
import biasflow as bf

offset = 10.0

def point(x):
    return xarray.Dataset({"y": x + offset})

grid = bf.sweeps.Grid({"x": (1.0, 2.0)})
print(bf.sweep(point, grid, workers=1)["y"].values.tolist())
"""


def test_functions_without_a_file_travel_to_workers(tmp_path):
    pytest.importorskip("cloudpickle")
    command = [sys.executable, "-c", CELL]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[11.0, 12.0]" and done.stderr == ""
