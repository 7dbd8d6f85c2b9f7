"""How far apart two classes are after the best projection onto r dimensions (C, eq. 10)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import (
    Array,
    Index,
    labels,
    matrix,
    positive_float,
    positive_int,
    row_lengths,
)
from .._core.former_names import renamed
from .._core.results import Bracket
from .._numerics.float_ranges import LARGEST
from ..errors import InputError
from .fantope import fantope_bound
from .projection_cells import HIGHEST, projected_bracket
from .projection_lines import line_bracket

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class AnnealingControls:
    """How an ascent of the soft minimum cools."""

    steps: int = 400
    """Steps of an ascent."""
    cooling: float = 0.975
    """Factor of the temperature in each."""
    warmest: float = 0.3
    """First temperature, as a share of the mean squared distance."""
    coldest: float = 1e-5
    """Least temperature, as a share of the least squared distance."""
    longest_step: float = 0.3
    """Largest step, as an angle."""


CONTROLS = AnnealingControls()
LEAST_GAP = 1e-12
"""Relative: the barrier's Hessian loses its last digits beyond."""
LARGEST_EXPONENT = 1023
"""Exponent of two from which differences of entries can overflow."""
LEAST_SQUARE = 1e-306
"""Squared length of a difference, in units of the largest entry of any, below which its digits are
lost."""
LINE_GAP = 1e-11
"""Relative gap asked for in the plane, where intervals of angles are halved: above the rounding of
a bound while distances are a thousandth of the differences."""
EXACT = 1e-9
"""Relative gap up to which a bracket counts as the number itself."""


@renamed(starts="restarts")
def interclass_distance(
    X: ArrayLike, y: ArrayLike, rank: int, *, restarts: int = 8, gap: float = 1e-4, key: int = 0
) -> Bracket[Array]:
    """Δ_r = sup_P min_{y_i ≠ y_j} ‖P(x_i − x_j)‖₂ over projections P of rank r (C, eq. 10): a
    bracket.

    The lower end is found by ascents of the softened minimum over frames from several restarts. The
    upper: the sum of the r largest eigenvalues of Σλ_kδ_kδ_kᵀ bounds Δ_r² for any weights λ on the
    pairs' differences δ_k; λ comes from the convex relaxation 0 ≤ P ≤ 1, tr P = r. For d ≤ 4
    projections are divided besides, into cells, and for r = 1, d > 2 by the signs of the
    differences, which closes the bracket to `gap`, or as far as some seconds allow (lines: a
    quarter of a minute); for d = 2 to rounding.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels ±1.
    rank : int
        r.
    restarts : int
    gap : float
        Relative, of the relaxation.
    key : int

    Returns
    -------
    Bracket
        value: an orthonormal frame V (d, r) with P = VVᵀ; objective and lower: its distance. kind:
        'exact' where it is closed to 1e-9, as for r = d, else 'bound'. stats: pair (closest after
        projection), relaxation_gap.

    Examples
    --------
    >>> X, y = [[0.0, 5.0], [1.0, -5.0], [4.0, 5.0]], [1, 1, -1]
    >>> found = bf.diagnostics.interclass_distance(X, y, rank=1)
    >>> print(round(found.lower, 4), found.kind, np.abs(found.value[:, 0]).round(3))
    3.9801 exact [0.995 0.1  ]
    """
    X, rank, restarts = (
        matrix("X", X),
        positive_int("rank", rank),
        positive_int("restarts", restarts),
    )
    y, d, gap = labels("y", y, X.shape[0]), X.shape[1], positive_float("gap", gap)
    if gap < LEAST_GAP:
        raise InputError(
            f"gap: {gap:g} is below what the rounding of the barrier method reaches, {LEAST_GAP:g}"
        )
    if rank > d:
        raise InputError(f"rank: {rank} exceeds the dimension {d} of the inputs")
    plus, minus = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if not plus.size or not minus.size:
        raise InputError("y: there is one class only; a distance between classes needs two")
    # differences before any scaling, which would lose small columns beside large offsets
    unit = int(math.frexp(float(np.max(np.abs(X))))[1] >= LARGEST_EXPONENT)
    halved = np.ldexp(X, -unit)
    differences = (halved[plus][:, None] - halved[minus][None]).reshape(-1, d)
    power = math.frexp(float(np.max(np.abs(differences))))[1]
    # squares stay in float range; undone at the end, exactly
    scaled = np.ldexp(differences, -power)
    if np.any(np.ldexp(scaled, power) != differences) or np.any(np.ldexp(halved, unit) != X):
        raise InputError("X: differences at both ends of float range; rescale the columns")
    differences = scaled
    if rank == d:
        return _bracket(differences, np.eye(d), None, plus, minus, 0.0, unit + power)
    if np.any((np.sum(differences**2, axis=1) < LEAST_SQUARE) & np.any(differences != 0, axis=1)):
        raise InputError(
            "X: a pair of points is closer than 1e-153 of the largest difference, whose square "
            "nearly leaves float range"
        )
    upper, relaxed, reached = fantope_bound(differences, rank, gap)
    rng = np.random.default_rng(positive_int("key", key, least=0))
    frames = [
        np.linalg.eigh(relaxed)[1][:, -rank:],
        *(_frame(rng.standard_normal((d, rank))) for _ in range(restarts - 1)),
    ]
    best = max(
        (_ascended(differences, frame) for frame in frames),
        key=lambda frame: _least(differences, frame),
    )
    if d <= HIGHEST and upper > 0:
        known, gap = math.sqrt(_least(differences, best)), LINE_GAP if d == 2 else gap
        found = (
            line_bracket(differences, known, gap)
            if rank == 1 and d > 2
            else projected_bracket(differences, rank, known, gap)
        )
        best, upper = best if found.frame is None else found.frame, min(upper, found.upper**2)
    return _bracket(differences, best, upper, plus, minus, reached, unit + power)


