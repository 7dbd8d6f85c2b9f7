"""F2 max margins: the limit of training the output layer (C, eq. 5 and §5)."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, labels, matrix, one_of, positive_float, positive_int
from ..._core.problems import dataset
from ..._core.progress import doing
from ..._core.results import Certificate, Limit
from ...errors import InputError
from ...models import augmented
from ..hard_margins import OUTWARD, UNIT, certificate_of, l2_max_margin, statistics_of
from ..hull import HullBracket
from ..predicting import without_column
from .arc_cosine import f2_bracket
from .kernel_classifiers import ACTIVATIONS, FeatureClassifier, KernelClassifier, activate
from .labelled_inputs import Labelled, read_labelled, without_bias

STREAM = 5
"""Start of the random stream, so that data drawn with the same key are independent of the first
layer."""

MOST_NUMBERS = 2**28
"""Numbers in the first layer, or in the features, that are drawn here at most: 2 GiB each."""


@doing("largest margin in F2")
def f2_max_margin(
    X: ArrayLike,
    y: ArrayLike,
    *,
    activation: str = "relu",
    features: int | ArrayLike | None = None,
    key: int = 0,
    time_s: float = 60.0,
    bias: str = "append",
) -> Limit[Any]:
    """γ₂ = max_{‖f‖_{F2} ≤ 1} min_i y_if(x_i): a hard-margin SVM with the arc-cosine kernel (C, eq.
    5).

    The certificate is primal ≤ γ₂ ≤ dual as in `kernel_max_margin`, but from the inputs as they are
    given, without rounding, to as many digits as it takes: offsets and units cost time, not truth.
    kind 'exact': within 1e-6; 'bound': time_s ran out before. Where γ₂² is below 1e-10 of the
    largest k(x, x), float64 cannot hold the classifier's coefficients well enough to show its
    margin: the certificate then has more digits than they.

    Parameters
    ----------
    X : array of shape (n, d)
        Without the bias column, or with bias='column' its last one.
    y : array of shape (n,)
        Labels ±1.
    activation : {'relu', 'squared_relu'}
    features : int or array of shape (m, d+1), optional
        γ₂^(m) instead: m neurons drawn uniformly on the sphere with `key`, or the rows u_j given.
    key : int
    time_s : float
    bias : {'append', 'column'}

    Returns
    -------
    Limit
        value: a `limits.KernelClassifier` of norm one; with features a `limits.FeatureClassifier`
        with √m‖a‖₂ = 1 (C, Proposition 7). stats: weights p on the samples, support, separable (γ₂
        is zero only for equal inputs of opposite labels), note, data (the samples, which `plot()`
        draws where they lie in a plane).

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]
    >>> best = bf.limits.f2_max_margin(X, y)
    >>> print(round(best.objective, 4), best.certificate.kind)
    0.0478 exact
    >>> best.stats["weights"].round(3)
    array([0.263, 0.243, 0.247, 0.247])
    """
    one_of("activation", activation, ACTIVATIONS)
    key, time_s = positive_int("key", key, least=0), positive_float("time_s", time_s)
    inputs = without_bias(X, bias)
    y = labels("y", y, inputs.shape[0])
    found = _largest(inputs, y, activation, features, key, time_s)
    found = dataclasses.replace(found, stats={**found.stats, "data": dataset((X, y))})
    return dataclasses.replace(found, predictor=without_column) if bias == "column" else found


def _largest(
    X: Array, y: Array, activation: str, features: Any, key: int, time_s: float
) -> Limit[Any]:
    data = read_labelled(X, y)
    directions = None if features is None else _first_layer(features, X.shape[1] + 1, len(X), key)
    if data.conflict is not None:
        nothing = np.zeros(y.size if directions is None else len(directions))
        return _zero(
            data,
            KernelClassifier(X, nothing, activation)
            if directions is None
            else FeatureClassifier(directions, nothing, activation),
        )
    if directions is None:
        return _kernel_margin(X, y, activation, time.monotonic() + time_s)
    found = l2_max_margin(
        y[:, None] * activate(augmented(X) @ directions.T, activation), time_s=time_s
    )
    value = FeatureClassifier(directions, found.value, activation)
    return _rounded_features(
        Limit(value, found.objective, found.certificate, found.stats), X, directions, activation
    )


def _rounded_features(
    found: Limit[Any], X: Array, directions: Array, activation: str
) -> Limit[Any]:
    """The bracket moved outwards by what rounding of ⟨u_j, (x_i, 1)⟩, (d + 2)u·‖u_j‖‖(x_i, 1)‖, can
    do to γ₂^(m).

    A feature vector b_i that is off by e_i moves every margin by ‖e_i‖/√m at most, whatever f of
    norm one.
    """
    rows = augmented(X)
    size = float(np.max(np.abs(rows)))
    longest, widest = (
        size * float(np.max(np.linalg.norm(rows / size, axis=1))),
        np.linalg.norm(directions, axis=1),
    )
    doubt = (X.shape[1] + 3) * UNIT * longest * widest
    if activation == "squared_relu":
        doubt = doubt * 3 * longest * widest
    moved = float(np.linalg.norm(doubt)) / np.sqrt(len(directions)) * (1 + OUTWARD)
    lower, upper = max(found.certificate.primal - moved, 0.0), found.certificate.dual + moved
    bracket = HullBracket(found.stats["weights"], lower, upper)
    return Limit(found.value, lower, certificate_of(bracket), statistics_of(bracket))


def _kernel_margin(X: Array, y: Array, activation: str, deadline: float) -> Limit[Any]:
    found = f2_bracket(X, y, activation, deadline)
    c = found.p * y / found.upper if found.lower > 0 else np.zeros(y.size)
    stats = {**statistics_of(found), "separable": True}
    if found.lower == 0:
        stats["note"] = (
            "the inputs are distinct, so that the margin is positive; time ran out before a lower "
            "bound was found"
        )
    return Limit(KernelClassifier(X, c, activation), found.lower, certificate_of(found), stats)


def _first_layer(features: int | ArrayLike, dim: int, samples: int, key: int) -> Array:
    if not isinstance(features, (int, np.integer)):
        directions = matrix("features", features)
        if directions.shape[1] != dim:
            raise InputError(
                f"features: expected rows (m, {dim}), the bias coordinate last, found "
                f"{directions.shape}"
            )
        return directions
    rng, count = np.random.default_rng([STREAM, key]), positive_int("features", features)
    if count * max(dim, samples) > MOST_NUMBERS:
        raise InputError(
            f"features: {count:,} neurons of {samples} samples take more than the "
            f"{MOST_NUMBERS:,} numbers there is room for"
        )
    drawn = rng.standard_normal((count, dim))
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


def _zero(data: Labelled, value: Any) -> Limit[Any]:
    p = data.conflict_weights
    stats = {"weights": p, "support": np.flatnonzero(p), "separable": False, "note": data.note}
    return Limit(value, 0.0, Certificate(0.0, 0.0, 0.0, "exact"), stats)
