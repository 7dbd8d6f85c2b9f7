"""Real SIGINTs at random moments of every kind of call.

    python tests/search/interrupts.py               # 50 a kind; goes on where it was stopped
    python tests/search/interrupts.py COUNT KIND …  # these, in this process, lines of JSON

Each signal must end its call by a KeyboardInterrupt within half a second, not counting the time for
which this machine let the process wait; the `partial` of flows and trainings must be there; and a
small call after it must work. Keeps a line a kind in tests/search/interrupts.txt.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import biasflow as bf

OUT = Path(__file__).with_suffix(".txt")
COUNT, LONGEST_S, LATE_S = 50, 0.8, 0.5
rng = np.random.default_rng(0)


def net(width: int, n: int, d: int, scale: float = 1e-3, key: int = 0) -> Any:
    data = (rng.standard_normal((n, d)), rng.standard_normal(n))
    return bf.Problem(bf.TwoLayer(width, d), data, bf.SquareLoss("half-mean"), scale=scale, key=key)


def classes(width: int, n: int, d: int, loss: Any) -> Any:
    X, y = np.c_[rng.standard_normal((n, d - 1)), np.ones(n)], rng.choice([-1.0, 1.0], n)
    return bf.Problem(bf.TwoLayer(width, d), (X, y), loss, scale=0.3, key=0)


def diagonal(n: int, d: int, depth: int = 2, scale: float = 1e-3) -> Any:
    data = (rng.standard_normal((n, d)), rng.standard_normal(n))
    return bf.Problem(bf.DiagonalNetwork(depth), data, bf.SquareLoss("half"), scale=scale)


def completion(size: int, seen: int) -> Any:
    rows, columns = np.divmod(rng.choice(size**2, seen, replace=False), size)
    data = bf.data.from_entries((size, size), rows, columns, rng.standard_normal(seen))
    model = bf.MatrixFactorisation((size, size), rank=2 * size)
    return bf.Problem(model, data, bf.SquareLoss("half"), scale=1e-2, key=0)


def deep() -> Any:
    data = (rng.standard_normal((10, 4)), rng.standard_normal(10))
    loss = bf.SquareLoss("half-mean")
    return bf.Problem(bf.DeepNetwork((4, 8, 6, 1)), data, loss, scale=0.5, key=0)


def separable(n: int, d: int) -> Any:
    X, loss = rng.standard_normal((n, d)), bf.SmoothMargin(bf.LogisticLoss())
    y = np.sign(X @ rng.standard_normal(d))
    return bf.Problem(bf.DiagonalNetwork(2), (X, y), loss, scale=1e-6)


def labelled(n: int, d: int) -> tuple[Any, Any]:
    return rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)


Call = Callable[[], Any]


def small_flow() -> Any:
    return bf.gradient_flow(net(6, 4, 3), t1=1.0)


def events() -> tuple[Call, Call]:
    problem = net(100, 40, 20)
    return lambda: bf.gradient_flow(problem, t1=1e6), small_flow


def compiled() -> tuple[Call, Call]:
    X, y = rng.standard_normal((60, 300)), rng.standard_normal(60)

    def flow(alpha: float, rtol: float) -> Any:
        return bf.mirror_flow(bf.potentials.Hypentropy(alpha), X, y, method="compiled", rtol=rtol)

    return lambda: flow(1e-300, 1e-12), lambda: flow(1.0, 1e-4)


def dual() -> tuple[Call, Call]:
    problem, small = diagonal(40, 200), diagonal(3, 6)
    return lambda: bf.gradient_flow(problem, rtol=1e-11), lambda: bf.gradient_flow(small)


def margin() -> tuple[Call, Call]:
    problem, small = (classes(*size, bf.LogisticLoss()) for size in ((400, 60, 10), (6, 4, 3)))
    return (
        lambda: bf.gradient_flow(problem, log_norm=40.0),
        lambda: bf.gradient_flow(small, log_norm=3.0),
    )


def factored() -> tuple[Call, Call]:
    problem, small = completion(30, 300), completion(3, 4)
    return lambda: bf.gradient_flow(problem), lambda: bf.gradient_flow(small)


def weights() -> tuple[Call, Call]:
    problem, small = diagonal(20, 100, 3, 0.1), diagonal(2, 3, 3, 0.5)
    return (
        lambda: bf.gradient_flow(problem, method="weights", rtol=1e-11),
        lambda: bf.gradient_flow(small, method="weights", t1=1.0),
    )


def apart() -> tuple[Call, Call]:
    problem, small = separable(40, 30), separable(3, 3)
    return (
        lambda: bf.gradient_flow(problem, log_norm=600.0, rtol=1e-9),
        lambda: bf.gradient_flow(small, log_norm=30.0),
    )


def general() -> tuple[Call, Call]:
    problem = deep()
    return lambda: bf.gradient_flow(problem, t1=1000.0), lambda: bf.gradient_flow(problem, t1=0.01)


def starts() -> tuple[Call, Call]:
    problem = net(60, 40, 20)
    many = [problem.model.init(1e-3, key=key) for key in range(6)]
    return lambda: bf.gradient_flow(problem, t1=1e6, starts=many), small_flow


def by_engine(engine: str) -> Callable[[], tuple[Call, Call]]:
    def made() -> tuple[Call, Call]:
        problem = net(300, 50, 20, 0.3)

        def train(steps: int) -> Any:
            return bf.train(problem, steps=steps, step=1e-4, engine=engine)

        return lambda: train(10**6), lambda: train(10)

    return made


def ascent() -> tuple[Call, Call]:
    problem = classes(300, 50, 5, bf.SmoothMargin())
    return lambda: bf.train(problem, steps=10**6), lambda: bf.train(problem, steps=10)


def f1_margin() -> tuple[Call, Call]:
    big, small = labelled(200, 15), labelled(40, 8)
    return (
        lambda: bf.max_margin(*big, norm="f1", time_s=60.0),
        lambda: bf.max_margin(*small, norm="f1", time_s=1.0),
    )


def f1_norm() -> tuple[Call, Call]:
    big, small = labelled(100, 8), labelled(8, 3)
    return lambda: bf.limits.min_norm_interpolator(*big), lambda: bf.limits.min_norm_interpolator(
        *small
    )


def limit() -> tuple[Call, Call]:
    problem, small = diagonal(400, 4000, 2, 1e-8), diagonal(3, 6)
    return lambda: bf.limit(problem), lambda: bf.limit(small)


def certify() -> tuple[Call, Call]:
    (X, y), (X0, y0) = labelled(200, 20), labelled(30, 8)
    a, W = bf.TwoLayer(200, 20).init(0.5, key=0)
    a0, W0 = bf.TwoLayer(20, 8).init(0.5, key=0)
    return lambda: bf.certify((a, W), X, y), lambda: bf.certify((a0, W0), X0, y0, time_s=1.0)


def verify() -> tuple[Call, Call]:
    problem = diagonal(10, 40)
    return lambda: bf.verify("R/thm2.2", problem), lambda: bf.gradient_flow(problem, t1=0.1)


KINDS: dict[str, tuple[Callable[[], tuple[Call, Call]], bool]] = {
    "flow events": (events, True),
    "flow compiled": (compiled, True),
    "flow dual": (dual, True),
    "flow margin": (margin, True),
    "flow factored": (factored, True),
    "flow weights": (weights, True),
    "flow separable": (apart, True),
    "flow general": (general, True),
    "flow starts": (starts, True),
    "train numba": (by_engine("numba"), True),
    "train numpy": (by_engine("numpy"), True),
    "train jax": (by_engine("jax"), True),
    "train ascent": (ascent, True),
    "margin f1": (f1_margin, False),
    "norm f1": (f1_norm, False),
    "limit": (limit, False),
    "certify": (certify, False),
    "verify": (verify, False),
}
"""How a call that takes seconds is made, and a small one; whether a partial is promised."""


def delays() -> dict[str, float]:
    """For how many seconds each thread of this process was ready and did not run."""
    found = {}
    for task in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):
            found[str(task)] = int(task.read_text().split()[1]) / 1e9
    return found


def one(call: Call, wait: float) -> dict[str, Any]:
    """What became of a call that a signal meets after so long."""
    sent: list[Any] = []

    def send() -> None:
        time.sleep(wait)
        sent.extend([time.monotonic(), delays()])
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    found: dict[str, Any] = {"wait": round(wait, 3)}
    try:
        sender.start()
        call()
        found["ended"] = "before"
        while True:
            time.sleep(0.01)
    except KeyboardInterrupt as stop:
        found["took"] = round(time.monotonic() - sent[0], 3)
        found["waited"] = round(sum(s - sent[1].get(task, 0.0) for task, s in delays().items()), 3)
        found.setdefault("ended", "interrupted")
        found["partial"] = getattr(stop, "partial", None) is not None
    except BaseException as error:
        found["ended"] = repr(error)[:200]
        with contextlib.suppress(KeyboardInterrupt):
            sender.join()
    return found


def run(kind: str, count: int) -> None:
    """So many signals; a line of JSON for each, flushed before the next."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    draw, handler = random.Random(f"{kind} {count}"), signal.getsignal(signal.SIGINT)
    make, _ = KINDS[kind]
    call, small = make()
    small()
    longest = LONGEST_S
    done = tries = 0
    while done < count and tries < 4 * count:
        tries += 1
        found = one(call, draw.uniform(0.0, longest))
        if found["ended"] == "before":
            longest *= 0.7
            continue
        small()
        found["kind"] = kind
        found["same handler"] = signal.getsignal(signal.SIGINT) is handler
        print(json.dumps(found), flush=True)
        done += 1


