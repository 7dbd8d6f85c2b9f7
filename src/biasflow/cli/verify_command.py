"""Claims checked from the command line, on their own examples or on a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .._core.problems import Dataset, Problem
from .data_problems import advice, problem_on
from .tables import read_data
from .terminal import bars, counts
from .verdict_output import Case, as_json, failing_lines, json_text, verdict_line, write_junit

if TYPE_CHECKING:
    from .data_numbers import Figure

__all__ = ["Output", "UserFile", "on_data", "on_examples", "on_found", "read_data"]


@dataclass(frozen=True)
class UserFile:
    """A file of the user's, how to read it, and the network to train on it."""

    path: Path
    network: str = "diagonal"
    scale: float = 0.1
    depth: int = 2
    width: int = 50
    target: str | None = None
    drop: tuple[str, ...] = ()
    labels: str | None = None

    def load(self) -> tuple[Dataset, Problem]:
        data = read_data(self.path, self.target, self.drop, self.labels)
        return data, problem_on(data, self.network, self.scale, self.depth, self.width)


@dataclass(frozen=True)
class Output:
    """How verdicts are shown: in full, with claims about other things, as JSON, in a file of
    JUnit's."""

    full: bool = False
    everything: bool = False
    json: bool = False
    junit: Path | None = None


PLAIN = Output()


def on_examples(ids: Sequence[str], keys: int, output: Output = PLAIN) -> set[str]:
    """Print a claim's verdict on each example; the statuses met."""
    from ..report import check_claim
    from ..sweeps import default_store

    store, statuses = default_store(), []
    cases: list[Case] = []
    with bars() as progress:
        for done, id in enumerate(ids):
            progress(done, len(ids), "claims")
            entry = check_claim(id, range(keys), store)
            for key, verdict in entry.verdicts.items():
                cases.append((f"{id} [example {key}]", verdict))
                if not output.json:
                    line = f"{verdict}" if output.full else verdict_line(verdict)
                    typer.echo(f"[example {key}] {line}")
            if entry.failure:
                cases.append((id, entry.failure))
                if not output.json:
                    typer.echo(f"{id}: failed: {entry.failure}")
            statuses.append(entry.status)
        progress(len(ids), len(ids), "claims")
    _finish(cases, output, f"claims: {counts(statuses)}", examples=keys)
    return set(statuses)


def on_found(id: str, lineage: str | None, output: Output = PLAIN) -> set[str]:
    """Print a claim's verdict on a problem that a search found, by default the tightest of them;
    the statuses met."""
    from .. import theory
    from ..sweeps import default_store

    named = lineage or theory.tightest_known(id, default_store())
    verdict = theory.verify(id, theory.problem_at(theory.claim(id), named))
    if not output.json:
        typer.echo(f"[problem '{named}'] {verdict}")
    _finish([(f"{id} [problem '{named}']", verdict)], output, problem=named)
    return {verdict.status}


def on_data(ids: Sequence[str], file: UserFile, output: Output = PLAIN) -> set[str]:
    """Print each claim's verdict on a network trained on the file, a line each; claims about
    something else only where asked for. The statuses met."""
    from .. import theory
    from .data_numbers import numbers_of

    data, problem = file.load()
    # of one claim only where it is about them: a margin is what C's claims speak of
    asked = len(ids) > 1 or (file.network == "margin" and ids[0].startswith("C/"))
    numbers = numbers_of(problem, data, file.network) if asked else []
    if not output.json:
        for number in numbers:
            typer.echo(str(number))
    verdicts, failing = [], []
    for id in ids:
        verdict = theory.verify(id, problem)
        verdicts.append(verdict)
        if output.json:
            continue
        if output.full:
            typer.echo(str(verdict))
        elif verdict.status is theory.Status.HYPOTHESES_FAIL and not output.everything:
            failing.append(verdict)
        elif output.everything or verdict.status is not theory.Status.DOES_NOT_APPLY:
            typer.echo(verdict_line(verdict))
    last = [*failing_lines(failing), f"claims on {file.path}: {counts(v.status for v in verdicts)}"]
    if not output.full and not output.everything:
        last.append("details: `biasflow verify ID --data …`; hidden claims: `--all`")
    hint = advice(data, file.network)
    last += [hint] if hint else []
    cases: list[Case] = [(verdict.claim.id, verdict) for verdict in verdicts]
    _finish(cases, output, "\n".join(last), numbers, file=str(file.path), network=file.network)
    return {verdict.status for verdict in verdicts}


def _finish(
    cases: Sequence[Case],
    output: Output,
    last: str = "",
    numbers: Sequence[Figure] = (),
    **about: object,
) -> None:
    if output.json:
        typer.echo(json_text(as_json(cases, numbers, **about)))
    elif last:
        typer.echo(last)
    if output.junit is not None:
        write_junit(output.junit, cases)
