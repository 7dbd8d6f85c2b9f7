"""What `biasflow reproduce` takes from empty caches, and again: seconds by the wall, until a first
figure is on the page, and of processors, by figure and claim.

Everything is kept in a folder of its own, on as many workers as told (`--workers`); the install is
not part of it. Processor seconds are those of all its processes, compilation included.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import arguments, table

SHOWN = 8
"""Of the dearest figures and claims, so many are listed."""


def spent() -> float:
    """Processor seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reproduced(folder: Path, workers: int, only: str | None) -> tuple[float, float, float]:
    """Seconds by the wall, until the first picture lies beside the page, and of processors."""
    command = [sys.executable, "-m", "biasflow", "reproduce", "--workers", str(workers)]
    command += [] if only is None else ["--only", only]
    page = folder / "report" / "index.html"
    page.unlink(missing_ok=True)
    begun, used, first = time.monotonic(), spent(), float("nan")
    with subprocess.Popen(
        [*command, "--out", str(folder / "report")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while process.poll() is None:
            if math.isnan(first) and page.exists() and "<img" in page.read_text("utf-8"):
                first = time.monotonic() - begun
            time.sleep(0.2)
    return time.monotonic() - begun, first, spent() - used


def main() -> None:
    chosen = arguments(
        "What `biasflow reproduce` takes from empty caches, and again (--quick: R's part).",
        lambda parser: parser.add_argument("--workers", type=int, default=2),
    )
    only = "R" if chosen.quick else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(
            NUMBA_CACHE_DIR=f"{folder / 'numba'}", BIASFLOW_CACHE=f"{folder / 'kept'}"
        )
        rows = []
        for which in ("empty caches", "again"):
            wall, first, processor = reproduced(folder, chosen.workers, only)
            rows.append([which, f"{wall:.0f}", f"{first:.0f}", f"{processor:.0f}"])
        table("Reproduction", ["", "wall s", "first figure s", "processor s"], rows)
        from biasflow.report import reproduce
        from biasflow.sweeps import default_store

        report = reproduce(folder / "page", "quick", default_store(), only=only)
    for what, entries in (("Figures", report.figures), ("Claims", report.claims)):
        dearest = sorted(entries, key=lambda entry: -entry.seconds)
        rows = [[entry.id, f"{entry.seconds:.1f}"] for entry in dearest[:SHOWN]]
        rows.append(["all", f"{sum(entry.seconds for entry in entries):.0f}"])
        table(what, ["", "processor s"], rows)


if __name__ == "__main__":
    main()
