"""Gradient flow: the first method that fits the problem, or the one asked for."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance, positive_int, relative_tolerance
from .._core.problems import Dataset, Problem
from .._core.results import Trajectory
from .._numerics.deadlines import Deadline
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
from ..models.model import MirrorForm
from . import margin
from .endings import judged, returned
from .factored import check_start, integrate_factored
from .mirror.compiled_flow import refusal
from .mirror.dual_flow import integrator
from .relu.event_flow import integrate_events
from .rounded_kinks import integrate_rounded, too_many_weights
from .units import LOG2, Units, own_units
from .weights import integrate_weights

RTOL = 1e-8


class FlowMethod(ABC):
    """A way to integrate gradient flows."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What `method=` calls it."""

    @property
    @abstractmethod
    def rtol(self) -> float:
        """The tolerance where none is asked for."""

    below_floats = False
    """Whether it can start below float range."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """None where the method fits, else a sentence that says why not."""

    def cannot(self, problem: Problem) -> str | None:
        """Why the method does not fit, its start included."""
        reason = self.refuses(problem)
        if reason is None and not problem.in_floats and not self.below_floats:
            return (
                f"the start e^{np.min(problem.log_scale):g}·params0 is below float range, "
                f"where {self.name!r} cannot start"
            )
        return reason

    def taking(self, branch: tuple[int, ...]) -> FlowMethod:
        """The method that takes these ways where there are several."""
        if any(branch):
            raise RefusedError(
                f"branch: a choice for method 'events', which {self.name!r} does not offer"
            )
        return self

    def check(self, problem: Problem, log_norm: float | None) -> None:
        """An error where the flow cannot start there, or cannot end at this log-norm; in the units
        that were given."""
        if log_norm is not None:
            raise RefusedError(
                f"log_norm: a cap for method 'margin', which {self.name!r} does not know"
            )

    @abstractmethod
    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        """The flow until t1, until log Σ‖w‖² is log_norm, until converged, or until the
        deadline."""


class Dual(FlowMethod):
    """Through the mirror form, in the n-dimensional dual; for hypentropies also as compiled
    code."""

    rtol = RTOL

    def __init__(self, compiled: bool = False) -> None:
        self.compiled = compiled

    @property
    def name(self) -> str:
        return "compiled" if self.compiled else "dual"

    def refuses(self, problem: Problem) -> str | None:
        form = _form(problem)
        if isinstance(form, str):
            return form
        return refusal(form.potential) if self.compiled else None

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        form = _form(problem)
        if isinstance(form, str):
            raise RefusedError(form)
        X, y = problem.model.features(problem.data.X), problem.data.y
        origin = (
            form.potential.at_dual(np.zeros(X.shape[1]))
            if form.beta0 is None
            else form.potential.at(form.beta0)
        )
        integrate = integrator(self.name, form.potential)
        flow = integrate(
            origin, form.potential.half_lines(X.shape[1]), X, y, 1.0, t1, times, rtol, deadline
        )
        trajectory = flow.trajectory(problem, problem.loss, form.lift)
        # weights of size w are known to a few eps·w, and hold β to a few eps·w^D only
        size = np.max([np.max(np.abs(leaf), axis=1) for leaf in trajectory.states], axis=0)
        D, rounding = problem.model.homogeneity, 4 * np.finfo(float).eps
        return dataclasses.replace(
            trajectory,
            error=trajectory.error + rounding * size,
            predictor_error=trajectory.predictor_error + rounding * D * size**D,
        )


class EventDriven(FlowMethod):
    """Two-layer ReLU networks: smooth pieces between changes of activation, sliding in Filippov's
    sense."""

    name = "events"
    rtol = RTOL
    below_floats = True

    def __init__(self, branch: tuple[int, ...] = ()) -> None:
        self.branch = branch

    def taking(self, branch: tuple[int, ...]) -> FlowMethod:
        return EventDriven(branch)

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.model, TwoLayer):
            return (
                "the event-driven flow is for TwoLayer networks, found "
                f"{type(problem.model).__name__}"
            )
        if not isinstance(problem.loss, SquareLoss):
            return f"the event-driven flow needs a square loss, found {type(problem.loss).__name__}"
        return None

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        return integrate_events(problem, t1, rtol, times, deadline, self.branch)


class Factored(FlowMethod):
    """Matrix factorisations: a stiff method in the row space of the stacked factors, at the same
    cost for every width."""

    name = "factored"
    rtol = RTOL

    def check(self, problem: Problem, log_norm: float | None) -> None:
        super().check(problem, log_norm)
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

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        return integrate_factored(problem, t1, rtol, times, deadline)


class Weights(FlowMethod):
    """The weights themselves, by a general stiff integrator: slow, and independent of all
    theory."""

    name = "weights"
    rtol = RTOL

    def refuses(self, problem: Problem) -> str | None:
        return nonsmooth(problem.model, problem.params0)

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        return integrate_weights(problem, t1, rtol, times, time_s=deadline)


class Margin(FlowMethod):
    """Two-layer networks under losses without a minimiser: implicit in the dual, whatever the norm
    has grown to."""

    name = "margin"
    rtol = 1e-4

    def check(self, problem: Problem, log_norm: float | None) -> None:
        margin.check(problem, log_norm)

    def refuses(self, problem: Problem) -> str | None:
        return margin.refusal(problem)

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        return margin.integrate_margin(problem, t1, rtol, times, log_norm, deadline)


class General(FlowMethod):
    """Small deep networks: kinks are rounded, the weights integrated; a flow with rounder kinks
    measures the error."""

    name = "general"
    rtol = RTOL

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.model, DeepNetwork):
            return (
                "the flow with rounded kinks is for DeepNetwork, found "
                f"{type(problem.model).__name__}"
            )
        return too_many_weights(problem.model)

    def integrate(
        self,
        problem: Problem,
        t1: float | None,
        rtol: float,
        times: Array | None,
        log_norm: float | None,
        deadline: Deadline,
    ) -> Trajectory:
        return integrate_rounded(problem, t1, rtol, times, deadline)


METHODS: tuple[FlowMethod, ...] = (
    Dual(),
    EventDriven(),
    Margin(),
    Factored(),
    Weights(),
    General(),
    Dual(compiled=True),
)


def gradient_flow(
    model: Model,
    ds: Dataset,
    loss: Any,
    params0: Any,
    t1: float | None = None,
    rtol: float | None = None,
    times: ArrayLike | None = None,
    method: str | None = None,
    throw: bool = True,
    *,
    log_norm: float | None = None,
    log_scale: ArrayLike = 0.0,
    time_s: float | None = None,
    branch: int | Sequence[int] = 0,
) -> Trajectory:
    """ẇ = −∇L(w) from e^{log_scale}·params0. states have the type of params0 with a leading time
    axis.

    t1 = None: until the loss is 1e-20 of its start, or stationary; losses without a minimiser need
    an end. times: where to save (default: every step). method, by default the first that fits:
    'dual' (through the mirror form, any initialisation scale), 'events' (two-layer ReLU networks
    under the square loss; the trajectory's events are GateEvents), 'margin' (two-layer networks
    under exponential and logistic losses), 'factored' (matrix factorisations), 'weights'
    (integrates w itself), 'general' (deep ReLU networks of at most 400 weights, kinks rounded);
    'compiled' is 'dual' for hypentropies, much faster once it is compiled.
    rtol: 1e-8, for 'margin' 1e-4, unless said otherwise. throw: raise where the integration gave
    up, else return what there is.

    log_norm: for 'margin', the value of log Σ‖w‖² to end at. Its stats have log_norm and margin =
    min y·f/Σ‖w‖² (T,), with log_norm_error and margin_error; the samples' weights ∇S (T, n), as the
    last step saw them, with weights_error in total variation; smooth_time, C's clock (T,), and for
    the mean risk log_time, the logarithm of its own. There C's (1/m)Σφ is the plain sum of weights
    over √m, in the same time.

    time_s: seconds after which it gives up where it is, compilation not counted; most of it is for
    its error, which is not finite where it is not known.

    Of ReLU networks, stats['dead'] names the neurons that are off on every input in the end, which
    nothing moves any more.

    branch: of 'events', where Filippov's solution is not unique (`Trajectory.unique` is False):
    stats['branches'] has the moments from which a neuron could go several ways, each a Branch, and
    branch= the number of the way to take at each, in order, or at the first. Zero, the way where
    nothing is said, closes gates on kinks that push away on both sides, and opens those whose
    pre-activations then grow. Such kinks are met at the start, where a neuron slides while its
    output weight changes sign, and at w = 0. States between two ways, which stay on the kink for a
    while, are solutions, too; they are not offered.

    log_scale: how small the start is, without a floor for 'events': one number, or one for each
    neuron. States are then zero as long as they are below float range; polar(t) has unit neurons
    and logarithms of their norms, and stats log_norms these at every time saved (T, m).
    """
    deadline = Deadline(time_s)
    instance("model", model, Model)
    instance("ds", ds, Dataset)
    instance("loss", loss, Loss).checked(ds.y)
    if t1 is None and times is None and log_norm is None and not loss.attained:
        raise InputError(
            f"t1: {type(loss).__name__} has no minimiser, its flow grows for ever; give t1 or "
            "log_norm to end at"
        )
    problem = Problem(model, ds, loss, model.checked(params0, ds.d), log_scale)
    units = own_units(problem)
    own, (end, wanted) = units.problem(problem), units.ends(t1, times)
    asked = own if problem.in_floats else problem
    if method is None:
        chosen = _first_that_fits(asked)
    else:
        named = {m.name: m for m in METHODS}
        instance("method", method, str)
        if method not in named:
            raise unknown("method", method, list(named))
        chosen = named[method]
        refusal = chosen.cannot(asked)
        if refusal is not None:
            raise RefusedError(f"method {method!r}: {refusal}")
    ways = branch if isinstance(branch, Sequence) else [branch]
    chosen = chosen.taking(tuple(positive_int("branch", way, least=0) for way in ways))
    chosen.check(problem, log_norm)
    cap = None if log_norm is None else log_norm - 2 * units.states * LOG2
    tolerance = chosen.rtol if rtol is None else relative_tolerance("rtol", rtol)
    trajectory = chosen.integrate(own, end, tolerance, wanted, cap, deadline)
    # what stands for deep ones is w
    degree = 1 if units == Units() or isinstance(model, DeepNetwork) else int(model.homogeneity)
    flow = _naming_dead(units.restored(judged(trajectory), problem, degree), problem)
    return returned("gradient_flow", flow, throw)


def _naming_dead(flow: Trajectory, problem: Problem) -> Trajectory:
    """The flow with the neurons that are off on every input in the end, which no gradient moves any
    more."""
    model, data = problem.model, problem.data
    if not isinstance(model, TwoLayer | SignedTwoLayer) or (
        isinstance(model, TwoLayer) and model.negative_slope > 0
    ):
        return flow
    last = flow.final if flow.polar is None else flow.polar(float(flow.times[-1]))[0]
    dead = np.flatnonzero(np.all(last.W @ data.X.T <= 0, axis=1))
    return dataclasses.replace(flow, stats={**flow.stats, "dead": tuple(int(j) for j in dead)})


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


def _form(problem: Problem) -> MirrorForm | str:
    return mirror_form(problem)
