"""Flows from the gradient of the loss alone, which share nothing with a mirror form or a limit; and whether a flow is one.

A claim about gradient flow is compared with `witness_flow`. A flow that somebody hands in is taken apart: from each of its states
the gradient is followed to the next one, and the distance there is its defect. Above its own error it is no gradient flow.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BiasflowError, InputError
from ..flows.weights import integrate_weights
from ..inputs import Array, instance, vector
from ..models import TwoLayer
from ..records import MirrorProblem, Problem, Result, Trajectory, leaf_map, leaves, regrouped

WITNESS_RTOL = 1e-10
"""Tolerance of a witness: two digits beyond the flows it is compared with."""
SEGMENTS = 6
"""Stretches of a flow on which its defect is measured."""
LENIENT = 10.0
"""Times its stated error by which a gradient flow may miss: estimates are of the order of the error, no bounds."""
COARSE = 1e-2
"""Defect of checkpoints without a stated error, over how far the predictor moves, up to which they stand for a flow."""
ROUNDING = 1e-9
"""Distance, relative to the largest entry, that rounding and the witness leave on a stretch."""


def witness_flow(
    problem: Any, t1: float | None = None, times: ArrayLike | None = None, *, time_s: float, rtol: float = WITNESS_RTOL
) -> Trajectory | str:
    """The flow ẇ = −∇L(w) by raw gradients, or a sentence that says why there is none within `time_s` seconds."""
    if isinstance(problem, MirrorProblem):
        from .mirror.witness import primal_flow

        return primal_flow(problem, t1, times, rtol, time_s)
    if t1 is None and times is None and not problem.loss.attained:
        return f"{type(problem.loss).__name__} has no minimiser: its flow has no end to compare with"
    if isinstance(problem.model, TwoLayer):
        from .relu.witness import gated_flow

        return gated_flow(problem, t1, times, rtol, time_s)
    failure = problem.model.nonsmooth(problem.params0)
    if failure is not None:
        return failure
    try:
        flow = integrate_weights(problem, t1, rtol, times, time_s=time_s)
    except (BiasflowError, ValueError, FloatingPointError) as reason:
        return f"the weights could not be followed: {reason}"
    return flow if flow.result.success else f"the weights could not be followed: {flow.result.value}"


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """Parameters at times, from any framework: what `verify(flow=…)` takes beside a `Trajectory`.

    states: one set of parameters for each time, each of the model's type, or a tuple, list or mapping of arrays in its order.
    error: of the predictor at each time, where it is known; otherwise it is measured, as the distance from a gradient flow.
    """

    times: ArrayLike
    states: Sequence[Any]
    error: ArrayLike | None = None


def as_trajectory(problem: Problem | MirrorProblem, flow: Trajectory | Checkpoints) -> Trajectory:
    """What was handed in as a trajectory of this problem, or an error that says what does not fit."""
    if isinstance(flow, Trajectory):
        if not same_problem(flow.problem, problem):
            raise InputError("flow: it belongs to another problem; give verify the problem that it was computed for")
        return flow
    instance("flow", flow, (Trajectory, Checkpoints))
    times = vector("flow.times", flow.times)
    if times.size != len(flow.states) or times.size < 2:
        raise InputError(f"flow: {times.size} times and {len(flow.states)} states, needs as many of each, two at least")
    if times[0] != 0 or np.any(np.diff(times) <= 0):
        raise InputError("flow.times: expected times that start at 0, the problem's start, and increase")
    read = [_parameters(problem, state, k) for k, state in enumerate(flow.states)]
    start = _start(problem)
    if _distance(read[0], start) > ROUNDING * max(_largest(start), _tiny()):
        raise InputError("flow.states: the first is not the problem's start")
    error = np.full(times.size, np.nan) if flow.error is None else np.broadcast_to(np.asarray(flow.error, float), times.shape)
    states = leaf_stack(read)
    slopes = [downhill(problem, state) for state in read]
    loss = np.array([_loss(problem, state) for state in read])
    return Trajectory(
        times,
        states,
        loss,
        error,
        (),
        {"method": "checkpoints"},
        Result.REACHED_T1,
        problem,
        lambda t: _hermite(times, read, slopes, t),
    )


def same_problem(one: Any, other: Any) -> bool:
    """Whether two problems have the same data and start, and the same velocity there: model, loss and potential show in it."""
    if one is other:
        return True
    if type(one) is not type(other) or not all(np.array_equal(a, b) for a, b in zip(_data(one), _data(other), strict=True)):
        return False
    starts = [leaves(_start(p)) for p in (one, other)]
    if len(starts[0]) != len(starts[1]) or not all(np.array_equal(a, b) for a, b in zip(*starts, strict=True)):
        return False
    return all(np.array_equal(a, b) for a, b in zip(*(leaves(downhill(p, _start(p))) for p in (one, other)), strict=True))


def _data(problem: Any) -> tuple[Array, Array]:
    return (problem.X, problem.y) if isinstance(problem, MirrorProblem) else (problem.data.X, problem.data.y)


def _start(problem: Any) -> Any:
    if not isinstance(problem, MirrorProblem):
        return problem.params0
    return problem.potential.at_dual(np.zeros(problem.X.shape[1])).beta if problem.beta0 is None else problem.beta0


def _parameters(problem: Any, state: Any, k: int) -> Any:
    """One state as the model's own parameters."""
    if isinstance(problem, MirrorProblem):
        return vector(f"flow.states[{k}]", state, problem.X.shape[1])
    start = problem.params0
    if isinstance(state, dict):
        missing = set(getattr(start, "_fields", ())) - set(state)
        if missing:
            raise InputError(f"flow.states[{k}]: no {', '.join(sorted(missing))} among {', '.join(map(str, state))}")
        state = [state[name] for name in start._fields]
    if not isinstance(state, tuple | list) or len(state) != len(start):
        raise InputError(f"flow.states[{k}]: expected {len(start)} arrays, as in {type(start).__name__}")
    try:
        arrays = leaf_map(lambda leaf: np.asarray(leaf, dtype=np.float64), tuple(state))
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(f"flow.states[{k}]: not arrays of numbers: {reason}") from None
    return problem.model.checked(regrouped(start, arrays), problem.data.d)


