"""Run all benchmarks, or those named, side by side: each in a process of its own, on cores of its
own, with one thread and a limit of time.

Kernels are compiled first, so that nobody waits for them. What a benchmark prints goes to a file
of its own as it arrives, and all of it to `tables.txt`, with a summary at the end. A benchmark that
fails or runs out of time leaves what it printed, and the others go on.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from timing import THREAD_SETTINGS, tell_machine

HERE = Path(__file__).parent
Ended = tuple[str, float, str]
"""A job's name, its seconds, and what became of it."""
FAMILIES = ("relu", "dual", "f1", "margin", "ascent")
"""Of kernels, as `biasflow warm` knows them."""
LOOK_S = 0.2
"""Between two looks at what runs."""
GRACE_S = 5.0
"""What a benchmark that is told to end may still take."""


@dataclass(frozen=True)
class Job:
    """A benchmark, or a part of one: its script, what it is called with, how many cores it wants,
    and about how many seconds it takes, the longest of which go first."""

    script: str
    options: tuple[str, ...] = ()
    cores: int = 1
    seconds: float = 60.0
    part: str = ""

    @property
    def name(self) -> str:
        return f"{self.script}-{self.part}" if self.part else self.script


def _brackets(seconds: float, part: str, table: str, *dims: int) -> Job:
    options = ("--table", table, *(("--dims", *map(str, dims)) if dims else ()))
    return Job("margin_brackets", options, seconds=seconds, part=part)


JOBS = (
    Job("projection_vs_clarabel", seconds=30),
    Job("dual_flow_vs_weights", seconds=180),
    Job("fixed_directions_vs_descent", ("--part", "descent"), seconds=120, part="descent"),
    Job("fixed_directions_vs_descent", ("--part", "10"), seconds=60, part="10"),
    Job("fixed_directions_vs_descent", ("--part", "100"), seconds=240, part="100"),
    Job("error_estimates", seconds=320),
    Job("separable_errors", ("5000", "400", "200"), seconds=400),
    Job("projection_growth", seconds=30),
    Job("flow_growth", seconds=60),
    Job("sweep_overhead", cores=2, seconds=230),
    Job("reproduction", cores=2, seconds=600),
    Job("relu_flow_vs_descent", seconds=200),
    Job("relu_growth", seconds=40),
    Job("relu_large", ("--seconds", "20"), cores=2, seconds=250),
    Job("cold_start", seconds=60),
    Job("relu_profile", seconds=40),
    Job("explorer", cores=2, seconds=180),
    Job("completion_flow", seconds=180),
    Job("deep_batches", seconds=40),
    Job("margin_limits", seconds=90),
    _brackets(200, "234", "margins", 2, 3, 4),
    _brackets(260, "56", "margins", 5, 6),
    _brackets(130, "8", "margins", 8),
    _brackets(270, "1530", "margins", 15, 30),
    _brackets(260, "norms", "norms"),
    _brackets(150, "distances", "distances"),
    Job("margin_growth", seconds=80),
    Job("margin_ascent", cores=2, seconds=60),
    Job("margin_ascent_gpu", seconds=70),
    Job("tangent_kernel", seconds=60),
    Job("residual_network", cores=2, seconds=900),
    Job("images_cpu", seconds=60),
    Job("images_gpu", seconds=120),
)
"""In the order of `benchmarks/README.md`; the seconds are estimates."""


@dataclass
class Running:
    """A job that has been started."""

    job: Job
    process: subprocess.Popen[bytes]
    file: IO[bytes]
    cores: Sequence[int]
    begun: float = field(default_factory=time.monotonic)
    told_to_end: float | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def end(self) -> None:
        """Ask it to end, with its own processes, and insist when it does not."""
        now = time.monotonic()
        if self.told_to_end is None:
            self.told_to_end = now
            self._signal(signal.SIGTERM)
        elif now - self.told_to_end > GRACE_S:
            self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def environment() -> dict[str, str]:
    """One thread of linear algebra each, and prints that arrive at once."""
    return {**os.environ, **dict.fromkeys(THREAD_SETTINGS, "1"), "PYTHONUNBUFFERED": "1"}


def start(job: Job, command: Sequence[str], folder: Path, cores: Sequence[int]) -> Running:
    def pin() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)

    settings = environment()
    if not job.script.endswith("_gpu"):
        settings["JAX_PLATFORMS"] = "cpu"
    file = (folder / f"{job.name}.txt").open("wb")
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=subprocess.STDOUT,
        env=settings,
        start_new_session=True,
        preexec_fn=pin,
    )
    return Running(job, process, file, cores)


