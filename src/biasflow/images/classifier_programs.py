"""The compiled programs of a batch of classifiers: epochs of stochastic gradient descent, and what
is measured. Where a change here changes numbers, raise `classifier_training.NUMBERS`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import Array, positive_float, positive_int
from ..losses import CrossEntropyLoss

if TYPE_CHECKING:
    from .classifier_training import EpochSchedule

EVALUATED_TOGETHER = 1000
"""Images that are evaluated together."""


@dataclass(frozen=True)
class Run:
    """One training: start scale α, step size, key of start and batches; unbiased: learn f(w) −
    f(w₀), which starts at zero."""

    scale: float
    step: float
    key: int = 0
    unbiased: bool = False

    def __post_init__(self) -> None:
        positive_float("scale", self.scale)
        positive_float("step", self.step)
        positive_int("key", self.key, least=0)


@dataclass(frozen=True, eq=False)
class Arrays:
    """Training and test inputs as the network takes them, with their classes."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any


class Lanes:
    """The compiled programs of a batch of runs, over one set of arrays. subtracting: whether some
    run is unbiased. one_order: runs of one key, side by side from start to end, see every batch
    together: it is gathered once."""

    def __init__(
        self,
        network: Any,
        arrays: Arrays,
        schedule: EpochSchedule,
        subtracting: bool = False,
        one_order: bool = False,
    ) -> None:
        import jax.numpy as jnp

        self.train = (
            jnp.asarray(arrays.train_x, jnp.float32),
            jnp.asarray(arrays.train_y, jnp.int32),
        )
        narrow = jnp.bfloat16 if schedule.precision == "bfloat16" else jnp.float32
        self._inputs = self.train[0].astype(narrow)
        self.test = jnp.asarray(arrays.test_x, jnp.float32), jnp.asarray(arrays.test_y, jnp.int32)
        self.programs = _programs(
            network,
            schedule.batch,
            schedule.every,
            schedule.precision,
            schedule.summed_apart,
            schedule.momentum,
        )
        self._subtracting, self._one_order = subtracting, one_order

    def advanced(self, params: Any, runs: Sequence[Run], shifts: Any, epochs: Sequence[int]) -> Any:
        """The weights `every` epochs on, where each run has then been trained so many epochs."""
        import jax
        import jax.numpy as jnp

        steps = jnp.asarray([run.step for run in runs], jnp.float32)
        keys = jnp.stack(
            [
                jax.random.fold_in(jax.random.fold_in(jax.random.key(run.key), 1), epoch)
                for run, epoch in zip(runs, epochs, strict=True)
            ]
        )
        if self._one_order:
            return self.programs.advance_in_step(
                params, steps, keys[0], shifts[2], self._inputs, self.train[1]
            )
        return self.programs.advance(params, steps, keys, shifts[2], self._inputs, self.train[1])

    def measured(self, params: Any, shifts: Any) -> Array:
        """Training loss, training error and test error of each lane."""
        train = self.programs.measure(params, shifts[0], *self.train)
        test = self.programs.measure(params, shifts[1], *self.test)
        return np.stack(
            [*(np.asarray(row, np.float64) for row in train), np.asarray(test[1], np.float64)],
            axis=1,
        )

    def begun(self, start: Any, run: Run) -> tuple[Any, list[float]]:
        """What is subtracted from the logits of a run, and what is measured at its start.

        Its logits there where it is unbiased; else zeros, of one shape in every lane: of training
        and test images as they are measured, and of training images as they are trained, rounded
        in the same way.
        """
        import jax
        import jax.numpy as jnp

        alone = jax.tree.map(lambda leaf: leaf[None], start)
        logits = [self.programs.logits(alone, x)[0] for x, _ in (self.train, self.test)]
        rounded = []
        if self._subtracting:
            rounded = [self.programs.rounded_logits(alone, self._inputs)[0]]
        shifts = tuple(values * float(run.unbiased) for values in (*logits, *rounded))
        if not self._subtracting:
            shifts = (jnp.zeros((1, 1), jnp.float32),) * 3
        train, test = (
            self.programs.score(values - shift, y)
            for values, shift, (_, y) in zip(
                logits, shifts[:2], (self.train, self.test), strict=True
            )
        )
        return shifts, [float(train[0]), float(train[1]), float(test[1])]


