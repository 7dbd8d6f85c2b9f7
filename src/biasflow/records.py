"""The frozen records that every layer hands on: data, problems, results, experiments."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from .errors import InputError
from .inputs import Array, instance, real_number, system, vector

if TYPE_CHECKING:
    import xarray

State = TypeVar("State")


class Result(enum.Enum):
    """Why a flow or a solver stopped, in words."""

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
            Result.DIVERGED,
            Result.CLOCK,
            Result.KINK,
            Result.TIME_LIMIT,
            Result.UNCHECKED,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Inputs X (n, d) with labels y (n,); `truth` is the planted predictor, where there is one."""

    X: Array
    y: Array
    name: str = ""
    truth: Array | None = None

    def __post_init__(self) -> None:
        X, y = system(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        if self.truth is not None:
            object.__setattr__(self, "truth", vector("truth", self.truth, X.shape[1]))

    def __repr__(self) -> str:
        name = f"{self.name}, " if self.name else ""
        return (
            f"Dataset({name}n = {self.n}, d = "
            f"{self.d}{', planted truth' if self.truth is not None else ''})"
        )

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What a gradient flow needs: model, data, loss and start.

    The start is e^{log_scale}·params0. Where floats hold it, it is written into params0 and
    log_scale is zero afterwards; below their range it stays as it was given, which `TwoLayer`
    networks can do: log_scale is then a number, or one for each neuron.
    """

    model: Any
    data: Dataset
    loss: Any
    params0: Any
    log_scale: Any = 0.0

    def __post_init__(self) -> None:
        instance("data", self.data, Dataset)
        params0, log_scale = self.model.checked(self.params0, self.data.d), self.log_scale
        if not isinstance(log_scale, float) or log_scale != 0.0:
            params0, log_scale = self.model.placed(params0, log_scale)
        object.__setattr__(self, "params0", params0)
        object.__setattr__(self, "log_scale", log_scale)

    def __repr__(self) -> str:
        below = "" if self.in_floats else f", from e^{np.max(self.log_scale):g}·params0"
        return f"Problem({self.model!r}, {self.data!r}, {self.loss!r}{below})"

    @property
    def in_floats(self) -> bool:
        """Whether floats hold the start: then it is params0."""
        return isinstance(self.log_scale, float) and self.log_scale == 0.0

    @property
    def start(self) -> Any:
        """The state at t = 0 in floats: zero where the start is below their range."""
        return (
            self.params0
            if self.in_floats
            else leaf_map(lambda leaf: grown(leaf, self.log_scale), self.params0)
        )


@dataclass(frozen=True, eq=False, repr=False)
class MirrorProblem:
    """Mirror flow d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀ (None: where ∇φ vanishes)."""

    potential: Any
    X: Array
    y: Array
    beta0: Array | None = None

    def __post_init__(self) -> None:
        X, y = system(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        if self.beta0 is not None:
            object.__setattr__(self, "beta0", vector("beta0", self.beta0, X.shape[1]))

    def __repr__(self) -> str:
        n, d = self.X.shape
        return (
            f"MirrorProblem({type(self.potential).__name__}, n = {n}, d = "
            f"{d}{'' if self.beta0 is None else ', from beta0'})"
        )


@dataclass(frozen=True)
class Certificate:
    """How good a limit is: bounds on the optimum, constraint violation, and what kind of proof it
    is.

    primal, dual: for minimisation dual ≤ optimum ≤ primal; for margins primal ≤ γ ≤ dual.
    residual: ‖constraint violation‖_∞/‖y‖_∞, whatever the units of the labels; ‖constraint
    violation‖_∞ where these are all zero.
    kind: 'exact', 'closed-form', 'bound' or 'heuristic'.
    membership: distance of ∇φ(β) − ∇φ(β₀) from Im Xᵀ relative to max(1, ‖∇φ‖_∞), where that is part
    of the proof.
    """

    primal: float
    dual: float
    residual: float
    kind: str
    membership: float = 0.0

    @property
    def gap(self) -> float:
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        return abs(self.primal - self.dual) / max(1.0, abs(self.primal))


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Generic[State]):
    """A point that theory predicts, its objective, and the certificate that it is right.

    source: the theorem, where one was chosen.
    """

    value: State
    objective: float
    certificate: Certificate
    stats: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    def __repr__(self) -> str:
        low, high = sorted((self.certificate.primal, self.certificate.dual))
        bracket = f"in [{low:.6g}, {high:.6g}], {self.certificate.kind}"
        return (
            f"Limit({self.objective:.6g} {bracket}, value "
            f"{_shape(self.value)}{f'; {self.source}' if self.source else ''})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A flow that was integrated, or a path: states at times, loss, error estimate, and why it
    stopped.

    states: the type of the start, with a leading time axis on every leaf.
    error: an estimate of the sup-norm error of each state, over all its leaves; predictor_error:
    the same of the predictor that it stands for, `problem.model.effective(state)`: β for diagonal
    networks, M for factorisations, β again in mirror flows. Both are estimates, no bounds. loss:
    the loss as the problem defines it.
    polar: for two-layer networks, t -> (weights of unit neurons, log‖(a_j, w_j)‖), which no scale
    takes out of float range.
    """

    times: Array
    states: Any
    loss: Array
    error: Array
    events: tuple[Any, ...]
    stats: Mapping[str, Any]
    result: Result
    problem: Problem | MirrorProblem
    interpolant: Callable[[float], Any] | None = None
    polar: Callable[[float], tuple[Any, Array]] | None = None
    predictor_error: Array = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.predictor_error is None:
            object.__setattr__(self, "predictor_error", self.error)

    def __repr__(self) -> str:
        span = f"{len(self.times)} states, t = {self.times[0]:.4g} … {self.times[-1]:.4g}"
        worst = np.max(self.error) if np.size(self.error) else np.nan
        fall = f"loss {self.loss[0]:.3g} → {self.loss[-1]:.3g}, error about {worst:.1g}"
        return f"Trajectory({span}, {fall}; {self.result.value})"

    @property
    def final(self) -> Any:
        return leaf_map(lambda leaf: leaf[-1], self.states)

    @property
    def unique(self) -> bool:
        """Whether no moment was met from which the flow could have gone another way, too;
        stats['branches'] has those."""
        return not self.stats.get("branches", ())

    def at(self, t: float) -> Any:
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


def grown(leaf: Array, log_factor: Any) -> Array:
    """e^{log_factor}·leaf, the factor a number or one for each row; in two halves, since the factor
    alone may be out of range."""
    half = np.exp(np.asarray(log_factor) / 2)
    half = half.reshape(half.shape + (1,) * (np.ndim(leaf) - 1)) if half.ndim else half
    with np.errstate(under="ignore"):
        return np.asarray(leaf * half * half)


def leaf_map(function: Callable[[Any], Any], state: Any) -> Any:
    """Apply to every leaf of a state: an array, or a tuple or NamedTuple of states."""
    if isinstance(state, tuple):
        return regrouped(state, [leaf_map(function, leaf) for leaf in state])
    return function(state)


def _shape(value: Any) -> str:
    """What a point is: its type, and the shape of an array."""
    return f"{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def leaves(state: Any) -> list[Any]:
    """The arrays of a state, in order."""
    return (
        [leaf for part in state for leaf in leaves(part)] if isinstance(state, tuple) else [state]
    )


def regrouped(state: tuple[Any, ...], parts: Sequence[Any]) -> Any:
    """Parts as a tuple of the same type as the state."""
    return tuple(parts) if type(state) is tuple else type(state)(*parts)


PLOT = 0.01
"""A printed plot is read to about 1% of its axis: the width of a line."""


@dataclass(frozen=True)
class Reading:
    """A number of a paper, known up to ±within, and how it was read."""

    value: float
    within: float
    how: str

    @classmethod
    def exact(cls, value: float) -> Reading:
        """What the paper states or proves without rounding."""
        return cls(value, 0.0, "exact")

    @classmethod
    def printed(cls, text: str) -> Reading:
        """A rounded number as it is printed, such as "6.2e-2": half a unit of its last digit."""
        digits, _, power = text.partition("e")
        decimals = len(digits.partition(".")[2])
        within = 0.5 * 10.0 ** (int(power or 0) - decimals)
        count = len(digits.replace(".", "").lstrip("0"))
        return cls(float(text), within, f"printed to {count} digit{'' if count == 1 else 's'}")

    @classmethod
    def rounded(cls, value: float, to: float) -> Reading:
        """A round number of the text: half of what it is rounded to."""
        return cls(value, to / 2, f"in round numbers, to {to:g}")

    @classmethod
    def plot(cls, value: float, axis: float) -> Reading:
        """What a plot shows, whose axis is this long."""
        return cls(value, PLOT * axis, "read off a plot")


@dataclass(frozen=True)
class Reported:
    """A number that a paper gives, to be compared with ours.

    source: where, with the paper's words. runs: how many random runs the paper's number is the mean
    of; None where it is said of every run. relation: "==", or "<=" and ">=" where the paper says at
    most or at least.
    why: what explains a difference, or that we do not know; shown where there is one.
    incomparable: why the two cannot be compared, where they cannot.
    """

    name: str
    reading: Reading
    source: str
    runs: int | None = 1
    relation: str = "=="
    why: str = ""
    incomparable: str = ""


@dataclass(frozen=True)
class Grid:
    """Named axes with their values, and settings shared by every point. No axes means one point.

    units: by the name of an axis or of a variable; they become `units` attributes of the result.
    chunk: points that a sweep computes and stores together, where it is not told otherwise.
    """

    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    chunk: int | None = None

    def __post_init__(self) -> None:
        for kind in ("axes", "settings", "units"):
            table = instance(kind, getattr(self, kind), Mapping)
            if not all(isinstance(name, str) for name in table):
                raise InputError(
                    f"grid: {kind}: names are texts, found "
                    f"{next(name for name in table if not isinstance(name, str))!r}"
                )
        for name, values in self.axes.items():
            if isinstance(values, (str, bytes, Mapping)) or not (
                hasattr(values, "__len__") and hasattr(values, "__getitem__")
            ):
                raise InputError(
                    f"grid: axis {name!r}: expected a sequence of values, found "
                    f"{type(values).__name__}"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    @property
    def size(self) -> int:
        """The number of points, counted without making them."""
        return math.prod(self.shape)

    def point(self, index: int) -> dict[str, Any]:
        """The setting at this place, the last axis fastest."""
        place = {}
        for name, values in reversed(list(self.axes.items())):
            index, k = divmod(index, len(values))
            value = values[k]
            # the plain number that names the point
            place[name] = value.item() if isinstance(value, np.generic) else value
        return {**self.settings, **dict(reversed(place.items()))}

    def points(self) -> list[dict[str, Any]]:
        """Every setting, the last axis fastest."""
        return [self.point(index) for index in range(self.size)]


@dataclass(frozen=True)
class Batched:
    """A point function that can also do many points in one vectorised call.

    batch(settings) -> one dataset per setting, in order. A sweep hands it what is to be computed of
    a chunk; where it raises, the chunk is computed point by point. Both functions are importable.
    """

    point: Callable[..., xarray.Dataset]
    batch: Callable[[Sequence[Mapping[str, Any]]], Sequence[xarray.Dataset]]

    def __call__(self, **setting: Any) -> xarray.Dataset:
        return self.point(**setting)

    @property
    def parts(self) -> tuple[Callable[..., Any], ...]:
        return (self.point, self.batch)


@dataclass(frozen=True)
class Composed:
    """A point function made of two importable ones: outer(inner(**setting))."""

    outer: Callable[[Any], xarray.Dataset]
    inner: Callable[..., Any]

    def __call__(self, **setting: Any) -> xarray.Dataset:
        return self.outer(self.inner(**setting))

    @property
    def parts(self) -> tuple[Callable[..., Any], ...]:
        return (self.outer, self.inner)


@dataclass(frozen=True, eq=False)
class Experiment:
    """A figure of a paper as a sweep: `point(**setting)` at every point of a grid, summarised,
    drawn.

    grids: at least 'quick' and 'paper'. summarise(data) -> dataset whose attributes hold the
    reported numbers by name (`experiments.telling`). draw(summary) -> matplotlib figure. alt: the
    picture in words, for readers who do not see it.
    """

    id: str
    caption: str
    grids: Mapping[str, Grid]
    point: Callable[..., xarray.Dataset]
    summarise: Callable[[xarray.Dataset], xarray.Dataset]
    draw: Callable[[xarray.Dataset], Any]
    reported: tuple[Reported, ...] = ()
    animate: Callable[[xarray.Dataset], Any] | None = None
    alt: str = ""
