"""C's ascents on fixed features, written down from §§4–5 as they stand: r ← r + ηm∇F(r) on r
itself, in extended precision.

This is what the library's normalised recursions are compared with: no ā, no log β and no step rule
of theirs enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array

MOST_STEPS = 10_000
"""Steps followed at most; some tenths of a second."""
MOST_WORK = 20_000_000
"""Samples × features × steps up to which a run takes about a second."""
RESOLVED_LOG_NORM = 25.0
"""log β up to which the soft-min of margins of the size β is known to six digits in extended
precision, eps·e^25 ≈ 1e-8."""
EXTENDED = np.longdouble


@dataclass(frozen=True, eq=False)
class PlainAscent:
    """margin: min_i z_i·ā(t); log_beta; growth: log β(t+1)/β(t); iterates ā(t), where they are
    kept; t from zero."""

    margin: Array
    log_beta: Array
    growth: Array
    iterates: Array

    @property
    def best(self) -> Array:
        return np.maximum.accumulate(self.margin)

    @property
    def length(self) -> int:
        return int(self.margin.size)


def c_steps(Z: Array, output: bool) -> Callable[[Any, Any], Any]:
    """η(t) of Proposition 6, 1/(16‖z‖_∞√(t+1)), or 7, β(t)√2/(‖z‖_∞√(t+1))."""
    largest = np.max(np.abs(Z))
    if output:
        return lambda t, beta: beta * np.sqrt(EXTENDED(2)) / (largest * np.sqrt(EXTENDED(t + 1)))
    return lambda t, beta: 1 / (16 * largest * np.sqrt(EXTENDED(t + 1)))


def plain_ascent(
    Z: Array, output: bool, most: int = MOST_STEPS, kind: Any = EXTENDED, keep: bool = False
) -> PlainAscent:
    """§4 from r(0) = 1, a = r²/m, β = ‖a‖₁; §5 from 0, a = r/m, β(t) = max{1, max_{s≤t} √m‖a(s)‖₂};
    until β is too large."""
    Z = np.asarray(Z, kind)
    n, m = Z.shape
    size, beta, rows, kept = c_steps(Z, output), kind(1), [], []
    r = np.zeros(m, kind) if output else np.ones(m, kind)
    for t in range(max(min(most, MOST_WORK // (n * m)), 2)):
        a = r / m if output else r * r / m
        before, beta = beta, max(beta, np.sqrt(m * (a @ a))) if output else np.sum(a)
        u = Z @ a
        least = np.min(u)
        rows.append((least / beta, np.log(beta), np.log1p((beta - before) / before)))
        if keep:
            kept.append(a / beta)
        if rows[-1][1] > RESOLVED_LOG_NORM:
            break
        p = np.exp(least - u)
        gradient = Z.T @ (p / np.sum(p))  # m∇F, but for the 2r_j of §4
        r = r + size(t, beta) * (gradient if output else 2 * r * gradient)
    margin, log_beta, growth = np.array(rows, kind).T
    return PlainAscent(
        margin.astype(float),
        log_beta.astype(float),
        growth[1:].astype(float),
        np.array(kept, float),
    )


def agreed(run: PlainAscent, rough: PlainAscent, to: float) -> int:
    """How many steps the same ascent takes in float64 until rounding has moved the margin by `to`,
    relative."""
    k = min(run.length, rough.length)
    size = np.maximum(np.max(np.abs(run.margin)), np.finfo(float).tiny)
    off = np.flatnonzero(np.abs(run.margin[:k] - rough.margin[:k]) > to * size)
    return int(off[0]) if off.size else k
