"""W, appendix A: how a regulariser is found. Where β(t) = f(Xᵀν(t)), invert f and integrate its
inverse.

Weights that meet only in β_i = β_i(w_i) follow ẇ_i = −2c·∂β_i/∂w_i·(Xᵀr)_i: in the time s_i =
(Xᵀν)_i, ν = −∫r, this is dw_i/ds = 2c·∂β_i/∂w_i, which knows no data. So f_i is what the model's
own gradient makes of one coordinate that is pushed by one unit of force, and Q_i = ∫s dβ_i along
it. No closed form is used.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..._core.trees import leaves, regrouped
from ...errors import BiasflowError
from ...models import DiagonalNetwork, DiagonalParams, ProductNetwork, mirror
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE
from ..mirror.limits_of_flows import of_this_flow
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import ERROR_FACTOR
from .ends import ROUNDING, residual_integrals
from .equivalences import product_family, product_problem
from .families import diagonal_family
from .lemmas import POTENTIAL_ERROR

FINE, ROUGH = 1e-12, 1e-10
"""Tolerances at which f is integrated; the difference of the two bounds the error of the first."""
TIMES_SEEN = 8
"""Times at which β(t) is compared with f(Xᵀν(t))."""
PUSHED = "one coordinate pushed by the model's gradient"


@dataclasses.dataclass(frozen=True)
class Pushed:
    """Coordinates that were pushed: their weights and β, s and Q = ∫s dβ, f' = dβ/ds; with errors
    of β, s and Q.

    β is the start's and what was added up on the way: w₊^D − w₋^D cancels where the weights hardly
    move.
    """

    weights: Any
    beta: Array
    dual: Array
    value: Array
    slope: Array
    beta_error: Array
    dual_error: Array
    value_error: Array


def push_rate(problem: Problem) -> float:
    """2c for the loss c‖·‖²: dw/ds over ∂β/∂w."""
    return 2 * problem.loss.factor(problem.data.n)


def sensitivities(problem: Problem, weights: Any) -> list[Array]:
    """∂β_i/∂w_i, one array for each kind of weight, by the model's own gradient at the unit
    inputs."""
    d = problem.data.d
    return [
        np.asarray(leaf) for leaf in leaves(problem.model.gradient(weights, np.eye(d), np.ones(d)))
    ]


def _integrated(
    problem: Problem, parts: list[Array], moved: Array, steered: str, rtol: float
) -> list[Array]:
    """Weights, s, ∫s dβ and the change of β after s ('dual') or β ('beta') has moved by this much
    from these weights, at s = 0."""
    from scipy.integrate import solve_ivp

    rate, shape, count = push_rate(problem), moved.shape, len(parts)
    start = np.concatenate(
        [np.broadcast_to(part, shape).ravel() for part in parts] + [np.zeros(3 * moved.size)]
    )

    def field(tau: float, state: Array) -> Array:
        rows = [row.reshape(shape) for row in np.split(state, count + 3)]
        slopes = sensitivities(problem, regrouped(problem.start, rows[:count]))
        total = sum(slope * slope for slope in slopes)
        if steered == "dual":
            speed = rate * moved
            gone = tau * moved
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                speed = np.where(moved == 0, 0.0, moved / total)
            gone = rows[count]
        pace = speed * total  # dβ/dτ
        return np.concatenate(
            [(speed * slope).ravel() for slope in slopes]
            + [(speed / rate).ravel(), (gone * pace).ravel(), pace.ravel()]
        )

    sizes = np.broadcast_to(np.max(np.abs(parts), axis=0), shape)
    slopes = sum(part * part for part in sensitivities(problem, regrouped(problem.start, parts)))
    duals = np.max(np.abs(moved if steered == "dual" else moved / np.max(slopes) / rate))
    # of β, at first
    reach = np.max(np.abs(moved)) * (np.max(slopes) * rate if steered == "dual" else 1.0)
    floor = rtol * np.concatenate(
        [
            *[1e-2 * sizes.ravel()] * count,
            np.full(moved.size, duals),
            np.full(moved.size, duals * reach),
            np.full(moved.size, reach),
        ]
    )
    with np.errstate(all="ignore"):  # beyond the range of f, which ends in finite s for D ≥ 3
        found = solve_ivp(field, (0.0, 1.0), start, "DOP853", rtol=rtol, atol=floor)
    if not found.success:
        raise FloatingPointError("f could not be followed so far")
    return [row.reshape(shape) for row in np.split(found.y[:, -1], count + 3)]


def pushed(problem: Problem, weights: Any, moved: Array, steered: str = "dual") -> Pushed:
    """Coordinates pushed by `moved` from these weights, in s or until β has moved so far."""
    parts = [np.asarray(leaf, dtype=float) for leaf in leaves(weights)]
    fine, rough = (_integrated(problem, parts, moved, steered, rtol) for rtol in (FINE, ROUGH))
    end = regrouped(problem.start, fine[:-3])
    beta_error, value_error, dual_error = (np.abs(fine[k] - rough[k]) for k in (-1, -2, -3))
    return Pushed(
        end,
        np.asarray(problem.model.effective(weights) + fine[-1]),
        fine[-3],
        fine[-2],
        np.asarray(push_rate(problem) * sum(part * part for part in sensitivities(problem, end))),
        beta_error,
        dual_error,
        value_error,
    )


def _recipe(evidence: Evidence) -> tuple[Check, ...]:
    problem, flow = evidence.network, evidence.trajectory
    names = (
        "largest |β(t) − f(Xᵀν(t))| over the largest β, ν = −∫r",
        "largest |∇φ(f(s)) − ∇φ(β₀) − s| over the largest s: ∇Q is the inverse of f",
        "Q = ∫f⁻¹ over the library's D_φ(·, β₀), at the end of the flow",
        "distance of β(T) from the limit, over the largest β",
        "largest component of ∇Q = f⁻¹ off Im Xᵀ at the limit, over the largest s: Q is least "
        "there among interpolators",
    )
    times, integrals, errors = residual_integrals(problem, flow)
    chosen = np.unique(np.linspace(1, len(times) - 1, TIMES_SEEN).astype(int))
    dual = -integrals[chosen] @ problem.data.X
    tilt = errors[chosen] * np.max(np.sum(np.abs(problem.data.X), axis=0))
    try:
        found = pushed(problem, problem.start, dual)
    except FloatingPointError as reason:
        return tuple(unknown_check(name, str(reason)) for name in names)
    beta = np.array([problem.model.effective(flow.at(float(t))) for t in times[chosen]])
    formed = np.array(
        [
            max(float(np.max(np.abs(leaf))) for leaf in leaves(flow.at(float(t))))
            for t in times[chosen]
        ]
    )
    size = float(np.max(np.abs(beta)))
    made = (
        ERROR_FACTOR * np.interp(times[chosen], flow.times, flow.predictor_error)
        + ROUNDING * formed**problem.model.homogeneity
    )
    allowed = made[:, None] + found.slope * tilt[:, None] + found.beta_error
    off = np.abs(beta - found.beta)
    k = np.unravel_index(int(np.argmax(off - allowed)), off.shape)
    along = Check(
        names[0],
        float(off[k]) / size,
        "==",
        0.0,
        float(allowed[k]) / size,
        witness=evidence.source and f"{evidence.source}; {PUSHED}",
        reason=evidence.missing,
        null=float(
            np.max(np.abs(beta - problem.model.effective(problem.start) - _linear(problem, dual)))
        )
        / size,
    )
    return (
        along,
        *_inverse(evidence, found, names[1:3]),
        _arrival(evidence, names[3]),
        *_least(evidence, names[4]),
    )


def _linear(problem: Problem, dual: Array) -> Array:
    """f of the linearised model: a multiple of s for every coordinate."""
    return np.asarray(
        push_rate(problem)
        * dual
        * sum(part * part for part in sensitivities(problem, problem.start))
    )


def _inverse(evidence: Evidence, found: Pushed, names: tuple[str, ...]) -> tuple[Check, Check]:
    """The library's ∇φ and D_φ against f⁻¹ and its integral."""
    potential, origin = evidence.mirror.potential, evidence.origin
    largest = float(np.max(np.abs(found.dual)))
    rows = [potential.at(row) for row in found.beta]
    off = np.abs(np.array([row.eta - origin.eta for row in rows]) - found.dual)
    lost = found.beta_error + ROUNDING * np.abs(found.beta) + ROUNDING * np.abs(origin.beta)
    allowed = lost / found.slope + POTENTIAL_ERROR * (largest + np.abs(origin.eta))
    # a coordinate at rounding says nothing about its s
    known = allowed <= POTENTIAL_ERROR**0.5 * largest
    k = np.unravel_index(int(np.argmax(np.where(known, off - allowed, -np.inf))), off.shape)
    value, stated = float(np.sum(found.value[-1])), float(np.sum(rows[-1].divergence(origin)))
    error = (
        float(np.sum(found.value_error[-1] + np.abs(found.dual[-1]) * lost[-1])) / value
        + POTENTIAL_ERROR
    )
    return (
        Check(
            names[0],
            float(off[k]) / largest,
            "==",
            0.0,
            float(allowed[k]) / largest,
            witness=PUSHED,
        ),
        Check(names[1], value / stated, "==", 1.0, error, witness=PUSHED),
    )


