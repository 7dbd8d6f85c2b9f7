"""Claims and figures of other packages: found by their entry points, used by their ids, or passed
as objects."""

import subprocess
import sys
from pathlib import Path

import pytest

import biasflow as bf
from biasflow import experiments, theory
from biasflow._core import offers
from biasflow.experiments.experiment import Experiment

SOURCE = Path(bf.__file__).parents[1]

MODULE = """
import numpy as np
import xarray

import biasflow as bf
from biasflow.experiments.experiment import Experiment
from biasflow.sweeps.grids import Grid


def halved(evidence):
    y = evidence.problem.data.y
    half, whole = float(np.linalg.norm(y / 2)), float(np.linalg.norm(y))
    return (bf.theory.Check("‖y/2‖", half, "<=", whole, 1e-12, witness="arithmetic"),)


def example(key):
    model, data = bf.DiagonalNetwork(2), bf.data.sparse_regression(3, 6, 1, 0.0, key=key)
    return bf.Problem(model, data, bf.SquareLoss("half"), model.init(0.1, dim=6))


CLAIM = bf.theory.Claim("X/half", "Half of the labels are smaller.", "§1", (), example, halved)
TWICE = bf.theory.Claim("W/thm1", "An id that is taken.", "§2", (), example, halved)


def point(x):
    return xarray.Dataset({"square": x**2})


def claims():
    return [CLAIM, TWICE, "no claim"]


def broken():
    raise RuntimeError("not today")


GRID = Grid({"x": (1.0, 2.0)})
FIGURE = Experiment("X/fig1", "Squares.", {"quick": GRID}, point, lambda data: data, None)
"""

USE = """
import warnings
warnings.simplefilter("ignore", RuntimeWarning)
import biasflow as bf
from biasflow.cli import main
assert bf.claims()[-1] == "X/half" and bf.verify("X/half").status == "holds"
assert bf.figure("X/fig1").square.values.tolist() == [1.0, 4.0]
assert bf.verify("W/lem1").status == "holds"
import sys
sys.argv = ["biasflow", "list"]
main()
"""


@pytest.fixture
def package(tmp_path):
    """A package as pip leaves it."""
    (tmp_path / "lottery.py").write_text(MODULE)
    about = tmp_path / "lottery-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lottery\nVersion: 1.2\n")
    entries = (
        "[biasflow.claims]\nsome = lottery:claims\nworse = "
        "lottery:broken\n[biasflow.figures]\none = lottery:FIGURE\n"
    )
    (about / "entry_points.txt").write_text(entries)
    return tmp_path


def test_what_a_package_offers_is_listed_and_used(package):
    paths = {
        "PYTHONPATH": f"{package}:{SOURCE}",
        "PATH": "",
        "COLUMNS": "130",
        "BIASFLOW_CACHE": str(package / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=package, env=paths, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(
        line.split()
        == ["X/half", "[lottery", "1.2]", "Half", "of", "the", "labels", "are", "smaller."]
        for line in lines
    )
    assert any(line.split() == ["X/fig1", "[lottery", "1.2]", "Squares."] for line in lines)
    assert not any("[biasflow" in line for line in lines)


def test_what_cannot_be_used_is_named(package, monkeypatch):
    taken = bf.claims()
    monkeypatch.syspath_prepend(package)
    offers._loaded.cache_clear()
    try:
        with pytest.warns(RuntimeWarning) as told:
            found = offers.offers("biasflow.claims", bf.theory.Claim, taken)
    finally:
        offers._loaded.cache_clear()
        sys.modules.pop("lottery", None)
    assert [offer.value.id for offer in found] == ["X/half"]
    words = " ".join(str(one.message) for one in told)
    assert all(
        part in words
        for part in (
            "lottery 1.2",
            "RuntimeError: not today",
            "'W/thm1', an id that is taken",
            "holds a str",
        )
    )


def test_ours_are_ours_and_objects_need_no_name():
    assert (
        {theory.REGISTER.offer(id).source for id in bf.claims()}
        == {experiments.REGISTER.offer(id).source for id in bf.figures()}
        == {"biasflow"}
    )
    chosen = experiments.experiment("R/fig1")
    assert isinstance(chosen, Experiment) and bf.figure(chosen).equals(bf.figure("R/fig1"))
