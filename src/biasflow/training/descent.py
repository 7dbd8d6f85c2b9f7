"""Gradient descent and SGD on the weights, in NumPy or compiled, and what a finite step does to the
bias of diagonal networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.arguments import Array, positive_int
from .._core.former_names import keyword_only, renamed
from .._core.problems import Dataset, Problem
from .._core.progress import doing
from .._core.results import Limit, Result, Trajectory
from .._core.trees import leaves, regrouped, stack
from .._numerics.flow_frame import CONVERGED
from .._numerics.interrupts import Flag
from ..errors import ConvergenceError, InputError, RefusedError
from ..limits import bregman_projection
from ..losses import Loss, SquareLoss, needs_square
from ..models import DiagonalNetwork, Model, TwoLayer, TwoLayerParams
from ..potentials import Hypentropy
from .jobs import STEPS_BETWEEN_LOOKS, Engine, Job, geometric_steps
from .step_rules import Schedule, plain_schedule, read_step

RECORDS = 201
"""States kept of a run, its start included, at geometric steps."""
CHECK_EVERY = 10
"""Steps between two looks at the loss."""
DIVERGED_GROWTH = 1e8
"""Growth of the loss at which a run has diverged."""
ENDS = (None, Result.CONVERGED, Result.DIVERGED)
"""What the codes of a look at the loss mean, None that the run goes on."""
WENT_ON, REACHED, OVERSHOOTS = range(3)

Advance = Callable[[int, int], tuple[Any, int, int]]
"""Steps first … last, to the state then, the steps that are done, and a code."""
Kept = list[tuple[int, Any, float]]
"""Steps, the states there, and their losses."""


class NumPyEngine(Engine):
    """Any model and loss, batches, one run after the other."""

    name = "numpy"

    def refusal(self, problem: Problem, job: Job) -> str | None:
        return None

    def run(self, problems: Sequence[Problem], job: Job) -> tuple[Trajectory, ...]:
        return tuple(
            self._one(problem, job, key) for problem, key in zip(problems, job.keys, strict=True)
        )

    def _one(self, problem: Problem, job: Job, key: int) -> Trajectory:
        schedule = plain_schedule(job.rule)
        advance = _numpy_advance(problem, schedule, job, key, lambda gradient: None)
        return described(problem, schedule, job, key, self.name, *recorded(problem, advance, job))


class NumbaEngine(Engine):
    """Two-layer networks under the square loss, all samples at every step, in compiled code."""

    name = "numba"

    def refusal(self, problem: Problem, job: Job) -> str | None:
        if isinstance(problem.model, TwoLayer) and isinstance(problem.loss, SquareLoss):
            return None if job.batch is None else "compiled descent takes all samples at every step"
        return "compiled descent is for TwoLayer networks under SquareLoss"

    def run(self, problems: Sequence[Problem], job: Job) -> tuple[Trajectory, ...]:
        schedule = plain_schedule(job.rule)
        with job.deadline.flag(job.deadline.over) as stop:
            runs = [
                recorded(problem, _compiled_advance(problem, schedule, job, stop), job)
                for problem in problems
            ]
        return tuple(
            described(problem, schedule, job, key, self.name, *run)
            for problem, key, run in zip(problems, job.keys, runs, strict=True)
        )


def recorded(problem: Problem, advance: Advance, job: Job) -> tuple[Kept, Result, int]:
    """The states at the steps to keep, why the run ended, and after how many steps."""
    kept: Kept = [(0, problem.start, loss_at(problem, problem.start))]
    state, done = kept[0][1], 0

    def words() -> str:
        return f"step {done:,} of {job.steps:,}, loss {loss_at(problem, state):.3g}"

    chunk = STEPS_BETWEEN_LOOKS if np.isfinite(job.deadline.seconds) else job.steps
    # a diverging run is named, not warned about
    with np.errstate(over="ignore", invalid="ignore"), doing(words):
        for first, last, record in job.pieces(chunk):
            state, done, code = advance(first + 1, last)
            end = ENDS[code]
            if end is Result.DIVERGED:
                return [each for each in kept if _finite(each[1])], end, done
            end = end or (Result.TIME_LIMIT if job.deadline.over() and done < job.steps else None)
            if (record or end is not None) and done > kept[-1][0]:
                kept.append((done, state, loss_at(problem, state)))
            if end is not None:
                return kept, end, done
    return kept, Result.REACHED_T1, job.steps


def loss_at(problem: Problem, state: Any) -> float:
    """The loss on all samples, infinite or NaN beyond float range."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(problem.loss(problem.model(state, problem.data.X), problem.data.y))


