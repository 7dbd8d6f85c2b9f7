"""`biasflow warm`, and compilation beside other work."""

import importlib
import sys
import time

import pytest

from biasflow.cli import warm_command
from biasflow.cli.warm_command import Compiled, Family, Ticking, compiling_beside, table, warm

MODULE = """
from biasflow._numerics.compilation import entry, inner

@inner
def double(x):
    return 2 * x

@entry
def quadruple(x):
    return double(double(x))
"""


@pytest.fixture
def family(tmp_path, monkeypatch):
    """One family, of one entry point that calls one other function."""
    (tmp_path / "small_kernels.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "small_kernels", raising=False)
    kernels = importlib.import_module("small_kernels")
    small = Family(lambda: kernels.quadruple(1.0), 5)
    monkeypatch.setattr(warm_command, "FAMILIES", {"small": small})
    yield kernels
    del sys.modules["small_kernels"]


def test_what_is_compiled_is_counted_and_what_is_there_is_not(family):
    told = []
    (found,) = warm(["small"], lambda *news: told.append(news))
    assert found.kernel == "small_kernels.quadruple" and found.seconds > 0
    assert {function.__name__ for function in found.functions} == {"quadruple", "double"}
    assert told[-1] == (5, 5, "compile small")
    told.clear()
    assert list(warm(["small"], lambda *news: told.append(news))) == [] and told == []


def test_the_table_has_every_kernel_and_their_sum():
    slow, fast = Compiled("a.slow", 2.0, {warm, table}), Compiled("b.fast", 0.5, {table})
    text = table([fast, slow])
    heads, first, second, total = (line.split() for line in text.splitlines())
    assert heads == ["kernel", "functions", "lines", "seconds"]
    assert first[0] == "a.slow" and second[0] == "b.fast" and first[1] == "2"
    assert total == ["all", "2", first[2], "2.5"]  # lines that both have count once
    assert int(first[2]) > int(second[2]) > 5
    assert table([]) == "every kernel is compiled already"


def test_progress_goes_by_the_clock_and_ends_with_the_work(monkeypatch):
    monkeypatch.setattr(warm_command, "TICK_S", 0.01)
    told = []
    with Ticking(lambda *news: told.append(news), "relu") as clock:
        clock.start()
        while not told:
            time.sleep(0.01)
    total = warm_command.FAMILIES["relu"].seconds
    assert told[0] == (0, total, "compile relu") and told[-1] == (total, total, "compile relu")


CHILD = """
import time
print("begin relu", flush=True)
print("end relu", flush=True)
print("begin dual", flush=True)
time.sleep(600)
"""


def test_another_process_compiles_as_long_as_the_work_takes(monkeypatch):
    """It is told of as it goes, and does not outlive the work."""
    monkeypatch.setattr(warm_command, "TICK_S", 0.01)
    monkeypatch.setattr(warm_command, "COMMAND", (sys.executable, "-c", CHILD))
    told = []
    with compiling_beside(lambda *news: told.append(news)):
        while not any(label == "compile dual" for *_, label in told):
            time.sleep(0.01)
    count = len(told)
    seconds = warm_command.FAMILIES["relu"].seconds
    assert (seconds, seconds, "compile relu") in told
    assert all(done < total for done, total, label in told if label == "compile dual")
    time.sleep(0.05)
    assert len(told) == count
