"""The square loss in the papers' three normalisations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..inputs import one_of

NORMALISATIONS = ("half", "sum", "half-mean")


@dataclass(frozen=True)
class SquareLoss:
    """c·‖f − y‖²: 'half' c = ½ (R), 'sum' c = 1 (W), 'half-mean' c = 1/(2n) (B).

    The limit of a flow does not depend on c; its clock does.
    """

    normalisation: str = "half"

    def __post_init__(self) -> None:
        one_of("normalisation", self.normalisation, NORMALISATIONS)

    def factor(self, n: int) -> float:
        """c."""
        return {"half": 0.5, "sum": 1.0, "half-mean": 0.5 / n}[self.normalisation]

    def __call__(self, predictions: Any, labels: Any) -> Any:
        residual = predictions - labels
        return self.factor(labels.shape[0]) * (residual * residual).sum(-1)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """Derivative with respect to the predictions: 2c(f − y)."""
        return 2 * self.factor(labels.shape[0]) * (predictions - labels)
