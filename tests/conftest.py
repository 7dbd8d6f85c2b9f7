"""How the suite runs: kernels are compiled by one process, and what shares a computation runs in
one worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fast_set
import warm_kernels

HERE = Path(__file__).parent
EVERY = tuple(warm_kernels.FAMILIES)
NEEDS: dict[str, tuple[str, ...]] = {
    "diagnostics": ("relu", "f1"),
    "docs": EVERY,
    "experiments": EVERY,
    "explore": EVERY,
    "flows": ("relu", "margin", "dual"),
    "fuzz": EVERY,
    "golden": EVERY,
    "kernels": (),
    "limits": ("f1",),
    "regime": ("relu",),
    "theory": EVERY,
    "training": ("ascent", "relu"),
    "test_closures.py": ("relu",),
    "test_compatibility.py": EVERY,
    "test_gallery.py": EVERY,
    "test_threads.py": ("relu", "dual"),
}
"""The kernels that a folder or file of tests is likely to use; the others need none."""
LONE = ("cli", "docs", "golden", "test_gallery.py")
"""Tests that share nothing: whichever worker is free takes the next."""


def _room(item: pytest.Item) -> str:
    """The folder of a test, or its file, below this one."""
    return item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""


def _needs(item: pytest.Item) -> tuple[str, ...]:
    return NEEDS.get(item.path.name) or NEEDS.get(_room(item), ())


def _group(item: pytest.Item) -> str | None:
    """What should run in one worker: a file, whose fixtures are then made once; the rows of one
    claim, which share its verdict."""
    if _room(item) in LONE:
        return None
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    world, name = parameters.get("world"), parameters.get("name")
    if item.path.parent.name == "theory" and (world is not None or "/" in str(name)):
        return str(name if world is None else world.claim)
    return item.location[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is left to the thorough set; of workers alone: groups, and what needs no kernels first,
    while they are compiled."""
    listed = fast_set.listed()
    marked = ("slow", "thorough", "frameworks")
    bare = [item for item in items if not any(map(item.get_closest_marker, marked))]
    out = fast_set.left_out([item.nodeid for item in bare], listed)
    for item in bare:
        if item.nodeid in out:
            item.add_marker(pytest.mark.thorough)
    if not any("::" in argument for argument in config.args):  # then whole files were collected
        config.stash[fast_set.GONE] = fast_set.gone((item.nodeid for item in items), listed)
    if not hasattr(config, "workerinput"):
        return
    items.sort(key=lambda item: len(_needs(item)))
    for item in items:
        group = _group(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_finish(session: pytest.Session) -> None:
    """The first worker has them compiled by a process of its own, where tests that were selected
    need them."""
    if getattr(session.config, "workerinput", {}).get("workerid") != "gw0":
        return
    families = {family for item in session.items for family in _needs(item)}
    if families and len(session.items) >= 50:
        order = [family for family in EVERY if family in families]
        command = [sys.executable, str(HERE / "warm_kernels.py"), *order]
        session.config.stash[COMPILER] = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
        )


COMPILER = pytest.StashKey[subprocess.Popen]()


def pytest_unconfigure(config: pytest.Config) -> None:
    compiler = config.stash.get(COMPILER, None)
    if compiler is not None:
        compiler.terminate()
        compiler.wait()


@pytest.fixture(autouse=True)
def _kernels(request: pytest.FixtureRequest) -> None:
    """Under xdist, wait for kernels that another process compiles."""
    if hasattr(request.config, "workerinput"):
        for family in _needs(request.node):
            warm_kernels.warm(family)
