"""Column generation for γ₁ = max_ν min_i y_i∫φ(θ, x_i)dν = min_p max_θ Σ_ip_iy_iφ(θ, x_i) (C, eq. 4
and Proposition 12).

A linear program over the neurons met so far gives ν, so a margin, and weights p; the search for the
best neuron under p bounds γ₁ from above and gives new neurons. Both bounds are kept from the best
round, whatever ends the rounds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..._core.arguments import Array, Index, Mask, row_lengths
from ...errors import ConvergenceError
from ..matrix_games import Game, solve_game
from .best_neuron import (
    WALK_EACH_ROUND,
    WALK_RATE,
    Answer,
    Neurons,
    exact_effort,
    faces_to_visit,
    in_units,
    ready,
    search,
)
from .relaxation import proven_margin

ROUNDS = 1000
TINY = float(np.finfo(float).smallest_subnormal)
"""What is lost of an entry that underflows, at most."""
STREAM = 7
"""Start of the random stream, so that data drawn with the same key are independent of the
starts."""
START = 100
"""Random neurons of either sign to begin with."""
WORKING = 3
"""Neurons in a linear program, per sample, to begin with: those in use and the latest; the last
program takes all."""
SETTLED = 1e-12
"""Relative gain of the margin below which a round counts as without progress."""
NEW = 20
"""New neurons a round, at most one per sample and this many more."""
VIOLATED = 1e-12
"""How far below the margin, relative to it, a sample left out of a program may lie before it
joins."""
STRESS = 1000
"""Random starts of either sign before a guess is believed."""
POLISH = 2.0
"""Seconds that the last program over all neurons may take beyond the budget."""
PROOF_SHARE, PROOF = 0.15, 1.5
"""Share of the budget, and at least so many seconds, that the search for a proof may take beyond
it, where faces are too many."""
CLOSE = 30
"""Samples of least margin that the next program begins with."""
IDLE = 5
"""Rounds without new neurons or better bounds after which a heuristic search ends."""
STALLED = 100
"""Rounds without better bounds after which no more digits are to be had."""


class Clock:
    """Seconds passed and left of a budget."""

    def __init__(self, time_s: float) -> None:
        self.began, self.time_s = time.monotonic(), time_s

    @property
    def passed(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        return self.time_s - self.passed

    def allows(self, effort: float) -> bool:
        """Does an exact search of this effort fit into the time left?"""
        return effort <= WALK_RATE * self.left


@dataclass(eq=False)
class Bracket:
    """The best of both sides so far: lower ≤ γ₁ ≤ upper, both proven.

    kind: 'exact' where `upper` is the largest gain under `weights`, 'bound' where it is only above
    it. guess: what a heuristic search believes the upper bound to be, under its own weights.
    """

    neurons: Neurons
    masses: Array
    lower: float
    weights: Array
    upper: float
    kind: str
    guess: float = np.inf
    guess_weights: Array | None = None
    rounds: int = 0
    met: int = 0
    stopped: str = ""
    history: list[tuple[float, float, float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative gap; infinite while no neuron separates."""
        return (self.upper - self.lower) / self.lower if self.lower > 0 else np.inf

    @property
    def believed_gap(self) -> float:
        return (self.guess - self.lower) / self.lower if self.lower > 0 else np.inf

    def times(self, unit: int, rest: float) -> Bracket:
        """For rows in units of 2^unit; rest: what may have underflowed in these."""
        if not unit:
            return self
        size = float(np.ldexp(1.0, unit))
        history = [
            (passed, lower * size, upper * size, guess * size)
            for passed, lower, upper, guess in self.history
        ]
        return replace(
            self,
            lower=self.lower * size,
            upper=(self.upper + rest) * size,
            guess=self.guess * size,
            history=history,
        )

    @property
    def bounds(self) -> tuple[float, float, float]:
        return self.lower, self.upper, self.guess


