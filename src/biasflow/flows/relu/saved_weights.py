"""Weights and states: a start in the kernels' coordinates, states that are saved as weights, and
how far a second run's are from them, each in one pass over the neurons."""

from __future__ import annotations

import math
from typing import Any

from ..._core.arguments import Array, Index
from ..._numerics.compilation import entry, inner
from .layout import BALANCED, FIRST, OFF, ON, OUT, RHO, ROUNDING, SLIDE, Gates
from .small_algebra import STAMP, row_of

ZERO, KINK, FELT, UNBALANCED, MOVES = 1, 2, 4, 8, 16
"""What `fold` finds: a neuron that is zero, and nothing more then; a pre-activation that is; a gate
that is not OFF; a neuron whose layers differ, or a part of which never moves; one with a part that
may."""


@inner
def weights_of(row: Array, axes: Array, still: Array, w: Array) -> float:
    """a of a neuron in normalised coordinates, and its w; axes (r, d): the basis of the span of the
    inputs, still: the part of w outside."""
    size = math.exp(row[RHO])
    for k in range(w.size):
        w[k] = still[k]
    for i in range(axes.shape[0]):
        z = size * row[FIRST + i]
        for k in range(w.size):
            w[k] += z * axes[i, k]
    return size * row[OUT]


def _fold(stamp: int) -> Any:
    def fold(
        a: Array,
        W: Array,
        shift: Array,
        axes: Array,
        U: Array,
        start: Array,
        gates: Gates,
        fixed: Array,
        kept: Array,
    ) -> tuple[int, float, float]:
        """Fills states (m, r+2) and gates (m, G) of the weights a (m,) and W (m, d) times e^shift;
        fixed (m, d): W outside the span of the inputs, over the largest weight of its neuron; kept
        (4, m): log of that weight, and of a² − ‖w‖² the sign, log|a² − ‖w‖²| and log‖fixed‖².

        Returns what it found, the least ρ, and log ½Σe^{2ρ}.
        """
        found, least, most = 0 * stamp, math.inf, -math.inf
        m, d = W.shape
        r = axes.shape[0]
        for j in range(m):
            largest = abs(a[j])
            for k in range(d):
                largest = abs(W[j, k]) if abs(W[j, k]) > largest else largest
            if largest == 0.0:
                return ZERO, least, most
            out, square, outside = a[j] / largest, 0.0, 0.0
            for k in range(d):
                fixed[j, k] = W[j, k] / largest
                square += fixed[j, k] * fixed[j, k]
            for i in range(r):
                z = 0.0
                for k in range(d):
                    z += axes[i, k] * fixed[j, k]
                start[j, FIRST + i] = z
            for k in range(d):
                for i in range(r):
                    fixed[j, k] -= start[j, FIRST + i] * axes[i, k]
                fixed[j, k] = fixed[j, k] if r < d else 0.0
                outside += fixed[j, k] * fixed[j, k]
            norm, w_norm, size = math.sqrt(out * out + square), math.sqrt(square), abs(out)
            start[j, OUT] = out / norm
            found |= MOVES if out != 0.0 else 0
            for i in range(r):
                found |= MOVES if start[j, FIRST + i] != 0.0 else 0
                start[j, FIRST + i] /= norm
            kept[0, j] = math.log(largest) + shift[j]
            start[j, RHO] = rho = math.log(norm) + kept[0, j]
            least, most = (rho if rho < least else least), (rho if rho > most else most)
            differs = abs(size - w_norm) > BALANCED * norm
            kept[1, j] = math.copysign(1.0, size - w_norm) if differs else 0.0
            kept[2, j] = kept[3, j] = -math.inf
            if differs:
                c = abs(size - w_norm) * (size + w_norm)
                kept[2, j] = math.log(c) + 2 * kept[0, j]
            if outside > 0.0:
                kept[3, j] = math.log(outside) + 2 * kept[0, j]
            if differs or outside > 0.0:
                found |= UNBALANCED
            for g in range(U.shape[0]):
                p = 0.0
                for i in range(FIRST, FIRST + r):
                    p += U[g, i] * start[j, i]
                gates[j, g] = SLIDE if abs(p) <= ROUNDING else ON if p > 0.0 else OFF
                if gates[j, g] == SLIDE:
                    found |= KINK
                if gates[j, g] != OFF:
                    found |= FELT
        total = 0.0
        for j in range(m):
            total += math.exp(2 * (start[j, RHO] - most))
        return found, least, math.log(0.5 * total) + 2 * most

    return fold


