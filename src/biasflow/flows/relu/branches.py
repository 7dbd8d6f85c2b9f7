"""Where Filippov's solution is not unique: from which states a neuron can go several ways, and
which there are.

On a kink whose sides both push towards it a neuron slides, one way only (`sliding_modes`). On one
whose sides push away it may leave to either: a start there, a neuron that slid while its output
weight changed sign, and w = 0, which a neuron of larger output weight passes on a slide. The flow
itself closes the gates of such kinks and opens those whose pre-activations then grow; from w = 0,
where rounding would decide, it takes the first way that lasts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog, lsq_linear, nnls

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ...errors import InputError
from .frozen_field import group_forces
from .geometry import Network
from .layout import FIRST, OFF, ON, OUT, SLIDE, Gates

NO_PUSH = 1e-9
"""Velocity, relative to the forces, that counts as none: above the rounding of least squares."""
MOST_KINKS = 8
"""Kinks that push away up to which all their ways are tried; of more, those where all but one do as
the flow does."""
DIRECTIONS_TRIED = 512
"""Directions in which the sides of several kinks are looked for."""


class Branch(NamedTuple):
    """A moment from which the flow could go on in several ways: `branch=` numbers them, and `taken`
    is the one it took.

    samples: those whose kinks push the neuron away. rests: whether it could stay on them, too,
    which is not offered.
    """

    time: float
    neuron: int
    samples: tuple[int, ...]
    ways: int
    taken: int
    rests: bool


class Turn(NamedTuple):
    """At a time, the gates that a neuron is given."""

    time: float
    j: int
    row: Gates


class Ways(NamedTuple):
    """Gates (G,) of one neuron for every way on, the flow's own first; whether it can stay; the
    kinks that push away."""

    rows: tuple[Gates, ...]
    rests: bool
    loose: Index

    @property
    def several(self) -> bool:
        return len(self.rows) > 1 or self.rests


def near_for(rtol: float) -> float:
    """Up to how far apart, in units of the time, events come together; and how near zero what
    passes it is. Inside of a step its states are of one order less than at its ends."""
    return float(10 * rtol**0.8)


def ways_on(
    net: Network,
    row: Gates,
    zero: Index,
    sign: float,
    F0: Array,
    F1: Array,
    after: Gates | None = None,
) -> Ways:
    """Of a neuron whose pre-activations on the groups `zero` vanish, under these forces; sign: of
    its output weight.

    after: where w itself vanishes, the gates that a run went on with, which rounding decides; the
    flow's own way is then the first that lasts, gates being OFF before they are ON.
    """
    U, scale = net.geometry.U[:, FIRST:], max(float(np.max(np.abs([F0, F1]), initial=0.0)), 1e-300)
    F0, F1 = F0 / scale, F1 / scale
    loose, held = (
        zero[(sign * (F1[zero] - F0[zero]) > 0) == attracts] for attracts in (False, True)
    )
    loose = loose[np.abs(F1[loose] - F0[loose]) > NO_PUSH]
    base = row.copy()
    base[zero] = OFF

    def settled(gates: tuple[int, ...]) -> tuple[Gates, Array]:
        """The gates with these on the loose kinks, and the pull D there."""
        found = base.copy()
        found[loose] = gates
        found[held] = SLIDE
        D = -np.where(found == ON, F1, np.where(found == OFF, F0, 0.0)) @ U
        if held.size:
            low, high = np.minimum(F0, F1)[held], np.maximum(F0, F1)[held]
            F = lsq_linear(U[held].T, D, (low, high), method="bvls", tol=1e-14).x
            share = (F - F0[held]) / (F1[held] - F0[held])
            found[held] = np.where(share < NO_PUSH, OFF, np.where(share > 1 - NO_PUSH, ON, SLIDE))
            D = D - F @ U[held]
        return found, D

    def lasts(gates: tuple[int, ...], found: Gates, D: Array) -> bool:
        """Whether pre-activations go where these gates are, and there is such a place at all."""
        speed = sign * (U[loose] @ D)
        return bool(np.all(np.where(np.array(gates) == ON, speed, -speed) >= -NO_PUSH)) and _exists(
            U[zero], found[zero]
        )

    own = (
        (OFF,) * len(loose)
        if after is None
        else tuple(np.where(after[loose] == ON, ON, OFF).tolist())
    )
    for _ in range(1 + len(loose)):
        grown = sign * (U[loose] @ settled(own)[1]) > NO_PUSH
        if after is not None or np.all(np.array(own)[grown] == ON):
            break
        own = tuple(np.where(grown, ON, own).tolist())
    few = len(loose) <= MOST_KINKS
    tried = list(itertools.product((OFF, ON), repeat=len(loose))) if few else []
    tried += [(*own[:i], OFF if own[i] == ON else ON, *own[i + 1 :]) for i in range(len(loose))]
    rows: list[Gates] = []
    pulls: list[Array] = []
    for gates in [*tried, own] if after is not None and few else [own, *tried]:
        found, D = settled(gates)
        new = all(float(np.linalg.norm(D - other)) > NO_PUSH for other in pulls)
        if new and (gates is own or lasts(gates, found, D)):
            rows.append(found)
            pulls.append(D)
    return Ways(tuple(rows), bool(loose.size) and _can_rest(U, base, zero, F0, F1, pulls[0]), loose)


def _exists(U: Array, gates: Gates) -> bool:
    """Whether some w has pre-activations with these gates, zero where they slide."""
    slides, signs = gates == SLIDE, np.where(gates == ON, 1.0, -1.0)
    equal = (U[slides], np.zeros(int(np.sum(slides)))) if np.any(slides) else (None, None)
    found = linprog(
        np.zeros(U.shape[1]),
        -(signs[:, None] * U)[~slides],
        -np.ones(int(np.sum(~slides))),
        *equal,
        bounds=(None, None),
    )
    return bool(found.status == 0)


def _can_rest(U: Array, base: Gates, zero: Index, F0: Array, F1: Array, own: Array) -> bool:
    """Whether the pulls on all sides of the kinks together hold the neuron there, which is not what
    it does anyway."""
    sides = np.random.default_rng(0).standard_normal((DIRECTIONS_TRIED, U.shape[1])) @ U[zero].T > 0
    rest, onto = np.isin(np.arange(len(U)), zero, invert=True), np.linalg.pinv(U[zero]) @ U[zero]
    D = -np.where(base == ON, F1, F0)[rest] @ U[rest]
    pulls = (D - np.where(np.unique(sides, axis=0), F1[zero], F0[zero]) @ U[zero]) @ onto
    off = nnls(np.vstack([pulls.T, np.ones(len(pulls))]), np.append(np.zeros(U.shape[1]), 1.0))[1]
    return bool(off <= NO_PUSH < np.linalg.norm(onto @ own))


def coming_sign(
    net: Network, Y: Array, row: Gates, zero: Index, F0: Array, F1: Array, turning: bool
) -> float:
    """The sign of a neuron's output weight, or of what it is about to have where that is zero; zero
    where it stays so."""
    if Y[OUT] != 0 and not turning:
        return float(np.sign(Y[OUT]))
    forces = np.where(row == ON, F1, np.where(row == OFF, F0, 0.0))
    forces[zero] = 0.0  # orthogonal to w
    return float(np.sign(-(forces @ net.geometry.U[:, FIRST:]) @ Y[FIRST:]))


class Moment(NamedTuple):
    """Neuron j, of those that are not zero, at a time from which it can go several ways. passes:
    its w passes zero there, and rounding decides which way a run takes that is not given one."""

    time: float
    j: int
    ways: Ways
    passes: bool


def moments_at_start(problem: Problem, net: Network) -> list[Moment]:
    """Of the neurons that start on kinks."""
    known: dict[bytes, Ways] = {}
    moments: list[Moment] = []
    if not net.on_kinks:
        return moments
    F0, F1 = _forces(problem, net, net.start)
    for j in (net.gates == SLIDE).any(axis=1).nonzero()[0]:
        row = net.gates[j]
        zero = np.flatnonzero(row == SLIDE)
        sign = coming_sign(net, net.start[j], row, zero, F0, F1, False)
        alike = row.tobytes() + np.float64(sign).tobytes()
        if alike not in known:
            known[alike] = ways_on(net, row, zero, sign, F0, F1)
        if sign != 0 and known[alike].several:
            moments.append(Moment(0.0, int(j), known[alike], False))
    return moments


def moments_after(problem: Problem, net: Network, run: Any, after: float) -> list[Moment]:
    """Of neurons that slide while a changes sign, or while w passes zero; both happen to unbalanced
    neurons only."""
    if net.invariants.balanced or not net.invariants.sign.any():
        return []
    moments, near = [], near_for(run.rtol)
    rows = run.rows[net.invariants.sign[run.rows[:, 1].astype(int)] != 0]
    for j in np.unique(rows[:, 1].astype(int)):
        mine, row, last = rows[rows[:, 1] == j], net.gates[j].copy(), after
        passes = bool(net.invariants.sign[j] > 0)
        for at_once in np.split(mine, np.unique(mine[:, 0], return_index=True)[1][1:]):
            t, groups = float(at_once[0, 0]), at_once[:, 2].astype(int)
            row[groups[::-1]] = at_once[::-1, 3]
            zero = np.flatnonzero(row == SLIDE)
            if (
                t > last * (1 + near)
                and zero.size
                and (
                    _spans(net, zero, groups)
                    if passes
                    else np.any(at_once[:, 3] == SLIDE) and _turns(run, j, t)
                )
            ):
                Y = run.state_at(t)
                small = float(np.linalg.norm(Y[j, FIRST:])) if passes else abs(float(Y[j, OUT]))
                zero = np.arange(row.size) if passes else zero
                F0, F1 = _forces(problem, net, Y)
                sign = coming_sign(net, Y[j], row, zero, F0, F1, not passes)
                ways = ways_on(
                    net,
                    row,
                    zero,
                    sign,
                    F0,
                    F1,
                    _gates_after(mine, row, t * (1 + near)) if passes else None,
                )
                if small <= near and sign != 0 and ways.several:
                    moments.append(Moment(t, int(j), ways, passes))
                    last = t
            row[groups] = at_once[:, 4]
    return sorted(moments, key=lambda moment: moment.time)


def _gates_after(rows: Array, row: Gates, t: float) -> Gates:
    """The gates of a neuron, `row` before, when all its events up to a time are over."""
    after = row.copy()
    for _, _, g, _, gate in rows[rows[:, 0] <= t].tolist():
        after[int(g)] = int(gate)
    return after


def _spans(net: Network, zero: Index, groups: Index) -> bool:
    """Whether w, orthogonal to all these groups, is zero."""
    U = net.geometry.U[:, FIRST:]
    if zero.size + groups.size < U.shape[1]:
        return False
    return bool(np.linalg.matrix_rank(U[np.union1d(zero, groups)]) == U.shape[1])


def _turns(run: Any, j: int, t: float) -> bool:
    """Whether a has another sign at the kept states before and after."""
    if t <= run.t_early:
        return True
    kept = run.marched.kept
    i = int(np.searchsorted(kept.times[: run.count], t, side="left")) - 1
    one = kept.states[max(i, 0), j]
    two = kept.states[i + 1, j] if i + 1 < run.count else run.last[j]
    return bool(one[OUT] * two[OUT] <= 0)


def _forces(problem: Problem, net: Network, Y: Array) -> tuple[Array, Array]:
    return group_forces(
        (problem.model(net.params(Y), problem.data.X) - problem.data.y)[net.samples], net.geometry
    )


def along_branches(
    integrate: Callable[[Network, tuple[Turn, ...]], Any],
    problem: Problem,
    net: Network,
    branch: tuple[int, ...],
    turns: tuple[Turn, ...] = (),
    after: float = 0.0,
) -> tuple[Any, Network, tuple[Turn, ...], tuple[Branch, ...]]:
    """The run that takes these ways, the network and the turns that make it take them, and all
    moments that had several.

    integrate: the run of a network, gates being given at turns. turns: of a run that goes on, after
    whose last moment the others are looked for.
    """
    start = [] if after else moments_at_start(problem, net)
    run = integrate(net, turns)
    met, k = start + moments_after(problem, net, run, after), 0
    while k < max(len(met), len(branch)):
        way = branch[k] if k < len(branch) else 0
        ways = len(met[k].ways.rows) if k < len(met) else 0
        if way >= max(ways, 1):
            there = (
                f"there are {ways} ways on" if ways else f"the flow meets {len(met)} such moments"
            )
            raise InputError(
                f"branch: way {way} where the solution is not unique for time {k + 1}, but {there}"
            )
        k += 1
        if way == 0 and not (k <= len(met) and met[k - 1].passes):
            continue
        moment = met[k - 1]
        if k <= len(start):
            gates = net.gates.copy()
            gates[moment.j] = moment.ways.rows[way]
            net = replace(net, gates=gates)
        else:
            turns = (*turns, Turn(moment.time, moment.j, moment.ways.rows[way]))
        run = integrate(net, turns)
        together = moment.time * (1 + near_for(run.rtol))
        met = [
            *met[:k],
            *(other for other in met[k:] if other.time <= together),
            *moments_after(problem, net, run, moment.time),
        ]
    taken = [*branch, *[0] * len(met)]
    pairs = zip(met, taken, strict=False)
    return run, net, turns, tuple(_branch(net, moment, way) for moment, way in pairs)


def _branch(net: Network, moment: Moment, taken: int) -> Branch:
    ways = moment.ways
    samples = tuple(int(k) for k in net.samples[np.isin(net.geometry.group, ways.loose)])
    return Branch(moment.time, int(net.alive[moment.j]), samples, len(ways.rows), taken, ways.rests)
