"""Gradient flow of diagonal networks of depth two under losses without a minimiser: the march, its
error, and what comes out of it: a trajectory, or the path of directions to any norm.

The rate. Let N = Σ(w₊² + w₋²) = Σ√(β² + r²), S̃ = −log Σℓ(−u_i) of the exponential loss, ds = p·dσ.
Then dN/dσ = 4p·u and dS̃/dσ = pᵀKp ≥ 4(p·u)²/N by Cauchy and Schwarz, and p·u ≥ S̃: where
p·u ≥ 0, so once S̃ ≥ 0, the margin S̃/N never falls (Lyu and Li 2020, for homogeneous networks);
before, that is seen and not shown. It is at most γ, the largest margin in ℓ1, and γσ ≤ ‖Zᵀs‖_∞, so
that log N ≥ log(r/2) + 4γσ where N has grown from β = 0; with dlog N/dσ ≤ 4(S̃ + log n)/N this
gives, for all σ₁ < σ from S̃ ≥ 0 on,

    γ − S̃/N ≤ (log(2N₁/r) − 4γσ₁ + 4·log n·∫dσ/N)/(4(σ − σ₁)),

the integral from σ₁ on, r the least: like 1/log N, with the constant γ·log 2d for large starts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..._core.arguments import Array, positive_float, real_array, relative_tolerance
from ..._core.facts import Fact, Facts, Shown
from ..._core.problems import Problem
from ..._core.progress import doing
from ..._core.results import Result, Trajectory
from ..._core.showing import drawing_room
from ..._numerics.deadlines import FLOW_S, Deadline
from ..._numerics.flow_frame import FlowRequest, goes_on
from ..._numerics.interrupts import still_saved
from ...errors import ConvergenceError, InputError, RefusedError
from ...limits import l1_max_margin
from ...losses import MarginLoss, SmoothMargin
from ...models import DiagonalNetwork
from ...models.diagonal import DiagonalParams
from ..units import LOG2, own_units
from .proximal_step import EPS, DualFrame, Place
from .separable_march import SeparableMarch, State, risk_clock, smooth_clock

HIGHEST = 690.0
"""Log-norm up to which β fits a float."""
FARTHEST = 1e6
"""Log-norm up to which directions are followed: η has ten digits there."""
MOST_SAMPLES = 500
"""Systems of so many equations are solved in every step."""
TWICE = 2.0
"""Factor on the distance of the second run."""
ROUNDINGS = 16.0
RTOL = 1e-6


def refusal(problem: Problem) -> str | None:
    """None where this flow fits, else a sentence."""
    if not (isinstance(problem.model, DiagonalNetwork) and problem.model.depth == 2):
        return (
            "the flow on separable data is for diagonal networks of depth 2, found "
            f"{_named(problem.model)}"
        )
    loss = problem.loss.loss if isinstance(problem.loss, SmoothMargin) else problem.loss
    if not isinstance(loss, MarginLoss):
        return (
            "the flow on separable data needs an exponential or logistic loss or their "
            f"SmoothMargin, found {type(problem.loss).__name__}"
        )
    if not all(np.all(leaf != 0) for leaf in problem.start):
        return "a weight is zero at the start, and stays so: the dual of this flow has no such end"
    distinct = len(np.unique(_signed(problem), axis=0))
    if distinct > MOST_SAMPLES:
        return f"{distinct} samples; the flow on separable data solves systems of {MOST_SAMPLES}"
    return None


def _named(model: Any) -> str:
    depth = getattr(model, "depth", None)
    return type(model).__name__ + ("" if depth is None else f" of depth {depth}")


def _signed(problem: Problem) -> Array:
    return np.asarray(problem.data.y[:, None] * problem.data.X)


def check(problem: Problem, log_norm: float | None, highest: float = HIGHEST) -> None:
    """An error where the flow never gets to the log-norm to end at."""
    if log_norm is None:
        return
    cap = float(real_array("log_norm", log_norm))
    first = _frame(problem)[0]
    start = first.place(first.eta0, floor=-np.inf).log_norm
    if not start < cap <= highest:
        raise InputError(
            f"log_norm: found {cap:g}, needs more than the start's {start:g} and at most "
            f"{highest:g}"
        )
    needs_separation(problem)


def needs_separation(problem: Problem) -> float:
    """γ, the largest margin in ℓ1, or a refusal where no direction is shown to separate."""
    Z = _signed(problem)
    found = l1_max_margin(np.hstack([Z, -Z]))
    if found.stats["separable"] is not True:
        shown = found.stats["separable"] is False
        raise RefusedError(
            "data: "
            + ("no" if shown else "it is not shown that a")
            + " linear classifier separates the classes, so that the weights need not grow; "
            "give t1 to end at"
        )
    return float(found.objective)


def _frame(problem: Problem) -> tuple[DualFrame, Array]:
    """The dual, and which of its rows each sample is."""
    Z, rows, counts = np.unique(_signed(problem), axis=0, return_inverse=True, return_counts=True)
    plus, minus = (np.log(np.abs(leaf)) for leaf in problem.start)
    loss = problem.loss.loss if isinstance(problem.loss, SmoothMargin) else problem.loss
    frame = DualFrame(Z, counts.astype(float), LOG2 + plus + minus, plus - minus, loss)
    return frame, np.ravel(rows)


class _Runs(NamedTuple):
    """A march and how it ended, the states of the second, and the seconds that both took."""

    march: SeparableMarch
    result: Result
    beside: list[State]
    seconds: float = 0.0
    error_seconds: float = 0.0


def _marched(
    problem: Problem,
    log_times: Array,
    cap: float,
    rtol: float,
    deadline: Deadline,
    smooth: bool,
    shift: float,
    before: _Runs | None = None,
) -> tuple[_Runs, Array, dict[str, Any]]:
    """Both runs, each on from its end before; which of the rows each sample is, and the stats."""
    frame, rows = _frame(problem)
    began = time.process_time()
    if before is None:
        march = SeparableMarch(frame, smooth_clock if smooth else risk_clock, rtol, deadline.first)
        before = _Runs(march, Result.TIME_LIMIT, [])
    march, result = before.march.copy(deadline.first), before.result
    reached, last = (
        march.goals[-1] if march.goals else 0.0,
        float(np.max(log_times, initial=-np.inf)),
    )
    with doing(lambda: f"log-norm {march.states[-1].log_norm + shift:.4g}"):
        if goes_on(result, reached, last):
            result = march.run(log_times, cap)
        middle = time.process_time()
        march.over = deadline.both
        with doing("its error"):
            beside = march.beside(before.beside)
    runs = _Runs(
        march,
        result,
        beside,
        before.seconds + middle - began,
        before.error_seconds + time.process_time() - middle,
    )
    stats = {
        "method": "separable",
        "steps": len(march.states) - 1,
        "rejected": march.rejected,
        "rtol": rtol,
        "seconds": runs.seconds,
        "error_seconds": runs.error_seconds,
    }
    return runs, rows, stats


def _doubts(march: SeparableMarch, beside: list[State], places: list[int], timed: bool) -> Array:
    """Errors of η at every place, (T, d); NaN where the second run did not get."""
    frame = march.frame
    found = np.full((len(places), frame.Z.shape[1]), np.nan)
    for row, k in enumerate(places):
        if k >= len(beside):
            break
        one, other = march.states[k], beside[k]
        eta, step = frame.eta(one.s), 4 * np.abs(frame.Z.T @ one.p)
        apart = TWICE * 4 * np.abs(frame.Z.T @ (one.s - other.s))
        blur = ROUNDINGS * EPS * (np.abs(eta) + 4 * np.abs(frame.Z.T) @ one.s)
        late = 0.0
        if timed and np.isfinite(one.log_time):
            late = TWICE * abs(one.log_time - other.log_time)
            late += ROUNDINGS * EPS * (1 + abs(one.log_rate))
            late *= float(np.exp(min(one.log_time - one.log_rate, 700.0)))
        found[row] = apart + blur + late * step
    return found


def integrate_separable(
    problem: Problem,
    request: FlowRequest,
    log_norm: float | None = None,
    before: _Runs | None = None,
) -> Trajectory[Any]:
    """The flow until t1 or the log-norm. before: the runs that go on."""
    smooth = isinstance(problem.loss, SmoothMargin)
    wanted = request.times
    ends = np.empty(0) if request.t1 is None else np.array([request.t1])
    goals = ends if wanted is None else np.union1d(wanted, ends)
    with np.errstate(divide="ignore"):
        log_goals = np.log(goals)
    cap = HIGHEST if log_norm is None else log_norm
    runs, rows, stats = _marched(
        problem, log_goals, cap, request.rtol, request.deadline, smooth, request.units[2], before
    )
    march = runs.march
    last = len(march.states) - 1
    places = [*range(last + 1)] if wanted is None else list(march.saved)
    if not places or places[-1] != last:
        places.append(last)
    kept = still_saved(len(places))
    places = [places[i] for i in kept]
    states = [march.states[k] for k in places]
    frame = march.frame
    etas = np.array([frame.eta(state.s) for state in states])
    weights = _weights(problem, frame, etas)
    doubt = _doubts(march, runs.beside, places, timed=True)
    seen = [frame.place(eta, floor=-np.inf) for eta in etas]
    log_width = np.array([place.log_unit + np.log(place.width) for place in seen])
    grown = np.expm1(np.minimum(doubt, 700.0))
    larger = np.maximum(np.abs(weights.plus), np.abs(weights.minus))
    with np.errstate(over="ignore", under="ignore"):
        times = np.exp(np.array([state.log_time for state in states]))
        error = np.max(larger * (np.sqrt(1 + grown) - 1), axis=1)
        of_beta = np.max(np.exp(log_width) * grown, axis=1)
    if wanted is not None:
        asked = kept[kept < len(march.saved)]
        times[: asked.size] = goals[asked]
    told = np.array([state.p[rows] / frame.counts[rows] for state in states])
    log_times = np.array([state.log_time for state in states])
    return Trajectory(
        times=times,
        states=weights,
        loss=np.array(
            [
                problem.loss(problem.model(DiagonalParams(*pair), problem.data.X), problem.data.y)
                for pair in zip(weights.plus, weights.minus, strict=True)
            ]
        ),
        error=error,
        events=(),
        stats=stats,
        result=runs.result,
        problem=problem,
        interpolant=lambda t: _at(problem, march, t),
        predictor_error=of_beta,
        margin=np.array([float(np.min(p.margins) / np.sum(p.width)) for p in seen]),
        log_norm=np.array([state.log_norm for state in states]),
        sample_weights=told,
        smooth_time=times if smooth else None,
        log_time=None if smooth else log_times,
        continuation=partial(integrate_separable, problem, log_norm=log_norm, before=runs),
    )


def _weights(problem: Problem, frame: DualFrame, eta: Array) -> DiagonalParams:
    middle = (frame.log_r - LOG2) / 2
    signs = [np.sign(leaf) for leaf in problem.start]
    with np.errstate(under="ignore"):
        plus, minus = np.exp(middle + eta / 2), np.exp(middle - eta / 2)
    return DiagonalParams(signs[0] * plus, signs[1] * minus)


def _at(problem: Problem, march: SeparableMarch, t: float) -> DiagonalParams:
    """Inside a step: by a step that ends there, known as well as the one that was taken."""
    if t == 0:
        return DiagonalParams(*(np.array(leaf) for leaf in problem.start))
    frame = march.frame
    return _weights(problem, frame, frame.eta(march.at(float(np.log(t))).s))


@dataclass(frozen=True, eq=False, repr=False)
class DirectionPath(Shown):
    """The direction of a diagonal network on separable data, as far as its norm was followed.

    Parameters
    ----------
    log_norm : array of shape (T,)
        log Σ(w₊² + w₋²), which is log‖β‖₁ once β is large.
    directions : array of shape (T, d)
        β/‖β‖₁; zero at β = 0.
    margin : array of shape (T,)
        min y·⟨β, x⟩/‖β‖₁.
    best : float
        The largest margin of all directions, γ.
    error : array of shape (T,)
        Estimates, no bounds, of the error of the directions in the ℓ1 norm at the same σ.
    sigma : array of shape (T,)
        Σs, the clock of the smooth margin of the exponential loss.
    sample_weights : array of shape (T, n)
        How much each sample moves the weights, summing to one.
    dual : array of shape (T, n)
        s: η = η₀ + 4Zᵀs.
    result : Result
    stats : mapping
    problem : Problem

    Examples
    --------
    >>> data = bf.Dataset([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.ExponentialLoss(), scale=1.0)
    >>> path = bf.flows.direction_path(problem, log_norm=1000.0)
    >>> print(path.directions[-1].round(3), round(path.margin[-1] / path.best, 6))
    [0.5 0.5] 1.0
    """

    log_norm: Array
    directions: Array
    margin: Array
    best: float
    error: Array
    sigma: Array
    sample_weights: Array
    dual: Array
    result: Result
    stats: dict[str, Any]
    problem: Problem

    def __repr__(self) -> str:
        return (
            f"DirectionPath(log-norm {self.log_norm[0]:.4g} to {self.log_norm[-1]:.6g}, margin "
            f"{self.margin[-1]:.6g} of {self.best:.6g}, error {self.error[-1]:.1e})"
        )

    def facts(self) -> Facts:
        return Facts(
            "DirectionPath",
            (
                Fact("log-norm", f"from {self.log_norm[0]:.4g} to {self.log_norm[-1]:.6g}"),
                Fact("margin", f"{self.margin[-1]:.8g} of at most {self.best:.8g}"),
                Fact("entries", f"{np.sum(np.abs(self.directions[-1]) > 1e-6)} above 1e-6"),
                Fact("error", f"{self.error[-1]:.2g}, of the direction"),
                Fact("ended", self.result.value),
            ),
        )

    def plot(self) -> Any:
        """A matplotlib figure: the entries of the direction and the margin by log-norm."""
        return drawing_room().direction_picture(self)


@doing("direction path")
def direction_path(
    problem: Problem,
    log_norm: float = 1e5,
    *,
    rtol: float = RTOL,
    time_s: float | None = FLOW_S,
) -> DirectionPath:
    """The direction β/‖β‖₁ along gradient flow of a diagonal network of depth two, to any norm.

    It tends to the direction of largest ℓ1 margin (Pesme, Dragomir and Flammarion 2024), whatever
    the start is; the norm at which it gets there depends on the start.

    Parameters
    ----------
    problem : Problem
        `DiagonalNetwork(2)` under `ExponentialLoss` or `LogisticLoss`, classes separable.
    log_norm : float
        The value of log Σ(w₊² + w₋²) to end at, at most 1e6.
    rtol : float
        Relative error of β allowed per step.
    time_s : float, optional
        Seconds after which it gives up; None for none.

    Returns
    -------
    flows.DirectionPath

    Raises
    ------
    RefusedError
        Where the classes are not shown to be separable, or the model is another.

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 0.9]], [1.0])
    >>> for scale in (1e-3, 1e3):
    ...     problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.ExponentialLoss(), scale=scale)
    ...     print(bf.flows.direction_path(problem, log_norm=20.0).directions[-1].round(3))
    [0.967 0.033]
    [0.64 0.36]
    """
    reason = refusal(problem)
    if reason is not None:
        raise RefusedError(f"direction_path: {reason}")
    problem.loss.checked(problem.data.y)
    check(problem, log_norm, FARTHEST)
    best, units = needs_separation(problem), own_units(problem)
    own, shift = units.problem(problem), 2 * units.states * LOG2
    deadline = Deadline(None if time_s is None else positive_float("time_s", time_s))
    runs, rows, stats = _marched(
        own, np.empty(0), log_norm - shift, relative_tolerance("rtol", rtol), deadline, True, shift
    )
    march, result = runs.march, runs.result
    if not result.success:
        raise ConvergenceError(
            f"direction_path: {result.value} at log-norm {march.states[-1].log_norm + shift:g}"
        )
    states, frame = march.states, march.frame
    etas = [frame.eta(state.s) for state in states]
    seen = [frame.place(eta, floor=-np.inf) for eta in etas]
    doubt = _doubts(march, runs.beside, [*range(len(states))], timed=False)
    sizes = np.array([max(float(np.sum(np.abs(place.beta))), 1e-300) for place in seen])
    size = float(2.0**units.inputs)
    return DirectionPath(
        log_norm=np.array([state.log_norm for state in states]) + shift,
        directions=np.array([p.beta for p in seen]) / sizes[:, None],
        margin=size * np.array([float(np.min(p.margins)) for p in seen]) / sizes,
        best=best,
        error=np.array([_direction_error(*each) for each in zip(seen, doubt, strict=True)]),
        sigma=np.array([state.sigma for state in states]) / size,
        sample_weights=np.array([state.p[rows] / frame.counts[rows] for state in states]),
        dual=np.array([state.s[rows] / frame.counts[rows] for state in states]) / size,
        result=result,
        stats=stats,
        problem=problem,
    )


def _direction_error(place: Place, doubt: Array) -> float:
    """2‖δβ‖₁/‖β‖₁, of what η may be off by."""
    total = float(np.sum(np.abs(place.beta)))
    if total == 0:
        return 0.0
    return float(2 * np.sum(place.width * np.expm1(np.minimum(doubt, 50.0))) / total)
