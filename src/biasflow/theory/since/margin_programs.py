"""The largest margin of networks in a plane by a linear program over directions, and gradient flow
by raw gradients: what S/certify is compared with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

from ..._core.arguments import Array
from ..unmeasured import Unmeasured

DIRECTIONS = 3000
"""Of the circle: a neuron between two of one pattern is a sum of both, and costs at most 1/cos(δ/2)
times as much, δ = 2π/3000."""
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
PROGRAM_ERROR = 1e-8
"""Relative error of the program: its tolerance, over margins of a tenth."""
STEPS = {"method": "LSODA", "rtol": 1e-9, "atol": 1e-12}
DIFFERENCE = 1e-6
"""Step of central differences, relative to the weights: their error is its square."""


class GridMargin(NamedTuple):
    """The largest margin on the grid, and a balanced network (a, W) that has it."""

    level: float
    a: Array
    W: Array


def grid_error() -> float:
    """By how much the grid's margin is below the largest one, at most, relatively."""
    return float(1 / np.cos(np.pi / DIRECTIONS) - 1)


def margin_on_grid(X: Array, y: Array) -> GridMargin:
    """max min_i y_i·½Σ_jm_js_j(⟨u_j, x_i⟩)₊ over masses m ≥ 0 of sum one on the grid's neurons,
    kinks of the samples among them."""
    angle = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    across = np.arctan2(X[:, 0], -X[:, 1])
    angle = np.concatenate([angle, across, across + np.pi])
    u = np.column_stack([np.cos(angle), np.sin(angle)])
    half = 0.5 * np.maximum(X @ u.T, 0.0)
    Z = y[:, None] * np.hstack([half, -half])
    unit = float(np.max(np.abs(Z)))
    k = Z.shape[1]
    found = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=np.hstack([-Z / unit, np.ones((y.size, 1))]),
        b_ub=np.zeros(y.size),
        A_eq=np.append(np.ones(k), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
        method="highs",
        options=TIGHT,
    )
    if found.status != 0:
        return GridMargin(np.nan, np.zeros(0), np.zeros((0, 2)))
    masses, signs = found.x[:k], np.repeat([1.0, -1.0], k // 2)
    used = np.flatnonzero(masses > 0)
    size = np.sqrt(masses[used] / 2)
    return GridMargin(
        -float(found.fun) * unit, signs[used] * size, size[:, None] * np.vstack([u, u])[used]
    )


def outputs(theta: Array, m: int, X: Array) -> Array:
    """Σ_ja_j(⟨w_j, x_i⟩)₊ for θ = (a, W) in a row."""
    W = theta[m:].reshape(m, X.shape[1])
    return np.asarray(np.maximum(X @ W.T, 0.0) @ theta[:m])


def differences(theta: Array, m: int, X: Array) -> Array:
    """∂f(x_i)/∂θ_k by central differences, (n, P)."""
    step = DIFFERENCE * float(np.linalg.norm(theta))
    moves = step * np.eye(theta.size)
    return np.column_stack(
        [(outputs(theta + e, m, X) - outputs(theta - e, m, X)) / (2 * step) for e in moves]
    )


def _gradients(theta: Array, m: int, X: Array) -> Array:
    a, W = theta[:m], theta[m:].reshape(m, X.shape[1])
    hidden = X @ W.T
    inner = (a * (hidden > 0))[:, :, None] * X[:, None, :]
    return np.hstack([np.maximum(hidden, 0.0), inner.reshape(len(X), -1)])


def raw_flow(theta: Array, m: int, X: Array, y: Array, log_margins: Array) -> list[Array]:
    """Directions of gradient flow on Σe^{−y_if(x_i)} where log ‖θ‖² reaches these values: the same
    path runs along ∇(−log Σe^{−y_if}), in coordinates θ/‖θ‖ and log‖θ‖."""

    def field(_: float, state: Array) -> Array:
        u, log_size = state[:-1], state[-1]
        q = y * outputs(u, m, X)
        weights = np.exp(-np.exp(2 * log_size) * (q - np.min(q)))
        g = (weights * y / np.sum(weights)) @ _gradients(u, m, X)
        along = float(g @ u)
        return np.append(g - along * u, along)

    size = float(np.linalg.norm(theta))
    state, found = np.append(theta / size, np.log(size)), []
    for target in np.asarray(log_margins) / 2:

        def reached(_: float, at: Array, target: float = float(target)) -> float:
            return float(at[-1]) - target

        reached.terminal = True  # type: ignore[attr-defined]
        run = solve_ivp(field, (0.0, 1e4), state, events=reached, **STEPS)
        if run.status != 1:
            raise Unmeasured(f"the flow could not be followed to log ‖θ‖ = {target:.3g}")
        state = run.y[:, -1]
        found.append(state[:-1] / np.linalg.norm(state[:-1]))
    return found
