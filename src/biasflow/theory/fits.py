"""Numbers with error bars: exponents from a sweep of scales, shares from draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array
from .verdicts import Check

CONFIDENCE = 0.99
"""Of the intervals around fitted exponents and shares."""


def fitted_exponent(
    x: ArrayLike, y: ArrayLike, error: ArrayLike = 0.0
) -> tuple[float, float, float]:
    """(slope of log y against log x, its error, decades of x).

    The error is the largest of the scatter about the line at 99% confidence, of what `error`, the
    relative errors of y, allow,
    and of the curvature: the difference of the slopes of the two halves, which a power law does not
    have.
    """
    from scipy import stats

    u, v = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    relative = np.broadcast_to(np.asarray(error, float), u.shape)
    centred = u - np.mean(u)
    weight = centred / (centred @ centred)
    slope = float(weight @ v)
    rest = v - np.mean(v) - slope * centred
    free = len(u) - 2
    deviation = np.sqrt(rest @ rest / free / (centred @ centred)) if free > 0 else np.inf
    scatter = float(stats.t.ppf((1 + CONFIDENCE) / 2, max(free, 1)) * deviation)
    bend = (
        abs(
            _slope(u[len(u) // 2 :], v[len(u) // 2 :])
            - _slope(u[: len(u) // 2 + 1], v[: len(u) // 2 + 1])
        )
        / 2
    )
    # three of them are three, whatever their logarithms round to
    decades = round(float(np.ptp(u) / np.log(10)), 9)
    return slope, max(scatter, float(np.abs(weight) @ relative), bend), decades


def _slope(u: Array, v: Array) -> float:
    centred = u - np.mean(u)
    return float(centred @ v / (centred @ centred))


def exponent_check(
    quantity: str, x: ArrayLike, y: ArrayLike, expected: float, error: ArrayLike = 0.0, **notes: Any
) -> Check:
    """An exponent fitted to y against x, compared with the one that is claimed."""
    slope, spread, decades = fitted_exponent(x, y, error)
    return Check(quantity, slope, "==", expected, spread, decades=decades, **notes)


def share_check(quantity: str, successes: int, draws: int, at_least: float, **notes: Any) -> Check:
    """A share of fresh draws against a probability: holds or is violated where the exact 99%
    interval lies on one side."""
    from scipy import stats

    interval = stats.binomtest(successes, draws).proportion_ci(CONFIDENCE, method="exact")
    share = successes / draws
    error = share - interval.low if share >= at_least else interval.high - share
    return Check(quantity, share, ">=", at_least, float(error), **notes)
