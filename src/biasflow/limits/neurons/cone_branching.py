"""An upper bound on max_u Σ_i q_i(⟨u, c_i⟩)₊ over unit vectors by branch and bound over simplicial
cones, where the faces of the arrangement are too many to visit.

On a cone with generators v_j the convex part Φ(u) = Σ_{q>0} q_i(⟨u, c_i⟩)₊ lies below the linear
function that agrees with it on every v_j, and −(x)₊ ≤ −tx for any t in [0, 1]. So any t and any w
with ⟨v_j, w⟩ ≥ h_j = Φ(v_j) − ⟨v_j, z_t⟩ for all j, where z_t = Σ_{q<0} |q_i|t_ic_i, prove that the
sum is at most ‖w‖ on the unit vectors of the cone. Coordinate descent looks for good t and w
(`cone_bounds`); w is then scaled until it proves something, so a bound holds wherever the descent
stops. Where rounding or chance has made a cone flat it finds little: t as at the middle of the
cone, w along it, and a generator's value plus Σ|q_i|‖c_i‖ times the way from there are looked at
first. The cone of the largest bound is split at the edge along which Φ bends most near the
maximiser, until all bounds are below a target. Cones share their generators; the first ones are the
orthants, half of them where Σ_iq_ic_i = 0, as the sum is even then."""

from __future__ import annotations

import functools
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
from ..._numerics.interrupts import apart, interrupted
from . import arrangement, cone_bounds
from .arrangement import add, dot
from .cone_bounds import (
    EPS,
    bound_of_cone,
    inverse,
    long_edge,
    middle,
    positive_part,
    products,
    proven,
    reach,
    widest_bend,
)

