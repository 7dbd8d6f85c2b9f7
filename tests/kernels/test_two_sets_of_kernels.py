"""The same flows and verdicts whichever kernels the processor offers: fused multiply-adds and wide
registers, or neither."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SETS = (
    {"OPENBLAS_CORETYPE": "Haswell"},
    {
        "OPENBLAS_CORETYPE": "Prescott",
        "NUMBA_CPU_NAME": "generic",
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    },
)
"""Of OpenBLAS, of Numba and of XLA; the first leaves the last two to the processor."""
LONGEST_S = 1500

pytestmark = pytest.mark.slow


def computed(folder, what):
    """What the sample says under both sets, computed at the same time."""
    script, running = Path(__file__).with_name("sample_of_results.py"), []
    for k, kernels in enumerate(SETS):
        environment = {**os.environ, **kernels}
        running.append(
            subprocess.Popen(
                [sys.executable, str(script), str(folder / f"{k}.json"), what], env=environment
            )
        )
    assert [process.wait(timeout=LONGEST_S) for process in running] == [0, 0]
    return [
        json.loads((folder / f"{k}.json").read_text(encoding="utf-8")) for k in range(len(SETS))
    ]


def test_flows_end_at_the_same_point_to_their_stated_errors(tmp_path):
    ours, theirs = computed(tmp_path, "flows")
    assert ours.keys() == theirs.keys()
    apart = []
    for name, end in ours.items():
        other = theirs[name]
        gap = float(np.max(np.abs(np.array(end["state"]) - other["state"])))
        if end["result"] != other["result"] or gap > end["error"] + other["error"]:
            apart.append(
                f"{name}: {gap:.1e} apart, errors {end['error']:.1e} and {other['error']:.1e}; "
                f"{end['result']}, {other['result']}"
            )
    assert not apart, "\n".join(apart)


def test_claims_have_the_same_status(tmp_path):
    ours, theirs = computed(tmp_path, "claims")
    apart = [
        f"{ours[name]['words']}\n{theirs[name]['words']}"
        for name in ours
        if ours[name]["status"] != theirs[name]["status"]
    ]
    assert not apart, "\n".join(apart)
