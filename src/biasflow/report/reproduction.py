"""Every figure and claim that exists, computed where the store does not have it, then written as a
page."""

from __future__ import annotations

import dataclasses
import multiprocessing
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any

from .. import experiments, theory
from ..errors import InputError, unknown
from ..sweeps import Engine, Processes, Progress, Store, StoreError, available_cores
from ..sweeps.versions import function_version, roots_of
from ..theory.verdicts import Check, Claim, Status, Verdict
from ..theory.verification import roots_of_claim
from .entries import PAPERS, ClaimEntry, FigureEntry, Report, tag_of
from .growing_page import GrowingPage
from .numbers import numbers_of
from .pictures import file_name, headless, movie_name, pictures

EXAMPLE_KEYS = (0, 1, 2)
EVIDENCE_SECONDS = 180.0
"""For the witness of one example: a page that is made once can wait."""
COMPILED = ("B", "C")
"""Papers whose networks need kernels that take longer to compile than all figures of the others."""


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
    are computed. A figure or claim that fails is on the page with its reason. After Ctrl-C the page
    holds what is finished and says so, and KeyboardInterrupt is raised again.
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
        for late in (False, True):  # while kernels are compiled, what needs none
            for id in _cheap_first(figure_ids, preset, late):
                page.figures[id] = make_figure(id, preset, store, tell, engine)
                _save_image(folder, page.figures[id])
                page.write()
            ids = [id for id in claim_ids if (tag_of(id) in COMPILED) is late]
            with closing(_check_claims(ids, store, engine)) as checked:
                for _ in ids:
                    tell(len(page.claims), len(claim_ids), "claims")
                    entry = next(checked)
                    page.claims[entry.id] = entry
                    page.grow()
        if claim_ids:
            tell(len(claim_ids), len(claim_ids), "claims")
    except BaseException:
        page.write(interrupted=True)
        raise
    return page.write()


