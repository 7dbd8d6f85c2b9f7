"""Event-driven gradient flow of two-layer ReLU networks: the exact early phase, then the march, and
their error."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Result, Trajectory
from ..._numerics.deadlines import Flag, never
from ..._numerics.flow_frame import CONVERGED, TIGHTER, TWICE, FlowRequest, largest_difference
from ...errors import ConvergenceError, ScaleError
from ...models import TwoLayerParams
from .branches import along_branches
from .frozen_field import group_forces
from .geometry import Network, network
from .layout import HYSTERESIS, OFF, ON, OUT, RHO, SLIDE, Gates

NEGLIGIBLE = 1e-3
"""Size of h relative to the tolerance and the labels below which the early phase is exact."""
STATIONARY = 1e-12
"""Speed of every neuron, relative to its norm and to the pull of the labels, at which the flow may
stand still."""
MAX_STEPS = 400_000
KEPT_BYTES = 2**26
"""Memory for states kept of the steps; longer runs are thinned, and states between are integrated
again when asked for."""
MOST_ARCS = 256
"""States kept of the early phase, whose arcs are exact anyway, and of a march whose states are
saved elsewhere."""
TIGHTEST = 1e-12
"""The least tolerance a step is asked for."""
PER_STEP = 0.1
"""Share of rtol that a step may spend."""
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


@dataclass(frozen=True, eq=False)
class EventRun:
    """One integration, from which the state at any time can be had."""

    net: Network
    rtol: float
    early: Any  # Arcs, or None
    t_early: float
    kept: Any  # Kept, its first `count` entries valid
    count: int
    t_rest: float  # the state is `last` from here on
    t_end: float
    last: Array
    code: int
    rows: Array
    counts: dict[str, float]
    saved: Array
    implicit: Array  # whether the step from each kept state was an implicit one
    mesh: Array  # the ends of all steps

    def state_at(self, t: float) -> Array:
        """(m', r+2): the exact arc, or the march resumed from the last kept step, or that step
        again where it was implicit."""
        if t <= 0:
            return self.net.start
        if t >= self.t_rest:
            return self.last
        if t <= self.t_early:
            return _arc_states(self, np.array([t]))[0]
        from .event_march import march
        from .march_record import Request

        i = int(np.searchsorted(self.kept.times[: self.count], t, side="right")) - 1
        Y, gates = self.kept.states[i].copy(), self.kept.gates[i].copy()
        start, h = float(self.kept.times[i]), float(self.kept.steps[i])
        request = Request(
            start,
            t,
            _per_step(self.rtol),
            h,
            -1.0,
            -1.0,
            -np.inf,
            MAX_STEPS,
            np.empty(0),
            1,
            never(),
            np.empty(0),
        )
        if self.implicit[i]:
            from .implicit_tail import resume

            return resume(self.net, gates, Y, request)
        march(Y, gates, self.net.geometry, self.net.invariants, False, request)
        return Y


def integrate_events(
    problem: Problem, request: FlowRequest, branch: tuple[int, ...] = ()
) -> Trajectory[TwoLayerParams]:
    """The flow of a two-layer ReLU network until t1, or until converged; a tighter run gives the
    error.

    branch: the way to take at each moment from which there are several, the flow's own being number
    zero.
    """
    with request.deadline.paused():
        from ..._numerics.compilation import announced
        from . import early_phase, implicit_tail  # noqa: F401  (with all kernels)
    return announced("ReLU", _integrate, problem, request, branch, deadline=request.deadline)


def _integrate(
    problem: Problem, request: FlowRequest, branch: tuple[int, ...]
) -> Trajectory[TwoLayerParams]:
    t1, rtol, wanted, deadline = request.t1, request.rtol, request.times, request.deadline
    net = network(problem)
    _check_rounding(net, rtol)
    result = _at_rest(problem, net)
    if result is not None:
        return _standing(problem, net, result, wanted)
    with deadline.flag(deadline.first) as stop:

        def integrate(net: Network, turns: tuple[Any, ...]) -> EventRun:
            return run_events(problem, net, t1, rtol, wanted, stop, turns=turns)

        run, net, turns, met = along_branches(integrate, problem, net, branch)
    if wanted is None:
        saved, states = _every_step(run)
    else:
        saved = wanted[wanted <= run.t_end * (1 + 1e-12)]
        states = run.saved[: saved.size]
        if saved.size < wanted.size:
            saved, states = np.append(saved, run.t_end), np.concatenate([states, run.last[None]])
    params = net.params(states)
    if saved[0] == 0:
        params.a[0], params.W[0] = problem.first_state
    started = time.process_time()
    with deadline.flag(deadline.both) as stop:
        error, predictor_error = _errors(problem, net, run, turns, saved, params, stop)
    stats: dict[str, Any] = {
        "method": "events",
        **run.counts,
        "early_until": run.t_early,
        "error_seconds": time.process_time() - started,
        "branches": met,
    }
    log_norms = np.full(params.a.shape, -np.inf)
    log_norms[:, net.alive] = states[..., RHO]
    return Trajectory(
        times=saved,
        states=params,
        loss=problem.loss(problem.model(params, problem.data.X), problem.data.y),
        error=error,
        events=gate_events(net, run.rows),
        stats=stats,
        result=_result(run),
        problem=problem,
        interpolant=_interpolant(problem, net, run),
        polar=lambda t: net.polar(run.state_at(t)),
        predictor_error=predictor_error,
        log_norms=log_norms,
    )


def _check_rounding(net: Network, rtol: float) -> None:
    """A logarithm is known to its own rounding, and a norm to no more."""
    lowest = float(np.min(net.start[:, RHO]))
    known = -lowest * float(np.finfo(float).eps)
    if known > rtol:
        raise ScaleError(
            f"log_scale: the norm e^{lowest:.4g} is known to {known:.2g} only, above rtol = "
            f"{rtol:.2g}; give a larger one"
        )


def run_events(
    problem: Problem,
    net: Network,
    t1: float | None,
    rtol: float,
    wanted: Array | None,
    stop: Flag | None = None,
    mesh: Array | None = None,
    turns: tuple[Any, ...] = (),
) -> EventRun:
    """Early phase where h is negligible, then the march; a flow that comes to rest before t1 stays
    there.

    mesh: the ends of another run's steps, whose error this one is to tell. It takes them in halves,
    neglects less, and comes to rest later. turns: gates given to a neuron at a time (`tail.Turn`).
    """
    from . import march_control as marching
    from .implicit_tail import UNSEEN, march_through
    from .march_record import Request
    from .resting import Rest, at_rest

    t_stop = math.inf if t1 is None else t1
    share, per_step = (
        (1.0, _per_step(rtol)) if mesh is None else (TIGHTER, TIGHTER * _per_step(rtol))
    )
    early, early_log, t_early = _early(problem, net, t_stop, NEGLIGIBLE * per_step)
    if turns and turns[0].time <= t_early:
        early, early_log, t_early = None, early_log[:0], 0.0
    times = np.empty(0) if wanted is None else wanted
    exact = times[times <= t_early] if early is not None else times[:0]
    if early is None:
        Y, gates, first = net.start.copy(), net.gates.copy(), np.empty((0, *net.start.shape))
    else:
        from .early_phase import states_at

        states, gates = states_at(early, net.invariants, np.append(exact, t_early), len(net.start))
        Y, first = states[-1].copy(), states[:-1]
        early_log = early_log[early_log[:, 0] <= t_early]
    goal, still, faint = _thresholds(problem, net)
    entry_bytes = 8 * Y.size + gates.size
    keep = MOST_ARCS if wanted is not None else int(min(max(KEPT_BYTES // entry_bytes, 64), 20_000))
    looks, over = times[exact.size :], never() if stop is None else stop
    most = MAX_STEPS if mesh is None else 3 * MAX_STEPS
    request = Request(
        t_early,
        t_stop,
        per_step,
        0.0,
        share**2 * goal - net.idle_square,
        share * still,
        faint,
        most,
        looks,
        keep,
        over,
        np.empty(0) if mesh is None else mesh,
    )

    def judge(Y: Array, gates: Gates) -> Rest:
        return at_rest(problem, net, Y, gates, faint)

    marched = march_through(net, Y, gates, early is None, request, turns, judge)
    t_rest, code, kept, counts = marched.time, marched.code, marched.kept, marched.counts
    rows = np.concatenate([early_log, marched.rows])
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    saved, t_end = np.concatenate([first, marched.saved]), t_rest
    if t1 is not None and code in (
        marching.CONVERGED,
        marching.STATIONARY,
        *([] if mesh is None else [UNSEEN]),
    ):
        saved = np.concatenate([saved, np.repeat(Y[None], times.size - len(saved), axis=0)])
        t_end, code = t1, marching.REACHED_T1
    named: dict[str, float] = {
        "steps": int(counts[0]),
        "rejected": int(counts[1]),
        "events": len(rows),
        "early_events": len(early_log),
        "implicit_steps": int(np.sum(marched.implicit)),
    }
    named["stiffest_rate"] = marched.stiffest
    return EventRun(
        net,
        rtol,
        early,
        t_early,
        kept,
        len(kept.times),
        t_rest,
        t_end,
        Y,
        code,
        rows,
        named,
        saved,
        marched.implicit,
        marched.mesh,
    )


def _early(
    problem: Problem, net: Network, t_stop: float, negligible: float
) -> tuple[Any, Array, float]:
    """The exact arcs and their events until h matters, that is, is this share of a label; or None
    where it matters at once."""
    none = None, np.empty((0, 5)), 0.0
    labels = np.abs(net.geometry.labels[net.geometry.labels != 0])
    if labels.size == 0:
        return none
    log_size = math.log(negligible * float(np.min(labels)) / float(np.max(net.geometry.kappa)))
    rho = net.start[:, 0]
    if math.log(0.5 * np.sum(np.exp(2 * (rho - rho.max())))) + 2 * rho.max() >= log_size:
        return none
    from .early_phase import align

    F0, F1 = label_forces(net)
    arcs, log, t_early, unsettled = align(
        net.start.copy(), net.gates.copy(), F0, F1, net.geometry, net.invariants, t_stop, log_size
    )
    if unsettled >= 0:
        raise did_not_settle("gradient_flow, early phase", net, unsettled)
    if not math.isfinite(t_early):
        return none
    return arcs, log.rows[: log.filled[0]].copy(), t_early


def did_not_settle(where: str, net: Network, j: int) -> ConvergenceError:
    return ConvergenceError(
        f"{where}: the gates of neuron {net.alive[j]} did not settle; its weights meet an edge of "
        "the data up to rounding: "
        "change them by a relative 1e-8, or leave this neuron out"
    )


def label_forces(net: Network) -> tuple[Array, Array]:
    """F0 and F1 of every group at h = 0."""
    return group_forces(-net.geometry.labels, net.geometry)


def _thresholds(problem: Problem, net: Network) -> tuple[float, float, float]:
    """Σ(h − y)² at which the flow has converged, the speed at which it stands still, and log‖v‖² of
    a negligible neuron."""
    residual = problem.model(problem.first_state, problem.data.X) - problem.data.y
    norms = np.linalg.norm(problem.data.X, axis=1)
    goal, still = (
        CONVERGED * float(residual @ residual),
        STATIONARY * net.geometry.speed * float(np.abs(residual) @ norms),
    )
    size = max(float(np.linalg.norm(residual)), 1e-300) / float(np.linalg.norm(norms))
    # of its weights, too, only a share of 1e-10 is left
    return goal, still, math.log(CONVERGED) + math.log(size)


def _per_step(rtol: float) -> float:
    return max(PER_STEP * rtol, TIGHTEST)


def _arc_states(run: EventRun, times: Array) -> Array:
    from .early_phase import states_at

    return states_at(
        run.early, run.net.invariants, np.ascontiguousarray(times), len(run.net.start)
    )[0]


def _every_step(run: EventRun) -> tuple[Array, Array]:
    """Times and states: where arcs begin in the early phase (at most a few hundred), the kept
    steps, and the end."""
    times, states = run.kept.times[: run.count], run.kept.states[: run.count]
    if run.early is not None and run.t_early > 0:
        arcs = np.unique(run.early.start)
        arcs = arcs[arcs < run.t_early]
        arcs = arcs[:: 1 + arcs.size // MOST_ARCS]
        times, states = np.append(arcs, times), np.concatenate([_arc_states(run, arcs), states])
    times, states = np.append(times, run.t_end), np.concatenate([states, run.last[None]])
    # events at one time leave the state after all of them
    last = np.append(np.diff(times) > 0, True)
    return times[last], states[last]


def _errors(
    problem: Problem,
    net: Network,
    run: EventRun,
    turns: tuple[Any, ...],
    saved: Array,
    params: TwoLayerParams,
    stop: Flag,
) -> tuple[Array, Array]:
    """Distances from a tighter run on half the mesh: of the weights, and of the products a_jw_j.

    Tolerances alone would not do: while steps grow as fast as they may, or stability binds them,
    two runs take the same ones.
    """
    from .turns_aside import LOOSE, UNCOUPLED

    moved = saved > 0
    if not np.any(moved):
        return np.zeros(saved.size), np.zeros(saved.size)
    check = run_events(problem, net, run.t_end, run.rtol, saved[moved], stop, run.mesh, turns)
    count = len(check.saved)
    other, where = net.params(check.saved), np.flatnonzero(moved)
    ours = TwoLayerParams(params.a[where], params.W[where])
    shared = TwoLayerParams(ours.a[:count], ours.W[:count])
    differences = [
        largest_difference(shared, other),
        largest_difference(problem.model.effective(shared), problem.model.effective(other)),
    ]
    # a logarithm of a thousand has three digits fewer behind its point
    digits = max(1.0, -float(np.min(net.start[:, RHO])))
    rounding = ROUNDINGS * digits * EPS
    # arcs end that far beyond their kinks; h, which they neglect, acts on a neuron while it grows
    if run.early is not None:
        rounding += HYSTERESIS + NEGLIGIBLE * _per_step(run.rtol)
    share = TIGHTER * _per_step(run.rtol)
    # may be left out of both at an event that they meet in the same step
    uncoupled = UNCOUPLED * share * min(1.0, share / LOOSE)
    left_out = rounding + uncoupled * (
        saved[moved] >= (run.rows[0, 0] if len(run.rows) else np.inf)
    )
    weights = np.max(np.abs(ours.W), axis=(1, 2))
    sizes = [
        np.maximum(np.max(np.abs(ours.a), axis=1), weights),
        2 * np.max(np.abs(problem.model.effective(ours)), axis=(1, 2)),
    ]
    errors = []
    for difference, size in zip(differences, sizes, strict=True):
        error = np.zeros(saved.size)
        error[where] = np.inf
        error[where[:count]] = TWICE * difference
        error[where] += left_out * size
        errors.append(error)
    return errors[0], errors[1]


def _interpolant(problem: Problem, net: Network, run: EventRun) -> Any:
    def at(t: float) -> TwoLayerParams:
        return problem.first_state if t <= 0 else net.params(run.state_at(t))

    return at


def _result(run: EventRun) -> Result:
    from . import implicit_tail as tail, march_control as marching

    return {
        marching.REACHED_T1: Result.REACHED_T1,
        marching.CONVERGED: Result.CONVERGED,
        marching.STATIONARY: Result.STATIONARY,
        marching.STEP_LIMIT: Result.STEP_LIMIT,
        marching.STEP_TOO_SMALL: Result.STEP_TOO_SMALL,
        marching.TIME_LIMIT: Result.TIME_LIMIT,
        tail.UNSEEN: Result.UNRESOLVED,
    }[run.code]


def _at_rest(problem: Problem, net: Network) -> Result | None:
    """Why the flow does not move at all, if so."""
    model, data = problem.model, problem.data
    residual = model(problem.first_state, data.X) - data.y
    if not np.any(residual):
        return Result.CONVERGED
    outputs = net.start[:, OUT]
    feels = (net.gates != OFF) | net.geometry.two_sided
    if not np.any(feels) or (not np.any(outputs) and not np.any(net.start[:, OUT + 1 :])):
        return Result.DEAD
    return None


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


def gate_events(net: Network, rows: Array) -> tuple[GateEvent, ...]:
    """Changes of gates, sample by sample: a group's members switch together, those of the other
    side the other way."""
    members: list[list[tuple[int, float]]] = [[] for _ in net.geometry.U]
    for k, g, side in zip(net.samples.tolist(), net.geometry.group, net.geometry.side, strict=True):
        members[g].append((k, side))
    alive = net.alive.tolist()
    turned = {OFF: ON, ON: OFF, SLIDE: SLIDE}
    events = []
    for t, j, g, before, after in rows.tolist():
        for k, side in members[int(g)]:
            change = (
                (int(before), int(after)) if side > 0 else (turned[int(before)], turned[int(after)])
            )
            events.append(GateEvent(t, alive[int(j)], k, _KIND.get(change, "slide out")))
    return tuple(events)
