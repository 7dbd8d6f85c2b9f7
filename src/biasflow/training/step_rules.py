"""Step sizes of gradient ascent on the smooth margin: η(t) = size·(t + offset)^(−power), times β(t)
where they grow with it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from .._core.arguments import SMALLEST_NORMAL, positive_float
from ..errors import InputError


@dataclass(frozen=True)
class Schedule:
    """The numbers of a step rule; t counts from zero."""

    size: float
    power: float
    offset: float
    with_norm: bool

    def __call__(self, t: int, log_beta: float) -> float:
        """η(t)."""
        return (
            self.size
            * (t + self.offset) ** -self.power
            * (math.exp(log_beta) if self.with_norm else 1.0)
        )


class StepRule(ABC):
    """How large the steps are."""

    @abstractmethod
    def schedule(self, largest: float) -> Schedule:
        """The rule's numbers, for signed features with ‖z‖_∞ = `largest`."""


@dataclass(frozen=True)
class ConstantStep(StepRule):
    """η(t) = size."""

    size: float

    def __post_init__(self) -> None:
        positive_float("size", self.size)

    def schedule(self, largest: float) -> Schedule:
        return Schedule(self.size, 0.0, 1.0, False)


@dataclass(frozen=True)
class InverseRootStep(StepRule):
    """η(t) = size/√(t + offset), t from zero; times β(t) with `with_norm`.

    C's figures have size ½ and, in the text, offset 1. The authors' code counts iterations from
    one: offset 2; where it trains the output layer, the step also grows with β(t).
    """

    size: float = 0.5
    offset: float = 1.0
    with_norm: bool = False

    def __post_init__(self) -> None:
        positive_float("size", self.size)
        positive_float("offset", self.offset)

    def schedule(self, largest: float) -> Schedule:
        return Schedule(self.size, 0.5, self.offset, self.with_norm)


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
