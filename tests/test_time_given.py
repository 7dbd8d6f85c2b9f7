"""What the library computes for others has an explicit time limit: no result depends on a default
and so on what else the machine does."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import biasflow

PACKAGE = Path(biasflow.__file__).parent
CALLERS = ("diagnostics", "estimators", "experiments", "explore", "regime", "report", "theory")
ROOMS = ("diagnostics", "flows", "limits", "regime", "theory", "training")


def timed():
    """The public functions that take a time limit, by name."""
    rooms = [importlib.import_module(f"biasflow.{room}") for room in ROOMS]
    public = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {
        name
        for name, each in public.items()
        if inspect.isfunction(each) and "time_s" in inspect.signature(each).parameters
    }


def untimed_calls(tree, names):
    """Lines on which one of these is called without a time limit."""
    own = {
        arg.arg for node in ast.walk(tree) if isinstance(node, ast.arguments) for arg in node.args
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        by_name = isinstance(call.func, ast.Name) and call.func.id not in own
        given = {keyword.arg for keyword in call.keywords}
        # None stands for **options, which hand on what was given
        if by_name and call.func.id in names and not given & {"time_s", None}:
            yield call.lineno


def test_the_functions_with_a_time_limit_are_found():
    assert timed() >= {"gradient_flow", "mirror_flow", "limit", "f1_max_margin", "certify", "train"}
    tree = ast.parse("def f(limit):\n limit(3)\n train(p)\n train(p, time_s=1)\n train(p, **o)")
    assert list(untimed_calls(tree, {"limit", "train"})) == [3]


@pytest.mark.parametrize("room", CALLERS)
def test_every_call_says_how_long_it_may_take(room):
    names = timed()
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line in untimed_calls(ast.parse(path.read_text(encoding="utf-8")), names)
    ]
    assert not found
