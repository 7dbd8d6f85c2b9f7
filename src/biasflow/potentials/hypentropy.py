"""The hypentropy φ_α(x) = x·arcsinh(x/α) − √(x²+α²) + α, and its half-line form at α = 0 (R,
Definitions 3.1, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import SMALLEST_NORMAL, Array, Index, Mask, log_of_scale, real_array
from ..errors import DomainError, InputError
from .potential import MirrorPoint, Potential, pick
from .special import LARGEST_EXPONENT, LOG2, SERIES_RADIUS, scaled_sinh, sinh_minus


@dataclass(frozen=True, eq=False)
class HypentropyPoint(MirrorPoint):
    """A point of Φ_α: β = α·sinh η, or β = s·e^{sη} where α = 0. R = √(β²+α²) is its inverse
    curvature."""

    alpha: Array
    log_alpha: Array
    sign: Array
    plain: bool
    """Whether every α is a normal float, so that none lies on a half-line."""

    @property
    def radius(self) -> Array:
        return np.hypot(self.beta, self.alpha)

    def weight(self) -> Array:
        return self.radius

    def value(self) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            interior = self.beta * self.eta - self.beta * (self.beta / (self.alpha + self.radius))
            # log|β|; near 1 the terms of |β|log|β| − |β| + 1 cancel
            u = np.clip(self.sign * self.eta, -1.0, 1.0)
            near = self.radius * (2 * np.sinh(u / 2) ** 2 - sinh_minus(u))
            half_line = np.where(self.beta == 0, 1.0, self.beta * self.eta - self.radius + 1.0)
            half_line = np.where(np.abs(u) < SERIES_RADIUS, near, half_line)
        return np.where(self._on_half_line(), half_line, np.where(self.beta == 0, 0.0, interior))

    def conjugate(self) -> Array:
        half = self.eta / 2
        with np.errstate(over="ignore", invalid="ignore"):
            interior = 2 * scaled_sinh(self.log_alpha, self.alpha, half) * np.sinh(half)
            far = self.radius - self.alpha
            interior = np.where(np.abs(self.eta) < 2, interior, far)
            half_line = np.expm1(self.sign * self.eta)
        return np.where(self._on_half_line(), half_line, interior)

    def moved(self, delta: Array) -> Self:
        eta = self.eta + delta
        beta = _primal(eta, self.alpha, self.log_alpha, self.sign, self.plain)
        return type(self)(beta, eta, self.alpha, self.log_alpha, self.sign, self.plain)

    def minus(self, start: Self) -> Array:
        """sinh(η−η₀) = (β−β₀)(β+β₀)/(βR₀+β₀R) for equal signs, whatever α is."""
        top = np.maximum(np.abs(self.beta), np.abs(start.beta))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            b, b0, r, r0 = self.beta / top, start.beta / top, self.radius / top, start.radius / top
            near = np.arcsinh((self.beta - start.beta) / top * ((b + b0) / (b * r0 + b0 * r)))
            plain = self.eta - start.eta  # at the wall of a half-line both may be −∞
        use = (
            (self.log_alpha == start.log_alpha)
            & (np.sign(self.beta) * np.sign(start.beta) > 0)
            & np.isfinite(near)
            & (np.abs(near) < SERIES_RADIUS)
        )
        return np.where(use, near, plain)

    def log_size(self) -> Array:
        if self.plain:
            return self.log_alpha + np.abs(self.eta)
        return np.where(
            self._on_half_line(), self.sign * self.eta, self.log_alpha + np.abs(self.eta)
        )

    def divergence(self, start: Self) -> Array:
        delta = self.minus(start)
        with np.errstate(over="ignore", invalid="ignore"):
            small = np.clip(delta, -1.0, 1.0)
            half = np.sinh(small / 2)
            # in this order: half² may underflow
            near = 2 * (self.radius * half) * half - self.beta * sinh_minus(small)
            far = np.where(self.beta == 0, 0.0, self.beta * delta) - self.radius + start.radius
        return np.where(np.abs(delta) < SERIES_RADIUS, near, far)

    def _on_half_line(self) -> Mask:
        return np.isneginf(self.log_alpha)


def _plain(alpha: Array) -> bool:
    return bool(np.min(alpha, initial=1.0) >= SMALLEST_NORMAL)


def _primal(eta: Array, alpha: Array, log_alpha: Array, sign: Array, plain: bool) -> Array:
    """β at η."""
    if plain and np.abs(eta).max(initial=0.0) < LARGEST_EXPONENT:
        return alpha * np.sinh(eta)
    beta = scaled_sinh(log_alpha, alpha, eta)
    zero = np.isneginf(log_alpha)
    if np.any(zero):
        with np.errstate(over="ignore"):
            beta = np.where(zero, sign * np.exp(sign * eta), beta)
    return beta


class Hypentropy(Potential):
    """Φ_α(β) = Σφ_{α_i}(β_i), φ_α(x) = x·arcsinh(x/α) − √(x²+α²) + α; φ₀(x) = |x|log|x| − |x| + 1.

    R, Definitions 3.1 and 3.2; α²·Q_α of W, Theorem 1, is Φ_{2α²}.

    Parameters
    ----------
    alpha, log_alpha : float or array of shape (d,)
        α, or its logarithm, which reaches any scale; exactly one of the two.
    sign : array of shape (d,), optional
        ±1 where α is zero (that coordinate lives on the open half-line of that sign); read nowhere
        else.

    Examples
    --------
    >>> for log_alpha in (5.0, -5.0, -5000.0):
    ...     phi = bf.potentials.Hypentropy(log_alpha=log_alpha)
    ...     print(bf.bregman_projection(phi, [[1.0, 2.0, 3.0]], [6.0]).value.round(3))
    [0.429 0.857 1.286]
    [0.027 0.225 1.841]
    [0. 0. 2.]
    """

    def __init__(
        self,
        alpha: ArrayLike | None = None,
        *,
        log_alpha: ArrayLike | None = None,
        sign: ArrayLike | None = None,
    ) -> None:
        self.alpha, self.log_alpha = log_of_scale("alpha", alpha, log_alpha, zero=True)
        if self.alpha.ndim > 1:
            raise InputError(
                f"alpha: expected a number or a vector, found shape {self.alpha.shape}"
            )
        self.sign: Array | None = None if sign is None else real_array("sign", sign)
        zero = np.isneginf(self.log_alpha)
        if self.sign is not None and np.any(zero):
            if self.sign.ndim > 1 or (
                self.sign.ndim and self.alpha.ndim and self.sign.size != self.alpha.size
            ):
                raise InputError(
                    f"sign: shape {self.sign.shape} does not fit alpha {self.alpha.shape}"
                )
            there = np.broadcast_arrays(self.sign, zero)
            if not np.all(np.abs(there[0][there[1]]) == 1):
                raise DomainError("sign: must be +1 or −1 wherever alpha is zero")

    def __repr__(self) -> str:
        name = f"log_alpha={self.log_alpha}" if np.any(self.alpha == 0) else f"alpha={self.alpha}"
        return f"Hypentropy({name})"

    def at(self, beta: Array) -> HypentropyPoint:
        alpha, log_alpha = self._scales(beta)
        plain, size = _plain(alpha), np.abs(beta)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            ratio = size / alpha
            if plain and np.isfinite(alpha).all() and np.isfinite(ratio).all():
                signs = np.sign(beta)
                read = signs if self.sign is None else np.zeros(beta.shape)
                return HypentropyPoint(
                    beta, signs * np.arcsinh(ratio), alpha, log_alpha, read, plain
                )
        zero = np.isneginf(log_alpha)
        sign = (
            np.sign(beta)
            if self.sign is None
            else np.where(zero, np.broadcast_to(self.sign, beta.shape), 0.0)
        )
        wrong = zero & (beta * sign < 0)
        if np.any(wrong):
            i = int(np.flatnonzero(wrong)[0])
            raise DomainError(
                f"beta: coordinate {i} is {beta.flat[i]:g}, outside its half-line of sign "
                f"{sign.flat[i]:+.0f} (alpha = 0)"
            )
        with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
            log_ratio = np.log(size) - log_alpha
            far = log_ratio + LOG2 + 0.25 * np.exp(-2 * np.maximum(log_ratio, 10.0))
            eta = np.where(
                (alpha > 0) & np.isfinite(alpha) & np.isfinite(ratio), np.arcsinh(ratio), far
            )
            tiny = (alpha == 0) | ~np.isfinite(alpha)
            eta = np.where(
                tiny & ~zero & (log_ratio < 10),
                np.arcsinh(np.exp(np.minimum(log_ratio, 10.0))),
                eta,
            )
            eta = np.where(beta == 0, 0.0, np.sign(beta) * eta)
            eta = np.where(zero, sign * np.log(size), eta)
        return HypentropyPoint(beta, eta, alpha, log_alpha, sign, plain)

    def at_dual(self, eta: Array) -> HypentropyPoint:
        alpha, log_alpha = self._scales(eta)
        sign = np.broadcast_to(0.0 if self.sign is None else self.sign, eta.shape)
        if np.any(np.isneginf(log_alpha) & (np.abs(sign) != 1)):
            raise DomainError(
                "alpha: zero without a sign; give sign=±1 there, or a beta0 whose signs are taken"
                " (a scale below float range is given by log_alpha)"
            )
        plain = _plain(alpha)
        beta = _primal(eta, alpha, log_alpha, sign, plain)
        return HypentropyPoint(beta, eta, alpha, log_alpha, sign, plain)

    def carried(self, point: HypentropyPoint, shift: Array) -> HypentropyPoint:
        return self.at_dual(point.eta + shift)

    def oriented(self, beta0: Array) -> Hypentropy:
        zero = np.broadcast_to(np.isneginf(self.log_alpha), beta0.shape)
        if not np.any(zero):
            return self
        if np.any(zero & (beta0 == 0)):
            i = int(np.flatnonzero(zero & (beta0 == 0))[0])
            raise DomainError(
                f"beta0: coordinate {i} is zero where alpha is zero: it would never move; give it "
                "a sign or drop the column"
            )
        return _hypentropy(self.alpha, self.log_alpha, np.sign(beta0))

    def restricted(self, index: Index) -> Hypentropy:
        sign = None if self.sign is None else pick(self.sign, index)
        return _hypentropy(pick(self.alpha, index), pick(self.log_alpha, index), sign)

    def raised(self, log_floor: float) -> Hypentropy:
        low = (self.log_alpha < log_floor) & ~np.isneginf(self.log_alpha)
        log_alpha = np.where(low, log_floor, self.log_alpha)
        with np.errstate(over="ignore", under="ignore"):
            return _hypentropy(np.where(low, np.exp(log_floor), self.alpha), log_alpha, self.sign)

    def log_units(self, d: int) -> Array:
        return np.broadcast_to(self.log_alpha, (d,))

    @property
    def stride(self) -> float:
        return np.inf

    def half_lines(self, d: int) -> Array:
        zero = np.broadcast_to(np.isneginf(self.log_alpha), (d,))
        return np.where(zero, 0.0 if self.sign is None else self.sign, 0.0)

    def in_units(self, exponent: int) -> tuple[Potential, int]:
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            alpha = np.ldexp(self.alpha, -exponent)
            plain = np.isfinite(alpha) & (np.minimum(alpha, self.alpha) >= SMALLEST_NORMAL)
            log_alpha = np.where(plain, np.log(alpha), self.log_alpha - exponent * LOG2)
        return _hypentropy(alpha, log_alpha, self.sign), exponent

    def _scales(self, like: Array) -> tuple[Array, Array]:
        try:
            np.broadcast_to(0.0 if self.sign is None else self.sign, like.shape)
            return np.broadcast_to(self.alpha, like.shape), np.broadcast_to(
                self.log_alpha, like.shape
            )
        except ValueError:
            length = max(self.alpha.size, 1 if self.sign is None else self.sign.size)
            raise InputError(
                f"alpha: length {length} (of alpha or sign) does not fit a point of shape "
                f"{like.shape}"
            ) from None


def _hypentropy(alpha: Array, log_alpha: Array, sign: Array | None) -> Hypentropy:
    """A hypentropy from parts already checked, α and its logarithm both kept as they are."""
    potential = object.__new__(Hypentropy)
    potential.alpha, potential.log_alpha, potential.sign = alpha, log_alpha, sign
    return potential
