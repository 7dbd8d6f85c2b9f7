"""Points that misbehave, each of which leaves a line in a side file whenever it is computed."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

import numpy as np
import xarray

LOG = "FAULT_LOG"


def note(x: int) -> None:
    """One line in one write: lines of several processes do not mix."""
    if LOG in os.environ:
        handle = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{x} {os.getpid()}\n".encode())
        os.close(handle)


def noted(log: Path) -> list[tuple[int, int]]:
    """(x, process) of every computation so far."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(x), int(pid)) for x, pid in (line.split() for line in lines)]


def result(x: int) -> xarray.Dataset:
    return xarray.Dataset(
        {"v": np.sin(x), "w": ("t", np.random.default_rng(x).normal(size=3)), "odd": x % 2 == 1}
    )


def results(settings) -> list[xarray.Dataset]:
    return [result(**setting) for setting in settings]


def slow(x: int, pause: float) -> xarray.Dataset:
    note(x)
    time.sleep(pause)
    return result(x)


def deadly(x: int, victim: int, how: str) -> xarray.Dataset:
    note(x)
    if x == victim:
        if how == "exit":
            os._exit(3)
        ctypes.string_at(0)  # reads address zero: the interpreter dies of SIGSEGV
    return result(x)


def dies_writing(x: int, victim: int, marker: str) -> xarray.Dataset:
    """The worker that first computes the victim dies between the writing of its shard and the
    renaming."""
    note(x)
    if x == victim and not Path(marker).exists():
        Path(marker).touch()
        os.replace = lambda source, target: os.kill(os.getpid(), signal.SIGKILL)
    return result(x)


def sometimes_nan(x: int) -> xarray.Dataset:
    note(x)
    return xarray.Dataset({"v": np.nan if x % 3 == 0 else float(x)})


def sometimes_raises(x: int, broken: int) -> xarray.Dataset:
    note(x)
    if x == broken and "FAULT_FIXED" not in os.environ:
        raise ArithmeticError(f"no {x}")
    return result(x)


def hangs(x: int, victim: int) -> xarray.Dataset:
    note(x)
    while x == victim:
        time.sleep(0.01)
    return result(x)


def huge_at_three(x: int) -> xarray.Dataset:
    """An integer that the store cannot hold, at one point."""
    return xarray.Dataset({"v": 2**60 if x == 3 else x})


def odd_attribute_at_three(x: int) -> xarray.Dataset:
    return xarray.Dataset({"v": float(x)}, attrs={"kept": object()} if x == 3 else {})


def forks(x: int) -> xarray.Dataset:
    """The child comes back with another value, or with an error."""
    child = os.fork()
    if child == 0:
        if x == 1:
            raise ArithmeticError("the child's")
        return xarray.Dataset({"v": -1.0})
    os.waitpid(child, 0)
    return xarray.Dataset({"v": float(x)})


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


def speechless_at_two(x: int) -> xarray.Dataset:
    if x == 2:
        raise Speechless
    return result(x)


def in_jax(x: int) -> xarray.Dataset:
    """A third in JAX's default precision, by a function that brings JAX in itself."""
    import jax.numpy as jnp

    return xarray.Dataset(
        {"v": float(jnp.asarray(x + 1.0) / 3), "word": str(jnp.asarray(x + 1.0).dtype)}
    )
