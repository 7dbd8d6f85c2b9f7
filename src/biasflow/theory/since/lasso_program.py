"""The least value of ½‖Xβ − y‖² + λ‖β‖₁, by a route that shares nothing with a flow.

Its dual asks for the point of {θ: |Xᵀθ| ≤ λ} nearest to y: a least-distance program, which is a
non-negative least-squares problem (Lawson and Hanson 1974, chapter 23), solved by active sets.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..._core.arguments import Array


def lasso_solution(X: Array, y: Array, penalty: float) -> Array:
    """argmin ½‖Xβ − y‖² + λ‖β‖₁, as well as the program is solved."""
    size, d = float(np.linalg.norm(y)) or 1.0, X.shape[1]
    y, penalty = y / size, penalty / size
    pulls = X.T @ y
    bounds = np.concatenate([pulls - penalty, -pulls - penalty])
    stacked = np.vstack([np.hstack([-X, X]), bounds])
    aim = np.append(np.zeros(len(y)), 1.0)
    found, _ = nnls(stacked, aim, maxiter=100 * d + 100)
    return np.asarray(size * (found[:d] - found[d:]) / (1 - float(bounds @ found)))


def least_objective(X: Array, y: Array, penalty: float) -> tuple[float, float]:
    """(lower, upper) bounds on the least value: of the dual at a feasible point, of the objective
    at the β that was found."""
    beta = lasso_solution(X, y, penalty)
    left = y - X @ beta
    pull = max(float(np.max(np.abs(X.T @ left))), np.finfo(float).tiny)
    theta = left * min(1.0, penalty / pull)
    return float(y @ theta - 0.5 * theta @ theta), objective(X, y, beta, penalty)


def objective(X: Array, y: Array, beta: Array, penalty: float) -> float:
    return 0.5 * float(np.sum((X @ beta - y) ** 2)) + penalty * float(np.sum(np.abs(beta)))
