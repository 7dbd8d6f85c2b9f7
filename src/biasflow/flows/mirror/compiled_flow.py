"""The dual flow of hypentropy potentials, compiled: flow, stopping rules and records as in
`dual_flow`.

Compiling takes seconds, once per machine; `compiled_march` says how a step is taken and where
the error estimate comes from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import SMALLEST_NORMAL, Array
from ..._core.problems import MirrorProblem
from ..._core.results import Result, Trajectory
from ..._numerics.flow_frame import CONVERGED, FlowRequest, largest_difference
from ...losses import SquareLoss
from ...potentials.hypentropy import Hypentropy, HypentropyPoint
from ...potentials.potential import MirrorPoint, Potential
from ...potentials.scaled import ScaledPoint, ScaledPotential
from .dual_flow import BEYOND, CONVERGED_SHORT, MAX_STEPS, SIGNIFICANT, half, reachable

LEAST = 1e-13
"""Least relative tolerance: below it a step is all rounding."""


def refusal(potential: Potential) -> str | None:
    """None where the compiled flow knows the potential, else a sentence that says what it knows."""
    if isinstance(
        potential.potential if isinstance(potential, ScaledPotential) else potential, Hypentropy
    ):
        return None
    return (
        "the compiled flow knows the hypentropy Φ_r and its multiples only; leave `method` to "
        "the default"
    )


@dataclass(frozen=True, eq=False)
class CompiledFlow:
    """An integrated dual flow, sampled at the saved times."""

    origin: MirrorPoint
    X: Array
    y: Array
    march: tuple[Any, ...]
    times: Array
    sampled: tuple[Array, ...]
    result: Result
    stats: dict[str, Any]

    def dense(self, t: float) -> Array:
        """ν(t)."""
        times, nus, _, pieces = self.march[:4]
        k = int(np.searchsorted(times, t))
        if k == 0 or times[k] == t:
            return nus[k]
        theta, (first, second, third) = (
            (t - times[k - 1]) / (times[k] - times[k - 1]),
            pieces[k - 1].reshape(3, -1),
        )
        return (1 - theta) * nus[k - 1] + theta * (
            nus[k] + (1 - theta) * (first + theta * (second + theta * third))
        )

    def point_at(self, t: float) -> MirrorPoint:
        return self.origin.moved(self.X.T @ self.dense(t))

    def trajectory(
        self, problem: Any, loss: SquareLoss, view: Callable[[MirrorPoint], Any]
    ) -> Trajectory[Any]:
        nus, eta, beta, halves, of_beta, moved = self.sampled
        point = at(self.origin, eta, beta)
        states = view(point)
        outward = np.where(eta < 0, -moved, moved) * (
            self.origin.factor if isinstance(self.origin, ScaledPoint) else 1.0
        )
        return Trajectory(
            times=self.times,
            states=states,
            loss=2 * loss.factor(len(self.y)) * halves,
            error=largest_difference(states, view(point.moved(outward))),
            events=(),
            stats=self.stats,
            result=self.result,
            problem=problem,
            interpolant=lambda t: view(self.point_at(t)),
            predictor_error=of_beta,
            dual=nus,
        )


def integrate_compiled(problem: MirrorProblem, speed: float, request: FlowRequest) -> CompiledFlow:
    """Integrate ν̇ = speed·(y − Xβ(ν)) until t1, or until converged."""
    deadline = request.deadline
    with deadline.paused():
        from ..._numerics.compilation import announced
        from .compiled_march import march
        from .compiled_samples import sample
    arguments, ending = march_arguments(problem, speed, request)
    looks = np.empty(0) if request.times is None else request.times
    with deadline.flag(deadline.both) as stop:
        field, run = (
            arguments[0],
            announced("dual flow", march, *arguments, looks, stop, deadline=deadline),
        )
    knots, (status, evaluations, rejected) = run[0], run[5:]
    saved = request.saved(knots)
    sampled = announced("dual flow", sample, field, problem.y, *run[:5], saved)
    stats = {
        "method": "compiled",
        "steps": len(knots) - 1,
        "evaluations": evaluations,
        "rejected": rejected,
    }
    result = (
        ending,
        Result.FLOOR,
        Result.REACHED_T1,
        Result.STEP_LIMIT,
        Result.STEP_TOO_SMALL,
        Result.TIME_LIMIT,
    )[status]
    return CompiledFlow(problem.origin, problem.X, problem.y, run, saved, sampled, result, stats)


def march_arguments(
    problem: MirrorProblem, speed: float, request: FlowRequest
) -> tuple[tuple[Any, ...], Result]:
    """What `marching.march` is called with, and how a converged flow is called."""
    X, origin, rtol = problem.X, problem.origin, request.rtol
    target, infimum, ending = reachable(problem.potential.half_lines(X.shape[1]), X, problem.y)
    field, extent = dual_field(origin, X, target, speed)
    threshold = infimum + (CONVERGED_SHORT if ending is Result.INFEASIBLE else CONVERGED) * half(
        target - X @ origin.beta
    )
    end = np.inf if request.t1 is None else request.t1
    return (field, end, threshold, max(rtol, LEAST) * extent, np.sqrt(rtol), MAX_STEPS), ending


def dual_field(origin: MirrorPoint, X: Array, target: Array, speed: float) -> tuple[Any, float]:
    """The flow as the kernels want it, and the relative change of β to come, at most one."""
    from .compiled_march import Field

    d = X.shape[1]
    factor, inner = (
        (origin.factor, origin.inner) if isinstance(origin, ScaledPoint) else (np.ones(d), origin)
    )
    assert isinstance(inner, HypentropyPoint)
    free, plain = ~np.isneginf(inner.log_alpha), inner.alpha >= SMALLEST_NORMAL
    floor = np.minimum(origin.weight(), origin.moved(-origin.eta).weight())
    change = np.abs(least_change(X, target - X @ origin.beta))
    largest = float(np.max(np.abs(origin.beta) + change))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.nan_to_num(change / (np.abs(origin.beta) + floor), nan=0.0)
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        log_norms = np.log(norms)
    factor = np.array(factor, dtype=float)
    scale = np.where(free, np.where(plain, inner.alpha, 1.0) / 2, 1.0)
    shift = np.where(free & ~plain, inner.log_alpha, 0.0)
    sign = np.where(free, 0.0, inner.sign)
    field = Field(
        X=np.ascontiguousarray(X),
        target=np.ascontiguousarray(target),
        speed=float(speed),
        eta0=np.array(inner.eta),
        factor=factor,
        inverse=1 / factor,
        curves=np.stack([1 / factor, scale, shift, sign]),
        scale=scale,
        shift=shift,
        sign=sign,
        log_scale=np.where(free, inner.log_alpha, 0.0),
        floor=np.array(floor),
        norms=norms,
        log_norms=log_norms,
        reach=float(np.max(norms / factor)),
        row_sum=float(np.max(np.sum(np.abs(X), axis=1))),
        log_significant=float(np.log(max(SIGNIFICANT * largest, SMALLEST_NORMAL))),
        beyond=BEYOND * max(1.0, largest),
    )
    return field, min(1.0, max(float(np.max(relative)), SMALLEST_NORMAL))


def least_change(X: Array, residual: Array) -> Array:
    """The least change of β that makes up for the residual; only its size matters here."""
    try:
        return X.T @ sl.cho_solve(sl.cho_factor(X @ X.T), residual)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(X, residual, rcond=None)[0], dtype=float)


def at(origin: MirrorPoint, eta: Array, beta: Array) -> MirrorPoint:
    """Points over a leading time axis, of the potential of `origin`."""
    if isinstance(origin, ScaledPoint):
        return ScaledPoint(
            beta,
            origin.factor * eta,
            origin.factor,
            dataclasses.replace(origin.inner, beta=beta, eta=eta),
        )
    return dataclasses.replace(origin, beta=beta, eta=eta)
