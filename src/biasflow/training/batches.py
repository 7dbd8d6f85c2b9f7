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
from .._core.facts import record_line
from .._core.former_names import renamed, warn_of
from .._core.problems import Dataset, Problem
from .._core.progress import doing
from .._core.results import Result, Trajectory
from .._core.trees import leaf_map, leaves, stack
from .._numerics.double_precision import jax_in_double
from .._numerics.flow_frame import CONVERGED as REACHED
from ..errors import InputError
from ..losses import Loss
from ..models import Model
from .descent import DIVERGED_GROWTH, Kept, described, loss_at
from .jobs import Engine, Job
from .lockstep import CONVERGED, DIVERGED, FLOOR, RUNNING, STATIONARY, Lane, compiled_steps
from .step_rules import plain_schedule

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


def rows(states: Any, at: Any) -> Any:
    """Some runs of a batch of states, or one."""
    return leaf_map(lambda leaf: leaf[at], states)


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """One run of a batch: where it ended, the loss there, the steps it took and why it stopped."""

    params: Any
    loss: float
    steps: int
    step: float
    result: Result

    @property
    def stepsize(self) -> float:
        """The word of 0.1 for step."""
        warn_of("TrainedRun.stepsize", "TrainedRun.step")
        return self.step


@dataclass(frozen=True, eq=False)
class TrainedBatch:
    """Runs that were trained together; `batch[k]` is the k-th as a `TrainedRun`.

    params: the type of the starts, with a leading axis of runs on every leaf; of a diverged run,
    those at which it was found out.
    loss: as the loss defines it, infinite where it overflowed; steps: taken until the run stopped;
    step: their size γ.
    """

    params: Any
    loss: Array
    steps: Index
    step: Array
    results: tuple[Result, ...]

    def __repr__(self) -> str:
        return record_line(self)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, k: int) -> TrainedRun:
        params = rows(self.params, k)
        return TrainedRun(
            params,
            float(self.loss[k]),
            int(self.steps[k]),
            float(self.step[k]),
            self.results[k],
        )

    @property
    def stepsizes(self) -> Array:
        """The word of 0.1 for step."""
        warn_of("TrainedBatch.stepsizes", "TrainedBatch.step")
        return self.step

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


@renamed(ds="data", stepsizes="step")
@doing("training")
def train_batch(
    model: Model,
    data: Dataset | Sequence[Dataset],
    loss: Loss,
    starts: Sequence[Any],
    step: ArrayLike,
    steps: int,
    threshold: float = THRESHOLD,
    batch: int | None = None,
    keys: Sequence[int] | None = None,
    dtype: str = "float64",
    progress: Progress | None = None,
) -> TrainedBatch:
    """w ← w − γ∇L(w) for a batch of runs, each until its loss is at most `threshold`, it diverges,
    or `steps` are taken.

    A run has diverged where its loss is not finite or 1e8 times that of its start. One that no step
    moves any more is stationary where its gradient is zero (a ReLU network that died), else at the
    rounding floor; this is looked at with the progress. Runs that have stopped leave the batch.

    Parameters
    ----------
    model : Model
    data : Dataset or sequence of them
        One for all runs, or one a run, all of the same size.
    loss : Loss
        Any sum over samples.
    starts : sequence of parameters
        One set a run.
    step : float or array of shape (runs,)
        γ.
    steps : int
    threshold : float
    batch : int, optional
        SGD on that many samples a step, drawn without replacement by the run's key (default: its
        place), the gradient scaled to be unbiased; the loss of all samples is then looked at once
        an epoch, else at every step.
    keys : sequence of int, optional
    dtype : {'float64', 'float32'}
    progress : callable, optional
        progress(steps, running, runs) is called about once a second; an interrupt gets through
        then.

    Returns
    -------
    training.TrainedBatch

    Examples
    --------
    >>> model, data = bf.DiagonalNetwork(2), bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> starts = [model.init(scale, dim=3) for scale in (0.1, 1.0)]
    >>> found = bf.training.train_batch(model, data, bf.SquareLoss("half"), starts, 0.01, 10_000)
    >>> np.array([model.effective(found[k].params) for k in range(2)]).round(2)
    array([[0.06, 0.36, 1.74],
           [0.43, 0.86, 1.28]])
    """
    instance("model", model, Model)
    instance("loss", loss, Loss)
    instance("data", data, (Dataset, Sequence))
    datasets = (
        [data] if isinstance(data, Dataset) else [instance("data", one, Dataset) for one in data]
    )
    if not datasets:
        raise InputError("data: expected one data set, or one a run, found none")
    for one in datasets:
        loss.checked(one.y)
        # refuses where the loss is no sum over samples: its value then says little about
        # convergence
        loss.factor(one.n)
    params, runs = _starts(model, datasets, starts)
    X, y = _samples(datasets, runs)
    sizes = _sizes(step, runs)
    steps, threshold = positive_int("steps", steps), positive_float("threshold", threshold)
    batch = None if batch is None else positive_int("batch", batch)
    if batch is not None and batch > datasets[0].n:
        raise InputError(f"batch: {batch} exceeds n = {datasets[0].n}")
    seeds = range(runs) if keys is None else [positive_int("keys", key, least=0) for key in keys]
    if len(seeds) != runs:
        raise InputError(f"keys: expected one a run, {runs}, found {len(seeds)}")
    one_of("dtype", dtype, DTYPES)
    tell = progress or (lambda done, running, runs: None)
    with jax_in_double():
        march = Lockstep(model, loss, (X, y), batch, dtype)
        lanes = march.lanes(params, sizes, np.array(seeds), goals=np.full(runs, threshold))
        final, code, lanes, losses = march.through(
            params, lanes, np.array([0, steps]), lambda done, *rest: tell(done, *rest) or True
        )
    losses = np.where(np.isnan(losses), np.inf, losses)
    return TrainedBatch(final, losses, lanes.used, sizes, tuple(RESULTS[each] for each in code))


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
        raise InputError(
            f"data: expected one data set, or one a run, {runs}, found {len(datasets)}"
        )
    if len({one.X.shape for one in datasets}) > 1:
        shapes = sorted({one.X.shape for one in datasets})
        raise InputError(f"data: expected data sets of one size, found {shapes}")
    return np.stack([one.X for one in datasets]), np.stack([one.y for one in datasets])


