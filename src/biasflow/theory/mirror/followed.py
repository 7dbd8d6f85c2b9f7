"""The weights of a network with fixed directions along their own flow, and the error of whatever is
read off them.

The distance of two runs of a multistep method, one of them ten times looser, is no error: both lose
most where they change their order or step, each at a time of its own, so that the finer may for a
while be the worse. A one-step method of order eight loses on every step what its tolerance allows.
It is run twice, a hundredfold apart: the distance is the error of the looser run, far above that of
the finer, which is the one that is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map
from ...flows.weights import second_run
from ..evidence import Evidence
from ..witness import downhill, leaf_stack
from .mirror_witness import LONGEST_TIME

DUAL_RTOL = 1e-10
"""Tolerance of the dual flow."""
FINE, COARSE = 1e-12, 1e-10
"""Tolerances of the two runs: the finest that the integrator honours, and a hundred times that."""
SAVED, LEAST = 33, 3
"""Times compared, and how many must be reached for a verdict."""
STEPS = 1000
"""Of each run: ten times what a flow takes that is not stiff; one that is, is judged as far as that
goes."""
MOST_KEPT = 201
"""Steps that are kept: beyond that every so many."""
READING_ROUNDINGS = 8
"""Units of rounding in reading a quantity off the weights: a few operations on either side of a
difference."""
GIVEN_ERROR_FACTOR = 10.0
"""Times its stated error that a flow may be off which somebody handed in: estimates are of the
order of the error, no bounds."""
EPS = float(np.finfo(float).eps)

Quantity = Callable[[Any], Array]
"""Of states with a leading axis of times: numbers with the same axis."""
Sensitivity = Callable[[Any, Any], Array]
"""Of states and errors of them, both absolute: the quantity's first-order error."""


@dataclass(frozen=True, eq=False)
class Followed:
    """A flow of the weights. states, coarse: it and the looser run at its times and halfway
    between.

    ends, path: all of its steps. A flow that was handed in has none of these: its error is what it
    states.
    """

    source: str
    flow: Trajectory
    states: Any = None
    coarse: Any = None
    ends: Array | None = None
    path: Any = None

    def error(self, quantity: Quantity, sensitivity: Sensitivity, stated: Array) -> Array:
        """Of a quantity at the flow's times and halfway before. Where two runs cross their distance
        is zero, the error is not."""
        size = leaf_map(np.abs, self.flow.states)
        read = READING_ROUNDINGS * EPS * sensitivity(size, size)
        if self.ends is None:
            return stated + read
        off = np.maximum.accumulate(np.abs(quantity(self.states) - quantity(self.coarse)), axis=0)
        there = np.vstack([off[:1], np.maximum(off[2::2], off[1::2])])
        return np.asarray(there + self._rounding(sensitivity) + read)

    def _rounding(self, sensitivity: Sensitivity) -> Array:
        """w + hΣB_iK_i rounds w, and the sum by as much as its terms are larger than itself; steps
        add up."""
        assert self.ends is not None
        after = leaf_map(lambda leaf: np.abs(leaf[1:]), self.path)
        lost = leaf_map(
            lambda leaf: (
                EPS * (np.abs(leaf[1:]) + summed_weights() * np.abs(np.diff(leaf, axis=0)))
            ),
            self.path,
        )
        steps = sensitivity(after, lost)
        total = np.vstack([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
        return np.asarray(total[np.searchsorted(self.ends, self.flow.times)])


def summed_weights() -> float:
    """Σ|B_i| of DOP853, where ΣB_i = 1: how much larger the terms of a step are than the step."""
    from scipy.integrate import DOP853

    return float(np.sum(np.abs(DOP853.B)))


def followed_weights(evidence: Evidence) -> Followed | str:
    """The weights' own flow with its error, or why it is not known; at the edge of the cone as far
    as rounding lets it go."""
    if evidence.given_flow is not None:
        return Followed(evidence.source, evidence.given_flow)
    p = evidence.network
    end = float(evidence.trajectory.times[-1]) if evidence.source else _far(p)
    rough, run = (
        second_run(p, end, rtol, evidence.time_left / 3, STEPS) for rtol in (COARSE, FINE)
    )
    ends = run.ends[run.ends <= rough.ends[-1]]
    if len(ends) < LEAST:
        return (
            f"a second method did not follow the weights ({run.result.value}): their error is "
            "not known"
        )
    times = ends[np.unique(np.linspace(0, len(ends) - 1, MOST_KEPT).astype(int))]
    grid = np.sort(np.append(times, (times[1:] + times[:-1]) / 2))
    states, coarse, fine, path = (
        leaf_stack([each.at(float(t)) for t in at])
        for each, at in ((run, times), (rough, grid), (run, grid), (run, ends))
    )
    error = np.max(
        [np.max(np.abs(a - b), axis=1) for a, b in zip(fine, coarse, strict=True)], axis=0
    )[::2]
    of_beta = np.max(np.abs(p.model.effective(fine) - p.model.effective(coarse)), axis=1)[::2]
    stats = {"method": "weights", "steps": len(run.ends) - 1}
    unknown = np.full(len(times), np.nan)
    followed = Trajectory(
        times, states, unknown, error, (), stats, run.result, p, run.at, predictor_error=of_beta
    )
    return Followed("∇L followed in the weights", followed, fine, coarse, ends, path)


def _far(problem: Problem) -> float:
    """A time that no flow of so many steps passes, where its end is not known: the start's own,
    many times over."""
    pull = max(float(np.max(np.abs(leaf))) for leaf in downhill(problem, problem.start))
    size = max(float(np.max(np.abs(leaf))) for leaf in problem.start)
    return LONGEST_TIME * size / max(pull, float(np.finfo(float).tiny))
