"""The entropy Σ x log x − x + 1 on the positive orthant: the hypentropy at α = 0."""

from __future__ import annotations

import numpy as np

from .._core.arguments import Array, Index
from .hypentropy import Hypentropy, HypentropyPoint
from .potential import Potential

_HALF_LINE = Hypentropy(0.0, sign=1.0)


class Entropy(Potential):
    """φ(β) = Σβ_i log β_i − β_i + 1 for β > 0; ∇φ = log β, φ* = Σe^η − 1, D_φ the Kullback–Leibler
    divergence.

    Examples
    --------
    >>> phi = bf.potentials.Entropy()
    >>> phi.grad(np.array([1.0, np.e])), phi.grad_conjugate(np.zeros(2))
    (array([0., 1.]), array([1., 1.]))
    """

    def __repr__(self) -> str:
        return "Entropy()"

    def at(self, beta: Array) -> HypentropyPoint:
        return _HALF_LINE.at(beta)

    def at_dual(self, eta: Array) -> HypentropyPoint:
        return _HALF_LINE.at_dual(eta)

    def carried(self, point: HypentropyPoint, shift: Array) -> HypentropyPoint:
        return self.at_dual(point.eta + shift)

    def oriented(self, beta0: Array) -> Entropy:
        _HALF_LINE.at(beta0)
        return self

    def restricted(self, index: Index) -> Entropy:
        return self

    def raised(self, log_floor: float) -> Entropy:
        return self

    def log_units(self, d: int) -> Array:
        return np.full(d, -np.inf)

    @property
    def stride(self) -> float:
        return np.inf

    def half_lines(self, d: int) -> Array:
        return np.ones(d)

    def in_units(self, exponent: int) -> tuple[Potential, int]:
        return self, exponent
