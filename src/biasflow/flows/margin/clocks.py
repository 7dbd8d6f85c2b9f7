"""The two clocks of one path: that of the smooth margin (C's), and that of the mean risk R, dτ =
dt/R = e^S dt."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..._core.arguments import Array
from ...losses import MarginLoss
from .dual_weights import smooth_margin
from .implicit_step import Point, squared_norm
from .tangents import MarginView

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
LATEST = 700.0
"""Logarithm of the last time that a float holds."""
EARLIEST = 1e-12
"""The least share of a step that is looked for."""
STEEPEST = 4.0
"""Growth of S in one step that its cubic and the quadrature follow."""


class Slope(NamedTuple):
    """S and dS/dt = ‖∇F‖² somewhere."""

    value: float
    rate: float


def slope_at(view: MarginView, loss: MarginLoss, point: Point) -> Slope:
    beta = np.exp(point.log_norm)
    value, p, _ = smooth_margin(loss, beta * view.margins(point.params))
    return Slope(value, float(beta * squared_norm(view.velocity(point.params, p))))


def log_elapsed(start: Slope, end: Slope, dt: float, share: float = 1.0) -> float:
    """log ∫₀^{share·dt} e^S over a step, S the cubic that the ends fix."""
    s = share * (NODES + 1) / 2
    rise = end.value - start.value
    cubic = start.value + s * (
        dt * start.rate
        + s
        * (
            3 * rise
            - dt * (2 * start.rate + end.rate)
            + s * (dt * (start.rate + end.rate) - 2 * rise)
        )
    )
    top = float(np.max(cubic))
    return top + float(np.log(dt * share * np.sum(WEIGHTS * np.exp(cubic - top)) / 2))


def share_until(log_goal: float, log_now: float, start: Slope, end: Slope, dt: float) -> float:
    """The share of a step at which τ reaches its goal, which lies within; EARLIEST where it is
    reached before."""

    def missing(share: float) -> float:
        return float(np.logaddexp(log_now, log_elapsed(start, end, dt, share))) - log_goal

    if missing(1.0) <= 0:
        return 1.0
    return float(brentq(missing, EARLIEST, 1.0, xtol=1e-15)) if missing(EARLIEST) < 0 else EARLIEST


def between(times: Array, points: list[Point], t: float) -> Point:
    """The point at a time of C's clock, by the cubic through the four steps around it."""
    last = len(points) - 1
    first = int(np.clip(np.searchsorted(times, t) - 2, 0, max(last - 3, 0)))
    nodes = np.arange(first, min(first + 4, last + 1))
    basis = [
        float(np.prod([(t - times[j]) / (times[i] - times[j]) for j in nodes if j != i]))
        for i in nodes
    ]
    leaves = zip(*(points[i].params for i in nodes), strict=True)
    params: Any = type(points[0].params)(
        *(sum(c * leaf for c, leaf in zip(basis, parts, strict=True)) for parts in leaves)
    )
    size = np.sqrt(squared_norm(params))
    log_norm = float(sum(c * points[i].log_norm for c, i in zip(basis, nodes, strict=True)))
    near = points[int(np.clip(np.searchsorted(times, t), 0, last))]
    return Point(type(params)(*(leaf / size for leaf in params)), log_norm, near.weights)
