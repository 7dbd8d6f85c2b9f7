"""Inputs of a network: an array with one input a row, or a dictionary of such arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ...errors import InputError


@dataclass(frozen=True, eq=False)
class Batch:
    """Named arrays with one input a row each, such as tokens with their mask. Rows are taken as
    from an array."""

    parts: Mapping[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.parts.values())))

    def __getitem__(self, rows: Any) -> Batch:
        return Batch({name: part[rows] for name, part in self.parts.items()})


Inputs = Any
"""An array (n, …), or a `Batch`."""


def read_inputs(X: Any, name: str = "X") -> Inputs:
    """Inputs (n, ...): one along the first axis, of any shape. Whole numbers, such as tokens, stay
    whole."""
    if not isinstance(X, Mapping):
        return _read_array(name, X)
    if not X:
        raise InputError(f"{name}: an empty dictionary; expected arrays with one input a row")
    parts = {str(key): _read_array(f"{name}[{key!r}]", part, 1) for key, part in X.items()}
    lengths = {key: len(part) for key, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{name}: arrays of different lengths, {lengths}; one input a row in each")
    return Batch(parts)


def _read_array(name: str, X: Any, axes: int = 2) -> Array:
    if hasattr(X, "detach"):
        X = X.detach().cpu()
        X = (X.double() if X.is_floating_point() else X).numpy()
    array = real_array(name, X)
    if array.ndim < axes or 0 in array.shape:
        raise InputError(
            f"{name}: expected a non-empty array (n, ...) with one input a row, found shape "
            f"{array.shape}"
        )
    given = np.asarray(X)
    return given if given.dtype.kind in "iub" else array


def has_integers(X: Inputs) -> bool:
    return not isinstance(X, Batch) and X.dtype.kind in "iub"


def shape_of(X: Inputs) -> Any:
    """What one compiled form of a function serves: shapes of one input, and types."""
    if isinstance(X, Batch):
        return tuple((name, shape_of(part)) for name, part in X.parts.items())
    return X.shape[1:], X.dtype.kind


def words_of(X: Inputs) -> str:
    """Shapes and types, for a message."""
    if isinstance(X, Batch):
        return ", ".join(f"{name}: {words_of(part)}" for name, part in X.parts.items())
    return f"shape {X.shape} of {X.dtype}"


def two_inputs(X: Inputs) -> Inputs:
    """The first input and the one that differs from it most."""
    parts = tuple(X.parts.values()) if isinstance(X, Batch) else (X,)
    others: Any = np.zeros(len(X))
    for part in parts:
        rows = part.astype(np.float64).reshape(len(X), -1)
        others = others + np.max(np.abs(rows - rows[0]), axis=1)
    return X[[0, int(np.argmax(others))]]
