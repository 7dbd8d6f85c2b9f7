"""What is trained: both layers, the norms of neurons of fixed directions, or the output layer; each
at β = 1 (C, §§3–5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, labels, matrix, one_of, vector
from .._core.problems import Dataset, Problem, dataset
from ..errors import InputError
from ..losses import MarginLoss, SmoothMargin
from ..models import SignedTwoLayer, SignedTwoLayerParams, TwoLayer, TwoLayerParams

TRAININGS = ("both", "directions", "output")
ACTIVATIONS = ("relu", "squared_relu")
Arrays = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Start:
    """One run in the coordinates its steps are made in: what moves, at β = 1, what stays, log β,
    and ‖z‖_∞."""

    moving: Arrays
    fixed: Arrays
    log_beta: float
    largest: float


class Reached(NamedTuple):
    """How far a run has come: log β, the best margin met, that before each step, and Ση."""

    log_beta: float
    best: float
    clock: float


class Training(ABC):
    """A training of two-layer networks; `squared` has squared ReLUs with fixed signs."""

    squared: bool

    @property
    @abstractmethod
    def decay(self) -> int:
        """d: a step η on the weights is a step ηβ^(−d) on those at β = 1."""

    @abstractmethod
    def start(self, params: TwoLayerParams, data: Dataset) -> Start:
        """Where a run begins."""

    @abstractmethod
    def margins(self, moving: Arrays, fixed: Arrays) -> Array:
        """y_i·h(x_i) at β = 1, (n,), in float64."""

    @abstractmethod
    def params(self, moving: Arrays, log_beta: float, start: TwoLayerParams) -> TwoLayerParams:
        """The weights of the network."""

    @abstractmethod
    def compiled(self, moving: Arrays, fixed: Arrays, *rest: Any) -> Any:
        """Steps in place by compiled code, to a `Reached` and how many are done: rest is logistic,
        a `Reached`, first, last, the step rule's numbers, the trace, and a flag to stop."""

    @property
    @abstractmethod
    def fusible(self) -> bool:
        """Whether there is a GPU kernel for it."""

    @abstractmethod
    def traced(self) -> Any:
        """The same as one step in JAX, of one run: functions (margins, moved)."""


@dataclass(frozen=True)
class BothLayers(Training):
    """h = Σ_ja_j(⟨w_j, x⟩)₊, β = Σ(a_j² + ‖w_j‖²); squared: β = Σ‖w_j‖². moving (a, W), fixed (X,
    y)."""

    squared: bool

    @property
    def decay(self) -> int:
        return 0

    def start(self, params: TwoLayerParams, data: Dataset) -> Start:
        square = float(np.sum(params.W**2)) + (0.0 if self.squared else float(np.sum(params.a**2)))
        if square == 0:
            raise InputError("start: every weight is zero, where gradient ascent stays")
        size = np.sqrt(square)
        longest = float(np.max(np.linalg.norm(data.X, axis=1)))
        moving = (params.a if self.squared else params.a / size, params.W / size)
        return Start(
            moving,
            (data.X, data.y),
            float(np.log(square)),
            longest**2 if self.squared else longest / 2,
        )

    def margins(self, moving: Arrays, fixed: Arrays) -> Array:
        (a, W), (X, y) = moving, fixed
        return y * (activated(X @ W.T, self.squared) @ a)

    def params(self, moving: Arrays, log_beta: float, start: TwoLayerParams) -> TwoLayerParams:
        a, W = moving
        size = np.exp(log_beta / 2)
        return TwoLayerParams(a if self.squared else a * size, W * size)

    def compiled(self, moving: Arrays, fixed: Arrays, *rest: Any) -> Any:
        from .._numerics.compilation import announced
        from .ascent_kernels import network

        return announced("margin ascent", network, *moving, *fixed, self.squared, *rest)

    @property
    def fusible(self) -> bool:
        return not self.squared

    def traced(self) -> Any:
        from .ascent_batches import both_layers

        return both_layers(self.squared)


