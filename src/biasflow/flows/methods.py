"""Gradient flow: the first method that fits the problem, or the one asked for."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import instance, positive_int, relative_tolerance
from .._core.former_names import renamed
from .._core.problems import (
    Dataset,
    MirrorProblem,
    Problem,
    dataset,
    design,
    from_starts,
    mirror_problem,
)
from .._core.progress import doing
from .._core.results import Trajectory
from .._numerics.cores import in_threads
from .._numerics.deadlines import FLOW_S, Deadline, deadline_of
from .._numerics.flow_frame import FlowRequest
from .._numerics.interrupts import stoppable
from ..errors import InputError, RefusedError, unknown
from ..losses import Loss, SquareLoss
from ..models import (
    DeepNetwork,
    MatrixFactorisation,
    Model,
    SignedTwoLayer,
    TwoLayer,
    mirror_form,
    nonsmooth,
)
from ..models.hyperbola import HyperbolicLift
from ..models.model import MirrorForm
from . import margin, separable
from .continuation import Asked
from .endings import judged
from .factored import check_start, integrate_factored
from .mirror.compiled_flow import refusal
from .mirror.dual_flow import integrator
from .relu.event_flow import integrate_events
from .rounded_kinks import integrate_rounded, too_many_weights
from .units import LOG2, own_units
from .weights import follow_weights

RTOL = 1e-8


class FlowMethod(ABC):
    """A way to integrate gradient flows, with its own options. One of your own is used by passing
    it as `method=`.

    It is handed the problem in its own units, powers of two in which inputs and labels are of size
    one (`flows.units`), and its trajectory is taken back from there.
    """

    rtol = RTOL
    """The tolerance where none is asked for."""
    below_floats = False
    """Whether it can start below float range."""
    side_by_side = False
    """Whether flows from several starts run on several cores: by code that is compiled, and holds
    no lock."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What `method=` calls it."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """None where the method fits, else a sentence that says why not."""

    @abstractmethod
    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        """The flow as far as it is asked for, with an estimate of its error."""

    @property
    def ends(self) -> bool:
        """Whether the method's options tell where to end, also where nothing converges."""
        return False

    def cannot(self, problem: Problem) -> str | None:
        """Why the method does not fit, its start included."""
        reason = self.refuses(problem)
        if reason is None and not problem.in_floats and not self.below_floats:
            return (
                f"the start of size e^{np.min(problem.log_scale):g} is below float range, "
                f"where {self.name!r} cannot start"
            )
        return reason

    def check(self, problem: Problem) -> None:  # noqa: B027
        """An error where the flow cannot start there, or cannot end where its options say; in the
        units that were given."""

    def in_units(self, log_unit: float) -> FlowMethod:
        """The method for weights in units of e^{log_unit}."""
        return self


@dataclass(frozen=True)
class Dual(FlowMethod):
    """Through the mirror form, in the n-dimensional dual; for hypentropies also as compiled
    code.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=6, d=8, sparsity=1, noise_var=0.0, key=0)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-100)
    >>> flow = bf.gradient_flow(problem, method=bf.flows.Dual())
    >>> beta = problem.model.effective(flow.final).round(3)
    >>> np.flatnonzero(beta), beta[0].item()
    (array([0]), 1.0)
    """

    compiled: bool = False

    @property
    def name(self) -> str:
        return "compiled" if self.compiled else "dual"

    def refuses(self, problem: Problem) -> str | None:
        form = mirror_form(problem)
        if isinstance(form, str):
            return form
        _FORMS[problem] = form
        return refusal(form.potential) if self.compiled else None

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        form = _FORMS.pop(problem, None) or mirror_form(problem)
        if isinstance(form, str):
            raise RefusedError(form)
        X, y, lift = design(problem), problem.data.y, form.lift
        mirror = (
            mirror_problem(form.potential, X, y, lift.origin)
            if isinstance(lift, HyperbolicLift)
            else MirrorProblem(form.potential, X, y, form.beta0)
        )
        flow = integrator(self.name, form.potential)(mirror, 1.0, request)
        return flow.trajectory(problem, problem.loss, lift, problem.model.homogeneity)


