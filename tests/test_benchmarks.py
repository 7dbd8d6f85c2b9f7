"""Benchmarks run by hand, so that names which moved would go unnoticed: whatever they take from
this package is looked up, inside functions too, and calls are held against signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
BESIDE = {path.stem for path in SCRIPTS}
MISSING = object()


def is_ours(module: str | None) -> bool:
    return module is not None and (module.split(".")[0] == "biasflow" or module in BESIDE)


def found_in(module: str, name: str) -> Any:
    """What `from module import name` gives, or MISSING."""
    home = importlib.import_module(module)
    if not hasattr(home, name):
        try:
            return importlib.import_module(f"{module}.{name}")
        except ImportError:
            return MISSING
    return getattr(home, name)


def imports(tree: ast.AST) -> Iterator[tuple[str, str, Any]]:
    """(alias, what was asked for, what it is) of every import of ours, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_ours(node.module):
            for alias in node.names:
                asked = f"{node.module}.{alias.name}"
                yield alias.asname or alias.name, asked, found_in(str(node.module), alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if is_ours(alias.name):
                    yield (
                        alias.asname or alias.name,
                        alias.name,
                        importlib.import_module(alias.name),
                    )


def value_of(node: ast.AST, names: dict[str, Any]) -> Any:
    """What an expression like bf.training.train is, or None where only a run could tell."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        home = value_of(node.value, names)
        if isinstance(home, types.ModuleType):
            return getattr(home, node.attr, MISSING)
    return None


def why_not(call: ast.Call, function: Any) -> str | None:
    """Why a function does not take these arguments, if it can be told from here."""
    function = getattr(function, "py_func", function)  # of a compiled one
    starred = any(isinstance(value, ast.Starred) for value in call.args)
    if starred or any(word.arg is None for word in call.keywords):
        return None
    try:
        inspect.signature(function).bind(
            *call.args, **{str(word.arg): word.value for word in call.keywords}
        )
    except TypeError as reason:
        return str(reason)
    except ValueError:  # some types have no signature
        return None
    return None


def complaints(source: str) -> list[str]:
    tree, names, found = ast.parse(source), {}, []
    for alias, asked, value in imports(tree):
        names[alias] = value
        if value is MISSING:
            found.append(f"there is no {asked}")
    rebound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    names = {alias: value for alias, value in names.items() if alias not in rebound}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and value_of(node, names) is MISSING:
            found.append(f"line {node.lineno}: there is no {ast.unparse(node)}")
        if isinstance(node, ast.Call):
            function = value_of(node.func, names)
            if callable(function) and function is not MISSING:
                reason = why_not(node, function)
                if reason is not None:
                    found.append(f"line {node.lineno}: {ast.unparse(node.func)}: {reason}")
    return found


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize("script", [path.stem for path in SCRIPTS])
def test_what_a_benchmark_takes_from_the_package_is_there(script):
    assert complaints((FOLDER / f"{script}.py").read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    from biasflow.flows.relu.event_flow import _per_step",
        "import biasflow as bf\ndef f():\n    return bf.training.no_such_thing()",
        "from timing import table\ntable('a title', [], [], '', 'one too many')",
        "def f():\n    from biasflow.flows.relu.event_runs import run_events\n    run_events(1, 2)",
    ],
)
def test_what_is_gone_is_noticed(source):
    assert len(complaints(source)) == 1
