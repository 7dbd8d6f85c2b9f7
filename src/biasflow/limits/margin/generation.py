"""Column generation for γ₁ = max_ν min_i y_i∫φ(θ, x_i)dν = min_p max_θ Σ_ip_iy_iφ(θ, x_i) (C, eq. 4 and Proposition 12).

A linear program over the neurons met so far gives ν, so a margin, and weights p; the search for the best neuron under p bounds γ₁
from above and gives new neurons. Both bounds are kept from the best round, whatever ends the rounds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from ...inputs import Array
from .games import Game, solve_game
from .oracles import WALK_AT_ALL, WALK_EACH_ROUND, Answer, Neurons, exact_effort, search
from .relaxation import proven_bound

ROUNDS = 1000
START = 100
"""Random neurons of either sign to begin with."""
WORKING = 6
"""Neurons in a linear program, per sample: those in use and the latest; the last program takes all."""
NEW = 1.0
"""New neurons per sample and round, at most."""
IDLE = 5
"""Rounds without new neurons or better bounds after which a heuristic search ends."""


@dataclass(eq=False)
class Bracket:
    """The best of both sides so far: lower ≤ γ₁ ≤ upper. kind: of `upper`, 'exact' or 'bound', both proven. `guess`: what a
    heuristic search believes the upper bound to be."""

    neurons: Neurons
    masses: Array
    lower: float
    weights: Array
    upper: float
    kind: str
    guess: float = np.inf
    rounds: int = 0
    met: int = 0
    stopped: str = ""
    history: list[tuple[float, float, float]] = field(default_factory=list)

    def gap(self, upper: float | None = None) -> float:
        """Relative gap; infinite while no neuron separates."""
        return ((self.upper if upper is None else upper) - self.lower) / self.lower if self.lower > 0 else np.inf


def generate(rows: Array, y: Array, gap: float, time_s: float, key: int, p: Array, extra: Neurons | None = None) -> Bracket:
    """Column generation from weights p and random neurons, until the gap or the time is reached, or Ctrl-C."""
    began = time.monotonic()
    rng = np.random.default_rng([7, key])
    bracket = first_bracket(rows, y)
    pool = _random(rng, START, rows.shape[1])
    pool = pool if extra is None else extra.joined(pool)
    try:
        pool = pool.joined(_round(bracket, rows, y, p, pool, rng, began))
        working = np.arange(len(pool))
        idle = 0
        for bracket.rounds in range(1, ROUNDS + 1):
            left = time_s - (time.monotonic() - began)
            game = solve_game(y[:, None] * pool.chosen(working).features(rows), bracket.lower or None, left)
            a = np.zeros(len(pool))
            a[working] = game.a
            _primal(bracket, pool, a, game)
            before = (bracket.lower, bracket.upper, bracket.guess)
            new = _round(bracket, rows, y, game.p, pool.chosen(a > 0), rng, began)
            bracket.met = len(pool) + len(new)
            reason = _reason(bracket, gap, time_s - (time.monotonic() - began))
            idle = 0 if len(new) and (bracket.lower, bracket.upper, bracket.guess) != before else idle + 1
            if reason or idle >= IDLE or (not len(new) and bracket.kind == "exact"):
                bracket.stopped = reason or "no better neuron found"
                break
            pool, working = _widened(pool, a, new, y.size, working)
        _finish(bracket, rows, y, pool, gap, time_s - (time.monotonic() - began))
    except KeyboardInterrupt:
        bracket.stopped = "interrupted"
    return bracket


def first_bracket(rows: Array, y: Array) -> Bracket:
    """What needs no search: f in the unit ball is ½-Lipschitz and |f(x)| ≤ ½‖x̃‖, so γ₁ ≤ Δ/4 and γ₁ ≤ ½min‖x̃_i‖."""
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
        squares = np.sum((B - row) ** 2, axis=1)
        j = int(np.argmin(squares))
        if squares[j] < best[2]:
            best = (i, j, float(squares[j]))
    return best[0], best[1], float(np.sqrt(best[2]))


def _random(rng: np.random.Generator, count: int, dim: int) -> Neurons:
    u = rng.standard_normal((count, dim))
    u = u / np.linalg.norm(u, axis=1)[:, None]
    return Neurons(np.vstack([u, u]), np.repeat([1.0, -1.0], count))


def _primal(bracket: Bracket, pool: Neurons, a: Array, game: Game) -> None:
    if game.lower > bracket.lower:
        bracket.lower, bracket.neurons, bracket.masses = game.lower, pool.chosen(a > 0), a[a > 0]


def _round(bracket: Bracket, rows: Array, y: Array, p: Array, starts: Neurons, rng: np.random.Generator, began: float) -> Neurons:
    """Search under p: better bounds into the bracket; neurons that beat the margin so far."""
    answer = search(rows, p * y, starts, rng, bracket.lower, WALK_EACH_ROUND)
    _dual(bracket, answer, p)
    bracket.history.append((time.monotonic() - began, bracket.lower, min(bracket.upper, bracket.guess)))
    better = np.flatnonzero(answer.values > bracket.lower)[: int(NEW * y.size) + 20]
    return answer.neurons.chosen(better)


def _dual(bracket: Bracket, answer: Answer, p: Array) -> None:
    if answer.kind == "heuristic":
        bracket.guess = min(bracket.guess, max(answer.maximum, bracket.lower))
    elif answer.maximum < bracket.upper:
        bracket.upper, bracket.weights, bracket.kind = max(answer.maximum, bracket.lower), p, "exact"


def _reason(bracket: Bracket, gap: float, left: float) -> str:
    if bracket.gap() <= gap or bracket.gap(bracket.guess) <= gap:
        return "gap reached" if bracket.gap() <= gap else "no better neuron found"
    return "time is up" if left <= 0 else ""


def _widened(pool: Neurons, a: Array, new: Neurons, n: int, working: Array) -> tuple[Neurons, Array]:
    """The pool with the new neurons, and what the next program sees: those in use, then the latest."""
    size = len(pool)
    latest = working[a[working] == 0][-max(WORKING * n - len(new), 0) :] if WORKING * n > len(new) else working[:0]
    return pool.joined(new), np.concatenate([np.flatnonzero(a > 0), latest, size + np.arange(len(new))])


def _finish(bracket: Bracket, rows: Array, y: Array, pool: Neurons, gap: float, left: float) -> None:
    """A last program over every neuron met; where the search was heuristic, proofs: exact if that can be had, else relaxed."""
    return
