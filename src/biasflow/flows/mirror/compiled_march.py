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
from ..._numerics import rodas5p as rodas
from ..._numerics.compilation import entry, inner, stamp
from ..._numerics.rodas5p import GAMMA, STAGES, A, B, C, H
from . import defect as transport, hypentropy_kernels as kernels
from .defect import defect_shares
from .hypentropy_kernels import (
    all_finite,
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
    solve,
    subtract_product,
)

STOPPED, FLOOR, REACHED, STEPS, TOO_SMALL, LATE = 0, 1, 2, 3, 4, 5
"""Why a march ended: loss at its threshold, force at rounding, final time, too many steps, step too
small, time over."""
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 8.0
GROWTH = 2.0
SHARE = 0.05
"""Share of the tolerance that all coordinates which rest or move straight may cost together."""
BOLDER = 2.0
"""Factor by which the share of one of them in that is tried out."""
RARELY, FALLEN = 16, 1e-8
"""Whether the force is at its floor is looked at now and then, and always once the loss has fallen
so far."""
SMALLEST_STEP = 1e-14
MOST_FAILURES = 100
TINY = SMALLEST_NORMAL
EPS = float(np.finfo(float).eps)
FIRST = 1024
COUNT = 6
"""Nodes at which the defect of a step is looked at. Over a step it all but cancels, for the step is
of fifth order and its inside
of fourth: what is left is seen by a quadrature of far higher order only."""


def _radau() -> tuple[Any, Any]:
    """Radau's nodes in [0, 1], the end among them, and their weights."""
    legendre = np.polynomial.legendre.Legendre
    nodes = (np.sort((legendre.basis(COUNT) - legendre.basis(COUNT - 1)).roots().real) + 1) / 2
    nodes[-1] = 1.0
    return nodes, np.linalg.solve(np.vander(nodes, increasing=True).T, 1 / np.arange(1, COUNT + 1))


NODES, MEANS = _radau()
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
    """A dual flow: η = η₀ + Xᵀν/c, β(η) by scale, shift and sign (see kernels), and how β is
    measured."""

    X: Any
    target: Any
    speed: float
    eta0: Any
    factor: Any
    inverse: Any
    curves: Any
    scale: Any
    shift: Any
    sign: Any
    log_scale: Any
    floor: Any
    norms: Any
    log_norms: Any
    reach: float
    row_sum: float
    log_significant: float
    beyond: float


@inner
def measures(
    field: Field, beta: Any, weight: Any, eta: Any, relative: Any, allowance: Any, size: Any
) -> None:
    """|d log β/dη|, the inverse of the growth of log|β| allowed in a step, and log|β|, in place."""
    for j in range(beta.size):
        below = abs(beta[j]) + min(field.floor[j], weight[j]) * field.factor[j]
        relative[j] = weight[j] * field.factor[j] / below if below > 0.0 else 1.0
        size[j] = field.log_scale[j] + (
            abs(eta[j]) if field.sign[j] == 0.0 else field.sign[j] * eta[j]
        )
        allowance[j] = relative[j] / max(GROWTH, field.log_significant - size[j])


@inner
def blurred(field: Field, beta: Any, weight: Any, eta: Any) -> float:
    """A bound on what rounding of η does to β."""
    return EPS * (largest(weight) * largest_product(eta, field.factor) + largest(beta))


@inner
def at_floor(field: Field, force: Any, beta: Any, weight: Any, eta: Any) -> bool:
    """Whether the force is what rounding of η leaves of it."""
    if largest(force) > field.speed * field.row_sum * blurred(field, beta, weight, eta):
        return False
    highest = largest_product(eta, field.factor)
    for i in range(force.size):
        bound = 0.0
        for j in range(beta.size):
            bound += abs(field.X[i, j]) * EPS * (weight[j] * highest + abs(beta[j]))
        if abs(force[i]) > field.speed * bound:
            return False
    return True


