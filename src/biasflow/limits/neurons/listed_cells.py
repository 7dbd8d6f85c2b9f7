"""The best neuron where arcs or cells of the arrangement can be listed.

On a cell the gain Σ_k q_k(⟨u, u_k⟩)_+ is linear, ⟨u, g⟩ with g = Σ_{active} q_ku_k, and its maximum
over the unit vectors of the cell is the length of the projection of g onto the cell: a finite
problem, solved exactly. Samples u_k are unit vectors."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.optimize import nnls

from ..._core.arguments import Array
from .best_neuron import Answer, Oracle, independent_start
from .columns import ON_HYPERPLANE, Neurons, neurons_along
from .patterns import cells, circle_rays, rays


class ListedOracle(Oracle):
    """An exact answer from the maximiser on every cell, up to the rounding of the sums."""

    def best(self, q: Array, starts: Neurons, floor: float) -> Answer:
        found = self.maximisers(q, 1.0).joined(self.maximisers(-q, -1.0))
        values = q @ found.features(self.rows)
        order = np.argsort(-values)
        return Answer(
            found.chosen(order), values[order], float(np.max(values, initial=0.0)), "exact"
        )

    @abstractmethod
    def maximisers(self, q: Array, sign: float, slack: float = 0.0) -> Neurons:
        """Neurons that maximise Σq_k(⟨u, u_k⟩)_+ on cells, called of this sign: all within `slack`
        (relative) of the best."""


class ArcsOracle(ListedOracle):
    """Inputs in the plane: the hyperplanes cut the circle into at most 2n arcs. O(n²)."""

    def __init__(self, samples: Array) -> None:
        self.rows = samples
        self.rays = neurons_along(circle_rays(samples)).sided(samples)
        ends = np.roll(self.rays.u, -1, axis=0)
        middles = self.rays.u + ends
        if len(self.rays) == 2:  # one hyperplane: half circles
            middles = np.stack([-self.rays.u[:, 1], self.rays.u[:, 0]], axis=1)
        self.arcs = np.sign(middles @ samples.T)

    def maximisers(self, q: Array, sign: float, slack: float = 0.0) -> Neurons:
        g = (self.arcs > 0) @ (q[:, None] * self.rows)
        length = np.linalg.norm(g, axis=1)
        inside = (length > 0) & np.all(
            (g @ self.rows.T) * self.arcs > ON_HYPERPLANE * length[:, None], axis=1
        )
        u = np.vstack([g[inside] / length[inside, None], self.rays.u])
        sides = np.vstack([self.arcs[inside], self.rays.sides])  # type: ignore[list-item]
        return Neurons(u, np.full(len(u), sign), sides)

    def spanning(self, targets: Array) -> Neurons:
        return self.rays.both_ways()


class CellsOracle(ListedOracle):
    """Every cell listed; a cell whose ‖g‖ is below the best value found needs no projection."""

    def __init__(self, samples: Array) -> None:
        self.rows = samples
        self.active = cells(samples)
        self.signs = np.where(self.active, 1.0, -1.0)

    def maximisers(self, q: Array, sign: float, slack: float = 0.0) -> Neurons:
        g = self.active @ (q[:, None] * self.rows)
        length = np.linalg.norm(g, axis=1)
        inside = (length > 0) & np.all((g @ self.rows.T) * self.signs >= 0, axis=1)
        best = float(np.max(length[inside], initial=0.0))
        u, sides = [g[inside] / length[inside, None]], [self.signs[inside]]
        for cell in np.argsort(-length):
            if length[cell] <= best * (1 - slack - ON_HYPERPLANE) or length[cell] == 0:
                break
            if inside[cell]:
                continue
            point, side = project_onto_cell(g[cell], self.rows, self.signs[cell])
            size = float(np.linalg.norm(point))
            best = max(best, size)
            if size > ON_HYPERPLANE * length[cell]:
                u.append(point[None] / size)
                sides.append(side[None])
        found = np.vstack(u)
        return Neurons(found, np.full(len(found), sign), np.vstack(sides))

    def spanning(self, targets: Array) -> Neurons:
        if self.rows.shape[0] <= self.rows.shape[1]:
            return independent_start(self.rows, targets)
        listed = neurons_along(rays(self.rows)).sided(self.rows)
        return listed.spanning(self.rows).both_ways()


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
