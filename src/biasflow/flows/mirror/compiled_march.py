"""The compiled march of a dual flow: Rodas5P on ν̇ = speed·(target − Xβ(ν)), with everything that
happens at a step.

Accuracy. An error of ν counts as the largest relative error of β that it makes (absolute in η where
β is small). In the tail,
where the force dies out, it must also be small beside what is left of it: the loss falls at the
right rate to its threshold. Plateaus. No β may grow by more than e² in a step once it is
significant, nor beyond significance in one step before. Wide problems. Within a step a β whose
change cannot move any η by a share of the tolerance rests, and one whose bending cannot follows its
tangent; only the others are evaluated in every stage. All are brought up to date at its end. Error.
The dense output solves another equation, whose defect pushes its error along (`transport`): e
follows ė = −He + δ, H its mean over the step. Exponentials are rational functions of one
factorisation, and the defect is seen by the coordinates that bend or move, what the others do being
known at the end of the step. Within a step it is the same over a part of it, for times that
somebody looks at. No second run is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL
from ..._numerics import rodas5p, rosenbrock
from ..._numerics.compilation import entry, inner, stamp
from ..._numerics.rodas5p import GAMMA, ORDER, STAGES, B, H
from ..._numerics.rosenbrock import (
    FLOOR,
    HALVING_ERROR,
    MARCHING,
    STOPPED,
    TIME_LIMIT,
    Controls,
    Progress,
)
from . import defect, hypentropy_kernels as kernels
from .defect import defect_shares
from .hypentropy_kernels import (
    CURVE_ROWS,
    INVERSE,
    SIGN,
    all_finite,
    copy,
    dual_point,
    factorise,
    forces,
    gram,
    half_square,
    largest,
    largest_product,
    length,
    mirror,
    moves,
    products,
    solve,
    subtract_product,
)

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
RECORD_ROOM = 1024
"""Steps that one call of the march has room for, a multiple of FLOOR_EVERY and of four, after which
signs of copies repeat; Python empties it and calls again."""
NODE_COUNT = 6
"""Nodes at which the defect of a step is looked at. Over a step it all but cancels, for the step is
of fifth order and its inside of fourth: what is left is seen by a quadrature of far higher order
only."""


def _radau() -> tuple[Any, Any]:
    """Radau's nodes in [0, 1], the end among them, and their weights."""
    legendre, count = np.polynomial.legendre.Legendre, NODE_COUNT
    nodes = (np.sort((legendre.basis(count) - legendre.basis(count - 1)).roots().real) + 1) / 2
    nodes[-1] = 1.0
    return nodes, np.linalg.solve(np.vander(nodes, increasing=True).T, 1 / np.arange(1, count + 1))


NODES, NODE_WEIGHTS = _radau()
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


class Field(NamedTuple):
    """A dual flow: η = η₀ + Xᵀν/c, β(η) by curves (see kernels), and how β is measured."""

    X: Any
    target: Any
    curves: Any
    """Of every coordinate (CURVE_ROWS + 6, d): what `mirror` wants, and the rows below."""
    speed: float
    reach: float
    """Largest |dη| of a change of ν of length one."""
    row_sum: float
    """Largest Σ|X_ij| of a sample."""
    log_significant: float
    """log|β| from which on it counts."""
    beyond: float
    """What β and weights are cut off at, which only trial steps reach."""


ETA0, FACTOR, LOG_SCALE, LEAST_WEIGHT, NORMS, LOG_NORMS = range(CURVE_ROWS, CURVE_ROWS + 6)
"""Rows of a field's curves: η₀, c, log of the scale of β, the least inverse curvature, ‖X_j‖ and
its logarithm."""


class Aims(NamedTuple):
    """What the march aims at."""

    allowed: float
    """Error of a step, as a relative error of β."""
    tail: float
    """The same, as a share of the force that is left."""
    threshold: float
    """½‖target − Xβ‖² at which the flow has converged; negative: it goes on to the final time."""


