"""What the quick figures' summarised data were when this was last written down: `python
tests/golden/golden_figures.py [ID …]` writes all of them down anew, or those named.

Of every variable its dimensions, how many entries are NaN, and a few quantiles of the others; of
the attributes the numbers. Points come from the store that BIASFLOW_CACHE names, where there is
one: it is keyed by the code that a point rests on, so that what changed is computed anew.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import biasflow as bf
from biasflow.sweeps import Store

FILE = Path(__file__).with_name("golden_figures.json.gz")
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Of the entries, below which the quantiles lie."""
EXACT = 1e-6
"""Relative to the largest quantile of a variable: limits and flows are computed to 1e-8, and
figures are made of their differences and ratios."""
LOOSER = {
    "B/fig6": (1e-2, "a hundred thousand gates, at which paths of single neurons may split"),
    "B/fig7": (1e-2, "as B/fig6"),
    "C/fig1": (1e-2, "ascents of thousands of steps from random starts"),
    "C/fig2": (1e-2, "as C/fig1"),
    "C/fig3": (1e-2, "as C/fig1"),
    "W/fig4ab": (1e-2, "trainings of thousands of steps, each ended by a threshold"),
    "W/fig4cd": (1e-2, "as W/fig4ab"),
}
"""Figures whose runs may amplify rounding, and how. The others' fast ones, and B/fig4, kept to
`EXACT` between two sets of kernels; these, and the slow ones, were not compared so."""
FLOORS = {"B/fig2": 1e-8, "B/fig3": 1e-8, "C/fig4": 1e-8}
"""Of figures of order one: what is smaller, as losses at the end and distances from where something
should be, is error."""


def kept() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() else {}


def summary(name: str) -> Any:
    """A figure's quick data."""
    folder = os.environ.get("BIASFLOW_CACHE")
    return bf.figure(name, store=Store(Path(folder)) if folder else None)


def digest(data: Any) -> dict[str, Any]:
    variables = {
        str(name): _of_values(list(map(str, variable.dims)), np.asarray(variable.values))
        for name, variable in data.variables.items()
    }
    attributes = {
        str(name): float(value)
        for name, value in data.attrs.items()
        if isinstance(value, int | float | np.number) and not isinstance(value, bool)
    }
    return {"variables": variables, "attributes": attributes}


def _of_values(dims: list[str], values: Any) -> dict[str, Any]:
    kept: dict[str, Any] = {"dims": dims, "shape": list(values.shape)}
    if values.dtype.kind not in "fiub":
        return kept
    finite = values[np.isfinite(values)].astype(float)
    quantiles = np.quantile(finite, SHARES, method="nearest") if finite.size else []
    return {
        **kept,
        "unfit": int(values.size - finite.size),
        "quantiles": list(map(float, quantiles)),
    }


def differences(name: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """How the new data are not the old ones, up to what the figure's runs amplify."""
    tolerance, floor = LOOSER.get(name, (EXACT, ""))[0], FLOORS.get(name, 0.0)
    found = []
    for part in ("variables", "attributes"):
        gone, come = set(old[part]) - set(new[part]), set(new[part]) - set(old[part])
        found += [f"{word} {key!r}" for word, keys in (("no", gone), ("new", come)) for key in keys]
    for key in set(old["variables"]) & set(new["variables"]):
        before, after = old["variables"][key], new["variables"][key]
        words = [word for word in ("dims", "shape", "unfit") if before.get(word) != after.get(word)]
        found += [f"{key}: {word} {before.get(word)} -> {after.get(word)}" for word in words]
        ends = before.get("quantiles", []), after.get("quantiles", [])
        size = max(map(abs, ends[0]), default=0.0)
        if len(ends[0]) == len(ends[1]):
            off = max((abs(a - b) for a, b in zip(*ends, strict=True)), default=0.0)
            if off > tolerance * size + floor:
                found.append(f"{key}: quantiles off by {off / (size or 1.0):.2g} of the largest")
    for key in set(old["attributes"]) & set(new["attributes"]):
        a, b = old["attributes"][key], new["attributes"][key]
        same = a == b or (math.isnan(a) and math.isnan(b))
        if not same and not abs(a - b) <= tolerance * max(abs(a), abs(b)) + floor:
            found.append(f"{key}: was {a:.8g}, is {b:.8g}")
    return sorted(found)


def main() -> None:
    results = kept()
    for name in sys.argv[1:] or bf.figures():
        begun = time.process_time()
        before, results[name] = results.get(name), digest(summary(name))
        moved = "" if before is None else "; ".join(differences(name, before, results[name]))
        print(f"{name}: {time.process_time() - begun:.1f} s of computing  {moved}", flush=True)
        _write(results)


def _write(results: dict[str, Any]) -> None:
    ordered = {name: results[name] for name in bf.figures() if name in results}
    FILE.write_bytes(gzip.compress(json.dumps(ordered, indent=0).encode(), mtime=0))


if __name__ == "__main__":
    main()
