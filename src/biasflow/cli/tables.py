"""A user's data from a file: CSV with or without a header, or NPZ. Cells are data: nothing in them
is ever run; nothing is dropped or filled in without being asked for, but columns without a name and
without a value at the end, and that is said."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from .._core.problems import Dataset
from ..errors import InputError, unknown

DELIMITERS = "\t;"
"""What separates fields where the first line has it outside quotes; else a comma does. In this
order: a file with decimal commas has semicolons."""
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
"""Words for a missing value, in lower case: those that spreadsheets and pandas write."""
SHOWN = 40
"""Characters of a cell that a message quotes."""


class Row(NamedTuple):
    """A record of the file, and the line on which it begins."""

    line: int
    cells: list[str]


class Table(NamedTuple):
    """Rows of one length under column names; a column without one is 'column 1', and so on."""

    names: list[str]
    rows: list[Row]


def read_data(
    path: Path,
    target: str | None = None,
    drop: Sequence[str] = (),
    labels: str | None = None,
) -> Dataset:
    """X and y from CSV (a header is allowed) or from NPZ (arrays X and y).

    target: the column of y, by default the last that is left. drop: columns to leave out. labels:
    'no,yes' or 'no=-1,yes=+1', the names in y of −1 and +1.
    """
    if not path.is_file():
        raise InputError(f"--data: no file {path}")
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".npz"):
        raise InputError(f"--data: expected a file that ends in .csv or .npz, found {path.name}")
    if suffix == ".npz" and (target is not None or drop):
        raise InputError("--target, --drop: they name columns of a CSV file; arrays have no names")
    mapping = None if labels is None else signs_of(labels)
    try:
        if suffix == ".npz":
            X, y = _read_npz(path, mapping)
        else:
            X, y = _read_csv(path, target, drop, mapping)
    except InputError:
        raise
    except Exception as reason:  # a damaged archive makes its readers raise whatever they like
        raise InputError(f"--data: cannot read {path}: {reason or type(reason).__name__}") from None
    return Dataset(X, y, name=path.stem)


def signs_of(labels: str) -> dict[str, float]:
    """−1 and +1 by the names of labels: 'no,yes', or 'no=-1,yes=+1,perhaps=-1'."""
    parts = [part.strip() for part in labels.split(",")]
    if any("=" in part for part in parts):
        found = {}
        for part in parts:
            name, _, sign = part.rpartition("=")
            if sign.strip() not in ("-1", "−1", "1", "+1") or not name.strip():
                raise InputError(f"--labels: expected NAME=-1 or NAME=+1, found {part!r}")
            found[name.strip()] = 1.0 if sign.strip() in ("1", "+1") else -1.0
    elif len(parts) == 2 and all(parts):
        found = {parts[0]: -1.0, parts[1]: 1.0}
    else:
        raise InputError(
            f"--labels: expected two names, of −1 and of +1, such as 0,1; found {labels!r}"
        )
    if len(found) < len(parts) or set(found.values()) != {-1.0, 1.0}:
        raise InputError(f"--labels: expected different names for −1 and +1, found {labels!r}")
    return found


def _read_csv(
    path: Path, target: str | None, drop: Sequence[str], labels: dict[str, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    table = _table(path, labels is not None)
    kept = [k for k in range(len(table.names)) if k not in _dropped(table.names, drop)]
    if target is not None:
        target = _named(target, table.names)
        chosen = [k for k, name in enumerate(table.names) if name == target]
        if not chosen:
            raise unknown("column", target, table.names)
        if len(chosen) > 1:
            raise InputError(f"--target: {len(chosen)} columns are named {target!r}")
        if chosen[0] not in kept:
            raise InputError(f"--target, --drop: both name the column {target!r}")
        at = chosen[0]
    else:
        at = kept[-1] if kept else -1
    inputs = [k for k in kept if k != at]
    if not table.rows or not inputs:
        raise ValueError(
            "needs at least one row, one column of inputs and one of labels; found "
            f"{len(table.rows)} rows and {len(kept)} columns"
        )
    X = _numbers(table, inputs)
    y = _numbers(table, [at], target=True)[:, 0] if labels is None else _signs(table, at, labels)
    return X, y


def _table(path: Path, labelled: bool) -> Table:
    """Rows and names. labelled: the last column may hold words."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(_rows(file.readlines()))
    except UnicodeDecodeError as reason:
        raise ValueError(f"it is no text in UTF-8 (byte {reason.start})") from None
    if not rows:
        return Table([], [])
    rows = _without_empty_end(rows, path.name)
    first = rows[0].cells
    known = [_is_number(cell) or cell.lower() in MISSING for cell in first]
    words = [cell for cell, number in zip(first, known, strict=True) if not number]
    numbers = [cell for cell in first if _is_number(cell)]
    if words and numbers and not (labelled and all(known[:-1])):
        raise ValueError(
            f"line {rows[0].line} mixes numbers with something else: "
            f"{', '.join(first)[:60]!r}; a header has no numbers"
        )
    header = bool(words) and not numbers
    names = [cell if header and cell else f"column {k}" for k, cell in enumerate(first, start=1)]
    rows = rows[1:] if header else rows
    for row in rows:
        if len(row.cells) != len(names):
            raise ValueError(
                f"line {row.line} has {len(row.cells)} fields, the first one {len(names)}"
            )
    return Table(names, rows)


