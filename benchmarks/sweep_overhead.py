"""What a sweep costs beside the runs themselves: per run, per chunk, per start; and what a second
worker gives."""

from __future__ import annotations

import resource
import tempfile
import time

from timing import arguments, table

PAUSE = 0.1
LONG_S = 60.0
"""What the sweep takes whose speed-up is measured, in one process."""


def pause(x):
    import xarray

    time.sleep(PAUSE)
    return xarray.Dataset({"v": float(x)})


def tiny(x, y):
    import xarray

    return xarray.Dataset({"sum": x + y})


def busy(seed):
    import xarray

    import biasflow as bf

    data = bf.data.sparse_regression(n=100, d=1000, sparsity=5, noise_var=0.01, key=seed)
    values = [
        bf.limit(bf.DiagonalNetwork(depth), data, scale=1e-3).objective for depth in (2, 3, 5)
    ]
    return xarray.Dataset({"objective": ("depth", values)})


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import biasflow as bf

    def swept(function, grid, **options):
        """(seconds in all, seconds from the first finished point on, points in those)."""
        moments = []
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            bf.sweep(
                function,
                grid,
                store=bf.sweeps.Store(folder),
                watch=lambda t: moments.append((time.perf_counter(), t.done)),
                **options,
            )
            total = time.perf_counter() - start
        first = next(moment for moment in moments if moment[1])
        last = next(moment for moment in moments if moment[1] == grid.size)
        return total, last[0] - first[0], last[1] - first[1]

    engines = {
        "serial": bf.sweeps.Serial(),
        "1 process": bf.sweeps.Processes(1),
        "2 processes": bf.sweeps.Processes(2),
    }
    count = 40 if quick else 100
    rows = []
    for name, engine in engines.items():
        workers = 2 if name == "2 processes" else 1
        total, steady, points = swept(
            pause, bf.sweeps.Grid({"x": tuple(range(count))}), engine=engine
        )
        overhead = steady * workers / points / PAUSE - 1
        rows.append(
            [
                name,
                f"{total:.2f}",
                f"{1e3 * PAUSE:.0f}",
                f"{1e3 * overhead * PAUSE:.2f}",
                f"{100 * overhead:.1f}%",
            ]
        )
    table(
        f"Overhead per run: {count} runs of 0.1 s, one per chunk, stored",
        ["engine", "seconds", "ms a run", "ms over", "overhead"],
        rows,
        "from the first finished run on; starting a process costs about a second, once",
    )

    side = 100 if quick else 316
    grid = bf.sweeps.Grid({"x": tuple(range(side)), "y": tuple(range(side))})
    start = time.perf_counter()
    for i in range(0, grid.size, 10):
        tiny(**grid.point(i))
    bare = 10 * (time.perf_counter() - start)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        bf.sweep(tiny, grid, store=bf.sweeps.Store(folder))
        run = time.perf_counter() - start
        start = time.perf_counter()
        bf.sweep(tiny, grid, store=bf.sweeps.Store(folder))
        collect = time.perf_counter() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    row = [
        f"{grid.size}",
        f"{bare:.1f}",
        f"{run:.1f}",
        f"{1e3 * (run - bare) / grid.size:.3f}",
        f"{collect:.1f}",
        f"{memory:.0f}",
    ]
    table(
        "Tiny runs in default chunks, stored, in one process",
        ["runs", "bare s", "sweep s", "ms over a run", "collect s", "MB more"],
        [row],
        "collect: every point read back from the store into one dataset",
    )

    start = time.perf_counter()
    for seed in range(4):
        busy(seed)
    many = int((5.0 if quick else LONG_S) / ((time.perf_counter() - start) / 4)) + 1
    grid, rows, alone = bf.sweeps.Grid({"seed": tuple(range(many))}), [], 0.0
    for name, engine in engines.items():
        total, steady, points = swept(busy, grid, engine=engine)
        alone = alone or total
        rows.append([name, f"{total:.2f}", f"{1e3 * steady / points:.0f}", f"{alone / total:.2f}"])
    table(
        f"Speed-up: {many} runs of three limits each, n = 100, d = 1000",
        ["engine", "seconds", "ms a run", "speed-up"],
        rows,
        "speed-up: of all seconds, starting processes included",
    )


if __name__ == "__main__":
    main()
