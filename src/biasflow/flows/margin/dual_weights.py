"""The implicit step's weights: p = ∇S(e^L(h̄ + Δt·K̄p)), an equation in the n-dimensional dual.

For large L the margins e^L·h̄ are known to a few units only, less than a soft-min needs. The
equation is therefore read the other
way: e^{−L}·log p + h̄ + Δt·K̄p is the same for all samples, Σp = 1. That is the minimum over the
simplex of ⟨h̄, p⟩ + ½Δt·⟨p, K̄p⟩ + e^{−L}Σp·log p, a quadratic program with an entropy, well posed
at any L. A loss with its tail is the exponential to rounding once the margins are large; before,
and for every other loss, Newton's method solves the equation as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from ..._core.arguments import Array, Index
from ..._numerics.float_ranges import EXPONENTIAL_FROM
from ...losses import ExponentialLoss, MarginLoss, soft_minimum

SETTLED = 1e-12
"""Total change of the weights at which they are found."""
ROUNDING = 5e-16
"""Spread of the forces, in units of the largest entry, at which they are equal to rounding: where
samples outnumber what the tangents tell apart, weights at a low temperature are known no better."""
COLD = 0.1
"""Temperature, in units of the largest entry, from which the ladder down to e^{−L} starts."""
RUNG = 0.1
"""Ratio of neighbouring temperatures."""
ITERATIONS = 30
WARM = 12
"""Newton steps from the last weights before the ladder is taken."""
RIDGE = 1e-15
"""Least temperature, in units of the largest entry: below it nothing changes."""
EVEN = float(np.finfo(float).eps)
"""Largest entry, in units of the temperature, up to which the weights are uniform to rounding: zero
where no neuron is active."""
HOTTEST = 200.0
"""−L from which on the weights are uniform to rounding."""
TAIL = np.array([EXPONENTIAL_FROM, 55.5, 100.0, 300.0, 700.0])
"""Margins at which a loss is compared with the exponential, the least where it would be taken for
one."""
TAIL_OFF = 1e-9
"""Distance of log ℓ from that of the exponential there that rounding leaves."""
SOFT = 12.0
"""L up to which a loss that is not the exponential is solved for as it stands."""


class Kernel(NamedTuple):
    """K (n, n) as it is asked for: its diagonal, and its rows of some samples."""

    diagonal: Array
    rows: Callable[[Index], Array]


def implicit_weights(
    loss: MarginLoss, h: Array, K: Kernel, dt: float, log_norm: float, guess: Array
) -> Array:
    """p (n,) with p = ∇S(e^L(h̄ + Δt·K̄p)); dt = 0 gives ∇S itself."""
    if type(loss) is not ExponentialLoss:  # one of the user's own that inherits from it may be any
        early = log_norm < SOFT or float(np.min(h)) * np.exp(min(log_norm, 700)) < EXPONENTIAL_FROM
        if early or not _exponential_tail(loss):
            whole = K.rows(np.arange(h.size))
            return _soft(loss, h, whole, dt, np.exp(log_norm), guess)
    return _entropic(h, K, dt, np.exp(min(-log_norm, HOTTEST)), guess)


def _exponential_tail(loss: MarginLoss) -> bool:
    """Whether ℓ(u) and ℓ'(u) are e^u for u → −∞ (C, (A2)), as the loss itself says."""
    logs = (np.asarray(log(TAIL)) for log in (loss.log_loss, loss.log_slope))
    return all(float(np.max(np.abs(log + TAIL))) <= TAIL_OFF for log in logs)


def smooth_margin(loss: MarginLoss, u: Array) -> tuple[float, Array, Array]:
    """S(u), ∇S = ℓ'/Σℓ and κ = ℓ''/Σℓ = (ℓ''/ℓ')∇S, with which ∇²S = ppᵀ − diag κ."""
    value, weights, _ = soft_minimum(loss, u)
    curvature = np.exp(loss.log_curvature(u) - loss.log_slope(u))
    return value, weights, weights * curvature


def _soft(loss: MarginLoss, h: Array, K: Array, dt: float, beta: float, p: Array) -> Array:
    """Newton on p − ∇S(u), u = β(h̄ + Δt·K̄p), with the merit S(u) − ½Δt·β⟨p, K̄p⟩, which is
    stationary at the solution."""
    force = K @ p
    value, target, curvature = smooth_margin(loss, beta * (h + dt * force))
    merit = value - 0.5 * dt * beta * float(p @ force)
    for _ in range(ITERATIONS):
        residual = target - p
        jacobian = np.eye(h.size) + dt * beta * (
            curvature[:, None] * K - np.outer(target, target @ K)
        )
        step, share = np.linalg.solve(jacobian, residual), 1.0
        if float(np.sum(np.abs(step))) <= SETTLED:
            return target
        while share > 1e-8:
            trial = p + share * step
            force = K @ trial
            value, target, curvature = smooth_margin(loss, beta * (h + dt * force))
            now = value - 0.5 * dt * beta * float(trial @ force)
            if now >= merit - 1e-13 * abs(merit):
                break
            share /= 2
        p, merit = trial, now
    return target


def _entropic(h: Array, K: Kernel, dt: float, temperature: float, guess: Array) -> Array:
    """Newton on log p, from the guess; where that does not settle, down a ladder of
    temperatures."""
    from .newton_kernels import LEAST

    h = h - np.min(h)
    unit = max(
        float(np.max(h)),
        dt * float(np.max(K.diagonal)),  # no entry is larger
        EVEN * temperature,
        np.finfo(float).tiny,
    )
    h, temperature = h / unit, max(temperature / unit, RIDGE)

    def rows(seen: Index) -> Array:
        found = K.rows(seen)
        found *= dt / unit
        return found

    p, settled = _newton(h, rows, temperature, np.maximum(guess, LEAST), WARM)
    if settled:
        return p
    rungs = (
        max(int(np.ceil(np.log(COLD / temperature) / -np.log(RUNG))), 0)
        if temperature < COLD
        else 0
    )
    p = np.full(h.size, 1 / h.size)
    for level in np.append(COLD * RUNG ** np.arange(rungs), temperature):
        p, settled = _newton(h, rows, float(level), p, ITERATIONS)
    return p


def _newton(
    h: Array,
    rows: Callable[[Index], Array],
    temperature: float,
    p: Array,
    iterations: int,
) -> tuple[Array, bool]:
    """ε·log p + h + Kp = ν: the direction is the same for p and log p."""
    from .newton_kernels import UNSEEN, move, set_system

    p, heat = p / p.sum(), np.array([temperature, temperature + RIDGE])
    force, rate = np.empty((2, h.size))
    same, last = False, 0.0
    for _ in range(iterations):
        if not same:
            seen = np.flatnonzero(p > UNSEEN)
            K = rows(seen)
            system, right = np.empty((seen.size, seen.size)), np.empty((2, seen.size))
        set_system(K, seen, p, h, heat, force, system, right)
        # in the order that LAPACK wants: its upper half is our lower one
        _, solved, info = dposv(system.T, right.T, 0, 1, 0)
        if info != 0:
            return p, False
        change, spread, most, same = move(K, seen, p, heat, force, right[0], solved.T, rate)
        still = (
            change <= SETTLED
            # nor would the next one be more, were it only as much shorter as this one was
            or change * change <= SETTLED * last
            or spread <= ROUNDING
        )
        last = change
        if still and most < 1:
            return p, True
    return p, False
