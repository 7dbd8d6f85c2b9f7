"""Exact kernel classifiers of wide networks on data sets too large for one matrix factorisation
call.

The tangent kernel of a bias-free two-layer ReLU network of width m with He's start is, in
expectation and for every output,

    K(x, x') = (m/d)·‖x‖‖x'‖(sin θ + (π−θ)cos θ)/π + ⟨x, x'⟩(π−θ)/π

(first term: output layer, a random-feature kernel; second: hidden layer; outputs do not interact;
Cho & Saul 2009, Jacot et al. 2018). Gradient flow of the square loss on one-hot labels from an
unbiased start goes to its interpolator of least norm, which is computed here by a Cholesky
factorisation in blocks, float64, on whatever device JAX has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, one_of, positive_int
from .._numerics.double_precision import jax_in_double
from ..errors import ConvergenceError, InputError

LAYERS = ("all", "output")
LARGEST_BLOCK = 15_000
"""Rows of a block: its square stays within what factorisation libraries index by 32 bits."""
CLASSES = 10
INTERPOLATES_BELOW = 1e-3
"""Residual above which the coefficients do not interpolate."""


@dataclass(frozen=True)
class WideKernel:
    """The expected tangent kernel of a network of this width; layers 'output': of its output layer
    alone."""

    width: int
    layers: str = "all"

    def __post_init__(self) -> None:
        positive_int("width", self.width)
        one_of("layers", self.layers, LAYERS)

    def __call__(self, x: Any, other: Any) -> Any:
        """(n, d), (n', d) -> (n, n'), in the array library of the inputs."""
        import jax.numpy as jnp

        lengths, others = jnp.linalg.norm(x, axis=1)[:, None], jnp.linalg.norm(other, axis=1)[None]
        products = x @ other.T
        norms = lengths * others
        theta = jnp.arccos(jnp.clip(products / jnp.where(norms == 0, 1, norms), -1, 1))
        output = (
            self.width
            / x.shape[1]
            * norms
            * (jnp.sin(theta) + (np.pi - theta) * jnp.cos(theta))
            / np.pi
        )
        return output if self.layers == "output" else output + products * (np.pi - theta) / np.pi


@dataclass(frozen=True)
class KernelErrors:
    """Shares of images misclassified, and ‖Kc − y‖_∞ of the coefficients c, recomputed from the
    kernel."""

    train_error: float
    test_error: float
    residual: float


def kernel_classifier(
    kernel: Callable[[Any, Any], Any],
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    block: int = LARGEST_BLOCK,
) -> KernelErrors:
    """The least-norm interpolator of one-hot labels minus their mean 1/10, applied to the test
    inputs.

    train, test: inputs (n, d) and classes (n,), 0 to 9. Memory: n²/2 float64. Raises
    ConvergenceError where K is not positive definite, or so nearly singular that the coefficients
    do not interpolate.
    """
    import jax
    import jax.numpy as jnp

    for part, (x, y) in (("train", train), ("test", test)):
        if len(x) != len(y) or len(x) == 0 or np.min(y) < 0 or np.max(y) >= CLASSES:
            raise InputError(
                f"{part}: expected a class from 0 to {CLASSES - 1} for each of {len(x)} inputs, "
                f"found {np.shape(y)}"
            )
    block = positive_int("block", block)
    with jax_in_double(), jax.default_matmul_precision("float32"):
        parts = [
            jnp.asarray(train[0][i : i + block], jnp.float64)
            for i in range(0, len(train[0]), block)
        ]
        target = np.eye(CLASSES)[np.asarray(train[1])] - 1 / CLASSES
        wanted = [jnp.asarray(target[i : i + block]) for i in range(0, len(target), block)]
        compiled = jax.jit(kernel)
        coefficients = _solved(_factor(compiled, parts), wanted)
        fitted = [
            sum(compiled(x, z) @ c for z, c in zip(parts, coefficients, strict=True)) for x in parts
        ]
        queries = [
            jnp.asarray(test[0][i : i + block], jnp.float64) for i in range(0, len(test[0]), block)
        ]
        guessed = [
            sum(compiled(x, z) @ c for z, c in zip(parts, coefficients, strict=True))
            for x in queries
        ]
    if fitted[0].dtype != jnp.float64:
        raise ConvergenceError(f"kernel_classifier: expected float64, found {fitted[0].dtype}")
    fits, guesses = (
        np.concatenate([np.asarray(f) for f in fitted]),
        np.concatenate([np.asarray(g) for g in guessed]),
    )
    if not np.all(np.isfinite(fits)):
        raise ConvergenceError(
            "kernel_classifier: the kernel matrix is not positive definite in float64; are inputs "
            "repeated?"
        )
    residual = float(np.max(np.abs(fits - target)))
    if residual > INTERPOLATES_BELOW:
        raise ConvergenceError(
            f"kernel_classifier: ‖Kc − y‖_∞ = {residual:.1e}: no interpolation in float64; are "
            "inputs repeated?"
        )
    return KernelErrors(_share_wrong(fits, train[1]), _share_wrong(guesses, test[1]), residual)


def _share_wrong(scores: Array, classes: Any) -> float:
    return float(np.mean(np.argmax(scores, axis=1) != np.asarray(classes)))


def _factor(kernel: Any, parts: list[Any]) -> list[list[Any]]:
    """The blocks on and below the diagonal of L with LLᵀ = K."""
    import jax
    import jax.numpy as jnp

    def reduced(i: int, j: int) -> Any:
        return kernel(parts[i], parts[j]) - sum(L[i][k] @ L[j][k].T for k in range(j))

    L: list[list[Any]] = [[] for _ in parts]
    for j in range(len(parts)):
        corner = jnp.linalg.cholesky(reduced(j, j))
        L[j].append(corner)
        for i in range(j + 1, len(parts)):
            L[i].append(jax.scipy.linalg.solve_triangular(corner, reduced(i, j).T, lower=True).T)
    return L


def _solved(L: list[list[Any]], wanted: list[Any]) -> list[Any]:
    """Forward and backward substitution by blocks."""
    from jax.scipy.linalg import solve_triangular

    count = len(wanted)
    forward: list[Any] = []
    for i in range(count):
        forward.append(
            solve_triangular(
                L[i][i], wanted[i] - sum(L[i][k] @ forward[k] for k in range(i)), lower=True
            )
        )
    solution: list[Any] = [None] * count
    for i in reversed(range(count)):
        rest = forward[i] - sum(L[k][i].T @ solution[k] for k in range(i + 1, count))
        solution[i] = solve_triangular(L[i][i], rest, lower=True, trans=1)
    return solution