ETA, BETA, WEIGHT, NEW_ETA, NEW_BETA, NEW_WEIGHT = range(6)
RELATIVE, ALLOWANCE, LOG_SIZE, SPEEDS, MOVED = range(6, 11)
"""Rows of `Flow.points`: |d log β/dη|, the inverse of the growth of log|β| allowed in a step,
log|β|, and how fast and far η moves."""
START_ETA, STAGE_ETA, STAGE_BETA, STAGE_WEIGHT, MEAN_WEIGHT = range(11, 16)
"""Of the coordinates that bend: η where the step begins and the three at a stage, and the mean
weight over the step."""
BENT_CURVES, POINT_ROWS = 16, 16 + CURVE_ROWS
"""The first of the rows with their curves."""
FORCE, NEW_FORCE, NEW_NU, CHANGE, STAGE_CHANGE, STAGE_TARGET, STAGE_FORCE, MISSED = range(8)
"""Rows of `Flow.duals`: forces, ν and its change in a step; those of a stage, the target of the
coordinates that bend; what the others did to the force by the end of the step."""
DUAL_ROWS = 8
GRAM, STRAIGHT_GRAM, MEAN_GRAM, FACTORS = range(4)
"""Of `Flow.squares`: XWXᵀ of the coordinates that bend or move, of the latter, of the latter's mean
weights, and the factors of the system solved."""
BENT, STRAIGHT, SCRATCH = range(3)
"""Of `Flow.columns` and `Flow.chosen`: coordinates that bend, and those that only move."""
KEPT, BENDS, MOVING, EVALUATIONS, LOOK = range(5)
"""Of `Flow.counts`: steps kept, coordinates that bend and that move, evaluations, and the next time
to be looked at."""
SHARE_FOR_ONE, LATE_FORCE = range(2)
"""Of `Flow.levels`: share of the unseen budget for one coordinate; half the squared force from
which on the floor is looked at in every step."""


class Flow(NamedTuple):
    """A march's field, aims and working arrays."""

    field: Field
    aims: Aims
    points: Any
    """(POINT_ROWS, d)"""
    duals: Any
    """(DUAL_ROWS, n)"""
    K: Any
    """(STAGES, n)"""
    defects: Any
    """(NODE_COUNT, n)"""
    squares: Any
    """(4, n, n)"""
    columns: Any
    """(3, n·d)"""
    chosen: Any
    """(2, d)"""
    counts: Any
    levels: Any
    times: Any
    """(RECORD_ROOM + 1,)"""
    states: Any
    """(RECORD_ROOM + 1, 3, n): ν, its error, and the error with other signs."""
    pieces: Any
    """(RECORD_ROOM, 3, n): the dense output of every step."""
    looks: Any
    """Times, increasing, at which the flow will be looked at."""
    insides: Any
    """(looks, 2, n): errors there, where they lie inside a step."""
    stop: Any
    """Its entry turns to one when the time is over."""


def flow_of(field: Field, aims: Aims, looks: Any, stop: Any) -> Flow:
    """Room for a flow."""
    n, d = field.X.shape
    return Flow(
        field=field,
        aims=aims,
        points=np.empty((POINT_ROWS, d)),
        duals=np.empty((DUAL_ROWS, n)),
        K=np.empty((STAGES, n)),
        defects=np.empty((NODE_COUNT, n)),
        squares=np.zeros((4, n, n)),
        columns=np.empty((3, n * d)),
        chosen=np.empty((2, d), np.int64),
        counts=np.zeros(5, np.int64),
        levels=np.zeros(2),
        times=np.zeros(RECORD_ROOM + 1),
        states=np.empty((RECORD_ROOM + 1, 3, n)),
        pieces=np.empty((RECORD_ROOM, 3, n)),
        looks=looks,
        insides=np.zeros((looks.size, 2, n)),
        stop=stop,
    )


@inner
def add_stages(weights: Any, K: Any, count: int, factor: float, out: Any) -> None:
    """out += factor·Σ_{s<count} weights_s·k_s."""
    for s in range(count):
        weight = factor * weights[s]
        for i in range(out.size):
            out[i] += weight * K[s, i]


_between, _slope = inner(rosenbrock.between), inner(rosenbrock.slope)


