"""Mirror flow in its n-dimensional dual: ν̇ = y − X∇φ*(∇φ(β₀) + Xᵀν), whatever d is (R, §2).

The right-hand side is minus the gradient of a convex function of ν: smooth, stiff, with the
symmetric Jacobian −X·diag(w)·Xᵀ. LSODA with that Jacobian integrates it; on plateaus, where ν grows
linearly and a multistep method would jump over whole transitions, steps are capped so that no β may
grow by more than e² within one once it is significant. The error estimate is what the defect of
its dense output makes along the flow (`defect`).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import SMALLEST_NORMAL, Array, instance
from ..._core.former_names import renamed
from ..._core.problems import MirrorProblem
from ..._core.progress import doing
from ..._core.results import Result, Trajectory
from ..._core.trees import leaf_map, leaves
from ..._numerics.deadlines import FLOW_S, deadline_of
from ..._numerics.failed_steps import without_warnings
from ..._numerics.flow_frame import CONVERGED, FlowRequest, goes_on
from ..._numerics.interrupts import stoppable
from ...errors import InconsistentError, InfeasibleError, InputError, RefusedError, unknown
from ...limits.constraints import reduce_constraints, surely_independent
from ...limits.half_lines import forced_zeros
from ...limits.minimisers import least_squares_fit
from ...limits.newton import weighted_gram
from ...losses import SquareLoss, needs_square
from ...potentials import ScaledPotential
from ...potentials.potential import MirrorPoint, Potential
from ..continuation import Asked
from ..endings import judged
from ..units import own_mirror
from .defect import Transported, transported_errors

EPS = float(np.finfo(float).eps)
ROUNDINGS = 8.0
"""Roundings of η, β and the weights that an error estimate allows for."""
HOLDING = 4 * EPS
"""Relative rounding of weights, a few eps."""
NUMBERS_AT_ONCE = 2**14
"""Coordinates of all points whose errors are found in one go: they fit a processor's cache."""


@dataclass(frozen=True)
class DualControls:
    """What steers a flow in the dual, whichever integrator takes its steps."""

    converged_short: float = 1e-10
    """What `CONVERGED` is for the excess over a positive infimum, known to rounding only."""
    significant: float = 1e-6
    """Share of the least-squares solution's largest entry above which a β is significant."""
    most_steps: int = 500_000
    wall: float = 1e12
    """β and weights beyond a wall, or after an overflow in a trial step, as the integrator sees
    them: in units of the largest β that least squares would make, at least one."""


@dataclass(frozen=True)
class LsodaControls:
    """What steers LSODA: in segments, each with a cap on its steps."""

    relative: float = 100 * EPS
    """Its own relative tolerance: off, its least value. Errors of ν count absolutely, for they are
    relative errors of β."""
    growth: float = 2.0
    """Cap on the logarithmic growth of any significant |β| within a step."""
    uncapped_below: float = 0.2
    """Share of the capped growth below which the cap is lifted: the plateau or the transition is
    over."""
    steps_per_look: int = 8
    """Steps after which the point is looked at, unless something grew before: most steps then cost
    the integrator's work only."""
    nearly_converged: float = 1e-10
    """Share of the first loss below which a flow without progress sits at the tolerance."""
    idle_looks: int = 20
    """Looks without progress after which it does, and the tolerance is sharpened."""
    sharpening: float = 0.01
    """Factor on the tolerance each time."""
    sharpest: float = 1e-7
    """Factor on the tolerance at which that ends."""
    first_step: float = 1e-3
    """First step of a segment, as a share of the capped one."""
    horizon: float = 1e15
    """Final time in capped steps where none was given: LSODA wants a finite one."""
    standing_steps: int = 50
    """Steps in a row too short for the clock to show, after which a segment is given up: LSODA says
    t + h = t, and goes on."""
    smallest_step: float = 1e-14
    """Relative step below which the integration gives up."""


DUAL, SEGMENTS = DualControls(), LsodaControls()


