"""The end of every flow: whether what came out is one, and what is said where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array, all_finite
from .._core.problems import MirrorProblem, Problem
from .._core.results import Result, Trajectory, altered
from .._core.trees import leaf_map, leaves
from ..errors import BiasflowError, ConvergenceError
from ..models import PredictorModel

ROUNDINGS = 16.0
"""Roundings of predictions, in units of the terms they are sums of, that a loss which seems to grow
is allowed."""
EPS = float(np.finfo(float).eps)
POWERS = 12
"""Power iterations for the stiffest rate, which is told to some digits only."""
LOOSEN = {
    Result.STEP_LIMIT: "give an earlier t1 or a larger rtol",
    Result.STEP_TOO_SMALL: "give an earlier t1 or a larger rtol",
    Result.UNRESOLVED: "take offsets out of the columns of X, or give t1",
    Result.TIME_LIMIT: "give a longer time_s, an earlier t1 or a larger rtol",
    Result.UNCHECKED: "give a longer time_s, an earlier t1 or a larger rtol",
}
"""What may help where a flow gave up."""


def judged(flow: Trajectory[Any]) -> Trajectory[Any]:
    """The same flow, without success where its loss grew: gradient flow descends."""
    if not flow.result.success or not _grew(flow):
        return flow
    return altered(flow, result=Result.DIVERGED)


def in_range(flow: Trajectory[Any]) -> Trajectory[Any]:
    """The same flow, without success where a number in it is not finite. Numbers are looked at
    once, in the units that were given, which are powers of two: one that is finite there was so
    before."""
    if not flow.result.success:
        return flow
    if not all_finite(flow.times, flow.loss, *leaves(flow.states)):
        return altered(flow, result=Result.DIVERGED)
    known = all_finite(flow.error, flow.predictor_error)
    return flow if known else altered(flow, result=Result.UNCHECKED)


def returned(who: str, flow: Trajectory[Any], throw: bool) -> Trajectory[Any]:
    """A flow that was judged, or the error that it gave up."""
    if throw and not flow.result.success:
        raise ConvergenceError(
            f"{who}: {flow.result.value} at t = {flow.times[-1]:g}; {_advice(flow)}", flow
        )
    return flow


def _advice(flow: Trajectory[Any]) -> str:
    """Where the flow so far is and how stiff it is there, and what may take it further: to resume
    it, if it can be resumed, or other arguments."""
    rate = stiffest_rate(flow)
    stiff = (
        f", where the stiffest rate is {rate:.3g}"
        if np.isfinite(rate)
        else ", where the stiffest rate is out of float range"
    )
    loosen = LOOSEN.get(flow.result)
    ways = [] if flow.continuation is None else ["`error.partial.resume(time_s=300)` continues it"]
    ways += [] if loosen is None else [f"or {loosen}" if ways else loosen]
    return "; ".join([f"`.partial` of this error holds the flow up to there{stiff}", *ways])


def stiffest_rate(flow: Trajectory[Any]) -> float:
    """The fastest rate at which the flow answers a small change of its last state, NaN where that
    is not finite.

    By power iteration on the gradient's derivative along a direction, taken by differences.
    """
    if "stiffest_rate" in flow.stats:
        return float(flow.stats["stiffest_rate"])
    p, state = flow.problem, flow.final
    with np.errstate(all="ignore"):
        try:
            if isinstance(p, MirrorProblem):
                return float(np.linalg.norm(p.X * np.sqrt(p.potential.at(state).weight()), 2) ** 2)
            return _largest_rate(p, state)
        except (BiasflowError, np.linalg.LinAlgError):
            return np.nan


def _largest_rate(problem: Problem, state: Any) -> float:
    def slope(flat: Array) -> Array:
        parts = iter(np.split(flat, ends[:-1]))
        params = leaf_map(lambda leaf: next(parts).reshape(np.shape(leaf)), state)
        outputs = problem.loss.gradient(problem.model(params, problem.data.X), problem.data.y)
        return np.concatenate(
            [
                np.ravel(leaf)
                for leaf in leaves(problem.model.gradient(params, problem.data.X, outputs))
            ]
        )

    arrays = leaves(state)
    ends = np.cumsum([int(np.size(leaf)) for leaf in arrays])
    here = np.concatenate([np.ravel(leaf) for leaf in arrays])
    base, small = slope(here), np.sqrt(EPS) * float(np.max(np.abs(here)))
    direction, rate = np.random.default_rng(0).standard_normal(here.size), np.nan
    for _ in range(POWERS):
        direction = direction / np.linalg.norm(direction)
        direction = (slope(here + small * direction) - base) / small
        rate = float(np.linalg.norm(direction))
    return rate


def _grew(flow: Trajectory[Any]) -> bool:
    """Whether some loss is above that of the start by more than its error and rounding explain."""
    worst = int(flow.loss.argmax())
    if (worst == 0 and flow.times[0] == 0) or not np.isfinite(flow.loss[worst]):
        return False
    if isinstance(flow.problem, Problem) and flow.loss[worst] <= flow.problem.first_loss:
        return False
    start, state = _start(flow), leaf_map(lambda leaf: leaf[worst], flow.states)
    if not all_finite(*leaves(state)):
        return False
    first, values, labels = (
        _loss(flow.problem, start),
        _predictions(flow.problem, state),
        _labels(flow.problem),
    )
    if _loss_of(flow.problem, values) <= first:
        return False
    known = [
        float(error[worst]) if np.isfinite(error[worst]) else 0.0
        for error in (flow.error, flow.predictor_error)
    ]
    blur = _blur(flow.problem, state, *known) + _blur(flow.problem, start, 0.0, 0.0)
    if isinstance(flow.problem, MirrorProblem) or flow.problem.loss.attained:
        nearest = values + np.clip(labels - values, -blur, blur)
    else:
        nearest = values + np.sign(labels) * blur
    least = _loss_of(flow.problem, nearest)
    return bool(least > first + ROUNDINGS * EPS * abs(first))


def _start(flow: Trajectory[Any]) -> Any:
    return (
        flow.at(0.0)
        if flow.interpolant is not None
        else leaf_map(lambda leaf: leaf[0], flow.states)
    )


def _labels(problem: Problem | MirrorProblem) -> Array:
    return problem.y if isinstance(problem, MirrorProblem) else problem.data.y


def _predictions(problem: Problem | MirrorProblem, state: Any) -> Array:
    if isinstance(problem, MirrorProblem):
        return problem.X @ state
    return np.asarray(problem.model(state, problem.data.X))


def _loss_of(problem: Problem | MirrorProblem, values: Array) -> float:
    if isinstance(problem, MirrorProblem):
        return 0.5 * float(np.sum((values - problem.y) ** 2))
    return float(problem.loss(values, problem.data.y))


def _loss(problem: Problem | MirrorProblem, state: Any) -> float:
    return _loss_of(problem, _predictions(problem, state))


def _blur(
    problem: Problem | MirrorProblem, state: Any, error: float, predictor_error: float
) -> Array:
    """How far predictions may be off: by the error of a predictor they are linear in, or of the
    weights, and by rounding."""
    labels = np.abs(_labels(problem))
    if isinstance(problem, MirrorProblem):
        size = np.abs(problem.X)
        return size @ (error + ROUNDINGS * EPS * np.abs(state)) + ROUNDINGS * EPS * labels
    slopes = leaves(problem.model.jacobian(state, problem.data.X))
    pairs = [
        (np.abs(J).reshape(len(labels), -1), np.ravel(np.abs(w)))
        for J, w in zip(slopes, leaves(state), strict=True)
    ]
    rounding = ROUNDINGS * EPS * (sum(J @ w for J, w in pairs) + labels)
    if isinstance(problem.model, PredictorModel):
        reach = predictor_error * np.sum(np.abs(problem.model.features(problem.data.X)), axis=1)
    else:
        reach = error * sum(np.sum(J, axis=1) for J, _ in pairs)
    return np.asarray(reach + rounding)
