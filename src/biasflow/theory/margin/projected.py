"""C, Appendix C.2: the flow is characterised by Π₂(μ₀), so that starts with one Π₂ have one flow of
ν, whatever their lengths.

A neuron that is split into several of its direction, their squared norms adding up to its own, is
another μ₀ of the same Π₂; so μ₀ may be taken on a compact set. Starts with the same predictor but
another Π₂ follow another flow.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...flows.weights import integrate_weights
from ...models import SignedTwoLayer, SignedTwoLayerParams
from ..evidence import Evidence
from ..unmeasured import need
from ..verdicts import Check, Claim, Kind
from .margin_examples import any_smooth_problem, few_problem
from .margin_hypotheses import EXPONENTIAL_TAIL, SIGNS, SMALL_START, SMOOTH

SPLIT_PARTS = 3
"""Neurons into which each is split."""
TIME_FOLLOWED = 4.0
"""C's time over which the flows are followed, over 1/max‖x‖²."""
FLOW_RTOL = 1e-9
"""Their tolerance."""
TIMES_SEEN = 6
"""Times at which they are compared."""
ERROR_FACTOR = 10.0
"""By which errors of weights, which are estimates, are taken larger in what is made of them."""
ALONG = "∇L followed in the weights, of either start by itself"


def split(problem: Problem, key: int = 0) -> tuple[Problem, Array]:
    """Each neuron as SPLIT_PARTS of its direction and sign, of random shares of its squared norm;
    and which neuron each is part of."""
    shares = np.random.default_rng((137, key)).dirichlet(np.ones(SPLIT_PARTS), problem.model.width)
    W = (np.sqrt(shares)[:, :, None] * problem.start.W[:, None]).reshape(-1, problem.model.dim)
    owner = np.repeat(np.arange(problem.model.width), SPLIT_PARTS)
    model = SignedTwoLayer(owner.size, problem.model.dim, np.asarray(problem.model.signs)[owner])
    return dataclasses.replace(problem, model=model, start=SignedTwoLayerParams(W)), owner


def hidden_pair(problem: Problem) -> Problem:
    """The same predictor with another Π₂: two neurons more, of one direction and opposite signs."""
    w = problem.data.X[0] / np.linalg.norm(problem.data.X[0]) * np.linalg.norm(problem.start.W)
    signs = np.append(np.asarray(problem.model.signs), [1.0, -1.0])
    model = SignedTwoLayer(signs.size, problem.model.dim, signs)
    return dataclasses.replace(
        problem, model=model, start=SignedTwoLayerParams(np.vstack([problem.start.W, w, w]))
    )


def _outputs(problem: Problem, W: Array) -> Array:
    return np.asarray(np.maximum(problem.data.X @ W.T, 0.0) ** 2 @ np.asarray(problem.model.signs))


def _project(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    names = (
        "largest difference of predictors from two starts with one Π₂(μ₀), relative",
        "the same of Π₂(μ_t): Σ‖w_j‖w_j over the parts of each neuron, relative",
        "largest spread of ‖w(t)‖/‖w(0)‖ among parts of a neuron, relative: neurons of one "
        "direction grow alike",
    )
    end = TIME_FOLLOWED / float(np.max(np.sum(problem.data.X**2, axis=1)))
    (parts, owner), pair = split(problem), hidden_pair(problem)
    whole, apart, other = (
        need(integrate_weights(p, end, FLOW_RTOL, None, time_s=evidence.time_left / 6))
        for p in (problem, parts, pair)
    )
    used = np.linalg.norm(parts.start.W, axis=1) > 0
    rows, reach = [], float(np.max(np.sum(problem.data.X**2, axis=1)))
    for t in end * np.linspace(0.0, 1.0, TIMES_SEEN + 1)[1:]:
        one, two, three = (run.at(float(t)).W for run in (whole, apart, other))
        f, g, h = (
            _outputs(p, W) for p, W in zip((problem, parts, pair), (one, two, three), strict=True)
        )
        size = max(float(np.max(np.abs(f))), float(np.finfo(float).tiny))
        lengths = np.linalg.norm(two, axis=1)
        lifted = np.array(
            [np.sum((lengths[:, None] * two)[owner == j], axis=0) for j in range(len(one))]
        )
        own = np.linalg.norm(one, axis=1)[:, None] * one
        mass = float(np.max(np.abs(own)))
        grown = np.log(lengths[used] / np.linalg.norm(parts.start.W[used], axis=1))
        spread = max(float(np.ptp(grown[owner[used] == j])) for j in np.unique(owner[used]))
        norm = float(np.sqrt(np.sum(one**2)) + np.sqrt(np.sum(two**2)))
        off, moved, other_off = (
            np.max(np.abs(f - g)) / size,
            np.max(np.abs(lifted - own)) / mass,
            np.max(np.abs(f - h)) / size,
        )
        rows.append((off, moved, spread, other_off, reach * norm / size, 2 * norm / mass))
    off, moved, spread, null, by_size, by_mass = (
        float(each) for each in np.max(np.array(rows), axis=0)
    )
    error = ERROR_FACTOR * (
        float(np.max(whole.error) + np.max(apart.error))
        + FLOW_RTOL * float(np.max(np.abs(problem.start.W)))
    )
    least = float(np.min(np.linalg.norm(apart.states.W, axis=2)[:, used]))
    return (
        Check(names[0], off, "==", 0.0, by_size * error, witness=ALONG, null=null),
        Check(names[1], moved, "==", 0.0, by_mass * error, witness=ALONG),
        Check(names[2], spread, "==", 0.0, error / least, witness=ALONG),
    )


projected = Claim(
    "C/appC2",
    "The flow is characterised by Π₂(μ₀): starts that differ in lengths, with one Π₂(μ₀), have one "
    "predictor and one Π₂(μ_t) at all times, so that μ₀ may be taken on a compact set; a start "
    "with the same predictor and another Π₂ can follow another flow.",
    "C, Appendix C.2 (removing the compact support assumption)",
    (SMOOTH, EXPONENTIAL_TAIL, SIGNS, SMALL_START),
    few_problem,
    _project,
    Kind.FLOW,
    ALONG,
    "the same predictor from another Π₂(μ₀)",
    any_smooth_problem,
)

CLAIMS = (projected,)
