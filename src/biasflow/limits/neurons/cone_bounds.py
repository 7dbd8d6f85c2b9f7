"""The bound that one simplicial cone of directions proves on Σ_i q_i(⟨u, c_i⟩)₊, as
`cone_branching` derives it, and the edge at which to split the cone.

The descent keeps the products of w with all normals and samples, which one step changes by a row of
their Gram matrix: loops over samples, which vectorise, while ⟨w, c_i⟩ anew would be a short sum. Of
many samples it keeps w instead: their Gram matrix is empty. It starts where that of the cone that
was split ended. Only `proven` is a proof: what the others give it may be anything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._numerics.compilation import inner, ordered
from .arrangement import add, dot

EPS = float(np.finfo(float).eps)
SHORT = 0.01
"""Length of an edge, relative to the longest of its cone, below which it is not split."""
SWEEPS, SLOW = 300, 2e-4
"""Most sweeps of coordinate descent for a cone, and the relative fall of ‖w‖² in a sweep that ends
it."""
POOR, TURNS = 1e-3, 10
"""Fall of the bound, relative to that of the cone that was split, below which a descent for thin
cones is tried as well, and its most turns."""
SETTLED = 1e-3
"""Relative change of a sweep over λ that ends a turn."""
INNERMOST = 0.2
"""An edge is split at this share of it from either end at least, so that cones stay round."""
ANYWHERE = 1e-3
"""Weight of an edge's bend where the maximiser is not near it."""


@ordered
def inverse(V: Array, W: Array, work: Array) -> bool:
    """W = V⁻¹ by elimination with pivots; False where V is singular."""
    r = V.shape[0]
    for i in range(r):
        for j in range(r):
            work[i, j] = V[i, j]
            work[i, r + j] = 1.0 if i == j else 0.0
    for k in range(r):
        pivot = k
        for i in range(k + 1, r):
            if abs(work[i, k]) > abs(work[pivot, k]):
                pivot = i
        if work[pivot, k] == 0.0:
            return False
        for j in range(2 * r):
            work[k, j], work[pivot, j] = work[pivot, j], work[k, j]
        scale = 1.0 / work[k, k]
        for j in range(2 * r):
            work[k, j] *= scale
        for i in range(r):
            if i != k and work[i, k] != 0.0:
                add(work[i], -work[i, k], work[k])
    for i in range(r):
        for j in range(r):
            W[j, i] = work[i, r + j]  # rows are the normals of the cone's facets
    return True


@inner
def products(v: Array, columns: Array, out: Array) -> None:
    """out = ⟨v, ·⟩ of every column."""
    for i in range(out.size):
        out[i] = 0.0
    for d in range(v.size):
        for i in range(out.size):
            out[i] += v[d] * columns[d, i]


