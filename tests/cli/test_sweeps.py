"""`biasflow sweep`, end to end on a small spec."""

import sys

import pytest
import xarray

import biasflow as bf
from biasflow.cli import main
from biasflow.experiments.specs import read_spec
from biasflow.sweeps import Store, Tally, store as store_module, sweep
from biasflow.sweeps.progress_bars import tally_line

SPEC = 'function = "min_l2"\n[axes]\nn = [4, 6]\nseed = [0, 1]\n[settings]\nd = 10\nsparsity = 2\n'
BROKEN = SPEC.replace("[0, 1]", "[0, 1, -1]")  # a negative seed makes no data


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASFLOW_CACHE", "cache")
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "broken.toml").write_text(BROKEN)


@pytest.fixture
def cli(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["biasflow", "sweep", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return run


def test_run_status_collect_clean(cli, tmp_path):
    assert "no sweeps yet" in cli("status")[1]
    code, out, _ = cli("run", "spec.toml", "--workers", "2")
    assert code == 0 and "4 of 4 points done, 0 failed" in out
    code, out, _ = cli("status", "spec.toml")
    assert code == 0 and "4 points: 4 done, 0 failed, 0 to do" in out and "min_l2_point" in out
    code, out, _ = cli("collect", "spec.toml", "-o", "out.nc")
    assert code == 0 and "4 points, 0 failed, 0 missing" in out
    spec = read_spec("spec.toml")
    with xarray.open_dataset("out.nc", engine="scipy") as data:
        expected = sweep(spec.point, spec.grid)
        assert data.beta.values.tobytes() == expected.beta.values.tobytes() and data.beta.dims == (
            "n",
            "seed",
            "coordinate",
        )
        assert (
            data.attrs["code_version"] == expected.attrs["code_version"]
            and data.attrs["seeds"] == '{"seed":[0,1]}'
        )
    assert cli("clean", "--yes")[0] == 0 and "4 done" in cli("status", "spec.toml")[1]
    assert cli("clean", "--all", "--yes")[0] == 0 and "no sweeps yet" in cli("status")[1]


def test_engines_agree(cli):
    assert cli("run", "spec.toml", "--engine", "serial")[0] == 0
    cli("collect", "spec.toml", "-o", "serial.nc")
    cli("clean", "--all", "--yes")
    pytest.importorskip("distributed")
    assert cli("run", "spec.toml", "--engine", "dask", "--workers", "1")[0] == 0
    cli("collect", "spec.toml", "-o", "dask.nc")
    with open("serial.nc", "rb") as one, open("dask.nc", "rb") as two:
        assert one.read() == two.read()


def test_failures_are_told_with_their_traceback(cli):
    code, out, _ = cli("run", "broken.toml", "--engine", "serial")
    assert code == 1 and "4 of 6 points done, 2 failed" in out and "--retry-failed" in out
    code, out, _ = cli("status", "broken.toml")
    assert (
        code == 0
        and "2 failed" in out
        and "failed at {'d': 10" in out
        and "Traceback" in out
        and "'seed': -1" in out
    )
    assert cli("run", "broken.toml", "--engine", "serial", "--retry-failed")[0] == 1
    code, out, _ = cli("collect", "broken.toml", "-o", "out.nc")
    assert code == 0 and "4 points, 2 failed" in out
    with xarray.open_dataset("out.nc", engine="scipy") as data:
        assert int(data.failed.sum()) == 2


def test_collect_wants_every_point_unless_told(cli):
    code, _, err = cli("collect", "spec.toml")
    assert code == 2 and "4 of 4 points are not stored" in err
    assert cli("collect", "spec.toml", "--partial")[0] == 2
    small = read_spec("spec.toml")
    sweep(
        small.point,
        bf.sweeps.Grid({"n": (4,), "seed": (0, 1)}, small.grid.settings),
        store=Store("cache"),
    )
    assert cli("collect", "spec.toml", "--partial", "-o", "part.nc")[0] == 0
    with xarray.open_dataset("part.nc", engine="scipy") as data:
        assert data.missing.values.tolist() == [[0, 0], [1, 1]]


def test_stale_results_are_named_and_cleaned_after_asking(cli, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "code_version", lambda *roots: "0123456789abcdef")
        patch.setattr(store_module, "function_version", lambda function: "0123456789abcdef")
        sweep(read_spec("spec.toml").point, read_spec("spec.toml").grid, store=Store("cache"))
    code, out, _ = cli("status", "spec.toml")
    assert (
        code == 0
        and "4 to do" in out
        and "[stale: 0123456789abcdef]: 4 points" in out
        and "never used" in out
    )
    monkeypatch.setattr("builtins.input", lambda *prompt: "n")
    monkeypatch.setattr("typer.confirm", lambda *prompt: False)
    assert cli("clean")[0] == 1 and (tmp_path / "cache" / "0123456789abcdef").exists()
    assert cli("clean", "--yes")[0] == 0 and not (tmp_path / "cache" / "0123456789abcdef").exists()


def test_clean_does_not_pull_the_floor_from_under_a_running_sweep(cli):
    from biasflow.sweeps.locks import Locks
    from biasflow.sweeps.shards import LOCKS

    cli("run", "spec.toml", "--engine", "serial")
    shelf = Store("cache").shelf(read_spec("spec.toml").point)
    with Locks(shelf.folder / LOCKS) as locks:
        locks.acquire("chunk")
        code, _, err = cli("clean", "--all", "--yes")
    assert code == 2 and "a sweep is running" in err and "4 done" in cli("status", "spec.toml")[1]


@pytest.mark.parametrize(
    "arguments, text, word",
    [
        (("run", "none.toml"), "", "no file none.toml"),
        (
            ("run", "spec.toml"),
            SPEC.replace("[4, 6]", "{ range = [1, 2000000] }"),
            "more than the limit of 1,000,000",
        ),
        (("run", "spec.toml"), SPEC.replace("[4, 6]", "[]"), "no points"),
        (("run", "spec.toml", "--address", "tcp://here:1"), SPEC, "--engine dask"),
        (("collect", "spec.toml", "-o", "nowhere/x.nc"), SPEC, "does not exist"),
    ],
)
def test_bad_input_is_one_sentence(cli, tmp_path, arguments, text, word):
    (tmp_path / "spec.toml").write_text(text)
    code, _, err = cli(*arguments)
    assert code == 2 and word in err and "Traceback" not in err


def test_a_tally_in_words():
    tally = Tally("f", 100, done=40, failed=2, running=4, elsewhere=3, found=2, seconds=10.0)
    assert tally_line(tally) == "4 running, 2 failed, 3 elsewhere, 4/s, ETA 0:00:14"
