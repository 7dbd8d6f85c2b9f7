"""The bracket of least norms of two-layer networks in exact arithmetic, from what float64 found.

From below: λ with |Σλ_k(⟨u, x_k⟩)₊| ≤ 1 for all unit u proves ‖θ‖² ≥ 2⟨y, λ⟩; a constraint that is
off by some share costs that share. From above: what a network leaves of the labels, r, is made up
for by neurons of some directions, Fc = r for the
matrix F of their values: that costs at most 2‖c‖₁ ≤ 2√m‖r‖/σ_min(F), m of them.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import Array, length
from ...models import TwoLayerParams
from .patterns import circle_rays
from .rays import Samples, exact_ratio

EPS = float(np.finfo(float).eps)
MORE = 4
"""Random directions for each sample, beside the inputs' own, that make up for a residual: any will
do, and many cost less."""


def network_bracket(
    samples: Samples, X: Array, y: Array, params: TwoLayerParams, lam: Array, dual: float
) -> tuple[float, float]:
    """(primal, dual) around min ‖θ‖² subject to interpolation, for X and y as they are given."""
    (n, r), d = samples.directions.shape, X.shape[1]
    doubt = (4 * (n + r) + 2 * d + 20) * EPS * float(np.sum(np.abs(lam)))
    gained = dual - (n + d + 6) * EPS * float(np.abs(samples.targets) @ np.abs(lam))
    below = 2 * samples.size * max(gained, 0.0) / (1 + doubt) * (1 - 8 * EPS)
    return max(_above(samples, X, y, params), below), below


def _above(samples: Samples, X: Array, y: Array, params: TwoLayerParams) -> float:
    """Infinite where samples were left out that do not follow from others without rounding, or no
    directions make up for r."""
    if not _rest_follows(samples, X, y):
        return np.inf
    (n, r), d = samples.directions.shape, X.shape[1]
    a, W = params
    rows, lengths = X[samples.first], samples.lengths
    k = (d + len(a) + 8) * EPS
    left = np.abs(np.maximum(rows @ W.T, 0.0) @ a - y[samples.first])
    left = (
        left + k * (np.abs(rows) @ np.abs(W).T @ np.abs(a) + np.abs(y[samples.first]))
    ) / lengths
    drawn = np.random.default_rng(0).standard_normal((MORE * n, r))
    # in the plane a kink at every input is needed
    kinks = circle_rays(samples.directions) if r == 2 else np.zeros((0, r))
    units = np.vstack(
        [
            samples.directions,
            -samples.directions,
            kinks,
            drawn / np.linalg.norm(drawn, axis=1)[:, None],
        ]
    )
    F = np.maximum(samples.directions @ units.T, 0.0)
    singular = sl.svdvals(F)
    least = (
        float(singular[-1])
        - (n + len(units)) * EPS * float(singular[0])
        - (2 * d + 8) * EPS * float(np.sqrt(F.size))
    )
    if not least > 0:
        return np.inf
    cost = 2 * np.sqrt(len(units)) * length(left) / least
    return float((np.sum(a**2) + np.sum(W**2) + cost) * (1 + (d + len(a) + len(units)) * EPS))


def _rest_follows(samples: Samples, X: Array, y: Array) -> bool:
    """Whether every sample left out is a multiple of one kept, label included, or zero, in
    rationals."""
    kept = set(samples.first.tolist())
    whole = np.column_stack([X, y])
    for k in set(range(len(X))) - kept:
        ratios = (exact_ratio(whole[j], whole[k]) for j in kept)
        if np.any(whole[k]) and not any(ratio is not None and ratio > 0 for ratio in ratios):
            return False
    return True
