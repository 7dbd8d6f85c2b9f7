"""Columns of the linear programs over neurons: unit directions with signs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import Array, Index, Mask

ON_HYPERPLANE = 1e-11
"""|⟨u, u_k⟩| below which a unit vector u counts as lying on the hyperplane of a unit sample u_k."""
DEPENDENT = 1e-12
"""Relative pivot below which features count as spanned by others."""


@dataclass(frozen=True, eq=False)
class Neurons:
    """Unit directions (k, r) and signs (k,); sides (k, n) in {−1, 0, 1}: where they lie to each
    sample's hyperplane, None where floats are to say."""

    u: Array
    s: Array
    sides: Array | None = None

    def features(self, rows: Array) -> Array:
        """s_j(⟨u_j, c_i⟩)₊ with exact zeros where sides are known, (n, k)."""
        seen = np.maximum(rows @ self.u.T, 0.0)
        return self.s * (seen if self.sides is None else np.where(self.sides.T > 0, seen, 0.0))

    def chosen(self, which: Index | Mask) -> Neurons:
        sides = None if self.sides is None else self.sides[which]
        return Neurons(self.u[which], self.s[which], sides)

    def joined(self, other: Neurons) -> Neurons:
        known = self.sides is not None and other.sides is not None
        sides = np.vstack([self.sides, other.sides]) if known else None  # type: ignore[list-item]
        return Neurons(np.vstack([self.u, other.u]), np.append(self.s, other.s), sides)

    def sided(self, samples: Array) -> Neurons:
        """With sides; within rounding of a hyperplane counts as on it. samples: unit vectors."""
        if self.sides is not None:
            return self
        values = self.u @ samples.T
        on = np.abs(values) <= ON_HYPERPLANE
        return replace(self, sides=np.where(on, 0.0, np.sign(values)))

    def both_ways(self) -> Neurons:
        """With either sign."""
        return self.joined(replace(self, s=-self.s))

    def spanning(self, samples: Array) -> Neurons:
        """A few whose features span those of all."""
        _, r, order = sl.qr(self.features(samples), mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(r))
        return self.chosen(np.sort(order[: int(np.sum(diagonal > DEPENDENT * diagonal[0]))]))

    def __len__(self) -> int:
        return int(self.s.size)


def neurons_along(vectors: Array, sign: float = 1.0) -> Neurons:
    """Unit neurons of one sign along vectors (k, r), zero ones left out."""
    lengths = np.linalg.norm(vectors, axis=1)
    u = vectors[lengths > 0] / lengths[lengths > 0, None]
    return Neurons(u, np.full(len(u), sign))


def no_neurons(dim: int) -> Neurons:
    return Neurons(np.zeros((0, dim)), np.zeros(0))
