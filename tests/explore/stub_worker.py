"""A worker whose scenes do what tests need: count slowly, sleep, die, say too much."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from biasflow.errors import InputError
from biasflow.explore import scenes, worker_process
from biasflow.explore.scene import Integer, Scene

WORKER = ("-P", str(Path(__file__).resolve()))


def scene(name: str, parts: Any, seconds: float = 5.0, **others: Any) -> Scene:
    fields = {"n": Integer("n", "", 0, 10**6, 3)}
    return Scene(name, name, "", "", fields, parts, lambda state: "", seconds, **others)


def count(state: dict[str, Any]) -> Iterator[Any]:
    for k in range(state["n"]):
        time.sleep(0.02)
        yield "number", {"k": k, "process": os.getpid()}


def sleep(state: dict[str, Any]) -> Iterator[Any]:
    yield "begun", {"process": os.getpid()}
    time.sleep(3600)


def die(state: dict[str, Any]) -> Iterator[Any]:
    yield "begun", {}
    os._exit(3)


def fail(state: dict[str, Any]) -> Iterator[Any]:
    yield "begun", {}
    raise InputError("n: there is no such number")


def shout(state: dict[str, Any]) -> Iterator[Any]:
    print("this is not an answer")
    yield "much", {"text": "x" * state["n"]}


def cold() -> None:
    time.sleep(0.3)


STUBS = {
    each.name: each
    for each in (
        scene("count", count),
        scene("sleep", sleep, 0.4),
        scene("die", die),
        scene("fail", fail),
        scene("shout", shout),
        scene("cold", count, 0.2, warm=cold),
    )
}

if __name__ == "__main__":
    scenes.SCENES.clear()
    scenes.SCENES.update(STUBS)
    worker_process.main()
