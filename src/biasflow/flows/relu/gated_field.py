"""The compiled right-hand side of the march for frozen gates, and the projection onto what it
conserves."""

from __future__ import annotations

import math

from ..._core.arguments import Array
from ..._numerics.compilation import borrowing, seldom
from .layout import FIRST, OFF, ON, OUT, RHO, Gates, Geometry, Invariants, Slides, Work
from .small_algebra import (
    assemble,
    fill,
    fill_table,
    indices,
    project,
    row_of,
    stack_of,
    table_of,
)

PLANAR = FIRST + 2
"""Columns of a state where the inputs span a plane."""
MIXER = 0x2545F4914F6CDD1D
"""Odd, to mix marks with."""
SMALL_GAIN = 0.125
"""Up to which the exponential is its Taylor polynomial of degree ten: off by 3e-18."""
SMALL_DEFECT = 1e-8
"""Where one Newton step reaches rounding."""


@seldom
def workspace(m: int, G: int, width: int) -> Work:
    lanes, D, slots = table_of(7, m), table_of(m, width), 2
    fill_table(lanes, math.inf)
    fill_table(D, 0.0)  # its first two columns are those of U
    while slots < 2 * m:
        slots *= 2
    return Work(
        table_of(m, G),
        table_of(m, G),
        table_of(m, G),
        table_of(m, G),
        D,
        table_of(m, width),
        row_of(G),
        row_of(G),
        row_of(G),
        row_of(G),
        stack_of(2, G if width == PLANAR else 0, m),
        lanes,
        indices(m),
        indices(m),
        indices(1),
        indices(m),
        indices(slots),
    )


@borrowing
def set_marks(j: int, row: Gates, geometry: Geometry, work: Work) -> None:
    """Neuron j's gates as one number, and in the plane as many, for loops without branches."""
    mark = 0
    for g in range(row.size):
        mark = MIXER * (mark + row[g] + 1)
        mark ^= mark >> 29
    work.marks[j] = mark
    if work.masks.size > 0:
        for g in range(row.size):
            work.masks[0, g, j] = 1.0 if row[g] == ON else 0.0
            work.masks[1, g, j] = 1.0 if row[g] == OFF and geometry.two_sided else 0.0


@borrowing
def alike(i: int, j: int, gates: Gates, slides: Slides) -> bool:
    """Whether two neurons have the same gates, and slides that came in the same order."""
    same = slides.sizes[i] == slides.sizes[j]
    for g in range(gates.shape[1]):
        same = same and gates[i, g] == gates[j, g]
    for b in range(slides.sizes[i] if same else 0):
        same = same and slides.which[i, b] == slides.which[j, b]
    return same


@borrowing
def set_kin(gates: Gates, geometry: Geometry, slides: Slides, work: Work) -> None:
    """Who is kin, and their gates as numbers, for loops without branches."""
    slots, last, count = work.slots, work.slots.size - 1, 0
    for k in range(slots.size):
        slots[k] = -1
    for j in range(gates.shape[0]):
        place = work.marks[j] & last
        while slots[place] >= 0 and not alike(work.chief[slots[place]], j, gates, slides):
            place = (place + 1) & last
        if slots[place] < 0:
            slots[place], work.chief[count] = count, j
            for g in range(gates.shape[1]):
                work.on[count, g] = 1.0 if gates[j, g] == ON else 0.0
                work.off[count, g] = 1.0 if gates[j, g] == OFF and geometry.two_sided else 0.0
            count += 1
        work.kin[j] = slots[place]
    work.many[0] = count


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
    """Σ_j a_j σ(⟨w_j, ±u_g⟩), gates frozen."""
    sums, count = work.sums, work.many[0]
    set_outputs(Y, work.lanes)
    for k in range(count):
        fill(sums[k], 0.0)
    for j in range(Y.shape[0]):
        k, c = work.kin[j], work.lanes[0, j]
        for i in range(Y.shape[1]):
            sums[k, i] += c * Y[j, i]
    see(geometry, work, work.plus, work.minus)


@borrowing
def see(geometry: Geometry, work: Work, plus: Array, minus: Array) -> None:
    """Σσ(⟨sum, ±u_g⟩) over the kin, gates frozen."""
    fill(plus, 0.0)
    fill(minus, 0.0)
    slope, count = geometry.slope, work.many[0]
    project(work.sums[:count], geometry.U, geometry.UT, work.P[:count])
    for k in range(count):
        on, off, p = work.on[k], work.off[k], work.P[k]
        if geometry.two_sided:
            for g in range(plus.size):
                plus[g] += (on[g] + slope * off[g]) * p[g]
                minus[g] -= (slope * on[g] + off[g]) * p[g]
        else:
            for g in range(plus.size):
                plus[g] += on[g] * p[g]


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
    for i in range(D.size):
        D[i] -= force * U[g, i]


