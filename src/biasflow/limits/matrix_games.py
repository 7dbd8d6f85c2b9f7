"""Matrix games: max over the simplex of the least entry of Za, by linear programming."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from .._core.arguments import Array, matrix, positive_float
from .._core.results import Certificate, Limit
from .._numerics.exact_sums import as_integers, rounded_down
from .._numerics.interrupts import apart
from ..errors import ConvergenceError
from .rational_games import exact_game, shares

ATTEMPTS = (("highs", 1e-10), ("highs-ipm", 1e-8))
"""HiGHS with its tightest tolerance first; where it gives up, a looser one: the bounds are computed
afresh."""
ON_SUPPORT = 1e-12
"""Share below which an entry of a vertex counts as zero."""
LEAST_UNIT = 1e-9
"""Least unit, relative to the largest entry: HiGHS refuses entries that are too large."""
EPS = float(np.finfo(float).eps)
SET_UP_S, INTEGERS_S = 2.5e-7, 1.2e-6
"""Seconds for each entry in which HiGHS is handed a program, and in which bounds are evaluated in
integers."""
EXACT = 1e-6
"""Relative width of a bracket up to which it counts as the number itself; a game whose value is
zero to rounding has a bound."""
SMALL = 1e-3
"""Value, relative to the largest entry, below which the program is solved again in units of its
value."""


@dataclass(frozen=True, eq=False)
class Game:
    """a (m,) and p (n,) in the simplices: lower = min_i(Za)_i ≤ value ≤ max_j(Zᵀp)_j = upper."""

    a: Array
    p: Array
    lower: float
    upper: float


def l1_max_margin(Z: ArrayLike, *, time_s: float = 60.0) -> Limit[Array]:
    """γ₁^(m) = max_{a ≥ 0, Σa = 1} min_i (Za)_i for signed features z_ij = y_iφ(θ_j, x_i) (C,
    Proposition 6).

    In the certificate p in the simplex proves γ₁^(m) ≤ max_j(Zᵀp)_j; both bounds hold for Z as it
    is given, evaluated in integers. Where float64 has too few digits and the game is small it is
    solved in rationals: the bracket is then that of the optimum, and residual by which share of it
    a, in floats, falls short. Features that do not separate have γ₁^(m) ≤ 0.

    Parameters
    ----------
    Z : array of shape (n, m)
    time_s : float
        Seconds after which the bracket is what is known by then.

    Returns
    -------
    Limit
        value: a (m,). stats: weights p on the samples, support of a, separable (None where the
        bracket has zero inside).

    Examples
    --------
    >>> best = bf.limits.l1_max_margin([[1.0, 0.0], [0.0, 3.0]])
    >>> print(round(best.objective, 6), best.value.round(6))
    0.75 [0.75 0.25]
    """
    Z = matrix("Z", Z)
    end = time.monotonic() + positive_float("time_s", time_s)
    game = _proposed(Z, end)
    late = end - time.monotonic() < INTEGERS_S * Z.size
    lower, upper = (float_bounds if late else exact_bounds)(Z, game.a, game.p)
    residual = 0.0
    if not (late or _narrow(lower, upper)):
        found = exact_game(as_integers(Z).entries, end)
        if found is not None:
            game = replace(game, a=shares(found.a), p=shares(found.p))
            value, reached = (
                found.value * Fraction(2) ** as_integers(Z).exponent,
                exact_bounds(Z, game.a, game.p)[0],
            )
            lower, upper = rounded_down(value), 0.0 - rounded_down(-value)
            residual = min(max(lower - reached, 0.0) / abs(lower), 1.0) if lower else 0.0
    stats = {
        "weights": game.p,
        "support": np.flatnonzero(game.a > 0),
        "separable": True if lower > 0 else False if upper <= 0 else None,
    }
    return Limit(
        game.a,
        lower,
        Certificate(lower, upper, residual, "exact" if _narrow(lower, upper) else "bound"),
        stats,
    )


def _narrow(lower: float, upper: float) -> bool:
    return upper - lower <= EXACT * max(abs(lower), abs(upper))


def _proposed(Z: Array, deadline: float) -> Game:
    """What float64 says, uniform weights where it gives up."""
    try:
        return solve_game(Z, deadline=deadline)
    except ConvergenceError:
        return Game(
            np.full(Z.shape[1], 1 / Z.shape[1]),
            np.full(Z.shape[0], 1 / Z.shape[0]),
            -np.inf,
            np.inf,
        )


def exact_bounds(Z: Array, a: Array, p: Array) -> tuple[float, float]:
    """min_i(Za)_i/Σa and max_j(Zᵀp)_j/Σp, a and p being floats of at least zero: in integers,
    rounded outwards."""
    columns, rows = np.flatnonzero(a), np.flatnonzero(p)
    least = _exact_least(Z[:, columns], a[columns])
    return rounded_down(least), -rounded_down(_exact_least(-Z[rows].T, p[rows]))


def float_bounds(Z: Array, a: Array, p: Array) -> tuple[float, float]:
    """The same with the rounding of float64 taken off, where there is no time for integers."""
    return _float_least(Z, a), -_float_least(-Z.T, p)


def _float_least(part: Array, weights: Array) -> float:
    size = np.abs(part) @ weights
    least = float(np.min(part @ weights - (weights.size + 4) * EPS * size))
    return least / float(np.sum(weights)) - 4 * EPS * abs(least)


def _exact_least(part: Array, weights: Array) -> Fraction:
    """The least entry of part·weights/Σweights: in integers for the rows that float64 cannot tell
    from it."""
    values, doubts = part @ weights, (weights.size + 2) * EPS * (np.abs(part) @ weights)
    near = np.flatnonzero(~(values - doubts > np.min(values + doubts)))
    entries, shares = as_integers(part[near]), as_integers(weights)
    least = Fraction(int(min(entries.entries @ shares.entries)), int(np.sum(shares.entries)))
    return least * Fraction(2) ** entries.exponent


def solve_game(Z: Array, unit: float | None = None, deadline: float = math.inf) -> Game:
    """Both sides' optimal strategies, or the best met before the deadline, by time.monotonic().
    unit: an estimate of the value, to scale by."""
    size = float(np.max(np.abs(Z)))
    if size == 0:
        return Game(
            np.full(Z.shape[1], 1 / Z.shape[1]), np.full(Z.shape[0], 1 / Z.shape[0]), 0.0, 0.0
        )
    game = _program(Z, max(unit or size, LEAST_UNIT * size), deadline)
    value = max(abs(game.lower), abs(game.upper))
    small = unit is None and LEAST_UNIT * size < value < SMALL * size
    if small and time.monotonic() < deadline:
        game = _better(Z, game, _program(Z, value, deadline))
    return _better(Z, game, _on_support(Z, game))


def _program(Z: Array, unit: float, deadline: float) -> Game:
    """max t subject to Za ≥ t·unit, Σa = 1, a ≥ 0."""
    n, m = Z.shape
    cost, rows = np.append(np.zeros(m), -1.0), np.hstack([-Z / unit, np.ones((n, 1))])
    total, bounds = np.append(np.ones(m), 0.0)[None], [(0, None)] * m + [(None, None)]
    for method, tolerance in ATTEMPTS:
        options = {
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
        if deadline < math.inf:
            left = deadline - time.monotonic() - SET_UP_S * Z.size
            if left < 0:
                raise ConvergenceError("linear program: no time to set it up")
            options["time_limit"] = max(left, 0.05)
        found = apart(
            linprog, cost, rows, np.zeros(n), total, [1.0], bounds, method, options=options
        )
        if found.x is not None and found.status in (0, 1):
            return _game(Z, found.x[:m], -found.ineqlin.marginals)
        if time.monotonic() > deadline:
            break
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
    """At a vertex, (Za)_i = t on the support of p and (Zᵀp)_j = t on that of a: linear systems,
    solved to rounding."""
    rows, columns = np.flatnonzero(game.p), np.flatnonzero(game.a)
    k = rows.size
    if k != columns.size:
        return None
    corner = np.block(
        [[Z[np.ix_(rows, columns)], -np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]]
    )
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
