"""Functions f(w, x) with one output, and what their derivatives in w are asked for, whoever wrote
them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, real_array
from ..._core.trees import leaves as leaves_of, regrouped
from ...errors import InputError
from ...models import Model
from .gradient_features import Features

Leaves = tuple[Array, ...]
"""The trainable tensors of w, in a fixed order."""
TOGETHER = 1e-3
"""Relative difference between predictions made together and one by one above which inputs influence
each other. Loose, so that networks that compute in half precision inside pass."""
SMALL = 20_000
"""Up to this many parameters a model's own Jacobian is quicker than compiling its gradient."""


class TangentFunction(ABC):
    """f(w, x) ∈ R for inputs X (n, ...). Weights are leaves: the tensors of w that are trained."""

    @abstractmethod
    def leaves(self, name: str, params: Any) -> Leaves:
        """The trainable tensors of these parameters, of the shapes of the first ones, or an error
        that calls them `name`."""

    @abstractmethod
    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        """Parameters of the type first given, with these leaves."""

    @abstractmethod
    def predictions(self, leaves: Leaves, X: Array) -> Array:
        """f(w, x_i), (n,)."""

    @abstractmethod
    def features(self, leaves: Leaves, X: Array) -> Features:
        """The gradients ∇_w f(w, x_i) for a block of inputs."""

    @abstractmethod
    def pushforward(self, leaves: Leaves, X: Array, direction: Leaves) -> Array:
        """⟨∇_w f(w, x_i), v⟩, (n,)."""

    @abstractmethod
    def pullback(self, leaves: Leaves, X: Array, cotangent: Array) -> Leaves:
        """Σ_i c_i∇_w f(w, x_i)."""

    @abstractmethod
    def cost(self, leaves: Leaves, X: Array) -> int:
        """Numbers that the features of one input need while they are computed."""


def tangent_function(fn: Any, params: Any, output: int | None = None) -> TangentFunction:
    """`fn` as a TangentFunction: a model, a JAX function of (params, X), an equinox module or a
    PyTorch one.

    output: the column to look at where there are several outputs.
    """
    from .jax_functions import JaxFunction, is_array, is_equinox, over_inputs
    from .torch_modules import TorchModule

    if TorchModule.serves(fn):
        return TorchModule(fn, params, output)
    if is_equinox(fn):
        return JaxFunction(over_inputs, params, output, is_array)
    if not callable(fn):
        raise InputError(
            "network: expected a function of (params, X), a model or a module, found "
            f"{type(fn).__name__}"
        )
    if (
        isinstance(fn, Model)
        and output is None
        and sum(np.size(leaf) for leaf in leaves_of(params)) <= SMALL
    ):
        return ModelFunction(fn, params)
    return JaxFunction(fn, params, output)


class ModelFunction(TangentFunction):
    """A small biasflow model, by its own Jacobian in NumPy."""

    def __init__(self, model: Model, params: Any) -> None:
        self.model, self.template = model, params
        self.shapes = [np.shape(leaf) for leaf in leaves_of(params)]

    def leaves(self, name: str, params: Any) -> Leaves:
        found = tuple(real_array(f"{name}[{k}]", leaf) for k, leaf in enumerate(leaves_of(params)))
        check_shapes(
            name,
            [leaf.shape for leaf in found],
            self.shapes,
            [f"leaf {k}" for k in range(len(self.shapes))],
        )
        return found

    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        return _refilled(self.template, iter(leaves))

    def predictions(self, leaves: Leaves, X: Array) -> Array:
        return np.asarray(
            column(self.model(self.rebuilt(leaves), X), len(X), None), dtype=np.float64
        )

    def features(self, leaves: Leaves, X: Array) -> Features:
        rows = leaves_of(self.model.jacobian(self.rebuilt(leaves), X))
        return Features(
            self.predictions(leaves, X), (), tuple(np.reshape(row, (len(X), -1)) for row in rows)
        )

    def pushforward(self, leaves: Leaves, X: Array, direction: Leaves) -> Array:
        return along(self.features(leaves, X), direction)

    def pullback(self, leaves: Leaves, X: Array, cotangent: Array) -> Leaves:
        return tuple(leaves_of(self.model.gradient(self.rebuilt(leaves), X, cotangent)))

    def cost(self, leaves: Leaves, X: Array) -> int:
        return 2 * sum(leaf.size for leaf in leaves)


def along(features: Features, direction: Leaves) -> Array:
    """⟨∇f(w, x_i), v⟩ from gradients that are held whole."""
    return np.sum(
        [rows @ part.ravel() for rows, part in zip(features.rows, direction, strict=True)], axis=0
    )


def _refilled(template: Any, leaves: Any) -> Any:
    if isinstance(template, tuple):
        parts = [_refilled(part, leaves) for part in template]
        return regrouped(template, parts)
    return next(leaves)


def check_shapes(
    name: str, found: Sequence[Any], expected: Sequence[Any], words: Sequence[str]
) -> None:
    """The same tensors as the first parameters given, or an error that says which is not."""
    if len(found) != len(expected):
        raise InputError(
            f"{name}: {len(found)} trainable tensors, the first parameters have {len(expected)}"
        )
    for shape, needed, word in zip(found, expected, words, strict=True):
        if tuple(shape) != tuple(needed):
            raise InputError(
                f"{name}: {word} has shape {tuple(shape)}, in the first parameters {tuple(needed)}"
            )


def column(values: Any, n: int, output: int | None) -> Any:
    """Predictions as a vector (n,), the asked column where there are several; arrays of any
    library."""
    if len(values.shape) not in (1, 2) or values.shape[0] != n:
        raise InputError(
            f"network: expected one prediction for each of {n} inputs, found shape "
            f"{tuple(values.shape)}"
        )
    values = values.reshape(n, -1)
    return values[:, chosen_output(values.shape[1], output)]


def chosen_output(count: int, output: int | None) -> int:
    """The column of the predictions that is looked at."""
    if output is None and count > 1:
        raise InputError(
            f"network: returns {count} outputs for each input, and a tangent kernel is of one: say "
            f"which with output=0..{count - 1},"
            " or give a function of one output"
        )
    if output is not None and not 0 <= output < count:
        raise InputError(f"output: expected a number from 0 to {count - 1}, found {output!r}")
    return output or 0


def two_inputs(X: Array) -> Array:
    """The first input and the one that differs from it most."""
    others = np.max(np.abs(X - X[0]).reshape(len(X), -1), axis=1)
    return X[[0, int(np.argmax(others))]]


def check_alone(together: float, alone: float) -> None:
    """The same prediction of an input beside another one and on its own, or an error that says why
    not."""
    off = np.abs(np.nan_to_num(together) - np.nan_to_num(alone))
    if off > TOGETHER * max(abs(together), abs(alone)):
        raise InputError(
            "network: the prediction of an input depends on the others, or on chance "
            f"({together:g} "
            f"with a second input, {alone:g}"
            " alone); put batch normalisation, dropout and the like into inference mode"
        )


def read_inputs(X: ArrayLike, name: str = "X") -> Array:
    """Inputs (n, ...): one along the first axis, of any shape."""
    array = real_array(name, X)
    if array.ndim < 2 or 0 in array.shape:
        raise InputError(
            f"{name}: expected a non-empty array (n, ...) with one input a row, found shape "
            f"{array.shape}"
        )
    return array
