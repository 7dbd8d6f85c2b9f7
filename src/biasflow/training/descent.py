"""Gradient descent and SGD on the weights, and what a finite step does to the bias of diagonal
networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.arguments import Array, instance, positive_float, positive_int
from .._core.problems import Dataset, Problem
from .._core.results import Limit, Result, Trajectory
from .._core.trees import leaves, regrouped, stack
from .._numerics.flow_frame import CONVERGED
from ..errors import ConvergenceError, InputError, RefusedError
from ..limits import bregman_projection
from ..losses import Loss, SquareLoss, needs_square
from ..models import DiagonalNetwork, Model, TwoLayer, TwoLayerParams
from ..potentials import Hypentropy

RECORDS = 200
"""States kept of a run, at logarithmically spaced steps."""
CHECK_EVERY = 10
OVERSHOT = 1e8
"""Growth of the loss at which a run has diverged."""


def gradient_descent(
    model: Model,
    ds: Dataset,
    loss: Any,
    params0: Any,
    stepsize: float,
    steps: int,
    batch: int | None = None,
    key: int = 0,
) -> Trajectory:
    """w ← w − γ∇L(w), `steps` times, or until a loss with a minimiser is 1e-20 of its start; states
    at log-spaced k, times kγ.

    Two-layer networks descend in compiled code under the square loss.
    batch: SGD on that many samples a step, drawn without replacement, the gradient scaled by
    n/batch (unbiased). A diverging run stops and says so in `result`. `error` is zero: descent is
    what it is.
    """
    stepsize = positive_float("stepsize", stepsize)
    if isinstance(model, TwoLayer) and isinstance(loss, SquareLoss) and batch is None:
        kept, result, k = _descend_compiled(model, ds, loss, params0, stepsize, steps)
    else:
        _, kept, result, k = _descend(
            model, ds, loss, params0, stepsize, steps, batch, key, lambda gradient: None
        )
    times = stepsize * np.array([step for step, _ in kept], dtype=float)
    states = stack([state for _, state in kept])
    with np.errstate(over="ignore", invalid="ignore"):
        losses = np.array([float(loss(model(state, ds.X), ds.y)) for _, state in kept])
    stats = {"method": "descent", "steps": k, "stepsize": stepsize, "batch": batch, "key": key}
    problem = Problem(model, ds, loss, model.checked(params0, ds.d))
    return Trajectory(times, states, losses, np.zeros(len(kept)), (), stats, result, problem)


def effective_limit(
    model: Model,
    ds: Dataset,
    loss: Any,
    params0: Any,
    stepsize: float,
    steps: int,
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
    stats adds log_gain = Σlog|1−s_k²| and shift, per coordinate, and the descent's result.
    """
    stepsize = positive_float("stepsize", stepsize)
    if not isinstance(model, DiagonalNetwork) or model.depth != 2:
        raise RefusedError("effective_limit: known for DiagonalNetwork(depth=2) only")
    needs_square("effective_limit", loss)
    start = model.checked(params0, ds.d)
    if np.any(start.plus <= 0) or np.any(start.minus <= 0):
        raise InputError("params0: expected positive weights")
    log_gain, shift = np.zeros(ds.d), np.log(start.plus) - np.log(start.minus)

    def observe(beta_gradient: Array) -> None:
        nonlocal log_gain, shift
        s = 2 * stepsize * beta_gradient
        if np.any(np.abs(s) == 1):
            raise InputError(
                f"stepsize: {stepsize:g} sends a weight to exactly zero, where it stays"
            )
        # a diverging run, which is refused below
        with np.errstate(over="ignore", invalid="ignore"):
            minus, plus = np.log(np.abs(1 - s)), np.log(np.abs(1 + s))
            small = np.abs(s) < 0.5
            minus, plus = (
                np.where(small, np.log1p(-np.where(small, s, 0.0)), minus),
                np.where(small, np.log1p(np.where(small, s, 0.0)), plus),
            )
        log_gain, shift = log_gain + minus + plus, shift + minus - plus + 2 * s

    params, _, result, k = _descend(model, ds, loss, start, stepsize, steps, batch, key, observe)
    if result is Result.DIVERGED:
        raise ConvergenceError(
            f"effective_limit: {result.value} after {k} steps; stepsize {stepsize:g} is too large",
            params,
        )
    log_r = np.log(2.0) + np.log(start.plus) + np.log(start.minus) + log_gain
    potential = Hypentropy(log_alpha=log_r)
    projected = bregman_projection(potential, ds.X, ds.y, potential.grad_conjugate(shift))
    stats = {**projected.stats, "log_gain": log_gain, "shift": shift, "steps": k, "descent": result}
    return Limit(projected.value, projected.objective, projected.certificate, stats), params


