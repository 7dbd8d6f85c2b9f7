"""How far the tangent kernel of a classifier moved in training (W, §7)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Movement:
    """gradient: W's gradient distance, 1 − cos between ∇_w f_c(w₀, x) and ∇_w f_c(w, x), averaged
    over inputs x and outputs c.

    kernel: 1 − ⟨K₀, K⟩/(‖K₀‖‖K‖) for K(x, x') = Σ_c⟨∇f_c(x), ∇f_c(x')⟩, Frobenius. Both are free of
    scale: a network in the kernel regime has zero.
    """

    gradient: float
    kernel: float


def tangent_movement(network: Any, start: Any, end: Any, probe: Any) -> Movement:
    """Compare the tangent features of two settings of the weights on the inputs `probe` (n, ...).

    One output at a time: the largest array holds n gradients, never the whole Jacobian.
    """
    import jax.numpy as jnp

    gradient, kernel = _program(network)(start, end, jnp.asarray(probe, jnp.float32))
    return Movement(float(gradient), float(kernel))


@functools.lru_cache(maxsize=8)
def _program(network: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def gradients(params: Any, probe: Any, c: Any) -> tuple[list[Any], Any]:
        """Of output c, divided by their largest entry, and that entry: fourth powers of them
        overflow float32 at large scales."""
        slopes = jax.vmap(jax.grad(lambda params, x: network(params, x[None])[0, c]), (None, 0))(
            params, probe
        )
        leaves = [leaf.reshape(len(probe), -1) for leaf in jax.tree.leaves(slopes)]
        size = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in leaves]))
        return [leaf / jnp.where(size == 0, 1, size) for leaf in leaves], size

    def gram(left: list[Any], right: list[Any]) -> Any:
        return sum(a @ b.T for a, b in zip(left, right, strict=True))

    def one_output(params: tuple[Any, Any], probe: Any, c: Any) -> tuple[Any, Any, Any]:
        (before, size0), (after, size1) = (gradients(w, probe, c) for w in params)
        K0, K1 = gram(before, before), gram(after, after)
        cross = sum(jnp.sum(a * b, axis=1) for a, b in zip(before, after, strict=True))
        lengths = jnp.sqrt(jnp.diag(K0)) * jnp.sqrt(jnp.diag(K1))
        died = lengths == 0
        return (K0, size0), (K1, size1), 1 - jnp.where(died, 0, cross / jnp.where(died, 1, lengths))

    def total(K: Any, sizes: Any) -> Any:
        """Σ_c K_c, of Frobenius norm one."""
        K = jnp.sum((sizes / jnp.max(sizes))[:, None, None] ** 2 * K, axis=0)
        return K / jnp.linalg.norm(K)

    def movement(start: Any, end: Any, probe: Any) -> tuple[Any, Any]:
        with jax.default_matmul_precision("float32"):
            outputs = jnp.arange(start.output.shape[0])
            before, after, distances = jax.lax.map(
                lambda c: one_output((start, end), probe, c), outputs
            )
        return jnp.mean(distances), 1 - jnp.sum(total(*before) * total(*after))

    return jax.jit(movement)
