"""The compiled step of a batch of runs: each run is judged, and moves while it is neither converged
nor diverged."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..models import Model
from .descent import stepped, unbiased

RUNNING, CONVERGED, DIVERGED, STATIONARY, FLOOR = range(5)


class Lane(NamedTuple):
    """One run's own numbers, or those of all runs with a leading axis: its step rule, the losses at
    which it has converged or diverged, its key, and the steps it took."""

    size: Any
    power: Any
    offset: Any
    goal: Any
    limit: Any
    key: Any
    used: Any

    @property
    def step(self) -> Any:
        """γ of the next step."""
        return self.size * (self.used + self.offset) ** -self.power


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

    def judged(params: Any, X: Any, y: Any, lane: Lane) -> Any:
        now = value(params, X, y)
        going = jnp.where(now <= lane.limit, RUNNING, DIVERGED)
        return now, jnp.where(now <= lane.goal, CONVERGED, going)

    def final(params: Any, X: Any, y: Any, lane: Lane) -> Any:
        """The loss and the code, also of runs that no further step would move."""
        now, code = judged(params, X, y, lane)
        gradient = slope(params, X, y)
        flat = jnp.array([jnp.all(leaf == 0) for leaf in tree.leaves(gradient)]).all()
        same = tree.map(
            lambda new, old: jnp.all(new == old), stepped(params, gradient, lane.step), params
        )
        stuck = jnp.array(tree.leaves(same)).all()
        return now, jnp.where(
            code == RUNNING, jnp.where(flat, STATIONARY, jnp.where(stuck, FLOOR, RUNNING)), code
        )

    def moved(params: Any, X: Any, y: Any, lane: Lane, key: Any, moves: Any) -> Any:
        gradient = (
            slope(params, X, y)
            if batch is None
            else sampled_slope(params, X, y, random.fold_in(key, lane.used))
        )
        after = stepped(params, gradient, lane.step)
        kept = tree.map(lambda new, old: jnp.where(moves, new, old), after, params)
        return kept, lane._replace(used=lane.used + moves)

    def one_round(params: Any, X: Any, y: Any, lane: Lane, steps: Any) -> Any:
        _, code = judged(params, X, y, lane)
        key = None if batch is None else random.key(lane.key)

        def step(_: int, state: Any) -> Any:
            return moved(state[0], X, y, state[1], key, (code == RUNNING) & (state[1].used < steps))

        if batch is None:
            return step(0, (params, lane))
        return jax.lax.fori_loop(0, -(-y.shape[0] // batch), step, (params, lane))

    each_round = jax.vmap(one_round, in_axes=(0, axis, axis, 0, None))
    each_judged = jax.vmap(final, in_axes=(0, axis, axis, 0))

    def advance(params: Any, X: Any, y: Any, lanes: Lane, steps: Any, rounds: Any) -> Any:
        def body(_: int, state: Any) -> Any:
            return each_round(state[0], X, y, state[1], steps)

        params, lanes = jax.lax.fori_loop(0, rounds, body, (params, lanes))
        return params, lanes, *each_judged(params, X, y, lanes)

    return jax.jit(advance), jax.jit(jax.vmap(value, in_axes=(0, axis, axis)))
