"""Steps of the dual flow on separable data: implicit Euler, extrapolated, and the clock beside it.

Where norms are large the flow keeps the least margins equal, and σ ↦ s is a straight line but for
terms e^{−κσ}: implicit steps follow it exactly however long they are, and a sample that joins or
leaves the least margins is a kink, which the step control finds. Extrapolation over 1, 2, …, K
substeps raises the order to K where the path is smooth. A second march takes the same steps at the
order before; the distance of the two is the error of the second, which is more than that of the
first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.results import Result
from .proximal_step import DualFrame, implicit_step

ORDER = 4
"""Substeps of the finest of the runs that are extrapolated, and the order."""
SAFETY, SHRINK, GROW = 0.7, 0.2, 4.0
FAILED = 0.25
"""Factor on a step whose implicit equations were not solved."""
MOST_STEPS = 20_000
STEEPEST = 2.0
"""Rise of the logarithm of the clock's rate in a step up to which the clock is extrapolated, too;
beyond it is the integral of e to a cubic."""
CERTAIN = 60.0
"""Logarithm of time from which its error no longer limits steps: β depends on log t."""
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
HALVINGS = 60
LATEST = 700.0
"""Logarithm of the last time that a float holds."""
FIRST = 1e-3
"""First step, over that in which η or the margins change by one."""
DEEPEST = 8
"""How often a step of the second run is halved."""
TRIES = 30
"""Tries to end a step where it should end."""
AT_GOAL = 1e-12
"""How near, relative to one or to the goal."""


class State(NamedTuple):
    """s, p, σ and the logarithm of time, with what the next step asks for."""

    s: Array
    p: Array
    sigma: float
    log_time: float
    log_norm: float
    log_rate: float


Clock = Callable[[DualFrame, Array], float]
"""log(dt/dσ) at s."""


def risk_clock(frame: DualFrame, s: Array) -> float:
    """dt = n/Σℓ'(−u)·dσ."""
    place = frame.place(frame.eta(s))
    margins = place.margins * np.exp(min(place.log_unit, 700.0))
    slopes = frame.loss.log_slope(margins) + np.log(frame.counts)
    return float(np.log(np.sum(frame.counts)) - np.logaddexp.reduce(slopes))


def smooth_clock(frame: DualFrame, s: Array) -> float:
    """dτ = Σℓ/Σℓ'·dσ, which is dσ for the exponential loss."""
    if frame.exponential:
        return 0.0
    place = frame.place(frame.eta(s))
    margins = place.margins * np.exp(min(place.log_unit, 700.0))
    counts = np.log(frame.counts)
    if np.min(margins) > 50:
        return 0.0
    parts = [f(margins) + counts for f in (frame.loss.log_loss, frame.loss.log_slope)]
    return float(np.logaddexp.reduce(parts[0]) - np.logaddexp.reduce(parts[1]))


def turned(frame: DualFrame, s: Array, ds: Array) -> float:
    """The relative change of β that a change of s makes, in the ℓ1 norm."""
    place = frame.place(frame.eta(s), floor=-np.inf)
    change = float(np.sum(place.width * np.abs(4 * (frame.Z.T @ ds))))
    return change / max(float(np.sum(np.abs(place.beta))), 1e-300)