def _arrival(evidence: Evidence, name: str) -> Check:
    """That the limit is where the flow goes."""
    size, off = (
        float(np.max(np.abs(evidence.limit.value))),
        float(np.max(np.abs(evidence.predictors[-1] - evidence.limit.value))),
    )
    if not evidence.arrived:
        return unknown_check(
            name,
            "the flow is still under way, its end known up to "
            f"{evidence.distance_error / size:.1g}",
        )
    return Check(
        name,
        off / size,
        "==",
        0.0,
        evidence.distance_error / size,
        witness=evidence.source,
        reason=evidence.missing,
    )


def _least(evidence: Evidence, name: str) -> tuple[Check, ...]:
    """∇Q = f⁻¹ at the limit, where coordinates are pushed until they are there: Q is convex, and so
    is least where ∇Q ∈ Im Xᵀ."""
    problem, beta = evidence.network, np.asarray(evidence.limit.value, dtype=float)
    X, start = problem.data.X, problem.model.effective(problem.start)
    singular, right = np.linalg.svd(X)[1:]
    null = right[int(np.sum(singular > max(X.shape) * np.finfo(float).eps * singular[0])) :]
    if len(null) == 0:
        return ()  # one interpolator: nothing to choose
    try:
        found = pushed(problem, problem.start, beta - start, "beta")
    except FloatingPointError as reason:
        return (unknown_check(name, str(reason)),)
    largest = float(np.max(np.abs(found.dual)))
    lost = found.beta_error + np.abs(found.beta - beta) + ROUNDING * (np.abs(beta) + np.abs(start))
    allowed = np.abs(null) @ (lost / found.slope + found.dual_error + POTENTIAL_ERROR * largest)
    off, linear = (
        np.abs(null @ found.dual),
        (beta - start) / _linear(problem, np.ones(problem.data.d)),
    )
    k = int(np.argmax(off - allowed))
    kernel = float(np.max(np.abs(null @ linear))) / float(np.max(np.abs(linear)))
    return (
        Check(
            name,
            float(off[k]) / largest,
            "==",
            0.0,
            float(allowed[k]) / largest,
            witness=PUSHED,
            null=kernel,
        ),
    )


