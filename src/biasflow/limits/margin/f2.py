"""F2 max margins: the limit of training the output layer (C, eq. 5 and §5)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...inputs import Array, labels, matrix, one_of, positive_int
from ...models import augmented
from ...records import Certificate, Limit
from .classifiers import ACTIVATIONS, FeatureClassifier, KernelClassifier, activate, arc_cosine_kernel
from .nearest import kernel_max_margin, l2_max_margin
from .reading import Labelled, read_labelled

STREAM = 5
"""Start of the random stream, so that data drawn with the same key are independent of the first layer."""


def f2_max_margin(
    X: ArrayLike, y: ArrayLike, *, activation: str = "relu", features: int | ArrayLike | None = None, key: int = 0
) -> Limit[Any]:
    """γ₂ = max_{‖f‖_{F2} ≤ 1} min_i y_if(x_i): a hard-margin SVM with the arc-cosine kernel (C, eq. 5).

    X (n, d) without the bias column, y = ±1. activation: 'relu' or 'squared_relu'. value: a `KernelClassifier` of norm one. With
    `features`, γ₂^(m) instead: m neurons drawn uniformly on the sphere with `key`, or the rows u_j (m, d+1) given; value: a
    `FeatureClassifier` with √m‖a‖₂ = 1 (C, Proposition 7). stats: weights p on the samples, support, separable, and a note where
    the margin is zero.
    """
    one_of("activation", activation, ACTIVATIONS)
    key = positive_int("key", key, least=0)
    X = matrix("X", X)
    y = labels("y", y, X.shape[0])
    data = read_labelled(X, y)
    if data.conflict is not None:
        return _zero(data, X, activation)
    if features is None:
        found = kernel_max_margin(arc_cosine_kernel(X, None, activation), y)
        value: Any = KernelClassifier(X, found.value, activation)
    else:
        directions = _first_layer(features, X.shape[1] + 1, key)
        found = l2_max_margin(y[:, None] * activate(augmented(X) @ directions.T, activation))
        value = FeatureClassifier(directions, found.value, activation)
    note = "" if found.stats["separable"] else "the classes are not separated: the margin is zero to rounding"
    return Limit(value, found.objective, found.certificate, {**found.stats, "note": note})


def _first_layer(features: int | ArrayLike, dim: int, key: int) -> Array:
    if not isinstance(features, (int, np.integer)):
        directions = matrix("features", features)
        if directions.shape[1] != dim:
            raise InputError(f"features: expected rows (m, {dim}), the bias coordinate last, found {directions.shape}")
        return directions
    rng = np.random.default_rng([STREAM, key])
    drawn = rng.standard_normal((positive_int("features", features), dim))
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


def _zero(data: Labelled, X: Array, activation: str) -> Limit[Any]:
    p = data.conflict_weights
    stats = {"weights": p, "support": np.flatnonzero(p), "separable": False, "note": data.note}
    value = KernelClassifier(X, np.zeros(p.size), activation)
    return Limit(value, 0.0, Certificate(0.0, 0.0, 0.0, "exact"), stats)