@renamed(potential="problem")
@doing("mirror flow")
def mirror_flow(
    problem: MirrorProblem | Potential,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    beta0: ArrayLike | None = None,
    t1: float | None = None,
    loss: SquareLoss | None = None,
    times: ArrayLike | None = None,
    rtol: float = 1e-8,
    throw: bool = True,
    method: Any = None,
    *,
    time_s: float | None = FLOW_S,
) -> Trajectory[Array]:
    """d/dt ∇φ(β) = −∇L(Xβ) from β₀, L = ½‖Xβ − y‖² unless said otherwise.

    `mirror_flow(potential, X, y, beta0)` makes the problem itself.

    Parameters
    ----------
    problem : MirrorProblem
        Potential, data and start.
    X, y, beta0
        What makes a problem of a potential that is given in its place: (n, d), (n,), and β₀ (d,)
        (None: the minimiser of φ).
    t1 : float, optional
        The time to end at. None: until the loss is 1e-20 of its start, or stationary at a positive
        infimum.
    loss : SquareLoss, optional
        Its normalisation sets the clock.
    times : array of shape (T,), optional
        Where to save; by default every step.
    rtol : float
        Error allowed per step, relative for large β and absolute in η for small ones.
    throw : bool
        Whether to raise where the integration gave up.
    method : {'dual', 'compiled'} or flows.Dual, optional
        'dual' takes any potential; 'compiled' the hypentropy and its multiples, much faster after
        some seconds of compilation once per machine.
    time_s : float, optional
        Seconds after which it gives up, compilation not counted; None for none.

    Returns
    -------
    Trajectory
        states are β (T, d), `dual` ν (T, n). The problem recorded is the flow's own: its potential
        is φ over the speed of L.

    Raises
    ------
    DomainError
        Where β₀ is not in the domain of φ.
    ConvergenceError
        Where the integration gave up, unless throw is False.

    Examples
    --------
    >>> X, y = np.array([[1.0, 2.0, 3.0]]), np.array([6.0])
    >>> for potential in (bf.potentials.Euclidean(), bf.potentials.Hypentropy(1e-6)):
    ...     print(np.round(bf.mirror_flow(potential, X, y).final, 3))
    [0.429 0.857 1.286]
    [0.    0.013 1.992]
    """
    deadline = deadline_of(time_s)
    if not isinstance(problem, MirrorProblem):
        instance("potential", problem, Potential)
        problem = MirrorProblem(problem, X, y, beta0)  # type: ignore[arg-type]
    elif any(given is not None for given in (X, y, beta0)):
        raise InputError("mirror_flow: a problem has its data and start; give it alone")
    instance("potential", problem.potential, Potential)
    if problem.beta0 is not None:
        oriented = problem.potential.oriented(problem.beta0)
        problem = dataclasses.replace(problem, potential=oriented)
    loss = SquareLoss("half") if loss is None else needs_square("mirror_flow", loss)
    speed = 2 * loss.factor(len(problem.y))
    units, own = own_mirror(problem)
    integrate = integrator(method, own.potential)
    end, wanted = units.ends(t1, times)
    clock, unit, shift = units.shown(problem)
    request, shown = FlowRequest.read(end, rtol, wanted, deadline), problem
    request = dataclasses.replace(request, units=(clock, speed * unit, shift))
    if speed != 1:
        slowed = ScaledPotential(1 / speed, problem.potential)
        shown = dataclasses.replace(problem, potential=slowed)

    def restored(found: Trajectory[Array]) -> Trajectory[Array]:
        return units.restored(judged(found), shown)

    def follow() -> Trajectory[Array]:
        found = integrate(own, speed, request).trajectory(own, loss, lambda point: point.beta)
        return Asked("mirror_flow", request, units, restored).returned(found, throw)

    return stoppable(follow)


def integrator(method: Any, potential: Potential) -> Callable[..., Any]:
    """`integrate_dual`, or its compiled form where that was asked for, by name or by its method."""
    from .compiled_flow import integrate_compiled, refusal

    method = getattr(method, "name", method)
    if method is None or instance("method", method, str) == "dual":
        return integrate_dual
    if method != "compiled":
        raise unknown("method", method, ["dual", "compiled"])
    reason = refusal(potential)
    if reason is not None:
        raise RefusedError(f"method 'compiled': {reason}")
    return integrate_compiled


