"""What is done to an argument: the same data in another dress, data that is none, and data at the
edge of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz_material import (
    ARRAYS,
    CHOICE,
    COUNT,
    INDICES,
    LABELS,
    LIST,
    MATRIX,
    NUMBER,
    OBJECT,
    PARAMS,
    SCALE,
    SHAPE,
    TIMES,
    TOLERANCE,
    WORK,
)

import biasflow as bf

SAME, BAD, EDGE, SCALED = "same", "bad", "edge", "scaled"
"""Same: the base's result is expected; bad: a clear error; edge: a result that makes sense, or a
clear error; scaled: the same, and where the entry has a law, that law."""
POWERS = (-1000, -530, -100, -40, -10, 10, 40, 100, 530, 1000)
"""Of two: scaling by them is exact, from 1e-301 to 1e301."""


@dataclass(frozen=True)
class Mutation:
    name: str
    kind: str
    change: Callable[[Any], Any]
    power: int = 0


class Wrapped:
    """Something that turns into an array when asked."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array if dtype is None else self.array.astype(dtype)


def mutations(kind: str) -> Iterator[Mutation]:
    """Everything that is done to an argument of this kind."""
    if kind in ARRAYS:
        yield from _dressed(kind)
        yield from _spoiled(kind)
        yield from _edges(kind)
        if kind != LABELS:
            for power in POWERS:
                yield Mutation(
                    f"times 2^{power}",
                    SCALED,
                    lambda A, p=power: np.ldexp(np.asarray(A, dtype=float), p),
                    power,
                )
    for name, kind_of, value in VALUES.get(kind, ()):
        yield Mutation(name, kind_of, lambda _, v=value: v)


def _dressed(kind: str) -> Iterator[Mutation]:
    def frame(A: Any) -> Any:
        import pandas

        return (
            pandas.DataFrame(A) if np.ndim(A) == 2 else pandas.Series(A, index=range(len(A))[::-1])
        )

    def labelled(A: Any) -> Any:
        import xarray

        return xarray.DataArray(A)

    def locked(A: Any) -> Any:
        copy = np.array(A)
        copy.setflags(write=False)
        return copy

    for name, change in {
        "as lists": lambda A: A.tolist(),
        "Fortran order": np.asfortranarray,
        "read-only": locked,
        "strided": lambda A: np.repeat(A, 2, axis=0)[::2],
        "reversed view": lambda A: A[::-1].copy()[::-1],
        "pandas": frame,
        "xarray": labelled,
        "longdouble": lambda A: A.astype(np.longdouble),
        "big-endian": lambda A: A.astype(">f8"),
        "wrapped": Wrapped,
        "mask of nothing": lambda A: np.ma.masked_array(A, mask=False),
        "np.matrix": lambda A: np.asmatrix(A) if A.ndim == 2 else A,
    }.items():
        yield Mutation(name, SAME, change)
    yield Mutation("float32", EDGE, lambda A: A.astype(np.float32))
    if kind == LABELS:
        yield Mutation("int8", SAME, lambda A: A.astype(np.int8))


def _with(value: float) -> Callable[[Any], Any]:
    def change(A: Any) -> Any:
        spoiled = np.array(A, dtype=float)
        spoiled.flat[-1] = value
        return spoiled

    return change


def _sparse(A: Any) -> Any:
    import scipy.sparse

    return scipy.sparse.csr_matrix(np.atleast_2d(A))


def _spoiled(kind: str) -> Iterator[Mutation]:
    first = lambda A: np.arange(np.size(A)).reshape(np.shape(A)) == 0  # noqa: E731
    for name, change in {
        "a NaN": _with(np.nan),
        "an inf": _with(np.inf),
        "a -inf": _with(-np.inf),
        "complex": lambda A: A + 1j,
        "strings": lambda A: A.astype(str),
        "a word": lambda A: "abc",
        "ragged": lambda A: [[1.0], [2.0, 3.0]],
        "a mapping": lambda A: {"a": 1},
        "a set": lambda A: {1.0, 2.0},
        "sparse": _sparse,
        "dates": lambda A: A.astype("datetime64[s]"),
        "masked": lambda A: np.ma.masked_array(A, mask=first(A)),
        "masked rows": lambda A: [
            np.ma.masked_array(row, mask=first(row)) for row in np.atleast_2d(A)
        ],
        "a generator": lambda A: (row for row in A),
        "no rows": lambda A: np.empty((0, *A.shape[1:])),
        "no columns": lambda A: np.empty((*A.shape[:-1], 0)),
        "one dimension more": lambda A: A[..., None],
        "objects": lambda A: np.array([object()] * np.size(A)).reshape(np.shape(A)),
        "beyond floats": lambda A: [10**400] * len(A),
        "a class": lambda A: float,
    }.items():
        yield Mutation(name, BAD, change)
    for name, change in {
        "one dimension less": lambda A: A[0],
        "a number": lambda A: 1.0,
        "None": lambda A: None,
        "a row less": lambda A: A[:-1],
        "a row more": lambda A: np.concatenate([A, A[:1]]),
        "a column more": lambda A: np.concatenate([A, A[..., :1]], -1),
        "transposed": lambda A: np.ascontiguousarray(A.T),
    }.items():
        yield Mutation(name, EDGE, change)


