"""A proven upper bound on f(u) = Σ_k λ_k(⟨u, u_k⟩)_+ over unit vectors u, where the cells are too
many to list; with it lower bounds on least norms and upper bounds on γ₁, in any dimension.

With t = ⟨u, u_k⟩ in [−1, 1], a quadratic lies above every term:
    λ_k > 0:  (t)_+ ≤ (t + s_k)²/(4s_k),                      any s_k > 0;
    λ_k < 0:  (t)_+ ≥ τ_k t + min(τ_k, 1 − τ_k) t²,          any τ_k in [0, 1].
The sum is ⟨b, u⟩ + ⟨u, Qu⟩ + c, whose maximum over the ball is an eigenvalue problem, at most ‖b‖ +
λ_max(Q) + c. Each (s, τ) proves a bound; the best one is the solution of a convex problem in (1/s,
τ), searched for here, first with softened eigenvalues at τ = ½, so the number returned is a proof
wherever the search stops."""

from __future__ import annotations

import contextlib
import math
import time
from typing import Any

import numpy as np
from scipy.optimize import Bounds, brentq, minimize

from ..._core.arguments import Array, Mask

EPS = float(np.finfo(float).eps)
LEAST_INVERSE, LARGEST_INVERSE = 1.0, 1e4
"""Range searched for 1/s_k: above |t| ≤ 1 a larger s_k never helps."""
BLOCK, MOST_PRODUCTS = 1000, 10_000
"""Samples whose products with all others are held at once, and those above which no products are
looked at."""


class _TimeUp(Exception):
    """The deadline has passed."""


def lowest(function: Any, start: Array, box: Bounds, iterations: int, deadline: float) -> Array:
    """The point of least value that a descent meets before the deadline; the start is looked at in
    any case."""
    best, least = start, np.inf

    def watched(x: Array) -> tuple[float, Array]:
        nonlocal best, least
        value, slope = function(x)
        if value < least:
            best, least = x.copy(), value
        if time.monotonic() > deadline:
            raise _TimeUp
        return value, slope

    with contextlib.suppress(_TimeUp):
        minimize(
            watched, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": iterations}
        )
    return np.clip(best, box.lb, box.ub)


def relaxed_maximum(
    samples: Array,
    lam: Array,
    deadline: float = math.inf,
    known: Array | None = None,
    iterations: int = 60,
) -> float:
    """An upper bound on max(0, max_u f(u)). known: (1/s, τ) that promise a good one."""
    positive, weights, n = lam > 0, np.abs(lam), lam.size
    if not np.any(positive):
        return 0.0

    def bound(parameters: Array) -> tuple[float, Array]:
        value, _, slopes = _bound(samples, weights, positive, parameters[:n], parameters[n:])
        return value, slopes

    def proven(parameters: Array) -> float:  # with what rounding may have lost
        steepest = 1 + float(np.max(parameters[:n][positive]))
        lost = 8 * (n + samples.shape[1] + 4) * EPS * float(np.sum(weights)) * steepest
        return bound(parameters)[0] + lost

    lower, upper = np.repeat([LEAST_INVERSE, 0.0], n), np.repeat([LARGEST_INVERSE, 1.0], n)
    best = np.inf if known is None else proven(np.clip(known, lower, upper))
    for tau in (0.5, 0.25, 0.0):  # the bound has kinks in τ: a few starts
        if time.monotonic() > deadline and best < np.inf:
            break
        start = np.repeat([np.sqrt(samples.shape[1]), tau], n)
        best = min(best, proven(lowest(bound, start, Bounds(lower, upper), iterations, deadline)))
    return max(0.0, min(best, _without_negative(samples[positive], lam[positive])))


def bounded_gain(rows: Array, q: Array) -> float:
    """An upper bound on max_u |Σ_iq_i(⟨u, c_i⟩)₊|."""
    lengths = np.linalg.norm(rows, axis=1)
    units, lam = rows / lengths[:, None], q * lengths
    return max(relaxed_maximum(units, sign * lam) for sign in (1.0, -1.0))


def _bound(
    samples: Array, weights: Array, positive: Mask, inverse: Array, tau: Array
) -> tuple[float, Array, Array]:
    """The bound for f = Σ_k ±weights_k(⟨u, u_k⟩)_+, + where positive, with 1/s and τ; its slopes in
    the weights, and in (1/s, τ)."""
    curved = np.minimum(tau, 1 - tau)
    linear, quadratic = np.where(positive, 0.5, -tau), np.where(positive, inverse / 4, -curved)
    constant = np.where(positive, 1 / (4 * inverse), 0.0)
    value, u = largest_on_sphere(
        (samples.T * (weights * quadratic)) @ samples, (weights * linear) @ samples
    )
    t = samples @ u  # Danskin: slopes are those at the maximiser
    by_weight = linear * t + quadratic * t**2 + constant
    by_inverse = np.where(positive, weights * (t**2 - 1 / inverse**2) / 4, 0.0)
    by_tau = np.where(positive, 0.0, -weights * (t + np.where(tau < 0.5, 1.0, -1.0) * t**2))
    return value + float(weights @ constant), by_weight, np.concatenate([by_inverse, by_tau])


def _without_negative(u: Array, weights: Array) -> float:
    """Σ_k λ_k(⟨u, u_k⟩)_+ ≤ max_{t∈[0,1]^n} ‖Σ_k t_kλ_ku_k‖, and ‖·‖² is at most the sum of the
    positive entries of the Gram matrix; with what rounding may have lost."""
    (n, r), vectors, most = u.shape, weights[:, None] * u, float(np.sum(weights))
    if n > MOST_PRODUCTS:
        return most * (1 + 8 * (n + r + 4) * EPS)
    blocks = (vectors[k : k + BLOCK] @ vectors.T for k in range(0, n, BLOCK))
    total = sum(float(np.sum(np.maximum(block, 0.0))) for block in blocks)
    return math.sqrt(total + 8 * (n + r + 4) * EPS * most**2) * (1 + EPS)


def largest_on_sphere(Q: Array, b: Array) -> tuple[float, Array]:
    """max ⟨u, Qu⟩ + ⟨b, u⟩ over ‖u‖ = 1, bounded from above by its Lagrangian dual μ + ¼⟨b, (μ −
    Q)⁻¹b⟩, and a maximiser."""
    values, vectors = np.linalg.eigh(Q)
    beta = vectors.T @ b
    top = float(values[-1])
    scale = max(float(np.max(np.abs(values))), float(np.linalg.norm(b)), np.finfo(float).tiny)

    def excess(mu: float) -> float:  # ‖u(μ)‖² − 1
        return float(np.sum((beta / (2 * (mu - values))) ** 2)) - 1

    low, high = top + 1e-12 * scale, top + float(np.linalg.norm(b)) / 2 + scale * 1e-9
    mu = (
        float(brentq(excess, low, high, xtol=1e-14 * scale))
        if excess(low) > 0 > excess(high)
        else low
    )
    u = beta / (2 * (mu - values))
    size = float(np.linalg.norm(u))
    if size < 1:  # the hard case: the rest lies along the top eigenvector
        u[-1] += np.sqrt(max(0.0, 1 - size**2)) if u[-1] >= 0 else -np.sqrt(max(0.0, 1 - size**2))
    return mu + float(np.sum(beta**2 / (4 * (mu - values)))), vectors @ (u / np.linalg.norm(u))
