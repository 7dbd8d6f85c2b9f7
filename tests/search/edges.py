"""Every claim at the edges of what it is stated for: its examples rescaled, cut down, degenerate.

    python tests/search/edges.py C S        # letters of papers; continues where it was stopped

Keeps a line for each verdict in tests/search/edges-C.txt (one file a paper) and prints those that
are *violated* or made by an exception. Read each: it is a defect unless the statement is false
there. To repeat a claim after a repair, delete its lines.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import biasflow as bf
from biasflow._core.trees import leaf_map, leaves
from biasflow.errors import InputError
from biasflow.models import TwoLayerParams
from biasflow.theory.margin.margin_setting import Scores
from biasflow.theory.verdicts import Verdict

HERE = Path(__file__).parent
KEYS = (0, 1)
SCALES = (1e-100, 1e-10, 1e2, 1e4)
"""Of the start, by its largest weight."""


def data_of(problem: Any) -> Any:
    return getattr(problem, "data", problem)


def with_data(problem: Any, X: Any, y: Any, columns: Any = None) -> Any:
    """The problem on other data; its start cut to these columns, if any are given."""
    if isinstance(problem, bf.Dataset):
        return bf.Dataset(X, y)
    if isinstance(problem, bf.MirrorProblem):
        potential, beta0 = problem.potential, problem.beta0
        if columns is not None:
            potential = potential.restricted(columns)
            beta0 = None if beta0 is None else beta0[columns]
        return bf.MirrorProblem(potential, X, y, beta0)
    if not hasattr(problem, "data"):
        if columns is not None:
            raise InputError(f"{type(problem).__name__} is not a sum over coordinates")
        return dataclasses.replace(problem, X=X, y=y)
    if columns is None:
        return dataclasses.replace(problem, data=bf.Dataset(X, y))
    d = problem.data.d
    neurons = hasattr(problem.model, "width")

    def cut_to_columns(leaf: Any) -> Any:
        last = np.ndim(leaf) == 2 or (np.ndim(leaf) == 1 and not neurons)
        return leaf[..., columns] if last and leaf.shape[-1] == d else leaf

    model = problem.model
    if hasattr(model, "dim"):
        model = dataclasses.replace(model, dim=len(columns))
    start = leaf_map(cut_to_columns, problem.start)
    if isinstance(start, TwoLayerParams):  # balanced neurons stay balanced
        before, after = (np.linalg.norm(each.W, axis=1) for each in (problem.start, start))
        if np.allclose(np.abs(start.a), before, rtol=1e-9, atol=0):
            start = TwoLayerParams(np.sign(start.a) * after, start.W)
    return dataclasses.replace(problem, model=model, data=bf.Dataset(X, y), start=start)


def edges(problem: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of variants, and what makes each."""
    if isinstance(problem, Scores):
        u = problem.margins
        for name, values in {
            "scores × 1e-3": 1e-3 * u,
            "scores × 1e3": 1e3 * u,
            "one score": u[:1],
            "equal scores": np.full_like(u, u[0]),
            "negative scores": -np.abs(u),
        }.items():
            yield name, lambda values=values: dataclasses.replace(problem, margins=values)
        return
    data = data_of(problem)
    if not hasattr(data, "X"):
        return
    X, y = np.asarray(data.X), np.asarray(data.y)
    regression = isinstance(getattr(problem, "loss", bf.SquareLoss()), bf.SquareLoss)
    regression = regression and not isinstance(problem, bf.Dataset)
    ones = np.all(X == 1, axis=0)
    free = np.flatnonzero(~ones)
    for factor in (1e-6, 1e-3, 1e3):
        scaled = np.where(ones, X, factor * X)
        if factor > 1e-6:
            yield f"inputs × {factor:g}", lambda scaled=scaled: with_data(problem, scaled, y)
        if regression or not np.all(np.abs(y) == 1):
            yield f"labels × {factor:g}", lambda factor=factor: with_data(problem, X, factor * y)
    yield "one sample", lambda: with_data(problem, X[:1], y[:1])
    yield (
        "duplicated samples",
        lambda: with_data(problem, np.concatenate([X, X[:2]]), np.concatenate([y, y[:2]])),
    )
    if len(free) > 1:
        flat = X.copy()
        flat[:, free[0]] = 0.0
        yield "zero column", lambda: with_data(problem, flat, y)
        kept = np.concatenate([free[:1], np.flatnonzero(ones)])
        kept.sort()
        yield "one coordinate", lambda: with_data(problem, X[:, kept], y, kept)
        yield (
            "one sample, one coordinate",
            lambda: with_data(with_data(problem, X[:, kept], y, kept), X[:1, kept], y[:1]),
        )
    yield "one class", lambda: with_data(problem, X, np.abs(y))
    yield "the other class", lambda: with_data(problem, X, -np.abs(y))
    if regression:
        tied = np.where(np.arange(len(y)) % 2, -1.0, 1.0)
        yield "labels that tie", lambda: with_data(problem, X, tied)
    if isinstance(problem, bf.MirrorProblem):  # scale is in the potential: that of a network
        network, square = bf.DiagonalNetwork(2), bf.SquareLoss("sum")
        for scale in SCALES:
            yield f"start {scale:g}", partial(bf.Problem, network, (X, y), square, scale=scale)
    if isinstance(problem, bf.Problem):
        largest = max(float(np.max(np.abs(leaf))) for leaf in leaves(problem.start)) or 1.0
        for scale in SCALES:
            yield (
                f"start {scale:g}",
                lambda scale=scale: dataclasses.replace(
                    problem,
                    start=leaf_map(lambda leaf: leaf * (scale / largest), problem.start),
                    log_scale=0.0,
                ),
            )
        if isinstance(problem.start, TwoLayerParams):
            unit = leaf_map(lambda leaf: leaf / largest, problem.start)
            yield (
                "start e^-1000",
                lambda: dataclasses.replace(problem, start=unit, log_scale=-1000.0),
            )