def _edges(kind: str) -> Iterator[Mutation]:
    changes: dict[str, Callable[[Any], Any]] = {
        "zeros": lambda A: A * 0.0,
        "ones": np.ones_like,
        "minus": lambda A: -A,
        "integers": lambda A: np.round(3 * A).astype(int),
        "truth values": lambda A: A > 0,
        "bytes": lambda A: np.abs(np.round(10 * A)).astype(np.uint8),
        "subnormal": lambda A: A * 1e-310,
        "a zero row": lambda A: np.concatenate([A[:-1], 0 * A[:1]]),
        "a row twice": lambda A: np.concatenate([A[:-1], A[:1]]),
        "a row almost twice": lambda A: np.concatenate([A[:-1], A[:1] * (1 + 1e-15)]),
        "a row and its negative": lambda A: np.concatenate([A[:-1], -A[:1]]),
        "one huge entry": lambda A: _with(1e200)(A),
        "offset 1e9": lambda A: A + 1e9,
    }
    if kind == MATRIX:
        changes |= {
            "a zero column": lambda A: np.c_[A[:, :-1], 0 * A[:, 0]],
            "a column twice": lambda A: np.c_[A[:, :-1], A[:, 0]],
            "columns from 1e-12 to 1e12": lambda A: A * np.logspace(-12, 12, A.shape[1]),
            "rows from 1e-12 to 1e12": lambda A: A * np.logspace(-12, 12, A.shape[0])[:, None],
            "rank one": lambda A: np.outer(A[:, 0], A[0]),
            "one row": lambda A: A[:1],
            "one column": lambda A: A[:, :1],
        }
    if kind == LABELS:
        changes |= {
            "one class": lambda A: np.ones(A.shape),
            "halves": lambda A: A / 2,
            "0 and 1": lambda A: (A > 0).astype(float),
        }
    for name, change in changes.items():
        yield Mutation(name, EDGE, change)


def _values(bad: dict[str, Any], edge: dict[str, Any]) -> tuple[tuple[str, str, Any], ...]:
    return tuple(
        (name, kind, value)
        for kind, values in ((BAD, bad), (EDGE, edge))
        for name, value in values.items()
    )


