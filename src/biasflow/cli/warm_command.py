"""`biasflow warm`: kernels compiled before they are needed, and what each costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..sweeps import Progress

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
    start = model.init(0.1, dim=2)
    bf.gradient_flow(
        model,
        bf.Dataset(X, SIGNS),
        bf.SquareLoss("half"),
        start,
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


@dataclass(frozen=True)
class Family:
    """Kernels that one kind of call needs: the smallest such call, and the seconds that compiling
    them takes about, with which an ETA begins."""

    call: Callable[[], None]
    seconds: int


FAMILIES = {
    "relu": Family(_relu, 42),
    "dual": Family(_dual, 16),
    "f1": Family(_f1, 7),
    "margin": Family(_margin, 3),
    "ascent": Family(_ascent, 3),
}
"""The slowest to compile first; processor seconds that the process beside `biasflow reproduce` took
with an empty cache, each family after those before it."""
FOR_A_REPORT = tuple(name for name in FAMILIES if name != "dual")
"""No figure and no claim follows the compiled dual flow."""
COMMAND = (sys.executable, "-c", f"from {__name__} import tell_parent; tell_parent()")
"""Another process that compiles those of a report."""
TICK_S = 0.5
"""Between two moves of a bar."""


@dataclass
class Compiled:
    """An entry point that was compiled: with so many functions, of so many lines of ours."""

    kernel: str
    seconds: float = 0.0
    functions: set[Any] = field(default_factory=set)

    @property
    def lines(self) -> int:
        """Those of functions that Numba brings itself do not count."""
        own = [function for function in self.functions if not _from_numba(function)]
        return sum(len(inspect.getsourcelines(function)[0]) for function in own)


def _from_numba(function: Any) -> bool:
    return str(function.__module__).partition(".")[0] == "numba"


def warm(families: Iterable[str], progress: Progress) -> Iterator[Compiled]:
    """Compile what is missing on disk; families that are all there show no progress."""
    for family in families:
        with Ticking(progress, family) as clock, _watched(clock.start) as found:
            FAMILIES[family].call()
        yield from found


class Ticking:
    """Progress of a compilation, which tells nothing of itself: by the clock, once it has begun."""

    def __init__(self, progress: Progress, family: str) -> None:
        self._progress, self._label = progress, f"compile {family}"
        self._seconds, self._ended = FAMILIES[family].seconds, threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Ticking:
        return self

    def start(self) -> None:
        """The first kernel is being compiled."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, daemon=True)
            self._thread.start()

    def stop(self) -> bool:
        """Tell no more; whether there was something to tell."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        return self._thread is not None

    def __exit__(self, *reason: object) -> None:
        if self.stop():
            self._progress(self._seconds, self._seconds, self._label)

    def _tick(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(TICK_S):
            passed = int(time.monotonic() - begun)
            self._progress(min(passed, self._seconds - 1), self._seconds, self._label)


@contextmanager
def compiling_beside(progress: Progress) -> Iterator[None]:
    """A process of its own that compiles what is missing, as long as the work inside takes: whoever
    needs a kernel meanwhile waits for it and loads it."""
    with subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        listener = threading.Thread(target=_listen, args=(process, progress), daemon=True)
        listener.start()
        try:
            yield
        finally:
            process.terminate()
            listener.join()


def tell_parent() -> None:
    """Compile what a report needs; a line for a family that has to be, and one when it is done."""

    def told(done: int, total: int, label: str) -> None:
        family = label.split()[-1]
        if done == total:
            print(f"end {family}", flush=True)
        elif family not in begun:
            begun.add(family)
            print(f"begin {family}", flush=True)

    begun: set[str] = set()
    for _ in warm(FOR_A_REPORT, told):
        pass


def _listen(process: subprocess.Popen[str], progress: Progress) -> None:
    clocks: dict[str, Ticking] = {}
    assert process.stdout is not None
    for line in process.stdout:
        what, family = line.split()
        if what == "begin":
            clocks[family] = Ticking(progress, family)
            clocks[family].start()
        else:
            clocks.pop(family).__exit__()
    for clock in clocks.values():
        clock.stop()


@contextmanager
def _watched(begun: Callable[[], None]) -> Iterator[list[Compiled]]:
    """What Numba compiles inside, by entry point: those that no other compilation has begun."""
    from numba.core import event

    found: list[Compiled] = []
    around: list[float] = []

    class Watch(event.Listener):
        def on_start(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            if not around:
                found.append(
                    Compiled(f"{function.__module__}.{function.__name__}".removeprefix("biasflow."))
                )
                begun()
            found[-1].functions.add(function)
            around.append(time.perf_counter())

        def on_end(self, event: Any) -> None:
            begun = around.pop()
            if not around:
                found[-1].seconds += time.perf_counter() - begun

    with event.install_listener("numba:compile", Watch()):
        yield found


def table(compiled: Iterable[Compiled]) -> str:
    """Kernels, functions, lines and seconds of each, and of all."""
    rows = sorted(compiled, key=lambda row: -row.seconds)
    if not rows:
        return "every kernel is compiled already"
    everything = Compiled("all", sum(row.seconds for row in rows))
    everything.functions = {function for row in rows for function in row.functions}
    width = max(len(row.kernel) for row in rows)
    lines = [f"{'kernel':<{width}}  functions  lines  seconds"]
    for row in [*rows, everything]:
        lines.append(
            f"{row.kernel:<{width}}  {len(row.functions):>9}  {row.lines:>5}  {row.seconds:>7.1f}"
        )
    return "\n".join(lines)
