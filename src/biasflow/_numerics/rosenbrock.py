"""One Rosenbrock stepper for every stiff flow: stages, step control and dense output of Rodas5P
(`rodas5p` has its numbers and formulas).

Plain Python that also compiles. Interpreted it drives a flow that is written with NumPy
(`flows/factored`); `inner` makes machine code of it for one that is written in kernels
(`flows/mirror/compiled_march`). What a flow is, is left to it: it comes with functions of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array
from .._core.results import Result
from .rodas5p import ORDER, STAGES, A, C, H

MARCHING = -1
"""Not ended yet."""
STOPPED, FLOOR, STATIONARY, REACHED, STEP_LIMIT, STEP_TOO_SMALL, TIME_LIMIT = range(7)
"""Why a march ended: the flow has converged, its residual or its force is what rounding leaves, the
final time, too many steps, step too small, time over."""
RESULTS = (
    Result.CONVERGED,
    Result.FLOOR,
    Result.STATIONARY,
    Result.REACHED_T1,
    Result.STEP_LIMIT,
    Result.STEP_TOO_SMALL,
    Result.TIME_LIMIT,
)
"""These, as the results of a flow."""
SAFETY = 0.9
"""Share of the step that the error estimate allows, which is right to leading order only."""
HALVING_ERROR = (2 * SAFETY) ** ORDER
"""Error of a step, in units of the allowed one, after which the next is half as long."""


class Controls(NamedTuple):
    """The knobs of the step control."""

    end: float
    """Time to end at; inf: where the flow says so."""
    most_steps: int
    """Steps that are kept, at most."""
    least_step: float = 1e-14
    """Step relative to the time at which the march gives up: the clock hardly shows it."""
    most_rejections: int = 100
    """The same, in a row: the step is then below 1e-70 of the first."""
    most_shrinking: float = 0.2
    """The step after one that was rejected is at least this share of it."""
    most_growing: float = 8.0
    """The next step over the last at most, unless that was tried in vain before."""


class Progress(NamedTuple):
    """How far a march has come: time, the next step to try, steps kept and rejected, and why it
    ended."""

    time: float
    step: float
    steps: int = 0
    rejected: int = 0
    status: int = MARCHING


def marching(
    begin: Callable[..., tuple[int, float]],
    attempt: Callable[..., float],
    keep: Callable[..., None],
) -> Callable[[Any, Controls, Progress], Progress]:
    """The march of a flow from a start until one of the endings above.

    begin(flow, t, step, steps): before a step that was not tried yet, why the flow ends here or
    MARCHING, and the step, which it may shorten. attempt(flow, step): the error of a step, in units
    of the allowed one. keep(flow, t, after, step): the last one tried is taken.
    """

    def march(flow: Any, controls: Controls, start: Progress) -> Progress:
        t, step, steps, rejected, status = start
        failures = 0
        while True:
            if failures == 0:
                if t >= controls.end:
                    status = REACHED
                elif steps >= controls.most_steps:
                    status = STEP_LIMIT
                else:
                    status, step = begin(flow, t, min(step, controls.end - t), steps)
            if status == MARCHING and (
                step < controls.least_step * t or failures > controls.most_rejections
            ):
                status = STEP_TOO_SMALL
            if status != MARCHING:
                return Progress(t, step, steps, rejected, status)
            error = attempt(flow, step)
            growth, most = SAFETY * max(error, SMALLEST_NORMAL) ** (-1 / ORDER), 1.0
            if error <= 1.0:
                after = controls.end if step == controls.end - t else t + step
                keep(flow, t, after, step)
                most = controls.most_growing if failures == 0 else 1.0
                t, steps, failures = after, steps + 1, 0
            else:
                rejected, failures = rejected + 1, failures + 1
            step *= min(most, max(controls.most_shrinking, growth))

    return march


def staging(
    add_stages: Callable[..., None], force_at: Callable[..., None], solve: Callable[..., None]
) -> Callable[[Any, float, Array, Array], None]:
    """The stages of a step of a flow.

    add_stages(weights, K, count, factor, out): out += factor·Σ_{i<count} weights_i·k_i.
    force_at(flow, change, out): the force at a change of the state from the start of the step.
    solve(flow, out): (1/(γ·step) − J)⁻¹ times a vector, in place.
    """

    def take_stages(flow: Any, step: float, K: Array, change: Array) -> None:
        """k_i (STAGES, …) in place, the force at the start given as the first; overwrites
        `change`."""
        solve(flow, K[0])
        for i in range(1, STAGES):
            change[:] = 0.0
            add_stages(A[i], K, i, 1.0, change)
            force_at(flow, change, K[i])
            add_stages(C[i], K, i, 1 / step, K[i])
            solve(flow, K[i])

    return take_stages


def between(start: Any, end: Any, first: Any, second: Any, third: Any, share: float) -> Any:
    """The dense output at a share of a step from start to end; the others: H·K."""
    bent = first + share * (second + share * third)
    return (1.0 - share) * start + share * (end + (1.0 - share) * bent)


def slope(moved: Any, first: Any, second: Any, third: Any, share: float, step: float) -> Any:
    """The time derivative of the dense output there; moved: end − start."""
    bent, bending = first + share * (second + share * third), second + 2.0 * share * third
    return (moved + (1.0 - 2.0 * share) * bent + share * (1.0 - share) * bending) / step


def add_stages(weights: Array, K: Array, count: int, factor: float, out: Array) -> None:
    """What `stages` asks for, with NumPy, whatever the shape of a stage."""
    out += factor * (weights[:count] @ K[:count].reshape(count, -1)).reshape(out.shape)


@dataclass(frozen=True, eq=False)
class Path:
    """A march with its dense output: times (T,), states there (T, …), pieces H·K (T − 1, 3, …)."""

    times: Array
    states: Array
    pieces: Array

    @property
    def end(self) -> float:
        return float(self.times[-1])

    def at(self, t: float) -> Array:
        """The state at a time; beyond the end, the last."""
        k = min(int(np.searchsorted(self.times, t)), len(self.times) - 1)
        if k == 0 or self.times[k] <= t:
            return np.asarray(self.states[k])
        share = (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1])
        first, second, third = self.pieces[k - 1]
        state = between(self.states[k - 1], self.states[k], first, second, third, share)
        return np.asarray(state)


class Recorder:
    """Keeps what `Path` holds, for flows written with NumPy."""

    def __init__(self, start: Array) -> None:
        self.times, self.states, self.pieces = [0.0], [start], list[Array]()

    def copy(self) -> Recorder:
        """Another, which goes on from the end of this one."""
        other = Recorder(self.states[0])
        other.times, other.states = self.times.copy(), self.states.copy()
        other.pieces = self.pieces.copy()
        return other

    def add(self, time: float, state: Array, K: Array) -> None:
        self.times.append(time)
        self.states.append(state)
        self.pieces.append(np.tensordot(H, K, 1))

    def path(self) -> Path:
        start = self.states[0]
        pieces = np.array(self.pieces).reshape(-1, len(H), *start.shape)
        return Path(np.array(self.times), np.array(self.states), pieces)
