"""No process compiles what another is compiling."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

fcntl = pytest.importorskip("fcntl")

MODULE = """
from biasflow._numerics.compilation import announced, entry

@entry
def add(x, y):
    return x + y

def tell():
    total = announced("adding", add, 1.0, 2.0)
    stats = add.__wrapped__.stats
    print(total, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
LOADED, COMPILED = "3.0 1 0", "3.0 0 1"


@pytest.fixture
def add(tmp_path, monkeypatch):
    """An entry point in a module of its own, with a place for its machine code."""
    (tmp_path / "adding_kernels.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "adding_kernels", raising=False)
    kernel = importlib.import_module("adding_kernels").add
    kernel._cache._impl.locator.ensure_cache_path()
    yield kernel
    del sys.modules["adding_kernels"]


def started(add):
    """Another process that calls it."""
    command = [sys.executable, "-c", "import adding_kernels; adding_kernels.tell()"]
    folder = Path(add.py_func.__code__.co_filename).parent
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, **pipes)


def ended(process):
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip(), errors


def test_the_second_waits_says_so_and_loads(add):
    with open(add._cache.lock, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711")
        lock.flush()
        second = started(add)
        said = second.stderr.readline()
        assert said == "biasflow: waiting for process 4711, which is compiling the adding kernels\n"
        add._cache.turn = lock
        assert add(3.0, 4.0) == 7.0
    output, errors = ended(second)
    assert output == LOADED and errors == ""


def test_a_lock_whose_process_died_is_nobodys(add):
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
            "print('held', flush=True); time.sleep(600)",
            str(add._cache.lock),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        second = started(add)
        assert "waiting for process" in second.stderr.readline()
        holder.kill()
    assert ended(second)[0] == COMPILED


def test_a_compilation_that_fails_lets_the_next_go_on(add):
    with pytest.raises(Exception, match="add"):
        add(1.0, "text")
    assert add._cache.turn is None
    with open(add._cache.lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert add(1.0, 2.0) == 3.0 and add._cache.turn is None


def test_where_locks_cannot_be_kept_each_compiles_for_itself(add, monkeypatch):
    from biasflow._numerics import compilation

    def no_locks(path):
        raise OSError("no locks on this disk")

    monkeypatch.setattr(compilation, "_locked", no_locks)
    assert add(1.0, 2.0) == 3.0


def test_who_waits_too_long_compiles(add, monkeypatch, capfd):
    from biasflow._numerics import compilation

    monkeypatch.setattr(compilation, "PATIENCE_S", 0.3)
    with open(add._cache.lock, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert compilation.announced("adding", add, 1.0, 2.0) == 3.0
    said = capfd.readouterr().err
    assert "waiting for process" in said and "compiling the adding kernels; this" in said
