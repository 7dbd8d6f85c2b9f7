"""The compiled march of a dual flow: Rodas5P on ν̇ = speed·(target − Xβ(ν)), with everything that
happens at a step.

Accuracy. An error of ν counts as the largest relative error of β that it makes (absolute in η where
β is small). In the tail,
where the force dies out, it must also be small beside what is left of it: the loss falls at the
right rate to its threshold. Plateaus. No β may grow by more than e² in a step once it is
significant, nor beyond significance in one step before. Wide problems. Within a step a β whose
change cannot move any η by a share of the tolerance rests, and one whose bending cannot follows its
tangent; only the others are evaluated in every stage. All are brought up to date at its end. Error.
The dense output solves another equation, whose defect pushes its error along (`defect`): e
follows ė = −He + δ, H its mean over the step. Exponentials are rational functions of one
factorisation, and the defect is seen by the coordinates that bend or move, what the others do being
known at the end of the step. Within a step it is the same over a part of it, for times that
somebody looks at. No second run is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL
from ..._numerics import rodas5p, rosenbrock
from ..._numerics.compilation import entry, inner, stamp
from ..._numerics.rodas5p import GAMMA, ORDER, STAGES, B, H
from ..._numerics.rosenbrock import MARCHING, Controls, Progress
from . import compiled_room as at, defect, hypentropy_kernels as kernels
from .compiled_room import NODE_COUNT, Flow
from .defect import defect_shares
from .hypentropy_kernels import CURVE_ROWS, INVERSE, SIGN, add, copy, gram, length, moves, solve

LOG_GROWTH = 2.0
"""Cap on the logarithmic growth of any significant |β| within a step."""
UNSEEN_SHARE = 0.05
"""Share of the tolerance that all coordinates which rest or move straight may cost together."""
MOST_FOR_ONE, BOLDER = 0.2, 2.0
"""Share of that for one of them at most, and the factor by which it is tried out."""
FLOOR_EVERY, NEARLY_CONVERGED = 16, 1e-8
"""Steps after which it is asked whether the force is at its floor, and the loss, relative to its
start, from which on that is asked at every step."""
EPS = float(np.finfo(float).eps)


def _radau() -> tuple[Any, Any]:
    """Radau's nodes in [0, 1], the end among them, and their weights."""
    legendre, count = np.polynomial.legendre.Legendre, NODE_COUNT
    nodes = (np.sort((legendre.basis(count) - legendre.basis(count - 1)).roots().real) + 1) / 2
    nodes[-1] = 1.0
    return nodes, np.linalg.solve(np.vander(nodes, increasing=True).T, 1 / np.arange(1, count + 1))


NODES, NODE_WEIGHTS = _radau()
SEEN_AT = np.append(0.0, NODES)
SEEN_WEIGHTS = 1 / np.prod(SEEN_AT[:, None] - SEEN_AT + np.eye(SEEN_AT.size), axis=1)
"""Shares of a step at which its force is known, and the weights of Lagrange's polynomials there."""
POWERS = 10
"""Powers of (1 + γz)⁻¹ in which e^{−z} and the shares of the defects are written: they are then
known to 4e-5."""


def _rational() -> Any:
    """Coefficients of e^{−z} and of the shares of the defects in these powers, (POWERS, 1 + NODES),
    exact at z = 0."""
    r = (1 - np.cos(np.linspace(0, np.pi, 400)[1:])) / 2
    z = (1 / r - 1) / GAMMA
    wanted = np.column_stack([np.exp(-z), defect_shares(z, NODES)])
    weights = np.where(r == 1.0, 1e3, 1.0)[:, None]
    return np.linalg.lstsq(
        weights * r[:, None] ** np.arange(1, POWERS + 1), weights * wanted, rcond=None
    )[0]


RATIONAL = _rational()


between, slope = inner(rosenbrock.between), inner(rosenbrock.slope)


@inner
def add_stages(weights: Any, K: Any, count: int, factor: float, out: Any) -> None:
    """out += factor·Σ_{s<count} weights_s·k_s."""
    for s in range(count):
        weight = factor * weights[s]
        for i in range(out.size):
            out[i] += weight * K[s, i]


@inner
def gathered(room: Any, n: int, count: int) -> Any:
    """The columns of X that were gathered there, (n, count)."""
    return room[: n * count].reshape(n, count)


@inner
def blur(flow: Flow) -> float:
    """A bound on what rounding of η does to β."""
    points = flow.points
    highest = kernels.largest_product(points[at.ETA], flow.field.curves[at.FACTOR])
    return EPS * (kernels.largest(points[at.WEIGHT]) * highest + kernels.largest(points[at.BETA]))


