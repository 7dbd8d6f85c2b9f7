"""The dual flow of hypentropy potentials, compiled: flow, stopping rules and records as in
`dual_flow`.

Compiling takes seconds, once per machine; `compiled_march` says how a step is taken and where
the error estimate comes from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl

from ..._core.arguments import SMALLEST_NORMAL, Array
from ..._core.problems import MirrorProblem
from ..._core.results import Result, Trajectory
from ..._core.trees import leaves, regrouped
from ..._numerics.flow_frame import CONVERGED, FlowRequest, goes_on, largest_difference
from ..._numerics.rosenbrock import RESULTS, STEP_LIMIT, STOPPED, Controls, Path, Progress
from ...losses import SquareLoss
from ...models.hyperbola import HyperbolicLift
from ...potentials.hypentropy import Hypentropy, HypentropyPoint
from ...potentials.potential import MirrorPoint, Potential
from ...potentials.scaled import ScaledPoint, ScaledPotential
from .dual_flow import DUAL, half, held, largest_size, reachable

LEAST_TOLERANCE = 1e-13
"""Relative, of a step: below it all is rounding."""


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
    """An integrated dual flow, to be sampled at the saved times."""

    origin: MirrorPoint
    X: Array
    y: Array
    path: Path
    times: Array
    sampled: Callable[[Array, Array], tuple[Array, ...]]
    """What `compiled_samples.sample` makes of weights at the start and how they are mixed."""
    result: Result
    stats: dict[str, Any]
    go_on: Callable[[FlowRequest], CompiledFlow]

    def point_at(self, t: float) -> MirrorPoint:
        return self.origin.moved(self.X.T @ self.path.at(t))

    def trajectory(
        self,
        problem: Any,
        loss: SquareLoss,
        view: Callable[[MirrorPoint], Any],
        degree: int | None = None,
    ) -> Trajectory[Any]:
        """As that of `dual_flow`."""
        if isinstance(view, HyperbolicLift):
            start = np.array([view.plus, view.minus])
            nus, one, other, _, halves, of_beta, (error, size) = self.sampled(start, view.mix)
            states = regrouped(view.params(0.0, 0.0), [one, other])
        else:
            nus, beta, eta, off, halves, of_beta, _ = self.sampled(np.empty((2, 0)), np.eye(2))
            point = at(self.origin, eta, beta)
            outward = np.where(eta < 0, -off, off) * (
                self.origin.factor if isinstance(self.origin, ScaledPoint) else 1.0
            )
            states = view(point)
            error = largest_difference(states, view(point.moved(outward)))
            size = largest_size(leaves(states))
        if degree is not None:
            error, of_beta = held(error, of_beta, size, degree)
        return Trajectory(
            times=self.times,
            states=states,
            loss=2 * loss.factor(len(self.y)) * halves,
            error=error,
            events=(),
            stats=self.stats,
            result=self.result,
            problem=problem,
            interpolant=lambda t: view(self.point_at(t)),
            predictor_error=of_beta,
            dual=nus,
            continuation=lambda further: self.go_on(further).trajectory(
                problem, loss, view, degree
            ),
        )


class _Marched(NamedTuple):
    """How far a march came, its times and record, and what else the next step needs."""

    done: Progress
    times: Array
    record: Array
    working: tuple[Array, ...]
    insides: Array


def integrate_compiled(
    problem: MirrorProblem, speed: float, request: FlowRequest, before: _Marched | None = None
) -> CompiledFlow:
    """Integrate ν̇ = speed·(y − Xβ(ν)) until t1, or until converged. before: the march that goes
    on."""
    deadline = request.deadline
    with deadline.paused():
        from ..._numerics.compilation import announced
        from .compiled_march import march
        from .compiled_room import EVALUATIONS
        from .compiled_samples import sample
    with deadline.flag(deadline.both) as stop:
        flow, controls, ending = prepared(problem, speed, request, stop)
        call = partial(announced, "dual flow", march, flow, deadline=deadline)
        with request.watched(lambda: _where(flow)):
            marched = _marched(flow, controls, call, before)
    done, times, record, _, insides = marched
    saved = request.saved(times)
    seen = flow.field, problem.y, times, record, insides, saved
    sampled = partial(announced, "dual flow", sample, *seen)
    stats = {
        "method": "compiled",
        "steps": done.steps,
        "evaluations": int(flow.counts[EVALUATIONS]),
        "rejected": done.rejected,
    }
    result = ending if done.status == STOPPED else RESULTS[done.status]
    path = Path(times, record[:, 0], record[:-1, 3:])
    on = partial(integrate_compiled, problem, speed, before=marched)
    return CompiledFlow(
        problem.origin, problem.X, problem.y, path, saved, sampled, result, stats, on
    )


def _where(flow: Any) -> tuple[float, float]:
    """Time and ½‖Xβ − target‖² of a march that runs."""
    from .compiled_room import FORCE

    return float(flow.times.max()), half(flow.duals[FORCE] / flow.field.speed)


def _marched(
    flow: Any,
    controls: Controls,
    call: Callable[[Controls, Progress], Progress],
    before: _Marched | None,
) -> _Marched:
    """The march, on from the one before, and its record, which is emptied whenever it is full."""
    from .compiled_room import LOOK

    working = flow.points, flow.duals, flow.levels, flow.counts
    done, parts = Progress(0.0, 0.0), list[tuple[Array, Array]]()
    if before is not None:
        done = before.done
        if not goes_on(RESULTS[done.status], done.time, controls.end):
            return before
        for array, old in zip(working, before.working, strict=True):
            array[:] = old
        looked = int(flow.counts[LOOK])
        flow.insides[:looked] = before.insides[:looked]
        parts.append((before.times[:-1], before.record[:-1]))
        flow.times[0], flow.record[0], flow.counts[0] = before.times[-1], before.record[-1], 0
    most_steps = done.steps + controls.most_steps
    while True:
        first, room = done.steps, done.steps + len(flow.times) - 1
        done = call(controls._replace(most_steps=min(most_steps, room)), done)
        kept = done.steps - first
        parts.append((flow.times[: kept + 1], flow.record[: kept + 1]))
        if done.status != STEP_LIMIT or done.steps == most_steps:
            break
        parts[-1] = flow.times[:kept].copy(), flow.record[:kept].copy()
        flow.times[0], flow.record[0], flow.counts[0] = flow.times[kept], flow.record[kept], 0
    times, records = zip(*parts, strict=True)
    return _Marched(done, np.concatenate(times), np.concatenate(records), working, flow.insides)


def prepared(
    problem: MirrorProblem, speed: float, request: FlowRequest, stop: Any
) -> tuple[Any, Controls, Result]:
    """What `compiled_march.march` is called with, and how a converged flow is called."""
    from .compiled_room import Aims, room_for

    X, origin, rtol = problem.X, problem.origin, request.rtol
    target, infimum, ending = reachable(problem.potential.half_lines(X.shape[1]), X, problem.y)
    field, extent = dual_field(origin, X, target, speed)
    threshold = infimum + (
        DUAL.converged_short if ending is Result.INFEASIBLE else CONVERGED
    ) * half(target - X @ origin.beta)
    aims = Aims(
        allowed=max(rtol, LEAST_TOLERANCE) * extent,
        tail=float(np.sqrt(rtol)),
        threshold=threshold if request.t1 is None else -1.0,
    )
    looks = np.empty(0) if request.times is None else request.times
    end = np.inf if request.t1 is None else request.t1
    return room_for(field, aims, looks, stop), Controls(end, DUAL.most_steps), ending


def dual_field(origin: MirrorPoint, X: Array, target: Array, speed: float) -> tuple[Any, float]:
    """The flow as the kernels want it, and the relative change of β to come, at most one."""
    from . import compiled_room as rows
    from .hypentropy_kernels import CURVE_ROWS, INVERSE, SCALE, SHIFT, SIGN

    d = X.shape[1]
    factor, inner = (
        (origin.factor, origin.inner) if isinstance(origin, ScaledPoint) else (np.ones(d), origin)
    )
    assert isinstance(inner, HypentropyPoint)
    curves = np.empty((CURVE_ROWS + 6, d))
    curves[rows.FACTOR], curves[rows.ETA0] = factor, inner.eta
    curves[INVERSE] = 1 / factor
    curves[rows.LOG_SCALE], curves[SHIFT], curves[SIGN] = inner.log_alpha, 0.0, 0.0
    if inner.plain:  # the least weight is that of η = 0
        curves[SCALE], curves[rows.LEAST_WEIGHT] = inner.alpha / 2, inner.alpha / factor
    else:
        free, plain = ~np.isneginf(inner.log_alpha), inner.alpha >= SMALLEST_NORMAL
        curves[SCALE] = np.where(free, np.where(plain, inner.alpha, 1.0) / 2, 1.0)
        curves[SHIFT] = np.where(free & ~plain, inner.log_alpha, 0.0)
        curves[SIGN] = np.where(free, 0.0, inner.sign)
        curves[rows.LOG_SCALE] = np.where(free, inner.log_alpha, 0.0)
        lowest = np.minimum(origin.weight(), origin.moved(-origin.eta).weight())
        curves[rows.LEAST_WEIGHT] = lowest
    size, change = np.abs(origin.beta), np.abs(least_change(X, target - X @ origin.beta))
    largest = float((size + change).max())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = change / (size + curves[rows.LEAST_WEIGHT])
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        curves[rows.NORMS], curves[rows.LOG_NORMS] = norms, np.log(norms)
    field = rows.Field(
        X=np.ascontiguousarray(X),
        target=np.ascontiguousarray(target),
        curves=curves,
        speed=float(speed),
        reach=float((norms * curves[INVERSE]).max()),
        row_sum=float(np.abs(X).sum(axis=1).max()),
        log_significant=float(np.log(max(DUAL.significant * largest, SMALLEST_NORMAL))),
        beyond=DUAL.wall * max(1.0, largest),
    )
    # 0/0 where nothing moves
    return field, min(1.0, max(float(np.fmax.reduce(relative, initial=0.0)), SMALLEST_NORMAL))


def least_change(X: Array, residual: Array) -> Array:
    """The least change of β that makes up for the residual; only its size matters here."""
    _, nu, failure = sl.lapack.dposv(X @ X.T, residual)
    if failure:
        return np.asarray(np.linalg.lstsq(X, residual, rcond=None)[0], dtype=float)
    return np.asarray(X.T @ nu)


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
