"""Worlds in which a claim is false, or is changed and stays true: the rows of the mutation matrix.

A world names what is changed in it. `spoil(patch)` makes the change with a `pytest.MonkeyPatch`,
and may return keywords for `verify` (a problem, a limit, a flow). 'noticed': the verdict is then
neither holds nor what it is without the change. 'still true': the statement does not depend on what
was changed, `why` says so, and the verdict is what it was.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pytest

import biasflow as bf
from biasflow.theory import verification

PATIENT_S = 300.0
"""For witnesses on a machine that is busy with other things."""


@dataclass(frozen=True)
class World:
    claim: str
    change: str
    spoil: Callable[[pytest.MonkeyPatch], Mapping[str, Any] | None]
    outcome: str = "noticed"
    why: str = ""
    key: int = 0
    slow: bool = False

    @property
    def id(self) -> str:
        return f"{self.claim}: {self.change}"


TOGETHER = contextvars.copy_context()
"""In which claims with the same examples are judged on the same evidence, as in reports."""
TOGETHER.run(verification._shared.set, {})


@functools.cache
def unspoiled(claim: str, key: int) -> bf.Verdict:
    """The verdict in the world as it is."""
    return TOGETHER.run(bf.verify, claim, key=key, time_s=PATIENT_S)


def verdict_in(world: World) -> bf.Verdict:
    """The verdict in a changed world."""
    with pytest.MonkeyPatch.context() as patch:
        keywords = dict(world.spoil(patch) or {})
        return bf.verify(world.claim, **{"key": world.key, "time_s": PATIENT_S, **keywords})


def contents(problem: Any) -> Any:
    """What a problem is made of, to tell two apart."""
    if isinstance(problem, bf.Problem):
        return [problem.data.X, problem.data.y, *problem.start]
    if isinstance(problem, bf.Dataset):
        return [problem.X, problem.y]
    if isinstance(problem, bf.MirrorProblem):
        return [problem.potential, problem.X, problem.y, problem.beta0]
    return {
        field.name: getattr(problem, field.name)
        for field in fields(problem)
        if field.name != "loss"
    }
