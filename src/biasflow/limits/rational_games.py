"""Matrix games and F1 margins on a line in rationals, where float64 has too few digits.

A float is a rational, so that a game of floats has a rational value: the simplex method with
integers finds it without rounding, each entry of its tableau a minor of the matrix (Edmonds 1967).
On a line a neuron (⟨u, (x, 1)⟩)₊ has its direction on a circle, which the kinks of n inputs cut
into 2n arcs, in the order of the inputs; on each of them Σq_i(⟨u, x̃_i⟩)₊ is ⟨u, g⟩, largest along
g or at an end. So the largest gain of weights p is the root of a rational, and only directions are
rounded, inwards.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.results import Enclosure
from .._numerics.exact_sums import as_integers, root_bounds, rounded_down

MOST_WORK = 2e7
"""Products of 64 bits by 64 that one game of a margin may take: some seconds."""
SPARE = 64
"""Bits of a direction beyond those that inputs of opposite labels cancel."""
MOST_BITS = 4096
ROUNDS = 200
FIRST = 10
"""Changes of label whose inputs the first game is of, and inputs that join at once."""

Direction = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ExactGame:
    """Integers a (m,) and p (n,) of at least zero, optimal up to their sums: min_i(Wa)_i/Σa = value
    = max_j(Wᵀp)_j/Σp."""

    a: Any
    p: Any
    value: Fraction


def exact_game(
    W: Any, deadline: float = math.inf, most_work: float = MOST_WORK
) -> ExactGame | None:
    """The value of the game of integers W (n, m); None where the deadline, by time.monotonic(), is
    over, or the work is too much.

    With entries moved above zero: max Σp subject to Wᵀp ≤ 1, p ≥ 0, from p = 0. The largest slope
    enters, after a step without progress the first (Bland's rule, which does not cycle).
    """
    n, m = W.shape
    shift = 1 - int(np.min(W))
    T: Any = np.empty((m + 1, n + 1), dtype=object)
    T[:m, :n], T[m, :n], T[:m, n], T[m, n] = W.T + shift, -1, 1, 0
    # p is 0 … n−1, the slack of column j of W is n + j
    columns, rows = list(range(n)), list(range(n, n + m))
    unit, work, progress = 1, 0.0, True
    while True:
        below = [j for j in range(n) if T[m, j] < 0]
        if not below:
            break
        c = min(below, key=lambda j: T[m, j]) if progress else min(below, key=lambda j: columns[j])
        r = min(
            (i for i in range(m) if T[i, c] > 0),
            key=lambda i: (Fraction(T[i, n], T[i, c]), rows[i]),
        )
        work += T.size * (1 + unit.bit_length() / 64) ** 2
        if work > most_work or time.monotonic() > deadline:
            return None
        progress, pivot = T[r, n] > 0, T[r, c]
        row, column = T[r].copy(), T[:, c].copy()
        T = (T * pivot - np.multiply.outer(column, row)) // unit
        T[r], T[:, c], T[r, c] = row, -column, unit
        unit, columns[c], rows[r] = pivot, rows[r], columns[c]
    a, p = np.zeros(m, dtype=object), np.zeros(n, dtype=object)
    for j, name in enumerate(columns):
        if name >= n:
            a[name - n] = T[m, j]
    for i, name in enumerate(rows):
        if name < n:
            p[name] = T[i, n]
    return ExactGame(a, p, Fraction(unit, T[m, n]) - shift)


def shares(weights: Any) -> Array:
    """Integers over their sum, as floats."""
    total = int(np.sum(weights))
    return np.array([int(weight) / total for weight in weights])


@dataclass(frozen=True, eq=False)
class LineBracket(Enclosure):
    """lower ≤ γ₁ ≤ upper; neurons u (k, 2), signs s and masses in floats, weights p on the
    inputs."""

    lower: float
    upper: float
    u: Array
    s: Array
    masses: Array
    p: Array
    kind: str = "bound"


def line_bracket(rows: Array, y: Array, gap: float, deadline: float) -> LineBracket | None:
    """γ₁ of distinct inputs x̃ = (x, 1), rows (n, 2), by column generation in integers; None where
    time ends before a bracket.

    The games are of some of the inputs, to begin with those next to one of the other label: those
    that lie below join.
    """
    order = np.argsort(-rows[:, 0], kind="stable")  # angles of x̃ rise
    inputs, labels = as_integers(rows[order]), y[order].astype(int)
    X = [(int(x), int(one)) for x, one in inputs.entries]
    changes = np.flatnonzero(np.diff(labels))
    active = np.unique(np.concatenate([[0], changes[:FIRST], changes[:FIRST] + 1, [y.size - 1]]))
    bits = _bits(X)
    columns = {(*_inside(kink, bits), s) for i in active for kink in _kinks(X[i]) for s in (1, -1)}
    best: LineBracket | None = None
    lowest, highest, before = 0.0, math.inf, Fraction(-1)
    for _ in range(ROUNDS):
        listed = sorted(columns)
        game = exact_game(
            _features([X[i] for i in active], labels[active], listed),
            deadline,
            math.inf,
        )
        if game is None:
            break
        total, used = int(np.sum(game.p)), np.flatnonzero(game.a)
        gains = _gains(
            [X[i] for i in active],
            [int(p) * int(label) for p, label in zip(game.p, labels[active], strict=True)],
        )
        square = max(gain for gain, _, _ in gains)
        highest = min(
            highest,
            root_bounds(square.numerator, 4 * total**2 * square.denominator, 2 * inputs.exponent)[
                1
            ],
        )
        margins = _features(X, labels, [listed[j] for j in used]) @ game.a[used]
        unit = Fraction(2) ** (inputs.exponent - bits - 1)
        reached = rounded_down(int(min(margins)) * unit / int(np.sum(game.a)))
        if best is None or reached > lowest:
            lowest, p = max(reached, 0.0), np.zeros(y.size)
            p[order[active]] = shares(game.p)
            u, s = (
                np.array([[x / 2**bits for x in listed[j][:2]] for j in used]),
                np.array([float(listed[j][2]) for j in used]),
            )
            best = LineBracket(lowest, highest, u, s, shares(game.a[used]), p)
        best = replace(best, upper=highest)
        if highest - lowest <= gap * lowest:
            break
        worst = [
            int(i)
            for i in np.argsort(margins, kind="stable")[:FIRST]
            if margins[i] < game.value * int(np.sum(game.a))
        ]
        more = {
            (v, s) for gain, v, s in gains if gain > game.value**2 * total**2 * Fraction(4) ** -bits
        }
        kept = (
            {listed[j] for j in used} if not worst and game.value * unit > before else columns
        )  # what is left out may not cycle
        columns = kept | {(*_inside(v, bits), s) for v, s in more}
        if columns <= set(listed) and not worst:
            if 2 * bits > MOST_BITS:
                break
            columns, bits = {(u << bits, v << bits, s) for u, v, s in columns}, 2 * bits
            columns |= {(*_inside(v, bits), s) for v, s in more}
        columns |= {
            (*_inside(kink, bits), s) for i in worst for kink in _kinks(X[i]) for s in (1, -1)
        }
        active, before = np.union1d(active, worst).astype(np.intp), game.value * unit
    return best


def _features(X: list[Direction], labels: Any, neurons: list[tuple[int, int, int]]) -> Any:
    """y_is_j(⟨u_j, x_i⟩)₊, (n, k)."""
    values = [
        [int(y) * s * max(u * x + v * one, 0) for u, v, s in neurons]
        for (x, one), y in zip(X, labels, strict=True)
    ]
    return np.array(values, dtype=object)


def _bits(R: list[Direction]) -> int:
    """Twice the digits that the closest inputs share, and some: a margin is about their angle."""
    longest = max(abs(x) + one for x, one in R)
    nearest = min((one[0] - other[0] for one, other in itertools.pairwise(R)), default=1)
    return (
        SPARE
        + 2 * (longest // max(nearest, 1)).bit_length()
        + 2 * (longest // R[0][1]).bit_length()
    )


def _kinks(x: Direction) -> tuple[Direction, Direction]:
    """Where (⟨u, x⟩)₊ begins and ends, against the clock."""
    return (x[1], -x[0]), (-x[1], x[0])


def _inside(v: Direction, bits: int) -> Direction:
    """v/‖v‖·2^bits in integers, rounded to zero: of length at most 2^bits."""
    size = math.isqrt(v[0] ** 2 + v[1] ** 2) + 1
    x, z = ((abs(part) << bits) // size * (1 if part > 0 else -1) for part in v)
    return x, z


def _gains(R: list[Direction], q: list[int]) -> list[tuple[Fraction, Direction, int]]:
    """For every arc and sign the largest s·Σq_i(⟨u, x_i⟩)₊ over unit u on it that is above zero:
    its square, u's ray and s."""
    parts = [(weight * x, weight * one) for weight, (x, one) in zip(q, R, strict=True)]
    n, found = len(R), []
    for k in range(1, 2 * n):
        active = parts[:k] if k <= n else parts[k - n :]
        g = sum(x for x, _ in active), sum(z for _, z in active)
        first = _kinks(R[k - 1])[0] if k <= n else _kinks(R[k - n - 1])[1]
        last = _kinks(R[k])[0] if k < n else _kinks(R[k - n])[1]
        for s in (1, -1):
            v = s * g[0], s * g[1]
            if _cross(first, v) >= 0 and _cross(v, last) >= 0 and any(v):
                found.append((Fraction(_dot(v, v)), v, s))
            else:
                found += [
                    (Fraction(_dot(end, v) ** 2, _dot(end, end)), end, s)
                    for end in (first, last)
                    if _dot(end, v) > 0
                ]
    return found or [(Fraction(0), R[0], 1)]


def _dot(v: Direction, w: Direction) -> int:
    return v[0] * w[0] + v[1] * w[1]


def _cross(v: Direction, w: Direction) -> int:
    return v[0] * w[1] - v[1] * w[0]
