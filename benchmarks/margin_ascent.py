"""Gradient ascent on the smooth margin: one training iteration against a plain NumPy loop, and JAX
on the CPU.

Both layers of a ReLU network with m = 1000 neurons on n = 256 samples of 15 columns, C's figure 2.
The peer is what one writes
down: float64, two matrix products, activations and soft-min by array operations. All run the same
iterations from the same start; the note says how far apart they end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from timing import THREAD_SETTINGS, arguments, best_of, table

WIDTH, SAMPLES, COLUMNS = 1000, 256, 15
TWICE = "BIASFLOW_BENCHMARK_TWO_THREADS"


def plain_numpy(data, start, steps):
    """w ← w + 0.5/√(t+1)·∇S, written down; the weights and the best normalised margin."""
    import numpy as np

    a, W, X, y, best = start.a.copy(), start.W.copy(), data.X, data.y, -np.inf
    for t in range(steps + 1):
        active = np.maximum(W @ X.T, 0.0)
        u = y * (a @ active)
        least = np.min(u)
        best = max(best, least / (np.sum(a**2) + np.sum(W**2)))
        if t == steps:
            break
        p = np.exp(least - u)
        q = y * p / np.sum(p)
        slope_W, slope_a = (a[:, None] * (active > 0)) @ (X * q[:, None]), active @ q
        rate = 0.5 / np.sqrt(t + 1)
        a, W = a + rate * slope_a, W + rate * slope_W
    return a, W, best


def problem():
    import numpy as np

    import biasflow as bf

    data = bf.data.with_bias(bf.data.clusters(SAMPLES, COLUMNS - 1, 3, key=0))
    return data, bf.TwoLayer(WIDTH, COLUMNS).init(1 / np.sqrt(WIDTH), key=0, balanced=False)


def two_threads(steps):
    """Wall microseconds an iteration with two threads of linear algebra, in a process of its own:
    NumPy, ours in both types."""
    environment = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, "2"), TWICE: str(steps)}
    done = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def timed_twice():
    steps = int(os.environ[TWICE])
    import biasflow as bf

    data, start = problem()
    calls = [lambda: plain_numpy(data, start, steps)]
    calls += [
        lambda d=d: bf.training.margin_ascent(data, start, steps, dtype=d, records=2)
        for d in ("float64", "float32")
    ]
    for call in calls:
        call()
        seconds = []
        for _ in range(3):
            begin = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - begin)
        print(1e6 * min(seconds) / steps)


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import numpy as np

    import biasflow as bf

    steps = 100 if quick else 1000
    data, start = problem()
    plain, (a, W, best) = best_of(2 if quick else 3, lambda: plain_numpy(data, start, steps))
    both = dict(zip(("numpy", "float64", "float32"), two_threads(100), strict=True))
    rows = [
        [
            "NumPy, float64",
            f"{1e6 * plain / steps:.0f}",
            "1.0x",
            f"{both['numpy']:.0f}",
            "1.0x",
            "",
            "",
        ]
    ]
    for method, dtype in (
        ("compiled", "float64"),
        ("compiled", "float32"),
        ("jax", "float64"),
        ("jax", "float32"),
    ):

        def run(method=method, dtype=dtype):
            return bf.training.margin_ascent(
                data, start, steps, method=method, dtype=dtype, records=2
            )

        run()
        seconds, ours = best_of(2 if quick else 3, run)
        apart = max(np.max(np.abs(ours.final.a - a)), np.max(np.abs(ours.final.W - W))) / np.max(
            np.abs(W)
        )
        threads = (
            [f"{both[dtype]:.0f}", f"{both['numpy'] / both[dtype]:.1f}x"]
            if method == "compiled"
            else ["", ""]
        )
        margin = ours.stats["best_margin"][-1]
        rows.append(
            [
                f"{method}, {dtype}",
                f"{1e6 * seconds / steps:.0f}",
                f"{plain / seconds:.1f}x",
                *threads,
                f"{apart:.0e}",
                f"{abs(margin - best):.0e}",
            ]
        )
    note = (
        f"{steps} iterations. One thread: processor seconds; two: wall seconds with two threads "
        "of linear algebra.\n"
        "JAX has threads of its own: its processor seconds add theirs. apart: largest difference "
        "of any weight from\n"
        "NumPy's, relative to the largest weight; margin: difference of the best normalised "
        "margins."
    )
    columns = ["", "µs, 1 thread", "ratio", "µs, 2 threads", "ratio", "apart", "margin"]
    table(f"One iteration, m = {WIDTH}, n = {SAMPLES}, {COLUMNS} columns", columns, rows, note)


if __name__ == "__main__":
    timed_twice() if TWICE in os.environ else main()
