"""Reading of arguments: anything `np.asarray` takes becomes a finite float64 array, or an error
names it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ScaleError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

MOST_COUNTED = 2**48
"""Sizes and counts above are slips: as bytes, 256 TiB. Seeds, which may be zero, are not counts."""
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
EXACT_INTEGER = 2.0**53
"""Whole numbers up to here are floats without loss."""


def real_array(name: str, value: ArrayLike) -> Array:
    """`value` as a finite float64 array. Masked entries are refused: what lies behind a mask is
    nobody's data."""
    if _hides_entries(value):
        raise InputError(
            f"{name}: some entries are masked; leave them out, or fill them (`.filled(value)`) "
            "with what you mean"
        )
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"entries of type {array.dtype}")
        given, array = array, np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as reason:
        raise InputError(f"{name}: expected real numbers, found {reason}") from None
    if given.dtype.kind in "iu" and given.dtype.itemsize == array.dtype.itemsize:
        _check_whole_numbers(name, given, array)
    if not all_finite(array):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(f"{name}: entry {where} is {array[where]}; every entry must be finite")
    return array


def all_finite(*arrays: Any) -> bool:
    """Whether every entry is. A sum of squares says so at once, unless it overflows."""
    return all(math.isfinite(np.vdot(each, each)) or np.isfinite(each).all() for each in arrays)


def _check_whole_numbers(name: str, given: Array, array: Array) -> None:
    """Whole numbers beyond 2^53, such as times in nanoseconds, are told apart by integers and not
    by floats."""
    far = np.abs(array) > EXACT_INTEGER
    if np.any(far):
        rounded = np.array([int(value) != int(float(value)) for value in given.ravel()]).reshape(
            given.shape
        )
        lost = np.argwhere(far & rounded)
        if len(lost):
            where = tuple(int(i) for i in lost[0])
            raise InputError(
                f"{name}: entry {where} is {given[where]}, which float64 rounds; subtract an "
                "offset, or scale it"
            )


def _hides_entries(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_hides_entries(part) for part in value)
    return isinstance(value, np.ma.MaskedArray) and bool(np.any(np.ma.getmaskarray(value)))


def matrix(name: str, value: ArrayLike) -> Array:
    array = real_array(name, value)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name}: expected a non-empty matrix (n, d), found shape {array.shape}")
    return array


def vector(name: str, value: ArrayLike, length: int | None = None) -> Array:
    array = real_array(name, value)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name}: expected a non-empty vector, found shape {array.shape}")
    if length is not None and array.size != length:
        raise InputError(f"{name}: expected length {length}, found {array.size}")
    return array


