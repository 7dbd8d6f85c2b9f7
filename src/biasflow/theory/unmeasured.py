"""What was not measured is not a number: only finished results of solvers enter checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from .._core.results import Bracket, Certificate, Limit, Trajectory
from ..errors import BiasflowError, ConvergenceError
from .verdicts import Check, unknown_check

Found = TypeVar("Found")
NARROW = 1e-6
"""Relative gap up to which a bracket counts as one number unless a claim says otherwise. A wider
one would let searches that ran out of time into equalities."""


class Unmeasured(BiasflowError):
    """A quantity that a claim needs was not measured; the message says why."""


def need(found: Found | str | None, gap: float = NARROW) -> Found:
    """The result of a solver, if it has finished; otherwise `Unmeasured` is raised.

    found: a flow (it must not have given up), a limit, certificate or bracket (its bounds must be
    closer than `gap`, relative to the upper), numbers (they must be finite), or in their place a
    sentence that says why there are none.
    """
    if found is None:
        raise Unmeasured("it was not computed")
    if isinstance(found, str):
        raise Unmeasured(found)
    if isinstance(found, Trajectory) and not found.result.success:
        raise Unmeasured(_gave_up(found))
    proof = found.certificate if isinstance(found, Limit) else found
    if isinstance(proof, Certificate | Bracket):
        width = proof.gap if isinstance(proof, Certificate) else proof.relative_gap
        if not width <= gap:
            raise Unmeasured(f"its bounds are still {width:.2g} apart; at most {gap:.1g} is needed")
    elif isinstance(found, float | np.ndarray) and not np.all(np.isfinite(found)):
        raise Unmeasured("a number in it is not finite")
    return found


def part(name: str, measure: Callable[[], Check | Iterable[Check]]) -> tuple[Check, ...]:
    """The checks of one part of a claim, up to the first that needs something that was not
    measured: an inconclusive check stands for it and what would follow it. The other parts of the
    claim are not affected."""
    checks: list[Check] = []
    try:
        found = measure()
        for check in (found,) if isinstance(found, Check) else found:
            checks.append(check)
    except (Unmeasured, ConvergenceError) as reason:
        checks.append(unknown_check(name, reason_of(reason)))
    return tuple(checks)


def reason_of(error: BiasflowError) -> str:
    """Why something was not measured, without an error's advice to whoever called the solver."""
    flow = error.partial if isinstance(error, ConvergenceError) else None
    return _gave_up(flow) if isinstance(flow, Trajectory) else str(error)


def _gave_up(flow: Trajectory) -> str:
    return f"the flow {flow.result.value} at t = {flow.times[-1]:g}"
