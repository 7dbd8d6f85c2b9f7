"""The potentials as the papers print them, written down a second time: what `potentials` says is
compared with this.

Each formula works coordinate by coordinate on arrays whose last axis is the coordinates. Nothing
here calls `potentials`, except for a potential that is not one of ours, where its ∇φ is all there
is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL, Array
from ...potentials import DepthPotential, Entropy, Euclidean, Hypentropy, Potential, ScaledPotential

EPS = float(np.finfo(float).eps)
NEAR_DISTANCE = 0.5
"""Distance of two points, over the length on which φ'' changes, up to which D_φ is the integral of
φ'' between them."""
NODES = 16
"""Of the Gauss–Legendre rule on such an interval: the integrand is analytic, its poles twice that
far away; 16 reach rounding."""
STEP = 1e-3
"""Relative step of the fourth-order differences of an unknown ∇φ: truncation 1e-12, rounding
1e-13."""
DIFFERENCED = 24 / 30 * (2 * STEP) ** 4
"""Relative error of such a φ'': h⁴φ⁽⁶⁾/(30φ''), at most 4!/scale⁴ in the bracket for analytic φ,
whose scale is known up to a factor of two."""
CONVERGED_STEP = 1e-14
"""Newton step of the logarithm of a slack at which the next one is below rounding."""
POLISH_STEPS = 2
"""Newton steps from a z that is known to the rounding of one: the first leaves the rounding of z
itself, one for safety."""
NEWTON_STEPS = 60
"""Steps for the slack of a depth potential: each at least halves the error of its logarithm until
it converges quadratically."""

NUMBERS_PER_CALL = 200_000
"""Numbers of which φ'' is evaluated in one call."""
_RULE = tuple(
    part / 2
    for part in (
        np.polynomial.legendre.leggauss(NODES)[0] + 1,
        np.polynomial.legendre.leggauss(NODES)[1],
    )
)

Function = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Formulas:
    """η = φ'(β), its inverse, φ*(η(β)), 1/φ'' and its derivative; on half-lines `signs` is ±1,
    elsewhere zero.

    scale: the length on which φ'' changes at β. least: inf 1/φ'' over the domain. independent:
    whether they are written here.
    """

    gradient: Function
    inverse: Function
    conjugate: Function
    weight: Function
    slope: Function | None
    scale: Function
    signs: Array
    least: Array
    independent: bool = True

    @property
    def differenced(self) -> float:
        """Relative error of D_φ from a φ'' that is known by differences only."""
        return 0.0 if self.independent else DIFFERENCED

    def divergence(self, best: Array, beta: Array) -> Array:
        """D_φ(best, β) per coordinate: ∫(best − s)φ''(s)ds for near points, best·(η − η₀) − φ*(η) +
        φ*(η₀) for others."""
        with np.errstate(all="ignore"):
            step = best - beta
            near = np.abs(step) < NEAR_DISTANCE * np.minimum(self.scale(best), self.scale(beta))
            inside = np.where(near, step, 0.0)
            total = np.zeros(np.broadcast_shapes(np.shape(best), np.shape(beta)))
            at_once = max(1, min(NODES, NUMBERS_PER_CALL // max(total.size, 1)))
            for first in range(0, NODES, at_once):
                x, share = (
                    part[first : first + at_once].reshape(-1, *(1,) * total.ndim) for part in _RULE
                )
                total = total + np.sum(share * (1 - x) / self.weight(beta + x * inside), axis=0)
            apart = (
                best * (self.gradient(best) - self.gradient(beta))
                - self.conjugate(best)
                + self.conjugate(beta)
            )
            wall = (best == 0) & (self.signs != 0)
            far = np.where(
                wall,
                self.conjugate(beta) - self.conjugate(np.zeros_like(best)),
                np.maximum(apart, 0.0),
            )
            return np.where(near, total * inside**2, far)

    def rounding(self, best: Array, beta: Array) -> Array:
        """Of that, per coordinate: of the integral for near points, of the terms that cancel for
        others."""
        with np.errstate(all="ignore"):
            D = self.divergence(best, beta)
            near = np.abs(best - beta) < NEAR_DISTANCE * np.minimum(
                self.scale(best), self.scale(beta)
            )
            slopes = np.abs(best) * (1 + np.abs(self.gradient(best)) + np.abs(self.gradient(beta)))
            terms = slopes + np.abs(self.conjugate(best)) + np.abs(self.conjugate(beta))
            wall = (best == 0) & (self.signs != 0)
            rounding = 16 * EPS * np.where(near | wall | ~np.isfinite(terms), D, terms)
            return rounding if self.independent else rounding + self.differenced * D


def formulas_of(potential: Potential, d: int, start: Array | None = None) -> Formulas:
    """The formulas of a potential on d coordinates; half-lines take their signs from the start
    where they have none."""
    if isinstance(potential, ScaledPotential):
        return _scaled(
            formulas_of(potential.potential, d, start), np.broadcast_to(potential.factor, (d,))
        )
    if isinstance(potential, Euclidean):
        return _euclidean(d)
    if isinstance(potential, Entropy):
        return _hypentropy(np.zeros(d), np.ones(d))
    if isinstance(potential, Hypentropy):
        log_alpha = np.broadcast_to(potential.log_alpha, (d,))
        alpha = np.broadcast_to(potential.alpha, (d,))
        zero = np.isneginf(log_alpha)
        if np.all(zero | ((alpha >= SMALLEST_NORMAL) & np.isfinite(alpha))):
            given = np.zeros(d) if potential.sign is None else np.broadcast_to(potential.sign, (d,))
            signs = given if start is None else np.sign(start)
            return _hypentropy(np.where(zero, 0.0, alpha), np.where(zero, signs, 0.0))
    if isinstance(potential, DepthPotential):
        unit = np.exp(np.broadcast_to(potential.depth * potential.log_alpha, (d,)))
        if np.all((unit >= SMALLEST_NORMAL) & np.isfinite(unit)):
            return _depth(potential.depth, unit)
    return _unknown(potential if start is None else potential.oriented(start), d)


def _scaled(inner: Formulas, factor: Array) -> Formulas:
    """cφ: ∇(cφ) = c∇φ, (cφ)* = cφ*, 1/(cφ)'' = 1/(cφ'')."""
    slope = inner.slope
    return Formulas(
        lambda beta: factor * inner.gradient(beta),
        lambda eta: inner.inverse(eta / factor),
        lambda beta: factor * inner.conjugate(beta),
        lambda beta: inner.weight(beta) / factor,
        None if slope is None else (lambda beta: slope(beta) / factor),
        inner.scale,
        inner.signs,
        inner.least / factor,
        inner.independent,
    )


def _euclidean(d: int) -> Formulas:
    return Formulas(
        np.array,
        np.array,
        lambda beta: 0.5 * beta**2,
        np.ones_like,
        np.zeros_like,
        lambda beta: np.full_like(beta, np.inf),
        np.zeros(d),
        np.ones(d),
    )


def _hypentropy(alpha: Array, signs: Array) -> Formulas:
    """R, Lemma A.3: φ' = arcsinh(x/α), φ'' = 1/√(x²+α²); φ' = sign·log|x|, φ'' = 1/|x| where α = 0;
    φ* = √(x²+α²) − α."""
    zero = alpha == 0
    safe = np.where(zero, 1.0, alpha)

    def gradient(beta: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(zero, signs * np.log(np.abs(beta)), _arcsinh(beta, safe))

    def inverse(eta: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.where(
                zero, signs * np.exp(signs * eta), safe * np.sinh(np.where(zero, 0.0, eta))
            )

    def radius(beta: Array) -> Array:
        """√(β²+α²), without squares where one of them is no float."""
        if np.min(safe) <= 1e-150:
            return np.hypot(beta, alpha)
        return np.where(zero, np.abs(beta), np.sqrt(beta**2 + alpha**2))

    return Formulas(
        gradient,
        inverse,
        lambda beta: radius(beta) - alpha,
        radius,
        lambda beta: np.where(zero, signs, beta / np.where(zero, 1.0, radius(beta))),
        radius,
        signs,
        alpha,
    )


def _arcsinh(beta: Array, alpha: Array) -> Array:
    """log(x/α + √(x²/α² + 1)), in differences of logarithms where the ratio is not a float."""
    ratio = beta / alpha
    far = np.sign(beta) * (np.log(2 * np.maximum(np.abs(beta), SMALLEST_NORMAL)) - np.log(alpha))
    return np.where(np.isfinite(ratio), np.arcsinh(ratio), far)


def _depth(depth: int, unit: Array) -> Formulas:
    """W, Theorem 3: β = α^D·h(z), h = (1−z)^{−p} − (1+z)^{−p}, p = D/(D−2), z = φ'(β); in the slack
    q = 1 − |z|."""
    p = depth / (depth - 2)

    def slack(beta: Array) -> Array:
        """q with q^{−p} − (2−q)^{−p} = |β|/α^D: Newton on log(q^{−p} − …) against log q, from the
        leading term."""
        target = np.abs(beta) / unit
        log_q = -np.log1p(target) / p
        for _ in range(NEWTON_STEPS):
            q = np.exp(log_q)
            wall, other = q**-p, (2 - q) ** -p
            move = (wall - other - target) / (p * (wall + q / (2 - q) * other))
            log_q = np.minimum(log_q + move, 0.0)
            if float(np.max(np.abs(move), initial=0.0)) <= CONVERGED_STEP:
                break
        return np.asarray(np.exp(log_q))

    def gradient(beta: Array) -> Array:
        """z = 1 − q, and where that cancels Newton's method on h(z) = 2(1−z²)^{−p/2}·sinh(p·artanh
        z)."""
        q = slack(beta)
        target = np.abs(beta) / unit
        small = np.minimum(1 - q, 0.5)
        for _ in range(POLISH_STEPS):
            value = 2 * np.exp(-p / 2 * np.log1p(-(small**2))) * np.sinh(p * np.arctanh(small))
            steep = p * ((1 - small) ** (-p - 1) + (1 + small) ** (-p - 1))
            small = np.where(q > 0.5, small - (value - target) / steep, 0.5)
        return np.sign(beta) * np.where(q > 0.5, small, 1 - q)

    def weight(beta: Array) -> Array:
        q = slack(beta)
        return p * unit * (q ** (-p - 1) + (2 - q) ** (-p - 1))

    def slope(beta: Array) -> Array:
        q = slack(beta)
        ratio = (q ** (-p - 2) - (2 - q) ** (-p - 2)) / (q ** (-p - 1) + (2 - q) ** (-p - 1))
        return np.sign(beta) * (p + 1) * ratio

    def conjugate(beta: Array) -> Array:
        q = slack(beta)
        return unit * (q ** (1 - p) + (2 - q) ** (1 - p) - 2) / (p - 1)

    def inverse(eta: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (1 - eta) ** -p - (1 + eta) ** -p
            near = (
                2
                * np.exp(-p / 2 * np.log1p(-(eta**2)))
                * np.sinh(p * np.arctanh(np.clip(eta, -0.5, 0.5)))
            )
            return unit * np.where(np.abs(eta) < 0.5, near, np.where(np.abs(eta) < 1, far, np.nan))

    return Formulas(
        gradient,
        inverse,
        conjugate,
        weight,
        slope,
        lambda beta: unit + np.abs(beta),
        np.zeros(unit.size),
        2 * p * unit,
    )


def _unknown(potential: Any, d: int) -> Formulas:
    """What a potential says of itself, φ'' by differences of its ∇φ; half-lines and least curvature
    as it states them."""
    signs = potential.half_lines(d)

    def scale(beta: Array) -> Array:
        units = potential.log_units(d)  # +inf: quadratic everywhere, where any step will do
        return np.maximum(
            np.abs(beta), np.exp(np.clip(np.where(units < np.inf, units, 0), -700, 700))
        )

    def weight(beta: Array) -> Array:
        h = STEP * scale(beta)
        g = potential.grad
        return 12 * h / (8 * (g(beta + h) - g(beta - h)) - (g(beta + 2 * h) - g(beta - 2 * h)))

    with np.errstate(all="ignore"):
        least = np.where(signs != 0, 0.0, potential.at_dual(np.zeros(d)).weight())
    return Formulas(
        potential.grad,
        potential.grad_conjugate,
        lambda beta: potential.at(beta).conjugate(),
        weight,
        None,
        scale,
        signs,
        least,
        independent=False,
    )
