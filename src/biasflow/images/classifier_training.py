"""Stochastic gradient descent on the cross-entropy of image classifiers: several runs in one
compiled batch (W, App. E).

A run is a start scale, a step size and a key. Runs of one network advance together, `every` epochs
in one compiled call (scan over epochs and batches, permutations drawn on the device); a run leaves
when it has converged, diverged or used its epochs, and the others close ranks. Weights are float32;
`precision` is that of the products in training ('tensorfloat32' or 'float32'; a CPU has float32
only). Losses and errors are always measured in float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, one_of, positive_float, positive_int
from .._core.results import Result
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..losses import CrossEntropyLoss

EVALUATED_TOGETHER = 1000
"""Images that are evaluated together."""
PRECISIONS = ("tensorfloat32", "float32")
HISTORY = ("epoch", "train_loss", "train_error", "test_error")
"""Columns of `Trained.history`."""


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


@dataclass(frozen=True)
class Schedule:
    """Batch size, most epochs, epochs between measurements, the loss that ends a run (with no
    training error), most lanes."""

    batch: int = 256
    epochs: int = 500
    every: int = 5
    loss: float = 1e-5
    precision: str = "tensorfloat32"
    lanes: int = 16

    def __post_init__(self) -> None:
        for name in ("batch", "epochs", "every", "lanes"):
            positive_int(name, getattr(self, name))
        positive_float("loss", self.loss)
        one_of("precision", self.precision, PRECISIONS)
        if self.epochs % self.every:
            raise InputError(f"every: {self.every} does not divide the {self.epochs} epochs")


@dataclass(frozen=True, eq=False)
class Trained:
    """A run that stopped: why, its history (measurements × `HISTORY`, the start first), the weights
    it began and ended with."""

    run: Run
    result: Result
    history: Array
    start: Any
    params: Any

    @property
    def final(self) -> dict[str, float]:
        return dict(zip(HISTORY, map(float, self.history[-1]), strict=True))


@dataclass(frozen=True, eq=False)
class Arrays:
    """Training and test inputs as the network takes them, with their classes."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any


def train_classifiers(
    network: Any,
    arrays: Arrays,
    runs: Sequence[Run],
    schedule: Schedule,
    start: Callable[[Run], Any] | None = None,
) -> list[Trained]:
    """Train every run until its loss is below `schedule.loss` with no training error, until it
    diverges, or its epochs are used.

    start(run): where it begins; by default network.init(run.scale, key=run.key).
    Results are in the order of the runs; how runs are batched changes them by rounding at most.
    """
    if len(arrays.train_x) < schedule.batch:
        raise InputError(
            f"batch: {schedule.batch} is more than the {len(arrays.train_x)} training images"
        )
    begin = start or (lambda run: network.init(run.scale, key=run.key))
    trained: list[Trained] = []
    with jax_in_double():  # as everywhere; what is float32 here says so
        for first in range(0, len(runs), schedule.lanes):
            trained += _together(
                network, arrays, runs[first : first + schedule.lanes], schedule, begin
            )
    return trained


def _together(
    network: Any, arrays: Arrays, runs: Sequence[Run], schedule: Schedule, begin: Any
) -> list[Trained]:
    import jax
    import jax.numpy as jnp

    starts = [begin(run) for run in runs]
    lanes = Lanes(network, arrays, schedule)
    params = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    if any(leaf.dtype != jnp.float32 for leaf in jax.tree.leaves(params)):
        raise InputError("network: expected float32 weights")
    shifts = lanes.shifts(params, runs)
    histories: list[list[Any]] = [[[0.0, *row]] for row in lanes.measured(params, shifts)]
    ended: dict[int, tuple[Result, Any]] = {}
    alive = list(range(len(runs)))
    for epoch in range(schedule.every, schedule.epochs + 1, schedule.every):
        params = lanes.advanced(params, [runs[i] for i in alive], shifts, epoch)
        measured = lanes.measured(params, shifts)
        for lane, i in enumerate(alive):
            if i not in ended:
                histories[i].append([float(epoch), *measured[lane]])
                result = _ended(measured[lane], epoch, schedule)
                if result is not None:
                    ended[i] = result, jax.tree.map(lambda leaf, lane=lane: leaf[lane], params)
        if len(ended) == len(runs):
            break
        kept = _close_ranks([i in ended for i in alive])
        if len(kept) < len(alive):
            params, shifts = jax.tree.map(
                lambda leaf, kept=kept: leaf[np.array(kept)], (params, shifts)
            )
            alive = [alive[lane] for lane in kept]
    return [
        Trained(run, ended[i][0], np.array(histories[i]), starts[i], ended[i][1])
        for i, run in enumerate(runs)
    ]


