"""The trajectory of a ReLU flow: a run, a tighter one that tells its error, and what both make."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.progress import doing
from ..._core.results import Result, Trajectory, later
from ..._numerics.flow_frame import SAME_TIME, TIGHTER, TWICE, FlowRequest, goes_on
from ..._numerics.interrupts import still_saved
from ...errors import ScaleError
from ...models import TwoLayerParams
from . import march_control as marching
from .branches import Branch, Turn, along_branches, near_for
from .event_flow import gate_events, integrate_events
from .event_march import ACCEPTED
from .event_runs import NEGLIGIBLE, Checked, EventRun, Setting, check_events, run_events
from .geometry import Network, network
from .implicit_tail import UNSEEN
from .layout import HYSTERESIS, RHO
from .saved_weights import compare, unfold
from .turns_aside import LOOSE, UNCOUPLED

EPS = float(np.finfo(float).eps)
ROUNDINGS = 4.0
"""Roundings of a weight that its error allows for."""
RESULTS = {
    marching.REACHED_T1: Result.REACHED_T1,
    marching.CONVERGED: Result.CONVERGED,
    marching.STATIONARY: Result.STATIONARY,
    marching.STEP_LIMIT: Result.STEP_LIMIT,
    marching.STEP_TOO_SMALL: Result.STEP_TOO_SMALL,
    marching.TIME_LIMIT: Result.TIME_LIMIT,
    UNSEEN: Result.UNRESOLVED,
}
"""What is said of why a march ended."""


class _Runs(NamedTuple):
    """A run, the network and the turns with which it took its branches, and those it met; the
    second, and its seconds."""

    run: EventRun
    net: Network
    turns: tuple[Turn, ...]
    met: tuple[Branch, ...]
    check: Checked | None
    error_seconds: float


def integrate(
    problem: Problem,
    request: FlowRequest,
    branch: tuple[int, ...],
    before: _Runs | None = None,
) -> Trajectory[TwoLayerParams]:
    """The flow, as `integrate_events` says. before: the runs that go on."""
    wanted, deadline, net = request.times, request.deadline, network(problem)
    _check_rounding(net, request.rtol)
    start = problem.first_state
    residual = problem.first_outputs - problem.data.y
    result = _at_rest(net, residual)
    if result is not None:
        return _standing(problem, net, result, wanted)
    setting = Setting(problem, net, request.rtol, residual)
    if before is not None and before.run.marched.counts[ACCEPTED] == 0:
        before = None  # the early phase costs nothing
    with deadline.flag(deadline.first) as stop, request.watched(setting.where):

        def follow(
            net: Network, turns: tuple[Turn, ...], before: EventRun | None = None
        ) -> EventRun:
            return run_events(setting, net, request.t1, wanted, stop, turns, before)

        if before is None:
            run, net, turns, met = along_branches(follow, problem, net, branch)
            check, seconds = None, 0.0
        else:
            run, net, turns, met, check, seconds = before
            if goes_on(RESULTS[run.code], run.t_end, request.t1):
                # later than the cut, and no event of the last moment
                after = run.marched.time / (1 + near_for(run.rtol))
                after = max(after, met[-1].time if met else after)
                further = partial(follow, before=run)
                run, _, turns, new = along_branches(further, problem, net, (), turns, after)
                met += new
    if wanted is None:
        saved, states = run.every_step()
    else:
        last = run.t_end * (1 + SAME_TIME)
        saved = wanted if wanted[-1] <= last else wanted[wanted <= last]
        states = run.saved[: saved.size]
        if saved.size < wanted.size:
            saved, states = np.append(saved, run.t_end), np.concatenate([states, run.last[None]])
    places = still_saved(saved.size)
    saved, states = saved[places], states[places]
    params, loss = _unfolded(problem, net, states)
    moved = int(saved[0] == 0)
    if moved:
        params.a[0], params.W[0] = start
        loss[0] = problem.first_loss
    started, looks, others = time.thread_time(), saved[moved:], run.saved
    if looks.size:
        watched = request.watched(setting.where)
        with deadline.flag(deadline.both) as stop, doing("its error"), watched:
            check = check_events(setting, net, run, looks, stop, turns, check)
        others = check.saved
    error = _errors(net, run, others, looks, params.a[moved:], params.W[moved:])
    if moved:
        error = np.concatenate([np.zeros((2, 1)), error], axis=1)
    seconds += time.thread_time() - started

    def stats() -> dict[str, Any]:
        return {
            "method": "events",
            **run.counts,
            "early_until": run.t_early,
            "error_seconds": seconds,
            "branches": met,
        }

    log_norms = states[..., RHO].copy()
    if net.alive.size < params.a.shape[1]:
        log_norms = np.full(params.a.shape, -np.inf)
        log_norms[:, net.alive] = states[..., RHO]
    return Trajectory(
        times=saved,
        states=params,
        loss=loss,
        error=error[0],
        events=later(lambda: gate_events(net, run.rows)),
        stats=later(stats),
        result=RESULTS[run.code],
        problem=problem,
        interpolant=lambda t: start if t <= 0 else net.params(run.state_at(t)),
        polar=lambda t: net.polar(run.state_at(t)),
        predictor_error=error[1],
        log_norms=log_norms,
        continuation=partial(
            integrate_events,
            problem,
            branch=branch,
            before=_Runs(run, net, turns, met, check, seconds),
        ),
    )


def _check_rounding(net: Network, rtol: float) -> None:
    """A logarithm is known to its own rounding, and a norm to no more."""
    known = -net.lowest * EPS
    if known > rtol:
        raise ScaleError(
            f"log_scale: the norm e^{net.lowest:.4g} is known to {known:.2g} only, above rtol = "
            f"{rtol:.2g}; give a larger one"
        )


def _unfolded(problem: Problem, net: Network, states: Array) -> tuple[TwoLayerParams, Array]:
    """`net.params`, by compiled code, and their losses."""
    (m, d), T, data = net.given.W.shape, len(states), net.data
    filled = np.empty if net.alive.size == m else np.zeros
    a, W, outputs = filled((T, m)), filled((T, m, d)), np.empty((T, problem.data.n))
    kinks = data.columns, net.geometry.slope
    unfold(states, data.axes, net.still, net.alive, *kinks, a, W, outputs)
    return TwoLayerParams(a, W), problem.loss(outputs, problem.data.y)


def _errors(net: Network, run: EventRun, other: Array, saved: Array, a: Array, W: Array) -> Array:
    """(2, T): of the weights, and of the products a_jw_j, by their distances from a tighter run on
    half the mesh, whose states are `other`.

    Tolerances alone would not do: while steps grow as fast as they may, or stability binds them,
    two runs take the same ones.
    """
    # a logarithm of a thousand has three digits fewer behind its point
    rounding = ROUNDINGS * max(1.0, -net.lowest) * EPS
    # arcs end that far beyond their kinks; h, which they neglect, acts on a neuron while it grows
    if run.early is not None:
        rounding += HYSTERESIS + NEGLIGIBLE * run.per_step
    share = TIGHTER * run.per_step
    # may be left out of both at an event that they meet in the same step
    uncoupled = UNCOUPLED * share * min(1.0, share / LOOSE)
    left_out = rounding / TWICE, (rounding + uncoupled) / TWICE
    late = run.marched.rows
    changes = late if run.early is None else run.early.rows, late
    errors = np.empty((2, saved.size))
    compare(other, net.data.axes, net.still, net.alive, a, W, *left_out, *changes, saved, errors)
    errors *= TWICE
    return errors


def _at_rest(net: Network, residual: Array) -> Result | None:
    """Why the flow does not move at all, if so."""
    if np.count_nonzero(residual) == 0:
        return Result.CONVERGED
    feels = net.gates.size > 0 and (net.geometry.two_sided or net.felt)
    return None if feels and net.moves else Result.DEAD


def _standing(
    problem: Problem, net: Network, result: Result, wanted: Array | None
) -> Trajectory[TwoLayerParams]:
    """A flow that stays where it starts."""
    times = np.zeros(1) if wanted is None else wanted
    start = problem.first_state
    params = TwoLayerParams(
        np.repeat(start.a[None], times.size, axis=0), np.repeat(start.W[None], times.size, axis=0)
    )
    stats = {
        "method": "events",
        "steps": 0,
        "rejected": 0,
        "events": 0,
        "early_events": 0,
        "implicit_steps": 0,
        "stiffest_rate": 0.0,
        "early_until": 0.0,
        "error_seconds": 0.0,
        "branches": (),
    }
    polar = net.polar(net.start)
    return Trajectory(
        times=times,
        states=params,
        loss=problem.loss(problem.model(params, problem.data.X), problem.data.y),
        error=np.zeros(times.size),
        events=(),
        stats=stats,
        result=result,
        problem=problem,
        interpolant=lambda t: start,
        polar=lambda t: polar,
        log_norms=np.repeat(polar[1][None], times.size, axis=0),
    )
