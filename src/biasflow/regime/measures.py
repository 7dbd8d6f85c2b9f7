"""How far a network has moved from its start, in the eyes of the kernel regime: numbers, each with
an error over inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arguments import Array, Index, real_array
from ..errors import InputError
from ..limits.homogeneous import norm
from ..limits.tangent.inputs import Inputs
from ..limits.tangent.tangent_kernels import Tangent

JACKKNIFE_GROUPS = 20
"""Groups of inputs that the jackknife leaves out in turn."""

LARGEST_KERNEL_ENTRY = 1e150
"""Entries of kernels beyond which products of their norms overflow."""
ROUNDING = 1e-13
"""Relative errors that are rounding alone."""
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
class Looked:
    """What is looked at of a network. groups: the layer of every leaf, by number, or None where it
    is left out; layers: their names; outputs: whether kernels of single outputs are kept; full:
    outputs between which the whole kernel is looked at."""

    groups: tuple[int | None, ...]
    layers: tuple[str, ...]
    outputs: bool = False
    full: Tangent | None = None

    def chosen(self, leaves: Sequence[Array], layer: int | None = None) -> list[Array]:
        """The tensors looked at, or those of one layer."""
        return [
            leaf
            for leaf, group in zip(leaves, self.groups, strict=True)
            if group is not None and layer in (None, group)
        ]


@dataclass(frozen=True, eq=False)
class View:
    """What is seen of a network at one set of weights, on inputs X: the kernel summed over outputs,
    predictions and ⟨w, ∇f⟩ (n, m), kernels by layer and by output, and between some outputs."""

    at: Tangent
    kernel: Array
    values: Array
    radial: Array
    weights: Sequence[Array]
    by_layer: Array
    by_output: Array
    full: Array | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """A start and an end on the same inputs. dots: Σ_o ⟨∇f_o(w₀, x), ∇f_o(w, x)⟩; linear: f(w₀, x)
    + ⟨∇f(w₀, x), w − w₀⟩, (n, m). labels: (n, c); classes: (n,), where labels are numbers of
    outputs."""

    start: View
    end: View
    dots: Array
    linear: Array
    labels: Array | None
    classes: Array | None = None
    dots_by_layer: Array | None = None
    dots_by_output: Array | None = None

    def layer(self, k: int, looked: Looked) -> Pair:
        """The same of one layer's weights."""
        start, end = (
            replace(v, kernel=v.by_layer[k], weights=looked.chosen(v.at.leaves, k), full=None)
            for v in (self.start, self.end)
        )
        assert self.dots_by_layer is not None
        return replace(self, start=start, end=end, dots=self.dots_by_layer[k])

    def output(self, k: int) -> Pair:
        """The same of one output."""
        start, end = (
            replace(
                v,
                kernel=v.by_output[k],
                values=v.values[:, k : k + 1],
                radial=v.radial[:, k : k + 1],
                full=None,
            )
            for v in (self.start, self.end)
        )
        assert self.dots_by_output is not None
        labels = self.labels
        if labels is not None and labels.shape[1] == self.linear.shape[1]:
            labels = labels[:, k : k + 1]
        return replace(
            self,
            start=start,
            end=end,
            dots=self.dots_by_output[k],
            linear=self.linear[:, k : k + 1],
            labels=labels,
            classes=None,
        )


def view(at: Tangent, X: Inputs, looked: Looked) -> View:
    """Kernels, predictions and radial derivatives."""
    by_layer, by_output = at.kernels(X, None, looked.groups, looked.outputs)
    kernel = np.sum(by_layer, axis=0) if len(by_layer) > 1 else by_layer[0]
    largest = float(np.max(np.abs(kernel)))
    if largest > LARGEST_KERNEL_ENTRY:
        raise InputError(
            f"network: gradients of length up to {np.sqrt(largest):.3g}, whose kernel's norm "
            "overflows; training diverged?"
        )
    full = None
    if looked.full is not None:
        some = Tangent(looked.full.function, at.leaves, at.memory).full_kernel(X)
        m = len(some) // len(X)
        full = some.reshape(len(X), m, len(X), m)
    return View(
        at,
        kernel,
        at.function.values(at.leaves, X),
        _pushed(at, X, at.leaves),
        looked.chosen(at.leaves),
        by_layer,
        by_output,
        full,
    )


def pair(
    start: View,
    end: View,
    X: Inputs,
    looked: Looked,
    labels: Array | None,
    classes: Array | None,
) -> Pair:
    by_leaf, by_output = start.at.dots(end.at, X, looked.groups)
    by_layer = np.zeros((len(looked.layers), len(X)))
    for leaf, group in enumerate(looked.groups):
        if group is not None:
            by_layer[group] += by_leaf[leaf]
    step = tuple(b - a for a, b in zip(start.at.leaves, end.at.leaves, strict=True))
    linear = start.values + _pushed(start.at, X, step)
    return Pair(start, end, np.sum(by_layer, axis=0), linear, labels, classes, by_layer, by_output)


def _pushed(at: Tangent, X: Inputs, direction: tuple[Array, ...]) -> Array:
    return np.concatenate(
        [at.function.slopes(at.leaves, X[block], direction) for block in at.blocks(X)]
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
)
"""Those that a layer has on its own."""
MOVEMENTS = (kernel_movement, gradient_distance, linear_gap)
"""What the verdict is made of: all three vanish in the kernel regime."""


def measures_of(p: Pair) -> tuple[Measure, ...]:
    """The measures that there are of this pair."""
    classes = () if p.classes is None else CLASS_MEASURES
    return (*MEASURES, *classes, *(() if p.start.full is None else (full_kernel_movement,)))


def estimates(
    p: Pair, measures: Sequence[Measure] | None = None, groups: int = JACKKNIFE_GROUPS
) -> dict[str, Estimate]:
    """Every measure with the standard error of a jackknife over groups of inputs.

    s² = (g − 1)/g·Σ_k(m_k − m̄)², m_k the measure without the k-th of g groups: what other inputs
    of the same kind would do.
    """
    n = len(p.start.values)
    everything: Index = np.arange(n)
    parts = [everything[k :: min(groups, n)] for k in range(min(groups, n))]
    found = {}
    for measure in measures_of(p) if measures is None else measures:
        without = np.array([measure(p, np.delete(everything, part)) for part in parts])
        value, error = measure(p, everything), float(np.sqrt((len(parts) - 1) * np.var(without)))
        if error <= ROUNDING * abs(value):  # a measure that no input enters
            error = 0.0
        found[measure.__name__] = Estimate(value, error)
    return found


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
