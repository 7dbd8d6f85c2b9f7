"""The early phase in closed form: while h is negligible, neurons are independent and D is constant
between crossings.

With β = ‖D‖, D̂ = D/β, u₀ = ⟨D̂, w₀⟩ and x = βt: a = a₀·cosh x + u₀·sinh x, w = w₀ + D̂[(cosh x −
1)u₀ + sinh x·a₀], and ⟨w, u_g⟩ reaches a value where a quadratic in e^x vanishes (B, §4.1; exact
for any data).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..._core.arguments import Array, Index
from ..._numerics.compilation import borrowing, entry, inner, seldom
from .events import TURN
from .gated_field import conserve, pull, remove_sliding
from .layout import (
    FIRST,
    HYSTERESIS,
    LOG_COLUMNS,
    LOG_ROWS,
    OFF,
    ON,
    OUT,
    RHO,
    SLIDE,
    Gates,
    Geometry,
    Invariants,
    Log,
    Slides,
)
from .sliding_modes import cross, no_slides, noted, resolve, roomier, set_slides
from .small_algebra import (
    STAMP,
    copy,
    copy_table,
    dot,
    fill,
    gate_table,
    indices,
    larger,
    norm,
    row_of,
    sliding_groups,
    smaller,
    stack_of,
    table_of,
)

PARALLEL = 1e-14
"""Cosine of D with a direction below which the pre-activation does not move."""
ROUNDED = 1e-30
"""Square of a part of a unit vector that is only rounding."""
NO_EVENT = -1
SETTLED, STOPPED = -1, -2
"""In place of a neuron whose gates did not settle."""
CANCELLED = 1e-14
"""Pull relative to the forces it is the sum of that is only rounding."""
SWITCH, NEAR_SIZE = 12, 1.0
"""Looks for the time at which the early phase is left, and the logarithm of a size that is near
enough: any time before h matters will do."""
MAX_CROSSINGS = 100
"""Crossings allowed per neuron and group."""


class Arcs(NamedTuple):
    """Hyperbolic arcs of all neurons, neuron after neuron: where each begins, from which state,
    with which constant pull."""

    neuron: Index
    start: Array
    state: Array  # (A, r+2)
    pull: Array  # (A, r+2)
    gates: Gates  # (A, G)


@seldom
def arcs_for(count: int, width: int, G: int) -> Arcs:
    return Arcs(
        indices(count),
        row_of(count),
        table_of(count, width),
        table_of(count, width),
        gate_table(count, G),
    )


@seldom
def twice_as_many(arcs: Arcs) -> Arcs:
    """The same arcs with room for as many again."""
    more = arcs_for(2 * arcs.neuron.size, arcs.state.shape[1], arcs.gates.shape[1])
    copy(arcs.neuron, more.neuron)
    copy(arcs.start, more.start)
    copy_table(arcs.state, more.state)
    copy_table(arcs.pull, more.pull)
    copy_table(arcs.gates, more.gates)
    return more


@borrowing
def modes(
    row: Array, D: Array, beta: float, j: int, invariants: Invariants, across: Array
) -> tuple[float, float]:
    """P and M with a = P·e^x + M·e^{−x}, ⟨D̂, w⟩ = P·e^x − M·e^{−x}; `across` receives the part of
    z̄ orthogonal to D.

    The smaller comes from 4PM = a² − ⟨D̂, w⟩² = c + the squared part of w across D: a neuron that
    shrinks while it slides would otherwise grow again out of rounding.
    """
    u, a, square = dot(D, row) / beta, row[OUT], 0.0
    for i in range(FIRST, row.size):
        across[i] = row[i] - u * D[i] / beta
        square += across[i] ** 2
    if square < ROUNDED:
        square = 0.0
        for i in range(FIRST, row.size):
            across[i] = 0.0
    product = square + math.exp(invariants.log_fixed[j] - 2 * row[RHO])
    product += invariants.sign[j] * math.exp(invariants.log_size[j] - 2 * row[RHO])
    if a * u >= 0.0:
        P = 0.5 * (a + u)
        return P, product / (4 * P) if P != 0.0 else 0.0
    M = 0.5 * (a - u)
    return product / (4 * M), M


@borrowing
def log_of(value: float) -> float:
    return math.log(abs(value)) if value != 0.0 else -math.inf


@inner
def advanced(row: Array, D: Array, t: float, j: int, invariants: Invariants, out: Array) -> None:
    """The state of neuron j after time t with constant D, scaled by its largest part, so that
    nothing overflows."""
    beta = norm(D)
    copy(row, out)
    if beta == 0.0 or t == 0.0:
        return
    x, across = beta * t, row_of(row.size)
    across[RHO], across[OUT] = 0.0, 0.0
    P, M = modes(row, D, beta, j, invariants, across)
    log_fixed = 0.5 * invariants.log_fixed[j] - row[RHO]
    scale = larger(larger(log_of(P) + x, log_of(M) - x), larger(log_of(norm(across)), log_fixed))
    growing = math.copysign(math.exp(log_of(P) + x - scale), P)
    falling = math.copysign(math.exp(log_of(M) - x - scale), M)
    rest = math.exp(-scale)
    out[OUT] = growing + falling
    square = out[OUT] ** 2 + math.exp(2 * (log_fixed - scale))
    for i in range(FIRST, row.size):
        out[i] = across[i] * rest + D[i] / beta * (growing - falling)
        square += out[i] ** 2
    size = math.sqrt(square)
    for i in range(OUT, row.size):
        out[i] /= size
    out[RHO] = row[RHO] + scale + math.log(size)
    conserve(out, j, invariants)


@borrowing
def smallest_root(p: float, q: float, delta: float) -> float:
    """The least τ > 0 with pτ² + 2qτ − 2δ = 0, or infinity."""
    discriminant = q * q + 2 * delta * p
    if discriminant < 0.0:
        return math.inf
    s = -(q + math.copysign(math.sqrt(discriminant), q))
    first = s / p if p != 0.0 else math.inf
    second = -2 * delta / s if s != 0.0 else math.inf
    first = first if first > 0.0 else math.inf
    second = second if second > 0.0 else math.inf
    return smaller(first, second)


@inner
def first_crossing(
    row: Array, gates: Gates, D: Array, U: Array, slide_count: int, j: int, invariants: Invariants
) -> tuple[float, int]:
    """When and on which group this neuron's gates have to change next: (time, group), (time, TURN)
    or (∞, NO_EVENT)."""
    beta = norm(D)
    if beta == 0.0:
        return math.inf, NO_EVENT
    u, a = dot(D, row) / beta, row[OUT]
    P, M = modes(row, D, beta, j, invariants, row_of(row.size))
    best, where = math.inf, NO_EVENT
    # never where the neuron is balanced, whatever the rounding of a and u
    if slide_count > 0 and a * u < 0.0 and P * M < 0.0:
        best, where = 0.5 * math.log(-M / P), TURN
    for g in range(gates.size):
        if gates[g] == SLIDE:
            continue
        rate = dot(U[g], D) / beta
        if abs(rate) <= PARALLEL:
            continue
        target = -HYSTERESIS if gates[g] == ON else HYSTERESIS
        delta = (target - dot(U[g], row)) / rate
        # (u+a)τ² + 2(a−δ)τ − 2δ = 0, τ = e^x − 1
        x = math.log1p(smallest_root(2 * P, a - delta, delta))
        if x < best:
            best, where = x, g
    return best / beta, where


@seldom
def start_gates(
    Y: Array, gates: Gates, F0: Array, F1: Array, geometry: Geometry, slides: Slides
) -> Slides:
    """Decide the pre-activations that start at zero (given as SLIDE), neuron by neuron."""
    D = row_of(Y.shape[1])
    for j in range(Y.shape[0]):
        zero = sliding_groups(gates[j])
        if zero.size > 0:
            sign = sign_of(Y[j], gates[j], F0, F1, geometry, D)
            resolve(zero, gates[j], sign, F0, F1, geometry, D)
            slides = roomier(slides, zero.size)
            set_slides(j, gates[j], geometry.U, slides)
            remove_sliding(j, Y[j], slides)
    return slides


@borrowing
def forces_on(row: Gates, F0: Array, F1: Array) -> float:
    """The sum of the sizes of all forces on one neuron, those that hold it included."""
    total = 0.0
    for g in range(row.size):
        total += (
            abs(F1[g])
            if row[g] == ON
            else (abs(F0[g]) if row[g] == OFF else larger(abs(F0[g]), abs(F1[g])))
        )
    return total


@borrowing
def sign_of(row: Array, gates: Gates, F0: Array, F1: Array, geometry: Geometry, D: Array) -> float:
    """The sign of a, or where a is zero the sign it is about to have."""
    if row[OUT] != 0.0:
        return math.copysign(1.0, row[OUT])
    pull(gates, F0, F1, geometry.U, D)
    return math.copysign(1.0, dot(D, row))


def _align(stamp: int) -> Any:
    def align(
        Y: Array,
        gates: Gates,
        F0: Array,
        F1: Array,
        geometry: Geometry,
        invariants: Invariants,
        t_end: float,
        log_size: float,
        log_less: float,
        stop: Index,
    ) -> tuple[Arcs, Log, float, float, int]:
        """Every neuron's arcs until t_end, or until ½Σe^{2ρ} reaches e^{log_size}; returns them,
        the log, that time, and when the sum reached e^{log_less}. The last value is a neuron whose
        gates did not settle, −1 if there is none, −2 if `stop` was raised: not all arcs are there
        then.
        """
        m, width = Y.shape
        G = gates.shape[1]
        arcs = arcs_for(4 * m + 4 + 0 * stamp, width, G)
        log = Log(table_of(LOG_ROWS, LOG_COLUMNS), indices(1))
        slides = start_gates(Y, gates, F0, F1, geometry, no_slides(m, 4, width))
        D, scratch, row = row_of(width), row_of(width), row_of(width)
        gate_row, before = gate_table(1, G)[0], gate_table(1, G)[0]
        count, unsettled = 0, SETTLED
        for j in range(m):
            t = 0.0
            copy(gates[j], gate_row)
            copy(Y[j], row)
            crossings = 0
            while t < t_end:
                if stop[0] != 0:
                    return arcs, log, 0.0, 0.0, STOPPED
                pull(gate_row, F0, F1, geometry.U, D)
                remove_sliding(j, D, slides)
                if norm(D) <= CANCELLED * forces_on(gate_row, F0, F1):
                    fill(D, 0.0)
                if count == arcs.neuron.size:
                    arcs = twice_as_many(arcs)
                arcs.neuron[count], arcs.start[count] = j, t
                copy(row, arcs.state[count])
                copy(D, arcs.pull[count])
                copy(gate_row, arcs.gates[count])
                count += 1
                wait, g = first_crossing(
                    row, gate_row, D, geometry.U, slides.sizes[j], j, invariants
                )
                beta = norm(D)
                # may grow to size before it crosses: not beyond that
                left = smaller(wait, t_end - t)
                if 2 * (row[RHO] + beta * left) > log_size:
                    grown = time_to_size(row, D, j, invariants, log_size, t, left)
                    t_end = smaller(t_end, grown)
                if g == NO_EVENT or t + wait >= t_end:
                    break
                crossings += 1
                if crossings > MAX_CROSSINGS * G:
                    unsettled = j
                    break
                t += wait
                advanced(row, D, wait, j, invariants, scratch)
                copy(scratch, row)
                copy(gate_row, before)
                if g == TURN:
                    held = sliding_groups(gate_row)
                    sign = math.copysign(1.0, dot(D, row))
                    sound = resolve(held, gate_row, sign, F0, F1, geometry, scratch)
                else:
                    sign = sign_of(row, gate_row, F0, F1, geometry, scratch)
                    sound = cross(g, gate_row, sign, F0, F1, geometry, scratch)
                unsettled = unsettled if sound else j
                slides = roomier(slides, sliding_groups(gate_row).size)
                set_slides(j, gate_row, geometry.U, slides)
                remove_sliding(j, row, slides)
                conserve(row, j, invariants)
                log = noted(log, t, j, before, gate_row)
        arcs = Arcs(
            arcs.neuron[:count],
            arcs.start[:count],
            arcs.state[:count],
            arcs.pull[:count],
            arcs.gates[:count],
        )
        t_less = t_end
        if t_end < math.inf:
            t_end = time_of_size(arcs, invariants, t_end, log_size, scratch)
            t_less = time_of_size(arcs, invariants, t_end, log_less, scratch)
        return arcs, log, t_end, t_less, unsettled

    return align


@inner
def time_to_size(
    row: Array, D: Array, j: int, invariants: Invariants, log_size: float, t: float, wait: float
) -> float:
    """When e^{2ρ} of this neuron alone reaches e^{log_size} on its arc, or infinity; by
    bisection."""
    scratch = row_of(row.size)
    beta = norm(D)
    low, high = 0.0, smaller(wait, (log_size - 2 * row[RHO] + 100.0) / beta)
    if beta == 0.0:
        return math.inf
    advanced(row, D, high, j, invariants, scratch)
    if 2 * scratch[RHO] < log_size:
        return math.inf
    for _ in range(SWITCH):
        middle = 0.5 * (low + high)
        advanced(row, D, middle, j, invariants, scratch)
        if 2 * scratch[RHO] < log_size:
            low = middle
        else:
            high = middle
    return t + high


@borrowing
def size_at(arcs: Arcs, invariants: Invariants, t: float, scratch: Array) -> float:
    """½Σe^{2ρ}, which bounds every |h(u)|, u a unit vector."""
    total = 0.0
    for i in range(arcs.neuron.size):
        j = arcs.neuron[i]
        last = i + 1 == arcs.neuron.size or arcs.neuron[i + 1] != j
        if arcs.start[i] <= t and (last or arcs.start[i + 1] > t):
            advanced(arcs.state[i], arcs.pull[i], t - arcs.start[i], j, invariants, scratch)
            total += 0.5 * math.exp(2 * scratch[RHO])
    return total


@borrowing
def time_of_size(
    arcs: Arcs, invariants: Invariants, t_end: float, log_size: float, scratch: Array
) -> float:
    """A time before which ½Σe^{2ρ} is below e^{log_size}, and at which it is not far below."""
    low, high, under, over = 0.0, t_end, 0.0, 0.0
    for k in range(SWITCH):
        middle = high if k == 0 else (low if k == 1 else 0.5 * (low + high))
        if k % 3 != 1 and k > 1:  # a sum of exponentials is below its chord in logarithms
            middle = low + (high - low) * (log_size - under) / (over - under)
        size = math.log(larger(size_at(arcs, invariants, middle, scratch), 1e-300))
        if k == 1 or size < log_size:
            low, under = middle, size
        else:
            high, over = middle, size
        near = low == middle and size > log_size - NEAR_SIZE
        if low == high or (k > 0 and near) or (k == 1 and size >= log_size):
            break
    return low


def _states_at(stamp: int) -> Any:
    def states_at(arcs: Arcs, invariants: Invariants, times: Array, m: int) -> tuple[Array, Gates]:
        """The states (T, m, r+2) at these times, and the gates (m, G) at the last of them."""
        states = stack_of(times.size + 0 * stamp, m, arcs.state.shape[1])
        gates = gate_table(m, arcs.gates.shape[1])
        for i in range(arcs.neuron.size):
            j = arcs.neuron[i]
            last = i + 1 == arcs.neuron.size or arcs.neuron[i + 1] != j
            for k in range(times.size):
                t = times[k]
                if arcs.start[i] <= t and (last or arcs.start[i + 1] > t):
                    advanced(
                        arcs.state[i], arcs.pull[i], t - arcs.start[i], j, invariants, states[k, j]
                    )
                    if k + 1 == times.size:
                        copy(arcs.gates[i], gates[j])
        return states, gates

    return states_at


align, states_at = entry(_align(STAMP)), entry(_states_at(STAMP))
