"""An upper bound on max_u Σ_i q_i(⟨u, c_i⟩)₊ over unit vectors by branch and bound over simplicial
cones, where the faces of the arrangement are too many to visit.

On a cone with generators v_j the convex part Φ(u) = Σ_{q>0} q_i(⟨u, c_i⟩)₊ lies below the linear
function that agrees with it on every v_j, and −(x)₊ ≤ −tx for any t in [0, 1]. So any t and any w
with ⟨v_j, w⟩ ≥ h_j = Φ(v_j) − ⟨v_j, z_t⟩ for all j, where z_t = Σ_{q<0} |q_i|t_ic_i, prove that the
sum is at most ‖w‖ on the unit vectors of the cone. Coordinate descent looks for good t and w; w is
then scaled until it proves something, so a bound holds wherever the descent stops. The cone of the
largest bound is split at the edge along which Φ bends most near the maximiser, until all bounds are
below a target. Cones share their generators; the first ones are the orthants."""

from __future__ import annotations

import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from ..._core.arguments import Array, Index
from ..._numerics.compilation import announced, entry, ordered, stamp
from . import arrangement
from .arrangement import add, dot

EPS = float(np.finfo(float).eps)
HIGHEST = 10
"""Largest rank at which cones are worth their time: there are 2^rank to begin with."""
MOST_CONES = 2_000_000
"""Cones that are kept at most: half a gigabyte at the highest rank."""
SWEEPS, SLOW = 300, 1e-5
"""Most sweeps of coordinate descent for a cone, and the relative fall of ‖w‖² in a sweep that ends
it."""
INNERMOST = 0.2
"""An edge is split at this share of it from either end at least, so that cones stay round."""
ANYWHERE = 1e-3
"""Weight of an edge's bend where the maximiser is not near it."""
SPLITS_PER_LOOK = 200
"""Splits between two looks at the clock."""


@ordered
def _inverse(V: Array, W: Array, work: Array) -> bool:
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


@ordered
def _seen(v: Array, rows: Array) -> float:
    """Σ_i(⟨v, rows_i⟩)₊."""
    total = 0.0
    for i in range(rows.shape[0]):
        total += max(0.0, dot(v, rows[i]))
    return total


@ordered
def _descend(
    V: Array, phi: Array, B: Array, squares: Array, floor: float, W: Array, w: Array, z: Array
) -> None:
    """w and z_t by coordinate descent on ‖w‖ over t in [0, 1] for rows B that cross the cone, and
    over non-negative multiples of the facets' normals."""
    r, crossing = V.shape[0], 0
    t, who, mu = np.zeros(B.shape[0]), np.zeros(B.shape[0], dtype=np.int64), np.zeros(r)
    for d in range(r):
        w[d], z[d] = 0.0, 0.0
    for j in range(r):
        add(w, phi[j], W[j])
    for i in range(B.shape[0]):
        above, below, middle = False, False, 0.0
        for j in range(r):
            value = dot(V[j], B[i])
            middle += value
            above, below = above or value > 0, below or value < 0
        if middle > 0:
            add(z, 1.0, B[i])
        if above and below:
            t[crossing], who[crossing] = 1.0 if middle > 0 else 0.0, i
            crossing += 1
    add(w, -1.0, z)
    before = dot(w, w)
    for _ in range(SWEEPS):
        for c in range(crossing):
            i = who[c]
            new = min(1.0, max(0.0, t[c] + dot(w, B[i]) / squares[i]))
            if new != t[c]:
                add(w, t[c] - new, B[i])
                add(z, new - t[c], B[i])
                t[c] = new
        for j in range(r):
            new = max(0.0, mu[j] - dot(w, W[j]) / dot(W[j], W[j]))
            if new != mu[j]:
                add(w, new - mu[j], W[j])
                mu[j] = new
        now = dot(w, w)
        if now <= floor * floor or now > before * (1 - SLOW):
            return
        before = now


@ordered
def _proven(V: Array, phi: Array, w: Array, z: Array, doubt: float) -> float:
    """The least ‖κw‖ with ⟨v_j, κw⟩ ≥ h_j + doubt for all j; infinite where no multiple of w
    does."""
    factor, size = 0.0, math.sqrt(dot(w, w))
    for j in range(V.shape[0]):
        needed = phi[j] - dot(V[j], z) + doubt
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


