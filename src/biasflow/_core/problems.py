"""What is asked: data, a model with its loss and start, a mirror flow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..errors import InputError
from .arguments import Array, instance, system, vector
from .facts import Fact, Facts, Shown, brief, shape_of
from .former_names import warn_of
from .markup import stems
from .showing import drawing_room
from .starts import place
from .trees import grown, leaf_map


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Shown):
    """Inputs with labels, checked when it is made.

    Where a function takes a data set, (X, y) will do.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    name : str
        What it is called in tables and pictures.
    truth : array of shape (d,), optional
        The planted predictor, where there is one.

    Raises
    ------
    InputError
        Of entries that are not finite numbers, or shapes that do not fit; it says which.

    Examples
    --------
    >>> bf.Dataset([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [1.0, -1.0, 1.0], name="three points")
    Dataset(three points, n = 3, d = 2)
    """

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

    def facts(self) -> Facts:
        lines = [
            Fact("samples", f"n = {self.n}, d = {self.d}"),
            Fact("inputs", f"from {np.min(self.X):.4g} to {np.max(self.X):.4g}"),
            Fact(
                "labels", _labels_in_words(self.y), lambda: stems(self.y, "the labels, by sample")
            ),
        ]
        if self.truth is not None:
            truth = self.truth
            lines.append(
                Fact("planted truth", shape_of(truth), lambda: stems(truth, "the planted truth"))
            )
        return Facts(f"Dataset{f': {self.name}' if self.name else ''}", tuple(lines))

    def plot(self) -> Any:
        """A matplotlib figure: the samples with their labels on a line or in the plane; of inputs
        of more dimensions, labels and singular values."""
        return drawing_room().data_picture(self)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


def dataset(data: Any) -> Dataset:
    """The data as they are, or (X, y) as a `Dataset`."""
    if isinstance(data, tuple) and len(data) == 2:
        return Dataset(*data)
    found: Dataset = instance("data", data, Dataset)
    return found


class ModelLike(Protocol):
    """What a problem asks of its model; `models.Model` says what each means."""

    def __call__(self, params: Any, X: Any) -> Any: ...
    def init(
        self, scale: Any = 1.0, *, log_scale: Any = None, key: int = 0, dim: int | None = None
    ) -> Any: ...
    def checked(self, params: Any, d: int) -> Any: ...
    @property
    def neurons_below_floats(self) -> int | None: ...
    def effective(self, params: Any) -> Any: ...
    def gradient(self, params: Any, X: Any, output_gradient: Any) -> Any: ...


class LossLike(Protocol):
    """What a problem asks of its loss; `losses.Loss` says what each means."""

    @property
    def attained(self) -> bool: ...
    def __call__(self, predictions: Any, labels: Any) -> Any: ...
    def gradient(self, predictions: Any, labels: Any) -> Any: ...


ModelT = TypeVar("ModelT", bound=ModelLike)
LossT = TypeVar("LossT", bound=LossLike)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Problem(Shown, Generic[ModelT, LossT]):
    """What a gradient flow needs: model, data, loss and start.

    The flow starts at e^{log_scale}·start. Where floats hold that, it is written into start and
    log_scale is zero afterwards; below their range both stay as they were given, which `TwoLayer`
    networks can do: log_scale is then a number, or one for each neuron.

    Parameters
    ----------
    model : Model
    data : Dataset
        Or inputs and labels as (X, y).
    loss : Loss
    start : parameters, optional
        Where none are given the model draws its own, `model.init`, at `scale` or e^{log_scale}, by
        `key`.
    log_scale : float or array of shape (m,)
        Logarithm of what the start is multiplied by.
    scale : float, optional
        The same, not as a logarithm.
    key : int
        Of the start that is drawn.
    params0 : parameters, optional
        The word of 0.1 for start.

    Raises
    ------
    InputError
        Where model, data, loss and start do not fit together; it says which.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, key=2)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=1e-3)
    >>> problem.start.plus.shape, problem.start.plus[0].item()
    ((24,), 0.001)
    """

    model: ModelT
    data: Dataset
    loss: LossT
    start: Any
    log_scale: Any

    def __init__(
        self,
        model: ModelT,
        data: Dataset | tuple[Any, Any],
        loss: LossT,
        start: Any = None,
        log_scale: Any = 0.0,
        *,
        scale: Any = None,
        key: int = 0,
        params0: Any = None,
    ) -> None:
        data = dataset(data)
        if params0 is not None:  # the last: `dataclasses.replace` by that word hands both on
            warn_of("Problem(params0=…)", "Problem(start=…)")
            start = params0
        if start is not None and scale is not None:
            raise InputError(
                "scale: for a start that the model draws; to shrink one give log_scale"
            )
        if start is None:
            if (scale is None) == _is_zero(log_scale):
                raise InputError("start: give parameters, or one of scale and log_scale")
            start = model.init(1.0 if scale is None else scale, dim=data.d, key=key)
        start = model.checked(start, data.d)
        if not _is_zero(log_scale):
            start, log_scale = place(model, start, log_scale)
        values = (model, data, loss, start, log_scale)
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        below = "" if self.in_floats else f", from e^{np.max(self.log_scale):g}·start"
        return f"Problem({brief(self.model)}, {self.data!r}, {brief(self.loss)}{below})"

    def facts(self) -> Facts:
        below = "" if self.in_floats else f"e^{np.max(self.log_scale):g} times "
        return Facts(
            "Problem",
            (
                Fact("model", brief(self.model)),
                Fact("data", repr(self.data)),
                Fact("loss", brief(self.loss)),
                Fact("start", f"{below}{brief(self.start)}"),
            ),
        )

    @property
    def params0(self) -> Any:
        """The word of 0.1 for `start`."""
        warn_of("Problem.params0", "Problem.start")
        return self.start

    @property
    def in_floats(self) -> bool:
        """Whether floats hold the start, and log_scale is zero."""
        return _is_zero(self.log_scale)

    @property
    def first_state(self) -> Any:
        """The state at t = 0 in floats: zero where the start is below their range."""
        return (
            self.start
            if self.in_floats
            else leaf_map(lambda leaf: grown(leaf, self.log_scale), self.start)
        )

    @cached_property
    def first_outputs(self) -> Any:
        """The predictions at t = 0; infinite or NaN where they overflow."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if hasattr(self.model, "predictions_of"):  # linear in its predictor
                return np.ravel(self.model.effective(self.first_state)) @ design(self).T
            return self.model(self.first_state, self.data.X)

    @cached_property
    def first_loss(self) -> float:
        """The loss at t = 0; infinite or NaN where it overflows."""
        outputs = self.first_outputs
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return float(self.loss(outputs, self.data.y))