@dataclass(frozen=True)
class Events(FlowMethod):
    """Two-layer ReLU networks: smooth pieces between changes of activation, sliding in Filippov's
    sense.

    branch: the number of the way to take at each moment from which there are several, in order, or
    at the first.

    Examples
    --------
    >>> model, loss = bf.TwoLayer(8, 2), bf.SquareLoss("half-mean")
    >>> problem = bf.Problem(model, bf.data.two_points(), loss, scale=1e-3, key=0)
    >>> flow = bf.gradient_flow(problem, method=bf.flows.Events())
    >>> print(flow.events[0].kind, flow.loss[-1] < 1e-12)
    off True
    """

    branch: int | Sequence[int] = ()

    name = "events"
    below_floats = True
    side_by_side = True

    @property
    def ways(self) -> tuple[int, ...]:
        """The ways to take, in order, or an error that says what is wrong."""
        ways = self.branch if isinstance(self.branch, Sequence) else [self.branch]
        return tuple(positive_int("branch", way, least=0) for way in ways)

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.model, TwoLayer):
            return (
                "the event-driven flow is for TwoLayer networks, found "
                f"{type(problem.model).__name__}"
            )
        if not isinstance(problem.loss, SquareLoss):
            return f"the event-driven flow needs a square loss, found {type(problem.loss).__name__}"
        return None

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return integrate_events(problem, request, self.ways)


@dataclass(frozen=True)
class Factored(FlowMethod):
    """Matrix factorisations: a stiff method in the row space of the stacked factors, at the same
    cost for every width.

    Examples
    --------
    >>> data = bf.data.from_entries((2, 2), [0, 0, 1], [0, 1, 0], [2.0, 1.0, 1.0])
    >>> model, loss = bf.MatrixFactorisation((2, 2), rank=4), bf.SquareLoss("half")
    >>> flow = bf.gradient_flow(bf.Problem(model, data, loss, scale=1e-4, key=0))
    >>> model.effective(flow.final).round(3)
    array([[2. , 1. ],
           [1. , 0.5]])
    """

    name = "factored"

    def check(self, problem: Problem) -> None:
        check_start(problem)

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.model, MatrixFactorisation):
            return (
                "the factored flow is for MatrixFactorisation, found "
                f"{type(problem.model).__name__}"
            )
        if not isinstance(problem.loss, SquareLoss):
            return f"the factored flow needs a square loss, found {type(problem.loss).__name__}"
        return None

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return integrate_factored(problem, request)


@dataclass(frozen=True)
class Weights(FlowMethod):
    """The weights themselves, by a general stiff integrator: slow, and independent of all
    theory.

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 2.0, 3.0]], [6.0])
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=0.5)
    >>> for method in ("weights", "dual"):
    ...     print(problem.model.effective(bf.gradient_flow(problem, method=method).final).round(4))
    [0.3104 0.7306 1.4095]
    [0.3104 0.7306 1.4095]
    """

    name = "weights"

    def refuses(self, problem: Problem) -> str | None:
        return nonsmooth(problem.model, problem.start)

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return follow_weights(problem, request)


@dataclass(frozen=True)
class Margin(FlowMethod):
    """Two-layer networks under losses without a minimiser: implicit in the dual, whatever the norm
    has grown to.

    log_norm: the value of log Σ‖w‖² to end at.

    Examples
    --------
    >>> data = bf.data.with_bias(bf.Dataset([[-1.0], [1.0]], [-1.0, 1.0]))
    >>> problem = bf.Problem(bf.TwoLayer(6, 2), data, bf.SmoothMargin(), scale=1.0, key=0)
    >>> flow = bf.gradient_flow(problem, method=bf.flows.Margin(log_norm=20.0))
    >>> print(round(flow.margin[-1], 3), round(flow.log_norm[-1]))
    0.354 20
    """

    log_norm: float | None = None

    name = "margin"
    rtol = 1e-4
    side_by_side = True

    @property
    def ends(self) -> bool:
        return self.log_norm is not None

    def check(self, problem: Problem) -> None:
        margin.check(problem, self.log_norm)

    def in_units(self, log_unit: float) -> FlowMethod:
        return self if self.log_norm is None else Margin(self.log_norm - 2 * log_unit)

    def refuses(self, problem: Problem) -> str | None:
        return margin.refusal(problem)

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return margin.integrate_margin(problem, request, self.log_norm)


