"""Potentials of one's own: φ(β) = Σφ(β_i) from its derivative φ′ alone; the rest is computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._core.arguments import Array, Index, Mask, one_of
from ..errors import DomainError, InputError
from .potential import MirrorPoint, Potential

Function = Callable[[Array], Array]
"""A function of one number, applied to every entry of an array."""
DOMAINS = {"real": 0.0, "positive": 1.0, "negative": -1.0}
"""Where φ′ lives, by name: the sign of its half-line, zero for the line."""
EPS = float(np.finfo(float).eps)
EXPONENTS = np.arange(-1074.0, 1024.0)
"""Of the powers of two that floats hold."""
PROBED_SIZES = 2.0 ** np.arange(-10.0, 11.0)
"""Sizes at which φ′ is tried when a potential is made."""
ROOT_STEPS = 80
"""Steps for φ′(β) = η in a bracket of ratio two: halving alone ends after 53."""
NODES_REACH = 3.25
"""Nodes of the quadrature reach to ±NODES_REACH: there weights are 1e-17 of the largest."""
NODES_SPACING = 1 / 36
"""Of those nodes. tanh-sinh rules err by e^{−2πδ/h}, δ the distance of singularities: for arcsinh
on (0, β) it is (π/2)/log(β/α), where what is missed is α/β of the whole; 1e-15 for all ratios."""
DIFFERENCE_STEP = 2.0**-10
"""Step of differences of φ′, relative to β: those of five points err by its fourth power, 1e-12."""
LONGER_STEP_ABOVE = 1e-10
"""Relative rounding in a difference of φ′ above which its step is made larger."""
LEAST_LOG_SCALE = -620.0
"""log of a scale below which a φ′ on the line has none: floats end at −708."""
INTEGRATED_ABOVE = 1e-8
"""Relative rounding in η − η₀ above which it is taken as ∫φ″ instead."""


def _rule() -> tuple[Array, Array, Array]:
    """Distances of tanh-sinh nodes from both ends of (0, 1), and their weights."""
    t = np.arange(-NODES_REACH, NODES_REACH + NODES_SPACING / 2, NODES_SPACING)
    s = np.pi / 2 * np.sinh(t)
    weights = NODES_SPACING * np.pi / 4 * np.cosh(t) / np.cosh(s) ** 2
    return 1 / (1 + np.exp(-2 * s)), 1 / (1 + np.exp(2 * s)), weights / np.sum(weights)


FROM_ZERO, FROM_ONE, WEIGHTS = _rule()
LEGENDRE = np.polynomial.legendre.leggauss(8)
"""For integrals of φ″ between points that are so near that it hardly changes."""


@dataclass(frozen=True, eq=False)
class SeparablePoint(MirrorPoint):
    potential: Separable

    def weight(self) -> Array:
        return self.potential.weight_at(self.beta)

    def value(self) -> Array:
        """∫φ′ from its zero."""
        if self.potential.given_value is not None:
            return np.asarray(self.potential.given_value(self.beta))
        return self.potential.area(np.full_like(self.beta, self.potential.base), self.beta, 0.0)

    def conjugate(self) -> Array:
        with np.errstate(invalid="ignore"):
            product = np.where(self.beta == 0, 0.0, self.beta * self.eta)
        return product - self.value()

    def moved(self, delta: Array) -> Self:
        eta = self.eta + delta
        return dataclasses.replace(self, beta=self.potential.solve(eta), eta=eta)

    def minus(self, start: Self) -> Array:
        with np.errstate(invalid="ignore"):
            plain = self.eta - start.eta
            near = EPS * (np.abs(self.eta) + np.abs(start.eta)) > INTEGRATED_ABOVE * np.abs(plain)
        return np.where(near, self._curved(start, near, 0), plain)

    def log_size(self) -> Array:
        return np.full_like(self.beta, np.inf)

    def divergence(self, start: Self) -> Array:
        """∫(φ′(b) − φ′(β₀))db, of one sign; ∫(β − b)φ″(b)db where φ′(b) − φ′(β₀) would cancel."""
        with np.errstate(invalid="ignore"):
            plain = np.abs(self.eta - start.eta)
            near = EPS * (np.abs(self.eta) + np.abs(start.eta)) > INTEGRATED_ABOVE * plain
        far = self.potential.area(start.beta, self.beta, start.eta)
        return np.where(near, self._curved(start, near, 1), np.maximum(far, 0.0))

    def _curved(self, start: Self, near: Mask, power: int) -> Array:
        """∫(β − b)^power·φ″(b)db from the start, where they are near."""
        step = np.where(near, self.beta - start.beta, 0.0)
        total = np.zeros_like(self.beta)
        for node, share in zip((LEGENDRE[0] + 1) / 2, LEGENDRE[1] / 2, strict=True):
            slope = 1 / self.potential.weight_at(start.beta + node * step)
            total += np.where(step == 0, 0.0, share * slope * ((1 - node) * step) ** power)
        return total * step


class Separable(Potential):
    """φ(β) = Σφ(β_i) of the user's own: φ′ is enough, the rest is computed, slower.

    φ should be smooth, but at walls.

    Parameters
    ----------
    derivative : callable
        φ′, increasing and continuous on the whole line or on a half-line, array in and array out.
    domain : {'real', 'positive', 'negative'}
    second, value, inverse : callable, optional
        φ″, φ and the inverse of φ′, each computed where it is not given: φ″ by differences of φ′,
        to about ten digits; φ by quadrature from the zero of φ′ (or from ±1, zero on the line,
        where φ′ has none); the inverse by bisection, to the last digit that φ′ leaves of it.

    Examples
    --------
    >>> phi = bf.potentials.Separable(lambda beta: np.arcsinh(beta / 0.1))
    >>> for potential in (phi, bf.potentials.Hypentropy(0.1)):
    ...     print(bf.bregman_projection(potential, [[1.0, 2.0, 3.0]], [1.0]).value.round(6))
    [0.054972 0.125462 0.231368]
    [0.054972 0.125462 0.231368]
    """

    def __init__(
        self,
        derivative: Function,
        *,
        domain: str = "real",
        second: Function | None = None,
        value: Function | None = None,
        inverse: Function | None = None,
    ) -> None:
        self.sign = DOMAINS[one_of("domain", domain, tuple(DOMAINS))]
        self.derivative, self.second = derivative, second
        self.given_value, self.inverse = value, inverse
        self._try(domain)
        self.middle = 0.0 if self.sign else float(self.slope(np.zeros(1))[0])
        base = float(self.solve(np.zeros(1))[0])
        self.base = base if np.isfinite(base) and (base or not self.sign) else self.sign
        self.log_unit = -np.inf if self.sign else self._log_unit()
        if self.log_unit < LEAST_LOG_SCALE and not self.sign:
            raise InputError(
                "derivative: infinitely steep at its zero, where flows and projections start; "
                "round it off there, as β(β² + ε²)^(p/2−1) does |β|^(p−1)"
            )

    def __repr__(self) -> str:
        return f"Separable({getattr(self.derivative, '__name__', self.derivative)})"

    def slope(self, beta: Array) -> Array:
        """φ′(β), infinite at walls."""
        with np.errstate(all="ignore"):
            return np.asarray(self.derivative(beta), dtype=float)

    def weight_at(self, beta: Array) -> Array:
        """1/φ″(β), by five-point differences where φ″ is not given, with steps that grow until
        rounding is small beside the difference."""
        if self.second is not None:
            with np.errstate(divide="ignore"):
                return 1 / np.asarray(self.second(beta), dtype=float)
        h = np.maximum(DIFFERENCE_STEP * np.abs(beta), 2.0**-960)
        found = np.zeros_like(beta)
        left = np.isfinite(beta) & ((beta != 0) | (self.sign == 0))
        while np.any(left):
            ends = [self.slope(beta + k * h) for k in (-2, -1, 1, 2)]
            with np.errstate(all="ignore"):
                rise = (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / 12
                found = np.where(left, h / rise, found)
                noisy = EPS * np.abs(ends[2]) > LONGER_STEP_ABOVE * np.abs(rise)
            most = 0.25 * np.abs(beta) if self.sign else np.full_like(beta, 2.0**960)
            left = left & noisy & (16 * h <= most)
            h = np.where(left, 16 * h, h)
        return found

    def area(self, start: Array, end: Array, level: Array | float) -> Array:
        """∫(φ′(b) − level)db from start to end, in two parts where the base lies between."""
        middle = np.clip(self.base, np.minimum(start, end), np.maximum(start, end))
        total = np.zeros(np.broadcast_shapes(np.shape(start), np.shape(end)))
        for here, there in ((middle, start), (middle, end)):
            width = np.asarray(there - here)
            for near, far, share in zip(FROM_ZERO, FROM_ONE, WEIGHTS, strict=True):
                b = here + near * width if near < far else there - far * width
                height = self.slope(b) - level
                part = np.where(width == 0, 0.0, share * height * width)
                total = total - part if there is start else total + part
        return total

    def solve(self, eta: Array) -> Array:
        """β with φ′(β) = η: the power of two below |β| by bisection, then regula falsi, halved
        where it stalls; zero or infinite beyond what φ′ reaches."""
        if self.inverse is not None:
            with np.errstate(all="ignore"):
                return np.asarray(self.inverse(eta), dtype=float)
        eta = np.asarray(eta, dtype=float)
        side = (
            np.where(eta >= self.middle, 1.0, -1.0)
            if self.sign == 0
            else np.full_like(eta, self.sign)
        )

        def excess(size: Array) -> Array:
            return side * (self.slope(side * size) - eta)

        low, high = np.full(eta.shape, -1), np.full(eta.shape, EXPONENTS.size)
        while np.any(high - low > 1):
            half = (low + high) // 2
            above = excess(2.0 ** EXPONENTS[half]) > 0
            low, high = np.where(above, low, half), np.where(above, half, high)
        inside = (low >= 0) & (high < EXPONENTS.size)
        a = 2.0 ** EXPONENTS[np.where(inside, low, 0)]
        b = np.where(inside, 2 * a, a)
        fa, fb = excess(a), excess(b)
        size = np.where(fb == 0, b, a)
        for step in range(ROOT_STEPS):
            open_ = inside & (b - a > EPS * a / 2) & (fa != 0) & (fb != 0)
            if not np.any(open_):
                break
            with np.errstate(all="ignore"):
                cut = a - fa * (b - a) / (fb - fa)
            inner = (cut > a) & (cut < b) & (step % 3 < 2)
            c = np.where(inner, cut, a + (b - a) / 2)
            open_ = open_ & (c > a) & (c < b)
            if not np.any(open_):
                break
            fc = excess(c)
            up = fc > 0
            # the end that stays is trusted half as much: Illinois
            fa, fb = (
                np.where(open_, np.where(up, fa / 2, fc), fa),
                np.where(open_, np.where(up, fc, fb / 2), fb),
            )
            a, b = np.where(open_ & ~up, c, a), np.where(open_ & up, c, b)
            size = np.where(open_, c, size)
        size = np.where(inside, size, np.where(low < 0, 0.0, np.inf))
        return np.asarray(np.where(np.isnan(eta), np.nan, side * size))

    def at(self, beta: Array) -> SeparablePoint:
        outside = self.sign * beta < 0
        if np.any(outside):
            i = int(np.flatnonzero(outside)[0])
            raise DomainError(f"beta: coordinate {i} is {beta.flat[i]:g}, outside its half-line")
        return SeparablePoint(beta, self.slope(beta), self)

    def at_dual(self, eta: Array) -> SeparablePoint:
        beta = self.solve(eta)
        if np.any(np.isinf(beta)):
            raise DomainError(
                f"eta: {eta[np.isinf(beta)].flat[0]:g} is beyond what the derivative reaches"
            )
        return SeparablePoint(beta, eta, self)

    def carried(self, point: SeparablePoint, shift: Array) -> SeparablePoint:
        return self.at_dual(point.eta + shift)

    def oriented(self, beta0: Array) -> Separable:
        self.at(beta0)
        return self

    def restricted(self, index: Index) -> Separable:
        return self

    def raised(self, log_floor: float) -> Separable:
        return self

    def log_units(self, d: int) -> Array:
        return np.full(d, self.log_unit)

    def _log_unit(self) -> float:
        """Where φ′ has left its tangent at the base by a factor of two, on either side."""
        far, base = 2.0 ** np.arange(-960.0, 960.0), np.array(self.base)
        bent = np.zeros(far.size, bool)
        for side in (1.0, -1.0):
            rise = np.abs(self.slope(base + side * far) - self.slope(base))
            with np.errstate(all="ignore"):
                bent |= (np.abs(np.log2(rise * self.weight_at(base) / far)) > 1) & (rise > 0)
        return float(np.log(far[bent][0])) if np.any(bent) else np.inf

    @property
    def stride(self) -> float:
        return np.inf

    def half_lines(self, d: int) -> Array:
        return np.full(d, self.sign)

    def _try(self, domain: str) -> None:
        """An error where a function given is not what it says at sizes from 1e-3 to 1e3."""
        beta = np.sort(np.concatenate([-PROBED_SIZES, PROBED_SIZES]))
        beta = beta[self.sign * beta >= 0]
        rising = self._finite("derivative", self.derivative, beta)
        flat = np.diff(rising) <= 0
        if np.any(flat):
            i = int(np.flatnonzero(flat)[0])
            raise InputError(
                f"derivative: expected an increasing function on the {domain} numbers, found "
                f"{rising[i]:g} at {beta[i]:g} and {rising[i + 1]:g} at {beta[i + 1]:g}"
            )
        if self.given_value is not None:
            self._finite("value", self.given_value, beta)
        if self.second is not None and np.any(self._finite("second", self.second, beta) <= 0):
            raise InputError("second: expected positive numbers")
        if self.inverse is not None:
            back = self._finite("inverse", self.inverse, rising)
            if not np.allclose(back, beta, rtol=1e-6):
                raise InputError("inverse: does not invert the derivative")

    @staticmethod
    def _finite(name: str, function: Function, at: Array) -> Array:
        if not callable(function):
            raise InputError(f"{name}: expected a function, found {type(function).__name__}")
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(function(at), dtype=float)
        except Exception as reason:
            raise InputError(f"{name}: fails on an array of numbers: {reason}") from reason
        if found.shape != at.shape or not np.all(np.isfinite(found)):
            raise InputError(
                f"{name}: expected {at.size} finite numbers for as many, found {found!r:.60}"
            )
        return found
