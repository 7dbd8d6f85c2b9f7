"""How far a network has moved from its start, in the eyes of the kernel regime: numbers, each with
an error over inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, Index, real_array
from ..errors import InputError
from ..limits.homogeneous import norm
from ..limits.tangent.tangent_kernels import Tangent

JACKKNIFE_GROUPS = 20
"""Groups of inputs that the jackknife leaves out in turn."""

LARGEST_KERNEL_ENTRY = 1e150
"""Entries of kernels beyond which products of their norms overflow."""
PLAIN_DECIMALS = 5
"""Decimal places beyond which a number is printed with an exponent."""


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Two standard errors below."""
        return self.value - 2 * self.error

    @property
    def high(self) -> float:
        return self.value + 2 * self.error

    def __str__(self) -> str:
        if not (self.error > 0 and np.isfinite(self.error)):
            return f"{self.value:.3g}"
        place = -int(np.floor(np.log10(self.error)))  # of the error's first digit
        if place > PLAIN_DECIMALS:
            return f"{self.value:.2g} ± {self.error:.1g}"
        return f"{self.value:.{max(place, 0)}f} ± {self.error:.{max(place, 0)}f}"


@dataclass(frozen=True, eq=False)
class View:
    """What is looked at of a network at one set of weights, on inputs X: the kernel, predictions,
    and ⟨w, ∇f⟩."""

    at: Tangent
    kernel: Array
    values: Array
    radial: Array


@dataclass(frozen=True, eq=False)
class Pair:
    """A start and an end on the same inputs. dots: ⟨∇f(w₀, x), ∇f(w, x)⟩; linear: f(w₀, x) +
    ⟨∇f(w₀, x), w − w₀⟩."""

    start: View
    end: View
    dots: Array
    linear: Array
    labels: Array | None


def view(at: Tangent, X: Array) -> View:
    """Kernel, predictions and radial derivatives, in one pass over the inputs."""
    kernel = at.kernel(X)
    values = at.predictions(X)
    largest = float(np.max(np.abs(kernel)))
    if largest > LARGEST_KERNEL_ENTRY:
        raise InputError(
            f"network: gradients of length up to {np.sqrt(largest):.3g}, whose kernel's norm "
            "overflows; training diverged?"
        )
    return View(at, kernel, values, _pushed(at, X, at.leaves))


def pair(start: View, end: View, X: Array, labels: Array | None) -> Pair:
    dots = np.empty(len(X))
    for block in start.at.blocks(X):
        dots[block] = start.at.features(X[block]).dots(end.at.features(X[block]))
    step = tuple(b - a for a, b in zip(start.at.leaves, end.at.leaves, strict=True))
    return Pair(start, end, dots, start.values + _pushed(start.at, X, step), labels)


def _pushed(at: Tangent, X: Array, direction: tuple[Array, ...]) -> Array:
    return np.concatenate(
        [at.function.pushforward(at.leaves, X[block], direction) for block in at.blocks(X)]
    )


def kernel_movement(p: Pair, kept: Index) -> float:
    """‖K − K₀‖_F/‖K₀‖_F."""
    K, K0 = (v.kernel[np.ix_(kept, kept)] for v in (p.end, p.start))
    return _ratio(np.linalg.norm(K - K0), np.linalg.norm(K0))


def kernel_turn(p: Pair, kept: Index) -> float:
    """1 − ⟨K, K₀⟩_F/(‖K‖_F‖K₀‖_F) for centred kernels: how far its shape turned, whatever its
    size."""
    K, K0 = (centred(v.kernel[np.ix_(kept, kept)]) for v in (p.end, p.start))
    return 1 - _ratio(np.sum(K * K0), np.linalg.norm(K) * np.linalg.norm(K0))


