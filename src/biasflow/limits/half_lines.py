"""Can labels be reached with prescribed signs? A linear program answers, with a proof either way."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from ..errors import ConvergenceError, InfeasibleError
from ..inputs import Array, Mask

SEPARATION = 1e-7
"""Least ⟨y, g⟩ (with ‖g‖_∞ ≤ 1, unit rows) that counts as a proof: HiGHS' feasibility tolerance."""


def forced_zeros(X: Array, y: Array, signs: Array) -> Mask:
    """Which coordinates vanish in every β with Xβ = y and signs_i·β_i ≥ 0 wherever signs_i ≠ 0.

    The program max Σt, t ≤ 1, signs·β ≥ t, Xβ = λy, λ ≥ 1 has t_i = 0 exactly there. Infeasible labels raise
    an InfeasibleError with a Farkas vector.
    """
    n, d = X.shape
    y = y / (float(np.max(np.abs(y), initial=0.0)) or 1.0)  # HiGHS' tolerances are absolute
    confined = np.flatnonzero(signs)
    k = confined.size
    # variables: β (d), t (k), λ
    equality = np.hstack([X, np.zeros((n, k)), -y[:, None]])
    inequality = np.zeros((k, d + k + 1))
    inequality[np.arange(k), confined] = -signs[confined]
    inequality[np.arange(k), d + np.arange(k)] = 1.0
    cost = np.concatenate([np.zeros(d), -np.ones(k), [0.0]])
    bounds = [(None, None)] * d + [(0, 1)] * k + [(1, None)]
    solution = linprog(cost, A_ub=inequality, b_ub=np.zeros(k), A_eq=equality, b_eq=np.zeros(n), bounds=bounds, method="highs")
    if solution.status == 2:
        raise _infeasible(X, y, signs)
    if solution.status != 0:
        raise ConvergenceError(f"feasibility program: {solution.message}")
    zero = np.zeros(d, dtype=bool)
    zero[confined] = solution.x[d : d + k] < 0.5
    return zero


def _infeasible(X: Array, y: Array, signs: Array) -> InfeasibleError:
    """max ⟨y, g⟩ with ⟨x_i, g⟩ = 0 on free coordinates, signs_i⟨x_i, g⟩ ≤ 0 on confined ones, ‖g‖_∞ ≤ 1."""
    free, confined = signs == 0, np.flatnonzero(signs)
    solution = linprog(
        -y,
        A_ub=(X[:, confined] * signs[confined]).T,
        b_ub=np.zeros(confined.size),
        A_eq=X[:, free].T if np.any(free) else None,
        b_eq=np.zeros(int(np.sum(free))) if np.any(free) else None,
        bounds=[(-1, 1)] * X.shape[0],
        method="highs",
    )
    g = solution.x if solution.status == 0 else np.zeros(X.shape[0])
    reach = float(y @ g)
    return InfeasibleError(
        f"y: labels out of reach with the signs prescribed where alpha is zero ({confined.size} coordinates):"
        f" a vector g separates them, ⟨y, g⟩ = {reach:.3g} > 0 while sign_i⟨x_i, g⟩ ≤ 0 for all of them",
        g if reach > SEPARATION else np.full(X.shape[0], np.nan),
    )