def _without_empty_end(rows: list[Row], file: str) -> list[Row]:
    """Rows less last columns without a name and without a value: what a separator at the end of
    every line makes."""
    widest = width = max(len(row.cells) for row in rows)
    while width > 1 and not any(any(row.cells[width - 1 : width]) for row in rows):
        width -= 1
    if width == widest:
        return rows
    typer.echo(
        f"{file}: lines end with a separator; the empty column after the last value is left out",
        err=True,
    )
    return [Row(row.line, row.cells[:width]) for row in rows]


def _rows(lines: list[str]) -> Iterator[Row]:
    begin = next((line for line in lines if line.strip()), "")
    bare = re.sub(r'"[^"]*"', "", begin)
    delimiter = next((mark for mark in DELIMITERS if mark in bare), ",")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    line = 1
    for record in reader:
        cells = [cell.strip() for cell in record]
        if len(cells) > 1 or any(cells):
            yield Row(line, cells)
        line = reader.line_num + 1


def _dropped(names: list[str], drop: Sequence[str]) -> set[int]:
    """Columns to leave out; a name that has commas of its own is taken whole."""
    asked = [
        _named(part.strip(), names)
        for given in drop
        for part in ([given] if given in names else given.split(","))
        if part.strip()
    ]
    for name in asked:
        if name not in names:
            raise unknown("column", name, names)
    return {k for k, name in enumerate(names) if name in asked}


def _named(column: str, names: list[str]) -> str:
    """The name of a column that may be given by its number, counted from 1."""
    return f"column {column}" if column not in names and column.isdigit() else column


def _numbers(table: Table, columns: list[int], target: bool = False) -> np.ndarray:
    try:
        return np.array([[_number(row.cells[k]) for k in columns] for row in table.rows])
    except ValueError:
        raise InputError("--data: " + _refusal(table, columns, target)) from None


def _number(cell: str) -> float:
    value = float(cell)
    if "_" in cell or not math.isfinite(value):  # 1_000 is Python's, not a table's
        raise ValueError(cell)
    return value


def _is_number(cell: str) -> bool:
    try:
        return not math.isnan(float(cell)) and "_" not in cell
    except ValueError:
        return False


def _refusal(table: Table, columns: list[int], target: bool) -> str:
    """Which cell is no number, and what to do; how many others there are."""
    bad = [
        (row.line, k, row.cells[k])
        for row in table.rows
        for k in columns
        if row.cells[k].lower() in MISSING
        or not _is_number(row.cells[k])
        or not math.isfinite(float(row.cells[k]))
    ]
    line, k, cell = bad[0]
    name, more = table.names[k], len(bad) - 1
    others = f" (and {more} more cell{'' if more == 1 else 's'})" if more else ""
    if cell.lower() in MISSING:
        return f"line {line}: {name!r} is missing{others}"
    shown = cell if len(cell) <= SHOWN else cell[: SHOWN - 1] + "…"
    place = f"line {line}, column {name!r}: {shown!r}"
    if _is_number(cell):
        return f"{place} is not finite{others}"
    found = list(dict.fromkeys(row.cells[k] for row in table.rows))
    if re.fullmatch(r"[+-]?\d+,\d+", cell):
        advice = "decimals need a point"
    elif target and len(found) == 2:
        advice = f"--labels {','.join(sorted(found))} makes them −1 and +1"
    elif target:
        advice = "--target names the column of labels, --labels the words for −1 and +1"
    else:
        advice = f"--drop {name!r} leaves the column out"
    return f"{place} is not a number{others}; {advice}"


def _signs(table: Table, column: int, labels: dict[str, float]) -> np.ndarray:
    found = []
    for row in table.rows:
        sign = _sign(row.cells[column], labels)
        if sign is None:
            raise InputError(
                f"--labels: line {row.line}, column {table.names[column]!r}: "
                f"{row.cells[column]!r} is none of {', '.join(map(repr, labels))}"
            )
        found.append(sign)
    return np.array(found)


def _sign(cell: str, labels: dict[str, float]) -> float | None:
    """The sign of a label; numbers are compared as numbers: 1.0 is 1."""
    if cell in labels:
        return labels[cell]
    if _is_number(cell):
        for name, sign in labels.items():
            if _is_number(name) and float(name) == float(cell):
                return sign
    return None


def _read_npz(path: Path, labels: dict[str, float] | None) -> tuple[np.ndarray, np.ndarray]:
    # opened here: of a damaged archive np.load leaves its own file open
    with path.open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array, not an archive of arrays X and y")
        missing = {"X", "y"} - set(arrays.files)
        if missing:
            raise ValueError(f"needs arrays X and y; found {', '.join(sorted(arrays.files))}")
        X, y = arrays["X"], arrays["y"]
    if labels is None:
        return X, y
    signs = [_sign(str(label), labels) for label in np.ravel(y)]
    if None in signs:
        raise InputError(
            f"--labels: y[{signs.index(None)}] is {np.ravel(y)[signs.index(None)]!s}, none of "
            f"{', '.join(map(repr, labels))}"
        )
    return X, np.array(signs, dtype=float)