def warm(folder: Path, cores: Sequence[int], limit: float) -> None:
    """Compile every family of kernels, side by side; whoever needs one of another's waits."""
    script = HERE.parent / "tests" / "warm_kernels.py"
    jobs = [Job("warm", (family,), part=family) for family in FAMILIES]
    commands = {job.name: [sys.executable, str(script), *job.options] for job in jobs}
    run(jobs, commands, folder, cores, limit, limit)


def run(
    jobs: Sequence[Job],
    commands: dict[str, list[str]],
    folder: Path,
    cores: Sequence[int],
    each: float,
    whole: float,
) -> list[Ended]:
    """Seconds and exit code of every job, in the order they ended: those that take longest first,
    as many at once as there are cores for. One that wants more cores than that runs by itself."""
    began, free, running, ended = time.monotonic(), list(cores), list[Running](), list[Ended]()
    waiting = sorted(jobs, key=lambda job: -job.seconds)
    try:
        while waiting or running:
            late = time.monotonic() - began > whole
            if late:
                ended += [(job.name, 0.0, "not started") for job in waiting]
                waiting = []
            while waiting:
                wanted = waiting[0].cores
                if wanted > len(free) and (running or wanted <= len(cores)):
                    break
                job, more = waiting.pop(0), available_cores()[len(cores) :]
                mine, free = (free + list(more))[:wanted], free[wanted:]
                running.append(start(job, commands[job.name], folder, mine))
            for one in list(running):
                code = one.process.poll()
                if code is None:
                    if late or one.seconds > each:
                        one.end()
                    continue
                running.remove(one)
                one.file.close()
                free += [core for core in one.cores if core in cores]
                came = "out of time" if one.told_to_end is not None else f"exit code {code}"
                ended.append((one.job.name, one.seconds, came))
                print(f"{one.job.name}: {one.seconds:.0f} s, {came}", flush=True)
            time.sleep(LOOK_S)
    finally:
        for one in running:
            one.end()
            one.process.wait()
    return ended


def available_cores() -> Sequence[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def together(jobs: Sequence[Job], ended: Sequence[Ended], folder: Path) -> str:
    """Everything that was printed, in the order of the benchmarks, and a summary."""
    parts = []
    for job in jobs:
        printed = folder / f"{job.name}.txt"
        text = printed.read_text("utf-8", "replace") if printed.exists() else ""
        parts.append(f"== {job.name} {' '.join(job.options)}".rstrip() + f"\n{text}")
    width = max(len(name) for name, _, _ in ended)
    lines = [f"{name:<{width}}  {seconds:6.0f} s  {came}" for name, seconds, came in ended]
    return "\n".join([*parts, "== summary: seconds and exit codes", *lines]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = list(dict.fromkeys(job.script for job in JOBS))
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; all without")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer problems")
    parser.add_argument("--skip", nargs="+", default=[], help="benchmarks, or parts, to leave out")
    parser.add_argument("--at-once", type=int, default=1, help="cores to fill; one without")
    parser.add_argument("--each-s", type=float, default=600.0, help="the limit of each benchmark")
    parser.add_argument("--time-s", type=float, default=float("inf"), help="the limit of all")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"), help="a folder")
    chosen = parser.parse_args()
    began = time.monotonic()
    known = {*names, *(job.name for job in JOBS)}
    if strange := [name for name in (*chosen.names, *chosen.skip) if name not in known]:
        parser.error(f"no benchmark is called {', '.join(strange)}; there are {', '.join(names)}")
    jobs = [
        job
        for job in JOBS
        if (not chosen.names or {job.script, job.name} & {*chosen.names})
        and not {job.script, job.name} & {*chosen.skip}
    ]
    cores = available_cores()[: max(1, chosen.at_once)]
    chosen.out.mkdir(parents=True, exist_ok=True)
    tell_machine()
    warm(chosen.out, cores, chosen.each_s)
    quick = ("--quick",) if chosen.quick else ()
    commands = {
        job.name: [sys.executable, str(HERE / f"{job.script}.py"), *job.options, *quick]
        for job in jobs
    }
    left = chosen.time_s - (time.monotonic() - began)
    ended = run(jobs, commands, chosen.out, cores, chosen.each_s, left)
    text = together(jobs, ended, chosen.out)
    (chosen.out / "tables.txt").write_text(text, "utf-8")
    print(text)
    sys.exit(any(came != "exit code 0" for *_, came in ended))


if __name__ == "__main__":
    main()
