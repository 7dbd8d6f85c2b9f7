"""Finding the first event inside a step: a crossing of zero, the end of a slide, or a sliding
neuron's output changing sign."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._numerics.compilation import inner
from .dormand_prince import dense, last_coefficient
from .gated_field import forces, pull, remove_sliding
from .layout import FIRST, HYSTERESIS, ON, OUT, SLIDE, Gates, Geometry, Slides
from .small_algebra import largest

TURN = -2
"""In place of a group: the output weight changes sign."""
NOWHERE = 2.0
"""θ of an event that does not happen within the step."""
BISECTIONS = 60
NEAR_ENOUGH = 1e-6
"""Bracket of the end of a slide, whose lateness counts squared."""


class Span(NamedTuple):
    """A step from both ends: pre-activations and predictions with their slopes."""

    P0: Array  # (m, G)
    P1: Array
    dP0: Array
    dP1: Array
    predictions0: Array  # (2, G): of both sides
    predictions1: Array
    rates0: Array
    rates1: Array


@inner
def passed(
    theta: float, side: float, limit: float, p0: float, p1: float, s0: float, s1: float, c5: float
) -> bool:
    return side * dense(theta, p0, p1, s0, s1, c5) < limit


@inner
def crossing_in_step(
    side: float,
    limit: float,
    level: float,
    p0: float,
    p1: float,
    s0: float,
    s1: float,
    c5: float,
    best: float,
) -> float:
    """The first θ < best at which side·p falls below the level, if it falls below the limit, or
    NOWHERE."""
    low, high = 0.0, NOWHERE
    for k in range(1, 5):
        theta = 0.25 * k
        if passed(theta, side, limit, p0, p1, s0, s1, c5):
            high = theta
            break
        low = theta
    if high == NOWHERE or low >= best:
        return NOWHERE
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if passed(middle, side, level, p0, p1, s0, s1, c5):
            high = middle
        else:
            low = middle
        if high - low < 1e-15:
            break
    return high


@inner
def worth_a_look(side: float, h: float, p0: float, p1: float, s0: float, s1: float) -> bool:
    """Whether a pre-activation may leave its side within the step: it ends beyond the limit, or
    goes down and up again."""
    v0, v1, d0, d1 = side * p0, side * p1, side * h * s0, side * h * s1
    return v1 < lower_limit(v0) or (d0 < 0.0 and d1 > 0.0 and v0 < -d0 and v1 < d1)


@inner
def lower_limit(v0: float) -> float:
    """An excursion below the tolerance may have been missed: then only getting worse counts."""
    return -HYSTERESIS if v0 >= -HYSTERESIS else v0 - HYSTERESIS


@inner
def first_crossing(
    h: float, j: int, Y: Array, gates: Gates, span: Span, K: Array, U: Array
) -> tuple[float, int]:
    """(θ, group) of the first of neuron j's pre-activations to leave its side."""
    best, group = NOWHERE, -1
    for g in range(gates.shape[1]):
        if gates[j, g] == SLIDE:
            continue
        side = 1.0 if gates[j, g] == ON else -1.0
        p0, p1 = span.P0[j, g], span.P1[j, g]
        if not worth_a_look(side, h, p0, p1, span.dP0[j, g], span.dP1[j, g]):
            continue
        limit = lower_limit(side * p0)
        p0, c5 = 0.0, 0.0  # span.P0 dates from before the state was put back on what it conserves
        for i in range(FIRST, U.shape[1]):
            p0 += Y[j, i] * U[g, i]
            c5 += h * last_coefficient(K, j * Y.shape[1] + i) * U[g, i]
        # where it begins at zero, the limit is all there is to pass
        level = 0.0 if side * p0 > HYSTERESIS else limit
        theta = crossing_in_step(
            side, limit, level, p0, p1, h * span.dP0[j, g], h * span.dP1[j, g], c5, best
        )
        if theta < best:
            best, group = theta, g
    return best, group


@inner
def excess(F: float, F0: float, F1: float, sign: float, slack: float) -> float:
    """By how much a sliding force has left its box, or the box its order, beyond the slack;
    negative inside."""
    return max(min(F0, F1) - F, F - max(F0, F1), sign * (F0 - F1)) - slack


