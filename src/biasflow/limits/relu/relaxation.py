"""A proven upper bound on f(u) = Σ_k λ_k(⟨u, u_k⟩)_+ over unit vectors u, where the cells are too many to list.

With t = ⟨u, u_k⟩ in [−1, 1], a quadratic lies above every term:
    λ_k > 0:  (t)_+ ≤ (t + s_k)²/(4s_k),                      any s_k > 0;
    λ_k < 0:  (t)_+ ≥ τ_k t + min(τ_k, 1 − τ_k) t²,          any τ_k in [0, 1].
The sum is ⟨b, u⟩ + ⟨u, Qu⟩ + c, whose maximum over the ball is an eigenvalue problem. Each (s, τ) proves a bound; the best
one is the solution of a convex problem in (1/s, τ), searched for here, so the number returned is a proof wherever the search
stops."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, minimize

from ...inputs import Array

LEAST_INVERSE, LARGEST_INVERSE = 1.0, 1e4
"""Range searched for 1/s_k: above |t| ≤ 1 a larger s_k never helps."""


def relaxed_maximum(samples: Array, lam: Array, iterations: int = 60) -> float:
    """An upper bound on max(0, max_u f(u))."""
    positive, negative = lam > 0, lam < 0
    if not np.any(positive):
        return 0.0
    n_positive, n_negative = int(np.sum(positive)), int(np.sum(negative))
    weights_p, weights_n = lam[positive], -lam[negative]
    u_p, u_n = samples[positive], samples[negative]

    def bound(parameters: Array) -> tuple[float, Array]:
        inverse, tau = parameters[:n_positive], parameters[n_positive:]
        curved = np.minimum(tau, 1 - tau)
        Q = (u_p.T * (weights_p * inverse / 4)) @ u_p - (u_n.T * (weights_n * curved)) @ u_n
        b = weights_p @ u_p / 2 - (weights_n * tau) @ u_n
        constant = float(np.sum(weights_p / (4 * inverse)))
        value, u = _largest_on_sphere(Q, b)
        t_p, t_n = u_p @ u, u_n @ u
        slope_p = weights_p * (t_p**2 - 1 / inverse**2) / 4  # Danskin: the derivative at the maximiser
        slope_n = -weights_n * (t_n + np.where(tau < 0.5, 1.0, -1.0) * t_n**2)
        return value + constant, np.concatenate([slope_p, slope_n])

    start = np.concatenate([np.full(n_positive, np.sqrt(samples.shape[1])), np.full(n_negative, 0.5)])
    start[:n_positive] = np.clip(start[:n_positive], LEAST_INVERSE, LARGEST_INVERSE)
    limits = [(LEAST_INVERSE, LARGEST_INVERSE)] * n_positive + [(0.0, 1.0)] * n_negative
    best = bound(start)[0]
    for tau in (0.5, 0.25, 0.0):  # the bound has kinks in τ: a few starts
        start[n_positive:] = tau
        found = minimize(bound, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": iterations})
        best = min(best, float(bound(np.clip(found.x, [low for low, _ in limits], [high for _, high in limits]))[0]))
    return max(0.0, min(best, _without_negative(u_p, weights_p)))


def _without_negative(u: Array, weights: Array) -> float:
    """Σ_k λ_k(⟨u, u_k⟩)_+ ≤ max_{t∈[0,1]^n} ‖Σ_k t_kλ_ku_k‖, and ‖·‖² is at most the sum of the positive entries of the Gram
    matrix."""
    vectors = weights[:, None] * u
    return float(np.sqrt(np.sum(np.maximum(vectors @ vectors.T, 0.0))))


def _largest_on_sphere(Q: Array, b: Array) -> tuple[float, Array]:
    """max ⟨u, Qu⟩ + ⟨b, u⟩ over ‖u‖ = 1, bounded from above by its Lagrangian dual μ + ¼⟨b, (μ − Q)⁻¹b⟩, and a maximiser."""
    values, vectors = np.linalg.eigh(Q)
    beta = vectors.T @ b
    top = float(values[-1])
    scale = max(float(np.max(np.abs(values))), float(np.linalg.norm(b)), np.finfo(float).tiny)

    def excess(mu: float) -> float:  # ‖u(μ)‖² − 1
        return float(np.sum((beta / (2 * (mu - values))) ** 2)) - 1

    low, high = top + 1e-12 * scale, top + float(np.linalg.norm(b)) / 2 + scale * 1e-9
    mu = float(brentq(excess, low, high, xtol=1e-14 * scale)) if excess(low) > 0 > excess(high) else low
    u = beta / (2 * (mu - values))
    size = float(np.linalg.norm(u))
    if size < 1:  # the hard case: the rest lies along the top eigenvector
        u[-1] += np.sqrt(max(0.0, 1 - size**2)) if u[-1] >= 0 else -np.sqrt(max(0.0, 1 - size**2))
    return mu + float(np.sum(beta**2 / (4 * (mu - values)))), vectors @ (u / np.linalg.norm(u))