def in_process(count: int, *kinds: str) -> tuple[list[dict[str, Any]], int, str]:
    """The same in a process of its own: what it said, how it ended, and its last words."""
    command = [sys.executable, __file__, str(count), *kinds]
    told = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    rows = [json.loads(line) for line in told.stdout.splitlines() if line.startswith("{")]
    return rows, told.returncode, told.stderr[-400:]


def faults(row: dict[str, Any]) -> list[str]:
    """What is wrong with an interrupted call."""
    found = [] if row["ended"] == "interrupted" else [row["ended"]]
    if row.get("took", 0.0) - row.get("waited", 0.0) > LATE_S:
        found.append(f"took {row['took']} s, {row['waited']} of them waiting")
    # a call that has just begun has nothing yet, and a busy machine may lose what was there
    due = KINDS[row["kind"]][1] and row["wait"] > 0.05 and row.get("waited", 0.0) < 0.1
    if due and not row.get("partial"):
        found.append("no partial")
    if not row.get("same handler"):
        found.append("another handler")
    return found


def main() -> None:
    for kind in KINDS:
        done = OUT.read_text().splitlines() if OUT.exists() else []
        if kind in {line.split(":")[0] for line in done}:
            continue
        rows, code, last = in_process(COUNT, kind)
        wrong = [fault for row in rows for fault in faults(row)]
        took = sorted(row["took"] for row in rows if "took" in row) or [float("nan")]
        most = max((row["took"] - row["waited"] for row in rows if "took" in row), default=0.0)
        partials = sum(bool(row.get("partial")) for row in rows)
        line = (
            f"{kind}: {len(rows)} signals, exit code {code}, {partials} partials; to the exception "
            f"{took[len(took) // 2]:.3f} s in the middle, {took[-1]:.3f} at most, "
            f"{max(most, 0.0):.3f} without waiting for the machine; "
            f"{len(wrong)} faults{''.join(f'; {fault}' for fault in sorted(set(wrong))[:3])}"
        )
        print(line, last if code else "", flush=True)
        with OUT.open("a") as file:
            file.write(line.rstrip() + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for kind in sys.argv[2:]:
            run(kind, int(sys.argv[1]))
    else:
        main()
