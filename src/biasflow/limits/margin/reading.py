"""Reading of labelled inputs, and the two facts about them that need no computation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...inputs import Array, labels, matrix
from ...models import augmented


@dataclass(frozen=True, eq=False)
class Labelled:
    """Distinct inputs with their bias coordinate, rows (k, d+1), labels (k,), and which of the n given samples each stands for.

    conflict: two samples of equal input and opposite labels, if there are; then every margin is zero.
    """

    rows: Array
    y: Array
    first: Array
    count: int
    conflict: tuple[int, int] | None

    def spread(self, p: Array) -> Array:
        """Weights on the distinct inputs as weights on the samples given."""
        full = np.zeros(self.count)
        full[self.first] = p
        return full

    @property
    def note(self) -> str:
        if self.conflict is None:
            return ""
        return f"samples {self.conflict[0]} and {self.conflict[1]} are equal with opposite labels: every classifier has margin zero or less"


def read_labelled(X: ArrayLike, y: ArrayLike) -> Labelled:
    """Inputs (n, d) without the bias column and labels ±1."""
    X = matrix("X", X)
    y = labels("y", y, X.shape[0])
    _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    differs = np.flatnonzero(y != y[first][group])
    conflict = None
    if differs.size:
        mine = int(differs[0])
        conflict = (int(first[group[mine]]), mine)
    order = np.sort(first)
    return Labelled(augmented(X)[order], y[order], order, y.size, conflict)
