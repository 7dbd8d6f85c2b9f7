"""A least-squares problem with an intercept as a smaller one without, by orthogonal maps alone:
gradient flow of the coefficients is the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Reduced:
    """‖Aβ − b‖² is the loss but for a constant; an intercept is offset − ⟨mean, β⟩.

    solution: the only β of least loss, None where there are others.
    """

    A: Array
    b: Array
    mean: Array
    offset: float
    solution: Array | None


def reduced(X: Array, y: Array, intercept: bool) -> Reduced:
    """Equal inputs as one, the intercept at its best, no more rows than columns."""
    inputs, labels, counts = averaged(X, y)
    mean, offset = np.zeros(X.shape[1]), 0.0
    if intercept:
        (A, mean), (b, level) = centred(inputs, counts), centred(labels, counts)
        A, b, offset = contrasted(A, counts), contrasted(b, counts), float(level)
    else:
        A, b = np.sqrt(counts)[:, None] * inputs, np.sqrt(counts) * labels
    lengths = np.sqrt(len(X)) * np.max(np.abs(X), axis=0)
    return Reduced(*_condensed(A, b, lengths, len(X), mean, offset))


def averaged(X: Array, y: Array) -> tuple[Array, Array, Array]:
    """Distinct inputs in the order in which they come, the mean of the labels of each, and how many
    there were."""
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    counts = np.bincount(group.ravel()).astype(float)
    order = np.argsort(first)
    if len(order) == len(X):
        return X, y, counts
    means = np.bincount(group.ravel(), y) / counts
    return X[first[order]], means[order], counts[order]


def centred(Z: Array, counts: Array) -> tuple[Array, Array]:
    """(Z less its mean, the mean), columns that are constant exactly zero."""
    mean = np.tensordot(counts, Z, 1) / np.sum(counts)
    mean = np.where(np.ptp(Z, axis=0) == 0, Z[0], mean)
    return Z - mean, mean


def contrasted(Z: Array, counts: Array) -> Array:
    """The n − 1 contrasts (m_k − z_{k+1})·√(C_kc_{k+1}/C_{k+1}) of the rows of Z (n, …), m_k the
    mean of the first k with their counts c, C_k the sum of these.

    Their squares add up to those of the distances from the mean (for counts of one they are
    Helmert's), and rows stay independent, while those of a centred Z sum to zero, which rounding
    hides. One sample has no contrast: a row of zeros.
    """
    if len(Z) == 1:
        return np.zeros_like(Z)
    shape = (-1, *[1] * (Z.ndim - 1))
    total = np.cumsum(counts)
    means = np.cumsum(counts.reshape(shape) * Z, axis=0)[:-1] / total[:-1].reshape(shape)
    weights = np.sqrt(total[:-1] * counts[1:] / total[1:])
    return np.asarray(weights.reshape(shape) * (means - Z[1:]))


def _condensed(
    A: Array, b: Array, lengths: Array, n: int, mean: Array, offset: float
) -> tuple[Array, Array, Array, float, Array | None]:
    """(R, Qᵀb) with A = QR where A has more rows than columns.

    Householder's Q leaves units of columns alone: an error of R is a share of its own column, as it
    came, some n roundings of its length; rows that are below that everywhere are zero. Long columns
    go first, so that rows of R, each of its own size, are far from parallel.
    """
    d = A.shape[1]
    if len(A) <= d:
        return A, b, mean, offset, None
    Q, R, order = sl.qr(A, mode="economic", pivoting=True)
    doubt = max(n, d) * EPS * lengths[order]
    rank = int(np.max(np.flatnonzero(np.any(np.abs(R) > doubt, axis=1)), initial=-1)) + 1
    place, target = np.argsort(order), Q.T @ b
    if rank == d:
        solution = sl.solve_triangular(R, target)[place]
        return R[:, place], target, mean, offset, solution
    kept = max(rank, 1)
    rows = R[:kept] if rank else np.zeros((1, d))
    return rows[:, place], target[:kept] if rank else np.zeros(1), mean, offset, None
