"""Networks that statements are compared with, and least masses by linear programs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array, log_of_scale
from ..._core.problems import Problem
from ...models import TwoLayerParams
from .relu_setting import Setting

CIRCLE = 4000
"""Directions on the circle: neighbours are 2π/4000 apart."""
SPHERE = 3000
"""Random directions where there are more dimensions than two."""
FEATURES = 20
"""Random neurons per input of the kernel's interpolator."""
ASCENTS = 20
"""Steps of w → Σ_{active} λ_kx_k/‖·‖, each of which ascends, from all directions at once."""


def rescaled(
    problem: Problem, scale: float | None = None, *, log_scale: float | None = None
) -> Problem:
    """The same problem from λ·g with another λ."""
    shift = float(log_of_scale("scale", scale, log_scale)[1])
    return Problem(problem.model, problem.data, problem.loss, Setting(problem).unit, shift)


def kernel_interpolator(problem: Problem) -> TwoLayerParams | None:
    """Random neurons with the outputs of least norm that interpolate, as training the outputs alone
    finds them; None if none do.

    The null model of statements on small starts: an interpolator that comes from a kernel.
    """
    X, y = problem.data.X, problem.data.y
    size = float(np.sqrt(np.max(np.abs(y)) / np.max(np.linalg.norm(X, axis=1))))
    m = max(len(problem.start.a), FEATURES * problem.data.n)
    W = size * np.random.default_rng(0).standard_normal((m, problem.data.d))
    features = np.maximum(X @ W.T, 0.0)
    a = np.asarray(np.linalg.lstsq(features, y, rcond=None)[0], dtype=np.float64)
    return (
        TwoLayerParams(a, W)
        if float(np.max(np.abs(features @ a - y))) <= 1e-8 * float(np.max(np.abs(y)))
        else None
    )


def directions(X: Array) -> tuple[Array, float]:
    """Unit vectors for a linear program over measures, and by how much, relatively, its value may
    exceed the least mass.

    In the plane all kinks are among them, so that between neighbours, δ apart, features are linear:
    a unit vector is a combination of its two neighbours of mass at most 1/cos(δ/2). In more
    dimensions nothing is known: infinity.
    """
    d = X.shape[1]
    if d == 1:
        return np.array([[1.0], [-1.0]]), 0.0
    if d > 2:
        found = np.random.default_rng(0).standard_normal((SPHERE, d))
        return found / np.linalg.norm(found, axis=1, keepdims=True), float("inf")
    kinks = np.arctan2(X[:, 0], -X[:, 1])
    angles = np.unique(
        np.concatenate(
            [
                np.linspace(-np.pi, np.pi, CIRCLE, endpoint=False),
                kinks,
                kinks - np.sign(kinks) * np.pi,
            ]
        )
    )
    gap = float(np.max(np.append(np.diff(angles), 2 * np.pi / CIRCLE)))
    return np.column_stack([np.cos(angles), np.sin(angles)]), 1 / float(np.cos(gap / 2)) - 1


def least_mass(X: Array, y: Array, units: Array) -> tuple[float, float] | None:
    """min Σ|c_j| subject to Σ_j c_j(⟨u_j, x_k⟩)_+ = y_k over these neurons, and the misfit left;
    None where none fit."""
    size = float(np.max(np.abs(y)))
    lengths = np.linalg.norm(X, axis=1)
    rows = np.maximum(units @ X.T, 0.0).T / np.where(lengths > 0, lengths, 1.0)[:, None]
    target = y / np.where(lengths > 0, lengths, 1.0)
    top = float(np.max(np.abs(target))) or 1.0
    found = linprog(
        np.ones(2 * len(units)),
        A_eq=np.hstack([rows, -rows]),
        b_eq=target / top,
        bounds=(0, None),
        method="highs",
    )
    if found.status != 0:
        return None
    misfit = (
        np.maximum(units @ X.T, 0.0).T @ (found.x[: len(units)] - found.x[len(units) :]) * top - y
    )
    return float(found.fun) * top, float(np.max(np.abs(misfit))) / size


def largest_response(X: Array, multipliers: Array, also: Array | None = None) -> float:
    """max over unit u of |Σ_k λ_k(⟨u, x_k⟩)_+|, by ascent from many directions: the constraint of
    the dual of least mass.

    On the cone of a pattern A the sum is ⟨u, Σ_A λ_kx_k⟩: moving u there ascends within the cone;
    the best value seen is kept.
    also: further directions to start from.
    """
    units = directions(X)[0]
    more = [X, -X] if also is None else [X, -X, also]
    units = np.vstack([units, *(vectors[np.linalg.norm(vectors, axis=1) > 0] for vectors in more)])
    best = 0.0
    for sign in (1.0, -1.0):
        u = units / np.linalg.norm(units, axis=1, keepdims=True)
        for _ in range(ASCENTS):
            active = u @ X.T > 0
            best = max(best, float(np.max(sign * np.where(active, u @ X.T, 0.0) @ multipliers)))
            pull = sign * (active * multipliers) @ X
            length = np.linalg.norm(pull, axis=1, keepdims=True)
            u = np.where(length > 0, pull / np.where(length > 0, length, 1.0), u)
    return best