@inner
def measure(flow: Flow) -> None:
    """RELATIVE, ALLOWANCE and LOG_SIZE of all coordinates."""
    curves, points = flow.field.curves, flow.points
    for j in range(points.shape[1]):
        weight, eta, sign = points[WEIGHT, j], points[ETA, j], curves[SIGN, j]
        seen = weight * curves[FACTOR, j]
        below = abs(points[BETA, j]) + min(curves[LEAST_WEIGHT, j], weight) * curves[FACTOR, j]
        relative = seen / below if below > 0.0 else 1.0
        size = curves[LOG_SCALE, j] + (abs(eta) if sign == 0.0 else sign * eta)
        points[RELATIVE, j], points[LOG_SIZE, j] = relative, size
        points[ALLOWANCE, j] = relative / max(LOG_GROWTH, flow.field.log_significant - size)


@inner
def blur(flow: Flow) -> float:
    """A bound on what rounding of η does to β."""
    points = flow.points
    highest = largest_product(points[ETA], flow.field.curves[FACTOR])
    return EPS * (largest(points[WEIGHT]) * highest + largest(points[BETA]))


@inner
def at_floor(flow: Flow) -> bool:
    """Whether the force is what rounding of η leaves of it."""
    field, points, force = flow.field, flow.points, flow.duals[FORCE]
    if largest(force) > field.speed * field.row_sum * blur(flow):
        return False
    highest = largest_product(points[ETA], field.curves[FACTOR])
    for i in range(force.size):
        bound = 0.0
        for j in range(points.shape[1]):
            blurred = points[WEIGHT, j] * highest + abs(points[BETA, j])
            bound += abs(field.X[i, j]) * EPS * blurred
        if abs(force[i]) > field.speed * bound:
            return False
    return True


@inner
def choose(flow: Flow, step: float, bound: float) -> float:
    """The coordinates that bend during a step and those that only move, in place, and what the
    others cost.

    bound: what one coordinate may cost the force. A coordinate that grows by the factor e^g changes
    by at most 1.72·g of its size for g < 1, and differs from its tangent by at most 1.36·g².
    """
    curves, points, chosen = flow.field.curves, flow.points, flow.chosen
    bends, moving, log_bound, spent = 0, 0, np.log(bound), 0.0
    for j in range(points.shape[1]):
        growth = step * points[SPEEDS, j]
        if growth < 1.0:
            first = points[WEIGHT, j] * curves[FACTOR, j] * curves[NORMS, j] * growth
            second = 1.36 * first * growth
            chosen[STRAIGHT, moving], chosen[BENT, bends] = j, j
            rests, follows = 1.72 * first < bound, second < bound
            spent += 1.72 * first if rests else (second if follows else 0.0)
            moving += follows and not rests
            bends += not follows and not rests
        elif points[LOG_SIZE, j] + curves[LOG_NORMS, j] + growth < log_bound:
            spent += bound
        else:
            chosen[BENT, bends] = j
            bends += 1
    flow.counts[BENDS], flow.counts[MOVING] = bends, moving
    return spent


@inner
def divide(flow: Flow, step: float) -> None:
    """`choose` with a share of the budget for one coordinate at which all together stay within
    it."""
    field, aims = flow.field, flow.aims
    left = min(aims.allowed / (step * field.reach), aims.tail * length(flow.duals[FORCE]))
    budget = max(UNSEEN_SHARE * left / field.speed, SMALLEST_NORMAL)
    share = min(BOLDER * flow.levels[SHARE_FOR_ONE], MOST_FOR_ONE)
    while choose(flow, step, share * budget) > budget:
        share /= BOLDER
    flow.levels[SHARE_FOR_ONE] = share


@inner
def columns_of(flow: Flow, kind: int, count: int) -> Any:
    """The columns of X of the chosen coordinates, as they were gathered."""
    n = flow.duals.shape[1]
    return flow.columns[kind][: n * count].reshape(n, count)


@inner
def gather(flow: Flow, kind: int, count: int) -> None:
    """The columns of the chosen coordinates, contiguous."""
    X, columns, chosen = flow.field.X, columns_of(flow, kind, count), flow.chosen[kind]
    for i in range(X.shape[0]):
        for k in range(count):
            columns[i, k] = X[i, chosen[k]]


