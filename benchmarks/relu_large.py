"""Large two-layer flows, and many small ones in one call.

First: wide networks and many samples, from a start of scale 1e-2 on Gaussian inputs with a teacher
of five neurons, rtol 1e-3, to t = 3 or as far as `--seconds` allow: seconds, gate changes,
microseconds for each, and the peak of memory beside what was there before, in units of one
(samples × neurons) array of floats; and the slopes of the microseconds in logarithms. Then: the
flows from 1000 starts of a small network
(m = 20, n = 4, d = 5, rtol 1e-4), by `starts=` and by a loop in Python, which share every kernel.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

from timing import exponent, table

WIDE = tuple((m, 100, 10) for m in (1000, 3000, 10_000))
LONG = tuple((50, n, 20) for n in (500, 1500, 5000))
FLAG = "--one"


def problem_of(m, n, d):
    import numpy as np

    import biasflow as bf

    X, teacher = np.random.default_rng(0).standard_normal((n, d)), bf.TwoLayer(5, d)
    y = np.asarray(teacher(teacher.init(1.0, key=1), X))
    data, loss = bf.Dataset(X, y / np.std(y)), bf.SquareLoss("half-mean")
    return bf.Problem(bf.TwoLayer(m, d), data, loss, scale=1e-2, key=0)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def one(m, n, d, seconds):
    """A flow in a process of its own, whose memory is measured: prints its row."""
    import biasflow as bf

    bf.gradient_flow(problem_of(5, 4, d), rtol=1e-3)
    problem, before, begin = problem_of(m, n, d), peak(), time.perf_counter()
    try:
        flow = bf.gradient_flow(problem, t1=3.0, rtol=1e-3, time_s=seconds)
    except bf.errors.ConvergenceError as error:
        flow = error.partial
    wall, events = time.perf_counter() - begin, flow.stats["events"]
    print(
        m,
        n,
        d,
        f"{flow.times[-1]:.2f}",
        f"{wall:.1f}",
        events,
        f"{1e6 * wall / max(events, 1):.0f}",
        f"{(peak() - before) / (8 * m * n):.0f}",
    )


def starts(count):
    import numpy as np

    import biasflow as bf

    rng, model = np.random.default_rng(0), bf.TwoLayer(20, 5)
    data = bf.Dataset(rng.standard_normal((4, 5)), rng.standard_normal(4))
    loss = bf.SquareLoss("half-mean")
    initial = [model.init(1e-2, key=key) for key in range(count)]
    bf.gradient_flow(model, data, loss, initial[0], rtol=1e-4)
    begin = time.perf_counter()
    for start in initial:
        bf.gradient_flow(model, data, loss, start, rtol=1e-4)
    middle = time.perf_counter()
    bf.gradient_flow(model, data, loss, rtol=1e-4, starts=initial)
    return middle - begin, time.perf_counter() - middle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, 50 starts")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each large flow")
    parser.add_argument(FLAG, nargs=3, type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        one(*chosen.one, chosen.seconds)
        return
    rows, laws = [], []
    for name, sizes in (("m", WIDE), ("n", LONG)):
        grid = sizes[:2] if chosen.quick else sizes
        for size in grid:
            command = [sys.executable, __file__, FLAG, *map(str, size)]
            command += ["--seconds", str(chosen.seconds)]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows.append(told.split())
        grown = [size["mn".index(name)] for size in grid]
        laws.append(f"{name}^({exponent(grown, [float(row[6]) for row in rows[-len(grid) :]])})")
    columns = ["m", "n", "d", "t reached", "s", "gate changes", "µs each", "peak / 8mn bytes"]
    note = f"A gate change costs like {' and '.join(laws)}."
    table("Large flows, error estimate included", columns, rows, note)
    from biasflow.sweeps import available_cores

    count = 50 if chosen.quick else 1000
    loop, together = starts(count)
    table(
        f"{count} starts of a small network on {available_cores()} cores",
        ["", "s", "ms each", "times the loop"],
        [
            ["a loop in Python", f"{loop:.2f}", f"{1e3 * loop / count:.2f}", "1.0"],
            [
                "starts=",
                f"{together:.2f}",
                f"{1e3 * together / count:.2f}",
                f"{loop / together:.1f}",
            ],
        ],
    )


if __name__ == "__main__":
    main()
