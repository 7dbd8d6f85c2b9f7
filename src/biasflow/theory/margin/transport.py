"""C, eqs. (11)–(12): neurons projected onto the sphere move with the flow of J' and grow at the rate 4J'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...flows import gradient_flow
from ...inputs import Array
from ...models import SignedTwoLayerParams
from ...records import Check, Claim, Problem, Trajectory
from ..evidence import Evidence
from .examples import smooth_problem
from .hypotheses import SIGNS, SMOOTH

SPAN = 2.0
"""C's time over which the dynamics are followed."""
MOMENTS = (0.5, 1.0, 1.5)
"""Times at which both sides are compared."""
STEP = 1e-3
"""Of central differences in time; their error is estimated from twice the step."""
TIGHT = 1e-10


@dataclass(frozen=True, eq=False)
class Cloud:
    """Π₂ of the neurons at a time: θ_j on the sphere with masses c_j = ‖v_j‖², and the potential J' with its slope there."""

    theta: Array
    masses: Array
    signs: Array
    slope: Array

    @property
    def potential(self) -> Array:
        """J'(θ_j) = ½⟨θ_j, ∇φ⟩, by 2-homogeneity."""
        return 0.5 * np.sum(self.theta * self.slope, axis=1)

    @property
    def tangential(self) -> Array:
        """∇J' on the sphere."""
        return self.slope - 2 * self.potential[:, None] * self.theta

    @property
    def tests(self) -> tuple[Array, Array]:
        """ψ(θ_j, ε_j) for the test functions ε, θ_k and εθ_kθ_l, (K, m), and their gradients in θ, (K, m, p)."""
        p, one = self.theta.shape[1], np.eye(self.theta.shape[1])
        values, slopes = [self.signs], [np.zeros_like(self.theta)]
        for k in range(p):
            values.append(self.theta[:, k])
            slopes.append(np.broadcast_to(one[k], self.theta.shape))
            for el in range(k + 1):
                values.append(self.signs * self.theta[:, k] * self.theta[:, el])
                both = self.theta[:, k, None] * one[el] + self.theta[:, el, None] * one[k]
                slopes.append(self.signs[:, None] * both)
        return np.array(values), np.array(slopes)


def _cloud(problem: Problem, W: Array, weights: Array | None = None) -> Cloud:
    model, X, y = problem.model, problem.data.X, problem.data.y
    lengths = np.linalg.norm(W, axis=1)
    theta = W / lengths[:, None]
    p = problem.loss.weights(model(SignedTwoLayerParams(W), X), y) if weights is None else weights
    return Cloud(theta, lengths**2, np.asarray(model.signs), model.gradient(SignedTwoLayerParams(theta), X, p * y).W)


def _flow(problem: Problem) -> Trajectory:
    return gradient_flow(problem.model, problem.data, problem.loss, problem.params0, SPAN, TIGHT, method="weights")


def _moments(problem: Problem, flow: Trajectory, t: float, normalised: bool) -> Array:
    """∫ψ dν_t, or ∫ψ dν̄_t, for every test function."""
    cloud = _cloud(problem, flow.at(t).W)
    masses = cloud.masses / np.sum(cloud.masses) if normalised else cloud.masses
    return cloud.tests[0] @ masses


def _rates(cloud: Cloud, normalised: bool) -> Array:
    """What eq. (11), or (12), says d/dt∫ψ dν is: ∫⟨∇ψ, ∇J'⟩ + 4ψJ' dν, J' less its mean where ν is normalised."""
    values, slopes = cloud.tests
    masses = cloud.masses / np.sum(cloud.masses) if normalised else cloud.masses
    growth = cloud.potential - (cloud.potential @ masses if normalised else 0.0)
    return np.sum(slopes * cloud.tangential, axis=2) @ masses + 4 * (values * growth) @ masses


def _largest_defect(problem: Problem, normalised: bool) -> tuple[float, float]:
    """The largest difference of the two sides over test functions and times, relative, and what differences in time owe."""
    flow, worst, error = _flow(problem), 0.0, 0.0
    for t in MOMENTS:
        sides = [_moments(problem, flow, t + k * STEP, normalised) for k in (-2, -1, 1, 2)]
        near, far = (sides[2] - sides[1]) / (2 * STEP), (sides[3] - sides[0]) / (4 * STEP)
        predicted = _rates(_cloud(problem, flow.at(t).W), normalised)
        size = float(np.max(np.abs(predicted)))
        worst = max(worst, float(np.max(np.abs(near - predicted))) / size)
        noise = float(np.max(flow.error)) * float(np.max(np.abs(sides[0]))) / STEP
        error = max(error, (float(np.max(np.abs(far - near))) + noise) / size)
    return worst, error


def _eq11(evidence: Evidence) -> tuple[Check, ...]:
    defect, error = _largest_defect(evidence.network, normalised=False)
    return (Check("largest |d/dt∫ψ dν − ∫(⟨∇ψ, ∇J'⟩ + 4ψJ')dν|, relative", defect, "<=", error), _small(error))


def _eq12(evidence: Evidence) -> tuple[Check, ...]:
    defect, error = _largest_defect(evidence.network, normalised=True)
    quantity = "largest |d/dt∫ψ dν̄ − ∫(⟨∇ψ, ∇J'⟩ + 4ψ(J' − ∫J' dν̄))dν̄|, relative"
    return (Check(quantity, defect, "<=", error), _small(error))


def _small(error: float) -> Check:
    return Check("error of the differences in time, relative", error, "<=", 1e-3)


def printed_defect(problem: Problem, t: float) -> float:
    """How far eq. (12) is off with J' at ν̄, as printed, instead of at ν: relative, over all test functions."""
    flow = _flow(problem)
    W = flow.at(t).W
    right = _cloud(problem, W)
    bar = W / np.sqrt(np.sum(right.masses))
    at_bar = problem.loss.weights(problem.model(SignedTwoLayerParams(bar), problem.data.X), problem.data.y)
    predicted = _rates(right, normalised=True)
    return float(np.max(np.abs(_rates(_cloud(problem, W, at_bar), normalised=True) - predicted)) / np.max(np.abs(predicted)))


eq11 = Claim(
    "C/eq11",
    "ν_t = Π₂(μ_t) solves ∂_tν = −div(ν∇J') + 4J'ν: transport along ∇J' and growth at 4J' (Wasserstein–Fisher–Rao).",
    "C, eq. (11)",
    (SMOOTH, SIGNS),
    smooth_problem,
    _eq11,
)
eq12 = Claim(
    "C/eq12",
    "ν̄_t = ν_t/‖ν_t‖ solves ∂_tν̄ = −div(ν̄∇J') + 4(J' − ∫J'dν̄)ν̄ with J' taken at ν_t (C prints ν̄_t).",
    "C, eq. (12)",
    (SMOOTH, SIGNS),
    smooth_problem,
    _eq12,
)

CLAIMS = (eq11, eq12)
