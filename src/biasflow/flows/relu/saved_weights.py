"""States that are saved as weights, and how far a second run's are from them, in one pass over the
states of either."""

from __future__ import annotations

import math
from typing import Any

from ..._core.arguments import Array, Index
from ..._numerics.compilation import entry, inner
from .layout import FIRST, OUT, RHO
from .small_algebra import STAMP, row_of

OF_WEIGHTS, OF_PRODUCTS, LARGEST_WEIGHT, LARGEST_PRODUCT, MEASURES = 0, 1, 2, 3, 4
"""Rows of what `compare` returns: differences of weights and of products a_jw_j in sup norm, and
the sizes of both."""


@inner
def weights_of(row: Array, axes: Array, still: Array, w: Array) -> float:
    """a of a neuron in normalised coordinates, and its w; axes (r, d): the basis of the span of the
    inputs, still: the part of w outside."""
    size = math.exp(row[RHO])
    for k in range(w.size):
        w[k] = still[k]
    for i in range(axes.shape[0]):
        z = size * row[FIRST + i]
        for k in range(w.size):
            w[k] += z * axes[i, k]
    return size * row[OUT]


def _unfold(stamp: int) -> Any:
    def unfold(states: Array, axes: Array, still: Array, alive: Index, a: Array, W: Array) -> None:
        """Fills a (T, m) and W (T, m, d), zero before, with the weights of states (T, m', r+2) of
        the neurons that are alive."""
        for t in range(states.shape[0] + 0 * stamp):
            for i in range(alive.size):
                j = alive[i]
                a[t, j] = weights_of(states[t, i], axes, still[i], W[t, j])

    return unfold


def _compare(stamp: int) -> Any:
    def compare(
        states: Array, axes: Array, still: Array, alive: Index, a: Array, W: Array, found: Array
    ) -> None:
        """Fills `found` (MEASURES, T) for weights a (T, m) and W (T, m, d) beside another run's
        states, which may end before; NaN where these are not finite."""
        w = row_of(W.shape[2] + 0 * stamp)
        for t in range(a.shape[0]):
            both, total = t < states.shape[0], 0.0
            apart, product_apart, largest, product = 0.0, 0.0, 0.0, 0.0
            for i in range(alive.size):
                j = alive[i]
                mine, other = a[t, j], 0.0
                if both:
                    other = weights_of(states[t, i], axes, still[i], w)
                    off = abs(mine - other)
                    total += off
                    apart = off if off > apart else apart
                largest = abs(mine) if abs(mine) > largest else largest
                for k in range(w.size):
                    here = W[t, j, k]
                    size, share = abs(here), abs(mine * here)
                    largest = size if size > largest else largest
                    product = share if share > product else product
                    if both:
                        off = abs(here - w[k])
                        share = abs(mine * here - other * w[k])
                        total += off + share
                        apart = off if off > apart else apart
                        product_apart = share if share > product_apart else product_apart
            known = both and total < math.inf
            found[OF_WEIGHTS, t] = apart if known else math.nan
            found[OF_PRODUCTS, t] = product_apart if known else math.nan
            found[LARGEST_WEIGHT, t], found[LARGEST_PRODUCT, t] = largest, product

    return compare


unfold, compare = entry(_unfold(STAMP)), entry(_compare(STAMP))
