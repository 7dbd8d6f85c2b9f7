"""The flow itself: Dormand–Prince steps with frozen gates, cut at the first event, gates decided
anew, and on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array, Index
from ..._numerics.compilation import entry, inner
from .detours import (
    Aside,
    Course,
    aside_for,
    bearable,
    contribute,
    detour,
    forces_size,
    linear_forces,
    set_course,
    span_for,
)
from .dormand_prince import dense_row, dense_state, error_and_stiffness, stages
from .early_phase import start_gates
from .events import NOWHERE, Span, excess, first_event, sign_within, worth_a_look
from .gated_field import (
    conserve,
    field,
    forces,
    prediction_rates,
    predictions,
    remove_sliding,
    respond,
    set_masks,
    workspace,
)
from .layout import (
    FIRST,
    ON,
    OUT,
    RHO,
    SLIDE,
    Gates,
    Geometry,
    Invariants,
    Log,
    Slides,
    Work,
)
from .sliding_modes import no_slides, roomier, set_slides
from .small_algebra import STAMP, copy, largest, positions, project

REACHED_T1, CONVERGED, STATIONARY, STEP_LIMIT, STEP_TOO_SMALL, TIME_LIMIT = 0, 1, 2, 3, 4, 5
SAFETY, SHRINK, GROW = 0.9, 0.2, 6.0
STABLE = 2.6
"""Step times stiffest rate kept inside the stability region (3.3), so that fast modes decay and the
loss can converge."""
FIRST_STEP = 0.01
LATE = 0.1
"""Lateness of the end of a slide, in units of the tolerance."""
NOISE = 1e-14
"""Rounding of a force, relative to the forces of the start."""
NO_PROGRESS = 1e-15
UNCOUPLED = 0.03
"""Error, in units of the tolerance, that a step may make by treating its events to first order."""
LOOSE = 1e-9
"""Tolerance of a step below which that share shrinks with it: first order is what rounding would
be."""
HALF = 0.5
"""Longest step of a run on the mesh of another, in units of the other's: what is of fifth order is
a 32nd of the other's."""
SLIVER = 1e-6
"""Part of a cell of that mesh that is not worth a step."""
FAINT = 1e-3
"""Push on the others, in units of the tolerance, that is left out, but of a run that tells the
error of another."""


class Request(NamedTuple):
    """How to march: until t1, or until Σ(h − y)² falls to `goal`, or all speeds to `still`; rtol;
    saving at `times`."""

    t0: float
    t1: float
    rtol: float
    step: float  # first step, zero for automatic
    goal: float
    still: float
    faint: float  # 2ρ of a neuron up to which its share of the predictions is negligible
    max_steps: int
    times: Array
    keep: int  # states kept of the steps, thinned to every 2^k-th
    stop: Index  # its entry turns to one when the time is over
    mesh: Array  # where another run's steps ended, whose steps are taken in halves; or nothing


class Kept(NamedTuple):
    """Ends of steps: time, state, gates, and the step proposed there."""

    times: Array
    states: Array
    gates: Gates
    steps: Array


@inner
def room(kept: Kept, count: int, most: int) -> Kept:
    """The kept steps with room for one more, up to `most`."""
    size, m, width = kept.states.shape
    if count < size or size >= most:
        return kept
    size = min(4 * size, most)
    grown = Kept(
        np.empty(size),
        np.empty((size, m, width)),
        np.empty((size, m, kept.gates.shape[2]), np.int8),
        np.empty(size),
    )
    grown.times[:count], grown.steps[:count] = kept.times[:count], kept.steps[:count]
    grown.states[:count], grown.gates[:count] = kept.states[:count], kept.gates[:count]
    return grown


@inner
def keep_step(
    kept: Kept,
    count: Index,
    stride: Index,
    accepted: int,
    t: float,
    Y: Array,
    gates: Gates,
    h: float,
) -> None:
    """Keep every stride-th step; when full, every second of those kept goes and the stride
    doubles."""
    if accepted % stride[0] != 0:
        return
    if count[0] == kept.times.size:
        half = (count[0] + 1) // 2
        for i in range(half):
            kept.times[i], kept.steps[i] = kept.times[2 * i], kept.steps[2 * i]
            kept.states[i], kept.gates[i] = kept.states[2 * i], kept.gates[2 * i]
        count[0], stride[0] = half, 2 * stride[0]
        if accepted % stride[0] != 0:
            return
    i = count[0]
    kept.times[i], kept.steps[i] = t, h
    kept.states[i], kept.gates[i] = Y, gates
    count[0] += 1