@inner
def at_floor(flow: Flow) -> bool:
    """Whether the force is what rounding of η leaves of it."""
    field, points, force = flow.field, flow.points, flow.duals[at.FORCE]
    if kernels.largest(force) > field.speed * field.row_sum * blur(flow):
        return False
    highest = kernels.largest_product(points[at.ETA], field.curves[at.FACTOR])
    for i in range(force.size):
        bound = 0.0
        for j in range(points.shape[1]):
            blurred = points[at.WEIGHT, j] * highest + abs(points[at.BETA, j])
            bound += abs(field.X[i, j]) * EPS * blurred
        if abs(force[i]) > field.speed * bound:
            return False
    return True


@inner
def weigh(flow: Flow, step: float) -> None:
    """What a coordinate costs the force if it rests during a step, or moves straight, and the
    logarithm of its size at the end where it grows too far for such bounds.

    A coordinate that grows by the factor e^g changes by at most 1.72·g of its size for g < 1, and
    differs from its tangent by at most 1.36·g².
    """
    points, weight, speeds = flow.points, flow.points[at.WEIGHT], flow.points[at.SPEEDS]
    factor, norms = flow.field.curves[at.FACTOR], flow.field.curves[at.NORMS]
    resting, straight, late = points[at.RESTING], points[at.FOLLOWING], points[at.LATE_SIZE]
    size, log_norms = points[at.LOG_SIZE], flow.field.curves[at.LOG_NORMS]
    for j in range(weight.size):
        growth = step * speeds[j]
        first, far = weight[j] * factor[j] * norms[j] * growth, growth >= 1.0
        resting[j] = np.inf if far else 1.72 * first
        straight[j] = np.inf if far else 1.36 * first * growth
        late[j] = size[j] + log_norms[j] + growth if far else np.inf


@inner
def unseen(flow: Flow, bound: float) -> float:
    """What all coordinates cost that rest or move straight, each at most so much."""
    resting, straight, late = (
        flow.points[at.RESTING],
        flow.points[at.FOLLOWING],
        flow.points[at.LATE_SIZE],
    )
    log_bound, spent = np.log(bound), 0.0
    for j in range(resting.size):
        moved = straight[j] if straight[j] < bound else 0.0
        left = bound if late[j] < log_bound else moved
        spent += resting[j] if resting[j] < bound else left
    return spent


@inner
def choose(flow: Flow, bound: float) -> None:
    """The coordinates that bend during a step and those that only move, in place."""
    points, chosen, log_bound = flow.points, flow.chosen, np.log(bound)
    resting, straight, late = points[at.RESTING], points[at.FOLLOWING], points[at.LATE_SIZE]
    bends, moving = 0, 0
    for j in range(resting.size):
        chosen[at.STRAIGHT, moving], chosen[at.BENT, bends] = j, j
        seen, follows = resting[j] >= bound and late[j] >= log_bound, straight[j] < bound
        moving += seen and follows
        bends += seen and not follows
    flow.counts[at.BENDS], flow.counts[at.MOVING] = bends, moving