@dataclass(frozen=True)
class Separable(FlowMethod):
    """Diagonal networks of depth two under losses without a minimiser: implicit in the
    n-dimensional dual, whatever the norm has grown to; `flows.direction_path` goes beyond floats.

    log_norm: the value of log Σ(w₊² + w₋²) to end at.

    Examples
    --------
    >>> data = bf.Dataset([[1.0, 0.5], [-1.0, 0.5]], [1.0, -1.0])
    >>> loss = bf.SmoothMargin(bf.LogisticLoss())
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, loss, scale=1e-3)
    >>> flow = bf.gradient_flow(problem, method=bf.flows.Separable(log_norm=300.0))
    >>> print(round(flow.margin[-1], 6), round(flow.log_norm[-1]))
    1.0 300
    """

    log_norm: float | None = None

    name = "separable"
    rtol = 1e-6

    @property
    def ends(self) -> bool:
        return self.log_norm is not None

    def check(self, problem: Problem) -> None:
        separable.check(problem, self.log_norm)

    def in_units(self, log_unit: float) -> FlowMethod:
        return self if self.log_norm is None else Separable(self.log_norm - 2 * log_unit)

    def refuses(self, problem: Problem) -> str | None:
        return separable.refusal(problem)

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return separable.integrate_separable(problem, request, self.log_norm)


@dataclass(frozen=True)
class RoundedKinks(FlowMethod):
    """Small deep networks: kinks are rounded, the weights integrated; a flow with sharper kinks
    measures the error."""

    name = "general"

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.model, DeepNetwork):
            return (
                "the flow with rounded kinks is for DeepNetwork, found "
                f"{type(problem.model).__name__}"
            )
        return too_many_weights(problem.model)

    def integrate(self, problem: Problem, request: FlowRequest) -> Trajectory[Any]:
        return integrate_rounded(problem, request)


METHODS: tuple[FlowMethod, ...] = (
    Dual(),
    Events(),
    Margin(),
    Factored(),
    Weights(),
    Separable(),
    RoundedKinks(),
    Dual(compiled=True),
)
"""In the order in which they are asked whether they fit; with a log-norm to end at, those that know
such an end come first."""


