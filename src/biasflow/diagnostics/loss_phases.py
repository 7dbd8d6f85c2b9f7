"""The phases of a flow, read off its loss: escape from the start, plateaus, drops between them,
final convergence."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np

from .._core.arguments import Array, instance
from .._core.facts import record_line
from .._core.problems import MirrorProblem
from .._core.results import Result, Trajectory


@dataclass(frozen=True)
class PhaseRules:
    """When a stretch of a loss curve is a plateau, and when a flow is in its final phase."""

    plateau_fall: float = 0.1
    """Share of the loss that a plateau may lose."""
    plateau_length: float = 0.1
    """Share of the time elapsed by its end that a stretch must last to be a plateau: plateaus come
    in every length."""
    last_plateau_length: float = 0.5
    """The same where the flow ends on it, and nothing after it can tell."""
    later_speed: float = 4.0
    """How much faster than on a plateau the loss must fall at some later time: a steady decay has
    no plateaus."""
    final_loss: float = 1e-4
    """Loss, relative to its start, below which the final rate is read off."""
    compared_down_to: float = 1e-2
    """Loss, relative to the start of the final phase, down to which its speed is compared with that
    of plateaus."""
    final_rate_share: float = 0.5
    """Share of the final rate above which a flow is in its final, exponential phase."""
    fewest_times: int = 200
    """Saved times below which the dense output is asked for more."""


RULES = PhaseRules()


@dataclass(frozen=True)
class Phase:
    """A stretch of a flow. name: 'escape', 'plateau', 'drop' or 'final convergence'; rate: −d
    log(loss)/dt, its mean."""

    name: str
    start: float
    end: float
    loss_start: float
    loss_end: float

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def rate(self) -> float:
        if not (self.loss_start > 0 and self.loss_end > 0 and self.end > self.start):
            return 0.0
        return float(np.log(self.loss_start / self.loss_end)) / (self.end - self.start)

    def __str__(self) -> str:
        return (
            f"{self.name}: t = {self.start:.4g} to {self.end:.4g}, loss {self.loss_start:.3g} to "
            f"{self.loss_end:.3g}, rate {self.rate:.3g}"
        )


def phases(trajectory: Trajectory) -> tuple[Phase, ...]:
    """The phases of a flow in time order, without gaps.

    Final convergence: the exponential end, where the loss decays at no less than half its last
    rate; only flows that reached their limit have it. Before it, a plateau is made of stretches
    over each of which the loss falls by less than 10%, and which last at least a tenth of the time
    elapsed by its end, while the loss falls four times faster later; a drop is what lies between.
    The plateau at the start is the escape, slow at small initialisation, for the start is next to a
    saddle. Where the loss has a positive infimum, the excess over its last value is read.

    Parameters
    ----------
    trajectory : Trajectory

    Returns
    -------
    tuple of diagnostics.Phase

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-6)
    >>> [phase.name for phase in bf.diagnostics.phases(bf.gradient_flow(problem))]
    ['escape', 'final convergence']
    """
    instance("trajectory", trajectory, Trajectory)
    times, loss = loss_curve(trajectory)
    if trajectory.result in (Result.STATIONARY, Result.INFEASIBLE, Result.FLOOR):
        loss = loss - loss[-1]
    # events may save a time twice
    last, known = float(times[-1]), (loss > 0) & np.append(np.diff(times) > 0, True)
    times, loss = times[known], loss[known]
    if len(times) < 3:
        return ()
    end = (
        _final_start(times, loss)
        if trajectory.result.success and trajectory.result is not Result.REACHED_T1
        else len(times) - 1
    )
    found = _before(times, loss, end)
    if end < len(times) - 1:
        found.append(_phase("final convergence", times, loss, end, len(times) - 1))
    return (*found[:-1], dataclasses.replace(found[-1], end=last)) if found else ()


def loss_curve(trajectory: Trajectory) -> tuple[Array, Array]:
    """Times and losses: as saved, or on a denser grid where few were saved and the flow knows
    more."""
    times, loss = trajectory.times, trajectory.loss
    if trajectory.interpolant is None or len(times) >= RULES.fewest_times or not times[-1] > 0:
        return times, loss
    dense = np.unique(
        np.concatenate(
            [
                times,
                np.linspace(0.0, times[-1], RULES.fewest_times),
                times[-1] * np.geomspace(1e-6, 1.0, RULES.fewest_times),
            ]
        )
    )
    return dense, np.array([loss_at(trajectory, t) for t in dense])


def loss_at(trajectory: Trajectory, t: float) -> float:
    """The loss at a time, as the problem defines it (½‖Xβ−y‖² for a mirror problem)."""
    p, state = trajectory.problem, trajectory.at(t)
    if isinstance(p, MirrorProblem):
        return 0.5 * float(np.sum((p.X @ state - p.y) ** 2))
    return float(p.loss(p.model(state, p.data.X), p.data.y))


def _final_start(times: Array, loss: Array) -> int:
    """The index after the last step that is slower than half the final rate; the last index where
    there is no tail."""
    positive = loss > 0
    tail = np.flatnonzero(positive & (loss <= RULES.final_loss * loss[0]))
    if tail.size < 3:
        return len(times) - 1
    first, last = tail[0], tail[-1]
    middle = (
        int(np.searchsorted(-np.log(loss[tail]), 0.5 * (-np.log(loss[first]) - np.log(loss[last]))))
        + first
    )
    final = (
        np.log(loss[middle] / loss[last]) / (times[last] - times[middle]) if last > middle else 0.0
    )
    steps = np.flatnonzero(positive[1:] & positive[:-1])
    rates = np.log(loss[steps] / loss[steps + 1]) / np.diff(times)[steps]
    slow = steps[(rates < RULES.final_rate_share * final) & (steps < middle)]
    return int(slow[-1]) + 1 if slow.size else 0


def _before(times: Array, loss: Array, end: int) -> list[Phase]:
    """Plateaus and drops up to an index."""
    rates = np.log(loss[:-1] / loss[1:]) / np.diff(times)
    # the last digits of an excess say nothing about speed
    rates = np.where(loss[1:] >= RULES.compared_down_to * loss[end], rates, 0.0)
    later = np.maximum.accumulate(rates[::-1])[::-1]  # the fastest decay from each step on
    flat, k = np.zeros(end, dtype=bool), 0  # per step, whether it belongs to a plateau
    while k < end:
        far = (
            int(
                np.searchsorted(-loss[: end + 1], -(1 - RULES.plateau_fall) * loss[k], side="right")
            )
            - 1
        )
        if far > k and _is_plateau(times, loss, later, k, far):
            flat[k:far] = True
            k = far
        else:
            k += 1
    cuts = [0, *(np.flatnonzero(np.diff(flat)) + 1).tolist(), end] if end > 0 else []
    found = []
    for a, b in itertools.pairwise(cuts):
        name = ("escape" if a == 0 else "plateau") if flat[a] else "drop"
        found.append(_phase(name, times, loss, a, b))
    return found


def _is_plateau(times: Array, loss: Array, later: Array, k: int, far: int) -> bool:
    """Whether a flat stretch is long, and slow against what comes after it; at the end of a flow,
    long must do."""
    length = times[far] - times[k]
    if far == len(times) - 1:
        return bool(length >= RULES.last_plateau_length * times[far])
    rate = np.log(loss[k] / loss[far]) / length
    return bool(
        length >= RULES.plateau_length * times[far] and later[far] >= RULES.later_speed * rate
    )


def _phase(name: str, times: Array, loss: Array, a: int, b: int) -> Phase:
    return Phase(name, float(times[a]), float(times[b]), float(loss[a]), float(loss[b]))
