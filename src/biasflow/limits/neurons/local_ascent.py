"""Local maxima of Σ_i q_i(⟨u, c_i⟩)₊ over unit vectors from many starts: good neurons in any
dimension, and no proof.

With P = {q > 0}, N = {q < 0}: the sum is max_{A⊂P} ⟨u, Σ_A q_ic_i⟩ − max_{t∈[0,1]^N} ⟨u, Σ_N
|q_i|t_ic_i⟩, a difference of support functions of zonotopes. Convex–concave iteration: A = those of
P active at u, g = Σ_A q_ic_i; then the best u for A is the residual of g after projection onto the
zonotope of N, found by coordinate descent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._numerics.compilation import entry, ordered, stamp
from . import arrangement
from .arrangement import add, dot

OUTER, INNER = 30, 400
"""Most convex–concave steps, and sweeps of coordinate descent in each."""
SETTLED = 1e-22
"""Relative size of the squared change of a sweep that ends the descent."""
GAIN = 1e-11
"""Relative gain of a step below which the ascent stops."""


@ordered
def _project(residual: Array, zonotope: Array, squares: Array, t: Array, stop: Index) -> float:
    """Coordinate descent on ‖residual‖ over t in [0, 1]^N, until `stop` is raised; returns the
    length left."""
    for _ in range(INNER):
        if stop[0] != 0:
            break
        change = 0.0
        for k in range(t.size):
            if squares[k] == 0.0:
                continue
            new = min(1.0, max(0.0, t[k] + dot(residual, zonotope[k]) / squares[k]))
            step = new - t[k]
            if step != 0.0:
                t[k] = new
                add(residual, -step, zonotope[k])
                change += step * step * squares[k]
        if change <= SETTLED * dot(residual, residual):
            break
    return math.sqrt(dot(residual, residual))


@ordered
def _climb(u: Array, convex: Array, zonotope: Array, squares: Array, stop: Index) -> float:
    """Move u to a local maximum; its value."""
    t, residual, value = np.zeros(squares.size), np.zeros(u.size), -np.inf
    for k in range(t.size):
        t[k] = 1.0 if dot(u, zonotope[k]) > 0 else 0.0
    for _ in range(OUTER):
        for d in range(u.size):
            residual[d] = 0.0
        for k in range(convex.shape[0]):
            if dot(u, convex[k]) > 0:
                add(residual, 1.0, convex[k])
        for k in range(t.size):
            add(residual, -t[k], zonotope[k])
        length = _project(residual, zonotope, squares, t, stop)
        if length < 1e-300:
            break
        now = 0.0
        for k in range(convex.shape[0]):
            now += max(0.0, dot(residual, convex[k]) / length)
        for k in range(t.size):
            now -= max(0.0, dot(residual, zonotope[k]) / length)
        if now <= value * (1 + GAIN):
            break
        value = now
        for d in range(u.size):
            u[d] = residual[d] / length
    return value


def _entry(stamp: int) -> Any:
    def climb(U: Array, convex: Array, zonotope: Array, stop: Index) -> Array:
        """Move every row of U (k, r) to a local maximum of Σ(⟨u, a⟩)₊ over rows a of `convex` less
        the same over `zonotope`, or on the way there until `stop` is raised."""
        values, squares = np.zeros(U.shape[0] + 0 * stamp), np.zeros(zonotope.shape[0])
        for k in range(squares.size):
            squares[k] = dot(zonotope[k], zonotope[k])
        for row in range(U.shape[0]):
            values[row] = _climb(U[row], convex, zonotope, squares, stop)
        return values

    return climb


climb = entry(_entry(stamp(__file__, arrangement.__file__)))