@inner
def positive_part(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += max(0.0, values[i])
    return total


@inner
def _descend(
    V: Array,
    phi: Array,
    B: Array,
    squares: Array,
    gram: Array,
    seen: Array,
    floor: float,
    W: Array,
    work: Any,
    w: Array,
    z: Array,
) -> None:
    """w and z_t by coordinate descent on ‖w‖ over t in [0, 1] for rows B that cross the cone, and
    over non-negative multiples μ of the facets' normals, from t and w + z_t = z of the cone that
    was split. seen: ⟨v_j, B_i⟩."""
    t, along, who, across, own, mu, heights = work
    (r, count), crossing, dense = seen.shape, 0, gram.size > 0
    for d in range(r):
        w[d] = 0.0
    for j in range(r):
        mu[j] = max(dot(V[j], z) - phi[j], 0.0)
        add(w, phi[j] + mu[j], W[j])
    for i in range(count):
        least, most = 0.0, 0.0
        for j in range(r):
            least, most = min(least, seen[j, i]), max(most, seen[j, i])
        if least < 0 < most and squares[i] > 0:
            who[crossing] = i
            crossing += 1
        else:
            t[i] = 1.0 if most > 0 else 0.0
        if t[i] != 0.0:
            add(w, -t[i], B[i])
    for i in range(count):
        along[i] = 0.0
    for j in range(r):  # B_i = Σ_j⟨v_j, B_i⟩W_j
        heights[j] = dot(w, W[j])
        for k in range(j + 1):
            own[j, k] = own[k, j] = dot(W[j], W[k])
        for i in range(count):
            across[j, i] = 0.0
    for j in range(r):
        for i in range(count):
            along[i] += heights[j] * seen[j, i]
        for k in range(r):
            for i in range(count):
                across[k, i] += own[k, j] * seen[j, i]
    before = now = dot(w, w)
    for _ in range(SWEEPS):
        for c in range(crossing):
            i = who[c]
            if not dense:
                along[i] = dot(w, B[i])
            new = min(1.0, max(0.0, t[i] + along[i] / squares[i]))
            step = new - t[i]
            if step != 0.0:
                t[i] = new
                now += step * (step * squares[i] - 2 * along[i])
                for j in range(r):
                    heights[j] -= step * across[j, i]
                if dense:
                    for k in range(count):
                        along[k] -= step * gram[i, k]
                else:
                    add(w, -step, B[i])
        for j in range(r):
            new = max(0.0, mu[j] - heights[j] / own[j, j])
            step = new - mu[j]
            if step != 0.0:
                mu[j] = new
                now += step * (step * own[j, j] + 2 * heights[j])
                for k in range(r):
                    heights[k] += step * own[j, k]
                if dense:
                    for i in range(count):
                        along[i] += step * across[j, i]
                else:
                    add(w, step, W[j])
        if now <= floor * floor or now > before * (1 - SLOW):
            break
        before = now
    for d in range(r):
        z[d] = 0.0
    for i in range(count):
        if t[i] != 0.0:
            add(z, t[i], B[i])
    for d in range(r):
        w[d] = -z[d]
    for j in range(r):
        add(w, phi[j] + mu[j], W[j])


@ordered
def proven(V: Array, phi: Array, w: Array, z: Array, doubt: float) -> float:
    """The least ‖κw‖ with ⟨v_j, κw⟩ ≥ h_j + doubt for all j; infinite where no multiple of w
    does."""
    factor, size = 0.0, math.sqrt(dot(w, w))
    for j in range(V.shape[0]):
        needed = phi[j] - dot(V[j], z) + doubt
        if not math.isfinite(needed + size):
            return np.inf
        if needed > 0:
            along = dot(V[j], w) - 4 * V.shape[0] * EPS * size
            if along <= 0:
                return np.inf
            factor = max(factor, needed / along)
    for j in range(V.shape[0]):
        needed = phi[j] - dot(V[j], z) + doubt
        along = dot(V[j], w) - 4 * V.shape[0] * EPS * size
        if needed <= 0 and factor * along < needed:
            return np.inf
    return factor * size * (1 + 4 * V.shape[0] * EPS)


@inner
def reach(V: Array) -> float:
    """How far unit vectors of a cone are from its first generator, at most: caps of less than a
    hemisphere are convex. Infinite for wide cones."""
    most = 0.0
    for j in range(1, V.shape[0]):
        square = 0.0
        for d in range(V.shape[1]):
            square += (V[j, d] - V[0, d]) ** 2
        most = max(most, square)
    return math.sqrt(most) * (1 + 1e-9) + 64 * EPS if most < 1.0 else np.inf


@inner
def middle(V: Array, B: Array, seen: Array, w: Array, z: Array) -> None:
    """w along the middle of a cone, and z with the gates that are open there. seen (r, b): ⟨v_j,
    c_i⟩ for rows of B."""
    for d in range(w.size):
        w[d] = z[d] = 0.0
    for j in range(V.shape[0]):
        add(w, 1.0, V[j])
    for i in range(B.shape[0]):
        along = 0.0
        for j in range(V.shape[0]):
            along += seen[j, i]
        if along > 0:
            add(z, 1.0, B[i])


@inner
def long_edge(V: Array, plan: Array, known: bool) -> None:
    """Where to split a cone of which nothing is known, or that is planned to be split at an edge
    much shorter than others: in the middle of its longest edge."""
    most, own, first, last = -1.0, -1.0, 0, 0
    for j in range(V.shape[0]):
        for k in range(j):
            square = 0.0
            for d in range(V.shape[1]):
                square += (V[j, d] - V[k, d]) ** 2
            if square > most:
                most, first, last = square, j, k
            if known and min(plan[0], plan[1]) == k and max(plan[0], plan[1]) == j:
                own = square
    if own < SHORT**2 * most:
        plan[0], plan[1], plan[2] = first, last, 0.5


@inner
def _turn(
    V: Array,
    phi: Array,
    B: Array,
    squares: Array,
    gram: Array,
    seen: Array,
    work: Any,
    w: Array,
    z: Array,
) -> None:
    """A turn of another descent, for thin cones, whose normals are almost opposite: a sweep over t;
    then w = Σ_jλ_jv_j with λ ≥ 0, the least for this t, by coordinate descent in λ."""
    t, along, _, _, own, lam, heights = work
    (r, count), dense = seen.shape, gram.size > 0
    for i in range(count):
        along[i] = dot(w, B[i])
    for d in range(r):
        z[d] = 0.0
    for i in range(count):
        if not dense:
            along[i] = dot(w, B[i])
        step = min(1.0, max(0.0, t[i] + along[i] / squares[i])) - t[i] if squares[i] > 0 else 0.0
        if step != 0.0:
            t[i] = min(1.0, max(0.0, t[i] + step))
            if dense:
                for k in range(count):
                    along[k] -= step * gram[i, k]
            else:
                add(w, -step, B[i])
        add(z, t[i], B[i])
    for j in range(r):
        lam[j] = 0.0
        heights[j] = phi[j] - dot(V[j], z)
        for k in range(j + 1):
            own[j, k] = own[k, j] = dot(V[j], V[k])
    for _ in range(SWEEPS):
        change, size = 0.0, 0.0
        for j in range(r):
            new = max(0.0, lam[j] + heights[j] / own[j, j])
            step = new - lam[j]
            if step != 0.0:
                lam[j] = new
                for k in range(r):
                    heights[k] -= step * own[j, k]
            change, size = max(change, abs(step)), max(size, new)
        if change <= SETTLED * size:
            break
    for d in range(r):
        w[d] = 0.0
    for j in range(r):
        add(w, lam[j], V[j])


@inner
def bound_of_cone(
    V: Array,
    phi: Array,
    B: Array,
    squares: Array,
    gram: Array,
    seen: Array,
    levels: Any,
    W: Array,
    work: Any,
    w: Array,
    z: Array,
) -> float:
    """The least bound that the descents find, with w and z_t near it; they start from t in work and
    from w + z_t = z. levels: the bound of the cone that was split, the one below which nothing is
    gained, and doubt."""
    above, floor, doubt = levels
    _descend(V, phi, B, squares, gram, seen, floor, W, work, w, z)
    bound, turns = min(above, proven(V, phi, w, z, doubt)), 0
    while turns < TURNS and bound > max(floor, above * (1 - POOR)):
        _turn(V, phi, B, squares, gram, seen, work, w, z)
        bound = min(bound, proven(V, phi, w, z, doubt))
        turns += 1
    return bound


@inner
def widest_bend(V: Array, W: Array, w: Array, seen: Array, near: Array, plan: Array) -> None:
    """Where to split: plan = (j, k, share of v_j), the edge along which Σ(⟨u, A_i⟩)₊ bends most,
    near the maximiser along w; its bends' mean place. seen: ⟨v_j, A_i⟩."""
    r, best = V.shape[0], 0.0
    size, plan[0] = math.sqrt(dot(w, w)), -1.0
    for j in range(r):
        near[j] = max(dot(w, W[j]) / size, 0.0) + ANYWHERE
        for k in range(j):
            bend = 0.0
            for i in range(seen.shape[1]):
                a, b = seen[j, i], seen[k, i]
                bend += abs(a) + abs(b) - abs(a + b)
            score = bend * min(near[j], near[k])
            if score > best:
                best, plan[0], plan[1] = score, j, k
    if plan[0] < 0:  # nothing bends: the longest edge
        least = 2.0
        for j in range(r):
            for k in range(j):
                if dot(V[j], V[k]) < least:
                    least, plan[0], plan[1] = dot(V[j], V[k]), j, k
    bend, place = 1e-300, 0.5e-300
    for i in range(seen.shape[1]):
        a, b = seen[int(plan[0]), i], seen[int(plan[1]), i]
        if a * b < 0:
            own = abs(a * b) / (abs(a) + abs(b))
            bend += own
            place += own * abs(b) / (abs(a) + abs(b))
    plan[2] = min(1 - INNERMOST, max(INNERMOST, place / bend))
