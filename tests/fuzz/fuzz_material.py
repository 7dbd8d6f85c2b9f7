"""What base calls are made of: small data, networks and starts, and the kinds of arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import biasflow as bf

MATRIX, VECTOR, LABELS = "matrix", "vector", "labels"
SCALE, NUMBER, COUNT, WORK, CHOICE, TIMES, TOLERANCE = (
    "scale",
    "number",
    "count",
    "work",
    "choice",
    "times",
    "tolerance",
)
OBJECT, PARAMS, INDICES, SHAPE, LIST = "object", "params", "indices", "shape", "list"
ARRAYS = (MATRIX, VECTOR, LABELS)


@dataclass(frozen=True)
class Entry:
    """A call of something public.

    covers: the public names that it stands for; kinds: of the arguments that are mutated; degree:
    by which power of an argument's scale the result's `objective` (or the result itself, a number)
    grows, where that is a law; finite: whether every number in the result is finite whenever there
    is a result; residual: of a result, from the arguments, relative to the labels; descends: a
    gradient flow, whose loss never grows; unit: the powers of the sizes of arguments up to whose
    rounding a margin is known.
    """

    covers: tuple[str, ...]
    call: Callable[..., Any]
    arguments: Mapping[str, Any]
    kinds: Mapping[str, str]
    degree: Mapping[str, float] = field(default_factory=dict)
    finite: bool = True
    residual: Callable[[Any, Mapping[str, Any]], float] | None = None
    descends: bool = False
    unit: Mapping[str, float] = field(default_factory=dict)


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).standard_normal(shape), 2)


def shallow(weights: Any, X: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(X @ weights["W"]) @ weights["a"]


def misfit(result: Any, given: Mapping[str, Any]) -> float:
    """‖Xβ − y‖ over ‖y‖, scaled so that nothing overflows."""
    X, y = np.asarray(given["X"], dtype=np.longdouble), np.asarray(given["y"], dtype=np.longdouble)
    left = X @ np.asarray(result.value, dtype=np.longdouble) - y
    size = np.max(np.abs(y))
    return float(np.max(np.abs(left)) / size) if size > 0 else float(np.max(np.abs(left)) > 0)


def split_misfit(result: Any, given: Mapping[str, Any]) -> float:
    """The same for a two-layer ReLU network."""
    X, y = np.asarray(given["X"], dtype=np.longdouble), np.asarray(given["y"], dtype=np.longdouble)
    a, W = (np.asarray(leaf, dtype=np.longdouble) for leaf in result.value)
    size = np.max(np.abs(y))
    return float(np.max(np.abs(np.maximum(X @ W.T, 0) @ a - y)) / size) if size > 0 else 0.0


X, y = draw(4, 6), draw(4, seed=1)
planar, classes = draw(6, 3, seed=2), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
planar[:, 0] = classes * (np.abs(planar[:, 0]) + 0.2)
small, target = draw(3, 3, seed=3), draw(3, seed=4)
signed_rows = planar * classes[:, None]
half, mean = bf.SquareLoss("half"), bf.SquareLoss("half-mean")
diagonal, deeper, product = bf.DiagonalNetwork(2), bf.DiagonalNetwork(3), bf.ProductNetwork()
two = bf.TwoLayer(5, 3)
start = two.init(0.5, key=1)
tiny = bf.models.TwoLayerParams(1e-3 * start.a, 1e-3 * start.W)
signed = bf.SignedTwoLayer(6, 3)
deep = bf.DeepNetwork((3, 4, 1))
fixed, fixed_start = bf.models.random_network(8, 3, 0.5, key=1)
factors = bf.MatrixFactorisation((3, 3), 6)
rows, columns, values = (
    np.array([0, 0, 1, 2]),
    np.array([0, 1, 1, 2]),
    np.array([1.0, 2.0, 0.5, -1.0]),
)
weights = {"W": draw(3, 4, seed=5), "a": draw(4, seed=6)}
moved = {"W": weights["W"] + 0.1, "a": weights["a"] - 0.1}
X_y, X_labels = {"X": MATRIX, "y": VECTOR}, {"X": MATRIX, "y": LABELS}