@inner
def choose(
    field: Field,
    weight: Any,
    size: Any,
    speeds: Any,
    step: float,
    bound: float,
    bent: Any,
    straight: Any,
) -> Any:
    """The coordinates that bend during a step and those that only move, in place, how many, and
    what the others cost.

    bound: what one coordinate may cost the force. A coordinate that grows by the factor e^g changes
    by at most 1.72·g of its size for g < 1, and differs from its tangent by at most 1.36·g².
    """
    bends, moving, log_bound, spent = 0, 0, np.log(bound), 0.0
    for j in range(size.size):
        growth = step * speeds[j]
        if growth < 1.0:
            first = weight[j] * field.factor[j] * field.norms[j] * growth
            second = 1.36 * first * growth
            straight[moving], bent[bends] = j, j
            rests, follows = 1.72 * first < bound, second < bound
            spent += 1.72 * first if rests else (second if follows else 0.0)
            moving += follows and not rests
            bends += not follows and not rests
        elif size[j] + field.log_norms[j] + growth < log_bound:
            spent += bound
        else:
            bent[bends] = j
            bends += 1
    return bends, moving, spent


@inner
def divide(
    field: Field,
    weight: Any,
    size: Any,
    speeds: Any,
    step: float,
    budget: float,
    share: float,
    bent: Any,
    straight: Any,
) -> Any:
    """`choose` with a share of the budget for one coordinate at which all together stay within it,
    and that share."""
    bends, moving, spent = choose(field, weight, size, speeds, step, share * budget, bent, straight)
    while spent > budget:
        share /= BOLDER
        bends, moving, spent = choose(
            field, weight, size, speeds, step, share * budget, bent, straight
        )
    return bends, moving, share


@inner
def gather(X: Any, chosen: Any, room: Any) -> Any:
    """The chosen columns of X, contiguous."""
    columns = room[: X.shape[0] * chosen.size].reshape(X.shape[0], chosen.size)
    for i in range(X.shape[0]):
        for k in range(chosen.size):
            columns[i, k] = X[i, chosen[k]]
    return columns


@inner
def stages(
    columns: Any,
    parts: Any,
    here: Any,
    target: Any,
    force: Any,
    field: Field,
    S: Any,
    step: float,
    U: Any,
    K: Any,
) -> None:
    """The stages k_i of one step, in place: the coordinates that bend one by one, the straight ones
    through their S = XWXᵀ."""
    n, d = columns.shape
    delta, eta, beta, weight = np.empty(n), np.empty(d), np.empty(d), np.empty(d)
    K[0] = force
    solve(U, K[0])
    for s in range(1, STAGES):
        stage = K[s]
        delta[:] = 0.0
        for j in range(s):
            for i in range(n):
                delta[i] += A[s, j] * K[j, i]
        dual_point(columns, delta, here, parts[0], eta)
        mirror(eta, parts[1], parts[2], parts[3], parts[0], field.beyond, beta, weight)
        forces(columns, beta, target, field.speed, stage)
        subtract_product(S, delta, field.speed, stage)
        for j in range(s):
            factor = C[s, j] / step
            for i in range(n):
                stage[i] += factor * K[j, i]
        solve(U, stage)


@inner
def combined(weights: Any, K: Any) -> Any:
    """Σ weights_s k_s."""
    total = np.zeros(K.shape[1])
    for s in range(STAGES):
        for i in range(total.size):
            total[i] += weights[s] * K[s, i]
    return total


@inner
def longer(rows: Any) -> Any:
    """The same rows with room for as many again."""
    out = np.empty((2 * rows.shape[0], rows.shape[1]))
    out[: rows.shape[0]] = rows
    return out


