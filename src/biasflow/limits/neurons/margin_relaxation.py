"""A proven upper bound on γ₁ in any dimension: for weights p, max_u ½|Σ_ip_iy_i(⟨u, x̃_i⟩)₊| is
bounded, and p is chosen for it.

(t)₊ = ½(t + |t|) splits the sum into ½⟨u, b⟩, b = Σq_ix̃_i with q = py, and ½Σq_i|t_i|. With unit
rows x̂_i, weights κ_i = p_i‖x̃_i‖ and τ_i = |⟨u, x̂_i⟩| in [0, 1]: τ ≤ (τ²/s_i + s_i)/2 for any s_i
> 0 where the term counts positively, τ ≥ τ² where negatively. Each gives ⟨u, Qu⟩ + c with c =
½Σκ_is_i over one class, so for either sign
    max_u ≤ ¼(‖b‖ + λ_max(Q) + c),
a proof for any (p, s), and convex in (p, p/s, ps). L-BFGS searches; what is returned is evaluated
afresh.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, minimize

from ..._core.arguments import Array

SOFT = (20.0, 100.0)
"""Sharpness of the soft maxima (over eigenvalues and signs) in the search, relative to the bound;
cold after warm."""
LEAST = 1e-3
"""Least s searched."""
ITERATIONS = 150


def proven_bound(rows: Array, y: Array, p: Array) -> tuple[float, Array]:
    """The least bound on γ₁ found near weights p, and its weights. rows x̃ (n, r), y = ±1."""
    lengths = np.linalg.norm(rows, axis=1)
    units = rows / lengths[:, None]
    n, best, best_p = y.size, np.inf, p
    scale = max(float(np.max(p)), 1e-300)
    start = np.concatenate([np.maximum(p / scale, 1e-3), np.full(n, 1 / np.sqrt(rows.shape[1]))])
    box = Bounds(np.repeat([0.0, LEAST], n), np.repeat([np.inf, 1.0], n))
    for sharpness in SOFT:
        found = minimize(
            _soft,
            start,
            (units, lengths, y, sharpness),
            "L-BFGS-B",
            True,
            bounds=box,
            options={"maxiter": ITERATIONS},
        )
        start = np.clip(found.x, box.lb, box.ub)
        trial, s = start[:n] / max(float(np.sum(start[:n])), 1e-300), start[n:]
        for weights in (p, trial):
            value = _bound(weights, s, units, lengths, y)
            if value < best:
                best, best_p = value, weights
    return best, best_p


def bounded_gain(rows: Array, signed: Array) -> float:
    """An upper bound on max_u ½|Σ_i signed_i(⟨u, x̃_i⟩)₊|."""
    lengths = np.linalg.norm(rows, axis=1)
    units, p, y = rows / lengths[:, None], np.abs(signed), np.where(signed < 0, -1.0, 1.0)

    def soft(s: Array) -> tuple[float, Array]:
        value, slope = _soft(np.concatenate([p, s]), units, lengths, y, SOFT[-1])
        return value, slope[y.size :]

    start = np.full(y.size, 1 / np.sqrt(rows.shape[1]))
    found = minimize(
        soft,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(LEAST, 1.0),
        options={"maxiter": ITERATIONS},
    )
    return min(_bound(p, s, units, lengths, y) for s in (start, np.clip(found.x, LEAST, 1.0)))


def _parts(
    p: Array, s: Array, units: Array, lengths: Array, y: Array
) -> tuple[Array, list[Array], list[float]]:
    """b, and for either sign the matrix Q and the constant c."""
    kappa = p * lengths
    b = (kappa * y) @ units
    matrices, constants = [], []
    for sign in (1.0, -1.0):
        counts = sign * y > 0
        weights = np.where(counts, kappa / (2 * s), -kappa)
        matrices.append((units.T * weights) @ units)
        constants.append(float(np.sum((kappa * s)[counts])) / 2)
    return b, matrices, constants


def _bound(p: Array, s: Array, units: Array, lengths: Array, y: Array) -> float:
    b, matrices, constants = _parts(p, s, units, lengths, y)
    sides = [float(np.linalg.eigvalsh(Q)[-1]) + c for Q, c in zip(matrices, constants, strict=True)]
    return (float(np.linalg.norm(b)) + max(0.0, *sides)) / 4


def _soft(
    parameters: Array, units: Array, lengths: Array, y: Array, sharpness: float
) -> tuple[float, Array]:
    """log of the softened bound over Σp, and its gradient in (p, s)."""
    n = y.size
    p, s = parameters[:n], parameters[n:]
    total = float(np.sum(p))
    if total <= 0:
        return np.inf, np.zeros(2 * n)
    b, matrices, constants = _parts(p, s, units, lengths, y)
    eigen = [np.linalg.eigh(Q) for Q in matrices]
    tops = np.array([values + c for (values, _), c in zip(eigen, constants, strict=True)])
    top = max(float(np.max(tops)), 1e-300)
    cold = sharpness / top
    shares = np.exp(cold * (tops - top))
    weight = float(np.sum(shares))
    soft, length = top + np.log(weight) / cold, float(np.linalg.norm(b))
    value = length + soft
    by_p = y * lengths * (units @ b) / max(length, 1e-300)
    by_s = np.zeros(n)
    for k, sign in enumerate((1.0, -1.0)):
        share = shares[k] / weight
        energy = (units @ eigen[k][1]) ** 2 @ share  # ∂(soft λ_max)/∂(weight of row i)
        counts = sign * y > 0
        by_p += lengths * np.where(counts, energy / (2 * s) + np.sum(share) * s / 2, -energy)
        by_s += np.where(counts, p * lengths * (-energy / (2 * s**2) + np.sum(share) / 2), 0.0)
    return float(np.log(value / total)), np.concatenate([by_p / value - 1 / total, by_s / value])
