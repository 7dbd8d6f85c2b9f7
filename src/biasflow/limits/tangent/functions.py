"""Functions f(w, x), and what their derivatives in w are asked for, whoever wrote them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array, real_array
from ..._core.trees import leaves as leaves_of, regrouped
from ...errors import InputError
from ...models import Model
from .gradient_features import Features, Rows
from .inputs import Batch, Inputs
from .outputs import Outputs, read_outputs

Leaves = tuple[Array, ...]
"""The trainable tensors of w, in a fixed order."""
TOGETHER = 1e-3
"""Relative difference between predictions made together and one by one above which inputs influence
each other. Loose, so that networks that compute in half precision inside pass."""
CANCELLED = 1e-12
"""Differences below this are rounding: predictions of centred networks, whose units come in
opposite pairs, are sums of terms of order one that cancel."""
FLOAT = 8
"""Bytes of a number in double precision."""
OTHER_FUNCTION = (
    ", which is not trained by gradients, differs from the first parameters': the same weights "
    "mean another function there; give all of them the same one, say that of the trained network "
    "(buffers='last')"
)
"""Running means and the like that changed."""
DOUBLE_UP_TO = 1_000_000
"""Weights up to which a network is computed in double precision; larger ones in single."""
SMALL = 20_000
"""Up to this many parameters a model's own Jacobian is quicker than compiling its gradient."""


@dataclass(frozen=True)
class Portion:
    """Tensors of w whose gradients are looked at together. parts: which, in the words of the
    function; numbers: what the features of one input hold of them, in bytes."""

    parts: Any
    need: float


def single_note(weights: int) -> str:
    return f"Computed in single precision: the network has {weights:,} weights."


def cut(needs: Sequence[float], n: int, memory: float) -> list[Portion]:
    """Units of so many bytes an input, in the order in which the network meets them, as portions
    that fit into `memory` at n inputs, where that can be had. What is met first, and is reached
    by going back all the way, is put together first."""
    found: list[Portion] = []
    held: list[int] = []
    for k, need in enumerate(needs):
        if held and (sum(needs[i] for i in held) + need) * n > memory:
            found.append(Portion(tuple(held), sum(needs[i] for i in held)))
            held = []
        held.append(k)
    return [*found, Portion(tuple(held), sum(needs[i] for i in held))]


class TangentFunction(ABC):
    """f(w, x) ∈ R^m for inputs X (n, ...). Weights are leaves: the tensors of w that are trained.

    names: of the leaves, dotted, as `blocks.0.weight`. outputs: which outputs are looked at.
    shape: of predictions, once there were any. notes: what a reader of the results should know.
    """

    names: Sequence[str]
    outputs: Outputs
    shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def leaves(self, name: str, params: Any) -> Leaves:
        """The trainable tensors of these parameters, of the shapes of the first ones, or an error
        that calls them `name`."""

    @abstractmethod
    def rebuilt(self, leaves: Sequence[Array]) -> Any:
        """Parameters of the type first given, with these leaves."""

    @abstractmethod
    def values(self, leaves: Leaves, X: Inputs) -> Array:
        """f_o(w, x_i), (n, m)."""

    @abstractmethod
    def features(self, leaves: Leaves, X: Inputs, parts: Any = None) -> Features:
        """The gradients ∇_w f_o(w, x_i) for a block of inputs, in the tensors of a portion."""

    @abstractmethod
    def slopes(self, leaves: Leaves, X: Inputs, direction: Leaves) -> Array:
        """⟨∇_w f_o(w, x_i), v⟩, (n, m)."""

    @abstractmethod
    def pulled(self, leaves: Leaves, X: Inputs, cotangent: Array) -> Leaves:
        """Σ_io c_io∇_w f_o(w, x_i), c (n, m)."""

    @abstractmethod
    def cost(self, leaves: Leaves, X: Inputs) -> int:
        """Numbers that the features of one input need while they are computed."""

    def portions(self, leaves: Leaves, X: Inputs, memory: float) -> list[Portion]:
        """All tensors, cut into portions that are looked at one after the other; those of all
        inputs fit into `memory` where that can be had."""
        return [Portion(None, FLOAT * self.cost(leaves, X))]

    @property
    def sketched(self) -> tuple[int, int] | None:
        """How many outputs the network has, and how many random sums stand for them; None where
        outputs are looked at themselves, or no prediction was made yet."""
        sketch = None if self.shape is None else self.outputs.sketch(self.shape)
        if sketch is None or self.shape is None:
            return None
        return math.prod(self.shape[1:]), sketch.draws

    def predictions(self, leaves: Leaves, X: Inputs) -> Array:
        """f(w, x_i), (n,) where one output is looked at, (n, m) otherwise."""
        return self._flat(self.values(leaves, X))

    def pushforward(self, leaves: Leaves, X: Inputs, direction: Leaves) -> Array:
        """⟨∇_w f(w, x_i), v⟩, of the shape of predictions."""
        return self._flat(self.slopes(leaves, X, direction))

    def pullback(self, leaves: Leaves, X: Inputs, cotangent: Array) -> Leaves:
        """Σ_i c_i∇_w f(w, x_i)."""
        return self.pulled(leaves, X, cotangent.reshape(len(X), -1))

    def _flat(self, values: Array) -> Array:
        return values[:, 0] if self.outputs.one else values


