"""Losses of the margins u_i = y_i·f_i that only infinite margins minimise, and C's smooth margin
(C, §2).

Everything is computed from logarithms, so that margins of ±10⁶ neither over- nor underflow. The one
soft-min of the library is here; `_numerics/soft_minimum` is its compiled twin.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._core.arguments import Array, instance, labels as classes, one_of
from .._core.facts import record_line
from .._numerics.float_ranges import EXPONENTIAL_FROM, LARGEST, LARGEST_EXPONENT
from ..errors import RefusedError
from .loss import Loss


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
        return classes("data.y", labels)

    def factor(self, n: int) -> float:
        return 1 / n

    def log_risk(self, predictions: Any, labels: Any) -> Any:
        """log((1/n)Σℓ(−y_i·f_i)), which keeps its digits where the risk underflows."""
        return -soft_minimum(self, labels * predictions).value

    def __call__(self, predictions: Any, labels: Any) -> Any:
        log_risk = self.log_risk(predictions, labels)
        return log_risk.__array_namespace__().exp(log_risk)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """−y_i·ℓ'(−y_i·f_i)/n."""
        log_slopes = self.log_slope(labels * predictions)
        return -labels * log_slopes.__array_namespace__().exp(log_slopes) / labels.shape[0]


@dataclass(frozen=True)
class ExponentialLoss(MarginLoss):
    """(1/n)Σexp(−y_i·f_i), labels ±1.

    Examples
    --------
    >>> loss = bf.ExponentialLoss()
    >>> print(loss(np.array([2.0, -1.0]), np.array([1.0, 1.0])).round(4))
    1.4268
    """

    def log_loss(self, margins: Any) -> Any:
        return -margins

    def log_slope(self, margins: Any) -> Any:
        return -margins

    def log_curvature(self, margins: Any) -> Any:
        return -margins


@dataclass(frozen=True)
class LogisticLoss(MarginLoss):
    """(1/n)Σlog(1 + exp(−y_i·f_i)), labels ±1.

    Examples
    --------
    >>> loss = bf.LogisticLoss()
    >>> print(loss(np.array([2.0, -1.0]), np.array([1.0, 1.0])).round(4))
    0.7201
    """

    def log_loss(self, margins: Any) -> Any:
        """log log(1+e^{−u}), which is −u to rounding where e^{−u} is below it."""
        xp = margins.__array_namespace__()
        small, far = xp.exp(-abs(margins)), margins >= EXPONENTIAL_FROM
        safe = xp.where(abs(margins) >= EXPONENTIAL_FROM, 1.0, small)
        right = xp.where(far, 0.0, xp.log(xp.log1p(safe) / safe)) - margins
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
    another clock (C, eq. 6).

    Parameters
    ----------
    loss : ExponentialLoss or LogisticLoss
        ℓ.

    Examples
    --------
    >>> margins, ones = np.array([3.0, 5.0]), np.ones(2)
    >>> for size in (1.0, 10.0, 100.0):
    ...     print(-round(float(bf.SmoothMargin()(size * margins, ones)) / size, 3))
    3.566
    3.069
    3.007
    """

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
        return soft_minimum(self.loss, labels * predictions).weights


LOSSES_BY_NAME: dict[str, MarginLoss] = {
    "exponential": ExponentialLoss(),
    "logistic": LogisticLoss(),
}


def margin_loss(loss: Any) -> MarginLoss:
    """ℓ from itself, its `SmoothMargin`, or the names 'exponential' and 'logistic'."""
    if isinstance(loss, str):
        return LOSSES_BY_NAME[one_of("loss", loss, tuple(LOSSES_BY_NAME))]
    return instance("loss", loss.loss if isinstance(loss, SmoothMargin) else loss, MarginLoss)


class SoftMinimum(NamedTuple):
    """S(βu), ∇S there, (..., n), and min u.

    Examples
    --------
    >>> bf.losses.soft_minimum(bf.ExponentialLoss(), np.array([1.0, 1.0])).weights
    array([0.5, 0.5])
    """

    value: Any
    weights: Any
    least: Any

    def __repr__(self) -> str:
        return record_line(self)


def soft_minimum(
    loss: MarginLoss, margins: Any, log_beta: Any = None, where: Any = None
) -> SoftMinimum:
    """C's smooth margin S(βu) = −log((1/n)Σℓ(−βu_i)) of margins u, with its gradient
    ∇S = ℓ'(−βu_i)/Σ_jℓ(−βu_j).

    Where the least βu lies in the exponential tail, e^{−β(u_i − min u)} is summed: differences of
    margins keep the digits that β·u has lost.

    Parameters
    ----------
    loss : ExponentialLoss or LogisticLoss
        ℓ.
    margins : array of shape (..., n)
        u.
    log_beta : float or array, optional
        log β, any; None for β = 1.
    where : array of bool, optional
        The samples that count, by default all; the gradient is zero at the others.

    Returns
    -------
    losses.SoftMinimum
        value S (...), weights ∇S (..., n), least min u (...).

    Examples
    --------
    >>> margins, beta = np.array([1.0, 1.1]), 50.0
    >>> found = bf.losses.soft_minimum(bf.ExponentialLoss(), margins, log_beta=np.log(beta))
    >>> print((found.value / beta).round(3), found.weights.round(3), found.least)
    1.014 [0.993 0.007] 1.0
    """
    xp = margins.__array_namespace__()
    least = xp.min(margins if where is None else xp.where(where, margins, xp.inf), axis=-1)
    low = least[..., None]
    u = margins if where is None else xp.where(where, margins, low)
    if log_beta is None:
        gaps, v, bottom = u - low, u, low
    else:
        beta = xp.exp(xp.clip(log_beta, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        gaps = xp.minimum(beta * (u - low), LARGEST)
        v, bottom = (xp.clip(beta * part, -LARGEST, LARGEST) for part in (u, low))
    logs = loss.log_loss(v)
    top = xp.max(logs, axis=-1)
    falls = xp.where(bottom >= _exponential_from(loss), -gaps, logs - top[..., None])
    terms, slopes = xp.exp(falls), xp.exp(falls + (loss.log_slope(v) - logs))
    if where is not None:
        terms, slopes = xp.where(where, terms, 0.0), xp.where(where, slopes, 0.0)
    total = xp.sum(terms, axis=-1)
    count = math.log(u.shape[-1]) if where is None else xp.log(xp.sum(where, axis=-1))
    return SoftMinimum(count - (top + xp.log(total)), slopes / total[..., None], least)


def _exponential_from(loss: MarginLoss) -> float:
    """The margin from which log ℓ(−u) = −u to rounding; a loss of the user's own promises none."""
    return {ExponentialLoss: -math.inf, LogisticLoss: EXPONENTIAL_FROM}.get(type(loss), math.inf)
