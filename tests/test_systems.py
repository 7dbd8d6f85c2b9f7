"""What Linux alone has may be missing: everything imports, and the rest degrades. Each process of
these tests, workers included, is started as on a system without it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from biasflow.sweeps import files
from biasflow.sweeps.processes import _signal_name

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = """
import os, sys, sysconfig

sysconfig.get_config_vars()  # by the name of the system that Python was built for
try:
    import psutil  # which others import, and which knows this system alone
except ImportError:
    pass
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "sched_getaffinity", "getuid", "getloadavg", "setsid", "killpg", "sysconf"):
    delattr(os, name)
sys.platform = "elsewhere"
"""
IMPORT_EVERYTHING = """
import importlib, pkgutil, sys, biasflow

for module in pkgutil.walk_packages(biasflow.__path__, "biasflow."):
    if not module.name.endswith(("__main__", "gpu_kernels")):
        importlib.import_module(module.name)
assert sys.modules["fcntl"] is None and sys.platform == "elsewhere"
print("all")
"""
SWEEP = """
import os, sys, time
from pathlib import Path

import xarray
import biasflow as bf

def point(x, seconds):
    Path(f"worker-{x}").write_text(str(os.getpid()))
    time.sleep(seconds)
    return xarray.Dataset({"twice": 2.0 * x})

if __name__ == "__main__":
    grid = bf.sweeps.Grid({"x": (1, 2)}, {"seconds": float(sys.argv[1])})
    store = bf.sweeps.Store("store")
    found = bf.sweep(point, grid, engine=bf.sweeps.Processes(2), store=store)
    print(*found.twice.values.ravel())
"""
COMPILE = """
from biasflow._numerics.compilation import announced, entry

def double(x):
    return 2.0 * x

double = entry(double)
print(announced("doubling", double, 21.0))
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Starts Python on a system that has none of it."""
    (tmp_path / "sitecustomize.py").write_text(ELSEWHERE, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")]),
        "BIASFLOW_CACHE": str(tmp_path / "store"),
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
    }

    started: list[subprocess.Popen] = []

    def start(*arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        with process:  # closes its pipes
            pass


def printed(process: subprocess.Popen) -> str:
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out


def test_every_module_imports(elsewhere):
    assert printed(elsewhere("-c", IMPORT_EVERYTHING)) == "all\n"


def test_kernels_compile_and_are_cached_without_locks(elsewhere, tmp_path):
    script = tmp_path / "compiles.py"
    script.write_text(COMPILE, encoding="utf-8")
    for _ in range(2):
        assert printed(elsewhere(str(script))) == "42.0\n"
    assert list((tmp_path / "kernels").rglob("*.nbc"))


def test_the_doctor_says_what_is_missing(elsewhere):
    said = printed(elsewhere("-m", "biasflow", "doctor"))
    assert "no fcntl" in said and "no prctl" in said and "fully supported" not in said


def test_a_sweep_runs_in_processes_and_is_kept(elsewhere, tmp_path):
    script = tmp_path / "sweeps.py"
    script.write_text(SWEEP, encoding="utf-8")
    assert printed(elsewhere(str(script), "0")) == "2.0 4.0\n"
    begun = [path.stat().st_mtime_ns for path in tmp_path.glob("worker-*")]
    assert printed(elsewhere(str(script), "0")) == "2.0 4.0\n"
    assert [path.stat().st_mtime_ns for path in tmp_path.glob("worker-*")] == begun


@pytest.mark.skipif(os.name != "posix", reason="looks for processes by signal 0")
def test_workers_end_with_a_driver_that_is_killed(elsewhere, tmp_path):
    script = tmp_path / "sweeps.py"
    script.write_text(SWEEP, encoding="utf-8")
    driver = elsewhere(str(script), "600")
    written = [tmp_path / "worker-1", tmp_path / "worker-2"]
    assert within(300, lambda: all(path.exists() and path.read_text() for path in written))
    workers = [int(path.read_text()) for path in written]
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    assert within(60, lambda: not any(map(runs, workers)))


def within(seconds: float, happens) -> bool:
    last = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > last:
            return False
        time.sleep(0.05)
    return True


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # one that has ended may wait for somebody to notice
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_file_that_is_being_read_is_replaced_and_removed_later(tmp_path, monkeypatch):
    refusals = iter([PermissionError, PermissionError, None, PermissionError, None])

    def refusing(change):
        def tried(*arguments, **options):
            if (refusal := next(refusals)) is not None:
                raise refusal("used by another process")
            return change(*arguments, **options)

        return tried

    page, new = tmp_path / "page", tmp_path / "new"
    page.write_text("old")
    new.write_text("new")
    monkeypatch.setattr(files, "SHARES", False)
    monkeypatch.setattr(os, "replace", refusing(os.replace))
    monkeypatch.setattr(Path, "unlink", refusing(Path.unlink))
    files.replace_file(new, page)
    assert page.read_text() == "new"
    files.remove_file(page)
    assert not page.exists() and next(refusals, "none left") == "none left"


@pytest.mark.parametrize("shares", [True, False])
def test_a_refusal_for_good_is_told(shares, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError("no")

    monkeypatch.setattr(files, "SHARES", shares)
    monkeypatch.setattr(files, "READ_S", 0.1)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        files.replace_file(tmp_path / "a", tmp_path / "b")


def test_signals_without_a_name_have_a_number():
    assert _signal_name(9) == "SIGKILL" and _signal_name(50) == "signal 50"


@pytest.mark.parametrize(("asked", "alpha"), [("", "α"), ("cp1252", "?")])
def test_what_a_code_page_lacks_is_no_error(asked, alpha):
    """As on Windows, where pipes have a code page."""
    code = (
        "import io, sys, biasflow.cli as cli;"
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'cp1252');"
        "sys.argv = ['biasflow', 'list', 'W/thm2']; cli.main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": asked}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert f"{alpha} below" in done.stdout.decode("utf-8", errors="replace")