@renamed(model="problem", ds="data", params0="start")
@doing("gradient flow")
def gradient_flow(
    problem: Problem | Model,
    data: Dataset | None = None,
    loss: Loss | None = None,
    start: Any = None,
    t1: float | None = None,
    rtol: float | None = None,
    times: ArrayLike | None = None,
    method: str | FlowMethod | None = None,
    throw: bool = True,
    *,
    log_norm: float | None = None,
    log_scale: ArrayLike | None = None,
    time_s: float | None = FLOW_S,
    branch: int | Sequence[int] = 0,
    starts: Iterable[Any] | None = None,
) -> Any:
    """ẇ = −∇L(w) from the problem's start, integrated with an error estimate.

    `gradient_flow(model, data, loss, start, log_scale=…)` makes the problem itself.

    Parameters
    ----------
    problem : Problem
        Model, data, loss and start.
    data, loss, start
        What makes a problem of a model that is given in its place.
    t1 : float, optional
        The time to end at. None: until the loss is 1e-20 of its start, or stationary; losses
        without a minimiser need an end.
    rtol : float, optional
        Relative tolerance; 1e-8, for 'margin' 1e-4, for 'separable' 1e-6, unless said otherwise.
    times : array of shape (T,), optional
        Where to save; by default every step.
    method : str or FlowMethod, optional
        By default the first that fits; a name, or an object with its options, which may be one of
        your own (`flows.FlowMethod`): 'dual' (`flows.Dual`, through the mirror form, any
        initialisation scale), 'events' (`flows.Events`, two-layer ReLU networks under the square
        loss; the trajectory's events are GateEvents), 'margin' (`flows.Margin`, two-layer networks
        under exponential and logistic losses), 'factored' (`flows.Factored`, matrix
        factorisations), 'weights' (`flows.Weights`, integrates w itself), 'general'
        (`flows.RoundedKinks`, deep ReLU networks of at most 400 weights); 'compiled'
        (`flows.Dual(compiled=True)`) is 'dual' for hypentropies, much faster once it is compiled;
        'separable' (`flows.Separable`, diagonal networks of depth two under exponential and
        logistic losses, at any norm), the first where there is a log_norm to end at.
    throw : bool
        Whether to raise where the integration gave up; else what there is comes back.
    log_norm : float, optional
        `Margin(log_norm=…)`, `Separable(log_norm=…)`: the value of log Σ‖w‖² to end at. Such flows
        tell margin, log_norm, sample_weights and smooth_time, C's clock, and for the mean risk
        log_time, the logarithm of its own. There C's (1/m)Σφ is the plain sum of weights over √m,
        in the same time.
    log_scale : float or array of shape (m,), optional
        How small the start is, without a floor for 'events': one number, or one for each neuron.
        States are then zero as long as they are below float range; polar(t) has unit neurons and
        logarithms of their norms, and log_norms these at every time saved (T, m).
    time_s : float, optional
        Seconds after which the flow gives up, compilation not counted; None: never. A quarter of
        them is for the flow, the rest for the second run that measures its error; an error that
        was not measured is not finite.
    branch : int or sequence of int
        `Events(branch=…)`: where Filippov's solution is not unique (`Trajectory.unique` is False),
        stats['branches'] has the moments from which a neuron could go several ways, each a Branch,
        and this is the number of the way to take at each, in order, or at the first. Zero, the way
        where nothing is said, closes gates on kinks that push away on both sides, and opens those
        whose pre-activations then grow. Such kinks are met at the start, where a neuron slides
        while its output weight changes sign, and at w = 0. States between two ways, which stay on
        the kink for a while, are solutions, too; no number stands for them.
    starts : iterable of parameters, optional
        Instead of the problem's own start; computed on all cores by the methods that are compiled.
        time_s is then for each of them.

    Returns
    -------
    Trajectory, or with `starts` a tuple of them
        states have the type of the start, with a leading time axis. Of ReLU networks, stats['dead']
        names the neurons that are off on every input in the end, which nothing moves any more.

    Raises
    ------
    RefusedError
        Where the method asked for cannot do it; the sentence says why.
    ConvergenceError
        Where the integration gave up, unless throw is False; `partial` is the flow up to there,
        which `error.partial.resume()` continues.
    KeyboardInterrupt
        Ctrl-C stops the flow within half a second. The error's `partial` is the flow so far, at 65
        of its times at most; it has none if that cannot be made in the half second.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-3)
    >>> flow = bf.gradient_flow(problem)
    >>> flow.result.value
    'converged: the loss fell below its threshold'
    >>> beta = problem.model.effective(flow.final)
    >>> print(round(abs(beta).sum(), 2), round(bf.min_norm(data, norm="l1").objective, 2))
    0.91 0.89
    """
    ended = t1 is not None or times is not None or log_norm is not None
    ended = ended or _ends(method)
    if starts is not None and not isinstance(problem, Problem):
        starts = list(instance("starts", starts, Iterable))
        if not starts:
            raise InputError("starts: expected at least one, found none")
        start = starts[0] if start is None else start
    asked = _problem(problem, data, loss, start, log_scale, ended)

    def follow(one: Problem) -> Trajectory[Any]:
        return _follow(one, t1, rtol, times, method, throw, log_norm, time_s, branch)

    def follow_all(problems: Sequence[Problem]) -> tuple[Trajectory[Any], ...]:
        # the first alone, so that nobody waits for the same compilation
        first, others = follow(problems[0]), problems[1:]
        if others and _chosen(method, _in_own_units(problems[0]), log_norm).side_by_side:
            return (first, *in_threads(follow, others))
        return (first, *map(follow, others))

    if starts is None:
        return stoppable(follow, asked)
    return stoppable(follow_all, from_starts(asked, starts))


def _in_own_units(problem: Problem) -> Problem:
    """The problem that methods are asked about: in its own units, unless it starts below floats."""
    return own_units(problem).problem(problem) if problem.in_floats else problem


def _follow(
    asked: Problem,
    t1: float | None,
    rtol: float | None,
    times: ArrayLike | None,
    method: str | FlowMethod | None,
    throw: bool,
    log_norm: float | None,
    time_s: float | Deadline | None,
    branch: int | Sequence[int],
) -> Trajectory[Any]:
    """The flow of one problem."""
    deadline = deadline_of(time_s)
    units = own_units(asked)
    own, (end, wanted) = units.problem(asked), units.ends(t1, times)
    of = own if asked.in_floats else asked
    chosen = _with_words(_chosen(method, of, log_norm), log_norm, branch)
    chosen.check(asked)
    tolerance = chosen.rtol if rtol is None else relative_tolerance("rtol", rtol)
    request = FlowRequest.of(end, tolerance, wanted, deadline)
    clock, unit, shift = units.shown(asked)
    if isinstance(chosen, Dual):  # which sees ½‖Xβ − y‖²
        unit *= 2 * asked.loss.factor(asked.data.n)
    request = dataclasses.replace(request, units=(clock, unit, shift))
    # what stands for deep ones is w
    plain = units.plain or isinstance(asked.model, DeepNetwork)
    degree = 1 if plain else int(asked.model.homogeneity)

    def restored(found: Trajectory[Any]) -> Trajectory[Any]:
        stats = _further_stats(found, own, tolerance)
        return units.restored(judged(found), asked, degree, stats)

    found = chosen.in_units(units.states * LOG2).integrate(own, request)
    return Asked("gradient_flow", request, units, restored).returned(found, throw)


