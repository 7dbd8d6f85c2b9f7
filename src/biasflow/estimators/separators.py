"""Two classes, ±1: the function of norm one and largest margin, and what is done where there is
none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, Index, row_lengths
from .._core.results import Certificate, Limit
from ..limits import max_margin
from ..models import augmented

LINEAR, NEURONS = ("l1", "l2"), ("f1", "f2")
Kernel = Callable[[Array, Array], Array]
ENTRY = 2.0**-48
PRODUCT = 2.0**-53
"""What entries of a kernel are trusted to, as in `limits.kernel_max_margin`: sixteen roundings, and
one for each product that is summed."""


HELD = 0.5
"""Share of the margin shown that a function in floats must have: with less, digits are missing that
matter."""


@dataclass(frozen=True, eq=False)
class Separator:
    """f of norm one, its margin min y_if(x_i) on the samples given, and the certificate of the
    problem that was solved.

    separable: whether f was shown to separate all samples; where not, `certificate` is that of the
    problem with slack, or without the samples outvoted. held: whether f in floats has the margin
    that was shown: those far below the size of the inputs ask for more digits.
    """

    function: Any
    margin: float
    certificate: Certificate
    separable: bool
    held: bool


@dataclass(frozen=True, eq=False)
class LinearFunction:
    """x ↦ ⟨coefficients, x⟩ + intercept."""

    coefficients: Array
    intercept: float

    def __call__(self, X: Array) -> Array:
        return np.asarray(X @ self.coefficients + self.intercept)


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """x ↦ Σ_i c_ik(x, x_i), of kernel values (n', n) where there is no kernel."""

    kernel: Kernel | None
    points: Array
    coefficients: Array

    def __call__(self, X: Array) -> Array:
        values = X if self.kernel is None else self.kernel(X, self.points)
        return np.asarray(values @ self.coefficients)


@dataclass(frozen=True, eq=False)
class ReorderedFunction:
    """A function of inputs whose columns come in another order."""

    function: Any
    order: Index

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.function(X[:, self.order]))


def linear_separator(
    X: Array, y: Array, norm: str, bias: str, slack: float, options: dict[str, Any]
) -> Separator:
    """‖(β, b)‖ ≤ 1 in ℓ1 or ℓ2. Classes that nothing separates get slack: a coordinate of length c
    for each sample, as if the inputs were (x_i, c·e_i).

    That is max γ with y_if(x_i) ≥ γ − cs_i and ‖(f, s)‖ ≤ 1: with ξ = cs/γ the minimiser of ‖f‖₂² +
    Σξ_i²/c² (ℓ2), or of ‖f‖₁ + Σ|ξ_i|/c (ℓ1), subject to y_if(x_i) ≥ 1 − ξ_i."""
    rows = augmented(X) if bias == "append" else X
    found = max_margin(X, y, norm=norm, bias=bias, **options)
    beta, separable = found.value, found.certificate.primal > 0
    size = float(np.max(row_lengths(rows) if norm == "l2" else np.abs(rows)))
    if not separable and slack > 0 and size > 0:
        own = slack * size * np.eye(len(rows))
        found = max_margin(np.hstack([rows, own]), y, norm=norm, **options)
        beta = found.value[: rows.shape[1]]
        length = float(np.linalg.norm(beta, 1 if norm == "l1" else 2))
        beta = beta / length if length > 0 else beta
    last = float(beta[-1]) if bias == "append" else 0.0
    function = LinearFunction(beta[: X.shape[1]], last)
    return _measured(function, function(X), y, found, separable)


def kernel_separator(
    X: Array, y: Array, kernel: Kernel | None, slack: float, options: dict[str, Any]
) -> Separator:
    """‖f‖_K ≤ 1. Slack for classes that nothing separates adds c² to the diagonal of K: the
    minimiser of ‖f‖_K² + Σξ_i²/c² subject to y_if(x_i) ≥ 1 − ξ_i."""
    K = np.asarray(X if kernel is None else kernel(X, X), dtype=float)
    if kernel is not None:
        options = {**options, "rounding": ENTRY + X.shape[1] * PRODUCT}
        K = K / 2 + K.T / 2
    found = max_margin(X, y, norm=K, **options)
    c, separable = found.value, found.certificate.primal > 0
    size = float(np.max(np.diagonal(K)))
    if not separable and slack > 0 and size > 0:
        found = max_margin(X, y, norm=K + slack**2 * size * np.eye(len(K)), **options)
        c = found.value
        square = float(c @ K @ c)
        c = c / np.sqrt(square) if square > 0 else c
    function = KernelFunction(kernel, X, c)
    return _measured(function, K @ c, y, found, separable)


def neural_separator(
    X: Array, y: Array, norm: str, bias: str, options: dict[str, Any]
) -> Separator:
    """F1 or F2, in which all that is not equal can be separated. Equal inputs with both labels
    have that of the majority: no function errs on fewer samples; those outvoted, and those without
    a majority, are left out."""
    order: Index = np.arange(X.shape[1])
    if bias == "append":  # a last column of ones would be read as the bias; norms know no order
        order = np.argsort(np.any(X != 1, axis=0), kind="stable")
    inputs = X[:, order]
    kept = _outvoting(inputs, y)
    separable = bool(np.all(kept))
    if not np.any(kept):
        kept = np.ones(len(y), dtype=bool)
    found = max_margin(inputs[kept], y[kept], norm=norm, bias=bias, **options)
    inner: Any = found.value
    function = ReorderedFunction(_WithoutColumn(inner) if bias == "column" else inner, order)
    return _measured(function, function(X), y, found, separable and found.certificate.primal > 0)


@dataclass(frozen=True, eq=False)
class _WithoutColumn:
    """A function of inputs less their last column, which is the bias."""

    function: Any

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.function(X[:, :-1]))


def _outvoting(X: Array, y: Array) -> Array:
    """Which samples have the label of the majority at their input."""
    _, group = np.unique(X, axis=0, return_inverse=True)
    votes = np.bincount(group.ravel(), y)
    return np.asarray(y * votes[group.ravel()] > 0)


def _measured(
    function: Any, values: Array, y: Array, found: Limit[Any], separable: bool
) -> Separator:
    least = float(np.min(y * values))
    margin = found.objective if separable else least
    held = not separable or least >= HELD * margin
    return Separator(function, margin, found.certificate, separable, held)