class Scratch(NamedTuple):
    """Stages, both ends of a step, the workspace of the field, and what is needed when gates
    change."""

    K: Array  # (7, m·(r+2))
    trial: Array
    sixth: Array
    span: Span
    work: Work
    when: Array  # (m,): θ of each neuron's first event
    groups: Index  # (m,)
    course: Course
    aside: Aside
    # (m,): of the neurons that change gates, in the order of time; so are the following
    ramps: Array
    first: Array
    neurons: Index
    ends: Array  # (m, r+2)
    gates: Gates  # (m, G)


@inner
def scratch_for(m: int, G: int, width: int) -> Scratch:
    return Scratch(
        np.empty((7, m * width)),
        np.empty((m, width)),
        np.empty((m, width)),
        span_for(m, G),
        workspace(m, G, width),
        np.empty(m),
        np.empty(m, np.int64),
        Course(np.empty((5, G)), np.empty((5, G))),
        aside_for(G, width),
        np.empty(m),
        np.empty(m),
        np.empty(m, np.int64),
        np.empty((m, width)),
        np.empty((m, G), np.int8),
    )


@inner
def look(
    h: float,
    late: float,
    noise: float,
    Y: Array,
    gates: Gates,
    geometry: Geometry,
    slides: Slides,
    s: Scratch,
) -> float:
    """Every neuron's first event within the step, into s.when and s.groups; returns the first θ of
    all."""
    P0, P1, dP0, dP1, F0, F1 = s.span.P0, s.span.P1, s.span.dP0, s.span.dP1, s.work.F0, s.work.F1
    m, G = gates.shape
    slack, any_at_all = late * largest(F0, F1) + noise, False
    for j in range(m):
        maybe = False
        for g in range(G):
            side = 1.0 if gates[j, g] == ON else -1.0
            if gates[j, g] != SLIDE and worth_a_look(
                side, h, P0[j, g], P1[j, g], dP0[j, g], dP1[j, g]
            ):
                maybe = True
                break
        if slides.sizes[j] > 0 and not maybe:
            maybe = not Y[j, OUT] * s.trial[j, OUT] > 0.0
            sign = sign_within(Y[j, OUT], s.trial[j, OUT])
            for b in range(slides.sizes[j]):
                g = slides.which[j, b]
                maybe = maybe or excess(slides.held[j, b], F0[g], F1[g], sign, slack) > 0.0
        s.when[j] = 0.0 if maybe else NOWHERE
        any_at_all = any_at_all or maybe
    first = NOWHERE
    if any_at_all:
        both_ends(Y, geometry, s)
        for j in range(m):
            if s.when[j] == 0.0:
                s.when[j], s.groups[j] = first_event(
                    h,
                    late,
                    noise,
                    j,
                    Y,
                    s.trial,
                    gates,
                    geometry,
                    slides,
                    s.K,
                    s.span,
                    s.work.F0,
                    s.work.F1,
                    True,
                )
                first = min(first, s.when[j])
    return first


@inner
def both_ends(Y: Array, geometry: Geometry, s: Scratch) -> None:
    """The predictions and their rates at both ends of the step; the field was evaluated last at its
    end."""
    span, work = s.span, s.work
    copy(work.plus, span.predictions1[0])
    copy(work.minus, span.predictions1[1])
    prediction_rates(
        s.trial,
        s.K[6].reshape(Y.shape),
        span.P1,
        span.dP1,
        geometry,
        work,
        span.rates1[0],
        span.rates1[1],
    )
    work.P[:] = span.P0
    predictions(Y, geometry, work)
    copy(work.plus, span.predictions0[0])
    copy(work.minus, span.predictions0[1])
    prediction_rates(
        Y,
        s.K[0].reshape(Y.shape),
        span.P0,
        span.dP0,
        geometry,
        work,
        span.rates0[0],
        span.rates0[1],
    )


@inner
def chart(h: float, Y: Array, geometry: Geometry, s: Scratch) -> None:
    """The course of the predictions over the step, both ends known."""
    work, middle = s.work, np.empty((2, s.work.plus.size))
    dense_state(0.5, h, Y, s.trial, s.K, s.sixth)
    project(s.sixth, geometry.U, geometry.UT, work.P)
    predictions(s.sixth, geometry, work)
    copy(work.plus, middle[0])
    copy(work.minus, middle[1])
    set_course(h, s.span, middle, s.course)


