"""One figure or one claim of a report, from the store where that has it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import experiments, theory
from ..sweeps import Engine, Progress, Serial, Store, StoreError
from ..sweeps.kept import Kept
from ..sweeps.versions import function_version, roots_of
from ..theory.verdicts import Check, Claim, Status, Verdict
from ..theory.verification import roots_of_claim
from .entries import ClaimEntry, FigureEntry
from .numbers import numbers_of
from .pictures import headless, pictures

if TYPE_CHECKING:
    import xarray

EXAMPLES = {"quick": 2, "paper": 3}
"""Of each claim on a page, by preset."""
DEAR = (
    *("C/thm5", "C/interchange", "C/cor4", "B/thm1", "C/thm2", "B/nearly", "W/sec6", "B/scale"),
    *("C/thm3", "C/thm8", "B/saddles", "S/laws", "B/leaky", "B/unbalanced", "W/descent"),
    *("W/sec6-rich", "R/twins", "C/clock", "C/thm10", "W/unique", "B/width", "B/lem12"),
    *("W/samples", "B/lem3", "R/lem3.5", "B/lem6", "B/remarks", "C/eq12", "B/lazy", "R/sec4"),
    *("C/eq11", "C/growth", "C/weight-decay", "C/lem20", "W/sec8", "W/thm2", "B/prop2"),
    *("W/sec3-bias", "W/sec5", "C/appC2", "C/lem26", "C/sec6", "C/energy", "S/lasso-path"),
    *("R/thm3.4", "B/eq19", "W/limit", "C/thm22", "C/prop6", "C/eq10", "R/pair", "W/sec3"),
    *("S/saddles", "R/sec5.1", "B/lem13", "B/eq9", "S/line", "S/lasso", "R/lemA2", "R/thm2.7"),
    *("W/fn2", "B/eq28", "W/lem4", "W/fn1", "R/cone", "R/lemA1", "W/thm3", "W/appA"),
    *("W/escape", "C/cor11", "C/sec7"),
)
"""Claims of which an example takes more than half a processor second, the dearest first: preset
quick has one of each."""
EVIDENCE_SECONDS = 180.0
"""For the witness of one example: a page that is made once can wait."""


def make_figure(
    id: str,
    preset: str,
    store: Store | None = None,
    progress: Progress | None = None,
    engine: Engine | None = None,
) -> FigureEntry:
    """Compute, draw and compare one figure. The seconds are those of the run that computed it."""
    start, told = time.process_time(), labelled(id, progress)
    try:
        if engine is None:
            summary = experiments.figure(id, preset=preset, store=store, progress=told)
            elsewhere = 0.0
        else:
            with Kept(engine) as kept:
                summary = experiments.figure(
                    id, preset=preset, store=store, progress=told, engine=kept
                )
            elsewhere = 0.0 if isinstance(engine, Serial) else kept.seconds
        return drawn_figure(id, preset, summary, time.process_time() - start + elsewhere, store)
    except StoreError:
        raise
    except Exception as error:
        return FigureEntry(experiments.experiment(id), preset, failure=sentence(error))


def drawn_figure(
    id: str,
    preset: str,
    summary: xarray.Dataset,
    seconds: float,
    store: Store | None,
    drawn: tuple[bytes, bytes] | None = None,
) -> FigureEntry:
    """A figure that is computed. seconds: what that took, unless the store knows of an earlier
    run; drawn: its pictures, where they are at hand."""
    headless()
    experiment = experiments.experiment(id)
    seconds = _first_seconds(id, preset, store, seconds)
    numbers = numbers_of(id, preset, summary)
    image, movie = drawn or pictures(experiment, summary, store)
    return FigureEntry(experiment, preset, seconds, image, movie, numbers)


def check_claim(id: str, keys: Sequence[int], store: Store | None = None) -> ClaimEntry:
    """The verdicts on a claim's examples, from the store where it has them."""
    claim = theory.claim(id)
    verdicts: dict[int, Verdict] = {}
    seconds = 0.0
    for key in keys:
        try:
            verdicts[key], spent = _verdict(claim, key, store)
            seconds += spent
        except StoreError:
            raise
        except Exception as error:
            return ClaimEntry(claim, verdicts, f"example {key}: {sentence(error)}")
    return ClaimEntry(claim, verdicts, seconds=seconds)


def example_keys(id: str, preset: str) -> range:
    """The examples of a claim on a page of this preset."""
    return range(1 if preset == "quick" and id in DEAR else EXAMPLES[preset])


def is_stored(id: str, preset: str, store: Store) -> bool:
    """Whether the store has every verdict on a claim that the page shows."""
    claim, keys = theory.claim(id), example_keys(id, preset)
    return all(store.read_record(**_address(claim, key)) is not None for key in keys)


def _address(claim: Claim, key: int) -> dict[str, Any]:
    """Where the store has a verdict."""
    roots = roots_of_claim(claim)
    version = {} if roots else {"version": function_version(claim.check)}
    return {"kind": "verdict", "roots": roots, "claim": claim.id, "key": key, **version}


def _verdict(claim: Claim, key: int, store: Store | None) -> tuple[Verdict, float]:
    """A verdict, and the processor seconds that it took when it was made."""
    address = _address(claim, key) if store else {}
    record = store.read_record(**address) if store else None
    if record is not None:
        hypotheses = tuple(zip(claim.hypotheses, record["failures"], strict=False))
        ruling = None if record["ruling"] is None else Status(record["ruling"])
        checks = tuple(Check(**check) for check in record["checks"])
        verdict = Verdict(claim, hypotheses, checks, ruling, record["reason"])
        return verdict, float(record.get("seconds", 0.0))
    begun = time.process_time()
    verdict = theory.verify(claim.id, key=key, time_s=EVIDENCE_SECONDS)
    seconds = time.process_time() - begun
    if store:
        failures = [failure for _, failure in verdict.hypotheses]
        found = {
            "failures": failures,
            "checks": [dataclasses.asdict(check) for check in verdict.checks],
            "ruling": verdict.ruling,
            "reason": verdict.reason,
            "seconds": seconds,
        }
        store.write_record(found, **address)
    return verdict, seconds


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


def labelled(id: str, progress: Progress | None) -> Any:
    """Progress of a sweep under the name of its figure."""
    return progress and (lambda done, total, label: progress(done, total, id))


def sentence(error: Exception) -> str:
    """What an error says, with its notes."""
    return "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
