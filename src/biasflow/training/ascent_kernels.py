"""Steps of gradient ascent on the smooth margin, compiled, for one run: weights at β = 1 with log β
beside them.

Samples whose weight in the soft-min is below rounding are left out of the gradient. The soft-min
and all sums over neurons are in float64; products are in the type of the weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.arguments import Array, Index
from .._numerics.compilation import entry, inner, stamp
from .._numerics.soft_minimum import SOURCES, bounded_exp, weigh
from .step_rules import Schedule
from .trainables import Reached

STAMP = stamp(__file__, *SOURCES)
LEFT_OUT_BELOW = 1e-24
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
        if p[i] <= LEFT_OUT_BELOW:
            continue
        q, source, target = p[i] * y[i], pre[i], pre[used]
        for j in range(source.size):
            slope = 2.0 * source[j] if squared else 1.0
            target[j] = q * slope if source[j] > 0.0 else 0.0
        for c in range(X.shape[1]):
            rows[used, c] = X[i, c]
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


@inner
def share(rule: Schedule, t: int, log_beta: float, decay: float) -> float:
    """η(t)·β^(−decay)."""
    growth = (1.0 if rule.with_norm else 0.0) - decay
    return rule.size * (t + rule.offset) ** -rule.power * bounded_exp(growth * log_beta)


def _network(stamp: int) -> Any:
    def network(
        a: Any,
        W: Any,
        X: Any,
        y: Array,
        squared: bool,
        logistic: bool,
        now: Reached,
        first: int,
        last: int,
        rule: Schedule,
        trace: Array,
        stop: Index,
    ) -> tuple[Reached, int]:
        """Steps first … last − 1 on both layers, in place; `trace` (steps, 2), or of no rows, is
        told (margin, log β) before each; how many are done, fewer if `stop` is raised."""
        n, m = y.size, a.size + 0 * stamp
        pre, rows, G = (
            np.empty((n, m), W.dtype),
            np.empty(X.shape, X.dtype),
            np.empty(W.shape, W.dtype),
        )
        u, p = np.empty(n), np.empty(n)
        log_beta, best, clock = now
        for t in range(first, last):
            if stop[0] != 0:
                return Reached(log_beta, best, clock), t
            predict(a, W, X, y, squared, pre, u)
            least = weigh(u, log_beta, logistic, p)
            best = max(best, least)
            if trace.shape[0]:
                trace[t, 0], trace[t, 1] = least, log_beta
            pull(X, y, p, squared, pre, rows, G)
            rate = share(rule, t, log_beta, 0.0)
            clock += rate
            log_beta += math.log(move(a, W, G, rate, squared))
        return Reached(log_beta, best, clock), last

    return network


def _features(stamp: int) -> Any:
    def features(
        x: Array,
        Z: Any,
        output: bool,
        width: int,
        logistic: bool,
        now: Reached,
        first: int,
        last: int,
        rule: Schedule,
        trace: Array,
        stop: Index,
    ) -> tuple[Reached, int]:
        """The same on fixed signed features Z (n, m): x holds the norms ρ̄_j of neurons or, for the
        output layer, ā_j."""
        n, m = Z.shape
        u, p, g = np.empty(n + 0 * stamp), np.empty(n), np.empty(m)
        log_beta, best, clock = now
        for t in range(first, last):
            if stop[0] != 0:
                return Reached(log_beta, best, clock), t
            for i in range(n):
                row, total = Z[i], 0.0
                for j in range(m):
                    total += row[j] * (x[j] if output else x[j] * x[j])
                u[i] = total
            least = weigh(u, log_beta, logistic, p)
            best = max(best, least)
            if trace.shape[0]:
                trace[t, 0], trace[t, 1] = least, log_beta
            g[:] = 0.0
            for i in range(n):
                if p[i] > LEFT_OUT_BELOW:
                    row, weight = Z[i], p[i]
                    for j in range(m):
                        g[j] += weight * row[j]
            clock += share(rule, t, log_beta, 0.0)
            rate = share(rule, t, log_beta, 1.0 if output else 0.0)
            square = 0.0
            for j in range(m):
                x[j] = x[j] + rate / width * g[j] if output else x[j] * (1 + 2 * rate * g[j])
                square += x[j] * x[j]
            growth = max(1.0, math.sqrt(width * square)) if output else square
            shrink = 1 / growth if output else 1 / math.sqrt(growth)
            for j in range(m):
                x[j] *= shrink
            log_beta += math.log(growth)
        return Reached(log_beta, best, clock), last

    return features


network = entry(_network(STAMP))
features = entry(_features(STAMP))
