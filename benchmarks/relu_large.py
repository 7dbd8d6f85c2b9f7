"""Large two-layer flows, what surrounds the kernels of small ones, and many of these in one call.

First: wide networks and many samples, from a start of scale 1e-2 on Gaussian inputs with a teacher
of five neurons, rtol 1e-3, to t = 3 or as far as `--seconds` allow: processor seconds of one
thread, gate changes, microseconds for each, and the peak of memory beside what was there before, in
units of one (samples × neurons) array of floats; and the slopes of the microseconds in logarithms.
Then, at rtol 1e-4 and error estimate included: milliseconds of a call in each of its kernels (the
march, the early phase and its states, saved weights and their errors), and outside, where arguments
are read and the trajectory is made, for B/fig3 and B/fig4 at 40 times and for a small network (m =
20, n = 4, d = 5) until converged; the flows from 1000 starts of that network, by
`starts=` and by a loop in Python, which share every kernel; and the bound on their ratio, cores ×
(inside + outside) / inside.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import os
import resource
import subprocess
import sys
import time

from timing import THREAD_SETTINGS, exponent, table

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
    problem, before, begin = problem_of(m, n, d), peak(), time.process_time()
    try:
        flow = bf.gradient_flow(problem, t1=3.0, rtol=1e-3, time_s=seconds)
    except bf.errors.ConvergenceError as error:
        flow = error.partial
    spent, events = time.process_time() - begin, flow.stats["events"]
    print(
        m,
        n,
        d,
        f"{flow.times[-1]:.2f}",
        f"{spent:.1f}",
        events,
        f"{1e6 * spent / max(events, 1):.0f}",
        f"{(peak() - before) / (8 * m * n):.0f}",
    )


def small_network():
    import numpy as np

    import biasflow as bf

    rng, model = np.random.default_rng(0), bf.TwoLayer(20, 5)
    data = bf.Dataset(rng.standard_normal((4, 5)), rng.standard_normal(4))
    return model, data, bf.SquareLoss("half-mean")


KERNELS = ("fold", "march", "align", "states_at", "unfold", "compare")


def around(problem, calls, **asked):
    """Processor milliseconds of a warm call in each of its kernels, and outside, of the call that
    spent the least outside; and how many functions it calls."""
    import biasflow as bf
    from biasflow.flows.relu import event_runs, event_trajectory, implicit_tail, saved_weights

    inside = dict.fromkeys(KERNELS, 0.0)
    places = [
        (module, name, getattr(module, name))
        for module in (event_runs, implicit_tail, event_trajectory)
        for name in KERNELS
        if hasattr(module, name)
    ] + [(saved_weights, "fold", saved_weights.fold)]

    def timed(name, kernel):
        def call(*arguments):
            begin = time.thread_time()
            found = kernel(*arguments)
            inside[name] += time.thread_time() - begin
            return found

        return call

    bf.gradient_flow(problem, rtol=1e-4, **asked)
    for module, name, kernel in places:
        setattr(module, name, timed(name, kernel))
    least = (float("inf"), [])
    for _ in range(calls):
        inside.update(dict.fromkeys(KERNELS, 0.0))
        begin = time.thread_time()
        bf.gradient_flow(problem, rtol=1e-4, **asked)
        whole, parts = time.thread_time() - begin, list(inside.values())
        least = min(least, (whole - sum(parts), parts))
    for module, name, kernel in places:
        setattr(module, name, kernel)
    counted = cProfile.Profile()
    counted.runcall(bf.gradient_flow, problem, rtol=1e-4, **asked)
    calls = sum(entry.callcount for entry in counted.getstats())
    return [1e3 * part for part in least[1]], 1e3 * least[0], calls


def surroundings(calls):
    """Rows of milliseconds in each kernel and outside; the last is the small network's."""
    import numpy as np

    import biasflow as bf

    loss, wide = bf.SquareLoss("half-mean"), bf.TwoLayer(60, 2)
    figures = [
        ("B/fig3", bf.data.two_points(), 1e-6, 30.0, calls),
        ("B/fig4", bf.data.five_points(), 1e-4, 600.0, 1 + calls // 10),
    ]
    model, *rest = small_network()
    return [
        (
            f"{name}, 40 times",
            *around(
                bf.Problem(wide, data, loss, scale=scale / 60**0.5),
                count,
                times=np.linspace(end / 40, end, 40),
            ),
        )
        for name, data, scale, end, count in figures
    ] + [("m = 20, converged", *around(bf.Problem(model, *rest, scale=1e-2), calls))]


def starts(count):
    """Seconds by the wall and of processors, of a loop and of one call."""
    import biasflow as bf

    model, data, loss = small_network()
    initial = [model.init(1e-2, key=key) for key in range(count)]
    bf.gradient_flow(model, data, loss, initial[0], rtol=1e-4)
    clocks = [(time.perf_counter(), time.process_time())]
    for start in initial:
        bf.gradient_flow(model, data, loss, start, rtol=1e-4)
    clocks.append((time.perf_counter(), time.process_time()))
    bf.gradient_flow(model, data, loss, rtol=1e-4, starts=initial)
    clocks.append((time.perf_counter(), time.process_time()))
    return [
        [late - early for early, late in zip(*pair, strict=True)]
        for pair in itertools.pairwise(clocks)
    ]


def large(seconds, quick):
    """Prints the table of large flows."""
    rows, laws, alone = [], [], {**os.environ, **dict.fromkeys(THREAD_SETTINGS, "1")}
    for name, sizes in (("m", WIDE), ("n", LONG)):
        grid = sizes[:2] if quick else sizes
        for size in grid:
            command = [sys.executable, __file__, FLAG, *map(str, size)]
            command += ["--seconds", str(seconds)]
            told = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
            rows.append(told.stdout.split())
        grown = [size["mn".index(name)] for size in grid]
        laws.append(f"{name}^({exponent(grown, [float(row[6]) for row in rows[-len(grid) :]])})")
    columns = ["m", "n", "d", "t reached", "s", "gate changes", "µs each", "peak / 8mn bytes"]
    note = f"A gate change costs like {' and '.join(laws)}."
    table("Large flows, error estimate included", columns, rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, 50 starts")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each large flow")
    parser.add_argument("--small", action="store_true", help="leave the large flows out")
    parser.add_argument(FLAG, nargs=3, type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        one(*chosen.one, chosen.seconds)
        return
    if not chosen.small:
        large(chosen.seconds, chosen.quick)
    from biasflow.sweeps import available_cores

    measured = surroundings(20 if chosen.quick else 200)
    table(
        "Milliseconds of a small flow in its kernels, error estimate included",
        ["", *KERNELS, "outside", "calls"],
        [
            [name, *(f"{part:.2f}" for part in (*parts, outside)), str(calls)]
            for name, parts, outside, calls in measured
        ],
    )
    count, (_, parts, outside, _) = 50 if chosen.quick else 1000, measured[-1]
    inside = sum(parts)
    loop, together = starts(count)
    table(
        f"{count} starts of a small network on {available_cores()} cores",
        ["", "s", "ms each", "times the loop", "processor s"],
        [
            [
                name,
                f"{wall:.2f}",
                f"{1e3 * wall / count:.2f}",
                f"{loop[0] / wall:.1f}",
                f"{spent:.2f}",
            ]
            for name, (wall, spent) in (("a loop in Python", loop), ("starts=", together))
        ],
        "Bound by its kernels at "
        f"{available_cores() * (inside + outside) / inside:.1f} times the loop.",
    )


if __name__ == "__main__":
    main()
