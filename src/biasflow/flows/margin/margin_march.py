"""The margin flow step by step, until a time of its clock or a log-norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.results import Result
from ...losses import MarginLoss
from .clocks import LATEST, STEEPEST, Slope, log_elapsed, share_until, slope_at
from .implicit_step import ORDER, Point, Step, combined, squared_norm, step
from .tangents import MarginView

MAX_STEPS = 200_000
"""Steps that are tried at most, those that are rejected among them."""
FIRST = 1e-2
"""First step, times the relative speed of the weights."""
SAFETY, SHRINK, GROW = 0.9, 0.2, 3.0
TINIEST = 1e-13
"""Step relative to the first one at which the march gives up."""
STATIONARY = 1e-10
"""Relative speed of the weights, in units of the start's, at which the flow stands still."""
PUNCTUAL, LEAST_PUNCTUAL = 1e-3, 1e-11
"""How closely, relative to rtol and at least, the risk's clock is set to a time asked for."""
LANDINGS, ON_TARGET = 8, 1e-10
"""How often, and how closely, the last step is fitted to the log-norm asked for."""


@dataclass
class March:
    """A path: times of C's clock, logarithms of the risk's, and the points; which of them are asked
    for, their local errors."""

    view: MarginView
    loss: MarginLoss
    risk_clock: bool
    rtol: float
    times: list[float] = field(default_factory=lambda: [0.0])
    log_times: list[float] = field(default_factory=lambda: [-np.inf])
    points: list[Point] = field(default_factory=list)
    slopes: list[Slope] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    local: list[float] = field(default_factory=lambda: [0.0])
    rejected: int = 0
    over: Callable[[], bool] = bool
    trials: int = 0
    goals: list[float] = field(default_factory=list)
    step: float = 0.0

    def copy(self, over: Callable[[], bool]) -> March:
        """Another, which goes on from the end of this one."""
        lists = ("times", "log_times", "points", "slopes", "local")
        copies: dict[str, Any] = {name: getattr(self, name).copy() for name in lists}
        return replace(self, over=over, trials=0, **copies)

    def run(self, start: Point, goals: Array, log_norm: float) -> Result:
        """On from the start, or from where it stands, to the last goal, landing on each, or to the
        log-norm; goals are times of the flow's
        own clock."""
        if not self.points:
            self.points.append(start)
        if self.risk_clock and not self.slopes:
            self.slopes.append(slope_at(self.view, self.loss, start))
        speed0 = self._speed(start)
        first = FIRST / speed0
        self.step = self.step or first
        # those that are no goals any more were the end of an earlier run
        self.saved = [k for k, goal in zip(self.saved, self.goals, strict=False) if goal in goals]
        self.goals = goals.tolist()
        ahead = self.goals[len(self.saved) :][::-1]
        if ahead and ahead[-1] == 0:
            self.saved.append(0)
            ahead.pop()
        while True:
            taken, self.step, landed = self._advance(
                self.step, ahead[-1] if ahead else np.inf, log_norm, TINIEST * first
            )
            if self.trials > MAX_STEPS:
                return Result.STEP_LIMIT
            if self.over():
                return Result.TIME_LIMIT
            if taken < TINIEST * first and not landed:
                return Result.STEP_TOO_SMALL
            if landed:
                self.saved.append(len(self.points) - 1)
                ahead.pop()
                if not ahead:
                    return Result.REACHED_T1
            if self.points[-1].log_norm >= log_norm - ON_TARGET:
                return Result.REACHED_NORM
            if self.risk_clock and self.log_times[-1] > LATEST:
                return Result.CLOCK
            if not ahead and self._speed(self.points[-1]) <= STATIONARY * speed0:
                return Result.STATIONARY

    def _advance(
        self, dt: float, goal: float, log_norm: float, least: float
    ) -> tuple[float, float, bool]:
        """One accepted step: its length, the next to try, and whether it landed on the goal; of
        length zero where none was."""
        point, fitted, passed = self.points[-1], 0, 0.0
        while self.trials <= MAX_STEPS and not self.over():
            self.trials += 1
            landed = not self.risk_clock and dt >= goal - self.times[-1]
            length = goal - self.times[-1] if landed else dt
            trial = step(self.view, self.loss, point, length, self.rtol)
            factor = float(
                np.clip(
                    SAFETY * (self.rtol / max(trial.error, 1e-300)) ** (1 / ORDER), SHRINK, GROW
                )
            )
            if trial.error > self.rtol:
                self.rejected += 1
                dt = length * min(factor, SAFETY)
                if dt < least:
                    return 0.0, dt, False
                continue
            passed = max(passed, length)
            over = trial.end.log_norm - log_norm
            # short of it, a sliver of a step would be left, and its weights mean nothing
            missed = abs(over) if fitted else over
            if missed > ON_TARGET and fitted < LANDINGS:
                dt, fitted = (
                    length * (log_norm - point.log_norm) / (trial.end.log_norm - point.log_norm),
                    fitted + 1,
                )
                continue
            if self.risk_clock:
                share, landed = self._keep_time(trial, length, goal)
                if share < 1:
                    dt = length * share
                    continue
            self._keep(trial, length, goal if landed and not self.risk_clock else None)
            # what a goal cut short may be as long again
            ahead = length if not landed else passed if self.risk_clock else dt
            return length, ahead * max(factor, 1.0 if landed else SHRINK), landed
        return 0.0, dt, False

    def _keep_time(self, trial: Step, length: float, goal: float) -> tuple[float, bool]:
        """The risk's time at the end of a step: 1 and whether the goal is reached, or the share of
        the step to try instead."""
        begin, end = self.slopes[-1], slope_at(self.view, self.loss, trial.end)
        if end.value - begin.value > STEEPEST:
            return STEEPEST / (end.value - begin.value) * SAFETY, False
        now, target = self.log_times[-1], np.log(goal)
        after = float(np.logaddexp(now, log_elapsed(begin, end, length)))
        landed = abs(after - target) <= max(PUNCTUAL * self.rtol, LEAST_PUNCTUAL)
        if after > target and not landed:
            return max(
                min(share_until(target, now, begin, end, length), 1 - 1e-14), SHRINK**8
            ), False
        self.slopes.append(end)
        self.log_times.append(target if landed else after)
        return 1.0, landed

    def _keep(self, trial: Step, length: float, exactly: float | None) -> None:
        self.points.append(trial.end)
        self.local.append(trial.error)
        self.times.append(self.times[-1] + length if exactly is None else exactly)

    def _speed(self, point: Point) -> float:
        """‖ẇ‖ at β = 1."""
        return squared_norm(self.view.velocity(point.params, point.weights)) ** 0.5


def normalised(params: Any, weights: Array) -> Point:
    """Parameters as a point."""
    size = max(float(np.max(np.abs(leaf))) for leaf in params)
    scaled = type(params)(*(leaf / size for leaf in params))
    beta = squared_norm(scaled)
    return Point(combined((beta**-0.5, scaled)), float(np.log(beta) + 2 * np.log(size)), weights)