@inner
def chosen_gram(flow: Flow, kind: int, count: int, which: int) -> None:
    """XWXᵀ of the chosen coordinates in place, W their mean weights."""
    columns, weight = columns_of(flow, kind, count), flow.points[MEAN_WEIGHT][:count]
    gram(columns, weight, flow.columns[SCRATCH], flow.squares[which])


@inner
def add_gram(flow: Flow, which: int) -> None:
    """What moves straight, beside what bends."""
    G, S = flow.squares[GRAM], flow.squares[which]
    for i in range(G.shape[0]):
        for k in range(G.shape[0]):
            G[i, k] += S[i, k]


@inner
def begin(flow: Flow, t: float, step: float, steps: int) -> Any:
    """Whether the flow ends here; else a step that lets nothing grow too far, and its
    coordinates."""
    field, aims, points, force = flow.field, flow.aims, flow.points, flow.duals[FORCE]
    measure(flow)
    if aims.threshold >= 0.0:
        half = half_square(force)
        if half <= aims.threshold * field.speed * field.speed:
            return STOPPED, step
        if (half <= flow.levels[LATE_FORCE] or steps % FLOOR_EVERY == 0) and at_floor(flow):
            return FLOOR, step
    if flow.stop[0] != 0:
        return TIME_LIMIT, step
    moves(field.X, force, field.curves[INVERSE], points[SPEEDS])
    fastest = largest_product(points[SPEEDS], points[ALLOWANCE])
    step = min(step, 1.0 / max(fastest, SMALLEST_NORMAL))
    divide(flow, step)
    for kind in range(2):
        count, chosen = flow.counts[BENDS + kind], flow.chosen[kind]
        for k in range(count):
            points[MEAN_WEIGHT, k] = points[WEIGHT, chosen[k]]
        gather(flow, kind, count)
        chosen_gram(flow, kind, count, kind)
    add_gram(flow, STRAIGHT_GRAM)
    bends, chosen, target = flow.counts[BENDS], flow.chosen[BENT], flow.duals[STAGE_TARGET]
    for k in range(bends):
        points[START_ETA, k] = points[ETA, chosen[k]]
        points[STAGE_BETA, k] = points[BETA, chosen[k]]
        for row in range(CURVE_ROWS):
            points[BENT_CURVES + row, k] = field.curves[row, chosen[k]]
    products(columns_of(flow, BENT, bends), points[STAGE_BETA][:bends], target)
    for i in range(target.size):
        target[i] += force[i] / field.speed
    return MARCHING, step


@inner
def force_at(flow: Flow, change: Any, out: Any) -> None:
    """The force at a change of ν within a step, in place: the coordinates that bend one by one, the
    straight ones through their XWXᵀ."""
    field, points, bends = flow.field, flow.points, flow.counts[BENDS]
    columns, curves, eta = (
        columns_of(flow, BENT, bends),
        points[BENT_CURVES:],
        points[STAGE_ETA][:bends],
    )
    beta, weight = points[STAGE_BETA][:bends], points[STAGE_WEIGHT][:bends]
    dual_point(columns, change, points[START_ETA], curves[INVERSE], eta)
    mirror(eta, curves, field.beyond, beta, weight)
    forces(columns, beta, flow.duals[STAGE_TARGET], field.speed, out)
    subtract_product(flow.squares[STRAIGHT_GRAM], change, field.speed, out)


@inner
def solve_stage(flow: Flow, stage: Any) -> None:
    solve(flow.squares[FACTORS], stage)


take_stages = inner(rosenbrock.staging(add_stages, force_at, solve_stage))


@inner
def move(flow: Flow, nu: Any, eta: int, force: int) -> None:
    """η, β, weights and the force at ν, in the rows from those on."""
    field, points, out = flow.field, flow.points, flow.duals[force]
    dual_point(field.X, nu, field.curves[ETA0], field.curves[INVERSE], points[eta])
    mirror(points[eta], field.curves, field.beyond, points[eta + 1], points[eta + 2])
    forces(field.X, points[eta + 1], field.target, field.speed, out)
    flow.counts[EVALUATIONS] += 1


