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
from ..._numerics.compilation import borrowing, inner
from .dormand_prince import dense_state, error_and_stiffness
from .events import NOWHERE, Piece, first_event
from .gated_field import conserve, remove_sliding, set_held
from .layout import (
    END,
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
    Tolerances,
)
from .neuron_aside import (
    Aside,
    course_at,
    decided,
    forced,
    look_near,
    pull_between,
    set_pulls,
    stages_aside,
    turn_pulls,
)
from .sliding_modes import inherit, no_slides, noted
from .small_algebra import copy, copy_table, dot, larger, smaller

PATIENCE, BLIND = 8, 1 / 16
"""Events that may leave a neuron's gates as they were, before it goes on for this share of its way
blind to ends of slides."""
MOST_PIECES = 60
"""Steps a neuron may take aside before the step of all is cut where it has got to."""
NONE = -3
"""In place of a group: no event."""


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


class Way(NamedTuple):
    """How far a neuron got between two events."""

    theta: float
    step: float
    group: int  # of the event that ended it, or NONE
    left: int  # steps that it may still take


@borrowing
def glide(
    theta: float,
    step: float,
    end: float,
    blind: bool,
    left: int,
    j: int,
    course: Array,
    frame: Frame,
    slides: Slides,
    s: Aside,
) -> Way:
    """Neuron j from θ, where s.Y, s.gates and the start of s.span hold it, to its next event, or to
    `end`."""
    # a literal zero would compile what it is passed to again
    span, only, U = s.span, s.Y.shape[0] - 1, frame.geometry.U
    forced(s.Y[0], theta, only, frame.geometry, slides, s, s.K[0])
    while left > 0:
        left -= 1
        last = theta + step * (1 + 1e-9) >= end
        step = end - theta if last else step
        h = step * frame.h
        stages_aside(theta, step, frame.h, only, frame.geometry, slides, s)
        error = error_and_stiffness(h, s.K, s.trial, s.sixth)[0] / frame.tolerances.rtol
        if not error <= 1.0:
            step *= larger(0.2, 0.9 * error**-0.2) if error < math.inf else 0.2
            continue
        look_near(h, U, s)
        if slides.sizes[0] > 0:
            set_held(only, slides)
            course_at(theta + step, frame.h, course, span.forces[END], span.rates[END])
            copy(span.forces[END, 0], s.F0)
            copy(span.forces[END, 1], s.F1)
            pull_between(theta, step, frame.h, s)
        piece = Piece(
            h,
            s.Y,
            s.trial,
            s.gates,
            s.K,
            span,
            s.F0,
            s.F1,
            slides,
            frame.geometry,
            frame.tolerances,
            s.near,
            s.many[0],
            s.course,
        )
        when, group = first_event(only, piece, not blind)
        happened = when != NOWHERE
        if happened:
            dense_state(when, h, s.Y, s.trial, s.K, s.out)
            copy(s.out[0], s.Y[0])
            theta = smaller(theta + when * step, end)
        else:
            copy(s.trial[0], s.Y[0])
            theta = end if last else theta + step
            step, blind = end - theta if blind else step, False
            copy(s.K[6], s.K[0])
            copy_table(span.forces[END], span.forces[START])
            copy_table(span.rates[END], span.rates[START])
        if slides.sizes[0] > 0:
            remove_sliding(only, s.Y[0], slides)
        conserve(s.Y[0], j, frame.invariants)
        if happened:
            return Way(theta, step, group, left)
        if theta >= end:
            break
    return Way(theta, step, NONE, left)


@inner
def detour(
    theta: float, group: int, end: float, j: int, course: Array, frame: Frame, s: Aside, log: Log
) -> tuple[float, Log]:
    """Neuron j from θ, where s.Y and s.gates hold it and it has an event on `group`, to `end`;
    returns how far it got."""
    span, U = s.span, frame.geometry.U
    only = s.Y.shape[0] - 1
    slides = no_slides(only + 1, 4 + frame.slides.sizes[j], U.shape[1])
    inherit(frame.slides, j, slides, only)
    set_pulls(s.gates[0], course, U, s.forces, s.pulls)
    s.reach[0] = -1.0
    way, idle = Way(theta, end - theta, group, MOST_PIECES), 0
    while way.group != NONE and way.left > 0:
        theta, step = way.theta, way.step
        course_at(theta, frame.h, course, span.forces[START], span.rates[START])
        copy(span.forces[START, 0], s.F0)
        copy(span.forces[START, 1], s.F1)
        copy(s.gates[0], s.before[0])
        slides = decided(way.group, s, frame.geometry, slides, j, frame.invariants)
        log = noted(log, frame.t + theta * frame.h, j, s.before[0], s.gates[0])
        changed = turn_pulls(s.before[0], s.gates[0], course, U, s.pulls)
        idle = idle + 1 if changed == 0 else 0
        blind = idle > PATIENCE
        step = BLIND * (end - theta) if blind else step
        if theta >= end:
            break
        way = glide(theta, step, end, blind, way.left, j, course, frame, slides, s)
    return way.theta, log


@borrowing
def contribute(sign: float, row: Array, gates: Gates, geometry: Geometry, values: Array) -> None:
    """Add ± a neuron's share of the predictions, its gates frozen."""
    c = sign * math.exp(2 * row[RHO]) * row[OUT]
    for g in range(gates.size):
        if gates[g] == SLIDE or not (geometry.two_sided or gates[g] == ON):
            continue
        p = c * dot(row, geometry.U[g])
        values[0, g] += p if gates[g] == ON else geometry.slope * p
        values[1, g] -= geometry.slope * p if gates[g] == ON else p


@borrowing
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


@borrowing
def forces_size(F0: Array, F1: Array) -> float:
    total = 0.0
    for g in range(F0.size):
        total += larger(F0[g] ** 2, F1[g] ** 2)
    return math.sqrt(total)


@borrowing
def bearable(
    last: float, end: float, bend: float, tilt: float, level: float, loop: float, allowed: float
) -> float:
    """The last θ ≤ end at which what the first order leaves out of the ramps' effect, loop·θ of it,
    is allowed, but no less than `last`, where the last ramp begins.

    The ramps' effect is bend·x² + 2·tilt·x + level, x = θ − last.
    """
    low, high = last, end
    for k in range(20):
        theta = high if k == 0 else 0.5 * (low + high)
        x = theta - last
        total = (bend * x + 2 * tilt) * x + level
        if total * smaller(1.0, loop * theta) <= allowed:
            low = theta
            if k == 0:
                break
        else:
            high = theta
    return low
