"""What a training is asked for, which steps it records, and what an engine is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .._core.arguments import instance, positive_int
from .._core.problems import Problem
from .._core.results import Trajectory
from .._numerics.deadlines import Deadline
from ..errors import InputError
from .step_rules import StepRule

STEPS_BETWEEN_LOOKS = 500
"""Steps between two looks at the clock and the keyboard, and two calls of `progress`."""
Progress = Callable[[int, int], None]


def silent(done: int, steps: int) -> None:
    """Progress that nobody is told."""


@dataclass(frozen=True, eq=False)
class Job:
    """kept: the steps whose states are recorded, from 0 to the last. keys: one a run."""

    kept: NDArray[np.intp]
    rule: StepRule | None
    batch: int | None = None
    keys: Sequence[int] = (0,)
    deadline: Deadline = field(default_factory=Deadline)
    tell: Progress = silent

    @property
    def steps(self) -> int:
        return int(self.kept[-1])

    def pieces(self, chunk: int = STEPS_BETWEEN_LOOKS) -> Iterator[tuple[int, int, bool]]:
        """(steps done, steps to do until, whether a record follows)."""
        for low, high in pairwise(map(int, self.kept)):
            for first in range(low, high, chunk):
                last = min(first + chunk, high)
                yield first, last, last == high


class Engine(ABC):
    """Something that takes the steps of a training."""

    name: str

    @abstractmethod
    def refusal(self, problem: Problem, job: Job) -> str | None:
        """Why this one is not for it; None where it is."""

    @abstractmethod
    def run(self, problems: Sequence[Problem], job: Job) -> tuple[Trajectory, ...]:
        """Every problem from its start, one trajectory each."""


def geometric_steps(steps: int, count: int) -> NDArray[np.intp]:
    """0, 1, … geometrically to the last."""
    return np.unique(
        np.concatenate([[0], np.geomspace(1, steps, max(count - 1, 1)).astype(np.intp), [steps]])
    )


def chosen_steps(name: str, kept: Iterable[int], steps: int) -> NDArray[np.intp]:
    """The steps to keep as they were asked for, in order."""
    if isinstance(kept, range):
        kept = np.arange(kept.start, kept.stop, kept.step)
    listed = kept if isinstance(kept, np.ndarray) else list(instance(name, kept, Iterable))
    given = np.asarray(listed)
    if given.dtype.kind not in "iu" or given.ndim != 1 or np.any(given < 0):
        # one by one, for the error that names what is no step
        given = np.array([positive_int(name, t, least=0) for t in listed], dtype=object)
    if not given.size or given.max() > steps:
        found = given.max() if given.size else "none"
        raise InputError(f"{name}: expected steps from 0 to {steps}, found {found}")
    return _increasing(given.astype(np.intp))


def _increasing(steps: NDArray[np.intp]) -> NDArray[np.intp]:
    """Each once, in order; millions that are in order already are not sorted again."""
    if np.any(steps[1:] < steps[:-1]):
        steps = np.sort(steps)
    return steps[np.append(True, steps[1:] > steps[:-1])]


def recorded_steps(records: int | Iterable[int], steps: int) -> NDArray[np.intp]:
    """So many steps, geometrically, or those given; the start and the last are among them."""
    if isinstance(records, Iterable):
        chosen = chosen_steps("records", records, steps)
        return _increasing(np.concatenate([[0], chosen, [steps]]).astype(np.intp))
    return geometric_steps(steps, positive_int("records", records, least=2))