@ordered
def _edge(V: Array, A: Array, W: Array, w: Array, products: Array, plan: Array) -> None:
    """Where to split: plan = (j, k, share of v_j), the edge along which Σ(⟨u, A_i⟩)₊ bends most,
    near the maximiser along w; its bends' mean place."""
    r, best = V.shape[0], 0.0
    size, plan[0] = math.sqrt(dot(w, w)), -1.0
    for i in range(A.shape[0]):
        for j in range(r):
            products[i, j] = dot(V[j], A[i])
    for j in range(r):
        for k in range(j):
            bend, place = 0.0, 0.0
            for i in range(A.shape[0]):
                a, b = products[i, j], products[i, k]
                if a * b < 0:
                    own = abs(a * b) / (abs(a) + abs(b))
                    bend += own
                    place += own * abs(b) / (abs(a) + abs(b))
            near = min(dot(w, W[j]), dot(w, W[k])) / size
            score = bend * (max(near, 0.0) + ANYWHERE)
            if score > best:
                best, plan[0], plan[1] = score, j, k
                plan[2] = min(1 - INNERMOST, max(INNERMOST, place / bend))
    if plan[0] < 0:  # nothing bends: the longest edge
        least = 2.0
        for j in range(r):
            for k in range(j):
                if dot(V[j], V[k]) < least:
                    least, plan[0], plan[1], plan[2] = dot(V[j], V[k]), j, k, 0.5


