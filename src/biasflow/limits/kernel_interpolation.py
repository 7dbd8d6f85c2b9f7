"""Kernel interpolation: the function of least RKHS norm through the data (W, §3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike

from .._core.arguments import Array, label_size, matrix, vector
from .._core.results import Certificate, Limit
from ..errors import InconsistentError, InputError
from .constraints import solvable
from .rank import settled_rank
from .rounding import kind_of, outward

SYMMETRY = 1e-10
"""Relative asymmetry of a kernel matrix that rounding may leave."""
OUTSIDE = 1e-8
"""Share of y in modes that K has not, above which y is out of its range."""
UNFIT = 1e-6
"""Residual above which y is out of K's range, as far as rounding lets K be known: a mode zero but
for rounding was used."""


def kernel_interpolator(K: ArrayLike, y: ArrayLike) -> Limit[Array]:
    """Coefficients a of the minimum-norm interpolator f = Σa_i k(x_i, ·), Ka = y.

    Modes of K within rounding of zero are left out (stats['rank'] says how many stay). Where they
    are not zero in exact arithmetic, or y is not in the range of K then, they may ask for any norm:
    the bracket is open from above, kind 'bound', and stats['note'] says so.

    Parameters
    ----------
    K : array of shape (n, n)
        Taken as (K + Kᵀ)/2.
    y : array of shape (n,)

    Returns
    -------
    Limit
        value: a (n,); objective: the RKHS norm √(aᵀKa).

    Raises
    ------
    InconsistentError
        Where y is far out of the range of K.

    Examples
    --------
    >>> found = bf.limits.kernel_interpolator(np.diag([1.0, 4.0]), [2.0, 2.0])
    >>> print(found.value, round(found.objective, 4))
    [2.  0.5] 2.2361
    """
    K = matrix("K", K)
    if K.shape[0] != K.shape[1] or np.max(np.abs(K - K.T)) > SYMMETRY * max(
        float(np.max(np.abs(K))), 1e-300
    ):
        raise InputError(f"K: expected a symmetric matrix, found shape {K.shape}")
    y = vector("y", y, K.shape[0])
    K = K if np.array_equal(K, K.T) else K / 2 + K.T / 2
    found = _interpolated(*(np.ldexp(part, -_exponent(part)) for part in (K, y)))
    unit, scale = _exponent(K), _exponent(y)  # K·2^k and y·2^l have a·2^(l−k) and a norm √2^(2l−k)
    certificate, root = found.certificate, math.sqrt(2.0) if unit % 2 else 1.0
    rounded = 4 * np.finfo(float).eps
    primal, dual = outward(
        certificate.primal / root * (1 + rounded),
        certificate.dual / root * (1 - rounded),
        scale - unit // 2,
    )
    norm = _scaled(found.objective / root, scale - unit // 2)
    with np.errstate(over="ignore", under="ignore"):
        a = np.ldexp(found.value, scale - unit)
    if not np.all(np.isfinite(a)):
        raise InputError(
            f"K, y: entries up to {np.max(np.abs(K)):g} and labels up to {np.max(np.abs(y)):g} "
            "ask for coefficients"
            f" beyond float range; scale K by 2^{-unit}, which scales them by 2^{unit}"
        )
    return Limit(
        a,
        norm,
        Certificate(primal, dual, certificate.residual, kind_of(primal, dual, "closed-form")),
        found.stats,
    )


def _exponent(part: Array) -> int:
    """k with the largest entry between 2^(k−1) and 2^k."""
    return math.frexp(float(np.max(np.abs(part))))[1]


def _scaled(value: float, exponent: int) -> float:
    return float(np.ldexp(value, exponent))


def _interpolated(K: Array, y: Array) -> Limit[Array]:
    """For K and y of size one.

    Any a proves ‖f‖ ≥ ⟨a, y⟩/√(aᵀKa). What Ka leaves of y, r, costs at most ‖r‖/√λ more than
    √(aᵀKa), λ the least eigenvalue used. The sums are good to (n + 2)u of their terms, eigenvalues
    to nu·λ_max.
    """
    values, vectors = sl.eigh(K)
    noise = len(y) * np.finfo(float).eps * values[-1]
    kept = values > noise
    if values[0] < -SYMMETRY * max(values[-1], 1e-300):
        raise InputError(
            f"K: expected a positive semi-definite matrix, its least eigenvalue is {values[0]:g} "
            "of its size"
        )
    modes = vectors.T @ y
    a = vectors[:, kept] @ (modes[kept] / values[kept])
    a = a + vectors[:, kept] @ ((vectors[:, kept].T @ (y - K @ a)) / values[kept])  # one refinement
    left, rounding = np.abs(K @ a - y), (len(y) + 2) * np.finfo(float).eps
    residual = float(np.max(left)) / label_size(y)
    if residual > UNFIT or np.linalg.norm(modes[~kept]) > OUTSIDE * float(np.linalg.norm(y)):
        raise _out_of_reach(K, y, int(np.sum(kept)), residual)
    square, terms = float(a @ K @ a), float(np.abs(a) @ np.abs(K) @ np.abs(a))
    norm = math.sqrt(max(square, 0.0))
    stats: dict[str, Any] = {"rank": int(np.sum(kept))}
    if not np.any(y):
        return Limit(a, 0.0, Certificate(0.0, 0.0, residual, "closed-form"), stats)
    above = math.sqrt(max(square, 0.0) + 2 * rounding * terms)
    left = left + rounding * (np.abs(K) @ np.abs(a) + np.abs(y))
    settled, note = settled_rank(K, y, stats["rank"])
    cost = (
        float(np.linalg.norm(left)) / math.sqrt(float(np.min(values[kept])) - noise / 2)
        if settled
        else math.inf
    )
    dual = (float(a @ y) - rounding * float(np.abs(a) @ np.abs(y))) / above
    return Limit(
        a,
        norm,
        Certificate(above + cost, max(dual, 0.0), residual, "closed-form"),
        {**stats, **note},
    )


def _out_of_reach(K: Array, y: Array, rank: int, residual: float) -> InconsistentError:
    """y is not in the range of K, or not as far as floats tell: entries of K that were computed are
    rounded."""
    found = f"(rank {rank} of {len(y)}); least residual {residual:.3g}"
    answer = solvable(K, y)
    if answer is False:
        return InconsistentError(f"y: not in the range of K {found}")
    exactly = (
        "K reaches y by modes within rounding of zero"
        if answer
        else "whether modes within rounding of zero reach y is open"
    )
    return InconsistentError(
        f"y: not in the range of K to rounding {found}. In exact arithmetic {exactly}: offsets "
        "and units of inputs cost digits,"
        " and inputs that are almost equal"
    )
