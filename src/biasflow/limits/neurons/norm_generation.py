"""Column generation for min Σ|c_j| over unit neurons u_j subject to Σ_j c_j(⟨u_j, u_k⟩)_+ = z_k (B,
eq. 8).

Its dual is max ⟨z, λ⟩ subject to |Σ_k λ_k(⟨u, u_k⟩)_+| ≤ 1 for every unit u. A linear program over
the neurons so far gives masses and λ; neurons that share a cell are merged and solved for by
Newton's method; the oracle finds the neurons that λ violates. Whatever λ is, ⟨z, λ⟩ over the
oracle's proven maximum bounds the optimum from below."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array, Index
from ...errors import ConvergenceError
from .cell_program import Neuron, Solved, merged, solve_on_cells
from .norm_oracles import Directions, Oracle

PROOF = 0.3
"""Share of the time that is kept for the proof of the dual bound, where that is searched for."""
VIOLATED = 1e-12
"""Excess of a dual constraint over one that makes its neuron a new column."""
ROUNDS = 300
PATIENCE = 3
"""Rounds without progress after which a gap that is small enough is left as it is."""
BEYOND = 1e-2
"""The gap aimed at, as a share of the gap asked for: one more Newton step costs little and gives
the neurons more digits."""
NEW_PER_SAMPLE = 4
"""Most new columns per sample and round, the most violated first."""
ATTEMPTS = (("highs", 1e-10), ("highs-ds", 1e-9), ("highs-ds", 1e-7), ("highs-ipm", 1e-7))
"""HiGHS with its tightest tolerance first; where it gives up on nearly dependent neurons, looser
ones: Newton adds the digits."""
FEASIBLE = 1e-9
"""Largest misfit (largest |z_k| being one) of neurons that are taken as an interpolator."""


@dataclass(frozen=True, eq=False)
class Generated:
    """The best neurons found, and multipliers proven to satisfy every constraint; dual: ⟨z, λ⟩."""

    neurons: tuple[Neuron, ...]
    norm: float
    lam: Array
    dual: float
    rounds: int
    columns: int

    @property
    def gap(self) -> float:
        return (self.norm - self.dual) / self.norm


def generate(oracle: Oracle, targets: Array, gap: float, time_s: float) -> Generated:
    """Neurons and multipliers whose relative gap is at most `gap`, or the best when time or
    progress ends."""
    end = time.monotonic() + time_s
    oracle.deadline = deadline = end - PROOF * time_s
    samples, columns = oracle.samples, oracle.start(targets)
    best, best_norm = tuple[Neuron, ...](), np.inf
    best_lam, dual, idle = np.zeros(targets.size), -np.inf, 0
    rounds = 0
    while rounds < ROUNDS:
        rounds += 1
        before = best_norm - dual
        program = _program(columns.features(samples), targets, deadline)
        if program is None:
            break
        masses, lam = program
        neurons = merged(columns, masses)
        solved = solve_on_cells(neurons, samples, targets, lam, deadline) or Solved(
            tuple(neurons), lam
        )
        if solved.norm < best_norm and solved.misfit(samples, targets) <= FEASIBLE:
            best, best_norm = solved.neurons, solved.norm
        found = []
        for trial in [lam] if solved.lam is lam else [solved.lam, lam]:
            largest, violated = _constraints(oracle, trial)
            found.append(violated)
            if largest > 0 and float(targets @ trial) / largest > dual:
                best_lam, dual = trial / largest, float(targets @ trial) / largest
            if best_norm - dual <= gap * best_norm:
                break
        idle = idle + 1 if best_norm - dual >= 0.9 * before else 0
        close = best_norm - dual <= gap * best_norm
        done = best_norm - dual <= BEYOND * gap * best_norm or (close and idle >= PATIENCE)
        if done or time.monotonic() > deadline or not sum(map(len, found)):
            break
        for violated in found:
            columns = columns.joined(violated)
    if not best:
        late = time.monotonic() > deadline
        why = (
            f"within {time_s:g} s; raise time_s"
            if late
            else "; the inputs are too close to one another"
        )
        raise ConvergenceError(
            f"min_norm_interpolator: no interpolating network was found {why}".replace(" ;", ";")
        )
    best_lam, dual = oracle.proven(targets, best_lam, end)
    return Generated(best, best_norm, best_lam, dual, rounds, len(columns))


def _program(features: Array, targets: Array, deadline: float) -> tuple[Array, Array] | None:
    """min Σ|c_j| subject to Σ_j c_jφ_j = z: masses c and multipliers λ. None where HiGHS fails, or
    time ends."""
    count = features.shape[0]
    both = np.hstack([features.T, -features.T])
    for method, tolerance in ATTEMPTS:
        left = max(deadline - time.monotonic(), 0.1)
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
            "time_limit": left,
        }
        solution = linprog(
            np.ones(2 * count),
            A_eq=both,
            b_eq=targets,
            bounds=(0, None),
            method=method,
            options=options,
        )
        if solution.status == 0:
            return solution.x[:count] - solution.x[count:], solution.eqlin.marginals
    return None


def _constraints(oracle: Oracle, lam: Array) -> tuple[float, Directions]:
    """The largest |Σ_k λ_k(⟨u, u_k⟩)_+| that the oracle finds, and the neurons where it exceeds
    one."""
    found, largest = [], 0.0
    for sign in (1.0, -1.0):
        directions = oracle.maxima(sign * lam)
        values = directions.features(oracle.samples) @ (sign * lam)
        largest = max(largest, float(np.max(values, initial=0.0)))
        worst: Index = np.argsort(-values)[: NEW_PER_SAMPLE * lam.size]
        found.append(directions.chosen(worst[values[worst] > 1 + VIOLATED]))
    return largest, found[0].joined(found[1])