@inner
def attempt(flow: Flow, step: float) -> float:
    """The error of a step, in units of the allowed one, to NEW_ETA, NEW_BETA, …"""
    field, points, duals, K = flow.field, flow.points, flow.duals, flow.K
    factorise(flow.squares[GRAM], field.speed, 1.0 / (GAMMA * step), flow.squares[FACTORS])
    copy(duals[FORCE], K[0])
    take_stages(flow, step, K, duals[STAGE_CHANGE])
    flow.counts[EVALUATIONS] += STAGES - 1
    if not all_finite(K):
        return np.inf
    moves(field.X, K[STAGES - 1], field.curves[INVERSE], points[MOVED])
    error = largest_product(points[MOVED], points[RELATIVE]) / flow.aims.allowed
    if not error <= 1.0:
        return error
    duals[CHANGE][:] = 0.0
    add_stages(B, K, STAGES, 1.0, duals[CHANGE])
    for i in range(K.shape[1]):
        duals[NEW_NU, i] = flow.states[flow.counts[KEPT], 0, i] + duals[CHANGE, i]
    move(flow, duals[NEW_NU], NEW_ETA, NEW_FORCE)
    for j in range(points.shape[1]):
        points[MOVED, j] = points[NEW_ETA, j] - points[ETA, j]
    error = max(error, tail_error(flow))
    if error <= 1.0 and largest_product(points[MOVED], points[ALLOWANCE]) <= 2.0:
        return error
    return max(error, HALVING_ERROR)


@inner
def tail_error(flow: Flow) -> float:
    """The error that a step makes in the force, as a share of what is allowed beside the force that
    is left."""
    field, wrong = flow.field, flow.duals[STAGE_FORCE]
    wrong[:] = 0.0
    subtract_product(flow.squares[GRAM], flow.K[STAGES - 1], field.speed, wrong)
    lost, left = length(wrong), flow.aims.tail * length(flow.duals[NEW_FORCE])
    if lost <= left:
        return lost / left if left > 0.0 else 0.0
    return lost / (left + field.speed * field.row_sum * blur(flow))


@inner
def look_at_defects(flow: Flow, step: float, part: float) -> None:
    """Defects of the dense output at the nodes of a part of the step, in place, and the mean of the
    weights that bend: what coordinates do that do not is known at the end of the step, and
    their share of it taken before."""
    duals, points, defects, bends = flow.duals, flow.points, flow.defects, flow.counts[BENDS]
    piece, change, force = flow.pieces[flow.counts[KEPT]], duals[CHANGE], duals[STAGE_FORCE]
    points[MEAN_WEIGHT][:] = 0.0
    for m in range(NODE_COUNT):
        share, weight = part * NODES[m], points[STAGE_WEIGHT]
        if share < 1.0:
            for i in range(change.size):
                duals[STAGE_CHANGE, i] = _between(
                    0.0, change[i], piece[0, i], piece[1, i], piece[2, i], share
                )
            force_at(flow, duals[STAGE_CHANGE], force)
        else:
            copy(duals[NEW_FORCE], force)
            for k in range(bends):
                weight[k] = points[NEW_WEIGHT, flow.chosen[BENT, k]]
        missed = share if share < 1.0 else 0.0
        for i in range(change.size):
            turn = _slope(change[i], piece[0, i], piece[1, i], piece[2, i], share, step)
            defects[m, i] = turn - force[i] - missed * duals[MISSED, i]
        for k in range(bends):
            points[MEAN_WEIGHT, k] += NODE_WEIGHTS[m] * weight[k]


@inner
def push(flow: Flow, step: float, errors: Any) -> None:
    """Errors (2, n) at the end of a step of that length: what is left of those of ν, and of the
    defects; the second with other signs, in pairs, for errors of neighbouring steps are much
    alike."""
    kept = flow.counts[KEPT]
    before, defects = flow.states[kept], flow.defects
    factorise(flow.squares[GRAM], flow.field.speed, 1.0 / (GAMMA * step), flow.squares[FACTORS])
    errors[:] = 0.0
    for copied in range(2):
        sign = -1.0 if copied == 1 and (kept + 1) // 2 % 2 == 1 else 1.0
        for k in range(POWERS - 1, -1, -1):
            for i in range(errors.shape[1]):
                driven = 0.0
                for m in range(NODE_COUNT):
                    driven += RATIONAL[k, 1 + m] * defects[m, i]
                errors[copied, i] += RATIONAL[k, 0] * before[1 + copied, i] + sign * step * driven
            solve(flow.squares[FACTORS], errors[copied])
            for i in range(errors.shape[1]):
                errors[copied, i] /= GAMMA * step


