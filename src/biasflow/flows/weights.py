"""Gradient flow on the weights themselves, for smooth models: the independent witness of every
reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array
from .._core.problems import Problem
from .._core.progress import doing
from .._core.results import Result, Trajectory
from .._core.trees import leaf_map, leaves, stack
from .._numerics.deadlines import FIRST_RUN, Deadline
from .._numerics.failed_steps import without_warnings
from .._numerics.flow_frame import (
    CALMER,
    CONVERGED,
    LOOSER,
    TIGHTER,
    TWICE,
    FlowRequest,
    distance_error,
    goes_on,
)
from ..models import nonsmooth
from .mirror.dual_flow import ROUNDINGS

MAX_STEPS = 200_000
STATIONARY = 1e-13
"""Size of the gradient, relative to its start, at which the flow stands still."""
DENSE_JACOBIAN = 400
"""Weights up to which LSODA, which forms a Jacobian by differences when stiff, is the faster
choice."""
METHOD_RTOL_FLOOR = 1e-13
SHARPER_TOLERANCE = 1e-3
"""Factor on the tolerance where the loss seems to grow: weights much larger than what they have to
move hide their move in it."""
BEGIN, ORDER = 1e-3, 8
"""The first step, in units of the time in which the largest weight could double, and the order of
DOP853."""


def integrate_weights(
    problem: Problem,
    t1: float | None,
    rtol: float,
    times: ArrayLike | None,
    time_s: float | None = None,
) -> Trajectory[Any]:
    """`follow_weights` until t1; time_s: seconds after which it gives up, the second run not
    counted."""
    deadline = Deadline(None if time_s is None else time_s / FIRST_RUN)
    return follow_weights(problem, FlowRequest.read(t1, rtol, times, deadline))


class _Run(NamedTuple):
    """Ends of steps, the weights there, the dense output between, and why it stopped."""

    ends: Array
    values: Array
    pieces: list[Any]
    result: Result

    def at(self, t: float) -> Array:
        k = int(np.searchsorted(self.ends, t))
        inside = 0 < k < len(self.ends) and self.ends[k] != t
        return np.asarray(
            self.pieces[k - 1](t) if inside else self.values[min(k, len(self.pieces))]
        )


class _Runs(NamedTuple):
    """A run with the tolerance that it needed, and the tighter one."""

    rtol: float
    run: _Run | None = None
    check: _Run | None = None


def follow_weights(
    problem: Problem,
    request: FlowRequest,
    finer: Problem | None = None,
    before: _Runs | None = None,
) -> Trajectory[Any]:
    """ẇ = −∇L(w) by LSODA (few weights) or DOP853 (many), with dense output; a tighter run
    estimates the error, which is NaN where that does not get.

    finer: a better approximation of the problem that is meant, which the tighter run then takes.
    before: the runs that go on.
    """
    t1, deadline = request.t1, request.deadline
    rtol, run, check = _Runs(request.rtol) if before is None else before
    field = _WeightField(problem)
    with request.watched(field.where):
        run = _integrate(field, t1, rtol, deadline.first, before=run)
        while (
            field.loss(run.values[-1]) > field.loss(run.values[0])
            and rtol / 10 > METHOD_RTOL_FLOOR
            and not deadline.first()
        ):
            rtol, check = SHARPER_TOLERANCE * rtol, None
            run = _integrate(field, t1, rtol, deadline.first)
    end = float(run.ends[-1])
    # with no room a tighter run would be the same one, errors included; 0.99: up to rounding
    room = TIGHTER * rtol / 10 >= 0.99 * METHOD_RTOL_FLOOR
    factor, share = (TWICE, TIGHTER) if room else (1.0, LOOSER)
    better = field
    if finer is not None:
        # within rounded kinks errors follow the tolerance loosely
        better, share = _WeightField(finer), share * TIGHTER
    if end > 0:
        begin = CALMER * BEGIN
        with doing("its error"), request.watched(better.where):
            check = _integrate(better, end, share * rtol, deadline.both, begin=begin, before=check)
    else:
        check = run
    # a start that nothing moves, as of a network that is dead between its kinks, is its own flow
    still = len(check.ends) == 1 and check.result in (Result.CONVERGED, Result.STATIONARY)
    reach = np.inf if still else check.ends[-1]
    saved = request.saved(run.ends)
    flats = np.array([run.at(t) for t in saved])
    states = stack([field.unflatten(flat) for flat in flats])
    others = stack([field.unflatten(check.at(t)) for t in saved])
    effective = problem.model.effective
    error, predictor_error = (
        distance_error(mine, other, saved, reach, _rounding(mine), factor)
        for mine, other in ((states, others), (effective(states), effective(others)))
    )
    runs = _Runs(rtol, run, check if end > 0 else None)
    return Trajectory(
        times=saved,
        states=states,
        loss=np.array([field.loss(flat) for flat in flats]),
        error=error,
        events=(),
        stats={"method": "weights", "steps": len(run.ends) - 1},
        result=run.result,
        problem=problem,
        interpolant=lambda t: field.unflatten(run.at(t)),
        predictor_error=predictor_error,
        continuation=partial(follow_weights, problem, finer=finer, before=runs),
    )


def _rounding(states: Any) -> Array:
    """A few roundings of the largest entry at each time."""
    sizes = [
        np.max(np.abs(leaf).reshape(len(leaf), -1), axis=1, initial=0.0) for leaf in leaves(states)
    ]
    return np.asarray(ROUNDINGS * np.finfo(float).eps * np.max(sizes, axis=0))


@dataclass(frozen=True, eq=False)
class SecondRun:
    """The weights by DOP853, which has no line in common with LSODA: the ends of its steps, and the
    state at any time."""

    ends: Array
    at: Callable[[float], Any]
    result: Result


def second_run(problem: Problem, t1: float, rtol: float, time_s: float, steps: int) -> SecondRun:
    """ẇ = −∇L(w) to t1, or as far as it goes, by the method that `integrate_weights` does not use
    for few weights.

    Its first step is what the tolerance allows: while steps grow as fast as they may, two runs
    would otherwise be the same one.
    """
    from scipy.integrate import DOP853

    field = _WeightField(problem)
    run = _integrate(field, t1, rtol, Deadline(time_s).both, DOP853, rtol ** (1 / ORDER), steps)
    return SecondRun(run.ends, lambda t: field.unflatten(run.at(t)), run.result)


class _WeightField:
    """−∇L on flattened weights."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        arrays = leaves(problem.start)
        ends = np.cumsum([int(np.size(array)) for array in arrays]).tolist()
        begins = [0, *ends[:-1]]
        self.places = [
            (slice(begin, end), np.shape(array))
            for begin, end, array in zip(begins, ends, arrays, strict=True)
        ]
        self.start = np.concatenate([np.ravel(array) for array in arrays])
        self.at = 0.0, self.start

    def where(self) -> tuple[float, float]:
        """Time and loss at the last step."""
        t, flat = self.at
        return t, self.loss(flat)

    def unflatten(self, flat: Array) -> Any:
        parts = iter([flat[place].reshape(shape) for place, shape in self.places])
        return leaf_map(lambda leaf: next(parts), self.problem.start)

    def loss(self, flat: Array) -> float:
        p = self.problem
        return float(p.loss(p.model(self.unflatten(flat), p.data.X), p.data.y))

    def __call__(self, t: float, flat: Array) -> Array:
        p, params = self.problem, self.unflatten(flat)
        output = p.loss.gradient(p.model(params, p.data.X), p.data.y)
        return -np.concatenate(
            [np.ravel(leaf) for leaf in leaves(p.model.gradient(params, p.data.X, output))]
        )


