"""Event-driven gradient flow of two-layer ReLU networks: a run, a tighter one that tells its error,
and the trajectory they make."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Result, Trajectory
from ..._numerics.flow_frame import SAME_TIME, TIGHTER, TWICE, FlowRequest
from ...errors import ConvergenceError, ScaleError
from ...models import TwoLayerParams
from .branches import along_branches
from .frozen_field import group_forces
from .geometry import Network, network
from .layout import HYSTERESIS, OFF, ON, OUT, RHO, SLIDE

EPS = float(np.finfo(float).eps)
ROUNDINGS = 4.0
"""Roundings of a weight that its error allows for."""


class GateEvent(NamedTuple):
    """Neuron j's gate on sample k changes at a time. kind: 'on', 'off', 'slide in' or 'slide
    out'."""

    time: float
    neuron: int
    sample: int
    kind: str


def integrate_events(
    problem: Problem, request: FlowRequest, branch: tuple[int, ...] = ()
) -> Trajectory[TwoLayerParams]:
    """The flow of a two-layer ReLU network until t1, or until converged; a tighter run gives the
    error.

    branch: the way to take at each moment from which there are several, the flow's own being number
    zero.
    """
    with request.deadline.paused():
        from ..._numerics import compilation
        from . import event_runs, saved_weights  # noqa: F401  (with all kernels)
    return compilation.announced(
        "ReLU", _integrate, problem, request, branch, deadline=request.deadline
    )


def _integrate(
    problem: Problem, request: FlowRequest, branch: tuple[int, ...]
) -> Trajectory[TwoLayerParams]:
    from .event_runs import EventRun, Setting, run_events

    wanted, deadline, net = request.times, request.deadline, network(problem)
    _check_rounding(net, request.rtol)
    start = problem.first_state
    residual = problem.model(start, problem.data.X) - problem.data.y
    result = _at_rest(net, residual)
    if result is not None:
        return _standing(problem, net, result, wanted)
    setting = Setting(problem, net, request.rtol, residual)
    with deadline.flag(deadline.first) as stop:

        def integrate(net: Network, turns: tuple[Any, ...]) -> EventRun:
            return run_events(setting, net, request.t1, wanted, stop, turns=turns)

        run, net, turns, met = along_branches(integrate, problem, net, branch)
    if wanted is None:
        saved, states = run.every_step()
    else:
        saved = wanted[wanted <= run.t_end * (1 + SAME_TIME)]
        states = run.saved[: saved.size]
        if saved.size < wanted.size:
            saved, states = np.append(saved, run.t_end), np.concatenate([states, run.last[None]])
    params = _unfolded(net, states)
    if saved[0] == 0:
        params.a[0], params.W[0] = start
    started = time.thread_time()
    with deadline.flag(deadline.both) as stop:
        moved = int(saved[0] == 0)
        later = saved[moved:]
        check = run_events(setting, net, run.t_end, later, stop, run, turns) if later.size else run
    error = np.zeros((2, saved.size))
    error[:, moved:] = _errors(net, run, check.saved, later, *(leaf[moved:] for leaf in params))
    stats: dict[str, Any] = {
        "method": "events",
        **run.counts,
        "early_until": run.t_early,
        "error_seconds": time.thread_time() - started,
        "branches": met,
    }
    log_norms = np.full(params.a.shape, -np.inf)
    log_norms[:, net.alive] = states[..., RHO]
    return Trajectory(
        times=saved,
        states=params,
        loss=problem.loss(problem.model(params, problem.data.X), problem.data.y),
        error=error[0],
        events=gate_events(net, run.rows),
        stats=stats,
        result=_result(run.code),
        problem=problem,
        interpolant=lambda t: start if t <= 0 else net.params(run.state_at(t)),
        polar=lambda t: net.polar(run.state_at(t)),
        predictor_error=error[1],
        log_norms=log_norms,
    )


def _check_rounding(net: Network, rtol: float) -> None:
    """A logarithm is known to its own rounding, and a norm to no more."""
    lowest = float(net.start[:, RHO].min())
    known = -lowest * EPS
    if known > rtol:
        raise ScaleError(
            f"log_scale: the norm e^{lowest:.4g} is known to {known:.2g} only, above rtol = "
            f"{rtol:.2g}; give a larger one"
        )


def did_not_settle(where: str, net: Network, j: int) -> ConvergenceError:
    return ConvergenceError(
        f"{where}: the gates of neuron {net.alive[j]} did not settle; its weights meet an edge of "
        "the data up to rounding: "
        "change them by a relative 1e-8, or leave this neuron out"
    )