@inner
def keep(flow: Flow, t: float, after: float, step: float) -> None:
    """The step, its dense output, its error and those inside it that are asked for."""
    points, duals, counts, looks = flow.points, flow.duals, flow.counts, flow.looks
    kept, bends, moving = counts[KEPT], counts[BENDS], counts[MOVING]
    for k in range(3):
        flow.pieces[kept, k][:] = 0.0
        add_stages(H[k], flow.K, STAGES, 1.0, flow.pieces[kept, k])
    missed, beta = duals[MISSED], points[STAGE_BETA][:bends]
    for k in range(bends):
        j = flow.chosen[BENT, k]
        beta[k] = points[NEW_BETA, j] - points[BETA, j]
    products(columns_of(flow, BENT, bends), beta, missed)
    for i in range(missed.size):
        gained = duals[NEW_FORCE, i] - duals[FORCE, i]
        missed[i] = gained + flow.field.speed * missed[i]
    subtract_product(flow.squares[STRAIGHT_GRAM], duals[CHANGE], -flow.field.speed, missed)
    look_at_defects(flow, step, 1.0)
    chosen_gram(flow, BENT, bends, GRAM)
    for k in range(moving):
        j = flow.chosen[STRAIGHT, k]
        points[MEAN_WEIGHT, k] = 0.5 * (points[WEIGHT, j] + points[NEW_WEIGHT, j])
    chosen_gram(flow, STRAIGHT, moving, MEAN_GRAM)
    add_gram(flow, MEAN_GRAM)
    push(flow, step, flow.states[kept + 1][1:])
    while counts[LOOK] < looks.size and looks[counts[LOOK]] < after:
        look = counts[LOOK]
        if looks[look] > t:
            part = (looks[look] - t) / step
            look_at_defects(flow, step, part)
            push(flow, part * step, flow.insides[look])
        counts[LOOK] += 1
    for row in range(3):
        copy(points[NEW_ETA + row], points[ETA + row])
    copy(duals[NEW_FORCE], duals[FORCE])
    copy(duals[NEW_NU], flow.states[kept + 1, 0])
    flow.times[kept + 1] = after
    counts[KEPT] += 1


@inner
def set_out(flow: Flow) -> float:
    """The start of the flow, and a first step: a share of the time in which the stiffest coordinate
    relaxes."""
    flow.counts[:] = 0
    flow.states[0][:] = 0.0
    move(flow, flow.states[0, 0], ETA, FORCE)
    flow.levels[SHARE_FOR_ONE] = MOST_FOR_ONE
    flow.levels[LATE_FORCE] = NEARLY_CONVERGED * half_square(flow.duals[FORCE])
    norms, stiffness = flow.field.curves[NORMS], 0.0
    for j in range(norms.size):
        stiffness = max(stiffness, flow.points[WEIGHT, j] * norms[j] * norms[j])
    return flow.aims.allowed ** (1 / ORDER) / max(flow.field.speed * stiffness, SMALLEST_NORMAL)


on = inner(rosenbrock.marching(begin, attempt, keep))


def _entry(version: int) -> Any:
    """The entry point, which closes over the version of all sources."""

    def march(flow: Flow, controls: Controls, start: Progress) -> Progress:
        """On from `start`, of step zero where that is the beginning, until the flow ends or its
        record is full."""
        t, step, steps, rejected, _ = start
        step = step if step > 0.0 else set_out(flow) + 0 * version
        return on(flow, controls, Progress(t, step, steps, rejected, MARCHING))

    return entry(march)


march = _entry(
    stamp(__file__, kernels.__file__, rodas5p.__file__, rosenbrock.__file__, defect.__file__)
)
