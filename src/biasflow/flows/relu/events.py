"""Finding the first event inside a step: a crossing of zero, the end of a slide, or a sliding
neuron's output changing sign."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, inner
from .dormand_prince import dense, last_coefficient
from .gated_field import remove_sliding, set_held
from .layout import (
    END,
    HYSTERESIS,
    ON,
    OUT,
    SLIDE,
    START,
    Gates,
    Geometry,
    Slides,
    Span,
    Tolerances,
)
from .small_algebra import copy, larger, largest, row_of, smaller, table_of

TURN = -2
"""In place of a group: the output weight changes sign."""
NOWHERE = 2.0
"""θ of an event that does not happen within the step."""
BISECTIONS = 60
NEAR_ENOUGH = 1e-6
"""Bracket of the end of a slide, whose lateness counts squared."""


class Piece(NamedTuple):
    """A step of length h from Y to trial, or a part of one, with gates and slides frozen."""

    h: float
    Y: Array
    trial: Array
    gates: Gates
    K: Array  # (7, m·(r+2)): the stages
    span: Span
    F0: Array  # forces at its end
    F1: Array
    slides: Slides
    geometry: Geometry
    tolerances: Tolerances
    near: Index  # the groups whose pre-activations may change sign come first,
    many: int  # so many
    course: Array  # (4, r+2): where a neuron slides, its pull at both ends, and its rates there


@borrowing
def passed(
    theta: float, side: float, limit: float, p0: float, p1: float, s0: float, s1: float, c5: float
) -> bool:
    return side * dense(theta, p0, p1, s0, s1, c5) < limit


@borrowing
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


@borrowing
def worth_a_look(side: float, h: float, p0: float, p1: float, s0: float, s1: float) -> bool:
    """Whether a pre-activation may leave its side within the step: it ends beyond the limit, or
    goes down and up again."""
    v0, v1, d0, d1 = side * p0, side * p1, side * h * s0, side * h * s1
    return v1 < lower_limit(v0) or (d0 < 0.0 and d1 > 0.0 and v0 < -d0 and v1 < d1)


@borrowing
def lower_limit(v0: float) -> float:
    """An excursion below the tolerance may have been missed: then only getting worse counts."""
    return -HYSTERESIS if v0 >= -HYSTERESIS else v0 - HYSTERESIS


@borrowing
def first_crossing(j: int, piece: Piece) -> tuple[float, int]:
    """(θ, group) of the first of neuron j's pre-activations to leave its side."""
    h, Y, K, P, dP = piece.h, piece.Y, piece.K, piece.span.P, piece.span.dP
    gates, U = piece.gates, piece.geometry.U
    best, group = NOWHERE, -1
    for k in range(piece.many):
        g = piece.near[k]
        if gates[j, g] == SLIDE:
            continue
        side = 1.0 if gates[j, g] == ON else -1.0
        p0, p1, s0, s1 = P[START, j, g], P[END, j, g], dP[START, j, g], dP[END, j, g]
        if not worth_a_look(side, h, p0, p1, s0, s1):
            continue
        limit = lower_limit(side * p0)
        p0, c5 = 0.0, 0.0  # that of the span dates from before the state was put back on what it
        for i in range(U.shape[1]):  # conserves
            p0 += Y[j, i] * U[g, i]
            c5 += h * last_coefficient(K, j * Y.shape[1] + i) * U[g, i]
        # where it begins at zero, the limit is all there is to pass
        level = 0.0 if side * p0 > HYSTERESIS else limit
        theta = crossing_in_step(side, limit, level, p0, p1, h * s0, h * s1, c5, best)
        if theta < best:
            best, group = theta, g
    return best, group


@borrowing
def excess(F: float, F0: float, F1: float, sign: float, slack: float) -> float:
    """By how much a sliding force has left its box, or the box its order, beyond the slack;
    negative inside."""
    outside = larger(smaller(F0, F1) - F, F - larger(F0, F1))
    return larger(outside, sign * (F0 - F1)) - slack