def described(
    problem: Problem,
    schedule: Schedule,
    job: Job,
    key: int,
    engine: str,
    kept: Kept,
    result: Result,
    steps: int,
) -> Trajectory:
    """A descent as a trajectory: times Σ of the steps, no error, for descent is what it is."""
    places, states, losses = zip(*kept, strict=True)
    at = np.array(places, dtype=np.intp)
    stats = {
        "method": "descent",
        "engine": engine,
        "steps": steps,
        "step": job.rule,
        "stepsize": schedule.size,
        "batch": job.batch,
        "key": key,
        "kept": at,
    }
    return Trajectory(
        schedule.times(at),
        stack(list(states)),
        np.array(losses),
        np.zeros(at.size),
        (),
        stats,
        result,
        problem,
    )


@renamed(ds="data", params0="start", stepsize="step")
@keyword_only("batch", "key")
def effective_limit(
    model: Model,
    data: Dataset,
    loss: Any,
    start: Any,
    step: float,
    steps: int,
    *,
    batch: int | None = None,
    key: int = 0,
) -> tuple[Limit[Array], Any]:
    """The limit of gradient descent or SGD on a depth-2 diagonal network as a Bregman projection;
    with the weights it reached.

    With s_k = 2γ·∂L/∂β the k-th relative step, w± ← w±(1 ∓ s_k), so w₊w₋ gains Π(1−s_k²) and
    log(w₊/w₋) moves by −2Σartanh s_k, of which −2Σs_k lies in Im Xᵀ. The limit is therefore the
    projection for the hypentropy with r_eff = 2w₊w₋·Π(1−s_k²), from the start shifted by −2Σ(artanh
    s_k − s_k) in the mirror coordinate (Pesme et al. 2021, Even et al. 2023). A step with |s| > 1
    flips the sign of a weight; β only sees its square, and the formulas hold with absolute values.

    Parameters
    ----------
    model : DiagonalNetwork
        Of depth 2.
    data : Dataset
    loss : SquareLoss
    start : models.DiagonalParams
    step : float
        γ.
    steps : int
    batch, key : int
        As for `train`.

    Returns
    -------
    (Limit, parameters)
        stats adds log_gain = Σlog|1−s_k²| and shift, per coordinate, and the descent's result.

    Examples
    --------
    >>> model, data = bf.DiagonalNetwork(2), bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> end, reached = bf.training.effective_limit(
    ...     model, data, bf.SquareLoss("half"), model.init(0.5, dim=3), step=0.01, steps=5000
    ... )
    >>> print(end.value.round(4), model.effective(reached).round(4))
    [0.3361 0.762  1.38  ] [0.3361 0.762  1.38  ]
    """
    if not isinstance(model, DiagonalNetwork) or model.depth != 2:
        raise RefusedError("effective_limit: known for DiagonalNetwork(depth=2) only")
    needs_square("effective_limit", loss)
    problem, schedule = Problem(model, data, loss, start), plain_schedule(read_step(step))
    start = problem.start
    if np.any(start.plus <= 0) or np.any(start.minus <= 0):
        raise InputError("start: expected positive weights")
    done, log_gain, shift = 0, np.zeros(data.d), np.log(start.plus) - np.log(start.minus)

    def observe(beta_gradient: Array) -> None:
        nonlocal done, log_gain, shift
        s = 2 * schedule(done) * beta_gradient
        if np.any(np.abs(s) == 1):
            raise InputError(
                f"step: {schedule.size:g} sends a weight to exactly zero, where it stays"
            )
        # a diverging run, which is refused below
        with np.errstate(over="ignore", invalid="ignore"):
            minus, plus = np.log(np.abs(1 - s)), np.log(np.abs(1 + s))
            small = np.abs(s) < 0.5
            minus, plus = (
                np.where(small, np.log1p(-np.where(small, s, 0.0)), minus),
                np.where(small, np.log1p(np.where(small, s, 0.0)), plus),
            )
        done, log_gain, shift = done + 1, log_gain + minus + plus, shift + minus - plus + 2 * s

    job = read_job(problem, steps, read_step(step), batch, key)
    advance = _numpy_advance(problem, schedule, job, key, observe)
    kept, result, k = recorded(problem, advance, job)
    params = kept[-1][1]
    if result is Result.DIVERGED:
        raise ConvergenceError(
            f"effective_limit: {result.value} after {k} steps; step {schedule.size:g} is too large",
            params,
        )
    log_r = np.log(2.0) + np.log(start.plus) + np.log(start.minus) + log_gain
    potential = Hypentropy(log_alpha=log_r)
    projected = bregman_projection(potential, data.X, data.y, potential.grad_conjugate(shift))
    stats = {**projected.stats, "log_gain": log_gain, "shift": shift, "steps": k, "descent": result}
    return Limit(projected.value, projected.objective, projected.certificate, stats), params


