"""The two linear programs over the neurons met so far.

Both ask for the largest level t at which a measure of mass one on neurons reaches t·targets:
exactly, t·z_k = Σ_jm_js_j(⟨u_j, u_k⟩)₊, where 1/t is the least norm Σ|c_j| of an interpolator (B,
eq. 8); or at least, t ≤ y_iΣ_jm_js_j(⟨u_j, c_i⟩)₊, where t is the F1 margin (C, eq. 4). Dual
weights q with ⟨targets, q⟩ = 1 prove t ≤ max_θ Σ_iq_is(⟨u, c_i⟩)₊."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array, Mask
from ..._numerics.interrupts import apart
from ...errors import ConvergenceError
from ..matrix_games import Game, solve_game
from .cell_program import Neuron, Solved, merged, solve_on_cells
from .columns import Neurons

WORKING, ENOUGH = 3, 200
"""Neurons in a game beside those in use, the latest first, per sample and at most: more of them
lengthen every game and save few rounds. The last game takes all."""
WIDER = 1.5
"""Factor by which a game's room for neurons grows after a round without progress: leaving neurons
out must not make a cycle."""
SETTLED = 1e-12
"""Relative gain of the level below which a round counts as without progress."""
BELOW = 1e-12
"""How far below the margin, relative to it, a sample left out of a game may lie before it joins."""
FIRST_SAMPLES = 30
"""Samples of least margin that the next game begins with."""
MANY_SAMPLES = 300
"""Samples from which on the first game begins with those that a guess gives weight: of fewer, the
games in which others join cost as much as one over all."""
ATTEMPTS = (("highs", 1e-10), ("highs-ds", 1e-9), ("highs-ds", 1e-7), ("highs-ipm", 1e-7))
"""HiGHS with its tightest tolerance first; where it gives up on nearly dependent neurons, looser
ones: Newton adds the digits."""
FEASIBLE = 1e-9
"""Largest misfit (largest |z_k| being one) of neurons that are taken as an interpolator."""


@dataclass(frozen=True, eq=False)
class ReachedLevel:
    """A measure of mass one, the level it reaches (zero: none), and dual weights q to try."""

    neurons: Neurons
    masses: Array
    level: float
    duals: tuple[Array, ...]


class Master(ABC):
    """A program over columns, which grow from call to call."""

    targets: Array

    @abstractmethod
    def solve(self, columns: Neurons, deadline: float) -> ReachedLevel:
        """The best measure on the columns, or on some; a ConvergenceError where there is none."""

    def last(self, columns: Neurons, deadline: float) -> ReachedLevel | None:
        """The best measure on all columns, where `solve` left some out."""
        return None

    def column(self, neurons: Neurons) -> Neurons:
        """Neurons as columns of this program."""
        return neurons


class MarginMaster(Master):
    """The game over samples and neurons: those in use, the latest ones, and as many samples as
    matter."""

    def __init__(self, rows: Array, y: Array, guess: Array) -> None:
        """guess: the samples' weights, about; the first game may begin with those that have
        some."""
        self.rows, self.targets = rows, y
        self.active = guess != 0 if y.size > MANY_SAMPLES else np.ones(y.size, dtype=bool)
        self.used = np.zeros(0, dtype=np.intp)
        self.seen, self.room, self.level = 0, min(WORKING * y.size, ENOUGH), 0.0
        self.others = np.zeros(0, dtype=np.intp)

    def solve(self, columns: Neurons, deadline: float) -> ReachedLevel:
        new = np.arange(self.seen, len(columns))
        kept = self.others[: max(self.room - new.size, 0)] if self.seen else self.others
        working = np.concatenate([self.used, kept, new])
        reached, game, self.active = self._played(columns.chosen(working), self.active, deadline)
        order = game.a > 0
        self.used, self.seen = working[order], len(columns)
        self.others = np.sort(working[~order])[::-1]
        if not reached.level > (1 + SETTLED) * self.level:
            self.room = int(WIDER * self.room)
        self.level = max(self.level, reached.level)
        return reached

    def last(self, columns: Neurons, deadline: float) -> ReachedLevel | None:
        return self._played(columns, self.active, deadline)[0]

    def _played(
        self, columns: Neurons, active: Mask, deadline: float
    ) -> tuple[ReachedLevel, Game, Mask]:
        Z = self.targets[:, None] * columns.features(self.rows)
        game, active = _game_on(Z, active, self.level or None, deadline)
        inside = game.a > 0
        measure = columns.chosen(inside), game.a[inside]
        return ReachedLevel(*measure, max(game.lower, 0.0), (game.p * self.targets,)), game, active


def _game_on(Z: Array, active: Mask, unit: float | None, deadline: float) -> tuple[Game, Mask]:
    """The game over all samples by programs over some: samples that lie below the margin join;
    those far above it leave."""
    active = active.copy()
    while True:
        small = solve_game(Z[active], unit, deadline)
        margins = Z @ small.a
        below = ~active & (margins < small.lower - BELOW * abs(small.lower))
        if not np.any(below) or time.monotonic() > deadline:
            break
        active |= below
    p = np.zeros(active.size)
    p[active] = small.p
    nearby = np.partition(margins, min(FIRST_SAMPLES, margins.size - 1))[
        min(FIRST_SAMPLES, margins.size - 1)
    ]
    return Game(small.a, p, float(np.min(margins)), small.upper), (p > 0) | (margins <= nearby)


class NormMaster(Master):
    """min Σ|c_j| subject to interpolation; neurons that share a cell are merged and solved for by
    Newton's method."""

    def __init__(self, samples: Array, targets: Array) -> None:
        self.samples, self.targets = samples, targets

    def column(self, neurons: Neurons) -> Neurons:
        return neurons.sided(self.samples)

    def solve(self, columns: Neurons, deadline: float) -> ReachedLevel:
        masses, lam = self._program(columns.features(self.samples), deadline)
        neurons = merged(columns, masses)
        newton = solve_on_cells(neurons, self.samples, self.targets, lam, deadline)
        solved = newton or Solved(tuple(neurons), lam)
        fits = solved.misfit(self.samples, self.targets) <= FEASIBLE
        trials = [lam] if newton is None else [newton.lam, lam]
        gains = [float(self.targets @ trial) for trial in trials]
        duals = tuple(t / gain for t, gain in zip(trials, gains, strict=True) if gain > 0)
        return ReachedLevel(*_measure(solved.neurons), 1 / solved.norm if fits else 0.0, duals)

    def _program(self, features: Array, deadline: float) -> tuple[Array, Array]:
        """Masses m ≥ 0 of least sum with Σ_jm_jφ_j = z, and multipliers λ."""
        for method, tolerance in ATTEMPTS:
            options = {
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
                "time_limit": max(deadline - time.monotonic(), 0.1),
            }
            solution = apart(
                linprog,
                np.ones(features.shape[1]),
                A_eq=features,
                b_eq=self.targets,
                bounds=(0, None),
                method=method,
                options=options,
            )
            if solution.status == 0:
                return solution.x, solution.eqlin.marginals
            if time.monotonic() > deadline:
                break
        raise ConvergenceError(f"linear program: {solution.message}")


def _measure(neurons: tuple[Neuron, ...]) -> tuple[Neurons, Array]:
    """Of mass one."""
    vectors = np.array([neuron.v for neuron in neurons])
    lengths = np.linalg.norm(vectors, axis=1)
    signs = np.array([neuron.sign for neuron in neurons])
    sides = np.array([neuron.sides for neuron in neurons])
    return Neurons(vectors / lengths[:, None], signs, sides), lengths / np.sum(lengths)
