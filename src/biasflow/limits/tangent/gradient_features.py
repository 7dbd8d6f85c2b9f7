"""What the gradients ∇_w f_o(w, x_i) of a block of inputs are made of, without the gradients where
their parts suffice. Arrays are NumPy's or PyTorch's."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._core.arguments import Array, Mask

WORKING = 2**27
"""Bytes that products may take while a kernel is summed, beside the features."""
BAND = 128
"""Rows of a symmetric product that are computed together, from the diagonal on: enough for a matrix
product to be fast."""


class Part(ABC):
    """The gradients of m outputs in one tensor of w, at b inputs. leaf: which tensor."""

    leaf: int

    @property
    @abstractmethod
    def outputs(self) -> int:
        """m."""

    @abstractmethod
    def of(self, output: int) -> Any:
        """The gradients of one output alone."""

    @abstractmethod
    def summed(self, other: Any) -> Any:
        """Σ_o ⟨∇f_o(x_i), ∇f_o(x'_j)⟩, (b, b')."""

    @abstractmethod
    def full(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f_o'(x'_j)⟩, (b·m, b'·m)."""

    @abstractmethod
    def dots(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f'_o(x_i)⟩, (m, b)."""

    @abstractmethod
    def arrays(self) -> tuple[Any, ...]:
        """What it holds, one input a row."""

    def by_output(self, other: Any) -> Any:
        """⟨∇f_o(x_i), ∇f_o(x'_j)⟩, (m, b, b')."""
        found = []
        for o in range(self.outputs):
            mine = self.of(o)
            found.append(mine.summed(mine if other is self else other.of(o))[None])
        return _joined(found)


@dataclass(frozen=True, eq=False)
class Rows(Part):
    """The gradients as they are, R (b, m, s)."""

    leaf: int
    rows: Any

    @property
    def outputs(self) -> int:
        return int(self.rows.shape[1])

    def of(self, output: int) -> Rows:
        return Rows(self.leaf, self.rows[:, output : output + 1])

    def summed(self, other: Rows) -> Any:
        R, S = (part.rows.reshape(len(part.rows), -1) for part in (self, other))
        return _product(R, S, self is other)

    def full(self, other: Rows) -> Any:
        R, S = (part.rows.reshape(-1, part.rows.shape[-1]) for part in (self, other))
        return _product(R, S, self is other)

    def dots(self, other: Rows) -> Any:
        return (self.rows * other.rows).sum(-1).swapaxes(0, 1)

    def arrays(self) -> tuple[Any, ...]:
        return (self.rows,)


@dataclass(frozen=True, eq=False)
class Shared(Part):
    """The gradient in a weight W (p, q) that meets the network in products z = Wᵀa at P places is
    Σ_P a_P ⊗ ∂f/∂z_P: what comes in, A (b, P, p), and what comes back, G (b, m, q, P).

    P is one for a dense layer, the number of positions for a sequence or a convolution. patches:
    A of what is held, for some rows of W; channel: how many rows it makes together. places: A holds
    row numbers (b, P) of W instead, as of tokens. turned: the tensor itself is Wᵀ. groups: of the
    rows and columns of W, which meet each other alone; W is then (p/groups, q).

    A kernel is made in one of two orders, by these counts of products for a pair of inputs:

    - gradients formed, a slab of W at a time: m·p·q·(1 + 2P/b), and m·p·q·(m + 2P/b) in full;
    - pairs of places first, ⟨a_P, a'_P'⟩: P²·(p + m·q), and P²·p + P·m·q·(P + m) in full, where G
      is multiplied by these numbers before it meets the other G.
    """

    leaf: int
    incoming: Any
    back: Any
    patches: Callable[[Any, slice], Any] | None = None
    channel: int = 1
    places: bool = False
    turned: bool = False
    groups: int = 1

    @property
    def outputs(self) -> int:
        return int(self.back.shape[1])

    def of(self, output: int) -> Shared:
        return replace(self, back=self.back[:, output : output + 1])

    def summed(self, other: Shared) -> Any:
        if self.by_places(False):
            found = self._over_places(other, _summed_over_places)
            return found[:, 0, :, 0]
        return self._over_slabs(other, Rows.summed)

    def full(self, other: Shared) -> Any:
        m = self.outputs
        if m == 1:
            return self.summed(other)
        if self.by_places(True):
            found = self._over_places(other, _fully_over_places)
            return found.reshape(len(self.back) * m, -1)
        return self._over_slabs(other, Rows.full)

    def dots(self, other: Shared) -> Any:
        if self.back.shape[-1] == 1 and not self.places:
            along = (self.came_in() * other.came_in()).sum(-1)  # (b, 1)
            return (along * (self.back * other.back).sum(-1).sum(-1)).swapaxes(0, 1)
        found = []
        for i in range(len(self.back)):
            one = slice(i, i + 1)
            met = self._met(self.came_in(one), other.came_in(one))  # (P, P)
            back = self.back[i].swapaxes(-1, -2) @ other.back[i]  # (m, P, P)
            found.append((back * met).sum(-1).sum(-1)[None])
        return _joined(found).swapaxes(0, 1)

    def arrays(self) -> tuple[Any, ...]:
        return self.incoming, self.back

    def formed(self) -> Rows:
        """The gradients themselves, (b, m, s)."""
        b, m, q, P = self.back.shape
        g = self.groups
        A = self.came_in().swapaxes(-1, -2).reshape(b, g, -1, P)
        G = self.back.reshape(b, m, g, q // g, P).swapaxes(1, 2).reshape(b, g, -1, P)
        found = (G @ A.swapaxes(-1, -2)).reshape(b, g, m, q // g, -1).swapaxes(1, 2)
        if not self.turned:
            found = found.swapaxes(-1, -2)
        return Rows(self.leaf, found.reshape(b, m, -1))

    def came_in(self, inputs: slice = slice(None), rows: slice = slice(None)) -> Any:
        """A at some inputs, for some rows of W, (b, P, p)."""
        held = self.incoming[inputs]
        if self.patches is not None:
            return self.patches(held, rows)
        return held if self.places else held[..., rows]

    @property
    def height(self) -> int:
        """p, the rows of W, of all groups."""
        return int(self.came_in(slice(0, 1)).shape[-1])

    def longer_than_gradients(self, outputs: int) -> bool:
        """Whether the gradients of so many outputs are fewer numbers than what they are made of."""
        if self.places:
            return False
        b, _, q, P = self.back.shape
        length = outputs * q * (self.height // self.groups)
        return bool(length < math.prod(self.incoming.shape) // b + outputs * q * P)

    def by_places(self, full: bool) -> bool:
        """Whether pairs of places first need fewer products than formed gradients."""
        if self.places or self.groups > 1:
            return self.places
        b, m, q, P = self.back.shape
        p = self.height
        forming = 2 * m * p * q * P / b
        if full:
            return bool(P * P * p + P * m * q * (P + m) <= m * m * p * q + forming)
        return bool(P * P * (p + m * q) <= m * p * q + forming)

    def _met(self, A: Any, B: Any) -> Any:
        """⟨a_P, b_P'⟩ for every pair of places, (b·P, b'·P')."""
        if not self.places:
            return A.reshape(-1, A.shape[-1]) @ B.reshape(-1, B.shape[-1]).swapaxes(0, 1)
        same = A.reshape(-1, 1) == B.reshape(1, -1)
        return same.to(self.back.dtype) if hasattr(same, "to") else same.astype(self.back.dtype)

    def _over_places(self, other: Shared, folded: Any) -> Any:
        """(b, m, b', m) in blocks of inputs that fit the working memory; `folded` takes what came
        in at pairs of places and what came back at either side."""
        P = self.back.shape[-1]
        found: Any = None
        blocks = self._blocks()
        for i in blocks:
            A, G = self.came_in(i), self.back[i]
            for j in blocks if other is self else other._blocks():
                if other is self and j.start < i.start:
                    continue
                H = other.back[j]
                met = self._met(A, other.came_in(j)).reshape(len(G), P, len(H), P)
                block = folded(met, G, H)
                if found is None:
                    m = block.shape[1]
                    found = _empty((len(self.back), m, len(other.back), m), block)
                found[i, :, j] = block
                if other is self and j != i:
                    found[j, :, i] = block.swapaxes(0, 2).swapaxes(1, 3)
        return found

    def _blocks(self) -> list[slice]:
        """Inputs of which a block's own arrays, and all pairs of places of two blocks, take an
        eighth of the working memory each."""
        b, _, _, P = self.back.shape
        share, byte = WORKING / 8, self.back.itemsize
        row = self.back[:1].nbytes + (0 if self.places else P * self.height * byte)
        size = max(1, min(int((share / byte) ** 0.5 / P), int(share / row)))
        return [slice(first, min(first + size, b)) for first in range(0, b, size)]

    def _over_slabs(self, other: Shared, product: Any) -> Any:
        """Products of the gradients, formed for a part of W at a time."""
        total: Any = 0.0
        for rows, columns in self._slabs(max(len(self.back), len(other.back))):
            mine = self._slab(rows, columns)
            theirs = mine if other is self else other._slab(rows, columns)
            total = total + product(mine, theirs)
        return total

    def _slabs(self, b: int) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of W in which the gradients at b inputs fit the working memory. A
        channel's rows are made of what is held once for all columns, where they fit."""
        p, q = self.height // self.groups, self.back.shape[2] // self.groups
        room = WORKING / 2 / self.back.itemsize / (b * self.outputs * self.channel)
        wide = max(1, min(q, int(room)))
        tall = max(1, min(p // self.channel, int(room / wide))) * self.channel
        for g in range(self.groups):
            for first in range(0, p, tall):
                rows = slice(g * p + first, g * p + min(first + tall, p))
                for left in range(0, q, wide):
                    yield rows, slice(g * q + left, g * q + min(left + wide, q))

    def _slab(self, rows: slice, columns: slice) -> Rows:
        b, m, _, P = self.back.shape
        G = self.back[:, :, columns].reshape(b, -1, P)
        return Rows(self.leaf, (G @ self.came_in(rows=rows)).reshape(b, m, -1))


def _summed_over_places(met: Any, G: Any, H: Any) -> Any:
    """Σ_oPP' ⟨a_P, a'_P'⟩⟨g_oP, g'_oP'⟩, (b, 1, b', 1)."""
    by_place = [part.reshape(len(part), -1, part.shape[-1]).swapaxes(1, 2) for part in (G, H)]
    mine, theirs = (part.reshape(-1, part.shape[-1]) for part in by_place)  # (b·P, m·q)
    back = (mine @ theirs.swapaxes(0, 1)).reshape(met.shape)
    back *= met
    return back.sum(-1).sum(1)[:, None, :, None]


def _fully_over_places(met: Any, G: Any, H: Any) -> Any:
    """Σ_PP' ⟨a_P, a'_P'⟩⟨g_oP, g'_o'P'⟩, (b, m, b', m)."""
    (b, m, q, P), c = G.shape, len(H)
    if P == 1:
        back = G.reshape(b * m, q) @ H.reshape(c * m, q).swapaxes(0, 1)
        return back.reshape(b, m, c, m) * met.reshape(b, 1, c, 1)
    rows = []
    for i in range(b):
        moved = H.reshape(c, m * q, P) @ met[i].swapaxes(0, 1).swapaxes(1, 2)  # (b', m·q, P)
        back = G[i].reshape(m, q * P) @ moved.reshape(c * m, q * P).swapaxes(0, 1)
        rows.append(back.reshape(1, m, c, m))
    return _joined(rows)


@dataclass(frozen=True, eq=False)
class Features:
    """∇_w f_o(w, x_i) for a block of b inputs and m outputs, as a direct sum over the tensors of w.

    values: f(w, x_i), (b, m).
    """

    values: Array
    parts: tuple[Part, ...]

    def by_leaf(self, other: Features, name: str) -> Iterator[tuple[int, Array]]:
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


def as_array(values: Any) -> Array:
    """In double precision, on this side."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.float64)


def _product(R: Any, S: Any, same: bool) -> Any:
    """R Sᵀ, (b, b'); of R with itself by bands of rows, from the diagonal on."""
    b = len(R)
    if not same or b < 2 * BAND:
        return R @ S.swapaxes(0, 1)
    found = _empty((b, b), R)
    for first in range(0, b, BAND):
        rows = slice(first, first + BAND)
        block = R[rows] @ R[first:].swapaxes(0, 1)
        found[rows, first:] = block
        found[first:, rows] = block.swapaxes(0, 1)
    return found


def _empty(shape: tuple[int, ...], like: Any) -> Any:
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def _joined(arrays: Sequence[Any], axis: int = 0) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    if hasattr(arrays[0], "detach"):
        import torch

        return torch.cat(list(arrays), dim=axis)
    return np.concatenate(arrays, axis=axis)
