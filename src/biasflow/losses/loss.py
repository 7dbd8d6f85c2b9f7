"""What a loss is: a function of predictions and labels, with its derivative."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .._core.arguments import Array


class Loss(ABC):
    """A loss of predictions (..., n) against labels (n,), written for NumPy and JAX alike."""

    @property
    @abstractmethod
    def attained(self) -> bool:
        """Whether some finite predictions reach the infimum; where none do, flows grow for ever and
        need an end."""

    @abstractmethod
    def checked(self, labels: Array) -> Array:
        """The labels, or an error that says which ones the loss takes."""

    @abstractmethod
    def factor(self, n: int) -> float:
        """c where the loss is c times a sum over n samples, or a refusal where it is none."""

    @abstractmethod
    def __call__(self, predictions: Any, labels: Any) -> Any:
        """The loss, (...)."""

    @abstractmethod
    def gradient(self, predictions: Any, labels: Any) -> Any:
        """Derivative with respect to the predictions, (..., n)."""
