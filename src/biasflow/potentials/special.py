"""Elementary functions in the forms that do not cancel or overflow."""

from __future__ import annotations

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array

LOG2 = float(np.log(2.0))
LARGEST_EXPONENT = 700.0
"""Largest argument whose exponential is formed directly."""
SERIES_RADIUS = 0.6
"""Below it sinh δ − δ is summed as a series: six terms reach rounding."""


def sinh_minus(delta: Array) -> Array:
    """sinh δ − δ."""
    d2 = delta * delta
    series = (
        delta
        * d2
        / 6
        * (1 + d2 / 20 * (1 + d2 / 42 * (1 + d2 / 72 * (1 + d2 / 110 * (1 + d2 / 156)))))
    )
    with np.errstate(over="ignore"):
        return np.where(np.abs(delta) < SERIES_RADIUS, series, np.sinh(delta) - delta)


def log_cosh(x: Array) -> Array:
    a = np.abs(x)
    near = np.log1p(2 * np.sinh(np.minimum(a, 1.0) / 2) ** 2)
    return np.where(a < 0.5, near, a + np.log1p(np.exp(-2 * a)) - LOG2)


def log_sinh(x: Array) -> Array:
    """log sinh x for x ≥ 0."""
    with np.errstate(divide="ignore"):
        return x - LOG2 + np.log(-np.expm1(-2 * x))


def log_expm1(x: Array) -> Array:
    """log(eˣ − 1) for x ≥ 0."""
    with np.errstate(divide="ignore"):
        return np.where(
            x > 1, x + np.log1p(-np.exp(-np.maximum(x, 1.0))), np.log(np.expm1(np.minimum(x, 1.0)))
        )


def scaled_sinh(log_scale: Array, scale: Array, x: Array) -> Array:
    """e^{log_scale}·sinh x, where `scale` (= e^{log_scale}) may have under- or overflowed."""
    a = np.abs(x)
    with np.errstate(over="ignore", invalid="ignore"):
        direct = scale * np.sinh(np.minimum(a, LARGEST_EXPONENT))
        far = np.exp(log_scale + a - LOG2) * -np.expm1(-2 * a)
    return np.sign(x) * np.where(
        (a <= LARGEST_EXPONENT) & (scale >= SMALLEST_NORMAL) & np.isfinite(scale), direct, far
    )
