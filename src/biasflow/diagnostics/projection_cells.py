"""max_P min_k ‖Pδ_k‖ over projections of rank r in at most four dimensions, by branch and bound.

Lines are points v of a projective space, ‖Pδ‖ = ‖δ‖cos α with α the angle between v and δ;
hyperplanes have normals, ‖Pδ‖ = ‖δ‖sin α. Planes of R⁴ are pairs of unit vectors (a, b) of R³: with
unit imaginary quaternions P = ½(1 − aδb), so ‖Pδ‖ = ‖δ‖cos ½α with α the angle between δ⁻¹aδ and b.
Where a point moves by an angle ρ, and where a and b move by ρ together, α changes by ρ at most: so
a cell around a point has a bound. Cells are boxes on the faces of cubes, seen from the centre."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array, Index

EPS = float(np.finfo(float).eps)
HIGHEST = 4
"""Largest dimension in which projections are divided into cells."""
CELLS_PER_ROUND = 256
"""Cells that are halved in a round: those of the largest bounds."""
MOST_CELLS = 60_000
"""Cells looked at before the bracket is left as it is; times the pairs, below."""
MOST_PRODUCTS = 1e8
"""Cells times pairs looked at, at most: some seconds."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes [low, high] (m, k) on faces of cubes, one (m, parts) for each sphere."""

    faces: Array
    low: Array
    high: Array

    def halved(self) -> Cells:
        """Each cut in two across its longest side."""
        faces, low, high = self.faces, self.low, self.high
        rows, side = np.arange(len(low)), np.argmax(high - low, axis=1)
        middle = (low[rows, side] + high[rows, side]) / 2
        upper_low, lower_high = low.copy(), high.copy()
        upper_low[rows, side], lower_high[rows, side] = middle, middle
        return Cells(
            np.vstack([faces, faces]), np.vstack([low, upper_low]), np.vstack([lower_high, high])
        )

    def chosen(self, which: Index) -> Cells:
        return Cells(self.faces[which], self.low[which], self.high[which])

    def joined(self, other: Cells) -> Cells:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Cells(*(np.concatenate(pair) for pair in pairs))


class Found(NamedTuple):
    """lower ≤ max_P min_k ‖Pδ_k‖ ≤ upper, and a frame that reaches `lower`; None: it was known."""

    lower: float
    upper: float
    frame: Array | None


def projected_bracket(differences: Array, rank: int, known: float, gap: float) -> Found:
    """The bracket from a lower bound that is known, to a relative gap or until cells are too many.
    differences (K, d), d ≤ 4, none zero."""
    space = _space(differences, rank)
    lower, best, looked = known, None, 0
    fresh = space.whole()
    cells, bounds = fresh.chosen(np.zeros(0, dtype=np.intp)), np.zeros(0)
    while True:
        points, values, above = space.look(fresh)
        looked, top = looked + values.size, int(np.argmax(values))
        if values[top] > lower:
            lower, best = float(values[top]), [part[top] for part in points]
        cells, bounds = cells.joined(fresh), np.append(bounds, above)
        order = np.argsort(-bounds)[: np.count_nonzero(bounds > lower * (1 + gap))]
        cells, bounds = cells.chosen(order), bounds[order]
        if not order.size or looked >= min(MOST_CELLS, MOST_PRODUCTS / len(differences)):
            break
        every = np.arange(order.size)
        fresh = cells.chosen(every[:CELLS_PER_ROUND]).halved()
        cells, bounds = cells.chosen(every[CELLS_PER_ROUND:]), bounds[CELLS_PER_ROUND:]
    upper = max(float(np.max(bounds, initial=0.0)), lower * (1 + gap)) * (1 + 32 * EPS)
    return Found(lower, upper, None if best is None else space.frame(best))


def _space(differences: Array, rank: int) -> _Space:
    d = differences.shape[1]
    if rank in (1, d - 1):
        return _Lines(differences) if rank == 1 else _Hyperplanes(differences)
    return _Planes(differences)


