"""Gradient descent and SGD with a finite step on the depth-2 model: the same projection, at an
effective α per coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...errors import BiasflowError
from ...flows import limit
from ...models import DiagonalParams
from ...training import effective_limit
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale, start_spread
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind
from .ends import ROUNDING, remaining
from .families import diagonal_family

MOST_STEPS = 20_000
"""Steps after which a run that has not converged leaves the verdict open."""
SHARES = (0.1, 0.4, 1.6)
"""Step sizes as shares of the inverse of the largest curvature at the limit; from 2 on that limit
repels."""
RUNS: tuple[tuple[str, float, bool], ...] = (
    *((f"gradient descent, step {share}/λ", share, False) for share in SHARES),
    (f"SGD on half batches, step {SHARES[0]}/λ", SHARES[0], True),
)
CONVERGED_LOSS = 1e-20
"""Loss, over that at the start, at which a run has ended."""
DIVERGED_LOSS = 1e8
"""The same at which it never will."""
KEY = 0
"""Of the batches."""
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class HandDescent:
    """Descent by hand: the weights it ends at, Σlog|1 − s²| for its relative steps s, the largest
    s², how many steps it took."""

    params: DiagonalParams
    gain: Array
    largest: float
    steps: int
    converged: bool


def descend(
    problem: Problem, step: float, batch: int | None, over: Callable[[], bool]
) -> HandDescent:
    """w ← w − γ∇L(w), from the model's own gradient, until the loss is gone, is beyond all bounds,
    or there is no time left."""
    model, X, y, n = problem.model, problem.data.X, problem.data.y, problem.data.n
    params, rng = problem.start, np.random.default_rng(KEY)
    gain, largest, start = np.zeros(problem.data.d), 0.0, float(np.sum((model(params, X) - y) ** 2))
    weight = 2 * problem.loss.factor(n) * (1.0 if batch is None else n / batch)
    for k in range(1, MOST_STEPS + 1):
        rows = slice(None) if batch is None else rng.choice(n, batch, replace=False)
        output = weight * (model(params, X[rows]) - y[rows])
        square = (2 * step * (X[rows].T @ output)) ** 2
        with np.errstate(divide="ignore"):
            gain = gain + np.log(np.abs(1 - square))
        largest = max(largest, float(np.max(square)))
        slope = model.gradient(params, X[rows], output)
        params = DiagonalParams(params.plus - step * slope.plus, params.minus - step * slope.minus)
        if k % 10 == 0:
            loss = float(np.sum((model(params, X) - y) ** 2))
            if loss <= CONVERGED_LOSS * start:
                return HandDescent(params, gain, largest, k, True)
            if over() or not loss <= DIVERGED_LOSS * start:
                break
    return HandDescent(params, gain, largest, k, False)


def stable_step(problem: Problem, beta: Array) -> float:
    """1/λ of the loss's Hessian at an interpolator with w₊² − w₋² = β, w₊w₋ = α²: λ =
    8c·λ_max(X·diag(w₊²+w₋²)·Xᵀ)."""
    X, c, alpha = problem.data.X, problem.loss.factor(problem.data.n), start_scale(problem)
    size = np.hypot(beta, 2 * alpha**2)
    return 1 / (8 * c * float(np.linalg.eigvalsh((X * size) @ X.T)[-1]))


def _descent(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    flow = limit(
        problem.model, problem.data, problem.loss, start=problem.start, time_s=evidence.time_left
    ).value
    unit = stable_step(problem, flow)
    checks: list[Check] = []
    for name, share, batched in RUNS:
        batch = max(problem.data.n // 2, 1) if batched else None
        words = f"{name}: relative distance from the projection at r_eff"
        checks += part(words, partial(_one, evidence, flow, name, words, share * unit, batch))
    return tuple(checks)


def _one(
    evidence: Evidence, flow: Array, name: str, quantity: str, step: float, batch: int | None
) -> list[Check]:
    """One run against its prediction; flow: where gradient flow ends, which should be elsewhere."""
    problem = evidence.network
    with np.errstate(over="ignore", invalid="ignore"):
        run = descend(problem, step, batch, evidence.deadline.over)
    if not run.converged:
        raise Unmeasured(f"not converged in {run.steps} steps")
    model, start = problem.model, problem.start
    try:
        predicted, _ = effective_limit(
            model, problem.data, problem.loss, start, step, run.steps, batch=batch, key=KEY
        )
    except BiasflowError as reason:
        raise Unmeasured(str(reason)) from reason
    notes: dict[str, Any] = {"witness": "descent by hand in the weights"}
    beta = problem.model.effective(run.params)
    size = float(np.max(np.abs(beta)))
    # of products of as many factors, to first order
    rounded = 10 * run.steps * EPS + 2 * start_spread(problem)
    error = 2 * remaining(problem, run.params) / size + rounded * (
        1 + abs(np.log(start_scale(problem)))
    )
    error += ROUNDING * float(np.max(np.square(run.params))) / size  # w₊² − w₋² cancels
    away, null = (float(np.max(np.abs(beta - value))) / size for value in (predicted.value, flow))
    product = (
        np.log(np.abs(run.params.plus))
        + np.log(np.abs(run.params.minus))
        - 2 * np.log(start_scale(problem))
    )
    gain = predicted.stats["log_gain"]
    mismatch = float(np.max(np.abs(product - gain)))
    checks = [
        Check(quantity, away, "==", 0.0, error, null=null, **notes),
        Check(
            f"{name}: log(w₊w₋/α²) against Σlog|1−s²|, largest difference",
            mismatch,
            "==",
            0.0,
            rounded,
            **notes,
        ),
    ]
    if run.largest <= 2:  # beyond, a factor |1 − s²| may exceed one: nothing is claimed
        words = f"{name}: largest log(r_eff/r), all s² ≤ 2"
        checks.append(
            Check(words, float(np.max(product)), "<=", 0.0, min(rounded, 1e-9), null=0.0, **notes)
        )
    return checks


descent = Claim(
    "W/descent",
    "With a finite step, or minibatches, the limit is the projection for r_eff = 2α²Π|1−s_k²| from "
    "a start shifted by −2Σ(artanh s_k − s_k), s_k the relative steps: a smaller effective α as "
    "long as s_k² ≤ 2, but not the same for every coordinate.",
    "Even et al. 2023, Pesme et al. 2021, for W's model",
    (depth(2, 2), SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, scale=[0.1, 0.3, 0.03][key % 3]),
    _descent,
    kind=Kind.FLOW,
    witness="descent by hand in the weights",
    null="gradient flow's limit, at r",
    family=lambda key: diagonal_family(key, 2),
)

CLAIMS = (descent,)