def _sizes(step: ArrayLike, runs: int) -> Array:
    given = real_array("step", step)
    sizes = vector("step", np.full(runs, given) if given.ndim == 0 else given, runs)
    if np.any(sizes <= 0):
        raise InputError(f"step: expected positive numbers, found {sizes[sizes <= 0][0]:g}")
    return sizes


Looked = Callable[[int, int, int], bool]
"""Told (steps done, runs that go on, runs); whether to go on."""
Seen = Callable[[int, Index, Any, Index, Index], None]
"""Shown, at a step to keep, the places of runs in the batch, their states, codes and steps."""


class Lockstep:
    """Runs that step together; those that have stopped leave. samples: (X, y), shared by all runs
    or with a leading axis of runs."""

    def __init__(
        self,
        model: Model,
        loss: Any,
        samples: tuple[Array, Array],
        batch: int | None,
        dtype: str = "float64",
    ) -> None:
        import jax

        self.dtype, self.shared = dtype, samples[0].ndim == 2
        self.samples = tuple(jax.numpy.asarray(array, dtype) for array in samples)
        self.n = samples[0].shape[-2]
        self.epoch = 1 if batch is None else -(-self.n // batch)
        self.advance, self.measure = compiled_steps(model, loss, batch, self.shared)

    def lanes(
        self,
        params: Any,
        sizes: Array,
        keys: Index,
        goals: Array | None = None,
        power: float = 0.0,
        offset: float = 1.0,
        bounded: bool = True,
    ) -> Lane:
        """Each run's own numbers. goals: by default a share of the loss at the start; bounded: a
        loss without a minimiser has no goal, and diverges at infinity only."""
        runs = len(sizes)
        with np.errstate(over="ignore"):
            losses = np.array(self.measure(params, *self.samples), dtype=float)
        large = DIVERGED_GROWTH * np.maximum(losses, np.finfo(self.dtype).tiny)
        limits = np.where(np.isfinite(losses), large if bounded else np.finfo(self.dtype).max, 0.0)
        if goals is None:
            goals = REACHED * losses if bounded else np.full(runs, -np.inf)
        zero = np.zeros(runs, dtype=int)
        rule = sizes, np.full(runs, power), np.full(runs, offset)
        return Lane(*rule, np.asarray(goals), limits, np.asarray(keys), zero)

    def through(
        self,
        params: Any,
        lanes: Lane,
        kept: Index,
        look: Looked,
        see: Seen = lambda *shown: None,
    ) -> tuple[Any, Index, Lane, Array]:
        """All steps to the last of `kept`: final states, codes, numbers and losses of all runs."""
        import jax

        jnp: Any = jax.numpy
        place, runs, samples = np.arange(len(lanes.used)), len(lanes.used), self.samples
        now = leaf_map(lambda leaf: jnp.asarray(leaf, self.dtype), params)
        going = Lane(*(jnp.asarray(each, self._type(each)) for each in lanes))
        final, codes, losses = leaf_map(np.array, params), np.zeros(runs, int), np.zeros(runs)
        used, done, steps = np.zeros(runs, int), 0, int(kept[-1])
        work = sum(int(np.size(leaf)) for leaf in leaves(params)) * self.n * self.epoch
        chunk = int(np.clip(CHUNK_WORK / work, 1, -(-LONGEST_CHUNK // self.epoch)))
        with doing(lambda: f"step {done:,} of {steps:,}, {place.size} of {runs} runs"):
            while place.size and done < steps:
                target = int(kept[np.searchsorted(kept, done, side="right")])
                rounds = min(chunk, -(-(target - done) // self.epoch))
                now, going, loss, code = self.advance(now, *samples, going, steps, rounds)
                self._in_its_type(now)
                done, code = min(steps, done + rounds * self.epoch), np.array(code)
                codes[place], used[place], losses[place] = (
                    code,
                    np.asarray(going.used),
                    np.asarray(loss),
                )
                for mine, leaf in zip(leaves(final), leaves(now), strict=True):
                    mine[place] = np.asarray(leaf)
                running = np.flatnonzero(code == RUNNING)
                on = look(done, running.size, runs)
                shown = place if done >= target or not on else place[code != RUNNING]
                see(done, shown, rows(final, shown), codes, used)
                if not on:
                    break
                # compiled anew for the smaller batch, at most log₂(runs) times
                if 2 * running.size <= place.size:
                    place = place[running]
                    now = rows(now, running)
                    going = Lane(*(each[running] for each in going))
                    samples = samples if self.shared else tuple(each[running] for each in samples)
        return final, codes, lanes._replace(used=used), losses

    def _type(self, value: NDArray[Any]) -> Any:
        return self.dtype if value.dtype.kind == "f" else value.dtype

    def _in_its_type(self, params: Any) -> None:
        for leaf in leaves(params):
            if str(leaf.dtype) != self.dtype:
                raise RuntimeError(f"train_batch: computed in {leaf.dtype}, not in {self.dtype}")


@dataclass(frozen=True)
class JaxEngine(Engine):
    """Any model and loss, many runs in lockstep. dtype: 'float64' or 'float32'."""

    dtype: str = "float64"
    name = "jax"

    def __post_init__(self) -> None:
        one_of("dtype", self.dtype, DTYPES)

    def refusal(self, problem: Problem, job: Job) -> str | None:
        return None

    def run(self, problems: Sequence[Problem], job: Job) -> tuple[Trajectory, ...]:
        first, schedule = problems[0], plain_schedule(job.rule)
        kept: list[Kept] = [
            [(0, problem.start, loss_at(problem, problem.start))] for problem in problems
        ]
        ends = [Result.REACHED_T1] * len(problems)

        def see(done: int, places: Index, states: Any, codes: Index, used: Index) -> None:
            for lane, k in enumerate(places.tolist()):
                ends[k] = Result.REACHED_T1 if codes[k] == RUNNING else RESULTS[codes[k]]
                if used[k] > kept[k][-1][0] and ends[k] is not Result.DIVERGED:
                    state = leaf_map(lambda leaf: leaf.astype(float), rows(states, lane))
                    kept[k].append((int(used[k]), state, loss_at(problems[k], state)))

        params = stack([problem.start for problem in problems])
        data, bounded = (first.data.X, first.data.y), first.loss.attained
        with jax_in_double():
            march = Lockstep(first.model, first.loss, data, job.batch, self.dtype)
            sizes = np.full(len(problems), schedule.size)
            rule = {"power": schedule.power, "offset": schedule.offset, "bounded": bounded}
            lanes = march.lanes(params, sizes, np.array(job.keys), **rule)
            lanes = march.through(
                params, lanes, job.kept, lambda *shown: not job.deadline.over(), see
            )[2]
        for k, steps in enumerate(lanes.used.tolist()):
            if ends[k] is Result.REACHED_T1 and steps < job.steps:
                ends[k] = Result.TIME_LIMIT
        return tuple(
            described(problem, schedule, job, key, self.name, states, end, int(steps))
            for problem, key, states, end, steps in zip(
                problems, job.keys, kept, ends, lanes.used, strict=True
            )
        )
