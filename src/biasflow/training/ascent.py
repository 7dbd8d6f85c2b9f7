"""Gradient ascent on the smooth margin of two-layer networks, one run or many, recorded at
geometric steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arguments import Array, one_of, positive_int
from .._core.former_names import renamed
from .._core.problems import Dataset, Problem
from .._core.progress import doing
from .._core.results import Result, Trajectory
from .._numerics.double_precision import jax_in_double
from .._numerics.interrupts import stoppable
from ..errors import InputError, RefusedError
from ..losses import (
    ExponentialLoss,
    LogisticLoss,
    MarginLoss,
    SmoothMargin,
    margin_loss,
    soft_minimum,
)
from ..models import SignedTwoLayer, TwoLayer, TwoLayerParams
from .jobs import Engine, Job, Progress, recorded_steps, silent
from .step_rules import (
    DefaultStep,
    Proposition6Step,
    Proposition7Step,
    Schedule,
    StepRule,
    read_step,
)
from .trainables import (
    Arrays,
    BothLayers,
    Reached,
    Start,
    Training,
    both_weights,
    read_run,
    training_named,
    two_classes,
)

RECORDS = 60
"""States kept of a run, at geometric steps."""
METHODS = ("compiled", "jax")
DTYPES = ("float32", "float64")
LARGEST_LOG = 1400.0
"""log β at which weights no longer fit in a float."""
COMPILED_LOSSES = (ExponentialLoss, LogisticLoss)
"""What the compiled soft-min knows; one of the user's own that inherits from them may be any."""
NO_TRACE = np.empty((0, 2))
"""In place of a record of every step, where none is asked for."""

Kept = list[tuple[int, Arrays, Reached]]
"""Of one run, by record: step, what moves at β = 1, how far it has come."""


def default_step(training: Training) -> StepRule:
    if isinstance(training, BothLayers):
        return DefaultStep()
    return Proposition7Step() if training.decay else Proposition6Step()