@dataclass(frozen=True, eq=False)
class _Programs:
    advance: Callable[..., Any]
    advance_in_step: Callable[..., Any]
    measure: Callable[..., Any]
    logits: Callable[..., Any]
    rounded_logits: Callable[..., Any]
    score: Callable[..., Any]


@functools.lru_cache(maxsize=8)
def _programs(
    network: Any, batch: int, every: int, precision: str, summed_apart: bool, momentum: float
) -> _Programs:
    import jax
    import jax.numpy as jnp

    cross_entropy = CrossEntropyLoss()
    # with inputs in bfloat16 the output layer is the only product of float32 that is left
    products = "tensorfloat32" if precision == "bfloat16" else precision

    def risk(params: Any, x: Any, shift: Any, y: Any) -> Any:
        return cross_entropy(network(params, x) - shift, y)

    def advance(params: Any, step: Any, key: Any, shift: Any, X: Any, Y: Any) -> Any:
        def one_batch(state: Any, rows: Any) -> Any:
            moved, last = state
            params = jax.tree.map(operator.add, base, moved) if summed_apart else moved
            local = shift[rows] if shift.shape[0] > 1 else shift
            # the step is in what is differentiated, so that the sum below can be a part of the
            # product that makes the gradient, which then is never written
            moves = jax.grad(lambda params: -step * risk(params, X[rows], local, Y[rows]))(params)
            if momentum:
                moves = last = jax.tree.map(lambda old, new: momentum * old + new, last, moves)
            return (jax.tree.map(operator.add, moved, moves), last), None

        def one_epoch(state: Any, key: Any) -> Any:
            used = len(X) // batch * batch  # the rest waits for another permutation
            order = jax.random.permutation(key, len(X))[:used].reshape(-1, batch)
            return jax.lax.scan(one_batch, state, order)

        base, moved = params, params
        if summed_apart:
            moved = jax.tree.map(jnp.zeros_like, params)
        last = jax.tree.map(jnp.zeros_like, params) if momentum else None
        with jax.default_matmul_precision(products):
            moved = jax.lax.scan(one_epoch, (moved, last), jax.random.split(key, every))[0][0]
        return jax.tree.map(operator.add, base, moved) if summed_apart else moved

    def by_blocks(params: Any, X: Any, products: str, size: int) -> Any:
        with jax.default_matmul_precision(products):
            return jax.lax.map(
                lambda x: network(params, x[None])[0], X, batch_size=min(size, len(X))
            )

    def logits(params: Any, X: Any) -> Any:
        return by_blocks(params, X, "float32", EVALUATED_TOGETHER)

    def rounded_logits(params: Any, X: Any) -> Any:
        return by_blocks(params, X, products, batch)

    def measure(params: Any, shift: Any, X: Any, Y: Any) -> Any:
        return score(logits(params, X) - shift, Y)

    def score(values: Any, Y: Any) -> Any:
        return cross_entropy(values, Y), jnp.mean(
            jnp.argmax(values, axis=-1) != Y, dtype=jnp.float32
        )

    return _Programs(
        jax.jit(_mapped(advance, (0, 0, 0, 0, None, None))),
        jax.jit(_mapped(advance, (0, 0, None, 0, None, None))),
        jax.jit(_mapped(measure, (0, 0, None, None))),
        jax.jit(_mapped(logits, (0, None))),
        jax.jit(_mapped(rounded_logits, (0, None))),
        jax.jit(score),
    )


def _mapped(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """Over lanes; a single one without the batched convolutions that `vmap` would make."""
    import jax

    def mapped(*arguments: Any) -> Any:
        if len(jax.tree.leaves(arguments[0])[0]) > 1:
            return jax.vmap(function, axes)(*arguments)
        squeezed = (
            jax.tree.map(lambda leaf: leaf[0], value) if axis == 0 else value
            for value, axis in zip(arguments, axes, strict=True)
        )
        return jax.tree.map(lambda leaf: leaf[None], function(*squeezed))

    return mapped
