"""One step of Dormand and Prince's method of order 8 for a network between kinks: slopes, error,
and dense output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from ..._core.arguments import Array
from .kink_sides import Network

POINTS = np.array([0.25, 0.5, 0.75, 1.0])
"""Where in a step kinks are looked for."""


def basis(x: Any) -> Array:
    """The polynomials of the dense output at x: x, x(1−x), x²(1−x), …"""
    x = np.asarray(x, float)
    return np.asarray(np.cumprod(np.stack([x, 1 - x, x, 1 - x, x, 1 - x, x], axis=-1), axis=-1))


def dense_value(c: Sequence[float], x: float) -> float:
    """Σc_i·basis_i at one number: `basis` costs ten times as much."""
    y = 1 - x
    return x * (c[0] + y * (c[1] + x * (c[2] + y * (c[3] + x * (c[4] + y * (c[5] + x * c[6]))))))


AT_POINTS = basis(POINTS)


def stages(net: Network, phi: Array, first: Array, h: float) -> tuple[Array, Array]:
    """The slopes of a step (13 of 16 rows filled), flattened, and the state after it."""
    K, flat = np.empty((16, phi.size)), phi.ravel()
    K[0] = first.ravel()
    with np.errstate(over="ignore", invalid="ignore"):  # a step that is far too long
        for s in range(1, 12):
            K[s] = net((flat + h * (DOP853.A[s, :s] @ K[:s])).reshape(phi.shape)).ravel()
        new = (flat + h * (DOP853.B @ K[:12])).reshape(phi.shape)
        K[12] = net(new).ravel()
    return K, new


def step_error(K: Array, h: float, size: Array) -> float:
    """The largest error of a neuron over its size, by the method's two embedded ones; infinite
    where a slope overflowed."""
    if not np.all(np.isfinite(K[:13])):
        return float("inf")
    five, three = (
        np.max(np.abs((E @ K[:13]).reshape(len(size), -1)), axis=1) / size
        for E in (DOP853.E5, DOP853.E3)
    )
    together = np.sqrt(five**2 + 0.01 * three**2)
    return float(
        h * np.max(np.divide(five**2, together, out=np.zeros_like(five), where=together > 0))
    )


def dense(net: Network, phi: Array, new: Array, K: Array, h: float) -> Array:
    """The coefficients of the dense output, (7, weights)."""
    flat = phi.ravel()
    for i in range(3):
        K[13 + i] = net(
            (flat + h * (DOP853.A_EXTRA[i, : 13 + i] @ K[: 13 + i])).reshape(phi.shape)
        ).ravel()
    change = new.ravel() - flat
    return np.vstack(
        [change, h * K[0] - change, 2 * change - h * (K[12] + K[0]), h * (DOP853.D @ K)]
    )