def _problem(
    problem: Problem | Model, data: Any, loss: Any, start: Any, log_scale: Any, ended: bool
) -> Problem:
    """The problem, or that of a model with its data, loss and start; what is wrong is said before
    anything is computed."""
    given = isinstance(problem, Problem)
    if given and any(each is not None for each in (data, loss, start, log_scale)):
        raise InputError("gradient_flow: a problem has its data, loss and start; give it alone")
    model, data, loss = (
        (problem.model, problem.data, problem.loss)
        if isinstance(problem, Problem)
        else (problem, data, loss)
    )
    instance("model", model, Model)
    data = dataset(data)
    instance("loss", loss, Loss).checked(data.y)
    if not ended and not loss.attained:
        raise InputError(
            f"t1: {type(loss).__name__} has no minimiser, its flow grows for ever; give t1 or "
            "log_norm to end at"
        )
    if isinstance(problem, Problem):
        return problem
    scale = 0.0 if log_scale is None else log_scale
    start = model.checked(start, data.d) if start is None else start  # None: an error
    return Problem(model, data, loss, start, scale)


def _ends(method: Any) -> bool:
    return isinstance(method, FlowMethod) and method.ends


def _chosen(
    method: str | FlowMethod | None, problem: Problem, log_norm: float | None = None
) -> FlowMethod:
    """The method asked for, or the first that fits, or a refusal."""
    if method is None:
        capped = log_norm is not None and Separable().cannot(problem) is None
        return Separable() if capped else _first_that_fits(problem)
    instance("method", method, (str, FlowMethod))
    if isinstance(method, str):
        named = {m.name: m for m in METHODS}
        if method not in named:
            raise unknown("method", method, list(named))
        method = named[method]
    reason = method.cannot(problem)
    if reason is not None:
        raise RefusedError(f"method {method.name!r}: {reason}")
    return method


def _with_words(
    method: FlowMethod, log_norm: float | None, branch: int | Sequence[int]
) -> FlowMethod:
    """The method with the options that `gradient_flow` has words for."""
    if (type(branch) is not int or branch != 0) and any(Events(branch).ways):
        if not isinstance(method, Events):
            raise RefusedError(
                f"branch: a choice for method 'events', which {method.name!r} does not offer"
            )
        method = Events(branch)
    if log_norm is not None:
        if not isinstance(method, Margin | Separable):
            raise RefusedError(
                "log_norm: a cap for methods 'margin' and 'separable', which "
                f"{method.name!r} does not know"
            )
        method = dataclasses.replace(method, log_norm=log_norm)
    return method


def _further_stats(
    flow: Trajectory[Any], problem: Problem, rtol: float
) -> Callable[[], Mapping[str, Any]]:
    """Makes what all stats say: rtol, and of ReLU networks the neurons that are off on every input
    in the end, which no gradient moves any more."""
    model = problem.model
    if not isinstance(model, TwoLayer | SignedTwoLayer) or (
        isinstance(model, TwoLayer) and model.negative_slope > 0
    ):
        return lambda: {"rtol": rtol}
    # copies: nothing changes before somebody looks, and no state but the last is held
    X, polar, end = problem.data.X.copy(), flow.polar, float(flow.times[-1])
    last = None if polar is not None else flow.states.W[-1].copy()

    def tell() -> Mapping[str, Any]:
        W: Any = last if polar is None else polar(end)[0].W
        return {"dead": tuple((W @ X.T <= 0).all(axis=1).nonzero()[0].tolist()), "rtol": rtol}

    return tell


def _first_that_fits(problem: Problem) -> FlowMethod:
    """The first method that does not refuse; those after it are not asked, since asking can be
    costly."""
    refusal = None
    for method in METHODS:
        refusal = method.cannot(problem)
        if refusal is None:
            return method
        if not problem.in_floats and method.refuses(problem) is None:  # but for its start it fits
            break
    raise RefusedError(f"gradient_flow: {refusal}")


_FORMS: WeakKeyDictionary[Problem, MirrorForm] = WeakKeyDictionary()
"""Mirror forms of problems that a method was asked about, until it integrates them."""
