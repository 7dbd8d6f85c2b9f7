"""docs/errata.md: every erratum names what shows it, and every name is there."""

import ast
import functools
import re
from pathlib import Path

import pytest
from test_mutations import WORLDS

import biasflow as bf

ROOT = Path(__file__).parents[2]
PACKAGES = {"R": "mirror", "B": "relu", "C": "margin", "W": "regimes", "S": "since"}
NAME = re.compile(r"`([^`]+)`")


def errata():
    """Where each erratum stands in its paper, and its cell 'shown by'."""
    rows, paper = [], ""
    for line in (ROOT / "docs/errata.md").read_text().splitlines():
        if line.startswith("## "):
            paper = line[3]
        elif line.startswith("| ") and not line.startswith("| where "):
            cells = [
                cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]
            ]
            assert len(cells) == 4, f"not four cells: {line}"
            rows.append(pytest.param(cells[3], id=f"{paper} {cells[0]}"))
    return rows


@functools.cache
def literals(folder):
    """What the modules of a folder say: their strings, with {} for what is filled in."""
    found = []
    for module in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "{}"
                        for part in node.values
                    )
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return tuple(found)


def resolve(name):
    """None where a name is there, else what is missing."""
    if name.startswith("tests/"):
        path, _, function = name.partition("::")
        if not (ROOT / path).is_file():
            return f"{path}: no such file"
        tests = [
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text()))
            if isinstance(node, ast.FunctionDef)
        ]
        return None if function in tests else f"{path}: no test {function!r}"
    item, _, words = name.partition(": ")
    if item not in bf.claims() and (words or item not in bf.figures()):
        return f"{item}: no such claim or figure"
    said = literals(ROOT / "src/biasflow/theory" / PACKAGES[item[0]])
    changed = [world.change for world in WORLDS if world.claim == item]
    return (
        None
        if not words or any(words in text for text in (*said, *changed))
        else f"{item}: no check or world {words!r}"
    )


@pytest.mark.parametrize("shown_by", errata())
def test_each_erratum_names_what_shows_it(shown_by):
    names = NAME.findall(shown_by)
    assert names, "nothing is named"
    assert not [reason for reason in map(resolve, names) if reason is not None]


@pytest.mark.parametrize(
    "name",
    [
        "R/eq33",
        "R/eq3: no such words",
        "R/fig3: the clock",
        "tests/no.py::test_x",
        "tests/theory/test_errata.py::test_x",
    ],
)
def test_a_name_that_is_not_there_is_missed(name):
    assert resolve(name) is not None
