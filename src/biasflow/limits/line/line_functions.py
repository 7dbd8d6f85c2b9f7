"""Piecewise linear functions on a line, and what they cost as two-layer ReLU networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, real_array
from ..._core.facts import Fact, Facts, Shown
from ...errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseLinear(Shown):
    """A continuous, piecewise linear function on a line; `f(x)` evaluates it.

    Parameters
    ----------
    points : array of shape (k,)
        Rising: where it is known. Between them it is linear.
    values : array of shape (k,)
    left, right : float
        Its slopes before the first point and after the last.
    kinks : array of shape (m,)
        Where its slope changes; all of them are points.
    jumps : array of shape (m,)
        By how much.

    Examples
    --------
    >>> hat = bf.limits.PiecewiseLinear.through([-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], 0.0, 0.0)
    >>> hat.kinks, hat.jumps, hat(np.array([0.25, 7.0]))
    (array([-1.,  0.,  1.]), array([ 1., -2.,  1.]), array([0.75, 0.  ]))
    >>> print(hat.norm(penalise_bias=False, skip=True), hat.norm(penalise_bias=False, skip=False))
    4.0 4.0
    """

    points: Array
    values: Array
    left: float
    right: float
    kinks: Array
    jumps: Array

    @classmethod
    def through(
        cls, points: ArrayLike, values: ArrayLike, left: float, right: float
    ) -> PiecewiseLinear:
        """The function with these values, linear between, and with these slopes outside."""
        at, values = real_array("points", points), real_array("values", values)
        if at.ndim != 1 or at.size == 0 or values.shape != at.shape or np.any(np.diff(at) <= 0):
            raise InputError(
                "points, values: expected rising points (k,) and as many values, found shapes "
                f"{at.shape} and {values.shape}"
            )
        slopes = np.concatenate([[left], np.diff(values) / np.diff(at), [right]])
        jumps = np.diff(slopes)
        return cls(at, values, float(left), float(right), at[jumps != 0], jumps[jumps != 0])

    def __call__(self, x: ArrayLike) -> Array:
        """f at inputs of any shape; (n, 1) becomes (n,)."""
        x = real_array("x", x)
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        inside = np.interp(x, self.points, self.values)
        before = self.left * np.minimum(x - self.points[0], 0.0)
        after = self.right * np.maximum(x - self.points[-1], 0.0)
        return np.asarray(inside + before + after)

    def norm(self, *, penalise_bias: bool = True, skip: bool = False) -> float:
        """The least Σ|a_j|‖(w_j, b_j)‖ (Σ|a_j||w_j| where biases are free) of networks that are
        this function on the whole line, in float64.

        With kinks k_i at t_i and ρ = √(1 + t²), or 1 where biases are free, and a free affine part:
        Σ|k_i|ρ(t_i) = ‖ρf″‖_TV. Without it, with αx + β the sum of both asymptotes,

            Σ|k_i|ρ(t_i) + min_{|s_i| ≤ 1} N(α − Σs_i|k_i|, β + Σs_i|k_i|t_i),

        N(g) = max{⟨p, g⟩ : ‖p‖ ≤ 1, |p₂| ≤ ½}: (x−t)₊ − (t−x)₊ = x − t costs 2ρ(t), and a
        constant 1, not 2, since one neuron (0·x + 1)₊ does. So an affine αx + β costs 2√(α² + β²)
        where |β| ≤ |α|/√3, and √3|α| + |β| beyond. With free biases: max(∫|f″|, |f′(−∞)+f′(∞)|)
        (Savarese et al. 2019).
        """
        size = np.abs(self.jumps)
        kinked = float(size @ weight(self.kinks, penalise_bias))
        if skip:
            return kinked
        slope = self.left + self.right
        if not penalise_bias:
            return max(kinked, abs(slope))
        first = self.values[0] - self.left * self.points[0]
        offset = first + self.values[-1] - self.right * self.points[-1]
        return kinked + affine_remainder(np.array([slope, offset]), size, self.kinks)

    def facts(self) -> Facts:
        span = f"{self.points[0]:g} … {self.points[-1]:g}"
        return Facts(
            "PiecewiseLinear",
            (
                Fact("known on", f"{self.points.size} points, {span}"),
                Fact("kinks", f"{self.kinks.size}"),
                Fact("slopes outside", f"{self.left:.6g} and {self.right:.6g}"),
            ),
        )


def weight(t: Any, penalise_bias: bool) -> Array:
    """‖(1, t)‖, the length of a neuron that bends at t by one; one where biases are free."""
    return np.hypot(1.0, t) if penalise_bias else np.ones_like(np.asarray(t, dtype=float))


CORNER = np.pi / 6
"""Where ‖p‖ = 1 meets |p₂| = ½."""


def affine_remainder(v: Array, size: Array, t: Array) -> float:
    """min N(v − Σs_ig_i) over |s_i| ≤ 1, g_i = size_i·(1, −t_i): max ⟨p, v⟩ − Σ|⟨p, g_i⟩| over ‖p‖
    ≤ 1, |p₂| ≤ ½.

    p and −p come to the same up to the sign of v. With p at the angle θ, ⟨p, g_i⟩ changes its sign
    at tan θ = 1/t_i; between, the sum is ⟨p, w⟩: largest along w where the boundary is round, and
    at an end of the piece where it is flat.
    """
    g = size[:, None] * np.column_stack([np.ones_like(t), -t])
    with np.errstate(divide="ignore"):
        turns = np.arctan(1 / t)
    best = 0.0
    for sign in (1.0, -1.0):
        for side in (1.0, -1.0):
            own = side * t > 0
            order = np.argsort(side * turns[own])
            angles = side * turns[own][order]
            flipped = np.concatenate([np.zeros((1, 2)), 2 * np.cumsum(g[own][order], axis=0)])
            w = sign * v - np.sum(g, axis=0) + flipped  # on each piece, from θ = 0 outwards
            ends = np.concatenate([[0.0], angles, [np.pi / 2]])
            along = side * np.arctan2(w[:, 1], w[:, 0])
            inside = np.clip(along, ends[:-1], np.minimum(ends[1:], np.maximum(CORNER, ends[:-1])))
            for theta in (ends[:-1], ends[1:], inside, np.clip(CORNER, ends[:-1], ends[1:])):
                best = max(best, float(np.max(np.sum(_farthest(side * theta) * w, axis=1))))
    return best


def _farthest(angle: Array) -> Array:
    """The points of {‖p‖ ≤ 1, |p₂| ≤ ½} farthest in these directions."""
    p = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(p * np.minimum(1.0, 0.5 / np.maximum(np.abs(p[:, 1]), 0.5))[:, None])
