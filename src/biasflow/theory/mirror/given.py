"""Limits that somebody hands in: compared with where the flow goes before anything rests on
them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from ..evidence import Evidence
from ..verdicts import Check, Status, unknown_check
from .measured import AT_END, Measured, measured, within_floats

Checks = Callable[[Evidence], tuple[Check, ...]]
FAR_DISTANCE = 0.1
"""Distance from the flow's end, over its size, from which no rounding of a limit explains it."""


def about_a_limit(check: Checks, measure: Callable[[Evidence], Measured] = measured) -> Checks:
    """A check whose β* may be handed in: one that is not where the flow goes is wrong, and nothing
    rests on it."""

    @within_floats
    def compared(evidence: Evidence) -> tuple[Check, ...]:
        return (_given(evidence, measure),)

    @functools.wraps(check)
    def judged(evidence: Evidence) -> tuple[Check, ...]:
        if evidence.given_limit is None:
            return check(evidence)
        found = compared(evidence)
        return (
            (*check(evidence), *found)
            if found[0].status in (Status.HOLDS, Status.CONSISTENT)
            else found
        )

    return judged


def about_no_limit(check: Checks) -> Checks:
    """A check that looks at no limit, and says so where one is handed in."""

    @functools.wraps(check)
    def judged(evidence: Evidence) -> tuple[Check, ...]:
        if evidence.given_limit is None:
            return check(evidence)
        return (
            *check(evidence),
            unknown_check("the limit given", "the statement is about no limit: leave it out"),
        )

    return judged


def _given(evidence: Evidence, measure: Callable[[Evidence], Measured]) -> Check:
    name = "‖β(T) − limit given‖_∞ over ‖β(T)‖_∞"
    assert evidence.given_limit is not None
    value = np.asarray(evidence.given_limit.value)
    if (
        value.shape != (evidence.mirror.X.shape[1],)
        or value.dtype.kind not in "fiu"
        or not np.all(np.isfinite(value))
    ):
        return unknown_check(
            name, f"the limit given is no vector of {evidence.mirror.X.shape[1]} numbers"
        )
    m = measure(evidence)
    end = m.betas[-1]
    size = max(float(np.max(np.abs(end))), float(np.finfo(float).tiny))
    with np.errstate(over="ignore"):
        distance = min(float(np.max(np.abs(end - value))) / size, float(np.finfo(float).max))
    error = float(np.max(m.spread[-1] + 2 * m.left_to_go)) / size
    if distance <= FAR_DISTANCE:
        error += float(np.max(m.best_error)) / size
    if error > AT_END:
        return unknown_check(name, f"the flow still has {error:.2g} of its way to go")
    return Check(name, distance, "==", 0.0, error, **m.notes)
