"""Gradient flow of classifiers whose weights grow for ever: the march, its error, and the
trajectory (C, §2.4)."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array, real_array
from ..._core.problems import Problem
from ..._core.progress import doing
from ..._core.results import Result, Trajectory, altered
from ..._core.trees import leaf_map, stack
from ..._numerics.flow_frame import FlowRequest, goes_on
from ..._numerics.interrupts import still_saved
from ...errors import InputError, RefusedError
from ...losses import MarginLoss, SmoothMargin
from .clocks import between, share_until
from .companions import (
    BESIDE,
    GRIDS,
    Companion,
    Departure,
    begun,
    compared_places,
    errors_at,
    follow,
    follow_branch,
    other_branch,
    with_turns,
)
from .implicit_step import Point, squared_norm
from .margin_march import March, normalised
from .tangents import VIEWED, view_of

KEPT_BYTES = 2**28
"""Memory for states saved of the steps; of longer runs every second, fourth, … is saved."""
MATRICES, MOST_BYTES = 5, 2**32
"""n × n arrays held at once (products of labels and of inputs, the kernel, its system, a factor),
and what they may take."""
HIGHEST = 1000.0
"""Log-norm up to which weights fit a float with room to spare."""


def margin_loss(loss: Any) -> MarginLoss | None:
    """ℓ, where the loss is its mean risk or its smooth margin."""
    inner = loss.loss if isinstance(loss, SmoothMargin) else loss
    return inner if isinstance(inner, MarginLoss) else None


def refusal(problem: Problem) -> str | None:
    """None where the margin flow fits, else a sentence."""
    if not isinstance(problem.model, VIEWED):
        return (
            "the margin flow is for TwoLayer and SignedTwoLayer networks, found "
            f"{type(problem.model).__name__}"
        )
    if margin_loss(problem.loss) is None:
        return (
            "the margin flow needs an exponential or logistic loss or their SmoothMargin, "
            f"found {type(problem.loss).__name__}"
        )
    return None


def integrate_margin(
    problem: Problem,
    request: FlowRequest,
    log_norm: float | None = None,
    before: _Runs | None = None,
) -> Trajectory[Any]:
    """The flow until t1 or log β; companions on other steps give the error. After its time it ends
    anywhere. before: the march and the companions that go on."""
    with request.deadline.paused():
        from ..._numerics.compilation import announced
    return announced(
        "margin flow", _integrate, problem, request, log_norm, before, deadline=request.deadline
    )


class _Runs(NamedTuple):
    """A march and how it ended; its companions, and the one beside it from a branch, if it was
    followed; the seconds of both."""

    march: March
    result: Result
    companions: list[Companion]
    branch: Departure | None = None
    beside: Companion | None = None
    seconds: float = 0.0
    error_seconds: float = 0.0


def _integrate(
    problem: Problem, request: FlowRequest, log_norm: float | None, before: _Runs | None
) -> Trajectory[Any]:
    rtol, wanted, deadline = request.rtol, request.times, request.deadline
    view, loss = view_of(problem.model, problem.data.X, problem.data.y), margin_loss(problem.loss)
    assert view is not None and loss is not None
    start = _start(problem, loss)
    cap = np.inf if log_norm is None else log_norm
    ends = np.empty(0) if request.t1 is None else np.array([request.t1])
    goals = ends if wanted is None else np.union1d(wanted, ends)
    if squared_norm(view.velocity(start.params, start.weights)) == 0:
        return _standing(problem, start, np.zeros(1) if wanted is None else wanted)
    began = time.process_time()
    if before is None:
        blank = March(view, loss, not isinstance(problem.loss, SmoothMargin), rtol, points=[start])
        before = _Runs(blank, Result.TIME_LIMIT, [begun(blank, grid) for grid in GRIDS])
    march, result = before.march.copy(deadline.first), before.result
    if goes_on(result, march.goals[-1] if march.goals else 0.0, request.t1):
        with request.watched(lambda: (march.times[-1], march.points[-1].log_norm), "log-norm"):
            result = march.run(start, goals, cap)
    middle = time.process_time()
    places = _saved(march, wanted)
    places = [places[i] for i in still_saved(len(places))]
    compared = with_turns(march, compared_places(len(march.points) - 1, places), places)
    with doing("its error"):
        found = [
            follow(march, grid, compared, deadline.both, companion)
            for grid, companion in zip(GRIDS, before.companions, strict=True)
        ]
        companions = [
            (grid.factor, companion) for grid, companion in zip(GRIDS, found, strict=True)
        ]
        branch = other_branch(march, places, errors_at(march, companions, places)["relative_error"])
        if branch is None:
            beside = None
        elif before.beside is not None and branch.same_as(before.branch):
            beside = follow(march, BESIDE, compared, deadline.both, before.beside)
        else:
            beside = follow_branch(march, branch, compared, deadline.both)
    companions += [] if beside is None else [(BESIDE.factor, beside)]
    seconds = before.seconds + middle - began
    error_seconds = before.error_seconds + time.process_time() - middle
    stats = {
        "method": "margin",
        "steps": len(march.points) - 1,
        "rejected": march.rejected,
        "rtol": rtol,
        "seconds": seconds,
        "error_seconds": error_seconds,
    }
    runs = _Runs(march, result, found, branch, beside, seconds, error_seconds)
    further = partial(integrate_margin, problem, log_norm=log_norm, before=runs)
    flow = _trajectory(problem, march, companions, places, result, stats)
    return altered(flow, continuation=further)


def _start(problem: Problem, loss: MarginLoss) -> Point:
    _check_moving(problem)
    weights = SmoothMargin(loss).weights(
        problem.model(problem.start, problem.data.X), problem.data.y
    )
    return normalised(problem.start, weights)


def _check_moving(problem: Problem) -> None:
    if not any(np.any(leaf) for leaf in problem.start):
        raise InputError("start: every weight is zero, and from zero nothing moves")


def check(problem: Problem, log_norm: float | None) -> None:
    """An error where the flow takes too much memory, or the log-norm to end at is below the start's
    or above what floats hold."""
    n, taken = problem.data.n, MATRICES * 8 * problem.data.n**2
    if taken > MOST_BYTES:
        raise RefusedError(
            f"data: the margin flow solves {n} × {n} systems, {taken / 2**30:.3g} GiB; "
            "margin_ascent solves none"
        )
    if log_norm is None:
        return
    _check_moving(problem)
    cap, first = (
        float(real_array("log_norm", log_norm)),
        normalised(problem.start, np.empty(0)).log_norm,
    )
    if not first < cap <= HIGHEST:
        raise InputError(
            f"log_norm: found {cap:g}, needs more than the start's {first:g} and at most "
            f"{HIGHEST:g}"
        )


def _saved(march: March, wanted: Array | None) -> list[int]:
    """Which points to save: those asked for and the last, or all that fit."""
    last = len(march.points) - 1
    if wanted is not None:
        return march.saved if march.saved and march.saved[-1] == last else [*march.saved, last]
    size = 8 * sum(np.size(leaf) for leaf in march.points[0].params) * (last + 1)
    stride = max(1, -(-size // KEPT_BYTES))
    return sorted({*range(0, last + 1, stride), last})


def _trajectory(
    problem: Problem,
    march: March,
    companions: list[tuple[float, Companion]],
    places: list[int],
    result: Result,
    stats: dict[str, Any],
) -> Trajectory[Any]:
    points = [march.points[i] for i in places]
    clock = np.array([march.times[i] for i in places])
    log_times = np.array([march.log_times[i] for i in places]) if march.risk_clock else None
    states = stack([_weights_of(point) for point in points])
    margins = np.array([np.min(march.view.margins(point.params)) for point in points])
    more = errors_at(march, companions, places)
    error = more.pop("state")
    with np.errstate(over="ignore"):
        times = clock if log_times is None else np.exp(log_times)
    return Trajectory(
        times=times,
        states=states,
        loss=problem.loss(problem.model(states, problem.data.X), problem.data.y),
        error=error,
        events=(),
        stats={**stats, **more},
        result=result,
        problem=problem,
        interpolant=lambda t: _at(march, t),
        predictor_error=_of_products(states, error),
        margin=margins,
        log_norm=np.array([point.log_norm for point in points]),
        sample_weights=np.array([point.weights for point in points]),
        smooth_time=clock,
        log_time=log_times,
    )


def _of_products(states: Any, error: Array) -> Array:
    """What errors of the weights make of a_jw_j, or of ‖w_j‖w_j: each factor is at most as long as
    the longest of all."""
    longest, wide = np.max(np.linalg.norm(states.W, axis=-1), axis=-1), np.sqrt(states.W.shape[-1])
    if hasattr(states, "a"):
        longest = np.maximum(longest, np.max(np.abs(states.a), axis=-1))
    return np.asarray(error * ((1 + wide) * longest + wide * error))


def _at(march: March, t: float) -> Any:
    """The state at a time of the flow's clock."""
    times = np.array(march.times)
    if not march.risk_clock:
        return _weights_of(between(times, march.points, t))
    if t == 0:
        return _weights_of(march.points[0])
    k = min(int(np.searchsorted(march.log_times, np.log(t))), len(times) - 1)
    dt = times[k] - times[k - 1]
    share = share_until(np.log(t), march.log_times[k - 1], march.slopes[k - 1], march.slopes[k], dt)
    return _weights_of(between(times, march.points, times[k - 1] + share * dt))


def _weights_of(point: Point) -> Any:
    scale = np.exp(point.log_norm / 2)
    return leaf_map(lambda leaf: scale * leaf, point.params)


def _standing(problem: Problem, start: Point, times: Array) -> Trajectory[Any]:
    """A network that no sample moves."""
    states = leaf_map(lambda leaf: np.repeat(leaf[None], times.size, axis=0), problem.start)
    zeros = np.zeros(times.size)
    return Trajectory(
        times=times,
        states=states,
        loss=problem.loss(problem.model(states, problem.data.X), problem.data.y),
        error=zeros,
        events=(),
        stats={"method": "margin", "steps": 0},
        result=Result.DEAD,
        problem=problem,
        interpolant=lambda t: problem.start,
        margin=zeros + np.min(problem.data.y * problem.model(start.params, problem.data.X)),
        log_norm=zeros + start.log_norm,
        sample_weights=np.repeat(start.weights[None], times.size, axis=0),
    )
