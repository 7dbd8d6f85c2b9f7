"""F1 max margins of squared ReLUs on a line, exactly: directions lie on a circle (C, eq. 4 with φ =
ε(⟨u, (x,1)⟩)₊²)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, labels, matrix, positive_float
from ..._core.results import Certificate, Limit
from ...errors import ConvergenceError, InputError
from ...models import augmented
from ..matrix_games import solve_game
from ..predicting import squared_relus

ROUNDS = 200
FIRST = 64
"""Directions of the first linear program."""
QUARTERS = np.arange(-2, 7) * np.pi / 2
"""Turns by which an eigenvector of an arc's quadratic form may come to lie on the arc."""


def squared_f1_max_margin(
    X: ArrayLike, y: ArrayLike, gap: float = 1e-9
) -> Limit[tuple[Array, Array, Array]]:
    """γ₁ of the squared ReLU for inputs X (n, 1) without the bias column, y = ±1, to a relative
    gap.

    Column generation: a linear program over the directions met, then the exact largest gain of its
    weights over the circle, as J(u) = Σp_iy_i(⟨u, (x_i,1)⟩)₊² is a quadratic form on each arc
    between two samples' sign changes. value: directions u (k, 2), signs ε (k,) and masses (k,),
    which sum to one. stats: weights p on the samples.
    """
    inputs = augmented(matrix("X", X))
    if inputs.shape[1] != 2:
        raise InputError(
            f"X: expected one column, where directions lie on a circle, found {inputs.shape[1] - 1}"
        )
    y, gap = labels("y", y, inputs.shape[0]), positive_float("gap", gap)
    angles = np.linspace(0, 2 * np.pi, FIRST, endpoint=False)
    for _ in range(ROUNDS):
        u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        features = y[:, None] * np.maximum(inputs @ u.T, 0.0) ** 2
        game = solve_game(np.hstack([features, -features]))
        gain, best = largest_squared_gain(inputs, game.p * y)
        if gain - game.lower <= gap * gain:
            kept = np.flatnonzero(game.a)
            value = (u[kept % angles.size], np.where(kept < angles.size, 1.0, -1.0), game.a[kept])
            return Limit(
                value,
                game.lower,
                Certificate(game.lower, gain, 0.0, "exact"),
                {"weights": game.p},
                predictor=squared_relus,
            )
        angles = np.append(angles, best)
    raise ConvergenceError(
        f"squared_f1_max_margin: gap {(gain - game.lower) / gain:.1g} after {ROUNDS} rounds"
    )


def largest_squared_gain(inputs: Array, q: Array) -> tuple[float, Array]:
    """max_u |Σq_i(⟨u, x̃_i⟩)₊²| over the circle, and the angles of the largest stationary points of
    each sign."""
    zero = np.arctan2(inputs[:, 1], inputs[:, 0])[:, None] + np.array([-np.pi / 2, np.pi / 2])
    edges = np.sort(np.mod(zero.ravel(), 2 * np.pi))
    ends = np.append(edges[1:], edges[0] + 2 * np.pi)
    middle = (edges + ends) / 2
    active = np.stack([np.cos(middle), np.sin(middle)], axis=1) @ inputs.T > 0
    moments = active @ (
        q[:, None]
        * np.stack([inputs[:, 0] ** 2, inputs[:, 0] * inputs[:, 1], inputs[:, 1] ** 2], axis=1)
    )
    top = 0.5 * np.arctan2(2 * moments[:, 1], moments[:, 0] - moments[:, 2])
    turned = top[:, None] + QUARTERS
    inside = (turned > edges[:, None]) & (turned < ends[:, None])
    candidates = np.concatenate([edges, turned[inside]])
    u = np.stack([np.cos(candidates), np.sin(candidates)], axis=1)
    gains = np.maximum(u @ inputs.T, 0.0) ** 2 @ q
    return float(np.max(np.abs(gains))), candidates[[int(np.argmax(gains)), int(np.argmin(gains))]]