@borrowing
def remove_sliding(j: int, row: Array, slides: Slides) -> None:
    """Project a row onto the complement of neuron j's sliding directions; the coefficients removed
    stay in slides.held, for `set_held`. ρ and ā are left out: with them, though the basis is zero
    there, flows in the plane were seen to stall."""
    held = slides.held[j]
    for a in range(slides.sizes[j]):
        q, z, c = slides.basis[j, a, FIRST:], row[FIRST:], 0.0
        for i in range(z.size):
            c += q[i] * z[i]
        for i in range(z.size):
            z[i] -= c * q[i]
        held[a] = c


@borrowing
def set_held(j: int, slides: Slides) -> None:
    """The forces that keep neuron j's groups at zero, a pull projected last."""
    lower, held = slides.lower[j], slides.held[j]
    for a in range(slides.sizes[j] - 1, -1, -1):
        held[a] = held[a] / lower[a, a] if lower[a, a] > 0.0 else 0.0
        for b in range(a):
            held[b] -= lower[a, b] * held[a]


@borrowing
def field(Y: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array) -> float:
    """ρ' = 2ā⟨D, z̄⟩, ā' = ⟨D, z̄⟩ − ρ'ā, z̄' = āD − ρ'z̄; returns Σ(h − y)²."""
    if work.masks.size > 0:
        return planar_field(Y, geometry, slides, work, dY)
    predictions(Y, geometry, work)
    total = forces(work.plus, work.minus, geometry, work.F0, work.F1)
    respond(Y, work.F0, work.F1, geometry, slides, work, dY)
    return total


@borrowing
def planar_field(Y: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array) -> float:
    """The same where the inputs span a plane, in loops over neurons that lie side by side; pulls
    stay in lanes (`show_pulls`)."""
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
        for k in range(work.many[0]):
            j = work.chief[k]
            work.D[k, FIRST], work.D[k, FIRST + 1] = work.lanes[5, j], work.lanes[6, j]


@borrowing
def show_held(slides: Slides, work: Work) -> None:
    """The forces that keep groups at zero, as the last evaluation of the field left them."""
    for k in range(work.many[0]):
        set_held(work.chief[k], slides)
    for j in range(slides.sizes.size):
        chief = work.chief[work.kin[j]]
        for b in range(slides.sizes[j] if chief != j else 0):
            slides.held[j, b] = slides.held[chief, b]


@borrowing
def respond(
    Y: Array, F0: Array, F1: Array, geometry: Geometry, slides: Slides, work: Work, dY: Array
) -> None:
    """The velocities under these forces."""
    count = work.many[0]
    for k in range(count):
        on, off, q = work.on[k], work.off[k], work.Q[k]
        if geometry.two_sided:
            for g in range(F1.size):
                q[g] = -on[g] * F1[g] - off[g] * F0[g]
        else:
            for g in range(F1.size):
                q[g] = -on[g] * F1[g]
    assemble(work.Q[:count], geometry.U, work.D[:count])
    for k in range(count):
        remove_sliding(work.chief[k], work.D[k], slides)
    for j in range(Y.shape[0]):
        D, y, dy = work.D[work.kin[j]], Y[j], dY[j]
        along = 0.0
        for i in range(y.size):
            along += D[i] * y[i]
        out = y[OUT]
        growth = 2 * out * along
        for i in range(y.size):
            dy[i] = out * D[i] - growth * y[i]
        dy[RHO], dy[OUT] = growth, along - growth * out


@borrowing
def prediction_rates(Y: Array, dY: Array, geometry: Geometry, work: Work, rates: Array) -> None:
    """Time derivatives (2, G) of `predictions` at the state Y with velocity dY."""
    sums = work.sums
    for k in range(work.many[0]):
        fill(sums[k], 0.0)
    for j in range(Y.shape[0]):
        k, scale = work.kin[j], math.exp(2 * Y[j, RHO])
        c, dc = scale * Y[j, OUT], scale * (2 * dY[j, RHO] * Y[j, OUT] + dY[j, OUT])
        for i in range(Y.shape[1]):
            sums[k, i] += dc * Y[j, i] + c * dY[j, i]
    see(geometry, work, rates[0], rates[1])


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
