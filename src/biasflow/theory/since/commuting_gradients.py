"""S: parametrisations whose gradient flow is a mirror flow, and the potential that follows (Li,
Wang, Lee and Arora 2022, arXiv:2207.04036)."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.integrate import solve_ivp

from ..._core.arguments import Array
from ..._core.problems import Dataset, MirrorProblem, Problem
from ..._core.results import Limit
from ..._core.trees import leaf_map
from ...diagnostics import FoundPotential, find_potential
from ...diagnostics.commuting import flatten
from ...errors import BiasflowError, ConvergenceError
from ...losses import SquareLoss
from ...models import (
    DiagonalNetwork,
    DiagonalParams,
    Model,
    PredictorModel,
    ProductNetwork,
    ProductParams,
)
from ..evidence import Evidence
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..unmeasured import Unmeasured
from ..verdicts import Check, Claim, Hypothesis, Kind, unknown_check
from ..witness import ERROR_FACTOR

SHORTER = 0.7
"""Of the ways that were found to have no pole: pieces of that share have none nearby."""
WITNESS_RTOL = 1e-11
"""Of the other integrator's steps; ten times as much says how good it is."""
DIFFERENCE_STEP = 3e-3
"""Relative step in μ of four-point differences of β; twice as much says how good they are."""


class MixedParams(NamedTuple):
    w: Array


class MixedSquares(PredictorModel):
    """β = A(w∘w): gradients commute, as those of squares do, and no coordinate of β is alone."""

    def __init__(self, mixing: Array) -> None:
        self.mixing = mixing

    def __repr__(self) -> str:
        return f"MixedSquares(d={len(self.mixing)})"

    def init(
        self, scale: Any = 1.0, *, log_scale: Any = None, key: int = 0, dim: int | None = None
    ) -> MixedParams:
        size = scale if log_scale is None else np.exp(log_scale)
        return MixedParams(np.full(self.mixing.shape[1], float(size)))

    def effective(self, params: MixedParams) -> Any:
        return (params.w**2) @ self.mixing.T

    def linearised(self, params: MixedParams, direction: MixedParams) -> Any:
        return (2 * params.w * direction.w) @ self.mixing.T

    def gradient(self, params: MixedParams, X: Any, output_gradient: Any) -> MixedParams:
        return MixedParams(2 * params.w * (self.mixing.T @ (X.T @ output_gradient)))


def found_at(problem: Problem) -> FoundPotential:
    """The potential of the model's own predictor from its start."""
    return find_potential(lambda params: problem.model.effective(params), problem.start)


_FOUND: WeakKeyDictionary[Evidence, FoundPotential] = WeakKeyDictionary()


def found_for(evidence: Evidence) -> FoundPotential:
    """That of the evidence's problem, looked for once."""
    if evidence not in _FOUND:
        _FOUND[evidence] = found_at(evidence.network)
    return _FOUND[evidence]


def predicted(found: FoundPotential, X: Array, y: Array) -> Limit[Array]:
    """Where the flow on Xβ = y should end."""
    return found.limit(X, y)


def dual_value(found: FoundPotential, mu: Array) -> Array:
    """∇φ*(μ)."""
    return found.at(mu).beta


def _commuting(evidence: Evidence) -> str | None:
    problem = evidence.problem
    if isinstance(problem, MirrorProblem) or not isinstance(problem, Problem):
        return "a mirror flow has no weights; give a Problem of a network"
    if not problem.in_floats:
        return "the start is below float range"
    try:
        beta = np.asarray(problem.model.effective(problem.start))
        if beta.shape != (problem.data.d,):
            return "predictions are not linear in a β that has the size of an input"
        found = found_for(evidence)
    except (Unmeasured, ConvergenceError):
        raise
    except BiasflowError as reason:
        return str(reason)
    return None if found else str(found)


def other_way(found: FoundPotential, legs: Array, rtol: float = WITNESS_RTOL) -> Array:
    """β after pulls in turn, by another integrator than the library's."""
    w = found.start
    for leg in legs:
        run = solve_ivp(
            lambda _, v, leg=leg: found.fields.pull(v, leg),
            (0.0, 1.0),
            w,
            method="LSODA",
            rtol=rtol,
            atol=rtol * float(np.max(np.abs(w))),
        )
        if not run.success:
            raise Unmeasured(f"pulls could not be followed: {run.message}")
        w = run.y[:, -1]
    return found.fields.value(w)


