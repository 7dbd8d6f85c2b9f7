"""What the compiled dual flow computes at a point: β and its inverse curvature for all coordinates, forces, and linear algebra.

A coordinate is free, β = r·sinh η, or on a half-line, β = s·e^{sη}. Both are c·e^{L+a}·(1 − e^{−2a}) with its own a ≥ 0, c and L;
the last factor is absent on half-lines. Where r is a normal float, c = r/2 and L = 0; below, c = 1/2 and L = log r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import finite, inner

LOG2_HIGH, LOG2_LOW, LOG2_INVERSE = 0.6931471803691238, 1.9082149292705877e-10, 1.4426950408889634
"""log 2 in two parts (the first has trailing zeros), and 1/log 2."""
LARGEST, SMALLEST = 709.0, -708.0
BLAS = 24
"""Samples from which X·diag(w)·Xᵀ is left to BLAS."""
BLOCKS = 4
"""Blocks of rows in which it is computed, each up to its diagonal: 5/8 of the whole."""
RIDGE = 4 * np.finfo(float).eps


@inner
def expm1_parts(x: float) -> Any:
    """(2^k, e^ρ − 1) with x = k·log 2 + ρ."""
    x = min(max(x, SMALLEST), LARGEST)
    k = np.floor(x * LOG2_INVERSE + 0.5)
    rho = (x - k * LOG2_HIGH) - k * LOG2_LOW
    series = 1.0 / 6227020800.0
    series = series * rho + 1.0 / 479001600.0
    series = series * rho + 1.0 / 39916800.0
    series = series * rho + 1.0 / 3628800.0
    series = series * rho + 1.0 / 362880.0
    series = series * rho + 1.0 / 40320.0
    series = series * rho + 1.0 / 5040.0
    series = series * rho + 1.0 / 720.0
    series = series * rho + 1.0 / 120.0
    series = series * rho + 1.0 / 24.0
    series = series * rho + 1.0 / 6.0
    series = series * rho + 0.5
    bits = np.int64((np.int64(k) + np.int64(1023)) << np.int64(52))
    power = bits.view(np.float64)
    return power, rho + rho * rho * series


@inner
def mirror(eta: Any, scale: Any, shift: Any, sign: Any, inverse: Any, beyond: float, beta: Any, weight: Any) -> None:
    """β and w = (φ*)'' at η, in place; both are cut off at `beyond`, where only trial steps look."""
    for j in range(eta.size):
        free = sign[j] == 0.0
        size = abs(eta[j]) if free else sign[j] * eta[j]
        power, rest = expm1_parts(shift[j] + size)
        top = scale[j] * (power * rest + power)
        power, rest = expm1_parts(-2.0 * abs(eta[j]))
        lacking = -(power * rest + (power - 1.0)) if free else 1.0
        side = np.copysign(1.0, eta[j]) if free else sign[j]
        beta[j] = side * min(top * lacking, beyond)
        weight[j] = min(top * (2.0 - lacking), beyond) * inverse[j]


@inner
def dual_point(X: Any, nu: Any, eta0: Any, inverse: Any, eta: Any) -> None:
    """η = η₀ + Xᵀν/c, in place."""
    n, d = X.shape
    eta[:] = 0.0
    for i in range(n):
        row, factor = X[i], nu[i]
        for j in range(d):
            eta[j] += row[j] * factor
    for j in range(d):
        eta[j] = eta0[j] + eta[j] * inverse[j]


@inner
def forces(X: Any, beta: Any, target: Any, speed: float, force: Any) -> None:
    """speed·(target − Xβ), in place."""
    n, d = X.shape
    for i in range(n):
        row, total = X[i], 0.0
        for j in range(d):
            total += row[j] * beta[j]
        force[i] = speed * (target[i] - total)


@inner
def gram(X: Any, weight: Any, scratch: Any, out: Any) -> None:
    """X·diag(w)·Xᵀ, in place; only its lower half is used."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            scratch[i, j] = X[i, j] * weight[j]
    if n >= BLAS:
        width = (n + BLOCKS - 1) // BLOCKS
        for low in range(0, n, width):
            high = min(low + width, n)
            out[low:high, :high] = np.dot(scratch[low:high], X[:high].T)
        return
    for i in range(n):
        row = scratch[i]
        for k in range(i + 1):
            other, total = X[k], 0.0
            for j in range(d):
                total += row[j] * other[j]
            out[i, k] = total


@inner
def factorise(G: Any, speed: float, diagonal: float, L: Any) -> None:
    """Cholesky factor of diagonal + speed·G, its own diagonal inverted; pivots that rounding made negative are raised to rounding."""
    n = G.shape[0]
    for i in range(n):
        row = L[i]
        for k in range(i):
            other, total = L[k], 0.0
            for j in range(k):
                total += row[j] * other[j]
            row[k] = (speed * G[i, k] - total) * other[k]
        total = 0.0
        for j in range(i):
            total += row[j] * row[j]
        whole = diagonal + speed * G[i, i]
        row[i] = 1.0 / np.sqrt(max(whole - total, RIDGE * whole))


@inner
def solve(L: Any, x: Any) -> None:
    """x ← (LLᵀ)⁻¹x."""
    n = x.size
    for i in range(n):
        row, total = L[i], 0.0
        for j in range(i):
            total += row[j] * x[j]
        x[i] = (x[i] - total) * row[i]
    for i in range(n - 1, -1, -1):
        row = L[i]
        x[i] *= row[i]
        value = x[i]
        for j in range(i):
            x[j] -= row[j] * value


@inner
def half_square(x: Any) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return 0.5 * total


@inner
def moves(X: Any, step: Any, inverse: Any, out: Any) -> None:
    """How far a change of ν moves each η, in place."""
    n, d = X.shape
    out[:] = 0.0
    for i in range(n):
        row, factor = X[i], step[i]
        for j in range(d):
            out[j] += row[j] * factor
    for j in range(d):
        out[j] = abs(out[j]) * inverse[j]


@finite
def largest_product(a: Any, b: Any) -> float:
    """max a_j·b_j over non-negative numbers."""
    largest = 0.0
    for j in range(a.size):
        value = a[j] * b[j]
        largest = value if value > largest else largest
    return largest


@inner
def all_finite(x: Any) -> bool:
    total = 0.0
    for i in range(x.size):
        total += 0.0 * x[i]
    return total == 0.0
