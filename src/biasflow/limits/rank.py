"""The rank of a matrix of floats in exact arithmetic, for what singular values within rounding of
zero leave open.

Floats are integers times a power of two. The rank modulo a prime is never above that over the
rationals, so that a full one is proven by a single prime. It is below only where the prime divides
every minor of the largest size that is not zero: a minor of B bits has at most B/30 prime factors
beyond 2^30, of fifty million that a draw chooses from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from .._core.arguments import Array, Index
from .._numerics.exact_sums import as_integers
from .rounding import row_exponents

PRIMES = 4
"""Primes that are drawn: one misleads with a probability below 1e-5 where minors have 10 000 bits,
all with one of 1e-20."""
BITS = 31
"""Primes have this many: products of two residues fit into 63."""
WITNESSES = (2, 3, 5, 7)
"""Bases of Miller's test that leave no doubt below 2^31."""
MOST_WORK = 4e8
"""Multiplications for one elimination, some seconds, beyond which the rank stays open."""


def settled_rank(X: Array, y: Array, rank: int) -> tuple[bool, dict[str, str]]:
    """Whether in exact arithmetic X has this rank and Xβ = y a solution; and a note for stats where
    rows were left out."""
    n = len(X)
    if rank == n:
        return True, {}
    left_out = f"{n - rank} of {n} rows follow from the others up to rounding"
    if n * X.size > MOST_WORK:
        return False, {
            "note": (
                f"{left_out}; whether they do in exact arithmetic is open, and so is the "
                "optimum from above"
            )
        }
    own, whole = exact_ranks(X, y)
    if own == whole == rank:
        return True, {"note": f"{left_out}, and in exact arithmetic"}
    why = (
        "no solution is left"
        if whole > own
        else f"the rank is {own}, not {rank}, and the optimum open from above"
    )
    return False, {"note": f"{left_out}; in exact arithmetic {why}"}


def independent_rows(X: Array, rank: int) -> Index:
    """As many rows as the rank is, as independent as they come."""
    if rank == len(X):
        return np.arange(len(X))
    scaled = np.ldexp(X, -row_exponents(X)[:, None])
    return np.sort(sl.qr(scaled.T, mode="r", pivoting=True)[1][:rank])


def exact_ranks(X: Array, y: Array) -> tuple[int, int]:
    """The ranks of X and of (X | y) over the rationals."""
    return integer_ranks(as_integers(np.hstack([X, y[:, None]])).entries)


def integer_ranks(entries: Any) -> tuple[int, int]:
    """The ranks over the rationals of all columns but the last, and of all; entries: Python
    integers in an array of objects."""
    best = 0, 0
    rng = np.random.default_rng(0)
    for _ in range(PRIMES):
        prime = _drawn_prime(rng)
        best = max(best, _ranks(np.array(entries % prime, dtype=np.int64), prime))
        if best[0] == len(entries):
            break
    return best


def _ranks(residues: NDArray[np.int64], prime: int) -> tuple[int, int]:
    """The ranks of all columns but the last, and of all, modulo a prime."""
    rest, rank = residues.copy(), 0
    n, columns = rest.shape
    before = 0
    for j in range(columns):
        before = rank if j == columns - 1 else before
        rows = np.flatnonzero(rest[rank:, j])
        if not rows.size:
            continue
        pivot = rank + int(rows[0])
        rest[[rank, pivot]] = rest[[pivot, rank]]
        rest[rank, j:] = rest[rank, j:] * pow(int(rest[rank, j]), -1, prime) % prime
        below = rank + 1 + np.flatnonzero(rest[rank + 1 :, j])
        rest[below, j:] = (rest[below, j:] - rest[below, j, None] * rest[rank, j:]) % prime
        rank += 1
        if rank == n:
            before = rank if j < columns - 1 else before
            break
    return before, rank


def _drawn_prime(rng: np.random.Generator) -> int:
    while True:
        number = int(rng.integers(2 ** (BITS - 1), 2**BITS)) | 1
        if all(_passes(number, base) for base in WITNESSES):
            return number


def _passes(number: int, base: int) -> bool:
    """Miller's test."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False
