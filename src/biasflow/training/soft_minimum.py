"""C's smooth margin S(u) = −log((1/n)Σℓ(−u_i)) and its gradient, at margins u = β·ū too large for
their exponential."""

from __future__ import annotations

from typing import Any

LOSSES = ("exponential", "logistic")
FAR = 700.0
"""Exponents beyond which e^(−x) counts as zero, and β as infinite."""
TAIL = 30.0
"""Margin from which log log(1 + e^(−u)) is −u − e^(−u)/2, to rounding."""
TINY = 1e-300
"""Keeps a logarithm finite where the tail's formula is used instead."""


def soft_min(xp: Any, u: Any, log_beta: Any, mask: Any, loss: str) -> tuple[Any, Any, Any]:
    """(∇S(βu), S(βu), min u) over the samples in `mask`, in float64; the gradient is zero at the
    others.

    xp: numpy or jax.numpy. Exponential: ∇S = e^(−βu_i)/Σe^(−βu_j), the soft-argmin. Logistic: ∇S =
    ℓ'(−βu_i)/Σℓ(−βu_j), whose sum is one in the limit of large margins only.
    """
    beta = xp.exp(xp.minimum(log_beta, FAR))
    least = xp.min(xp.where(mask, u, xp.inf))
    if loss == "exponential":
        terms = xp.where(mask, xp.exp(-xp.clip(beta * (u - least), 0.0, FAR)), 0.0)
        total = xp.sum(terms)
        return terms / total, beta * least + xp.log(xp.sum(mask)) - xp.log(total), least
    v = xp.where(mask, beta * u, 0.0)
    away = xp.log1p(xp.exp(-xp.abs(v)))
    near = xp.log(xp.maximum(-v, 0.0) + xp.maximum(away, TINY))
    log_loss = xp.where(mask, xp.where(v > TAIL, -v - xp.exp(-xp.abs(v)) / 2, near), -xp.inf)
    top = xp.max(log_loss)
    total = xp.sum(xp.exp(log_loss - top))
    slope = xp.exp(-xp.maximum(v, 0.0) - away - top)
    return xp.where(mask, slope, 0.0) / total, xp.log(xp.sum(mask)) - top - xp.log(total), least
