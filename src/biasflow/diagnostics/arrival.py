"""How long a flow takes: measured, and bounded by theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from .._core.arguments import instance, positive_float
from .._core.problems import MirrorProblem, Problem
from .._core.results import Result, Trajectory
from .._core.trees import leaves
from ..errors import BiasflowError, InputError
from ..flows.endings import stiffest_rate
from ..limits import bregman_projection, mirror_limit
from .bounds import ConvergenceBounds, as_mirror, convergence_bounds, hypentropy_of
from .loss_phases import Phase, loss_at, phases

HYPENTROPIC = ("R/lem3.6, e^{−κ₁t}", "R/lem3.7, 1/(κ₂t + c)", "R/sharp, e^{−4·inf r·t/‖Xᵀ†‖²}")
"""Names of the bounds that hold for hypentropies only."""


@dataclass(frozen=True, repr=False)
class Arrival:
    """When a flow first reached a level.

    time ± error is measured (inf: not reached while it was integrated); bounds are upper bounds
    on it by name, from theory alone; phases are those of the whole flow. stiffest_rate: the largest
    eigenvalue of the Hessian at the end of the flow, NaN where it is not known; `steps(h)` counts
    steps of gradient descent.

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=0.5)
    >>> arrival = bf.diagnostics.time_to(bf.gradient_flow(problem), loss=1e-6)
    >>> print(round(arrival.time, 4), bool(arrival.error < 1e-6))
    0.1371 True
    """

    quantity: str
    level: float
    time: float
    error: float
    bounds: Mapping[str, float]
    phases: tuple[Phase, ...]
    result: Result
    stiffest_rate: float = float("nan")

    @property
    def largest_step(self) -> float:
        """2/λ: the largest step with which gradient descent stays at the end of the flow; with a
        larger one it leaves. NaN where λ is not known. On the way a smaller one may be needed."""
        return 2 / self.stiffest_rate if self.stiffest_rate > 0 else float("nan")

    def steps(self, step: float) -> int:
        """How many steps of gradient descent of this size take as long: ⌈time/step⌉.

        Up to errors of first order in the step, and for a step below `largest_step` alone.
        """
        step = positive_float("step", step)
        if not np.isfinite(self.time):
            raise InputError(
                f"step: {self.quantity} ≤ {self.level:g} was not reached, so that no number of "
                "steps is known"
            )
        if step > self.largest_step:
            raise InputError(
                f"step: {step:g} is too large; beyond 2/λ = {self.largest_step:.4g}, λ the "
                "stiffest rate at the end of the flow, gradient descent does not settle there"
            )
        return math.ceil(self.time / step)

    def __repr__(self) -> str:
        if np.isfinite(self.time):
            lines = [f"{self.quantity} ≤ {self.level:g} at t = {self.time:.6g} ± {self.error:.1g}"]
        else:
            lines = [
                f"{self.quantity} ≤ {self.level:g} was not reached; the flow {self.result.value}"
            ]
        if np.isfinite(self.time) and np.isfinite(self.largest_step):
            lines.append(
                f"  {self.steps(self.largest_step):,} steps of gradient descent at least: it "
                f"settles only with steps below {self.largest_step:.3g}"
            )
        lines += [f"  bound, {name}: t ≤ {bound:.4g}" for name, bound in self.bounds.items()]
        return "\n".join(lines + [f"  {phase}" for phase in self.phases])


def time_to(
    trajectory: Trajectory, *, loss: float | None = None, divergence: float | None = None
) -> Arrival:
    """When the flow first has a loss, or a Bregman divergence D_φ(β*, β(t)) from its limit, of at
    most the level given.

    Measured on the flow's dense output, with an error from the flow's own estimate.

    Parameters
    ----------
    trajectory : Trajectory
    loss : float, optional
        The level of the problem's own loss; or
    divergence : float, optional
        that of the divergence.

    Returns
    -------
    diagnostics.Arrival
        `steps(h)` is about as many steps of gradient descent of size h. bounds: for mirror flows
        R's equation (3) and R/sharp, and for hypentropies Lemmas 3.6 and 3.7; empty for other
        flows.

    Examples
    --------
    >>> flow = bf.mirror_flow(bf.potentials.Euclidean(), [[1.0]], [1.0])
    >>> arrival = bf.diagnostics.time_to(flow, loss=0.5 * np.exp(-2.0))
    >>> print(round(arrival.time, 6))
    1.0
    """
    instance("trajectory", trajectory, Trajectory)
    if (loss is None) == (divergence is None):
        raise InputError("time_to: give exactly one of loss and divergence")
    if trajectory.interpolant is None:
        raise InputError(
            "trajectory: no dense output here; time_to is about flows, not about descent or paths "
            "of jumps"
        )
    if loss is not None:
        level = positive_float("loss", loss)
        measure, name = _loss_of(trajectory), "loss"
    else:
        level = positive_float("divergence", divergence)
        measure, name = _divergence_of(trajectory), "D_φ(β*, β(t))"
    time = _first(trajectory, measure, level)
    error = _time_error(trajectory, measure, time)
    bounds = _bounds(trajectory, level, name)
    return Arrival(
        name,
        level,
        time,
        error,
        bounds,
        phases(trajectory),
        trajectory.result,
        _stiffest(trajectory),
    )


def _stiffest(trajectory: Trajectory) -> float:
    """Of gradient flows of a loss with a minimum: of mirror flows descent is another story, and of
    losses without one there is no end."""
    problem = trajectory.problem
    if isinstance(problem, MirrorProblem) or not problem.loss.attained:
        return float("nan")
    return stiffest_rate(trajectory)


def _loss_of(trajectory: Trajectory) -> Callable[[float], float]:
    return lambda t: loss_at(trajectory, t)


def _divergence_of(trajectory: Trajectory) -> Callable[[float], float]:
    found = as_mirror(trajectory.problem)
    best = found.potential.at(mirror_limit(found.potential, found.X, found.y, found.beta0).value)

    def measure(t: float) -> float:
        state = trajectory.at(t)
        beta = (
            state
            if isinstance(trajectory.problem, MirrorProblem)
            else trajectory.problem.model.effective(state)
        )
        return float(np.sum(best.divergence(found.potential.at(beta))))

    return measure


def _first(trajectory: Trajectory, measure: Callable[[float], float], level: float) -> float:
    """The first time at the level. Loss and divergence never rise along a flow: bisection over its
    steps, then within one."""
    times = np.concatenate([[0.0], trajectory.times[trajectory.times > 0]])
    if measure(0.0) <= level:
        return 0.0
    if measure(float(times[-1])) > level:
        return float("inf")
    low, high = 0, len(times) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if measure(float(times[middle])) <= level else (middle, high)

    def excess(t: float) -> float:
        return float(np.log(max(measure(t), np.finfo(float).tiny) / level))

    return float(brentq(excess, times[low], times[high], xtol=1e-14 * times[high], rtol=1e-12))


def _time_error(trajectory: Trajectory, measure: Callable[[float], float], time: float) -> float:
    """What the error of the state, taken as an error of √measure, moves the time by."""
    if not np.isfinite(time) or time == 0:
        return 0.0
    step = 1e-3 * min(time, max(trajectory.times[-1] - time, 1e-3 * time))
    before, after = (
        np.sqrt(max(measure(time - step), 0.0)),
        np.sqrt(max(measure(min(time + step, trajectory.times[-1])), 0.0)),
    )
    slope = (before - after) / (2 * step)
    worst = _root_error(trajectory, time)
    return worst / slope if slope > 0 else float("inf")


def _root_error(trajectory: Trajectory, time: float) -> float:
    """How much of the error of the predictor, or of the weights where the mirror form has none, may
    show in √loss."""
    p, errors = trajectory.problem, trajectory.predictor_error
    try:
        design = as_mirror(p).X
    except BiasflowError:
        errors = trajectory.error
        rows = leaves(p.model.jacobian(trajectory.at(time), p.data.X))  # type: ignore[union-attr]
        design = np.hstack([np.reshape(leaf, (len(leaf), -1)) for leaf in rows])
    gain = float(np.linalg.norm(design, 2)) * float(np.sqrt(design.shape[1] * _over_half(p) / 2))
    return gain * float(np.interp(time, trajectory.times, errors))


def _bounds(trajectory: Trajectory, level: float, name: str) -> dict[str, float]:
    problem = trajectory.problem
    try:
        found = as_mirror(problem)
        limit = bregman_projection(found.potential, found.X, found.y, found.beta0)
    except BiasflowError:
        return {}
    start, nu = limit.objective, float(np.linalg.norm(limit.stats["nu"]))
    if name == "loss":
        half = level / _over_half(problem)  # the level for ½‖Xβ−y‖²
        return {"R/eq3, D₀/t": start / half, "R/sharp, ‖ν*‖²/(2t²)": nu / np.sqrt(2 * half)}
    bounds = {"R/sharp, ‖ν*‖²/(2t)": nu**2 / (2 * level)}
    try:
        known = convergence_bounds(problem, trajectory, time_s=None)
    except BiasflowError:
        return bounds
    factor, _ = hypentropy_of(found.potential)
    return {**_hypentropic(known, level / factor), **bounds}


def _hypentropic(known: ConvergenceBounds, level: float) -> dict[str, float]:
    """Times at which the bounds on D_{Φ_r} reach a level."""
    ratio = known.start_divergence / level
    if ratio <= 1:  # there from the start
        return dict.fromkeys(HYPENTROPIC, 0.0)
    with np.errstate(divide="ignore"):
        times = (
            np.divide(np.log(ratio), known.kappa1),
            np.divide((ratio - 1) / known.start_divergence, known.kappa2),
            np.divide(np.log(ratio), known.sharp_rate),
        )
    return {name: float(time) for name, time in zip(HYPENTROPIC, times, strict=True)}


def _over_half(problem: Problem | MirrorProblem) -> float:
    """The problem's loss over ½‖Xβ−y‖²."""
    return (
        1.0
        if isinstance(problem, MirrorProblem)
        else 2 * float(problem.loss.factor(problem.data.n))
    )
