"""What every claim's verdict on its example (key 0) was when this was last written down: `python
tests/golden/golden_claims.py [ID …]` writes all of them down anew, or those named.

Kept are the status, and of every check its name, relation, status and numbers with their error.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import time
from pathlib import Path
from typing import Any

import biasflow as bf

NUMBER = re.compile(r"\d[\d.e+−-]*")
FILE = Path(__file__).with_name("golden_claims.json.gz")
KEY = 0
EXACT = 1e-6
"""Relative, beside a check's own error: flows are followed to 1e-8, and a hundred steps of
arithmetic on their ends keep six digits. A formula that changes shows far above."""
SAMPLED = 0.05
"""Relative, of what is measured against a bound: mostly an extreme over the steps that a flow took
or the places that a search visited, or a number of error estimates, all of which move with
rounding: by 1% at most between two sets of kernels, over 27 claims."""
PATIENT_S = 300.0
"""For witnesses on a machine that is busy with other things."""


def kept() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes())) if FILE.exists() else {}


def digest(verdict: bf.Verdict) -> dict[str, Any]:
    """A verdict as numbers and words."""
    checks = [
        {
            "quantity": check.quantity,
            "relation": check.relation,
            "status": check.status.value,
            "measured": check.measured,
            "bound": check.bound,
            "error": check.error,
        }
        for check in verdict.checks
    ]
    return {"status": verdict.status.value, "checks": checks}


def differences(old: dict[str, Any], new: dict[str, Any], numbers: bool = True) -> list[str]:
    """How the new verdict is not the old one, up to the errors of both.

    numbers: whether these are compared too. Extremes over steps and counts of them are those of one
    processor and one version of its libraries; words are the same everywhere.
    """
    found = (
        [] if old["status"] == new["status"] else [f"was {old['status']!r}, is {new['status']!r}"]
    )
    names = [[NUMBER.sub("#", check["quantity"]) for check in one["checks"]] for one in (old, new)]
    if names[0] != names[1]:
        return [*found, f"checks were {names[0]}, are {names[1]}"]
    for before, after in zip(old["checks"], new["checks"], strict=True):
        for word in ("relation", "status"):
            if before[word] != after[word]:
                found.append(f"{before['quantity']}: was {before[word]!r}, is {after[word]!r}")
        for number in ("measured", "bound") if numbers else ():
            if not _alike(before, after, number):
                found.append(
                    f"{before['quantity']}: {number} was {before[number]:.10g} ± "
                    f"{before['error']:.2g}, is {after[number]:.10g} ± {after['error']:.2g}"
                )
    return found


def _alike(before: dict[str, Any], after: dict[str, Any], number: str) -> bool:
    one, two = before[number], after[number]
    if not (math.isfinite(one) and math.isfinite(two)):
        return one == two or (math.isnan(one) and math.isnan(two))
    errors = [error for error in (before["error"], after["error"]) if math.isfinite(error)]
    size = max(abs(value) for value in (one, two, before["bound"]) if math.isfinite(value))
    sampled = number == "measured" and before["relation"] != "=="
    return abs(one - two) <= sum(errors) + EXACT * size + sampled * SAMPLED * abs(one)


def main() -> None:
    results = kept()
    for name in sys.argv[1:] or bf.claims():
        begun = time.perf_counter()
        verdict = bf.verify(name, key=KEY, time_s=PATIENT_S)
        before, results[name] = results.get(name), digest(verdict)
        moved = "" if before is None else "; ".join(differences(before, results[name]))
        print(f"{name}: {verdict.status}, {time.perf_counter() - begun:.1f} s  {moved}", flush=True)
    results = {name: results[name] for name in bf.claims() if name in results}
    FILE.write_bytes(gzip.compress(json.dumps(results, indent=0).encode(), mtime=0))
    print(f"{len(results)} verdicts, {FILE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
