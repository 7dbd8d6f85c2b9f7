"""Which neuron gains most: max sΣ_iq_i(⟨u, c_i⟩)₊ over unit u and s = ±1, for signed weights q on
the samples (B, eq. 8; C, Proposition 12).

For least norms c_i are unit samples, for F1 margins ½(x_i, 1) and q_i = p_iy_i. One interface: an
exact oracle lists arcs or cells (`listed_cells`); the one here visits every face where that is
cheap, and climbs from many starts elsewhere."""

from __future__ import annotations

import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array, row_lengths
from ..._numerics.deadlines import MOMENT, Deadline
from ..._numerics.interrupts import apart, stop_flag
from .columns import Neurons, neurons_along, no_neurons
from .pair_relaxation import proven_level

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
STRESS = 1000
"""Random starts of either sign before a guess is believed."""
CONES_FIRST, RELAXED = 0.3, 0.5
"""Share of the time for a proof that cones get before a relaxation is tried, and share of the rest
that this may take at most; then cones go on."""
LOOSE = 1.2
"""Bound of cones, relative to the one aimed at, above which it is."""
AIMED = 1e-6
"""Relative rounding up to which a bound counts as the one aimed at."""
SPANNING = 20
"""Tries at neurons whose features span those of all networks."""
LARGEST_EXPONENT_OF_ROWS = 400
"""Exponent of two of the largest entry of rows that are searched: products of two are far from
overflow."""
DECIMALS = 9
"""Decimals to which neurons must agree to count as one."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Neurons by falling value, their values, and the maximum with what is known about it: 'exact'
    or 'heuristic'."""

    neurons: Neurons
    values: Array
    maximum: float
    kind: str


class Proof(NamedTuple):
    """A proven bound on the largest gain under weights q, and how it was proven."""

    upper: float
    q: Array
    how: str


class Oracle(ABC):
    """Finds the best neurons for samples' rows (n, r) of rank r."""

    rows: Array

    @abstractmethod
    def best(self, q: Array, starts: Neurons, floor: float) -> Answer:
        """The best neurons for q, of either sign; those below `floor` may be left out. starts:
        neurons that may be near them."""

    @abstractmethod
    def spanning(self, targets: Array) -> Neurons:
        """Neurons that can fit any labels that a network can, and these well if that is cheap."""

    def verified(self, q: Array, starts: Neurons, floor: float, deadline: float) -> Answer:
        """The same where nothing better seems to exist: with more effort, until the deadline."""
        return self.best(q, starts, floor)

    def proven(self, targets: Array, q: Array, aim: float, deadline: float) -> Proof:
        """A bound on the largest gain under q, or weights near it with ⟨targets, q⟩ = 1; below
        `aim` it is good enough."""
        return Proof(np.inf, q, "")


class SearchOracle(Oracle):
    """Every face of the arrangement where that is cheap, or time allows it when asked to verify;
    else local maxima from `restarts` random starts and those given, which prove nothing."""

    def __init__(
        self, rows: Array, rng: np.random.Generator, restarts: int, deadline: float = math.inf
    ) -> None:
        self.rows, self.rng, self.restarts, self.deadline = rows, rng, restarts, deadline
        load_search(rows)

    def best(self, q: Array, starts: Neurons, floor: float) -> Answer:
        return self.search(q, starts, floor, WALK_EACH_ROUND, self.restarts)

    def verified(self, q: Array, starts: Neurons, floor: float, deadline: float) -> Answer:
        effort = WALK_RATE * (deadline - time.monotonic())
        return self.search(q, starts, floor, effort, STRESS)

    def proven(self, targets: Array, q: Array, aim: float, deadline: float) -> Proof:
        cones, compiling = self._cones(q, aim)
        deadline += compiling
        if cones is None:
            return Proof(*proven_level(self.rows, targets, q, deadline), "a relaxation")
        now = time.monotonic()
        upper = cones(now + CONES_FIRST * (deadline - now))
        if upper > LOOSE * aim:
            now = time.monotonic()
            relaxed, weights = proven_level(self.rows, targets, q, now + RELAXED * (deadline - now))
            upper = cones(deadline)
            if relaxed < upper:
                return Proof(relaxed, weights, "a relaxation")
        else:
            upper = cones(deadline)
        ended = "" if upper <= aim * (1 + AIMED) else ", which time ended"
        return Proof(upper, q, "branch and bound over cones" + ended)

    def bounded(self, q: Array, aim: float, deadline: float) -> float:
        """A bound on the largest gain under q by cones; infinite where there are none."""
        cones, compiling = self._cones(q, aim)
        return np.inf if cones is None else cones(deadline + compiling)

    def _cones(self, q: Array, aim: float) -> tuple[Callable[[float], float] | None, float]:
        """What bounds the largest gain under q by cones until a deadline, better at every call, and
        the seconds that it took to compile; None where the rank is too high, or samples are too
        many."""
        from . import cone_branching

        on = q != 0
        reduced, _, lost = _in_their_span(self.rows[on])
        many = len(reduced) > cone_branching.MOST_SAMPLES
        if many or not 2 <= reduced.shape[1] <= cone_branching.HIGHEST:
            return None, 0.0
        compiling, rest = cone_branching.ready(), float(np.abs(q[on]) @ lost)
        search = cone_branching.ConeSearch(reduced, q[on], aim)
        return lambda deadline: search.bound(deadline) + rest, compiling

    def search(
        self, q: Array, starts: Neurons, floor: float, effort: float, restarts: int
    ) -> Answer:
        """Exactly where that costs at most `effort` faces, else from starts."""
        on = q != 0
        known = float(np.max(q @ starts.features(self.rows), initial=0.0))
        reduced, basis, lost = _in_their_span(self.rows[on])
        if faces_to_visit(*reduced.shape) <= effort:
            jitter = JITTER * (reduced.shape[1] > 3) * row_lengths(self.rows[on])
            shift = float(np.abs(q[on]) @ (lost + jitter))
            return _lifted(_exact(reduced, q[on], floor), basis, shift, known)
        starts = Neurons(starts.u @ basis.T, starts.s)
        return _lifted(self._from_starts(reduced, q[on], starts, restarts), basis, 0.0, known)

    def _from_starts(self, rows: Array, q: Array, starts: Neurons, restarts: int) -> Answer:
        found, values, dim = no_neurons(rows.shape[1]), np.zeros(0), rows.shape[1]
        for sign in (1.0, -1.0):
            fresh = self.rng.standard_normal((restarts, dim))
            begin = neurons_along(np.vstack([starts.u[starts.s == sign], fresh]), sign)
            u, reached = climbed(rows, sign * q, begin.u, self.deadline)
            found = found.joined(Neurons(u, np.full(len(u), sign)))
            values = np.append(values, reached)
        return Answer(found, values, float(np.max(values, initial=0.0)), "heuristic")

    def spanning(self, targets: Array) -> Neurons:
        n, rank = self.rows.shape
        if n <= rank:
            return independent_start(self.rows, targets)
        found = neurons_along(np.vstack([self.rows, -self.rows])).sided(self.rows)
        # the first program needs as long
        until = (time.monotonic() + self.deadline) / 2
        for _ in range(SPANNING):
            drawn = (self._random_ray() for _ in range(4 * n))
            rays = list(takewhile(lambda ray: time.monotonic() <= until, drawn))
            if not rays:
                break
            more = neurons_along(np.array(rays)).sided(self.rows)
            found = found.joined(more).spanning(self.rows)
            if np.linalg.matrix_rank(found.features(self.rows)) == n:
                break
        return found.both_ways()

    def _random_ray(self) -> Array:
        n, rank = self.rows.shape
        _, _, vt = np.linalg.svd(
            self.rows[self.rng.choice(n, rank - 1, replace=False)], full_matrices=True
        )
        ray: Array = vt[-1] * self.rng.choice([-1.0, 1.0])
        return ray


