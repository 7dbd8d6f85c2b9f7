"""W's footnotes: scaling the start is scaling the output, and u∘v is the depth-2 model at half its
speed.

w = αv turns ẇ = −∇L(F(w)) into v̇ = −α^{D−2}∇F(v)ᵀL'(α^D·F(v)): the flow of the model α^D·F from
w₀, at the speed α^{−2}. And u̇ = −v∘g, v̇ = −u∘g with g = ∂L/∂β say that w± = (u ± v)/2 follow ẇ± =
∓w±∘g, where the depth-2 model has ∓2w±∘g.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._core.arguments import Array, label_size
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ..._core.trees import leaf_map, leaves
from ...limits import bregman_projection
from ...losses import SquareLoss
from ...models import (
    DiagonalNetwork,
    Model,
    ProductNetwork,
    ProductParams,
    TwoLayer,
    nonsmooth,
)
from ...potentials import Hypentropy
from ..evidence import FAR_FROM_LIMIT_ERROR, Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..mirror.limits_of_flows import of_this_flow
from ..unmeasured import need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .ends import EPS, ROUNDING, remaining
from .families import diagonal_family
from .kernel import HOMOGENEOUS, LABELLED, paired_neurons
from .matrix_completion import completion_problem

SCALES = (0.3, 3.0)
"""α by which the start is divided, and whose power multiplies the output."""
TIMES_SEEN = 60
"""Times at which two flows are compared."""
ERROR_FACTOR = 10.0
"""Times the errors of two flows by which they may differ: estimates are of the order of the error,
no bounds."""


@dataclass(frozen=True)
class Louder(Model):
    """A model whose output is multiplied by a number."""

    model: Any
    factor: float

    @property
    def homogeneity(self) -> int:
        return int(self.model.homogeneity)

    def __call__(self, params: Any, X: Any) -> Any:
        return self.factor * self.model(params, X)

    def effective(self, params: Any) -> Any:
        return self.factor * self.model.effective(params)

    def checked(self, params: Any, d: int) -> Any:
        return self.model.checked(params, d)

    def gradient(self, params: Any, X: Any, output_gradient: Any) -> Any:
        return self.model.gradient(params, X, self.factor * output_gradient)

    def jacobian(self, params: Any, X: Any) -> Any:
        return leaf_map(lambda leaf: self.factor * leaf, self.model.jacobian(params, X))

    @property
    def kinks(self) -> str | None:
        kinks: str | None = self.model.kinks
        return kinks

    def init(self, *args: Any, **options: Any) -> Any:
        return self.model.init(*args, **options)


def louder_problem(problem: Problem, alpha: float) -> tuple[Problem, float]:
    """(the model α^D·F from w₀ = w/α, the speed at which it runs).

    For networks with gates, whose flow is followed from gate to gate, F itself with the labels
    y/α^D: c‖α^D·f − y‖² is α^{2D} times its loss, for any model, and so is the speed.
    """
    start = leaf_map(lambda leaf: leaf / alpha, problem.start)
    factor = alpha**problem.model.homogeneity
    if isinstance(problem.model, TwoLayer):
        data = dataclasses.replace(problem.data, y=problem.data.y / factor)
        return Problem(problem.model, data, problem.loss, start), factor**2 * alpha**-2.0
    return Problem(Louder(problem.model, factor), problem.data, problem.loss, start), alpha**-2.0


def flows_apart(
    flow: Trajectory,
    other: Trajectory,
    speed: float,
    turned: Callable[[Any], Any] | None = None,
    factor: float = 1.0,
) -> tuple[float, float]:
    """(largest distance of the predictors of `flow` at t from those of `other` at speed·t, its
    error), over the largest.

    turned: weights of `flow` from those of `other`, which are then compared too. factor: on the
    predictors of `other`.
    """
    one, two = (run.problem.model for run in (flow, other) if isinstance(run.problem, Problem))
    last = min(float(flow.times[-1]), float(other.times[-1]) / speed)
    chosen = np.unique(np.minimum(flow.times[:: max(len(flow.times) // TIMES_SEEN, 1)], last))
    size = max(float(np.max(np.abs(one.effective(flow.at(t))))) for t in chosen)
    apart, errors = (
        0.0,
        (float(np.max(flow.predictor_error)) + factor * float(np.max(other.predictor_error)))
        / size,
    )
    for t in chosen:
        here, there = flow.at(t), other.at(min(speed * t, float(other.times[-1])))
        apart = max(
            apart, float(np.max(np.abs(one.effective(here) - factor * two.effective(there)))) / size
        )
        if turned is not None:
            pairs = list(zip(leaves(here), leaves(turned(there)), strict=True))
            largest = max(float(np.max(np.abs(a))) for a, _ in pairs)
            apart = max(apart, *(float(np.max(np.abs(a - b))) / largest for a, b in pairs))
            errors = max(errors, float(np.max(flow.error) + np.max(other.error)) / largest)
    # β may be a difference of these
    formed = max(float(np.max(np.abs(leaf))) for leaf in leaves(flow.states)) ** one.homogeneity
    return apart, ERROR_FACTOR * (errors + ROUNDING * (formed + size) / size)


def _fn1(evidence: Evidence) -> tuple[Check, ...]:
    checks: list[Check] = []
    for alpha in SCALES:
        quantity = (
            "largest difference of the flow from α·w₀ and that of α^D·f from w₀ at t/α², "
            f"α = {alpha:g}, relative"
        )
        checks += part(quantity, partial(_louder, evidence, alpha, quantity))
    return tuple(checks)


def _louder(evidence: Evidence, alpha: float, quantity: str) -> Check:
    problem, flow = evidence.network, evidence.trajectory
    louder, speed = louder_problem(problem, alpha)
    longest = speed * max(1.0, alpha**2) * float(flow.times[-1])
    other = need(witness_flow(louder, t1=longest, time_s=evidence.time_left / 2))
    factor = 1.0 if isinstance(louder.model, Louder) else alpha**problem.model.homogeneity
    apart, error = flows_apart(
        flow, other, speed, lambda params: leaf_map(lambda leaf: alpha * leaf, params), factor
    )
    null = flows_apart(flow, other, speed * alpha**2, factor=factor)[0]
    return Check(
        quantity,
        apart,
        "==",
        0.0,
        error,
        witness=evidence.source,
        reason=evidence.missing,
        null=null,
    )


def pair_problem(problem: Problem) -> tuple[Problem, float]:
    """(the depth-2 model from w± = (u ± v)/2, the speed at which it runs)."""
    start = problem.model.paired(problem.start)
    return Problem(DiagonalNetwork(2), problem.data, problem.loss, start), 0.5


def _same(evidence: Evidence, problem: Problem, flow: Trajectory, words: str) -> Check:
    pair, speed = pair_problem(problem)
    other = need(witness_flow(pair, t1=float(flow.times[-1]), time_s=evidence.time_left / 2))
    (apart, error), null = flows_apart(flow, other, speed), flows_apart(flow, other, 1.0)[0]
    return Check(
        words, apart, "==", 0.0, error, witness="∇L followed in both models' weights", null=null
    )


def radius_projection(problem: Problem, r: Array) -> Array:
    """argmin of the divergence of Φ_r from β₀ = u₀∘v₀ among the interpolators."""
    start = problem.model.effective(problem.start)
    return np.asarray(
        bregman_projection(Hypentropy(r), problem.data.X, problem.data.y, start).value
    )


def _ends(evidence: Evidence) -> Check:
    """The end of the flow against the limit, and against the projection at twice r, which is
    another one."""
    problem, flow = evidence.network, evidence.trajectory
    quantity = "‖β(T) − β*‖_∞/‖β(T)‖_∞, β* the projection for Φ_r from u₀∘v₀, r = |u₀² − v₀²|/2"
    u, v = problem.start
    beta = problem.model.effective(flow.final)
    size = float(np.max(np.abs(beta)))
    pair = dataclasses.replace(pair_problem(problem)[0], start=problem.model.paired(flow.final))
    reach = float(np.linalg.norm(np.linalg.pinv(problem.data.X), np.inf))
    off = evidence.limit.certificate.residual * label_size(problem.data.y) * reach
    formed = float(np.max(np.abs(flow.final.u) * np.abs(flow.final.v)) + np.max(u**2 + v**2))
    r = np.abs(u**2 - v**2) / 2
    logs = 1 + float(np.max(np.abs(np.log(r))))
    # weights that grew have rounded u² − v², which the flow keeps, and with it r
    rounded = EPS * np.max(flow.states.u**2 + flow.states.v**2, axis=0)
    other, own = (radius_projection(problem, radii) for radii in (r + rounded, r))
    moved = float(np.max(np.abs(other - own)))
    error = (
        float(flow.predictor_error[-1])
        + 2 * remaining(pair, pair.start)
        + off
        + 2 * moved
        + ROUNDING * (logs * size + formed)
    ) / size
    if not error <= FAR_FROM_LIMIT_ERROR:
        return unknown_check(quantity, f"the end of the flow is known to {error:.1g} only")
    away, null = (
        float(np.max(np.abs(beta - value))) / size
        for value in (evidence.limit.value, radius_projection(problem, 2 * r))
    )
    return Check(
        quantity,
        away,
        "==",
        0.0,
        error,
        witness=evidence.source,
        reason=evidence.missing,
        null=null,
    )


def _fn2(evidence: Evidence) -> tuple[Check, ...]:
    problem, flow = evidence.network, evidence.trajectory
    u, v = problem.start
    larger = np.maximum(np.abs(u), np.abs(v))
    signs = np.where(v < 0, -1.0, 1.0)
    balanced = dataclasses.replace(problem, start=ProductParams(larger, signs * larger))
    words = "largest relative difference of u∘v at t and w₊² − w₋² at t/2, w± = (u ± v)/2"
    even = "the same from |u| = |v|, where one weight w per coordinate is left: ±w²"

    def balanced_flow() -> Trajectory:
        t1 = float(flow.times[-1])
        return need(witness_flow(balanced, t1=t1, time_s=evidence.time_left / 2))

    return (
        *part(words, lambda: _same(evidence, problem, flow, words)),
        *part(even, lambda: _same(evidence, balanced, balanced_flow(), even)),
        _ends(evidence),
    )


def _smooth(problem: Any) -> str | None:
    if isinstance(problem.model, TwoLayer):
        return None
    return nonsmooth(problem.model, problem.start)


def _product(problem: Any) -> str | None:
    if isinstance(problem, Problem) and isinstance(problem.model, ProductNetwork):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs a ProductNetwork"


def _inside(problem: Any) -> str | None:
    u, v = np.abs(problem.start[0]), np.abs(problem.start[1])
    near = np.abs(u - v) <= 1e-8 * np.maximum(u, v)  # u² − v² has lost half of its digits
    return (
        f"|u| = |v| at coordinate {int(np.flatnonzero(near)[0])}, which stays on its half-line"
        if np.any(near)
        else None
    )


def _scaling_example(key: int) -> Problem:
    """Diagonal networks of depth 2 to 4, matrix factorisations, and ReLU networks whose neurons
    come in opposite pairs."""
    if key % 8 == 7:
        return paired_neurons(key)
    return (
        completion_problem(key)
        if key % 4 == 3
        else diagonal_problem(key, depth=2 + key % 3, scale=0.4)
    )


def _scaling_family(key: int) -> Problem:
    """Diagonal networks of depth 2 to 5; every sixth a ReLU network with neurons of any size."""
    if key % 6 != 5:
        return diagonal_family(key, 2 + key % 4)
    rng = np.random.default_rng((101, key))
    n, d, m = int(rng.integers(1, 5)), int(rng.integers(2, 6)), int(rng.integers(1, 12))
    model, unit = TwoLayer(m, d), 10 ** rng.uniform(-1, 1)
    data = Dataset(rng.standard_normal((n, d)), unit**2 * rng.standard_normal(n))
    return Problem(
        model,
        data,
        SquareLoss(("sum", "half", "half-mean")[key % 3]),
        model.init(unit * rng.uniform(0.2, 1), key=key),
    )


def product_problem(key: int, n: int = 6, d: int = 16) -> Problem:
    """u∘v on sparse regression: the unbiased start for even keys, a random one for odd."""
    data = diagonal_problem(key, n=n, d=d).data
    model, rng = ProductNetwork(), np.random.default_rng((67, key))
    start = (
        ProductParams(rng.uniform(0.5, 1, d), rng.uniform(-0.4, 0.4, d))
        if key % 2
        else model.init(0.3, dim=d)
    )
    return Problem(model, data, SquareLoss(("sum", "half", "half-mean")[key % 3]), start)


def product_family(key: int) -> Problem:
    """The data of the diagonal networks' family; weights of all signs over two decades, unbiased
    for every third key."""
    base, rng = diagonal_family(key, 2), np.random.default_rng((71, key))
    d, unit = base.data.d, float(np.sqrt(np.max(np.abs(base.data.y))))
    sizes = unit * 10 ** rng.uniform(-1.5, 0.5, (2, d)) * rng.choice([-1.0, 1.0], (2, d))
    start = ProductParams(sizes[0], sizes[1] * (key % 3 > 0))
    return Problem(ProductNetwork(), Dataset(base.data.X, base.data.y), base.loss, start)


SMOOTH = Hypothesis(
    "smooth",
    "the model is smooth along the flow, or a two-layer network, followed from gate to gate",
    on_problem(_smooth),
)
PRODUCT = Hypothesis("product", "a diagonal network u∘v", on_problem(_product), structural=True)
INSIDE = Hypothesis(
    "inside", "|u_i| ≠ |v_i| at the start, so that every β can be reached", on_problem(_inside)
)

fn1 = Claim(
    "W/fn1",
    "For D-homogeneous models, scaling the start is equivalent to scaling the output: from α·w₀ "
    "the flow of f is, at t, α times that of α^D·f from w₀ at t/α².",
    "W, footnote 1 (the clock is ours)",
    (HOMOGENEOUS, SQUARE, SMOOTH, LABELLED),
    _scaling_example,
    _fn1,
    kind=Kind.FLOW,
    witness="∇L followed in the weights, for both",
    null="the same without the change of clock",
    family=_scaling_family,
)
fn2 = Claim(
    "W/fn2",
    "f = ⟨u∘v, x⟩ follows the depth-2 model from w± = (u ± v)/2 at half its speed; from |u| = |v| "
    "both stay equal and no sign flips, so that ±w² is left; otherwise its limit is the projection "
    "of u₀∘v₀ for Φ_r, r = |u₀² − v₀²|/2.",
    "W, Section 4 and footnote 2",
    (PRODUCT, SQUARE, CONSISTENT, NONTRIVIAL, INSIDE),
    product_problem,
    _fn2,
    kind=Kind.FLOW,
    witness="∇L followed in the weights of both models",
    null="the same at the same speed; the projection for 2r",
    family=product_family,
    limit=of_this_flow,
)

CLAIMS = (fn1, fn2)
