"""Flows that somebody hands in, and whether each is one.

From each of its states the gradient is followed to the next one, and the distance there is its
defect: above its own error it is no gradient flow."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance, vector
from .._core.problems import MirrorProblem, Problem
from .._core.progress import doing
from .._core.results import Result, Trajectory
from .._core.trees import leaf_map, leaves, regrouped
from ..errors import InputError
from .witness import ERROR_FACTOR, downhill, filled, leaf_stack, witness_flow

SEGMENTS = 6
"""Stretches of a flow on which its defect is measured."""
CHECKPOINT_DEFECT = 1e-2
"""Defect of checkpoints without a stated error, over how far the predictor moves, up to which they
stand for a flow."""
ROUNDING = 1e-9
"""Distance, relative to the largest entry, that rounding and the witness leave on a stretch."""


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """Parameters at times, from any framework: what `verify(flow=…)` takes beside a `Trajectory`.

    states: one set of parameters for each time, each of the model's type, or a tuple, list or
    mapping of arrays in its order.
    error: of the predictor at each time, where it is known; otherwise it is measured, as the
    distance from a gradient flow.

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=0.5)
    >>> flow = bf.gradient_flow(problem)
    >>> states = [(flow.states.plus[k], flow.states.minus[k]) for k in range(len(flow.times))]
    >>> mine = bf.theory.Checkpoints(flow.times, states, error=flow.predictor_error)
    >>> bf.verify("W/thm1", problem, flow=mine).status.value
    'holds'
    """

    times: ArrayLike
    states: Sequence[Any]
    error: ArrayLike | None = None


def as_trajectory(problem: Problem | MirrorProblem, flow: Trajectory | Checkpoints) -> Trajectory:
    """What was handed in as states of this problem at times, or an error that says what does not
    fit. Nothing is trusted yet."""
    instance("flow", flow, (Trajectory, Checkpoints))
    if isinstance(flow, Trajectory):
        if not same_problem(flow.problem, problem):
            raise InputError(
                "flow: it belongs to another problem; give verify the problem that it was "
                "computed for"
            )
        states = _unstacked(flow)
    else:
        if not isinstance(flow.states, Sequence):
            raise InputError(
                f"flow.states: expected a list of parameters, found {type(flow.states).__name__}"
            )
        states = [_parameters(problem, state, k) for k, state in enumerate(flow.states)]
    times = vector("flow.times", flow.times)
    if times.size != len(states) or times.size < (2 if isinstance(flow, Checkpoints) else 1):
        raise InputError(
            f"flow: {times.size} times and {len(states)} states, needs as many of each, two at "
            "least"
        )
    if (
        (isinstance(flow, Checkpoints) and times[0] != 0)
        or times[0] < 0
        or np.any(np.diff(times) <= 0)
    ):
        raise InputError(
            "flow.times: expected times that start at 0, the problem's start, and increase"
        )
    start = start_of(problem)
    if times[0] > 0:
        times, states = np.append(0.0, times), [start, *states]
    if _distance(states[0], start) > _start_rounding(flow) * max(_largest(start), _tiny()):
        raise InputError("flow.states: the first is not the problem's start")
    stacked = leaf_stack(states)
    loss = np.array([_loss(problem, state) for state in states])
    result = flow.result if isinstance(flow, Trajectory) else Result.REACHED_T1
    stats = flow.stats if isinstance(flow, Trajectory) else {"method": "checkpoints"}
    polar = flow.polar if isinstance(flow, Trajectory) else None
    of_predictor = _stated(
        flow, flow.predictor_error if isinstance(flow, Trajectory) else flow.error, times.size
    )
    error = _stated(flow, flow.error, times.size)
    return Trajectory(
        times, stacked, loss, error, (), stats, result, problem, None, polar, of_predictor
    )


def _stated(flow: Trajectory | Checkpoints, stated: ArrayLike | None, count: int) -> Array:
    """The errors that are stated, at every time; NaN where none are."""
    if stated is None:
        return np.full(count, np.nan)
    words = "flow.error: expected a number, or one for each time"
    try:
        errors = np.asarray(stated, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(words) from None
    known = np.broadcast_to(errors, (count,)) if errors.ndim == 0 else errors
    # the start, where it was left out, has none
    if known.ndim != 1 or not 0 <= count - known.size <= 1:
        raise InputError(words)
    if isinstance(flow, Checkpoints) and not np.all((known >= 0) & np.isfinite(known)):
        raise InputError(
            "flow.error: expected finite errors of at least zero; leave it out where they are not "
            "known"
        )
    return np.append(np.zeros(count - known.size), known)


def _start_rounding(flow: Trajectory | Checkpoints) -> float:
    """How far the first state may be from the start, relative: what its own precision leaves."""
    first = flow.states[0] if isinstance(flow, Checkpoints) and len(flow.states) else flow.states
    parts = (
        list(first.values())
        if isinstance(first, dict)
        else leaves(tuple(first) if isinstance(first, list) else first)
    )
    single = any(
        getattr(leaf, "dtype", None) is not None
        and str(leaf.dtype).endswith(("float32", "float16"))
        for leaf in parts
    )
    return (
        1e-3
        if single and any("float16" in str(leaf.dtype) for leaf in parts)
        else 1e-6
        if single
        else ROUNDING
    )


def same_problem(one: Any, other: Any) -> bool:
    """Whether two problems have the same data and start, and the same velocity there: model, loss
    and potential show in it."""
    if one is other:
        return True
    if type(one) is not type(other) or not all(
        np.array_equal(a, b) for a, b in zip(_data(one), _data(other), strict=True)
    ):
        return False
    places = [start_of(p) if isinstance(p, MirrorProblem) else p.start for p in (one, other)]
    starts = [leaves(place) for place in places]
    if len(starts[0]) != len(starts[1]) or not all(
        np.array_equal(a, b) for a, b in zip(*starts, strict=True)
    ):
        return False
    if isinstance(one, Problem) and not np.array_equal(one.log_scale, other.log_scale):
        return False
    velocities = [leaves(downhill(p, place)) for p, place in zip((one, other), places, strict=True)]
    return all(np.array_equal(a, b) for a, b in zip(*velocities, strict=True))


def _data(problem: Any) -> tuple[Array, Array]:
    return (
        (problem.X, problem.y)
        if isinstance(problem, MirrorProblem)
        else (problem.data.X, problem.data.y)
    )


def start_of(problem: Any) -> Any:
    """The state at t = 0."""
    if not isinstance(problem, MirrorProblem):
        return problem.first_state
    return problem.origin.beta if problem.beta0 is None else problem.beta0


def _parameters(problem: Any, state: Any, k: int) -> Any:
    """One state as the model's own parameters."""
    if isinstance(problem, MirrorProblem):
        return vector(f"flow.states[{k}]", state, problem.X.shape[1])
    start = problem.start
    if isinstance(state, dict):
        names = set(getattr(start, "_fields", ()))
        if missing := names - set(state):
            raise InputError(
                f"flow.states[{k}]: no {', '.join(sorted(missing))} among "
                f"{', '.join(map(str, state))}"
            )
        if foreign := set(map(str, state)) - names:
            raise InputError(
                f"flow.states[{k}]: {', '.join(sorted(foreign))} belong to no "
                f"{type(start).__name__}"
            )
        state = [state[name] for name in start._fields]
    if not isinstance(state, tuple | list) or len(state) != len(start):
        fields = ", ".join(getattr(start, "_fields", ()))
        raise InputError(
            f"flow.states[{k}]: expected {len(start)} arrays, as in "
            f"{type(start).__name__}({fields}), or a mapping"
        )
    try:
        arrays = leaf_map(lambda leaf: np.asarray(leaf, dtype=np.float64), tuple(state))
    except (TypeError, ValueError, RuntimeError) as reason:
        raise InputError(f"flow.states[{k}]: not arrays of numbers: {reason}") from None
    try:
        return problem.model.checked(regrouped(start, arrays), problem.data.d)
    except InputError as reason:
        raise InputError(f"flow.states[{k}]: {reason}") from None


