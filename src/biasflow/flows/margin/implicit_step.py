"""One step of the margin flow: implicit in the dual, extrapolated to third order, with its local
error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._numerics.interrupts import interrupted
from ...losses import MarginLoss
from .dual_weights import implicit_weights
from .tangents import MarginView

PIECES = (1, 2, 3)
"""Into how many Euler steps a step is cut, the results extrapolated to none of any length."""
ORDER = len(PIECES)
CORRECTIONS = 3
"""How often the gates of an Euler step are set right by the weights they lead to."""
AGREE = 0.5
"""Distance between what two sets of gates lead to, in units of the tolerance, that makes no
difference. It is not hidden: the error of a step is ½(3w₃ − 4w₂ + w₁) of three, two and one Euler
steps, which sees up to 9 of them, so that it is rejected."""


class Point(NamedTuple):
    """Parameters at Σ‖w‖² = 1, L = log β, and the weights p of the Euler step that led here."""

    params: Any
    log_norm: float
    weights: Array


class Step(NamedTuple):
    """Where a step leads, and its local error relative to ‖w‖."""

    end: Point
    error: float


def euler(
    view: MarginView,
    loss: MarginLoss,
    params: Any,
    log_norm: float,
    weights: Array,
    dt: float,
    apart: float,
) -> tuple[Any, Array]:
    """w + Δt·G(w)p with p = ∇S(h + Δt·Kp): forces implicit, tangents explicit but for the gates,
    which are those p leads to.

    apart: distance between the ends, by the gates used and by those of p, up to which they agree.
    Gates of other weights do not
    only cost accuracy: where a neuron hovers over a kink at a distance of 1/β, they leave the
    sample on it without a hold on p.
    """
    p, tangent = weights, view.tangent(params, weights, dt)
    for attempt in range(1 + CORRECTIONS):
        p = implicit_weights(loss, tangent.margins, tangent.kernel(), dt, log_norm, p)
        corrected = tangent.corrected(p, apart) if attempt < CORRECTIONS else None
        if corrected is None:
            break
        tangent = corrected
    return tangent.end(p), p


def step(view: MarginView, loss: MarginLoss, point: Point, dt: float, rtol: float) -> Step:
    """Aitken–Neville on Euler steps of dt, dt/2 and dt/3; the last correction is the error, which
    is infinite after Ctrl-C."""
    params, log_norm, p = point
    column: list[Any] = []
    first = point.weights
    for pieces in PIECES:
        reached, p = params, first
        for piece in range(pieces):
            if interrupted():
                return Step(point, np.inf)
            reached, p = euler(view, loss, reached, log_norm, p, dt / pieces, AGREE * rtol)
            first = p if piece == 0 else first
        column.append(reached)
    one, two, three = column
    coarse, fine = combined((2.0, two), (-1.0, one)), combined((3.0, three), (-2.0, two))
    correction = combined((0.5, fine), (-0.5, coarse))
    end = combined((1.0, fine), (1.0, correction))
    size = squared_norm(end)
    if not np.isfinite(size) or size == 0:
        return Step(point, np.inf)
    unit = combined((size**-0.5, end))
    return Step(
        Point(unit, log_norm + float(np.log(size)), p),
        float(np.sqrt(squared_norm(correction) / size)),
    )


def squared_norm(params: Any) -> float:
    """β = Σ‖w‖²."""
    return float(sum(np.sum(leaf * leaf) for leaf in params))


def combined(*terms: tuple[float, Any]) -> Any:
    """A linear combination of parameters."""
    leaves = zip(*(params for _, params in terms), strict=True)
    factors = [factor for factor, _ in terms]
    return type(terms[0][1])(
        *(sum(c * leaf for c, leaf in zip(factors, parts, strict=True)) for parts in leaves)
    )
