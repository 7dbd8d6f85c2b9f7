"""Mirror flow in the primal: β̇ = −∇F(β)/φ''(β), which knows nothing of the dual flow, nor of
projections.

φ'' comes from `formulas`, not from the potential. On half-lines log|β| is followed, so that no step
crosses the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array
from ..._core.problems import MirrorProblem
from ..._core.results import Result, Trajectory
from ..._numerics.failed_steps import without_warnings
from ..hypotheses import LARGEST_LOG_R
from .formulas import Formulas, formulas_of


@dataclass(frozen=True)
class WitnessControls:
    """How a flow is followed in β, and when it has ended."""

    converged_loss: float = 1e-20
    """Loss, relative to its start, at which the flow has ended."""
    still_gradient: float = 1e-11
    """Gradient, relative to its start, at which a flow that does not interpolate has ended: near a
    saddle it is not small."""
    looser_factor: float = 100.0
    """Times the tolerance of the second run, whose distance from the first is the error."""
    finest_rtol: float = 1e-13
    """Least relative tolerance that LSODA can honour."""
    small_share: float = 1e-3
    """Times the tolerance and the coordinate's own length: the absolute error allowed, so that β
    near zero is followed too. Over the fastest rate: the first step. And the least length."""
    most_steps: int = 100_000
    """After which a run is given up."""
    neighbours: int = 4
    """Times on each side over which the largest distance of the two runs is taken: where they cross
    it is zero, the error is not."""


CONTROLS = WitnessControls()
LONGEST_TIME = 1e15
"""Time, in units of the start's own, after which a flow that has not ended is taken as it is."""
ROUNDING = 8 * float(np.finfo(float).eps)
"""Relative error of β beside the integrator's: a few operations."""


@dataclass(frozen=True, eq=False)
class PrimalField:
    """A flow in the coordinates that are integrated: β, or log|β| on half-lines."""

    formulas: Formulas
    force: Callable[[Array], Array]
    """−∇F at β."""
    bend: Callable[[Array], Array] | None
    """∇²F at β, where it is known."""

    def coordinates(self, beta: Array) -> Array:
        signs = self.formulas.signs
        return np.where(signs != 0, np.log(np.where(signs != 0, np.abs(beta), 1.0)), beta)

    def beta(self, u: Array) -> Array:
        signs = self.formulas.signs
        return np.where(signs != 0, signs * np.exp(np.where(signs != 0, u, 0.0)), u)

    def _gain(self, beta: Array) -> Array:
        """du/dη: 1/φ'', over β on half-lines, where 1/φ'' is a multiple of |β|."""
        f = self.formulas
        signs = f.signs
        unit = f.weight(np.where(signs != 0, signs, beta))
        return np.where(signs != 0, signs * unit, unit)

    def velocity(self, t: float, u: Array) -> Array:
        beta = self.beta(u)
        return self._gain(beta) * self.force(beta)

    def jacobian(self, t: float, u: Array) -> Array:
        f, beta = self.formulas, self.beta(u)
        assert self.bend is not None and f.slope is not None
        stretch = np.where(f.signs != 0, beta, 1.0)
        turned = np.where(f.signs != 0, 0.0, f.slope(beta) * self.force(beta))
        return -self._gain(beta)[:, None] * self.bend(beta) * stretch + np.diag(turned)

    @property
    def differentiable(self) -> bool:
        return self.bend is not None and self.formulas.slope is not None


@dataclass(frozen=True, eq=False)
class FollowedFlow:
    """One integration: the ends of its steps and what lies between."""

    field: PrimalField
    start: Array
    ends: Array
    pieces: list[Any]
    ended: bool

    def at(self, t: float) -> Array:
        k = int(np.clip(np.searchsorted(self.ends, t), 0, len(self.ends) - 1))
        return (
            self.start
            if k == 0
            else self.field.beta(np.asarray(self.pieces[k - 1](min(t, float(self.ends[-1])))))
        )


@without_warnings()
def follow(
    field: PrimalField,
    start: Array,
    t1: float | None,
    rtol: float,
    deadline: float,
    settled: Callable[[float, Array], bool],
) -> FollowedFlow | str:
    """The flow to t1, or until `settled(t, β)`; or a sentence that says why it could not be
    followed."""
    from scipy.integrate import LSODA

    f = field.formulas
    u0 = field.coordinates(start)
    velocity = field.velocity(0.0, u0)
    own = np.where(
        np.isfinite(f.scale(start)),
        f.scale(start),
        max(float(np.max(np.abs(start))), CONTROLS.small_share),
    )
    length = np.where(f.signs != 0, 1.0, own)
    if not (np.all(np.isfinite(u0)) and np.all(np.isfinite(velocity))):
        return "the primal flow has no finite velocity at its start"
    fastest = float(np.max(np.abs(velocity) / length))
    if fastest == 0:
        return FollowedFlow(field, start, np.zeros(1), [], True)
    bound = LONGEST_TIME / fastest if t1 is None else t1
    relative = np.where(f.signs != 0, CONTROLS.finest_rtol, max(rtol, CONTROLS.finest_rtol))
    absolute = np.where(f.signs != 0, rtol, CONTROLS.small_share * rtol * length)
    jacobian = field.jacobian if field.differentiable else None
    first = min(CONTROLS.small_share / fastest, bound)
    solver = LSODA(
        field.velocity, 0.0, u0, bound, first_step=first, rtol=relative, atol=absolute, jac=jacobian
    )
    ends, pieces, ended = [0.0], [], t1 is not None
    while solver.status == "running":
        if time.monotonic() > deadline:
            return "the primal flow took longer than the time limit"
        solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            return "the primal flow could not be followed: its step fell below rounding"
        if len(ends) > CONTROLS.most_steps:
            return f"the primal flow needs more than {CONTROLS.most_steps} steps"
        ends.append(float(solver.t))
        pieces.append(solver.dense_output())
        if t1 is None and settled(float(solver.t), field.beta(solver.y)):
            ended = True
            break
    return FollowedFlow(field, start, np.array(ends), pieces, ended)


