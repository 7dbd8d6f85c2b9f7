"""Small vector algebra for the kernels: plain loops, which compile fast and beat calls at these
sizes.

Arrays are made here only, and one way each: every other way to make, fill or compare arrays, and
every mix of types in `min` and `max`, would be a kernel more to compile. So would be every literal
number that is passed to a kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, inner, seldom, stamp_of_folder
from .layout import SLIDE, Gates

STAMP = stamp_of_folder(__file__)
"""Changes with any module of kernels of the ReLU flow."""
SMALL_PRODUCT = 6000
"""Multiplications below which plain loops beat a call of BLAS."""


@seldom
def row_of(count: int) -> Array:
    return np.empty(count)


@seldom
def table_of(rows: int, columns: int) -> Array:
    return np.empty((rows, columns))


@seldom
def stack_of(tables: int, rows: int, columns: int) -> Array:
    return np.empty((tables, rows, columns))


@seldom
def indices(count: int) -> Index:
    return np.zeros(count, np.int64)


@seldom
def index_table(rows: int, columns: int) -> Index:
    return np.empty((rows, columns), np.int64)


@seldom
def gate_table(rows: int, columns: int) -> Gates:
    return np.empty((rows, columns), np.int8)


@seldom
def gate_stack(tables: int, rows: int, columns: int) -> Gates:
    return np.empty((tables, rows, columns), np.int8)


@borrowing
def larger(a: float, b: float) -> float:
    return b if b > a else a


@borrowing
def smaller(a: float, b: float) -> float:
    return b if b < a else a


@borrowing
def dot(u: Array, v: Array) -> float:
    total = 0.0
    for i in range(u.size):
        total += u[i] * v[i]
    return total


@borrowing
def norm(u: Array) -> float:
    return math.sqrt(dot(u, u))


@borrowing
def largest(F0: Array, F1: Array) -> float:
    """The largest size of an entry of either."""
    top = 0.0
    for i in range(F0.size):
        top = larger(top, larger(abs(F0[i]), abs(F1[i])))
    return top


@borrowing
def fill(u: Array, value: float) -> None:
    for i in range(u.size):
        u[i] = value


@borrowing
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    for i in range(source.size):
        target[i] = source[i]


@borrowing
def fill_table(table: Array, value: float) -> None:
    for j in range(table.shape[0]):
        for i in range(table.shape[1]):
            table[j, i] = value


@borrowing
def copy_table(source: NDArray[Any], target: NDArray[Any]) -> None:
    for j in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[j, i] = source[j, i]


@inner
def product(A: Array, B: Array, out: Array) -> None:
    """out = A·B, by BLAS."""
    np.dot(A, B, out)


@borrowing
def project(Y: Array, U: Array, UT: Array, out: Array) -> None:
    """out = Y·Uᵀ: inner products of the rows, the first two columns of U being zero."""
    rows, groups, width = Y.shape[0], U.shape[0], U.shape[1]
    if rows * groups * width > SMALL_PRODUCT:
        product(Y, UT, out)
        return
    for j in range(rows):
        for g in range(groups):
            total = 0.0
            for i in range(width):
                total += Y[j, i] * U[g, i]
            out[j, g] = total


@borrowing
def assemble(Q: Array, U: Array, out: Array) -> None:
    """out = Q·U: combinations of the rows of U, the first two columns of U being zero."""
    rows, groups, width = Q.shape[0], U.shape[0], U.shape[1]
    if rows * groups * width > SMALL_PRODUCT:
        product(Q, U, out)
        return
    for j in range(rows):
        fill(out[j], 0.0)
        for g in range(groups):
            q = Q[j, g]
            if q != 0.0:
                for i in range(width):
                    out[j, i] += q * U[g, i]


@inner
def sliding_groups(row: Gates) -> Index:
    """Where a row of gates has SLIDE."""
    count = 0
    for g in range(row.size):
        count += 1 if row[g] == SLIDE else 0
    places, count = indices(count), 0
    for g in range(row.size):
        if row[g] == SLIDE:
            places[count] = g
            count += 1
    return places


@borrowing
def solve(A: Array, b: Array) -> None:
    """b becomes A⁻¹b for a positive definite A, which becomes its Cholesky factor."""
    n = b.size
    for i in range(n):
        for k in range(i + 1):
            total = A[i, k]
            for p in range(k):
                total -= A[i, p] * A[k, p]
            A[i, k] = math.sqrt(larger(total, 1e-300)) if i == k else total / A[k, k]
    for i in range(n):
        for k in range(i):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[k, i] * b[k]
        b[i] /= A[i, i]
