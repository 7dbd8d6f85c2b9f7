"""Stochastic gradient descent on the cross-entropy of image classifiers: several runs in one
compiled batch (W, App. E).

A run is a start scale, a step size and a key. Runs of one network advance together, one in each
lane, `every` epochs in one compiled call (scan over epochs and batches, permutations drawn on the
device). A run leaves when it has converged, diverged or used its epochs, and the next one takes its
lane; when none is left, the others close ranks. Weights are float32; `precision` is that of the
products in training ('bfloat16', inputs and hidden units included; 'tensorfloat32', which is
float32 on a CPU; 'float32'). Losses and errors are always measured in float32.

Runs may keep checkpoints: weights, epoch and history. Permutations follow from the key and the
epoch, so that a run that goes on from one gives the numbers it would have given.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._core.arguments import Array, one_of, positive_float, positive_int, real_number
from .._core.results import Result
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..sweeps.checkpoints import Checkpoint, Saved
from ..sweeps.versions import installed_version
from .classifier_programs import Arrays, Lanes, Run

PRECISIONS = ("bfloat16", "tensorfloat32", "float32")
HISTORY = ("epoch", "train_loss", "train_error", "test_error")
"""Columns of `TrainedClassifier.history`."""
SCHEDULE = ("batch", "every", "precision", "summed_apart", "momentum")
NUMBERS = 1
"""To be raised where a change of programs or networks changes the numbers of trainings: checkpoints
of other numbers are refused, and outlive every other change, of Python too."""


@dataclass(frozen=True)
class EpochSchedule:
    """Batch size, most epochs, epochs between measurements, the loss that ends a run (with no
    training error), most lanes. growth: a run is measured again when its epochs have grown by this
    share; a measurement can take as long as several epochs. summed_apart: moves are added up for
    `every` epochs before the weights take them: a single one can be less than the rounding of a
    large weight. momentum: the share of the last move that is added to the next; it begins anew
    every `every` epochs, so that checkpoints need not hold it."""

    batch: int = 256
    epochs: int = 500
    every: int = 5
    loss: float = 1e-5
    precision: str = "tensorfloat32"
    lanes: int = 16
    growth: float = 0.0
    summed_apart: bool = False
    momentum: float = 0.0

    def __post_init__(self) -> None:
        for name in ("batch", "epochs", "every", "lanes"):
            positive_int(name, getattr(self, name))
        if not 0 <= real_number("momentum", self.momentum) < 1:
            raise InputError(f"momentum: expected a number in [0, 1), found {self.momentum}")
        positive_float("loss", self.loss)
        one_of("precision", self.precision, PRECISIONS)
        if self.epochs % self.every:
            raise InputError(f"every: {self.every} does not divide the {self.epochs} epochs")

    def is_due(self, epoch: int, last: float) -> bool:
        """Whether a run that was last measured then is measured now."""
        return epoch >= min(self.epochs, (1 + self.growth) * last)


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
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


def train_classifiers(
    network: Any,
    arrays: Arrays,
    runs: Sequence[Run],
    schedule: EpochSchedule,
    start: Callable[[Run], Any] | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
) -> list[TrainedClassifier]:
    """Train every run until its loss is below `schedule.loss` with no training error, until it
    diverges, or its epochs are used.

    start(run): where it begins; by default network.init(run.scale, key=run.key).
    checkpoints: one a run, from which it goes on, and which stay until you `forget` them.
    Results are in the order of the runs; how runs are batched changes them by rounding at most.
    """
    ended = dict(trained_in_turn(network, arrays, runs, schedule, start, checkpoints))
    return [ended[i] for i in range(len(runs))]


def trained_in_turn(
    network: Any,
    arrays: Arrays,
    runs: Sequence[Run],
    schedule: EpochSchedule,
    start: Callable[[Run], Any] | None = None,
    checkpoints: Sequence[Checkpoint] | None = None,
    clock: Clock | None = None,
) -> Iterator[tuple[int, TrainedClassifier]]:
    """The runs with their places, each as soon as it ends; begun in the order they are given in.

    clock: told how far it is, and asked whether to stop; runs that have not ended then are saved in
    their checkpoints and do not come.
    """
    if len(arrays.train_x) < schedule.batch:
        raise InputError(
            f"batch: {schedule.batch} is more than the {len(arrays.train_x)} training images"
        )
    if not runs:
        return
    begin = start or (lambda run: network.init(run.scale, key=run.key))
    if clock is not None:
        clock.restart()
    with jax_in_double():  # as everywhere; what is float32 here says so
        queue = _Queue(network, arrays, runs, schedule, begin, checkpoints)
    while queue.running:
        if clock is not None and clock.is_over(queue.epochs_left):
            with jax_in_double():
                queue.save()
            return
        with jax_in_double():
            ended = queue.advance()
        yield from ended


@dataclass
class Clock:
    """Seconds for trainings, and how fast they go: run-epochs a second since the first tick, which
    compiles.

    tell(done, left, rate): of run-epochs, the most that are left, and how many a second. most:
    run-epochs between restarts.
    """

    until: float = float("inf")
    tell: Callable[[float, float, float], None] | None = None
    most: float = float("inf")
    _ticks: list[tuple[float, float]] = field(default_factory=list)

    def restart(self) -> None:
        """Other trainings begin, at another pace."""
        self._ticks.clear()

    def is_past(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.until

    def is_over(self, left: float) -> bool:
        """Told at every tick how many run-epochs are left at most; whether the next would end too
        late."""
        now = time.monotonic()
        self._ticks.append((now, left))
        first, last = self._ticks[min(1, len(self._ticks) - 1)], self._ticks[-1]
        seconds = last[0] - first[0]
        if self.tell is not None and seconds > 0:
            self.tell(self._ticks[0][1] - left, left, (first[1] - left) / seconds)
        tick = now - self._ticks[-2][0] if len(self._ticks) > 2 else 0.0
        return now + tick > self.until or self._ticks[0][1] - left >= self.most


@dataclass(eq=False)
class _Seat:
    """A lane and the run in it. over: it ended, and no other took its place."""

    index: int
    start: Any
    epoch: int
    history: list[list[float]]
    over: bool = False


class _Queue:
    """Runs in lanes, and those that wait for one."""

    def __init__(
        self,
        network: Any,
        arrays: Arrays,
        runs: Sequence[Run],
        schedule: EpochSchedule,
        begin: Callable[[Run], Any],
        checkpoints: Sequence[Checkpoint] | None,
    ) -> None:
        import jax
        import jax.numpy as jnp

        self._runs, self._schedule, self._begin = runs, schedule, begin
        self._checkpoints = checkpoints
        in_one_go = schedule.every == schedule.epochs and len(runs) <= schedule.lanes
        self._lanes = Lanes(
            network,
            arrays,
            schedule,
            any(run.unbiased for run in runs),
            in_one_go and len({run.key for run in runs}) == 1 < len(runs) and not checkpoints,
        )
        self._about = identity(network, arrays, schedule) if checkpoints else {}
        self._waiting = deque(range(len(runs)))
        self._saved_at = time.monotonic()
        seated = [self._next() for _ in range(min(schedule.lanes, len(runs)))]
        self._seats = [seat for seat, *_ in seated]
        self._params, self._shifts = (
            jax.tree.map(lambda *leaves: jnp.stack(leaves), *column)
            for column in list(zip(*seated, strict=True))[1:]
        )
        self._close_ranks()

    @property
    def running(self) -> bool:
        return any(not seat.over for seat in self._seats)

    @property
    def epochs_left(self) -> float:
        """Run-epochs that are left at most."""
        most = self._schedule.epochs
        in_lanes = sum(most - seat.epoch for seat in self._seats if not seat.over)
        return float(in_lanes + most * len(self._waiting))

    def advance(self) -> list[tuple[int, TrainedClassifier]]:
        """Every lane by `every` epochs; the runs that ended."""
        for seat in self._seats:
            seat.epoch += self._schedule.every
        runs = [self._runs[seat.index] for seat in self._seats]
        epochs = [seat.epoch for seat in self._seats]
        self._params = self._lanes.advanced(self._params, runs, self._shifts, epochs)
        due = [
            not seat.over and self._schedule.is_due(seat.epoch, seat.history[-1][0])
            for seat in self._seats
        ]
        measured = self._lanes.measured(self._params, self._shifts) if any(due) else None
        ended = []
        for lane, seat in enumerate(self._seats):
            if measured is not None and due[lane]:
                seat.history.append([float(seat.epoch), *measured[lane]])
                result = _ended(measured[lane], seat.epoch, self._schedule)
                if result is not None:
                    ended.append((seat.index, self._stopped(lane, seat, result)))
        self._close_ranks()
        if self._checkpoints and self.running:
            every = min(checkpoint.every_s for checkpoint in self._checkpoints)
            if time.monotonic() >= self._saved_at + every:
                self.save()
        return ended

    def save(self) -> None:
        """The state of every lane into its checkpoint."""
        import jax

        for lane, seat in enumerate(self._seats):
            if self._checkpoints and not seat.over:
                leaves = [np.ravel(leaf[lane]) for leaf in jax.tree.leaves(self._params)]
                arrays = {"weights": np.concatenate(leaves)}
                state = {"epoch": seat.epoch, "history": seat.history}
                of = {**self._about, "run": asdict(self._runs[seat.index])}
                self._checkpoints[seat.index].keep(arrays, state, of)
        self._saved_at = time.monotonic()

    def _stopped(self, lane: int, seat: _Seat, result: Result) -> TrainedClassifier:
        """The run of this lane, at its end; the next takes its place."""
        import jax

        last = jax.tree.map(lambda leaf: leaf[lane], self._params)
        run = TrainedClassifier(
            self._runs[seat.index], result, np.array(seat.history), seat.start, last
        )
        seat.over = True
        if self._waiting:
            self._seats[lane], params, shifts = self._next()
            self._params, self._shifts = jax.tree.map(
                lambda held, new: held.at[lane].set(new),
                (self._params, self._shifts),
                (params, shifts),
            )
        return run

    def _next(self) -> tuple[_Seat, Any, Any]:
        """The run that waits longest, at its start or where its checkpoint is: its seat, its
        weights, what is subtracted from its logits."""
        import jax
        import jax.numpy as jnp

        index = self._waiting.popleft()
        run, of = self._runs[index], {**self._about, "run": asdict(self._runs[index])}
        start = jax.tree.map(jnp.asarray, self._begin(run))
        if any(leaf.dtype != jnp.float32 for leaf in jax.tree.leaves(start)):
            raise InputError("network: expected float32 weights")
        shifts, measured = self._lanes.begun(start, run)
        saved = self._checkpoints[index].load(of) if self._checkpoints else None
        if saved is None:
            return _Seat(index, start, 0, [[0.0, *measured]]), start, shifts
        params = saved_weights(saved, start)
        return _Seat(index, start, saved.state["epoch"], saved.state["history"]), params, shifts

    def _close_ranks(self) -> None:
        import jax

        kept = _close_ranks([seat.over for seat in self._seats])
        if self.running and len(kept) < len(self._seats):
            self._seats = [self._seats[lane] for lane in kept]
            self._params, self._shifts = jax.tree.map(
                lambda leaf: leaf[np.array(kept)], (self._params, self._shifts)
            )


def identity(network: Any, arrays: Arrays, schedule: EpochSchedule) -> dict[str, Any]:
    """What a checkpoint is of: it is refused elsewhere."""
    return {
        "network": repr(network),
        "data set": _digest(arrays),
        "version": {"numbers": NUMBERS, "jax": installed_version("jax")},
        "schedule": {name: getattr(schedule, name) for name in SCHEDULE},
    }


def saved_weights(saved: Saved, start: Any) -> Any:
    """The weights in a checkpoint, in the shapes of a start."""
    import jax
    import jax.numpy as jnp

    leaves, tree = jax.tree.flatten(start)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
    pairs = zip(np.split(saved.arrays["weights"], ends), leaves, strict=True)
    return jax.tree.unflatten(tree, [jnp.asarray(held).reshape(leaf.shape) for held, leaf in pairs])


@functools.lru_cache(maxsize=2)
def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for part in (arrays.train_x, arrays.train_y):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


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


def _ended(measured: Any, epoch: int, schedule: EpochSchedule) -> Result | None:
    loss, train_error, _ = measured
    if not np.isfinite(loss):
        return Result.DIVERGED
    if train_error == 0 and loss < schedule.loss:
        return Result.CONVERGED
    return Result.STEP_LIMIT if epoch >= schedule.epochs else None