@inner
def one_aside(
    i: int,
    end: float,
    t: float,
    h: float,
    rtol: float,
    late: float,
    noise: float,
    Y: Array,
    gates: Gates,
    geometry: Geometry,
    invariants: Invariants,
    s: Scratch,
    push: Array,
    log: Log,
) -> tuple[float, Log]:
    """The i-th neuron to change gates, from its first event to `end`; push gains the integral of
    what it adds to the predictions.

    Returns how far it got.
    """
    j, aside, theta = s.neurons[i], s.aside, s.first[i]
    dense_row(theta, h, j, Y, s.trial, s.K, aside.Y[0])
    aside.gates[0] = gates[j]
    reached, log = detour(
        theta,
        s.groups[j],
        end,
        t,
        h,
        rtol,
        late,
        noise,
        j,
        s.course,
        geometry,
        invariants,
        aside,
        log,
    )
    copy(aside.Y[0], s.ends[i])
    copy(aside.gates[0], s.gates[i])
    dense_row(reached, h, j, Y, s.trial, s.K, aside.out[0])
    values = np.zeros(push.shape)
    contribute(1.0, aside.Y[0], aside.gates[0], geometry, values)
    contribute(-1.0, aside.out[0], gates[j], geometry, values)
    linear_forces(values, geometry, aside.F0, aside.F1)
    s.ramps[i] = (
        0.5 * h * forces_size(aside.F0, aside.F1) / (reached - theta) if reached > theta else 0.0
    )
    for side in range(2):
        for g in range(push.shape[1]):
            push[side, g] += 0.5 * h * (reached - theta) * values[side, g]
    return reached, log


@inner
def turn_aside(
    most: float,
    stiffness: float,
    t: float,
    h: float,
    rtol: float,
    late: float,
    noise: float,
    Y: Array,
    gates: Gates,
    geometry: Geometry,
    invariants: Invariants,
    s: Scratch,
    push: Array,
    log: Log,
) -> tuple[float, int, Log]:
    """Take the neurons that change gates aside, one after the other, as long as the others need not
    know.

    Returns θ ≤ most up to which the step stands, how many neurons changed gates before, and the
    log.
    """
    count, end, filled = Y.shape[0], most, log.filled[0]
    loop = h * stiffness if stiffness > 0.0 else 1.0 / NO_PROGRESS
    for i in range(Y.shape[0]):
        j = int(np.argmin(s.when))
        if s.when[j] == NOWHERE or (i > 0 and s.when[j] >= end):
            count = i
            break
        s.neurons[i], s.first[i] = j, s.when[j]
        s.when[j] = NOWHERE
        reached, log = one_aside(
            i, most, t, h, rtol, late, noise, Y, gates, geometry, invariants, s, push, log
        )
        end = min(
            end,
            reached,
            bearable(
                i + 1, s.first, s.ramps, most, loop, UNCOUPLED * rtol * min(1.0, rtol / LOOSE)
            ),
        )
        end = max(end, s.first[i])
    again = end < most
    while again:
        again, log.filled[0] = False, filled
        push[:] = 0.0
        for i in range(count):
            if s.first[i] > end:
                count = i
                break
            reached, log = one_aside(
                i, end, t, h, rtol, late, noise, Y, gates, geometry, invariants, s, push, log
            )
            if reached < end:
                again, end = True, reached
    return end, count, log


@inner
def forces_at(Y: Array, geometry: Geometry, work: Work) -> None:
    project(Y, geometry.U, geometry.UT, work.P)
    predictions(Y, geometry, work)
    forces(work.plus, work.minus, geometry, work.F0, work.F1)


@inner
def place(
    j: int,
    Y: Array,
    gates: Gates,
    geometry: Geometry,
    slides: Slides,
    invariants: Invariants,
    work: Work,
) -> Slides:
    """The slides with neuron j's gates as they are now, the neuron put onto its zeros."""
    slides = roomier(slides, positions(gates[j], SLIDE, -1).size)
    set_slides(j, gates[j], geometry.U, slides)
    set_masks(j, gates[j], geometry, work)
    remove_sliding(j, Y[j], geometry.U, slides)
    conserve(Y[j], j, invariants)
    return slides


@inner
def fastest_pull(Y: Array, work: Work) -> float:
    """The largest speed of a neuron in units of its own norm: max of |⟨D, v̄⟩| and |ā|·‖D‖."""
    fastest = 0.0
    for j in range(Y.shape[0]):
        along, square = 0.0, 0.0
        for i in range(FIRST, Y.shape[1]):
            along += work.D[j, i] * Y[j, i]
            square += work.D[j, i] ** 2
        fastest = max(fastest, along * along, Y[j, OUT] ** 2 * square)
    return math.sqrt(fastest)


