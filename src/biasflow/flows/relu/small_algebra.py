"""Small vector algebra for the kernels: plain loops, which compile fast and beat calls at these
sizes."""

from __future__ import annotations

import math

import numpy as np

from ..._core.arguments import Array, Index
from ..._numerics.compilation import inner, stamp_of_folder
from .layout import FIRST, Gates

STAMP = stamp_of_folder(__file__)
"""Changes with any module of kernels of the ReLU flow."""
SMALL_PRODUCT = 6000
"""Multiplications below which plain loops beat a call of BLAS."""


@inner
def dot(u: Array, v: Array) -> float:
    total = 0.0
    for i in range(u.size):
        total += u[i] * v[i]
    return total


@inner
def norm(u: Array) -> float:
    return math.sqrt(dot(u, u))


@inner
def largest(F0: Array, F1: Array) -> float:
    """The largest size of an entry of either."""
    top = 0.0
    for i in range(F0.size):
        top = max(top, abs(F0[i]), abs(F1[i]))
    return top


@inner
def fill(u: Array, value: float) -> None:
    for i in range(u.size):
        u[i] = value


@inner
def copy(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] = source[i]


@inner
def project(Y: Array, U: Array, UT: Array, out: Array) -> None:
    """out = Y·Uᵀ: inner products of the rows, the first two columns of U being zero."""
    rows, groups, width = Y.shape[0], U.shape[0], U.shape[1]
    if rows * groups * width > SMALL_PRODUCT:
        np.dot(Y, UT, out)
        return
    for j in range(rows):
        for g in range(groups):
            total = 0.0
            for i in range(FIRST, width):
                total += Y[j, i] * U[g, i]
            out[j, g] = total


@inner
def assemble(Q: Array, U: Array, out: Array) -> None:
    """out = Q·U: combinations of the rows of U, the first two columns of U being zero."""
    rows, groups, width = Q.shape[0], U.shape[0], U.shape[1]
    if rows * groups * width > SMALL_PRODUCT:
        np.dot(Q, U, out)
        return
    for j in range(rows):
        for i in range(width):
            out[j, i] = 0.0
        for g in range(groups):
            q = Q[j, g]
            if q != 0.0:
                for i in range(FIRST, width):
                    out[j, i] += q * U[g, i]


@inner
def positions(row: Gates, gate: int, extra: int) -> Index:
    """Where a row of gates has this gate, and one more place."""
    count = 0
    for g in range(row.size):
        if row[g] == gate or g == extra:
            count += 1
    places = np.empty(count, np.int64)
    count = 0
    for g in range(row.size):
        if row[g] == gate or g == extra:
            places[count] = g
            count += 1
    return places


@inner
def solve(A: Array, b: Array) -> None:
    """b becomes A⁻¹b for a positive definite A, which becomes its Cholesky factor."""
    n = b.size
    for i in range(n):
        for k in range(i + 1):
            total = A[i, k]
            for p in range(k):
                total -= A[i, p] * A[k, p]
            A[i, k] = math.sqrt(max(total, 1e-300)) if i == k else total / A[k, k]
    for i in range(n):
        for k in range(i):
            b[i] -= A[i, k] * b[k]
        b[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= A[k, i] * b[k]
        b[i] /= A[i, i]
