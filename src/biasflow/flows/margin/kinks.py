"""Kinks that a step runs into: what they cost, and where to end the step so that they cost nothing.

Where ⟨w_j, x_i⟩ changes sign, or comes to rest at zero, the velocity of neuron j jumps. Euler steps meet the jump at different
places, so their extrapolation leaves an error of second order there, against third elsewhere, which the last correction shows as it
is. A step that ends on the kink leaves none. Kinks of a few neurons are therefore located; where many share the error the step
is shortened instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...inputs import Array
from .tangents import View

AT_REST = 1e-12
"""⟨w, x⟩ over ‖w‖‖x‖ that counts as zero: projections of sliding neurons are known to rounding."""
FEW = 4
"""Neurons whose kinks are located one by one; to end a step for each of more costs more than to shorten it."""
BEYOND = 1e-3
"""By which share of itself a shortened step passes the kink, so that the next one begins on its other side."""
NEAREST = 1e-6
"""Least share of a step that is left of it."""


class Kinks(NamedTuple):
    """What kinks cost in a step, relative to ‖w‖, and the share of the step until the first worth locating; NaN if none is."""

    error: float
    share: float


NONE = Kinks(0.0, np.nan)


def kinks_of(view: View, start: Any, weights: Array, end: Any, correction: Any, dt: float, allowed: float) -> Kinks:
    """The kinks between start and end (not normalised); correction: that of the extrapolation, relative to ‖end‖."""
    before, after = view.projections(start), view.projections(end)
    if before is None or after is None:
        return NONE
    sides = np.sign(before) * (np.abs(before) > AT_REST * view.reach(start))
    met = (sides != 0) & (sides != np.sign(after) * (np.abs(after) > AT_REST * view.reach(end)))
    rows = np.flatnonzero(np.any(met, axis=1))
    if rows.size == 0:
        return NONE
    squares = sum(np.sum(leaf[rows].reshape(rows.size, -1) ** 2, axis=1) for leaf in correction)
    total = float(np.sum(squares))
    if total <= allowed**2:
        return Kinks(total**0.5, np.nan)
    order = np.argsort(-squares, kind="stable")
    left = total - np.cumsum(squares[order])
    needed = int(np.argmax(left <= (allowed / 2) ** 2)) + 1
    if needed > FEW:
        return Kinks(total**0.5, np.nan)
    which = rows[order[:needed]]
    slope = dt * view.projections(view.velocity(start, weights))[which]
    share = _first_zero(before[which], slope, after[which], met[which])
    return Kinks(total**0.5, float(np.clip(share * (1 + BEYOND), NEAREST, 1.0)))


def _first_zero(z: Array, slope: Array, end: Array, met: Array) -> float:
    """The first zero in (0, 1] of z + s·slope + s²·(end − z − slope), of z + s·slope where the end is at rest."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = np.where(end * z < 0, end - z - slope, 0.0)
        root = np.sqrt(np.maximum(slope**2 - 4 * bend * z, 0.0))
        zeros = -2 * z / np.stack([slope + root, slope - root])
    zeros = np.where((zeros > 0) & (zeros <= 1) & met, zeros, np.inf)
    first = float(np.min(zeros))
    return first if first <= 1 else 0.5
