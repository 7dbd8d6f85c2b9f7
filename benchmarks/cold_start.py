"""Where the first two-layer ReLU flow spends its compilation: kernels, lines, seconds each.

An empty cache in a folder of its own is compiled into, twice: a flow whose early phase is exact
follows one that is large from the start. Own: processor seconds less those of the kernels it
calls. Times: how often it was compiled, for other types of arguments or literal ones.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections import Counter

from timing import arguments, table

LEAST = 0.3
"""Seconds of its own from which on a kernel has a line of its own."""


def main() -> None:
    arguments(__doc__.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        from numba.core import event

        import biasflow as bf

        own, whole, times, lines = Counter(), Counter(), Counter(), {}
        open_: list[list[float]] = []

        class Clock(event.Listener):
            def on_start(self, event):
                open_.append([time.process_time(), 0.0])

            def on_end(self, event):
                began, inside = open_.pop()
                spent, kernel = time.process_time() - began, event.data["dispatcher"].py_func
                ours = kernel.__module__.startswith("biasflow")
                name = f"{kernel.__module__.split('.')[-1]}.{kernel.__name__}" if ours else "Numba"
                lines[name] = len(inspect.getsource(kernel).splitlines()) if ours else 0
                own[name] += spent - inside
                whole[name] += spent
                times[name] += 1
                if open_:
                    open_[-1][1] += spent

        loss, data = bf.SquareLoss("half-mean"), bf.data.five_points()
        model, notes = bf.TwoLayer(20, data.d), []
        with event.install_listener("numba:compile", Clock()):
            for scale, what in ((0.1, "the first flow"), (1e-8, "then one with an early phase")):
                start = time.process_time()
                bf.gradient_flow(model, data, loss, model.init(scale), t1=5.0)
                notes.append(f"{what}: {time.process_time() - start:.1f} processor seconds")
    shown = [name for name, seconds in own.most_common() if seconds >= LEAST]
    rows = [
        [f"{own[name]:.1f}", f"{whole[name]:.1f}", str(times[name]), str(lines[name]), name]
        for name in shown
    ]
    rest = [name for name in own if name not in shown]
    rows.append(
        [
            f"{sum(own[name] for name in rest):.1f}",
            "",
            str(sum(times[name] for name in rest)),
            str(sum(lines[name] for name in rest)),
            f"{len(rest)} more",
        ]
    )
    note = f"{'; '.join(notes)}; {len(own)} kernels, {sum(lines.values())} lines."
    table(
        "Compilation from an empty cache",
        ["own s", "with callees", "times", "lines", "kernel"],
        rows,
        note,
    )


if __name__ == "__main__":
    main()
