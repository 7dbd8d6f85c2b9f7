"""Kernel classifiers as values: the arc-cosine kernels of wide networks, and networks with random
first layers (C, eq. 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, Index, labels, one_of, row_lengths
from ..._core.facts import record_line
from ...errors import InputError
from ...models import augmented

ACTIVATIONS = ("relu", "squared_relu")


def activate(values: Array, activation: str) -> Array:
    """σ(t) = (t)₊ or (t)₊²."""
    positive = np.maximum(values, 0.0)
    return positive if activation == "relu" else positive**2


def arc_cosine_kernel(
    X: ArrayLike, other: ArrayLike | None = None, activation: str = "relu"
) -> Array:
    """k(x, x') = E_τ[σ(⟨u, (x,1)⟩)σ(⟨u, (x',1)⟩)], u uniform on the sphere of R^{d+1} (C, eq. 5;
    Cho & Saul, 2009).

    With θ the angle of the two augmented inputs and p = d + 1: ‖·‖‖·'‖(sin θ + (π−θ)cos θ)/(2πp)
    for a ReLU, ‖·‖²‖·'‖²(3 sin θ cos θ + (π−θ)(1 + 2cos²θ))/(2πp(p+2)) for a squared ReLU.

    Parameters
    ----------
    X : array of shape (n, d)
    other : array of shape (n', d), optional
        X itself where it is not given.
    activation : {'relu', 'squared_relu'}

    Returns
    -------
    array of shape (n, n')

    Examples
    --------
    >>> bf.limits.arc_cosine_kernel([[0.0], [1.0]]).round(4)
    array([[0.25  , 0.2671],
           [0.2671, 0.5   ]])
    """
    K = kernel_in_floats(X, other, activation)
    if not np.all(np.isfinite(K)):
        raise InputError("X: the kernel of these inputs is beyond float range; scale them")
    return K


def kernel_in_floats(
    X: ArrayLike, other: ArrayLike | None = None, activation: str = "relu"
) -> Array:
    """As `arc_cosine_kernel`, infinite where it overflows."""
    one_of("activation", activation, ACTIVATIONS)
    A = augmented(X)
    return kernel_of_rows(A, A if other is None else augmented(other, A.shape[1] - 1), activation)


def kernel_of_rows(A: Array, B: Array, activation: str = "relu") -> Array:
    """The same of inputs with their bias coordinate, or of others that have none."""
    lengths, others = row_lengths(A)[:, None], row_lengths(B)[None]
    theta = _angles(A / lengths, B / others.T)
    p, cosine = A.shape[1], np.cos(theta)
    with np.errstate(over="ignore"):
        if activation == "relu":
            K = lengths * others * (np.sin(theta) + (np.pi - theta) * cosine) / (2 * np.pi * p)
        else:
            shape = 3 * np.sin(theta) * cosine + (np.pi - theta) * (1 + 2 * cosine**2)
            K = (lengths * others) ** 2 * shape / (2 * np.pi * p * (p + 2))
    return K


def _angles(A: Array, B: Array) -> Array:
    """θ = 2·atan2(‖a − b‖, ‖a + b‖) for unit rows, accurate near zero and π."""
    minus = np.sqrt(np.maximum(_squared_distances(A, B), 0.0))
    plus = np.sqrt(np.maximum(_squared_distances(A, -B), 0.0))
    return 2 * np.arctan2(minus, plus)


def _squared_distances(A: Array, B: Array) -> Array:
    total = np.zeros((A.shape[0], B.shape[0]))
    for k in range(A.shape[1]):
        total += np.subtract.outer(A[:, k], B[:, k]) ** 2
    return total


@dataclass(frozen=True, eq=False)
class KernelClassifier:
    """f(x) = Σ_i c_ik(x_i, x) with an arc-cosine kernel. points: x (k, d), without the bias column;
    coefficients: c (k,)."""

    points: Array
    coefficients: Array
    activation: str = "relu"

    def __repr__(self) -> str:
        return record_line(self)

    def __call__(self, X: ArrayLike) -> Array:
        """f at the rows of X, (n,)."""
        return arc_cosine_kernel(X, self.points, self.activation) @ self.coefficients

    @property
    def norm(self) -> float:
        """‖f‖_{F2} = √(cᵀKc)."""
        square = float(
            self.coefficients
            @ arc_cosine_kernel(self.points, None, self.activation)
            @ self.coefficients
        )
        return math.sqrt(max(square, 0.0))

    @property
    def support(self) -> Index:
        """The points that carry a coefficient."""
        return np.flatnonzero(self.coefficients)

    def margin(self, X: ArrayLike, y: ArrayLike) -> float:
        """min_i y_if(x_i)/‖f‖, zero for f = 0."""
        return _margin(self(X), y, self.norm)


@dataclass(frozen=True, eq=False)
class FeatureClassifier:
    """f(x) = Σ_j a_jσ(⟨u_j, (x,1)⟩) with a fixed first layer. directions: u (m, d+1), bias last;
    weights: a (m,)."""

    directions: Array
    weights: Array
    activation: str = "relu"

    def __repr__(self) -> str:
        return record_line(self)

    def features(self, X: ArrayLike) -> Array:
        """σ(⟨u_j, (x_i,1)⟩), (n, m)."""
        return activate(
            augmented(X, self.directions.shape[1] - 1) @ self.directions.T, self.activation
        )

    def __call__(self, X: ArrayLike) -> Array:
        """f at the rows of X, (n,)."""
        return self.features(X) @ self.weights

    @property
    def norm(self) -> float:
        """√m‖a‖₂, the norm of the density g = ma in L²(τ_m) (C, §5)."""
        return float(np.sqrt(self.weights.size) * np.linalg.norm(self.weights))

    @property
    def support(self) -> Index:
        """The neurons that carry a weight."""
        return np.flatnonzero(self.weights)

    def margin(self, X: ArrayLike, y: ArrayLike) -> float:
        """min_i y_if(x_i)/‖f‖, zero for f = 0."""
        return _margin(self(X), y, self.norm)


def _margin(values: Array, y: ArrayLike, norm: float) -> float:
    signed = labels("y", y, values.size) * values
    return float(np.min(signed)) / norm if norm > 0 else 0.0
