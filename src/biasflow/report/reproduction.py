"""Every figure and claim that exists, computed where the store does not have it, then written as a
page."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import experiments, theory
from ..errors import InputError, unknown
from ..sweeps import Engine, Progress, Store, StoreError, environment
from ..sweeps.versions import function_version, roots_of
from ..theory.verdicts import Check, Claim, Status, Verdict
from ..theory.verification import roots_of_claim
from .entries import PAPERS, ClaimEntry, FigureEntry, Report, tag_of
from .numbers import numbers_of
from .page import render
from .pictures import file_name, gif, headless, movie_name, png

EXAMPLE_KEYS = (0, 1, 2)
EVIDENCE_SECONDS = 180.0
"""For the witness of one example: a page that is made once can wait."""


def reproduce(
    folder: Path | str,
    preset: str,
    store: Store | None = None,
    progress: Progress | None = None,
    only: str | None = None,
    engine: Engine | None = None,
) -> Report:
    """Write `folder/index.html` and `folder/figures/*.png`, animations beside them as GIF.

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
    figures: list[FigureEntry] = []
    claims: list[ClaimEntry] = []
    tell = progress or (lambda done, total, label: None)
    interrupted = True
    try:
        for id in figure_ids:
            figures.append(make_figure(id, preset, store, tell, engine))
            _save_image(folder, figures[-1])
        for done, id in enumerate(claim_ids):
            tell(done, len(claim_ids), "claims")
            claims.append(check_claim(id, EXAMPLE_KEYS, store))
        tell(len(claim_ids), len(claim_ids), "claims")
        interrupted = False
    finally:
        command = f"biasflow reproduce --preset {preset}" + (f" --only {only}" if only else "")
        made = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        report = Report(tuple(figures), tuple(claims), command, environment(), made, interrupted)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(render(report), encoding="utf-8")
    return report


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
        movie = b"" if experiment.animate is None else gif(experiment.animate(summary))
        return FigureEntry(
            experiment, preset, seconds, png(experiment.draw(summary)), movie, numbers
        )
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


def _verdict(claim: Claim, key: int, store: Store | None) -> Verdict:
    address: dict[str, Any] = {
        "kind": "verdict",
        "roots": roots_of_claim(claim),
        "claim": claim.id,
        "key": key,
    }
    if store and not address["roots"]:
        address["version"] = function_version(claim.check)
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
