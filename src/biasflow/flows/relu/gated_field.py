"""The compiled right-hand side of the march for frozen gates, and the projection onto what it
conserves."""

from __future__ import annotations

import math

from ..._core.arguments import Array
from ..._numerics.compilation import borrowing, seldom
from .layout import FIRST, OFF, ON, OUT, RHO, Gates, Geometry, Invariants, Slides, Work
from .small_algebra import (
    assemble,
    copy_table,
    fill,
    fill_table,
    project,
    row_of,
    stack_of,
    table_of,
)

PLANAR = FIRST + 2
"""Columns of a state where the inputs span a plane."""
SMALL_GAIN = 0.125
"""Up to which the exponential is its Taylor polynomial of degree ten: off by 3e-18."""
SMALL_DEFECT = 1e-8
"""Where one Newton step reaches rounding."""


@seldom
def workspace(m: int, G: int, width: int) -> Work:
    lanes = table_of(7, m)
    fill_table(lanes, math.inf)
    return Work(
        table_of(m, G),
        table_of(m, G),
        table_of(m, G),
        table_of(m, G),
        table_of(m, width),
        row_of(G),
        row_of(G),
        row_of(G),
        row_of(G),
        stack_of(2, G if width == PLANAR else 0, m),
        lanes,
    )


@borrowing
def set_masks(j: int, row: Gates, geometry: Geometry, work: Work) -> None:
    """Neuron j's gates as numbers, for loops without branches."""
    for g in range(row.size):
        work.on[j, g] = 1.0 if row[g] == ON else 0.0
        work.off[j, g] = 1.0 if row[g] == OFF and geometry.two_sided else 0.0
    if work.masks.size > 0:
        for g in range(row.size):
            work.masks[0, g, j], work.masks[1, g, j] = work.on[j, g], work.off[j, g]


@borrowing
def set_outputs(Y: Array, lanes: Array) -> None:
    """lanes[0] = e^{2ρ}ā. e^{2ρ} is that of a state before, times the exponential of what ρ has
    gained since, as a polynomial, which compiles to vectors; where any has gained much, anew."""
    c, base, size = lanes[0], lanes[1], lanes[2]
    much, m = 0.0, c.size
    for j in range(m):
        x = 2 * (Y[j, RHO] - base[j])
        c[j] = x
        x *= x
        x *= x
        much += x * x
    if not much <= SMALL_GAIN**8:
        for j in range(m):
            base[j] = Y[j, RHO]
            size[j] = math.exp(2 * base[j])
            c[j] = size[j] * Y[j, OUT]
        return
    for j in range(m):
        x = c[j]
        rest = 1 / 5040 + x * (1 / 40320 + x * (1 / 362880 + x * (1 / 3628800)))
        rest = 1 / 6 + x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x * rest)))
        c[j] = size[j] * Y[j, OUT] * (1 + x * (1 + x * (0.5 + x * rest)))


@borrowing
def predictions(Y: Array, geometry: Geometry, work: Work) -> None:
    """Σ_j a_j σ(⟨w_j, ±u_g⟩) from work.P, gates frozen."""
    fill(work.plus, 0.0)
    fill(work.minus, 0.0)
    slope, G = geometry.slope, work.plus.size
    set_outputs(Y, work.lanes)
    for j in range(Y.shape[0]):
        c = work.lanes[0, j]
        if geometry.two_sided:
            for g in range(G):
                p = c * work.P[j, g]
                work.plus[g] += (work.on[j, g] + slope * work.off[j, g]) * p
                work.minus[g] -= (slope * work.on[j, g] + work.off[j, g]) * p
        else:
            for g in range(G):
                work.plus[g] += work.on[j, g] * (c * work.P[j, g])


@borrowing
def forces(plus: Array, minus: Array, geometry: Geometry, F0: Array, F1: Array) -> float:
    """F0 and F1 of every group for these predictions; returns Σ(h − y)² over the samples."""
    fill(F0, 0.0)
    fill(F1, 0.0)
    total = 0.0
    for k in range(geometry.labels.size):
        g, kappa = geometry.group[k], geometry.kappa[k]
        positive = geometry.side[k] > 0
        residual = kappa * (plus[g] if positive else minus[g]) - geometry.labels[k]
        total += residual * residual
        push = geometry.speed * residual * kappa
        if positive:
            F1[g] += push
            F0[g] += geometry.slope * push
        else:
            F0[g] -= push
            F1[g] -= geometry.slope * push
    return total


