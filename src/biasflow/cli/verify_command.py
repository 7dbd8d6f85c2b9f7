"""Claims checked from the command line, on their own examples or on a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer

from .._core.problems import Dataset, Problem
from ..errors import InputError
from .terminal import bars, counts


def on_examples(ids: Sequence[str], keys: int) -> set[str]:
    """Print a claim's verdict on each example; the statuses met."""
    from ..report import check_claim
    from ..sweeps import default_store

    store, statuses = default_store(), []
    with bars() as progress:
        for done, id in enumerate(ids):
            progress(done, len(ids), "claims")
            entry = check_claim(id, range(keys), store)
            for key, verdict in entry.verdicts.items():
                typer.echo(f"[example {key}] {verdict}")
            if entry.failure:
                typer.echo(f"{id}: failed: {entry.failure}")
            statuses.append(entry.status)
        progress(len(ids), len(ids), "claims")
    typer.echo(f"claims: {counts(statuses)}")
    return set(statuses)


def on_found(id: str, lineage: str | None) -> set[str]:
    """Print a claim's verdict on a problem that a search found, by default the tightest of them;
    the statuses met."""
    from .. import theory
    from ..sweeps import default_store

    named = lineage or theory.tightest_known(id, default_store())
    verdict = theory.verify(id, theory.problem_at(theory.claim(id), named))
    typer.echo(f"[problem '{named}'] {verdict}")
    return {verdict.status}


def on_data(
    ids: Sequence[str],
    path: Path,
    network: str,
    scale: float,
    depth: int,
    width: int,
    everything: bool = False,
) -> set[str]:
    """Print each claim's verdict on a network trained on the file; claims about something else only
    where asked for."""
    from .. import theory

    problem = NETWORKS[network](read_data(path), scale, depth, width)
    statuses = []
    for id in ids:
        verdict = theory.verify(id, problem)
        if everything or len(ids) == 1 or verdict.status is not theory.Status.DOES_NOT_APPLY:
            typer.echo(str(verdict))
        statuses.append(verdict.status)
    typer.echo(f"claims on {path}: {counts(statuses)}")
    return set(statuses)


def _diagonal(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    from ..losses import SquareLoss
    from ..models import DiagonalNetwork

    model = DiagonalNetwork(depth)
    return Problem(model, data, SquareLoss("sum"), model.init(scale, dim=data.d))


def _directions(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """Random directions that stay fixed, from R's start."""
    from ..losses import SquareLoss
    from ..models import random_network

    model, params = random_network(width, data.d, scale)
    return Problem(model, data, SquareLoss("half"), params)


def _relu(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """A two-layer ReLU network trained in full, from B's balanced start."""
    from ..losses import SquareLoss
    from ..models import TwoLayer

    model = TwoLayer(width, data.d)
    return Problem(model, data, SquareLoss("half-mean"), model.init(scale))


def _margin(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """A two-layer ReLU network with a bias, trained on the smooth margin of classes ±1, from a
    balanced start (C)."""
    from ..data import with_bias
    from ..losses import SmoothMargin
    from ..models import TwoLayer

    biased = with_bias(data)
    model = TwoLayer(width, biased.d)
    return Problem(model, biased, SmoothMargin(), model.init(scale / np.sqrt(width)))


NETWORKS = {"diagonal": _diagonal, "directions": _directions, "relu": _relu, "margin": _margin}


def read_data(path: Path) -> Dataset:
    """X and y from CSV (a header is allowed, y is the last column) or from NPZ (arrays X and y)."""
    if not path.is_file():
        raise InputError(f"--data: no file {path}")
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise InputError(f"--data: expected a file that ends in .csv or .npz, found {path.name}")
    try:
        X, y = readers[path.suffix.lower()](path)
    except Exception as reason:  # a damaged archive makes its readers raise whatever they like
        raise InputError(f"--data: cannot read {path}: {reason or type(reason).__name__}") from None
    return Dataset(X, y, name=path.stem)


def _read_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open(encoding="utf-8-sig") as file:
        lines = [line for line in file if line.strip()]
    numeric = [_is_number(field) for field in lines[0].split(",")] if lines else []
    if any(numeric) and not all(numeric):
        raise ValueError(
            f"line 1 mixes numbers with something else: {lines[0].strip()[:60]!r}; a header has "
            "no numbers"
        )
    rows = lines if all(numeric) else lines[1:]
    table = np.loadtxt(rows, delimiter=",", ndmin=2) if rows else np.empty((0, 0))
    if table.size == 0 or table.shape[1] < 2:
        raise ValueError(
            "needs at least one row, one column of inputs and one of labels; found shape "
            f"{table.shape}"
        )
    return table[:, :-1], table[:, -1]


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    # opened here: of a damaged archive np.load leaves its own file open
    with path.open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array, not an archive of arrays X and y")
        missing = {"X", "y"} - set(arrays.files)
        if missing:
            raise ValueError(f"needs arrays X and y; found {', '.join(sorted(arrays.files))}")
        return arrays["X"], arrays["y"]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
