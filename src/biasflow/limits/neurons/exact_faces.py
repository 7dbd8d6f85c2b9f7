"""Faces of the arrangement of the hyperplanes ⟨u, x_k⟩ = 0, and which of them hold a critical point
of G(u) = Σ_kq_kσ(⟨u, x_k⟩) on the sphere, in integers and rationals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ...errors import RefusedError, ScaleError
from .patterns import cells, enumeration_cost

LISTED = 8
"""Hyperplanes up to which all 3^n sign vectors are looked at where the rank is above two."""
MOST_LINES = 600
"""Hyperplanes of rank two up to which all arcs are."""
MOST_PATTERNS = 200_000
"""Beyond which nothing is listed."""
MOST_DEPENDENT = 12
"""Hyperplanes through one face up to which vertices of their gates are tried."""

Zero = tuple[int, ...]
"""The hyperplanes that a face lies on."""


@dataclass(frozen=True)
class Face:
    """A face with its critical u: c·u = pull, c > 0 where positive, and σ' = slope + (1 − slope)·t
    on its kinks.

    attracts: the sign of the neurons that turn towards u from everywhere, or 0.
    """

    zero: Zero
    sides: tuple[int, ...]
    pull: tuple[Fraction, ...]
    positive: bool
    kinks: tuple[Fraction, ...]
    attracts: int


class Pieces:
    """The data in integers: one hyperplane for all parallel inputs, with a primitive normal, and
    the sum of q_kσ'x_k on either side of it. Those across which it does not change are no kinks."""

    def __init__(self, X: Array, q: Array, slope: Fraction) -> None:
        self.slope, self.dim = slope, X.shape[1]
        rows, unit = _integers(X)
        weights, unit_of_weights = _integers(q[:, None])
        self.unit = unit * unit_of_weights
        self.side: list[tuple[int, int]] = []
        keys: dict[tuple[int, ...], int] = {}
        for row in rows:
            common = math.gcd(*row)
            sign = _sign(next((value for value in row if value), 0))
            key = tuple(sign * value // (common or 1) for value in row)
            self.side.append((keys.setdefault(key, len(keys)) if sign else -1, sign))
        every = np.array(list(keys), dtype=object).reshape(len(keys), self.dim)
        on, off = np.full_like(every, 0), np.full_like(every, 0)
        for (line, sign), row, (weight,) in zip(self.side, rows, weights, strict=True):
            if sign:
                force = np.array([weight * value for value in row], dtype=object)
                on[line] += force if sign > 0 else slope * force
                off[line] += force if sign < 0 else slope * force
        bent = [line for line in range(len(keys)) if any(on[line] - off[line])]
        straight = [line for line in range(len(keys)) if not any(on[line] - off[line])]
        self.place = {line: k for k, line in enumerate(bent)}
        self.every, self.normals, self.jumps = every, every[bent], (on - off)[bent]
        self.least = off.sum(axis=0) if len(keys) else np.full(self.dim, 0, dtype=object)
        self.straight = straight
        # whether G bends upwards (1) or downwards across each hyperplane
        self.bends = [_sign(jump @ e) for jump, e in zip(self.jumps, self.normals, strict=True)]
        self.rank = len(self.independent(range(len(bent))))

    def __len__(self) -> int:
        return len(self.normals)

    def independent(self, lines: Iterable[int]) -> Zero:
        """The first of these whose normals are independent and span all of theirs."""
        chosen: list[int] = []
        reduced: list[tuple[int, list[Fraction]]] = []
        for line in lines:
            row = [Fraction(value) for value in self.normals[line]]
            for pivot, other in reduced:
                if row[pivot]:
                    factor = row[pivot] / other[pivot]
                    row = [a - factor * b for a, b in zip(row, other, strict=True)]
            place = next((k for k, value in enumerate(row) if value), None)
            if place is not None:
                reduced.append((place, row))
                chosen.append(line)
        return tuple(chosen)

    def critical(self, zero: Zero, patterns: Index) -> Iterator[Face]:
        """Critical points of the faces on these hyperplanes, beside the others as patterns (P, G)
        of signs say, zero on these."""
        basis = self.independent(zero)
        if len(basis) == self.dim:
            return
        project, factor = _projection(self.normals[list(basis)], self.dim)
        reached = self.least + (patterns > 0).astype(int).astype(object) @ self.jumps
        along = reached @ project
        heights = along @ self.normals.T
        signs = (heights > 0).astype(int) - (heights < 0).astype(int)
        for positive in (True, False):
            inside = np.all((signs if positive else -signs) == patterns, axis=1)
            for row in np.flatnonzero(inside):
                if any(along[row]):
                    pull = tuple(Fraction(value) / factor for value in along[row])
                    missing = [a - b for a, b in zip(pull, reached[row], strict=True)]
                    kinks = self._kinks(zero, basis, missing)
                    if kinks is not None:
                        sides = tuple(int(side) for side in patterns[row])
                        attracts = self._attracts(basis, zero, kinks, positive, missing)
                        yield Face(zero, sides, pull, positive, kinks, attracts)

    def _kinks(
        self, zero: Zero, basis: Zero, missing: list[Fraction]
    ) -> tuple[Fraction, ...] | None:
        """t in [0, 1] with Σt·jump = what is missing, which lies in the span of the jumps, or
        None."""
        if len(zero) == len(basis):
            t = _solved(self.jumps[list(zero)], missing)
            return t if all(0 <= value <= 1 for value in t) else None
        if len(zero) > MOST_DEPENDENT:
            raise RefusedError(
                f"extremal_vectors: {len(zero)} hyperplanes meet in one face of codimension "
                f"{len(basis)}; more than {MOST_DEPENDENT} are not resolved"
            )
        # a polytope that is not empty has a vertex: all but a basis are at 0 or 1
        for free in itertools.combinations(zero, len(basis)):
            if len(self.independent(free)) < len(free):
                continue
            rest = [line for line in zero if line not in free]
            for ends in itertools.product((0, 1), repeat=len(rest)):
                left = list(missing)
                for line, end in zip(rest, ends, strict=True):
                    if end:
                        left = [a - b for a, b in zip(left, self.jumps[line], strict=True)]
                t = _solved(self.jumps[list(free)], left)
                if all(0 <= value <= 1 for value in t):
                    known: dict[int, Any] = {
                        **dict(zip(rest, ends, strict=True)),
                        **dict(zip(free, t, strict=True)),
                    }
                    return tuple(Fraction(known[line]) for line in zero)
        return None

    def _attracts(
        self, basis: Zero, zero: Zero, kinks: Any, positive: bool, missing: list[Fraction]
    ) -> int:
        """s where s·G has a strict maximum: across each hyperplane it bends downwards, and where it
        does not fall at once it is s·c·cos(angle). On a ray that may grow with the angle only where
        it falls at once to all sides. Hyperplanes that depend on each other may bend either way."""
        ray, own = self.dim - len(basis) == 1, 1 if positive else -1
        if len(zero) > len(basis):
            slopes = self._slopes(basis, zero, missing)
            if all(own * slope <= 0 for slope in slopes):
                return own
            return -own if ray and all(own * slope > 0 for slope in slopes) else 0
        inside = all(0 < t < 1 for t in kinks)
        for s in (1, -1):
            if ((ray and inside) or s == own) and all(s * self.bends[line] < 0 for line in zero):
                return s
        return 0

    def _slopes(self, basis: Zero, zero: Zero, missing: list[Fraction]) -> list[Fraction]:
        """Slopes of G along the edges of the cones into which these hyperplanes cut their normals'
        span; in between they are sums of these."""
        slopes = []
        for some in itertools.combinations(zero, len(basis) - 1):
            if len(self.independent(some)) < len(some):
                continue
            project, _ = _projection(self.normals[list(some)], self.dim)
            edge = next(v for v in (project @ self.normals[line] for line in zero) if any(v))
            for v in (edge, -edge):
                on = [line for line in zero if self.normals[line] @ v > 0]
                force = self.jumps[on].sum(axis=0) if on else np.full(self.dim, 0, dtype=object)
                slopes.append(
                    Fraction(force @ v) - sum(m * x for m, x in zip(missing, v, strict=True))
                )
        return slopes

    def direction(self, face: Face) -> tuple[Array, float]:
        """u and c in floats."""
        largest = max(abs(value) for value in face.pull)
        scaled = np.array([float(value / largest) for value in face.pull])
        length = float(np.linalg.norm(scaled))
        sign = 1.0 if face.positive else -1.0
        try:
            growth = float(largest * self.unit) * length
        except OverflowError:
            growth = math.inf
        if not 0 < growth < math.inf:
            raise ScaleError(
                "extremal_vectors: a growth rate is beyond float range; scale inputs or labels"
            )
        return sign * scaled / length, sign * growth

    def gates(self, face: Face) -> tuple[Array, Index]:
        """σ' and the sides of u, sample by sample."""
        kink = dict(zip(face.zero, face.kinks, strict=True))
        gates, sides = np.zeros(len(self.side)), np.zeros(len(self.side), dtype=np.intp)
        low, along = float(self.slope), np.array(face.pull, dtype=object)
        for k, (line, sign) in enumerate(self.side):
            if not sign:
                continue
            place = self.place.get(line)
            if place is None:
                side = _sign(along @ self.every[line]) * (1 if face.positive else -1)
            else:
                side = face.sides[place]
            sides[k] = sign * side
            t = kink.get(place, Fraction(0)) if place is not None else Fraction(0)
            open_share = float(t if sign > 0 else 1 - t) if side == 0 else float(sides[k] > 0)
            gates[k] = low + (1 - low) * open_share
        return gates, sides


def list_faces(pieces: Pieces) -> tuple[bool, Iterator[tuple[Zero, Index]]]:
    """Whether all faces are among them for sure; and hyperplanes, each with patterns of signs (P,
    G) of the others."""
    G = len(pieces)
    if pieces.rank <= 2 and G <= MOST_LINES:
        return True, _plane_faces(pieces)
    if G <= LISTED:
        return True, every_pattern(G)
    cost = sum(
        math.comb(G, k) * enumeration_cost(G - k, pieces.rank - k) for k in range(pieces.rank)
    )
    if cost > MOST_PATTERNS or pieces.rank <= 2:
        raise RefusedError(
            f"extremal_vectors: {G} hyperplanes of rank {pieces.rank} have too many faces to "
            "list; bf.flows.early_alignment follows any neurons to those that attract"
        )
    return False, _listed_faces(pieces)


def every_pattern(G: int) -> Iterator[tuple[Zero, Index]]:
    """All 3^G sign vectors, whether there is such a face or not."""
    for size in range(G + 1):
        for zero in itertools.combinations(range(G), size):
            rest = [line for line in range(G) if line not in zero]
            patterns = np.zeros((2 ** len(rest), G), dtype=np.intp)
            bits = (np.arange(len(patterns))[:, None] >> np.arange(len(rest))) & 1
            patterns[:, rest] = 2 * bits - 1
            yield zero, patterns


def _plane_faces(pieces: Pieces) -> Iterator[tuple[Zero, Index]]:
    """Rays and arcs in the order in which they come around the circle, in the coordinates (⟨u, b⟩,
    ⟨u, b'⟩) of two normals; and what is on all hyperplanes."""
    G = len(pieces)
    yield tuple(range(G)), np.zeros((1, G), dtype=np.intp)
    if pieces.rank < 2:
        if pieces.rank == 1:
            yield (), np.array([[1], [-1]])
        return
    chosen = pieces.normals[list(pieces.independent(range(G)))]
    gram, inner = chosen @ chosen.T, pieces.normals @ chosen.T
    # a positive multiple of e is α·b + β·b'
    alpha = inner[:, 0] * gram[1, 1] - inner[:, 1] * gram[0, 1]
    beta = inner[:, 1] * gram[0, 0] - inner[:, 0] * gram[0, 1]
    flip = np.where((beta > 0) | ((beta == 0) & (alpha > 0)), 1, -1)
    upward = [_Angle(int(s) * a, int(s) * b) for s, a, b in zip(flip, alpha, beta, strict=True)]
    order = sorted(range(G), key=upward.__getitem__)
    # just before 90° all are positive; the first to be crossed has its normal at the least angle
    signs = flip.astype(np.intp)
    for line in order:
        yield (), np.stack([signs, -signs])
        on = np.where(np.arange(G) == line, 0, signs)
        yield (line,), np.stack([on, -on])
        signs = np.where(np.arange(G) == line, -signs, signs)


class _Angle:
    """That of (a, b), in [0°, 180°), compared exactly."""

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    def __lt__(self, other: _Angle) -> bool:
        return bool(self.a * other.b - self.b * other.a > 0)


def _listed_faces(pieces: Pieces) -> Iterator[tuple[Zero, Index]]:
    """Cells of the arrangement on every set of hyperplanes, found in floats."""
    tops = [max(abs(value) for value in row) for row in pieces.normals]
    rows = [
        [float(Fraction(value, top)) for value in row]
        for row, top in zip(pieces.normals, tops, strict=True)
    ]
    normals = np.array(rows) / np.linalg.norm(rows, axis=1)[:, None]
    G, done = len(pieces), set()
    for size in range(pieces.rank):
        for some in itertools.combinations(range(G), size):
            if len(pieces.independent(some)) < size:
                continue
            zero = tuple(
                line
                for line in range(G)
                if line in some or len(pieces.independent((*some, line))) == size
            )
            if zero in done:
                continue
            done.add(zero)
            rest = [line for line in range(G) if line not in zero]
            basis = np.linalg.qr(normals[list(some)].T)[0]
            left = normals[rest] - (normals[rest] @ basis) @ basis.T
            inside = left @ np.linalg.svd(left, full_matrices=False)[2][: pieces.rank - size].T
            listed = cells(inside / np.linalg.norm(inside, axis=1)[:, None])
            patterns = np.zeros((len(listed), G), dtype=np.intp)
            patterns[:, rest] = np.where(listed, 1, -1)
            yield zero, patterns
    yield tuple(range(G)), np.zeros((1, G), dtype=np.intp)


def _integers(values: Array) -> tuple[list[list[int]], Fraction]:
    """Values as integers, and the unit that all share."""
    exact = [[Fraction(float(value)) for value in row] for row in values]
    common = math.lcm(*(value.denominator for row in exact for value in row))
    return [[int(value * common) for value in row] for row in exact], Fraction(1, common)


def _sign(value: Any) -> int:
    return (value > 0) - (value < 0)


def _solved(rows: Array, target: list[Fraction]) -> tuple[Fraction, ...]:
    """t with Σt·row = target, which lies in the span of the rows, which are independent."""
    if len(rows) == 0:
        return ()
    gram = [[Fraction(a @ b) for b in rows] for a in rows]
    right = [Fraction(sum(x * y for x, y in zip(row, target, strict=True))) for row in rows]
    return tuple(_solve(gram, [[value] for value in right])[k][0] for k in range(len(rows)))


def _solve(matrix: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    """matrix⁻¹·right by elimination."""
    n = len(matrix)
    table = [[*row, *more] for row, more in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next(row for row in range(k, n) if table[row][k])
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [value / table[k][k] for value in table[k]]
        for row in range(n):
            if row != k and table[row][k]:
                factor = table[row][k]
                table[row] = [a - factor * b for a, b in zip(table[row], table[k], strict=True)]
    return [row[n:] for row in table]


def _projection(normals: Array, dim: int) -> tuple[Array, int]:
    """The projection onto what is orthogonal to normals, as integers over a positive one."""
    eye = [[Fraction(int(i == j)) for j in range(dim)] for i in range(dim)]
    if len(normals):
        gram = [[Fraction(a @ b) for b in normals] for a in normals]
        coefficients = _solve(gram, [[Fraction(value) for value in row] for row in normals])
        for i, j in itertools.product(range(dim), repeat=2):
            eye[i][j] -= sum(normals[k][i] * coefficients[k][j] for k in range(len(normals)))
    common = math.lcm(*(value.denominator for row in eye for value in row))
    return np.array([[int(v * common) for v in row] for row in eye], dtype=object), common