HIGHEST = 10
"""Largest rank at which cones are worth their time: there are 2^rank to begin with."""
MOST_BYTES = 1_000_000_000
"""Memory for cones, of all parts together."""
MOST_SAMPLES = 20_000
"""Samples above which a cone takes too long, and nothing is bounded."""
DENSE = 500
"""Samples of negative weight up to which their Gram matrix is worth its time."""
SPLITS_PER_LOOK, WORK_PER_LOOK = 200, 20_000_000
"""Splits between two looks at the clock, and their number times the square of that of samples, or
one split."""
FINEST = 65535
"""Steps in which t is kept."""
EVEN = 1e-5
"""Length of Σ_iq_ic_i, relative to the target, up to which the sum counts as even; the bound
accounts for it."""


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
        squares: Array,
        gram: Array,
        vertices: Array,
        phi: Array,
        cones: Index,
        bounds: Array,
        plans: Array,
        points: Array,
        shares: Array,
        heap: Index,
        state: Array,
    ) -> bool:
        """Split the cone of the largest bound, `count` times; False at the end. A (r, k): columns
        of positive weight; B: rows of negative weight, with squares of their lengths, and their
        Gram matrix or none. points, shares: w + z_t and t, to begin with
        where a cone is split. heap: open cones, then those that are free. state: vertices, cones,
        open cones, target, largest value met, doubt, depth, Σ|q_i|‖c_i‖, with which the sum is
        Lipschitz."""
        (r, a), b = A.shape, B.shape[0]
        V, W, w, z = np.zeros((r, r)), np.zeros((r, r)), np.zeros(r), np.zeros(r + 0 * stamp)
        work, own, near = np.zeros((r, 2 * r)), np.zeros(r), np.zeros(r)
        seen_A, seen_B, new_A, new_B = np.zeros((r, a)), np.zeros((r, b)), np.zeros(a), np.zeros(b)
        descent = (
            np.zeros(b),
            np.zeros(b),
            np.zeros(b, dtype=np.int64),
            np.zeros((r, b)),
            np.zeros((r, r)),
            np.zeros(r),
            np.zeros(r),
        )
        columns, point, t = np.zeros((r, b)), np.zeros(r), np.zeros(b)
        for i in range(b):
            for d in range(r):
                columns[d, i] = B[i, d]
        for _ in range(count):
            floor = max(state[3], state[4])
            node, vertex, size = heap[0], int(state[0]), int(state[2])
            full = vertex == len(vertices) or size == len(heap)
            if size == 0 or full or bounds[node] <= floor:
                return False
            if size == int(state[1]):
                heap[size] = size
                state[1] += 1
            other, above = heap[size], bounds[node]
            edge, share = (int(plans[node, 0]), int(plans[node, 1])), plans[node, 2]
            v = vertices[vertex]
            add(v, share, vertices[cones[node, edge[0]]])
            add(v, 1 - share, vertices[cones[node, edge[1]]])
            length = math.sqrt(dot(v, v))
            for d in range(r):
                v[d] /= length
                cones[other, d] = cones[node, d]
                point[d] = points[other, d] = points[node, d]
            for i in range(b):
                t[i] = shares[other, i] = shares[node, i]
            cones[node, edge[0]], cones[other, edge[1]] = vertex, vertex
            plans[node, 3] += 1
            for d in range(4):
                plans[other, d] = plans[node, d]
            state[6] = max(state[6], plans[node, 3])
            products(v, A, new_A)
            products(v, columns, new_B)
            phi[vertex] = positive_part(new_A)
            state[4] = max(state[4], phi[vertex] - positive_part(new_B) - state[5])
            state[0] = vertex + 1
            for child in (node, other):
                for j in range(r):
                    corner = cones[child, j]
                    own[j] = phi[corner]
                    for d in range(r):
                        V[j, d] = vertices[corner, d]
                    products(V[j], A, seen_A[j])
                    products(V[j], columns, seen_B[j])
                value = own[0] - positive_part(seen_B[0]) + state[5]
                bounds[child] = min(above, value + state[7] * reach(V))
                middle(V, B, seen_B, w, z)
                bounds[child] = min(bounds[child], proven(V, own, w, z, state[5]))
                if bounds[child] <= floor:
                    continue
                if not inverse(V, W, work):
                    long_edge(V, plans[child], False)
                else:
                    for d in range(r):
                        z[d] = point[d]
                    for i in range(b):
                        descent[0][i] = t[i] / FINEST
                    levels = bounds[child], floor, state[5]
                    bounds[child] = bound_of_cone(
                        V, own, B, squares, gram, seen_B, levels, W, descent, w, z
                    )
                    if bounds[child] > floor:
                        for d in range(r):
                            points[child, d] = w[d] + z[d]
                        for i in range(b):
                            shares[child, i] = int(FINEST * descent[0][i] + 0.5)
                        widest_bend(V, W, w, seen_A, near, plans[child])
                        long_edge(V, plans[child], True)
                        for d in range(r):
                            w[d] = 0.0
                        for j in range(r):
                            add(w, 1.0, V[j])
                        bounds[child] = min(bounds[child], proven(V, own, w, z, state[5]))
            if bounds[node] <= floor:
                size -= 1
                heap[0], heap[size], heap[size + 1] = heap[size], other, node
            _sink(heap, bounds, size)
            if bounds[other] > floor:
                _rise(heap, bounds, size)
                size += 1
            state[2] = size
        return True

    return splits


splits = entry(_splits(stamp(__file__, cone_bounds.__file__, arrangement.__file__)))


