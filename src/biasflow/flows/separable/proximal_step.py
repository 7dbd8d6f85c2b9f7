"""One implicit step of the dual flow of a diagonal network of depth two, at any norm.

Under a loss of the margins u = Zβ, rows z_i = y_ix_i, gradient flow keeps r_j = 2|w₊w₋| and moves
η = η₀ + 4Zᵀs, β_j = r_j·sinh η_j, by ṡ_i = ℓ'(−u_i)/n: along the path ds = p·dσ, where p is the
normalised ℓ'(−u) and σ = Σs. Backward Euler over h is then

    log p_i + L(u_i(s + hp)) = c,   Σp = 1,   L = −log ℓ'(−·),

for the exponential loss the minimum over the simplex of φ*(s + hp)/h + Σp·log p: convex, and of n
variables whatever the norm. u is kept as e^M·û. Where e^{−M} is below `COOLEST` the term log p is
kept at that temperature: û of the samples that share the least margin are then equal to rounding,
and what p is comes from where they have to stay equal, not from differences of margins, which no
float has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import Array
from ...losses import ExponentialLoss, MarginLoss

EPS = float(np.finfo(float).eps)
COOLEST = 1e-13
"""Least temperature of the soft-min, relative to the largest β."""
SETTLED = 1e-10
"""Newton step, as the relative change of β that it makes, after which the next is below rounding:
convergence is quadratic."""
MOST_NEWTON = 60
FURTHEST = 2.0
"""Largest change of η in a Newton step."""
LEAST_SHARE = 1e-3
"""What a Newton step leaves of a weight at least."""
GONE = 1e-40
"""Weight of a sample below which it may return at `COOLEST` only by growing again."""
FLATTEST = 1e-12
"""Least slope of L that a Newton step assumes: misclassified samples of the logistic loss."""


class Place(NamedTuple):
    """What the flow needs of η: β and w = √(β² + r²), both times e^{−M}, u likewise, and M ≥ 0."""

    beta: Array
    width: Array
    margins: Array
    log_unit: float

    @property
    def log_norm(self) -> float:
        """log Σ(w₊² + w₋²) = log Σ√(β² + r²)."""
        return self.log_unit + float(np.log(np.sum(self.width)))


@dataclass(frozen=True, eq=False)
class DualFrame:
    """The problem in its dual: rows Z that differ, how often each is there, log r, η₀ and ℓ."""

    Z: Array
    counts: Array
    log_r: Array
    eta0: Array
    loss: MarginLoss

    @property
    def exponential(self) -> bool:
        return isinstance(self.loss, ExponentialLoss)

    def eta(self, s: Array) -> Array:
        return self.eta0 + 4 * (self.Z.T @ s)

    def place(self, eta: Array, floor: float = 0.0) -> Place:
        """floor: the least unit of log-size, zero unless what is tiny should keep its digits."""
        size = np.abs(eta)
        unit = max(float(np.max(self.log_r + size)) - np.log(2.0), floor)
        half = np.exp(self.log_r + size - np.log(2.0) - unit)
        small = np.exp(-2 * size)
        beta = np.sign(eta) * half * -np.expm1(-2 * size)
        return Place(beta, half * (1 + small), self.Z @ beta, unit)

    def raised(self, place: Place) -> Array:
        """e^{−M}·L(u), where it is least zero."""
        if self.exponential:
            found = place.margins
        else:
            with np.errstate(over="ignore"):
                margins = place.margins * np.exp(min(place.log_unit, 700.0))
            tail = np.log1p(np.exp(-np.abs(margins))) * np.exp(-place.log_unit)
            found = np.maximum(place.margins, 0.0) + tail
        return np.asarray(found - np.min(found))

    def slopes(self, place: Place) -> Array | float:
        """L'(u)."""
        if self.exponential:
            return 1.0
        with np.errstate(over="ignore"):
            margins = place.margins * np.exp(min(place.log_unit, 700.0))
        return np.maximum(1 / (1 + np.exp(-np.clip(margins, -700, 700))), FLATTEST)

    def weights(self, place: Place) -> Array:
        """p where u has the digits to tell."""
        falls = self.raised(place) * np.exp(min(place.log_unit, 700.0))
        found = self.counts * np.exp(-falls)
        return np.asarray(found / np.sum(found))


def implicit_step(frame: DualFrame, s: Array, h: float, guess: Array) -> Array | None:
    """p of a backward Euler step from s, or None where Newton's method does not settle."""
    p = np.maximum(guess, GONE)
    p = p / np.sum(p)
    base, log_counts = frame.eta(s), np.log(frame.counts)
    place = frame.place(base + 4 * h * (frame.Z.T @ p))
    for _ in range(MOST_NEWTON):
        heat = max(float(np.exp(-place.log_unit)), COOLEST)
        slopes = frame.slopes(place)
        residual = (frame.raised(place) + heat * (np.log(p) - log_counts)) / slopes
        root = np.sqrt(p * slopes)
        B = root[:, None] * frame.Z
        A = 4 * h * (B * place.width) @ B.T
        A[np.diag_indices_from(A)] += heat
        try:
            factor = sl.cho_factor(A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        both = sl.cho_solve(
            factor, np.column_stack([root * residual, root / slopes]), check_finite=False
        )
        first, second = root @ both[:, 0], root @ both[:, 1]
        if not second > 0:
            return None
        step = root * (first / second * both[:, 1] - both[:, 0])
        turn = 4 * h * (frame.Z.T @ step)
        share = min(1.0, FURTHEST / max(float(np.max(np.abs(turn))), 1e-300))
        moved = np.maximum(p + share * step, LEAST_SHARE * p)
        moved = np.maximum(moved / np.sum(moved), GONE)
        turn = 4 * h * (frame.Z.T @ (moved - p))
        p = moved
        place = frame.place(base + 4 * h * (frame.Z.T @ p))
        total = float(np.sum(np.abs(place.beta)))
        change = float(np.sum(place.width * np.abs(turn)))
        rounding = 8 * EPS * float(np.max(np.abs(base) + h * np.max(np.abs(frame.Z)) * 4))
        if change <= max(SETTLED, rounding) * total:
            return p
        if not np.isfinite(change):
            return None
    return None
