"""One step of the march: where its first events are, and the neurons that have one taken aside."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, inner, seldom, seldom_borrowing
from .detours import Frame, bearable, contribute, detour, forces_size, linear_forces
from .dormand_prince import dense_row, dense_state, set_travel
from .events import NOWHERE, Piece, excess, first_event, sign_within, worth_a_look
from .gated_field import (
    forces,
    prediction_rates,
    predictions,
    pull,
    show_held,
    workspace,
)
from .layout import (
    END,
    FIRST,
    HYSTERESIS,
    ON,
    OUT,
    SLIDE,
    START,
    Gates,
    Geometry,
    Log,
    Slides,
    Span,
    Work,
)
from .neuron_aside import Aside, aside_for, set_course, span_for
from .small_algebra import (
    copy,
    fill_table,
    gate_table,
    indices,
    larger,
    largest,
    project,
    row_of,
    smaller,
    stack_of,
    table_of,
)

UNCOUPLED = 0.03
"""Error, in units of the tolerance, that a step may make by treating its events to first order."""
LOOSE = 1e-9
"""Tolerance of a step below which that share shrinks with it: first order is what rounding would
be."""
UNKNOWN_STIFFNESS = 1e15
"""Stiffness times step that stands for a stiffness not known."""


class Scratch(NamedTuple):
    """Stages, both ends of a step, the workspace of the field, and what is needed when gates
    change."""

    K: Array  # (7, m·(r+2))
    slopes: Array  # (7, m, r+2): the same
    trial: Array
    sixth: Array
    span: Span
    work: Work
    when: Array  # (m,): θ of each neuron's first event
    groups: Index  # (m,)
    course: Array  # (2, 5, G): F0 and F1 over a step, as quartics in θ
    middle: Array  # (2, G): forces in the middle of a step, or rates of predictions
    push: Array  # (2, G): the integral of what neurons aside add to the predictions
    aside: Aside
    # (m,): of the neurons that change gates, in the order of time; so are the following
    ramps: Array
    first: Array
    neurons: Index
    ends: Array  # (m, r+2)
    gates: Gates  # (m, G)
    heap: Index  # (m,): neurons that change gates, the first of them on top
    groups_all: Index  # (G,): every group
    margins: Array  # (m,): how far each neuron is at least from its nearest kink
    travel: Array  # (m,): how far it may go in a step
    known: Index  # (1,): whether the start of the span is that of the step


@seldom
def scratch_for(m: int, G: int, width: int) -> Scratch:
    slopes, everyone = stack_of(7, m, width), indices(G)
    for g in range(G):
        everyone[g] = g
    return Scratch(
        slopes.reshape((7, m * width)),
        slopes,
        table_of(m, width),
        table_of(m, width),
        span_for(m, G),
        workspace(m, G, width),
        row_of(m),
        indices(m),
        stack_of(2, 5, G),
        table_of(2, G),
        table_of(2, G),
        aside_for(G, width),
        row_of(m),
        row_of(m),
        indices(m),
        table_of(m, width),
        gate_table(m, G),
        indices(m),
        everyone,
        row_of(m),
        row_of(m),
        indices(1),
    )


@borrowing
def slide_may_end(
    j: int, slack: float, Y: Array, trial: Array, slides: Slides, F0: Array, F1: Array
) -> bool:
    """Whether a slide of neuron j may end within the step, or its output change sign."""
    if not Y[j, OUT] * trial[j, OUT] > 0.0:
        return True
    sign = sign_within(Y[j, OUT], trial[j, OUT])
    for b in range(slides.sizes[j]):
        g = slides.which[j, b]
        if excess(slides.held[j, b], F0[g], F1[g], sign, slack) > 0.0:
            return True
    return False


@borrowing
def stays_clear(frame: Frame, s: Scratch) -> bool:
    """Whether no neuron can reach a kink within the step: ⟨z̄, u⟩ moves no further than z̄, u being
    a unit vector. Then nobody needs to look."""
    Y, trial, slides, work = frame.Y, s.trial, frame.slides, s.work
    set_travel(frame.h, Y, trial, s.K, s.sixth, s.travel)
    show_held(slides, work)
    slack = frame.tolerances.late * largest(work.F0, work.F1) + frame.tolerances.noise
    for j in range(Y.shape[0]):
        # one that does not move may rest on a kink
        if s.travel[j] > 0.0 and not s.travel[j] + 2 * HYSTERESIS < s.margins[j]:
            return False
        if slides.sizes[j] > 0 and slide_may_end(j, slack, Y, trial, slides, work.F0, work.F1):
            return False
    return True


@borrowing
def set_margins(P: Array, gates: Gates, margins: Array) -> None:
    for j in range(gates.shape[0]):
        least = math.inf
        for g in range(gates.shape[1]):
            if gates[j, g] != SLIDE:
                least = smaller(least, P[j, g] if gates[j, g] == ON else -P[j, g])
        margins[j] = least


@borrowing
def recede(Y: Array, trial: Array, travel: Array, margins: Array) -> None:
    """Take from the margins how far neurons went, and how far they were moved then, from `trial`
    to Y."""
    for j in range(Y.shape[0]):
        square, y, x = 0.0, Y[j, FIRST:], trial[j, FIRST:]
        for i in range(y.size):
            square += (y[i] - x[i]) ** 2
        margins[j] -= travel[j] + math.sqrt(square)


@borrowing
def flag_events(piece: Piece, when: Array) -> bool:
    """Set `when` to zero for the neurons that are worth a closer look, as a pre-activation or an
    output may change sign, or a slide end; returns whether there are any.

    One call for all neurons: to pass so many arrays takes longer than to look.
    """
    h, Y, trial, gates, slides = piece.h, piece.Y, piece.trial, piece.gates, piece.slides
    P, dP, F0, F1 = piece.span.P, piece.span.dP, piece.F0, piece.F1
    slack = piece.tolerances.late * largest(F0, F1) + piece.tolerances.noise
    any_at_all = False
    for j in range(gates.shape[0]):
        maybe = False
        for g in range(gates.shape[1]):
            side = 1.0 if gates[j, g] == ON else -1.0
            if gates[j, g] != SLIDE and worth_a_look(
                side, h, P[START, j, g], P[END, j, g], dP[START, j, g], dP[END, j, g]
            ):
                maybe = True
                break
        if slides.sizes[j] > 0 and not maybe:
            maybe = slide_may_end(j, slack, Y, trial, slides, F0, F1)
        when[j] = 0.0 if maybe else NOWHERE
        any_at_all = any_at_all or maybe
    return any_at_all


@borrowing
def look(frame: Frame, s: Scratch) -> float:
    """Every neuron's first event within the step, into s.when and s.groups; returns the first θ of
    all. The field was evaluated last at its end."""
    geometry, span = frame.geometry, s.span
    if s.known[0] == 0:
        project(frame.Y, geometry.U, geometry.UT, span.P[START])
        project(s.slopes[0], geometry.U, geometry.UT, span.dP[START])
    project(s.trial, geometry.U, geometry.UT, span.P[END])
    project(s.slopes[6], geometry.U, geometry.UT, span.dP[END])
    piece = Piece(
        frame.h,
        frame.Y,
        s.trial,
        frame.gates,
        s.K,
        s.span,
        s.work.F0,
        s.work.F1,
        frame.slides,
        frame.geometry,
        frame.tolerances,
        s.groups_all,
        s.groups_all.size,
        s.aside.course,
    )
    first, any_at_all = NOWHERE, flag_events(piece, s.when)
    if any_at_all:
        both_ends(frame.Y, frame.geometry, s)
        slack = frame.tolerances.late * largest(piece.F0, piece.F1) + frame.tolerances.noise
        for j in range(frame.Y.shape[0]):
            if s.when[j] == 0.0:
                if frame.slides.sizes[j] > 0 and slide_may_end(
                    j, slack, frame.Y, s.trial, frame.slides, piece.F0, piece.F1
                ):
                    pull_ends(frame.gates[j], s.span, frame.geometry.U, s.aside.course)
                s.when[j], s.groups[j] = first_event(j, piece, any_at_all)
                first = smaller(first, s.when[j])
    return first


@borrowing
def pull_ends(row: Gates, span: Span, U: Array, course: Array) -> None:
    """What the gates of one neuron pull at both ends of the step, and its rates there."""
    for k in range(2):
        pull(row, span.forces[k, 0], span.forces[k, 1], U, course[k])
        pull(row, span.rates[k, 0], span.rates[k, 1], U, course[2 + k])


@borrowing
def both_ends(Y: Array, geometry: Geometry, s: Scratch) -> None:
    """The forces and their rates at both ends of the step; the field was evaluated last at its
    end."""
    span, work, rates = s.span, s.work, s.span.rates
    copy(work.F0, span.forces[END, 0])
    copy(work.F1, span.forces[END, 1])
    prediction_rates(s.trial, s.slopes[6], geometry, work, s.middle)
    linear_forces(s.middle, geometry, rates[END, 0], rates[END, 1])
    predictions(Y, geometry, work)
    forces(work.plus, work.minus, geometry, span.forces[START, 0], span.forces[START, 1])
    prediction_rates(Y, s.slopes[0], geometry, work, s.middle)
    linear_forces(s.middle, geometry, rates[START, 0], rates[START, 1])


@borrowing
def chart(frame: Frame, s: Scratch) -> None:
    """The course of the forces over the step, both ends known."""
    geometry, work = frame.geometry, s.work
    dense_state(0.5, frame.h, frame.Y, s.trial, s.K, s.sixth)
    predictions(s.sixth, geometry, work)
    forces(work.plus, work.minus, geometry, s.middle[0], s.middle[1])
    set_course(frame.h, s.span, s.middle, s.course)


@inner
def one_aside(i: int, end: float, frame: Frame, s: Scratch, log: Log) -> tuple[float, Log]:
    """The i-th neuron to change gates, from its first event to `end`; s.push gains the integral of
    what it adds to the predictions.

    Returns how far it got.
    """
    h, Y, gates, geometry = frame.h, frame.Y, frame.gates, frame.geometry
    j, aside, theta = s.neurons[i], s.aside, s.first[i]
    dense_row(theta, h, j, Y, s.trial, s.slopes, aside.Y[0])
    copy(gates[j], aside.gates[0])
    reached, log = detour(theta, s.groups[j], end, j, s.course, frame, aside, log)
    copy(aside.Y[0], s.ends[i])
    copy(aside.gates[0], s.gates[i])
    dense_row(reached, h, j, Y, s.trial, s.slopes, aside.out[0])
    fill_table(aside.share, 0.0)
    contribute(1.0, aside.Y[0], aside.gates[0], geometry, aside.share)
    contribute(-1.0, aside.out[0], gates[j], geometry, aside.share)
    linear_forces(aside.share, geometry, aside.F0, aside.F1)
    s.ramps[i] = (
        0.5 * h * forces_size(aside.F0, aside.F1) / (reached - theta) if reached > theta else 0.0
    )
    for side in range(2):
        for g in range(s.push.shape[1]):
            s.push[side, g] += 0.5 * h * (reached - theta) * aside.share[side, g]
    return reached, log


@borrowing
def sift(heap: Index, count: int, i: int, when: Array) -> None:
    """Move the i-th entry of a heap down to its place: none is later than those below it, and of
    neurons with one time the first comes first."""
    entry = heap[i]
    while 2 * i + 1 < count:
        k = 2 * i + 1
        if k + 1 < count and sooner(heap[k + 1], heap[k], when):
            k += 1
        if not sooner(heap[k], entry, when):
            break
        heap[i] = heap[k]
        i = k
    heap[i] = entry


@borrowing
def sooner(i: int, j: int, when: Array) -> bool:
    return when[i] < when[j] or (when[i] == when[j] and i < j)


@seldom_borrowing
def pile(when: Array, heap: Index) -> int:
    """Heap up the neurons that have an event; returns how many."""
    count = 0
    for j in range(when.size):
        if when[j] != NOWHERE:
            heap[count] = j
            count += 1
    for i in range(count // 2 - 1, -1, -1):
        sift(heap, count, i, when)
    return count


@seldom
def turn_aside(
    most: float, stiffness: float, frame: Frame, s: Scratch, log: Log
) -> tuple[float, int, Log]:
    """Take the neurons that change gates aside, one after the other, as long as the others need not
    know.

    Returns θ ≤ most up to which the step stands, how many neurons changed gates before, and the
    log.
    """
    rtol, waiting = frame.tolerances.rtol, pile(s.when, s.heap)
    # a literal zero would compile what it is passed to again
    top = 0 * waiting
    count, end, filled = top, most, log.filled[0]
    loop = frame.h * stiffness if stiffness > 0.0 else UNKNOWN_STIFFNESS
    allowed = UNCOUPLED * rtol * smaller(1.0, rtol / LOOSE)
    fill_table(s.push, 0.0)
    bend, tilt, level = 0.0, 0.0, 0.0  # what the ramps do to the others, a parabola in θ
    while waiting > 0:
        j = s.heap[top]
        when = s.when[j]
        if count > 0 and when >= end:
            break
        waiting -= 1
        s.heap[top] = s.heap[waiting]
        sift(s.heap, waiting, top, s.when)
        s.neurons[count], s.first[count] = j, when
        reached, log = one_aside(count, end, frame, s, log)
        later = when - s.first[count - 1] if count > 0 else 0.0
        level += later * (2 * tilt + later * bend)
        tilt += later * bend
        bend += s.ramps[count]
        count += 1
        end = larger(smaller(end, reached), when)
        end = bearable(when, end, bend, tilt, level, loop, allowed)
    again = end < most
    while again:
        again, log.filled[0] = False, filled
        fill_table(s.push, 0.0)
        for i in range(count):
            if s.first[i] > end:
                count = i
                break
            reached, log = one_aside(i, end, frame, s, log)
            if reached < end:
                again, end = True, reached
    return end, count, log
