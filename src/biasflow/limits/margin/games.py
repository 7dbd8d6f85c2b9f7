"""Matrix games: max over the simplex of the least entry of Za, by linear programming."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ...errors import ConvergenceError
from ...inputs import Array, matrix
from ...records import Certificate, Limit

ATTEMPTS = (("highs", 1e-10), ("highs-ipm", 1e-8))
"""HiGHS with its tightest tolerance first; where it gives up, a looser one: the bounds are computed afresh."""
ON_SUPPORT = 1e-12
"""Share below which an entry of a vertex counts as zero."""
LEAST = 1e-9
"""Least unit, relative to the largest entry: HiGHS refuses entries that are too large."""
SMALL = 1e-3
"""Value, relative to the largest entry, below which the program is solved again in units of its value."""


@dataclass(frozen=True, eq=False)
class Game:
    """a (m,) and p (n,) in the simplices: lower = min_i(Za)_i ≤ value ≤ max_j(Zᵀp)_j = upper."""

    a: Array
    p: Array
    lower: float
    upper: float


def l1_max_margin(Z: ArrayLike) -> Limit[Array]:
    """γ₁^(m) = max_{a ≥ 0, Σa = 1} min_i (Za)_i for signed features z_ij = y_iφ(θ_j, x_i), Z (n, m) (C, Proposition 6).

    value: a (m,). certificate: p in the simplex proves γ₁^(m) ≤ max_j(Zᵀp)_j. Features that do not separate have γ₁^(m) ≤ 0.
    stats: weights p on the samples, support of a, separable.
    """
    Z = matrix("Z", Z)
    game = solve_game(Z)
    support = np.flatnonzero(game.a > 0)
    stats = {"weights": game.p, "support": support, "separable": game.lower > 0}
    return Limit(game.a, game.lower, Certificate(game.lower, game.upper, 0.0, "exact"), stats)


def solve_game(Z: Array, unit: float | None = None, time_s: float = np.inf) -> Game:
    """Both sides' optimal strategies. unit: an estimate of the value, to scale by."""
    size = float(np.max(np.abs(Z)))
    if size == 0:
        return Game(np.full(Z.shape[1], 1 / Z.shape[1]), np.full(Z.shape[0], 1 / Z.shape[0]), 0.0, 0.0)
    game = _program(Z, max(unit or size, LEAST * size), time_s)
    value = max(abs(game.lower), abs(game.upper))
    if unit is None and LEAST * size < value < SMALL * size:
        game = _better(Z, game, _program(Z, value, time_s))
    return _better(Z, game, _on_support(Z, game))


def _program(Z: Array, unit: float, time_s: float) -> Game:
    """max t subject to Za ≥ t·unit, Σa = 1, a ≥ 0."""
    n, m = Z.shape
    cost, rows = np.append(np.zeros(m), -1.0), np.hstack([-Z / unit, np.ones((n, 1))])
    total, bounds = np.append(np.ones(m), 0.0)[None], [(0, None)] * m + [(None, None)]
    began = time.monotonic()
    for method, tolerance in ATTEMPTS:
        options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        if np.isfinite(time_s):
            options["time_limit"] = max(time_s - (time.monotonic() - began), 0.05)
        found = linprog(cost, rows, np.zeros(n), total, [1.0], bounds, method, options=options)
        if found.x is not None and found.status in (0, 1):
            return _game(Z, found.x[:m], -found.ineqlin.marginals)
    raise ConvergenceError(f"linear program: {found.message}")


def _game(Z: Array, a: Array, p: Array) -> Game:
    """The bounds that a and p prove, whatever they are."""
    a, p = _onto_simplex(a), _onto_simplex(p)
    return Game(a, p, float(np.min(Z @ a)), float(np.max(p @ Z)))


def _onto_simplex(weights: Array) -> Array:
    weights = np.maximum(np.nan_to_num(weights), 0.0)
    weights = np.where(weights > ON_SUPPORT * np.max(weights), weights, 0.0)
    total = float(np.sum(weights))
    return weights / total if total > 0 else np.full(weights.size, 1 / weights.size)


def _on_support(Z: Array, game: Game) -> Game | None:
    """At a vertex, (Za)_i = t on the support of p and (Zᵀp)_j = t on that of a: linear systems, solved to rounding."""
    rows, columns = np.flatnonzero(game.p), np.flatnonzero(game.a)
    k = rows.size
    if k != columns.size:
        return None
    corner = np.block([[Z[np.ix_(rows, columns)], -np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
    right = np.append(np.zeros(k), 1.0)
    try:
        mine, theirs = np.linalg.solve(corner, right)[:k], np.linalg.solve(corner.T, right)[:k]
    except np.linalg.LinAlgError:
        return None
    a, p = np.zeros(Z.shape[1]), np.zeros(Z.shape[0])
    a[columns], p[rows] = mine, -theirs if np.sum(theirs) < 0 else theirs
    return _game(Z, a, p) if np.all(np.isfinite(mine)) and np.all(np.isfinite(theirs)) else None


def _better(Z: Array, game: Game, other: Game | None) -> Game:
    """The better side of each."""
    if other is None:
        return game
    first = game if game.lower >= other.lower else other
    second = game if game.upper <= other.upper else other
    return Game(first.a, second.p, first.lower, second.upper)
