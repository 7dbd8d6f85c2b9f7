"""What a model is: a map from parameters and inputs to predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..inputs import Array
from ..potentials import MirrorPoint, Potential


@dataclass(frozen=True, eq=False)
class MirrorForm:
    """β follows d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀ in the flow's own time, X the model's features; `lift` gives the weights."""

    potential: Potential
    beta0: Array | None
    lift: Callable[[MirrorPoint], Any]


class Model(ABC):
    """A parametrised predictor. Parameters are NamedTuples of arrays."""

    @property
    @abstractmethod
    def homogeneity(self) -> int:
        """D with f(c·w, x) = c^D·f(w, x) for c ≥ 0."""

    @abstractmethod
    def __call__(self, params: Any, X: Any) -> Any:
        """Predictions (n,)."""

    @abstractmethod
    def effective(self, params: Any) -> Any:
        """The predictor that the parameters stand for: β for linear models."""

    @abstractmethod
    def checked(self, params: Any, d: int) -> Any:
        """Parameters as finite arrays of the right shapes for inputs of dimension d, or an error."""

    @abstractmethod
    def gradient(self, params: Any, X: Any, output_gradient: Any) -> Any:
        """Gradient in the parameters of a function of the predictions on X whose gradient is given."""

    @abstractmethod
    def jacobian(self, params: Any, X: Any) -> Any:
        """∂f(w, x_i)/∂w for every input: the type of the parameters with a leading axis n on every leaf."""

    @abstractmethod
    def linearised(self, params: Any, direction: Any) -> Any:
        """Derivative of the effective predictor at the parameters along a direction of the same type."""

    @abstractmethod
    def potential(self, *, scale: Any = None, log_scale: Any = None) -> Potential:
        """The potential whose Bregman projection is the limit from scale α, or a refusal."""

    @abstractmethod
    def features(self, X: Any) -> Any:
        """The design (n, p) in which the model is linear: f(w, X) = features(X)·effective(w); a refusal where there is none."""

    @abstractmethod
    def nonsmooth(self, params0: Any) -> str | None:
        """None where the model stays smooth along the flow from here, else a sentence that says where it may not."""

    @abstractmethod
    def mirror_form(self, params0: Any, loss: Any, n: int) -> MirrorForm | str:
        """The mirror flow that the effective predictor follows on n samples, or a sentence that says why there is none.

        params0 is what `checked` returned.
        """
