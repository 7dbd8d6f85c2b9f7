"""Which modules a flow, a verdict and a figure enter: `python tests/print_paths.py`."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import biasflow as bf

ROOT = str(Path(bf.__file__).parent)


def entered(call: Callable[[], Any]) -> list[str]:
    """The modules of which a function is called, in order, once everything is loaded."""
    call()
    seen: dict[str, None] = {}

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(ROOT):
            seen.setdefault(frame.f_code.co_filename[len(ROOT) + 1 : -3])

    def profiled() -> None:
        sys.setprofile(look)
        call()

    # calls from the main thread run in another one, those from others where they are
    thread = threading.Thread(target=profiled)
    thread.start()
    thread.join()
    return list(seen)


def main() -> None:
    data = bf.data.sparse_regression(n=10, d=20, sparsity=2, noise_var=0.01, key=0)
    problem = bf.Problem(bf.DiagonalNetwork(depth=2), data, bf.SquareLoss("sum"), scale=1e-3)
    calls = {
        "gradient_flow": lambda: bf.gradient_flow(problem),
        "verify W/thm2": lambda: bf.verify("W/thm2", problem),
        "figure R/fig1": lambda: bf.figure("R/fig1", store=bf.sweeps.Store(tempfile.mkdtemp())),
    }
    for name, call in calls.items():
        modules = entered(call)
        print(f"{name}: {len(modules)} modules\n    {' '.join(modules)}")


if __name__ == "__main__":
    main()