@dataclass(eq=False)
class SeparableMarch:
    """The states of a flow: those where it met a goal, and the step to try next."""

    frame: DualFrame
    clock: Clock
    rtol: float
    over: Callable[[], bool]
    states: list[State] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    rejected: int = 0
    goals: list[float] = field(default_factory=list)
    step: float = 0.0

    def copy(self, over: Callable[[], bool]) -> SeparableMarch:
        """Another, which goes on from the end of this one."""
        return replace(self, over=over, states=self.states.copy())

    def start(self) -> State:
        frame = self.frame
        place = frame.place(frame.eta0)
        return State(
            np.zeros(len(frame.counts)),
            frame.weights(place),
            0.0,
            -np.inf,
            place_norm(frame, frame.eta0),
            self.clock(frame, np.zeros(len(frame.counts))),
        )

    def run(self, log_times: Array, cap: float) -> Result:
        """On until the last of the times, or the cap on the log-norm."""
        if not self.states:
            self.states = [self.start()]
            self.step = self._first_step(self.states[0])
        # those that are no goals any more were the end of an earlier run
        met = [k for k, goal in zip(self.saved, self.goals, strict=False) if goal in log_times]
        state, h = self.states[-1], self.step
        self.saved, self.goals = met, log_times.tolist()
        goals = self.goals[len(met) :]
        if goals and goals[0] == -np.inf:
            self.saved.append(0)
            goals.pop(0)
        most = len(self.states) + MOST_STEPS
        while len(self.states) < most:
            self.step = h
            if self.over():
                return Result.TIME_LIMIT
            found = self._attempt(state, h, ORDER)
            if found is None:
                h *= FAILED
                self.rejected += 1
                if state.sigma + h == state.sigma:
                    return Result.STEP_TOO_SMALL
                continue
            following, error = found
            factor = SAFETY * (self.rtol / max(error, 1e-300)) ** (1 / ORDER)
            if error > self.rtol:
                h *= max(factor, SHRINK)
                self.rejected += 1
                if state.sigma + h == state.sigma:
                    return Result.STEP_TOO_SMALL
                continue
            later = h * min(factor, GROW)
            if following.log_norm > cap:
                following = self._until(state, h, lambda s: s.log_norm - cap, max(1.0, abs(cap)))
            goal = goals[0] if goals else np.inf
            if following.log_time > goal:
                step = following.sigma - state.sigma
                following = self._until(state, step, partial(_beyond, goal), 1.0)
                self.saved.append(len(self.states))
                goals.pop(0)
            else:
                h = later
            state = following
            self.states.append(state)
            if state.log_norm >= cap - 2 * AT_GOAL * max(1.0, abs(cap)):
                return Result.REACHED_NORM
            if log_times.size and not goals:
                return Result.REACHED_T1
            if not state.log_time <= LATEST:
                return Result.CLOCK
        return Result.STEP_LIMIT

    def at(self, log_time: float) -> State:
        """The state at a time inside a step, where a shorter one from the same place ends."""
        ends = [state.log_time for state in self.states]
        k = int(np.searchsorted(ends, log_time))
        if k == len(ends):
            return self.states[-1]
        if abs(ends[k] - log_time) <= AT_GOAL:
            return self.states[k]
        before, after = self.states[k - 1 : k + 1]
        return self._until(before, after.sigma - before.sigma, partial(_beyond, log_time), 1.0)

    def _first_step(self, state: State) -> float:
        frame = self.frame
        place = frame.place(frame.eta0, floor=-np.inf)
        direct = 4 * np.abs(frame.Z.T @ state.p)
        rate = max(float(np.max(direct)), 1e-300)
        log_margin = place.log_unit + np.log(
            max(float(np.max(np.abs(frame.Z) @ (place.width * direct))), 1e-300)
        )
        return FIRST / max(rate, float(np.exp(np.clip(log_margin, -600, 600))))

    def _until(
        self, state: State, h: float, excess: Callable[[State], float], size: float
    ) -> State:
        """The state where an increasing excess is zero, within a step that goes beyond it."""
        low, high = 0.0, h
        below, above = excess(state), np.nan
        best = None
        for k in range(TRIES):
            trial = h if k == 0 else self._between(low, high, below, above, k)
            found = self._attempt(state, trial, ORDER)
            if found is None:
                high = trial
                above = np.nan
                continue
            best = found[0]
            value = excess(best)
            if abs(value) <= AT_GOAL * size:
                break
            if value > 0:
                high, above = trial, value
            else:
                low, below = trial, value
            if high - low <= 4e-16 * (state.sigma + high):
                break
        assert best is not None
        return best

    @staticmethod
    def _between(low: float, high: float, below: float, above: float, k: int) -> float:
        if not (np.isfinite(below) and np.isfinite(above)) or k % 4 == 3:
            return (low + high) / 2
        share = below / (below - above)
        return float(low + min(max(share, 1e-3), 1 - 1e-3) * (high - low))

    def _attempt(self, state: State, h: float, order: int) -> tuple[State, float] | None:
        """The extrapolated step, and its error: of β, relative, and of time."""
        frame, table = self.frame, list[list[Array]]()
        n = len(frame.counts)
        for k in range(1, order + 1):
            s, p, elapsed = state.s, state.p, 0.0
            for _ in range(k):
                found = implicit_step(frame, s, h / k, p)
                if found is None:
                    return None
                p = found
                s = s + h / k * p
                rate = self.clock(frame, s)
                elapsed += h / k * float(np.exp(np.clip(rate - state.log_rate, -50.0, 50.0)))
            row = [np.concatenate([s - state.s, p, [elapsed]])]
            for j, before in enumerate(table[-1] if table else []):
                row.append(row[j] + (row[j] - before) / (k / (k - j - 1) - 1))
            table.append(row)
        best, other = table[-1][-1], table[-1][-2]
        ds, p = best[:n], np.maximum(best[n : 2 * n], 0.0)
        s = state.s + ds
        error = turned(frame, s, best[:n] - other[:n])
        eta = frame.eta(s)
        log_rate = self.clock(frame, s)
        p = p / np.sum(p)
        if abs(log_rate - state.log_rate) <= STEEPEST and best[-1] > 0:
            log_elapsed = state.log_rate + float(np.log(best[-1]))
            log_time = float(np.logaddexp(state.log_time, log_elapsed))
            if log_time < CERTAIN and best[-1] > 0:
                share = float(np.exp(log_elapsed - log_time))
                error = max(error, share * abs(best[-1] - other[-1]) / best[-1])
        else:
            log_elapsed = self._steep(state, s, p, log_rate, h)
            log_time = float(np.logaddexp(state.log_time, log_elapsed))
            if state.log_time < CERTAIN and log_rate > state.log_rate:
                # its cubic is no better than the step is short
                error = max(error, self.rtol * 1.5)
        sigma, norm = state.sigma + h, place_norm(frame, eta)
        return State(s, p, sigma, log_time, norm, log_rate), error

    def _steep(self, state: State, s: Array, p: Array, log_rate: float, h: float) -> float:
        """log ∫e^G over a step in which G, the logarithm of the clock's rate, rises a lot."""
        if not np.isfinite(log_rate):
            return log_rate
        ends = [self._rate_of_rate(*end) for end in ((state.s, state.p), (s, p))]
        rise = log_rate - state.log_rate
        edges = np.append(1.0 - 0.5 ** np.arange(HALVINGS), 1.0)
        width = np.diff(edges)
        x = (edges[:-1, None] + width[:, None] * (NODES + 1) / 2).ravel()
        share = np.multiply.outer(width, WEIGHTS / 2).ravel()
        a, b = h * ends[0] - rise, rise - h * ends[1]
        cubic = log_rate - (1 - x) * rise + x * (1 - x) * (a * (1 - x) + b * x)
        top = max(float(np.max(cubic)), log_rate)
        return top + float(np.log(h * np.sum(share * np.exp(cubic - top))))

    def _rate_of_rate(self, s: Array, p: Array) -> float:
        """dG/dσ for the risk's clock."""
        frame = self.frame
        place = frame.place(frame.eta(s))
        speed = 4 * (frame.Z @ (place.width * (frame.Z.T @ p)))
        found = float(np.sum(p * frame.slopes(place) * speed))
        return found * float(np.exp(min(place.log_unit, 700.0)))

    def beside(self, known: list[State]) -> list[State]:
        """The same steps at the order before, after those that are known; shorter where it gave
        up."""
        found = known.copy() or [self.start()]
        state, first = found[-1], len(found) - 1
        for before, after in pairwise(self.states[first:]):
            step = None if self.over() else self._split(state, after.sigma - before.sigma)
            if step is None:
                break
            state = step._replace(sigma=after.sigma)
            found.append(state)
        return found

    def _split(self, state: State, h: float, depth: int = 0) -> State | None:
        """A step at the order before, in halves where its equations are not solved; none where
        it is shorter than a rounding of σ."""
        if h == 0:
            return state
        found = self._attempt(state, h, ORDER - 1)
        if found is not None or depth == DEEPEST:
            return None if found is None else found[0]
        half = self._split(state, h / 2, depth + 1)
        return None if half is None else self._split(half, h / 2, depth + 1)


def _beyond(goal: float, state: State) -> float:
    return state.log_time - goal


def place_norm(frame: DualFrame, eta: Array) -> float:
    return frame.place(eta, floor=-np.inf).log_norm
