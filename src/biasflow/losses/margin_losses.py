"""Losses of the margins u_i = y_i·f_i that only infinite margins minimise, and C's smooth margin
(C, §2).

Everything is computed from logarithms, so that margins of ±10⁶ neither over- nor underflow.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from .._core.arguments import Array, instance, labels as classes
from ..errors import RefusedError
from .loss import Loss

TINY = 1e-5
"""Size of e^{−u} below which log(log(1 + e^{−u})) is taken from its series: the next term is below
rounding."""


class MarginLoss(Loss):
    """The mean risk (1/n)Σℓ(−y_i·f_i), ℓ increasing with an exponential tail (C, Assumption
    (A2))."""

    @abstractmethod
    def log_loss(self, margins: Any) -> Any:
        """log ℓ(−u), entry by entry."""

    @abstractmethod
    def log_slope(self, margins: Any) -> Any:
        """log ℓ'(−u), entry by entry."""

    @abstractmethod
    def log_curvature(self, margins: Any) -> Any:
        """log ℓ''(−u), entry by entry."""

    @property
    def attained(self) -> bool:
        return False

    def checked(self, labels: Array) -> Array:
        """Labels of ±1."""
        return classes("ds.y", labels)

    def factor(self, n: int) -> float:
        return 1 / n

    def log_risk(self, predictions: Any, labels: Any) -> Any:
        """log((1/n)Σℓ(−y_i·f_i)), which keeps its digits where the risk underflows."""
        return _log_mean_exp(self.log_loss(labels * predictions))

    def __call__(self, predictions: Any, labels: Any) -> Any:
        log_risk = self.log_risk(predictions, labels)
        return log_risk.__array_namespace__().exp(log_risk)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """−y_i·ℓ'(−y_i·f_i)/n."""
        log_slopes = self.log_slope(labels * predictions)
        return -labels * log_slopes.__array_namespace__().exp(log_slopes) / labels.shape[0]


@dataclass(frozen=True)
class ExponentialLoss(MarginLoss):
    """(1/n)Σexp(−y_i·f_i)."""

    def log_loss(self, margins: Any) -> Any:
        return -margins

    def log_slope(self, margins: Any) -> Any:
        return -margins

    def log_curvature(self, margins: Any) -> Any:
        return -margins


@dataclass(frozen=True)
class LogisticLoss(MarginLoss):
    """(1/n)Σlog(1 + exp(−y_i·f_i))."""

    def log_loss(self, margins: Any) -> Any:
        """log log(1+e^{−u}); where z = e^{−u} is small, −u − z/2 + 5z²/24."""
        xp = margins.__array_namespace__()
        small = xp.exp(-abs(margins))
        far = small < TINY
        safe = xp.where(far, 1.0, small)
        right = (
            xp.where(far, small * (5 * small / 24 - 0.5), xp.log(xp.log1p(safe) / safe)) - margins
        )
        left = xp.log(
            xp.where(margins < 0, -margins, 0.0) + xp.log1p(xp.where(margins < 0, small, 1.0))
        )
        return xp.where(margins >= 0, right, left)

    def log_slope(self, margins: Any) -> Any:
        """−log(1 + e^u)."""
        xp = margins.__array_namespace__()
        return -xp.where(margins > 0, margins, 0.0) - xp.log1p(xp.exp(-abs(margins)))

    def log_curvature(self, margins: Any) -> Any:
        """−log((1 + e^u)(1 + e^{−u}))."""
        xp = margins.__array_namespace__()
        return -abs(margins) - 2 * xp.log1p(xp.exp(-abs(margins)))


@dataclass(frozen=True)
class SmoothMargin(Loss):
    """−S(y·f) with S(u) = −log((1/n)Σℓ(−u_i)): C's objective, whose flow is that of the risk in
    another clock (C, eq. 6)."""

    loss: MarginLoss = field(default_factory=ExponentialLoss)

    def __post_init__(self) -> None:
        instance("loss", self.loss, MarginLoss)

    @property
    def attained(self) -> bool:
        return False

    def checked(self, labels: Array) -> Array:
        return self.loss.checked(labels)

    def factor(self, n: int) -> float:
        raise RefusedError(
            "SmoothMargin: not a sum over samples, so that a batch gives no unbiased gradient"
        )

    def __call__(self, predictions: Any, labels: Any) -> Any:
        return self.loss.log_risk(predictions, labels)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """−y_i·∇_iS."""
        return -labels * self.weights(predictions, labels)

    def weights(self, predictions: Any, labels: Any) -> Any:
        """∇S(u)_i = ℓ'(−u_i)/Σ_jℓ(−u_j), (..., n): the soft-argmin, summing to one, where ℓ is the
        exponential.

        C, Appendix C.2 prints ℓ' in the denominator too, which is the gradient of S for the
        exponential only.
        """
        margins = labels * predictions
        total = _log_mean_exp(self.loss.log_loss(margins)) + margins.__array_namespace__().log(
            labels.shape[0]
        )
        logs = self.loss.log_slope(margins) - total[..., None]
        return logs.__array_namespace__().exp(logs)


def _log_mean_exp(logs: Any) -> Any:
    xp = logs.__array_namespace__()
    top = xp.max(logs, axis=-1, keepdims=True)
    return top[..., 0] + xp.log(xp.mean(xp.exp(logs - top), axis=-1))
