"""What a model is: a map from parameters and inputs to predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array, real_array
from .._core.trees import grown, leaf_map, leaves
from ..errors import RefusedError, ScaleError
from ..potentials import MirrorPoint, Potential


@dataclass(frozen=True, eq=False)
class MirrorForm:
    """β follows d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀ in the flow's own time, X the model's features;
    `lift` gives the weights."""

    potential: Potential
    beta0: Array | None
    lift: Callable[[MirrorPoint], Any]


class Model(ABC):
    """A parametrised predictor. Parameters are NamedTuples of arrays."""

    @property
    @abstractmethod
    def homogeneity(self) -> int:
        """D with f(c·w, x) = c^D·f(w, x) for c ≥ 0."""

    @property
    def degree(self) -> int | None:
        """p with f(w, c·x) = c^p·f(w, x) for c ≥ 0; None where there is none, or none is known."""
        return None

    @abstractmethod
    def __call__(self, params: Any, X: Any) -> Any:
        """Predictions (n,)."""

    def init(self, scale: Any, *, dim: int | None = None, key: int = 0) -> Any:
        """The model's own start at scale α for inputs of dimension dim, random ones by the key."""
        raise RefusedError(f"init: {type(self).__name__} has no start of its own; give parameters")

    @abstractmethod
    def effective(self, params: Any) -> Any:
        """The predictor that the parameters stand for: β for linear models."""

    @abstractmethod
    def checked(self, params: Any, d: int) -> Any:
        """Parameters as finite arrays of the right shapes for inputs of dimension d, or an
        error."""

    def placed(self, params0: Any, log_scale: Any) -> tuple[Any, Any]:
        """The start e^{log_scale}·params0 as parameters in floats, and what is left of log_scale:
        zero."""
        scale = read_log_scale(log_scale)
        if not held(params0, scale):
            raise RefusedError(
                f"log_scale: {type(self).__name__} starts in floats, which do not hold "
                f"e^{scale:g} times params0"
            )
        return leaf_map(lambda leaf: grown(leaf, scale), params0), 0.0

    @abstractmethod
    def gradient(self, params: Any, X: Any, output_gradient: Any) -> Any:
        """Gradient in the parameters of a function of the predictions on X whose gradient is
        given."""

    @abstractmethod
    def jacobian(self, params: Any, X: Any) -> Any:
        """∂f(w, x_i)/∂w for every input: the type of the parameters with a leading axis n on every
        leaf."""

    @abstractmethod
    def linearised(self, params: Any, direction: Any) -> Any:
        """Derivative of the effective predictor at the parameters along a direction of the same
        type."""

    @abstractmethod
    def potential(self, *, scale: Any = None, log_scale: Any = None) -> Potential:
        """The potential whose Bregman projection is the limit from scale α, or a refusal."""

    @abstractmethod
    def features(self, X: Any) -> Any:
        """The design (n, p) in which the model is linear: f(w, X) = features(X)·effective(w); a
        refusal where there is none."""

    @abstractmethod
    def nonsmooth(self, params0: Any) -> str | None:
        """None where the model stays smooth along the flow from here, else a sentence that says
        where it may not."""

    @abstractmethod
    def mirror_form(self, params0: Any, loss: Any, n: int) -> MirrorForm | str:
        """The mirror flow that the effective predictor follows on n samples, or a sentence that
        says why there is none.

        params0 is what `checked` returned.
        """


def read_log_scale(value: Any, rows: int | None = None) -> Any:
    """log_scale as a finite number; where the model has rows that may have their own, also an array
    of so many."""
    array = real_array("log_scale", value)
    if array.ndim == 0:
        return float(array)
    if rows is None or array.shape != (rows,):
        needed = "a number" if rows is None else f"a number, or {rows} of them, one for each neuron"
        raise ScaleError(f"log_scale: expected {needed}, found shape {array.shape}")
    return array


def held(params: Any, log_scale: Any) -> bool:
    """Whether floats hold e^{log_scale}·params, each entry to full precision."""
    for leaf in leaves(params):
        shift = (
            np.reshape(log_scale, np.shape(log_scale) + (1,) * (np.ndim(leaf) - 1))
            if np.ndim(log_scale)
            else log_scale
        )
        logs = (np.log(np.abs(leaf, where=leaf != 0, out=np.ones_like(leaf))) + shift)[leaf != 0]
        if np.any(logs > LARGEST_LOG):
            raise ScaleError(
                f"log_scale: e^{np.max(log_scale):g} times params0 is above float range"
            )
        if np.any(logs < SMALLEST_LOG):
            return False
    return True


SMALLEST_LOG, LARGEST_LOG = (
    float(np.log(SMALLEST_NORMAL)) + 1e-9,
    float(np.log(np.finfo(np.float64).max)) - 1e-9,
)
"""Logarithms of the numbers that floats hold to full precision, by more than the rounding of a
logarithm."""
