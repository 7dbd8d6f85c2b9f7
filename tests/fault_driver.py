"""A driver in a process of its own: `python fault_driver.py '{"function": ..., "points": ...,
...}'`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import fault_points
from biasflow.sweeps import Dask, Processes, Serial, Store, sweep
from biasflow.sweeps.grids import Grid


def grid_of(plan: dict) -> Grid:
    return Grid({"x": tuple(range(plan["points"]))}, plan.get("settings", {}))


def stuck_writing(count: int, marker: Path) -> None:
    """From the given shard on, renaming takes for ever."""
    rename, seen = os.replace, [0]

    def replace(source, target):
        seen[0] += str(target).endswith(".nc")
        if seen[0] >= count:
            marker.touch()
            time.sleep(60)
        rename(source, target)

    os.replace = replace


def main() -> None:
    plan = json.loads(sys.argv[1])
    engines = {
        "serial": lambda: Serial(),
        "processes": lambda: Processes(plan.get("workers", 2)),
        "dask": lambda: Dask(
            plan.get("address"), plan.get("workers", 2), patience=plan.get("patience", 20.0)
        ),
    }
    if "stuck_at" in plan:
        stuck_writing(plan["stuck_at"], Path(plan["marker"]))
    function = getattr(fault_points, plan["function"])
    data = sweep(
        function,
        grid_of(plan),
        store=Store(plan["store"]),
        engine=engines[plan["engine"]](),
        chunk=plan.get("chunk"),
    )
    print(data.v.values.tobytes().hex())


if __name__ == "__main__":
    main()
