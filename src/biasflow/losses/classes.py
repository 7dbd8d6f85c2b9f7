"""The cross-entropy of several classes (W, App. E)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array
from ..errors import InputError
from .loss import Loss


@dataclass(frozen=True)
class CrossEntropyLoss(Loss):
    """(1/n)Σ log Σ_c exp(f_ic − f_iy_i) of logits f (..., n, classes) against classes y (n,),
    counted from 0.

    Examples
    --------
    >>> loss = bf.CrossEntropyLoss()
    >>> loss(np.zeros((4, 10)), np.array([3, 1, 4, 1])).round(4), np.log(10).round(4)
    (np.float64(2.3026), np.float64(2.3026))
    """

    @property
    def attained(self) -> bool:
        return False

    def checked(self, labels: Array) -> Array:
        """Whole numbers from 0, as integers."""
        found = np.asarray(labels)
        if np.any(found != np.floor(found)) or np.any(found < 0):
            raise InputError("data.y: expected classes as whole numbers from 0")
        return found.astype(np.int64)

    def factor(self, n: int) -> float:
        return 1 / n

    def rows(self, logits: Any, labels: Any) -> Any:
        """log(1 + Σ_{c≠y} exp(f_c − f_y)) of each row: accurate where it is tiny, finite where it
        is large."""
        xp, right = logits.__array_namespace__(), _one_hot(logits, labels)
        gaps = logits - xp.sum(xp.where(right, logits, 0), axis=-1, keepdims=True)
        others = xp.where(right, -xp.inf, gaps)
        top = xp.max(others, axis=-1, keepdims=True)
        log_sum = top[..., 0] + xp.log(xp.sum(xp.exp(others - top), axis=-1))
        return xp.logaddexp(log_sum, xp.zeros_like(log_sum))

    def __call__(self, predictions: Any, labels: Any) -> Any:
        return self.rows(predictions, labels).mean(-1)

    def gradient(self, predictions: Any, labels: Any) -> Any:
        """(softmax(f) − e_y)/n; the entry of the right class is minus the sum of the others, so
        that it keeps its digits."""
        xp, right = predictions.__array_namespace__(), _one_hot(predictions, labels)
        top = xp.max(predictions, axis=-1, keepdims=True)
        powers = xp.exp(predictions - top)
        wrong = xp.where(right, 0, powers / xp.sum(powers, axis=-1, keepdims=True))
        return xp.where(right, -xp.sum(wrong, axis=-1, keepdims=True), wrong) / labels.shape[0]


def _one_hot(logits: Any, labels: Any) -> Any:
    """(n, classes): true at each row's own class."""
    xp = logits.__array_namespace__()
    if logits.ndim < 2 or logits.shape[-1] < 2:
        raise InputError(
            "predictions: expected logits (n, classes) of two classes or more; LogisticLoss takes "
            "a number each"
        )
    if (
        isinstance(labels, np.ndarray)
        and labels.size
        and not 0 <= labels.min() <= labels.max() < logits.shape[-1]
    ):
        raise InputError(
            f"labels: found {labels.min()} to {labels.max()} for logits of {logits.shape[-1]} "
            "classes, from 0"
        )
    return xp.asarray(labels)[..., None] == xp.arange(logits.shape[-1])
