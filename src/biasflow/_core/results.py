"""What comes out: trajectories with their errors, limits with their certificates, and why a
solver stopped."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, RefusedError
from .arguments import Array, matrix, real_number
from .facts import Fact, Facts, Shown, shape_of
from .problems import MirrorProblem, Problem
from .progress import doing
from .result_facts import (
    bracket_of,
    certificate_facts,
    limit_facts,
    proof_fact,
    trajectory_facts,
)
from .showing import drawing_room
from .trees import leaf_map

State = TypeVar("State")


class Result(enum.Enum):
    """Why a flow or a solver stopped, in words.

    Examples
    --------
    >>> bf.Result.CONVERGED.value, bf.Result.CONVERGED.success
    ('converged: the loss fell below its threshold', True)
    """

    CONVERGED = "converged: the loss fell below its threshold"
    STATIONARY = "stationary without interpolating: the gradient vanishes here, to rounding"
    DEAD = "stationary at the start: no neuron is active on any input"
    INFEASIBLE = (
        "converged to the infimum of the loss: the labels are out of reach for the signs "
        "of the start"
    )
    REACHED_T1 = "reached the final time asked for"
    UNSEPARATED = (
        "reached the last step asked for, and no step separated the classes: no margin was positive"
    )
    REACHED_NORM = "reached the log-norm asked for"
    FLOOR = "stopped at the rounding floor of the residual"
    STEP_LIMIT = "gave up: step limit reached"
    STEP_TOO_SMALL = "gave up: the step size needed is below rounding"
    UNRESOLVED = "gave up: what still moves the weights is lost in the rounding of what does not"
    DIVERGED = "diverged: the loss grew beyond all bounds, or a value overflowed"
    CLOCK = "gave up: the time of the mean risk left float range; that of SmoothMargin does not"
    KINK = "gave up: the weights reached a kink of the model, where their flow is not defined"
    TIME_LIMIT = "gave up: the time limit was reached"
    UNCHECKED = "gave up: the second run, which tells the error, did not get as far"

    @property
    def success(self) -> bool:
        return self not in (
            Result.UNSEPARATED,
            Result.STEP_LIMIT,
            Result.STEP_TOO_SMALL,
            Result.UNRESOLVED,
            Result.DIVERGED,
            Result.CLOCK,
            Result.KINK,
            Result.TIME_LIMIT,
            Result.UNCHECKED,
        )


RESUMABLE = (Result.TIME_LIMIT, Result.STEP_LIMIT, Result.UNCHECKED, Result.REACHED_T1)
"""Why a flow stopped that can go on."""


class Enclosure(Shown):
    """What proves lower ≤ a number ≤ upper: a `Certificate` does of a limit's objective, a
    `Bracket` of a number that is no limit, `limits.MarginCertificate` of γ₁ from a network at hand.

    Every one says by its `kind` what the proof is: 'exact', 'closed-form', 'bound' or 'heuristic'.
    What else can be off is a residual of the record's own.
    """

    lower: float
    upper: float
    kind: str

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def relative_gap(self) -> float:
        """(upper − lower)/upper, of numbers that are not negative; zero where upper is."""
        return (self.upper - self.lower) / self.upper if self.upper > 0 else 0.0

    def facts(self) -> Facts:
        between = Fact("between", bracket_of(self))
        return Facts(type(self).__name__, (between, proof_fact(self.relative_gap, self.kind)))

    def plot(self) -> Any:
        """A matplotlib figure: the bracket on a line, and how many digits it settles."""
        return drawing_room().certificate_picture(self)


@dataclass(frozen=True, repr=False)
class Certificate(Enclosure):
    """How good a limit is: bounds on the optimum, constraint violation, and what kind of proof it
    is.

    Parameters
    ----------
    primal, dual : float
        For minimisation dual ≤ optimum ≤ primal; for margins primal ≤ γ ≤ dual. `lower` and `upper`
        are the same two in their order.
    residual : float
        ‖constraint violation‖_∞/‖y‖_∞, whatever the units of the labels; ‖constraint violation‖_∞
        where these are all zero.
    kind : {'exact', 'closed-form', 'bound', 'heuristic'}
        'exact': the two bounds are one number, up to rounding or the gap asked for; 'bound': they
        are proven, and further apart; 'heuristic': one of them is not proven.
    membership : float
        Distance of ∇φ(β) − ∇φ(β₀) from Im Xᵀ relative to max(1, ‖∇φ‖_∞), where that is part of the
        proof.

    Examples
    --------
    >>> proof = bf.min_norm([[1.0, 2.0, 3.0]], [6.0], norm="l1").certificate
    >>> print(proof.kind, round(proof.lower, 9), round(proof.upper, 9))
    exact 2.0 2.0
    """

    primal: float
    dual: float
    residual: float
    kind: str
    membership: float = 0.0

    @property
    def lower(self) -> float:  # type: ignore[override]
        return min(self.primal, self.dual)

    @property
    def upper(self) -> float:  # type: ignore[override]
        return max(self.primal, self.dual)

    @property
    def gap(self) -> float:
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        return abs(self.primal - self.dual) / max(1.0, abs(self.primal))

    def __repr__(self) -> str:
        member = f", membership {self.membership:.1e}" if self.membership else ""
        return (
            f"Certificate({bracket_of(self)}, gap {self.gap:.1e}, residual {self.residual:.1e}"
            f"{member}, {self.kind})"
        )

    def facts(self) -> Facts:
        return certificate_facts(self)


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Shown, Generic[State]):
    """A point that theory predicts, its objective, and the certificate that it is right.

    `limit(X)` gives the predictions at inputs, (n,); `plot()` draws it.

    Parameters
    ----------
    value
        The point: β (d,), parameters of a network, a matrix, or a function of inputs.
    objective : float
        What it minimises, or maximises.
    certificate : Certificate
    stats : mapping
        What else is known, and how the search went.
    source : str
        The theorem, where one was chosen.
    predictor : callable, optional
        How the value predicts at inputs, predictor(value, X), where it is neither a function of
        inputs itself nor linear in them.

    Examples
    --------
    >>> least = bf.min_norm([[1.0, 2.0, 3.0]], [6.0], norm="l2")
    >>> least(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 7.0]])).round(6)
    array([6., 9.])
    >>> print(round(least.objective, 4), least.certificate.kind)
    1.6036 closed-form
    """

    value: State
    objective: float
    certificate: Certificate
    stats: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    predictor: Callable[[Any, Array], Array] | None = None

    def __call__(self, X: ArrayLike) -> Array:
        """The predictions at inputs (n, d), as the limit was given them; (n,).

        Of a kernel's coefficients: at rows of kernel values with its samples; of weights of
        features: at rows of features; of a matrix: at matrices flattened by rows.
        """
        inputs = matrix("X", X)
        if self.predictor is not None:
            return np.asarray(self.predictor(self.value, inputs))
        if callable(self.value):
            return np.asarray(self.value(inputs))
        if not isinstance(self.value, np.ndarray):
            raise InputError(
                f"limit: its value, a {type(self.value).__name__}, does not say what it predicts"
            )
        if inputs.shape[1] != self.value.size:
            raise InputError(
                f"X: this limit has {self.value.size} weights, one for each column; found "
                f"{inputs.shape[1]} columns"
            )
        return np.asarray(inputs @ np.ravel(self.value))

    def facts(self) -> Facts:
        return limit_facts(self)

    def plot(self) -> Any:
        """A matplotlib figure: the point, or the function where one can be drawn, and its
        certificate."""
        return drawing_room().limit_picture(self)

    def to_xarray(self) -> Any:
        """An xarray.Dataset: the value with named dimensions, and as attributes the objective, its
        certificate and the source."""
        return drawing_room().limit_table(self)


@dataclass(frozen=True, eq=False, repr=False)
class Bracket(Enclosure, Generic[State]):
    """A number that is not the objective of a limit, between two proven bounds.

    Parameters
    ----------
    lower, upper : float
        What is proven.
    kind : str
        'exact', 'closed-form', 'bound' or 'heuristic', as in a `Certificate`.
    value
        What shows one of the two: the vector or frame that was found.
    objective : float
        What was computed for it.
    stats : mapping
        How the search went.

    Examples
    --------
    >>> found = bf.diagnostics.inverse_norm(np.diag([1.0, 2.0, 4.0]), "l2")
    >>> print(round(found.lower, 6), round(found.upper, 6), found.kind)
    1.0 1.0 exact
    """

    lower: float
    upper: float
    kind: str
    value: State
    objective: float
    stats: Mapping[str, Any] = field(default_factory=dict)

    @property
    def certificate(self) -> Certificate:
        """The bounds as those of a supremum: primal = lower, dual = upper."""
        return Certificate(self.lower, self.upper, 0.0, self.kind)

    def __repr__(self) -> str:
        what = f"value {_shape(self.value)}"
        return f"Bracket({self.objective:.6g} in {bracket_of(self)}, {self.kind}, {what})"

    def facts(self) -> Facts:
        return Facts(
            "Bracket",
            (
                Fact("number", f"{self.objective:.8g} in {bracket_of(self)}"),
                proof_fact(self.relative_gap, self.kind),
                Fact("shown by", shape_of(self.value)),
            ),
        )


SERIES = {
    "dual": "nu",
    "margin": "margin",
    "margin_error": "margin_error",
    "best_margin": "best_margin",
    "log_norm": "log_norm",
    "log_norm_error": "log_norm_error",
    "log_norms": "log_norms",
    "sample_weights": "weights",
    "sample_weights_error": "weights_error",
    "smooth_time": "smooth_time",
    "log_time": "log_time",
}
"""What varies in time, as fields of a trajectory, each with the key of 0.1 under which `stats`
answers, too."""


class _Later:
    __slots__ = ("tell",)

    def __init__(self, tell: Callable[[], Any]) -> None:
        self.tell = tell


def later(tell: Callable[[], Any]) -> Any:
    """Events or stats of a trajectory that are made when somebody looks."""
    return _Later(tell)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Shown, Generic[State]):
    """A flow that was integrated, or a path: states at times, loss, error estimate, and why it
    stopped.

    `flow(X)` gives the predictions of the last state at inputs, `flow(X, t)` those at a time;
    `plot()`, `animate(file)` and `to_xarray()` show it.

    Parameters
    ----------
    times : array of shape (T,)
    states
        The type of the start, with a leading time axis on every leaf; `final` is the last.
    loss : array of shape (T,)
        As the problem defines it.
    error, predictor_error : array of shape (T,)
        Estimates, no bounds, of the sup-norm error of each state, over all its leaves, and of the
        predictor that it stands for, `problem.model.effective(state)`: β for diagonal networks, M
        for factorisations, β again in mirror flows.
    events : tuple
        Changes of gates of ReLU networks, jumps of a saddle path.
    stats : mapping
        Counts and seconds of the method.
    result : Result
        Why it stopped.
    problem : Problem or MirrorProblem
    interpolant : callable, optional
        t -> state, from t = 0 on, whatever times were saved.
    polar : callable, optional
        For two-layer networks, t -> (weights of unit neurons, log‖(a_j, w_j)‖), which no scale
        takes out of float range.
    dual : array of shape (T, n), optional
        ν of a mirror flow. This and what follows varies in time, too; None where the method does
        not tell.
    margin, log_norm : array of shape (T,), optional
        min y·f/Σ‖w‖² and log Σ‖w‖² of classifiers, with their errors margin_error and
        log_norm_error; best_margin is the largest so far.
    sample_weights : array of shape (T, n), optional
        ∇S as the last step saw it, with its error in total variation, sample_weights_error.
    smooth_time, log_time : array of shape (T,), optional
        The clock of the smooth margin, and the logarithm of the risk's.
    log_norms : array of shape (T, m), optional
        log‖(a_j, w_j)‖ of ReLU networks.
    continuation : callable, optional
        What `resume` calls; None where the flow cannot go on.

    Examples
    --------
    >>> X, y = [[1.0, 2.0, 3.0]], [6.0]
    >>> flow = bf.mirror_flow(bf.potentials.Euclidean(), X, y, t1=1.0, times=[0, 0.1, 1])
    >>> flow.loss.round(3), flow(np.eye(3)).round(3)
    (array([18.   ,  1.095,  0.   ]), array([0.429, 0.857, 1.286]))
    """

    times: Array
    states: State
    loss: Array
    error: Array
    events: tuple[Any, ...]
    stats: Mapping[str, Any]
    result: Result
    problem: Problem | MirrorProblem
    interpolant: Callable[[float], State] | None = None
    polar: Callable[[float], tuple[State, Array]] | None = None
    predictor_error: Array = field(default=None)  # type: ignore[arg-type]
    dual: Array | None = None
    margin: Array | None = None
    margin_error: Array | None = None
    best_margin: Array | None = None
    log_norm: Array | None = None
    log_norm_error: Array | None = None
    log_norms: Array | None = None
    sample_weights: Array | None = None
    sample_weights_error: Array | None = None
    smooth_time: Array | None = None
    log_time: Array | None = None
    continuation: Callable[..., Trajectory[State]] | None = None

    def __post_init__(self) -> None:
        fields = self.__dict__
        if fields["predictor_error"] is None:
            fields["predictor_error"] = fields["error"]
        for name in ("events", "stats"):
            if isinstance(fields.get(name), _Later):
                fields[f"_{name}"] = fields.pop(name)
        if "stats" in fields:
            told = fields["stats"]
            for name, key in SERIES.items():  # the field counts where both are given
                if fields[name] is None:
                    fields[name] = told.get(key)
            fields["stats"] = self._with_series(told)

    def _with_series(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """The stats, which answer for what varies in time, too."""
        fields = self.__dict__
        known = {key: fields[name] for name, key in SERIES.items() if fields[name] is not None}
        return {**told, **known}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Events and stats that nobody has looked at yet."""
            fields = self.__dict__
            if f"_{name}" not in fields or name.startswith("_"):
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
                )
            told = fields[f"_{name}"].tell()
            fields[name] = self._with_series(told) if name == "stats" else told
            return fields[name]

    def facts(self) -> Facts:
        return trajectory_facts(self)

    @property
    def final(self) -> State:
        return leaf_map(lambda leaf: leaf[-1], self.states)

    @property
    def unique(self) -> bool:
        """Whether no moment was met from which the flow could have gone another way, too;
        stats['branches'] has those."""
        return not self.stats.get("branches", ())

    def __call__(self, X: ArrayLike, t: ArrayLike | None = None) -> Array:
        """The predictions of the last state at inputs (n, d), (n,); with t those of the states at
        that time, or at several: (times, n)."""
        inputs, problem = matrix("X", X), self.problem
        mirror = isinstance(problem, MirrorProblem)
        d = problem.X.shape[1] if isinstance(problem, MirrorProblem) else problem.data.d
        if inputs.shape[1] != d:
            raise InputError(f"X: this flow is of inputs with {d} columns, found {inputs.shape[1]}")

        def predictions(state: Any) -> Array:
            return np.asarray(
                inputs @ state if mirror else problem.model(state, inputs)  # type: ignore[union-attr]
            )

        if t is None:
            return predictions(self.final)
        if np.ndim(t) == 0:
            return predictions(self.at(t))  # type: ignore[arg-type]
        return np.stack([predictions(self.at(float(each))) for each in np.ravel(t)])

    def plot(self) -> Any:
        """A matplotlib figure: the loss with its phases and events, and what moved: coordinates, or
        neurons."""
        return drawing_room().flow_picture(self)

    def animate(self, path: Any = None, *, frames: int = 60) -> Any:
        """The flow as a film: the function and the neurons of a network on a line or in the plane,
        the coordinates of other models.

        path: where a GIF is written, whose path is returned; without it a matplotlib animation,
        which notebooks show. frames: how many, at even drops of the loss and steps of time.
        """
        return drawing_room().flow_film(self, path, frames)

    def to_xarray(self) -> Any:
        """An xarray.Dataset with the dimensions time, sample, and coordinate or neuron; attributes
        say why the flow ended, by which method and rtol, and its largest error."""
        return drawing_room().flow_table(self)

    def at(self, t: float) -> State:
        """The state at time t, by the flow's own dense output."""
        t = real_number("t", t)
        start = self.times[0] if self.interpolant is None else 0.0
        if not start <= t <= self.times[-1]:
            raise InputError(
                f"t: {t:g} lies outside the integrated interval [{start:g}, {self.times[-1]:g}]"
            )
        if self.interpolant is None:  # a path of jumps: the state entered last
            return leaf_map(
                lambda leaf: leaf[int(np.searchsorted(self.times, t, side="right")) - 1],
                self.states,
            )
        return self.interpolant(t)

    @doing("flow")
    def resume(
        self, *, time_s: float | None = 120.0, t1: float | None = None, throw: bool = True
    ) -> Trajectory[State]:
        """Continue the flow: one trajectory over the whole time, this one's and what follows.

        The run and the one that measures its error go on from their own ends, so that the errors
        are those of the whole time. This flow stays as it is. Flows that reached their t1, or gave
        up after their seconds or their number of steps, or were ended by Ctrl-C, can go on; those
        that ended otherwise, and paths, cannot.

        Parameters
        ----------
        time_s : float
            Seconds more after which it gives up again; None: never.
        t1 : float, optional
            The time to end at, which may be later than the one asked for first. None: that one.
        throw : bool
            Whether to raise where the integration gave up again.

        Returns
        -------
        Trajectory
            Saved at the times asked for and at a t1 given here; without `times`, at every step.

        Raises
        ------
        RefusedError
            If the flow cannot go on; the sentence says why.
        ConvergenceError
            If it gave up again, unless throw is False; `error.partial` can be resumed.

        Examples
        --------
        >>> X, y = [[1.0, 2.0, 3.0]], [6.0]
        >>> flow = bf.mirror_flow(bf.potentials.Euclidean(), X, y, t1=0.1)
        >>> flow.resume(t1=1.0).final.round(3)
        array([0.429, 0.857, 1.286])
        """
        if self.continuation is None:
            raise RefusedError(f"resume: {self._stays()}")
        return self.continuation(self, time_s, t1, throw)

    def _stays(self) -> str:
        """Why the flow cannot go on."""
        if self.result in RESUMABLE:
            method = self.stats.get("method")
            what = "this path" if method is None else f"a flow by method {method!r}"
            return (
                f"{what} that ended so cannot go on ({self.result.value}); integrate anew, with a "
                "longer time_s or t1, or another rtol"
            )
        if self.result is Result.REACHED_NORM:
            return f"the flow {self.result.value}; integrate anew with a larger log_norm"
        if self.result.success:
            return f"the flow ended at t = {self.times[-1]:g} ({self.result.value})"
        return f"the flow stopped at t = {self.times[-1]:g} ({self.result.value}); time is no help"


def tells(flow: Trajectory[Any], name: str) -> Callable[[], Any]:
    """How its events or stats are made, without the rest of the flow."""
    fields = flow.__dict__
    if name not in fields:
        tell: Callable[[], Any] = fields[f"_{name}"].tell
        return tell
    value = fields[name]
    return lambda: value


def altered(flow: Trajectory[State], **fields: Any) -> Trajectory[State]:
    """What `dataclasses.replace` gives, without reading every field again."""
    other: Trajectory[State] = object.__new__(type(flow))
    other.__dict__.update(flow.__dict__)
    other.__dict__.update(fields)
    other.__post_init__()
    return other


def _shape(value: Any) -> str:
    """What a point is: its type, and the shape of an array."""
    return f"{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