@borrowing
def pull(row: Gates, F0: Array, F1: Array, U: Array, D: Array) -> None:
    """D = −Σ_g F_g u_g of one neuron, sliding groups left out."""
    fill(D, 0.0)
    for g in range(row.size):
        force = F1[g] if row[g] == ON else (F0[g] if row[g] == OFF else 0.0)
        if force != 0.0:
            for i in range(D.size):
                D[i] -= force * U[g, i]


@borrowing
def add_pull(g: int, gate: int, F0: Array, F1: Array, U: Array, D: Array) -> None:
    """Add what a gate on group g pulls to D."""
    force = F1[g] if gate == ON else (F0[g] if gate == OFF else 0.0)
    for i in range(FIRST, D.size):
        D[i] -= force * U[g, i]


@borrowing
def remove_sliding(j: int, row: Array, slides: Slides) -> None:
    """Project a row onto the complement of neuron j's sliding directions; the coefficients removed
    stay in slides.held."""
    count, width = slides.sizes[j], row.size
    lower, held = slides.lower[j], slides.held[j]
    for a in range(count):
        q, c = slides.basis[j, a], 0.0
        for i in range(FIRST, width):
            c += q[i] * row[i]
        for i in range(FIRST, width):
            row[i] -= c * q[i]
        held[a] = c
    for a in range(count - 1, -1, -1):
        held[a] = held[a] / lower[a, a] if lower[a, a] > 0.0 else 0.0
        for b in range(a):
            held[b] -= lower[a, b] * held[a]


@borrowing
def field(Y: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array) -> float:
    """ρ' = 2ā⟨D, z̄⟩, ā' = ⟨D, z̄⟩ − ρ'ā, z̄' = āD − ρ'z̄; returns Σ(h − y)²."""
    if work.masks.size > 0:
        return planar_field(Y, geometry, slides, work, dY)
    project(Y, geometry.U, geometry.UT, work.P)
    predictions(Y, geometry, work)
    total = forces(work.plus, work.minus, geometry, work.F0, work.F1)
    respond(Y, work.F0, work.F1, geometry, slides, work, dY)
    return total


@borrowing
def planar_field(Y: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array) -> float:
    """The same where the inputs span a plane, in loops over neurons that lie side by side; work.P
    is left alone, and pulls stay in lanes (`show_pulls`)."""
    lanes, plus, minus, F0, F1 = work.lanes, work.plus, work.minus, work.F0, work.F1
    on, off, c, x, y, dx, dy = (
        work.masks[0],
        work.masks[1],
        lanes[0],
        lanes[3],
        lanes[4],
        lanes[5],
        lanes[6],
    )
    ux, uy, slope = geometry.UT[FIRST], geometry.UT[FIRST + 1], geometry.slope
    m, G = Y.shape[0], plus.size
    set_outputs(Y, lanes)
    for j in range(m):
        x[j], y[j], dx[j], dy[j] = Y[j, FIRST], Y[j, FIRST + 1], 0.0, 0.0
    for g in range(G):
        above, below, a, b = 0.0, 0.0, ux[g], uy[g]
        if geometry.two_sided:
            for j in range(m):
                p = c[j] * (x[j] * a + y[j] * b)
                above += (on[g, j] + slope * off[g, j]) * p
                below -= (slope * on[g, j] + off[g, j]) * p
        else:
            for j in range(m):
                above += on[g, j] * (c[j] * (x[j] * a + y[j] * b))
        plus[g], minus[g] = above, below
    total = forces(plus, minus, geometry, F0, F1)
    for g in range(G):
        low, high, a, b = F0[g], F1[g], ux[g], uy[g]
        if geometry.two_sided:
            for j in range(m):
                q = on[g, j] * high + off[g, j] * low
                dx[j] -= q * a
                dy[j] -= q * b
        else:
            for j in range(m):
                q = on[g, j] * high
                dx[j] -= q * a
                dy[j] -= q * b
    for j in range(m):
        if slides.sizes[j] > 0:
            D = work.D[j]
            D[FIRST], D[FIRST + 1] = dx[j], dy[j]
            remove_sliding(j, D, slides)
            dx[j], dy[j] = D[FIRST], D[FIRST + 1]
    for j in range(m):
        out = Y[j, OUT]
        along = dx[j] * x[j] + dy[j] * y[j]
        growth = 2 * out * along
        dY[j, RHO], dY[j, OUT] = growth, along - growth * out
        dY[j, FIRST] = out * dx[j] - growth * x[j]
        dY[j, FIRST + 1] = out * dy[j] - growth * y[j]
    return total


@borrowing
def show_pulls(work: Work) -> None:
    """work.D as the last evaluation of the field left it."""
    if work.masks.size > 0:
        for j in range(work.D.shape[0]):
            work.D[j, FIRST], work.D[j, FIRST + 1] = work.lanes[5, j], work.lanes[6, j]