@dataclass(frozen=True, eq=False)
class DualFlow:
    """An integrated dual flow: dense ν(t), the saved points with their error, and why it
    stopped."""

    origin: MirrorPoint
    X: Array
    y: Array
    dense: Callable[[float], Array]
    times: Array
    dual: Array  # ν at the saved times
    errors: Array  # of ν there, several of each, the largest of which counts
    result: Result
    stats: dict[str, Any]
    over: Callable[[], bool]
    go_on: Callable[[FlowRequest], DualFlow]

    def point_at(self, t: float) -> MirrorPoint:
        return self.origin.moved(self.X.T @ self.dense(t))

    def saved(self, rows: slice) -> MirrorPoint:
        """Points over a leading time axis, to the last digit those of `point_at`."""
        return self.origin.moved(np.array([self.X.T @ nu for nu in self.dual[rows]]))

    def trajectory(
        self,
        problem: Any,
        loss: SquareLoss,
        view: Callable[[MirrorPoint], Any],
        degree: int | None = None,
    ) -> Trajectory[Any]:
        """What is saved. degree: of β in the weights that `view` gives; None where it gives β."""
        points = self.saved(slice(None))
        states, predictions = view(points), (self.X @ points.beta.T).T
        error, of_beta = self._errors(states, view)
        if degree is not None:
            error, of_beta = held(error, of_beta, largest_size(leaves(states)), degree)
        return Trajectory(
            times=self.times,
            states=states,
            loss=np.array([loss(prediction, self.y) for prediction in predictions]),
            error=error,
            events=(),
            stats=self.stats,
            result=self.result,
            problem=problem,
            interpolant=lambda t: view(self.point_at(t)),
            predictor_error=of_beta,
            dual=self.dual,
            continuation=lambda further: self.go_on(further).trajectory(
                problem, loss, view, degree
            ),
        )

    def _errors(self, states: Any, view: Callable[[MirrorPoint], Any]) -> tuple[Array, Array]:
        """Of the states, and of β: what the errors of ν and the rounding of η do to them, away from
        zero where they do most.

        NaN where there was no time for them.
        """
        found = np.full((2, len(self.times)), np.nan)
        sound = np.append(np.isfinite(self.errors).all(axis=(1, 2)), False)
        most, known = max(1, NUMBERS_AT_ONCE // self.X.shape[1]), int(np.argmin(sound))
        for first in range(0, known, most):
            if self.over():
                break
            rows = slice(first, min(first + most, known))
            found[:, rows] = self._errors_at(rows, states, view)
        return found[0], found[1]

    def _errors_at(self, rows: slice, states: Any, view: Callable[[MirrorPoint], Any]) -> Array:
        """Both errors at some of the times, (2, times)."""
        norms = np.sqrt(np.einsum("ij,ij->j", self.X, self.X))
        point, state = self.saved(rows), leaf_map(itemgetter(rows), states)
        far = np.linalg.norm(self.dual[rows], axis=1)
        blur = ROUNDINGS * EPS * (np.abs(point.eta) + norms * far[:, None])
        shift = np.max(np.abs(self.errors[rows] @ self.X), axis=1) + blur
        sizes = np.array([largest_size(leaves(state)), largest_size([point.beta])])
        moved = _moved(point, state, np.where(point.eta < 0, -shift, shift), view)
        return np.asarray(moved + ROUNDINGS * EPS * sizes)


def held(error: Array, of_beta: Array, size: Array, degree: int) -> tuple[Array, Array]:
    """Both errors where β is held by weights of this size w: they are known to a few eps·w, and
    hold it to a few eps·w^D only."""
    return error + HOLDING * size, of_beta + HOLDING * degree * size**degree


def largest_size(arrays: Iterable[Array]) -> Array:
    """The largest size of an entry, at every time."""
    return np.max([np.max(np.abs(array).reshape(len(array), -1), axis=1) for array in arrays], 0)


def _moved(
    point: MirrorPoint, state: Any, shift: Array, view: Callable[[MirrorPoint], Any]
) -> Array:
    """How far a shift of η moves the states and β; where it leads beyond a wall, the other way."""
    found = np.full((2, len(shift)), np.inf)
    for way in (shift, -shift):
        with np.errstate(all="ignore"):
            other = point.moved(way)
            gaps = [a - b for a, b in zip(leaves(state), leaves(view(other)), strict=True)]
            there = np.array([largest_size(gaps), largest_size([point.beta - other.beta])])
        use = np.isinf(found[0]) & np.isfinite(there).all(axis=0)
        found[:, use] = there[:, use]
        if np.isfinite(found).all():
            break
    return found


class _Runs(NamedTuple):
    """A run, its errors, and the seconds that these took."""

    run: _Run
    errors: Transported
    error_seconds: float


def integrate_dual(
    problem: MirrorProblem, speed: float, request: FlowRequest, before: _Runs | None = None
) -> DualFlow:
    """Integrate ν̇ = speed·(y − Xβ(ν)) until t1, or until converged, and the error along it.
    before: what goes on."""
    X, y, origin, t1, deadline = problem.X, problem.y, problem.origin, request.t1, request.deadline
    target, infimum, ending = reachable(problem.potential.half_lines(X.shape[1]), X, y)
    field = _Field(origin, X, target, speed)
    threshold = infimum + (
        DUAL.converged_short if ending is Result.INFEASIBLE else CONVERGED
    ) * half(target - X @ origin.beta)
    run, known, seconds = (None, None, 0.0) if before is None else before
    if run is None or goes_on(run.result, float(run.times[-1]), t1):
        stop = _stopping(field, t1, threshold, ending)
        with request.watched(field.where):
            run = _integrate(field, t1, stop, request.rtol, deadline.first, run)
    started = time.process_time()
    saved = request.saved(run.times)
    nus = np.array([run.dense(t) for t in saved])
    with doing("its error"):
        errors = transported_errors(
            field, run.times, run.nus, run.pieces, saved, deadline.both, known
        )
    seconds += time.process_time() - started
    stats = {
        "method": "dual",
        "steps": len(run.times) - 1,
        "evaluations": run.evaluations,
        "error_seconds": seconds,
        "restarts": run.restarts,
    }
    return DualFlow(
        origin=origin,
        X=X,
        y=y,
        dense=run.dense,
        times=saved,
        dual=nus,
        errors=errors.found,
        result=run.result,
        stats=stats,
        over=deadline.both,
        go_on=partial(integrate_dual, problem, speed, before=_Runs(run, errors, seconds)),
    )


class _Field:
    """The right-hand side of the dual flow, its Jacobian, and how sensitive β is to ν."""

    def __init__(self, origin: MirrorPoint, X: Array, target: Array, speed: float) -> None:
        self.origin, self.X, self.target, self.speed = origin, X, target, speed
        self.floor = np.minimum(origin.weight(), origin.moved(-origin.eta).weight())
        self.norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        self.row_sum = float(np.max(np.sum(np.abs(X), axis=1)))
        change = np.abs(np.linalg.lstsq(X, target - X @ origin.beta, rcond=None)[0])
        largest = float(np.max(np.abs(origin.beta) + change))
        self.beyond = DUAL.wall * max(1.0, largest)
        self.log_significant = float(np.log(max(DUAL.significant * largest, SMALLEST_NORMAL)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            relative = np.nan_to_num(change / (np.abs(origin.beta) + self.floor), nan=0.0)
            rounded = np.nan_to_num(
                (np.abs(origin.beta) + change) / (np.abs(origin.beta) + self.floor), nan=0.0
            )
        self.extent = min(1.0, max(float(np.max(relative)), SMALLEST_NORMAL))
        self.noise = EPS * min(1.0, float(np.max(rounded)))
        self.evaluations = 0
        self.at = 0.0, np.zeros(len(target))

    def where(self) -> tuple[float, float]:
        """Time and ½‖Xβ − target‖² at the last step."""
        t, nu = self.at
        return t, half(self.force(self.point(nu)) / self.speed)

    def point(self, nu: Array) -> MirrorPoint:
        """At one ν, or at every row of several."""
        return self.origin.moved((self.X.T @ nu.T).T)

    def force(self, point: MirrorPoint) -> Array:
        """speed·(target − Xβ); beyond a wall, where a trial step may look, β is huge but finite."""
        beta = np.clip(point.beta, -self.beyond, self.beyond)
        return self.speed * (self.target - (self.X @ beta.T).T)

    def __call__(self, t: float, nu: Array) -> Array:
        self.evaluations += 1
        return self.force(self.point(nu))

    def jacobian(self, t: float, nu: Array) -> Array:
        most = self.beyond
        weight = np.minimum(np.nan_to_num(self.point(nu).weight(), nan=most, posinf=most), most)
        top = float(np.max(weight))
        return (
            -self.speed * top * weighted_gram(self.X, weight / top)
            if top > 0
            else np.zeros((len(nu), len(nu)))
        )

    def relative_weight(self, point: MirrorPoint) -> Array:
        """|d log β/dη|: how a change of η shows in β, relative for large β, in units of the scale
        for small."""
        weight = point.weight()
        # 0/0 where everything underflowed: a change of η is one of log β
        with np.errstate(invalid="ignore"):
            relative = weight / (np.abs(point.beta) + np.minimum(self.floor, weight))
        return relative if np.isfinite(relative).all() else np.nan_to_num(relative, nan=1.0)

    def allowance(self, point: MirrorPoint) -> Array:
        """How far log|β| may grow within a step: up to significance at once, by the cap beyond."""
        return np.maximum(SEGMENTS.growth, self.log_significant - point.log_size())

    def at_floor(self, point: MirrorPoint, force: Array) -> bool:
        """Whether the force is what rounding of η leaves of it."""
        blur = EPS * (point.weight() * np.abs(point.eta).max() + np.abs(point.beta))
        if np.abs(force).max() > self.speed * self.row_sum * blur.max():
            return False
        return bool(np.all(np.abs(force) <= self.speed * (np.abs(self.X) @ blur)))


@dataclass(frozen=True, eq=False)
class _Run:
    """One integration: where its steps ended, ν there, and the polynomials between; by how much
    its tolerance was sharpened."""

    times: Array
    nus: Array
    pieces: tuple[Any, ...]
    result: Result
    evaluations: int
    restarts: int
    sharpness: float

    def dense(self, t: float) -> Array:
        k = int(np.searchsorted(self.times, t))
        return self.nus[k] if k == 0 or self.times[k] == t else self.pieces[k - 1](t)


Stop = Callable[[MirrorPoint, Array], Result | None]


def _integrate(
    field: _Field,
    t1: float | None,
    stop: Stop,
    rtol: float,
    over: Callable[[], bool],
    before: _Run | None,
) -> _Run:
    """LSODA in segments: a step that let some β grow too far is taken back and the next segment is
    capped."""
    with without_warnings():
        return _segments(field, t1, stop, rtol, over, before)


def _segments(
    field: _Field,
    t1: float | None,
    stop: Stop,
    rtol: float,
    over: Callable[[], bool],
    before: _Run | None,
) -> _Run:
    from scipy.integrate import LSODA

    if before is None:
        none = np.zeros((1, len(field.target)))
        before = _Run(np.zeros(1), none, (), Result.TIME_LIMIT, 0, -1, 1.0)
    times, nus, pieces = list(before.times), list(before.nus), list(before.pieces)
    field.evaluations, restarts, sharpness = before.evaluations, before.restarts, before.sharpness
    caution, capped, result, most_steps = 1.0, True, None, DUAL.most_steps + len(pieces)
    initial = half(field.force(field.point(nus[0])))
    while result is None:
        t, nu = times[-1], nus[-1]
        point = field.point(nu)
        force = field.force(point)
        if (result := stop(point, force)) is not None:
            break
        if over():
            result = Result.TIME_LIMIT
            break
        relative, allowance = field.relative_weight(point), field.allowance(point)
        rate = float(np.max(np.abs(field.X.T @ force) * relative / allowance))
        sensitivity = max(float(np.max(field.norms * relative)), SMALLEST_NORMAL)
        cap = caution / max(rate, SMALLEST_NORMAL)
        if cap < SEGMENTS.smallest_step * t or caution < SEGMENTS.smallest_step:
            result = Result.STEP_TOO_SMALL
            break
        restarts += 1
        bound = t + SEGMENTS.horizon * cap if t1 is None else t1
        stiffness = -float(np.trace(field.jacobian(t, nu)))
        first = min(
            SEGMENTS.first_step * cap,
            SEGMENTS.first_step / max(stiffness, SMALLEST_NORMAL),
            bound - t,
        )
        limit = cap if capped else np.inf
        solver = LSODA(
            field,
            t,
            nu,
            bound,
            first_step=first,
            max_step=limit,
            rtol=SEGMENTS.relative,
            atol=max(sharpness * rtol * field.extent, field.noise) / sensitivity,
            jac=field.jacobian,
        )
        sound, travelled, lowest, idle, standing = len(times), 0.0, np.inf, 0, 0
        while result is None and solver.status == "running":
            solver.step()
            # what it moved is a jump of the next piece
            if solver.status != "failed" and solver.t <= times[-1]:
                standing += 1
                if standing <= SEGMENTS.standing_steps and not over():
                    continue
                caution, capped = (caution / 8 if capped else caution), True
                break
            standing = 0
            growth = float((np.abs(field.X.T @ (solver.y - nus[-1])) * relative / allowance).max())
            if solver.status == "failed" or not growth <= 2:
                caution, capped = (caution / 8 if capped else caution), True
                break
            pieces.append(solver.dense_output())
            times.append(float(solver.t))
            nus.append(solver.y.copy())
            field.at = times[-1], nus[-1]
            travelled += growth
            if over():
                result = Result.TIME_LIMIT
            if (
                result is None
                and len(times) < sound + SEGMENTS.steps_per_look
                and travelled < 1
                and solver.status == "running"
            ):
                continue
            point = field.point(solver.y)
            if not np.isfinite(point.beta).all():
                del times[sound:], nus[sound:], pieces[sound - 1 :]
                caution, capped = caution / 8, True
                break
            sound, travelled, caution, force = len(times), 0.0, 1.0, field.force(point)
            relative, allowance = field.relative_weight(point), field.allowance(point)
            result = stop(point, force) or result
            if result is None and t1 is not None and solver.t >= t1:
                result = Result.REACHED_T1
            if result is None and len(times) > most_steps:
                result = Result.STEP_LIMIT
            calm = (
                capped
                and float(np.max(np.abs(field.X.T @ force) * relative / allowance)) * cap
                < SEGMENTS.uncapped_below
            )
            lowest, idle = (half(force), 0) if half(force) < 0.9 * lowest else (lowest, idle + 1)
            stuck = (
                t1 is None
                and idle >= SEGMENTS.idle_looks
                and lowest < SEGMENTS.nearly_converged * initial
                and sharpness > SEGMENTS.sharpest
            )
            sharpness *= SEGMENTS.sharpening if stuck else 1.0
            if calm or stuck or (field.norms * relative).max() > 3 * sensitivity:
                capped = capped and not calm
                break
    return _Run(
        np.array(times),
        np.array(nus),
        tuple(pieces),
        result,
        field.evaluations,
        max(restarts, 0),
        sharpness,
    )


def _stopping(field: _Field, t1: float | None, threshold: float, ending: Result) -> Stop:
    def stop(point: MirrorPoint, force: Array) -> Result | None:
        if t1 is not None:
            return None
        if half(force) / field.speed**2 <= threshold:
            return ending
        return Result.FLOOR if field.at_floor(point, force) else None

    return stop


def reachable(signs: Array, X: Array, y: Array) -> tuple[Array, float, Result]:
    """The labels that the flow approaches, the infimum of ½‖Xβ − target‖², and how a converged flow
    is called."""
    try:
        if not surely_independent(X):
            reduce_constraints(X, y)
        target, ending = y, Result.CONVERGED
    except InconsistentError:
        target, ending = X @ np.linalg.lstsq(X, y, rcond=None)[0], Result.STATIONARY
    if np.any(signs):
        try:
            forced_zeros(X, target, signs)
        except InfeasibleError:
            return target, half(least_squares_fit(X, target, signs)[0] - target), Result.INFEASIBLE
    return target, 0.0, ending


def half(residual: Array) -> float:
    return 0.5 * float(residual @ residual)