@without_warnings()
def _integrate(
    field: _WeightField,
    t1: float | None,
    rtol: float,
    over: Callable[[], bool],
    method: Any = None,
    begin: float = BEGIN,
    most: int = MAX_STEPS,
    before: _Run | None = None,
) -> _Run:
    """A run, or one that goes on; from its end on the integrator chooses the first step."""
    from scipy.integrate import DOP853, LSODA

    start = field.start
    scale = max(float(np.max(np.abs(start))), np.finfo(float).tiny)
    force = field(0.0, start)
    loss0, rate0 = field.loss(start), float(np.max(np.abs(force)))
    first = begin * scale / rate0 if rate0 > 0 else 1.0
    bound = 1e15 * first if t1 is None else t1
    tolerance = max(rtol / 10, METHOD_RTOL_FLOOR)
    if before is None:
        before = _Run(np.zeros(1), start[None], [], Result.STEP_LIMIT)
        step: float | None = min(first, bound)
    elif goes_on(before.result, float(before.ends[-1]), t1):
        step = None
    else:
        return before
    kind = method or (LSODA if start.size <= DENSE_JACOBIAN else DOP853)
    solver = kind(
        field,
        before.ends[-1],
        before.values[-1],
        bound,
        first_step=step,
        rtol=tolerance,
        atol=tolerance * scale,
    )
    ends, values, pieces = list(before.ends), list(before.values), list(before.pieces)
    still = Result.CONVERGED if loss0 == 0 and field.problem.loss.attained else Result.STATIONARY
    result, most = still if rate0 == 0 else Result.STEP_LIMIT, most + len(pieces)
    if not (np.isfinite(loss0) and np.isfinite(rate0)):
        return before._replace(result=Result.DIVERGED)
    while rate0 > 0 and len(ends) <= most:
        if over():
            result = Result.TIME_LIMIT
            break
        solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            result = Result.STEP_TOO_SMALL
            break
        if nonsmooth(field.problem.model, field.unflatten(solver.y)) is not None:
            result = Result.KINK
            break
        ends.append(float(solver.t))
        values.append(solver.y.copy())
        field.at = ends[-1], values[-1]
        pieces.append(solver.dense_output())
        if t1 is None and field.loss(solver.y) <= CONVERGED * loss0:
            result = Result.CONVERGED
            break
        if t1 is None and float(np.max(np.abs(field(solver.t, solver.y)))) <= STATIONARY * rate0:
            result = Result.STATIONARY
            break
        if solver.status == "finished":
            result = Result.REACHED_T1
            break
    return _Run(np.array(ends), np.array(values), pieces, result)
