"""The documented names are the public names."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import biasflow as bf

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


def test_documented_names_equal_all():
    words = {
        word for chunk in re.findall(r"`([^`]+)`", PAGE) for word in re.findall(r"^\w+", chunk)
    }
    assert set(bf.__all__) <= words
    assert {word for word in words if hasattr(bf, word)} == set(bf.__all__)
    assert len(bf.__all__) == len(set(bf.__all__))


def test_no_subpackage_shares_its_name_with_a_public_function():
    folders = {path.name for path in Path(bf.__file__).parent.iterdir() if path.is_dir()}
    assert all(inspect.ismodule(getattr(bf, name)) for name in folders & set(bf.__all__))


def test_rooms_are_there_from_the_start():
    code = (
        "import biasflow as bf; print(bf.limits.min_l1.__name__, bf.flows.gradient_flow is "
        "bf.gradient_flow)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["min_l1", "True"]
