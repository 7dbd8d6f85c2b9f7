"""Steps of gradient ascent on the smooth margin, compiled, for one run: weights at β = 1 with log β
beside them.

Samples whose weight in the soft-min is below rounding are left out of the gradient. The soft-min
and all sums over neurons are in float64; products are in the type of the weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._numerics.compilation import entry, inner, stamp
from .._numerics.soft_minimum import SOURCES, bounded_exp, weigh

STAMP = stamp(__file__, *SOURCES)
NOTHING = 1e-24
"""Share of a sample in the gradient below which it is left out."""


@inner
def predict(a: Any, W: Any, X: Any, y: Array, squared: bool, pre: Any, u: Array) -> None:
    """Pre-activations (n, m) into `pre`, y_i·h(x_i) into u."""
    np.dot(X, W.T, pre)
    for i in range(y.size):
        row, total = pre[i], 0.0
        if squared:
            for j in range(a.size):
                active = max(row[j], 0.0)
                total += a[j] * active * active
        else:
            for j in range(a.size):
                total += a[j] * max(row[j], 0.0)
        u[i] = y[i] * total


@inner
def pull(X: Any, y: Array, p: Array, squared: bool, pre: Any, rows: Any, G: Any) -> None:
    """G_j = Σ_i p_iy_iσ'(⟨w_j, x_i⟩)x_i; overwrites `pre` and `rows` from their beginning."""
    used = 0
    for i in range(p.size):
        if p[i] <= NOTHING:
            continue
        q, source, target = p[i] * y[i], pre[i], pre[used]
        for j in range(source.size):
            slope = 2.0 * source[j] if squared else 1.0
            target[j] = q * slope if source[j] > 0.0 else 0.0
        rows[used] = X[i]
        used += 1
    np.dot(pre[:used].T, rows[:used], G)


@inner
def move(a: Any, W: Any, G: Any, rate: float, squared: bool) -> float:
    """One step, back to β = 1; returns by how much β grew."""
    growth = 0.0
    for j in range(a.size):
        along, factor, square = 0.0, rate * a[j], 0.0
        for c in range(W.shape[1]):
            along += W[j, c] * G[j, c]
            W[j, c] += factor * G[j, c]
            square += W[j, c] * W[j, c]
        if not squared:
            a[j] += rate * along
            square += a[j] * a[j]
        growth += square
    shrink = 1 / math.sqrt(growth)
    for j in range(a.size):
        if not squared:
            a[j] *= shrink
        for c in range(W.shape[1]):
            W[j, c] *= shrink
    return growth


def _network(stamp: int) -> Any:
    def network(
        a: Any,
        W: Any,
        X: Any,
        y: Array,
        squared: bool,
        logistic: bool,
        log_beta: float,
        best: float,
        first: int,
        last: int,
        size: float,
        power: float,
        offset: float,
        with_norm: bool,
    ) -> tuple[float, float]:
        """Steps first … last − 1 on both layers, in place; returns log β and the best margin met,
        that before each step."""
        n, m = y.size, a.size + 0 * stamp
        pre, rows, G = (
            np.empty((n, m), W.dtype),
            np.empty(X.shape, X.dtype),
            np.empty(W.shape, W.dtype),
        )
        u, p = np.empty(n), np.empty(n)
        for t in range(first, last):
            predict(a, W, X, y, squared, pre, u)
            best = max(best, weigh(u, log_beta, logistic, p))
            pull(X, y, p, squared, pre, rows, G)
            rate = size * (t + offset) ** -power
            if with_norm:
                rate *= bounded_exp(log_beta)
            log_beta += math.log(move(a, W, G, rate, squared))
        return log_beta, best

    return network


def _features(stamp: int) -> Any:
    def features(
        x: Array,
        Z: Any,
        output: bool,
        width: int,
        logistic: bool,
        log_beta: float,
        best: float,
        first: int,
        last: int,
        size: float,
        power: float,
        offset: float,
        with_norm: bool,
    ) -> tuple[float, float]:
        """The same on fixed signed features Z (n, m): x holds the norms ρ̄_j of neurons or, for the
        output layer, ā_j."""
        n, m = Z.shape
        u, p, g = np.empty(n + 0 * stamp), np.empty(n), np.empty(m)
        for t in range(first, last):
            for i in range(n):
                row, total = Z[i], 0.0
                for j in range(m):
                    total += row[j] * (x[j] if output else x[j] * x[j])
                u[i] = total
            best = max(best, weigh(u, log_beta, logistic, p))
            g[:] = 0.0
            for i in range(n):
                if p[i] > NOTHING:
                    row, share = Z[i], p[i]
                    for j in range(m):
                        g[j] += share * row[j]
            rate = (
                size
                * (t + offset) ** -power
                * bounded_exp(((1.0 if with_norm else 0.0) - output) * log_beta)
            )
            square = 0.0
            for j in range(m):
                x[j] = x[j] + rate / width * g[j] if output else x[j] * (1 + 2 * rate * g[j])
                square += x[j] * x[j]
            growth = max(1.0, math.sqrt(width * square)) if output else square
            shrink = 1 / growth if output else 1 / math.sqrt(growth)
            for j in range(m):
                x[j] *= shrink
            log_beta += math.log(growth)
        return log_beta, best

    return features


network = entry(_network(STAMP))
features = entry(_features(STAMP))