def label_forces(net: Network) -> tuple[Array, Array]:
    """F0 and F1 of every group at h = 0."""
    return group_forces(-net.geometry.labels, net.geometry)


def _unfolded(net: Network, states: Array) -> TwoLayerParams:
    """`net.params`, by compiled code."""
    from .saved_weights import unfold

    m, d = net.given.W.shape
    filled = np.empty if net.alive.size == m else np.zeros
    a, W = filled((len(states), m)), filled((len(states), m, d))
    unfold(states, net.axes, net.still, net.alive, a, W)
    return TwoLayerParams(a, W)


def _errors(net: Network, run: Any, other: Array, saved: Array, a: Array, W: Array) -> Array:
    """(2, T): of the weights, and of the products a_jw_j, by their distances from a tighter run on
    half the mesh, whose states are `other`.

    Tolerances alone would not do: while steps grow as fast as they may, or stability binds them,
    two runs take the same ones.
    """
    from .event_runs import NEGLIGIBLE
    from .saved_weights import LARGEST_WEIGHT, MEASURES, OF_WEIGHTS, compare
    from .turns_aside import LOOSE, UNCOUPLED

    found = np.empty((MEASURES, saved.size))
    compare(other, net.axes, net.still, net.alive, a, W, found)
    apart, sizes = found[OF_WEIGHTS:LARGEST_WEIGHT], found[LARGEST_WEIGHT:]
    apart[:, len(other) :] = np.inf
    # a logarithm of a thousand has three digits fewer behind its point
    rounding = ROUNDINGS * max(1.0, -float(net.start[:, RHO].min())) * EPS
    # arcs end that far beyond their kinks; h, which they neglect, acts on a neuron while it grows
    if run.early is not None:
        rounding += HYSTERESIS + NEGLIGIBLE * run.per_step
    share = TIGHTER * run.per_step
    # may be left out of both at an event that they meet in the same step
    uncoupled = UNCOUPLED * share * min(1.0, share / LOOSE)
    left_out = rounding + uncoupled * (saved >= (run.rows[0, 0] if len(run.rows) else np.inf))
    sizes[1] *= 2
    errors: Array = TWICE * apart + left_out * sizes
    return errors


def _result(code: int) -> Result:
    from . import implicit_tail as tail, march_control as marching

    return {
        marching.REACHED_T1: Result.REACHED_T1,
        marching.CONVERGED: Result.CONVERGED,
        marching.STATIONARY: Result.STATIONARY,
        marching.STEP_LIMIT: Result.STEP_LIMIT,
        marching.STEP_TOO_SMALL: Result.STEP_TOO_SMALL,
        marching.TIME_LIMIT: Result.TIME_LIMIT,
        tail.UNSEEN: Result.UNRESOLVED,
    }[code]


def _at_rest(net: Network, residual: Array) -> Result | None:
    """Why the flow does not move at all, if so."""
    if not residual.any():
        return Result.CONVERGED
    feels = net.gates.size > 0 and (net.geometry.two_sided or bool((net.gates != OFF).any()))
    return None if feels and net.start[:, OUT:].any() else Result.DEAD


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


_KIND = {(OFF, ON): "on", (ON, OFF): "off", (OFF, SLIDE): "slide in", (ON, SLIDE): "slide in"}
KINDS = [_KIND.get((before, after), "slide out") for before in range(3) for after in range(3)]
"""What a change is called, by gates before and after."""
TURNED = np.array([ON, OFF, SLIDE])
"""Gates of the samples on a group's other side."""


def gate_events(net: Network, rows: Array) -> tuple[GateEvent, ...]:
    """Changes of gates, sample by sample: a group's members switch together, those of the other
    side the other way."""
    if len(rows) == 0:
        return ()
    group, side = net.geometry.group, net.geometry.side
    members, sizes = np.argsort(group, kind="stable"), np.bincount(group, minlength=1)
    neurons, groups, before, after = rows[:, 1:].astype(np.intp).T
    if sizes.size < group.size:  # some have several members
        row = np.repeat(np.arange(len(rows)), sizes[groups])
        within = np.arange(row.size) - np.searchsorted(row, row)
        sample = members[(np.cumsum(sizes) - sizes)[groups[row]] + within]
    else:
        row, sample = np.arange(len(rows)), members[groups]
    before, after, upper = before[row], after[row], side[sample] > 0
    changes = np.where(upper, 3 * before + after, 3 * TURNED[before] + TURNED[after])
    return tuple(
        map(
            GateEvent,
            rows[row, 0].tolist(),
            net.alive[neurons[row]].tolist(),
            net.samples[sample].tolist(),
            [KINDS[change] for change in changes.tolist()],
        )
    )
