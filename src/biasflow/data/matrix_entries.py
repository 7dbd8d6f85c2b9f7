"""Matrix completion: some entries of a planted matrix of low rank (W, §6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, Index, matrix_shape, positive_int, real_array, vector
from .._core.facts import record_line
from .._core.former_names import keyword_only, renamed
from .._core.problems import Dataset
from ..errors import InconsistentError, InputError


class Entries(NamedTuple):
    """Observed entries of a matrix: M[rows[n], cols[n]] = values[n]."""

    rows: Index
    cols: Index
    values: Array

    def __repr__(self) -> str:
        return record_line(self)


@keyword_only("key")
def completion(
    shape: tuple[int, int] = (10, 10), rank: int = 1, observed: int = 60, *, key: int = 0
) -> Dataset:
    """`observed` random entries of M* = u*v*ᵀ, u* (rows, rank) and v* (cols, rank) with N(0, 1)
    entries (W, Figure 3).

    Parameters
    ----------
    shape : (int, int)
    rank : int
    observed : int
    key : int

    Returns
    -------
    Dataset
        X (observed, rows·cols) holds the indicators of the entries, flattened by rows; `truth` is
        M*, flattened likewise.

    Examples
    --------
    >>> data = bf.data.completion((5, 5), rank=1, observed=12, key=0)
    >>> print(data.X.shape, np.linalg.matrix_rank(data.truth.reshape(5, 5)))
    (12, 25) 1
    """
    rows, cols = matrix_shape(shape)
    rank, observed = positive_int("rank", rank), positive_int("observed", observed)
    if observed > rows * cols:
        raise InputError(
            f"observed: {observed} exceeds the {rows * cols} entries of a matrix of shape "
            f"{(rows, cols)}"
        )
    if rank > min(rows, cols):
        raise InputError(f"rank: {rank} exceeds that of a matrix of shape {(rows, cols)}")
    rng = np.random.default_rng(positive_int("key", key, least=0))
    truth = rng.standard_normal((rows, rank)) @ rng.standard_normal((cols, rank)).T
    places = np.sort(rng.permutation(rows * cols)[:observed])
    made = from_entries((rows, cols), *np.divmod(places, cols), truth.flat[places])
    return Dataset(
        made.X,
        made.y,
        f"completion {rows}×{cols} rank={rank} observed={observed} key={key}",
        truth.ravel(),
    )


def from_entries(
    shape: tuple[int, int], rows: ArrayLike, cols: ArrayLike, values: ArrayLike
) -> Dataset:
    """Observed entries M[rows, cols] = values as a data set: X holds their indicators, flattened by
    rows.

    Parameters
    ----------
    shape : (int, int)
        Of M.
    rows, cols : array of int, shape (n,)
        Counted from zero.
    values : array of shape (n,)

    Returns
    -------
    Dataset
        X (n, rows·cols), y (n,).

    Examples
    --------
    >>> bf.data.from_entries((2, 2), rows=[0, 1], cols=[0, 1], values=[3.0, 4.0]).X
    array([[1., 0., 0., 0.],
           [0., 0., 0., 1.]])
    """
    rows_, cols_, values_ = read_entries(shape, rows, cols, values)
    places = rows_ * shape[1] + cols_
    X = np.zeros((places.size, shape[0] * shape[1]))
    X[np.arange(places.size), places] = 1.0
    return Dataset(X, values_, f"entries of a {shape[0]}×{shape[1]} matrix")


@renamed(ds="data")
def observed_entries(data: Dataset, shape: tuple[int, int]) -> Entries:
    """The observed entries of a completion problem, from its indicators; repeated ones once.

    Parameters
    ----------
    data : Dataset
        Such as `completion` and `from_entries` make.
    shape : (int, int)
        Of the matrix.

    Returns
    -------
    Entries
        rows, cols and values.

    Raises
    ------
    InputError
        Where some row of X is no indicator of one entry.

    Examples
    --------
    >>> data = bf.data.from_entries((2, 2), rows=[0, 1], cols=[0, 1], values=[3.0, 4.0])
    >>> rows, cols, values = bf.data.observed_entries(data, (2, 2))
    >>> rows, cols, values
    (array([0, 1]), array([0, 1]), array([3., 4.]))
    """
    rows, cols = matrix_shape(shape)
    if data.d != rows * cols:
        raise InputError(
            f"shape: {(rows, cols)} has {rows * cols} entries, the inputs have dimension {data.d}"
        )
    wrong = np.flatnonzero((np.sum(data.X != 0, axis=1) != 1) | (np.sum(data.X, axis=1) != 1))
    if wrong.size:
        raise InputError(f"X: row {wrong[0]} is not the indicator of an entry")
    i, j = np.divmod(np.argmax(data.X, axis=1), cols)
    return read_entries((rows, cols), i, j, data.y)


def read_entries(shape: Any, rows: ArrayLike, cols: ArrayLike, values: ArrayLike) -> Entries:
    """Checked entries, in the order of their first mention: inside the shape, finite, and each with
    one value."""
    size = matrix_shape(shape)
    values = vector("values", values)
    places = [
        _positions(*axis, values.size)
        for axis in (("rows", rows, size[0]), ("cols", cols, size[1]))
    ]
    flat = places[0] * size[1] + places[1]
    _, first, group = np.unique(flat, return_index=True, return_inverse=True)
    clash = np.flatnonzero(values != values[first[group]])
    if clash.size:
        i, j = (int(place[clash[0]]) for place in places)
        raise InconsistentError(
            f"values: entry ({i}, {j}) is given as {values[first[group[clash[0]]]]:g} and as "
            f"{values[clash[0]]:g}"
        )
    kept = np.sort(first)
    return Entries(places[0][kept], places[1][kept], values[kept])


def _positions(name: str, value: ArrayLike, size: int, length: int) -> Index:
    array = real_array(name, value)
    if array.shape != (length,):
        raise InputError(
            f"{name}: expected {length} positions, one per value, found shape {array.shape}"
        )
    wrong = np.flatnonzero((array != np.floor(array)) | (array < 0) | (array >= size))
    if wrong.size:
        raise InputError(f"{name}: position {array[wrong[0]]:g} lies outside 0, …, {size - 1}")
    return array.astype(np.intp)