def _loss(problem: Any, state: Any) -> float:
    if isinstance(problem, MirrorProblem):
        return 0.5 * float(np.sum((problem.X @ state - problem.y) ** 2))
    return float(problem.loss(problem.model(state, problem.data.X), problem.data.y))


@dataclass(frozen=True)
class Defect:
    """How far a flow is from following its gradient: `size`, against what its error and the
    witness's `allowed`.

    flow: the gradient followed from the first state of each stretch, which is what claims look at:
    nothing between the states that were handed in is taken on trust. Its error is the stated one,
    or the distances met so far, and the witness's own.
    """

    size: float
    allowed: float
    flow: Trajectory

    @property
    def sound(self) -> bool:
        return self.size <= self.allowed


@doing("whether the flow follows ∇L")
def flow_defect(flow: Trajectory, time_s: float) -> Defect | str:
    """The largest distance of a flow's states from where the gradient leads; or why it is not
    known.

    Distances are those of the weights and of the predictor, at every state. A flow with stated
    errors may be within them of the gradient followed from the start; else, as a training with
    steps of its own, it is followed from stretch to stretch.
    """
    if len(flow.times) < 2:
        return "one state is no flow"
    stated = bool(np.all(np.isfinite(flow.error)) and np.all(np.isfinite(flow.predictor_error)))
    whole = _defect_from_start(flow, time_s / 3) if stated else None
    return (
        whole
        if whole is not None and whole.sound
        else _defect_by_stretches(flow, stated, 2 * time_s / 3 if stated else time_s)
    )


