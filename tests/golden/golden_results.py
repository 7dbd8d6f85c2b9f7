"""What flows and limits gave when this was last written down: `python
tests/golden/golden_results.py` writes it down anew.

A rearrangement of the code may not move any of it beyond the errors that came with it. Problems are
those of the fuzzer, their arrays jittered; what a flow or limit gives is kept as numbers, with its
error estimate or its certificate.
"""

from __future__ import annotations

import gzip
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1] / "fuzz")]

from fuzz_bases import entries  # noqa: E402
from fuzz_material import MATRIX, VECTOR  # noqa: E402

import biasflow as bf  # noqa: E402
from biasflow._core.trees import leaves  # noqa: E402

FILE = Path(__file__).with_name("golden_results.json.gz")
PROBLEMS = 12
JITTER = 0.2
SHARES = (0.1, 0.4, 0.8, 1.0)
"""Of a flow's time, where its states are kept."""
MOST = 48
"""Numbers kept of one state or value."""
TIMED = (
    "f1_max_margin",
    "f2_max_margin",
    "min_norm_interpolator",
    "polish",
    "convergence_bounds",
    "verify",
    "figure",
    "sweep",
)
"""Entries that take long or depend on what a search found in its time, or give neither a flow nor a
limit."""


def chosen() -> list[str]:
    """Entries that give a flow or a limit at their base."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [name for name in entries() if name not in TIMED]
        return [
            name
            for name in names
            if isinstance(_called(name, 0), bf.Trajectory | bf.Limit | bf.Bracket)
        ]


def result(name: str, problem: int) -> dict[str, Any] | None:
    """What the entry gives on a problem, as numbers; an error as its class. None where it gives
    something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = _called(name, problem)
        except bf.errors.BiasflowError as error:
            return {"error": type(error).__name__}
    if isinstance(found, bf.Trajectory):
        return _of_flow(found)
    return _of_limit(found) if isinstance(found, bf.Limit | bf.Bracket) else None


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """How the new result is not the old one, up to the errors of both."""
    if old.get("error") or new.get("error"):
        return (
            []
            if old.get("error") == new.get("error")
            else [f"was {old.get('error')}, is {new.get('error')}"]
        )
    return _flow_differences(old, new) if "times" in old else _limit_differences(old, new)


def _called(name: str, problem: int) -> Any:
    entry = entries()[name]
    rng = np.random.default_rng([problem, len(name)])
    given = {
        key: _jittered(value, entry.kinds.get(key), rng) if problem else value
        for key, value in entry.arguments.items()
    }
    return entry.call(**given)


def _jittered(value: Any, kind: str | None, rng: np.random.Generator) -> Any:
    if kind not in (MATRIX, VECTOR) or not isinstance(value, np.ndarray):
        return value
    return value * (1 + JITTER * rng.standard_normal(value.shape))


def _flat(value: Any) -> list[float]:
    parts = [np.ravel(np.asarray(leaf, dtype=float)) for leaf in leaves(value)]
    return [float(number) for number in np.concatenate(parts)[:MOST]] if parts else []


def _of_flow(flow: bf.Trajectory) -> dict[str, Any]:
    end = float(flow.times[-1])
    times = [share * end for share in SHARES]
    errors = [
        float(np.max(flow.error[np.searchsorted(flow.times, t, side="left") :][:1])) for t in times
    ]
    kept = {"times": times, "states": [_flat(flow.at(t)) for t in times], "errors": errors}
    return {**kept, "loss": float(flow.loss[-1]), "result": flow.result.name}


def _of_limit(limit: bf.Limit | bf.Bracket) -> dict[str, Any]:
    certificate = limit.certificate
    try:
        value = _flat(limit.value)
    except (TypeError, ValueError):
        value = []
    bounds = [certificate.primal, certificate.dual]
    return {
        "objective": float(limit.objective),
        "bounds": bounds,
        "kind": certificate.kind,
        "value": value,
    }


def _flow_differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    found = (
        [] if old["result"] == new["result"] else [f"ended {old['result']}, ends {new['result']}"]
    )
    for k, t in enumerate(old["times"]):
        before, after = np.array(old["states"][k]), np.array(new["states"][k])
        # it ends on its own, a little earlier or later
        if abs(t - new["times"][k]) > 1e-9 * max(t, 1e-300):
            continue
        allowed = 2 * (old["errors"][k] + new["errors"][k]) + 1e-12 * float(
            np.max(np.abs(before), initial=0.0)
        )
        off = float(np.max(np.abs(before - after), initial=0.0))
        if not off <= allowed:
            found.append(f"state at t = {t:.4g} is off by {off:.2g}, allowed {allowed:.2g}")
    return found


def _limit_differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    found = [] if old["kind"] == new["kind"] else [f"kind was {old['kind']}, is {new['kind']}"]
    size = max(abs(old["objective"]), 1e-300)
    apart = max(min(old["bounds"]) - max(new["bounds"]), min(new["bounds"]) - max(old["bounds"]))
    if apart > 1e-12 * size:
        found.append(f"brackets {old['bounds']} and {new['bounds']} do not meet")
    if abs(old["objective"] - new["objective"]) > 1e-8 * size + abs(
        np.subtract(*old["bounds"])
    ) + abs(np.subtract(*new["bounds"])):
        found.append(f"objective was {old['objective']}, is {new['objective']}")
    return found


def main() -> None:
    kept = {name: [result(name, problem) for problem in range(PROBLEMS)] for name in chosen()}
    text = json.dumps(kept, indent=0).encode()
    FILE.write_bytes(gzip.compress(text, mtime=0))
    print(
        f"{sum(map(len, kept.values()))} results of {len(kept)} entries, "
        f"{FILE.stat().st_size / 1e3:.0f} kB"
    )


if __name__ == "__main__":
    main()
