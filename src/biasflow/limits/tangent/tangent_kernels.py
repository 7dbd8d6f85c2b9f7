"""Tangent kernels K(x, x') = ⟨∇_w f(w, x), ∇_w f(w, x')⟩ of any function, in blocks that fit a
memory budget (W, §3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, positive_float
from ..._core.former_names import renamed
from ...errors import InputError
from ...models import Model
from .functions import FLOAT, Leaves, Portion, TangentFunction, tangent_function
from .gradient_features import WORKING, Features
from .inputs import Batch, Inputs, read_inputs
from .outputs import Sketch

MEMORY = 2.0**30
"""Bytes that blocks of gradients may take, where the caller does not say."""
ASIDE = 3 * WORKING
"""Bytes of the memory that are left for inputs on their way through the network and for products;
of a small memory, half."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """The gradients of a function at one set of weights, block by block. memory: bytes for all of
    it, the kernel apart."""

    function: TangentFunction
    leaves: Leaves
    memory: float = MEMORY

    @property
    def held(self) -> float:
        """Bytes for features."""
        return max(self.memory - ASIDE, self.memory / 2)

    def blocks(self, X: Inputs, need: float | None = None) -> list[slice]:
        """Consecutive inputs of which two blocks' features, of `need` bytes an input, fit."""
        if need is None:
            need = FLOAT * self.function.cost(self.leaves, X)
        size = int(self.held / 2 / need)
        if size < 1:
            raise InputError(
                f"memory_b: {self.memory:.3g} bytes, and the gradient at one input alone needs "
                f"{2 * need * self.memory / self.held:.3g}"
            )
        count = -(-len(X) // size)
        size = -(-len(X) // count)  # equal blocks, so that one compiled form serves all
        return [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]

    def features(self, X: Inputs, parts: Any = None) -> Features:
        """The features of a block, or an error that says at which input they are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.function.features(self.leaves, X, parts)
            wrong = np.flatnonzero(~found.finite())
        if wrong.size:
            values, top = (
                found.values[int(wrong[0])],
                max(float(np.max(np.abs(leaf), initial=0.0)) for leaf in self.leaves),
            )
            bad = values[~np.isfinite(values)]
            what = f"f = {bad[0]}" if bad.size else "the gradient is not finite"
            raise InputError(
                f"network: {what} at an input; weights up to {top:.3g}: their scale overflows, or "
                "f is "
                "singular there"
            )
        return found

    def kernel(self, X: Inputs, other: Inputs | None = None) -> Array:
        """Σ_o ⟨∇f_o(x_i), ∇f_o(x'_j)⟩, (n, n'); without other inputs exactly symmetric."""
        return self.kernels(X, other, [0] * len(self.leaves))[0][0]

    def kernels(
        self,
        X: Inputs,
        other: Inputs | None,
        groups: Sequence[int | None],
        outputs: bool = False,
    ) -> tuple[Array, Array]:
        """Kernels of groups of tensors, summed over outputs, (groups, n, n'), and of each output,
        summed over tensors, (m, n, n') or nothing. groups: the group of every leaf, or None."""
        shape = len(X), len(X if other is None else other)
        by_group = np.zeros((1 + max(k for k in groups if k is not None), *shape))
        by_output: Array = np.zeros((0, *shape))
        for i, j, leaf, found in self._products(X, other, "by_output" if outputs else "summed"):
            group = groups[leaf]
            if group is None:
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                by_group[group, i, j] += np.sum(found, axis=0) if outputs else found
            if outputs:
                if not len(by_output):
                    by_output = np.zeros((len(found), *shape))
                by_output[:, i, j] += found
        if other is None:
            by_group, by_output = _mirrored(by_group), _mirrored(by_output)
        return _finite(by_group), _finite(by_output)

    def full_kernel(self, X: Inputs, other: Inputs | None = None) -> Array:
        """⟨∇f_o(x_i), ∇f_o'(x'_j)⟩, (n·m, n'·m), the outputs of an input next to each other."""
        count = self.function.values(self.leaves, X[:1]).shape[1]
        K = np.zeros((count * len(X), count * len(X if other is None else other)))
        for i, j, _, found in self._products(X, other, "full"):
            K[_times(i, count), _times(j, count)] += found
        return _finite(_mirrored(K) if other is None else K)

    def sketch_error(self, X: Inputs) -> float:
        """The standard error of a kernel that is a sum over random signed sums of outputs, over
        them, relative to its norm."""
        draws = self.kernels(X, None, [0] * len(self.leaves), True)[1]
        if len(draws) < 2:
            return float("nan")
        spread = np.sum((draws - np.mean(draws, axis=0)) ** 2) * len(draws) / (len(draws) - 1)
        return float(np.sqrt(spread) / np.linalg.norm(np.sum(draws, axis=0)))

    def dots(
        self, other: Tangent, X: Inputs, groups: Sequence[int | None] | None = None
    ) -> tuple[Array, Array]:
        """⟨∇f_o(w, x_i), ∇f_o(w', x_i)⟩: by leaf, summed over outputs, (leaves, n), and by output,
        summed over the leaves that have a group, (m, n)."""
        by_leaf, by_output = np.zeros((len(self.leaves), len(X))), np.zeros((0, len(X)))
        for block, one, two in self.beside(other, X):
            for leaf, found in one.by_leaf(two, "dots"):
                if not len(by_output):
                    by_output = np.zeros((len(found), len(X)))
                by_leaf[leaf, block] += np.sum(found, axis=0)
                if groups is None or groups[leaf] is not None:
                    by_output[:, block] += found
        return by_leaf, by_output

    def beside(self, other: Tangent, X: Inputs) -> Iterator[tuple[slice, Features, Features]]:
        """Features at both weights, for all tensors and inputs, in blocks."""
        for portion in self.function.portions(self.leaves, X, self.held / 2):
            for block in self.blocks(X, portion.need):
                yield (
                    block,
                    self.features(X[block], portion.parts),
                    other.features(X[block], portion.parts),
                )

    def predictions(self, X: Inputs) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.function.predictions(self.leaves, X)

    def _products(
        self, X: Inputs, other: Inputs | None, method: str
    ) -> Iterator[tuple[slice, slice, int, Array]]:
        """Products of features over blocks of rows and of columns, tensor by tensor; without other
        inputs those from the diagonal on."""
        count = len(X) + (len(other) if other is not None else 0)
        for portion in self.function.portions(self.leaves, X, self.held * len(X) / count):
            whole = portion.need * count <= self.held
            blocks = [slice(0, len(X))] if whole else self.blocks(X, portion.need)
            yield from self._of_portion(X, other, portion, blocks, method)

    def _of_portion(
        self, X: Inputs, other: Inputs | None, portion: Portion, blocks: list[slice], method: str
    ) -> Iterator[tuple[slice, slice, int, Array]]:
        """The same of one portion; features are let go before the next are made."""
        further: list[tuple[slice, Features | None]] = []
        if other is not None:
            further = self._held(other, portion, len(blocks) == 1)
        for k, i in enumerate(blocks):
            features = self.features(X[i], portion.parts)
            for j, held in further or [(j, None) for j in blocks[k:]]:
                if other is None:
                    theirs = features if j == i else self.features(X[j], portion.parts)
                else:
                    theirs = held or self.features(other[j], portion.parts)
                with np.errstate(over="ignore", invalid="ignore"):
                    for leaf, found in features.by_leaf(theirs, method):
                        yield i, j, leaf, found
                del theirs
            del features

    def _held(
        self, other: Inputs, portion: Portion, whole: bool
    ) -> list[tuple[slice, Features | None]]:
        """Blocks of columns, with their features where all of them are held."""
        if whole:
            return [(slice(0, len(other)), self.features(other, portion.parts))]
        return [(block, None) for block in self.blocks(other, portion.need)]


def _times(block: slice, count: int) -> slice:
    return slice(block.start * count, block.stop * count)


def _mirrored(K: Array) -> Array:
    """The lower triangle from the upper one, exactly, in place."""
    for k in range(1, K.shape[-1]):
        K[..., k, :k] = K[..., :k, k]
    return K


def _finite(K: Array) -> Array:
    if not np.all(np.isfinite(K)):
        raise InputError(
            "X: products of gradients, of which the kernel is made, are beyond float range; scale "
            "the inputs or the weights"
        )
    return K


def tangent(
    fn: Any,
    params: Any,
    X: Inputs,
    output: Any = None,
    memory: float = MEMORY,
    name: str = "params",
    fixed: Any = None,
) -> Tangent:
    """The gradients of `fn` at `params`, for inputs like X; errors call them `name`. fixed:
    parameters whose untrained tensors hold for all others."""
    if isinstance(fn, Model):
        if isinstance(X, Batch):
            raise InputError("X: a dictionary, and biasflow models take one array")
        params = fn.checked(params, X.shape[1])
    function = tangent_function(fn, params, output, fixed)
    leaves = function.leaves(name, params)
    return Tangent(function, leaves, positive_float("memory_b", memory))


@renamed(fn="network", memory="memory_b")
def tangent_kernel(
    network: Any,
    params: Any,
    X: ArrayLike | Mapping[str, ArrayLike],
    other: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    output: int | Sequence[int] | str | Sketch | None = None,
    memory_b: float = MEMORY,
) -> Array:
    """K_ij = ⟨∇_w f(w, x_i), ∇_w f(w, x_j)⟩ (W, §3), without the Jacobian.

    Weights that enter by products with vectors, at one place or at several (positions of a text,
    pixels of an image), contribute Σ_PQ ⟨a_iP, a_jQ⟩⟨g_iP, g_jQ⟩ from the vectors that come in and
    come back, pairs of places first or gradients formed for a part of the weight at a time,
    whichever is less arithmetic. Layers are looked at one group after the other, as many together
    as the memory holds at all inputs; where it does not hold one, inputs are taken in blocks.

    Parameters
    ----------
    network
        A biasflow model, any JAX function network(params, X) -> (n,), or a module of equinox, Flax,
        Keras or PyTorch.
    params
        Its parameters w: those of the function, the module itself or another one with its weights,
        a dictionary of them, or the path of a file (.safetensors, .pt).
    X : array of shape (n, …), or dictionary of arrays
        Inputs; whole numbers, such as tokens, stay whole. A dictionary is what a PyTorch module is
        called with by name, and a JAX function gets as it is.
    other : array of shape (n', …), optional
        Other inputs, for ⟨∇_w f(w, x_i), ∇_w f(w, x'_j)⟩.
    output : int, sequence of int, 'all', 'trace' or regime.Sketch, optional
        Where the network has several outputs: the one looked at; several, or all, for
        ⟨∇f_o(x_i), ∇f_o'(x_j)⟩, the outputs of an input next to each other; 'trace' for the sum
        over o = o' alone; a sketch for an estimate of that sum.
    memory_b : float
        Bytes for gradients and for inputs on their way through the network; from a gigabyte on, a
        limit for all that is computed with, the kernel apart.

    Returns
    -------
    array of shape (n, n), or (n, n'); (n·m, n·m) for m outputs

    Raises
    ------
    InputError
        Where the network has several outputs and none is named, among others.

    Examples
    --------
    >>> model = bf.DiagonalNetwork(2)
    >>> bf.tangent_kernel(model, model.init(0.5, dim=3), np.eye(3)).round(3)
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    inputs = read_inputs(X)
    columns = None if other is None else read_inputs(other, "other")
    traced = isinstance(output, str) and output == "trace"
    at = tangent(network, params, inputs, "all" if traced else output, memory_b)
    if traced or at.function.outputs.one or isinstance(output, Sketch):
        return at.kernel(inputs, columns)
    return at.full_kernel(inputs, columns)