@contextlib.contextmanager
def terminal() -> Iterator[list[str]]:
    """What is printed inside, by Python or by compiled code; nothing reaches the terminal."""
    words: list[str] = []
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as sink:
        for number in (1, 2):
            os.dup2(sink.fileno(), number)
        try:
            yield words
        finally:
            for number, saved in zip((1, 2), kept, strict=True):
                os.dup2(saved, number)
                os.close(saved)
            sink.seek(0)
            printed = sink.read().decode(errors="replace").splitlines()
            words += [line.strip() for line in printed if line.strip(" .")]


def note_of(verdict: Verdict) -> str:
    """What is wrong with a verdict, in words; empty if nothing is."""
    if verdict.status is bf.theory.Status.VIOLATED:
        return "; ".join(str(c) for c in verdict.checks if c.status is bf.theory.Status.VIOLATED)
    head = verdict.reason.partition(":")[0]
    return verdict.reason if head.endswith(("Error", "Exception", "Warning")) else ""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("papers", nargs="+")
    asked.add_argument("--time-s", type=float, default=5.0)
    asked.add_argument("--claim", default="", help="only claims whose id contains this")
    options = asked.parse_args()
    for paper in options.papers:
        place = HERE / f"edges-{paper}.txt"
        before = place.read_text().splitlines() if place.exists() else []
        seen = {tuple(line.split(" | ")[:3]) for line in before}
        with place.open("a") as out:
            for id in bf.claims():
                if not id.startswith(f"{paper}/") or options.claim not in id:
                    continue
                for key in KEYS:
                    for name, make in edges(bf.theory.claim(id).example(key)):
                        if (id, str(key), name) not in seen:
                            line = one_verdict(id, key, name, make, options.time_s)
                            print(line, file=out, flush=True)
                            if line.split(" | ")[-1]:
                                print(line, flush=True)


def one_verdict(id: str, key: int, name: str, make: Callable[[], Any], time_s: float) -> str:
    """A line for one variant: id, key, variant, status, seconds, what is wrong."""
    began = time.monotonic()
    try:
        problem = make()
    except Exception as refusal:  # a model may not take the variant at all
        return f"{id} | {key} | {name} | not made ({refusal!s:.60}) | 0 | ".replace("\n", " ")
    try:
        with terminal() as words:
            verdict = bf.verify(id, problem, time_s=time_s)
        words = [line for line in words if not line.startswith("biasflow: compiling")]
        status, note = verdict.status.value, note_of(verdict)
        printed = words[0].replace(f"{HERE.parents[1]}/", "") if words else ""
        note = note or (f"printed: {printed}" if printed else "")
    except Exception as error:
        status, note = "raised", f"{type(error).__name__}: {error}"
    took = time.monotonic() - began
    note = note.replace("\n", " ").replace("|", "¦")
    return f"{id} | {key} | {name} | {status} | {took:.1f} | {note[:400]}"


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
