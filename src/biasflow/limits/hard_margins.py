"""Hard-margin problems in a Hilbert space: the point of least norm in a convex hull, by
non-negative least squares."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from .._core.arguments import Array, Index, labels, matrix, positive_float
from .._core.results import Certificate, Limit
from .._numerics.exact_sums import MANTISSA, as_integers, exact_gram
from ..errors import InputError
from .hull import GAP, Corners, HullBracket, bracketed
from .kernel_interpolation import SYMMETRY

INSEPARABLE = 1e-13
"""‖Bᵀp‖ relative to the longest row below which the hull counts as containing the origin."""
ROUNDING = 2.0**-48
"""What an entry of a kernel matrix is trusted to, relative to √(k_iik_jj), unless told: sixteen
roundings."""
UNIT = 2.0**-53
"""The unit roundoff u of float64."""
OUTWARD = 16 * UNIT
"""A few roundings that a bound in float64 is moved outwards in the end."""
LARGE = 1000
"""Samples above which the bracket is that of float64: a matrix of integers would not fit a minute
or the memory."""
EXACT = 1e-6
"""Relative width of a bracket up to which it counts as the number itself."""
LEAST_SQUARES_S = 5e-9
"""Seconds of non-negative least squares, twice, for each product of rows, columns and the most of
them that can be in use: what SciPy takes where all are."""
INTEGERS_S = 2e-6
"""Seconds for each entry in which a kernel is held against weights in integers."""
FACTOR_S = 3e-10
"""Seconds in which a kernel is factored, for the cube of the samples."""
FIRST_ROWS = 200
"""Rows that are begun with where all would take too long."""
ROUNDS = 3
"""Solutions on the support, each followed by a change of the support, after non-negative least
squares."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """p (n,) in the simplex, w = Bᵀp: min_i⟨b_i, w⟩/‖w‖ = lower ≤ γ ≤ upper = ‖w‖."""

    p: Array
    w: Array
    lower: float
    upper: float


def nearest_point(B: Array, deadline: float = math.inf) -> Nearest:
    """γ = max_{‖w‖ ≤ 1} min_i ⟨b_i, w⟩ = min_{p in the simplex} ‖Bᵀp‖ for the rows b_i of B (n, r).

    Least-distance programming (Lawson & Hanson, ch. 23): u ≥ 0 that minimises ‖Bᵀu‖² + (1 − Σu)² is
    a multiple of p. Then the linear system on the support adds the last digits. Where that could
    last until after the deadline, by time.monotonic(), it begins with few rows.
    """
    size = float(np.max(np.linalg.norm(B, axis=1)))
    if size == 0:
        return Nearest(np.full(B.shape[0], 1 / B.shape[0]), np.zeros(B.shape[1]), 0.0, 0.0)
    best = _measured(B, np.full(B.shape[0], 1 / B.shape[0]))
    best = _by_least_squares(B, best, size) if _fits(B, deadline) else _grown(B, best, deadline)
    if best.upper <= INSEPARABLE * size:
        return Nearest(best.p, np.zeros(B.shape[1]), 0.0, best.upper)
    return _polished(B, best) if _fits(B[best.p > 0], deadline) else best


def _fits(B: Array, deadline: float) -> bool:
    """Whether least squares over these rows, whose support is at most their rank, end in time."""
    n, r = B.shape
    return deadline == math.inf or LEAST_SQUARES_S * min(n, r) * n * r < deadline - time.monotonic()


def _grown(B: Array, best: Nearest, deadline: float) -> Nearest:
    """Least squares over some of the rows, to which those of least ⟨b_i, w⟩ are added, until none
    is missing or time would run out: each point proves its own bounds."""
    count = FIRST_ROWS
    working = np.argsort(B @ best.w)[:count]
    while True:
        rows = _reduced(B[working])
        if not _fits(rows, deadline):
            return best
        p = np.zeros(len(B))
        p[working] = nearest_point(rows).p
        best = _better(best, _measured(B, p))
        count = min(2 * count, len(B))
        order = np.argsort(B @ (p @ B))[:count]
        joined = np.union1d(np.flatnonzero(p), order)
        if joined.size <= np.count_nonzero(p) or best.upper - best.lower <= EXACT * best.upper:
            return best
        working = joined


def _by_least_squares(B: Array, best: Nearest, size: float) -> Nearest:
    unit = size
    for _ in range(2):  # once more in units of γ, for which the two terms are of one size
        u, _ = nnls(
            np.vstack([B.T / unit, np.ones((1, B.shape[0]))]),
            np.append(np.zeros(B.shape[1]), 1.0),
            maxiter=30 * B.shape[0],
        )
        best = _better(best, _measured(B, u))
        if best.upper >= 1e-2 * unit or best.upper <= INSEPARABLE * size:
            break
        unit = best.upper
    return best


def _measured(B: Array, u: Array) -> Nearest:
    total = float(np.sum(u))
    p = u / total if total > 0 else np.full(u.size, 1 / u.size)
    w = p @ B
    length = float(np.linalg.norm(w))
    return Nearest(p, w, float(np.min(B @ w)) / length if length > 0 else 0.0, length)


def _better(one: Nearest, other: Nearest) -> Nearest:
    """That of the smaller gap; γ ≥ 0 whatever w is, so that where the hull has the origin the least
    upper bound wins."""
    return other if other.upper - max(other.lower, 0.0) < one.upper - max(one.lower, 0.0) else one


def _polished(B: Array, best: Nearest) -> Nearest:
    """On the support every ⟨b_i, w⟩ is the same: G·p ∝ 1 there."""
    support: Index = np.flatnonzero(best.p)
    for _ in range(ROUNDS):
        rows = B[support]
        u, *_ = np.linalg.lstsq(rows @ rows.T, np.ones(support.size), rcond=None)
        p = np.zeros(B.shape[0])
        p[support] = np.maximum(u, 0.0)
        trial = _measured(B, p)
        best = _better(best, trial)
        if np.all(u > 0):
            break
        support = support[u > 0]
        if support.size == 0:
            break
    return best


def l2_max_margin(Z: ArrayLike, *, time_s: float = 60.0) -> Limit[Array]:
    """γ₂^(m) = max_{√m‖a‖₂ ≤ 1} min_i (Za)_i for signed features z_ij = y_iσ(⟨u_j, x_i⟩) (C,
    Proposition 7).

    In the certificate p in the simplex proves γ₂^(m) ≤ ‖Zᵀp‖/√m, and a margin proves the lower
    bound; both hold for Z as it is given, with the rounding of their evaluation taken off, or in
    integers where that is too much. Features that do not separate have γ₂^(m) = 0 and a = 0.

    Parameters
    ----------
    Z : array of shape (n, m)
    time_s : float
        The search for better weights ends then.

    Returns
    -------
    Limit
        value: a (m,). stats: weights p on the samples, support (those with p > 0), separable (True
        or False where it is shown, else None), note.

    Examples
    --------
    >>> best = bf.limits.l2_max_margin([[2.0, 0.0], [0.0, 2.0]])
    >>> print(round(best.objective, 6), best.value.round(6))
    1.0 [0.5 0.5]
    """
    Z, deadline = matrix("Z", Z), time.monotonic() + positive_float("time_s", time_s)
    size = math.frexp(float(np.max(np.abs(Z))))[1]
    # exact but for entries 1e-290 of the largest, which a proposal may lose
    unit = np.ldexp(Z, -size)
    p = nearest_point(_reduced(unit), deadline).p
    found = (
        _features_in_floats(unit, p)
        if np.array_equal(np.ldexp(unit, size), Z)
        else HullBracket(p, 0.0, np.inf)
    )
    a = p @ unit
    if found.relative_gap > GAP and len(Z) <= LARGE:
        gram = exact_gram(Z, deadline)
        if gram is not None:
            exact = Corners(gram.entries, np.zeros(len(Z), dtype=object), gram.exponent - 2 * size)
            found = bracketed(exact, p, deadline)
            a = _combined(unit, found.p)
    length, root = float(np.linalg.norm(a)), np.sqrt(Z.shape[1])
    a = a / (length * root) if found.lower > 0 else np.zeros(Z.shape[1])
    lower, upper = (
        (found.lower * (1 - OUTWARD), found.upper * (1 + OUTWARD))
        if found.upper > 0
        else (0.0, 0.0)
    )
    low, high = math.ldexp(lower / root, size), _ldexp(upper / root, size)
    in_units = HullBracket(
        found.p,
        max(math.nextafter(low, -math.inf), 0.0) if lower > 0 else 0.0,
        high,
        found.vanishes,
    )
    return Limit(a, in_units.lower, certificate_of(in_units), statistics_of(in_units))


def _ldexp(value: float, exponent: int) -> float:
    """value·2^exponent, rounded up and infinite where it overflows."""
    try:
        return math.nextafter(math.ldexp(value, exponent), math.inf) if value > 0 else 0.0
    except OverflowError:
        return math.inf


def _features_in_floats(Z: Array, p: Array) -> HullBracket:
    """What weights p prove: w = Zᵀp is known to (n + 2)u·|Z|ᵀp, the margins of w as computed to (m
    + 2)u·|Z||w|."""
    n, m = Z.shape
    w = p @ Z
    length, total = float(np.linalg.norm(w)), float(np.sum(p))
    doubt = (n + 2) * UNIT * float(np.linalg.norm(p @ np.abs(Z)))
    upper = (length * (1 + (m + 2) * UNIT) + doubt) / total * (1 + OUTWARD)
    if length == 0:
        return HullBracket(p, 0.0, upper, upper == 0)
    least = float(np.min(Z @ w - (m + 2) * UNIT * (np.abs(Z) @ np.abs(w))))
    return HullBracket(p, max(least / length * (1 - (m + 2) * UNIT) * (1 - OUTWARD), 0.0), upper)


def _combined(Z: Array, p: Array) -> Array:
    """Zᵀp without cancellation, rounded once."""
    rows, weights = as_integers(Z), as_integers(p)
    entries = weights.entries @ rows.entries
    size = int(np.max(np.abs(entries))).bit_length()
    return np.array([entry / (1 << size) for entry in entries])


def _reduced(Z: Array) -> Array:
    """The rows of Z in an orthonormal basis of their span: at most min(n, m) coordinates."""
    return Z if Z.shape[1] <= Z.shape[0] else np.linalg.qr(Z.T)[1].T


def kernel_max_margin(
    K: ArrayLike, y: ArrayLike, *, rounding: float | None = None, time_s: float = 60.0
) -> Limit[Array]:
    """max y_if(x_i) over ‖f‖ ≤ 1 in the RKHS of a kernel matrix: the hard-margin SVM without
    intercept.

    In the certificate p in the simplex proves γ ≤ ‖Σp_iy_ik(x_i, ·)‖, f proves γ ≥ min_iy_if(x_i);
    both hold for every kernel within rounding·√(k_iik_jj) of K's entries, and γ² can be known no
    better than that. kind: 'exact' where the bracket is within 1e-6, else 'bound'.

    Parameters
    ----------
    K : array of shape (n, n)
    y : array of shape (n,)
        Labels ±1.
    rounding : float, optional
        2^-48 unless told, and more where K is not symmetric or has eigenvalues below zero, relative
        to √(k_iik_jj); zero for a K that is exact; a kernel summed from m products may carry
        m·2^-53.
    time_s : float
        The search for better weights ends then.

    Returns
    -------
    Limit
        value: the coefficients c (n,) of f = Σc_ik(x_i, ·), ‖f‖² = cᵀKc = 1; objective: γ. stats:
        weights p; support; separable: True where γ > 0 is shown, False where γ = 0 is, which takes
        a K that is exact, else None; note.

    Examples
    --------
    >>> best = bf.limits.kernel_max_margin(np.eye(4), [1, -1, 1, -1])
    >>> print(round(best.objective, 6), best.value.round(6))
    0.5 [ 0.5 -0.5  0.5 -0.5]
    """
    K, y, rounding, time_s = _read_kernel(K, y, rounding, time_s)
    deadline = time.monotonic() + time_s
    found = measured_in_floats(K, y, nearest_weights(K, y, deadline), rounding)
    in_time = INTEGERS_S * y.size**2 < deadline - time.monotonic()
    if y.size <= LARGE and (found.upper <= 0 or (found.relative_gap > GAP and in_time)):
        found = _in_integers(K, y, found.p, rounding, deadline)
    if found.upper == 0 and not found.vanishes:
        raise InputError(
            f"K: expected a positive semi-definite matrix, weights on {np.flatnonzero(found.p)} "
            "have pᵀKp < 0"
        )
    c = found.p * y / found.upper if found.lower > 0 else np.zeros(y.size)
    return Limit(c, found.lower, certificate_of(found), statistics_of(found))


def measured_in_floats(K: Array, y: Array, p: Array, rounding: float) -> HullBracket:
    """What weights p prove for every kernel within rounding·√(k_iik_jj) of K, the rounding of the
    sums, (n + 4)u, included."""
    size = float(np.max(np.abs(K)))
    if size == 0:
        return HullBracket(p, 0.0, 0.0, rounding == 0)
    doubt, lengths = rounding + (y.size + 4) * UNIT, np.sqrt(np.maximum(np.diagonal(K) / size, 0.0))
    reach = float(p @ lengths)
    products = y * (K / size @ (y * p))
    square = float(p @ products) + 2 * doubt * reach**2
    least = float(np.min(products - doubt * lengths * reach))
    unit, total = math.sqrt(size), float(np.sum(p))
    upper = math.sqrt(max(square, 0.0)) * unit / total * (1 + OUTWARD)
    lower = least / math.sqrt(square) * unit * (1 - OUTWARD) if least > 0 and square > 0 else 0.0
    return HullBracket(p, lower, upper)


def _in_integers(K: Array, y: Array, p: Array, rounding: float, deadline: float) -> HullBracket:
    entries = as_integers(K)
    signed = (entries.entries << 2 * MANTISSA) * np.multiply.outer(y, y).astype(np.int64).astype(
        object
    )
    share = Fraction(rounding)
    slack = np.array(
        [
            math.isqrt(math.ceil(share * int(k))) + 1 if share and k > 0 else 0
            for k in np.diagonal(signed)
        ],
        dtype=object,
    )
    return bracketed(Corners(signed, slack, entries.exponent - 2 * MANTISSA), p, deadline)


def certificate_of(found: HullBracket) -> Certificate:
    """'exact' where the bracket is as narrow as `EXACT`."""
    return Certificate(
        found.lower,
        found.upper,
        0.0,
        "exact" if found.vanishes or found.relative_gap <= EXACT else "bound",
    )


def statistics_of(found: HullBracket) -> dict[str, Any]:
    """weights, support, separable and a note that says what is not known."""
    separable = True if found.lower > 0 else False if found.vanishes else None
    note = "" if separable else "the classes are not separated: the margin is zero"
    if separable is None:
        note = "whether the classes are separated is not known: the margin is zero to rounding"
    return {
        "weights": found.p,
        "support": np.flatnonzero(found.p),
        "separable": separable,
        "note": note,
    }


def _read_kernel(
    K: ArrayLike, y: ArrayLike, rounding: float | None, time_s: float
) -> tuple[Array, Array, float, float]:
    K = matrix("K", K)
    largest = max(float(np.max(np.abs(K))), 1e-300)
    if K.shape[0] != K.shape[1] or float(np.max(np.abs(K - K.T))) > SYMMETRY * largest:
        raise InputError(f"K: expected a symmetric matrix, found shape {K.shape}")
    least = float(sl.eigvalsh(K / largest)[0])
    if least < -SYMMETRY:
        raise InputError(
            "K: expected a positive semi-definite matrix, its least eigenvalue is "
            f"{least * largest:g}"
        )
    if rounding is None:
        rounding = ROUNDING + _own_doubt(K, largest)
    elif rounding != 0:
        rounding = positive_float("rounding", rounding)
    elif np.any(K != K.T):
        raise InputError(
            "rounding: expected a positive number for a K that is not symmetric, found 0"
        )
    return (
        K if np.array_equal(K, K.T) else K / 2 + K.T / 2,
        labels("y", y, K.shape[0]),
        rounding,
        positive_float("time_s", time_s),
    )


def _own_doubt(K: Array, largest: float) -> float:
    """What asymmetry and eigenvalues below zero show that entries of K are off by, relative to
    √(k_iik_jj), not to the largest.

    K + δ·diag(k) has no eigenvalue below zero where δ makes up for the least one of K/√(k_iik_jj).
    """
    lengths = np.sqrt(np.maximum(np.diagonal(K) / largest, 0.0))
    own = np.flatnonzero(lengths > 0)
    units = np.multiply.outer(lengths[own], lengths[own])
    C, other = K[np.ix_(own, own)] / largest / units, np.delete(K, own, axis=0)
    if np.any(other) or np.any(np.delete(K, own, axis=1)):
        raise InputError(
            "K: expected a positive semi-definite matrix, an entry is not zero where its diagonal "
            "is"
        )
    if not own.size:
        return 0.0
    return float(np.max(np.abs(C - C.T))) + max(-float(sl.eigvalsh(C / 2 + C.T / 2)[0]), 0.0)


def nearest_weights(K: Array, y: Array, deadline: float = math.inf) -> Array:
    """Weights p that float64 finds for the signed kernel: near the best ones where γ² is well above
    rounding, and there is time."""
    size = float(np.max(np.abs(K)))
    if size == 0 or FACTOR_S * y.size**3 > deadline - time.monotonic():
        return np.full(y.size, 1 / y.size)
    return nearest_point(y[:, None] * kernel_factor(K / size), deadline).p


def kernel_factor(K: Array) -> Array:
    """B (n, r) with K = BBᵀ; eigenvalues within rounding of zero are dropped."""
    values, vectors = sl.eigh(K)
    if values[0] < -SYMMETRY * max(values[-1], 1e-300):
        raise InputError(
            f"K: expected a positive semi-definite matrix, its least eigenvalue is {values[0]:g}"
        )
    kept = values > len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])
