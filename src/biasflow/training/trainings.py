"""One verb in front of the engines that take steps w ← w − γg."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core.arguments import instance, one_of, positive_int
from .._core.former_names import keyword_only, renamed
from .._core.problems import Dataset, Problem, dataset, from_starts
from .._core.progress import doing
from .._core.results import Trajectory
from .._numerics.deadlines import Deadline
from .._numerics.interrupts import stoppable
from ..errors import InputError, RefusedError
from ..losses import Loss
from ..models import Model
from .ascent import METHODS, AscentEngine, worth_jax
from .batches import JaxEngine
from .descent import RECORDS, NumbaEngine, NumPyEngine, read_job
from .jobs import Engine, Job, recorded_steps
from .step_rules import StepRule, read_step

ENGINES = ("numpy", "numba", "jax")


@renamed(record="records")
@doing("training")
def train(
    problem: Problem,
    *,
    steps: int,
    step: float | StepRule | None = None,
    batch: int | None = None,
    key: int = 0,
    starts: Sequence[Any] | None = None,
    records: int | Iterable[int] = RECORDS,
    engine: str | Engine | None = None,
    time_s: float | None = None,
) -> Any:
    """w ← w − γ(t)∇L(w), `steps` times, or until a loss with a minimiser is 1e-20 of its start.

    Two-layer networks under `SmoothMargin` are trained at norm one with the logarithm of their norm
    beside it, so that no norm is too large (C's gradient ascent).

    Parameters
    ----------
    problem : Problem
        Model, data, loss and start.
    steps : int
        How many, at most.
    step : float or StepRule
        γ, or how it changes. None is `margin_ascent`'s own, for the smooth margin only.
    batch : int, optional
        SGD on that many samples a step, drawn without replacement, the gradient scaled by n/batch
        (unbiased).
    key : int
        Of the samples drawn; the k-th of many runs has key + k.
    starts : sequence of parameters, optional
        Many runs of the same problem, from these starts.
    records : int or steps
        How many states are kept, at geometric steps, or at which steps; the start and the last are.
    engine : {'numpy', 'numba', 'jax'} or Engine, optional
        What takes the steps. By default compiled code where there is some, else JAX for many runs
        and NumPy for one; `stats['engine']` says which.
    time_s : float, optional
        Seconds after which a run stops where it is; compilation does not count.

    Returns
    -------
    Trajectory, or with `starts` a tuple of them
        States at the steps `stats['kept']`, times Σγ. `error` is zero: descent is what it is. A run
        that diverged ends before it did, and says so in `result`.

    Raises
    ------
    RefusedError
        Where the engine asked for cannot do it; the sentence says why.
    KeyboardInterrupt
        Ctrl-C stops it within half a second; `partial` is the run so far, unless making it takes
        longer.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> model = bf.DiagonalNetwork(2)
    >>> problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), model.init(0.3, dim=24))
    >>> bf.train(problem, steps=50_000, step=0.05).result.value
    'converged: the loss fell below its threshold'
    """
    deadline = Deadline(time_s)
    instance("problem", problem, Problem)
    instance("loss", problem.loss, Loss)
    problems = [problem] if starts is None else from_starts(problem, starts)
    if not all(each.in_floats for each in problems):
        raise RefusedError(
            "train: steps are taken in floats, and this start lies below their range"
        )
    rule = None if step is None else read_step(step)
    job = dataclasses.replace(
        read_job(problem, steps, rule, batch, key),
        kept=recorded_steps(records, positive_int("steps", steps)),
        keys=range(int(key), int(key) + len(problems)),
        deadline=deadline,
    )
    chosen = _chosen(engine, problems, job)

    def run() -> Any:
        runs = chosen.run(problems, job)
        return runs[0] if starts is None else runs

    return stoppable(run)


def _chosen(engine: str | Engine | None, problems: Sequence[Problem], job: Job) -> Engine:
    """The engine itself, the first of that name that can do it, or the fastest that can."""
    if isinstance(engine, Engine):
        able = [engine]
    else:
        ascents = [AscentEngine(by=method) for method in METHODS]
        if worth_jax(len(problems)):
            ascents.reverse()
        rest = [NumbaEngine(), NumPyEngine(), JaxEngine()]
        able = [*ascents, *(rest if len(problems) == 1 else [rest[0], rest[2], rest[1]])]
        if engine is not None:
            able = [each for each in able if each.name == one_of("engine", engine, ENGINES)]
    reasons = []
    for each in able:
        reason = each.refusal(problems[0], job)
        if reason is None:
            return each
        reasons.append(reason)
    raise RefusedError(f"engine: {'; '.join(reasons)}")


@renamed(ds="data", params0="start", stepsize="step")
@keyword_only("batch", "key")
def gradient_descent(
    model: Model,
    data: Dataset,
    loss: Any,
    start: Any,
    step: float | StepRule,
    steps: int,
    *,
    batch: int | None = None,
    key: int = 0,
) -> Trajectory:
    """`train` of one run by descent on the weights themselves, whatever the loss: in NumPy, or in
    compiled code for two-layer networks under the square loss.

    Parameters
    ----------
    model, data, loss, start
        As for a `Problem`.
    step : float or StepRule
    steps : int
    batch, key : int
        As for `train`.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> model, data = bf.DiagonalNetwork(2), bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> run = bf.training.gradient_descent(
    ...     model, data, bf.SquareLoss("half"), model.init(0.5, dim=3), step=0.01, steps=5000
    ... )
    >>> model.effective(run.final).round(3)
    array([0.336, 0.762, 1.38 ])
    """
    instance("model", model, Model)
    data = dataset(data)
    problem = Problem(model, data, instance("loss", loss, Loss), start)
    if step is None:
        raise InputError("step: expected a number or a step rule, found None")
    engine = next(
        each
        for each in (NumbaEngine(), NumPyEngine())
        if each.refusal(problem, Job(np.array([0, 1]), None, batch)) is None
    )
    run: Trajectory = train(problem, steps=steps, step=step, batch=batch, key=key, engine=engine)
    return run