@inner
def slide_exit(j: int, sign: float, piece: Piece, best: float) -> tuple[float, int]:
    """(θ, group) of the first of neuron j's slides to end before θ = best, `sign` being that of its
    output until then.

    A slide ends when its force has left the box by `late` of the largest force, and by `noise`:
    ending it late costs the square of the delay.
    """
    slides, count, group = piece.slides, piece.slides.sizes[j], -1
    slack = piece.tolerances.late * largest(piece.F0, piece.F1) + piece.tolerances.noise
    first = 0
    while first < count and not leaves(j, first, sign, slack, piece):
        first += 1
    if first == count:
        return best, group
    # what holds a slide is linear in the pull
    held, ends, D = row_of(count), table_of(4, count), row_of(piece.course.shape[1])
    copy(slides.held[j, :count], held)
    for k in range(ends.shape[0]):
        copy(piece.course[k], D)
        remove_sliding(j, D, slides)
        set_held(j, slides)
        copy(slides.held[j, :count], ends[k])
    copy(held, slides.held[j, :count])
    for b in range(first, count):
        if leaves(j, b, sign, slack, piece):
            g = slides.which[j, b]
            theta = exit_in_step(b, g, sign, piece, smaller(best, 1.0), ends)
            if theta < best:
                best, group = theta, g
    return best, group


@borrowing
def leaves(j: int, b: int, sign: float, slack: float, piece: Piece) -> bool:
    """Whether the force of neuron j's b-th slide is outside of its box at the end of the piece."""
    slides, g = piece.slides, piece.slides.which[j, b]
    known = slides.lower[j, b, b] > 0.0
    return known and excess(slides.held[j, b], piece.F0[g], piece.F1[g], sign, slack) > 0.0


@borrowing
def exit_in_step(b: int, g: int, sign: float, piece: Piece, end: float, ends: Array) -> float:
    """When a neuron's b-th slide, on group g, ends, forces being Hermite interpolants over the
    step, that which holds the slide too; NOWHERE if after `end`."""
    tolerances, h, levels, rates = piece.tolerances, piece.h, piece.span.forces, piece.span.rates
    first, last = largest(levels[START, 0], levels[START, 1]), largest(piece.F0, piece.F1)
    low, high, below, above, theta = 0.0, NOWHERE, 0.0, 0.0, end
    for k in range(BISECTIONS):
        force = hermite(theta, ends[0, b], ends[1, b], h * ends[2, b], h * ends[3, b])
        F0 = hermite(
            theta, levels[0, 0, g], levels[1, 0, g], h * rates[0, 0, g], h * rates[1, 0, g]
        )
        F1 = hermite(
            theta, levels[0, 1, g], levels[1, 1, g], h * rates[0, 1, g], h * rates[1, 1, g]
        )
        slack = tolerances.late * (first + theta * (last - first)) + tolerances.noise
        beyond = excess(force, F0, F1, sign, slack)
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
    return high


@borrowing
def hermite(theta: float, f0: float, f1: float, s0: float, s1: float) -> float:
    """The cubic with these values at 0 and 1, and these slopes."""
    c = 1 - theta
    return (
        (1 + 2 * theta) * c * c * f0
        + theta * c * c * s0
        + theta * theta * (3 - 2 * theta) * f1
        - theta * theta * c * s1
    )


@borrowing
def sign_within(start: float, end: float) -> float:
    """The sign of an output weight from the start of a step until it turns."""
    return math.copysign(1.0, start if start != 0.0 else end)


@borrowing
def first_turn(j: int, piece: Piece, best: float) -> float:
    """The first θ < best at which the output weight of neuron j, which slides, changes sign, or
    NOWHERE."""
    h, K, y0, y1 = piece.h, piece.K, piece.Y[j, OUT], piece.trial[j, OUT]
    if y0 * y1 > 0.0 or y0 == 0.0:
        return NOWHERE
    i, side = j * piece.Y.shape[1] + OUT, math.copysign(1.0, y0)
    c5 = h * last_coefficient(K, i)
    return crossing_in_step(
        side, -HYSTERESIS, -HYSTERESIS, y0, y1, h * K[0, i], h * K[6, i], c5, best
    )


@borrowing
def first_event(j: int, piece: Piece, exits: bool) -> tuple[float, int]:
    """(θ, group) of neuron j's first event within the piece; ends of slides only if `exits`."""
    theta, group = first_crossing(j, piece)
    if piece.slides.sizes[j] > 0:
        when = first_turn(j, piece, theta)
        if when < theta:
            theta, group = when, TURN
        if exits:
            sign = sign_within(piece.Y[j, OUT], piece.trial[j, OUT])
            when, g = slide_exit(j, sign, piece, theta)
            if g >= 0:
                theta, group = when, g
    return theta, group
