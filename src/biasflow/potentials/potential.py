"""What a potential is: a separable Legendre function φ(β) = Σφ_i(β_i), seen through its mirror map
η = ∇φ(β)."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, Index, Mask, instance, real_array
from ..errors import InputError


@dataclasses.dataclass(frozen=True, eq=False)
class MirrorPoint(ABC):
    """One point seen on both sides of the mirror map: β and η = ∇φ(β), coordinate by coordinate.

    Each side is the accurate one somewhere: β where it is large, η where β underflows. Solvers keep
    points and ask for what they need; nothing is recomputed through the ill-conditioned direction.
    """

    beta: Array
    eta: Array

    @abstractmethod
    def weight(self) -> Array:
        """1/φ''(β) = (φ*)''(η), the inverse curvature."""

    @abstractmethod
    def value(self) -> Array:
        """φ_i(β_i)."""

    @abstractmethod
    def conjugate(self) -> Array:
        """φ_i*(η_i) = η_iβ_i − φ_i(β_i)."""

    @abstractmethod
    def moved(self, delta: Array) -> Self:
        """The point at η + δ."""

    @abstractmethod
    def minus(self, start: Self) -> Array:
        """η − η_start, free of cancellation when both points came from nearby β."""

    @abstractmethod
    def log_size(self) -> Array:
        """log|β| without underflow, to within a constant; +inf where growth is not exponential in
        η."""

    @abstractmethod
    def divergence(self, start: Self) -> Array:
        """D_φ(β, β_start) per coordinate, free of cancellation."""

    def where(self, mask: Mask, other: Self) -> Self:
        """This point where `mask`, the other elsewhere."""
        merged = {
            field.name: np.where(mask, getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, **merged)


class Potential(ABC):
    """A separable Legendre potential. Subclasses say how to make points; the rest follows.

    `value`, `conjugate` and `divergence` sum over the last axis; `grad`, `grad_conjugate`,
    `hessian_diag` and `hessian_conjugate_diag` work coordinate by coordinate (both Hessians are
    diagonal).
    """

    @abstractmethod
    def at(self, beta: Array) -> MirrorPoint:
        """The mirror point with this β."""

    @abstractmethod
    def at_dual(self, eta: Array) -> MirrorPoint:
        """The mirror point with this η."""

    @abstractmethod
    def carried(self, point: Any, shift: Array) -> MirrorPoint:
        """The point of this potential at the η of another's point of the same family, plus a
        shift."""

    @abstractmethod
    def oriented(self, beta0: Array) -> Potential:
        """The same potential with the signs of β₀ where the potential lives on half-lines."""

    @abstractmethod
    def restricted(self, index: Index) -> Potential:
        """The same potential on some of its coordinates."""

    @abstractmethod
    def raised(self, log_floor: float) -> Potential:
        """The same potential with every scale whose unit of β is below e^{log_floor} raised to it
        (half-lines stay)."""

    @abstractmethod
    def log_units(self, d: int) -> Array:
        """log of the β at which each coordinate turns from quadratic to steep; −inf on
        half-lines."""

    @property
    @abstractmethod
    def stride(self) -> float:
        """The largest change of log unit that a continuation step may take."""

    @abstractmethod
    def half_lines(self, d: int) -> Array:
        """±1 where coordinate i is confined to the half-line of that sign, 0 where it is free."""

    def in_units(self, exponent: int) -> tuple[Potential, int] | None:
        """(ψ, s) with D_φ(2^e·β, 2^e·β₀) = 2^s·D_ψ(β, β₀), of the same kind: the potential of β in
        units of 2^e; None where there is no such ψ, or none is known."""
        return None

    def accuracy(self, eta: Array) -> float:
        """Relative error of points at η, beyond rounding: not zero where the potential was
        integrated, and then an estimate."""
        return 0.0

    def unscaled(self) -> tuple[float, Potential]:
        """(c, φ) where this is c·φ with one number c."""
        return 1.0, self

    def value(self, beta: ArrayLike) -> Array:
        """φ(β)."""
        return _total(self.at(real_array("beta", beta)).value())

    def grad(self, beta: ArrayLike) -> Array:
        """The mirror map η = ∇φ(β)."""
        return self.at(real_array("beta", beta)).eta

    def conjugate(self, eta: ArrayLike) -> Array:
        """φ*(η)."""
        return _total(self.at_dual(real_array("eta", eta)).conjugate())

    def grad_conjugate(self, eta: ArrayLike) -> Array:
        """The inverse mirror map β = ∇φ*(η)."""
        return self.at_dual(real_array("eta", eta)).beta

    def hessian_diag(self, beta: ArrayLike) -> Array:
        """φ''(β), the diagonal of ∇²φ."""
        with np.errstate(divide="ignore"):
            return 1.0 / self.at(real_array("beta", beta)).weight()

    def hessian_conjugate_diag(self, eta: ArrayLike) -> Array:
        """(φ*)''(η), the diagonal of ∇²φ*."""
        return self.at_dual(real_array("eta", eta)).weight()

    def divergence(self, beta: ArrayLike, beta0: ArrayLike) -> Array:
        """D_φ(β, β₀) = φ(β) − φ(β₀) − ⟨∇φ(β₀), β − β₀⟩."""
        return _total(
            self.at(real_array("beta", beta)).divergence(self.at(real_array("beta0", beta0)))
        )


def bregman(potential: Potential, b1: ArrayLike, b0: ArrayLike) -> float:
    """The Bregman divergence D_φ(b1, b0) = φ(b1) − φ(b0) − ⟨∇φ(b0), b1 − b0⟩, without cancellation.

    Parameters
    ----------
    potential : Potential
        φ.
    b1, b0 : array of shape (d,), or float

    Returns
    -------
    float

    Raises
    ------
    DomainError
        Of points that are not in the domain of φ.

    Examples
    --------
    >>> bf.potentials.bregman(bf.potentials.Euclidean(), [3.0, 4.0], [0.0, 0.0])
    12.5
    """
    instance("potential", potential, Potential)
    first, second = real_array("b1", b1), real_array("b0", b0)
    if first.ndim > 1 or first.shape != second.shape or not first.size:
        raise InputError(
            f"b1, b0: expected two vectors of one length, found shapes {first.shape} and "
            f"{second.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(potential.divergence(first, second))
    if not np.isfinite(found):
        raise InputError("b1, b0: their divergence is beyond float range")
    return found


def _total(terms: Array) -> Array:
    return np.sum(terms, axis=-1) if np.ndim(terms) else terms


def pick(parameter: Array, index: Index) -> Array:
    """A parameter that is one number, or one per coordinate, on some coordinates."""
    return parameter[index] if parameter.ndim else parameter
