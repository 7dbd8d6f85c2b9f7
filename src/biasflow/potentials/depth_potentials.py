"""Potentials of diagonal networks of depth D ≥ 3 (W, Theorem 3), in the slack 1−|∇φ| where the wall
is near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import (
    SMALLEST_NORMAL,
    Array,
    Index,
    Mask,
    log_of_scale,
    positive_int,
    real_array,
)
from ..errors import DomainError, InputError
from .potential import MirrorPoint, Potential, pick
from .special import LOG2, log_cosh, log_expm1, log_sinh

NEWTON_STEPS = 60
SLACK_ABOVE = 0.5
"""|z| above which the slack, not z, carries the information."""
LOG_NEAR = float(np.log(1 - SLACK_ABOVE))
QUADRATURE = np.polynomial.legendre.leggauss(16)
"""Gauss–Legendre nodes for the divergence of nearby points; the integrand is entire, 16 reach
rounding."""
LOG_RANGE = 600.0
"""Logarithms within which powers are formed directly."""


@dataclass(frozen=True, eq=False)
class DepthPoint(MirrorPoint):
    """β = α^D·h_D(z), z = ∇φ(β) ∈ (−1, 1); p = D/(D−2). log(1−|z|) is kept apart: at small α it is
    all there is of z."""

    log_slack: Array
    log_alpha: Array
    depth: int

    @property
    def slack(self) -> Array:
        """1 − |z|."""
        return np.exp(self.log_slack)

    def weight(self) -> Array:
        """dβ/dz = p·α^D[(1−z)^{−p−1} + (1+z)^{−p−1}]."""
        p = _power(self.depth)
        with np.errstate(over="ignore", divide="ignore", under="ignore"):
            ratio = self.slack / (2 - self.slack)
            return (
                p
                * _wall(self.log_slack, self.log_alpha, self.depth)
                / self.slack
                * (1 + ratio ** (p + 1))
            )

    def value(self) -> Array:
        return np.abs(self.beta) * np.abs(self.eta) - self.conjugate()

    def conjugate(self) -> Array:
        """α^D·2·expm1(a·log cosh ξ + log cosh aξ)/a with z = tanh ξ, a = p−1."""
        a = _power(self.depth) - 1
        exponent = a * self._log_cosh_xi() + log_cosh(a * self._xi())
        log_unit = self.depth * self.log_alpha
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            direct = np.exp(log_unit) * np.expm1(exponent)
            by_logs = np.exp(log_unit + log_expm1(exponent))
        plain = (exponent < LOG_RANGE) & (np.abs(log_unit) < LOG_RANGE)
        return 2 / a * np.where(plain, direct, by_logs)

    def moved(self, delta: Array) -> DepthPoint:
        z = self.eta + delta
        keeps_side = self._near_wall() & (np.sign(z) == np.sign(self.eta))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            outward, log_move = np.sign(self.eta) * delta, np.log(np.abs(delta))
            wall = self.log_slack + np.log1p(-outward * np.exp(-self.log_slack))
            shrunk = self.log_slack + np.log1p(-np.exp(log_move - self.log_slack))
            by_logs = np.where(outward > 0, shrunk, np.logaddexp(self.log_slack, log_move))
            wall = np.where(self.log_slack < -LOG_RANGE, by_logs, wall)
            log_slack = np.where(keeps_side, wall, np.log1p(-np.abs(z)))
        return _from_slack(z, log_slack, self.log_alpha, self.depth)

    def minus(self, start: DepthPoint) -> Array:
        """z − z₀ = sinh(ξ−ξ₀)/(cosh ξ·cosh ξ₀)."""
        step, near = self._xi_step(start)
        close = (
            np.sign(self.beta) * np.sinh(step) * np.exp(-self._log_cosh_xi() - start._log_cosh_xi())
        )
        walls = np.sign(self.eta) * (start.slack - self.slack)
        same_side = (
            (np.sign(self.eta) * np.sign(start.eta) > 0) & self._near_wall() & start._near_wall()
        )
        return np.where(near, close, np.where(same_side, walls, self.eta - start.eta))

    def log_size(self) -> Array:
        return np.full_like(self.beta, np.inf)

    def divergence(self, start: DepthPoint) -> Array:
        """∫(z(b) − z₀)db over ξ where the points are close, β(z − z₀) − φ*(z) + φ*(z₀) where they
        are not."""
        step, near = self._xi_step(start)
        apart = self.beta * self.minus(start) - self.conjugate() + start.conjugate()
        found = np.maximum(apart, 0.0)
        if not near.any():
            return found
        xi0, step, log_alpha = _chosen(near, np.abs(start._xi()), step, self.log_alpha)
        p, total = _power(self.depth), np.zeros_like(step)
        nodes, weights = QUADRATURE
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            xi = xi0 + node * step
            log_factor = (
                self.depth * log_alpha
                + (p - 2) * log_cosh(xi)
                + log_cosh((p + 1) * xi)
                - log_cosh(xi0)
            )
            with np.errstate(over="ignore", under="ignore"):
                total += weight * np.sinh(node * step) * 2 * p * np.exp(log_factor)
        found = np.array(found)
        found[near] = total * step
        return found

    def _near_wall(self) -> Mask:
        return self.log_slack < LOG_NEAR

    def _xi(self) -> Array:
        far = np.sign(self.eta) * 0.5 * (np.log(2 - self.slack) - self.log_slack)
        return np.where(
            self._near_wall(), far, np.arctanh(np.clip(self.eta, -SLACK_ABOVE, SLACK_ABOVE))
        )

    def _log_cosh_xi(self) -> Array:
        far = -0.5 * (self.log_slack + np.log(2 - self.slack))
        z = np.clip(self.eta, -SLACK_ABOVE, SLACK_ABOVE)
        return np.where(self._near_wall(), far, -0.5 * np.log1p(-z * z))

    def _xi_step(self, start: DepthPoint) -> tuple[Array, Mask]:
        """|ξ| − |ξ₀| from β/β₀ alone, and where that form applies (same sign, ratio below e)."""
        p, xi0, z0 = _power(self.depth), np.abs(start._xi()), np.abs(start.eta)
        size, size0 = np.abs(self.beta), np.abs(start.beta)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            log_ratio = np.log1p((size - size0) / size0)
        near = np.asarray(
            (np.sign(self.beta) * np.sign(start.beta) > 0)
            & (np.abs(log_ratio) < 1)
            & (self.log_alpha == start.log_alpha)
        )
        steps = np.zeros(near.shape)
        if not near.any():
            return steps, near
        xi0, z0, log_ratio = _chosen(near, xi0, z0, log_ratio)
        # log β is concave in ξ and steeper than log ξ, so both starts lie below the root: Newton
        # climbs from the nearer one
        step = np.maximum(
            log_ratio / (p * z0 + p / np.tanh(p * xi0)),
            np.where(log_ratio < 0, xi0 * np.expm1(log_ratio), -np.inf),
        )
        for _ in range(6):
            grown = p * np.log1p(2 * np.sinh(step / 2) ** 2 + z0 * np.sinh(step))
            grown += np.log1p(2 * np.sinh(p * step / 2) ** 2 + np.sinh(p * step) / np.tanh(p * xi0))
            step = step - (grown - log_ratio) / (
                p * np.tanh(xi0 + step) + p / np.tanh(p * (xi0 + step))
            )
        steps[near] = step
        return steps, near


def _chosen(where: Mask, *arrays: Array) -> list[Array]:
    """Entries of arrays that broadcast to the mask."""
    return [np.broadcast_to(array, where.shape)[where] for array in arrays]


def _power(depth: int) -> float:
    return depth / (depth - 2)


def _wall(log_slack: Array, log_alpha: Array, depth: int) -> Array:
    """α^D·slack^{−p} = (μ/slack)^p with μ = α^{D−2}."""
    p, log_mu = _power(depth), (depth - 2) * log_alpha
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        direct = (np.exp(log_mu) / np.exp(log_slack)) ** p
        by_logs = np.exp(p * (log_mu - log_slack))
    return np.where((np.abs(log_mu) < LOG_RANGE) & (np.abs(log_slack) < LOG_RANGE), direct, by_logs)


def _from_slack(z: Array, log_slack: Array, log_alpha: Array, depth: int) -> DepthPoint:
    """The point at z; outside the wall, where log_slack is not a number, β is infinite."""
    p = _power(depth)
    inside = log_slack > -np.inf
    safe = np.where(inside, log_slack, 0.0)
    small = np.abs(np.clip(z, -SLACK_ABOVE, SLACK_ABOVE))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        far = _wall(safe, log_alpha, depth) * -np.expm1(p * (safe - np.log(2 - np.exp(safe))))
        near = (
            np.exp(depth * log_alpha - p / 2 * np.log1p(-small * small))
            * 2
            * np.sinh(p * np.arctanh(small))
        )
    beta = np.sign(z) * np.where(safe < LOG_NEAR, far, near)
    beta = np.where(inside, beta, np.where(z > 0, np.inf, -np.inf))
    return DepthPoint(beta, z, np.where(inside, log_slack, -np.inf), log_alpha, depth)


def _solve_xi(log_t: Array, p: float) -> Array:
    """ξ > 0 with 2cosh^p(ξ)·sinh(pξ) = t, by Newton on the logarithm."""
    with np.errstate(over="ignore", under="ignore"):
        small = np.arcsinh(np.exp(np.minimum(log_t, 50.0)) / 2) / p
    xi = np.where(log_t < 0, small, np.maximum((log_t + p * LOG2) / (2 * p), 0.1))
    xi = np.maximum(xi, SMALLEST_NORMAL)
    for _ in range(NEWTON_STEPS):
        excess = LOG2 + p * log_cosh(xi) + log_sinh(p * xi) - log_t
        slope = p * np.tanh(xi) + p / np.tanh(p * xi)
        inward = xi * np.exp(-np.clip(excess / (slope * xi), -3, 3))
        done = np.abs(excess) <= 1e-14 * (1 + np.abs(log_t))
        xi = np.where(xi < 1, inward, np.maximum(xi - excess / slope, xi / 4))
        if np.all(done):
            break
    return xi


class DepthPotential(Potential):
    """φ(β) = α^D·Σq_D(β_i/α^D), q_D = ∫h_D⁻¹, h_D(z) = (1−z)^{−p} − (1+z)^{−p}, p = D/(D−2), D ≥ 3.

    W, Theorem 3: the same minimiser as W's Q_α^D, and ∇φ ∈ (−1, 1). `slack` gives 1 − |∇φ| without
    cancellation.

    Parameters
    ----------
    depth : int
        D.
    scale, log_scale : float or array of shape (d,)
        α, or its logarithm; exactly one of the two.

    Examples
    --------
    >>> for depth in (3, 5):
    ...     phi = bf.potentials.DepthPotential(depth, scale=0.5)
    ...     print(depth, bf.bregman_projection(phi, [[1.0, 2.0, 3.0]], [6.0]).value.round(3))
    3 [0.163 0.489 1.619]
    5 [0.037 0.136 1.897]
    """

    def __init__(
        self, depth: int, scale: ArrayLike | None = None, *, log_scale: ArrayLike | None = None
    ) -> None:
        self.depth = positive_int("depth", depth, least=3)
        _, self.log_alpha = log_of_scale("scale", scale, log_scale)
        if self.log_alpha.ndim > 1:
            raise InputError(
                f"scale: expected a number or a vector, found shape {self.log_alpha.shape}"
            )

    def __repr__(self) -> str:
        return f"DepthPotential({self.depth}, log_scale={self.log_alpha})"

    def at(self, beta: Array) -> DepthPoint:
        log_alpha, p = self._scales(beta), _power(self.depth)
        zero = beta == 0
        size = np.where(zero, 1.0, np.abs(beta))
        log_unit = self.depth * log_alpha
        log_t = np.log(size) - log_unit
        xi = _solve_xi(log_t, p)
        direct = (np.abs(log_unit) < LOG_RANGE) & (np.abs(log_t) < LOG_RANGE) & (xi < 1)
        t = np.where(direct, size / np.exp(np.where(direct, log_unit, 0.0)), 1.0)
        small = np.where(direct, xi, 1.0)
        ratio = 2 * np.cosh(small) ** p * np.sinh(p * small) / t
        xi = np.where(
            direct, small - (ratio - 1) / (p * np.tanh(small) + p / np.tanh(p * small)), xi
        )
        log_slack = _polish_slack(
            LOG2 - 2 * xi - np.log1p(np.exp(-2 * xi)), size, log_t, log_alpha, self.depth
        )
        z = np.where(log_slack < LOG_NEAR, 1 - np.exp(log_slack), np.tanh(xi))
        z = np.where(zero, 0.0, np.sign(beta) * z)
        return DepthPoint(beta, z, np.where(zero, 0.0, log_slack), log_alpha, self.depth)

    def at_dual(self, eta: Array) -> DepthPoint:
        if np.any(np.abs(eta) >= 1):
            raise DomainError(
                f"eta: |η| reaches {np.max(np.abs(eta)):g}; the gradient of a depth potential "
                "lies in (−1, 1)"
            )
        return _from_slack(eta, np.log1p(-np.abs(eta)), self._scales(eta), self.depth)

    def slack(self, beta: ArrayLike) -> Array:
        """1 − |∇φ(β)|."""
        return self.at(real_array("beta", beta)).slack

    def carried(self, point: DepthPoint, shift: Array) -> DepthPoint:
        return _from_slack(point.eta, point.log_slack, self._scales(point.eta), self.depth).moved(
            shift
        )

    def oriented(self, beta0: Array) -> DepthPotential:
        return self

    def restricted(self, index: Index) -> DepthPotential:
        return DepthPotential(self.depth, log_scale=pick(self.log_alpha, index))

    def raised(self, log_floor: float) -> DepthPotential:
        return DepthPotential(
            self.depth, log_scale=np.maximum(self.log_alpha, log_floor / self.depth)
        )

    def log_units(self, d: int) -> Array:
        return np.broadcast_to(self.depth * self.log_alpha, (d,))

    @property
    def stride(self) -> float:
        return 6 * _power(self.depth)  # slacks shrink by e⁶ at most: six digits of sixteen

    def half_lines(self, d: int) -> Array:
        return np.zeros(d)

    def in_units(self, exponent: int) -> tuple[Potential, int]:
        return DepthPotential(
            self.depth, log_scale=self.log_alpha - exponent / self.depth * LOG2
        ), exponent

    def _scales(self, like: Array) -> Array:
        try:
            return np.broadcast_to(self.log_alpha, like.shape)
        except ValueError:
            raise InputError(
                f"scale: length {self.log_alpha.size} does not fit a point of shape {like.shape}"
            ) from None


def _polish_slack(
    log_slack: Array, size: Array, log_t: Array, log_alpha: Array, depth: int
) -> Array:
    """Near the wall, s = t^{−1/p}(1 + (2−s)^{−p}/t)^{−1/p}; the map contracts by (s/(2−s))^{p+1} ≤
    1/9."""
    p, log_mu = _power(depth), (depth - 2) * log_alpha
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        lead = np.where(
            np.abs(log_mu) < LOG_RANGE, np.log(np.exp(log_mu) * size ** (-1 / p)), -log_t / p
        )
        for _ in range(3):
            better = (
                lead
                - np.log1p((2 - np.exp(log_slack)) ** -p * np.exp(-np.maximum(log_t, -50.0))) / p
            )
            log_slack = np.where(log_slack < LOG_NEAR, better, log_slack)
    return log_slack