def _is_zero(log_scale: Any) -> bool:
    return isinstance(log_scale, float) and log_scale == 0.0


@dataclass(frozen=True, eq=False, repr=False)
class MirrorProblem(Shown):
    """Mirror flow d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀.

    Parameters
    ----------
    potential : Potential
        φ.
    X : array of shape (n, d)
    y : array of shape (n,)
    beta0 : array of shape (d,), optional
        β₀; None: where ∇φ vanishes.

    Examples
    --------
    >>> problem = bf.MirrorProblem(bf.potentials.Hypentropy(1e-3), [[1.0, 2.0, 3.0]], [6.0])
    >>> bf.limit(problem).value.round(3)
    array([0.008, 0.122, 1.916])
    """

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

    @cached_property
    def origin(self) -> Any:
        """The mirror point at β₀, or where ∇φ vanishes."""
        if self.beta0 is None:
            return self.potential.at_dual(np.zeros(self.X.shape[1]))
        return self.potential.at(self.beta0)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return (
            f"MirrorProblem({type(self.potential).__name__}, n = {n}, d = "
            f"{d}{'' if self.beta0 is None else ', from beta0'})"
        )

    def facts(self) -> Facts:
        n, d = self.X.shape
        start = "where ∇φ vanishes" if self.beta0 is None else shape_of(self.beta0)
        return Facts(
            "MirrorProblem: d/dt ∇φ(β) = −Xᵀ(Xβ − y)",
            (
                Fact("potential φ", brief(self.potential)),
                Fact("samples", f"n = {n}, d = {d}"),
                Fact("labels", _labels_in_words(self.y)),
                Fact("start", start),
            ),
        )


def _labels_in_words(y: Array) -> str:
    """How many of either class, or the range."""
    if np.all(np.abs(y) == 1):
        return f"{np.sum(y > 0)} of +1, {np.sum(y < 0)} of −1"
    return f"from {np.min(y):.4g} to {np.max(y):.4g}"


def design(problem: Problem) -> Any:
    """The features (n, p) of a model that is linear in its predictor at the problem's inputs; kept
    with the problem, for they may cost more than the rest of a short flow."""
    kept = problem.__dict__
    if "_design" not in kept:
        kept["_design"] = problem.model.features(problem.data.X)
    return kept["_design"]


def mirror_problem(potential: Any, X: Array, y: Array, origin: Any) -> MirrorProblem:
    """A mirror flow from a mirror point, where nothing is left to check."""
    made: MirrorProblem = object.__new__(MirrorProblem)
    made.__dict__.update(potential=potential, X=X, y=y, beta0=origin.beta, origin=origin)
    return made


def data_in_units(data: Dataset, X: Array, y: Array) -> Dataset:
    """The same data in other units, where nothing is left to check."""
    other: Dataset = object.__new__(Dataset)
    other.__dict__.update(X=X, y=y, name=data.name, truth=None)
    return other


def problem_in_units(problem: Problem, data: Dataset, start: Any) -> Problem:
    """The same problem in other units, its start in floats, where nothing is left to check."""
    other: Problem = object.__new__(Problem)
    parts = {"model": problem.model, "data": data, "loss": problem.loss}
    other.__dict__.update(parts, start=start, log_scale=0.0)
    return other


def from_starts(problem: Problem, starts: Any) -> list[Problem]:
    """The problem from each of several starts."""
    found = [
        dataclasses.replace(problem, start=start, log_scale=0.0)
        for start in instance("starts", starts, Iterable)
    ]
    if not found:
        raise InputError("starts: expected at least one, found none")
    return found
