"""Reading of labelled inputs, and the two facts about them that need no computation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, Index, has_bias, labels, matrix, one_of
from ...errors import AssumptionError, InputError
from ...models import augmented


@dataclass(frozen=True, eq=False)
class Labelled:
    """Distinct inputs with their bias coordinate, rows (k, d+1), labels (k,), and the sample each
    stands for (first). biased: whether there is one; without it rows are (k, d).

    group: the distinct input of each sample given, (n,).
    conflict: two samples of equal input and opposite labels, if there are; then every margin is
    zero.
    """

    rows: Array
    y: Array
    first: Index
    group: Index
    conflict: tuple[int, int] | None
    biased: bool = True

    def spread(self, p: Array) -> Array:
        """Weights on the distinct inputs as weights on the samples given."""
        full = np.zeros(self.group.size)
        full[self.first] = p
        return full

    def gathered(self, signed: Array) -> Array:
        """Signed weights on the samples given as signed weights on the distinct inputs."""
        sums = np.zeros(self.first.size)
        np.add.at(sums, self.group, signed)
        return sums

    @property
    def conflict_weights(self) -> Array:
        """Weights that prove every margin zero."""
        p = np.zeros(self.group.size)
        p[list(self.conflict or ())] = 0.5
        return p

    @property
    def note(self) -> str:
        if self.conflict is None:
            return ""
        i, j = self.conflict
        return (
            f"samples {i} and {j} are equal with opposite labels: every classifier has margin "
            "zero or less"
        )


BIASES = ("none", "column", "append")
"""Who adds the constant column: nobody, the user, who has, or we."""


def without_bias(X: ArrayLike, bias: str, choices: tuple[str, ...] = BIASES[1:]) -> Array:
    """Inputs less their bias column: 'append', they have none; 'column', their last one is the
    constant one."""
    X = matrix("X", X)
    if bias == "none" and bias not in choices:
        raise InputError(
            "bias: 'none', but F1 and F2 are spaces of functions of (x, 1) (C, §2): 'append' adds "
            "the one here, 'column' says that it is the last column"
        )
    if one_of("bias", bias, choices) != "column":
        return X
    other = np.flatnonzero(X[:, -1] != 1)
    if other.size or X.shape[1] < 2:
        found = f"sample {other[0]} has {X[other[0], -1]:g}" if other.size else "there is no other"
        raise InputError(f"X: bias='column' expects a last column of ones beside others; {found}")
    return X[:, :-1]


def read_labelled(X: ArrayLike, y: ArrayLike) -> Labelled:
    """Inputs (n, d) without the bias column and labels ±1."""
    X = matrix("X", X)
    y = labels("y", y, X.shape[0])
    if has_bias(X):
        raise InputError(
            "X: its last column is one for every sample; give the inputs without a bias column, "
            "which is added here, or say bias='column'"
        )
    return _distinct(augmented(X), y)


def read_rows(X: ArrayLike, y: ArrayLike) -> Labelled:
    """The same for networks without biases: inputs (n, d) as they are, none of them zero."""
    X = matrix("X", X)
    y = labels("y", y, X.shape[0])
    zero = np.flatnonzero(~np.any(X, axis=1))
    if zero.size:
        raise AssumptionError(
            "margin",
            f"input {zero[0]} is zero, and a network without biases is zero there: its margin "
            "cannot be positive; leave it out, or give the first layer a bias",
        )
    return replace(_distinct(X, y), biased=False)


def _distinct(rows: Array, y: Array) -> Labelled:
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    differs = np.flatnonzero(y != y[first][group])
    conflict = None
    if differs.size:
        mine = int(differs[0])
        conflict = (int(first[group[mine]]), mine)
    order = np.argsort(first)
    place = np.argsort(order)
    return Labelled(rows[first[order]], y[first[order]], first[order], place[group], conflict)