def system(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """A design matrix (n, d) with its labels (n,)."""
    X = matrix("X", X)
    y = real_array("y", y)
    if y.shape != (X.shape[0],):
        raise InputError(
            f"y: expected shape ({X.shape[0]},), one label per row of X {X.shape}, found {y.shape}"
        )
    return X, y


ONES_BY_CHANCE = 4
"""Samples up to which a last column of ones may be chance."""


def has_bias(X: Array) -> bool:
    """Whether the last column is one for every sample, of more than a few."""
    return bool(X.shape[0] > ONES_BY_CHANCE and X.shape[1] > 1 and np.all(X[:, -1] == 1))


def labels(name: str, value: ArrayLike, length: int | None = None) -> Array:
    """Classes: a vector of ±1."""
    array = vector(name, value, length)
    wrong = np.flatnonzero(np.abs(array) != 1)
    if wrong.size:
        hint = f"; 2*{name} - 1 makes ±1 of 0 and 1" if np.all((array == 0) | (array == 1)) else ""
        raise InputError(
            f"{name}: expected labels of ±1, entry {wrong[0]} is {array[wrong[0]]:g}{hint}"
        )
    return array


def log_of_scale(
    name: str, value: ArrayLike | None, log_value: ArrayLike | None, zero: bool = False
) -> tuple[Array, Array]:
    """The pair (scale, log scale) from exactly one of them; the scale may under- or overflow, its
    logarithm not."""
    if (value is None) == (log_value is None):
        raise InputError(f"{name}: give exactly one of {name} and log_{name}")
    if log_value is not None:
        log_array = real_array(f"log_{name}", log_value)
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(log_array), log_array
    array = real_array(name, value if value is not None else 1.0)
    too_small = (array > 0) & (array < SMALLEST_NORMAL)
    if np.any(too_small):
        raise ScaleError(
            f"{name}: {array[too_small].flat[0]:g} is too small for a float; give log_{name} "
            "instead"
        )
    bad = array < 0 if zero else array <= 0
    if np.any(bad):
        raise ScaleError(
            f"{name}: found {array[bad].flat[0]:g}, needs a positive number; a scale below float "
            f"range is given by log_{name}"
        )
    with np.errstate(divide="ignore"):
        return array, np.log(array)


def positive_int(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}: expected an integer of at least {least}, found {_shown(value)}")
    if least > 0 and value > MOST_COUNTED:
        raise InputError(
            f"{name}: {_shown(value)} is more than any machine counts to; expected at most "
            f"{MOST_COUNTED:,}"
        )
    return int(value)


def positive_float(name: str, value: Any) -> float:
    number = real_number(name, value, "a positive number")
    if not math.isfinite(number) or number <= 0:
        raise InputError(f"{name}: expected a positive finite number, found {number:g}")
    return number


def relative_tolerance(name: str, value: Any) -> float:
    """A positive number below one: an error as large as the thing itself is no tolerance."""
    number = positive_float(name, value)
    if number >= 1:
        raise InputError(f"{name}: expected a relative error below one, found {number:g}")
    return number


def real_number(name: str, value: Any, expected: str = "a number") -> float:
    """A float from any real number; text and truth values are none."""
    try:
        if isinstance(value, (str, bytes, bool, np.bool_)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: expected {expected}, found {_shown(value)}") from None


def _shown(value: Any) -> str:
    """An object as part of a sentence."""
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


MOST_SHOWN = 80
"""Letters of an object that an error shows."""


def label_size(y: Array) -> float:
    """‖y‖_∞, by which residuals are divided, so that they do not depend on the labels' units; one
    where all labels are zero."""
    return float(np.max(np.abs(y), initial=0.0)) or 1.0


def length(v: Array) -> float:
    """‖v‖₂ of all entries without overflow or underflow of their squares."""
    size = float(np.max(np.abs(v), initial=0.0))
    return size * float(np.linalg.norm(v / size)) if 0 < size < math.inf else size


def row_lengths(X: Array) -> Array:
    """‖x_k‖ of every row, without overflow or underflow of squares."""
    largest = np.max(np.abs(X), axis=1)
    safe = np.where(largest > 0, largest, 1.0)
    lengths: Array = largest * np.linalg.norm(X / safe[:, None], axis=1)
    return lengths


EXAMPLES = {
    "Loss": "bf.SquareLoss()",
    "SquareLoss": "bf.SquareLoss()",
    "MarginLoss": "bf.ExponentialLoss()",
    "Model": "bf.DiagonalNetwork(2)",
}
"""Of types that users make themselves: what one looks like."""


def instance(name: str, value: Any, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """`value`, or an error that says which type is needed."""
    if not isinstance(value, kind):
        names = [k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,))]
        example = f"; an example is {EXAMPLES[names[0]]}" if names[0] in EXAMPLES else ""
        raise InputError(
            f"{name}: expected {' or '.join(names)}, found {type(value).__name__}{example}"
        )
    return value


def one_of(name: str, value: Any, options: Sequence[Any]) -> Any:
    try:
        known = value in options
    except (TypeError, ValueError):  # an array compares entry by entry
        known = False
    if not known:
        raise InputError(
            f"{name}: expected one of {', '.join(map(repr, options))}, found {_shown(value)}"
        )
    return value


def matrix_shape(shape: Any) -> tuple[int, int]:
    """(rows, cols), or an error that says what was found."""
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise InputError(f"shape: expected (rows, cols), found {shape!r}") from None
    rows, cols = positive_int("shape[0]", rows), positive_int("shape[1]", cols)
    positive_int("shape[0]·shape[1]", rows * cols)
    return rows, cols
