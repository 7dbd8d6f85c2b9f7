"""Commands on bad files, places and machines: one sentence and an exit code, never a traceback."""

import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from biasflow.cli import commands, main

SPEC = 'function = "min_l2"\n[axes]\nseed = [0, 1]\n[settings]\nn = 4\nd = 10\nsparsity = 2\n'


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASFLOW_CACHE", "cache")
    (tmp_path / "spec.toml").write_text(SPEC)


@pytest.fixture
def cli(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["biasflow", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return run


def archive() -> bytes:
    held = io.BytesIO()
    np.savez(held, X=np.eye(3), y=np.ones(3))
    return held.getvalue()


def lying_header() -> bytes:
    """An array of a few bytes that claims 10¹⁵ entries."""
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("X.npy", array.getvalue() + bytes(80))
        file.writestr("y.npy", array.getvalue())
    return held.getvalue()


def single_array() -> bytes:
    held = io.BytesIO()
    np.save(held, np.eye(3))
    return held.getvalue()


def broken_checksum() -> bytes:
    whole = archive()
    middle = whole.index(np.ones(1).tobytes())  # an entry of the identity
    return whole[:middle] + b"\1" + whole[middle + 1 :]


BAD = {
    "no archive": lambda: b"PK\3\4 and no more",
    "cut": lambda: archive()[:200],
    "wrong CRC": broken_checksum,
    "a single array": single_array,
    "a lying header": lying_header,
    "empty": lambda: b"",
}


@pytest.mark.parametrize("content", BAD)
def test_bad_archives_of_data(cli, tmp_path, content):
    (tmp_path / "data.npz").write_bytes(BAD[content]())
    code, _, err = cli("verify", "W/thm1", "--data", "data.npz")
    assert code == 2 and "error: --data: cannot read data.npz" in err and "Traceback" not in err


def test_a_network_that_does_not_fit_into_memory(cli, tmp_path, monkeypatch):
    """The sentence is made of any MemoryError; the width that once raised it is not tried here."""
    (tmp_path / "data.npz").write_bytes(archive())

    def too_much(*arguments):
        raise MemoryError("Unable to allocate 1.46 TiB")

    monkeypatch.setattr("biasflow.cli.verify_command.on_data", too_much)
    code, _, err = cli("verify", "W/thm1", "--data", "data.npz")
    assert code == 2 and err.startswith("error: not enough memory (Unable to allocate 1.46 TiB)")


@pytest.mark.parametrize(
    "command", [("figure", "W/fig1", "--out"), ("numbers", "--only", "W/fig1", "--out")]
)
def test_outputs_that_cannot_be_written_are_told_before_anything_is_computed(
    cli, tmp_path, command
):
    (tmp_path / "x.png").mkdir()
    code, _, err = cli(*command, "x.png")
    assert code == 2 and "x.png is a folder" in err
    code, _, err = cli(*command, "nowhere/x.png")
    assert code == 2 and "the folder nowhere does not exist" in err
    os.mkfifo(tmp_path / "pipe.png")
    code, _, err = cli(*command, "pipe.png")
    assert code == 2 and "device or a pipe" in err


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc elsewhere")
def test_a_folder_that_takes_no_files(cli, monkeypatch):
    monkeypatch.setattr("biasflow.report.make_figure", _drawn)
    code, _, err = cli("figure", "W/fig1", "--out", "/proc/x.png")
    assert code == 2 and err.strip() == "error: /proc/x.png: No such file or directory"


def _drawn(*arguments):
    from types import SimpleNamespace

    return SimpleNamespace(failure=None, image=b"", movie=b"")


def test_collect_writes_through_links_and_refuses_devices(cli, tmp_path):
    """Renaming replaced the link, and a device node for those who may."""
    assert cli("sweep", "run", "spec.toml", "--engine", "serial")[0] == 0
    (tmp_path / "real").mkdir()
    (tmp_path / "link.nc").symlink_to(tmp_path / "real" / "out.nc")
    assert cli("sweep", "collect", "spec.toml", "-o", "link.nc")[0] == 0
    assert (tmp_path / "link.nc").is_symlink() and (tmp_path / "real" / "out.nc").read_bytes()[
        :3
    ] == b"CDF"
    assert (
        cli("sweep", "collect", "spec.toml", "-o", "link.nc")[0] == 0
        and (tmp_path / "link.nc").is_symlink()
    )
    os.mkfifo(tmp_path / "pipe.nc")
    for place, word in (("pipe.nc", "device or a pipe"), ("real", "is a folder")):
        code, _, err = cli("sweep", "collect", "spec.toml", "-o", place)
        assert code == 2 and word in err


def test_status_and_collect_write_nothing(cli, tmp_path):
    """A store that is empty and read-only could not be looked at."""
    code, out, _ = cli("sweep", "status", "spec.toml")
    assert (
        code == 0
        and "2 points: 0 done, 0 failed, 2 to do" in out
        and not (tmp_path / "cache").exists()
    )
    code, _, err = cli("sweep", "collect", "spec.toml", "--partial")
    assert (
        code == 2
        and "no point of this sweep is stored" in err
        and not (tmp_path / "cache").exists()
    )


def test_a_store_with_an_impossible_name(cli, monkeypatch):
    monkeypatch.setenv("BIASFLOW_CACHE", "x" * 300)
    code, _, err = cli("sweep", "status")
    assert code == 2 and "error: store: cannot" in err and "too long" in err


def test_where_every_point_fails_the_reason_is_one_sentence(cli, tmp_path):
    (tmp_path / "spec.toml").write_text(
        'function = "gradient_flow"\n[axes]\nseed = [0]\n[settings]\nn=4\nd=9\nscale="a"\n'
    )
    code, _, err = cli("sweep", "run", "spec.toml", "--engine", "serial")
    assert code in (1, 2) and "error: " in err and "Traceback" not in err
    (tmp_path / "spec.toml").write_text(
        'function = "W/fig1"\npreset = "quick"\n[axes]\nseed = [0]\n[settings]\nn = "a"\n'
    )
    code, _, err = cli("sweep", "run", "spec.toml", "--engine", "serial")
    assert code in (1, 2) and "error: " in err and "Traceback" not in err


def test_a_foreign_error_at_every_point(cli, monkeypatch):
    monkeypatch.setattr("biasflow.experiments.specs.read_spec", _raising_spec)
    code, _, err = cli("sweep", "run", "spec.toml", "--engine", "serial")
    assert (
        code == 1
        and "error: every point failed; the first at " in err
        and ": ArithmeticError: no 0\n`biasflow sweep status" in err
    )


def _raising_spec(path):
    import fault_points
    from biasflow.experiments.specs import Spec
    from biasflow.sweeps.grids import Grid

    return Spec("raises", fault_points.sometimes_raises, Grid({"x": (0,)}, {"broken": 0}))


def test_a_time_limit_needs_processes(cli):
    code, _, err = cli("sweep", "run", "spec.toml", "--engine", "serial", "--point-time", "5")
    assert code == 2 and "Serial cannot stop a point" in err


def shell(command: str, **options) -> subprocess.CompletedProcess:
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHON": sys.executable}
    return subprocess.run(
        ["sh", "-c", command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_behind_stdout():
    done = shell('"$PYTHON" -m biasflow.cli list > /dev/full')
    assert done.returncode == 2 and done.stderr == "error: No space left on device\n"


def test_the_doctor_reports_from_a_folder_that_is_gone(tmp_path):
    (tmp_path / "gone").mkdir()
    done = shell('cd gone && rmdir ../gone && "$PYTHON" -m biasflow.cli doctor', cwd=tmp_path)
    assert (
        "Traceback" not in done.stderr
        and "the current folder is gone" in done.stdout
        and done.returncode == 0
    )


def test_an_interruption_while_commands_load(monkeypatch):
    """Ctrl-C in the first tenth of a second: modules are still being imported."""
    import builtins

    genuine = builtins.__import__

    def interrupted(name, *rest, **options):
        if name == "commands":
            raise KeyboardInterrupt
        return genuine(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 130


def test_an_interruption_of_a_command(cli, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("biasflow.cli.health.diagnosis", interrupted)
    assert cli("doctor")[0] == commands.INTERRUPTED == 130
