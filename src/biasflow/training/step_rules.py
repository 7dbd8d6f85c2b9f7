"""Step sizes of descent and of ascent on the smooth margin: η(t) = size·(t + offset)^(−power),
times β(t) where they grow with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.arguments import SMALLEST_NORMAL, Array, positive_float
from .._numerics.float_ranges import LARGEST_EXPONENT
from ..errors import InputError, RefusedError


class Schedule(NamedTuple):
    """The numbers of a step rule; t counts from zero."""

    size: float
    power: float
    offset: float
    with_norm: bool

    def __call__(self, t: Any, log_beta: Any = 0.0) -> Any:
        """η(t)."""
        share = self.size * (t + self.offset) ** -self.power
        return share * np.exp(np.minimum(log_beta, LARGEST_EXPONENT)) if self.with_norm else share

    def times(self, steps: NDArray[np.intp]) -> Array:
        """Σ_{s<k} η(s) at the steps k, the last of them the largest, where η does not grow with
        β."""
        if self.power == 0:
            return self.size * steps.astype(float)
        return np.concatenate([[0.0], np.cumsum(self(np.arange(steps[-1])))])[steps]


class StepRule(ABC):
    """How large the steps are."""

    @abstractmethod
    def schedule(self, largest: float) -> Schedule:
        """The rule's numbers, for signed features with ‖z‖_∞ = `largest`."""


@dataclass(frozen=True)
class ConstantStep(StepRule):
    """η(t) = size.

    Parameters
    ----------
    size : float

    Examples
    --------
    >>> bf.training.ConstantStep(0.1)
    ConstantStep(size=0.1)
    """

    size: float

    def __post_init__(self) -> None:
        positive_float("size", self.size)

    def schedule(self, largest: float) -> Schedule:
        return Schedule(float(self.size), 0.0, 1.0, False)


@dataclass(frozen=True)
class InverseRootStep(StepRule):
    """η(t) = size/√(t + offset), t from zero; times β(t) with `with_norm`.

    C's figures have size ½ and, in the text, offset 1. The authors' code counts iterations from
    one: offset 2; where it trains the output layer, the step also grows with β(t).

    Parameters
    ----------
    size, offset : float
    with_norm : bool

    Examples
    --------
    >>> bf.training.InverseRootStep(size=0.5, offset=1.0)
    InverseRootStep(size=0.5, offset=1.0, with_norm=False)
    """

    size: float = 0.5
    offset: float = 1.0
    with_norm: bool = False

    def __post_init__(self) -> None:
        positive_float("size", self.size)
        positive_float("offset", self.offset)

    def schedule(self, largest: float) -> Schedule:
        return Schedule(float(self.size), 0.5, float(self.offset), bool(self.with_norm))


@dataclass(frozen=True)
class DefaultStep(StepRule):
    """η(t) = ½/(2^e√(t+1)) with 2^e ≤ 2‖z‖_∞ < 2^{e+1}: C's step where the longest input is between
    one and two, as in C.

    A step has the dimension of 1/‖z‖_∞: inputs in other units, weights along, are trained by the
    same steps.
    """

    def schedule(self, largest: float) -> Schedule:
        return Schedule(math.ldexp(0.5, 1 - math.frexp(2 * _positive(largest))[1]), 0.5, 1.0, False)


@dataclass(frozen=True)
class Proposition6Step(StepRule):
    """η(t) = 1/(16‖z‖_∞√(t+1)), for fixed directions (C, Proposition 6)."""

    def schedule(self, largest: float) -> Schedule:
        return Schedule(1 / (16 * _positive(largest)), 0.5, 1.0, False)


@dataclass(frozen=True)
class Proposition7Step(StepRule):
    """η(t) = β(t)√2/(‖z‖_∞√(t+1)), for the output layer (C, Proposition 7)."""

    def schedule(self, largest: float) -> Schedule:
        return Schedule(math.sqrt(2) / _positive(largest), 0.5, 1.0, True)


def _positive(largest: float) -> float:
    if largest <= 0:
        raise InputError(
            "step: every feature vanishes on every sample, so that ‖z‖_∞ = 0 gives no step size"
        )
    if largest < SMALLEST_NORMAL:
        raise InputError(
            f"step: features up to {largest:g} are too small for floats to hold a step of about "
            "1/‖z‖_∞; scale them"
        )
    return largest


def read_step(step: Any) -> StepRule:
    """A rule from itself, or from a number: the same step always."""
    return step if isinstance(step, StepRule) else ConstantStep(positive_float("step", step))


def plain_schedule(rule: StepRule | None) -> Schedule:
    """The numbers of a rule that knows its steps beforehand, from neither features nor norms."""
    if rule is None:
        raise InputError(
            "step: expected a number or a step rule; only the smooth margin has its own"
        )
    schedule = rule.schedule(math.nan)
    if schedule.with_norm or not math.isfinite(schedule.size):
        raise RefusedError(
            f"step: {type(rule).__name__} is made for ascent on the smooth margin of two-layer "
            "networks, by engine 'numba' or 'jax'"
        )
    return schedule