NO_NUMBERS: dict[str, Any] = {
    "NaN": np.nan,
    "a word": "a",
    "a mapping": {},
    "complex": 1j,
    "an object": object(),
    "bytes": b"x",
}
ODD_NUMBERS: dict[str, Any] = {
    "zero": 0,
    "minus zero": -0.0,
    "minus one": -1.0,
    "inf": np.inf,
    "-inf": -np.inf,
    "subnormal": 1e-320,
    "1e-300": 1e-300,
    "1e-12": 1e-12,
    "a half": 0.5,
    "two": 2.0,
    "1e12": 1e12,
    "1e300": 1e300,
    "None": None,
    "True": True,
    "a list": [0.1],
    "0-d": np.array(0.1),
    "float32": np.float32(0.1),
    "10**400": 10**400,
    "text 0.1": "0.1",
}
PAIR = np.ones(6)
VALUES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    SCALE: _values({**NO_NUMBERS, "-1": -1.0}, ODD_NUMBERS),
    NUMBER: _values(NO_NUMBERS, ODD_NUMBERS),
    TOLERANCE: _values({**NO_NUMBERS, "-1": -1.0}, {**ODD_NUMBERS, "1e-13": 1e-13, "one": 1.0}),
    COUNT: _values(
        {
            **NO_NUMBERS,
            "-1": -1,
            "-10**20": -(10**20),
            "a fraction": 1.5,
            "inf": np.inf,
            "a pair": [3, 3],
        },
        {
            "zero": 0,
            "one": 1,
            "two": 2,
            "2.0": 2.0,
            "10**20": 10**20,
            "int8": np.int8(3),
            "True": True,
            "None": None,
            "text": "3",
            "seven": 7,
        },
    ),
    WORK: _values(
        {**NO_NUMBERS, "-1": -1, "a fraction": 1.5, "inf": np.inf, "a pair": [3, 3]},
        {
            "zero": 0,
            "one": 1,
            "two": 2,
            "2.0": 2.0,
            "int8": np.int8(3),
            "True": True,
            "None": None,
            "text": "3",
            "seven": 7,
        },
    ),
    CHOICE: _values(
        {
            "a word": "nope",
            "empty": "",
            "a number": 1,
            "a list": ["relu"],
            "a mapping": {},
            "a path": "../../etc/passwd",
            "long": "x" * 5000,
            "NUL": "\0",
            "an array": np.ones(3),
            "upper case": "RELU",
        },
        {"None": None},
    ),
    TIMES: _values(
        {
            "NaN": [np.nan, 1.0],
            "a word": "abc",
            "complex": [1j],
            "a mapping": {},
            "nested": [[[0.0]], [[1.0]]],
        },
        {
            "none": [],
            "unsorted": [3.0, 1.0, 2.0],
            "negative": [-1.0, 1.0],
            "twice": [0.0, 0.0, 1.0],
            "inf": [np.inf],
            "one": 0.5,
            "zero": [0.0],
            "1e-300": [1e-300],
            "1e300": [1e300],
            "five": np.linspace(0, 1, 5),
            "generator": range(2),
            "masked": np.ma.masked_array([0.0, 1.0], [True, False]),
        },
    ),
    OBJECT: _values(
        {
            "a number": 1,
            "a word": "abc",
            "an object": object(),
            "a mapping": {},
            "a list": [],
            "an array": np.ones(3),
            "a class": float,
            "the wrong class": bf.SquareLoss,
        },
        {
            "None": None,
            "constant": lambda *given: np.zeros(3),
            "NaN": lambda *given: np.full(3, np.nan),
            "raises": lambda *given: 1 / 0,
        },
    ),
    PARAMS: _values(
        {
            "None": None,
            "a number": 1,
            "empty": (),
            "a word": "abc",
            "a mapping": {"a": 1},
            "complex": (PAIR * 1j, PAIR),
            "one": (PAIR,),
            "NaN": (np.full(6, np.nan), PAIR),
            "short": (PAIR[:5], PAIR[:5]),
            "masked": (np.ma.masked_array(PAIR, PAIR > 0), PAIR),
        },
        {
            "zeros": (0 * PAIR, 0 * PAIR),
            "negative": (-PAIR, PAIR),
            "1e200": (1e200 * PAIR, PAIR),
            "1e-200": (1e-200 * PAIR, PAIR),
            "a list": [PAIR, PAIR],
            "a pair": (PAIR, PAIR),
        },
    ),
    INDICES: _values(
        {
            "a word": "abc",
            "fractions": [0.5, 1, 2, 0],
            "NaN": [np.nan] * 4,
            "too large": [0, 1, 2, 99],
            "10**20": [10**20, 0, 0, 0],
            "objects": [object()] * 4,
        },
        {
            "none": [],
            "one": [0],
            "negative": [-1, 0, 1, 2],
            "None": None,
            "truth values": [True] * 4,
            "the same": [0, 0, 0, 0],
            "floats": [0.0, 0.0, 1.0, 2.0],
            "nested": [[0, 0, 1, 2]],
        },
    ),
    SHAPE: _values(
        {
            "a word": "ab",
            "None": None,
            "fractions": (2.5, 3.5),
            "NaN": (np.nan, 3),
            "zero": (0, 3),
            "negative": (-1, 3),
            "a number": 3,
            "a mapping": {},
        },
        {
            "three": (3, 3, 3),
            "one": (3,),
            "none": (),
            "huge": (10**12, 10**12),
            "a list": [3, 3],
            "truth values": (True, True),
            "smaller": (2, 2),
            "floats": (3.0, 3.0),
            "wide": (3, 7, 1),
        },
    ),
    LIST: _values(
        {
            "None": None,
            "a number": 1,
            "a mapping": {},
            "objects": [object()],
            "NaN": [np.nan],
            "None inside": [None],
        },
        {
            "none": [],
            "a word": "abc",
            "numbers": [1, 2],
            "twice": [1, 1],
            "truth values": [1, 1.0, True],
            "range": range(3),
            "array": np.array([1, 2]),
            "matrix": np.ones((2, 2)),
            "mixed": [1, "a"],
            "strings": ["a", "b"],
        },
    ),
}
