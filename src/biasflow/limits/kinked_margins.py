"""KKT points of the margin problem for two-layer ReLU networks, kinks included (Lyu and Li 2019).

At a KKT point of min ½‖θ‖² subject to q_i = y_iΣ_ja_j(⟨w_j, x_i⟩)₊ ≥ 1

    a_j = Σ_i λ_iy_i(⟨w_j, x_i⟩)₊,   w_j = a_jΣ_i λ_iy_iσ_jix_i,   λ ≥ 0,   λ_i(q_i − 1) = 0,

with σ_ji = 1 where ⟨w_j, x_i⟩ > 0, zero where it is negative, and any number in [0, 1] on the kink
between (Clarke). Max-margin networks have neurons on kinks: one slope for all of them would call
these solutions no KKT points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

from .._core.arguments import Array, Mask, row_lengths
from .homogeneous import Homogeneity, MarginKkt, margin_multipliers

KINK = 1e-9
"""|⟨w_j, x_i⟩| over ‖w_j‖‖x_i‖ up to which a neuron counts as on the kink of a sample."""
ALTERNATIONS = 30
"""Rounds of multipliers and slopes by turns."""
PROGRESS = 1e-6
"""Relative fall of the residual below which rounds end."""
TOGETHER = 4_000_000
"""Entries of the least-squares problem in multipliers and slopes together, up to which it is
solved."""
EQUAL = 1e3
"""Weight there of λ_i = λ_iσ_ji + λ_i(1 − σ_ji)."""
TWO = Homogeneity(2.0, 0.0, 0.0, 0.0)
"""Of Σ_ja_j(⟨w_j, x⟩)₊, by definition."""


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A network scaled to margin one, and its samples. hidden (m, n), on (m, n): kinks."""

    a: Array
    W: Array
    rows: Array
    y: Array
    q: Array
    hidden: Array
    on: Mask

    @property
    def size(self) -> float:
        return float(np.sqrt(np.sum(self.a**2) + np.sum(self.W**2)))

    def multipliers(self, slopes: Array) -> Array:
        seen = self.a[:, None] * slopes
        K = self.hidden.T @ self.hidden + (self.rows @ self.rows.T) * (seen.T @ seen)
        return margin_multipliers(K, self.y, self.q, self.size, 2.0)

    def left(self, lam: Array, slopes: Array) -> tuple[Array, Array]:
        """θ − Σ_i λ_i∇q_i, of a and of W."""
        signed = lam * self.y
        return (
            self.a - self.hidden @ signed,
            self.W - self.a[:, None] * ((slopes * signed) @ self.rows),
        )

    def residuals(self, lam: Array, slopes: Array) -> tuple[float, float]:
        """Stationarity and complementarity, relative."""
        parts = self.left(lam, slopes)
        distance = float(np.sqrt(sum(float(np.sum(part**2)) for part in parts)))
        slack = float(np.max(lam * (self.q - 1)))
        return distance / self.size, slack * 2 / self.size**2


def kinked_margin_kkt(a: Array, W: Array, rows: Array, y: Array, kink: float = KINK) -> MarginKkt:
    """How near a two-layer network of positive margin is to a KKT point, with the multipliers and
    the best slopes on kinks that were found: the residual is theirs, so it proves what it says;
    others may have a smaller one.

    a (m,), W (m, p), rows (n, p): inputs, with the bias coordinate where there is one.
    """
    unit = float(np.max(np.abs(rows)))
    rows = rows / unit
    values = W @ rows.T
    on = np.abs(values) <= kink * np.outer(row_lengths(W), row_lengths(rows))
    hidden = np.where(on, 0.0, np.maximum(values, 0.0))
    q = y * (a @ hidden)
    least = float(np.min(q))
    shrink = least**-0.5
    at = _Scaled(shrink * a, shrink * W, rows, y, q / least, shrink * hidden, on)
    slopes = np.where(values > 0, 1.0, 0.0)
    moving = on & (a != 0)[:, None] & np.any(W != 0, axis=1)[:, None]
    slopes[on] = 0.5
    if np.any(moving):
        slopes = _together(at, slopes, moving)
    lam, slopes = _by_turns(at, slopes, moving)
    stationarity, complementarity = at.residuals(lam, slopes)
    size = at.size / np.sqrt(unit)
    # λ is in units of ‖θ‖²: inputs that are smaller ask for larger weights
    return MarginKkt(unit / at.size**2, lam / unit, stationarity, complementarity, size, TWO)


def _by_turns(at: _Scaled, slopes: Array, moving: Mask) -> tuple[Array, Array]:
    """λ for given slopes, and the slopes of each neuron for given λ."""
    lam = at.multipliers(slopes)
    best = sum(at.residuals(lam, slopes))
    for _ in range(ALTERNATIONS if np.any(moving) else 0):
        trial = slopes.copy()
        for j in np.flatnonzero(np.any(moving, axis=1)):
            on = np.flatnonzero(moving[j] & (lam > 0))
            if on.size:
                signed = lam * at.y
                fixed = (np.where(moving[j], 0.0, slopes[j]) * signed) @ at.rows
                columns = (at.a[j] * signed[on, None] * at.rows[on]).T
                right = at.W[j] - at.a[j] * fixed
                found = lsq_linear(columns, right, bounds=(0, 1), method="bvls", tol=1e-14)
                trial[j, on] = np.clip(found.x, 0.0, 1.0)
        other = at.multipliers(trial)
        reached = sum(at.residuals(other, trial))
        if not reached < best * (1 - PROGRESS):
            break
        lam, slopes, best = other, trial, reached
    return lam, slopes


def _together(at: _Scaled, slopes: Array, moving: Mask) -> Array:
    """Slopes from least squares in λ and λσ at once, which is convex: with λ(1 − σ) a third
    variable all are at least zero."""
    neurons, samples = np.nonzero(moving)
    (n, p), m, count = at.rows.shape, at.a.size, neurons.size
    high = m + m * p + n + count
    if high * (n + 2 * count) > TOGETHER:
        return slopes
    fixed = np.where(moving, 0.0, slopes)
    inner = (at.a[:, None] * fixed)[:, None, :] * at.rows.T[None] * at.y
    columns = np.zeros((high, n + 2 * count))
    columns[:m, :n] = at.hidden * at.y / at.size
    columns[m : m + m * p, :n] = inner.reshape(m * p, n) / at.size
    columns[m + m * p : m + m * p + n, :n] = np.diag((at.q - 1) * 2 / at.size**2)
    for i, (j, k) in enumerate(zip(neurons, samples, strict=True)):
        begin = m + j * p
        columns[begin : begin + p, n + i] = at.a[j] * at.y[k] * at.rows[k] / at.size
        columns[m + m * p + n + i, [k, n + i, n + count + i]] = EQUAL * np.array([1.0, -1.0, -1.0])
    target = np.concatenate([at.a, at.W.ravel(), np.zeros(n + count)]) / at.size
    found = lsq_linear(columns, target, bounds=(0, np.inf), method="bvls", tol=1e-14)
    lam, product = found.x[:n][samples], found.x[n : n + count]
    filled = slopes.copy()
    filled[neurons, samples] = np.clip(
        np.divide(product, lam, out=np.full(count, 0.5), where=lam > 0), 0.0, 1.0
    )
    return filled
