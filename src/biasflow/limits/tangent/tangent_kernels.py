"""Tangent kernels K(x, x') = ⟨∇_w f(w, x), ∇_w f(w, x')⟩ of any function, in blocks that fit a
memory budget (W, §3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, positive_float
from ..._core.former_names import renamed
from ...errors import InputError
from ...models import Model
from .functions import Leaves, TangentFunction, read_inputs, tangent_function
from .gradient_features import Features

MEMORY = 2.0**30
"""Bytes that blocks of gradients may take, where the caller does not say."""
FLOAT = 8


@dataclass(frozen=True, eq=False)
class Tangent:
    """The gradients of a function at one set of weights, block by block. memory: bytes for the two
    blocks held at a time."""

    function: TangentFunction
    leaves: Leaves
    memory: float = MEMORY

    def blocks(self, X: Array) -> list[slice]:
        """Consecutive inputs whose features fit into half of the memory."""
        need = FLOAT * self.function.cost(self.leaves, X)
        size = int(self.memory / 2 / need)
        if size < 1:
            raise InputError(
                f"memory_b: {self.memory:.3g} bytes, and the gradient at one input alone needs "
                f"{2 * need:.3g}"
            )
        count = -(-len(X) // size)
        size = -(-len(X) // count)  # equal blocks, so that one compiled form serves all
        return [slice(start, min(start + size, len(X))) for start in range(0, len(X), size)]

    def features(self, X: Array) -> Features:
        """The features of a block, or an error that says at which input they are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.function.features(self.leaves, X)
        wrong = np.flatnonzero(~found.finite())
        if wrong.size:
            k, top = (
                int(wrong[0]),
                max(float(np.max(np.abs(leaf), initial=0.0)) for leaf in self.leaves),
            )
            what = (
                "the gradient is not finite"
                if np.isfinite(found.values[k])
                else f"f = {found.values[k]}"
            )
            raise InputError(
                f"network: {what} at an input; weights up to {top:.3g}: their scale overflows, or "
                "f is "
                "singular there"
            )
        return found

    def kernel(self, X: Array, other: Array | None = None) -> Array:
        """K(x_i, x'_j), (n, n'); without other inputs K(x_i, x_j), exactly symmetric."""
        if other is not None:
            K = np.empty((len(X), len(other)))
            for i, features in self._each(X):
                for j, others in self._each(other):
                    K[i, j] = features.gram(others)
            return _finite(K)
        K = np.empty((len(X), len(X)))
        blocks = self.blocks(X)
        for k, i in enumerate(blocks):
            features = self.features(X[i])
            K[i, i] = features.gram(features)
            for j in blocks[k + 1 :]:
                K[i, j] = features.gram(self.features(X[j]))
        upper = np.triu(K)
        return _finite(upper + np.triu(K, 1).T)

    def predictions(self, X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.function.predictions(self.leaves, X)

    def _each(self, X: Array) -> Iterator[tuple[slice, Features]]:
        for block in self.blocks(X):
            yield block, self.features(X[block])


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
    X: Array,
    output: int | None = None,
    memory: float = MEMORY,
    name: str = "params",
) -> Tangent:
    """The gradients of `fn` at `params`, for inputs like X; errors call them `name`."""
    if isinstance(fn, Model):
        params = fn.checked(params, X.shape[1])
    function = tangent_function(fn, params, output)
    return Tangent(function, function.leaves(name, params), positive_float("memory_b", memory))


@renamed(fn="network", memory="memory_b")
def tangent_kernel(
    network: Any,
    params: Any,
    X: ArrayLike,
    other: ArrayLike | None = None,
    *,
    output: int | None = None,
    memory_b: float = MEMORY,
) -> Array:
    """K_ij = ⟨∇_w f(w, x_i), ∇_w f(w, x_j)⟩ (W, §3), without the Jacobian.

    Weights that enter by one product with a vector contribute ⟨a_i, a_j⟩⟨g_i, g_j⟩ from p + q
    numbers an input instead of p·q; for all others, gradients are held for two blocks of inputs at
    a time, and computed again for every pair of blocks.

    Parameters
    ----------
    network
        A biasflow model, any JAX function network(params, X) -> (n,), an equinox module or a
        PyTorch one.
    params
        Its parameters w.
    X : array of shape (n, …)
    other : array of shape (n', …), optional
        Other inputs, for ⟨∇_w f(w, x_i), ∇_w f(w, x'_j)⟩.
    output : int, optional
        The column looked at where the network has several outputs.
    memory_b : float
        Bytes for blocks of gradients.

    Returns
    -------
    array of shape (n, n), or (n, n')

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
    return tangent(network, params, inputs, output, memory_b).kernel(
        inputs, None if other is None else read_inputs(other, "other")
    )