def downhill(problem: Any, state: Any) -> Any:
    """−∇L at a state; for a mirror flow its velocity −Xᵀ(Xβ − y)/φ''."""
    if isinstance(problem, MirrorProblem):
        return -(problem.X.T @ (problem.X @ state - problem.y)) / problem.potential.hessian_diag(state)
    output = problem.loss.gradient(problem.model(state, problem.data.X), problem.data.y)
    return leaf_map(np.negative, problem.model.gradient(state, problem.data.X, output))


def _loss(problem: Any, state: Any) -> float:
    if isinstance(problem, MirrorProblem):
        return 0.5 * float(np.sum((problem.X @ state - problem.y) ** 2))
    return float(problem.loss(problem.model(state, problem.data.X), problem.data.y))


def _hermite(times: Array, states: Sequence[Any], slopes: Sequence[Any], t: float) -> Any:
    """The cubic through two checkpoints with the gradient's slopes at both."""
    k = int(np.clip(np.searchsorted(times, t) - 1, 0, len(times) - 2))
    h = times[k + 1] - times[k]
    s = (t - times[k]) / h
    a, b, c, d = (1 + 2 * s) * (1 - s) ** 2, s * (1 - s) ** 2 * h, s**2 * (3 - 2 * s), s**2 * (s - 1) * h
    parts = [leaves(each) for each in (states[k], slopes[k], states[k + 1], slopes[k + 1])]
    return _filled(states[k], [a * w + b * v + c * w1 + d * v1 for w, v, w1, v1 in zip(*parts, strict=True)])


