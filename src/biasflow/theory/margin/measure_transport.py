"""C, eqs. (11)–(12): neurons projected onto the sphere move with the flow of J' and grow at the
rate 4J'."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.results import Trajectory
from ...flows.weights import integrate_weights
from ...models import SphereMeasure, sphere_measure, transport_growth
from ..evidence import Evidence
from ..unmeasured import need
from ..verdicts import Check, Claim, Kind
from .margin_examples import any_smooth_problem, smooth_problem
from .margin_hypotheses import SIGNS, SMOOTH

TIME_FOLLOWED = 2.0
"""C's time over which the dynamics are followed."""
MOMENTS = (0.5, 1.0, 1.5)
"""Times at which both sides are compared, over the time in which a neuron can grow by a factor
e."""
STEP = 1e-3
"""Of central differences in time, in the same unit; their error is estimated from twice the
step."""
FLOW_RTOL = 1e-10
DIFFERENCE_ANGLE = 1e-5
"""h of central differences on the sphere. They are off by h² from their third derivative, by eps/h
from rounding; a kink within h leaves h."""
ERROR_FACTOR = 3.0
"""By which the difference of two step sizes, three times the error of the finer, is taken
larger."""
SOURCE = "differences in time of ∇L followed in the weights"


def _tests(theta: Array, signs: Array) -> tuple[Array, Array]:
    """ψ(θ_j, ε_j) for the test functions ε, θ_k and εθ_kθ_l, (K, m), and their gradients in θ, (K,
    m, p)."""
    one = np.eye(theta.shape[1])
    values, slopes = [signs], [np.zeros_like(theta)]
    for k in range(theta.shape[1]):
        values.append(theta[:, k])
        slopes.append(np.broadcast_to(one[k], theta.shape))
        for el in range(k + 1):
            values.append(signs * theta[:, k] * theta[:, el])
            slopes.append(
                signs[:, None] * (theta[:, k, None] * one[el] + theta[:, el, None] * one[k])
            )
    return np.array(values), np.array(slopes)


class Moving:
    """A flow of raw gradients, the moments of its neurons, and what eqs. (11) and (12) say of their
    rates."""

    def __init__(self, problem: Problem, time_s: float | None = None) -> None:
        self.problem, self.time_s = problem, time_s
        self.unit = 1 / float(np.max(np.sum(problem.data.X**2, axis=1)))

    @cached_property
    def flow(self) -> Trajectory:
        return need(
            integrate_weights(
                self.problem, TIME_FOLLOWED * self.unit, FLOW_RTOL, None, time_s=self.time_s
            )
        )

    @property
    def signs(self) -> Array:
        return np.asarray(self.problem.model.signs)

    def moments(self, params: Any, normalised: bool) -> Array:
        """∫ψ dν, or ∫ψ dν̄, for every test function, from the weights themselves:
        Σ‖w_j‖²ψ(w_j/‖w_j‖)."""
        squares = np.sum(params.W**2, axis=1)
        values, _ = _tests(params.W / np.sqrt(squares)[:, None], self.signs)
        return values @ squares / (np.sum(squares) if normalised else 1.0)

    def rates(self, params: Any, normalised: bool, weights: Array | None = None) -> Array:
        """What eq. (11), or (12), says d/dt∫ψ dν is: ∫⟨∇ψ, ∇J'⟩ + 4ψJ' dν, J' less its mean where ν
        is normalised."""
        p, data = self.problem, self.problem.data
        measure = sphere_measure(p.model, params)
        masses = measure.shares if normalised else np.exp(measure.log_masses)
        values, slopes = _tests(measure.points, self.signs)
        moving = transport_growth(
            measure, data.X, data.y, self.weights(params) if weights is None else weights
        )
        growth = moving.growth - (moving.growth @ masses if normalised else 0.0)
        return np.asarray(
            np.sum(slopes * moving.velocity, axis=2) @ masses + (values * growth) @ masses
        )

    def weights(self, params: Any) -> Array:
        data = self.problem.data
        return np.asarray(self.problem.loss.weights(self.problem.model(params, data.X), data.y))

    def defect(self, normalised: bool) -> tuple[float, float]:
        """The largest difference of both sides over test functions and times, relative, and what
        differences in time owe."""
        worst, error, step = 0.0, 0.0, STEP * self.unit
        for t in np.array(MOMENTS) * self.unit:
            sides = [self.moments(self.flow.at(t + k * step), normalised) for k in (-2, -1, 1, 2)]
            near, far = (sides[2] - sides[1]) / (2 * step), (sides[3] - sides[0]) / (4 * step)
            predicted = self.rates(self.flow.at(t), normalised)
            size = float(np.max(np.abs(near)))
            worst = max(worst, float(np.max(np.abs(near - predicted))) / size)
            noise = FLOW_RTOL * float(np.max(np.abs(sides[0]))) / step
            noise += self.unresolved(self.flow.at(t), normalised)
            error = max(
                error, (ERROR_FACTOR * float(np.max(np.abs(far - near))) / 3 + noise) / size
            )
        return worst, error

    def unresolved(self, params: Any, normalised: bool) -> float:
        """What the error of the weights leaves of `rates`, through p = ∇S: scores u that are off by
        δ change log p_i by at most 2δ, and rates are linear in p."""
        X, n = self.problem.data.X, self.problem.data.n
        size, reach = float(np.linalg.norm(params.W)), float(np.max(np.linalg.norm(X, axis=1)))
        off = 2 * reach**2 * size * float(np.max(self.flow.error))
        by_sample = [np.max(np.abs(self.rates(params, normalised, one))) for one in np.eye(n)]
        return min(2.0, float(np.expm1(min(2 * off, 1.0)))) * float(max(by_sample))

    def potential_defect(self) -> tuple[float, float]:
        """J', ∇J' on the sphere and the growth 4J' against J'(θ) = Σp_iy_iε(⟨θ, x_i⟩)₊² and its
        differences, relative; and the error of those."""
        params, data = self.flow.at(MOMENTS[1] * self.unit), self.problem.data
        measure: SphereMeasure = sphere_measure(self.problem.model, params)
        p = self.weights(params)
        moving, theta = transport_growth(measure, data.X, data.y, p), measure.points

        def value(points: Array) -> Array:
            return np.asarray(self.signs * (np.maximum(points @ data.X.T, 0.0) ** 2 @ (p * data.y)))

        gradient = np.zeros_like(theta)
        for k in range(theta.shape[1]):
            along = np.eye(theta.shape[1])[k] - theta[:, k, None] * theta
            ends = [(theta + s * DIFFERENCE_ANGLE * along) for s in (1, -1)]
            up, down = (value(e / np.linalg.norm(e, axis=1)[:, None]) for e in ends)
            gradient[:, k] = (up - down) / (2 * DIFFERENCE_ANGLE)
        size = float(np.max(np.abs(gradient)))
        off = [
            moving.potential - value(theta),
            moving.growth / 4 - value(theta),
            moving.velocity - gradient,
        ]
        h, squares = DIFFERENCE_ANGLE, p * np.sum(data.X**2, axis=1)
        bent = np.abs(theta @ data.X.T) <= 2 * h * np.linalg.norm(data.X, axis=1)
        rounding = (theta.shape[1] + 4) * float(np.finfo(float).eps) / h
        error = (4 / 3 * h**2 + rounding) * np.sum(squares) + h * np.max(bent @ squares)
        return max(float(np.max(np.abs(each))) for each in off) / size, float(error) / size