def generate(
    rows: Array,
    y: Array,
    gap: float,
    time_s: float,
    key: int,
    p: Array,
    extra: Neurons | None = None,
) -> Bracket:
    """Column generation from weights p and random neurons, until the gap or the time is reached, or
    Ctrl-C."""
    rows, unit = in_units(rows)
    ready(faces_to_visit(*rows.shape) > WALK_EACH_ROUND)
    clock, bracket = Clock(time_s), first_bracket(rows, y)
    rng = np.random.default_rng([STREAM, key])
    pool = _random(rng, START, rows.shape[1])
    pool = pool if extra is None else extra.joined(pool)
    try:
        pool = pool.joined(_searched(bracket, rows, y, p, pool, rng, WALK_EACH_ROUND))
        pool = _rounds(bracket, rows, y, pool, rng, gap, clock)
        _polished(bracket, rows, y, pool, gap, clock)
    except KeyboardInterrupt:
        bracket.stopped = "interrupted"
    except ConvergenceError as failure:
        bracket.stopped = bracket.stopped or ("time is up" if clock.left <= 0 else str(failure))
    _proven(bracket, rows, y, clock)
    return bracket.times(unit, rows.shape[1] * TINY)


def _rounds(
    bracket: Bracket,
    rows: Array,
    y: Array,
    pool: Neurons,
    rng: np.random.Generator,
    gap: float,
    clock: Clock,
) -> Neurons:
    """Programs and searches by turns; every neuron met."""
    working, active, idle = np.arange(len(pool)), np.ones(y.size, dtype=bool), 0
    stalled = 0
    room, before = WORKING * y.size, bracket.bounds
    for bracket.rounds in range(1, ROUNDS + 1):
        Z = y[:, None] * pool.chosen(working).features(rows)
        game, active = _game_on(Z, active, bracket.lower or None, clock.left)
        a = np.zeros(len(pool))
        a[working] = game.a
        _primal(bracket, pool, a, game.lower)
        gained = bracket.lower > (1 + SETTLED) * before[0]
        room = room if gained else int(1.5 * room)  # leaving neurons out must not make a cycle
        before = bracket.bounds
        new = _searched(bracket, rows, y, game.p, pool.chosen(a > 0), rng, WALK_EACH_ROUND)
        idle = 0 if len(new) and bracket.bounds != before else idle + 1
        if bracket.gap > gap and (bracket.believed_gap <= gap or idle >= IDLE):
            new = _verified(bracket, rows, y, game.p, pool.chosen(a > 0), rng, clock)
            idle = 0 if len(new) else IDLE
        bracket.history.append((clock.passed, *bracket.bounds))
        stalled = 0 if gained or bracket.bounds != before else stalled + 1
        bracket.stopped = _reason(bracket, gap, idle, clock) or (
            "no progress" if stalled >= STALLED else ""
        )
        if bracket.stopped:
            return pool.joined(new)
        pool, working = _widened(pool, a, new, working, room)
    bracket.stopped = "round limit reached"
    return pool


def first_bracket(rows: Array, y: Array) -> Bracket:
    """What needs no search: f in the unit ball is ½-Lipschitz and |f(x)| ≤ ½‖x̃‖, so γ₁ ≤ Δ/4 and
    γ₁ ≤ ½min‖x̃_i‖."""
    lengths = np.linalg.norm(rows, axis=1)
    nearest = int(np.argmin(lengths))
    p, upper = np.zeros(y.size), float(lengths[nearest]) / 2
    p[nearest] = 1.0
    plus, minus = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if plus.size and minus.size:
        i, j, distance = closest_pair(rows[plus], rows[minus])
        if distance / 4 < upper:
            upper, p = distance / 4, np.zeros(y.size)
            p[[plus[i], minus[j]]] = 0.5
    axis = np.eye(rows.shape[1])[-1:]
    nothing = Neurons(np.vstack([axis, axis]), np.array([1.0, -1.0]))
    return Bracket(nothing, np.array([0.5, 0.5]), 0.0, p, upper, "bound")


def closest_pair(A: Array, B: Array) -> tuple[int, int, float]:
    """Rows of A and B at the least distance."""
    best = (0, 0, np.inf)
    for i, row in enumerate(A):
        lengths = row_lengths(B - row)
        j = int(np.argmin(lengths))
        if lengths[j] < best[2]:
            best = (i, j, float(lengths[j]))
    return best


def _game_on(Z: Array, active: Mask, unit: float | None, time_s: float) -> tuple[Game, Mask]:
    """The game over all samples by programs over some: samples that lie below the margin join;
    those far above it leave."""
    began = time.monotonic()
    active = active.copy()
    while True:
        small = solve_game(Z[active], unit, time_s - (time.monotonic() - began))
        margins = Z @ small.a
        below = ~active & (margins < small.lower - VIOLATED * abs(small.lower))
        if not np.any(below) or time.monotonic() - began > time_s:
            break
        active |= below
    p = np.zeros(active.size)
    p[active] = small.p
    nearby = np.partition(margins, min(CLOSE, margins.size - 1))[min(CLOSE, margins.size - 1)]
    return Game(small.a, p, float(np.min(margins)), small.upper), (p > 0) | (margins <= nearby)