def _separable(problem: Any) -> str | None:
    if isinstance(problem, Problem) and isinstance(problem.model, DiagonalNetwork | ProductNetwork):
        return None
    found = type(problem.model).__name__ if isinstance(problem, Problem) else type(problem).__name__
    return f"found {found}, needs a diagonal network: weights that meet only in β_i"


def _reducible(problem: Any) -> str | None:
    try:
        form = mirror(problem)
        origin = form.potential.at(form.beta0) if form.beta0 is not None else None
    except BiasflowError as error:
        return str(error)
    still = origin is not None and not np.all(np.isfinite(origin.eta))
    return "a coordinate cannot leave its start" if still else None


def uneven(problem: Problem, key: int) -> Problem:
    """The same from a start that is neither uniform nor unbiased (W, footnote 2)."""
    rng = np.random.default_rng((83, key))
    plus, minus = (leaf * rng.uniform(0.5, 1.5, problem.data.d) for leaf in problem.start)
    return Problem(problem.model, problem.data, problem.loss, DiagonalParams(plus, minus))


def _example(key: int) -> Problem:
    """D = 2, 3, 4 from α·1; every fourth from a start of other weights, every eighth u∘v."""
    if key % 8 == 7:
        return product_problem(key)
    problem = diagonal_problem(key, depth=2 + key % 3, scale=[0.1, 0.3, 0.5][key % 3])
    return uneven(problem, key) if key % 4 == 2 else problem


def _family(key: int) -> Problem:
    if key % 5 == 4:
        return product_family(key)
    problem = diagonal_family(key, 2 + key % 4)
    return uneven(problem, key) if key % 2 else problem


SEPARABLE = Hypothesis(
    "separable",
    "a diagonal network: weights that meet only in β_i",
    on_problem(_separable),
    structural=True,
)
REDUCIBLE = Hypothesis("reducible", "the library knows its potential", on_problem(_reducible))

recipe = Claim(
    "W/appA",
    "Where the flow is β(t) = f(Xᵀν(t)), the regulariser it minimises among interpolators is Q = "
    "∫f⁻¹: f from pushing one coordinate by the model's gradient, for any depth and start, and for "
    "u∘v; no closed form is assumed.",
    "W, appendix A, (9)–(12)",
    (SEPARABLE, SQUARE, CONSISTENT, NONTRIVIAL, REDUCIBLE),
    _example,
    _recipe,
    kind=Kind.FLOW,
    witness=f"∇L followed in the weights; {PUSHED}",
    null="the linearised model's f and its Q",
    family=_family,
    limit=of_this_flow,
)

CLAIMS = (recipe,)