def make_figure(
    id: str,
    preset: str,
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> FigureEntry:
    """Compute, draw and compare one figure. The seconds are those of the run that computed it."""
    headless()
    experiment = experiments.experiment(id)
    start = time.perf_counter()
    try:
        summary = experiments.figure(
            id, preset=preset, store=store, progress=_labelled(id, progress), engine=engine
        )
        seconds = _first_seconds(id, preset, store, time.perf_counter() - start)
        numbers = numbers_of(id, preset, summary)
        image, movie = pictures(experiment, summary, store)
        return FigureEntry(experiment, preset, seconds, image, movie, numbers)
    except StoreError:
        raise
    except Exception as error:
        return FigureEntry(experiment, preset, failure=_sentence(error))


def check_claim(id: str, keys: Sequence[int], store: Store | None = None) -> ClaimEntry:
    """The verdicts on a claim's examples, from the store where it has them."""
    claim = theory.claim(id)
    verdicts: dict[int, Verdict] = {}
    for key in keys:
        try:
            verdicts[key] = _verdict(claim, key, store)
        except StoreError:
            raise
        except Exception as error:
            return ClaimEntry(claim, verdicts, f"example {key}: {_sentence(error)}")
    return ClaimEntry(claim, verdicts)


def _check_claims(
    ids: Sequence[str], store: Store | None, engine: Engine | None
) -> Generator[ClaimEntry]:
    """Claims as they are settled: those of the store, then the others, side by side where there are
    processes and a store to hand verdicts over."""
    missing = [id for id in ids if store is None or not _is_stored(id, store)]
    for id in ids:
        if id not in missing:
            yield check_claim(id, EXAMPLE_KEYS, store)
    alone = missing
    if store is not None and isinstance(engine, Processes):
        shared = [id for id in missing if _is_registered(id)]
        alone = [id for id in missing if id not in shared]
        for id in _settled_elsewhere(shared, store, engine):
            yield check_claim(id, EXAMPLE_KEYS, store)
    for id in alone:
        yield check_claim(id, EXAMPLE_KEYS, store)


def _settled_elsewhere(ids: Sequence[str], store: Store, engine: Processes) -> Iterator[str]:
    """Claims whose verdicts other processes have put into the store. One that fails there is left
    to fail here, with its reason."""
    if not ids:
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(engine.workers or available_cores(), spawn)
    try:
        running = {pool.submit(store_verdicts, id, store): id for id in ids}
        for future in as_completed(running):
            yield running[future]
    finally:
        pool.shutdown(cancel_futures=True)


def store_verdicts(id: str, store: Store) -> None:
    """Check a claim on the examples of the page, and leave its verdicts in the store."""
    check_claim(id, EXAMPLE_KEYS, store)


def _is_registered(id: str) -> bool:
    """Whether another process finds the same claim by its id."""
    return id in theory.REGISTER.ids and theory.REGISTER.offer(id).value is theory.claim(id)


def _is_stored(id: str, store: Store) -> bool:
    claim = theory.claim(id)
    return all(store.read_record(**_address(claim, key)) is not None for key in EXAMPLE_KEYS)


def _address(claim: Claim, key: int) -> dict[str, Any]:
    """Where the store has a verdict."""
    roots = roots_of_claim(claim)
    version = {} if roots else {"version": function_version(claim.check)}
    return {"kind": "verdict", "roots": roots, "claim": claim.id, "key": key, **version}


def _verdict(claim: Claim, key: int, store: Store | None) -> Verdict:
    address = _address(claim, key) if store else {}
    record = store.read_record(**address) if store else None
    if record is not None:
        hypotheses = tuple(zip(claim.hypotheses, record["failures"], strict=False))
        ruling = None if record["ruling"] is None else Status(record["ruling"])
        return Verdict(
            claim,
            hypotheses,
            tuple(Check(**check) for check in record["checks"]),
            ruling,
            record["reason"],
        )
    verdict = theory.verify(claim.id, key=key, time_s=EVIDENCE_SECONDS)
    if store:
        failures = [failure for _, failure in verdict.hypotheses]
        checks = [dataclasses.asdict(check) for check in verdict.checks]
        found = {
            "failures": failures,
            "checks": checks,
            "ruling": verdict.ruling,
            "reason": verdict.reason,
        }
        store.write_record(found, **address)
    return verdict


def _first_seconds(id: str, preset: str, store: Store | None, seconds: float) -> float:
    if store is None:
        return seconds
    roots = roots_of(experiments.experiment(id).point)
    address: dict[str, Any] = {
        "kind": "figure-seconds",
        "roots": roots,
        "figure": id,
        "preset": preset,
    }
    earlier = store.read_record(**address)
    if earlier is None:
        store.write_record(seconds, **address)
        return seconds
    return float(earlier)


def _chosen(ids: Sequence[str], only: str | None) -> list[str]:
    known = {paper.tag: place for place, paper in enumerate(PAPERS)}
    chosen = [id for id in ids if only is None or only in (id, tag_of(id))]
    return sorted(chosen, key=lambda id: known.get(tag_of(id), len(known)))


def _cheap_first(ids: Sequence[str], preset: str, compiled: bool) -> list[str]:
    """The figures that need long compilation, or those that do not: those with fewest points
    first."""
    chosen = [id for id in ids if (tag_of(id) in COMPILED) is compiled]
    grids = {id: experiments.experiment(id).grids.get(preset) for id in chosen}
    return sorted(chosen, key=lambda id: 0 if (grid := grids[id]) is None else grid.size)


def _save_image(folder: Path, figure: FigureEntry) -> None:
    if figure.failure is None:
        path = folder / "figures" / file_name(figure.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(figure.image)
        if figure.movie:
            movie_name(path).write_bytes(figure.movie)


def _labelled(id: str, progress: Progress | None) -> Any:
    return progress and (lambda done, total, label: progress(done, total, id))


def _sentence(error: Exception) -> str:
    return "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


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
