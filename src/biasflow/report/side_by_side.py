"""A page made by workers that stay up: points of figures first, and wherever a worker is free a
claim or a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import experiments, theory
from ..sweeps import Progress, Store, StoreError
from ..sweeps.kept import Kept
from ..theory.verification import shared_evidence
from .entries import FigureEntry
from .growing_page import GrowingPage
from .making import DEAR, check_claim, drawn_figure, example_keys, is_stored, sentence
from .pictures import headless, pictures, stored_pictures

if TYPE_CHECKING:
    import xarray

TICK_S = 0.2
"""How long to wait for the workers before the page is looked at again."""
CLAIM, FIGURE = "claim", "figure"


class SideBySide:
    """Workers leave what they made in the store, and the page takes it from there: what failed
    there is made here, where it fails with its reason."""

    def __init__(
        self, page: GrowingPage, preset: str, store: Store, kept: Kept, tell: Progress
    ) -> None:
        self._page, self._preset, self._store = page, preset, store
        self._kept, self._tell = kept, tell
        self._computed: dict[str, tuple[xarray.Dataset, float]] = {}  # not drawn yet

    def make(self, parts: Sequence[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Figures and claims of one part after those of another."""
        mine: list[str] = []
        if self._page.claim_ids:
            self._tell(0, len(self._page.claim_ids), "claims")
        for figure_ids, claim_ids in parts:
            missing: list[str] = []
            for id in claim_ids:
                if is_stored(id, self._preset, self._store):
                    self._add_claim(id)
                else:
                    (missing if _is_registered(id, theory) else mine).append(id)
            for ids in _with_common_examples(missing):
                setting = {"ids": ids, "preset": self._preset, "store": self._store}
                self._kept.add(f"{CLAIM} {' '.join(ids)}", settle_claims, setting)
            for id in figure_ids:
                self._compute(id)
                self._take()
        while self._kept.wait(TICK_S):
            self._take()
        self._take()
        for id in mine:
            self._add_claim(id)
            self._page.grow()

    def _compute(self, id: str) -> None:
        """The points of a figure; it is drawn later, unless it was before."""
        before = self._kept.seconds

        def told(done: int, total: int, label: str) -> None:
            self._tell(done, total, id)
            self._take()

        try:
            summary = experiments.figure(
                id, preset=self._preset, store=self._store, progress=told, engine=self._kept
            )
            self._computed[id] = summary, self._kept.seconds - before
            drawn = stored_pictures(experiments.experiment(id), summary, self._store)
            if drawn is None and _is_registered(id, experiments):
                setting = {"id": id, "preset": self._preset, "store": self._store}
                self._kept.add(f"{FIGURE} {id}", settle_pictures, setting, first=True)
            else:
                self._add_figure(id, drawn=drawn)
        except StoreError:
            raise
        except Exception as error:
            self._fail(id, error)

    def _take(self) -> None:
        """What workers have settled."""
        for settled in self._kept.settled():
            kind, *ids = settled.name.split()
            for id in ids:
                if kind == CLAIM:
                    self._add_claim(id)
                else:
                    self._add_figure(id, settled.seconds)
        self._page.grow()

    def _add_claim(self, id: str) -> None:
        self._page.add(check_claim(id, example_keys(id, self._preset), self._store))
        self._tell(len(self._page.claims), len(self._page.claim_ids), "claims")

    def _add_figure(
        self, id: str, seconds: float = 0.0, drawn: tuple[bytes, bytes] | None = None
    ) -> None:
        """seconds: those of its drawing."""
        summary, before = self._computed.pop(id)
        try:
            entry = drawn_figure(id, self._preset, summary, before + seconds, self._store, drawn)
            self._page.add(entry)
        except StoreError:
            raise
        except Exception as error:
            self._fail(id, error)

    def _fail(self, id: str, error: Exception) -> None:
        failure = sentence(error)
        self._page.add(FigureEntry(experiments.experiment(id), self._preset, failure=failure))


def _is_registered(id: str, room: Any) -> bool:
    """Whether another process finds the same claim or figure by its id."""
    lookup = room.claim if room is theory else room.experiment
    return id in room.REGISTER.ids and room.REGISTER.offer(id).value is lookup(id)


def _with_common_examples(ids: Sequence[str]) -> list[list[str]]:
    """Claims in groups that are about the same problems, the dear ones first."""
    groups: dict[Any, list[str]] = {}
    for id in ids:
        groups.setdefault(theory.claim(id).example, []).append(id)
    return sorted(groups.values(), key=lambda group: set(group).isdisjoint(DEAR))


def settle_claims(ids: Sequence[str], preset: str, store: Store) -> xarray.Dataset:
    """Check claims on the examples of the page, and leave their verdicts in the store."""
    import xarray

    with shared_evidence():
        for id in ids:
            check_claim(id, example_keys(id, preset), store)
    return xarray.Dataset()


def settle_pictures(id: str, preset: str, store: Store) -> xarray.Dataset:
    """Draw a figure whose points are in the store, and leave the pictures there."""
    import xarray

    headless()
    pictures(experiments.experiment(id), experiments.figure(id, preset, store), store)
    return xarray.Dataset()
