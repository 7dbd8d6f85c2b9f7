"""Cases and what becomes of them, each in a process that may hang or die."""

from __future__ import annotations

import functools
import random
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_bases import entries
from fuzz_judging import fault
from fuzz_material import ARRAYS, Entry
from fuzz_mutations import SAME, mutations

import biasflow as bf
from biasflow.sweeps import Processes, Store, Watch, sweep
from biasflow.sweeps.grids import Grid
from biasflow.sweeps.resumable import make_ledger

CLEAR, RIGHT, FOREIGN, HANG, WRONG = "clear error", "right", "foreign exception", "hang", "wrong"
OUTCOMES = (CLEAR, RIGHT, FOREIGN, HANG, WRONG)
SECONDS = 60.0
"""For one case. Bases take at most a few seconds, and searches among them have a time limit of
five."""
SEED = 0


@functools.cache
def all_cases() -> tuple[str, ...]:
    """'entry | argument | mutation', every one of them, shuffled so that any first part is a
    sample."""
    found = [
        f"{name} | {argument} | {mutation.name}"
        for name, entry in entries().items()
        for argument, kind in entry.kinds.items()
        for mutation in mutations(kind)
    ]
    random.Random(SEED).shuffle(found)
    return tuple(found)


def case(case: str) -> Any:
    """The point of the sweep: what became of one case."""
    import xarray

    outcome, detail = outcome_of(case)
    return xarray.Dataset({"outcome": outcome, "detail": detail})


def outcome_of(case: str) -> tuple[str, str]:
    name, argument, change = case.split(" | ")
    entry = entries()[name]
    mutation = next(one for one in mutations(entry.kinds[argument]) if one.name == change)
    value = _value(entry, argument)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            given = {**entry.arguments, argument: mutation.change(value)}
        except (TypeError, ValueError, IndexError) as reason:
            return RIGHT, f"no such case: {reason}"
        try:
            found = entry.call(**given)
        except bf.errors.BiasflowError as error:
            return CLEAR, f"{type(error).__name__}: {error}"[:300]
        except Exception as error:
            return FOREIGN, f"{type(error).__name__}: {error} at {_place(error)}"[:300]
        base = (
            base_result(name)
            if argument in entry.arguments or mutation.kind != SAME
            else entry.call(**entry.arguments | {argument: value})
        )
        wrong = fault(entry, mutation, given, argument, base, found)
    return (WRONG, wrong) if wrong else (RIGHT, "")


@functools.cache
def base_result(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return entries()[name].call(**entries()[name].arguments)


def _value(entry: Entry, argument: str) -> Any:
    """What the base has; an array that it leaves out is made to fit."""
    value = entry.arguments.get(argument)
    if value is None and entry.kinds[argument] in ARRAYS:
        X, labels = np.asarray(entry.arguments["X"]), entry.arguments.get("y")
        length = len(labels) if argument == "weights" and labels is not None else X.shape[1]
        value = X[:2] if argument == "other" else np.full(length, 0.1)
    return (
        np.asarray(value, dtype=float)
        if isinstance(value, list) and entry.kinds[argument] in ARRAYS
        else value
    )


def _place(error: Exception) -> str:
    """The last line of biasflow that the error passed through."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/biasflow/" in frame.filename
    ]
    return (
        f"{frames[-1].filename.split('/biasflow/')[-1]}:{frames[-1].lineno}"
        if frames
        else "the call"
    )


def fuzz(
    cases: Sequence[str], folder: Path, workers: int | None = None, watch: Watch | None = None
) -> dict[str, tuple[str, str]]:
    """What became of each case; those in the folder are not tried again."""
    grid, store = Grid({"case": tuple(cases)}), Store(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        data = sweep(
            case, grid, store=store, engine=Processes(workers), point_time_s=SECONDS, watch=watch
        )
    found = {
        one: (str(data.outcome.values[k]), str(data.detail.values[k]))
        for k, one in enumerate(cases)
    }
    ledger = make_ledger(case, grid, store)
    ledger.look_for_failures(range(grid.size))
    for k, failure in ledger.failed.items():  # stopped, or dead
        found[cases[k]] = (HANG if failure.kind == "TimeLimit" else FOREIGN, f"{failure}")
    return found