@dataclass(frozen=True)
class FixedFeatures(Training):
    """Signed features Z (n, m) that stay. output: h = Σ_ja_jφ_j, β(t) = max{1, max_{s≤t}
    √m‖a(s)‖₂}; else only the norm ρ_j of every neuron moves, h = Σ_jρ_j²φ(θ_j, x), β = Σρ_j².
    moving (ā,) or (ρ̄,), fixed (Z,)."""

    squared: bool
    output: bool

    @property
    def decay(self) -> int:
        return int(self.output)

    def start(self, params: TwoLayerParams, data: Dataset) -> Start:
        a, W = params
        phi = activated(data.X @ W.T, self.squared)
        if self.output:
            Z = data.y[:, None] * phi
            norm = max(1.0, float(np.sqrt(a.size) * np.linalg.norm(a)))
            return Start((a / norm,), (Z,), float(np.log(norm)), float(np.max(np.abs(Z))))
        norms = _norms(params, self.squared)
        if not np.any(norms):
            raise InputError("start: every weight is zero, where gradient ascent stays")
        Z = (data.y[:, None] * phi * a) / np.where(norms > 0, norms, 1.0) ** 2
        return Start(
            (norms / np.linalg.norm(norms),),
            (Z,),
            float(2 * np.log(np.linalg.norm(norms))),
            float(np.max(np.abs(Z))),
        )

    def margins(self, moving: Arrays, fixed: Arrays) -> Array:
        (x,), (Z,) = moving, fixed
        return Z @ (x if self.output else x**2)

    def params(self, moving: Arrays, log_beta: float, start: TwoLayerParams) -> TwoLayerParams:
        (x,) = moving
        if self.output:
            return TwoLayerParams(x * np.exp(log_beta), start.W)
        norms = _norms(start, self.squared)
        factor = x * np.exp(log_beta / 2) / np.where(norms > 0, norms, 1.0)
        return TwoLayerParams(
            start.a if self.squared else factor * start.a, factor[:, None] * start.W
        )

    def compiled(self, moving: Arrays, fixed: Arrays, *rest: Any) -> Any:
        from .._numerics.compilation import announced
        from .ascent_kernels import features

        return announced(
            "margin ascent", features, *moving, *fixed, self.output, moving[0].size, *rest
        )

    @property
    def fusible(self) -> bool:
        return False

    def traced(self) -> Any:
        from .ascent_batches import fixed_features

        return fixed_features(self.output)


def training_named(training: str, activation: str) -> Training:
    one_of("training", training, TRAININGS)
    squared = one_of("activation", activation, ACTIVATIONS) == "squared_relu"
    if training == "both":
        return BothLayers(squared)
    if training == "output" and squared:
        raise InputError(
            "training: the output layer is trained with activation 'relu'; squared ReLUs have "
            "fixed signs"
        )
    return FixedFeatures(squared, training == "output")


def read_run(data: Any, start: Any, activation: str, loss: MarginLoss) -> Problem:
    """Data of two classes, and parameters that fit them."""
    data = dataset(data)
    two_classes(data)
    try:
        a, W = start
    except (TypeError, ValueError):
        raise InputError(
            f"start: expected TwoLayerParams(a, W), found {type(start).__name__}"
        ) from None
    width = vector("start.a", a).size
    matrix("start.W", W)
    smooth = SmoothMargin(loss)
    if activation == "relu":
        return Problem(TwoLayer(width, data.d), data, smooth, start)
    signed = SignedTwoLayer(width, data.d, labels("start.a", a))
    return Problem(signed, data, smooth, SignedTwoLayerParams(W))


def two_classes(data: Dataset) -> None:
    """Labels of ±1, and both of them."""
    y = labels("data.y", data.y)
    if np.all(y == y[0]):
        raise InputError(f"data.y: both classes are needed, every label is {y[0]:+g}")


def both_weights(problem: Problem) -> TwoLayerParams:
    """(a, W) of a run, a the signs of squared ReLUs."""
    if isinstance(problem.model, SignedTwoLayer):
        return TwoLayerParams(np.asarray(problem.model.signs), problem.start.W)
    return TwoLayerParams(*problem.start)


def activated(pre: Array, squared: bool) -> Array:
    positive = np.maximum(pre, 0.0)
    return positive**2 if squared else positive


def _norms(params: TwoLayerParams, squared: bool) -> Array:
    square = np.sum(params.W**2, axis=1)
    return np.sqrt(square if squared else square + params.a**2)
