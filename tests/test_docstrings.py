"""Docstrings of public names: sections that name every parameter, and examples that run."""

import doctest
import functools
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import biasflow as bf

API = (Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")
ROOMS = (
    "data",
    "potentials",
    "models",
    "limits",
    "flows",
    "training",
    "diagnostics",
    "regime",
    "theory",
    "experiments",
    "estimators",
    "losses",
    "sweeps",
)
LONGEST = 6
"""Lines of code in an example."""
WITHOUT = {"params0"}
"""Words of 0.1."""


def flat_names():
    return [
        name for name in dir(bf) if not name.startswith("_") and not inspect.ismodule(find(name))
    ]


def find(name):
    return functools.reduce(getattr, name.split("."), bf)


def room_names():
    listed = set(re.findall(r"`(\w+\.\w+)", API))
    return sorted(name for name in listed if name.partition(".")[0] in ROOMS)


def functions():
    """Public functions, flat or one dot away."""
    return [name for name in flat_names() + room_names() if inspect.isfunction(find(name))]


def text(name):
    return inspect.getdoc(find(name)) or ""


def with_examples():
    return [name for name in flat_names() + room_names() if ">>>" in text(name)]


@functools.cache
def examples(name):
    return doctest.DocTestParser().get_doctest(text(name), {}, name, None, None)


@pytest.mark.parametrize("name", [*flat_names(), *functions()])
def test_every_flat_name_and_every_function_has_an_example(name):
    found = examples(name).examples
    assert found, name
    assert sum(len(one.source.splitlines()) for one in found) <= LONGEST
    assert any(one.want for one in found)  # it prints something


@pytest.mark.parametrize("name", functions())
def test_every_parameter_is_described(name):
    found = find(name)
    wanted = [
        parameter.name
        for parameter in inspect.signature(inspect.unwrap(found)).parameters.values()
        if parameter.name not in WITHOUT
    ]
    assert "\nReturns\n-------\n" in text(name)
    if not wanted:
        return
    section = re.search(r"\nParameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", text(name), re.S)
    assert section, "no parameters"
    heads = re.findall(r"^(\S.*)$", section.group(1), re.M)
    described = {word for head in heads for word in re.findall(r"\w+", head.partition(" : ")[0])}
    assert set(wanted) <= described, set(wanted) - described
    assert described <= set(wanted), described - set(wanted)


@pytest.mark.parametrize("name", with_examples())
def test_examples_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTest(
        examples(name).examples, {"bf": bf, "np": np}, name, None, None, text(name)
    )
    runner = doctest.DocTestRunner(verbose=False)
    printed = []
    runner.run(test, out=printed.append)
    assert runner.failures == 0, "".join(printed)


def test_an_example_that_prints_something_else_is_noticed():
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=lambda _: None)
    assert runner.failures == 1
