"""Every figure and claim that exists, computed where the store does not have it, then written as a
page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import experiments, theory
from ..errors import InputError, unknown
from ..sweeps import Engine, Processes, Progress, Store
from ..sweeps.kept import Kept
from .entries import PAPERS, Report, tag_of
from .growing_page import GrowingPage
from .making import check_claim, example_keys, make_figure
from .side_by_side import SideBySide

COMPILED = ("B", "C")
"""Papers whose networks need kernels that take longer to compile than all figures of the others."""
DEAR = (
    *("W/fig1", "W/fig2", "W/fig3", "W/fig4ab", "W/fig4cd", "W/fig5"),
    *("R/fig2", "R/fig3", "R/fig6", "B/fig6", "B/fig7", "C/fig1", "C/fig2"),
)
"""Figures whose quick preset takes longer than ten processor seconds: after the others of their
part, which are on the screen by then."""


def reproduce(
    folder: Path | str,
    preset: str,
    store: Store | None = None,
    progress: Progress | None = None,
    only: str | None = None,
    engine: Engine | None = None,
) -> Report:
    """Write `folder/index.html` and `folder/figures/*.png`, animations beside them as GIF.

    The page is there from the start, grows with every result and says what is still to come.
    only: the id of one figure or claim, or the tag of a paper; engine: where the points of figures
    are computed; given a store, processes of our own take claims and drawings too. A figure or
    claim that fails is on the page with its reason. After Ctrl-C the page holds what is finished
    and says so, and KeyboardInterrupt is raised again.
    Raises UnknownNameError where `only` names nothing, StoreError where results cannot be kept.
    """
    folder = writable_folder(folder)
    figure_ids, claim_ids = _chosen(experiments.figures(), only), _chosen(theory.claims(), only)
    if not figure_ids and not claim_ids:
        raise unknown(
            "figure, claim or paper", str(only), [*experiments.figures(), *theory.claims()]
        )
    tell = progress or (lambda done, total, label: None)
    command = f"biasflow reproduce --preset {preset}" + (f" --only {only}" if only else "")
    page = GrowingPage(folder / "index.html", command, figure_ids, claim_ids)
    try:
        page.write()
        parts = [  # while kernels are compiled, what needs none
            (
                _cheap_first(figure_ids, preset, late),
                [id for id in claim_ids if (tag_of(id) in COMPILED) is late],
            )
            for late in (False, True)
        ]
        if store is not None and isinstance(engine, Kept | Processes):
            with engine if isinstance(engine, Kept) else Kept(engine) as kept:
                SideBySide(page, preset, store, kept, tell).make(parts)
        else:
            _make(parts, page, preset, store, tell, engine)
        if claim_ids:
            tell(len(claim_ids), len(claim_ids), "claims")
    except BaseException:
        page.write(interrupted=True)
        raise
    return page.write()


def _make(
    parts: Sequence[tuple[Sequence[str], Sequence[str]]],
    page: GrowingPage,
    preset: str,
    store: Store | None,
    tell: Progress,
    engine: Engine | None,
) -> None:
    """One after the other, figures where the engine has its workers, claims here."""
    for figure_ids, claim_ids in parts:
        for id in figure_ids:
            page.add(make_figure(id, preset, store, tell, engine))
            page.write()
        for id in claim_ids:
            tell(len(page.claims), len(page.claim_ids), "claims")
            page.add(check_claim(id, example_keys(id, preset), store))
            page.grow()


def _chosen(ids: Sequence[str], only: str | None) -> list[str]:
    known = {paper.tag: place for place, paper in enumerate(PAPERS)}
    chosen = [id for id in ids if only is None or only in (id, tag_of(id))]
    return sorted(chosen, key=lambda id: known.get(tag_of(id), len(known)))


def _cheap_first(ids: Sequence[str], preset: str, compiled: bool) -> list[str]:
    """The figures that need long compilation, or those that do not: the dear ones last, and those
    with fewest points first."""
    chosen = [id for id in ids if (tag_of(id) in COMPILED) is compiled]
    grids = {id: experiments.experiment(id).grids.get(preset) for id in chosen}
    sizes = {id: 0 if grid is None else grid.size for id, grid in grids.items()}
    return sorted(chosen, key=lambda id: (id in DEAR, sizes[id]))


def writable_folder(folder: Path | str) -> Path:
    """The folder, made where it was missing, or an error before any work is done."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / ".writable").touch()
        (path / ".writable").unlink()
    except OSError as reason:
        raise InputError(
            f"folder: cannot write the report into {path}: {reason.strerror or reason}"
        ) from None
    return path
