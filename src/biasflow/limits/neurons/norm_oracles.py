"""Which unit neuron u violates the dual constraint Σ_k λ_k(⟨u, u_k⟩)_+ ≤ 1 the most?

On a cell of the arrangement the sum is linear, ⟨u, g⟩ with g = Σ_{active} λ_k u_k, and its maximum
over the unit vectors of
the cell is the length of the projection of g onto the cell: a finite problem, solved exactly where
the cells can be listed.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.optimize import nnls

from ..._core.arguments import Array, Index
from .best_neuron import WALK_RATE, Answer, Neurons, climbed, exact_effort, ready, search
from .patterns import ON_HYPERPLANE, cells, circle_rays, rays
from .relaxation import proven_dual

PROVEN = 1e-6
"""Excess over one below which what many starts found is not believed but searched for exactly, and
of an exact maximum below which no other λ is asked for."""
RAYS = 20
"""Tries at neurons whose features span those of all networks."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit neurons u (k, r) and on which side of each sample's hyperplane they lie: sides (k, n) in
    {−1, 0, 1}."""

    u: Array
    sides: Array

    def features(self, samples: Array) -> Array:
        """(⟨u, u_k⟩)_+ with exact zeros, (k, n)."""
        active: Array = np.where(self.sides > 0, np.maximum(self.u @ samples.T, 0.0), 0.0)
        return active

    def __len__(self) -> int:
        return int(self.u.shape[0])

    def joined(self, other: Directions) -> Directions:
        return Directions(np.vstack([self.u, other.u]), np.vstack([self.sides, other.sides]))

    def chosen(self, rows: Index) -> Directions:
        return Directions(self.u[rows], self.sides[rows])


def directions_at(u: Array, samples: Array) -> Directions:
    """Unit vectors with their sides; within rounding of a hyperplane counts as on it."""
    values = u @ samples.T
    return Directions(u, np.where(np.abs(values) <= ON_HYPERPLANE, 0.0, np.sign(values)))


class Oracle(ABC):
    """Maximises f(u) = Σ_k λ_k(⟨u, u_k⟩)_+ over unit vectors u."""

    samples: Array
    deadline: float = math.inf
    """When searches end with what they have, by time.monotonic()."""

    @abstractmethod
    def maxima(self, lam: Array, slack: float = 0.0) -> Directions:
        """Candidates for the maximum. An exact oracle gives the maximiser on every cell whose
        maximum is within `slack` (relative)."""

    @abstractmethod
    def start(self, targets: Array) -> Directions:
        """Neurons that can fit any labels that a network can, and these well if that is cheap."""

    @abstractmethod
    def proven(self, targets: Array, lam: Array, deadline: float) -> tuple[Array, float]:
        """From a λ without a violated neuron among the candidates: a λ proven to satisfy every
        constraint, and the bound ⟨z, λ⟩; the search for a good one ends at the deadline."""


class CircleOracle(Oracle):
    """Inputs in the plane: the hyperplanes cut the circle into at most 2n arcs. Exact, O(n²)."""

    def __init__(self, samples: Array) -> None:
        self.samples = samples
        self.rays = directions_at(circle_rays(samples), samples)
        ends = np.roll(self.rays.u, -1, axis=0)
        middles = self.rays.u + ends
        if len(self.rays) == 2:  # one hyperplane: half circles
            middles = np.stack([-self.rays.u[:, 1], self.rays.u[:, 0]], axis=1)
        self.arcs = np.sign(middles @ samples.T)

    def maxima(self, lam: Array, slack: float = 0.0) -> Directions:
        g = (self.arcs > 0) @ (lam[:, None] * self.samples)
        length = np.linalg.norm(g, axis=1)
        inside = (length > 0) & np.all(
            (g @ self.samples.T) * self.arcs > ON_HYPERPLANE * length[:, None], axis=1
        )
        interior = Directions(g[inside] / length[inside, None], self.arcs[inside])
        return interior.joined(self.rays)

    def start(self, targets: Array) -> Directions:
        return self.rays

    def proven(self, targets: Array, lam: Array, deadline: float) -> tuple[Array, float]:
        return lam, float(targets @ lam)


class CellsOracle(Oracle):
    """Every cell listed; a cell whose ‖g‖ is below the best value found needs no projection.
    Exact."""

    def __init__(self, samples: Array) -> None:
        self.samples = samples
        self.few = samples.shape[0] <= samples.shape[1]
        self.active = cells(samples)
        self.signs = np.where(self.active, 1.0, -1.0)

    def maxima(self, lam: Array, slack: float = 0.0) -> Directions:
        g = self.active @ (lam[:, None] * self.samples)
        length = np.linalg.norm(g, axis=1)
        inside = (length > 0) & np.all((g @ self.samples.T) * self.signs >= 0, axis=1)
        best = float(np.max(length[inside], initial=0.0))
        u, sides = [g[inside] / length[inside, None]], [self.signs[inside]]
        for cell in np.argsort(-length):
            if length[cell] <= best * (1 - slack - ON_HYPERPLANE) or length[cell] == 0:
                break
            if inside[cell]:
                continue
            point, side = project_onto_cell(g[cell], self.samples, self.signs[cell])
            size = float(np.linalg.norm(point))
            best = max(best, size)
            if size > ON_HYPERPLANE * length[cell]:
                u.append(point[None] / size)
                sides.append(side[None])
        return Directions(np.vstack(u), np.vstack(sides))

    def start(self, targets: Array) -> Directions:
        if self.few:
            return independent_start(self.samples, targets)
        return _spanning(directions_at(rays(self.samples), self.samples), self.samples)

    def proven(self, targets: Array, lam: Array, deadline: float) -> tuple[Array, float]:
        return lam, float(targets @ lam)


class MultistartOracle(Oracle):
    """Local maxima from many starts: finds good neurons, proves nothing; `proven` visits every face
    where time allows, or relies on a relaxation."""

    def __init__(self, samples: Array, key: int, starts: int = 24) -> None:
        self.samples, self.starts = samples, starts
        self.rng = np.random.default_rng(key)
        self.warm = np.zeros((0, samples.shape[1]))
        ready(climbing=True)

    def maxima(self, lam: Array, slack: float = 0.0) -> Directions:
        random = self.rng.standard_normal((self.starts, self.samples.shape[1]))
        u = np.vstack([random, np.where(lam >= 0, 1.0, -1.0)[:, None] * self.samples, self.warm])
        u = u / np.linalg.norm(u, axis=1)[:, None]
        values = np.maximum(u @ self.samples.T, 0.0) @ lam
        u = climbed(self.samples, lam, u[np.argsort(-values)[: self.starts]], self.deadline)[0]
        if not u.shape[0]:
            return directions_at(self.samples, self.samples)
        self.warm = u
        found = directions_at(u, self.samples)
        best = float(np.max(found.features(self.samples) @ lam))
        if best > 1 + PROVEN or not self._allows(lam, self.deadline):
            return found
        exact = self._searched(lam, 1.0).neurons  # nothing better seems to exist: look everywhere
        return found.joined(directions_at(exact.u[exact.s > 0], self.samples))

    def _allows(self, lam: Array, deadline: float) -> bool:
        """Whether an exact search ends in time."""
        left = deadline - time.monotonic()
        return bool(np.any(lam)) and exact_effort(self.samples, lam) <= WALK_RATE * left

    def _searched(self, lam: Array, floor: float) -> Answer:
        """The exact search; for neurons of mass one, whose outputs are ½(⟨u, x⟩)₊."""
        nothing = Neurons(np.zeros((0, self.samples.shape[1])), np.zeros(0))
        return search(self.samples, 2 * lam, nothing, self.rng, floor, np.inf)

    def start(self, targets: Array) -> Directions:
        n, rank = self.samples.shape
        if n <= rank:
            return independent_start(self.samples, targets)
        chosen = directions_at(np.vstack([self.samples, -self.samples]), self.samples)
        for _ in range(RAYS):
            if time.monotonic() > self.deadline:
                break
            rays = [self._random_ray() for _ in range(4 * n)]
            chosen = _spanning(
                chosen.joined(directions_at(np.array(rays), self.samples)), self.samples
            )
            if np.linalg.matrix_rank(chosen.features(self.samples)) == n:
                break
        return chosen

    def _random_ray(self) -> Array:
        n, rank = self.samples.shape
        _, _, vt = np.linalg.svd(
            self.samples[self.rng.choice(n, rank - 1, replace=False)], full_matrices=True
        )
        ray: Array = vt[-1] * self.rng.choice([-1.0, 1.0])
        return ray

    def proven(self, targets: Array, lam: Array, deadline: float) -> tuple[Array, float]:
        """By every face where time allows, else by a relaxation; by both where λ turns out to be
        off."""
        best, dual = np.zeros(lam.size), 0.0
        if self._allows(lam, deadline):
            largest = self._searched(lam, np.inf).maximum
            best, dual = lam / largest, float(targets @ lam) / largest
            if largest <= 1 + PROVEN:
                return best, dual
        relaxed = proven_dual(self.samples, targets, lam, deadline)
        return relaxed if relaxed[1] > dual else (best, dual)


def project_onto_cell(g: Array, samples: Array, signs: Array) -> tuple[Array, Array]:
    """The projection of g onto {w: signs_k⟨w, u_k⟩ ≥ 0} (Moreau: g plus a non-negative combination
    of the normals), and its sides."""
    normals = signs[:, None] * samples
    weights = nnls(normals.T, -g)[0]
    on = weights > 0
    point = g + weights @ normals
    if np.any(on):  # exactly on the faces
        q, _ = np.linalg.qr(samples[on].T)
        point = point - q @ (q.T @ point)
    touching = on | (np.abs(samples @ point) <= ON_HYPERPLANE * np.linalg.norm(point))
    return point, np.where(touching, 0.0, signs)


def independent_start(samples: Array, targets: Array) -> Directions:
    """For independent samples: unit neurons that see one of them each, and one per sign that fits
    all labels of that sign."""
    one_each = np.eye(targets.size)
    sides = np.maximum(targets, 0.0), np.maximum(-targets, 0.0)
    # labels of one sign may all be tiny
    per_sign = [side / np.max(side) for side in sides if np.count_nonzero(side) > 1]
    seen = np.vstack([one_each, *per_sign])
    u = seen @ np.linalg.pinv(samples).T
    return Directions(u / np.linalg.norm(u, axis=1)[:, None], np.sign(seen))


def _spanning(directions: Directions, samples: Array) -> Directions:
    """A few of the directions whose features span those of all."""
    features = directions.features(samples)
    _, r, order = sl.qr(features.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.sum(diagonal > 1e-12 * diagonal[0]))
    return directions.chosen(np.sort(order[:rank]))
