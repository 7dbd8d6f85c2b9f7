"""The trainings behind W/fig4f and fig6: the VGG11-like network on CIFAR-10, one run at a time.

A training has a name that says what it is: 'unbiased 1 0.05 bfloat16 0' is the reading, the scale,
the step, the precision of its products and the seed; 'momentum 0.9' may follow. 'unbiased' learns
f(w) − f(w₀), 'as drawn' learns f, 'output layer' leaves the layers below where they started.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import one_of, positive_float, positive_int
from .._core.results import Result
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..sweeps.checkpoints import Checkpoint, current_checkpoint
from .classifier_programs import Arrays, Run
from .classifier_training import (
    HISTORY,
    PRECISIONS,
    Clock,
    EpochSchedule,
    TrainedClassifier,
    identity,
    saved_weights,
    trained_in_turn,
)
from .classifiers import ClassifierParams, Readout, VggNetwork
from .training_points import (
    OUTCOMES,
    chosen_images,
    dataset,
    features_of,
    outcome,
)

if TYPE_CHECKING:
    import xarray

READINGS = ("unbiased", "as drawn", "output layer")
MOMENTUM = "momentum"
GROWTH = 0.2
"""A run is measured again when its epochs have grown by this share."""


@dataclass(frozen=True)
class Training:
    """What a training's name says."""

    reading: str
    alpha: float
    step: float
    precision: str
    seed: int
    momentum: float = 0.0

    @property
    def name(self) -> str:
        plain = f"{self.reading} {self.alpha:g} {self.step:g} {self.precision} {self.seed}"
        return plain + (f" {MOMENTUM} {self.momentum:g}" if self.momentum else "")


def read_training(name: str) -> Training:
    """A training by its name, or an error that says what a name is."""
    try:
        plain, _, momentum = name.partition(f" {MOMENTUM} ")
        *words, alpha, step, precision, seed = plain.split()
        found = Training(
            " ".join(words), float(alpha), float(step), precision, int(seed), float(momentum or 0)
        )
    except (ValueError, AttributeError):
        raise InputError(
            "training: expected a reading, a scale, a step, a precision, a seed and perhaps a "
            "momentum, as in 'unbiased 1 0.05 bfloat16 0' or 'unbiased 2 2.4e-07 tensorfloat32 0 "
            f"momentum 0.9', found {name!r}"
        ) from None
    one_of("reading", found.reading, READINGS)
    one_of("precision", found.precision, PRECISIONS)
    positive_float("alpha", found.alpha)
    positive_float("step", found.step)
    positive_int("seed", found.seed, least=0)
    return found


def vgg_point(
    training: str,
    blocks: Sequence[Sequence[int]],
    train: int,
    test: int,
    probes: int,
    batch: int,
    epochs: int,
    every: int,
    loss: float,
) -> xarray.Dataset:
    """One training: its curves, where it ended, how far its tangent kernel moved."""
    return vgg_training(**locals(), checkpoint=current_checkpoint())


def vgg_training(
    training: str,
    blocks: Sequence[Sequence[int]],
    train: int,
    test: int,
    probes: int,
    batch: int,
    epochs: int,
    every: int,
    loss: float,
    checkpoint: Checkpoint | None = None,
    clock: Clock | None = None,
) -> xarray.Dataset:
    """One training, from its checkpoint where there is one; cut off by the clock, `finished` is
    zero, and it is told where it was."""
    told = read_training(training)
    schedule = EpochSchedule(
        batch,
        epochs,
        every,
        loss,
        told.precision,
        lanes=1,
        growth=GROWTH,
        summed_apart=True,
        momentum=told.momentum,
    )
    network, arrays = vgg_arrays(tuple(map(tuple, blocks)), train, test)
    run = Run(told.alpha, told.step, told.seed, told.reading == "unbiased")
    trained: VggNetwork | Readout = network
    start, probe = None, arrays.test_x[:probes]
    if told.reading == "output layer":
        with jax_in_double():
            first = network.init(told.alpha, key=told.seed)
            arrays = features_of(network, first, arrays)
        trained, probe, start = Readout(), None, _fixed(ClassifierParams((), first.output))
    kept = [checkpoint] if checkpoint is not None else None
    ended = list(trained_in_turn(trained, arrays, [run], schedule, start, kept, clock))
    one = ended[0][1] if ended else _cut_off(trained, arrays, run, schedule, start, checkpoint)
    with jax_in_double():
        outcomes = outcome(trained, one, probe) if one is not None else [np.nan] * len(OUTCOMES)
    history = one.history if one is not None else np.zeros((0, len(HISTORY)))
    values: dict[str, Any] = {
        name: ((), value) for name, value in zip(OUTCOMES, outcomes, strict=True)
    }
    curves = np.full((epochs // every + 1, len(HISTORY)), np.nan, np.float32)
    curves[history[:, 0].astype(int) // every] = history
    for column, name in enumerate(HISTORY[1:], start=1):
        values[f"{name}_history"] = "epoch", curves[:, column]
    values["finished"] = (), float(bool(ended))
    return dataset(values, {"epoch": np.arange(0, epochs + 1, every)}, told.precision)


def _cut_off(
    network: Any,
    arrays: Arrays,
    run: Run,
    schedule: EpochSchedule,
    start: Callable[[Run], Any] | None,
    checkpoint: Checkpoint | None,
) -> TrainedClassifier | None:
    """Where a run is that did not end, by its checkpoint."""
    of = {**identity(network, arrays, schedule), "run": vars(run)}
    saved = checkpoint.load(of) if checkpoint is not None else None
    if saved is None:
        return None
    with jax_in_double():
        first = start(run) if start is not None else network.init(run.scale, key=run.key)
        params = saved_weights(saved, first)
    history = np.array(saved.state["history"])
    return TrainedClassifier(run, Result.STEP_LIMIT, history, first, params)


def _fixed(params: Any) -> Callable[[Run], Any]:
    return lambda run: params


@functools.lru_cache(maxsize=1)
def vgg_arrays(
    blocks: tuple[tuple[int, ...], ...], train: int, test: int
) -> tuple[VggNetwork, Arrays]:
    """The network, and CIFAR-10 as it takes it."""
    import jax.numpy as jnp

    held = chosen_images("cifar10", train, test)
    network = VggNetwork(blocks)
    x, t = network.prepared(held.train_x, held.test_x)
    return network, Arrays(jnp.asarray(x), held.train_y, jnp.asarray(t), held.test_y)