class _Space(ABC):
    """Spheres of `ambient` dimensions each; the first one up to sign."""

    ambient: tuple[int, ...]

    def __init__(self, differences: Array) -> None:
        self.lengths = np.linalg.norm(differences, axis=1)
        self.units = differences / self.lengths[:, None]

    def whole(self) -> Cells:
        faces = [
            range(dim) if part == 0 else range(2 * dim) for part, dim in enumerate(self.ambient)
        ]
        listed = np.array(list(itertools.product(*faces)))
        side = np.ones((len(listed), sum(self.ambient) - len(self.ambient)))
        return Cells(listed, -side, side)

    def look(self, cells: Cells) -> tuple[list[Array], Array, Array]:
        """Middles (one array for each sphere), min_k ‖Pδ_k‖ there, and a bound on it over each
        cell. The point of a box that is farthest from its middle is a corner."""
        points, radius, first = [], np.zeros(len(cells.low)), 0
        for part, dim in enumerate(self.ambient):
            here = slice(first, first + dim - 1)
            face, low, high = cells.faces[:, part], cells.low[:, here], cells.high[:, here]
            middle, chord = _on_sphere(face, (low + high) / 2), np.zeros(len(low))
            for corner in itertools.product((False, True), repeat=dim - 1):
                end = _on_sphere(face, np.where(corner, high, low))
                chord = np.maximum(chord, np.linalg.norm(middle - end, axis=1))
            points.append(middle)
            radius, first = radius + 2 * np.arcsin(np.minimum(chord / 2, 1.0)), first + dim - 1
        values, bounds = self.distances(points, radius * (1 + 16 * EPS) + 8 * EPS)
        return points, np.min(values, axis=1), np.min(bounds, axis=1)

    @abstractmethod
    def distances(self, points: list[Array], radius: Array) -> tuple[Array, Array]:
        """‖Pδ_k‖ (m, K) at the points, and the largest within the radius."""

    @abstractmethod
    def frame(self, point: list[Array]) -> Array:
        """An orthonormal frame of the projection's image."""


class _Lines(_Space):
    def __init__(self, differences: Array) -> None:
        super().__init__(differences)
        self.ambient = (differences.shape[1],)

    def distances(self, points: list[Array], radius: Array) -> tuple[Array, Array]:
        cosine = np.minimum(np.abs(points[0] @ self.units.T), 1.0)
        return self.lengths * cosine, self.lengths * _turned(cosine, radius)

    def frame(self, point: list[Array]) -> Array:
        return point[0][:, None]


class _Hyperplanes(_Lines):
    def distances(self, points: list[Array], radius: Array) -> tuple[Array, Array]:
        cosine = np.minimum(np.abs(points[0] @ self.units.T), 1.0)
        sine = np.sqrt(np.maximum(1 - cosine**2, 0.0))
        rounded = np.minimum(np.sqrt(np.maximum(1 - cosine**2, 0.0) + 8 * EPS), 1.0)
        return self.lengths * sine, self.lengths * _turned(rounded, radius)

    def frame(self, point: list[Array]) -> Array:
        return np.linalg.svd(point[0][None])[2][1:].T


class _Planes(_Space):
    """Of R⁴."""

    ambient = (3, 3)

    def __init__(self, differences: Array) -> None:
        super().__init__(differences)
        basis = np.eye(4)[1:]
        conjugate = self.units * [1.0, -1.0, -1.0, -1.0]
        turned = [_product(_product(conjugate, e[None]), self.units)[:, 1:] for e in basis]
        self.turns = np.stack(turned, axis=1)  # (K, of a, of b)

    def distances(self, points: list[Array], radius: Array) -> tuple[Array, Array]:
        both = np.einsum("ma,mb->mab", *points).reshape(-1, 9)
        cosine = np.clip(both @ self.turns.reshape(-1, 9).T, -1.0, 1.0)
        values = self.lengths * np.sqrt((1 + cosine) / 2)
        return values, self.lengths * np.sqrt((1 + _turned(cosine, radius)) / 2 + 4 * EPS)

    def frame(self, point: list[Array]) -> Array:
        a, b = (np.concatenate([[0.0], part])[None] for part in point)
        columns = [_product(_product(a, e[None]), b)[0] for e in np.eye(4)]
        return np.linalg.eigh((np.eye(4) - np.array(columns).T) / 2)[1][:, 2:]


def _turned(cosine: Array, radius: Array) -> Array:
    """cos(α − ρ), one where ρ ≥ α, rounded upwards; cosine (m, K), radius ρ (m,)."""
    sine = np.sqrt(np.maximum(1 - cosine**2, 0.0) + 8 * EPS)
    rho = np.minimum(radius, np.pi)[:, None]
    near = cosine * np.cos(rho) + sine * np.sin(rho) + 8 * EPS
    turned: Array = np.where(cosine >= np.cos(rho), 1.0, np.minimum(near, 1.0))
    return turned


def _on_sphere(face: Array, x: Array) -> Array:
    """Points x (m, k) on faces of the cube of k + 1 dimensions, as unit vectors: face f is where
    coordinate f is one, or f − k − 1 minus one."""
    m, k = x.shape
    points = np.zeros((m, k + 1))
    axis, sign = face % (k + 1), np.where(face > k, -1.0, 1.0)
    others = np.array([[j for j in range(k + 1) if j != f] for f in range(k + 1)])
    np.put_along_axis(points, others[axis], x, axis=1)
    points[np.arange(m), axis] = sign
    return points / np.linalg.norm(points, axis=1)[:, None]


def _product(p: Array, q: Array) -> Array:
    """Of quaternions (m, 4)."""
    real = p[:, :1] * q[:, :1] - np.sum(p[:, 1:] * q[:, 1:], axis=1, keepdims=True)
    rest = p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])
    return np.hstack([real, rest])
