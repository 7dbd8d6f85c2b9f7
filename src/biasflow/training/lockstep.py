"""The compiled step of a batch of runs: each run is judged, and moves while it is neither converged
nor diverged."""

from __future__ import annotations

import functools
from typing import Any

from ..models import Model
from .descent import stepped, unbiased

RUNNING, CONVERGED, DIVERGED, STATIONARY, FLOOR = range(5)


@functools.lru_cache(maxsize=32)
def compiled_steps(model: Model, loss: Any, batch: int | None, shared: bool) -> tuple[Any, Any]:
    """The step and the loss of all runs, compiled for each size of the batch."""
    import jax

    jnp: Any = jax.numpy
    tree: Any = jax.tree
    random: Any = jax.random
    axis = None if shared else 0

    def value(params: Any, X: Any, y: Any) -> Any:
        return loss(model(params, X), y)

    def slope(params: Any, X: Any, y: Any) -> Any:
        return model.gradient(params, X, loss.gradient(model(params, X), y))

    def sampled_slope(params: Any, X: Any, y: Any, key: Any) -> Any:
        rows = random.choice(key, y.shape[0], (batch,), replace=False)
        scale = unbiased(loss, y.shape[0], rows.shape[0])
        return model.gradient(
            params, X[rows], scale * loss.gradient(model(params, X[rows]), y[rows])
        )

    def judged(params: Any, X: Any, y: Any, limit: Any, threshold: Any) -> Any:
        now = value(params, X, y)
        return now, jnp.where(
            now <= threshold, CONVERGED, jnp.where(now <= limit, RUNNING, DIVERGED)
        )

    def final(params: Any, X: Any, y: Any, gamma: Any, limit: Any, threshold: Any) -> Any:
        """The loss and the code, also of runs that no further step would move."""
        now, code = judged(params, X, y, limit, threshold)
        gradient = slope(params, X, y)
        flat = jnp.array([jnp.all(leaf == 0) for leaf in tree.leaves(gradient)]).all()
        same = tree.map(
            lambda new, old: jnp.all(new == old), stepped(params, gradient, gamma), params
        )
        stuck = jnp.array(tree.leaves(same)).all()
        return now, jnp.where(
            code == RUNNING, jnp.where(flat, STATIONARY, jnp.where(stuck, FLOOR, RUNNING)), code
        )

    def moved(params: Any, X: Any, y: Any, gamma: Any, seed: Any, used: Any, moves: Any) -> Any:
        gradient = (
            slope(params, X, y)
            if batch is None
            else sampled_slope(params, X, y, random.fold_in(seed, used))
        )
        after = stepped(params, gradient, gamma)
        return tree.map(lambda new, old: jnp.where(moves, new, old), after, params), used + moves

    def one_round(
        params: Any,
        X: Any,
        y: Any,
        gamma: Any,
        limit: Any,
        seed: Any,
        used: Any,
        threshold: Any,
        steps: Any,
    ) -> Any:
        _, code = judged(params, X, y, limit, threshold)
        if batch is None:
            return moved(params, X, y, gamma, seed, used, (code == RUNNING) & (used < steps))
        key = random.key(seed)

        def step(_: int, state: Any) -> Any:
            return moved(
                state[0], X, y, gamma, key, state[1], (code == RUNNING) & (state[1] < steps)
            )

        return jax.lax.fori_loop(0, -(-y.shape[0] // batch), step, (params, used))

    each_round = jax.vmap(one_round, in_axes=(0, axis, axis, 0, 0, 0, 0, None, None))
    each_judged = jax.vmap(final, in_axes=(0, axis, axis, 0, 0, None))

    def advance(
        params: Any,
        X: Any,
        y: Any,
        gamma: Any,
        limit: Any,
        seed: Any,
        used: Any,
        threshold: Any,
        steps: Any,
        rounds: Any,
    ) -> Any:
        def body(_: int, state: Any) -> Any:
            return each_round(state[0], X, y, gamma, limit, seed, state[1], threshold, steps)

        params, used = jax.lax.fori_loop(0, rounds, body, (params, used))
        now, code = each_judged(params, X, y, gamma, limit, threshold)
        return params, code, used, now

    return jax.jit(advance), jax.jit(jax.vmap(value, in_axes=(0, axis, axis)))
