"""One step of the margin flow: implicit in the dual, extrapolated to third order, with its local error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...inputs import Array
from ...losses import MarginLoss
from .kinks import NONE, Kinks, kinks_of
from .tangents import View
from .weighing import implicit_weights

PIECES = (1, 2, 3)
"""Into how many Euler steps a step is cut, the results extrapolated to none of any length."""
ORDER = len(PIECES)
CORRECTIONS = 4
STAT = [0, 0]
"""How often the gates of a step are set right by the weights they lead to."""


class Point(NamedTuple):
    """Parameters at Σ‖w‖² = 1, L = log β, and the weights p of the Euler step that led here."""

    params: Any
    log_norm: float
    weights: Array


class Step(NamedTuple):
    """Where a step leads, its local error relative to ‖w‖, and the kinks it met."""

    end: Point
    error: float
    kinks: Kinks


def euler(view: View, loss: MarginLoss, params: Any, log_norm: float, weights: Array, dt: float) -> tuple[Any, Array]:
    """w + Δt·G(w)p with p = ∇S(h + Δt·Kp): forces implicit, tangents explicit but for the gates, which are those p leads to."""
    h, p, tangent = view.margins(params), weights, view.tangent(params, weights, dt)
    for _ in range(CORRECTIONS):
        STAT[0] += 1
        p = implicit_weights(loss, h + tangent.offset, tangent.kernel(), dt, log_norm, p)
        corrected = tangent.corrected(p)
        if corrected is None:
            break
        tangent = corrected
    else:
        STAT[1] += 1
    return combined((1.0, tangent.base), (dt, tangent.pull(p))), p


def step(view: View, loss: MarginLoss, point: Point, dt: float, kinks: float) -> Step:
    """Aitken–Neville on Euler steps of dt, dt/2 and dt/3; the last correction is the error, of which `kinks` may cost so much."""
    params, log_norm, p = point
    column: list[Any] = []
    for pieces in PIECES:
        reached, p = params, point.weights
        for _ in range(pieces):
            reached, p = euler(view, loss, reached, log_norm, p, dt / pieces)
        column.append(reached)
    one, two, three = column
    coarse, fine = combined((2.0, two), (-1.0, one)), combined((3.0, three), (-2.0, two))
    correction = combined((0.5, fine), (-0.5, coarse))
    end = combined((1.0, fine), (1.0, correction))
    size = squared_norm(end)
    if not np.isfinite(size) or size == 0:
        return Step(point, np.inf, NONE)
    unit, off = combined((size**-0.5, end)), combined((size**-0.5, correction))
    met = kinks_of(view, params, point.weights, end, off, dt, kinks)
    return Step(Point(unit, log_norm + float(np.log(size)), p), squared_norm(off) ** 0.5, met)


def squared_norm(params: Any) -> float:
    """β = Σ‖w‖²."""
    return float(sum(np.sum(leaf * leaf) for leaf in params))


def combined(*terms: tuple[float, Any]) -> Any:
    """A linear combination of parameters."""
    leaves = zip(*(params for _, params in terms), strict=True)
    factors = [factor for factor, _ in terms]
    return type(terms[0][1])(*(sum(c * leaf for c, leaf in zip(factors, parts, strict=True)) for parts in leaves))
