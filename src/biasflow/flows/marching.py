"""The compiled march of a dual flow: Rodas5P on ν̇ = speed·(target − Xβ(ν)), with everything that happens at a step.

Accuracy. An error of ν counts as the largest relative error of β that it makes (absolute in η where β is small). In the tail, where the
force dies out, the error must also be small beside what is left of it: the loss falls at the right rate down to its threshold.
Plateaus. No β may grow by more than e² in a step once it is significant, nor beyond significance in one step before.
Frozen coordinates. A β so small that even what it may become during the step cannot move any η by a share of the tolerance stays
as it is in all stages of that step: most coordinates of a wide problem, most of the time. All are brought up to date at its end.
Error. The dual flow descends a convex function, so errors of ν never grow: e ← (1 + γhH)⁻⁴e + (error of the step) bounds what the
flow e^{−hH} leaves of earlier errors in every eigendirection, for (1 + γx)⁻⁴ ≥ e^{−x}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..inputs import SMALLEST_NORMAL
from . import compiling, kernels, rodas
from .compiling import entry, inner, stamp
from .kernels import all_finite, dual_point, factorise, forces, gram, half_square, largest_product, mirror, moves, solve
from .rodas import GAMMA, STAGES, A, B, C, H

STOPPED, FLOOR, REACHED, STEPS, TOO_SMALL = 0, 1, 2, 3, 4
"""Why a march ended: loss at its threshold, force at rounding, final time, too many steps, step too small."""
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 8.0
GROWTH = 2.0
FROZEN = 0.02
"""Share of the tolerance that all frozen coordinates together may cost."""
SMALLEST_STEP = 1e-14
MOST_FAILURES = 100
TINY = SMALLEST_NORMAL
EPS = float(np.finfo(float).eps)
FIRST = 1024


class Field(NamedTuple):
    """A dual flow: η = η₀ + Xᵀν/c, β(η) by scale, shift and sign (see kernels), and how β is measured."""

    X: Any
    target: Any
    speed: float
    eta0: Any
    factor: Any
    inverse: Any
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
def measures(field: Field, beta: Any, weight: Any, eta: Any, relative: Any, size: Any) -> None:
    """|d log β/dη| and log|β|, in place."""
    for j in range(beta.size):
        plain = weight[j] * field.factor[j]
        below = abs(beta[j]) + min(field.floor[j], weight[j]) * field.factor[j]
        relative[j] = plain / below if below > 0.0 else 1.0
        size[j] = field.log_scale[j] + (abs(eta[j]) if field.sign[j] == 0.0 else field.sign[j] * eta[j])


@inner
def pace(field: Field, speeds: Any, relative: Any, size: Any) -> float:
    """The inverse of the time in which some β uses up the growth allowed to it."""
    fastest = 0.0
    for j in range(speeds.size):
        fastest = max(fastest, speeds[j] * relative[j] / max(GROWTH, field.log_significant - size[j]))
    return fastest


@inner
def at_floor(field: Field, force: Any, beta: Any, weight: Any, eta: Any, blur: Any) -> bool:
    """Whether the force is what rounding of η leaves of it."""
    highest = largest_product(np.abs(eta), field.factor)
    for j in range(beta.size):
        blur[j] = EPS * (weight[j] * highest + abs(beta[j]))
    if np.max(np.abs(force)) > field.speed * field.row_sum * np.max(blur):
        return False
    for i in range(force.size):
        bound = 0.0
        for j in range(beta.size):
            bound += abs(field.X[i, j]) * blur[j]
        if abs(force[i]) > field.speed * bound:
            return False
    return True


@inner
def choose(field: Field, size: Any, speeds: Any, step: float, allowed: float, active: Any) -> int:
    """The coordinates that matter during a step, in place; how many."""
    limit = np.log(FROZEN * allowed / (size.size * step * field.speed * field.reach))
    count = 0
    for j in range(size.size):
        active[count] = j
        count += size[j] + field.log_norms[j] + step * speeds[j] > limit
    return count


@inner
def gather(field: Field, active: Any, columns: Any, parts: Any) -> None:
    """The chosen columns of X and what belongs to them, contiguous."""
    for i in range(columns.shape[0]):
        for k in range(active.size):
            columns[i, k] = field.X[i, active[k]]
    for k in range(active.size):
        j = active[k]
        parts[0, k], parts[1, k], parts[2, k], parts[3, k] = field.inverse[j], field.scale[j], field.shift[j], field.sign[j]


@inner
def stages(columns: Any, parts: Any, here: Any, target: Any, force: Any, field: Field, step: float, L: Any, K: Any) -> None:
    """The stages k_i of one step, in place, from the chosen coordinates only."""
    n, d = columns.shape
    delta, eta, beta, weight = np.empty(n), np.empty(d), np.empty(d), np.empty(d)
    K[0] = force
    solve(L, K[0])
    for s in range(1, STAGES):
        stage = K[s]
        delta[:] = 0.0
        for j in range(s):
            for i in range(n):
                delta[i] += A[s, j] * K[j, i]
        dual_point(columns, delta, here, parts[0, :d], eta)
        mirror(eta, parts[1, :d], parts[2, :d], parts[3, :d], parts[0, :d], field.beyond, beta, weight)
        forces(columns, beta, target, field.speed, stage)
        for j in range(s):
            factor = C[s, j] / step
            for i in range(n):
                stage[i] += factor * K[j, i]
        solve(L, stage)


@inner
def combined(weights: Any, K: Any) -> Any:
    """Σ weights_s k_s."""
    total = np.zeros(K.shape[1])
    for s in range(STAGES):
        for i in range(total.size):
            total[i] += weights[s] * K[s, i]
    return total


@inner
def symmetric_product(G: Any, x: Any) -> Any:
    """Gx from the lower half of G."""
    n = x.size
    out = np.zeros(n)
    for i in range(n):
        total = G[i, i] * x[i]
        for k in range(i):
            total += G[i, k] * x[k]
            out[k] += G[i, k] * x[i]
        out[i] += total
    return out


@inner
def longer(rows: Any) -> Any:
    """The same rows with room for as many again."""
    out = np.empty((2 * rows.shape[0], rows.shape[1]))
    out[: rows.shape[0]] = rows
    return out


@inner
def tail_error(field: Field, G: Any, K: Any, force: Any, beta: Any, weight: Any, eta: Any, tail: float) -> float:
    """The error that a step makes in the force, as a share of what is allowed beside the force that is left."""
    lost = field.speed * np.sqrt(2.0 * half_square(symmetric_product(G, K[STAGES - 1])))
    left = tail * np.sqrt(2.0 * half_square(force))
    if lost <= left:
        return lost / left if left > 0.0 else 0.0
    highest = largest_product(np.abs(eta), field.factor)
    return lost / (left + field.speed * field.row_sum * EPS * (highest * np.max(weight) + np.max(np.abs(beta))))


@inner
def propagate(error: Any, L: Any, K: Any, step: float) -> Any:
    """e ← (1 + γhH)⁻⁴e + the error of this step."""
    carried = error.copy()
    for _ in range(4):
        solve(L, carried)
        carried /= GAMMA * step
    return carried + K[STAGES - 1]


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

    def march(field: Field, end: float, threshold: float, allowed: float, tail: float, most: int) -> Any:
        """Integrate until `end`, where it is finite, else until ½‖target − Xβ‖² ≤ threshold.

        allowed: error of a step, as a relative error of β; tail: the same, as a share of the force that is left.
        """
        X, speed = field.X, field.speed
        n, d = X.shape
        times, nus, errors, pieces = np.zeros((FIRST, 1)), np.zeros((FIRST, n)), np.zeros((FIRST, n)), np.zeros((FIRST, 3 * n))
        eta, beta, weight, force = field.eta0.copy(), np.empty(d), np.empty(d), np.empty(n)
        new_eta, new_beta, new_weight, new_force = np.empty(d), np.empty(d), np.empty(d), np.empty(n)
        relative, size, speeds, moved = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
        G, L, K = np.zeros((n, n)), np.zeros((n, n)), np.empty((STAGES, n))
        room, spare, parts, picked = np.empty(n * d), np.empty(n * d), np.empty((4, d)), np.empty(d, np.int64)
        mirror(eta, field.scale, field.shift, field.sign, field.inverse, field.beyond, beta, weight)
        forces(X, beta, field.target, speed, force)
        step = first_step(field, weight, allowed)
        t, count, evaluations, rejected, failures, status = 0.0, 0, 1, version - version, 0, -1
        active, columns, here, reduced = picked[:0], room[:0].reshape(n, 0), eta[:0], force
        while status < 0:
            if failures == 0:
                measures(field, beta, weight, eta, relative, size)
                if t >= end:
                    status = REACHED
                elif end == np.inf and half_square(force) <= threshold * speed * speed:
                    status = STOPPED
                elif end == np.inf and at_floor(field, force, beta, weight, eta, moved):
                    status = FLOOR
                elif count >= most:
                    status = STEPS
                if status >= 0:
                    break
                moves(X, force, field.inverse, speeds)
                step = min(step, 1.0 / max(pace(field, speeds, relative, size), TINY), end - t)
                active = picked[: choose(field, size, speeds, step, allowed, picked)]
                columns = room[: n * active.size].reshape(n, active.size)
                gather(field, active, columns, parts)
                here = eta[active]
                reduced = force.copy()
                forces(columns, beta[active], np.zeros(n), -1.0, reduced)
                reduced += force / speed
                gram(columns, weight[active], spare[: n * active.size].reshape(n, active.size), G)
            if step < SMALLEST_STEP * t or failures > MOST_FAILURES:
                status = TOO_SMALL
                break
            factorise(G, speed, 1.0 / (GAMMA * step), L)
            stages(columns, parts, here, reduced, force, field, step, L, K)
            evaluations += STAGES - 1
            error = np.inf
            if all_finite(K[STAGES - 1]):
                moves(X, K[STAGES - 1], field.inverse, moved)
                error = largest_product(moved, relative) / allowed
            if not error <= 1.0:
                failures, rejected, step = failures + 1, rejected + 1, next_step(step, error, 1.0)
                continue
            change = combined(B, K)
            nu = nus[count] + change
            dual_point(X, nu, field.eta0, field.inverse, new_eta)
            mirror(new_eta, field.scale, field.shift, field.sign, field.inverse, field.beyond, new_beta, new_weight)
            forces(X, new_beta, field.target, speed, new_force)
            evaluations += 1
            moves(X, change, field.inverse, moved)
            error = max(error, tail_error(field, G, K, new_force, beta, weight, eta, tail))
            if not (error <= 1.0 and pace(field, moved, relative, size) <= 2.0):
                failures, rejected, step = failures + 1, rejected + 1, min(0.5 * step, next_step(step, error, 1.0))
                continue
            if count + 1 == times.shape[0]:
                times, nus, errors, pieces = longer(times), longer(nus), longer(errors), longer(pieces)
            for k in range(3):
                pieces[count, k * n : (k + 1) * n] = combined(H[k], K)
            errors[count + 1] = propagate(errors[count], L, K, step)
            t = end if step == end - t else t + step
            count += 1
            times[count, 0], nus[count] = t, nu
            eta, new_eta, beta, new_beta = new_eta, eta, new_beta, beta
            weight, new_weight, force, new_force = new_weight, weight, new_force, force
            step = next_step(step, error, 1.0 if failures > 0 else FASTEST)
            failures = 0
        last = count + 1
        return times[:last, 0].copy(), nus[:last], errors[:last], pieces[:count], status, evaluations, rejected

    return entry(march)


march = _entry(stamp(__file__, *(module.__file__ for module in (compiling, kernels, rodas))))
