"""The square loss in the papers' three normalisations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._core.arguments import Array, instance, one_of
from ..errors import RefusedError
from .loss import Loss

NORMALISATIONS = ("half", "sum", "half-mean")


@dataclass(frozen=True)
class SquareLoss(Loss):
    """c·‖f − y‖². The limit of a flow does not depend on c; its clock does.

    Parameters
    ----------
    normalisation : {'half', 'sum', 'half-mean'}
        c = ½ (R), c = 1 (W) or c = 1/(2n) (B).

    Examples
    --------
    >>> predictions, labels = np.array([1.0, 2.0]), np.array([0.0, 0.0])
    >>> [bf.SquareLoss(c)(predictions, labels).item() for c in ("half", "sum", "half-mean")]
    [2.5, 5.0, 1.25]
    """

    normalisation: str = "half"

    def __post_init__(self) -> None:
        one_of("normalisation", self.normalisation, NORMALISATIONS)

    @property
    def attained(self) -> bool:
        return True

    def checked(self, labels: Array) -> Array:
        return labels

    def factor(self, n: int) -> float:
        """c."""
        return {"half": 0.5, "sum": 1.0, "half-mean": 0.5 / n}[self.normalisation]

    def __call__(self, predictions: Any, labels: Any) -> Any:
        residual = predictions - labels
        return self.factor(labels.shape[0]) * (residual * residual).sum(-1)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """2c(f − y)."""
        return 2 * self.factor(labels.shape[0]) * (predictions - labels)


def needs_square(who: str, loss: Any) -> SquareLoss:
    """The loss where it is a square one, else a refusal in the name of `who`."""
    if isinstance(loss, Loss) and not isinstance(loss, SquareLoss):
        raise RefusedError(f"{who}: needs a square loss, found {type(loss).__name__}")
    return instance("loss", loss, SquareLoss)
