"""The end of every flow: whether what came out is one, and what is said where it is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..errors import ConvergenceError, RefusedError
from ..inputs import Array
from ..records import MirrorProblem, Problem, Result, Trajectory, leaf_map, leaves

ROUNDINGS = 16.0
"""Roundings of predictions, in units of the terms they are sums of, that a loss which seems to grow is allowed."""
EPS = float(np.finfo(float).eps)


def judged(flow: Trajectory) -> Trajectory:
    """The same flow, without success where a number in it is not finite or its loss grew: gradient flow descends."""
    if not flow.result.success:
        return flow
    finite = all(np.all(np.isfinite(leaf)) for leaf in (flow.times, flow.loss, *leaves(flow.states)))
    if not finite or _grew(flow):
        return dataclasses.replace(flow, result=Result.DIVERGED)
    return flow if np.all(np.isfinite(flow.error)) else dataclasses.replace(flow, result=Result.UNCHECKED)


def returned(who: str, flow: Trajectory, throw: bool) -> Trajectory:
    """The flow, or the error that it gave up; numbers that left the range of floats on the way back to its units count too."""
    flow = judged(flow) if flow.result.success else flow
    if throw and not flow.result.success:
        raise ConvergenceError(f"{who}: {flow.result.value} at t = {flow.times[-1]:g}", flow)
    return flow


def _grew(flow: Trajectory) -> bool:
    """Whether some loss is above that of the start by more than its error and rounding explain."""
    worst = int(np.argmax(flow.loss))
    if worst == 0 and flow.times[0] == 0:
        return False
    start, state = _start(flow), leaf_map(lambda leaf: leaf[worst], flow.states)
    first, values, labels = _loss(flow.problem, start), _predictions(flow.problem, state), _labels(flow.problem)
    if _loss_of(flow.problem, values) <= first:
        return False
    known = float(flow.error[worst]) if np.isfinite(flow.error[worst]) else 0.0
    blur = _blur(flow.problem, state, known) + _blur(flow.problem, start, 0.0)
    if isinstance(flow.problem, MirrorProblem) or flow.problem.loss.attained:
        nearest = values + np.clip(labels - values, -blur, blur)
    else:
        nearest = values + np.sign(labels) * blur
    least = _loss_of(flow.problem, nearest)
    return bool(least > first + ROUNDINGS * EPS * abs(first))


def _start(flow: Trajectory) -> Any:
    return flow.at(0.0) if flow.interpolant is not None else leaf_map(lambda leaf: leaf[0], flow.states)


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


def _blur(problem: Problem | MirrorProblem, state: Any, error: float) -> Array:
    """How far predictions may be off: by the error of the predictor or of the weights, and by rounding."""
    labels = np.abs(_labels(problem))
    if isinstance(problem, MirrorProblem):
        size = np.abs(problem.X)
        return size @ (error + ROUNDINGS * EPS * np.abs(state)) + ROUNDINGS * EPS * labels
    slopes = leaves(problem.model.jacobian(state, problem.data.X))
    pairs = [(np.abs(J).reshape(len(labels), -1), np.ravel(np.abs(w))) for J, w in zip(slopes, leaves(state), strict=True)]
    rounding = ROUNDINGS * EPS * (sum(J @ w for J, w in pairs) + labels)
    try:
        reach = np.sum(np.abs(problem.model.features(problem.data.X)), axis=1)
    except RefusedError:
        reach = sum(np.sum(J, axis=1) for J, _ in pairs)
    return np.asarray(reach * error + rounding)