@inner
def begin(flow: Flow, t: float, step: float, steps: int) -> Any:
    """Whether the flow ends here; else a step that lets nothing grow too far, and its
    coordinates."""
    field, aims, points, duals = flow.field, flow.aims, flow.points, flow.duals
    curves, (n, d), force = field.curves, field.X.shape, duals[at.FORCE]
    weight, least = points[at.WEIGHT], curves[at.LEAST_WEIGHT]
    kernels.relative_weight(points[at.BETA], weight, least, curves[at.FACTOR], points[at.RELATIVE])
    kernels.log_size(points[at.ETA], curves[SIGN], curves[at.LOG_SCALE], points[at.LOG_SIZE])
    relative, size, allowance = points[at.RELATIVE], points[at.LOG_SIZE], points[at.ALLOWANCE]
    for j in range(d):
        allowance[j] = relative[j] / max(LOG_GROWTH, field.log_significant - size[j])
    if aims.threshold >= 0.0:
        half = kernels.half_square(force)
        if half <= aims.threshold * field.speed * field.speed:
            return rosenbrock.STOPPED, step
        if (half <= flow.levels[at.LATE_FORCE] or steps % FLOOR_EVERY == 0) and at_floor(flow):
            return rosenbrock.FLOOR, step
    if flow.stop[0] != 0:
        return rosenbrock.TIME_LIMIT, step
    moves(field.X, force, curves[INVERSE], points[at.SPEEDS])
    fastest = kernels.largest_product(points[at.SPEEDS], points[at.ALLOWANCE])
    step = min(step, 1.0 / max(fastest, SMALLEST_NORMAL))
    left = min(aims.allowed / (step * field.reach), aims.tail * length(force))
    budget = max(UNSEEN_SHARE * left / field.speed, SMALLEST_NORMAL)
    share = min(BOLDER * flow.levels[at.SHARE_FOR_ONE], MOST_FOR_ONE)
    weigh(flow, step)
    while unseen(flow, share * budget) > budget:
        share /= BOLDER
    choose(flow, share * budget)
    flow.levels[at.SHARE_FOR_ONE] = share
    for kind in range(2):
        count, chosen = flow.counts[at.BENDS + kind], flow.chosen[kind]
        columns, weights = gathered(flow.columns[kind], n, count), points[at.MEAN_WEIGHT]
        for k in range(count):
            weights[k] = points[at.WEIGHT, chosen[k]]
        for i in range(n):
            for k in range(count):
                columns[i, k] = field.X[i, chosen[k]]
        gram(columns, weights, flow.columns[at.SCRATCH], flow.squares[kind])
    add(flow.squares[at.STRAIGHT_GRAM], flow.squares[at.GRAM])
    bends, chosen, target = flow.counts[at.BENDS], flow.chosen[at.BENT], duals[at.STAGE_TARGET]
    for k in range(bends):
        points[at.START_ETA, k] = points[at.ETA, chosen[k]]
        points[at.STAGE_BETA, k] = points[at.BETA, chosen[k]]
        for row in range(CURVE_ROWS):
            points[at.BENT_CURVES + row, k] = curves[row, chosen[k]]
    kernels.products(gathered(flow.columns[at.BENT], n, bends), points[at.STAGE_BETA], target)
    for i in range(n):
        target[i] += force[i] / field.speed
    return MARCHING, step


@inner
def force_at(flow: Flow, change: Any, out: Any) -> None:
    """The force at a change of ν within a step, in place: the coordinates that bend one by one, the
    straight ones through their XWXᵀ."""
    points, bends, speed = flow.points, flow.counts[at.BENDS], flow.field.speed
    columns, curves = gathered(flow.columns[at.BENT], change.size, bends), points[at.BENT_CURVES :]
    eta, beta = points[at.STAGE_ETA][:bends], points[at.STAGE_BETA]
    kernels.dual_point(columns, change, points[at.START_ETA], curves[INVERSE], eta)
    kernels.mirror(eta, curves, flow.field.beyond, beta, points[at.STAGE_WEIGHT])
    kernels.forces(columns, beta, flow.duals[at.STAGE_TARGET], speed, out)
    kernels.subtract_product(flow.squares[at.STRAIGHT_GRAM], change, speed, out)


@inner
def solve_stage(flow: Flow, stage: Any) -> None:
    solve(flow.squares[at.FACTORS], stage)


take_stages = inner(rosenbrock.staging(add_stages, force_at, solve_stage))


@inner
def attempt(flow: Flow, step: float) -> float:
    """The error of a step, in units of the allowed one, to NEW_ETA, NEW_BETA, …"""
    field, points, duals, K = flow.field, flow.points, flow.duals, flow.duals[at.FIRST_STAGE :]
    speed, wrong, change = field.speed, duals[at.STAGE_FORCE], duals[at.CHANGE]
    kernels.factorise(flow.squares[at.GRAM], speed, 1.0 / (GAMMA * step), flow.squares[at.FACTORS])
    copy(duals[at.FORCE], K[0])
    take_stages(flow, step, K, duals[at.STAGE_CHANGE])
    flow.counts[at.EVALUATIONS] += STAGES - 1
    if not kernels.all_finite(K):
        return np.inf
    moves(field.X, K[STAGES - 1], field.curves[INVERSE], points[at.MOVED])
    error = kernels.largest_product(points[at.MOVED], points[at.RELATIVE]) / flow.aims.allowed
    if not error <= 1.0:
        return error
    change[:] = 0.0
    add_stages(B, K, B.size, 1.0, change)
    for i in range(change.size):
        duals[at.NEW_NU, i] = flow.record[flow.counts[at.KEPT], 0, i] + change[i]
    move(flow, duals[at.NEW_NU])
    for j in range(points.shape[1]):
        points[at.MOVED, j] = points[at.NEW_ETA, j] - points[at.ETA, j]
    # what is wrong with the force, beside what is left of it
    wrong[:] = 0.0
    kernels.subtract_product(flow.squares[at.GRAM], K[STAGES - 1], speed, wrong)
    lost, left = length(wrong), flow.aims.tail * length(duals[at.NEW_FORCE])
    if lost > left:
        left += speed * field.row_sum * blur(flow)
    error = max(error, lost / left if left > 0.0 else 0.0)
    if error <= 1.0 and kernels.largest_product(points[at.MOVED], points[at.ALLOWANCE]) <= 2.0:
        return error
    return max(error, rosenbrock.HALVING_ERROR)


