"""C, eqs. (11)–(12): neurons projected onto the sphere move with the flow of J' and grow at the rate 4J'."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...flows import gradient_flow
from ...inputs import Array
from ...models import SphereMeasure, sphere_measure, transport_growth
from ...records import Problem, Trajectory
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import smooth_problem
from .hypotheses import SIGNS, SMOOTH

SPAN = 2.0
"""C's time over which the dynamics are followed."""
MOMENTS = (0.5, 1.0, 1.5)
"""Times at which both sides are compared."""
STEP = 1e-3
"""Of central differences in time; their error is estimated from twice the step."""
TIGHT = 1e-10
AGREE = 1e-4
"""Relative difference at which both sides agree: differences in time leave some 1e-6, eq. (12) as printed 0.9 and more."""


def _tests(theta: Array, signs: Array) -> tuple[Array, Array]:
    """ψ(θ_j, ε_j) for the test functions ε, θ_k and εθ_kθ_l, (K, m), and their gradients in θ, (K, m, p)."""
    one = np.eye(theta.shape[1])
    values, slopes = [signs], [np.zeros_like(theta)]
    for k in range(theta.shape[1]):
        values.append(theta[:, k])
        slopes.append(np.broadcast_to(one[k], theta.shape))
        for el in range(k + 1):
            values.append(signs * theta[:, k] * theta[:, el])
            slopes.append(signs[:, None] * (theta[:, k, None] * one[el] + theta[:, el, None] * one[k]))
    return np.array(values), np.array(slopes)


def _measure(problem: Problem, params: Any, normalised: bool) -> tuple[SphereMeasure, Array, Array, Array]:
    """Π₂ of the neurons, its masses (shares where normalised), and the test functions with their gradients."""
    measure = sphere_measure(problem.model, params)
    masses = measure.shares if normalised else np.exp(measure.log_masses)
    return measure, masses, *_tests(measure.points, np.asarray(problem.model.signs))


def _flow(problem: Problem) -> Trajectory:
    return gradient_flow(problem.model, problem.data, problem.loss, problem.params0, SPAN, TIGHT, method="weights")


def _moments(problem: Problem, params: Any, normalised: bool) -> Array:
    """∫ψ dν, or ∫ψ dν̄, for every test function."""
    _, masses, values, _ = _measure(problem, params, normalised)
    return values @ masses


def _rates(problem: Problem, params: Any, normalised: bool, weights: Array | None = None) -> Array:
    """What eq. (11), or (12), says d/dt∫ψ dν is: ∫⟨∇ψ, ∇J'⟩ + 4ψJ' dν, J' less its mean where ν is normalised."""
    data = problem.data
    measure, masses, values, slopes = _measure(problem, params, normalised)
    p = problem.loss.weights(problem.model(params, data.X), data.y) if weights is None else weights
    moving = transport_growth(measure, data.X, data.y, p)
    growth = moving.growth - (moving.growth @ masses if normalised else 0.0)
    return np.sum(slopes * moving.velocity, axis=2) @ masses + (values * growth) @ masses


def _largest_defect(problem: Problem, normalised: bool) -> tuple[float, float]:
    """The largest difference of the two sides over test functions and times, relative, and what differences in time owe."""
    flow, worst, error = _flow(problem), 0.0, 0.0
    for t in MOMENTS:
        sides = [_moments(problem, flow.at(t + k * STEP), normalised) for k in (-2, -1, 1, 2)]
        near, far = (sides[2] - sides[1]) / (2 * STEP), (sides[3] - sides[0]) / (4 * STEP)
        predicted = _rates(problem, flow.at(t), normalised)
        size = float(np.max(np.abs(predicted)))
        worst = max(worst, float(np.max(np.abs(near - predicted))) / size)
        noise = float(np.max(flow.error)) * float(np.max(np.abs(sides[0]))) / STEP
        error = max(error, (float(np.max(np.abs(far - near))) + noise) / size)
    return worst, error


def _eq11(evidence: Evidence) -> tuple[Check, ...]:
    defect, error = _largest_defect(evidence.network, normalised=False)
    return (Check("largest |d/dt∫ψ dν − ∫(⟨∇ψ, ∇J'⟩ + 4ψJ')dν|, relative", defect, "<=", AGREE, error),)


def _eq12(evidence: Evidence) -> tuple[Check, ...]:
    defect, error = _largest_defect(evidence.network, normalised=True)
    quantity = "largest |d/dt∫ψ dν̄ − ∫(⟨∇ψ, ∇J'⟩ + 4ψ(J' − ∫J' dν̄))dν̄|, relative"
    return (Check(quantity, defect, "<=", AGREE, error),)


def printed_defect(problem: Problem, t: float) -> float:
    """How far eq. (12) is off with J' at ν̄, as printed, instead of at ν: relative, over all test functions."""
    params, data = _flow(problem).at(t), problem.data
    bar = problem.model(params, data.X) / np.sum(params.W**2)
    predicted = _rates(problem, params, normalised=True)
    printed = _rates(problem, params, True, problem.loss.weights(bar, data.y))
    return float(np.max(np.abs(printed - predicted)) / np.max(np.abs(predicted)))


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