def _ways(found: FoundPotential, null: float) -> list[Check]:
    """β where pulls in two orders end, against ∇φ*(μ) and each other; ∂β/∂μ against ∂G∂Gᵀ."""
    rng = np.random.default_rng(73)
    legs = SHORTER * found.loop.legs
    mu = np.sum(legs, axis=0)
    straight = dual_value(found, mu)
    ends = [other_way(found, order) for order in (legs, legs[::-1])]
    coarse = other_way(found, legs, 10 * WITNESS_RTOL)
    size = float(np.max(np.abs(straight - found.beta0)))
    far = max(float(np.max(np.abs(end - straight))) for end in ends) / size
    ways = Check(
        "largest |G(w) − ∇φ*(μ)| after pulls in turn, relative to the change of β",
        far,
        "==",
        0.0,
        ERROR_FACTOR * float(np.max(np.abs(coarse - ends[0]) + found.at(mu).error)) / size,
        witness="LSODA along the gradients, the pulls in two orders",
        null=null,
    )
    way = np.max(np.abs(legs), axis=0) * rng.uniform(-1, 1, mu.size)
    h, point = DIFFERENCE_STEP, found.at(mu)
    at = {k: dual_value(found, mu + k * h * way) for k in (-4, -2, -1, 1, 2, 4)}
    slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    wide = (8 * (at[2] - at[-2]) - (at[4] - at[-4])) / (24 * h)
    expected = point.hessian @ way
    top = float(np.max(np.abs(expected)))
    curved = Check(
        "largest |∂∇φ*(μ)/∂μ − ∂G∂Gᵀ| along a direction, relative",
        float(np.max(np.abs(slope - expected))) / top,
        "==",
        0.0,
        float(np.max(np.abs(slope - wide) + 2 * point.error / h)) / top,
        witness="differences of ∇φ* at other μ",
    )
    return [ways, curved]


@cache
def factorised_gap() -> float:
    """The same for a matrix product, from a fixed start: no function of μ."""
    rng = np.random.default_rng(74)
    found = find_potential(lambda w: w[0] @ w[1].T, rng.standard_normal((2, 2, 2)), loops=1)
    legs = SHORTER * found.loop.legs
    ends = [other_way(found, order) for order in (legs, legs[::-1])]
    return float(np.max(np.abs(ends[0] - ends[1])) / np.max(np.abs(ends[0] - found.beta0)))


def _potential(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    found = found_for(evidence)
    checks = _ways(found, factorised_gap())
    X, y = problem.data.X, problem.data.y
    quantity = "distance of the flow's end from argmin D_φ(β, β₀), relative"
    flow = evidence.trajectory
    if not flow.result.success:
        return (*checks, unknown_check(quantity, f"the flow: {flow.result.value}"))
    try:
        limit = predicted(found, X, y)
    except BiasflowError as reason:
        return (*checks, unknown_check(quantity, str(reason)))
    state = leaf_map(lambda leaf: leaf[-1], flow.states)
    flat, _ = flatten(state)
    beta, J = np.asarray(problem.model.effective(state)), found.fields.jacobian(flat)
    size = float(np.max(np.abs(limit.value)))
    # what is left of the labels moves β along ∂G∂GᵀXᵀ, once more for what bends on the way
    pushed = X @ J
    rest = J @ (np.linalg.pinv(pushed) @ (y - X @ beta))
    error = np.sum(np.abs(J), axis=1) * float(flow.error[-1]) * ERROR_FACTOR
    error = error + 2 * np.abs(rest) + limit.stats["error"]
    least = found.beta0 + np.linalg.lstsq(X, y - X @ found.beta0, rcond=None)[0]
    end = Check(
        quantity,
        float(np.max(np.abs(beta - limit.value))) / size,
        "==",
        0.0,
        float(np.max(error)) / size,
        witness=evidence.source,
        null=float(np.max(np.abs(least - limit.value))) / size,
    )
    return (*checks, end)


COMMUTING = Hypothesis(
    "commuting",
    "β = G(w) is a function of μ from this start: its gradients commute on their orbit",
    _commuting,
    structural=True,
)


def mixed_problem(key: int) -> Problem:
    """A mix of squares, diagonal networks of depth three, two and four, and a product, in turn."""
    rng = np.random.default_rng((75, key))
    d, n = 4, 2
    X = rng.standard_normal((n, d))
    model: Model
    start: Any
    kinds = key % 5
    if kinds == 0:
        model = MixedSquares(np.eye(d) + 0.4 * rng.standard_normal((d, d)))
        start = MixedParams(rng.uniform(0.3, 1.2, d))
    elif kinds == 4:
        model, start = ProductNetwork(), ProductParams(*rng.uniform(0.3, 1.2, (2, d)))
    else:
        model = DiagonalNetwork((3, 2, 4)[kinds - 1])
        start = DiagonalParams(*rng.uniform(0.3, 1.2, (2, d)))
    # labels that some weights fit
    other = leaf_map(lambda leaf: leaf * np.exp(rng.uniform(-0.7, 0.7, leaf.shape)), start)
    return Problem(model, Dataset(X, X @ model.effective(other)), SquareLoss("half"), start)


parametrisation = Claim(
    "S/parametrisation",
    "Where the gradients of the coordinates of β = G(w) commute on the orbit of the start w₀, "
    "∇φ*(μ) = G(Ψ_μ(w₀)), Ψ_μ the flow of Σμ_i∇G_i for unit time, is the gradient of a convex "
    "function with the Hessian ∂G∂Gᵀ. Gradient flow on any loss L of β has β = ∇φ*(−∫∇L dt), in "
    "whatever order the losses pull, and on Xβ = y it ends at argmin D_φ(β, β₀).",
    "Li et al. 2022, arXiv:2207.04036: commuting parametrisations follow mirror flow",
    (COMMUTING, SQUARE, NONTRIVIAL, CONSISTENT),
    mixed_problem,
    _potential,
    Kind.FLOW,
    "raw gradients in the weights; another integrator along pulls in two orders",
    "the solution nearest to the start; for the order of pulls, a matrix product",
)

CLAIMS = (parametrisation,)
