"""Can labels be reached with prescribed signs? A linear program answers, with a proof either
way."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from .._core.arguments import Array, Mask
from .._numerics.interrupts import apart
from ..errors import ConvergenceError, InfeasibleError

SEPARATION = 1e-7
"""Least ⟨y, g⟩ over the sum of its terms that counts as a proof: HiGHS' feasibility tolerance."""


SWEEPS = 4
"""Times that rows and columns are scaled in turn."""
SHOWN = 1e-9
"""Of the sum of its terms, up to which a product counts as zero: rounding of a program's
solution."""


def forced_zeros(X: Array, y: Array, signs: Array) -> Mask:
    """Which coordinates vanish in every β with Xβ = y and signs_i·β_i ≥ 0 wherever signs_i ≠ 0.

    The program max Σt, t ≤ 1, signs·β ≥ t, Xβ = λy, λ ≥ 1 has t_i = 0 exactly there. It does not
    depend on units of rows and
    columns, and is solved in units in which entries are near one: HiGHS drops those below 1e-9.
    Infeasible labels raise an InfeasibleError with a Farkas vector.
    """
    n, d = X.shape
    scaled, rows = _in_own_units(np.hstack([X, y[:, None]]))
    confined = np.flatnonzero(signs)
    k = confined.size
    # variables: β (d), t (k), λ
    equality = np.hstack([scaled[:, :d], np.zeros((n, k)), -scaled[:, d:]])
    inequality = np.zeros((k, d + k + 1))
    inequality[np.arange(k), confined] = -signs[confined]
    inequality[np.arange(k), d + np.arange(k)] = 1.0
    cost = np.concatenate([np.zeros(d), -np.ones(k), [0.0]])
    bounds = [(None, None)] * d + [(0, 1)] * k + [(1, None)]
    solution = apart(
        linprog,
        cost,
        A_ub=inequality,
        b_ub=np.zeros(k),
        A_eq=equality,
        b_eq=np.zeros(n),
        bounds=bounds,
        method="highs",
    )
    if solution.status == 2:
        raise _infeasible(X, y, signs, scaled, rows)
    if solution.status != 0:
        raise ConvergenceError(f"feasibility program: {solution.message}")
    zero = np.zeros(d, dtype=bool)
    zero[confined] = solution.x[d : d + k] < 0.5
    return zero


def _in_own_units(A: Array) -> tuple[Array, Array]:
    """(A with rows and columns times powers of two that bring its entries near one, the rows'
    powers)."""
    size = np.abs(A)
    with np.errstate(divide="ignore"):
        logs = np.where(size > 0, np.log2(size), np.nan)
    rows, columns = np.zeros((len(A), 1)), np.zeros((1, A.shape[1]))
    for _ in range(SWEEPS):
        rows = -_middle(logs + columns, 1)
        columns = -_middle(logs + rows, 0)
    powers = np.round(rows).astype(int)
    return np.ldexp(np.ldexp(A, powers), np.round(columns).astype(int)), powers[:, 0]


def _middle(logs: Array, axis: int) -> Array:
    """Half way between the least and the largest; zero where there is nothing."""
    held = ~np.all(np.isnan(logs), axis=axis, keepdims=True)
    low = np.min(np.where(np.isnan(logs), np.inf, logs), axis=axis, keepdims=True)
    high = np.max(np.where(np.isnan(logs), -np.inf, logs), axis=axis, keepdims=True)
    return np.where(held, (np.where(held, low, 0.0) + np.where(held, high, 0.0)) / 2, 0.0)


def _infeasible(X: Array, y: Array, signs: Array, scaled: Array, rows: Array) -> InfeasibleError:
    """max ⟨y, g⟩ with ⟨x_i, g⟩ = 0 on free coordinates, signs_i⟨x_i, g⟩ ≤ 0 on confined ones, ‖g‖_∞
    ≤ 1, in those units."""
    free, confined = signs == 0, np.flatnonzero(signs)
    inner, target = scaled[:, :-1], scaled[:, -1]
    solution = apart(
        linprog,
        -target,
        A_ub=(inner[:, confined] * signs[confined]).T,
        b_ub=np.zeros(confined.size),
        A_eq=inner[:, free].T if np.any(free) else None,
        b_eq=np.zeros(int(np.sum(free))) if np.any(free) else None,
        bounds=[(-1, 1)] * X.shape[0],
        method="highs",
    )
    g = np.ldexp(solution.x, rows) if solution.status == 0 else np.zeros(X.shape[0])
    largest = float(np.max(np.abs(g))) or 1.0
    g = g / largest
    reach = float(y @ g) / (float(np.max(np.abs(y), initial=0.0)) or 1.0)
    if not _separates(X, y, signs, g):
        words = (
            "y: labels seem out of reach with the signs prescribed where alpha is zero "
            f"({confined.size} coordinates)"
        )
        return InfeasibleError(f"{words}, which floats cannot show", np.full(X.shape[0], np.nan))
    return InfeasibleError(
        f"y: labels out of reach with the signs prescribed where alpha is zero ({confined.size} "
        "coordinates):"
        f" a vector g separates them, ⟨y, g⟩ = {reach:.3g} > 0 while sign_i⟨x_i, g⟩ ≤ 0 for all "
        "of them",
        g,
    )


def _separates(X: Array, y: Array, signs: Array, g: Array) -> bool:
    """Whether g proves it, each product up to the rounding of its own terms."""
    products, terms = g @ X, np.abs(g) @ np.abs(X)
    allowed = np.where(signs == 0, np.abs(products), signs * products) <= SHOWN * terms
    return bool(np.all(allowed) and float(y @ g) > SEPARATION * float(np.abs(y) @ np.abs(g)))
