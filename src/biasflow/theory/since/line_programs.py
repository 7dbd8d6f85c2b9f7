"""Linear programs over neurons on a grid: what interpolants and functions on a line cost, without
any formula for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array
from ...limits import PiecewiseLinear

DIRECTIONS = 1500
"""Of the circle of (w, b): a network of the grid costs at most 1/cos(δ/2) times as much as any, δ =
2π/1500 the angle between neighbours, as a neuron between two of one pattern is a sum of both."""
POSITIONS = 120
"""Of kinks where biases are free, over three times the extent of the inputs."""
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The least that HiGHS takes."""
PROGRAM_ERROR = 1e-7
"""Relative error of a linear program: its tolerance, times multipliers of up to a
thousand, one over the distance of inputs."""
SLACK = 1e-8
"""By which the norm may exceed the least one where others of that norm are looked for."""


def grid_error() -> float:
    """By how much a grid of directions is too dear, at most, relatively."""
    return float(1 / np.cos(np.pi / DIRECTIONS) - 1)


def directions_of(x: Array) -> Array:
    """The circle (k, 2), and on it the kinks at every input."""
    angle = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    across = np.concatenate([np.arctan2(-x, 1.0), np.arctan2(x, -1.0)])
    every = np.unique(np.concatenate([angle, np.mod(across, 2 * np.pi)]))
    return np.column_stack([np.cos(every), np.sin(every)])


def positions_of(x: Array, more: Array) -> Array:
    """Kinks from the left of all inputs to the right of them, at inputs, and at some more."""
    reach = float(np.max(x) - np.min(x)) or 1.0
    even = np.linspace(np.min(x) - reach, np.max(x) + reach, POSITIONS)
    return np.unique(np.concatenate([even, x, more]))


def columns(
    x: Array, at: Array, penalise_bias: bool, skip: bool, more: Array
) -> tuple[Array, Array]:
    """Values of all neurons of the grid at inputs `at` (m, k), and what each costs (k,)."""
    if penalise_bias:
        u = directions_of(x)
        values = np.maximum(np.column_stack([at, np.ones_like(at)]) @ u.T, 0.0)
        costs = np.ones(len(u))
    else:
        t = positions_of(x, more)
        values = np.hstack([np.maximum(at[:, None] - t, 0.0), np.maximum(t - at[:, None], 0.0)])
        values, costs = (
            np.hstack([values, np.ones((at.size, 1))]),
            np.append(np.ones(2 * t.size), 0.0),
        )
    if skip:
        free = np.column_stack([at, np.ones_like(at)])
        values, costs = np.hstack([values, free]), np.append(costs, [0.0, 0.0])
    return values, costs


def _minimum(costs: Array, A: Array, b: Array, **more: Any) -> Any:
    return linprog(costs, A_eq=A, b_eq=b, method="highs", options=TIGHT, **more)


def less_free_part(x: Array, y: Array, penalise_bias: bool, skip: bool) -> tuple[Array, Array]:
    """The labels less what costs nothing, not rounded before, and (slope, offset) of that: the
    line through the first sample and the last with an affine part, the first label where biases are
    free. A program's errors are shares of what it is given: of labels on a large offset or close to
    a line they would be more than the norm."""
    at, labels = ([Fraction(float(v)) for v in part] for part in (x, y))
    slope = (labels[-1] - labels[0]) / (at[-1] - at[0]) if skip else Fraction(0)
    offset = labels[0] - slope * at[0] if skip or not penalise_bias else Fraction(0)
    rest = [float(b - slope * a - offset) for a, b in zip(at, labels, strict=True)]
    return np.array(rest), np.array([float(slope), float(offset)])


def least_on_grid(x: Array, y: Array, penalise_bias: bool, skip: bool) -> float:
    """The least norm of interpolants made of the grid's neurons; NaN where the program fails."""
    values, costs = columns(x, x, penalise_bias, skip, np.zeros(0))
    rest, _ = less_free_part(x, y, penalise_bias, skip)
    size = float(np.max(np.abs(rest))) or 1.0
    found = _minimum(np.tile(costs, 2), np.hstack([values, -values]), rest / size)
    return size * float(found.fun) if found.status == 0 else np.nan


def range_on_grid(x: Array, y: Array, skip: bool, least: float, at: Array) -> tuple[Array, Array]:
    """The least and the largest value at inputs `at` of interpolants with free biases whose norm is
    the least, up to SLACK."""
    values, costs = columns(x, x, False, skip, at)
    rest, free = less_free_part(x, y, False, skip)
    size = float(np.max(np.abs(rest))) or 1.0
    there = columns(x, at, False, skip, at)[0]
    cap = {"A_ub": np.tile(costs, 2)[None], "b_ub": [least / size * (1 + SLACK)]}
    ends = [
        [_minimum(sign * np.append(row, -row), np.hstack([values, -values]), rest / size, **cap)]
        for sign in (1.0, -1.0)
        for row in there
    ]
    found = np.array([end.fun if end.status == 0 else np.nan for (end,) in ends]) * size
    line = free[0] * at + free[1]
    return line + found[: at.size], line - found[at.size :]


def cost_on_grid(f: PiecewiseLinear) -> float:
    """The least norm, biases penalised, of networks of the grid that are f on the whole line: at
    every kink of the grid (x−t)₊ and (t−x)₊ add up to that of f, and what is affine to its
    asymptotes."""
    # kinks at infinity are constants
    angle = np.linspace(-np.pi / 2, np.pi / 2, DIRECTIONS // 2 + 1)[1:-1]
    t = np.unique(np.concatenate([np.tan(angle), f.kinks]))
    length = np.hypot(1.0, t)
    jumps = np.zeros(t.size)
    jumps[np.searchsorted(t, f.kinks)] = f.jumps
    # f = Σr_i(x−t_i)₊ + Σ(k_i−r_i)(t_i−x)₊ + constant, and right of all kinks Σr_i(x−t_i) +
    # constant is the last asymptote
    size = float(np.max(np.abs([f.left, f.right, *f.jumps, f.values[-1]]))) or 1.0
    offset = f.values[-1] - f.right * f.points[-1]
    k = t.size
    # r = r⁺ − r⁻, k − r = q⁺ − q⁻, a constant c⁺ − c⁻
    A = np.zeros((k + 2, 4 * k + 2))
    rows = np.arange(k)
    for block, sign in enumerate((1.0, -1.0, 1.0, -1.0)):
        A[rows, block * k + rows] = sign / length
    A[k, :k], A[k, k : 2 * k] = 1 / length, -1 / length
    A[k + 1, :k], A[k + 1, k : 2 * k] = -t / length, t / length
    A[k + 1, -2:] = 1.0, -1.0
    wanted = np.concatenate([jumps, [f.right, offset]]) / size
    found = _minimum(np.ones(4 * k + 2), A, wanted)
    return size * float(found.fun) if found.status == 0 else np.nan