def read_job(problem: Problem, steps: int, rule: Any, batch: int | None, key: int) -> Job:
    """The loss, the labels it takes and the batch, or errors that name them."""
    problem.loss.checked(problem.data.y)
    if batch is not None:
        if positive_int("batch", batch) > problem.data.n:
            raise InputError(f"batch: {batch} exceeds n = {problem.data.n}")
        problem.loss.factor(problem.data.n)  # refuses where no batch gives an unbiased gradient
    kept = geometric_steps(positive_int("steps", steps), RECORDS)
    return Job(kept, rule, batch, (positive_int("key", key, least=0),))


def _numpy_advance(
    problem: Problem, schedule: Schedule, job: Job, key: int, observe: Callable[[Array], None]
) -> Advance:
    """Steps in NumPy; `observe` sees XᵀL'(Xβ) of every step."""
    model, data, loss, params = problem.model, problem.data, problem.loss, problem.start
    rng, batch = np.random.default_rng(key), job.batch
    scale = 1.0 if batch is None else unbiased(loss, data.n, batch)
    goal, limit = bounds(loss, float(loss(model(params, data.X), data.y)))

    def advance(first: int, last: int) -> tuple[Any, int, int]:
        nonlocal params
        for k in range(first, last + 1):
            rows = slice(None) if batch is None else rng.choice(data.n, batch, replace=False)
            X, y = data.X[rows], data.y[rows]
            output = loss.gradient(model(params, X), y) * scale
            observe(X.T @ output)
            params = stepped(params, model.gradient(params, X, output), schedule(k - 1))
            if job.deadline.over():
                return params, k, WENT_ON
            if k % CHECK_EVERY == 0 or k == job.steps:
                now = float(loss(model(params, data.X), data.y))
                if not np.isfinite(now) or now > limit:
                    return params, k, OVERSHOOTS
                if now <= goal:
                    return params, k, REACHED
        return params, last, WENT_ON

    return advance


def _compiled_advance(problem: Problem, schedule: Schedule, job: Job, stop: Flag) -> Advance:
    """The same on a two-layer network under the square loss, compiled; until `stop` is raised."""
    from .._numerics.compilation import announced
    from .relu_descent import descend

    model, data, start = problem.model, problem.data, problem.start
    a, W, X = start.a.copy(), start.W.copy(), np.ascontiguousarray(data.X)
    square = float(np.sum((model(start, data.X) - data.y) ** 2))
    ends = (CHECK_EVERY, job.steps, *bounds(problem.loss, square))
    speed = 2 * problem.loss.factor(data.n)

    def advance(first: int, last: int) -> tuple[Any, int, int]:
        settings = (model.negative_slope, speed, schedule, first, last, *ends, stop)
        done, code = announced("ReLU", descend, a, W, X, data.y, *settings)
        return TwoLayerParams(a.copy(), W.copy()), done, code

    return advance


def _finite(params: Any) -> bool:
    return all(bool(np.all(np.isfinite(leaf))) for leaf in leaves(params))


def bounds(loss: Loss, loss0: float) -> tuple[float, float]:
    """Where a run has converged and where it has diverged; losses without a minimiser go on to
    their last step."""
    return (
        (CONVERGED * loss0, DIVERGED_GROWTH * max(loss0, np.finfo(float).tiny))
        if loss.attained
        else (-np.inf, np.inf)
    )


def stepped(params: Any, gradient: Any, step: Any) -> Any:
    """w − γ∇."""
    if isinstance(params, tuple):
        return regrouped(
            params,
            [stepped(part, slope, step) for part, slope in zip(params, gradient, strict=True)],
        )
    return params - step * gradient


def unbiased(loss: Loss, n: int, size: int) -> float:
    """What makes the gradient on a batch an unbiased estimate of the whole one."""
    return float(loss.factor(n) * n / (loss.factor(size) * size))
