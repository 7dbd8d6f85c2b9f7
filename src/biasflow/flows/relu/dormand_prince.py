"""The Dormand–Prince pair of orders 5 and 4 with its continuous extension (Hairer, Nørsett, Wanner,
Solving ODEs I, §II.5–6)."""

from __future__ import annotations

import math

import numpy as np

from ..._core.arguments import Array
from ..._numerics.compilation import borrowing
from .gated_field import field
from .layout import FIRST, Geometry, Slides, Work

E1, E3, E4, E5, E6, E7 = 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40
"""Difference of the two orders."""
D1, D3, D4 = -12715105075 / 11282082432, 87487479700 / 32700410799, -10690763975 / 1880347072
D5, D6, D7 = 701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423
"""Weights of the stages in the last coefficient of the continuous extension."""
NODES = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
TABLEAU = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)


@borrowing
def combine(
    K: Array, i: int, w1: float, w3: float, w4: float, w5: float, w6: float, w7: float
) -> float:
    """Σ w_s K_s of one entry; the second stage never enters."""
    return w1 * K[0, i] + w3 * K[2, i] + w4 * K[3, i] + w5 * K[4, i] + w6 * K[5, i] + w7 * K[6, i]


@borrowing
def last_coefficient(K: Array, i: int) -> float:
    """Of the continuous extension, over h."""
    return combine(K, i, D1, D3, D4, D5, D6, D7)


@borrowing
def stages(
    Y: Array,
    h: float,
    geometry: Geometry,
    slides: Slides,
    work: Work,
    K: Array,
    slopes: Array,
    trial: Array,
    sixth: Array,
) -> float:
    """Fill K[1:], K[0] given, `slopes` being K in the shape of states; trial becomes the end of the
    step, sixth the argument of the sixth stage. Returns Σ(h − y)²."""
    N = Y.size
    y, x, z = Y.reshape(N), trial.reshape(N), sixth.reshape(N)
    k1, k2, k3, k4, k5, k6 = K[0], K[1], K[2], K[3], K[4], K[5]
    for i in range(N):
        x[i] = y[i] + h * (1 / 5) * k1[i]
    field(trial, geometry, slides, work, slopes[1])
    for i in range(N):
        x[i] = y[i] + h * (3 / 40 * k1[i] + 9 / 40 * k2[i])
    field(trial, geometry, slides, work, slopes[2])
    for i in range(N):
        x[i] = y[i] + h * (44 / 45 * k1[i] - 56 / 15 * k2[i] + 32 / 9 * k3[i])
    field(trial, geometry, slides, work, slopes[3])
    for i in range(N):
        x[i] = y[i] + h * (
            19372 / 6561 * k1[i] - 25360 / 2187 * k2[i] + 64448 / 6561 * k3[i] - 212 / 729 * k4[i]
        )
    field(trial, geometry, slides, work, slopes[4])
    for i in range(N):
        z[i] = y[i] + h * (
            9017 / 3168 * k1[i]
            - 355 / 33 * k2[i]
            + 46732 / 5247 * k3[i]
            + 49 / 176 * k4[i]
            - 5103 / 18656 * k5[i]
        )
    field(sixth, geometry, slides, work, slopes[5])
    for i in range(N):
        x[i] = y[i] + h * (
            35 / 384 * k1[i]
            + 500 / 1113 * k3[i]
            + 125 / 192 * k4[i]
            - 2187 / 6784 * k5[i]
            + 11 / 84 * k6[i]
        )
    return field(trial, geometry, slides, work, slopes[6])


@borrowing
def error_and_stiffness(h: float, K: Array, trial: Array, sixth: Array) -> tuple[float, float]:
    """Largest local error, and |f(y₇) − f(y₆)|/|y₇ − y₆|, which estimates the stiffest rate
    (Hairer, Wanner, §IV.2)."""
    error, top, bottom = 0.0, 0.0, 0.0
    x, z = trial.reshape(trial.size), sixth.reshape(trial.size)
    for i in range(trial.size):
        e = abs(combine(K, i, E1, E3, E4, E5, E6, E7))
        error = error if e <= error else e
        top += (K[6, i] - K[5, i]) ** 2
        bottom += (x[i] - z[i]) ** 2
    resolved = bottom > 1e-26 * trial.size  # else the quotient is of rounding errors
    return h * error, math.sqrt(top / bottom) if resolved else 0.0


@borrowing
def dense(theta: float, y0: float, y1: float, s0: float, s1: float, c5: float) -> float:
    """The continuous extension at t + θh: values and h·slopes at both ends, and the last
    coefficient."""
    change = y1 - y0
    c3 = s0 - change
    c4 = change - s1 - c3
    return y0 + theta * (change + (1 - theta) * (c3 + theta * (c4 + (1 - theta) * c5)))


@borrowing
def set_travel(h: float, Y: Array, trial: Array, K: Array, scratch: Array, travel: Array) -> None:
    """How far from Y each neuron's z̄ may go on the continuous extension to the end of the step.

    Its coefficients enter with θ, θ(1 − θ), θ²(1 − θ) and θ²(1 − θ)², which are at most 1, 1/4,
    4/27 and 1/16; the sum of so many times their norms is bounded by Cauchy and Schwarz.
    """
    y, x, square = Y.reshape(Y.size), trial.reshape(Y.size), scratch.reshape(Y.size)
    for i in range(Y.size):
        change = x[i] - y[i]
        c3 = h * K[0, i] - change
        c4 = change - h * K[6, i] - c3
        c5 = h * last_coefficient(K, i)
        square[i] = change**2 + 0.25 * c3**2 + 4 / 27 * c4**2 + 0.0625 * c5**2
    for j in range(Y.shape[0]):
        total, squares = 0.0, scratch[j, FIRST:]
        for i in range(squares.size):
            total += squares[i]
        travel[j] = math.sqrt((1 + 0.25 + 4 / 27 + 0.0625) * total)


@borrowing
def dense_state(theta: float, h: float, Y: Array, trial: Array, K: Array, out: Array) -> None:
    y, x, o = Y.reshape(Y.size), trial.reshape(Y.size), out.reshape(Y.size)
    for i in range(Y.size):
        o[i] = dense(theta, y[i], x[i], h * K[0, i], h * K[6, i], h * last_coefficient(K, i))


@borrowing
def dense_row(
    theta: float, h: float, j: int, Y: Array, trial: Array, slopes: Array, out: Array
) -> None:
    """The same for one neuron, the stages in the shape of states."""
    y, x, k1, k3, k4 = Y[j], trial[j], slopes[0, j], slopes[2, j], slopes[3, j]
    k5, k6, k7 = slopes[4, j], slopes[5, j], slopes[6, j]
    for i in range(y.size):
        c5 = D1 * k1[i] + D3 * k3[i] + D4 * k4[i] + D5 * k5[i] + D6 * k6[i] + D7 * k7[i]
        out[i] = dense(theta, y[i], x[i], h * k1[i], h * k7[i], h * c5)
