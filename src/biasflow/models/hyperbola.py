"""Two weights per coordinate on a hyperbola: w₊ = w₊₀·e^{δ/2}, w₋ = w₋₀·e^{−δ/2}, and β = w₊² − w₋²
= r·sinh η.

Depth-2 diagonal networks (W, §4) and networks with fixed directions, w± = (a ± b)/2 (R, Theorem
3.4), both move so: w₊w₋ is conserved, and β follows a mirror flow with a multiple of the hypentropy
Φ_r, r = 2|w₊w₋|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import SMALLEST_NORMAL, Array
from ..potentials import Hypentropy, MirrorPoint, Potential, ScaledPotential
from ..potentials.scaled import ScaledPoint
from .model import MirrorForm


@dataclass(frozen=True, eq=False)
class HyperbolicLift:
    """The weights of a point: w± = w±₀·e^{±δ/2}, δ the change of arcsinh(β/r)."""

    plus: Array
    minus: Array
    origin: ScaledPoint
    """Where the flow starts, of factor·Φ_r."""
    factor: float
    params: Callable[[Any, Any], Any]
    """The model's own of w₊ and w₋: two leaves, linear in them."""

    def __call__(self, point: MirrorPoint) -> Any:
        delta = point.eta / self.factor - self.origin.inner.eta
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            return self.params(
                np.where(self.plus == 0, 0.0, self.plus * np.exp(delta / 2)),
                np.where(self.minus == 0, 0.0, self.minus * np.exp(-delta / 2)),
            )

    @property
    def mix(self) -> Array:
        """(2, 2): the two leaves of the parameters are this times (w₊, w₋)."""
        one, none = np.float64(1.0), np.float64(0.0)
        (a, c), (b, d) = self.params(one, none), self.params(none, one)
        return np.array([[a, b], [c, d]])


def hyperbolic_form(
    plus: Array, minus: Array, factor: float, params: Callable[[Any, Any], Any]
) -> MirrorForm | str:
    """The mirror form with potential factor·Φ_r; `params(plus, minus)` turns moved weights into the
    model's own.

    A coordinate with one weight at zero stays on its half-line (r = 0); with both at zero it never
    moves, which is refused.
    """
    log_r, failure = _log_radius(np.abs(plus), np.abs(minus))
    if failure is not None:
        return failure
    beta0 = (np.abs(plus) - np.abs(minus)) * (np.abs(plus) + np.abs(minus))
    potential = ScaledPotential(factor, hypentropy(log_r, beta0))
    biased = bool(np.any(beta0 != 0))
    origin = potential.at(beta0) if biased else potential.at_dual(np.zeros_like(beta0))
    lift = HyperbolicLift(plus, minus, origin, factor, params)
    return MirrorForm(potential, beta0 if biased else None, lift)


def hypentropy(log_r: Array, beta0: Array) -> Potential:
    """Φ_r compatible with β₀ (R, Definition 3.2): half-lines of the sign of β₀ where r = 0."""
    if np.any(np.isneginf(log_r)):
        with np.errstate(under="ignore"):
            return Hypentropy(np.exp(log_r), sign=np.sign(beta0))
    return Hypentropy(log_alpha=log_r)


def _log_radius(plus: Array, minus: Array) -> tuple[Array, str | None]:
    """log r = log(2w₊w₋), or why there is none."""
    dead = (plus == 0) & (minus == 0)
    with np.errstate(divide="ignore"):
        log_r = np.log(2.0) + np.log(plus) + np.log(minus)
    if np.any(dead):
        return (
            log_r,
            f"coordinate {int(np.flatnonzero(dead)[0])} starts with both weights zero and never "
            "moves: drop that column",
        )
    one_sided = np.isneginf(log_r)
    if not one_sided.any():
        return log_r, None
    with np.errstate(under="ignore"):
        lost = np.any((np.exp(log_r) < SMALLEST_NORMAL) & ~one_sided) or np.any(
            (plus**2 == minus**2) & one_sided
        )
    if lost:
        return (
            log_r,
            "weights that are zero on one side and below 1e-150 on another do not fit in floats "
            "together",
        )
    return log_r, None