def _checks(evidence: Evidence, normalised: bool) -> tuple[Check, ...]:
    moving = Moving(evidence.network, evidence.time_left / 2)
    defect, error = moving.defect(normalised)
    nu, mean = ("ν̄", "J' − ∫J' dν̄") if normalised else ("ν", "J'")
    apart, owed = moving.potential_defect()
    still = float(np.max(np.abs(moving.rates(moving.problem.start, normalised))))
    quantity = f"largest |d/dt∫ψ d{nu} − ∫(⟨∇ψ, ∇J'⟩ + 4ψ({mean}))d{nu}|, relative"
    return (
        Check(quantity, defect, "==", 0.0, error, witness=SOURCE, null=1.0 if still > 0 else None),
        Check(
            "J', ∇J' and 4J' of the neurons against differences of J' on the sphere, relative",
            apart,
            "==",
            0.0,
            owed,
            witness="differences of J'",
        ),
    )


def _eq11(evidence: Evidence) -> tuple[Check, ...]:
    return _checks(evidence, normalised=False)


def _eq12(evidence: Evidence) -> tuple[Check, ...]:
    return _checks(evidence, normalised=True)


eq11 = Claim(
    "C/eq11",
    "ν_t = Π₂(μ_t) solves ∂_tν = −div(ν∇J') + 4J'ν: transport along ∇J' and growth at 4J' "
    "(Wasserstein–Fisher–Rao).",
    "C, eq. (11)",
    (SMOOTH, SIGNS),
    smooth_problem,
    _eq11,
    Kind.FLOW,
    SOURCE,
    "a measure that stands still",
    any_smooth_problem,
)
eq12 = Claim(
    "C/eq12",
    "ν̄_t = ν_t/‖ν_t‖ solves ∂_tν̄ = −div(ν̄∇J') + 4(J' − ∫J'dν̄)ν̄ with J' taken at ν_t (C "
    "prints ν̄_t).",
    "C, eq. (12)",
    (SMOOTH, SIGNS),
    smooth_problem,
    _eq12,
    Kind.FLOW,
    SOURCE,
    "a measure that stands still",
    any_smooth_problem,
)

CLAIMS = (eq11, eq12)
