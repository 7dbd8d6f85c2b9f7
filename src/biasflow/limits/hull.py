"""The point of least norm in a convex hull, from the Gram matrix of its corners in integers.

γ = min_p ‖Σp_ib_i‖ over the simplex, G = (⟨b_i, b_j⟩). Any u ≥ 0 proves γ ≤ √(uᵀGu)/Σu, and its
point f = Σu_ib_i proves γ ≥ min_i⟨b_i, f⟩/‖f‖ = min_i(Gu)_i/√(uᵀGu). Both sides are evaluated in
integers, so that whoever proposes u may err. Where float64 cannot propose, non-negative least
squares (Lawson & Hanson, ch. 23) is run in fixed point: u ≥ 0 that minimises uᵀGu + κ(1 − Σu)², by
pivots of one tableau.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from mpmath import libmp

from .._core.arguments import Array, Index
from .._core.results import Enclosure
from .._numerics.exact_sums import root_bounds

PROPOSED = 60
"""Bits to which weights proposed in float64 are taken."""
GAP = 1e-9
"""Relative gap below which more digits are not asked for."""
FEWEST = 192
"""Bits of the first search: rounding is then far below what float64 proposes."""
MOST_BITS = 6144
"""Bits at which the search is given up: angles of 1e-300 need half of it."""
SPARE = 64
"""Bits above its last ones that a search must see of γ² not to call it zero as far as its digits
go."""
NULL_CORNERS = 64
"""Corners up to which a point that is zero is sought without rounding: the integers grow with
each."""
OPTIMAL = 40
"""The search ends where the least ⟨b_i, f⟩ is within a share 2^-40 of its value at the optimum."""
PIVOTS = 20
"""Pivots for each corner after which the search is given up: it takes one or two, cycling is
rounding."""


@dataclass(frozen=True, eq=False)
class Corners:
    """G·2^exponent/divisor ≈ (⟨b_i, b_j⟩): entries (n, n) of integers, each known to within
    slack_i·slack_j."""

    entries: Any
    slack: Any
    exponent: int
    divisor: Any = libmp.fone


@dataclass(frozen=True, eq=False)
class HullBracket(Enclosure):
    """lower ≤ γ ≤ upper with p (n,) in the simplex; vanishes: γ = 0 is shown."""

    p: Array
    lower: float
    upper: float
    vanishes: bool = False
    kind: str = "bound"


def measured(corners: Corners, u: Any, support: Index | None = None) -> HullBracket:
    """What u ≥ 0 (n,), integers that are not all zero, proves. Only the columns of its support are
    read."""
    support = np.flatnonzero(u) if support is None else support
    weights, slack = u[support], corners.slack
    total, doubt = int(np.sum(weights)), int(np.dot(weights, slack[support]))
    products = corners.entries[:, support] @ weights
    square = int(np.dot(products[support], weights)) + doubt**2
    least = int(np.min(products - slack * doubt))
    upper = root_bounds(square, total**2, corners.exponent, corners.divisor)[1]
    lower = (
        root_bounds(least**2, square, corners.exponent, corners.divisor)[0]
        if least > 0 and square > 0
        else 0.0
    )
    p = np.zeros(u.size)
    p[support] = [weight / total for weight in weights]
    return HullBracket(p, lower, upper, square == 0 and doubt == 0)


def better(one: HullBracket | None, other: HullBracket) -> HullBracket:
    """Each bound from where it is best; the weights of the smaller gap, or of the smaller bound
    where no lower one is known."""
    if one is None:
        return other
    near = other if (other.relative_gap, other.upper) < (one.relative_gap, one.upper) else one
    return HullBracket(
        near.p,
        max(one.lower, other.lower),
        min(one.upper, other.upper),
        one.vanishes or other.vanishes,
    )


def bracketed(corners: Corners, p: Array, deadline: float) -> HullBracket:
    """From the weights p that float64 proposes, then from ones searched for in ever more digits, as
    far as G is known."""
    known = replace(corners, slack=np.zeros(p.size, dtype=object))
    u, bits = proposal(p), FEWEST
    best, ideal = measured(corners, u), measured(known, u)
    largest = int(np.max(np.diagonal(corners.entries)))
    size = root_bounds(largest, 1, corners.exponent, corners.divisor)[1]
    while (
        best.relative_gap > GAP
        and 4 * ideal.relative_gap > best.relative_gap
        and bits <= MOST_BITS
        and time.monotonic() < deadline
    ):
        shift = bits - largest.bit_length()
        entries = corners.entries << shift if shift >= 0 else corners.entries >> -shift
        for search in (searched_near, searched) if bits == FEWEST else (searched,):
            u = search(entries, best.p, bits, deadline)
            if u is None:
                continue
            best, ideal = better(best, measured(corners, u)), measured(known, u)
            # zero, as far as the digits go
            if best.lower == 0 and ideal.upper <= size * 2.0 ** ((SPARE - bits) // 2):
                return better(best, _vanishing(corners, u))
            if best.relative_gap <= GAP:
                break
        bits *= 2
    return best


def _vanishing(corners: Corners, u: Any) -> HullBracket:
    """γ = 0 shown by weights on the support of u whose point is zero without rounding, where there
    are such; else nothing."""
    support = np.flatnonzero(u)
    nothing = HullBracket(np.zeros(u.size), 0.0, np.inf)
    if np.any(corners.slack) or support.size > NULL_CORNERS:
        return nothing
    null = null_weights(corners.entries[np.ix_(support, support)])
    if null is None:
        return nothing
    weights = np.zeros(u.size, dtype=object)
    weights[support] = null
    return measured(corners, weights)


def null_weights(G: Any) -> Any | None:
    """The v ≥ 0 of integers with Gv = 0, where there is one direction of solutions and it has one
    sign (Bareiss, 1968)."""
    A, n, before, pivots, free = G.copy(), G.shape[0], 1, list[int](), list[int]()
    for k in range(n):
        row = len(pivots)
        candidates = [i for i in range(row, n) if A[i, k] != 0]
        if not candidates:
            free.append(k)
            continue
        A[[row, candidates[0]]] = A[[candidates[0], row]]
        others = np.arange(n) != row
        pivot = A[row, k]
        A[others] = (A[others] * pivot - np.multiply.outer(A[others, k], A[row])) // before
        before = pivot
        pivots.append(k)
    if len(free) != 1:
        return None
    v = np.zeros(n, dtype=object)
    v[free[0]] = before
    v[pivots] = -A[: len(pivots), free[0]]
    v = v if np.sum(v) > 0 else -v
    return v if np.all(v >= 0) and np.any(v) else None


def searched_near(entries: Any, p: Array, bits: int, deadline: float) -> Any | None:
    """As `searched`, but on the support of p, whose columns alone are read: for where float64 found
    the right support."""
    support = np.flatnonzero(p)
    found = searched(entries[np.ix_(support, support)], p[support], bits, deadline)
    if found is None:
        return None
    u = np.zeros(p.size, dtype=object)
    u[support] = found
    return u


def proposal(p: Array) -> Any:
    """Weights in float64 as integers."""
    u = np.array(
        [int(value) for value in np.rint(np.ldexp(p / max(float(np.max(p)), 1e-300), PROPOSED))],
        dtype=object,
    )
    return u


class Tableau:
    """Non-negative least squares in fixed point: (G + κ11ᵀ)u = κ1 on the support of u, by symmetric
    pivots.

    G is taken in units of 2^bits, its largest entry; κ = 1. After pivots on S the last column holds
    (G + κ11ᵀ)_SS^{-1}κ1 on S and what is left of the right-hand side elsewhere, so that a step
    costs one update of rank one.
    """

    def __init__(self, entries: Any, bits: int) -> None:
        n = entries.shape[0]
        self.bits, self.n = bits, n
        self.T = np.empty((n + 1, n + 1), dtype=object)
        one = 1 << bits
        self.T[:n, :n] = entries + one
        self.T[:n, n] = self.T[n, :n] = one
        self.T[n, n] = 0
        self.inside = np.zeros(n, dtype=bool)

    def pivot(self, k: int) -> bool:
        """Take k into the support or out of it; False where its pivot is lost in rounding."""
        T, bits = self.T, self.bits
        d = int(T[k, k])
        if abs(d) >> 8 == 0:
            return False
        column = T[:, k].copy()
        row = np.array([(value << bits) // d for value in column], dtype=object)
        T -= np.multiply.outer(column, row) >> bits
        T[k, :] = T[:, k] = -row if self.inside[k] else row
        T[k, k] = -((1 << 2 * bits) // d)
        self.inside[k] = not self.inside[k]
        return True

    def solution(self) -> Any:
        """The solution on the support, zero elsewhere."""
        return np.where(self.inside, self.T[: self.n, self.n], 0)


def searched(entries: Any, p: Array, bits: int, deadline: float) -> Any | None:
    """u ≥ 0 in fixed point that is optimal as far as `bits` go, or the best when time or digits
    end; None: nothing found.

    From a cold start: weights p that float64 proposes are of no use where this is needed.
    """
    tableau, n = Tableau(entries, bits), entries.shape[0]
    u: Any = np.zeros(n, dtype=object)
    entered = -1
    for _ in range(PIVOTS * n):
        if time.monotonic() > deadline:
            break
        z = tableau.solution()
        blocked = tableau.inside & (z <= 0)
        if np.any(blocked):
            moved = _moved(u, z, np.flatnonzero(blocked), bits)
            leaving = tableau.inside & (moved <= 0)
            u = np.where(leaving, 0, moved)
            if not all(tableau.pivot(int(k)) for k in np.flatnonzero(leaving)):
                break
            continue
        u = z
        rest = np.where(tableau.inside, 0, tableau.T[:n, n])
        entering = int(np.argmax(rest))
        value = (1 << bits) - int(np.sum(u))  # κ(1 − Σu) = (Gu)_i on the support
        if (
            rest[entering] <= max(value, 0) >> OPTIMAL
            or entering == entered
            or not tableau.pivot(entering)
        ):
            break
        entered = entering
    return u if np.any(u) else None


def _moved(u: Any, z: Any, blocked: Index, bits: int) -> Any:
    """The last point on the way from u to z that is not negative: there one of those blocked is
    zero."""
    steps = [(int(u[i]) << bits) // max(int(u[i] - z[i]), 1) for i in blocked]
    first = int(np.argmin(np.array(steps, dtype=object)))
    moved = u + ((z - u) * steps[first] >> bits)
    moved[blocked[first]] = 0
    return moved
