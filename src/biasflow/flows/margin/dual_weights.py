"""The implicit step's weights: p = ∇S(e^L(h̄ + Δt·K̄p)), an equation in the n-dimensional dual.

For large L the margins e^L·h̄ are known to a few units only, less than a soft-min needs. The
equation is therefore read the other
way: e^{−L}·log p + h̄ + Δt·K̄p is the same for all samples, Σp = 1. That is the minimum over the
simplex of ⟨h̄, p⟩ + ½Δt·⟨p, K̄p⟩ + e^{−L}Σp·log p, a quadratic program with an entropy, well posed
at any L. A loss with its tail is the exponential to rounding once the margins are large; before,
and for every other loss, Newton's method solves the equation as it stands.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ..._core.arguments import Array
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
LEAST = 1e-40
"""Least weight kept while a temperature is worked on, so that every sample can come back."""
RETURNING = 1e-4
"""Weight up to which one rises as an exponential too: alone it hardly moves the others, and a
linear rise from LEAST would take 22 steps."""
UNSEEN = 1e-32
"""Weight up to which a sample does not move the others: times the largest rate, 1/RIDGE, it is
below the rounding of the forces."""
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


def implicit_weights(
    loss: MarginLoss, h: Array, K: Array, dt: float, log_norm: float, guess: Array
) -> Array:
    """p (n,) with p = ∇S(e^L(h̄ + Δt·K̄p)); dt = 0 gives ∇S itself."""
    if type(loss) is not ExponentialLoss:  # one of the user's own that inherits from it may be any
        early = log_norm < SOFT or float(np.min(h)) * np.exp(min(log_norm, 700)) < EXPONENTIAL_FROM
        if early or not _exponential_tail(loss):
            return _soft(loss, h, K, dt, np.exp(log_norm), guess)
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


def _entropic(h: Array, K: Array, dt: float, temperature: float, guess: Array) -> Array:
    """Newton on log p, from the guess; where that does not settle, down a ladder of
    temperatures."""
    h = h - np.min(h)
    unit = max(
        float(np.max(h)), dt * float(np.max(np.abs(K))), EVEN * temperature, np.finfo(float).tiny
    )
    h, K, temperature = h / unit, dt * K / unit, max(temperature / unit, RIDGE)
    p, settled = _newton(h, K, temperature, np.maximum(guess, LEAST), WARM)
    if settled:
        return p
    rungs = (
        max(int(np.ceil(np.log(COLD / temperature) / -np.log(RUNG))), 0)
        if temperature < COLD
        else 0
    )
    p = np.full(h.size, 1 / h.size)
    for level in np.append(COLD * RUNG ** np.arange(rungs), temperature):
        p, settled = _newton(h, K, float(level), p, ITERATIONS)
    return p


def _newton(
    h: Array, K: Array, temperature: float, p: Array, iterations: int
) -> tuple[Array, bool]:
    """ε·log p + h + Kp = ν: the direction is the same for p and log p; weights fall as exponentials
    and rise linearly, unless they are slight. Unseen samples follow the others."""
    p, ridge, seen, last = p / p.sum(), temperature + RIDGE, None, 0.0
    for _ in range(iterations):
        visible = p > UNSEEN
        if seen is None or (visible != seen).any():
            seen, every = visible, visible.all()
            rows = K if every else K[seen]
            block = rows if every else rows[:, seen]
            right, system = np.empty((2, len(block))), np.empty_like(block)
        q = p if every else p[seen]
        root = np.sqrt(q)
        np.multiply(block, root, out=system)
        system *= root[:, None]
        system.flat[:: root.size + 1] += ridge
        force = temperature * np.log(p) + h + q @ rows
        right[0] = root
        np.multiply(root, force if every else force[seen], out=right[1])
        # in the order that LAPACK wants; the system is its own transpose
        _, solved, info = dposv(system.T, right.T, 0, 1, 1)
        if info != 0:
            return p, False
        ones, forces = solved.T
        level = (1 - p.sum() + root @ forces) / (root @ ones)
        rate = (level * ones - forces) / root
        if not every:
            all_rates = (level - force - (q * rate) @ rows) / ridge
            all_rates[seen] = rate
            rate = all_rates
        rising = np.maximum(rate, 0.0)
        grown = np.exp(np.minimum(rising, 100.0))
        back = np.minimum(p * grown, RETURNING)
        fallen = np.exp(np.maximum(rate - rising, -50.0))
        p = np.maximum(p * fallen * (1 + np.minimum(rising, 50.0)), np.where(rate > 0, back, 0.0))
        p = np.maximum(p / p.sum(), LEAST)
        change = float(p @ np.minimum(np.abs(rate), 1.0))
        still = (
            change <= SETTLED
            # nor would the next one be more, were it only as much shorter as this one was
            or change * change <= SETTLED * last
            or float(p @ np.abs(force - level)) <= ROUNDING
        )
        last = change
        if still and float(rate.max()) < 1:
            return p, True
    return p, False