@ordered
def _rise(heap: Index, bounds: Array, k: int) -> None:
    while k > 0 and bounds[heap[(k - 1) // 2]] < bounds[heap[k]]:
        up = (k - 1) // 2
        heap[up], heap[k] = heap[k], heap[up]
        k = up


@ordered
def _sink(heap: Index, bounds: Array, size: int) -> None:
    k = 0
    while 2 * k + 1 < size:
        down = 2 * k + 1
        if down + 1 < size and bounds[heap[down + 1]] > bounds[heap[down]]:
            down += 1
        if bounds[heap[k]] >= bounds[heap[down]]:
            return
        heap[k], heap[down] = heap[down], heap[k]
        k = down


def _splits(stamp: int) -> Any:
    def splits(
        count: int,
        A: Array,
        B: Array,
        vertices: Array,
        phi: Array,
        cones: Index,
        bounds: Array,
        plans: Array,
        heap: Index,
        state: Array,
    ) -> bool:
        """Split the cone of the largest bound, `count` times; False at the end. state: vertices,
        cones, open cones, target, largest value met, doubt, depth."""
        r = A.shape[1]
        V, W, w, z = np.zeros((r, r)), np.zeros((r, r)), np.zeros(r), np.zeros(r + 0 * stamp)
        work, own, products = np.zeros((r, 2 * r)), np.zeros(r), np.zeros((A.shape[0], r))
        squares = np.zeros(B.shape[0])
        for i in range(B.shape[0]):
            squares[i] = dot(B[i], B[i])
        for _ in range(count):
            floor = max(state[3], state[4])
            node, vertex, other = heap[0], int(state[0]), int(state[1])
            full = vertex >= len(vertices) or other >= len(cones)
            if state[2] == 0 or full or bounds[node] <= floor:
                return False
            j, k, share = int(plans[node, 0]), int(plans[node, 1]), plans[node, 2]
            v = vertices[vertex]
            add(v, share, vertices[cones[node, j]])
            add(v, 1 - share, vertices[cones[node, k]])
            length = math.sqrt(dot(v, v))
            for d in range(r):
                v[d] /= length
                cones[other, d] = cones[node, d]
            phi[vertex] = _seen(v, A)
            state[4] = max(state[4], phi[vertex] - _seen(v, B) - state[5])
            cones[node, j], cones[other, k] = vertex, vertex
            plans[other, 3] = plans[node, 3] = plans[node, 3] + 1
            state[6] = max(state[6], plans[node, 3])
            state[0], state[1], above = vertex + 1, other + 1, bounds[node]
            for child in (node, other):
                for j in range(r):
                    own[j] = phi[cones[child, j]]
                    for d in range(r):
                        V[j, d] = vertices[cones[child, j], d]
                bounds[child] = above
                if _inverse(V, W, work):
                    _descend(V, own, B, squares, floor, W, w, z)
                    bounds[child] = min(above, _proven(V, own, w, z, state[5]))
                    if bounds[child] > floor:
                        _edge(V, A, W, w, products, plans[child])
                        for d in range(r):
                            w[d] = 0.0
                        for j in range(r):
                            add(w, 1.0, V[j])
                        bounds[child] = min(bounds[child], _proven(V, own, w, z, state[5]))
            if bounds[node] <= floor:
                state[2] -= 1
                heap[0] = heap[int(state[2])]
            _sink(heap, bounds, int(state[2]))
            if bounds[other] > floor:
                heap[int(state[2])] = other
                _rise(heap, bounds, int(state[2]))
                state[2] += 1
        return True

    return splits


splits = entry(_splits(stamp(__file__, arrangement.__file__)))


@dataclass(eq=False)
class Cones:
    """The cones that are left for one sign of the sum."""

    arrays: tuple[Any, ...]
    state: Array
    spread: float
    open: bool = True

    @property
    def bound(self) -> float:
        """With what rounding may have lost: of sums, and between the cones, as a generator is off
        the edge that it splits by 8u at most, at every depth."""
        _, bounds, _, heap = self.arrays[4:]
        top = float(bounds[heap[0]]) if self.state[2] else 0.0
        top, rank = max(top, self.state[3], self.state[4]), self.arrays[2].shape[1]
        return float(top + 10 * math.sqrt(rank) * (self.state[6] + 1) * EPS * self.spread)

    def split(self) -> None:
        self.open = splits(SPLITS_PER_LOOK, *self.arrays, self.state)


def _cones(rows: Array, q: Array, target: float) -> Cones:
    n, r = rows.shape
    weighted = np.abs(q)[:, None] * rows
    A, B = np.ascontiguousarray(weighted[q > 0]), np.ascontiguousarray(weighted[q < 0])
    spread = float(np.sum(np.linalg.norm(weighted, axis=1)))
    vertices, phi = np.zeros((MOST_CONES, r)), np.zeros(MOST_CONES)
    vertices[: 2 * r] = np.vstack([np.eye(r), -np.eye(r)])
    phi[: 2 * r] = np.sum(np.maximum(vertices[: 2 * r] @ A.T, 0.0), axis=1)
    cones, heap = np.zeros((MOST_CONES, r), dtype=np.int32), np.zeros(MOST_CONES, dtype=np.int64)
    bounds, plans, count = np.zeros(MOST_CONES), np.zeros((MOST_CONES, 4)), 2**r
    cones[:count] = list(itertools.product(*((d, d + r) for d in range(r))))
    heap[:count], bounds[:count], plans[:count, :3] = np.arange(count), spread, (1.0, 0.0, 0.5)
    doubt = 4 * (n + r + 4) * EPS * spread
    state = np.array([2.0 * r, count, count, target, 0.0, doubt, 0.0])
    return Cones((A, B, vertices, phi, cones, bounds, plans, heap), state, spread)


def bound_by_cones(rows: Array, q: Array, target: float, deadline: float) -> float:
    """An upper bound on max_u |Σ_iq_i(⟨u, c_i⟩)₊|: at most `target` where that holds and time
    allows. rows (n, r) of rank r ≥ 2, no q_i zero. Both signs at once where threads are allowed, as
    far as BLAS is told."""
    sides = [_cones(rows, sign * q, target) for sign in (1.0, -1.0)]
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    with ThreadPoolExecutor(2) as pool:
        while time.monotonic() < deadline:
            top = max(side.bound for side in sides)
            going = [side for side in sides if side.open and (threads > 1 or side.bound == top)]
            if not any(side.bound == top for side in going):
                break
            list(pool.map(Cones.split, going))
    return max(side.bound for side in sides)


def ready() -> float:
    """Compile, or load what was compiled; the seconds it took."""
    began = time.monotonic()
    announced("cone", bound_by_cones, np.eye(2), np.array([1.0, -1.0]), 0.9, math.inf)
    return time.monotonic() - began