@dataclass(eq=False)
class Cones:
    """The cones that are left of one part of the sphere, for one sign of the sum."""

    arrays: tuple[Any, ...]
    state: Array
    spread: float
    rest: float
    """What the other half of the sphere may have more, where the sum is even."""
    open: bool = True

    @property
    def bound(self) -> float:
        """With what rounding may have lost: of sums, and between the cones, as a generator is off
        the edge that it splits by 8u at most, at every depth."""
        bounds, heap = self.arrays[7], self.arrays[-1]
        top = float(bounds[heap[0]]) if self.state[2] else 0.0
        top, rank = max(top, self.state[3], self.state[4]), len(self.arrays[0])
        between = 10 * math.sqrt(rank) * (self.state[6] + 1) * EPS * self.spread
        return float(top + between + self.rest)

    def split(self) -> None:
        n = self.arrays[0].shape[1] + len(self.arrays[1])
        count = min(SPLITS_PER_LOOK, max(WORK_PER_LOOK // n**2, 1))
        self.open = splits(count, *self.arrays, self.state)


def _parts(rows: Array, q: Array, target: float) -> list[Cones]:
    """Quarters of the sphere for either sign, or of one half where the sum is even: cones of
    different parts may be split at the same time."""
    n, r = rows.shape
    weighted = np.abs(q)[:, None] * rows
    spread = float(np.sum(np.linalg.norm(weighted, axis=1)))
    odd = float(np.linalg.norm(q @ rows)) + 2 * (n + r) * EPS * spread
    even = odd <= EVEN * target
    rest = odd if even else 0.0
    starts = list(itertools.product(*((d, d + r) for d in range(r))))
    quarters = np.split(np.array(starts, dtype=np.int32), 4)[: 2 if even else 4]
    parts, room = [], MOST_BYTES // (2 * len(quarters) * (16 * r + 2 * n + 40))
    for sign, first in itertools.product((1.0, -1.0), quarters):
        if first is quarters[0]:
            A, B = np.ascontiguousarray(weighted[sign * q > 0].T), weighted[sign * q < 0]
            gram = B @ B.T if len(B) <= DENSE else np.zeros((0, 0))
            squares = np.diag(gram).copy() if gram.size else np.sum(B**2, axis=1)
        vertices, phi = np.zeros((room, r)), np.zeros(room)
        vertices[: 2 * r] = np.vstack([np.eye(r), -np.eye(r)])
        phi[: 2 * r] = np.sum(np.maximum(vertices[: 2 * r] @ A, 0.0), axis=1)
        cones, heap = np.zeros((room, r), dtype=np.int32), np.zeros(room, dtype=np.int64)
        bounds, plans, count = np.zeros(room), np.zeros((room, 4), np.float32), len(first)
        cones[:count] = first
        plans[:count, :3] = 1.0, 0.0, 0.5
        points, shares = np.zeros((room, r), np.float32), np.zeros((room, len(B)), np.uint16)
        signs = np.where(first < r, 1.0, -1.0)
        points[:count] = signs * phi[first]
        taken, doubt = signs @ B.T > 0, 4 * (n + r + 4) * EPS * spread
        shares[:count] = np.where(taken, np.uint16(FINEST), np.uint16(0))
        # the first look: w with ⟨v_j, w⟩ = (h_j)₊, as the generators are orthonormal
        needed = np.maximum(phi[first] - signs * (taken.astype(float) @ B) + doubt, 0.0)
        bounds[:count] = np.minimum(np.linalg.norm(needed, axis=1) * (1 + 4 * r * EPS), spread)
        heap[:count] = np.argsort(-bounds[:count], kind="stable")
        state = np.array([2.0 * r, count, count, target - rest, 0.0, doubt, 0.0, spread])
        arrays = (A, B, squares, gram, vertices, phi, cones, bounds, plans, points, shares, heap)
        parts.append(Cones(arrays, state, spread, rest))
    return parts


class ConeSearch:
    """Branch and bound that can be taken up again. rows (n, r) of rank r ≥ 2, no q_i zero."""

    def __init__(self, rows: Array, q: Array, target: float) -> None:
        self.parts = _parts(rows, q, target) if len(rows) <= MOST_SAMPLES else []

    def bound(self, deadline: float) -> float:
        """An upper bound on max_u |Σ_iq_i(⟨u, c_i⟩)₊|: at most the target where that holds and time
        allows; infinite for too many samples. As many parts at once as there are threads, as far as
        BLAS is told."""
        return apart(self._bound, deadline) if self.parts else np.inf

    def _bound(self, deadline: float) -> float:
        parts, threads = self.parts, max((p["num_threads"] for p in threadpool_info()), default=1)
        with ThreadPoolExecutor(min(threads, len(parts))) as pool:
            while time.monotonic() < deadline and not interrupted():
                parts.sort(key=lambda part: -part.bound)
                if not parts[0].open:
                    break
                list(pool.map(Cones.split, [part for part in parts if part.open][:threads]))
        return max(part.bound for part in parts)


def bound_by_cones(rows: Array, q: Array, target: float, deadline: float) -> float:
    """The bound that one search finds."""
    return ConeSearch(rows, q, target).bound(deadline)


@functools.cache
def _compiled() -> None:
    announced("cone", bound_by_cones, np.eye(2), np.array([1.0, -1.0]), 1.01, math.inf)


def ready() -> float:
    """Compile, or load what was compiled; the seconds it took, none the second time."""
    began = time.monotonic()
    _compiled()
    return time.monotonic() - began
