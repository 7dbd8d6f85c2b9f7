"""Gradient descent on a two-layer network, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.arguments import Array, Index
from .._numerics.compilation import entry, inner
from ..flows.relu.small_algebra import SMALL_PRODUCT, STAMP
from .descent import OVERSHOOTS, REACHED, WENT_ON
from .step_rules import Schedule


@inner
def times_transpose(A: Array, B: Array, out: Array) -> None:
    """out = A·Bᵀ."""
    if A.size * B.shape[0] > SMALL_PRODUCT:
        np.dot(A, B.T, out)
        return
    for i in range(A.shape[0]):
        for k in range(B.shape[0]):
            total = 0.0
            for c in range(A.shape[1]):
                total += A[i, c] * B[k, c]
            out[i, k] = total


@inner
def subtract_product(Q: Array, X: Array, W: Array, slope: Array) -> None:
    """W −= Q·X; `slope` is scratch space of the shape of W."""
    if Q.size * X.shape[1] > SMALL_PRODUCT:
        np.dot(Q, X, slope)
        for i in range(W.shape[0]):
            for c in range(W.shape[1]):
                W[i, c] -= slope[i, c]
        return
    for i in range(W.shape[0]):
        for k in range(X.shape[0]):
            for c in range(W.shape[1]):
                W[i, c] -= Q[i, k] * X[k, c]


@inner
def outputs(a: Array, W: Array, X: Array, slope: float, hidden: Array, h: Array) -> None:
    """Pre-activations into `hidden`, predictions into `h`."""
    times_transpose(W, X, hidden)
    for k in range(h.size):
        h[k] = 0.0
    for j in range(a.size):
        for k in range(h.size):
            p = hidden[j, k]
            h[k] += a[j] * (p if p > 0.0 else slope * p)


def _descend(stamp: int) -> Any:
    def descend(
        a: Array,
        W: Array,
        X: Array,
        y: Array,
        slope: float,
        speed: float,
        rule: Schedule,
        first: int,
        last: int,
        check_every: int,
        steps: int,
        goal: float,
        limit: float,
        stop: Index,
    ) -> tuple[int, int]:
        """Steps first … last in place; every check_every-th, and the last of all `steps`, looks
        whether Σ(h − y)² fell to `goal` or rose above `limit`; no more once `stop` is raised."""
        hidden, h = np.empty((a.size, y.size + 0 * stamp)), np.empty(y.size)
        Q, scratch = np.empty((a.size, y.size)), np.empty(W.shape)
        for step in range(first, last + 1):
            if stop[0] != 0:
                return step - 1, WENT_ON
            outputs(a, W, X, slope, hidden, h)
            rate = rule.size * (step - 1 + rule.offset) ** -rule.power * speed
            for k in range(y.size):
                h[k] = rate * (h[k] - y[k])
            for j in range(a.size):
                change = 0.0
                for k in range(y.size):
                    gate = 1.0 if hidden[j, k] > 0.0 else slope
                    Q[j, k] = a[j] * gate * h[k]
                    change += gate * hidden[j, k] * h[k]
                a[j] -= change
            subtract_product(Q, X, W, scratch)
            if step % check_every == 0 or step == steps:
                outputs(a, W, X, slope, hidden, h)
                square = 0.0
                for k in range(y.size):
                    square += (h[k] - y[k]) ** 2
                if not square <= limit:
                    return step, OVERSHOOTS
                if square <= goal:
                    return step, REACHED
        return last, WENT_ON

    return descend


descend = entry(_descend(STAMP))
