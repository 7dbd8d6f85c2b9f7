"""What a limit predicts at inputs as they were given to it: `Limit.predictor` of values that are no
functions themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array
from ..models import TwoLayerParams, augmented


def relu_network(params: TwoLayerParams, X: Array) -> Array:
    """Σ_j a_j(⟨w_j, x⟩)₊, for any number of neurons."""
    return np.maximum(X @ params.W.T, 0.0) @ params.a


def relu_network_with_bias(params: TwoLayerParams, X: Array) -> Array:
    """The same of (x, 1)."""
    return relu_network(params, augmented(X))


def affine(beta: Array, X: Array) -> Array:
    """⟨β, (x, 1)⟩."""
    return augmented(X) @ beta


def without_column(function: Any, X: Array) -> Array:
    """A function of x at inputs (x, 1)."""
    return np.asarray(function(X[:, :-1]))


def squared_relus(value: tuple[Array, Array, Array], X: Array) -> Array:
    """Σ_j mass_j·ε_j(⟨u_j, (x, 1)⟩)₊²."""
    directions, signs, masses = value
    return np.maximum(augmented(X) @ directions.T, 0.0) ** 2 @ (signs * masses)
