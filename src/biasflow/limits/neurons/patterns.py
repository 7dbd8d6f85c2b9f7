"""The cells into which the hyperplanes ⟨w, u_k⟩ = 0 cut the space of neurons: one activation
pattern each."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from ..._core.arguments import Array, Mask
from .columns import ON_HYPERPLANE


def cell_count_bound(n: int, rank: int) -> int:
    """The largest number of cells of n hyperplanes through the origin of R^rank: 2Σ_{i<rank} C(n−1,
    i) (Cover)."""
    return 2 * sum(comb(n - 1, i) for i in range(rank))


def enumeration_cost(n: int, rank: int) -> int:
    """How many patterns `cells` looks at."""
    return 2**n if n <= rank else comb(n, rank - 1) * 2**rank


def circle_rays(u: Array) -> Array:
    """Unit vectors on the hyperplanes of plane directions u (n, 2), ordered by angle: the ends of
    the arcs."""
    normals = np.stack([-u[:, 1], u[:, 0]], axis=1)
    both = np.vstack([normals, -normals])
    both = both[np.argsort(np.arctan2(both[:, 1], both[:, 0]))]
    new = np.linalg.norm(both - np.roll(both, 1, axis=0), axis=1) > ON_HYPERPLANE
    distinct: Array = both[new]
    return distinct


def cells(u: Array) -> Mask:
    """Activation patterns (C, n) of every cell of {w: ⟨w, u_k⟩ ≠ 0}, u (n, r) of rank r.

    Each cell is a pointed cone, so it touches a ray: a line on r − 1 independent hyperplanes.
    Around that ray the cells are those of the hyperplanes through it, one dimension lower. Patterns
    of cells that rounding cannot tell from empty ones may be included."""
    n, rank = u.shape
    if n <= rank:  # independent: every pattern occurs
        return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
    if rank == 1:
        side = u[:, 0] > 0
        return np.stack([side, ~side])
    found = [_cells_around(ray, u) for ray in rays(u)]
    return np.unique(np.vstack(found), axis=0)


def rays(u: Array) -> Array:
    """Unit vectors, both ways, of every line on rank − 1 independent hyperplanes of u (n, rank)."""
    n, rank = u.shape
    if rank == 1:
        return np.array([[1.0], [-1.0]])
    subsets = np.array(list(combinations(range(n), rank - 1)))
    _, s, vt = np.linalg.svd(u[subsets], full_matrices=True)
    independent = s[:, -1] > ON_HYPERPLANE
    lines = vt[independent, -1, :]
    return np.vstack([lines, -lines])


def _cells_around(ray: Array, u: Array) -> Mask:
    values = u @ ray
    on = np.flatnonzero(np.abs(values) <= ON_HYPERPLANE)
    rank = u.shape[1]
    if on.size == rank - 1:
        local = ((np.arange(2**on.size)[:, None] >> np.arange(on.size)) & 1).astype(bool)
    else:
        _, _, vt = np.linalg.svd(ray[None, :], full_matrices=True)
        local = cells(u[on] @ vt[1:].T)
    patterns = np.repeat((values > 0)[None, :], local.shape[0], axis=0)
    patterns[:, on] = local
    return patterns
