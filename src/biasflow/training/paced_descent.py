"""Descent that follows the flow of the square loss from starts of any scale, many at once.

The step follows the largest eigenvalue of the tangent kernel, and no step moves the weights by more
than 3% of their norm; so neither a large start, whose kernel bears small steps alone, nor a small
one, which lies near a saddle, asks for a step of its own. What is learned is f(w) − f(w₀).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array

MOMENTUM = 0.9
LARGEST_MOVE = 0.03
"""Share of their norm by which the weights may move in one step, momentum included: without it a
step that the kernel at a small start would bear leads far beyond what is learned."""
POWER_STEPS, POWER_EVERY = 2, 20
"""Power iterations for the kernel's largest eigenvalue, from the vector found before; steps
between."""
FIRST_POWER_STEPS, HEADROOM = 20, 1.1
"""Iterations at the start, and what they may be short of."""


class Lane(NamedTuple):
    """One training: offset is f(w₀) on the training inputs, top and vector the largest eigenvalue
    of the kernel over n and its vector. Many are one lane with an axis in front of everything."""

    weights: Any
    start: Any
    offset: Any
    speed: Any
    vector: Any
    top: Any
    ended: Any


@dataclass(frozen=True, eq=False)
class PacedDescent:
    """opened(weights) -> lanes, from weights with an axis of trainings in front; advance(lanes,
    begin, end) goes from one number of steps to another, or until all have ended; loss(lane): of
    one training, as a share of that of the start."""

    opened: Callable[..., Lane]
    advance: Callable[..., Lane]
    loss: Callable[[Lane], Any]


def paced_descent(
    network: Callable[[Any, Any], Any], inputs: Array, labels: Array, target: float
) -> PacedDescent:
    """Programs for network(weights, X) -> (n, m) and labels (n, m). A training ends at `target`
    times its first loss."""
    import jax
    import jax.numpy as jnp

    x, y = jnp.asarray(inputs), jnp.asarray(labels)
    first = 0.5 * float(np.mean(np.sum(np.asarray(labels) ** 2, axis=1)))

    def power(weights: Any, vector: Any, steps: int) -> tuple[Any, Any]:
        _, pull = jax.vjp(lambda w: network(w, x), weights)

        def once(_: Any, carried: Any) -> Any:
            vector, _ = carried
            pushed = jax.jvp(lambda w: network(w, x), (weights,), pull(vector))[1] / len(x)
            size = jnp.linalg.norm(pushed)
            return pushed / jnp.maximum(size, 1e-30), size

        return jax.lax.fori_loop(0, steps, once, (vector, jnp.zeros((), x.dtype)))

    def loss(weights: Any, offset: Any) -> Any:
        return 0.5 * jnp.mean(jnp.sum((network(weights, x) - offset - y) ** 2, axis=1))

    def step(k: Any, lane: Lane) -> Lane:
        value, slope = jax.value_and_grad(loss)(lane.weights, lane.offset)
        bound = LARGEST_MOVE * tree_length(lane.weights) / (tree_length(slope) + 1e-30)
        rate = jnp.minimum(1 / lane.top, (1 - MOMENTUM) * bound)
        speed = jax.tree.map(lambda v, g: MOMENTUM * v - rate * g, lane.speed, slope)
        ended = lane.ended | (value <= target * first) | ~jnp.isfinite(value)
        moved = jax.tree.map(lambda w, v: jnp.where(ended, w, w + v), lane.weights, speed)
        vector, top = jax.lax.cond(
            k % POWER_EVERY == 0,
            lambda: power(moved, lane.vector, POWER_STEPS),
            lambda: (lane.vector, lane.top),
        )
        return Lane(moved, lane.start, lane.offset, speed, vector, top, ended)

    def opened(weights: Any) -> Lane:
        vector = jnp.ones_like(y) + y
        vector, top = power(weights, vector / jnp.linalg.norm(vector), FIRST_POWER_STEPS)
        still = jax.tree.map(jnp.zeros_like, weights)
        offset = network(weights, x)
        return Lane(weights, weights, offset, still, vector, HEADROOM * top, jnp.asarray(False))

    def advance(lanes: Lane, begin: Any, end: Any) -> Lane:
        found: Lane = jax.lax.while_loop(
            lambda at: (at[0] < end) & ~jnp.all(at[1].ended),
            lambda at: (at[0] + 1, jax.vmap(lambda lane: step(at[0], lane))(at[1])),
            (begin, lanes),
        )[1]
        return found

    return PacedDescent(
        jax.jit(jax.vmap(opened)),
        jax.jit(advance),
        lambda lane: loss(lane.weights, lane.offset) / first,
    )


def tree_length(tree: Sequence[Any]) -> Any:
    """The Euclidean norm of all arrays together."""
    import jax
    import jax.numpy as jnp

    return jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)))
