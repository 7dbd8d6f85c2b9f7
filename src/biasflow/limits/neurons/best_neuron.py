"""Which neuron gains most: max ½sΣ_ip_iy_i(⟨u, (x_i,1)⟩)₊ over unit u and s = ±1, for weights p (C,
Proposition 12)."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, Index, Mask, row_lengths

EPS = float(np.finfo(float).eps)
RANK = 1e-13
"""Relative singular value below which a direction of the rows counts as absent."""
JITTER = 1e-14
"""Relative shift that puts rows of rank four and more into general position; the bound accounts for
it."""
WALK_EACH_ROUND = 4e6
"""Faces × dimension that an exact search may visit in every round: a few tenths of a second."""
WALK_RATE = 1e7
"""Faces × dimension that an exact search visits in a second, cautiously."""
LARGEST = 400
"""Exponent of two of the largest entry of rows that are searched: products of two are far from
overflow."""
DECIMALS = 9
"""Decimals to which neurons must agree to count as one."""


@dataclass(frozen=True, eq=False)
class Neurons:
    """Unit directions (k, d+1) and signs (k,)."""

    u: Array
    s: Array

    def features(self, rows: Array) -> Array:
        """½s_j(⟨u_j, x̃_i⟩)₊, (n, k)."""
        return 0.5 * self.s * np.maximum(rows @ self.u.T, 0.0)

    def chosen(self, which: Index | Mask) -> Neurons:
        return Neurons(self.u[which], self.s[which])

    def joined(self, other: Neurons) -> Neurons:
        return Neurons(np.vstack([self.u, other.u]), np.append(self.s, other.s))

    def __len__(self) -> int:
        return int(self.s.size)


@dataclass(frozen=True, eq=False)
class Answer:
    """Neurons by falling value, their values, and the maximum with what is known about it: 'exact'
    or 'heuristic'."""

    neurons: Neurons
    values: Array
    maximum: float
    kind: str


def in_units(rows: Array) -> tuple[Array, int]:
    """Rows in units of 2^k in which their squares are no matter, and k: zero but for lengths above
    2^400.

    Their bias of one is above 2^-624 then, and what underflows beside it is below 2^-1074."""
    unit = max(int(np.frexp(np.max(np.abs(rows)))[1]) - LARGEST, 0)
    return np.ldexp(rows, -unit) if unit else rows, unit


@functools.cache
def ready(climbing: bool) -> None:
    """Compile what searches, or load it, before any clock starts; says so where it has to be
    compiled."""
    from ..._numerics.compilation import announced
    from .arrangement import walk
    from .local_ascent import climb

    announced("best-neuron", walk, np.eye(3), np.array([1.0, -1.0, 1.0]), 0.0)
    if climbing:
        announced("best-neuron", climb, np.eye(2), np.eye(2), np.eye(2))


def search(
    rows: Array,
    signed: Array,
    starts: Neurons,
    rng: np.random.Generator,
    floor: float,
    effort: float,
    restarts: int = 60,
) -> Answer:
    """The best neurons for `signed` = py: exactly where that costs at most `effort` faces, else
    from `restarts` random starts and those given."""
    on = signed != 0
    known = float(np.max(signed @ starts.features(rows), initial=0.0))
    reduced, basis, lost = _in_their_span(rows[on])
    if faces_to_visit(*reduced.shape) <= effort:
        jitter = JITTER * (reduced.shape[1] > 3) * row_lengths(rows[on])
        shift = 0.5 * float(np.abs(signed[on]) @ (lost + jitter))
        return _lifted(_exact(reduced, 0.5 * signed[on], floor), basis, shift, known)
    starts = Neurons(starts.u @ basis.T, starts.s)
    answer = _from_starts(reduced, 0.5 * signed[on], starts, rng, restarts)
    return _lifted(answer, basis, 0.0, known)


def exact_effort(rows: Array, signed: Array) -> float:
    """What an exact search would visit."""
    on = signed != 0
    return faces_to_visit(*_in_their_span(rows[on])[0].shape)


def faces_to_visit(n: int, rank: int) -> float:
    """About how many faces the exact search looks at, times their dimension."""
    return math.comb(n, max(rank - 2, 0)) * 2.0 * n * 3.0 ** max(rank - 2, 0) * rank


def _in_their_span(rows: Array) -> tuple[Array, Array, Array]:
    """Coordinates (k, r) in an orthonormal basis (r, d+1) of their span, and how far each row is
    from these (k,): what was dropped, and rounding of d + 1 products in r coordinates and of the
    basis, whose rows are orthonormal to as much."""
    p = rows.shape[1]
    _, values, vt = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.sum(values > RANK * values[0]))
    if rank == p:
        return rows, np.eye(p), np.zeros(len(rows))
    reduced = rows @ vt[:rank].T
    return (
        reduced,
        vt[:rank],
        row_lengths(rows - reduced @ vt[:rank]) + (p + 4) * math.sqrt(p) * EPS * row_lengths(rows),
    )


def _exact(rows: Array, q: Array, floor: float) -> Answer:
    from .arrangement import walk, walk_line

    if rows.shape[1] == 1:
        u, s, values = walk_line(rows, q)
        return Answer(Neurons(u, s), values, float(np.max(values)), "exact")
    if rows.shape[1] > 3:
        shift = np.random.default_rng(0).uniform(-1, 1, rows.shape) / np.sqrt(rows.shape[1])
        rows = rows + JITTER * np.linalg.norm(rows, axis=1)[:, None] * shift
    u, s, values, best = walk(rows, q, floor)
    return Answer(Neurons(u, s), values, best, "exact")


def climbed(rows: Array, q: Array, u: Array, deadline: float = math.inf) -> tuple[Array, Array]:
    """Local maxima of Σq_i(⟨u, c_i⟩)₊ from the unit vectors u, and their values; one start after
    the other, until the deadline. Starts from where all gradients vanish are left out."""
    from .local_ascent import climb

    u, values = np.array(u, order="C"), np.full(len(u), -np.inf)
    weighted = np.abs(q)[:, None] * rows
    convex, zonotope = weighted[q > 0], weighted[q < 0]
    for k in range(len(u)):
        values[k : k + 1] = climb(u[k : k + 1], convex, zonotope)
        if time.monotonic() > deadline:
            break
    reached = np.isfinite(values)
    return u[reached], values[reached]


def _from_starts(
    rows: Array, q: Array, starts: Neurons, rng: np.random.Generator, restarts: int
) -> Answer:
    found = []
    for sign in (1.0, -1.0):
        fresh = rng.standard_normal((restarts, rows.shape[1]))
        u = np.vstack([starts.u[starts.s == sign], fresh])
        lengths = np.linalg.norm(u, axis=1)
        u, values = climbed(rows, sign * q, (u / lengths[:, None])[lengths > 0])
        found.append((u, np.full(values.size, sign), values))
    u, s, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Answer(Neurons(u, s), values, float(np.max(values, initial=0.0)), "heuristic")


def _lifted(answer: Answer, basis: Array, shift: float, known: float) -> Answer:
    """Back to d + 1 coordinates, sorted, each neuron once; the maximum is at least what the starts
    are known to reach."""
    order = np.argsort(-answer.values)
    neurons, values = answer.neurons.chosen(order), answer.values[order]
    _, first = np.unique(
        np.round(np.column_stack([neurons.u, neurons.s]), DECIMALS) + 0.0, axis=0, return_index=True
    )
    first = np.sort(first)
    neurons = neurons.chosen(first)
    u = neurons.u @ basis
    u = u / np.linalg.norm(u, axis=1)[:, None]
    return Answer(
        Neurons(u, neurons.s), values[first], max(answer.maximum + shift, known), answer.kind
    )
