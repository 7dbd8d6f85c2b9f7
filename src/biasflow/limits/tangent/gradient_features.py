"""What the gradients ∇_w f(w, x_i) of a block of inputs are made of, without the gradients where
their parts suffice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, Mask


@dataclass(frozen=True, eq=False)
class Features:
    """∇_w f(w, x_i) for a block of b inputs, as a direct sum over the tensors of w.

    values: f(w, x_i), (b,). outer: pairs (A (b, p), G (b, q)): the gradient in a weight that meets
    the network in one product is the outer product of what comes in, a_i, and what comes back, g_i;
    p + q numbers instead of p·q. rows: gradients (b, s) in all other tensors, as they are.
    """

    values: Array
    outer: tuple[tuple[Array, Array], ...]
    rows: tuple[Array, ...]

    def gram(self, other: Features) -> Array:
        """⟨∇f(w, x_i), ∇f(w', x'_j)⟩ = Σ_outer ⟨a_i, a'_j⟩⟨g_i, g'_j⟩ + Σ_rows ⟨r_i, r'_j⟩, (b,
        b')."""
        total = np.zeros((self.values.size, other.values.size))
        for (A, G), (B, H) in zip(self.outer, other.outer, strict=True):
            total += (A @ B.T) * (G @ H.T)
        for R, S in zip(self.rows, other.rows, strict=True):
            total += R @ S.T
        return total

    def dots(self, other: Features) -> Array:
        """The diagonal of `gram`, for blocks of equal length, (b,)."""
        total = np.zeros(self.values.size)
        for (A, G), (B, H) in zip(self.outer, other.outer, strict=True):
            total += np.einsum("ij,ij->i", A, B) * np.einsum("ij,ij->i", G, H)
        for R, S in zip(self.rows, other.rows, strict=True):
            total += np.einsum("ij,ij->i", R, S)
        return total

    def finite(self) -> Mask:
        """Which inputs have finite values and gradients, (b,)."""
        good = np.isfinite(self.values)
        for block in (*(part for pair in self.outer for part in pair), *self.rows):
            good &= np.all(np.isfinite(block), axis=1)
        return good
