"""The compiled twin of `losses.soft_minimum`, for the exponential and the logistic loss."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from .._core.arguments import Array
from .compilation import inner
from .float_ranges import EXPONENTIAL_FROM, LARGEST, LARGEST_EXPONENT

SOURCES = (__file__, str(Path(__file__).with_name("float_ranges.py")))
"""What the stamp of an entry point covers that calls this."""


@inner
def bounded_exp(x: float) -> float:
    """e^x within the floats."""
    return math.exp(min(max(x, -LARGEST_EXPONENT), LARGEST_EXPONENT))


@inner
def log_logistic(v: float) -> float:
    """log log(1 + e^{−v})."""
    if v >= EXPONENTIAL_FROM:
        return -v
    small = math.exp(-abs(v))
    return math.log(math.log1p(small) / small) - v if v >= 0 else math.log(math.log1p(small) - v)


@inner
def weigh(u: Array, log_beta: float, logistic: bool, p: Array) -> float:
    """∇S(βu) into p; returns min u."""
    least = np.inf
    for i in range(u.size):
        least = min(least, u[i])
    beta = bounded_exp(log_beta)
    bottom = min(max(beta * least, -LARGEST), LARGEST)
    tail = not logistic or bottom >= EXPONENTIAL_FROM
    top = 0.0 if tail else log_logistic(bottom)
    total = 0.0
    for i in range(u.size):
        if tail:
            p[i] = math.exp(-min(beta * (u[i] - least), LARGEST_EXPONENT))
            total += p[i]
        else:
            v = min(max(beta * u[i], -LARGEST), LARGEST)
            total += math.exp(log_logistic(v) - top)
            p[i] = math.exp(-max(v, 0.0) - math.log1p(math.exp(-abs(v))) - top)
    for i in range(u.size):
        p[i] /= total
    return least
