"""Where the compiled march of the ReLU flow spends its time, by sampling with Linux `perf`.

B/fig3 and B/fig4 at 40 times and a small network (m = 20, n = 4, d = 5) until converged, rtol 1e-4,
error estimate included: milliseconds of a call in its two marches, and of these the shares of what
a step needs (the field, its stages, its error, how far neurons may go), of looking for events, of
neurons that change gates, and of what is recorded; then microseconds of a gate change. Kernels that
were copied into their callers count as these: `stretch` has the control of steps and what is
conserved. Without `perf` there is no table.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from relu_arithmetic import FEW_CHANGES
from timing import THREAD_SETTINGS, arguments, table

GROUPS = {
    "gated_field": "field",
    "small_algebra": "field",
    "gated_field.conserve": "stretch",
    "gated_field.conserve_balanced": "stretch",
    "dormand_prince.stages": "stages",
    "dormand_prince": "error",
    "dormand_prince.dense_state": "record",
    "event_march.stretch": "stretch",
    "march_control": "stretch",
    "march_record": "record",
    "turns_aside.look": "looks",
    "turns_aside.flag_events": "looks",
    "turns_aside.both_ends": "looks",
}
"""What modules and kernels are for; those that are not named belong to neurons that change
gates."""
SHOWN = ("field", "stages", "error", "stretch", "looks", "record", "changes", "libm")
LIBRARIES = ("libm", "_helperlib")
FLAG, CASES = "--one", ("B/fig3", "B/fig4", "m = 20")


def case_of(name):
    import numpy as np
    from relu_large import small_network

    import biasflow as bf

    if name == CASES[2]:
        return bf.Problem(*small_network(), scale=1e-2), {}
    data, scale, end = {
        CASES[0]: (bf.data.two_points(), 1e-6, 30.0),
        CASES[1]: (bf.data.five_points(), 1e-4, 600.0),
    }[name]
    problem = bf.Problem(
        bf.TwoLayer(60, 2), data, bf.SquareLoss("half-mean"), scale=scale / 60**0.5
    )
    return problem, {"times": np.linspace(end / 40, end, 40)}


def write_map(objects) -> None:
    """Tell perf where the kernels of the march are: addresses, sizes, names."""
    from biasflow.flows.relu.event_march import march

    lines = []
    for compiled in march.overloads.values():
        library = compiled.library
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            file.write(objects.get(id(library)) or library._compiled_object)
            file.flush()
            told = subprocess.run(
                ["readelf", "-sW", file.name], capture_output=True, text=True, check=True
            )
        rows = [line.split() for line in told.stdout.splitlines()]
        kernels = [row for row in rows if len(row) > 7 and row[3] == "FUNC"]
        engine = library.codegen._engine._ee
        places = ((int(row[1], 16), engine.get_function_address(row[7])) for row in kernels)
        base = next(address - place for place, address in places if address)
        lines += [f"{base + int(row[1], 16):x} {int(row[2]):x} {row[7]}" for row in kernels]
    Path(f"/tmp/perf-{os.getpid()}.map").write_text("\n".join(lines) + "\n", "ascii")


def one(name, seconds) -> None:
    """The flow again and again, in a process that is sampled; prints what a call takes."""
    from numba.core import codegen

    objects, read = {}, codegen.CPUCodeLibrary._unserialize.__func__

    def kept(cls, generator, state):
        library = read(cls, generator, state)
        if state[1] == "object":
            objects[id(library)] = state[2][0]
        return library

    codegen.CPUCodeLibrary._unserialize = classmethod(kept)
    import biasflow as bf
    from biasflow.flows.relu import implicit_tail

    problem, asked = case_of(name)
    flow, spent, calls = bf.gradient_flow(problem, rtol=1e-4, **asked), [0.0], 0
    write_map(objects)
    march = implicit_tail.march

    def timed(*given):
        begin = time.thread_time()
        found = march(*given)
        spent[0] += time.thread_time() - begin
        return found

    implicit_tail.march = timed
    while spent[0] < seconds:
        bf.gradient_flow(problem, rtol=1e-4, **asked)
        calls += 1
    late = flow.stats["events"] - flow.stats["early_events"]
    print(json.dumps([1e3 * spent[0] / calls, flow.stats["steps"], late]))


def group_of(symbol: str) -> str:
    """That of a kernel by its mangled name, lengths and words in turn."""
    rest, words = symbol.removeprefix("_ZN"), []
    while found := re.match(r"\d+", rest):
        size = int(found[0])
        words.append(rest[len(found[0]) : len(found[0]) + size])
        rest = rest[len(found[0]) + size :]
    module, kernel = words[3], words[-1]
    return GROUPS.get(f"{module}.{kernel}") or GROUPS.get(module) or "changes"


def profiled(name: str, seconds: float):
    """What a call takes, and the samples of every group."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/perf.data"
        command = ["perf", "record", "-q", "-F", "2000", "-e", "cpu-clock", "-o", file, "--"]
        command += [sys.executable, __file__, FLAG, name, "--seconds", str(seconds)]
        alone = {**os.environ, **dict.fromkeys(THREAD_SETTINGS, "1")}
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
        report = ["perf", "report", "-i", file, "--stdio", "--no-children"]
        report += ["-F", "sample,dso,symbol"]
        lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    samples: Counter[str] = Counter()
    for line in lines.splitlines():
        words = line.split()
        if not words or not words[0].isdigit():
            continue
        if words[-1].startswith("_ZN8biasflow"):
            samples[group_of(words[-1])] += int(words[0])
        elif any(library in line for library in LIBRARIES):
            samples["libm"] += int(words[0])
    return json.loads(told.stdout.splitlines()[-1]), samples


def main() -> None:
    def options(parser):
        parser.add_argument("--seconds", type=float, default=5.0, help="of sampling, each")
        parser.add_argument(FLAG, help="of the cases, this one in a process of its own")

    chosen = arguments(__doc__.splitlines()[0], options)
    if chosen.one:
        one(chosen.one, chosen.seconds)
        return
    if shutil.which("perf") is None or shutil.which("readelf") is None:
        print("perf or readelf is not installed: nothing is sampled")
        return
    rows = []
    for name in CASES[1:2] if chosen.quick else CASES:
        (milliseconds, steps, changes), samples = profiled(name, chosen.seconds)
        total = sum(samples.values())
        shares = [samples[group] / total for group in SHOWN]
        each = 1e3 * milliseconds * samples["changes"] / total / (2 * max(changes, 1))
        told = f"{each:.1f}" if changes >= FEW_CHANGES else "-"
        rows.append(
            [name, str(steps), str(changes), f"{milliseconds:.2f}"]
            + [f"{100 * share:.0f}%" for share in shares]
            + [told]
        )
    table(
        "Where the march of a small flow spends its time",
        ["", "steps", "changes", "ms", *SHOWN, "µs a change"],
        rows,
        "ms: processor time of both marches, that of the run and that of its check; both meet the "
        "changes.",
    )


if __name__ == "__main__":
    main()
