"""Distances between clouds of neurons: how close networks of different widths are to one another
(C, Theorem 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist

from .._core.arguments import Array, matrix
from ..errors import ConvergenceError, InputError

MOST_ASSIGNED = 4096
"""Points of the larger cloud up to which an assignment takes seconds."""
MOST_PAIRS = 100_000
"""Pairs of points up to which the linear program does, where neither size divides the other."""


def transport_distance(cloud: ArrayLike, other: ArrayLike) -> float:
    """W₂ between the empirical measures (1/m)Σδ of the rows of two clouds, exact.

    An assignment where one size divides the other, a linear program otherwise.

    Parameters
    ----------
    cloud : array of shape (m, p)
    other : array of shape (k, p)

    Returns
    -------
    float

    Raises
    ------
    InputError
        Of clouds too large for either.

    Examples
    --------
    >>> bf.diagnostics.transport_distance([[0.0], [1.0]], [[1.0], [2.0]])
    1.0
    """
    cloud, other = matrix("cloud", cloud), matrix("other", other)
    if cloud.shape[1] != other.shape[1]:
        raise InputError(
            f"other: expected points of dimension {cloud.shape[1]}, found {other.shape[1]}"
        )
    small, large = sorted((cloud, other), key=len)
    unit = max(float(np.max(np.abs(large))), float(np.max(np.abs(small))), np.finfo(float).tiny)
    cost = cdist(large / unit, small / unit, "sqeuclidean")
    return unit * float(
        np.sqrt(_assigned(cost) if len(large) % len(small) == 0 else _programmed(cost))
    )


def _assigned(cost: Array) -> float:
    m, k = cost.shape
    if m > MOST_ASSIGNED:
        raise InputError(
            f"cloud: an assignment of {m} points takes too long; at most {MOST_ASSIGNED}, found "
            f"{m} and {k}"
        )
    cost = np.repeat(cost, m // k, axis=1)
    return float(np.mean(cost[linear_sum_assignment(cost)]))


def _programmed(cost: Array) -> float:
    import scipy.sparse as sp

    m, k = cost.shape
    if m * k > MOST_PAIRS:
        raise InputError(
            f"cloud: {m} and {k} points make {m * k} pairs, at most {MOST_PAIRS} where neither "
            "size divides the other; take clouds of which one is a multiple of the other"
        )
    rows = sp.vstack(
        [sp.kron(sp.eye(m), np.ones((1, k))), sp.kron(np.ones((1, m)), sp.eye(k))]
    ).tocsr()
    sums = np.concatenate([np.full(m, 1 / m), np.full(k, 1 / k)])
    found = linprog(cost.ravel(), A_eq=rows, b_eq=sums, bounds=(0, None), method="highs")
    if found.status != 0:
        raise ConvergenceError(f"transport_distance: {found.message}")
    return max(float(found.fun), 0.0)
