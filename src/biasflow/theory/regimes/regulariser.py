"""W's Q_α from its definitions, by routes that share nothing with the library's potentials.

D = 2: q(z) = ∫₀ᶻ arcsinh(u/2)du, by quadrature. D ≥ 3: q_D' is the inverse of h_D(z) = (1−z)^{−p} −
(1+z)^{−p}, p = D/(D−2), by bisection.
"""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
"""Gauss rule on each panel."""
PANELS = np.append(0.0, 2.0 ** np.arange(-1, 14))
"""Distances from the end of the range of v at which panels end: the integrand grows like e^v, its
last units decide."""
HALVINGS = 200
"""Bisections of log(1 − z) in [−700, 0]: to rounding."""


def hypentropic_value(beta: Array, log_alpha: float) -> float:
    """α²Q_α(β) for D = 2: α²∫₀^V 2v·cosh v dv, sinh V = |β_i|/(2α²), summed over i; α² goes into
    the exponential."""
    sizes, counts = np.unique(np.abs(beta[beta != 0]), return_counts=True)
    return float(
        sum(m * _panels(float(b), 2 * log_alpha) for b, m in zip(sizes, counts, strict=True))
    )


def _panels(size: float, log_unit: float) -> float:
    log_ratio = np.log(size) - np.log(2.0) - log_unit
    end = np.arcsinh(np.exp(log_ratio)) if log_ratio < 300 else log_ratio + np.log(2.0)
    cuts = np.unique(np.maximum(end - PANELS * min(1.0, end), 0.0))
    half, middle = np.diff(cuts)[:, None] / 2, (cuts[1:] + cuts[:-1])[:, None] / 2
    v = middle + half * NODES
    return float(np.sum(half * WEIGHTS * v * (np.exp(v + log_unit) + np.exp(log_unit - v))))


def dual_slope(x: Array, depth: int) -> Array:
    """h_D⁻¹(x)."""
    return np.asarray(np.sign(x) * -np.expm1(log_slack(x, depth)))


def log_slack(x: Array, depth: int) -> Array:
    """log(1 − |z|) at z = h_D⁻¹(x), by bisection."""
    p, size = depth / (depth - 2), np.abs(np.asarray(x, dtype=float))
    low, high = np.full(size.shape, -700.0), np.zeros(size.shape)  # of log(1 − z): h falls in it
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = _height(middle, p) > size
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)


def below_l1(x: float, depth: int) -> float:
    """x − q_D(x) = ∫₀ˣ(1 − h_D⁻¹) = x(1 − z) + ∫₀ᶻh_D for x ≥ 0, z = h_D⁻¹(x): sums of positive
    terms."""
    p = depth / (depth - 2)
    slack = float(np.exp(log_slack(np.array(x), depth)))
    return x * slack + (slack ** (1 - p) + (2 - slack) ** (1 - p) - 2) / (p - 1)


def depth_value(x: float, depth: int) -> float:
    """q_D(x) for x ≥ 0: by quadrature of h_D⁻¹ where x is small, else as x less what it lacks."""
    if x > 1:
        return x - below_l1(x, depth)
    return float(x / 2 * (WEIGHTS @ dual_slope(x / 2 * (1 + NODES), depth)))


def _height(log_slack: Array, p: float) -> Array:
    """h_D at z = 1 − e^{log_slack}, without the difference of nearly equal powers."""
    with np.errstate(over="ignore"):
        other = np.log1p(-np.expm1(log_slack))
        return np.asarray(np.exp(-p * log_slack) * -np.expm1(p * (log_slack - other)))


def steepness(z: Array, depth: int) -> Array:
    """h_D'(z)."""
    p = depth / (depth - 2)
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(p * ((1 - z) ** (-p - 1) + (1 + z) ** (-p - 1)))


def beyond_linear(z: Array, depth: int) -> Array:
    """h_D(z) − 2pz."""
    p = depth / (depth - 2)
    with np.errstate(over="ignore", divide="ignore"):
        exact = np.exp(-p * np.log1p(-z)) - np.exp(-p * np.log1p(z)) - 2 * p * z
    cubic = p * (p + 1) * (p + 2) / 3 * z**3  # the next term is below 1e-6 of it where |z| < 1e-4
    return np.asarray(np.where(np.abs(z) < 1e-4, cubic, exact))
