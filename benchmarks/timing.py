"""What the benchmarks share: one thread on both sides, the best of several runs, and a table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def arguments(description: str) -> argparse.Namespace:
    """Read --quick, and start again with one thread: the linear algebra reads its thread count
    once, when it loads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller and fewer problems")
    chosen = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREAD_SETTINGS):
        os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    return chosen


def best_of(runs: int, function: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds of the fastest run, and what it returned: with one thread, wall seconds on
    an idle machine."""
    best, value = float("inf"), None
    for _ in range(runs):
        start = time.process_time()
        value = function()
        best = min(best, time.process_time() - start)
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
            return lanes.advanced(params, runs, (zero, zero), [schedule.every] * len(runs))

    return advance


def table(title: str, columns: list[str], rows: list[list[str]], note: str = "") -> None:
    """Print right-aligned columns under a title."""
    widths = [max(len(line[k]) for line in [columns, *rows]) for k in range(len(columns))]
    print(f"\n{title}\n")
    print("  ".join(name.rjust(width) for name, width in zip(columns, widths, strict=True)))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    if note:
        print(f"\n{note}")
