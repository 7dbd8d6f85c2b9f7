"""Many runs of gradient descent or SGD at once: the step is compiled once and takes all runs along
(W, §7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.arguments import (
    Array,
    Index,
    Mask,
    instance,
    one_of,
    positive_float,
    positive_int,
    real_array,
    vector,
)
from .._core.problems import Dataset
from .._core.results import Result
from .._core.trees import leaf_map, leaves, stack
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..losses import Loss
from ..models import Model
from .descent import OVERSHOT
from .lockstep import CONVERGED, DIVERGED, FLOOR, RUNNING, STATIONARY, compiled_steps

THRESHOLD = 1e-9
"""The loss at which W's runs stop (W, App. E)."""
DTYPES = ("float64", "float32")
RESULTS = {
    RUNNING: Result.STEP_LIMIT,
    CONVERGED: Result.CONVERGED,
    DIVERGED: Result.DIVERGED,
    STATIONARY: Result.STATIONARY,
    FLOOR: Result.FLOOR,
}
CHUNK_WORK = 2e9
"""Multiplications between two looks at the batch: about a second."""
LONGEST_CHUNK = 5000
"""Steps between two looks at the batch, at most."""
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """One run of a batch: where it ended, the loss there, the steps it took and why it stopped."""

    params: Any
    loss: float
    steps: int
    stepsize: float
    result: Result


@dataclass(frozen=True, eq=False)
class TrainedBatch:
    """Runs that were trained together; `batch[k]` is the k-th as a `TrainedRun`.

    params: the type of the starts, with a leading axis of runs on every leaf; of a diverged run,
    those at which it was found out.
    loss: as the loss defines it, infinite where it overflowed; steps: taken until the run stopped.
    """

    params: Any
    loss: Array
    steps: Index
    stepsizes: Array
    results: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, k: int) -> TrainedRun:
        params = leaf_map(lambda leaf: leaf[k], self.params)
        return TrainedRun(
            params,
            float(self.loss[k]),
            int(self.steps[k]),
            float(self.stepsizes[k]),
            self.results[k],
        )

    @property
    def converged(self) -> Mask:
        """Which runs reached the threshold."""
        return np.array([result is Result.CONVERGED for result in self.results])

    @property
    def fraction_converged(self) -> float:
        return float(np.mean(self.converged))

    def __str__(self) -> str:
        counts = {result: self.results.count(result) for result in dict.fromkeys(self.results)}
        return f"{len(self)} runs: " + "; ".join(
            f"{count} {result.value}" for result, count in counts.items()
        )


def train_batch(
    model: Model,
    ds: Dataset | Sequence[Dataset],
    loss: Loss,
    starts: Sequence[Any],
    stepsizes: ArrayLike,
    steps: int,
    threshold: float = THRESHOLD,
    batch: int | None = None,
    keys: Sequence[int] | None = None,
    dtype: str = "float64",
    progress: Progress | None = None,
) -> TrainedBatch:
    """w ← w − γ∇L(w) for a batch of runs, each until its loss is at most `threshold`, it diverges,
    or `steps` are taken.

    ds: one data set for all runs, or one a run, all of the same size. loss: any sum over samples.
    starts: parameters, one set a run. stepsizes: γ, one number or one a run. batch: SGD on that
    many samples a step, drawn without replacement by the run's key (default: its place), the
    gradient scaled to be unbiased; the loss of all samples is then looked at once an epoch, else at
    every step. A run has diverged where its loss is not finite or 1e8 times that of its start. One
    that no step moves any more is stationary where its gradient is zero (a ReLU network that died),
    else at the rounding floor; this is looked at with the progress. Runs that have stopped leave
    the batch.
    dtype: 'float64' or 'float32'. progress(steps, running, runs) is called about once a second; an
    interrupt gets through then.
    """
    instance("model", model, Model)
    instance("loss", loss, Loss)
    instance("ds", ds, (Dataset, Sequence))
    datasets = [ds] if isinstance(ds, Dataset) else [instance("ds", one, Dataset) for one in ds]
    if not datasets:
        raise InputError("ds: expected one data set, or one a run, found none")
    for one in datasets:
        loss.checked(one.y)
        # refuses where the loss is no sum over samples: its value then says little about
        # convergence
        loss.factor(one.n)
    params, runs = _starts(model, datasets, starts)
    X, y = _samples(datasets, runs)
    gamma = _stepsizes(stepsizes, runs)
    steps, threshold = positive_int("steps", steps), positive_float("threshold", threshold)
    batch = None if batch is None else positive_int("batch", batch)
    if batch is not None and batch > datasets[0].n:
        raise InputError(f"batch: {batch} exceeds n = {datasets[0].n}")
    seeds = range(runs) if keys is None else [positive_int("keys", key, least=0) for key in keys]
    if len(seeds) != runs:
        raise InputError(f"keys: expected one a run, {runs}, found {len(seeds)}")
    one_of("dtype", dtype, DTYPES)
    with jax_in_double():
        return _train(
            model,
            loss,
            params,
            (X, y),
            (gamma, np.array(seeds)),
            steps,
            threshold,
            batch,
            dtype,
            progress,
        )


