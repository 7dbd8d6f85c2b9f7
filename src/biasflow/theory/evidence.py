"""What a claim may look at: a problem, its flow, its limit, each computed once and only if asked
for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from .._core.arguments import Array
from .._core.former_names import keyword_only
from .._core.problems import MirrorProblem, Problem
from .._core.results import Limit, Trajectory
from .._numerics.deadlines import Deadline, deadline_of
from ..errors import InputError
from ..flows import gradient_flow, limit, mirror_flow, saddle_path
from ..limits import bregman_projection, min_l1, min_l2
from ..limits.newton import solve_gram, weighted_gram
from ..models import mirror
from ..potentials.potential import MirrorPoint
from .unmeasured import Unmeasured
from .witness import witness_flow

Item = TypeVar("Item")
FAR_FROM_LIMIT_ERROR = 1e-3
"""Numerical error, relative to the limit, beyond which a distance from it proves nothing."""


class Evidence:
    """A problem with its trajectory and limit; what is not given is computed on first use.

    trajectory: what was given, else the witness, which follows ∇L alone, else the library's own
    flow. `source` names the first
    two and is empty for the last: checks on it are then at best consistent.
    time_s: seconds that all of it together may take, or the clock that counts them; what does not
    fit is not measured, and the verdict says so.
    """

    @keyword_only("time_s")
    def __init__(
        self,
        problem: Any,
        trajectory: Trajectory | None = None,
        *,
        time_s: float | Deadline = 30.0,
    ) -> None:
        self.problem, self._flow, self._looked_at = problem, trajectory, False
        self.deadline = deadline_of(time_s)

    @property
    def time_left(self) -> float:
        """Seconds left for the next solver; `Unmeasured` is raised where there are none."""
        left = self.deadline.left
        if self.deadline.over():
            raise Unmeasured(f"the time limit of {self.deadline.seconds:g} s was reached first")
        return float("inf") if left is None else left

    def in_time(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of a long loop while there is time; `Unmeasured` is raised after that."""
        for item in items:
            _ = self.time_left
            yield item

    @property
    def given_flow(self) -> Trajectory | None:
        """The flow that was handed in, if any."""
        self._looked_at = True
        return self._flow

    @property
    def flow_ignored(self) -> bool:
        """Whether a flow was handed in and never looked at."""
        return self._flow is not None and not self._looked_at

    @property
    def network(self) -> Problem:
        """The problem, for claims about a parametrised model."""
        if isinstance(self.problem, MirrorProblem):
            raise InputError(
                "problem: a claim about a network needs a Problem, found a MirrorProblem"
            )
        return self.problem

    @cached_property
    def witness(self) -> Trajectory | str:
        """The flow by raw gradients until it ends, or why there is none."""
        return witness_flow(self.problem, time_s=self.time_left / 2)

    @cached_property
    def trajectory(self) -> Trajectory:
        if self.given_flow is not None:
            return self.given_flow
        return self.own_flow if isinstance(self.witness, str) else self.witness

    @property
    def source(self) -> str:
        """Where the trajectory comes from, if from something that does not assume what is
        claimed."""
        if self.given_flow is not None:
            return "the flow given, which follows ∇L"
        if isinstance(self.witness, str):
            return ""
        return (
            "β̇ = −∇F/φ'' followed in β"
            if isinstance(self.problem, MirrorProblem)
            else "∇L followed in the weights"
        )

    @property
    def missing(self) -> str:
        """Why there is no witness; empty where there is one."""
        return "" if self.source else f"no witness: {self.witness}"

    @cached_property
    def own_flow(self) -> Trajectory:
        """The library's flow for this problem, which may go through the mirror form."""
        p = self.problem
        if isinstance(p, MirrorProblem):
            return mirror_flow(p, time_s=self.time_left)
        return gradient_flow(p, time_s=self.time_left)

    @cached_property
    def limit(self) -> Limit:
        p = self.problem
        if isinstance(p, MirrorProblem):
            return bregman_projection(p.potential, p.X, p.y, p.beta0)
        return limit(p.model, p.data, p.loss, start=p.start, time_s=self.time_left)

    @cached_property
    def path(self) -> Trajectory:
        """The jump process of vanishing initialisation (W/limit)."""
        return saddle_path(self.mirror.X, self.mirror.y)

    @cached_property
    def mirror(self) -> MirrorProblem:
        return self.problem if isinstance(self.problem, MirrorProblem) else mirror(self.problem)

    @cached_property
    def projection(self) -> Limit:
        """The projection for the mirror problem's own potential, clock included."""
        m = self.mirror
        return (
            self.limit
            if isinstance(self.problem, MirrorProblem)
            else bregman_projection(m.potential, m.X, m.y, m.beta0)
        )

    @cached_property
    def l1(self) -> Limit:
        return min_l1(self.mirror.X, self.mirror.y)

    @cached_property
    def l2(self) -> Limit:
        return min_l2(self.mirror.X, self.mirror.y)

    @cached_property
    def origin(self) -> MirrorPoint:
        return self.mirror.origin

    def effective(self, state: Any) -> Any:
        """β at a state of the trajectory, or at all of them."""
        return (
            state
            if isinstance(self.problem, MirrorProblem)
            else self.problem.model.effective(state)
        )

    @cached_property
    def predictors(self) -> Array:
        """β along the trajectory, (T, d)."""
        return self.effective(self.trajectory.states)

    @cached_property
    def points(self) -> list[MirrorPoint]:
        """The mirror points along the trajectory: from its dual points where it has them, else from
        β."""
        if self.trajectory.dual is not None:
            return [self.origin.moved(self.mirror.X.T @ nu) for nu in self.trajectory.dual]
        return [self.mirror.potential.at(beta) for beta in self.predictors]

    @cached_property
    def best(self) -> MirrorPoint:
        """The projection as a mirror point."""
        return self.mirror.potential.at(self.projection.value)

    @cached_property
    def divergences(self) -> Array:
        """D_φ(β*, β(t)) along the trajectory."""
        return np.array([float(np.sum(self.best.divergence(point))) for point in self.points])

    @cached_property
    def start_divergence(self) -> float:
        """D_φ(β*, β₀)."""
        return float(np.sum(self.best.divergence(self.origin)))

    @cached_property
    def half_loss(self) -> Array:
        """½‖Xβ(t) − y‖², whatever the problem's own normalisation."""
        return 0.5 * np.sum((self.predictors @ self.mirror.X.T - self.mirror.y) ** 2, axis=1)

    @cached_property
    def remaining(self) -> float:
        """How far β still is from its limit when the flow stops: the Newton step from there, in sup
        norm."""
        m, point = self.mirror, self.points[-1]
        weight = point.weight()
        top = float(np.max(weight))
        if not (top > 0 and np.isfinite(top)):
            return float("nan")
        step = solve_gram(weighted_gram(m.X, weight / top), (m.y - m.X @ point.beta) / top)
        return float(np.max(np.abs(weight * (m.X.T @ step))))

    @property
    def arrived(self) -> bool:
        """Whether the flow ended so near its limit, by its own account, that their distance can be
        judged."""
        return self.distance_error <= FAR_FROM_LIMIT_ERROR * float(np.max(np.abs(self.limit.value)))

    @cached_property
    def distance_error(self) -> float:
        """What a distance between flow and limit may owe to numerics: integration, early stop,
        rounding."""
        size = float(np.max(np.abs(self.limit.value)))
        rounding = max(1.0, float(np.max(np.abs(self.origin.eta)))) * np.finfo(float).eps * size
        return (
            float(self.trajectory.predictor_error[-1])
            + 2 * self.remaining
            + 100 * rounding
            + size * self.limit.certificate.residual
        )