def _random(rng: np.random.Generator, count: int, dim: int) -> Neurons:
    u = rng.standard_normal((count, dim))
    u = u / np.linalg.norm(u, axis=1)[:, None]
    return Neurons(np.vstack([u, u]), np.repeat([1.0, -1.0], count))


def _primal(bracket: Bracket, pool: Neurons, a: Array, lower: float) -> None:
    if lower > bracket.lower:
        bracket.lower, bracket.neurons, bracket.masses = lower, pool.chosen(a > 0), a[a > 0]


def _searched(
    bracket: Bracket,
    rows: Array,
    y: Array,
    p: Array,
    starts: Neurons,
    rng: np.random.Generator,
    effort: float,
) -> Neurons:
    """Search under p: better bounds into the bracket; neurons that beat the margin so far."""
    answer = search(rows, p * y, starts, rng, bracket.lower, effort)
    _dual(bracket, answer, p)
    better = np.flatnonzero(answer.values > bracket.lower)[: y.size + NEW]
    return answer.neurons.chosen(better)


def _verified(
    bracket: Bracket,
    rows: Array,
    y: Array,
    p: Array,
    starts: Neurons,
    rng: np.random.Generator,
    clock: Clock,
) -> Neurons:
    """Nothing better seems to exist: an exact search where time allows, else one from many more
    starts. Guesses were too low?"""
    if clock.allows(exact_effort(rows, p * y)):
        answer = search(rows, p * y, starts, rng, bracket.lower, np.inf)
    else:
        answer = search(rows, p * y, starts, rng, bracket.lower, 0.0, STRESS)
        bracket.guess = np.inf
    _dual(bracket, answer, p)
    return answer.neurons.chosen(np.flatnonzero(answer.values > bracket.lower)[: y.size + NEW])


def _dual(bracket: Bracket, answer: Answer, p: Array) -> None:
    maximum = max(answer.maximum, bracket.lower)  # below the margin by rounding at most
    if answer.kind == "heuristic":
        if maximum < bracket.guess:
            bracket.guess, bracket.guess_weights = maximum, p
    elif maximum < bracket.upper:
        bracket.upper, bracket.weights, bracket.kind = maximum, p, "exact"


def _reason(bracket: Bracket, gap: float, idle: int, clock: Clock) -> str:
    if bracket.gap <= gap:
        return "gap reached"
    if bracket.believed_gap <= gap or idle >= IDLE:
        return "no better neuron found"
    return "time is up" if clock.left <= 0 else ""


def _widened(
    pool: Neurons, a: Array, new: Neurons, working: Index, room: int
) -> tuple[Neurons, Index]:
    """The pool with the new neurons, and what the next program sees: those in use, the new ones,
    and the latest of the others."""
    used, size = a[working] > 0, len(pool)
    others = np.sort(working[~used])[::-1][: max(room - len(new), 0)]
    return pool.joined(new), np.concatenate([working[used], others, size + np.arange(len(new))])


def _polished(
    bracket: Bracket, rows: Array, y: Array, pool: Neurons, gap: float, clock: Clock
) -> None:
    """A last program over every neuron met."""
    bracket.met = len(pool)
    if bracket.gap > gap:
        Z = y[:, None] * pool.features(rows)
        game, _ = _game_on(Z, bracket.weights > 0, bracket.lower or None, max(clock.left, POLISH))
        _primal(bracket, pool, game.a, game.lower)


def _proven(bracket: Bracket, rows: Array, y: Array, clock: Clock) -> None:
    """A better upper bound, with a proof, where only a heuristic search believes in one."""
    if bracket.guess < bracket.upper and bracket.guess_weights is not None:
        end = clock.began + clock.time_s + max(PROOF_SHARE * clock.time_s, PROOF)
        upper, p = proven_margin(rows, y, bracket.guess_weights, end)
        if upper < bracket.upper:
            bracket.upper, bracket.weights, bracket.kind = max(upper, bracket.lower), p, "bound"