def _starts(model: Model, datasets: list[Dataset], starts: Sequence[Any]) -> tuple[Any, int]:
    """The starts as one state with a leading axis of runs."""
    checked = [
        model.checked(start, datasets[0].d) for start in instance("starts", starts, Iterable)
    ]
    if not checked:
        raise InputError("starts: expected at least one run, found none")
    return stack(checked), len(checked)


def _samples(datasets: list[Dataset], runs: int) -> tuple[Array, Array]:
    """X (n, d) and y (n,) shared by all runs, or with a leading axis of runs."""
    if len(datasets) == 1:
        return datasets[0].X, datasets[0].y
    if len(datasets) != runs:
        raise InputError(f"ds: expected one data set, or one a run, {runs}, found {len(datasets)}")
    if len({one.X.shape for one in datasets}) > 1:
        raise InputError(
            f"ds: expected data sets of one size, found {sorted({one.X.shape for one in datasets})}"
        )
    return np.stack([one.X for one in datasets]), np.stack([one.y for one in datasets])


def _stepsizes(stepsizes: ArrayLike, runs: int) -> Array:
    given = real_array("stepsizes", stepsizes)
    gamma = vector("stepsizes", np.full(runs, given) if given.ndim == 0 else given, runs)
    if np.any(gamma <= 0):
        raise InputError(f"stepsizes: expected positive numbers, found {gamma[gamma <= 0][0]:g}")
    return gamma


class _Running:
    """The runs that have not stopped, on JAX's side."""

    def __init__(
        self, params: Any, X: Array, y: Array, per_run: tuple[NDArray[Any], ...], dtype: str
    ) -> None:
        import jax

        jnp: Any = jax.numpy
        self.dtype = dtype
        self.place = np.arange(len(per_run[0]))
        self.params = leaf_map(lambda leaf: jnp.asarray(leaf, dtype), params)
        self.data = jnp.asarray(X, dtype), jnp.asarray(y, dtype)
        self.shared = X.ndim == 2
        self.per_run = tuple(
            jnp.asarray(value, dtype if value.dtype.kind == "f" else value.dtype)
            for value in per_run
        )

    def advance(self, compiled: Any, *settings: Any) -> tuple[NDArray[np.int_], Array]:
        """Go on; which code each run has now, and its loss."""
        self.params, code, used, loss = compiled(self.params, *self.data, *self.per_run, *settings)
        for leaf in leaves(self.params):
            if str(leaf.dtype) != self.dtype:
                raise RuntimeError(f"train_batch: computed in {leaf.dtype}, not in {self.dtype}")
        self.per_run = (*self.per_run[:-1], used)
        return np.array(code), np.asarray(loss, dtype=float)

    def keep(self, running: Index) -> None:
        """Drop all other runs."""
        self.place = self.place[running]
        self.params = leaf_map(lambda leaf: leaf[running], self.params)
        self.per_run = tuple(value[running] for value in self.per_run)
        self.data = self.data if self.shared else (self.data[0][running], self.data[1][running])


def _train(
    model: Model,
    loss: Any,
    params: Any,
    samples: tuple[Array, Array],
    per_run: tuple[Array, NDArray[np.int_]],
    steps: int,
    threshold: float,
    batch: int | None,
    dtype: str,
    progress: Progress | None,
) -> TrainedBatch:
    (X, y), (gamma, seeds) = samples, per_run
    advance, measure = compiled_steps(model, loss, batch, X.ndim == 2)
    with np.errstate(over="ignore"):
        losses = np.array(measure(params, X, y), dtype=float)
    limits = np.where(np.isfinite(losses), OVERSHOT * np.maximum(losses, np.finfo(dtype).tiny), 0.0)
    runs, n, period = len(gamma), X.shape[-2], 1 if batch is None else -(-X.shape[-2] // batch)
    size = sum(int(np.size(leaf)) for leaf in leaves(params))
    chunk = int(np.clip(CHUNK_WORK / (size * n * period), 1, -(-LONGEST_CHUNK // period)))

    now = _Running(params, X, y, (gamma, limits, seeds, np.zeros(runs, dtype=int)), dtype)
    final, codes, used, done = (
        leaf_map(np.array, params),
        np.zeros(runs, dtype=int),
        np.zeros(runs, dtype=int),
        0,
    )
    while now.place.size and done < steps:
        rounds = min(chunk, -(-(steps - done) // period))
        code, value = now.advance(advance, threshold, steps, rounds)
        done = min(steps, done + rounds * period)
        codes[now.place], used[now.place], losses[now.place] = (
            code,
            np.asarray(now.per_run[-1]),
            value,
        )
        for kept, leaf in zip(leaves(final), leaves(now.params), strict=True):
            kept[now.place] = np.asarray(leaf)
        running = np.flatnonzero(code == RUNNING)
        if progress is not None:
            progress(done, running.size, runs)
        # compiled anew for the smaller batch, at most log₂(runs) times
        if 2 * running.size <= now.place.size:
            now.keep(running)
    losses = np.where(np.isnan(losses), np.inf, losses)
    return TrainedBatch(final, losses, used, gamma, tuple(RESULTS[code] for code in codes))