@inner
def move(flow: Flow, nu: Any) -> None:
    """η, β, weights and the force at ν, as the new ones."""
    field, points, beta = flow.field, flow.points, flow.points[at.NEW_BETA]
    kernels.dual_point(
        field.X, nu, field.curves[at.ETA0], field.curves[INVERSE], points[at.NEW_ETA]
    )
    kernels.mirror(points[at.NEW_ETA], field.curves, field.beyond, beta, points[at.NEW_WEIGHT])
    kernels.forces(field.X, beta, field.target, field.speed, flow.duals[at.NEW_FORCE])
    flow.counts[at.EVALUATIONS] += 1


@inner
def arrive(flow: Flow) -> None:
    """The new ones become those where the next step begins."""
    points, duals = flow.points, flow.duals
    copy(points[at.NEW_ETA], points[at.ETA])
    copy(points[at.NEW_BETA], points[at.BETA])
    copy(points[at.NEW_WEIGHT], points[at.WEIGHT])
    copy(duals[at.NEW_FORCE], duals[at.FORCE])


@inner
def force_between(duals: Any, share: float, force: Any) -> None:
    """The force at a share of the step, in place, by the polynomial through that at its start and
    those at its nodes.

    Of order seven, where the defect is of order four: of a force that grows by e² over the step, as
    no significant β may, it is off by 2e-5 of its change.
    """
    force[:] = 0.0
    for m in range(SEEN_AT.size):
        weight = SEEN_WEIGHTS[m]
        for k in range(SEEN_AT.size):
            weight *= share - SEEN_AT[k] if k != m else 1.0
        seen = duals[at.NODE_FORCES + m - 1] if m > 0 else duals[at.FORCE]
        for i in range(force.size):
            force[i] += weight * seen[i]


@inner
def push(flow: Flow, step: float, part: float, errors: Any) -> None:
    """Errors (2, n) at the end of a part of the step: what is left of those where it began, and of
    the defects on the way; the second with other signs, in pairs, for errors of neighbouring steps
    are much alike. For the whole step, which comes first, H is set to its mean, and the forces at
    its nodes are kept for its parts.

    What coordinates do that neither bend nor move is known at the end of the step, and their share
    of it taken before.
    """
    points, duals, kept, bends = (
        flow.points,
        flow.duals,
        flow.counts[at.KEPT],
        flow.counts[at.BENDS],
    )
    n, change, force, now = (
        errors.shape[1],
        duals[at.CHANGE],
        duals[at.STAGE_FORCE],
        flow.record[kept],
    )
    mean, weight, G = points[at.MEAN_WEIGHT], points[at.STAGE_WEIGHT], flow.squares[at.GRAM]
    mean[:] = 0.0
    for m in range(NODE_COUNT):
        share = part * NODES[m]
        if part < 1.0:
            force_between(duals, share, force)
        elif share == 1.0:
            copy(duals[at.NEW_FORCE], force)
            for k in range(bends):
                weight[k] = points[at.NEW_WEIGHT, flow.chosen[at.BENT, k]]
        else:
            for i in range(n):
                moved = between(0.0, change[i], now[3, i], now[4, i], now[5, i], share)
                duals[at.STAGE_CHANGE, i] = moved
            force_at(flow, duals[at.STAGE_CHANGE], force)
            for i in range(n):
                force[i] += share * duals[at.MISSED, i]
        for i in range(n):
            turn = slope(change[i], now[3, i], now[4, i], now[5, i], share, step)
            duals[at.DEFECTS + m, i] = turn - force[i]
        if part == 1.0:
            copy(force, duals[at.NODE_FORCES + m])
            for k in range(bends):
                mean[k] += NODE_WEIGHTS[m] * weight[k]
    if part == 1.0:
        gram(gathered(flow.columns[at.BENT], n, bends), mean, flow.columns[at.SCRATCH], G)
        moving, straight = flow.counts[at.MOVING], flow.chosen[at.STRAIGHT]
        for k in range(moving):
            mean[k] = 0.5 * (points[at.WEIGHT, straight[k]] + points[at.NEW_WEIGHT, straight[k]])
        columns = gathered(flow.columns[at.STRAIGHT], n, moving)
        gram(columns, mean, flow.columns[at.SCRATCH], flow.squares[at.MEAN_GRAM])
        add(flow.squares[at.MEAN_GRAM], G)
    diagonal = 1.0 / (GAMMA * part * step)
    kernels.factorise(G, flow.field.speed, diagonal, flow.squares[at.FACTORS])
    errors[:] = 0.0
    sign = -1.0 if (kept + 1) // 2 % 2 == 1 else 1.0
    for k in range(POWERS - 1, -1, -1):
        for i in range(n):
            driven = 0.0
            for m in range(NODE_COUNT):
                driven += RATIONAL[k, 1 + m] * duals[at.DEFECTS + m, i]
            driven *= part * step
            errors[0, i] += RATIONAL[k, 0] * now[1, i] + driven
            errors[1, i] += RATIONAL[k, 0] * now[2, i] + sign * driven
        kernels.solve_pair(flow.squares[at.FACTORS], errors)
        for i in range(n):
            errors[0, i] *= diagonal
            errors[1, i] *= diagonal


