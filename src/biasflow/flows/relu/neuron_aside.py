"""One neuron on the course of the forces over a step: the pull of its gates as a quartic in time,
its stages, the kinks within its reach, and its gates decided anew."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, inner, seldom
from .dormand_prince import NODES, TABLEAU, set_travel
from .early_phase import sign_of
from .events import TURN
from .gated_field import conserve, remove_sliding
from .layout import (
    END,
    FIRST,
    HYSTERESIS,
    ON,
    OUT,
    RHO,
    SLIDE,
    START,
    Gates,
    Geometry,
    Invariants,
    Slides,
    Span,
)
from .sliding_modes import cross, resolve, roomier, set_slides
from .small_algebra import (
    assemble,
    copy,
    dot,
    fill_table,
    gate_table,
    indices,
    row_of,
    sliding_groups,
    stack_of,
    table_of,
)

ROOMY = 2.0
"""Reach within which groups are looked for, in units of what the step at hand needs: its neuron
may turn, and the next steps need it too."""


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
    forces: Array  # (5, G): those on its gates, quartics in θ
    pulls: Array  # (5, r+2): the pull of its gates, a quartic in θ as they are
    course: Array  # (4, r+2): the pull at both ends of a step, and its rates there
    near: Index  # (G,): the groups within reach of the anchor come first,
    many: Index  # (1,): so many
    anchor: Array  # (r+2,): where the neuron was when they were looked for
    reach: Array  # (1,): how far from there no other can change its gate
    travel: Array  # (1,): how far the neuron may go in a step


@seldom
def span_for(m: int, G: int) -> Span:
    span = Span(stack_of(2, m, G), stack_of(2, m, G), stack_of(2, 2, G), stack_of(2, 2, G))
    for end in range(2):
        fill_table(span.forces[end], 0.0)
        fill_table(span.rates[end], 0.0)
    return span


@seldom
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
        table_of(5, G),
        table_of(5, width),
        table_of(4, width),
        indices(G),
        indices(1),
        row_of(width),
        row_of(1),
        row_of(1),
    )


@borrowing
def set_course(h: float, span: Span, middle: Array, course: Array) -> None:
    """The quartics with the forces and slopes of both ends of the span, and these forces in the
    middle."""
    for k in range(2):
        for g in range(middle.shape[1]):
            f0, f1 = span.forces[START, k, g], span.forces[END, k, g]
            s0, s1 = h * span.rates[START, k, g], h * span.rates[END, k, g]
            bump = 16 * (middle[k, g] - 0.5 * (f0 + f1) - 0.125 * (s0 - s1))
            course[k, 0, g], course[k, 1, g] = f0, s0
            course[k, 2, g] = 3 * (f1 - f0) - 2 * s0 - s1 + bump
            course[k, 3, g] = 2 * (f0 - f1) + s0 + s1 - 2 * bump
            course[k, 4, g] = bump


@borrowing
def course_at(theta: float, h: float, c: Array, values: Array, rates: Array) -> None:
    """The forces and their rates at θ."""
    for k in range(2):
        for g in range(values.shape[1]):
            c1, c2, c3, c4 = c[k, 1, g], c[k, 2, g], c[k, 3, g], c[k, 4, g]
            values[k, g] = c[k, 0, g] + theta * (c1 + theta * (c2 + theta * (c3 + theta * c4)))
            rates[k, g] = (c1 + theta * (2 * c2 + theta * (3 * c3 + theta * 4 * c4))) / h


@borrowing
def add_pulls(sign: float, g: int, gate: int, course: Array, U: Array, pulls: Array) -> None:
    """Add ± what a gate on group g pulls to the quartic."""
    if gate == SLIDE:
        return
    for k in range(pulls.shape[0]):
        force = sign * (course[1, k, g] if gate == ON else course[0, k, g])
        if force != 0.0:
            for i in range(U.shape[1]):
                pulls[k, i] -= force * U[g, i]


@borrowing
def set_pulls(row: Gates, course: Array, U: Array, forces: Array, pulls: Array) -> None:
    for k in range(pulls.shape[0]):
        for g in range(row.size):
            force = course[1, k, g] if row[g] == ON else course[0, k, g]
            forces[k, g] = 0.0 if row[g] == SLIDE else -force
    assemble(forces, U, pulls)


@borrowing
def turn_pulls(before: Gates, after: Gates, course: Array, U: Array, pulls: Array) -> int:
    """The same for changed gates; returns how many they are."""
    count = 0
    for g in range(before.size):
        if before[g] != after[g]:
            add_pulls(-1.0, g, before[g], course, U, pulls)
            add_pulls(1.0, g, after[g], course, U, pulls)
            count += 1
    return count


@borrowing
def pull_at(theta: float, s: Aside) -> None:
    """s.D becomes what the gates pull at θ, sliding ones left out."""
    D, pulls = s.D, s.pulls
    for i in range(D.size):
        D[i] = pulls[0, i] + theta * (
            pulls[1, i] + theta * (pulls[2, i] + theta * (pulls[3, i] + theta * pulls[4, i]))
        )


@borrowing
def pull_between(theta: float, step: float, h: float, s: Aside) -> None:
    """The pull at both ends of a step from θ, and its rates, into s.course."""
    for k in range(2):
        x = theta + k * step
        pull_at(x, s)
        copy(s.D, s.course[k])
        for i in range(s.D.size):
            s.course[2 + k, i] = (
                s.pulls[1, i]
                + x * (2 * s.pulls[2, i] + x * (3 * s.pulls[3, i] + x * 4 * s.pulls[4, i]))
            ) / h


@borrowing
def forced(
    row: Array, theta: float, j: int, geometry: Geometry, slides: Slides, s: Aside, dY: Array
) -> None:
    """The velocity of one neuron at θ, j being its place among the slides."""
    D = s.D
    pull_at(theta, s)
    if slides.sizes[j] > 0:
        remove_sliding(j, D, slides)
    along, out = 0.0, row[OUT]
    for i in range(row.size):
        along += D[i] * row[i]
    growth = 2 * out * along
    for i in range(row.size):
        dY[i] = out * D[i] - growth * row[i]
    dY[RHO], dY[OUT] = growth, along - growth * out


@borrowing
def set_near(reach: float, U: Array, s: Aside) -> None:
    """The groups whose pre-activations may change sign within reach of s.Y, which becomes the
    anchor: u being a unit vector, ⟨z̄, u⟩ moves no further than z̄. One on the wrong side is always
    near."""
    count, row = 0, s.gates[0]
    for g in range(row.size):
        p = dot(s.Y[0], U[g])
        if (p if row[g] == ON else -p) <= reach + 2 * HYSTERESIS or row[g] == SLIDE:
            s.near[count] = g
            count += 1
    s.many[0], s.reach[0] = count, reach
    copy(s.Y[0], s.anchor)


@borrowing
def look_near(h: float, U: Array, s: Aside) -> None:
    """Pre-activations and their slopes at both ends of the step from s.Y to s.trial, of groups that
    are near."""
    away, here, anchor = 0.0, s.Y[0, FIRST:], s.anchor[FIRST:]
    for i in range(here.size):
        away += (here[i] - anchor[i]) ** 2
    set_travel(h, s.Y, s.trial, s.K, s.out, s.travel)
    if not math.sqrt(away) + s.travel[0] <= s.reach[0]:
        set_near(ROOMY * s.travel[0], U, s)
    P, dP = s.span.P, s.span.dP
    for k in range(s.many[0]):
        g = s.near[k]
        p0, p1, s0, s1 = 0.0, 0.0, 0.0, 0.0
        for i in range(U.shape[1]):
            p0 += s.Y[0, i] * U[g, i]
            p1 += s.trial[0, i] * U[g, i]
            s0 += s.K[0, i] * U[g, i]
            s1 += s.K[6, i] * U[g, i]
        P[START, 0, g], P[END, 0, g], dP[START, 0, g], dP[END, 0, g] = p0, p1, s0, s1


@inner
def decided(
    g: int,
    s: Aside,
    geometry: Geometry,
    slides: Slides,
    j: int,
    invariants: Invariants,
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
    remove_sliding(only, y, slides)
    conserve(y, j, invariants)
    return slides


@borrowing
def stages_aside(
    theta: float, step: float, h: float, j: int, geometry: Geometry, slides: Slides, s: Aside
) -> None:
    """The stages of one neuron from θ, s.K[0] given; their end is s.trial."""
    y, K = s.Y[0], s.K
    for k in range(1, 7):
        target = s.sixth[0] if k == 5 else s.trial[0]
        copy(y, target)
        for b in range(k):
            weight, slopes = step * h * TABLEAU[k, b], K[b]
            for i in range(y.size):
                target[i] += weight * slopes[i]
        forced(target, theta + NODES[k] * step, j, geometry, slides, s, K[k])