@dataclass(frozen=True)
class AscentEngine(Engine):
    """Two-layer networks under the smooth margin, at β = 1 with log β beside: no norm is too large.

    training: 'both' layers, 'directions' or 'output', as in `margin_ascent`. dtype: 'float64' or
    'float32'. by: 'compiled' code, one run after the other, or 'jax', all at once. device: of JAX.
    """

    training: str = "both"
    dtype: str = "float64"
    by: str = "compiled"
    device: Any = None

    def __post_init__(self) -> None:
        one_of("dtype", self.dtype, DTYPES)
        one_of("method", self.by, METHODS)
        if self.by == "compiled" and self.device is not None:
            raise InputError(
                f"device: {self.device!r} was given, but method 'compiled' runs on the processor; "
                "use method 'jax'"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        return "numba" if self.by == "compiled" else "jax"

    def refusal(self, problem: Problem, job: Job) -> str | None:
        model, loss = problem.model, problem.loss
        if not isinstance(loss, SmoothMargin) or not isinstance(model, TwoLayer | SignedTwoLayer):
            return "ascent is for SmoothMargin on TwoLayer or SignedTwoLayer networks"
        if isinstance(model, TwoLayer) and model.negative_slope != 0:
            return "ascent is for plain ReLUs"
        if job.batch is not None:
            return "ascent takes all samples at every step"
        if self.by == "compiled" and type(loss.loss) not in COMPILED_LOSSES:
            return f"compiled ascent knows the exponential and the logistic loss, not {loss.loss!r}"
        return None

    def run(self, problems: Sequence[Problem], job: Job) -> tuple[Trajectory, ...]:
        squared = isinstance(problems[0].model, SignedTwoLayer)
        training = training_named(self.training, "squared_relu" if squared else "relu")
        for problem in problems:
            two_classes(problem.data)
        starts = [training.start(both_weights(problem), problem.data) for problem in problems]
        rule = job.rule or default_step(training)
        schedules = [rule.schedule(start.largest) for start in starts]
        march = self._in_turn if self.by == "compiled" else self._together
        histories = march(training, starts, schedules, job, problems[0].loss.loss)
        described = {
            "method": "margin ascent",
            "training": self.training,
            "step": rule,
            "dtype": self.dtype,
            "engine": self.name,
        }
        return tuple(
            _trajectory(training, problem, start, kept, described, job.steps)
            for problem, start, kept in zip(problems, starts, histories, strict=True)
        )

    def _in_turn(
        self,
        training: Training,
        starts: Sequence[Start],
        schedules: Sequence[Schedule],
        job: Job,
        loss: MarginLoss,
    ) -> list[Kept]:
        def one(k: int) -> Kept:
            def tell(done: int, steps: int) -> None:
                job.tell((k * steps + done) // len(starts), steps)

            mine = dataclasses.replace(job, tell=tell)
            return climb(training, starts[k], schedules[k], mine, loss, self.dtype)

        return [one(k) for k in range(len(starts))]

    def _together(
        self,
        training: Training,
        starts: Sequence[Start],
        schedules: Sequence[Schedule],
        job: Job,
        loss: MarginLoss,
    ) -> list[Kept]:
        from .ascent_batches import Batch

        histories: list[Kept] = [
            [(0, start.moving, Reached(start.log_beta, -np.inf, 0.0))] for start in starts
        ]
        last = 0
        with jax_in_double(), doing(lambda: f"step {last:,} of {job.steps:,}"):
            batch = Batch(training, starts, schedules, loss, self.dtype, self.device)
            for first, last, record in job.pieces():
                batch.advance(first, last)
                job.tell(last, job.steps)
                over = job.deadline.over()
                if record or over:
                    for history, (moving, *numbers) in zip(histories, batch.now(), strict=True):
                        history.append((last, moving, Reached(*numbers)))
                if over:
                    break
        return histories


def climb(
    training: Training,
    start: Start,
    schedule: Schedule,
    job: Job,
    loss: MarginLoss,
    dtype: str = "float64",
    trace: Array = NO_TRACE,
) -> Kept:
    """One run in compiled code; `trace` (steps, 2) is told the margin and log β before every
    step."""
    moving = tuple(np.array(leaf, dtype=dtype, order="C") for leaf in start.moving)
    fixed = tuple(
        np.ascontiguousarray(leaf, dtype=dtype if leaf.ndim == 2 else float) for leaf in start.fixed
    )
    now = Reached(start.log_beta, -np.inf, 0.0)
    kept: Kept = [(0, start.moving, now)]
    logistic, done = isinstance(loss, LogisticLoss), 0

    def words() -> str:
        return f"step {done:,} of {job.steps:,}, margin {now.best:.4g}"

    with job.deadline.flag(job.deadline.over) as stop, doing(words):
        for first, last, record in job.pieces():
            reached, done = training.compiled(
                moving, fixed, logistic, now, first, last, schedule, trace, stop
            )
            now = Reached(*reached)
            job.tell(done, job.steps)
            over = done < last or job.deadline.over()
            if (record or over) and done > kept[-1][0]:
                kept.append((done, tuple(np.array(leaf, dtype=float) for leaf in moving), now))
            if over:
                break
    return kept


def _trajectory(
    training: Training,
    problem: Problem,
    start: Start,
    kept: Kept,
    described: dict[str, Any],
    steps: int,
) -> Trajectory:
    """The record of one run; margins, S and weights are computed here from its states, in
    float64."""
    at, moving, reached = zip(*kept, strict=True)
    log_norm, best, clock = (np.array(column) for column in zip(*reached, strict=True))
    seen = [
        soft_minimum(problem.loss.loss, training.margins(now, start.fixed), log_beta)
        for now, log_beta in zip(moving, log_norm, strict=True)
    ]
    smooth, weights, margin = (np.array(column) for column in zip(*seen, strict=True))
    best = np.maximum.accumulate(np.maximum(margin, best))
    with np.errstate(over="ignore", invalid="ignore"):
        states = [
            training.params(now, log_beta, both_weights(problem))
            for now, log_beta in zip(moving, log_norm, strict=True)
        ]
    stats = {
        **described,
        "kept": np.array(at, dtype=np.intp),
        "log_norm": log_norm,
        "margin": margin,
        "best_margin": best,
        "weights": weights,
    }
    if not np.all(np.isfinite(log_norm)) or bool(np.any(log_norm > LARGEST_LOG)):
        result = Result.DIVERGED
    elif at[-1] < steps:
        result = Result.TIME_LIMIT
    else:
        result = Result.REACHED_T1 if best[-1] > 0 else Result.UNSEPARATED
    leaves = {
        name: np.array([getattr(state, name) for state in states]) for name in problem.start._fields
    }
    return Trajectory(
        clock,
        type(problem.start)(**leaves),
        -smooth,
        np.zeros(len(kept)),
        (),
        stats,
        result,
        problem,
    )


@renamed(ds="data", params0="start")
def margin_ascent(
    data: Dataset,
    start: TwoLayerParams,
    steps: int,
    step: float | StepRule | None = None,
    **options: Any,
) -> Trajectory:
    """w ← w + η(t)m∇F_m(w), C's gradient ascent on the smooth margin S of a two-layer network,
    `steps` times.

    Parameters
    ----------
    data : Dataset
        Labels ±1, inputs as they are (`data.with_bias` appends the bias column).
    start : models.TwoLayerParams
        (a, W) of the plain sum h(x) = Σ_ja_j(⟨w_j, x⟩)₊; C's weights are √m times these, and follow
        the same recursion in the same steps.
    steps : int
    step : float or StepRule, optional
        By default ½/√(t+1), over the power of two that the longest input is of the size of, and
        those of Propositions 6 and 7 for the other trainings.
    **options
        training: 'both' (layers); 'directions': only the norms ‖(a_j, w_j)‖ move (C, §4); 'output':
        only a moves (C, §5). loss: a `MarginLoss`, or 'exponential' or 'logistic'. activation:
        'relu'; 'squared_relu': a_j = ±1 are the signs of a SignedTwoLayer. dtype: 'float64' or
        'float32', of the matrix products; sums over neurons, soft-min and norms are in float64 in
        any case. records: how many states are kept, at geometric steps, or at which. progress(done,
        steps) is called every few hundred steps. method: 'compiled' (Numba, the default for one run
        or without an accelerator) or 'jax'; device: where JAX runs, 'cpu' or 'gpu'.

    Returns
    -------
    Trajectory
        times count steps; loss is −S; `error` is zero, since these are the very steps that were
        asked for. stats, by record: log_norm (log β; β = Σ(a_j² + ‖w_j‖²), for the output layer
        max{1, max_{s≤t} √m‖a(s)‖₂}), margin (min_i y_ih(x_i)/β), best_margin (of all steps so far),
        weights p.

    Examples
    --------
    >>> data = bf.data.with_bias(bf.Dataset([[-1.0], [1.0]], [-1.0, 1.0]))
    >>> run = bf.training.margin_ascent(data, bf.TwoLayer(6, 2).init(1.0, key=0), steps=2000)
    >>> print(run.margin[0].round(3), run.margin[-1].round(3))
    -0.059 0.354
    """
    return margin_ascents([(data, start)], steps, step, **options)[0]


@doing("ascent on the margin")
def margin_ascents(
    runs: Sequence[tuple[Dataset, TwoLayerParams]],
    steps: int,
    step: float | StepRule | None = None,
    *,
    training: str = "both",
    loss: MarginLoss | str = "exponential",
    activation: str = "relu",
    dtype: str = "float64",
    records: int | Iterable[int] = RECORDS,
    progress: Progress | None = None,
    method: str | None = None,
    device: Any = None,
) -> tuple[Trajectory, ...]:
    """`margin_ascent` of many runs, of any shapes: with method 'jax' in one compiled call, padded
    to one shape, on a GPU where there is one.

    Parameters
    ----------
    runs : sequence of (Dataset, models.TwoLayerParams)
    steps : int
    step, training, loss, activation, dtype, records, progress, method, device
        As for `margin_ascent`.

    Returns
    -------
    tuple of Trajectory

    Examples
    --------
    >>> data = bf.data.with_bias(bf.Dataset([[-1.0], [1.0]], [-1.0, 1.0]))
    >>> runs = [(data, bf.TwoLayer(6, 2).init(1.0, key=key)) for key in range(3)]
    >>> ends = bf.training.margin_ascents(runs, steps=2000, method="compiled")
    >>> [run.margin[-1].round(3).item() for run in ends]
    [0.354, 0.35, 0.354]
    """
    training_named(training, activation)
    risk, steps = margin_loss(loss), positive_int("steps", steps)
    rule = None if step is None else read_step(step)
    if not runs:
        raise InputError("runs: expected at least one pair (data, start)")
    problems = [read_run(data, start, activation, risk) for data, start in runs]
    by = method or METHODS[device is not None or worth_jax(len(runs))]
    engine = AscentEngine(training, dtype, by, device)
    job = Job(recorded_steps(records, steps), rule, tell=progress or silent)
    reason = engine.refusal(problems[0], job)
    if reason is not None:
        raise RefusedError(f"margin_ascent: {reason}")
    return tuple(
        dataclasses.replace(
            run, times=run.stats["kept"].astype(float), stats={**run.stats, "engine": by}
        )
        for run in stoppable(engine.run, problems, job)
    )


def worth_jax(runs: int) -> bool:
    """An accelerator is there, and there is more than one run for it."""
    if runs == 1:
        return False
    import jax

    return jax.default_backend() != "cpu"
