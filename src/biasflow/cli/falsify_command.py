"""`biasflow falsify`: one claim, or all of them."""

from __future__ import annotations

from pathlib import Path

import typer

from .terminal import bars
from .writing import file_to_write


def search_one(id: str, time_s: float, problems: int, key: int, workers: int | None) -> bool:
    """Print the tightest problem of a claim; whether it is violated there."""
    from .. import theory
    from ..sweeps import Processes, default_store

    with bars() as progress:
        found = theory.falsify(
            id,
            time_s=time_s,
            problems=problems,
            key=key,
            store=default_store(),
            progress=progress,
            engine=Processes(workers),
        )
    typer.echo(f"{found}\nrerun it: biasflow verify {id} --problem '{found.lineage}'")
    return found.verdict.status is theory.Status.VIOLATED


def search_all(
    time_s: float, problems: int, key: int, workers: int | None, out: Path | None
) -> bool:
    """Print, or write, the table of all claims; whether any is violated."""
    from .. import theory
    from ..report.sharpness import search_rows, sharpness_page
    from ..sweeps import default_store

    if out is not None:
        file_to_write("--out", out)
    ids = theory.claims()
    with bars() as progress:
        found = {
            row.id: row
            for row in search_rows(ids, time_s, problems, key, default_store(), workers, progress)
        }
    rows = [found[id] for id in ids]
    command = (
        f"biasflow falsify --time {time_s:g} --problems {problems} --key "
        f"{key}{'' if out is None else f' --out {out}'}"
    )
    page = sharpness_page(rows, time_s, problems, command)
    if out is None:
        typer.echo(page)
    else:
        out.write_text(page, encoding="utf-8")
        typer.echo(f"written to {out}")
    # assumptions fail where they fail
    theorems = [row for row in rows if row.kind != theory.Kind.ASSUMPTION]
    violated = [
        row.id
        for row in theorems
        if any(status == theory.Status.VIOLATED for status, _ in row.statuses)
    ]
    failed = [f"{row.id}: {row.failure}" for row in rows if row.failure]
    typer.echo("\n".join([*failed, f"violated somewhere: {', '.join(violated) or 'none'}"]))
    return bool(violated)