@borrowing
def pre_activations(Y: Array, geometry: Geometry, work: Work, out: Array) -> None:
    """⟨v̄_j, u_g⟩ of the state that the field was evaluated at last."""
    if work.masks.size > 0:
        project(Y, geometry.U, geometry.UT, out)
    else:
        copy_table(work.P, out)


@borrowing
def respond(
    Y: Array, F0: Array, F1: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array
) -> None:
    """The velocities under these forces."""
    for j in range(Y.shape[0]):
        for g in range(F1.size):
            work.Q[j, g] = -work.on[j, g] * F1[g] - work.off[j, g] * F0[g]
    assemble(work.Q, geometry.U, work.D)
    width = Y.shape[1]
    for j in range(Y.shape[0]):
        if slides.sizes[j] > 0:
            remove_sliding(j, work.D[j], slides)
        along = 0.0
        for i in range(FIRST, width):
            along += work.D[j, i] * Y[j, i]
        out = Y[j, OUT]
        growth = 2 * out * along
        dY[j, RHO] = growth
        dY[j, OUT] = along - growth * out
        for i in range(FIRST, width):
            dY[j, i] = out * work.D[j, i] - growth * Y[j, i]


@borrowing
def prediction_rates(
    Y: Array, dY: Array, P: Array, dP: Array, geometry: Geometry, work: Work, rates: Array
) -> None:
    """Time derivatives (2, G) of `predictions` at the state Y with velocity dY, pre-activations P
    and their slopes."""
    slope = geometry.slope
    plus, minus = rates[0], rates[1]
    fill(plus, 0.0)
    fill(minus, 0.0)
    for j in range(Y.shape[0]):
        scale = math.exp(2 * Y[j, RHO])
        c, dc = scale * Y[j, OUT], scale * (2 * dY[j, RHO] * Y[j, OUT] + dY[j, OUT])
        for g in range(plus.size):
            rate = dc * P[j, g] + c * dP[j, g]
            plus[g] += (work.on[j, g] + slope * work.off[j, g]) * rate
            minus[g] -= (slope * work.on[j, g] + work.off[j, g]) * rate


@borrowing
def conserve(row: Array, j: int, invariants: Invariants) -> None:
    """The nearest (ρ, ā, ‖z̄‖) with ‖v̄‖ = 1 and a² − ‖w‖² = c, by at most two Newton steps.

    With E = e^{−2ρ}: ā² = ½(1 + cE), ‖z̄‖² = ½(1 − cE) − bE, b the squared norm of the part of w
    outside the span of the inputs.
    """
    for _ in range(2):
        cE, bE = 0.0, 0.0
        if invariants.sign[j] != 0.0:
            cE = invariants.sign[j] * math.exp(invariants.log_size[j] - 2 * row[RHO])
        if invariants.log_fixed[j] > -math.inf:
            bE = math.exp(invariants.log_fixed[j] - 2 * row[RHO])
        square = 0.0
        for i in range(FIRST, row.size):
            square += row[i] * row[i]
        out = row[OUT]
        g1, g2 = out * out - 0.5 * (1 + cE), square - 0.5 * (1 - cE) + bE
        e = cE + 2 * bE
        s11, s12, s22 = cE * cE + 4 * out * out, -cE * e, e * e + 4 * square
        det = s11 * s22 - s12 * s12
        if not det > 1e-20:  # both layers all but still: no direction to correct along
            return
        l1, l2 = (s22 * g1 - s12 * g2) / det, (s11 * g2 - s12 * g1) / det
        row[RHO] -= cE * l1 - e * l2
        row[OUT] -= 2 * out * l1
        for i in range(FIRST, row.size):
            row[i] *= 1 - 2 * l2
        if abs(g1) + abs(g2) < SMALL_DEFECT:
            return


@borrowing
def conserve_balanced(Y: Array) -> None:
    """The same for all neurons where every one is balanced and lies in the plane of the inputs:
    ā² = ‖z̄‖² = ½, by Heron's rule."""
    for j in range(Y.shape[0]):
        out, x, y = Y[j, OUT], Y[j, FIRST], Y[j, FIRST + 1]
        for _ in range(2):
            a, b = out * out, x * x + y * y
            regular = a * b > 1e-20
            out *= 0.5 + 0.25 / a if regular else 1.0
            shrink = 0.5 + 0.25 / b if regular else 1.0
            x *= shrink
            y *= shrink
        Y[j, OUT], Y[j, FIRST], Y[j, FIRST + 1] = out, x, y
