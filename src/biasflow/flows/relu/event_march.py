"""The flow itself: Dormand–Prince steps with frozen gates, cut at the first event, gates decided
anew, and on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, entry, inner, seldom, seldom_borrowing
from .detours import Frame, forces_size, linear_forces
from .dormand_prince import dense_state, error_and_stiffness, stages
from .early_phase import start_gates
from .events import NOWHERE
from .gated_field import (
    PLANAR,
    conserve,
    conserve_balanced,
    field,
    forces,
    predictions,
    remove_sliding,
    respond,
    set_kin,
    set_marks,
)
from .layout import (
    END,
    LOG_COLUMNS,
    LOG_ROWS,
    START,
    Gates,
    Geometry,
    Invariants,
    Log,
    Slides,
    Tolerances,
    Work,
)
from .march_control import (
    CALM,
    FIRST_STEP,
    GROW,
    NO_PROGRESS,
    SAFETY,
    SHRINK,
    STEP_LIMIT,
    STEP_TOO_SMALL,
    TIME_LIMIT,
    ending,
    fastest_pull,
    halved,
    next_step,
)
from .march_record import Book, Kept, Request, book_for, crowded, keep_step, with_room
from .sliding_modes import no_slides, roomier, set_slides
from .small_algebra import (
    STAMP,
    copy,
    copy_table,
    fill,
    indices,
    larger,
    project,
    sliding_groups,
    smaller,
    stack_of,
    table_of,
)
from .turns_aside import (
    Scratch,
    chart,
    look,
    recede,
    scratch_for,
    set_margins,
    stays_clear,
    turn_aside,
)

SLIDE_END_TOLERANCE = 0.1
"""Lateness of the end of a slide, in units of the tolerance."""
NEGLIGIBLE_PUSH = 1e-3
"""Push on the others, in units of the tolerance, that is left out, but of a run that tells the
error of another."""
ACCEPTED, REJECTED, CHANGED, KEPT, SAVED, COUNTS = 0, 1, 2, 3, 4, 5
"""Places among the counts of a march: steps, steps refused, neurons that changed gates, steps kept,
states saved."""
EVENT, CROWDED = -1, -2
"""Why a stretch ended, beside the reasons of a march."""


@seldom_borrowing
def forces_at(Y: Array, geometry: Geometry, work: Work) -> None:
    predictions(Y, geometry, work)
    forces(work.plus, work.minus, geometry, work.F0, work.F1)


@seldom
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
    slides = roomier(slides, sliding_groups(gates[j]).size)
    set_slides(j, gates[j], geometry.U, slides)
    set_marks(j, gates[j], geometry, work)
    remove_sliding(j, Y[j], slides)
    conserve(Y[j], j, invariants)
    return slides


@borrowing
def start_span(Y: Array, gates: Gates, geometry: Geometry, slides: Slides, s: Scratch) -> float:
    """The first stage at Y, and with it the start of a span; returns Σ(h − y)²."""
    square = field(Y, geometry, slides, s.work, s.slopes[0])
    project(Y, geometry.U, geometry.UT, s.span.P[START])
    project(s.slopes[0], geometry.U, geometry.UT, s.span.dP[START])
    set_margins(s.span.P[START], gates, s.margins)
    s.known[0] = 1
    return square


@inner
def pass_events(
    most: float, stiffness: float, all_of_it: bool, frame: Frame, s: Scratch, log: Log
) -> tuple[float, int, Slides, Log]:
    """The step up to where neurons that change gates allow, with their new gates; what they do to
    the others is added to first order, all of it or what matters.

    Returns θ, how many changed, and the slides and the log after.
    """
    Y, gates, geometry, slides = frame.Y, frame.gates, frame.geometry, frame.slides
    chart(frame, s)
    theta, changed, log = turn_aside(most, stiffness, frame, s, log)
    dense_state(theta, frame.h, Y, s.trial, s.K, s.sixth)
    copy_table(s.sixth, Y)
    for i in range(changed):
        j = s.neurons[i]
        copy(s.ends[i], Y[j])
        copy(s.gates[i], gates[j])
        slides = place(j, Y, gates, geometry, slides, frame.invariants, s.work)
    set_kin(gates, geometry, slides, s.work)
    linear_forces(s.push, geometry, s.work.F0, s.work.F1)
    negligible = 0.0 if all_of_it else NEGLIGIBLE_PUSH * frame.tolerances.rtol
    if forces_size(s.work.F0, s.work.F1) > negligible:
        respond(Y, s.work.F0, s.work.F1, geometry, slides, s.work, s.trial)
        for j in range(Y.shape[0]):
            for i in range(Y.shape[1]):
                Y[j, i] += s.trial[j, i]
    return theta, changed, slides, log


class Pace(NamedTuple):
    """Where a march stands between two stretches, numbers only."""

    t: float
    h: float
    code: int  # why the stretch ended: a reason of `march`, or that events or want of room did
    theta: float  # of the first event
    error: float  # of the last step, in units of the tolerance
    previous: float  # of the one before
    grow: float  # how much the next step may grow
    stiffness: float
    cell: int  # of the mesh
    saves: int  # states saved
    square: float  # Σ(h − y)²


@borrowing
def settle(Y: Array, geometry: Geometry, slides: Slides, invariants: Invariants) -> None:
    """Put the neurons back onto their zeros and what they conserve."""
    for j in range(Y.shape[0]):
        if slides.sizes[j] > 0:
            remove_sliding(j, Y[j], slides)
    if invariants.balanced and Y.shape[1] == PLANAR:
        conserve_balanced(Y)
        return
    for j in range(Y.shape[0]):
        conserve(Y[j], j, invariants)


@borrowing
def stretch(
    pace: Pace,
    Y: Array,
    gates: Gates,
    geometry: Geometry,
    slides: Slides,
    invariants: Invariants,
    tolerances: Tolerances,
    ask: Request,
    s: Scratch,
    counts: Index,
    book: Book,
    saved: Array,
) -> Pace:
    """Steps up to the first with an event, which is left to be passed, or to where the march ends,
    or the book is full."""
    t, h, code, theta, error, previous, grow, stiffness, cell, saves, square = pace
    while code == STEP_LIMIT and counts[ACCEPTED] + counts[REJECTED] < ask.max_steps:
        if ask.stop[0] != 0:
            code = TIME_LIMIT
            break
        h, cell = halved(h, t, ask.mesh, cell)
        last = t + h * (1 + 1e-12) >= ask.t1
        h = ask.t1 - t if last else h
        square = stages(Y, h, geometry, slides, s.work, s.K, s.slopes, s.trial, s.sixth)
        error, quotient = error_and_stiffness(h, s.K, s.trial, s.sixth)
        stiffness = quotient if quotient > 0.0 else stiffness  # below rounding: as it was
        error /= ask.rtol
        if not error <= 1.0:
            counts[REJECTED] += 1
            h *= larger(SHRINK, SAFETY * error**-0.2) if error < math.inf else SHRINK
            grow = 1.0
            if not h > NO_PROGRESS * t:
                code = STEP_TOO_SMALL
            continue
        counts[ACCEPTED] += 1
        frame = Frame(t, h, Y, gates, geometry, invariants, slides, tolerances)
        clear = stays_clear(frame, s)
        theta = NOWHERE if clear else look(frame, s)
        end = t + smaller(theta, 1.0) * h
        while saves < ask.times.size and ask.times[saves] <= end * (1 + 1e-15):
            dense_state((ask.times[saves] - t) / h, h, Y, s.trial, s.K, saved[saves])
            saves += 1
        if theta != NOWHERE:
            code = EVENT
            break
        t = ask.t1 if last else end
        copy_table(s.trial, Y)
        copy(s.K[6], s.K[0])
        settle(Y, geometry, slides, invariants)
        if not clear:
            copy_table(s.span.P[END], s.span.P[START])
            copy_table(s.span.dP[END], s.span.dP[START])
            set_margins(s.span.P[START], gates, s.margins)
            fill(s.travel, 0.0)
        s.known[0] = 0 if clear else 1
        recede(Y, s.trial, s.travel, s.margins)
        h = next_step(h, error, previous, grow, stiffness)
        previous, grow = larger(error, CALM), GROW
        if crowded(book, counts[ACCEPTED], ask.keep):
            code = CROWDED
            break
        keep_step(book, counts[ACCEPTED], t, Y, gates, h)
        code = ending(t, square, Y, s.work, ask)
        ask.seen[0], ask.seen[1], ask.seen[2] = t, square, counts[CHANGED]
    return Pace(t, h, code, theta, error, previous, grow, stiffness, cell, saves, square)


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

        Returns the time, why it stopped, the states at `ask.times`, the kept steps, the log,
        counts, the stiffest rate at the end, and where steps began and ended.
        """
        m, width = Y.shape
        G = gates.shape[1]
        s, slides = scratch_for(m, G, width), no_slides(m, 4 + 0 * stamp, width)
        counts, book = indices(COUNTS), book_for(ask.keep, m, width, G)
        saved, log = (
            stack_of(ask.times.size, m, width),
            Log(table_of(LOG_ROWS, LOG_COLUMNS), indices(1)),
        )
        for j in range(m):
            set_marks(j, gates[j], geometry, s.work)
        if fresh:
            set_kin(gates, geometry, slides, s.work)
            forces_at(Y, geometry, s.work)
            slides = start_gates(Y, gates, s.work.F0, s.work.F1, geometry, slides)
        for j in range(m):
            slides = place(j, Y, gates, geometry, slides, invariants, s.work)
        set_kin(gates, geometry, slides, s.work)
        square = start_span(Y, gates, geometry, slides, s)
        tolerances = Tolerances(ask.rtol, SLIDE_END_TOLERANCE * ask.rtol, ask.noise)
        h = ask.step if ask.step > 0.0 else FIRST_STEP / larger(fastest_pull(Y, s.work), 1e-300)
        keep_step(book, counts[ACCEPTED], ask.t0, Y, gates, h)
        code = ending(ask.t0, square, Y, s.work, ask)
        pace = Pace(ask.t0, h, code, NOWHERE, CALM, CALM, GROW, 0.0, -1, 0, square)
        while pace.code == STEP_LIMIT and counts[ACCEPTED] + counts[REJECTED] < ask.max_steps:
            pace = stretch(
                pace,
                Y,
                gates,
                geometry,
                slides,
                invariants,
                tolerances,
                ask,
                s,
                counts,
                book,
                saved,
            )
            t, h, code, theta, error, previous, grow, stiffness, cell, saves, square = pace
            if code != EVENT and code != CROWDED:
                break
            if code == EVENT:
                most = 1.0
                if saves < ask.times.size:
                    most = larger(theta, smaller(1.0, (ask.times[saves] - t) / h))
                frame = Frame(t, h, Y, gates, geometry, invariants, slides, tolerances)
                theta, changed, slides, log = pass_events(
                    most, stiffness, ask.mesh.size > 0, frame, s, log
                )
                counts[CHANGED] += changed
                settle(Y, geometry, slides, invariants)
                square = start_span(Y, gates, geometry, slides, s)
                last = theta >= 1.0 and t + h * (1 + 1e-12) >= ask.t1
                t = ask.t1 if last else t + theta * h
                while saves < ask.times.size and ask.times[saves] <= t * (1 + 1e-15):
                    copy_table(Y, saved[saves])
                    saves += 1
                h = next_step(h, error, previous, grow, stiffness)
                previous, grow = larger(error, CALM), GROW
            book = with_room(book, counts[ACCEPTED], ask.keep)
            keep_step(book, counts[ACCEPTED], t, Y, gates, h)
            code = ending(t, square, Y, s.work, ask)
            ask.seen[0], ask.seen[1], ask.seen[2] = t, square, counts[CHANGED]
            pace = Pace(t, h, code, theta, error, previous, grow, stiffness, cell, saves, square)
        counts[KEPT], counts[SAVED] = book.tally[0], pace.saves
        return pace.t, pace.code, saved, book.kept, log, counts, pace.stiffness, book.ends

    return march


march = entry(_march(STAMP), drives=True)
