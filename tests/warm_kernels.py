"""Compile the kernels once for all test processes: `python tests/warm_kernels.py [FAMILY …]`.

Numba keeps machine code on disk, but processes that start together all find nothing there and all
compile. Here each family of kernels is behind a file lock: the first process to come compiles, the
others wait and load.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

X = np.array([[1.0, 0.2], [0.8, -0.5], [-1.0, 0.4], [-0.7, -0.9]])
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])


def _relu() -> None:
    import biasflow as bf

    model, data = bf.TwoLayer(3, 2), bf.Dataset(X, SIGNS)
    bf.gradient_flow(model, data, bf.SquareLoss("half"), model.init(0.1), times=[0.0, 0.1, 0.2])
    bf.flows.early_alignment(data, model.init(1e-8))


def _margin() -> None:
    import biasflow as bf

    model = bf.TwoLayer(3, 2)
    bf.gradient_flow(
        model, bf.Dataset(X, SIGNS), bf.ExponentialLoss(), model.init(0.3), times=[0.0, 0.1]
    )


def _dual() -> None:
    import biasflow as bf

    model = bf.DiagonalNetwork(2)
    bf.gradient_flow(
        model,
        bf.Dataset(X, SIGNS),
        bf.SquareLoss("half"),
        model.init(0.1, dim=2),
        times=[0.0, 0.1],
        method="compiled",
    )


def _ascent() -> None:
    import biasflow as bf

    bf.training.margin_ascent(bf.Dataset(X, SIGNS), bf.TwoLayer(3, 2).init(0.3), 3)
    bf.training.feature_ascent(X, 3)


def _f1() -> None:
    import biasflow as bf

    bf.limits.f1_max_margin(X, SIGNS)


FAMILIES: dict[str, Callable[[], None]] = {
    "relu": _relu,
    "f1": _f1,
    "margin": _margin,
    "dual": _dual,
    "ascent": _ascent,
}
"""The slowest to compile first."""


@functools.cache
def warm(family: str) -> None:
    """Compile or load a family of kernels, in this process once."""
    with _locked(family):
        FAMILIES[family]()


@contextlib.contextmanager
def _locked(family: str) -> Iterator[None]:
    """A lock that other processes wait for, and that goes with the process that holds it."""
    try:
        import fcntl
    except ImportError:  # not here: then every process compiles for itself, as ever
        yield
        return
    import biasflow as bf

    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(bf.__file__).parent / "__pycache__")
    if not os.access(folder, os.W_OK):
        folder.mkdir(parents=True, exist_ok=True)
    where = folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())
    with open(where / f"warm-{family}.lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        warm(name)