@inner
def tail_error(
    field: Field, G: Any, last: Any, force: Any, beta: Any, weight: Any, eta: Any, tail: float
) -> float:
    """The error that a step makes in the force, as a share of what is allowed beside the force that
    is left."""
    wrong = np.zeros(last.size)
    subtract_product(G, last, field.speed, wrong)
    lost, left = length(wrong), tail * length(force)
    if lost <= left:
        return lost / left if left > 0.0 else 0.0
    return lost / (left + field.speed * field.row_sum * blurred(field, beta, weight, eta))


@inner
def missed_force(
    columns: Any, grown: Any, S: Any, change: Any, speed: float, force: Any, new_force: Any
) -> Any:
    """What the coordinates that the stages left out, or took for straight, did to the force by the
    end of the step."""
    missed = np.empty(change.size)
    forces(columns, grown, np.zeros(change.size), speed, missed)
    subtract_product(S, change, speed, missed)
    return new_force - force - missed


@inner
def pushed(error: Any, defects: Any, sign: float, U: Any, step: float) -> Any:
    """e at the end of a step: what is left of the error, and of the defects with a sign."""
    n = error.size
    total = np.zeros(n)
    for k in range(POWERS - 1, -1, -1):
        for i in range(n):
            driven = 0.0
            for m in range(NODES.size):
                driven += RATIONAL[k, 1 + m] * defects[m, i]
            total[i] += RATIONAL[k, 0] * error[i] + sign * step * driven
        solve(U, total)
        total /= GAMMA * step
    return total


@inner
def defect_at(
    columns: Any,
    parts: Any,
    here: Any,
    target: Any,
    field: Field,
    S: Any,
    missed: Any,
    change: Any,
    piece: Any,
    theta: float,
    step: float,
    weight: Any,
    out: Any,
) -> None:
    """The defect of the dense output at a share θ of the step, in place: the coordinates that bend
    one by one, the straight ones through S, and the others by their share of what they missed; and
    the weights of the first."""
    n, d = columns.shape
    nu, eta, beta, force = np.empty(n), np.empty(d), np.empty(d), np.empty(n)
    between(np.zeros(n), change, piece, theta, nu)
    dual_point(columns, nu, here, parts[0], eta)
    mirror(eta, parts[1], parts[2], parts[3], parts[0], field.beyond, beta, weight)
    forces(columns, beta, target, field.speed, force)
    subtract_product(S, nu, field.speed, force)
    slope(np.zeros(n), change, piece, theta, step, out)
    for i in range(n):
        out[i] -= force[i] + theta * missed[i]


@inner
def between(start: Any, end: Any, piece: Any, theta: float, out: Any) -> None:
    """The dense output of a step at a share θ of it, in place."""
    n = out.size
    for i in range(n):
        bent = piece[i] + theta * (piece[n + i] + theta * piece[2 * n + i])
        out[i] = (1.0 - theta) * start[i] + theta * (end[i] + (1.0 - theta) * bent)


@inner
def slope(start: Any, end: Any, piece: Any, theta: float, step: float, out: Any) -> None:
    """The time derivative of the dense output at a share θ of the step, in place."""
    n = out.size
    for i in range(n):
        bent = piece[i] + theta * (piece[n + i] + theta * piece[2 * n + i])
        bending = piece[n + i] + 2.0 * theta * piece[2 * n + i]
        out[i] = (
            end[i] - start[i] + (1.0 - 2.0 * theta) * bent + theta * (1.0 - theta) * bending
        ) / step


@inner
def first_step(field: Field, weight: Any, allowed: float) -> float:
    """A share of the time in which the stiffest coordinate relaxes."""
    stiffness = field.speed * largest_product(weight, field.norms * field.norms)
    return allowed**0.2 / max(stiffness, TINY)


@inner
def next_step(step: float, error: float, fastest: float) -> float:
    return step * min(fastest, max(SLOWEST, SAFETY * max(error, TINY) ** -0.2))


