"""How far a network has moved from its start, in the eyes of the kernel regime: numbers, each with
an error over inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .._core.arguments import Array, Index, real_array
from ..errors import InputError
from ..limits.homogeneous import norm
from .views import Pair

JACKKNIFE_GROUPS = 20
"""Groups of inputs that the jackknife leaves out in turn."""

ROUNDING = 1e-13
"""Relative errors that are rounding alone."""
PLAIN_DECIMALS = 5
"""Places on either side of the decimal point beyond which a number is printed with an exponent."""


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
        if place > PLAIN_DECIMALS or place < -PLAIN_DECIMALS:
            return f"{self.value:.2g} ± {self.error:.1g}"
        return f"{self.value:.{max(place, 0)}f} ± {self.error:.{max(place, 0)}f}"


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
    start, end = p.start.weights, p.end.weights
    return _ratio(norm([b - a for a, b in zip(start, end, strict=True)]), norm(start))


def degree(p: Pair, kept: Index) -> float:
    """L = Σf⟨w, ∇f⟩/Σf² at the end: Euler's identity says ⟨w, ∇f⟩ = L·f where f is homogeneous of
    degree L."""
    f = p.end.values[kept]
    return _ratio(np.sum(f * p.end.radial[kept]), np.sum(f * f))


def label_alignment(p: Pair, kept: Index) -> float:
    """⟨K, yyᵀ⟩/(‖K‖_F‖yyᵀ‖_F) at the end, kernel and labels centred, y (n, classes): how much of
    the kernel points to the labels."""
    return _alignment(p.end.kernel, p.labels, kept)


def label_gain(p: Pair, kept: Index) -> float:
    """The label alignment at the end less that at the start."""
    return _alignment(p.end.kernel, p.labels, kept) - _alignment(p.start.kernel, p.labels, kept)


def _alignment(kernel: Array, labels: Array | None, kept: Index) -> float:
    if labels is None:
        return float("nan")
    K, y = centred(kernel[np.ix_(kept, kept)]), labels[kept] - np.mean(labels[kept], axis=0)
    return _ratio(np.sum(y * (K @ y)), np.linalg.norm(K) * np.linalg.norm(y.T @ y))


def loss(p: Pair, kept: Index) -> float:
    """At the end, on these inputs: the mean of Σ_o(f_o − y_o)², or the mean cross-entropy where
    labels are numbers of outputs."""
    f = p.end.values[kept]
    if p.classes is not None:
        true = f[np.arange(len(f)), p.classes[kept]]
        return float(np.mean(logsumexp(f, axis=1) - true))
    if p.labels is None or p.labels.shape != p.end.values.shape:
        return float("nan")
    return float(np.mean(np.sum((f - p.labels[kept]) ** 2, axis=1)))


def effective_rank(p: Pair, kept: Index) -> float:
    """(tr K)²/‖K‖²_F of the centred kernel at the end: how many equal eigenvalues would be as
    spread as its own."""
    K = centred(p.end.kernel[np.ix_(kept, kept)])
    return _ratio(np.trace(K) ** 2, np.sum(K * K))


def machine_gap(p: Pair, kept: Index) -> float:
    """‖f − h‖/‖f − f₀‖ on inputs that were not trained on, h = f₀ + K₀(·, T)K₀(T, T)⁺(f − f₀)(T):
    the kernel machine of the start, through what the network predicts on its training inputs T.

    Whatever the loss, and at every time, training the linearised network by gradients moves it
    along Σ_i a_iK₀(x_i, ·), so that its predictions elsewhere follow from those on T."""
    if p.machine is None:
        return float("nan")
    return _ratio(
        np.linalg.norm((p.end.values - p.machine)[kept]),
        np.linalg.norm((p.end.values - p.start.values)[kept]),
    )


def margin_gap(p: Pair, kept: Index) -> float:
    """The linear gap of the margin: of the output of the true class less the largest of the
    others."""
    if p.classes is None:
        return float("nan")
    start, end, linear = (
        _margins(values[kept], p.classes[kept])
        for values in (p.start.values, p.end.values, p.linear)
    )
    return _ratio(np.linalg.norm(end - linear), np.linalg.norm(end - start))


def linear_agreement(p: Pair, kept: Index) -> float:
    """The share of inputs that the linearised network puts into the class that the network puts
    them into."""
    if p.classes is None:
        return float("nan")
    ends, linear = np.argmax(p.end.values[kept], axis=1), np.argmax(p.linear[kept], axis=1)
    return float(np.mean(ends == linear))


def full_kernel_movement(p: Pair, kept: Index) -> float:
    """‖Θ − Θ₀‖_F/‖Θ₀‖_F of the kernel between chosen outputs, ⟨∇f_o(x), ∇f_o'(x')⟩."""
    if p.start.full is None or p.end.full is None:
        return float("nan")
    before, after = (K[kept][:, :, kept] for K in (p.start.full, p.end.full))
    return _ratio(np.linalg.norm(after - before), np.linalg.norm(before))


def _margins(values: Array, classes: Array) -> Array:
    rows = np.arange(len(values))
    others = values.copy()
    others[rows, classes] = -np.inf
    return values[rows, classes] - np.max(others, axis=1)


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
    loss,
    effective_rank,
)
CLASS_MEASURES: tuple[Measure, ...] = (margin_gap, linear_agreement)
"""Where labels are numbers of outputs."""
LAYER_MEASURES: tuple[Measure, ...] = (
    kernel_movement,
    kernel_turn,
    gradient_distance,
    weight_movement,
    label_alignment,
    label_gain,
    effective_rank,
)
"""Those that a layer has on its own."""
MOVEMENTS = (kernel_movement, gradient_distance, linear_gap)
"""What the verdict is made of: all three vanish in the kernel regime."""


def measures_of(p: Pair) -> tuple[Measure, ...]:
    """The measures that there are of this pair."""
    classes = () if p.classes is None else CLASS_MEASURES
    full = () if p.start.full is None else (full_kernel_movement,)
    return (*MEASURES, *classes, *full, *(() if p.machine is None else (machine_gap,)))


def estimates(
    p: Pair, measures: Sequence[Measure] | None = None, groups: int = JACKKNIFE_GROUPS
) -> dict[str, Estimate]:
    """Every measure with the standard error of a jackknife over groups of inputs.

    s² = (g − 1)/g·Σ_k(m_k − m̄)², m_k the measure without the k-th of g groups: what other inputs
    of the same kind would do.
    """
    n = len(p.start.values)
    parts = left_out(n, groups)
    return {
        measure.__name__: jackknifed(
            measure(p, np.arange(n)), [measure(p, np.delete(np.arange(n), k)) for k in parts]
        )
        for measure in (measures_of(p) if measures is None else measures)
    }


def left_out(n: int, groups: int = JACKKNIFE_GROUPS) -> list[Index]:
    """The groups that a jackknife over n leaves out in turn."""
    return [np.arange(n)[k :: min(groups, n)] for k in range(min(groups, n))]


def jackknifed(value: float, without: Sequence[float]) -> Estimate:
    """A value, and its standard error from the values without each group."""
    error = float(np.sqrt((len(without) - 1) * np.var(without)))
    if error <= ROUNDING * abs(value):  # a measure that no input enters
        error = 0.0
    return Estimate(float(value), error)


def centred(K: Array) -> Array:
    """(I − 11ᵀ/n)K(I − 11ᵀ/n)."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def _ratio(top: Any, bottom: Any) -> float:
    """top/bottom, NaN where nothing divides nothing."""
    return float(top) / float(bottom) if bottom > 0 else float("nan")


def read_labels(y: Any, n: int) -> Array | None:
    """Labels (n,), or (n, outputs), or class numbers, as they are; None where there are none."""
    if y is None:
        return None
    array = real_array("y", y.detach().cpu() if hasattr(y, "detach") else y)
    if array.ndim not in (1, 2) or len(array) != n or 0 in array.shape:
        raise InputError(
            f"y: expected {n} finite labels, one for each input, found shape {array.shape}"
        )
    return array
