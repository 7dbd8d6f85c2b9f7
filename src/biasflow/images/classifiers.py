"""Networks for images, in JAX and float32: a wide hidden layer, a VGG11-like stack, and a linear
readout (W, App. E).

All are free of biases, so that they are homogeneous: scaling the start by α scales the outputs by
α^D. They are written for one batch of inputs (n, ...) and give logits (n, classes). Below the
output layer they compute in the type of their inputs; weights and logits are float32.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import one_of, positive_float, positive_int

LARGEST_PIXEL = 255.0
PIXELS = ("unit", "standardised")


class ClassifierParams(NamedTuple):
    """Weights below the output layer (a tuple of arrays, bottom first), and the output layer
    (classes, features)."""

    hidden: tuple[Any, ...]
    output: Any


@dataclass(frozen=True)
class WideNetwork:
    """f(x) = A·relu(Wx), W (width, inputs), A (classes, width); started at α·N(0, 2/n_in) (W, fig.
    4e).

    pixels: 'unit' for numbers in [0, 1], 'standardised' for mean zero and variance one over the
    training images; W does not say.
    """

    width: int
    inputs: int = 784
    classes: int = 10
    pixels: str = "unit"

    def __post_init__(self) -> None:
        one_of("pixels", self.pixels, PIXELS)
        for name in ("width", "inputs", "classes"):
            positive_int(name, getattr(self, name))

    @property
    def homogeneity(self) -> int:
        return 2

    def prepared(self, train: Any, test: Any) -> tuple[Any, Any]:
        """Pixels (n, h, w, c) as rows of numbers."""
        middle, spread = (
            (0.0, LARGEST_PIXEL) if self.pixels == "unit" else (np.mean(train), np.std(train))
        )
        rows = [
            (np.reshape(x, (len(x), -1)).astype(np.float32) - np.float32(middle))
            / np.float32(spread)
            for x in (train, test)
        ]
        return rows[0], rows[1]

    def init(self, scale: float, *, key: int = 0) -> ClassifierParams:
        """α times the normal start of He et al."""
        import jax

        below, above = jax.random.split(_key(key))
        W = _normal(below, (self.width, self.inputs), positive_float("scale", scale))
        return ClassifierParams((W,), _normal(above, (self.classes, self.width), scale))

    def features(self, params: ClassifierParams, x: Any) -> Any:
        """What the output layer sees, (n, width)."""
        import jax

        return jax.nn.relu(x @ params.hidden[0].astype(x.dtype).T)

    def __call__(self, params: ClassifierParams, x: Any) -> Any:
        """Units first, (width, n): the gradient of W is then rows times columns in memory, which
        tensor cores want of float32."""
        import jax

        hidden = jax.nn.relu(params.hidden[0].astype(x.dtype) @ x.T)
        return (params.output @ hidden.astype(params.output.dtype)).T


@dataclass(frozen=True)
class VggNetwork:
    """Blocks of 3×3 convolutions, each block followed by 2×2 max pooling, and one fully connected
    layer (W, figs. 4f and 6).

    blocks: channels. The default is W's 64-M-128-M-256-256-M-512-512-M-FC; started at
    α·U(−√(6/n_in), √(6/n_in)).
    side, colours: of the images.
    """

    blocks: tuple[tuple[int, ...], ...] = ((64,), (128,), (256, 256), (512, 512))
    side: int = 32
    colours: int = 3
    classes: int = 10

    @property
    def homogeneity(self) -> int:
        return sum(map(len, self.blocks)) + 1

    def prepared(self, train: Any, test: Any) -> tuple[Any, Any]:
        """Pixels (n, h, w, c), each colour with mean zero over the training images, and all of them
        with variance one."""
        middle = np.mean(train, axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
        spread = np.float32(np.std(train, dtype=np.float64))
        return (train.astype(np.float32) - middle) / spread, (
            test.astype(np.float32) - middle
        ) / spread

    def init(self, scale: float, *, key: int = 0) -> ClassifierParams:
        """α times the uniform start of He et al."""
        import jax

        channels = [self.colours, *(width for block in self.blocks for width in block)]
        keys = jax.random.split(_key(key), len(channels))
        shapes = [(3, 3, below, above) for below, above in itertools.pairwise(channels)]
        hidden = tuple(
            _uniform(k, shape, 9 * shape[2], scale) for k, shape in zip(keys, shapes, strict=False)
        )
        inputs = channels[-1] * (self.side // 2 ** len(self.blocks)) ** 2
        return ClassifierParams(hidden, _uniform(keys[-1], (self.classes, inputs), inputs, scale))

    def features(self, params: ClassifierParams, x: Any) -> Any:
        """What the output layer sees, (n, pixels·channels of the last block)."""
        import jax

        pooled, layers = _pooled_relu(), iter(params.hidden)
        for block in self.blocks:
            for left in reversed(range(len(block))):
                x = jax.lax.conv_general_dilated(
                    x,
                    next(layers).astype(x.dtype),
                    (1, 1),
                    "SAME",
                    dimension_numbers=("NHWC", "HWIO", "NHWC"),
                )
                x = jax.nn.relu(x) if left else pooled(x)
        return x.reshape(x.shape[0], -1)

    def __call__(self, params: ClassifierParams, x: Any) -> Any:
        return self.features(params, x).astype(params.output.dtype) @ params.output.T


@functools.cache
def _pooled_relu() -> Any:
    """The largest of 2×2 pixels, or zero: the same as the largest of their positive parts, which
    would be four times as many. A slope goes to the first of equals."""
    import jax
    import jax.numpy as jnp

    def corners(x: Any) -> list[Any]:
        n, h, w, c = x.shape
        x = x.reshape(n, h // 2, 2, w // 2, 2, c)
        return [x[:, :, i, :, j] for i in (0, 1) for j in (0, 1)]

    @jax.custom_vjp
    def pooled(x: Any) -> Any:
        return jax.nn.relu(functools.reduce(jnp.maximum, corners(x)))

    def backward(x: Any, slope: Any) -> tuple[Any]:
        four = corners(x)
        largest = functools.reduce(jnp.maximum, four)
        free, parts = largest > 0, []
        for part in four:
            here = free & (part == largest)
            free = free & ~here
            parts.append(jnp.where(here, slope, 0).astype(x.dtype))
        rows = [jnp.stack(parts[k : k + 2], axis=3) for k in (0, 2)]
        return (jnp.stack(rows, axis=2).reshape(x.shape),)

    pooled.defvjp(lambda x: (pooled(x), x), backward)
    return pooled


@dataclass(frozen=True)
class Readout:
    """The output layer alone, over features that do not move: f = A·features."""

    def __call__(self, params: ClassifierParams, x: Any) -> Any:
        return x @ params.output.T


def _key(key: int) -> Any:
    import jax

    return jax.random.key(positive_int("key", key, least=0))


def _normal(key: Any, shape: tuple[int, ...], scale: float) -> Any:
    import jax

    return jax.random.normal(key, shape, np.float32) * np.float32(scale * np.sqrt(2 / shape[-1]))


def _uniform(key: Any, shape: tuple[int, ...], inputs: int, scale: float) -> Any:
    import jax

    end = np.float32(positive_float("scale", scale) * np.sqrt(6 / inputs))
    return jax.random.uniform(key, shape, np.float32, -end, end)
