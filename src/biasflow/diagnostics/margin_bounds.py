"""What a margin says about unseen data (C, Theorem 22, after Koltchinskii & Panchenko, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, matrix, one_of, positive_float
from .._core.facts import record_line
from ..errors import InputError

SPACES = ("F1", "F2")


@dataclass(frozen=True)
class MarginBound:
    """P[yf(x) < 0] ≤ value = complexity + union + confidence with probability 1 − δ over the sample
    (C, Theorem 22).

    complexity: 4·Rad_n/γ; union: √(log log₂(4C/γ)/n), the price of not knowing γ beforehand;
    confidence: √(log(1/δ)/2n).
    rademacher: the bound on Rad_n of the unit ball; supremum: C ≥ sup|f|; radius: of the inputs.
    """

    complexity: float
    union: float
    confidence: float
    rademacher: float
    supremum: float
    radius: float

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def value(self) -> float:
        return self.complexity + self.union + self.confidence

    @property
    def vacuous(self) -> bool:
        """A bound of one or more says nothing."""
        return self.value >= 1


def _largest_norm(X: Array) -> float:
    """Of a row, to the last digit; squares may leave float range."""
    with np.errstate(over="ignore"):
        unit = float(np.max(np.abs(X))) or 1.0
        sizes = np.sqrt(np.sum((X / unit) ** 2, axis=1))
    longest = X[sizes >= (1 - 1e-9) * np.max(sizes)]
    return max(math.hypot(*row) for row in longest.tolist())


def margin_bound(
    X: ArrayLike,
    margin: float,
    delta: float = 0.05,
    *,
    space: str = "F1",
    radius: float | None = None,
    rademacher: float | None = None,
) -> MarginBound:
    """C, Theorem 22, for a classifier in the unit ball of F1 or F2 (ReLU) with this margin on the
    samples.

    Parameters
    ----------
    X : array of shape (n, d)
    margin : float
        γ.
    delta : float
        The bound holds with probability 1 − δ.
    space : {'F1', 'F2'}
    radius : float, optional
        R with ‖x‖ ≤ R almost surely; where none is given, that of the sample, and the theorem holds
        only if it is right.
    rademacher : float, optional
        A bound on Rad_n of the unit ball; where none is given, √((R²+1)/n) for F1, since φ = ½s(⟨u,
        (x,1)⟩)₊ (by contraction; C prints 1/√n, without the radius), and √((R²+1)/(2(d+1)n)) for
        F2, since k(x, x) = ‖(x,1)‖²/(2(d+1)).

    Returns
    -------
    diagnostics.MarginBound

    Examples
    --------
    >>> for n in (1_000, 100_000):
    ...     X = np.linspace(-0.5, 0.5, n)[:, None]
    ...     print(n, round(bf.diagnostics.margin_bound(X, margin=0.1).value, 3))
    1000 1.492
    100000 0.149
    """
    X = matrix("X", X)
    margin, space = positive_float("margin", margin), one_of("space", space, SPACES)
    n, d = X.shape
    if not 0 < positive_float("delta", delta) < 1:
        raise InputError(f"delta: expected a number in (0, 1), found {delta:g}")
    largest = _largest_norm(X)
    if not math.isfinite(largest):
        raise InputError("X: the norm of an input is above float range")
    R = largest if radius is None else positive_float("radius", radius)
    # a norm computed in another order rounds differently
    if largest > R * (1 + 4 * float(np.finfo(float).eps)):
        raise InputError(f"radius: {R:g}, but an input has norm {largest:g}")
    length = math.hypot(R, 1.0)
    share = 1.0 if space == "F1" else 1 / float(np.sqrt(2 * (d + 1)))
    supremum = length / 2 if space == "F1" else length * share
    if margin > supremum:
        raise InputError(
            f"margin: {margin:g} exceeds {supremum:g}, the largest value of the unit ball of "
            f"{space} on these inputs"
        )
    rad = (
        share * length / float(np.sqrt(n))
        if rademacher is None
        else positive_float("rademacher", rademacher)
    )
    union = np.sqrt(np.log(np.log2(4 * supremum / margin)) / n)
    return MarginBound(
        float(4 * rad / margin),
        float(union),
        float(np.sqrt(np.log(1 / delta) / (2 * n))),
        rad,
        supremum,
        R,
    )
