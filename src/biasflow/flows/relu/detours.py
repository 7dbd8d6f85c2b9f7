"""Neurons whose gates change within a step, integrated aside: along the forces of the step, through
all their events.

Neurons see each other only through the predictions. A neuron that changes a gate at θ leaves the
course of the step, and the
others notice only a ramp that its share of the predictions gains from there on: a small one where
the neuron is small, its effect quadratic in the rest of the step. The step of all the others
stands; what the ramps do to them is added to first order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._core.arguments import Array
from ..._numerics.compilation import inner
from .dormand_prince import NODES, TABLEAU, dense_state, error_and_stiffness
from .early_phase import sign_of
from .events import NOWHERE, TURN, Piece, first_event
from .gated_field import conserve, forces, pull, remove_sliding
from .layout import (
    END,
    FIRST,
    ON,
    OUT,
    RHO,
    SLIDE,
    START,
    Gates,
    Geometry,
    Invariants,
    Log,
    Slides,
    Span,
    Tolerances,
)
from .sliding_modes import cross, no_slides, noted, resolve, roomier, set_slides
from .small_algebra import (
    copy,
    copy_table,
    dot,
    fill_table,
    gate_table,
    larger,
    row_of,
    sliding_groups,
    smaller,
    stack_of,
    table_of,
)

PATIENCE, BLIND = 8, 1 / 16
"""Events that may leave a neuron's gates as they were, before it goes on for this share of its way
blind to ends of slides."""
MOST_PIECES = 60
"""Steps a neuron may take aside before the step of all is cut where it has got to."""


class Frame(NamedTuple):
    """A step of the march: from Y at t, of length h, with these gates."""

    t: float
    h: float
    Y: Array
    gates: Gates
    geometry: Geometry
    invariants: Invariants
    slides: Slides
    tolerances: Tolerances


class Aside(NamedTuple):
    """Scratch space for one neuron."""

    Y: Array  # (1, r+2)
    trial: Array
    sixth: Array
    out: Array  # (1, r+2)
    gates: Gates  # (1, G)
    before: Gates  # (1, G): as they were before an event
    K: Array  # (7, r+2)
    D: Array  # (r+2,)
    span: Span
    F0: Array
    F1: Array
    share: Array  # (2, G): what the neuron has added to the predictions


@inner
def span_for(m: int, G: int) -> Span:
    span = Span(stack_of(2, m, G), stack_of(2, m, G), stack_of(2, 2, G), stack_of(2, 2, G))
    for end in range(2):
        fill_table(span.predictions[end], 0.0)
        fill_table(span.rates[end], 0.0)
    return span


@inner
def aside_for(G: int, width: int) -> Aside:
    return Aside(
        table_of(1, width),
        table_of(1, width),
        table_of(1, width),
        table_of(1, width),
        gate_table(1, G),
        gate_table(1, G),
        table_of(7, width),
        row_of(width),
        span_for(1, G),
        row_of(G),
        row_of(G),
        table_of(2, G),
    )


@inner
def set_course(h: float, span: Span, middle: Array, course: Array) -> None:
    """The quartics with the values and slopes of both ends of the span, and these values in the
    middle."""
    for side in range(2):
        for g in range(middle.shape[1]):
            f0, f1 = span.predictions[START, side, g], span.predictions[END, side, g]
            s0, s1 = h * span.rates[START, side, g], h * span.rates[END, side, g]
            bump = 16 * (middle[side, g] - 0.5 * (f0 + f1) - 0.125 * (s0 - s1))
            course[side, 0, g], course[side, 1, g] = f0, s0
            course[side, 2, g] = 3 * (f1 - f0) - 2 * s0 - s1 + bump
            course[side, 3, g] = 2 * (f0 - f1) + s0 + s1 - 2 * bump
            course[side, 4, g] = bump


@inner
def course_at(theta: float, c: Array, values: Array) -> None:
    for side in range(2):
        for g in range(values.shape[1]):
            values[side, g] = c[side, 0, g] + theta * (
                c[side, 1, g]
                + theta * (c[side, 2, g] + theta * (c[side, 3, g] + theta * c[side, 4, g]))
            )


@inner
def course_rates(theta: float, h: float, c: Array, rates: Array) -> None:
    for side in range(2):
        for g in range(rates.shape[1]):
            rates[side, g] = (
                c[side, 1, g]
                + theta
                * (2 * c[side, 2, g] + theta * (3 * c[side, 3, g] + theta * 4 * c[side, 4, g]))
            ) / h


@inner
def forced(
    Y: Array,
    theta: float,
    course: Array,
    geometry: Geometry,
    slides: Slides,
    s: Aside,
    values: Array,
    dY: Array,
) -> None:
    """The velocity of one neuron on the course of the predictions, quartics (2, 5, G) in θ."""
    course_at(theta, course, values)
    forces(values[0], values[1], geometry, s.F0, s.F1)
    pull(s.gates[0], s.F0, s.F1, geometry.U, s.D)
    if slides.sizes[0] > 0:
        remove_sliding(s.Y.shape[0] - 1, s.D, geometry.U, slides)
    along, out = 0.0, Y[0, OUT]
    for i in range(FIRST, Y.shape[1]):
        along += s.D[i] * Y[0, i]
    growth = 2 * out * along
    dY[RHO], dY[OUT] = growth, along - growth * out
    for i in range(FIRST, Y.shape[1]):
        dY[i] = out * s.D[i] - growth * Y[0, i]


@inner
def end_of_span(Y: Array, dY: Array, U: Array, P: Array, dP: Array) -> None:
    for g in range(U.shape[0]):
        P[0, g], dP[0, g] = dot(Y[0], U[g]), dot(dY, U[g])


@inner
def decided(
    g: int, s: Aside, geometry: Geometry, slides: Slides, j: int, invariants: Invariants
) -> Slides:
    """New gates at an event on group g, or where the output turned, under the forces in s; the
    neuron put onto its zeros."""
    row, y = s.gates[0], s.Y[0]
    sign = sign_of(y, row, s.F0, s.F1, geometry, s.D)
    if g == TURN or row[g] == SLIDE:
        resolve(sliding_groups(row), row, sign, s.F0, s.F1, geometry, s.D)
    else:
        cross(g, row, sign, s.F0, s.F1, geometry, s.D)
    slides = roomier(slides, sliding_groups(row).size)
    only = s.Y.shape[0] - 1
    set_slides(only, row, geometry.U, slides)
    remove_sliding(only, y, geometry.U, slides)
    conserve(y, j, invariants)
    return slides


@inner
def changes(before: Gates, after: Gates) -> int:
    """How many gates differ."""
    count = 0
    for g in range(before.size):
        count += 1 if before[g] != after[g] else 0
    return count


@inner
def stages_aside(
    theta: float, step: float, h: float, course: Array, geometry: Geometry, slides: Slides, s: Aside
) -> None:
    """The stages of one neuron from θ, s.K[0] given; their end is s.trial."""
    for k in range(1, 7):
        target = s.sixth if k == 5 else s.trial
        for i in range(s.Y.shape[1]):
            total = 0.0
            for b in range(k):
                total += TABLEAU[k, b] * s.K[b, i]
            target[0, i] = s.Y[0, i] + step * h * total
        values = s.span.predictions[END]
        forced(target, theta + NODES[k] * step, course, geometry, slides, s, values, s.K[k])


@inner
def detour(
    theta: float, group: int, end: float, j: int, course: Array, frame: Frame, s: Aside, log: Log
) -> tuple[float, Log]:
    """Neuron j from θ, where s.Y and s.gates hold it and it has an event on `group`, to `end`;
    returns how far it got."""
    # a literal zero would compile what it is passed to again
    span, only = s.span, s.Y.shape[0] - 1
    h, geometry, invariants = frame.h, frame.geometry, frame.invariants
    slides = no_slides(only + 1, 4 + sliding_groups(s.gates[0]).size)
    happened, blind, step, idle = True, False, end - theta, 0
    for _ in range(MOST_PIECES):
        if happened:
            course_at(theta, course, span.predictions[START])
            forces(span.predictions[START, 0], span.predictions[START, 1], geometry, s.F0, s.F1)
            copy(s.gates[0], s.before[0])
            slides = decided(group, s, geometry, slides, j, invariants)
            log = noted(log, frame.t + theta * h, j, s.before[0], s.gates[0])
            idle = idle + 1 if changes(s.before[0], s.gates[0]) == 0 else 0
            blind = idle > PATIENCE
            step = BLIND * (end - theta) if blind else step
            if theta >= end:
                break
            forced(s.Y, theta, course, geometry, slides, s, span.predictions[START], s.K[0])
            course_rates(theta, h, course, span.rates[START])
            end_of_span(s.Y, s.K[0], geometry.U, span.P[START], span.dP[START])
        last = theta + step * (1 + 1e-9) >= end
        step = end - theta if last else step
        stages_aside(theta, step, h, course, geometry, slides, s)
        piece = Piece(
            step * h,
            s.Y,
            s.trial,
            s.gates,
            s.K,
            span,
            s.F0,
            s.F1,
            slides,
            geometry,
            frame.tolerances,
        )
        error = error_and_stiffness(piece.h, s.K, s.trial, s.sixth)[0] / frame.tolerances.rtol
        if not error <= 1.0:
            step *= larger(0.2, 0.9 * error**-0.2) if error < math.inf else 0.2
            happened = False
            continue
        course_rates(theta + step, h, course, span.rates[END])
        end_of_span(s.trial, s.K[6], geometry.U, span.P[END], span.dP[END])
        when, group = first_event(only, piece, not blind)
        happened = when != NOWHERE
        if happened:
            dense_state(when, piece.h, s.Y, s.trial, s.K, s.out)
            copy(s.out[0], s.Y[0])
            theta = smaller(theta + when * step, end)
        else:
            copy(s.trial[0], s.Y[0])
            theta = end if last else theta + step
            step, blind = end - theta if blind else step, False
            copy(s.K[6], s.K[0])
            step_over(span)
        if slides.sizes[0] > 0:
            remove_sliding(only, s.Y[0], geometry.U, slides)
        conserve(s.Y[0], j, invariants)
        if theta >= end and not happened:
            break
    return theta, log


@inner
def step_over(span: Span) -> None:
    """The end of a step becomes the start of the next."""
    copy_table(span.P[END], span.P[START])
    copy_table(span.dP[END], span.dP[START])
    copy_table(span.predictions[END], span.predictions[START])
    copy_table(span.rates[END], span.rates[START])


@inner
def contribute(sign: float, row: Array, gates: Gates, geometry: Geometry, values: Array) -> None:
    """Add ± a neuron's share of the predictions, its gates frozen."""
    c = sign * math.exp(2 * row[RHO]) * row[OUT]
    for g in range(gates.size):
        if gates[g] == SLIDE:
            continue
        p = c * dot(row, geometry.U[g])
        values[0, g] += p if gates[g] == ON else geometry.slope * p
        values[1, g] -= geometry.slope * p if gates[g] == ON else p