@inner
def at_rest(Y: Array, work: Work, still: float, faint: float) -> bool:
    """Whether no neuron moves, but for those that vanish: of negligible size, shrinking, and not
    turning any more."""
    for j in range(Y.shape[0]):
        along, square, out = 0.0, 0.0, Y[j, OUT]
        for i in range(FIRST, Y.shape[1]):
            along += work.D[j, i] * Y[j, i]
            square += work.D[j, i] ** 2
        if max(along * along, out * out * square) <= still * still:
            continue
        growth = 2 * out * along
        turning = (along - growth * out) ** 2
        for i in range(FIRST, Y.shape[1]):
            turning += (out * work.D[j, i] - growth * Y[j, i]) ** 2
        if not (2 * Y[j, RHO] <= faint and growth < 0.0 and turning <= still * still):
            return False
    return True


@inner
def ending(t: float, square: float, Y: Array, work: Work, ask: Request) -> int:
    """Why to stop here, or STEP_LIMIT to go on."""
    if t >= ask.t1:
        return REACHED_T1
    if square <= ask.goal:
        return CONVERGED
    return STATIONARY if ask.still >= 0.0 and at_rest(Y, work, ask.still, ask.faint) else STEP_LIMIT


@inner
def next_step(h: float, error: float, previous: float, grow: float, stiffness: float) -> float:
    """Proportional–integral control, inside the stability region."""
    h *= min(grow, max(SHRINK, SAFETY * max(error, 1e-12) ** -0.17 * previous**0.04))
    return min(h, STABLE / stiffness) if stiffness > 0.0 else h


@inner
def halved(h: float, t: float, mesh: Array, cell: int) -> tuple[float, int]:
    """The step h at t cut so that every cell of the mesh takes two steps at least and ends with
    one; and the cell t is in."""
    while cell + 1 < mesh.size and mesh[cell + 1] - t <= SLIVER * (
        mesh[cell + 1] - mesh[max(cell, 0)]
    ):
        cell += 1
    if cell + 1 >= mesh.size:
        return h, cell
    left = mesh[cell + 1] - t
    pieces = (
        1.0 if cell < 0 else math.ceil((1 - SLIVER) * left / (HALF * (mesh[cell + 1] - mesh[cell])))
    )
    return min(h, left / pieces), cell


@inner
def with_end(ends: Array, count: int, t: float) -> Array:
    """The ends of steps with one more."""
    if count == ends.size:
        ends = np.append(ends, np.empty(3 * ends.size))
    ends[count] = t
    return ends


