"""What the compiled dual flow computes at a point: β and its inverse curvature for all coordinates,
forces, and linear algebra.

A coordinate is free, β = r·sinh η, or on a half-line, β = s·e^{sη}. Both are c·e^{L+a}·(1 −
e^{−2a}) with its own a ≥ 0, c and L; the last factor is absent on half-lines. Where r is a normal
float, c = r/2 and L = 0; below, c = 1/2 and L = log r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._numerics.compilation import inner, ordered

LOG2_HIGH, LOG2_LOW, LOG2_INVERSE = 0.6931471803691238, 1.9082149292705877e-10, 1.4426950408889634
"""log 2 in two parts (the first has trailing zeros), and 1/log 2."""
LARGEST, SMALLEST = 709.0, -708.0
UNITS = 6755399441055744.0
"""3·2⁵¹: added to a number below 2⁵¹ it rounds it to a whole one, which is then in its last bits; a
conversion to integers is not vectorised."""
BLAS = 24
"""Samples from which X·diag(w)·Xᵀ is left to BLAS."""
BLOCKS = 4
"""Blocks of rows in which it is computed, each up to its diagonal: 5/8 of the whole."""
RIDGE = 4 * np.finfo(float).eps


@ordered
def expm1_parts(x: float) -> Any:
    """(2^k, e^ρ − 1) with x = k·log 2 + ρ."""
    x = min(max(x, SMALLEST), LARGEST)
    shifted = x * LOG2_INVERSE + UNITS
    k = shifted - UNITS
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
    bits = np.int64((np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52))
    power = bits.view(np.float64)
    return power, rho + rho * rho * series


INVERSE, SCALE, SHIFT, SIGN = range(4)
"""Rows of the curves of coordinates: 1/(factor of the potential), c, L, and the sign of a half-line
or zero."""
CURVE_ROWS = 4


@inner
def plain(shift: Any, sign: Any) -> bool:
    """Whether all coordinates are free, at scales that floats hold."""
    other = 0.0
    for j in range(shift.size):
        other += abs(shift[j]) + abs(sign[j])
    return other == 0.0


@inner
def mirror(eta: Any, curves: Any, beyond: float, beta: Any, weight: Any) -> None:
    """β and w = (φ*)'' at η, in place; both are cut off at `beyond`, where only trial steps look.
    Of the curves as many columns count as there are entries of η.

    Where all are plain, one exponential serves: with e = e^a − 1, 2·sinh a = e + e/(1 + e) and
    2·cosh a = 2 + e − e/(1 + e), sums without cancellation, the first for e/(1 + e) ≥ 0, the second
    for it is below one.
    """
    count = eta.size
    inverse, scale = curves[INVERSE][:count], curves[SCALE][:count]
    shift, sign = curves[SHIFT][:count], curves[SIGN][:count]
    if plain(shift, sign):
        for j in range(count):
            power, rest = expm1_parts(abs(eta[j]))
            grown = power * rest + (power - 1.0)
            shrunk = grown / (1.0 + grown)
            beta[j] = np.copysign(min(scale[j] * (grown + shrunk), beyond), eta[j])
            weight[j] = min(scale[j] * (2.0 + grown - shrunk), beyond) * inverse[j]
        return
    for j in range(count):
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
def relative_weight(beta: Any, weight: Any, least: Any, factor: Any, out: Any) -> None:
    """|d log β/dη|, in place: relative for large β, in units of the least weight for small."""
    for j in range(out.size):
        below = abs(beta[j]) + min(least[j], weight[j]) * factor[j]
        out[j] = weight[j] * factor[j] / below if below > 0.0 else 1.0


@inner
def log_size(eta: Any, sign: Any, log_scale: Any, out: Any) -> None:
    """log|β| to within a constant, in place."""
    for j in range(out.size):
        out[j] = log_scale[j] + (abs(eta[j]) if sign[j] == 0.0 else sign[j] * eta[j])


@inner
def back(X: Any, nu: Any, out: Any) -> None:
    """Xᵀν, in place, four rows at a time."""
    n, d = X.shape
    for j in range(d):
        out[j] = 0.0
    for i in range(0, n - 3, 4):
        p, q, r, s = X[i], X[i + 1], X[i + 2], X[i + 3]
        a, b, c, e = nu[i], nu[i + 1], nu[i + 2], nu[i + 3]
        for j in range(d):
            out[j] += a * p[j] + b * q[j] + c * r[j] + e * s[j]
    for i in range(n - n % 4, n):
        row, factor = X[i], nu[i]
        for j in range(d):
            out[j] += factor * row[j]


@inner
def dual_point(X: Any, nu: Any, eta0: Any, inverse: Any, eta: Any) -> None:
    """η = η₀ + Xᵀν/c, in place."""
    back(X, nu, eta)
    for j in range(eta.size):
        eta[j] = eta0[j] + eta[j] * inverse[j]


@inner
def moves(X: Any, step: Any, inverse: Any, out: Any) -> None:
    """How far a change of ν moves each η, in place."""
    back(X, step, out)
    for j in range(out.size):
        out[j] = abs(out[j]) * inverse[j]


@inner
def products(X: Any, beta: Any, out: Any) -> None:
    """Xβ, in place, four rows at a time."""
    n, d = X.shape
    for i in range(0, n - 3, 4):
        p, q, r, s = X[i], X[i + 1], X[i + 2], X[i + 3]
        a, b, c, e = 0.0, 0.0, 0.0, 0.0
        for j in range(d):
            a += p[j] * beta[j]
            b += q[j] * beta[j]
            c += r[j] * beta[j]
            e += s[j] * beta[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, e
    for i in range(n - n % 4, n):
        row, total = X[i], 0.0
        for j in range(d):
            total += row[j] * beta[j]
        out[i] = total


@inner
def forces(X: Any, beta: Any, target: Any, speed: float, force: Any) -> None:
    """speed·(target − Xβ), in place."""
    products(X, beta, force)
    for i in range(force.size):
        force[i] = speed * (target[i] - force[i])


@inner
def gram(X: Any, weight: Any, room: Any, out: Any) -> None:
    """X·diag(w)·Xᵀ, in place."""
    n, d = X.shape
    if d == 0:
        out[:] = 0.0
        return
    scratch = room[: n * d].reshape(n, d)
    for i in range(n):
        for j in range(d):
            scratch[i, j] = X[i, j] * weight[j]
    if n >= BLAS:
        width = (n + BLOCKS - 1) // BLOCKS
        for low in range(0, n, width):
            block = np.dot(scratch[low : low + width], X[low:].T)
            for i in range(block.shape[0]):
                copy(block[i], out[low + i][low:])
    else:
        for i in range(n):
            products(X[i:], scratch[i], out[i, i:])
    for i in range(n):
        for k in range(i):
            out[i, k] = out[k, i]


@inner
def factorise(G: Any, speed: float, diagonal: float, U: Any) -> None:
    """UᵀU = diagonal + speed·G, the diagonal of U inverted; pivots that rounding made negative are
    raised to rounding."""
    n = G.shape[0]
    for i in range(n):
        row = U[i]
        for j in range(i, n):
            row[j] = speed * G[i, j]
        row[i] += diagonal
        whole = row[i]
        for k in range(0, i - 3, 4):
            p, q, r, s = U[k], U[k + 1], U[k + 2], U[k + 3]
            a, b, c, e = p[i], q[i], r[i], s[i]
            for j in range(i, n):
                row[j] -= a * p[j] + b * q[j] + c * r[j] + e * s[j]
        for k in range(i - i % 4, i):
            other, factor = U[k], U[k, i]
            for j in range(i, n):
                row[j] -= factor * other[j]
        inverse = 1.0 / np.sqrt(max(row[i], RIDGE * whole))
        for j in range(i + 1, n):
            row[j] *= inverse
        row[i] = inverse


@inner
def solve(U: Any, x: Any) -> None:
    """x ← (UᵀU)⁻¹x, four rows at a time."""
    n = x.size
    whole = n - n % 4
    for i in range(0, whole, 4):
        p, q, r, s = U[i], U[i + 1], U[i + 2], U[i + 3]
        a = x[i] * p[i]
        b = (x[i + 1] - a * p[i + 1]) * q[i + 1]
        c = (x[i + 2] - a * p[i + 2] - b * q[i + 2]) * r[i + 2]
        e = (x[i + 3] - a * p[i + 3] - b * q[i + 3] - c * r[i + 3]) * s[i + 3]
        x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, e
        for j in range(i + 4, n):
            x[j] -= a * p[j] + b * q[j] + c * r[j] + e * s[j]
    for i in range(whole, n):
        x[i] *= U[i, i]
        for j in range(i + 1, n):
            x[j] -= U[i, j] * x[i]
    for i in range(n - 1, whole - 1, -1):
        for j in range(i + 1, n):
            x[i] -= U[i, j] * x[j]
        x[i] *= U[i, i]
    for i in range(whole - 4, -1, -4):
        p, q, r, s = U[i], U[i + 1], U[i + 2], U[i + 3]
        a, b, c, e = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(i + 4, n):
            value = x[j]
            a -= p[j] * value
            b -= q[j] * value
            c -= r[j] * value
            e -= s[j] * value
        e = e * s[i + 3]
        c = (c - r[i + 3] * e) * r[i + 2]
        b = (b - q[i + 2] * c - q[i + 3] * e) * q[i + 1]
        a = (a - p[i + 1] * b - p[i + 2] * c - p[i + 3] * e) * p[i]
        x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, e


@inner
def solve_pair(U: Any, x: Any) -> None:
    """The same for two rows at once, which wait less for each other than each for itself."""
    one, other = x[0], x[1]
    n = one.size
    for i in range(n):
        row = U[i]
        a, b = one[i] * row[i], other[i] * row[i]
        one[i], other[i] = a, b
        for j in range(i + 1, n):
            one[j] -= a * row[j]
            other[j] -= b * row[j]
    for i in range(n - 1, -1, -1):
        row, a, b = U[i], one[i], other[i]
        for j in range(i + 1, n):
            a -= row[j] * one[j]
            b -= row[j] * other[j]
        one[i], other[i] = a * row[i], b * row[i]


@inner
def subtract_product(S: Any, x: Any, factor: float, out: Any) -> None:
    """out ← out − factor·Sx."""
    for i in range(x.size):
        row, total = S[i], 0.0
        for j in range(x.size):
            total += row[j] * x[j]
        out[i] -= factor * total


@inner
def copy(source: Any, out: Any) -> None:
    for i in range(source.size):
        out[i] = source[i]


@inner
def add(S: Any, out: Any) -> None:
    """out ← out + S, square."""
    for i in range(S.shape[0]):
        for j in range(S.shape[0]):
            out[i, j] += S[i, j]


@inner
def half_square(x: Any) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return 0.5 * total


@inner
def rank(x: float) -> Any:
    """The bits of |x|, in the order of sizes, NaN last: LLVM vectorises maxima of integers, not of
    floats."""
    return np.float64(abs(x)).view(np.int64)


@inner
def ranked(bits: Any) -> float:
    """|x| of these bits."""
    return np.int64(bits).view(np.float64)


@inner
def largest_product(a: Any, b: Any) -> float:
    """max |a_j·b_j|; NaN where one is."""
    most = np.int64(0)
    for j in range(a.size):
        most = max(most, rank(a[j] * b[j]))
    return ranked(most)


@inner
def largest(a: Any) -> float:
    """max |a_j|; NaN where one is."""
    most = np.int64(0)
    for j in range(a.size):
        most = max(most, rank(a[j]))
    return ranked(most)


@inner
def all_finite(rows: Any) -> bool:
    total = 0.0
    for row in rows:
        for i in range(row.size):
            total += 0.0 * row[i]
    return total == 0.0


@inner
def length(x: Any) -> float:
    """‖x‖."""
    return np.sqrt(2.0 * half_square(x))
