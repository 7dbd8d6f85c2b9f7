"""Brackets of least Bregman divergences that hold in exact arithmetic: evaluated in float64, with
derived bounds on its rounding.

For min D_φ(β, β₀) subject to Xβ = y any ν and any b prove

    D_φ(b, β₀) + ⟨ν, y − Xb⟩ − D_φ*(∇φ(β₀) + Xᵀν, ∇φ(b))

from below; with b = ∇φ*(∇φ(β₀) + Xᵀν), as far as floats hold it, the last term is of second order
in rounding. Where that still crosses the wall of a potential with bounded slopes, a ν that is a
little shorter proves nearly as much. A β that leaves r = y − Xβ is W·Xᵀ(XWXᵀ)⁻¹r away from one that
solves Xβ = y, for any W > 0: no coordinate moves by more than W_i‖x_i‖‖r‖/σ² or √W_i‖r‖/σ, σ the
least singular value of X√W, and D_φ(·, β₀), convex in each, is largest at the ends of these
intervals. The W that moves little where φ is steep is 1/φ''(β), plus a share of its largest where
too few β are left to solve for r.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array, Index, length
from ..potentials.potential import MirrorPoint, Potential
from .newton import weighted_gram
from .rounding import CLEAR, EPS, row_exponents

ROUNDINGS = 16.0
"""Roundings in a term of a divergence, of a conjugate or of a mirror map, a few more than their
formulas have."""
TINY = float(np.finfo(float).smallest_subnormal)
SHORTER = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)
"""By how much ν is shortened, the first that proves enough; for slopes in (−1, 1), which are known
to 1e-16, the bound is short of the divergence by these shares."""
SHARES = (0.0, 1e-8, 1.0)
"""Of the largest weight that every weight is raised by: none, a little, or so much that all weigh
the same."""
ENOUGH = 1e-9
"""Relative distance from the value itself at which a bound is not improved any more."""
ALIKE = 0.5
"""Logarithm of the ratio of two β of one sign up to which their divergence is formed without
cancellation."""


def divergence_bracket(
    potential: Potential,
    X: Array,
    y: Array,
    origin: MirrorPoint,
    beta: Array,
    nu: Array,
    rows: Index | None,
    doubt: Array | None = None,
) -> tuple[float, float]:
    """(primal, dual) around min D_φ(β, β₀) subject to Xβ = y, for X and y as they are given.

    rows: independent ones from which all others follow, None where that is not known: then nothing
    is from above. doubt: how far each label may be from the one meant.
    """
    if not (
        np.any(y)
        or (doubt is not None and np.any(doubt))
        or np.any(origin.beta)
        or np.any(potential.half_lines(X.shape[1]))
    ):
        return 0.0, 0.0  # β₀ = 0 solves Xβ = 0
    units = row_exponents(X)
    A, b, multiplier = np.ldexp(X, -units[:, None]), np.ldexp(y, -units), np.ldexp(nu, units)
    blur = np.zeros_like(y) if doubt is None else np.ldexp(doubt, -units)
    with np.errstate(all="ignore"):
        reached = float(np.sum(potential.at(beta).divergence(origin)))
        primal, dual = np.inf, 0.0  # D is never negative
        for share in SHARES if rows is not None else ():
            if not primal <= reached * (1 + ENOUGH):
                primal = min(
                    primal, _above(potential, A[rows], b[rows], blur[rows], origin, beta, share)
                )
        for shorter in SHORTER:
            if not dual >= reached * (1 - ENOUGH):
                dual = max(dual, _below(potential, A, b, blur, origin, (1 - shorter) * multiplier))
    return max(primal, dual), dual


def _above(
    potential: Potential,
    A: Array,
    b: Array,
    doubt: Array,
    origin: MirrorPoint,
    beta: Array,
    share: float,
) -> float:
    """Infinite where too few coordinates may move, or rounding leaves no way to tell."""
    n, d = A.shape
    # nothing to solve, or solved without rounding
    if not n or not (np.any(beta) or np.any(b) or np.any(doubt)):
        return _total(_divergence(potential, potential.at(beta), origin, 1.0), 1.0)
    left = (
        np.abs(A @ beta - b) + (d + 2) * EPS * (np.abs(A) @ np.abs(beta) + np.abs(b)) + TINY + doubt
    )
    weight, confined = potential.at(beta).weight(), potential.half_lines(d) != 0
    # slopes that are at their bound, to all digits
    weight = weight if np.all(np.isfinite(weight)) else np.abs(beta)
    top = float(np.max(weight))
    if not (0 < top < np.inf):
        return np.inf
    weight = np.where(confined, weight, np.maximum(weight, share * top)) / top
    least = _least_singular_value(A, weight)
    if not least > 0:
        return np.inf
    root, off = np.sqrt(weight), length(left) / least * (1 + (n + d) * EPS)
    reach = (
        root
        * off
        * np.minimum(1.0, root * np.sqrt(np.einsum("ij,ij->j", A, A)) / least)
        * (1 + (n + d) * EPS)
    )
    if np.any(reach[confined] >= np.abs(beta[confined])):
        return np.inf
    ends = [
        _divergence(potential, potential.at(end), origin, 1.0)
        for end in (beta - reach, beta + reach)
    ]
    return _total(np.maximum(*ends), 1.0)


def _least_singular_value(A: Array, weight: Array) -> float:
    """A lower bound on that of A√W; where its square drowns in the rounding of A·W·Aᵀ, A√W itself
    is decomposed."""
    n, d = A.shape
    values = sl.eigvalsh(weighted_gram(A, weight))
    if values[0] > CLEAR * values[-1]:
        return float(np.sqrt(values[0] - (n + d) * EPS * values[-1]))
    if n > d:
        return 0.0
    singular = sl.svdvals(A * np.sqrt(weight))
    return float(singular[-1]) - (n + d + 2 * np.sqrt(n)) * EPS * float(singular[0])


def _below(
    potential: Potential, A: Array, b: Array, doubt: Array, origin: MirrorPoint, nu: Array
) -> float:
    """Zero where rounding leaves no proof."""
    n, d = A.shape
    shift, sums = A.T @ nu, np.abs(A).T @ np.abs(nu)
    point = origin.moved(shift)
    size, weight = np.abs(point.beta), point.weight()
    if not np.all(np.isfinite(size)):
        return 0.0
    mapped = np.where(size > 0, (1 + np.abs(np.log(size))) * size / weight, 0.0)
    slopes = (
        (n + 2) * EPS * sums
        + 4 * EPS * (np.abs(origin.eta) + np.abs(shift) + np.abs(point.eta))
        + ROUNDINGS * EPS * mapped
    )
    slopes = slopes + TINY
    lost = np.maximum(
        *(_divergence(potential, point, point.moved(side * slopes), 1.0) for side in (1.0, -1.0))
    )
    gained = _total(_divergence(potential, point, origin, -1.0) - lost, -1.0)
    left, blur = b - A @ point.beta, (d + 2) * EPS * (np.abs(A) @ size + np.abs(b)) + TINY + doubt
    found = (
        gained
        + float(left @ nu)
        - float(np.abs(nu) @ (blur + (n + 2) * EPS * np.abs(left))) * (1 + (n + 2) * EPS)
    )
    found -= 4 * EPS * (abs(gained) + abs(float(left @ nu)))
    return max(found, 0.0) if np.isfinite(found) else 0.0


def _divergence(potential: Potential, point: MirrorPoint, start: MirrorPoint, side: float) -> Array:
    """D_φ(β, β₀) per coordinate, with its rounding added, or taken off (side −1).

    Points far apart have β(η − η₀) − φ*(η) + φ*(η₀), whose terms are good to a few roundings each;
    a unit of φ that is kept by its logarithm is good to roundings of that.
    """
    found, conjugates = point.divergence(start), []
    for one in (point, start):
        conjugates.append(np.minimum(np.abs(one.conjugate()), one.weight()))
    ratio = point.beta / np.where(start.beta == 0, np.nan, start.beta)
    alike = (ratio > np.exp(-ALIKE)) & (ratio < np.exp(ALIKE))
    terms = np.where(alike, 0.0, np.abs(point.beta * point.minus(start)) + sum(conjugates))
    units = potential.log_units(point.beta.size)
    relative = ROUNDINGS + np.where(np.isfinite(units), np.abs(units), 0.0)
    return np.asarray(
        found + side * (EPS * (relative * found + ROUNDINGS * terms) + ROUNDINGS * TINY)
    )


def _total(terms: Array, side: float) -> float:
    return float(np.sum(terms)) + side * (terms.size + 2) * EPS * float(np.sum(np.abs(terms)))