def _defect_from_start(flow: Trajectory, time_s: float) -> Defect | None:
    """Against one witness, at the state that is farthest from it in units of the errors; None where
    there is no witness.

    A restart on a plateau knows what is small no better than to the error of what is large: there
    only this tells.
    """
    problem = flow.problem
    run = witness_flow(problem, t1=float(flow.times[-1]), time_s=time_s)
    if isinstance(run, str):
        return None
    worst = (0.0, _tiny())
    for k, state in enumerate(_unstacked(flow)):
        t = min(float(flow.times[k]), float(run.times[-1]))
        there = run.at(t)
        for own, other, stated, made in (
            (state, there, flow.error, run.error),
            (
                _effective(problem, state),
                _effective(problem, there),
                flow.predictor_error,
                run.predictor_error,
            ),
        ):
            error = (
                ROUNDING * max(_largest(own), _tiny())
                + float(stated[k])
                + float(np.interp(t, run.times, made))
            )
            worst = max(
                worst,
                (_distance(own, other), ERROR_FACTOR * error),
                key=lambda pair: pair[0] / pair[1],
            )
    return Defect(
        *worst, _followed(flow, [(0.0, run)], [(worst[0], float(np.max(run.error)))], True)
    )


def _defect_by_stretches(flow: Trajectory, stated: bool, time_s: float) -> Defect | str:
    """From the first state of each of at most SEGMENTS stretches of equal movement, the gradient is
    followed to its last."""
    problem, deadline, times = flow.problem, time.monotonic() + time_s, flow.times
    states, errors = _unstacked(flow), np.maximum(flow.error, flow.predictor_error)
    effective = [_effective(problem, state) for state in states]
    steps = np.array([_distance(a, b) for a, b in itertools.pairwise(effective)])
    reach = np.append(0.0, np.cumsum(steps / max(float(np.sum(steps)), _tiny())))
    chosen = np.searchsorted(reach, np.linspace(0, 1, SEGMENTS + 1)[1:-1], side="right")
    ends = sorted({0, len(times) - 1, *(int(min(k, len(times) - 1)) for k in chosen)})
    runs, met, allowed = [], [], 0.0
    for first, last in itertools.pairwise(ends):
        span = float(times[last] - times[first])
        again = _restarted(flow, states[first], first)
        run = (
            again
            if isinstance(again, str)
            else witness_flow(again, t1=span, time_s=max(deadline - time.monotonic(), 0.0))
        )
        if isinstance(run, str):
            return run
        apart = 0.0
        for k in range(first + 1, last + 1):
            there = run.at(min(float(times[k] - times[first]), float(run.times[-1])))
            apart = max(
                apart,
                _distance(_effective(problem, there), effective[k]),
                _distance(there, states[k]),
            )
        size = max(_largest(states[last]), _largest(effective[last]), _tiny())
        own = float(max(np.max(run.error), np.max(run.predictor_error))) + (
            0.0 if stated else ROUNDING * size
        )
        runs.append((float(times[first]), run))
        met.append((apart, own))
        if stated:
            allowed = max(
                allowed, ERROR_FACTOR * (ROUNDING * size + float(errors[first] + errors[last]))
            )
        else:
            allowed = max(allowed, ERROR_FACTOR * own)
    if not stated:
        allowed += CHECKPOINT_DEFECT * max(_distance(state, effective[0]) for state in effective)
    return Defect(max(apart for apart, _ in met), allowed, _followed(flow, runs, met, stated))


