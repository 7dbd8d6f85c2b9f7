"""One integration of a ReLU flow: the exact early phase, then the march; the state at any time can
be had from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._numerics.deadlines import Flag, never
from ..._numerics.flow_frame import CONVERGED, TIGHTER
from . import march_control as marching
from .early_phase import Arcs, align, states_at
from .event_flow import did_not_settle, label_forces
from .event_march import march
from .geometry import Network
from .implicit_tail import UNSEEN, march_through, resume
from .layout import RHO, Gates
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
TIGHTEST = 1e-12
"""The least tolerance a step is asked for."""
PER_STEP = 0.1
"""Share of rtol that a step may spend."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What all runs of a flow share, whatever gates they are given. residual: h − y at the
    start."""

    problem: Problem
    net: Network
    rtol: float
    residual: Array

    @property
    def per_step(self) -> float:
        """The tolerance of a step."""
        return max(PER_STEP * self.rtol, TIGHTEST)

    @cached_property
    def thresholds(self) -> tuple[float, float, float]:
        """Σ(h − y)² at which the flow has converged, the speed at which it stands still, and
        log‖v‖² of a negligible neuron."""
        X, residual = self.problem.data.X, self.residual
        norms, square = np.sqrt((X * X).sum(axis=1)), float(residual @ residual)
        still = STATIONARY * self.net.geometry.speed * float(np.abs(residual) @ norms)
        size = max(math.sqrt(square), 1e-300) / math.sqrt(norms @ norms)
        # of its weights, too, only a share of 1e-10 is left
        return CONVERGED * square, still, math.log(CONVERGED) + math.log(size)

    @cached_property
    def smallest_label(self) -> float:
        """Of those that are not zero; zero where all are."""
        labels = np.abs(self.net.geometry.labels)
        least = float(labels.min(initial=math.inf, where=labels > 0))
        return least if least < math.inf else 0.0

    @cached_property
    def log_size(self) -> float:
        """log ½Σe^{2ρ} of the start, which bounds log|h(u)| for every unit vector u."""
        rho = self.net.start[:, RHO]
        highest = float(rho.max())
        return math.log(0.5 * np.exp(2 * (rho - highest)).sum()) + 2 * highest

    @cached_property
    def label_forces(self) -> tuple[Array, Array]:
        return label_forces(self.net)


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
    rtol: float
    early: Early | None
    t_early: float
    kept: Any  # Kept
    t_rest: float  # the state is `last` from here on
    t_end: float
    last: Array
    code: int
    rows: Array
    counts: dict[str, float]
    saved: Array
    implicit: Array  # whether the step from each kept state was an implicit one
    mesh: Array  # the ends of all steps

    @property
    def count(self) -> int:
        """States kept."""
        return len(self.kept.times)

    def state_at(self, t: float) -> Array:
        """(m', r+2): the exact arc, or the march resumed from the last kept step, or that step
        again where it was implicit."""
        if t <= 0:
            return self.net.start
        if t >= self.t_rest:
            return self.last
        if self.early is not None and t <= self.t_early:
            return self._on_arcs(self.early, np.array([t]))[0]
        i = int(np.searchsorted(self.kept.times, t, side="right")) - 1
        Y, gates = self.kept.states[i].copy(), self.kept.gates[i].copy()
        request = Request(
            t0=float(self.kept.times[i]),
            t1=t,
            rtol=self.per_step,
            step=float(self.kept.steps[i]),
            goal=-1.0,
            still=-1.0,
            faint=-np.inf,
            max_steps=MAX_STEPS,
            times=np.empty(0),
            keep=1,
            stop=never(),
            mesh=np.empty(0),
        )
        if self.implicit[i]:
            return resume(self.net, gates, Y, request)
        march(Y, gates, self.net.geometry, self.net.invariants, False, request)
        return Y

    def every_step(self) -> tuple[Array, Array]:
        """Times and states: where arcs begin in the early phase (at most a few hundred), the kept
        steps, and the end."""
        times, states = [self.kept.times, [self.t_end]], [self.kept.states, self.last[None]]
        if self.early is not None and self.t_early > 0:
            arcs = np.unique(self.early.arcs.start)
            arcs = arcs[arcs < self.t_early]
            arcs = arcs[:: 1 + arcs.size // MOST_ARCS]
            times.insert(0, arcs)
            states.insert(0, self._on_arcs(self.early, arcs))
        joined, stacked = np.concatenate(times), np.concatenate(states)
        # events at one time leave the state after all of them
        last = np.ones(joined.size, bool)
        np.greater(joined[1:], joined[:-1], out=last[:-1])
        return (joined, stacked) if last.all() else (joined[last], stacked[last])

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
    checked: EventRun | None = None,
    turns: tuple[Any, ...] = (),
) -> EventRun:
    """Early phase where h is negligible, then the march; a flow that comes to rest before t1 stays
    there.

    net: the setting's, maybe with other gates. checked: another run, whose error this one is to
    tell. It takes that one's steps in halves, neglects less, and comes to rest later; the arcs of
    the early phase, which are exact, are the same. turns: gates given to a neuron at a time
    (`implicit_tail.Turn`).
    """
    t_stop, nothing = math.inf if t1 is None else t1, np.empty(0)
    share = 1.0 if checked is None else TIGHTER
    per_step = share * setting.per_step
    if checked is None:
        early = _early(setting, net, t_stop, NEGLIGIBLE * per_step)
        t_early = 0.0 if early is None else early.until
    else:
        early = checked.early
        t_early = 0.0 if early is None else early.less
    if early is not None and (t_early == 0 or (turns and turns[0].time <= t_early)):
        early, t_early = None, 0.0
    times, first = nothing if wanted is None else wanted, None
    looks = times
    if early is None:
        Y, gates = net.start.copy(), net.gates.copy()
    else:
        exact, looks = times[times <= t_early], times[times > t_early]
        moments = np.append(exact, t_early)
        states, gates = states_at(early.arcs, net.invariants, moments, len(net.start))
        Y, first = states[-1].copy(), states[:-1]
    goal, still, faint = setting.thresholds
    entry_bytes = 8 * Y.size + gates.size
    keep = MOST_ARCS if wanted is not None else int(min(max(KEPT_BYTES // entry_bytes, 64), 20_000))
    request = Request(
        t0=t_early,
        t1=t_stop,
        rtol=per_step,
        step=0.0,
        goal=share**2 * goal - net.idle_square,
        still=share * still,
        faint=faint,
        max_steps=MAX_STEPS if checked is None else 3 * MAX_STEPS,
        times=looks,
        keep=keep,
        stop=stop,
        mesh=nothing if checked is None else checked.mesh,
    )

    def judge(Y: Array, gates: Gates) -> Rest:
        return at_rest(setting.problem, net, Y, gates, faint)

    marched = march_through(net, Y, gates, early is None, request, turns, judge)
    rows, saved, counts = marched.rows, marched.saved, marched.counts
    early_events = 0
    if early is not None and first is not None:
        early_rows = early.rows[early.rows[:, 0] <= t_early]
        rows, saved = np.concatenate([early_rows, rows]), np.concatenate([first, saved])
        early_events = len(early_rows)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    t_end, code = marched.time, marched.code
    resting = (marching.CONVERGED, marching.STATIONARY, *([] if checked is None else [UNSEEN]))
    if t1 is not None and code in resting:
        if len(saved) < times.size:
            saved = np.concatenate([saved, np.repeat(Y[None], times.size - len(saved), axis=0)])
        t_end, code = t1, marching.REACHED_T1
    named: dict[str, float] = {
        "steps": int(counts[0]),
        "rejected": int(counts[1]),
        "events": len(rows),
        "early_events": early_events,
        "implicit_steps": int(marched.implicit.sum()),
        "stiffest_rate": marched.stiffest,
    }
    return EventRun(
        net=net,
        per_step=setting.per_step,
        rtol=setting.rtol,
        early=early,
        t_early=t_early,
        kept=marched.kept,
        t_rest=marched.time,
        t_end=t_end,
        last=Y,
        code=code,
        rows=rows,
        counts=named,
        saved=saved,
        implicit=marched.implicit,
        mesh=marched.mesh,
    )


def _early(setting: Setting, net: Network, t_stop: float, negligible: float) -> Early | None:
    """The early phase until h matters, that is, is this share of a label; or None where it matters
    at once."""
    least = setting.smallest_label
    if least == 0:
        return None
    log_size = math.log(negligible * least / float(net.geometry.kappa.max()))
    if setting.log_size >= log_size:
        return None
    F0, F1 = setting.label_forces
    log_less = log_size + math.log(TIGHTER)
    Y, gates, geometry, invariants = (
        net.start.copy(),
        net.gates.copy(),
        net.geometry,
        net.invariants,
    )
    arcs, log, until, less, unsettled = align(
        Y, gates, F0, F1, geometry, invariants, t_stop, log_size, log_less
    )
    if unsettled >= 0:
        raise did_not_settle("gradient_flow, early phase", net, unsettled)
    if not math.isfinite(until):
        return None
    less = less if setting.log_size < log_less else 0.0
    return Early(arcs, log.rows[: log.filled[0]].copy(), until, less)
