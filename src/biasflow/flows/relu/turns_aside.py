"""One step of the march: where its first events are, and the neurons that have one taken aside."""

from __future__ import annotations

from typing import NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import inner
from .detours import (
    Aside,
    Frame,
    aside_for,
    bearable,
    contribute,
    detour,
    forces_size,
    linear_forces,
    set_course,
    span_for,
)
from .dormand_prince import dense_row, dense_state
from .events import NOWHERE, Piece, excess, first_event, sign_within, worth_a_look
from .gated_field import prediction_rates, predictions, workspace
from .layout import END, ON, OUT, SLIDE, START, Gates, Geometry, Log, Span, Work
from .small_algebra import (
    copy,
    copy_table,
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
    course: Array  # (2, 5, G): predictions over a step, of both sides, as quartics in θ
    middle: Array  # (2, G): predictions in the middle of a step
    push: Array  # (2, G): the integral of what neurons aside add to the predictions
    aside: Aside
    # (m,): of the neurons that change gates, in the order of time; so are the following
    ramps: Array
    first: Array
    neurons: Index
    ends: Array  # (m, r+2)
    gates: Gates  # (m, G)


@inner
def scratch_for(m: int, G: int, width: int) -> Scratch:
    slopes = stack_of(7, m, width)
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
    )


@inner
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
            maybe = not Y[j, OUT] * trial[j, OUT] > 0.0
            sign = sign_within(Y[j, OUT], trial[j, OUT])
            for b in range(slides.sizes[j]):
                g = slides.which[j, b]
                maybe = maybe or excess(slides.held[j, b], F0[g], F1[g], sign, slack) > 0.0
        when[j] = 0.0 if maybe else NOWHERE
        any_at_all = any_at_all or maybe
    return any_at_all


@inner
def look(frame: Frame, s: Scratch) -> float:
    """Every neuron's first event within the step, into s.when and s.groups; returns the first θ of
    all."""
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
    )
    first, any_at_all = NOWHERE, flag_events(piece, s.when)
    if any_at_all:
        both_ends(frame.Y, frame.geometry, s)
        for j in range(frame.Y.shape[0]):
            if s.when[j] == 0.0:
                s.when[j], s.groups[j] = first_event(j, piece, any_at_all)
                first = smaller(first, s.when[j])
    return first


@inner
def both_ends(Y: Array, geometry: Geometry, s: Scratch) -> None:
    """The predictions and their rates at both ends of the step; the field was evaluated last at its
    end."""
    span, work = s.span, s.work
    copy(work.plus, span.predictions[END, 0])
    copy(work.minus, span.predictions[END, 1])
    P, dP, rates = span.P, span.dP, span.rates
    prediction_rates(s.trial, s.slopes[6], P[END], dP[END], geometry, work, rates[END])
    copy_table(span.P[START], work.P)
    predictions(Y, geometry, work)
    copy(work.plus, span.predictions[START, 0])
    copy(work.minus, span.predictions[START, 1])
    prediction_rates(Y, s.slopes[0], P[START], dP[START], geometry, work, rates[START])


@inner
def chart(frame: Frame, s: Scratch) -> None:
    """The course of the predictions over the step, both ends known."""
    geometry, work = frame.geometry, s.work
    dense_state(0.5, frame.h, frame.Y, s.trial, s.K, s.sixth)
    project(s.sixth, geometry.U, geometry.UT, work.P)
    predictions(s.sixth, geometry, work)
    copy(work.plus, s.middle[0])
    copy(work.minus, s.middle[1])
    set_course(frame.h, s.span, s.middle, s.course)


@inner
def one_aside(i: int, end: float, frame: Frame, s: Scratch, log: Log) -> tuple[float, Log]:
    """The i-th neuron to change gates, from its first event to `end`; s.push gains the integral of
    what it adds to the predictions.

    Returns how far it got.
    """
    h, Y, gates, geometry = frame.h, frame.Y, frame.gates, frame.geometry
    j, aside, theta = s.neurons[i], s.aside, s.first[i]
    dense_row(theta, h, j, Y, s.trial, s.K, aside.Y[0])
    copy(gates[j], aside.gates[0])
    reached, log = detour(theta, s.groups[j], end, j, s.course, frame, aside, log)
    copy(aside.Y[0], s.ends[i])
    copy(aside.gates[0], s.gates[i])
    dense_row(reached, h, j, Y, s.trial, s.K, aside.out[0])
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


@inner
def earliest(when: Array) -> int:
    best = 0
    for j in range(1, when.size):
        if when[j] < when[best]:
            best = j
    return best


@inner
def turn_aside(
    most: float, stiffness: float, frame: Frame, s: Scratch, log: Log
) -> tuple[float, int, Log]:
    """Take the neurons that change gates aside, one after the other, as long as the others need not
    know.

    Returns θ ≤ most up to which the step stands, how many neurons changed gates before, and the
    log.
    """
    rtol, m = frame.tolerances.rtol, frame.Y.shape[0]
    count, end, filled = m, most, log.filled[0]
    loop = frame.h * stiffness if stiffness > 0.0 else UNKNOWN_STIFFNESS
    allowed = UNCOUPLED * rtol * smaller(1.0, rtol / LOOSE)
    fill_table(s.push, 0.0)
    for i in range(m):
        j = earliest(s.when)
        if s.when[j] == NOWHERE or (i > 0 and s.when[j] >= end):
            count = i
            break
        s.neurons[i], s.first[i] = j, s.when[j]
        s.when[j] = NOWHERE
        reached, log = one_aside(i, most, frame, s, log)
        borne = bearable(i + 1, s.first, s.ramps, most, loop, allowed)
        end = larger(smaller(end, smaller(reached, borne)), s.first[i])
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