def _bracket(
    differences: Array,
    frame: Array,
    upper: float | None,
    plus: Index,
    minus: Index,
    reached: float,
    unit: int,
) -> Bracket[Array]:
    """In units of 2^unit. ‖Vᵀδ‖ is good to (d + r + 4)u·‖δ‖ + u·‖x_i‖, and to ‖VᵀV − 1‖, by which V
    misses being a frame."""
    d, rank = frame.shape
    lengths = row_lengths(differences @ frame)
    closest = int(np.argmin(lengths))
    doubt = (d + rank + 4) * EPS * float(np.linalg.norm(differences[closest]))
    skew = (
        float(np.linalg.norm(frame.T @ frame - np.eye(rank))) + rank * d * EPS
        if upper is not None
        else 0.0
    )
    distance = float(lengths[closest])
    lower = max(distance - doubt, 0.0) * (1 - skew)
    highest = (
        distance + doubt if upper is None else max(float(np.sqrt(upper)), lower) * (1 + d * d * EPS)
    )
    with np.errstate(over="ignore"):
        lower, highest = min(float(np.ldexp(lower, unit)), LARGEST), float(np.ldexp(highest, unit))
    pair = (int(plus[closest // minus.size]), int(minus[closest % minus.size]))
    closed = highest < np.inf and (upper is None or highest - lower <= EXACT * highest)
    kind = "exact" if closed else "bound"
    return Bracket(lower, highest, kind, frame, lower, {"pair": pair, "relaxation_gap": reached})


def _frame(V: Array) -> Array:
    return np.linalg.qr(V)[0]


def _least(differences: Array, V: Array) -> float:
    return float(np.min(np.sum((differences @ V) ** 2, axis=1)))


def _ascended(differences: Array, V: Array) -> Array:
    """Ascent of the soft minimum of ‖Vᵀδ_k‖² on the Stiefel manifold while it cools; the best frame
    met."""
    best, best_value = V, -np.inf
    warm = CONTROLS.warmest * float(np.mean(np.sum((differences @ V) ** 2, axis=1)))
    for _ in range(CONTROLS.steps):
        projected = differences @ V
        squares = np.sum(projected**2, axis=1)
        least = float(np.min(squares))
        if least > best_value:
            best, best_value = V, least
        warm *= CONTROLS.cooling
        temperature = max(warm, CONTROLS.coldest * least, 1e-300)
        near = np.flatnonzero(squares - least <= 20 * temperature)
        shares = np.exp((least - squares[near]) / temperature)
        slope = 2 * differences[near].T @ ((shares / np.sum(shares))[:, None] * projected[near])
        slope -= V @ (V.T @ slope)
        size = float(np.linalg.norm(slope))
        if size == 0:
            break
        V = _frame(V + min(CONTROLS.longest_step, 3 * temperature / size) / size * slope)
    return best
