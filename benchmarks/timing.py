"""What the benchmarks share: one thread on both sides, the best of several runs, a table, and a
line that says on what machine it was printed."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
ENOUGH_S = 5.0
"""Seconds after which a run is not repeated: it is long beside what disturbs it."""
SHOWN = ("numpy", "scipy", "numba", "jax")
"""Packages whose versions are printed with every table."""


def arguments(
    description: str, more: Callable[[argparse.ArgumentParser], Any] | None = None
) -> argparse.Namespace:
    """Read --quick and what `more` adds, and start again with one thread: the linear algebra reads
    its thread count once, when it loads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer problems")
    if more is not None:
        more(parser)
    chosen = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREAD_SETTINGS):
        os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    tell_machine()
    return chosen


@cache
def tell_machine() -> None:
    """Print once what the tables are measured on: processor, cores, load, versions. The load is
    that of the last minute, whoever caused it."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    found = [f"{name} {known}" for name in SHOWN if (known := version_of(name))]
    print(
        f"{processor()}; {mine} of {cores} cores, load {load:.1f}; Python "
        f"{platform.python_version()}, {', '.join(found)}",
        flush=True,
    )


def processor() -> str:
    """What the system calls its processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor() or platform.machine()])[0]


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def missing(package: str, peer: str) -> bool:
    """Whether a peer cannot be compared with, and says so where it cannot."""
    if find_spec(package) is not None:
        return False
    print(f"\n{peer} is left out: {package} is not installed here")
    return True


def best_of(runs: int, function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of the fastest run, and what it returned: with one thread, wall seconds on
    an idle machine. So many runs, or as many as take five seconds together."""
    best, value, spent = float("inf"), None, 0.0
    for _ in range(runs):
        start = time.process_time()
        returned = function()
        seconds = time.process_time() - start
        spent += seconds
        if seconds < best:
            best, value = seconds, returned
        if spent > ENOUGH_S:
            break
    return best, value


def products_floor(X: Any, steps: int, saved: int) -> float:
    """Seconds for the products with X that a dual flow cannot do without, each kind as one matrix
    product: at every step Xᵀν and Xβ where it ends and the speed and error of η, at every saved
    time Xᵀν, Xβ and the errors of both copies."""
    import numpy as np

    n, d = X.shape
    nus, betas = np.ones((3 * (steps + saved), n)), np.ones((steps + saved, d))
    return best_of(5, lambda: (nus @ X, betas @ X.T))[0]


def exponent(sizes: Any, values: Any) -> str:
    """The slope of values over sizes in logarithms, by least squares, with its standard error."""
    import numpy as np

    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    x = x - np.mean(x)
    slope = float(x @ y / (x @ x))
    rest = y - np.mean(y) - slope * x
    spread = float(np.sqrt(rest @ rest / max(len(x) - 2, 1) / (x @ x)))
    return f"{slope:.2f} ± {spread:.2f}" if len(x) > 2 else f"{slope:.2f}"


def advancing(network: Any, arrays: Any, runs: Any, schedule: Any) -> Callable[[], Any]:
    """A function that advances these classifiers by `schedule.every` epochs from their starts."""
    import jax

    from biasflow._numerics.double_precision import jax_in_double
    from biasflow.images.classifier_training import Lanes

    with jax_in_double():
        lanes = Lanes(network, arrays, schedule)
        starts = [network.init(run.scale, key=run.key) for run in runs]
        params = jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *starts)
        zero = jax.numpy.zeros((len(runs), 1, 1), "float32")

    def advance() -> Any:
        with jax_in_double():
            return lanes.advanced(params, runs, (zero,) * 3, [schedule.every] * len(runs))

    return advance


def table(title: str, columns: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print right-aligned columns under a title."""
    tell_machine()
    widths = [max(len(line[k]) for line in [columns, *rows]) for k in range(len(columns))]
    print(f"\n{title}\n")
    print("  ".join(name.rjust(width) for name, width in zip(columns, widths, strict=True)))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    if note:
        print(f"\n{note}")
    sys.stdout.flush()
