"""What the gradients ∇_w f_o(w, x_i) of a block of inputs are made of, without the gradients where
their parts suffice. Arrays are NumPy's or PyTorch's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._core.arguments import Array, Mask

WORKING = 2**27
"""Bytes that products may take while a kernel is summed, beside the features."""
TRIANGLE = 4
"""Bands of rows in which a symmetric product is computed, from the diagonal on."""


class Part(ABC):
    """The gradients of m outputs in one tensor of w, at b inputs. leaf: which tensor."""

    leaf: int

    @abstractmethod
    def by_output(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f_o(x'_j)⟩, (m, b, b')."""

    @abstractmethod
    def full(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f_o'(x'_j)⟩, (b·m, b'·m)."""

    @abstractmethod
    def dots(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f'_o(x_i)⟩, (m, b)."""

    @abstractmethod
    def arrays(self) -> tuple[Any, ...]:
        """What it holds, one input a row."""

    @abstractmethod
    def with_arrays(self, arrays: Sequence[Any]) -> Part:
        """The same of other inputs."""


@dataclass(frozen=True, eq=False)
class Rows(Part):
    """The gradients as they are, R (b, m, s)."""

    leaf: int
    rows: Any

    def by_output(self, other: Rows) -> Any:
        R, S = self.rows.swapaxes(0, 1), other.rows.swapaxes(0, 1)
        return _product(R, S, self is other)

    def full(self, other: Rows) -> Any:
        R, S = (
            part.rows.reshape(1, -1, part.rows.shape[-1])  # (1, b·m, s)
            for part in (self, other)
        )
        return _product(R, S, self is other)[0]

    def dots(self, other: Rows) -> Any:
        return (self.rows * other.rows).sum(-1).swapaxes(0, 1)

    def arrays(self) -> tuple[Any, ...]:
        return (self.rows,)

    def with_arrays(self, arrays: Sequence[Any]) -> Rows:
        return replace(self, rows=arrays[0])


@dataclass(frozen=True, eq=False)
class Shared(Part):
    """The gradient in a weight W (p, q) that meets the network in products z = Wᵀa at P places is
    Σ_P a_P ⊗ ∂f/∂z_P: what comes in, A (b, P, p), and what comes back, G (b, m, P, q).

    P is one for a dense layer, the number of positions for a sequence or a convolution. patches:
    A from what is held, block by block. places: A holds row numbers (b, P) of W instead, as of
    tokens. turned: the tensor itself is Wᵀ.

    Kernels are sums over pairs of places, (A Aᵀ)·(G Gᵀ), or products of gradients that are formed
    for a few columns of W at a time, whichever needs fewer operations.
    """

    leaf: int
    incoming: Any
    back: Any
    patches: Callable[[Any], Any] | None = None
    places: bool = False
    turned: bool = False

    def by_output(self, other: Shared) -> Any:
        m = self.back.shape[1]
        if self._by_places(m, m):
            return self._over_places(other, False)
        return self._formed(other, Rows.by_output)

    def full(self, other: Shared) -> Any:
        m = self.back.shape[1]
        if self._by_places(m * m, m * m):
            found = self._over_places(other, True)
            return found.reshape(found.shape[0] * m, -1)
        return self._formed(other, Rows.full)

    def dots(self, other: Shared) -> Any:
        b, _, P, _ = self.back.shape
        if P == 1 and not self.places:
            along = (self.came_in() * other.came_in()).sum(-1)  # (b, 1)
            return (along * (self.back * other.back).sum(-1)[:, :, 0]).swapaxes(0, 1)
        found = []
        for i in range(b):
            one, two = self.came_in(slice(i, i + 1)), other.came_in(slice(i, i + 1))
            met = self._met(one, two)[0]  # (P, P)
            found.append(
                ((self.back[i] @ other.back[i].swapaxes(-1, -2)) * met).sum(-1).sum(-1)[None]
            )
        return _joined(found).swapaxes(0, 1)

    def arrays(self) -> tuple[Any, ...]:
        return self.incoming, self.back

    def with_arrays(self, arrays: Sequence[Any]) -> Shared:
        return replace(self, incoming=arrays[0], back=arrays[1])

    def formed(self) -> Rows:
        """The gradients themselves, (b, m, p·q)."""
        A = self.came_in()[:, None]
        G = self.back
        found = G.swapaxes(-1, -2) @ A if self.turned else A.swapaxes(-1, -2) @ G
        return Rows(self.leaf, found.reshape(*found.shape[:2], -1))

    def came_in(self, rows: Any = slice(None)) -> Any:
        return self.incoming[rows] if self.patches is None else self.patches(self.incoming[rows])

    def _by_places(self, products: int, pairs: int) -> bool:
        """Whether sums over pairs of places need fewer operations than formed gradients."""
        P, q = self.back.shape[-2:]
        if self.places:
            return True
        p = self.came_in(slice(0, 1)).shape[-1]
        return bool(P * P * (p + products * q) <= pairs * p * q)

    def _met(self, A: Any, B: Any) -> Any:
        """⟨a_P, b_P'⟩ for every pair of places, (…, P, P')."""
        if self.places:
            return (A[..., :, None] == B[..., None, :]) * 1.0
        return A @ B.swapaxes(-1, -2)

    def _over_places(self, other: Shared, full: bool) -> Any:
        """(m, b, b'), or (b, m, b', m) in full, in blocks of inputs that fit the working memory."""
        b, m, P, q = self.back.shape
        c = other.back.shape[0]
        size = max(1, int(WORKING / 8 / (P * P * c * (m if full else 1))))
        B = other.came_in()
        B = B.reshape(c * P) if self.places else B.reshape(c * P, -1)
        H = other.back.swapaxes(0, 1).reshape(m, c * P, q)
        bands = []
        for first in range(0, b, size):
            rows = slice(first, min(first + size, b))
            A = self.came_in(rows)
            k = len(A)
            met = self._met(A.reshape(k * P) if self.places else A.reshape(k * P, -1), B)
            met = met.reshape(k, P, c, P)
            G = self.back[rows].swapaxes(0, 1).reshape(m, k * P, q)
            columns = []
            for o in range(m):
                if full:
                    back = (G[o] @ H.reshape(m * c * P, q).T).reshape(k, P, m, c, P)
                    found = (back * met[:, :, None]).sum(-1).sum(1)  # (k, m, c)
                    columns.append(found.swapaxes(1, 2)[:, None])  # (k, 1, c, m)
                else:
                    back = (G[o] @ H[o].T).reshape(k, P, c, P)
                    columns.append((back * met).sum(-1).sum(1)[None])  # (1, k, c)
            bands.append(_joined(columns, 1 if full else 0))
        return _joined(bands, 0 if full else 1)

    def _formed(self, other: Shared, product: Any) -> Any:
        """Products of the gradients, formed for a few columns of W at a time."""
        b, m, _, q = self.back.shape
        p = self.came_in(slice(0, 1)).shape[-1]
        c = max(b, other.back.shape[0])
        size = max(1, min(q, int(WORKING / 8 / (c * m * p))))
        total: Any = 0.0
        for first in range(0, q, size):
            columns = slice(first, first + size)
            mine = self._columns(columns)
            theirs = mine if other is self else other._columns(columns)
            total = total + product(mine, theirs)
        return total

    def _columns(self, columns: slice) -> Rows:
        """Gradients in these columns of W, input by input where A is made of what is held."""
        if self.patches is None:
            return replace(self, back=self.back[..., columns]).formed()
        size = max(1, WORKING // (16 * self.came_in(slice(0, 1)).nbytes))
        parts = [
            replace(
                self,
                incoming=self.incoming[first : first + size],
                back=self.back[first : first + size, ..., columns],
            )
            .formed()
            .rows
            for first in range(0, len(self.incoming), size)
        ]
        return Rows(self.leaf, _joined(parts))


@dataclass(frozen=True, eq=False)
class Features:
    """∇_w f_o(w, x_i) for a block of b inputs and m outputs, as a direct sum over the tensors of w.

    values: f(w, x_i), (b, m).
    """

    values: Array
    parts: tuple[Part, ...]

    def by_leaf(self, other: Features, name: str) -> Any:
        """(leaf, product) for each part; `name` is a method of parts."""
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            yield mine.leaf, as_array(getattr(mine, name)(theirs))

    def finite(self) -> Mask:
        """Which inputs have finite values and gradients, (b,)."""
        good = np.all(np.isfinite(self.values), axis=1)
        for part in self.parts:
            for block in part.arrays():
                good &= np.isfinite(as_array(block.reshape(len(good), -1).sum(-1)))
        return good

    def joined(self, others: Sequence[Features]) -> Features:
        """With further inputs."""
        everything = (self, *others)
        parts = tuple(
            mine.with_arrays(
                [
                    _joined(arrays)
                    for arrays in zip(*(f.parts[k].arrays() for f in everything), strict=True)
                ]
            )
            for k, mine in enumerate(self.parts)
        )
        return Features(np.concatenate([f.values for f in everything]), parts)


def as_array(values: Any) -> Array:
    """In double precision, on this side."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.float64)


def _product(R: Any, S: Any, same: bool) -> Any:
    """R Sᵀ (…, b, b'); of R with itself by bands of rows, from the diagonal on."""
    b = R.shape[-2]
    if not same or b < 64 * TRIANGLE:
        return R @ S.swapaxes(-1, -2)
    band = -(-b // TRIANGLE)
    shape = (*R.shape[:-1], b)
    found: Any = R.new_empty(shape) if hasattr(R, "new_empty") else np.empty(shape)
    for first in range(0, b, band):
        rows = slice(first, first + band)
        block = R[..., rows, :] @ R[..., first:, :].swapaxes(-1, -2)
        found[..., rows, first:] = block
        found[..., first:, rows] = block.swapaxes(-1, -2)
    return found


def _joined(arrays: Sequence[Any], axis: int = 0) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    if hasattr(arrays[0], "detach"):
        import torch

        return torch.cat(list(arrays), dim=axis)
    return np.concatenate(arrays, axis=axis)