def _close_ranks(over: Sequence[bool]) -> list[int]:
    """The lanes to keep: a quarter of them, or a quarter of that, as long as all that run fit;
    lanes that are over fill up.

    Each number of lanes is a program to compile, which can take as long as many epochs: hence
    quarters.
    """
    running = [lane for lane, is_over in enumerate(over) if not is_over]
    size = len(over)
    while len(running) <= (size + 3) // 4 < size:
        size = (size + 3) // 4
    filling = [lane for lane, is_over in enumerate(over) if is_over]
    return sorted(running + filling[: size - len(running)])


def _ended(measured: Any, epoch: int, schedule: Schedule) -> Result | None:
    loss, train_error, _ = measured
    if not np.isfinite(loss):
        return Result.DIVERGED
    if train_error == 0 and loss < schedule.loss:
        return Result.CONVERGED
    return Result.STEP_LIMIT if epoch >= schedule.epochs else None


class Lanes:
    """The compiled programs of a batch of runs, over one set of arrays."""

    def __init__(self, network: Any, arrays: Arrays, schedule: Schedule) -> None:
        import jax.numpy as jnp

        self.train = (
            jnp.asarray(arrays.train_x, jnp.float32),
            jnp.asarray(arrays.train_y, jnp.int32),
        )
        self.test = jnp.asarray(arrays.test_x, jnp.float32), jnp.asarray(arrays.test_y, jnp.int32)
        self.programs = _programs(network, schedule.batch, schedule.every, schedule.precision)

    def advanced(self, params: Any, runs: Sequence[Run], shifts: Any, epoch: int) -> Any:
        """The weights `every` epochs on."""
        import jax
        import jax.numpy as jnp

        steps = jnp.asarray([run.step for run in runs], jnp.float32)
        keys = jnp.stack(
            [
                jax.random.fold_in(jax.random.fold_in(jax.random.key(run.key), 1), epoch)
                for run in runs
            ]
        )
        return self.programs.advance(params, steps, keys, shifts[0], *self.train)

    def measured(self, params: Any, shifts: Any) -> Array:
        """Training loss, training error and test error of each lane."""
        train = self.programs.measure(params, shifts[0], *self.train)
        test = self.programs.measure(params, shifts[1], *self.test)
        return np.stack(
            [*(np.asarray(row, np.float64) for row in train), np.asarray(test[1], np.float64)],
            axis=1,
        )

    def shifts(self, params: Any, runs: Sequence[Run]) -> Any:
        """What is subtracted from the logits: those at the start for unbiased runs, else one zero
        per lane."""
        import jax.numpy as jnp

        if not any(run.unbiased for run in runs):
            zero = jnp.zeros((len(runs), 1, 1), jnp.float32)
            return zero, zero
        chosen = jnp.asarray([run.unbiased for run in runs], jnp.float32)[:, None, None]
        return tuple(chosen * self.programs.logits(params, x) for x, _ in (self.train, self.test))


@dataclass(frozen=True, eq=False)
class _Programs:
    advance: Callable[..., Any]
    measure: Callable[..., Any]
    logits: Callable[..., Any]


@functools.lru_cache(maxsize=8)
def _programs(network: Any, batch: int, every: int, precision: str) -> _Programs:
    import jax
    import jax.numpy as jnp

    cross_entropy = CrossEntropyLoss()

    def risk(params: Any, x: Any, shift: Any, y: Any) -> Any:
        return cross_entropy(network(params, x) - shift, y)

    def advance(params: Any, step: Any, key: Any, shift: Any, X: Any, Y: Any) -> Any:
        def one_batch(params: Any, rows: Any) -> Any:
            local = shift[rows] if shift.shape[0] > 1 else shift
            slope = jax.grad(risk)(params, X[rows], local, Y[rows])
            return jax.tree.map(lambda w, g: w - step * g, params, slope), None

        def one_epoch(params: Any, key: Any) -> Any:
            used = len(X) // batch * batch  # the rest waits for another permutation
            order = jax.random.permutation(key, len(X))[:used].reshape(-1, batch)
            return jax.lax.scan(one_batch, params, order)

        with jax.default_matmul_precision(precision):
            return jax.lax.scan(one_epoch, params, jax.random.split(key, every))[0]

    def by_blocks(params: Any, function: Callable[..., Any], *arrays: Any) -> Any:
        with jax.default_matmul_precision("float32"):
            return jax.lax.map(
                lambda sample: function(params, *sample),
                arrays,
                batch_size=min(EVALUATED_TOGETHER, len(arrays[0])),
            )

    def logits(params: Any, X: Any) -> Any:
        return by_blocks(params, lambda params, x: network(params, x[None])[0], X)

    def measure(params: Any, shift: Any, X: Any, Y: Any) -> Any:
        values = logits(params, X) - shift
        return cross_entropy(values, Y), jnp.mean(
            jnp.argmax(values, axis=-1) != Y, dtype=jnp.float32
        )

    return _Programs(
        jax.jit(_mapped(advance, (0, 0, 0, 0, None, None))),
        jax.jit(_mapped(measure, (0, 0, None, None))),
        jax.jit(_mapped(logits, (0, None))),
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