def _unfold(stamp: int) -> Any:
    def unfold(
        states: Array,
        axes: Array,
        still: Array,
        alive: Index,
        columns: Array,
        slope: float,
        a: Array,
        W: Array,
        outputs: Array,
    ) -> None:
        """Fills a (T, m) and W (T, m, d), zero before, with the weights of states (T, m', r+2) of
        the neurons that are alive, and outputs (T, n) with what these predict on inputs, of which
        columns (d, n) are given; slope: σ' on the negative side."""
        d, n = columns.shape
        inner = row_of(n + 0 * stamp)
        for t in range(states.shape[0]):
            for k in range(n):
                outputs[t, k] = 0.0
            for i in range(alive.size):
                j = alive[i]
                a[t, j] = out = weights_of(states[t, i], axes, still[i], W[t, j])
                for k in range(n):
                    inner[k] = 0.0
                for c in range(d):
                    for k in range(n):
                        inner[k] += W[t, j, c] * columns[c, k]
                for k in range(n):
                    outputs[t, k] += out * (inner[k] if inner[k] > 0.0 else slope * inner[k])

    return unfold


def _compare(stamp: int) -> Any:
    def compare(
        states: Array,
        axes: Array,
        still: Array,
        alive: Index,
        a: Array,
        W: Array,
        before: float,
        after: float,
        early: Array,
        late: Array,
        times: Array,
        off: Array,
    ) -> None:
        """Fills `off` (2, T), for weights a (T, m) and W (T, m, d) at times and for the products
        a_jw_j: their distance in sup norm from another run's states, and a share of their size, one
        before and one after the first of the changes of gates that these rows tell, that of both
        factors of a product. Infinite where the other run ended before, NaN where its states are
        not finite."""
        w, event = row_of(W.shape[2] + 0 * stamp), math.inf
        for i in range(early.shape[0]):
            event = early[i, 0] if early[i, 0] < event else event
        for i in range(late.shape[0]):
            event = late[i, 0] if late[i, 0] < event else event
        for t in range(a.shape[0]):
            both, total = t < states.shape[0], 0.0
            apart, product_apart, largest, product = 0.0, 0.0, 0.0, 0.0
            for i in range(alive.size):
                j = alive[i]
                mine, other = a[t, j], 0.0
                if both:
                    other = weights_of(states[t, i], axes, still[i], w)
                    far = abs(mine - other)
                    total += far
                    apart = far if far > apart else apart
                largest = abs(mine) if abs(mine) > largest else largest
                for k in range(w.size):
                    here = W[t, j, k]
                    size, both_sizes = abs(here), abs(mine * here)
                    largest = size if size > largest else largest
                    product = both_sizes if both_sizes > product else product
                    if both:
                        far, products_far = abs(here - w[k]), abs(mine * here - other * w[k])
                        total += far + products_far
                        apart = far if far > apart else apart
                        product_apart = (
                            products_far if products_far > product_apart else product_apart
                        )
            blank = (0.0 if total < math.inf else math.nan) if both else math.inf
            share = after if times[t] >= event else before
            off[0, t] = apart + share * largest + blank
            off[1, t] = product_apart + 2 * share * product + blank

    return compare


fold, unfold, compare = entry(_fold(STAMP)), entry(_unfold(STAMP)), entry(_compare(STAMP))
