"""Shells complete commands, options and ids, at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import biasflow.cli
from biasflow import experiments, theory

IDS = Path(biasflow.cli.__file__).with_name("ids.txt")
SECONDS = 0.5  # of a processor that a key press may take, interpreter start included
SCIENCE = ("numpy", "scipy", "jax", "xarray", "matplotlib", "numba")


def completions(words):
    environment = os.environ | {
        "_BIASFLOW_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    run = subprocess.run(
        [sys.executable, "-m", "biasflow.cli"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.split()


def test_ids_beside_the_code_are_those_of_the_registries():
    """`biasflow list` has them; write the file anew when a claim or a figure is added."""
    own = [f"claim {claim.id}" for claim in theory.verification.CLAIMS]
    own += [f"figure {figure.id}" for figure in experiments.EXPERIMENTS]
    assert IDS.read_text(encoding="utf-8").split("\n") == [*own, ""]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("biasflow expla", ["explain"]),
        ("biasflow explain W/thm", ["W/thm1", "W/thm2", "W/thm3"]),
        ("biasflow verify W/thm2", ["W/thm2"]),
        ("biasflow figure W/fig1", ["W/fig1"]),
        ("biasflow verify --netw", ["--network"]),
        ("biasflow verify --network d", ["diagonal", "directions"]),
        ("biasflow reproduce --only W/lem1", ["W/lem1"]),
        ("biasflow completion z", ["zsh"]),
    ],
)
def test_words_are_completed(words, found):
    assert completions(words) == found


def test_completion_is_instant_and_imports_no_science():
    def once():
        begun = os.times()
        completions("biasflow explain W/")
        ended = os.times()
        return sum(ended[2:4]) - sum(begun[2:4])  # processor time of the child

    assert min(once() for _ in range(3)) < SECONDS
    code = (
        "import sys\n"
        "from biasflow.cli import commands, completion\n"
        "assert completion.claims_from('W/') and commands.script('bash')\n"
        f"assert not [name for name in {SCIENCE} if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell):
    run = subprocess.run(
        [sys.executable, "-m", "biasflow.cli", "completion", shell],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_BIASFLOW_COMPLETE" in run.stdout and f"complete_{shell}" in run.stdout
    assert "biasflow" in run.stdout


def test_bash_accepts_its_script(tmp_path):
    script = subprocess.run(
        [sys.executable, "-m", "biasflow.cli", "completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (tmp_path / "script").write_text(script)
    subprocess.run(["bash", "-n", str(tmp_path / "script")], check=True)
