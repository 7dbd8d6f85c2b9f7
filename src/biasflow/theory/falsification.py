"""The search for a problem on which a claim fails, or is tightest: random members of its family,
then moves of the best.

A problem is named by its lineage, such as '17 y3 s8': member 17 of the claim's family, moved twice
(the letter says what was moved, the number seeds it). Lineages are short, and rebuild the problem
wherever the code is the same. The search is a sweep: points are stored as they are finished, so
that a search that is cut off goes on where it stopped.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import instance, positive_float, positive_int
from .._core.progress import doing
from ..errors import InputError
from ..sweeps import Engine, Processes, Progress, Store, Tally
from ..sweeps.assembly import MISSING
from ..sweeps.grids import Grid
from ..sweeps.resumable import assembled, finished_dataset, make_ledger, sweep
from .problem_moves import LETTERS, problem_at
from .verdicts import Check, Claim, Status, Verdict
from .verification import claim, roots_of_claim, verify

if TYPE_CHECKING:
    import xarray

STATUSES = tuple(Status)
PROBLEM_SECONDS = 10.0
"""What the evidence for one problem may cost in a search."""
RANDOM_SHARE = 0.6
"""Of the time, spent on random members of the family at most."""
BEST, CHILDREN = 4, 4
"""Problems that a round of moves starts from, and moves of each."""
MEMBERS = 1_000_000
"""Keys of a search start at key·MEMBERS, so that searches with different keys share no problem."""


def tightness(check: Check) -> float:
    """Slack in units of the larger side, between −1 and 1; for '==' what is left of the error; NaN
    where nothing was judged."""
    if check.status in (Status.INCONCLUSIVE, Status.HYPOTHESES_FAIL):
        return float("nan")
    if check.relation == "==":
        exact = 1.0 if check.measured == check.bound else -1.0
        return 1 - abs(check.measured - check.bound) / check.error if check.error > 0 else exact
    size = max(abs(check.measured), abs(check.bound))
    return (
        0.0
        if size == 0
        else float(np.clip(check.slack / size, -1.0, 1.0))
        if np.isfinite(size)
        else 1.0
    )


def searched_point(claim_id: str, lineage: str, time_s: float) -> xarray.Dataset:
    """A problem of a search, as a point of a sweep: how tight the claim is there."""
    return _row(verify(claim_id, problem_at(claim(claim_id), lineage), time_s=time_s))


def _row(verdict: Verdict) -> xarray.Dataset:
    import xarray

    found = [(tightness(check), k) for k, check in enumerate(verdict.checks)]
    least, place = min(((t, k) for t, k in found if not np.isnan(t)), default=(float("nan"), -1))
    sharp = verdict.sharpness
    return xarray.Dataset(
        {
            "tightness": least,
            "check": place,
            "sharpness": np.nan if sharp is None else sharp,
            "status": STATUSES.index(verdict.status),
            "informative": np.nan if verdict.informative is None else float(verdict.informative),
        }
    )


@dataclass(frozen=True, eq=False)
class Falsification:
    """The tightest problem that a search found. lineage names it; statuses counts the verdicts of
    all that were tried.

    sharpness: the least factor by which some bound could be tightened on every problem that was
    judged; None without bounds.
    informative: the share of judged problems on which the null model fails; None without one.
    """

    claim: Claim
    lineage: str
    problem: Any
    verdict: Verdict
    statuses: Mapping[Status, int]
    sharpness: float | None
    informative: float | None
    seconds: float

    @property
    def tried(self) -> int:
        return sum(self.statuses.values())

    @property
    def judged(self) -> int:
        """Problems that satisfy the hypotheses."""
        refused = (Status.HYPOTHESES_FAIL, Status.DOES_NOT_APPLY)
        return sum(count for status, count in self.statuses.items() if status not in refused)

    @property
    def tightest(self) -> Check | None:
        """The check with the least slack on the tightest problem."""
        found = [check for check in self.verdict.checks if not np.isnan(tightness(check))]
        return min(found, key=tightness, default=None)

    @property
    def slack(self) -> float:
        """The least slack found, in units of the larger side (of the error, for equalities);
        negative: violated."""
        return float("nan") if self.tightest is None else tightness(self.tightest)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.statuses.items())
        sharp = (
            ""
            if self.sharpness is None
            else f"; every bound could be {self.sharpness:.3g} times tighter"
        )
        return (
            f"{self.claim.id}: {self.tried} problems in {self.seconds:.0f} s ({counts}){sharp}\n"
            f"tightest: problem '{self.lineage}', slack {self.slack:.3g}\n{self.verdict}"
        )


class _OutOfTime(Exception):
    pass


@doing("falsify")
def falsify(
    claim_or_id: Claim | str,
    *,
    time_s: float = 60.0,
    problems: int = 100,
    key: int = 0,
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> Falsification:
    """Search for the problem on which a claim has the least slack: random ones, then moves of the
    best.

    Parameters
    ----------
    claim_or_id : str or theory.Claim
        A claim that is not in the library is searched in this process.
    time_s : float
        Seconds for the search.
    problems : int
        How many random ones.
    key : int
        Of the search.
    store : sweeps.Store, optional
        With one a search goes on where it was cut off, and a longer one reuses a shorter.
    progress : callable, optional
        Told how many problems are done.
    engine : sweeps.Engine, optional
        Where problems are judged.

    Returns
    -------
    theory.Falsification
        The tightest problem found, its verdict, and how tight it is.

    Raises
    ------
    InputError
        Where no problem of the family could be judged in the time given.

    Examples
    --------
    >>> found = bf.falsify("W/lem1", time_s=5, problems=3, engine=bf.sweeps.Serial())
    >>> "violated" in found.statuses
    False
    """
    statement = (
        claim(claim_or_id)
        if isinstance(claim_or_id, str)
        else instance("claim_or_id", claim_or_id, Claim)
    )
    time_s, problems, key = (
        positive_float("time_s", time_s),
        positive_int("problems", problems),
        positive_int("key", key, least=0),
    )
    registered = isinstance(claim_or_id, str)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        shelf = store or Store(Path(scratch))
        search = _Search(
            statement, registered, shelf, engine or Processes(), progress, begun, time_s
        )
        members = [str(key * MEMBERS + k) for k in range(problems)]
        with doing(search.words):
            search.look_at(
                members, begun + RANDOM_SHARE * time_s if problems > 1 else begun + time_s
            )
            for turn in range(1_000_000):
                if time.monotonic() >= begun + time_s or not search.judged:
                    break
                search.look_at(search.moves(turn, key), begun + time_s)
    if not search.judged:
        raise InputError(search.failure())
    lineage = search.best[0]
    problem = problem_at(statement, lineage)
    rows = search.rows.values()
    counts = Counter(STATUSES[int(row["status"])] for row in rows)
    sharp = [
        float(row["sharpness"]) for row in search.judged.values() if not np.isnan(row["sharpness"])
    ]
    telling = [
        float(row["informative"])
        for row in search.judged.values()
        if not np.isnan(row["informative"])
    ]
    found = Falsification(
        statement,
        lineage,
        problem,
        verify(statement, problem, time_s=min(PROBLEM_SECONDS, time_s)),
        {status: counts[status] for status in STATUSES if counts[status]},
        min(sharp) if sharp else None,
        float(np.mean(telling)) if telling else None,
        time.monotonic() - begun,
    )
    if store is not None and registered:
        store.write_record({"lineage": lineage, "slack": found.slack}, **_address(statement))
    return found


def tightest_known(claim_id: str, store: Store) -> str:
    """The lineage of the tightest problem that searches with this store have found."""
    record = store.read_record(**_address(claim(claim_id)))
    if record is None:
        raise InputError(
            f"{claim_id}: no search with this code yet; run `biasflow falsify {claim_id}` first"
        )
    return str(record["lineage"])


def _address(statement: Claim) -> dict[str, Any]:
    return {
        "kind": "falsified",
        "roots": (*roots_of_claim(statement), __name__),
        "claim": statement.id,
    }


class _Search:
    """What has been looked at, by lineage."""

    def __init__(
        self,
        statement: Claim,
        registered: bool,
        store: Store,
        engine: Engine,
        progress: Progress | None,
        begun: float,
        time_s: float,
    ) -> None:
        self.statement, self.registered, self.store, self.engine = (
            statement,
            registered,
            store,
            engine,
        )
        self.progress, self.begun, self.time_s = progress, begun, time_s
        self.rows: dict[str, Mapping[str, float]] = {}
        self.unmade: list[str] = []
        self.judging = 0

    def words(self) -> str:
        """How many problems were looked at, and how tight the claim is on the best."""
        count = len(self.rows) + self.judging
        slack = [row["tightness"] for row in self.judged.values()]
        return f"{count} problems" + (f", least slack {min(slack):.3g}" if slack else "")

    def failure(self) -> str:
        """Why nothing was judged."""
        id, tried = self.statement.id, len(self.rows)
        if not tried and self.unmade:
            return f"claim_or_id: no problem of {id} could be made; the first: {self.unmade[0]}"
        if not tried:
            return (
                f"time_s: no problem of {id} could be judged in {self.time_s:g} s; give more time"
            )
        first = verify(
            self.statement, problem_at(self.statement, next(iter(self.rows))), time_s=self.time_s
        )
        return (
            f"claim_or_id: no problem of {id} could be judged, of {tried} tried; the first: "
            f"{first.status}, {first.why}"
        )

    @property
    def judged(self) -> dict[str, Mapping[str, float]]:
        return {
            lineage: row for lineage, row in self.rows.items() if not np.isnan(row["tightness"])
        }

    @property
    def best(self) -> list[str]:
        """Lineages from the tightest on; of equals the shorter and earlier first."""
        return sorted(
            self.judged,
            key=lambda lineage: (self.judged[lineage]["tightness"], len(lineage), lineage),
        )

    def moves(self, turn: int, key: int) -> list[str]:
        """Children of the tightest problems, not looked at yet."""
        rng = np.random.default_rng((key, turn, 31))
        children = [
            f"{parent} {LETTERS[rng.integers(len(LETTERS))]}{rng.integers(10**6)}"
            for parent in self.best[:BEST]
            for _ in range(CHILDREN)
        ]
        return list(dict.fromkeys(child for child in children if child not in self.rows))

    def look_at(self, lineages: Sequence[str], deadline: float) -> None:
        """Judge these problems, as many as there is time for."""
        if not lineages:
            return
        if not self.registered:
            self._look_here(lineages, deadline)
            return
        grid = Grid(
            {"lineage": lineages},
            {"claim_id": self.statement.id, "time_s": min(PROBLEM_SECONDS, self.time_s)},
            chunk=1,
        )

        def watch(tally: Tally) -> None:
            self.judging = tally.done + tally.failed
            self._tell()
            if time.monotonic() > deadline:
                raise _OutOfTime

        try:
            data: xarray.Dataset | None = sweep(
                searched_point, grid, store=self.store, engine=self.engine, watch=watch
            )
        except _OutOfTime:
            ledger = make_ledger(searched_point, grid, self.store)
            data = finished_dataset(ledger, assembled(ledger)) if ledger.done.any() else None
        self.judging = 0
        if data is None:
            return
        missing = data[MISSING].values if MISSING in data else np.zeros(len(lineages), dtype=bool)
        for k, lineage in enumerate(lineages):
            row = {
                name: float(data[name].values[k])
                for name in ("tightness", "check", "sharpness", "status", "informative")
            }
            if not missing[k] and not np.isnan(row["status"]):
                self.rows[lineage] = row

    def _look_here(self, lineages: Sequence[str], deadline: float) -> None:
        for lineage in lineages:
            if time.monotonic() > deadline:
                return
            try:
                problem = problem_at(self.statement, lineage)
            except Exception as error:  # a member that cannot be made is no problem
                self.unmade.append(f"{type(error).__name__}: {error}")
                continue
            verdict = verify(self.statement, problem, time_s=min(PROBLEM_SECONDS, self.time_s))
            self.rows[lineage] = {str(name): float(value) for name, value in _row(verdict).items()}
            self._tell()

    def _tell(self) -> None:
        """Progress in seconds: what a search is given is time."""
        if self.progress is not None:
            self.progress(
                int(min(time.monotonic() - self.begun, self.time_s)),
                max(int(self.time_s), 1),
                self.statement.id,
            )