def tangent_function(
    fn: Any, params: Any, output: Any = None, fixed: Any = None
) -> TangentFunction:
    """`fn` as a TangentFunction: a model, a JAX function of (params, X), or a module of equinox,
    Flax, Keras or PyTorch.

    output: the columns to look at where there are several outputs. fixed: parameters whose tensors
    that are not trained, such as running means, hold for all others.
    """
    from .flax_modules import linen_function, nnx_function
    from .jax_functions import JaxFunction, is_array, is_equinox, over_inputs
    from .keras_models import keras_function
    from .torch_modules import TorchModule

    outputs = read_outputs(output)
    for adapter in (keras_function, linen_function, nnx_function):
        found = adapter(fn, params, outputs, fixed)
        if found is not None:
            return found
    if TorchModule.serves(fn):
        return TorchModule(fn, params, outputs, fixed)
    if is_equinox(fn):
        return JaxFunction(over_inputs, params, outputs, is_array, fixed=fixed)
    if not callable(fn):
        raise InputError(
            "network: expected a function of (params, X), a model or a module, found "
            f"{type(fn).__name__}"
        )
    if (
        isinstance(fn, Model)
        and outputs.one
        and not outputs.asked
        and sum(np.size(leaf) for leaf in leaves_of(params)) <= SMALL
    ):
        return ModelFunction(fn, params)
    return JaxFunction(fn, params, outputs, fixed=fixed)


class ModelFunction(TangentFunction):
    """A small biasflow model, by its own Jacobian in NumPy."""

    outputs = Outputs(None)

    def __init__(self, model: Model, params: Any) -> None:
        self.model, self.template = model, params
        self.shapes = [np.shape(leaf) for leaf in leaves_of(params)]
        self.names = _names(params)

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

    def values(self, leaves: Leaves, X: Inputs) -> Array:
        found = self.model(self.rebuilt(leaves), _real(X))
        return np.asarray(self.outputs.looked_at(found, len(X)), dtype=np.float64)

    def features(self, leaves: Leaves, X: Inputs, parts: Any = None) -> Features:
        rows = leaves_of(self.model.jacobian(self.rebuilt(leaves), _real(X)))
        return Features(
            self.values(leaves, X),
            tuple(Rows(k, np.reshape(row, (len(X), 1, -1))) for k, row in enumerate(rows)),
        )

    def slopes(self, leaves: Leaves, X: Inputs, direction: Leaves) -> Array:
        rows = leaves_of(self.model.jacobian(self.rebuilt(leaves), _real(X)))
        found = [
            np.reshape(row, (len(X), -1)) @ part.ravel()
            for row, part in zip(rows, direction, strict=True)
        ]
        return np.sum(found, axis=0)[:, None]

    def pulled(self, leaves: Leaves, X: Inputs, cotangent: Array) -> Leaves:
        found = self.model.gradient(self.rebuilt(leaves), _real(X), cotangent[:, 0])
        return tuple(leaves_of(found))

    def cost(self, leaves: Leaves, X: Inputs) -> int:
        return 2 * sum(leaf.size for leaf in leaves)


def _real(X: Inputs) -> Array:
    if isinstance(X, Batch):
        raise InputError("X: a dictionary, and biasflow models take one array")
    return np.asarray(X, dtype=np.float64)


def _names(state: Any, prefix: str = "") -> list[str]:
    """Names of the leaves of nested tuples, dotted."""
    if not isinstance(state, tuple):
        return [prefix.removesuffix(".") or "weights"]
    words = getattr(state, "_fields", range(len(state)))
    return [
        name
        for word, part in zip(words, state, strict=True)
        for name in _names(part, f"{prefix}{word}.")
    ]


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


def check_alone(together: Array, alone: Array) -> None:
    """The same prediction of an input beside another one and on its own, or an error that says why
    not."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.linalg.norm(np.nan_to_num(together - alone))
        size = max(float(np.linalg.norm(values)) for values in (together, alone))
    if off > max(TOGETHER * size, CANCELLED):
        k = int(np.argmax(np.abs(np.nan_to_num(together - alone))))
        raise InputError(
            "network: the prediction of an input depends on the others, or on chance "
            f"({together[k]:g} "
            f"with a second input, {alone[k]:g}"
            " alone); put batch normalisation, dropout and the like into inference mode"
        )