def _descend(
    model: Model,
    ds: Dataset,
    loss: Any,
    params0: Any,
    stepsize: float,
    steps: int,
    batch: int | None,
    key: int,
    observe: Callable[[Array], None],
) -> tuple[Any, list[tuple[int, Any]], Result, int]:
    """Run; `observe` sees XᵀL'(Xβ) of every step."""
    instance("model", model, Model)
    instance("ds", ds, Dataset)
    instance("loss", loss, Loss).checked(ds.y)
    params, steps, key = (
        model.checked(params0, ds.d),
        positive_int("steps", steps),
        positive_int("key", key, least=0),
    )
    if batch is not None and positive_int("batch", batch) > ds.n:
        raise InputError(f"batch: {batch} exceeds n = {ds.n}")
    with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is named, not warned about
        return _run(
            model, ds, loss, params, stepsize, steps, batch, np.random.default_rng(key), observe
        )


def _descend_compiled(
    model: TwoLayer, ds: Dataset, loss: SquareLoss, params0: Any, stepsize: float, steps: int
) -> tuple[list[tuple[int, Any]], Result, int]:
    """The same on a two-layer network, in compiled code between the states that are kept."""
    from .._numerics.compilation import announced
    from .relu_descent import CONVERGED as REACHED, WENT_ON, descend

    instance("ds", ds, Dataset)
    start, steps = model.checked(params0, ds.d), positive_int("steps", steps)
    a, W, X = start.a.copy(), start.W.copy(), np.ascontiguousarray(ds.X)
    square = float(np.sum((model(start, ds.X) - ds.y) ** 2))
    goal, limit = CONVERGED * square, OVERSHOT * max(square, np.finfo(float).tiny)
    kept, done = [(0, start)], 0
    for step in np.unique(np.append(np.geomspace(1, steps, RECORDS).astype(int), steps)).tolist():
        settings = (
            model.negative_slope,
            2 * loss.factor(ds.n),
            stepsize,
            done + 1,
            step,
            CHECK_EVERY,
            goal,
            limit,
        )
        done, code = announced("ReLU", descend, a, W, X, ds.y, *settings)
        kept.append((done, TwoLayerParams(a.copy(), W.copy())))
        if code != WENT_ON:
            return kept, Result.CONVERGED if code == REACHED else Result.DIVERGED, done
    return kept, Result.REACHED_T1, done


def _finite(params: Any) -> bool:
    return all(bool(np.all(np.isfinite(leaf))) for leaf in leaves(params))


def _run(
    model: Model,
    ds: Dataset,
    loss: Any,
    params: Any,
    stepsize: float,
    steps: int,
    batch: int | None,
    rng: np.random.Generator,
    observe: Callable[[Array], None],
) -> tuple[Any, list[tuple[int, Any]], Result, int]:
    record = set(np.unique(np.geomspace(1, steps, RECORDS).astype(int)).tolist())
    kept, (goal, limit) = [(0, params)], _bounds(loss, float(loss(model(params, ds.X), ds.y)))
    for k in range(1, steps + 1):
        rows = slice(None) if batch is None else rng.choice(ds.n, batch, replace=False)
        X, y = ds.X[rows], ds.y[rows]
        output = loss.gradient(model(params, X), y) * (
            1.0 if batch is None else unbiased(loss, ds.n, len(y))
        )
        observe(X.T @ output)
        gradient = model.gradient(params, X, output)
        params = stepped(params, gradient, stepsize)
        if k in record:
            kept.append((k, params))
        if k % CHECK_EVERY == 0 or k == steps:
            now = float(loss(model(params, ds.X), ds.y))
            if not np.isfinite(now) or now > limit:
                return (
                    params,
                    [(at, state) for at, state in kept if _finite(state)],
                    Result.DIVERGED,
                    k,
                )
            if now <= goal:
                if kept[-1][0] != k:
                    kept.append((k, params))
                return params, kept, Result.CONVERGED, k
    if kept[-1][0] != steps:
        kept.append((steps, params))
    return params, kept, Result.REACHED_T1, steps


def _bounds(loss: Loss, loss0: float) -> tuple[float, float]:
    """Where a run has converged and where it has diverged; losses without a minimiser go on to
    their last step."""
    return (
        (CONVERGED * loss0, OVERSHOT * max(loss0, np.finfo(float).tiny))
        if loss.attained
        else (-np.inf, np.inf)
    )


def stepped(params: Any, gradient: Any, stepsize: Any) -> Any:
    """w − γ∇."""
    if isinstance(params, tuple):
        return regrouped(
            params,
            [stepped(part, slope, stepsize) for part, slope in zip(params, gradient, strict=True)],
        )
    return params - stepsize * gradient


def unbiased(loss: Loss, n: int, size: int) -> float:
    """What makes the gradient on a batch an unbiased estimate of the whole one."""
    return float(loss.factor(n) * n / (loss.factor(size) * size))
