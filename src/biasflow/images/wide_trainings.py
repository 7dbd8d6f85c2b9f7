"""The trainings behind W/fig4e: a wide network at one scale, with every step and seed, read in one
of several ways.

'unbiased' learns f(w) − f(w₀), which starts at zero as W's theory has it; 'as drawn' learns f,
which starts at a random function, large at large scales. 'output layer' leaves the hidden layer
where it started. The exact kernels do not depend on scale, step and seed: they stand at scale one,
at the first step and seed.

`wide_points` trains the runs of many points in the lanes of one batch and gives each point as soon
as it is whole; runs keep checkpoints.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import one_of
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..sweeps.checkpoints import Checkpoint, current_checkpoint
from .classifier_programs import Arrays, Run
from .classifier_training import (
    HISTORY,
    Clock,
    EpochSchedule,
    identity,
    trained_in_turn,
)
from .classifiers import ClassifierParams, Readout, WideNetwork
from .training_points import (
    OUTCOMES,
    chosen_images,
    dataset,
    features_of,
    outcome,
    padded_history,
)
from .wide_kernels import LAYERS, WideKernel, kernel_classifier

if TYPE_CHECKING:
    import xarray

TRAINED = ("unbiased", "as drawn")
OUTPUT_LAYER = "output layer"
KERNELS = dict(zip(("tangent kernel", "random features"), LAYERS, strict=True))
READINGS = (*TRAINED, OUTPUT_LAYER, *KERNELS)
KERNEL_SCALE = 1.0
"""The scale under which the exact kernels are told."""
READOUT_LANES = 64
"""Runs of the output layer alone that advance together: their weights are small."""
RESIDUAL = "residual"
"""‖Kc − y‖_∞ of the exact kernels."""

Searched = Sequence[Sequence[Any]]
"""Rows (reading, largest scale, steps), or (…, data set): which steps are tried, by the first row
that fits."""


def steps_tried(searched: Searched, data: str, reading: str, alpha: float) -> list[float]:
    """The steps with which this reading is trained at this scale, the largest first."""
    for name, largest, steps, *only in searched:
        if name == reading and alpha <= largest and data in (only or [data]):
            return sorted(map(float, steps), reverse=True)
    return []


def all_steps(searched: Searched) -> list[float]:
    """Every step that is tried anywhere, the largest first."""
    return sorted({float(step) for _, _, steps, *_ in searched for step in steps}, reverse=True)


def wide_point(
    data: str,
    reading: str,
    alpha: float,
    width: int,
    train: int,
    test: int,
    searched: Searched,
    seeds: Sequence[int],
    probes: int,
    batch: int,
    lanes: int,
    epochs: int,
    every: int,
    readout_epochs: int,
    loss: float,
    precision: str,
) -> xarray.Dataset:
    """One scale α under one reading: every step size with every seed."""
    held = dict(locals())
    checkpoint = current_checkpoint()
    ((_, found),) = wide_points([held], None if checkpoint is None else [checkpoint])
    return found


def wide_points(
    settings: Sequence[Mapping[str, Any]],
    checkpoints: Sequence[Checkpoint] | None = None,
    clock: Clock | None = None,
) -> Iterator[tuple[int, xarray.Dataset]]:
    """The points of these settings, in order of importance, each as soon as it is whole.

    checkpoints: one a point. clock: says when to stop; points that are not whole then do not come,
    and go on from their checkpoints another time.
    """
    for setting in settings:
        one_of("reading", setting["reading"], READINGS)
        if not setting["seeds"]:
            raise InputError("seeds: expected at least one")
    for _, some in itertools.groupby(range(len(settings)), lambda i: _kind(settings[i])):
        indices = list(some)
        if clock is not None and clock.is_past():
            return
        chosen = [settings[i] for i in indices]
        kept = [checkpoints[i] for i in indices] if checkpoints else None
        for k, point in _points_of_kind(chosen, kept, clock):
            yield indices[k], point


def _kind(setting: Mapping[str, Any]) -> tuple[Any, ...]:
    """Points of one kind share lanes: one data set, and one network."""
    reading = setting["reading"]
    return setting["data"], "network" if reading in TRAINED else reading


def _points_of_kind(
    settings: Sequence[Mapping[str, Any]],
    checkpoints: Sequence[Checkpoint] | None,
    clock: Clock | None,
) -> Iterator[tuple[int, xarray.Dataset]]:
    reading = settings[0]["reading"]
    if reading in KERNELS:
        for k, setting in enumerate(settings):
            yield k, _kernel_point(setting)
    elif reading == OUTPUT_LAYER:
        yield from enumerate(_readout_points(settings))
    else:
        yield from _network_points(settings, checkpoints, clock)


class _Table:
    """What is known of the runs of one point."""

    def __init__(self, setting: Mapping[str, Any]) -> None:
        self.setting = setting
        self.steps, self.seeds = all_steps(setting["searched"]), list(setting["seeds"])
        tried = steps_tried(*(setting[name] for name in ("searched", "data", "reading", "alpha")))
        if setting["reading"] in KERNELS:
            tried = []
        self.missing = {(step, seed) for step in tried for seed in self.seeds}
        shape = len(self.steps), len(self.seeds)
        epochs, every = setting["epochs"], setting["every"]
        self.schedule = EpochSchedule(
            setting["batch"], epochs, every, setting["loss"], setting["precision"], setting["lanes"]
        )
        self.outcomes = np.full((len(OUTCOMES), *shape), np.nan)
        self.histories = np.full((len(HISTORY), *shape, epochs // every + 1), np.nan, np.float32)
        self.residual = np.nan

    def put(self, step: float, seed: int, ended: Sequence[float], history: Any = None) -> None:
        place = self.steps.index(step), self.seeds.index(seed)
        self.outcomes[:, *place] = ended
        if history is not None:
            self.histories[:, *place] = padded_history(history, self.schedule).T
        self.missing.discard((step, seed))

    def dataset(self) -> xarray.Dataset:
        runs = "step", "seed"
        found: dict[str, Any] = {
            name: (runs, values) for name, values in zip(OUTCOMES, self.outcomes, strict=True)
        }
        for name, values in zip(HISTORY[1:], self.histories[1:], strict=True):
            found[f"{name}_history"] = (*runs, "epoch"), values
        found[RESIDUAL] = (), self.residual
        ticks = np.arange(0, self.schedule.epochs + 1, self.schedule.every)
        coords = {"step": self.steps, "seed": self.seeds, "epoch": ticks}
        return dataset(found, coords, self.setting["precision"])


def _network_points(
    settings: Sequence[Mapping[str, Any]],
    checkpoints: Sequence[Checkpoint] | None,
    clock: Clock | None,
) -> Iterator[tuple[int, xarray.Dataset]]:
    """All layers trained, every run of every point in one queue."""
    first = settings[0]
    network, arrays = wide_arrays(first["data"], first["width"], first["train"], first["test"])
    tables = [_Table(setting) for setting in settings]
    schedule = tables[0].schedule
    about = identity(network, arrays, schedule) if checkpoints else {}
    runs, places = [], []
    for k, table in enumerate(tables):
        unbiased = table.setting["reading"] == "unbiased"
        for step, seed in sorted(table.missing, key=lambda pair: (-pair[0], pair[1])):
            run = Run(table.setting["alpha"], step, seed, unbiased)
            kept = _of_run(checkpoints, k, run)
            saved = kept.load({**about, "run": vars(run)}) if kept is not None else None
            if saved is not None and "outcome" in saved.state:
                table.put(step, seed, saved.state["outcome"], saved.state["history"])
            else:
                runs.append(run)
                places.append(k)
        if not table.missing:
            yield k, table.dataset()
    parts = [_of_run(checkpoints, k, run) for k, run in zip(places, runs, strict=True)]
    saving = [part for part in parts if part is not None] or None
    ended = trained_in_turn(network, arrays, runs, schedule, checkpoints=saving, clock=clock)
    for i, one in ended:
        table, run, part = tables[places[i]], runs[i], parts[i]
        with jax_in_double():
            told = outcome(network, one, arrays.test_x[: table.setting["probes"]])
        table.put(run.step, run.key, told, one.history)
        if not table.missing:
            yield places[i], table.dataset()
        elif part is not None:
            state = {"outcome": told, "history": one.history.tolist()}
            part.keep({}, state, {**about, "run": vars(run)})


def _of_run(checkpoints: Sequence[Checkpoint] | None, point: int, run: Run) -> Checkpoint | None:
    return checkpoints[point].part(f"{run.step:g}-{run.key}") if checkpoints else None


def _readout_points(settings: Sequence[Mapping[str, Any]]) -> Iterator[xarray.Dataset]:
    """The hidden layer frozen, for each step.

    Features are those at α = 1: with b = α·a the run is the same at step size α²·step from b₀ =
    α²·a₀.
    """
    first = settings[0]
    network, arrays = wide_arrays(first["data"], first["width"], first["train"], first["test"])
    tables = [_Table(setting) for setting in settings]
    epochs = first["readout_epochs"]
    plan = EpochSchedule(
        first["batch"], epochs, epochs, precision=first["precision"], lanes=READOUT_LANES
    )
    for seed in first["seeds"]:
        with jax_in_double():
            start = network.init(1.0, key=seed)
        wanted = [
            (k, step, table.setting["alpha"])
            for k, table in enumerate(tables)
            for step, key in sorted(table.missing, reverse=True)
            if key == seed
        ]
        runs = [Run(alpha, step * alpha**2, seed) for _, step, alpha in wanted]
        begin = functools.partial(_scaled_output, start.output)
        fixed = features_of(network, start, arrays)
        for i, one in trained_in_turn(Readout(), fixed, runs, plan, begin):
            k, step, _ = wanted[i]
            tables[k].put(step, seed, outcome(Readout(), one, None))
    yield from (table.dataset() for table in tables)


def _scaled_output(output: Any, run: Run) -> ClassifierParams:
    return ClassifierParams((), output * np.float32(run.scale**2))


def _kernel_point(setting: Mapping[str, Any]) -> xarray.Dataset:
    """The exact classifier of a kernel, at the scale that stands for all."""
    table = _Table(setting)
    if setting["alpha"] == KERNEL_SCALE:
        _, arrays = wide_arrays(
            setting["data"], setting["width"], setting["train"], setting["test"]
        )
        kernel = WideKernel(setting["width"], KERNELS[setting["reading"]])
        held = (arrays.train_x, arrays.train_y), (arrays.test_x, arrays.test_y)
        errors = kernel_classifier(kernel, *held)
        told = dict.fromkeys(OUTCOMES, np.nan)
        told |= {"test_error": errors.test_error, "train_error": errors.train_error}
        table.put(table.steps[0], table.seeds[0], list(told.values()))
        table.residual = errors.residual
    return table.dataset()


@functools.lru_cache(maxsize=2)
def wide_arrays(
    data: str, width: int, train: int, test: int, pixels: str = "unit"
) -> tuple[WideNetwork, Arrays]:
    """A network that fits the images, and they as it takes them."""
    import jax.numpy as jnp

    held = chosen_images(data, train, test)
    network = WideNetwork(width, int(np.prod(held.train_x.shape[1:])), pixels=pixels)
    x, t = network.prepared(held.train_x, held.test_x)
    return network, Arrays(jnp.asarray(x), held.train_y, jnp.asarray(t), held.test_y)