def gradient_distance(p: Pair, kept: Index) -> float:
    """The mean over x of 1 − cos(∇f(w₀, x), ∇f(w, x)) (W, §7); inputs at which a gradient vanishes
    are left out."""
    lengths = np.sqrt(np.diag(p.start.kernel)[kept] * np.diag(p.end.kernel)[kept])
    felt = lengths > 0
    return float(np.mean(1 - p.dots[kept][felt] / lengths[felt])) if np.any(felt) else float("nan")


def linear_gap(p: Pair, kept: Index) -> float:
    """‖f(w, X) − f₀(X) − ⟨∇f₀(X), w − w₀⟩‖/‖f(w, X) − f₀(X)‖: the part of what was learned that the
    linearised network misses."""
    return _ratio(
        np.linalg.norm((p.end.values - p.linear)[kept]),
        np.linalg.norm((p.end.values - p.start.values)[kept]),
    )


def weight_movement(p: Pair, kept: Index) -> float:
    """‖w − w₀‖/‖w₀‖."""
    start, end = p.start.at.leaves, p.end.at.leaves
    return _ratio(norm([b - a for a, b in zip(start, end, strict=True)]), norm(start))


def degree(p: Pair, kept: Index) -> float:
    """L = Σf⟨w, ∇f⟩/Σf² at the end: Euler's identity says ⟨w, ∇f⟩ = L·f where f is homogeneous of
    degree L."""
    f = p.end.values[kept]
    return _ratio(f @ p.end.radial[kept], f @ f)


def label_alignment(p: Pair, kept: Index) -> float:
    """⟨K, yyᵀ⟩/(‖K‖_F‖y‖²) at the end, kernel and labels centred: how much of the kernel points to
    the labels."""
    return _alignment(p.end.kernel, p.labels, kept)


def label_gain(p: Pair, kept: Index) -> float:
    """The label alignment at the end less that at the start."""
    return _alignment(p.end.kernel, p.labels, kept) - _alignment(p.start.kernel, p.labels, kept)


def _alignment(kernel: Array, labels: Array | None, kept: Index) -> float:
    if labels is None:
        return float("nan")
    K, y = centred(kernel[np.ix_(kept, kept)]), labels[kept] - np.mean(labels[kept])
    return _ratio(y @ K @ y, np.linalg.norm(K) * float(y @ y))


Measure = Callable[[Pair, Index], float]
MEASURES: tuple[Measure, ...] = (
    kernel_movement,
    kernel_turn,
    gradient_distance,
    linear_gap,
    weight_movement,
    degree,
    label_alignment,
    label_gain,
)
MOVEMENTS = (kernel_movement, gradient_distance, linear_gap)
"""What the verdict is made of: all three vanish in the kernel regime."""


def estimates(p: Pair, groups: int = JACKKNIFE_GROUPS) -> dict[str, Estimate]:
    """Every measure with the standard error of a jackknife over groups of inputs.

    s² = (g − 1)/g·Σ_k(m_k − m̄)², m_k the measure without the k-th of g groups: what other inputs
    of the same kind would do.
    """
    n = p.start.values.size
    everything: Index = np.arange(n)
    parts = [everything[k :: min(groups, n)] for k in range(min(groups, n))]
    found = {}
    for measure in MEASURES:
        without = np.array([measure(p, np.delete(everything, part)) for part in parts])
        error = float(np.sqrt((len(parts) - 1) * np.var(without)))
        found[measure.__name__] = Estimate(measure(p, everything), error)
    return found


def centred(K: Array) -> Array:
    """(I − 11ᵀ/n)K(I − 11ᵀ/n)."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def _ratio(top: Any, bottom: Any) -> float:
    """top/bottom, NaN where nothing divides nothing."""
    return float(top) / float(bottom) if bottom > 0 else float("nan")


def read_labels(y: Any, n: int) -> Array | None:
    """Labels (n,), or class numbers, as they are; None where there are none."""
    if y is None:
        return None
    array = real_array("y", y)
    if array.shape != (n,):
        raise InputError(
            f"y: expected {n} finite labels, one for each input, found shape {array.shape}"
        )
    return array
