"""Gradient ascent on the smooth margin of two-layer networks, one run or many, recorded at
geometric steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.arguments import instance, one_of, positive_int
from .._core.problems import Dataset, Problem
from .._core.results import Result, Trajectory
from .._numerics.double_precision import jax_in_double
from ..errors import InputError
from ..losses import LogisticLoss, MarginLoss, margin_loss, soft_minimum
from ..models import TwoLayerParams
from .feature_ascents import geometric_steps
from .step_rules import DefaultStep, Proposition6Step, Proposition7Step, StepRule
from .trainables import Arrays, Start, Training, both_weights, read_run, training_named

RECORDS = 60
"""States kept of a run, at geometric steps."""
CHUNK = 500
"""Steps between two looks at the keyboard and two calls of `progress`."""
METHODS = ("compiled", "jax")
DTYPES = ("float32", "float64")
LARGEST_LOG = 1400.0
"""log β at which weights no longer fit in a float."""
DEFAULT_STEPS = {
    "both": DefaultStep(),
    "directions": Proposition6Step(),
    "output": Proposition7Step(),
}

Progress = Callable[[int, int], None]
Kept = list[tuple[int, Arrays, float, float]]
"""Of one run, by record: step, what moves at β = 1, log β, best margin before."""


def margin_ascent(
    ds: Dataset, params0: TwoLayerParams, steps: int, step: StepRule | None = None, **options: Any
) -> Trajectory:
    """w ← w + η(t)m∇F_m(w), C's gradient ascent on the smooth margin S of a two-layer network,
    `steps` times.

    ds: labels ±1, inputs as they are (`bf.data.with_bias` appends the bias column). params0 (a, W):
    the plain sum h(x) = Σ_ja_j(⟨w_j, x⟩)₊; C's weights are √m times these, and follow the same
    recursion in the same steps.
    step: a `StepRule`; by default ½/√(t+1), over the power of two that the longest input is of the
    size of, and those of Propositions 6 and 7 for the other trainings.
    Options:
    training 'both' (layers); 'directions': only the norms ‖(a_j, w_j)‖ move (C, §4); 'output': only
    a moves (C, §5). loss 'exponential' or 'logistic'. activation 'relu'; 'squared_relu': a_j = ±1
    are the signs of a SignedTwoLayer. dtype 'float64' or 'float32', of the matrix products; sums
    over neurons, soft-min and norms are in float64 in any case.
    records: how many states are kept, at geometric steps. progress(done, steps) is called every few
    hundred steps. method 'compiled' (Numba, the default for one run or without an accelerator) or
    'jax'; device: where JAX runs, 'cpu' or 'gpu'.

    times count steps; loss is −S; `error` is zero: ascent is what it is. stats, by record: log_norm
    (log β; β = Σ(a_j² + ‖w_j‖²), for the output layer max{1, max_{s≤t} √m‖a(s)‖₂}), margin (min_i
    y_ih(x_i)/β), best_margin (of all steps so far), weights p.
    """
    return margin_ascents([(ds, params0)], steps, step, **options)[0]


def margin_ascents(
    runs: Sequence[tuple[Dataset, TwoLayerParams]],
    steps: int,
    step: StepRule | None = None,
    *,
    training: str = "both",
    loss: MarginLoss | str = "exponential",
    activation: str = "relu",
    dtype: str = "float64",
    records: int = RECORDS,
    progress: Progress | None = None,
    method: str | None = None,
    device: Any = None,
) -> tuple[Trajectory, ...]:
    """`margin_ascent` of many runs (ds, params0), of any shapes: with method 'jax' in one compiled
    call, padded to one shape."""
    chosen, steps = training_named(training, activation), positive_int("steps", steps)
    rule = DEFAULT_STEPS[training] if step is None else instance("step", step, StepRule)
    risk = margin_loss(loss)
    one_of("dtype", dtype, DTYPES)
    if method is not None:
        one_of("method", method, METHODS)
    if method == "compiled" and device is not None:
        raise InputError(
            f"device: {device!r} was given, but method 'compiled' runs on the processor; use "
            "method 'jax'"
        )
    if not runs:
        raise InputError("runs: expected at least one pair (ds, params0)")
    problems = [read_run(ds, params0, activation, risk) for ds, params0 in runs]
    starts = [chosen.start(both_weights(problem), problem.data) for problem in problems]
    at = geometric_steps(steps, positive_int("records", records, least=2))
    by_jax = method == "jax" or (method is None and _worth_jax(len(runs), device))
    march = _together if by_jax else _in_turn
    tell = progress or (lambda done, total: None)
    snapshots = march(chosen, starts, rule, at, risk, dtype, device, tell)
    described = {
        "method": "margin ascent",
        "training": training,
        "step": rule,
        "dtype": dtype,
        "engine": METHODS[by_jax],
    }
    return tuple(
        _trajectory(chosen, problem, start, kept, risk, described)
        for problem, start, kept in zip(problems, starts, snapshots, strict=True)
    )


def _worth_jax(runs: int, device: Any) -> bool:
    """An accelerator is there, and there is more than one run for it."""
    if device is not None:
        return True
    if runs == 1:
        return False
    import jax

    return jax.default_backend() != "cpu"


def _pieces(at: NDArray[np.intp]) -> Iterator[tuple[int, int, bool]]:
    """(first, last, whether a record follows), in chunks."""
    for low, high in zip(at[:-1].tolist(), at[1:].tolist(), strict=True):
        for first in range(low, high, CHUNK):
            last = min(first + CHUNK, high)
            yield first, last, last == high


def _in_turn(
    training: Training,
    starts: Sequence[Start],
    rule: StepRule,
    at: NDArray[np.intp],
    loss: MarginLoss,
    dtype: str,
    device: Any,
    tell: Progress,
) -> list[Kept]:
    """One run after the other, compiled."""
    histories, total = [], int(at[-1])
    for k, start in enumerate(starts):
        schedule = rule.schedule(start.largest)
        numbers = (schedule.size, schedule.power, schedule.offset, schedule.with_norm)
        moving = tuple(np.array(leaf, dtype=dtype, order="C") for leaf in start.moving)
        fixed = tuple(
            np.ascontiguousarray(leaf, dtype=dtype if leaf.ndim == 2 else float)
            for leaf in start.fixed
        )
        log_beta, best = start.log_beta, -np.inf
        kept: Kept = [(0, start.moving, log_beta, best)]
        for first, last, record in _pieces(at):
            log_beta, best = training.compiled(
                moving, fixed, isinstance(loss, LogisticLoss), log_beta, best, first, last, *numbers
            )
            tell((k * total + last) // len(starts), total)
            if record:
                kept.append(
                    (last, tuple(np.array(leaf, dtype=float) for leaf in moving), log_beta, best)
                )
        histories.append(kept)
    return histories


def _together(
    training: Training,
    starts: Sequence[Start],
    rule: StepRule,
    at: NDArray[np.intp],
    loss: MarginLoss,
    dtype: str,
    device: Any,
    tell: Progress,
) -> list[Kept]:
    """All runs in one batch, by JAX."""
    from .ascent_batches import Batch

    schedules = [rule.schedule(start.largest) for start in starts]
    histories: list[Kept] = [[(0, start.moving, start.log_beta, -np.inf)] for start in starts]
    with jax_in_double():
        batch = Batch(training, starts, schedules, loss, dtype, device)
        for first, last, record in _pieces(at):
            batch.advance(first, last)
            tell(last, int(at[-1]))
            if record:
                for history, (moving, log_beta, best) in zip(histories, batch.now(), strict=True):
                    history.append((last, moving, log_beta, best))
    return histories


def _trajectory(
    training: Training,
    problem: Problem,
    start: Start,
    kept: Kept,
    loss: MarginLoss,
    described: dict[str, Any],
) -> Trajectory:
    """The record of one run; margins, S and weights are computed here from its states, in
    float64."""
    seen = [
        soft_minimum(loss, training.margins(moving, start.fixed), log_beta)
        for _, moving, log_beta, _ in kept
    ]
    log_norm = np.array([log_beta for _, _, log_beta, _ in kept])
    margin = np.array([each.least for each in seen])
    overflown = not np.all(np.isfinite(log_norm)) or bool(np.any(log_norm > LARGEST_LOG))
    with np.errstate(over="ignore", invalid="ignore"):
        states = [
            training.params(moving, log_beta, both_weights(problem))
            for _, moving, log_beta, _ in kept
        ]
    stats = {
        **described,
        "log_norm": log_norm,
        "margin": margin,
        "best_margin": np.maximum.accumulate(np.maximum(margin, [best for *_, best in kept])),
        "weights": np.array([each.weights for each in seen]),
    }
    return Trajectory(
        np.array([float(t) for t, *_ in kept]),
        type(problem.params0)(
            **{
                name: np.array([getattr(state, name) for state in states])
                for name in problem.params0._fields
            }
        ),
        -np.array([float(each.value) for each in seen]),
        np.zeros(len(kept)),
        (),
        stats,
        Result.DIVERGED
        if overflown
        else Result.REACHED_T1
        if stats["best_margin"][-1] > 0
        else Result.UNSEPARATED,
        problem,
    )
