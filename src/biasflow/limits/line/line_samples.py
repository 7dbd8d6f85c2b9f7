"""Samples on a line in rationals: sorted, one of each input, with the chords between them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, real_array
from ...errors import InconsistentError, InputError

LARGEST = Fraction(float(np.finfo(float).max)) / 16
"""Norms up to here are floats, those of a few neurons at every sample too."""


@dataclass(frozen=True, eq=False)
class LineSamples:
    """Inputs x_0 < … < x_{n−1} and labels, as the floats are.

    slopes: s_i of the chord from x_i to x_{i+1}, n − 1 of them. bends: s_i − s_{i−1} at x_i, zero
    at both ends, n of them.
    """

    x: tuple[Fraction, ...]
    y: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]
    bends: tuple[Fraction, ...]

    @property
    def n(self) -> int:
        return len(self.x)

    @property
    def inputs(self) -> Array:
        return np.array([float(x) for x in self.x])

    @property
    def labels(self) -> Array:
        return np.array([float(y) for y in self.y])

    @property
    def signs(self) -> list[int]:
        """Which way the labels bend at each input: 1 where convex, −1 where concave."""
        return [(bend > 0) - (bend < 0) for bend in self.bends]

    @property
    def variation(self) -> list[Fraction]:
        """|s_i − s_{i−1}|, whose sum is the total variation of the chords' slopes."""
        return [abs(bend) for bend in self.bends]

    @property
    def outer(self) -> Fraction:
        """s_0 + s_{n−2}, what Savarese et al. call f′(−∞) + f′(∞), of the chords."""
        return self.slopes[0] + self.slopes[-1]

    @property
    def mirrored(self) -> LineSamples:
        """The samples at −x."""
        return LineSamples(
            tuple(-x for x in self.x[::-1]),
            self.y[::-1],
            tuple(-slope for slope in self.slopes[::-1]),
            self.bends[::-1],
        )

    def chord_at(self, i: int, t: Fraction) -> Fraction:
        """The line of chord i at t."""
        return self.y[i] + self.slopes[i] * (t - self.x[i])


def read_line(x: ArrayLike, y: ArrayLike) -> LineSamples:
    """Samples from inputs (n,) or (n, 1), in any order, and labels (n,)."""
    inputs, labels = real_array("x", x), real_array("y", y)
    if inputs.ndim == 2 and inputs.shape[1] == 1:
        inputs = inputs[:, 0]
    if inputs.ndim != 1 or inputs.size == 0:
        raise InputError(
            f"x: expected inputs on a line, shape (n,) or (n, 1), found shape {inputs.shape}"
        )
    if labels.shape != inputs.shape:
        raise InputError(
            f"y: expected shape ({inputs.size},), one label for each input, found {labels.shape}"
        )
    order = np.argsort(inputs, kind="stable")
    first = [int(order[0])]
    for i, j in itertools.pairwise(order):
        if inputs[i] != inputs[j]:
            first.append(int(j))
        elif labels[i] != labels[j]:
            raise InconsistentError(
                f"y: samples {i} and {j} share the input x = {inputs[i]:g} and have different "
                f"labels, {labels[i]:g} and {labels[j]:g}: no function fits both; leave one out, "
                "or average them"
            )
    return _with_chords(
        tuple(Fraction(float(inputs[i])) for i in first),
        tuple(Fraction(float(labels[i])) for i in first),
    )


def _with_chords(x: tuple[Fraction, ...], y: tuple[Fraction, ...]) -> LineSamples:
    slopes = tuple((y[i + 1] - y[i]) / (x[i + 1] - x[i]) for i in range(len(x) - 1))
    size = max(Fraction(1), abs(x[0]), abs(x[-1]))
    for i, slope in enumerate(slopes):
        if abs(slope) * size * len(x) > LARGEST:
            raise InputError(
                f"x, y: between x = {float(x[i]):g} and {float(x[i + 1]):g} the labels rise faster "
                "than floats can say; give x or y in other units"
            )
    inner = (after - before for before, after in itertools.pairwise(slopes))
    ends = (Fraction(0),) * min(len(x), 2)
    return LineSamples(x, y, slopes, (*ends[:1], *inner, *ends[1:]))