def follow_twice(
    field: PrimalField,
    start: Array,
    t1: float | None,
    rtol: float,
    deadline: float,
    settled: Callable[[float, Array], bool],
) -> tuple[FollowedFlow, FollowedFlow] | str:
    """The flow, and the same with a looser tolerance: their distance is the error."""
    run = follow(field, start, t1, rtol, deadline, settled)
    if isinstance(run, str):
        return run
    rough = (
        follow(field, start, float(run.ends[-1]), CONTROLS.looser_factor * rtol, deadline, settled)
        if run.pieces
        else run
    )
    return rough if isinstance(rough, str) else (run, rough)


def primal_flow(
    problem: MirrorProblem, t1: float | None, times: ArrayLike | None, rtol: float, time_s: float
) -> Trajectory | str:
    """The flow from β₀ to t1, or until the loss is gone or stands still; or a sentence that says
    why it could not be followed.

    stats['spread']: the error of each β_i at each time, which `error` is the largest of.
    """
    m, X, y = problem, problem.X, problem.y
    reason = below_floats(m.potential, X.shape[1])
    if reason is not None:
        return reason
    f = formulas_of(m.potential, X.shape[1], m.beta0)
    with np.errstate(all="ignore"):
        start = np.asarray(
            f.inverse(np.zeros(X.shape[1])) if m.beta0 is None else m.beta0, dtype=np.float64
        )
        gram = X.T @ X
    field = PrimalField(f, lambda beta: X.T @ (y - X @ beta), lambda beta: gram)
    if times is not None and t1 is None:
        t1 = float(np.max(np.asarray(times)))
    loss0 = 0.5 * float(np.sum((X @ start - y) ** 2))

    pull0 = float(np.max(np.abs(field.force(start)), initial=0.0))

    def settled(t: float, beta: Array) -> bool:
        if 0.5 * float(np.sum((X @ beta - y) ** 2)) <= CONTROLS.converged_loss * loss0:
            return True
        force = field.force(beta)
        held = f.signs * force < 0  # towards the wall of a half-line: β decays, whatever the force
        pulled = float(np.max(np.abs(force[~held]), initial=0.0))
        return (
            pulled <= CONTROLS.still_gradient * pull0
            and float(np.sum(np.abs(beta * force)[held])) <= CONTROLS.converged_loss * loss0
        )

    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        runs = follow_twice(field, start, t1, rtol, time.monotonic() + time_s, settled)
    if isinstance(runs, str):
        return runs
    run, rough = runs
    saved = run.ends if times is None else np.asarray(times, dtype=np.float64)
    states = np.array([run.at(t) for t in saved])
    spread = spread_of(
        f,
        states,
        np.array([rough.at(t) for t in saved]),
        np.where(saved > 0, max(rtol, CONTROLS.finest_rtol), 0.0),
    )
    loss = 0.5 * np.sum((states @ X.T - y) ** 2, axis=1)
    result = Result.REACHED_T1 if t1 is not None or not run.ended else Result.CONVERGED
    if result is Result.CONVERGED and loss[-1] > CONTROLS.converged_loss * loss0:
        result = Result.STATIONARY
    stats = {"method": "primal", "steps": len(run.ends) - 1, "spread": spread}
    return Trajectory(saved, states, loss, np.max(spread, axis=1), (), stats, result, m, run.at)


def below_floats(potential: Any, d: int) -> str | None:
    """Why β cannot be followed, where its unit is out of the range of floats."""
    units = potential.log_units(d)
    extreme = np.isfinite(units) & (np.abs(units) > LARGEST_LOG_R)
    return (
        f"log r = {units[extreme][0]:g}: β is out of the range of floats"
        if np.any(extreme)
        else None
    )


def spread_of(f: Formulas, states: Array, rough: Array, tolerance: Array) -> Array:
    """The error of each β_i at each time: the distance of the two runs nearby, relative to β_i on
    half-lines, and rounding.

    tolerance: by which the step that ends at a time may err; the distance of two runs whose steps
    are alike does not show it.
    """
    with np.errstate(all="ignore"):
        unit = np.where((f.signs != 0) & (states != 0), np.abs(states), 1.0)
        return enveloped(np.abs(rough - states) / unit) * unit + (
            tolerance[:, None] + ROUNDING
        ) * np.abs(states)


def enveloped(distance: Array) -> Array:
    """The largest of a distance at neighbouring times."""
    from scipy.ndimage import maximum_filter1d

    return np.asarray(
        maximum_filter1d(distance, 2 * CONTROLS.neighbours + 1, axis=0, mode="nearest")
    )
