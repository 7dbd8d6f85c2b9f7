"""One integration of a ReLU flow: the exact early phase, then the march; the state at any time can
be had from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._numerics.flow_frame import CONVERGED, TIGHTER
from ..._numerics.interrupts import Flag, stop_flag
from . import implicit_tail, march_control as marching
from .early_phase import SETTLED, STOPPED, Arcs, align, states_at
from .event_flow import did_not_settle
from .event_march import ACCEPTED, REJECTED, march
from .frozen_field import group_forces
from .geometry import Network
from .implicit_tail import UNSEEN, Marched, joined, march_through, resume
from .layout import Gates
from .march_record import Request
from .resting import Rest, at_rest

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
NOISE = 1e-14
"""Rounding of a force, relative to the forces of the start."""
TIGHTEST = 1e-12
"""The least tolerance a step is asked for."""
PER_STEP = 0.1
"""Share of rtol that a step may spend."""
NOTHING = np.empty(0)
RESTING = (marching.CONVERGED, marching.STATIONARY)
"""Why a march ended that stays where it is."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What all runs of a flow share, whatever gates they are given. residual: h − y at the
    start. seen: the time of a run, Σ(h − y)² of the inputs that reach a neuron, and how often gates
    have changed, as it runs."""

    problem: Problem
    net: Network
    rtol: float
    residual: Array
    seen: Array = field(default_factory=lambda: np.zeros(3))

    def where(self) -> tuple[float, float, int]:
        """Time, loss and events of the run."""
        time, square, events = self.seen.tolist()
        loss = self.problem.loss.factor(self.problem.data.n)
        return time, loss * (square + self.net.data.idle_square), int(events)

    @property
    def per_step(self) -> float:
        """The tolerance of a step."""
        return max(PER_STEP * self.rtol, TIGHTEST)

    @cached_property
    def noise(self) -> float:
        """The rounding of a force, the same wherever a march begins."""
        forces = group_forces(self.residual[self.net.samples], self.net.geometry)
        return NOISE * float(np.max(np.abs(forces), initial=0.0))

    @cached_property
    def thresholds(self) -> tuple[float, float, float]:
        """Σ(h − y)² at which the flow has converged, the speed at which it stands still, and
        log‖v‖² of a negligible neuron."""
        residual, norms = self.residual, self.net.data.lengths
        square = float(residual @ residual)
        still = STATIONARY * self.net.geometry.speed * float(np.abs(residual) @ norms)
        size = max(math.sqrt(square), 1e-300) / self.net.data.length
        # of its weights, too, only a share of 1e-10 is left
        return CONVERGED * square, still, math.log(CONVERGED) + math.log(size)


class Early(NamedTuple):
    """The early phase: exact arcs, their events, and how long h is negligible, for a run and for
    one that tells its error."""

    arcs: Arcs
    rows: Array
    until: float
    less: float


@dataclass(frozen=True, eq=False)
class EventRun:
    """One integration, from which the state at any time can be had."""

    net: Network
    per_step: float
    noise: float
    rtol: float
    early: Early | None
    t_early: float
    marched: Marched  # the state is `last` from its end on
    t_end: float
    last: Array
    gates: Gates
    code: int
    saved: Array

    @property
    def count(self) -> int:
        """States kept."""
        return len(self.marched.kept.times)

    @cached_property
    def early_rows(self) -> Array:
        """Changes of gates in the early phase."""
        if self.early is None:
            return self.marched.rows[:0]
        return self.early.rows[self.early.rows[:, 0] <= self.t_early]

    @cached_property
    def rows(self) -> Array:
        """All changes of gates in the order of their times."""
        rows = np.concatenate([self.early_rows, self.marched.rows])
        return rows[rows[:, 0].argsort(kind="stable")]

    @property
    def counts(self) -> dict[str, float]:
        return {
            "steps": self.marched.counts[ACCEPTED],
            "rejected": self.marched.counts[REJECTED],
            "events": len(self.early_rows) + len(self.marched.rows),
            "early_events": len(self.early_rows),
            "implicit_steps": int(np.count_nonzero(self.marched.implicit)),
            "stiffest_rate": self.marched.stiffest,
        }

    def state_at(self, t: float) -> Array:
        """(m', r+2): the exact arc, or the march resumed from the last kept step, or that step
        again where it was implicit."""
        if t <= 0:
            return self.net.start
        if t >= self.marched.time:
            return self.last
        if self.early is not None and t <= self.t_early:
            return self._on_arcs(self.early, np.array([t]))[0]
        kept = self.marched.kept
        i = int(np.searchsorted(kept.times, t, side="right")) - 1
        Y, gates = kept.states[i].copy(), kept.gates[i].copy()
        request = Request(
            t0=float(kept.times[i]),
            t1=t,
            rtol=self.per_step,
            noise=self.noise,
            step=float(kept.steps[i]),
            goal=-1.0,
            still=-1.0,
            faint=-np.inf,
            max_steps=MAX_STEPS,
            times=np.empty(0),
            keep=1,
            stop=stop_flag(),
            seen=np.zeros(3),
            mesh=np.empty(0),
        )
        if self.marched.implicit[i]:
            return resume(self.net, gates, Y, request)
        march(Y, gates, self.net.geometry, self.net.invariants, False, request)
        return Y

    def every_step(self) -> tuple[Array, Array]:
        """Times and states: where arcs begin in the early phase (at most a few hundred), the kept
        steps, and the end."""
        kept = self.marched.kept
        times: list[Any] = [kept.times, [self.t_end]]
        states: list[Any] = [kept.states, self.last[None]]
        if self.early is not None and self.t_early > 0:
            arcs = np.unique(self.early.arcs.start)
            arcs = arcs[arcs < self.t_early]
            arcs = arcs[:: 1 + arcs.size // MOST_ARCS]
            times.insert(0, arcs)
            states.insert(0, self._on_arcs(self.early, arcs))
        moments, stacked = np.concatenate(times), np.concatenate(states)
        # events at one time leave the state after all of them
        last = np.ones(moments.size, bool)
        np.greater(moments[1:], moments[:-1], out=last[:-1])
        return (moments, stacked) if last.all() else (moments[last], stacked[last])

    def _on_arcs(self, early: Early, times: Array) -> Array:
        states: Array = states_at(
            early.arcs, self.net.invariants, np.ascontiguousarray(times), len(self.net.start)
        )[0]
        return states


def run_events(
    setting: Setting,
    net: Network,
    t1: float | None,
    wanted: Array | None,
    stop: Flag,
    turns: tuple[Any, ...] = (),
    before: EventRun | None = None,
) -> EventRun:
    """Early phase where h is negligible, then the march; a flow that comes to rest before t1 stays
    there.

    net: the setting's, maybe with other gates. turns: gates given to a neuron at a time
    (`branches.Turn`). before: the run that goes on.
    """
    t_stop, times = math.inf if t1 is None else t1, NOTHING if wanted is None else wanted
    if before is None:
        early = _early(setting, net, t_stop, NEGLIGIBLE * setting.per_step, stop)
        begun = _begun(net, early, 0.0 if early is None else early.until, times, turns)
    else:
        state = before.marched.time, before.last.copy(), before.gates.copy()
        begun = _Begun(before.early, *state, before.saved, times[len(before.saved) :], False)
    most = int(min(max(KEPT_BYTES // (8 * begun.Y.size + begun.gates.size), 64), 20_000))
    ask = _asked(setting, begun, 1.0, t_stop, MOST_ARCS if wanted is not None else most, stop)
    marched = _marched(setting, net, begun, ask, turns)
    t_end, code = marched.time, marched.code
    if t1 is not None and code in RESTING:
        t_end, code = t1, marching.REACHED_T1
    return EventRun(
        net=net,
        per_step=setting.per_step,
        noise=setting.noise,
        rtol=setting.rtol,
        early=begun.early,
        t_early=begun.t if before is None else before.t_early,
        marched=marched if before is None else joined([before.marched, marched]),
        t_end=t_end,
        last=begun.Y,
        gates=begun.gates,
        code=code,
        saved=_saved(begun, marched, times, t1 is not None and marched.code in RESTING),
    )


class Checked(NamedTuple):
    """How far a second run came, with which state and gates, and its states at these times."""

    time: float
    state: Array
    gates: Gates
    looks: Array
    saved: Array


def check_events(
    setting: Setting,
    net: Network,
    checked: EventRun,
    times: Array,
    stop: Flag,
    turns: tuple[Any, ...] = (),
    before: Checked | None = None,
) -> Checked:
    """The states at these times of a second run, which is to tell the error of another: it takes
    that one's steps in halves, neglects less, and comes to rest later; the arcs of the early phase,
    which are exact, are the same. before: the second run that goes on."""
    early = checked.early
    # after Ctrl-C few were looked at
    if before is None or not np.isin(times[times <= before.time], before.looks).all():
        begun = _begun(net, early, 0.0 if early is None else early.less, times, turns)
    else:
        first = before.saved[np.isin(before.looks, times)]
        state = before.time, before.state.copy(), before.gates.copy()
        begun = _Begun(early, *state, first, times[len(first) :], False)
    ask = _asked(setting, begun, TIGHTER, checked.t_end, MOST_ARCS, stop, checked.marched.mesh)
    marched = _marched(setting, net, begun, ask, turns)
    saved = _saved(begun, marched, times, marched.code in (*RESTING, UNSEEN))
    return Checked(marched.time, begun.Y, begun.gates, times[: len(saved)], saved)


class _Begun(NamedTuple):
    """Where a march begins: the state and gates at the end of the early phase, or of an earlier
    march, which it overwrites with the end; what was saved before, and the times that are left;
    whether gates at zero are still to be decided."""

    early: Early | None
    t: float
    Y: Array
    gates: Gates
    first: Array | None
    looks: Array
    fresh: bool


def _begun(
    net: Network, early: Early | None, t_early: float, times: Array, turns: tuple[Any, ...]
) -> _Begun:
    if early is None or t_early == 0 or (turns and turns[0].time <= t_early):
        return _Begun(None, 0.0, net.start.copy(), net.gates.copy(), None, times, True)
    exact = int(times.searchsorted(t_early, side="right"))
    moments = np.empty(exact + 1)
    moments[:exact], moments[exact] = times[:exact], t_early
    states, gates = states_at(early.arcs, net.invariants, moments, len(net.start))
    return _Begun(early, t_early, states[-1].copy(), gates, states[:-1], times[exact:], False)


def _asked(
    setting: Setting,
    begun: _Begun,
    share: float,
    t1: float,
    keep: int,
    stop: Flag,
    mesh: Array = NOTHING,
) -> Request:
    """What is asked of a march. share: of the tolerance, for one on the mesh of another."""
    goal, still, faint = setting.thresholds
    return Request(
        t0=begun.t,
        t1=t1,
        rtol=share * setting.per_step,
        noise=setting.noise,
        step=0.0,
        goal=share**2 * goal - setting.net.data.idle_square,
        still=share * still,
        faint=faint,
        max_steps=implicit_tail.PATIENT,
        times=begun.looks,
        keep=keep,
        stop=stop,
        seen=setting.seen,
        mesh=mesh,
    )


def _marched(
    setting: Setting, net: Network, begun: _Begun, ask: Request, turns: tuple[Any, ...]
) -> Marched:
    def judge(Y: Array, gates: Gates) -> Rest:
        return at_rest(setting.problem, net, Y, gates, ask.faint)

    most = 3 * MAX_STEPS if ask.mesh.size else MAX_STEPS
    ahead = tuple(turn for turn in turns if turn.time >= begun.t)
    return march_through(net, begun.Y, begun.gates, begun.fresh, ask, most, ahead, judge)


def _saved(begun: _Begun, marched: Marched, times: Array, resting: bool) -> Array:
    """The states at the times asked for, as far as the march got; one at rest stays where it is."""
    saved = marched.saved
    if begun.first is not None:
        saved = np.concatenate([begun.first, saved])
    if resting and len(saved) < times.size:
        saved = np.concatenate([saved, np.repeat(begun.Y[None], times.size - len(saved), axis=0)])
    return saved


def _early(
    setting: Setting, net: Network, t_stop: float, negligible: float, stop: Flag
) -> Early | None:
    """The early phase until h matters, that is, is this share of a label; or None where it matters
    at once, or the time is over."""
    least = net.data.smallest_label
    if least == 0:
        return None
    log_size = math.log(negligible * least / net.data.largest)
    if net.log_size >= log_size:
        return None
    F0, F1 = net.data.pulls
    log_less = log_size + math.log(TIGHTER)
    Y, gates, geometry, invariants = (
        net.start.copy(),
        net.gates.copy(),
        net.geometry,
        net.invariants,
    )
    arcs, log, until, less, unsettled = align(
        Y, gates, F0, F1, geometry, invariants, t_stop, log_size, log_less, stop
    )
    if unsettled == STOPPED:
        return None
    if unsettled != SETTLED:
        raise did_not_settle("gradient_flow, early phase", net, unsettled)
    if not math.isfinite(until):
        return None
    less = less if net.log_size < log_less else 0.0
    return Early(arcs, log.rows[: log.filled[0]].copy(), until, less)
