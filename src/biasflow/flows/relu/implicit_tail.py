"""The flow where stability, not accuracy, bounds its steps: Radau IIA with frozen gates, handed
back at the next change of gates.

Late in a training on data that no network fits, gates change once in a long while, and rates
between them differ by orders of
magnitude: an explicit step is bound by the fastest, which has long decayed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import Radau

from ..._core.arguments import Array
from .branches import Turn, near_for
from .event_march import ACCEPTED, COUNTS, KEPT, REJECTED, SAVED, march
from .frozen_field import FrozenField
from .geometry import Network
from .layout import Gates
from .march_control import HALF, REACHED_T1, STABLE, STATIONARY, STEP_LIMIT, TIME_LIMIT
from .march_record import Kept, Request
from .resting import Rest

PATIENT, SOON = 20_000, 200
"""Explicit steps before an implicit one is thought of, and between two stretches of implicit
ones."""
FEW, PIECES = 8, 20
"""States kept of a short stretch of explicit steps, and long stretches after the first that keep as
many as it together."""
BOUND = 0.5
"""Mean step, in units of the largest stable one, from which on stability binds."""
LARGEST_STATE = 1500
"""Numbers in a state up to which factorising its Jacobian is cheap enough to be tried."""
GATE_LOOKS = 16
"""Places inside a step where gates are looked at; up to the last at which they stand, the step is
taken."""
PRECISE = 1e-12
"""Relative part of the tolerance: states are unit vectors and logarithms, whose errors are
absolute."""
FOREVER = 1e300
SLOWER = 0.1
"""Speed, in units of one at which the flow was not shown to stand still, at which that is asked
again."""
TINY = float(np.finfo(float).tiny)
UNSEEN = 6
"""Why a march ended, beside the reasons of `march`: it stands still only because rounding hides
what moves it."""

Judge = Callable[[Array, Gates], Rest]


class Marched(NamedTuple):
    """A march and why it ended. implicit: whether the step from each kept state is an implicit
    one."""

    time: float
    code: int
    saved: Array
    kept: Kept
    implicit: Array
    rows: Array
    counts: list[int]
    stiffest: float
    mesh: Array  # where steps began and ended


class _Piece(NamedTuple):
    kept: Kept
    implicit: Array
    saved: Array
    rows: Array
    mesh: Array


def march_on(
    net: Network, Y: Array, gates: Gates, fresh: bool, ask: Request, most: int, judge: Judge
) -> Marched:
    """The march, of at most so many steps; where stability has bound them for as long as `ask`
    says, implicit steps to the next change of gates, and so on in turn.

    Y and gates are overwritten with the end. judge: asked where the flow is slow enough to stand
    still, whether it does.
    """
    pieces: list[_Piece] = []
    counts, patience, done, stiffest, request = [0] * COUNTS, ask.max_steps, 0, 0.0, ask
    while True:
        left = most - counts[ACCEPTED] - counts[REJECTED]
        if pieces or left < patience:
            few = FEW if patience == SOON else max(ask.keep // PIECES, FEW)
            request = ask._replace(
                max_steps=min(left, patience),
                times=ask.times[done:],
                keep=min(ask.keep, few) if pieces else ask.keep,
            )
        t, code, saved, kept, log, spent, rate, ends = march(
            Y, gates, net.geometry, net.invariants, fresh, request
        )
        spent = spent.tolist()
        counts = [before + more for before, more in zip(counts, spent, strict=True)]
        own, rows = Kept(*[part[: spent[KEPT]] for part in kept]), log.rows[: log.filled[0]]
        mesh = ends[: spent[ACCEPTED] + 1]
        pieces.append(_Piece(own, np.zeros(spent[KEPT], bool), saved[: spent[SAVED]], rows, mesh))
        done, stiffest = done + spent[SAVED], rate or stiffest
        if code == STATIONARY:
            code, ask = _judged(
                net, Y, gates, ask._replace(t0=t, step=STABLE / rate if rate > 0 else 0.0), judge
            )
            if code == STEP_LIMIT and left > spent[ACCEPTED] + spent[REJECTED]:
                fresh = False
                continue
        if code != STEP_LIMIT or left <= patience:
            break
        stable = (HALF if ask.mesh.size else 1.0) * STABLE
        bound = rate * (t - request.t0) >= BOUND * stable * spent[ACCEPTED]
        fresh, ask = False, ask._replace(t0=t, step=0.0)
        if bound and Y.size <= LARGEST_STATE:
            t, code, piece = _tail(
                net, Y, gates, ask._replace(times=ask.times[done:]), stable / rate
            )
            pieces.append(piece)
            done, ask, patience = done + len(piece.saved), ask._replace(t0=t), SOON
            if code == STATIONARY:
                code, ask = _judged(net, Y, gates, ask, judge)
            if code != STEP_LIMIT:
                break
    if len(pieces) == 1:
        kept, implicit, saved, rows, mesh = pieces[0]
    else:
        kept = Kept(*map(np.concatenate, zip(*(piece.kept for piece in pieces), strict=True)))
        implicit, saved, rows, mesh = (
            np.concatenate([piece[i] for piece in pieces]) for i in (1, 2, 3, 4)
        )
    return Marched(float(t), int(code), saved, kept, implicit, rows, counts, float(stiffest), mesh)


def _judged(
    net: Network, Y: Array, gates: Gates, ask: Request, judge: Judge
) -> tuple[int, Request]:
    """STATIONARY where that is shown, else STEP_LIMIT and how to go on until it is slower, or
    UNSEEN where nothing would move."""
    rest = judge(Y, gates)
    if rest is Rest.SHOWN:
        return STATIONARY, ask
    speed = float(np.max(np.abs(FrozenField(gates, net.geometry, Y.shape)(0.0, Y.ravel()))))
    if speed == 0.0 or (rest is Rest.UNSEEN and ask.t1 == math.inf):
        return UNSEEN, ask
    still = SLOWER * min(ask.still, speed)
    # what is so slow is never asked again
    return STEP_LIMIT, ask._replace(still=still if still > TINY else -1.0)


def march_through(
    net: Network,
    Y: Array,
    gates: Gates,
    fresh: bool,
    ask: Request,
    most: int,
    turns: tuple[Turn, ...],
    judge: Judge,
) -> Marched:
    """As `march_on`, gates being given where turns are, at times of this run: its error has
    theirs, too."""
    if not turns:
        return march_on(net, Y, gates, fresh, ask, most, judge)
    stretches: list[Marched] = []
    done = 0
    for turn in (*turns, None):
        if turn is not None:
            turn = _own(net, Y, gates, fresh, ask, most, turn, judge)
        until = ask.t1 if turn is None else min(turn.time, ask.t1)
        part = ask._replace(t1=until, times=ask.times[done:])
        stretches.append(march_on(net, Y, gates, fresh, part, most, judge))
        done, fresh, ask = (
            done + len(stretches[-1].saved),
            False,
            ask._replace(t0=stretches[-1].time),
        )
        if turn is None or stretches[-1].code != REACHED_T1 or until == ask.t1:
            break
        last, rows = stretches[-1], _turned(gates, turn, stretches[-1].rows, ask.rtol)
        stretches[-1] = last._replace(rows=rows)
    return joined(stretches)


def _own(
    net: Network,
    Y: Array,
    gates: Gates,
    fresh: bool,
    ask: Request,
    most: int,
    turn: Turn,
    judge: Judge,
) -> Turn:
    """The turn at the time at which this run, going on from here, meets it."""
    apart = near_for(100 * ask.rtol) * turn.time
    part = ask._replace(t1=min(turn.time + apart, ask.t1), times=ask.times[:0])
    rows = march_on(net, Y.copy(), gates.copy(), fresh, part, most, judge).rows
    met = rows[(rows[:, 1] == turn.j) & (rows[:, 0] >= turn.time - apart), 0]
    return turn._replace(time=float(met[0])) if met.size else turn


def _turned(gates: Gates, turn: Turn, rows: Array, rtol: float) -> Array:
    """The changes of gates with those of a turn in place of what its neuron did just before, on its
    own way; the gates are given to it."""
    late = (rows[:, 1] == turn.j) & (rows[:, 0] > turn.time * (1 - near_for(100 * rtol)))
    row = gates[turn.j].copy()
    for _, _, g, before, _ in rows[late][::-1]:
        row[int(g)] = int(before)
    gates[turn.j] = turn.row
    (new,) = np.nonzero(row != turn.row)
    times, neurons = np.full(new.size, turn.time), np.full(new.size, turn.j)
    changes = np.column_stack([times, neurons, new, row[new], turn.row[new]])
    return np.concatenate([rows[~late], changes])


def joined(stretches: list[Marched]) -> Marched:
    """Marches, each from where the one before ended, as one."""
    kept = Kept(*map(np.concatenate, zip(*(stretch.kept for stretch in stretches), strict=True)))
    saved, implicit, rows, mesh = (
        np.concatenate([getattr(s, name) for s in stretches])
        for name in ("saved", "implicit", "rows", "mesh")
    )
    counts = [sum(each) for each in zip(*(stretch.counts for stretch in stretches), strict=True)]
    return stretches[-1]._replace(
        saved=saved, kept=kept, implicit=implicit, rows=rows, counts=counts, mesh=mesh
    )


def resume(net: Network, gates: Gates, Y: Array, ask: Request) -> Array:
    """The state at ask.t1 from the one at ask.t0, within an implicit step."""
    return reach(FrozenField(gates, net.geometry, Y.shape), ask.t0, Y, ask.t1, ask.rtol)


def _tail(
    net: Network, Y: Array, gates: Gates, ask: Request, step: float
) -> tuple[float, int, _Piece]:
    """Implicit steps from ask.t0 with frozen gates, none where a gate changes at once: time, why
    they ended, what to keep."""
    field, judged = FrozenField(gates, net.geometry, Y.shape), [STEP_LIMIT]

    def ended(t: float, state: Array) -> bool:
        request = ask._replace(t0=t, step=1.0, max_steps=0, times=np.empty(0), keep=1)
        judged[0] = march(state, gates.copy(), net.geometry, net.invariants, False, request)[1]
        if judged[0] == STEP_LIMIT and ask.stop[0]:
            judged[0] = TIME_LIMIT
        return bool(judged[0] != STEP_LIMIT)

    taken = [(ask.t0, Y.copy()), *follow(field, ask.t0, Y, ask.t1, ask.rtol, step, ended)]
    times, states = np.array([t for t, _ in taken]), np.stack([state for _, state in taken])
    wanted = ask.times[ask.times <= times[-1] * (1 + 1e-15)] if len(taken) > 1 else ask.times[:0]
    saved = np.empty((wanted.size, *Y.shape))
    for i, t in enumerate(wanted):
        k = int(np.searchsorted(times, t, side="right")) - 1
        if ask.stop[0]:  # what is saved goes no further, and so does the flow
            times, states, judged[0] = times[: k + 1], states[: k + 1], TIME_LIMIT
            saved = saved[:i][wanted[:i] <= times[-1]]
            break
        saved[i] = reach(field, float(times[k]), states[k], float(t), ask.rtol)
    begins = len(times) - 1
    kept = Kept(times[:-1], states[:-1], np.repeat(gates[None], begins, axis=0), np.diff(times))
    Y[:] = states[-1]
    return (
        float(times[-1]),
        judged[0],
        _Piece(kept, np.ones(begins, bool), saved, np.empty((0, 5)), times),
    )


def follow(
    field: FrozenField,
    t: float,
    state: Array,
    t1: float,
    tolerance: float,
    step: float,
    ended: Callable[[float, Array], bool],
) -> list[tuple[float, Array]]:
    """Times and states after `t` while the gates stand, up to t1, to where the flow has ended, or
    to the last look before a gate changes; nothing where that comes before the first look."""
    taken: list[tuple[float, Array]] = []
    solver = _solver(field, t, state, t1, tolerance, step)
    while solver.status == "running":
        _step(solver)
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            break
        inside, begin, end = solver.dense_output(), solver.t_old, solver.t
        looks = begin + (end - begin) * np.arange(1, GATE_LOOKS + 1) / GATE_LOOKS
        standing = [*(field.stands(inside(look)) for look in looks[:-1]), field.stands(solver.y)]
        if not all(standing):
            last = standing.index(False) - 1
            if last >= 0:
                there = reach(
                    field, *(taken[-1] if taken else (t, state)), float(looks[last]), tolerance
                )
                if field.stands(there.ravel()):
                    taken.append((float(looks[last]), there))
            break
        taken.append((float(end), solver.y.reshape(state.shape).copy()))
        if ended(*taken[-1]):
            break
    return taken


def reach(field: FrozenField, t: float, state: Array, t1: float, tolerance: float) -> Array:
    """The state at t1."""
    if t1 <= t:
        return state
    solver = _solver(field, t, state, t1, tolerance, t1 - t)
    while solver.status == "running":
        _step(solver)
    return np.asarray(solver.y.reshape(state.shape))


def _step(solver: Any) -> None:
    """A step; what its iterations try may leave float range, and is then rejected."""
    with np.errstate(over="ignore", invalid="ignore"):
        solver.step()


def _solver(
    field: FrozenField, t: float, state: Array, t1: float, tolerance: float, step: float
) -> Any:
    last = t1 if math.isfinite(t1) else FOREVER
    return Radau(
        field,
        t,
        state.ravel(),
        last,
        rtol=PRECISE,
        atol=tolerance,
        jac=field.jacobian,
        first_step=min(step, last - t),
    )