def _followed(
    flow: Trajectory,
    runs: list[tuple[float, Trajectory]],
    met: list[tuple[float, float]],
    stated: bool,
) -> Trajectory:
    """The stretches as one trajectory, at the witness's own steps, and the last state as it was
    handed in."""
    begins = np.array([begin for begin, _ in runs])
    times, states, errors = [], [], []
    added = 0.0
    for (begin, run), (apart, own) in zip(runs, met, strict=True):
        made = np.stack([run.error, run.predictor_error], axis=1)
        for t, state, more in zip(run.times[:-1], _unstacked(run)[:-1], made[:-1], strict=True):
            times.append(begin + float(t))
            states.append(state)
            before = [
                np.interp(times[-1], flow.times, error)
                for error in (flow.error, flow.predictor_error)
            ]
            known = before + more if stated else np.full(2, added + apart + own)
            errors.append(known if times[-1] > 0 else np.zeros(2))
        added += apart
    times.append(float(flow.times[-1]))
    states.append(_unstacked(flow)[-1])
    last = np.array([flow.error[-1], flow.predictor_error[-1]])
    errors.append(last if stated else np.full(2, added + met[-1][1]))
    moments = [(begin, event) for begin, run in runs for event in run.events]
    events = tuple(event._replace(time=begin + event.time) for begin, event in moments)

    def at(t: float) -> Any:
        k = max(int(np.searchsorted(begins, t, side="right")) - 1, 0)
        return runs[k][1].at(min(t - float(begins[k]), float(runs[k][1].times[-1])))

    def polar(t: float) -> tuple[Any, Array]:
        k = max(int(np.searchsorted(begins, t, side="right")) - 1, 0)
        stretch = runs[k][1].polar
        assert stretch is not None
        return stretch(t - float(begins[k]))

    loss = np.array([_loss(flow.problem, state) for state in states])
    known = all(run.polar is not None for _, run in runs)
    return Trajectory(
        np.array(times),
        leaf_stack(states),
        loss,
        np.array(errors)[:, 0],
        events,
        {"method": "given"},
        flow.result,
        flow.problem,
        at,
        polar if known else None,
        np.array(errors)[:, 1],
    )


def _restarted(flow: Trajectory, state: Any, k: int) -> Any:
    """The problem from the flow's k-th state, or why that is not known."""
    problem = flow.problem
    if isinstance(problem, MirrorProblem):
        return dataclasses.replace(problem, beta0=state)
    if problem.in_floats or k == 0:
        return dataclasses.replace(problem, start=state) if problem.in_floats else problem
    if flow.polar is None:
        return (
            "neurons below float range are zero in its states, and it has no `polar` to say "
            "what they are"
        )
    units, log_norms = flow.polar(float(flow.times[k]))
    return dataclasses.replace(
        problem, start=units, log_scale=np.where(np.isfinite(log_norms), log_norms, 0.0)
    )


def _effective(problem: Any, state: Any) -> Any:
    return state if isinstance(problem, MirrorProblem) else problem.model.effective(state)


def _unstacked(flow: Trajectory) -> list[Any]:
    return [
        filled(flow.states, [leaf[k] for leaf in leaves(flow.states)])
        for k in range(len(flow.times))
    ]


def _distance(one: Any, other: Any) -> float:
    return max(
        float(np.max(np.abs(a - b), initial=0.0))
        for a, b in zip(leaves(one), leaves(other), strict=True)
    )


def _largest(state: Any) -> float:
    return max(float(np.max(np.abs(leaf), initial=0.0)) for leaf in leaves(state))


def _tiny() -> float:
    return float(np.finfo(float).tiny)