@inner
def keep(flow: Flow, t: float, after: float, step: float) -> None:
    """The step, its dense output, its error and those inside it that are asked for."""
    points, duals, counts, looks = flow.points, flow.duals, flow.counts, flow.looks
    now, then = flow.record[counts[at.KEPT]], flow.record[counts[at.KEPT] + 1]
    for k in range(3):
        now[3 + k][:] = 0.0
        add_stages(H[k], duals[at.FIRST_STAGE :], B.size, 1.0, now[3 + k])
    missed, gained, speed = duals[at.MISSED], points[at.STAGE_BETA], flow.field.speed
    for k in range(counts[at.BENDS]):
        j = flow.chosen[at.BENT, k]
        gained[k] = points[at.NEW_BETA, j] - points[at.BETA, j]
    kernels.products(gathered(flow.columns[at.BENT], missed.size, counts[at.BENDS]), gained, missed)
    for i in range(missed.size):
        missed[i] = duals[at.NEW_FORCE, i] - duals[at.FORCE, i] + speed * missed[i]
    kernels.subtract_product(flow.squares[at.STRAIGHT_GRAM], duals[at.CHANGE], -speed, missed)
    push(flow, step, 1.0, then[1:3])
    while counts[at.LOOK] < looks.size and looks[counts[at.LOOK]] < after:
        look = looks[counts[at.LOOK]]
        if look > t:
            push(flow, step, min((look - t) / step, 1.0 - EPS), flow.insides[counts[at.LOOK]])
        counts[at.LOOK] += 1
    copy(duals[at.NEW_NU], then[0])
    arrive(flow)
    flow.times[counts[at.KEPT] + 1] = after
    counts[at.KEPT] += 1


march_on = inner(rosenbrock.marching(begin, attempt, keep))


def _entry(version: int) -> Any:
    """The entry point, which closes over the version of all sources."""

    def march(flow: Flow, controls: Controls, start: Progress) -> Progress:
        """On from `start` until the flow ends or its record is full; from the beginning where its
        step is zero, with a share of the time in which the stiffest coordinate relaxes."""
        t, step, steps, rejected, _ = start
        if step == 0.0:
            flow.counts[:] = 0
            flow.record[0][:] = 0.0
            move(flow, flow.record[version - version, 0])
            arrive(flow)
            flow.levels[at.SHARE_FOR_ONE] = MOST_FOR_ONE
            flow.levels[at.LATE_FORCE] = NEARLY_CONVERGED * kernels.half_square(
                flow.duals[at.FORCE]
            )
            norms, stiffness = flow.field.curves[at.NORMS], SMALLEST_NORMAL
            for j in range(norms.size):
                rate = flow.field.speed * flow.points[at.WEIGHT, j] * norms[j] * norms[j]
                stiffness = max(stiffness, rate)
            step = flow.aims.allowed ** (1 / ORDER) / stiffness
        return march_on(flow, controls, Progress(t, step, steps, rejected, MARCHING))

    return entry(march)


SOURCES = at, kernels, rodas5p, rosenbrock, defect
march = _entry(stamp(__file__, *(str(source.__file__) for source in SOURCES)))
