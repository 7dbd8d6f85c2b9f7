"""Explicit steps of order eight (Dormand and Prince; Hairer, Nørsett and Wanner, §II.10), with the
largest component in charge of the step: flows of smooth fields to twelve digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array, Index

Field = Callable[[Array], Array]
"""y to y′; time does not enter."""
SAFETY, LEAST_FACTOR, MOST_FACTOR = 0.9, 0.2, 6.0
EXPONENT = -1 / 8
FLOOR = 1e-15
"""Of a component's size, relative to the largest that its group has had: rounding of its field is
no error."""
MOST_STEPS = 3000
FIRST_STEP = 1e-3
LEAST_STEP = 1e-7
"""Share of the whole way: nearer to a pole, its place, to rounding, would be all that is left of a
result."""


class Tableau(NamedTuple):
    """Coefficients of the stages, of the step, and of its two errors."""

    A: Array
    B: Array
    E3: Array
    E5: Array


@cache
def tableau() -> Tableau:
    """SciPy's, loaded when the first step is taken: models and potentials are named without it."""
    from scipy.integrate import DOP853

    return Tableau(DOP853.A, DOP853.B, DOP853.E3, DOP853.E5)


def step(field: Field, y: Array, first: Array, h: float) -> tuple[Array, Array]:
    """y after one step from y with y′ = first, and all slopes, with one at the end."""
    A, B, *_ = tableau()
    stages = B.size
    slopes = np.empty((stages + 1, y.size))
    slopes[0] = first
    for k in range(1, stages):
        slopes[k] = field(y + h * (A[k, :k] @ slopes[:k]))
    end = y + h * (B @ slopes[:stages])
    slopes[stages] = field(end)
    return end, slopes


def steps(
    field: Field,
    y: Array,
    reach: float,
    rtol: float,
    least_step: float = 0.0,
    groups: Index | None = None,
    least: Array | None = None,
) -> Iterator[tuple[float, Array]]:
    """(t, y) after every step up to t = reach. Ends earlier where steps become shorter than the
    least, or than rounding: a pole, or a kink. groups: numbers of the groups of components that
    have a unit in common; one of all where none are given. least: sizes of components at least, as
    of sums that cancel."""
    t, h = 0.0, min(FIRST_STEP, reach)
    slope, (*_, E3, E5) = field(y), tableau()
    labels = np.zeros(y.size, int) if groups is None else groups
    size, tops = np.abs(y), group_tops(y if least is None else np.abs(y) + least, labels)
    for _ in range(MOST_STEPS):
        if t >= reach:
            return
        h = min(h, reach - t)
        with np.errstate(all="ignore"):
            end, slopes = step(field, y, slope, h)
            sizes = np.maximum(size, np.abs(end))
            tops = np.maximum(tops, group_tops(np.where(np.isfinite(end), end, 0.0), labels))
            scale = np.maximum(rtol * sizes + FLOOR * tops, 1e-300)
            fifth, third = h * (E5 @ slopes) / scale, h * (E3 @ slopes) / scale
            worst = np.max(np.abs(fifth), initial=0.0)
            # Hairer's combination, component by component
            norm = worst**2 / np.sqrt(worst**2 + 0.01 * np.max(np.abs(third), initial=0.0) ** 2)
        norm = 0.0 if worst == 0 else norm
        if not (np.all(np.isfinite(end)) and np.isfinite(norm)):
            h *= LEAST_FACTOR
        elif norm > 1:
            h *= max(LEAST_FACTOR, SAFETY * norm**EXPONENT)
        else:
            t, y, slope, size = t + h, end, slopes[-1], np.abs(end)
            yield t, y
            h *= MOST_FACTOR if norm == 0 else min(MOST_FACTOR, SAFETY * norm**EXPONENT)
        if h < max(1e-14 * t, 1e-44) or (h < least_step and h < reach - t):
            return


def group_tops(y: Array, labels: Index) -> Array:
    """The largest |component| of the group of every component."""
    tops = np.zeros(int(np.max(labels, initial=0)) + 1)
    np.maximum.at(tops, labels, np.abs(y))
    return tops[labels]


def followed(
    field: Field,
    y: Array,
    reach: float,
    rtol: float,
    groups: Index | None = None,
    least: Array | None = None,
) -> Array | None:
    """y at t = reach, or None where the solution does not get there."""
    t, end = 0.0, y
    walk = steps(field, y, reach, rtol, LEAST_STEP * reach, groups, least)
    for t, end in walk:  # noqa: B007
        pass
    return end if t >= reach else None