@dataclass(frozen=True)
class Defect:
    """How far a flow is from following its gradient: `size`, against what its error and the witness's `allowed`.

    stretches: (where a stretch ends, the distance there), in order.
    """

    size: float
    allowed: float
    stretches: tuple[tuple[float, float], ...] = ()

    @property
    def sound(self) -> bool:
        return self.size <= self.allowed


def flow_defect(flow: Trajectory, time_s: float) -> Defect | str:
    """The largest distance, over stretches of a flow, of its predictor from where the gradient leads; or why it is not known."""
    problem, deadline = flow.problem, time.monotonic() + time_s
    times, states = flow.times, _unstacked(flow)
    if times[0] > 0:
        times, states = np.append(0.0, times), [_start(problem), *states]
    effective = [_effective(problem, state) for state in states]
    steps = np.array([_distance(a, b) for a, b in zip(effective[1:], effective[:-1], strict=True)])
    if not steps.size:
        return "one state is no flow"
    reach = np.append(0.0, np.cumsum(steps / max(float(np.sum(steps)), _tiny())))
    chosen = sorted({*np.searchsorted(reach, np.linspace(0, 1, SEGMENTS + 1)[:-1], side="right").tolist(), len(times) - 1})
    ends = sorted({0, *(min(k, len(times) - 1) for k in chosen)})
    allowed, stated = 0.0, bool(np.all(np.isfinite(flow.error)))
    found: list[tuple[float, float]] = []
    errors = np.append(np.zeros(len(times) - len(flow.error)), flow.error)
    for first, last in itertools.pairwise(ends):
        begun = _restarted(problem, states[first])
        run = witness_flow(begun, t1=float(times[last] - times[first]), time_s=max(deadline - time.monotonic(), 0.0))
        if isinstance(run, str):
            return run
        own = ROUNDING * max(float(np.max(np.abs(np.asarray(effective[last])))), _tiny()) if stated else 0.0
        found.append((float(times[last]), _distance(_effective(problem, run.final), effective[last])))
        extra = LENIENT * float(errors[first] + errors[last]) if stated else 0.0
        allowed = max(allowed, LENIENT * float(run.error[-1]) + extra + own)
    if not stated:
        allowed += COARSE * max(_distance(state, effective[0]) for state in effective)
    return Defect(max(distance for _, distance in found), allowed, tuple(found))


def measured_error(flow: Trajectory, defect: Defect) -> Trajectory:
    """The flow with its defects, added up over the stretches begun, as its error, where it states none."""
    if np.all(np.isfinite(flow.error)):
        return flow
    ends, sizes = np.array(defect.stretches).T
    begun = np.searchsorted(ends, flow.times)  # the stretch in which a time lies
    added = np.cumsum(sizes)[np.minimum(begun, len(ends) - 1)]
    return dataclasses.replace(flow, error=np.where(flow.times > 0, added, 0.0))


def _restarted(problem: Any, state: Any) -> Any:
    if isinstance(problem, MirrorProblem):
        return dataclasses.replace(problem, beta0=state)
    return dataclasses.replace(problem, params0=state)


def _effective(problem: Any, state: Any) -> Any:
    return state if isinstance(problem, MirrorProblem) else problem.model.effective(state)


def _unstacked(flow: Trajectory) -> list[Any]:
    return [_filled(flow.states, [leaf[k] for leaf in leaves(flow.states)]) for k in range(len(flow.times))]


def leaf_stack(states: Sequence[Any]) -> Any:
    """States of one type as one state with a leading axis."""
    return _filled(states[0], [np.stack(column) for column in zip(*map(leaves, states), strict=True)])


def _filled(state: Any, arrays: Sequence[Any]) -> Any:
    """Other arrays in the shape of a state."""
    rest = iter(arrays)
    return leaf_map(lambda leaf: next(rest), state)


def _distance(one: Any, other: Any) -> float:
    return max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(leaves(one), leaves(other), strict=True))


def _largest(state: Any) -> float:
    return max(float(np.max(np.abs(leaf), initial=0.0)) for leaf in leaves(state))


def _tiny() -> float:
    return float(np.finfo(float).tiny)