def _march(stamp: int) -> Any:
    def march(
        Y: Array,
        gates: Gates,
        geometry: Geometry,
        invariants: Invariants,
        fresh: bool,
        ask: Request,
    ) -> tuple[float, int, Array, Kept, Log, Index, float, Array]:
        """From Y and gates (both overwritten with the end) as `ask` says. fresh: gates at zero are
        still to be decided.

        Returns the time, why it stopped, the states at `ask.times`, the kept steps, the log, and
        counts: steps accepted, rejected, events, steps kept, states saved; the stiffest rate at the
        end; and where steps began and ended.
        """
        m, width = Y.shape
        G = gates.shape[1]
        s, slides = scratch_for(m, G, width), no_slides(m, 4 + 0 * stamp)
        K, span, work, push = s.K, s.span, s.work, np.zeros((2, G))
        few = min(64, ask.keep)
        kept = Kept(
            np.empty(few), np.empty((few, m, width)), np.empty((few, m, G), np.int8), np.empty(few)
        )
        counts, kept_count, stride = (
            np.zeros(5, np.int64),
            np.zeros(1, np.int64),
            np.ones(1, np.int64),
        )
        saved, log = (
            np.empty((ask.times.size, m, width)),
            Log(np.empty((256, 5)), np.zeros(1, np.int64)),
        )
        for j in range(m):
            set_masks(j, gates[j], geometry, work)
        if fresh:
            forces_at(Y, geometry, work)
            slides = start_gates(Y, gates, work.F0, work.F1, geometry, slides)
        for j in range(m):
            slides = place(j, Y, gates, geometry, slides, invariants, work)
        square = field(Y, geometry, slides, work, K[0].reshape(Y.shape))
        noise, late = NOISE * largest(work.F0, work.F1), LATE * ask.rtol
        t, next_save, grow, previous, stiffness = ask.t0, 0, GROW, 1e-4, 0.0
        h = ask.step if ask.step > 0.0 else FIRST_STEP / max(fastest_pull(Y, work), 1e-300)
        keep_step(kept, kept_count, stride, counts[0], t, Y, gates, h)
        ends, cell = with_end(np.empty(256), 0, t), -1
        span.P0[:] = work.P
        project(K[0].reshape(Y.shape), geometry.U, geometry.UT, span.dP0)
        code = ending(t, square, Y, work, ask)
        while code == STEP_LIMIT and counts[0] + counts[1] < ask.max_steps:
            if ask.stop[0] != 0:
                code = TIME_LIMIT
                break
            h, cell = halved(h, t, ask.mesh, cell)
            last = t + h * (1 + 1e-12) >= ask.t1
            h = ask.t1 - t if last else h
            square = stages(Y, h, geometry, slides, work, K, s.trial, s.sixth)
            error, quotient = error_and_stiffness(h, K, s.trial, s.sixth)
            stiffness = quotient if quotient > 0.0 else stiffness  # below rounding: as it was
            error /= ask.rtol
            if not error <= 1.0:
                counts[1] += 1
                h *= max(SHRINK, SAFETY * error**-0.2) if error < math.inf else SHRINK
                grow = 1.0
                if not h > NO_PROGRESS * t:
                    code = STEP_TOO_SMALL
                continue
            counts[0] += 1
            span.P1[:] = work.P
            project(K[6].reshape(Y.shape), geometry.U, geometry.UT, span.dP1)
            theta = look(h, late, noise, Y, gates, geometry, slides, s)
            end = t + min(theta, 1.0) * h
            while next_save < ask.times.size and ask.times[next_save] <= end * (1 + 1e-15):
                dense_state((ask.times[next_save] - t) / h, h, Y, s.trial, K, saved[next_save])
                next_save += 1
            if theta == NOWHERE:
                t = ask.t1 if last else end
                Y[:] = s.trial
                K[0] = K[6]
                span.P0[:], span.dP0[:] = span.P1, span.dP1
            else:
                most = 1.0
                if next_save < ask.times.size:
                    most = max(theta, min(1.0, (ask.times[next_save] - t) / h))
                chart(h, Y, geometry, s)
                push[:] = 0.0
                theta, changed, log = turn_aside(
                    most,
                    stiffness,
                    t,
                    h,
                    ask.rtol,
                    late,
                    noise,
                    Y,
                    gates,
                    geometry,
                    invariants,
                    s,
                    push,
                    log,
                )
                counts[2] += changed
                dense_state(theta, h, Y, s.trial, K, s.sixth)
                Y[:] = s.sixth
                t = ask.t1 if last and theta >= 1.0 else t + theta * h
                for i in range(changed):
                    j = s.neurons[i]
                    Y[j], gates[j] = s.ends[i], s.gates[i]
                    slides = place(j, Y, gates, geometry, slides, invariants, work)
                linear_forces(push, geometry, work.F0, work.F1)
                if forces_size(work.F0, work.F1) > (0.0 if ask.mesh.size > 0 else FAINT * ask.rtol):
                    respond(Y, work.F0, work.F1, geometry, slides, work, s.trial)
                    for j in range(m):
                        for i in range(width):
                            Y[j, i] += s.trial[j, i]
            for j in range(m):
                if slides.sizes[j] > 0:
                    remove_sliding(j, Y[j], geometry.U, slides)
                conserve(Y[j], j, invariants)
            if theta != NOWHERE:
                square = field(Y, geometry, slides, work, K[0].reshape(Y.shape))
                span.P0[:] = work.P
                project(K[0].reshape(Y.shape), geometry.U, geometry.UT, span.dP0)
                while next_save < ask.times.size and ask.times[next_save] <= t * (1 + 1e-15):
                    saved[next_save] = Y
                    next_save += 1
            h, previous, grow = (
                next_step(h, error, previous, grow, stiffness),
                max(error, 1e-4),
                GROW,
            )
            ends = with_end(ends, counts[0], t)
            kept = room(kept, kept_count[0], ask.keep)
            keep_step(kept, kept_count, stride, counts[0], t, Y, gates, h)
            code = ending(t, square, Y, work, ask)
        counts[3], counts[4] = kept_count[0], next_save
        return t, code, saved, kept, log, counts, stiffness, ends[: counts[0] + 1]

    return march


march = entry(_march(STAMP))
