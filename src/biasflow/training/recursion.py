"""The recursions of C's Propositions 6 and 7 on normalised iterates, compiled, with every step on
record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._numerics.compilation import entry, stamp
from .._numerics.soft_minimum import SOURCES, bounded_exp, weigh

STAMP = stamp(__file__, *SOURCES)


def _recursion(stamp: int) -> Any:
    def recursion(
        Z: Array,
        bar: Array,
        log_beta: float,
        output: bool,
        logistic: bool,
        size: float,
        power: float,
        offset: float,
        with_norm: bool,
        betas: Array,
        margins: Array,
        sizes: Array,
        kept: Any,
        iterates: Array,
        weights: Array,
    ) -> None:
        """Directions: ā_j(1 + 2ηg_j)² over its sum; output: ā + (η/mβ)g over max{1, √m‖·‖₂}, with g
        = Zᵀp."""
        n, m = Z.shape
        u, p, held, steps = np.empty(n), np.empty(n), 0, sizes.size + 0 * stamp
        for t in range(steps + 1):
            for i in range(n):
                total = 0.0
                for j in range(m):
                    total += Z[i, j] * bar[j]
                u[i] = total
            margins[t], betas[t] = weigh(u, log_beta, logistic, p), log_beta
            if held < kept.size and kept[held] == t:
                iterates[held], weights[held] = bar, p
                held += 1
            if t == steps:
                return
            share = size * (t + offset) ** -power
            sizes[t] = share * bounded_exp(log_beta) if with_norm else share
            rate = sizes[t] * bounded_exp(-log_beta) / m if output else 2 * sizes[t]
            growth = 0.0
            for j in range(m):
                g = 0.0
                for i in range(n):
                    g += Z[i, j] * p[i]
                bar[j] = bar[j] + rate * g if output else bar[j] * (1 + rate * g) ** 2
                growth += bar[j] * bar[j] if output else bar[j]
            if output:
                growth = max(1.0, math.sqrt(m * growth))
            for j in range(m):
                bar[j] /= growth
            log_beta += math.log(growth)

    return recursion


recursion = entry(_recursion(STAMP))