@inner
def linear_forces(values: Array, geometry: Geometry, F0: Array, F1: Array) -> None:
    """What these additions to the predictions add to the forces."""
    for g in range(F0.size):
        F0[g], F1[g] = 0.0, 0.0
    for k in range(geometry.labels.size):
        g = geometry.group[k]
        weight = geometry.speed * geometry.kappa[k] ** 2
        if geometry.side[k] > 0:
            F1[g] += weight * values[0, g]
            F0[g] += geometry.slope * weight * values[0, g]
        else:
            F0[g] -= weight * values[1, g]
            F1[g] -= geometry.slope * weight * values[1, g]


@inner
def forces_size(F0: Array, F1: Array) -> float:
    total = 0.0
    for g in range(F0.size):
        total += larger(F0[g] ** 2, F1[g] ** 2)
    return math.sqrt(total)


@inner
def bearable(
    count: int, when: Array, ramps: Array, most: float, loop: float, allowed: float
) -> float:
    """The last θ ≤ most at which what the first order leaves out of the ramps' effect, loop·θ of
    it, is allowed."""
    low, high = when[0], most
    for k in range(20):
        theta = high if k == 0 else 0.5 * (low + high)
        total = 0.0
        for i in range(count):
            if theta > when[i]:
                total += ramps[i] * (theta - when[i]) ** 2
        if total * smaller(1.0, loop * theta) <= allowed:
            low = theta
            if k == 0:
                break
        else:
            high = theta
    return low