def _entry(version: int) -> Any:
    """The entry point, which closes over the version of all sources."""

    def march(
        field: Field,
        end: float,
        threshold: float,
        allowed: float,
        tail: float,
        most: int,
        looks: Any,
        stop: Any,
    ) -> Any:
        """Integrate until `end`, where it is finite, else until ½‖target − Xβ‖² ≤ threshold.

        allowed: error of a step, as a relative error of β; tail: the same, as a share of the force
        that is left. looks: times, increasing, at which the flow will be looked at. stop: its entry
        turns to one when the time is over.
        """
        X, speed = field.X, field.speed
        n, d = X.shape
        times, nus, errors, pieces = (
            np.zeros((FIRST, 1)),
            np.zeros((FIRST, n)),
            np.zeros((FIRST, n)),
            np.zeros((FIRST, 3 * n)),
        )
        copies, insides, look = np.zeros((FIRST, n)), np.zeros((looks.size, 2, n)), 0
        defects, V, sign, at_node = np.empty((NODES.size, n)), np.zeros((n, n)), 1.0, np.empty(d)
        eta, beta, weight, force = field.eta0.copy(), np.empty(d), np.empty(d), np.empty(n)
        new_eta, new_beta, new_weight, new_force = (
            np.empty(d),
            np.empty(d),
            np.empty(d),
            np.empty(n),
        )
        relative, allowance, size, speeds, moved = (
            np.empty(d),
            np.empty(d),
            np.empty(d),
            np.empty(d),
            np.empty(d),
        )
        G, S, U, K = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.empty((STAGES, n))
        room, spare, rest = np.empty(n * d), np.empty(n * d), np.empty(n * d)
        bent, straight = np.empty(d, np.int64), np.empty(d, np.int64)
        mirror(eta, field.scale, field.shift, field.sign, field.inverse, field.beyond, beta, weight)
        forces(X, beta, field.target, speed, force)
        step, share, fallen = first_step(field, weight, allowed), 0.2, FALLEN * half_square(force)
        t, count, evaluations, rejected, failures, status = 0.0, 0, 1, version - version, 0, -1
        active, columns, parts, here, target = (
            bent[:0],
            gather(X, bent[:0], room),
            field.curves[:, :0],
            eta[:0],
            force,
        )
        while status < 0:
            if failures == 0:
                measures(field, beta, weight, eta, relative, allowance, size)
                if t >= end:
                    status = REACHED
                elif end == np.inf and half_square(force) <= threshold * speed * speed:
                    status = STOPPED
                elif (
                    end == np.inf
                    and (half_square(force) <= fallen or count % RARELY == 0)
                    and at_floor(field, force, beta, weight, eta)
                ):
                    status = FLOOR
                elif count >= most:
                    status = STEPS
                elif stop[0] != 0:
                    status = LATE
                if status >= 0:
                    break
                moves(X, force, field.inverse, speeds)
                step = min(step, 1.0 / max(largest_product(speeds, allowance), TINY), end - t)
                budget = max(
                    SHARE * min(allowed / (step * field.reach), tail * length(force)) / speed, TINY
                )
                share = min(BOLDER * share, 0.2)
                bends, moving, share = divide(
                    field, weight, size, speeds, step, budget, share, bent, straight
                )
                moving_columns = gather(X, straight[:moving], rest)
                gram(moving_columns, weight[straight[:moving]], spare, S)
                active = bent[:bends]
                columns, parts, here = gather(X, active, room), field.curves[:, active], eta[active]
                gram(columns, weight[active], spare, G)
                G += S
                target = force / speed + np.dot(columns, beta[active])
            if step < SMALLEST_STEP * t or failures > MOST_FAILURES:
                status = TOO_SMALL
                break
            factorise(G, speed, 1.0 / (GAMMA * step), U)
            stages(columns, parts, here, target, force, field, S, step, U, K)
            evaluations += STAGES - 1
            error = np.inf
            if all_finite(K):
                moves(X, K[STAGES - 1], field.inverse, moved)
                error = largest_product(moved, relative) / allowed
            if not error <= 1.0:
                failures, rejected, step = failures + 1, rejected + 1, next_step(step, error, 1.0)
                continue
            change = combined(B, K)
            nu = nus[count] + change
            dual_point(X, nu, field.eta0, field.inverse, new_eta)
            mirror(
                new_eta,
                field.scale,
                field.shift,
                field.sign,
                field.inverse,
                field.beyond,
                new_beta,
                new_weight,
            )
            forces(X, new_beta, field.target, speed, new_force)
            evaluations += 1
            moved = new_eta - eta
            error = max(
                error, tail_error(field, G, K[STAGES - 1], new_force, beta, weight, eta, tail)
            )
            if not (error <= 1.0 and largest_product(moved, allowance) <= 2.0):
                failures, rejected, step = (
                    failures + 1,
                    rejected + 1,
                    min(0.5 * step, next_step(step, error, 1.0)),
                )
                continue
            if count + 1 == times.shape[0]:
                times, nus, errors, pieces = (
                    longer(times),
                    longer(nus),
                    longer(errors),
                    longer(pieces),
                )
                copies = longer(copies)
            for k in range(3):
                pieces[count, k * n : (k + 1) * n] = combined(H[k], K)
            missed = missed_force(
                columns, new_beta[active] - beta[active], S, change, speed, force, new_force
            )
            mean = MEANS[-1] * new_weight[active]
            for m in range(NODES.size - 1):
                defect_at(
                    columns,
                    parts,
                    here,
                    target,
                    field,
                    S,
                    missed,
                    change,
                    pieces[count],
                    NODES[m],
                    step,
                    at_node,
                    defects[m],
                )
                mean += MEANS[m] * at_node[:bends]
            slope(nus[count], nu, pieces[count], 1.0, step, defects[-1])
            defects[-1] -= new_force
            gram(columns, mean, spare, G)
            if moving > 0:
                gram(
                    moving_columns,
                    0.5 * (weight[straight[:moving]] + new_weight[straight[:moving]]),
                    spare,
                    V,
                )
                G += V
            factorise(G, speed, 1.0 / (GAMMA * step), U)
            # in pairs: errors of neighbouring steps are much alike
            sign = -sign if count % 2 else sign
            errors[count + 1] = pushed(errors[count], defects, 1.0, U, step)
            copies[count + 1] = pushed(copies[count], defects, sign, U, step)
            while look < looks.size and looks[look] <= t:
                look += 1
            while look < looks.size and looks[look] < t + step:
                part = (looks[look] - t) / step
                factorise(G, speed, 1.0 / (GAMMA * part * step), U)
                for m in range(NODES.size):
                    theta = part * NODES[m]
                    defect_at(
                        columns,
                        parts,
                        here,
                        target,
                        field,
                        S,
                        missed,
                        change,
                        pieces[count],
                        theta,
                        step,
                        at_node,
                        defects[m],
                    )
                insides[look, 0] = pushed(errors[count], defects, 1.0, U, part * step)
                insides[look, 1] = pushed(copies[count], defects, sign, U, part * step)
                look += 1
            t = end if step == end - t else t + step
            count += 1
            times[count, 0], nus[count] = t, nu
            eta, new_eta, beta, new_beta = new_eta, eta, new_beta, beta
            weight, new_weight, force, new_force = new_weight, weight, new_force, force
            step = next_step(step, error, 1.0 if failures > 0 else FASTEST)
            failures = 0
        last = count + 1
        both = np.stack((errors[:last], copies[:last]), axis=1)
        return (
            times[:last, 0].copy(),
            nus[:last],
            both,
            pieces[:count],
            insides,
            status,
            evaluations,
            rejected,
        )

    return entry(march)


march = _entry(stamp(__file__, kernels.__file__, rodas.__file__, transport.__file__))
