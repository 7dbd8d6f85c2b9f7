"""Column generation over neurons, for interpolators of least norm and F1 margins alike (B, eq. 8;
C, eq. 4 and Proposition 12).

A program over the neurons met so far (`masters`) gives a measure, so a level from below, and dual
weights; the search for the best neuron under these (`best_neuron`) bounds the level from above and
gives new neurons. Both bounds are kept from the best round, whatever ends the rounds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ..._core.arguments import Array
from ...errors import ConvergenceError
from .best_neuron import Answer, Oracle
from .columns import Neurons
from .masters import Master, ReachedLevel


@dataclass(frozen=True)
class Effort:
    """When rounds end, and what they may add."""

    gap: float
    """Relative gap asked for."""
    aim: float
    """Relative gap aimed at while that costs little: one more Newton step gives neurons more
    digits."""
    search_until: float
    """When no new round starts any more, by time.monotonic()."""
    proof_until: float
    """When the search for a proof of the upper bound ends, where faces are too many."""
    proof_gap: float = 1e-3
    """Relative gap that a proof need not go below: cones crawl there."""
    rounds: int = 1000
    """Most programs."""
    new: int = 20
    """New neurons a round, at most one per sample and this many more."""
    patience: int = 3
    """Rounds without progress after which the gap asked for is enough."""
    idle: int = 5
    """Rounds without new neurons or better bounds after which what is believed is verified."""
    stalled: int = 100
    """Rounds without better bounds after which no more digits are to be had."""

    @property
    def last_until(self) -> float:
        """When the last program, over all neurons, ends."""
        return (self.search_until + self.proof_until) / 2


@dataclass(eq=False)
class LevelBracket:
    """The best of both sides so far: lower ≤ level ≤ upper, both proven.

    weights: the q that proves `upper`. kind: 'exact' where `upper` is the largest gain under them,
    'bound' where it is only above it. guess: what a heuristic search believes the upper bound to
    be, under its own weights. proof: how a bound was proven. history: seconds, lower, upper,
    guess."""

    neurons: Neurons
    masses: Array
    lower: float
    weights: Array
    upper: float
    kind: str = "bound"
    guess: float = np.inf
    guess_weights: Array | None = None
    rounds: int = 0
    met: int = 0
    stopped: str = ""
    proof: str = ""
    history: list[tuple[float, float, float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Relative gap; infinite while nothing reaches a level."""
        return (self.upper - self.lower) / self.lower if self.lower > 0 else np.inf

    @property
    def believed_gap(self) -> float:
        return (self.guess - self.lower) / self.lower if self.lower > 0 else np.inf

    @property
    def bounds(self) -> tuple[float, float, float]:
        return self.lower, self.upper, self.guess

    def reach(self, found: ReachedLevel) -> None:
        if found.level > self.lower:
            self.lower, self.neurons, self.masses = found.level, found.neurons, found.masses

    def cap(self, answer: Answer, q: Array) -> None:
        maximum = max(answer.maximum, self.lower)  # below the level by rounding at most
        if answer.kind == "heuristic":
            if maximum < self.guess:
                self.guess, self.guess_weights = maximum, q
        elif maximum < self.upper:
            self.upper, self.weights, self.kind = maximum, q, "exact"

    def times(self, unit: int, rest: float) -> LevelBracket:
        """For rows in units of 2^unit; rest: what may have underflowed in these."""
        if not unit:
            return self
        size = float(np.ldexp(1.0, unit))
        history = [(t, size * low, size * up, size * told) for t, low, up, told in self.history]
        return replace(
            self,
            lower=self.lower * size,
            upper=(self.upper + rest) * size,
            guess=self.guess * size,
            history=history,
        )


def generate(
    master: Master,
    oracle: Oracle,
    columns: Neurons,
    bracket: LevelBracket,
    effort: Effort,
    first: Array | None = None,
) -> LevelBracket:
    """Rounds from the columns given, and the best neurons under weights `first`, until the gap or
    the time is reached; the bracket is filled."""
    search = _Search(master, oracle, bracket, effort)
    try:
        if first is not None:
            columns = columns.joined(search.better(first, columns))
        columns = _rounds(search, columns)
        bracket.met = len(columns)
        last = master.last(columns, effort.last_until) if bracket.gap > effort.gap else None
        if last is not None:
            bracket.reach(last)
    except ConvergenceError as failure:
        late = time.monotonic() >= effort.search_until
        bracket.stopped = bracket.stopped or ("time is up" if late else str(failure))
    if bracket.gap > effort.gap and bracket.guess_weights is not None:
        aim = bracket.lower * (1 + max(effort.proof_gap, 0.9 * effort.gap))
        proof = oracle.proven(master.targets, bracket.guess_weights, aim, effort.proof_until)
        if proof.upper < bracket.upper:
            bracket.upper, bracket.weights = max(proof.upper, bracket.lower), proof.q
            bracket.kind, bracket.proof = "bound", proof.how
    return bracket


@dataclass(frozen=True, eq=False)
class _Search:
    """What a round has at hand."""

    master: Master
    oracle: Oracle
    bracket: LevelBracket
    effort: Effort

    def better(self, q: Array, starts: Neurons, verify: bool = False) -> Neurons:
        """Search under q: a better bound into the bracket; columns that beat the level so far."""
        bracket, effort = self.bracket, self.effort
        if verify:
            answer = self.oracle.verified(q, starts, bracket.lower, effort.search_until)
            bracket.guess, bracket.guess_weights = np.inf, None  # guesses may have been too low
        else:
            answer = self.oracle.best(q, starts, bracket.lower)
        bracket.cap(answer, q)
        above = np.flatnonzero(answer.values > bracket.lower)[: q.size + effort.new]
        return self.master.column(answer.neurons.chosen(above))


def _rounds(search: _Search, columns: Neurons) -> Neurons:
    """Programs and searches by turns; every neuron met."""
    bracket, effort, idle, stalled = search.bracket, search.effort, 0, 0
    began = time.monotonic()
    for bracket.rounds in range(1, effort.rounds + 1):
        before = bracket.bounds
        found = search.master.solve(columns, effort.search_until)
        bracket.reach(found)
        size = len(columns)
        for q in found.duals:
            columns = columns.joined(search.better(q, found.neurons))
            if bracket.gap <= effort.aim:
                break
        idle = 0 if len(columns) > size and bracket.bounds != before else idle + 1
        believed = bracket.believed_gap <= effort.gap or idle >= effort.idle
        if bracket.gap > effort.gap and believed:
            new = search.better(found.duals[0], found.neurons, verify=True)
            columns, idle = columns.joined(new), 0 if len(new) else effort.idle
        bracket.history.append((time.monotonic() - began, *bracket.bounds))
        stalled = 0 if bracket.bounds != before else stalled + 1
        bracket.stopped = _reason(bracket, effort, idle, stalled)
        if bracket.stopped:
            return columns
    bracket.stopped = "round limit reached"
    return columns


def _reason(bracket: LevelBracket, effort: Effort, idle: int, stalled: int) -> str:
    """Why rounds end here; empty: they do not."""
    if bracket.gap <= effort.aim or (bracket.gap <= effort.gap and stalled >= effort.patience):
        return "gap reached"
    if bracket.gap > effort.gap and (bracket.believed_gap <= effort.gap or idle >= effort.idle):
        return "no better neuron found"
    if time.monotonic() >= effort.search_until:
        return "time is up"
    return "no progress" if stalled >= effort.stalled else ""
