"""How sharp the claims are: a table of the tightest problems that searches found."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from .. import theory
from ..sweeps import Progress, Serial, Store, available_cores
from ..theory.verdicts import Check


@dataclass(frozen=True)
class SharpnessRow:
    """One claim's search, in plain values. failure: why there is none."""

    id: str
    kind: str = ""
    tried: int = 0
    judged: int = 0
    statuses: tuple[tuple[str, int], ...] = ()
    status: str = ""
    lineage: str = ""
    quantity: str = ""
    slack: float = float("nan")
    sharpness: float | None = None
    exponents: tuple[tuple[float, float], ...] = ()
    null: str = ""
    informative: float | None = None
    failure: str = ""


def search_row(
    id: str, time_s: float, problems: int, key: int, store: Store | None
) -> SharpnessRow:
    """A search in this process, summed up."""
    statement = theory.claim(id)
    try:
        found = theory.falsify(
            id, time_s=time_s, problems=problems, key=key, store=store, engine=Serial()
        )
    except Exception as error:
        return SharpnessRow(id, str(statement.kind), failure=f"{type(error).__name__}: {error}")
    tightest = found.tightest
    return SharpnessRow(
        id,
        str(statement.kind),
        found.tried,
        found.judged,
        tuple((str(status), count) for status, count in found.statuses.items()),
        str(found.verdict.status),
        found.lineage,
        "" if tightest is None else tightest.quantity,
        found.slack,
        found.sharpness,
        tuple(pair for check in found.verdict.checks if (pair := _exponents(check)) is not None),
        statement.null,
        found.informative,
    )


def _exponents(check: Check) -> tuple[float, float] | None:
    best = check.best_exponent
    return None if best is None or check.exponent is None else (check.exponent, best)


def search_rows(
    ids: Sequence[str],
    time_s: float,
    problems: int,
    key: int = 0,
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[SharpnessRow]:
    """Searches for several claims, side by side, in the order in which they finish."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers or available_cores(), spawn) as pool:
        running = [pool.submit(search_row, id, time_s, problems, key, store) for id in ids]
        for done, future in enumerate(as_completed(running), start=1):
            if progress is not None:
                progress(done, len(ids), "claims")
            yield future.result()


HEAD = """# How sharp are the theorems?

For each claim listed, problems of its family were tried at random, and the tightest ones moved
further (`biasflow falsify`): at least {problems} problems or {time_s:g} seconds each. *Slack* is
what is left at the tightest problem, as a share of the larger side of the inequality; for an
equality, of its error: negative would be a violation. *Tighter by* is the factor by which every
bound of the claim could be tightened on all problems judged and still hold: a theorem with a large
one says less than is true. For powers of λ and α the printed exponent stands before the one that
would be attained. *Null model fails* says on which share of the problems something that knows
nothing of the theorem (named) fails the checks: where it passes, "holds" carries no news.

Made by `{command}`; how many problems fit into the time depends on the machine, each problem is the
same everywhere and is rerun by `biasflow verify ID --problem LINEAGE`. Assumptions fail where they
fail: "violated" is no alarm there.

| claim | evidence | judged / tried | verdicts | tightest check | slack | tighter by | exponents | null model fails | lineage |
|---|---|---|---|---|---|---|---|---|---|
"""  # noqa: E501


def sharpness_page(rows: Sequence[SharpnessRow], time_s: float, problems: int, command: str) -> str:
    """The table as Markdown."""
    body = "\n".join(_line(row) for row in rows)
    return HEAD.format(problems=problems, time_s=time_s, command=command) + body + "\n"


def _line(row: SharpnessRow) -> str:
    if row.failure:
        return f"| `{row.id}` | {row.kind} | | {_cell(row.failure)} | | | | | | |"
    counts = ", ".join(f"{count} {status}" for status, count in row.statuses)
    sharp = (
        "" if row.sharpness is None else "∞" if np.isinf(row.sharpness) else f"{row.sharpness:.3g}"
    )
    exponents = "; ".join(f"{printed:.3g} → {best:.3g}" for printed, best in row.exponents)
    null = "" if row.informative is None else f"{row.informative:.0%} ({row.null})"
    cells = [
        row.kind,
        f"{row.judged} / {row.tried}",
        counts,
        _cell(row.quantity),
        f"{row.slack:.2g}",
        sharp,
        exponents,
        null,
    ]
    return f"| `{row.id}` | {' | '.join(cells)} | `{row.lineage}` |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
