"""A potential times a positive factor: the same geometry in another time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, Index, Mask, real_array
from ..errors import InputError
from .potential import MirrorPoint, Potential, pick


@dataclass(frozen=True, eq=False)
class ScaledPoint(MirrorPoint):
    factor: Array
    inner: MirrorPoint

    def weight(self) -> Array:
        return self.inner.weight() / self.factor

    def value(self) -> Array:
        return self.factor * self.inner.value()

    def conjugate(self) -> Array:
        return self.factor * self.inner.conjugate()

    def moved(self, delta: Array) -> Self:
        return self._around(self.inner.moved(delta / self.factor))

    def minus(self, start: Self) -> Array:
        return self.factor * self.inner.minus(start.inner)

    def log_size(self) -> Array:
        return self.inner.log_size()

    def divergence(self, start: Self) -> Array:
        return self.factor * self.inner.divergence(start.inner)

    def where(self, mask: Mask, other: Self) -> Self:
        return self._around(self.inner.where(mask, other.inner))

    def _around(self, inner: MirrorPoint) -> Self:
        return type(self)(inner.beta, self.factor * inner.eta, self.factor, inner)


class ScaledPotential(Potential):
    """c·φ: mirror flow runs c times slower, the limit is unchanged.

    Parameters
    ----------
    factor : float or array of shape (d,)
        c.
    potential : Potential
        φ.

    Examples
    --------
    >>> slow = bf.potentials.ScaledPotential(4.0, bf.potentials.Euclidean())
    >>> flow = bf.mirror_flow(slow, [[1.0]], [1.0], t1=4.0)
    >>> flow.final.round(4), (1 - np.exp([-1.0])).round(4)
    (array([0.6321]), array([0.6321]))
    """

    def __init__(self, factor: ArrayLike, potential: Potential) -> None:
        self.factor = real_array("factor", factor)
        if not np.all(self.factor > 0) or self.factor.ndim > 1:
            raise InputError(f"factor: expected a positive number or vector, found {factor!r}")
        self.potential = potential

    def __repr__(self) -> str:
        return f"ScaledPotential({self.factor}, {self.potential!r})"

    def at(self, beta: Array) -> ScaledPoint:
        return self._wrap(self.potential.at(beta))

    def at_dual(self, eta: Array) -> ScaledPoint:
        return self._wrap(self.potential.at_dual(eta / self.factor))

    def carried(self, point: ScaledPoint, shift: Array) -> ScaledPoint:
        return self._wrap(self.potential.carried(point.inner, shift / self.factor))

    def oriented(self, beta0: Array) -> ScaledPotential:
        return ScaledPotential(self.factor, self.potential.oriented(beta0))

    def restricted(self, index: Index) -> ScaledPotential:
        return ScaledPotential(pick(self.factor, index), self.potential.restricted(index))

    def raised(self, log_floor: float) -> ScaledPotential:
        return ScaledPotential(self.factor, self.potential.raised(log_floor))

    def log_units(self, d: int) -> Array:
        return self.potential.log_units(d)

    @property
    def stride(self) -> float:
        return self.potential.stride

    def half_lines(self, d: int) -> Array:
        return self.potential.half_lines(d)

    def accuracy(self, eta: Array) -> float:
        return self.potential.accuracy(eta / self.factor)

    def unscaled(self) -> tuple[float, Potential]:
        if np.ptp(self.factor) != 0:
            return 1.0, self
        return float(np.ravel(self.factor)[0]), self.potential

    def in_units(self, exponent: int) -> tuple[Potential, int] | None:
        inner = self.potential.in_units(exponent)
        return None if inner is None else (ScaledPotential(self.factor, inner[0]), inner[1])

    def _wrap(self, inner: MirrorPoint) -> ScaledPoint:
        factor = np.broadcast_to(self.factor, inner.beta.shape)
        return ScaledPoint(inner.beta, factor * inner.eta, factor, inner)
