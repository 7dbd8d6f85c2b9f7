"""Fully connected networks of any depth, f(x) = W_D σ(W_{D−1} … σ(W_1 x)) (W, §7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, instance, one_of, positive_float, positive_int, real_array
from .._core.facts import params_card, params_in_words
from .._core.starts import positive_scale
from ..errors import InputError, RefusedError, ScaleError
from .model import Model, fit_dimension
from .two_layer import LEAKY_SLOPE

NEGATIVE_SLOPES = {"relu": 0.0, "leaky_relu": LEAKY_SLOPE, "linear": 1.0}
"""σ' on the negative side, by the name of the activation; it is 1 on the positive side."""
LAWS = ("uniform-he", "normal-he")
STREAM = 3
"""Start of the random stream, so that data drawn with the same key are independent of the
network."""


class DeepParams(NamedTuple):
    """Weights W_l (out, in) and biases b_l (out,) of the layers, the output's last; no biases: an
    empty tuple.

    In a symmetric network every array has a leading axis of two: the copy that is added and the one
    that is subtracted.
    """

    weights: tuple[Any, ...]
    biases: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return params_in_words(self)

    def _repr_html_(self) -> str:
        return params_card(self)


@dataclass(frozen=True)
class DeepNetwork(Model):
    """f(x) = W_D σ(W_{D−1} … σ(W_1 x + b_1) …) + b_D with one output; depth D counts the layers of
    weights (W, §7). `model(params, X)` predicts, (n,).

    Parameters
    ----------
    widths : tuple of int
        The dimension of the inputs, then the hidden layers: (2, 30, 30) is a network of depth 3.
    bias : bool
        Whether layers have biases b_l.
    activation : {'relu', 'leaky_relu', 'linear'}
        σ; 'leaky_relu' has slope 0.01. σ'(0) is the slope of the negative side.
    symmetric : bool
        f(w) = g(w⁺) − g(w⁻), two copies of the network, so that a start with w⁺ = w⁻ is identically
        zero and has twice the tangent kernel of one copy: the unbiased initialisation of W, §3.
    rounding : float
        Half-width of a parabola that replaces the kink of σ; the network is then smooth, and not
        homogeneous.

    Examples
    --------
    >>> model = bf.DeepNetwork((2, 30, 30), symmetric=True)
    >>> model.depth, model.size, model.homogeneity
    (3, 1980, 3)
    >>> model(model.init(1.0, key=0), np.ones((4, 2)))
    array([0., 0., 0., 0.])
    """

    widths: tuple[int, ...]
    bias: bool = False
    activation: str = "relu"
    symmetric: bool = False
    rounding: float = 0.0

    def __post_init__(self) -> None:
        try:
            widths = tuple(self.widths)
        except TypeError:
            raise InputError(
                "widths: expected positive integers, the inputs' dimension first, found "
                f"{self.widths!r}"
            ) from None
        if not widths:
            raise InputError("widths: expected at least the dimension of the inputs, found nothing")
        object.__setattr__(self, "widths", tuple(positive_int("widths", width) for width in widths))
        positive_int(
            "widths: the number of weights",
            sum(out * into for out, into in zip((*self.widths[1:], 1), self.widths, strict=True)),
        )
        one_of("activation", self.activation, tuple(NEGATIVE_SLOPES))
        instance("bias", self.bias, bool)
        instance("symmetric", self.symmetric, bool)
        if self.rounding != 0:
            positive_float("rounding", self.rounding)

    @property
    def depth(self) -> int:
        """D, the number of layers of weights."""
        return len(self.widths)

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """Shapes (out, in) of the weights."""
        return tuple(zip((*self.widths[1:], 1), self.widths, strict=True))

    @property
    def size(self) -> int:
        """Number of parameters."""
        one_copy = sum(out * (into + self.bias) for out, into in self.layers)
        return one_copy * (2 if self.symmetric else 1)

    @property
    def homogeneity(self) -> int:
        """D, without biases. A bias b_l is followed by D − l layers only, so that f(c·w) = c^D·f(w)
        fails with biases (D ≥ 2); there W_l → c·W_l, b_l → c^l·b_l multiplies f by c^D."""
        if self.bias and self.depth > 1:
            raise RefusedError(
                "DeepNetwork: with biases it is not homogeneous in its parameters: a bias of layer "
                "l counts c^(D−l+1) times where a weight counts c^D; a bias of the first layer "
                "alone, as data.with_bias gives, keeps homogeneity D"
            )
        if self.rounding:
            raise RefusedError("DeepNetwork: with rounded kinks it is not homogeneous")
        return self.depth

    @property
    def degree(self) -> int | None:
        """One, without biases and with sharp kinks."""
        return None if self.bias or self.rounding else 1

    @property
    def kinks(self) -> str | None:
        if self.activation == "linear" or self.depth == 1 or self.rounding:
            return None
        return (
            "a ReLU network's gradient jumps where activations change, which a smooth "
            "integrator steps over; use 'general'"
        )

    def __call__(self, params: DeepParams, X: Any) -> Any:
        hidden, _ = self._hidden(params, X)
        output = self._affine(params, self.depth - 1, hidden[-1])[..., 0, :]
        return output[..., 0, :] - output[..., 1, :] if self.symmetric else output

    def effective(self, params: DeepParams) -> Any:
        """All parameters as one vector (..., P): no smaller predictor is known whose flow is
        closed."""
        return self._flat(params)

    def gradient(self, params: DeepParams, X: Any, output_gradient: Any) -> DeepParams:
        inputs, deltas = self._backward(params, X, output_gradient)
        weights = tuple(
            delta @ layer_input.mT for delta, layer_input in zip(deltas, inputs, strict=True)
        )
        return DeepParams(weights, tuple(delta.sum(-1) for delta in deltas) if self.bias else ())

    def jacobian(self, params: DeepParams, X: Any) -> DeepParams:
        """∂f(w, x_i)/∂w, a leading axis n on every leaf; parameters without leading axes."""
        inputs, deltas = self._backward(params, X, 0 * X[:, 0] + 1)
        pairs = [
            (_samples_first(delta), _samples_first(layer_input))
            for delta, layer_input in zip(deltas, inputs, strict=True)
        ]
        weights = tuple(
            delta[..., :, None] * layer_input[..., None, :] for delta, layer_input in pairs
        )
        return DeepParams(weights, tuple(delta for delta, _ in pairs) if self.bias else ())

    def init(
        self,
        scale: float = 1.0,
        *,
        log_scale: float | None = None,
        key: int = 0,
        dim: int | None = None,
        law: str = "uniform-he",
    ) -> DeepParams:
        """α times He's initialisation: entries of W_l uniform on ±√(6/n_in) ('uniform-he') or N(0,
        2/n_in) ('normal-he').

        Biases start at zero, so that f(α·w₀) = α^D·f(w₀) whether there are biases or not; training
        moves them. Both copies of a
        symmetric network start alike: f = 0.
        """
        alpha = positive_scale(scale, log_scale)
        one_of("law", law, LAWS)
        fit_dimension("dim", dim, self.widths[0])
        rng = np.random.default_rng([positive_int("key", key, least=0), STREAM])

        copies = (2,) if self.symmetric else ()
        weights = []
        for out, into in self.layers:
            unit = (
                rng.uniform(-math.sqrt(3), math.sqrt(3), (out, into))
                if law == "uniform-he"
                else rng.standard_normal((out, into))
            )
            with np.errstate(over="ignore", under="ignore"):
                weights.append(
                    np.broadcast_to(
                        alpha * (math.sqrt(2 / into) * unit), (*copies, out, into)
                    ).copy()
                )
            if not np.all(np.isfinite(weights[-1])):
                raise ScaleError(f"scale: {alpha:g} makes weights that overflow")
        biases = tuple(np.zeros((*copies, out)) for out, _ in self.layers) if self.bias else ()
        return DeepParams(tuple(weights), biases)

    def checked(self, params: Any, d: int) -> DeepParams:
        """Parameters as finite arrays of the layers' shapes, or an error that names the one that is
        wrong."""
        fit_dimension("data", d, self.widths[0])
        try:
            weights, biases = (tuple(part) for part in params)
        except (TypeError, ValueError):
            raise InputError(
                f"start: expected DeepParams(weights, biases), found {type(params).__name__}"
            ) from None
        copies = (2,) if self.symmetric else ()
        shapes = [(*copies, *shape) for shape in self.layers]
        outs = [shape[:-1] for shape in shapes] if self.bias else []
        return DeepParams(_arrays("weights", weights, shapes), _arrays("biases", biases, outs))

    def _affine(self, params: DeepParams, layer: int, hidden: Any) -> Any:
        """W_l h + b_l, (..., out, n)."""
        linear = params.weights[layer] @ hidden
        return linear + params.biases[layer][..., None] if self.bias else linear

    def _hidden(self, params: DeepParams, X: Any) -> tuple[list[Any], list[Any]]:
        """What enters each layer, (..., in, n), and the gates σ' of the hidden ones, (..., out,
        n)."""
        slope = NEGATIVE_SLOPES[self.activation]
        hidden, gates = [X[..., None, :, :].mT if self.symmetric else X.mT], []
        for layer in range(self.depth - 1):
            before = self._affine(params, layer, hidden[-1])
            opened, active = self._opened(before)
            gates.append(slope + (1 - slope) * opened)
            hidden.append(slope * before + (1 - slope) * active)
        return hidden, gates

    def _opened(self, before: Any) -> tuple[Any, Any]:
        """The derivative of a ReLU and its value, the kink replaced by a parabola on ±rounding."""
        if self.rounding == 0:
            opened = before > 0
            return opened, opened * before
        opened = _namespace(before).clip((before + self.rounding) / (2 * self.rounding), 0.0, 1.0)
        return opened, opened * before - self.rounding * opened * (opened - 1)

    def _backward(
        self, params: DeepParams, X: Any, output_gradient: Any
    ) -> tuple[list[Any], list[Any]]:
        """What enters each layer, and the derivative of the function by what leaves it before σ,
        (..., out, n)."""
        inputs, gates = self._hidden(params, X)
        upstream = output_gradient[..., None, :]
        if self.symmetric:
            upstream = _namespace(upstream).stack([upstream, -upstream], axis=-3)
        deltas = [upstream]
        for layer in range(self.depth - 1, 0, -1):
            deltas.append(gates[layer - 1] * (params.weights[layer].mT @ deltas[-1]))
        return inputs, deltas[::-1]

    def _flat(self, params: DeepParams) -> Any:
        xp = _namespace(params.weights[0])
        lead = params.weights[0].ndim - (3 if self.symmetric else 2)
        leaves = [*params.weights, *params.biases]
        return xp.concat([xp.reshape(leaf, (*leaf.shape[:lead], -1)) for leaf in leaves], axis=-1)


def _samples_first(array: Any) -> Any:
    """(..., k, n) → (n, ..., k)."""
    return _namespace(array).moveaxis(array, -1, 0)


def _namespace(array: Any) -> Any:
    """NumPy or JAX, whichever the array is of."""
    return array.__array_namespace__()


def _arrays(name: str, values: tuple[Any, ...], shapes: list[tuple[int, ...]]) -> tuple[Array, ...]:
    """Finite arrays of these shapes."""
    if len(values) != len(shapes):
        raise InputError(
            f"start.{name}: expected {len(shapes)} arrays, one a layer, found {len(values)}"
        )
    arrays = tuple(real_array(f"start.{name}", value) for value in values)
    for layer, (array, shape) in enumerate(zip(arrays, shapes, strict=True), 1):
        if array.shape != shape:
            raise InputError(
                f"start.{name}: layer {layer} has shape {array.shape}, expected {shape}"
            )
    return arrays
