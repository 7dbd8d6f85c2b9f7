"""The Euclidean potential ½‖β‖²: its mirror flow is plain gradient flow."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._core.arguments import Array, Index
from .potential import MirrorPoint, Potential


@dataclass(frozen=True, eq=False)
class EuclideanPoint(MirrorPoint):
    def weight(self) -> Array:
        return np.ones_like(self.beta)

    def value(self) -> Array:
        return 0.5 * self.beta**2

    def conjugate(self) -> Array:
        return 0.5 * self.eta**2

    def moved(self, delta: Array) -> Self:
        return dataclasses.replace(self, beta=self.beta + delta, eta=self.eta + delta)

    def minus(self, start: Self) -> Array:
        return self.beta - start.beta

    def log_size(self) -> Array:
        return np.full_like(self.beta, np.inf)

    def divergence(self, start: Self) -> Array:
        return 0.5 * (self.beta - start.beta) ** 2


class Euclidean(Potential):
    """φ(β) = ½‖β‖²: the mirror flow is gradient flow.

    Examples
    --------
    >>> bf.potentials.Euclidean().value(np.array([3.0, 4.0])).item()
    12.5
    """

    def __repr__(self) -> str:
        return "Euclidean()"

    def at(self, beta: Array) -> EuclideanPoint:
        return EuclideanPoint(beta, beta)

    def at_dual(self, eta: Array) -> EuclideanPoint:
        return EuclideanPoint(eta, eta)

    def carried(self, point: EuclideanPoint, shift: Array) -> EuclideanPoint:
        return self.at_dual(point.eta + shift)

    def oriented(self, beta0: Array) -> Euclidean:
        return self

    def restricted(self, index: Index) -> Euclidean:
        return self

    def raised(self, log_floor: float) -> Euclidean:
        return self

    def log_units(self, d: int) -> Array:
        return np.full(d, np.inf)

    @property
    def stride(self) -> float:
        return np.inf

    def half_lines(self, d: int) -> Array:
        return np.zeros(d)

    def in_units(self, exponent: int) -> tuple[Potential, int]:
        return self, 2 * exponent