def independent_start(samples: Array, targets: Array) -> Neurons:
    """For independent samples: unit neurons that see one of them each, and one per sign that fits
    all labels of that sign."""
    one_each = np.eye(targets.size)
    sides = np.maximum(targets, 0.0), np.maximum(-targets, 0.0)
    # labels of one sign may all be tiny
    per_sign = [side / np.max(side) for side in sides if np.count_nonzero(side) > 1]
    seen = np.vstack([one_each, *per_sign])
    along = neurons_along(seen @ np.linalg.pinv(samples).T)
    return Neurons(along.u, along.s, np.sign(seen)).both_ways()


def in_units(rows: Array) -> tuple[Array, int]:
    """Rows in units of 2^k in which their squares are no matter, and k: zero but for lengths above
    2^400.

    Their bias of one is above 2^-624 then, and what underflows beside it is below 2^-1074."""
    unit = max(int(np.frexp(np.max(np.abs(rows)))[1]) - LARGEST_EXPONENT_OF_ROWS, 0)
    return np.ldexp(rows, -unit) if unit else rows, unit


def load_search(rows: Array) -> None:
    """Compile what searches these rows, or load it, before any clock starts."""
    ready(faces_to_visit(*rows.shape) > WALK_EACH_ROUND)


@functools.cache
def ready(climbing: bool) -> None:
    """Compile what searches, or load it, before any clock starts; says so where it has to be
    compiled."""
    from ..._numerics.compilation import announced
    from .arrangement import walk
    from .local_ascent import climb

    announced("best-neuron", walk, np.eye(3), np.array([1.0, -1.0, 1.0]), 0.0)
    if climbing:
        announced("best-neuron", climb, np.eye(2), np.eye(2), np.eye(2), stop_flag())


def exact_effort(rows: Array, q: Array) -> float:
    """What an exact search would visit."""
    return faces_to_visit(*_in_their_span(rows[q != 0])[0].shape)


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
    the other, until the deadline, the first at least a step. Starts from where all gradients vanish
    are left out."""
    return apart(_climbed, rows, q, np.array(u, order="C"), deadline)


def _climbed(rows: Array, q: Array, u: Array, deadline: float) -> tuple[Array, Array]:
    from .local_ascent import climb

    values, weighted = np.full(len(u), -np.inf), np.abs(q)[:, None] * rows
    convex, zonotope = weighted[q > 0], weighted[q < 0]
    left = deadline - time.monotonic()
    clock = Deadline(max(left, MOMENT) if left < math.inf else None)
    with clock.flag(clock.over) as stop:
        for k in range(len(u)):
            values[k : k + 1] = climb(u[k : k + 1], convex, zonotope, stop)
            if stop[0]:
                break
    reached = np.isfinite(values)
    return u[reached], values[reached]


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