@inner
def slide_exit(
    h: float,
    late: float,
    noise: float,
    j: int,
    sign: float,
    gates: Gates,
    geometry: Geometry,
    slides: Slides,
    span: Span,
    F0: Array,
    F1: Array,
    best: float,
) -> tuple[float, int]:
    """(θ, group) of the first of neuron j's slides to end before θ = best, `sign` being that of its
    output until then.

    F0, F1 are the forces at the end of the step.

    A slide ends when its force has left the box by `late` of the largest force, and by `noise`:
    ending it late costs the square of the delay.
    """
    group = -1
    slack = late * largest(F0, F1) + noise
    for b in range(slides.sizes[j]):
        g = slides.which[j, b]
        known = slides.lower[j, b, b] > 0.0
        if known and excess(slides.held[j, b], F0[g], F1[g], sign, slack) > 0.0:
            theta = exit_in_step(
                h, late, noise, j, b, sign, gates[j], geometry, slides, span, min(best, 1.0)
            )
            if theta < best:
                best, group = theta, g
    return best, group


@inner
def exit_in_step(
    h: float,
    late: float,
    noise: float,
    j: int,
    b: int,
    sign: float,
    row: Gates,
    geometry: Geometry,
    slides: Slides,
    span: Span,
    end: float,
) -> float:
    """When the b-th slide of neuron j ends, predictions being Hermite interpolants over the step;
    NOWHERE if after `end`."""
    G = row.size
    F0, F1, plus, minus = np.empty(G), np.empty(G), np.empty(G), np.empty(G)
    D = np.empty(geometry.U.shape[1])
    kept = slides.held[j].copy()
    g = slides.which[j, b]
    low, high, below, above, theta = 0.0, NOWHERE, 0.0, 0.0, end
    for k in range(BISECTIONS):
        for i in range(G):
            plus[i] = hermite(theta, h, span, 0, i)
            minus[i] = hermite(theta, h, span, 1, i)
        forces(plus, minus, geometry, F0, F1)
        pull(row, F0, F1, geometry.U, D)
        remove_sliding(j, D, geometry.U, slides)
        beyond = excess(slides.held[j, b], F0[g], F1[g], sign, late * largest(F0, F1) + noise)
        if beyond > 0.0:
            high, above = theta, beyond
        elif k == 0:
            break
        else:
            low, below = theta, beyond
        if high - low < NEAR_ENOUGH or (k > 0 and beyond == 0.0):
            break
        straight = low + (high - low) * below / (below - above) if below < 0.0 else low
        theta = straight if k % 3 != 0 and low < straight < high else 0.5 * (low + high)
    slides.held[j] = kept
    return high


@inner
def hermite(theta: float, h: float, span: Span, side: int, g: int) -> float:
    f0, f1 = span.predictions0[side, g], span.predictions1[side, g]
    s0, s1 = h * span.rates0[side, g], h * span.rates1[side, g]
    c = 1 - theta
    return (
        (1 + 2 * theta) * c * c * f0
        + theta * c * c * s0
        + theta * theta * (3 - 2 * theta) * f1
        - theta * theta * c * s1
    )


@inner
def sign_within(start: float, end: float) -> float:
    """The sign of an output weight from the start of a step until it turns."""
    return math.copysign(1.0, start if start != 0.0 else end)


@inner
def first_turn(h: float, j: int, Y: Array, trial: Array, K: Array, best: float) -> float:
    """The first θ < best at which the output weight of neuron j, which slides, changes sign, or
    NOWHERE."""
    if Y[j, OUT] * trial[j, OUT] > 0.0 or Y[j, OUT] == 0.0:
        return NOWHERE
    i, side = j * Y.shape[1] + OUT, math.copysign(1.0, Y[j, OUT])
    return crossing_in_step(
        side,
        -HYSTERESIS,
        -HYSTERESIS,
        Y[j, OUT],
        trial[j, OUT],
        h * K[0, i],
        h * K[6, i],
        h * last_coefficient(K, i),
        best,
    )


@inner
def first_event(
    h: float,
    late: float,
    noise: float,
    j: int,
    Y: Array,
    trial: Array,
    gates: Gates,
    geometry: Geometry,
    slides: Slides,
    K: Array,
    span: Span,
    F0: Array,
    F1: Array,
    exits: bool,
) -> tuple[float, int]:
    """(θ, group) of neuron j's first event within the step from Y to trial; ends of slides only if
    `exits`."""
    theta, group = first_crossing(h, j, Y, gates, span, K, geometry.U)
    if slides.sizes[j] > 0:
        when = first_turn(h, j, Y, trial, K, theta)
        if when < theta:
            theta, group = when, TURN
        if exits:
            sign = sign_within(Y[j, OUT], trial[j, OUT])
            when, g = slide_exit(
                h, late, noise, j, sign, gates, geometry, slides, span, F0, F1, theta
            )
            if g >= 0:
                theta, group = when, g
    return theta, group
