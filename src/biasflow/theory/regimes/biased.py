"""W, §3: the bias term α^D·f(w₀, x) of the affine model, and why its scaling must be watched.

Written as w = αv the flow from α·w₀ is that of v with the labels y/α^D. So from a fixed w₀ with
f(w₀) ≠ 0 it tends, as α → ∞, to
the flow of v with labels zero: the weights have to undo their own predictions, move by as much at
every α, and the kernel changes for good. The kernel regime needs a bias that stays bounded, such as
α·u + α^{1−D}·p with u unbiased: α^D·f(w₀) → ∇f(u)p.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL, Array
from ..._core.problems import Dataset, Problem
from ..._core.results import Trajectory
from ..._core.trees import leaves
from ..._numerics.deadlines import RECORDED_S
from ...flows import limit
from ...limits import tangent_interpolator, tangent_kernel
from ...models import DiagonalParams
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .families import diagonal_family
from .kernel import FLOW_RTOL, departure, departure_columns, elsewhere, law_check, scaled, size
from .regulariser import log_slack

MOVEMENTS = tuple(float(m) for m in np.geomspace(1e-1, 9e-5, 5))
"""Relative movements ‖w − w₀‖/‖w₀‖ of the linearised network, which go like α^{−D}: three
decades."""
UNITS = tuple(float(u) for u in np.geomspace(30, 40_000, 4))
"""α^D, in units of the labels over the start's own predictions, from a start whose bias grows with
it: three decades."""
LEAST_BIAS = 0.01
"""Share of Σ(|w₊|^D + |w₋|^D) below which a start's β is too small a bias to be seen."""


def unbiased_part(problem: Problem) -> DiagonalParams:
    """w₊ = w₋ with the same w₊^D + w₋^D."""
    D, (plus, minus) = problem.model.depth, problem.start
    mean = ((plus**D + minus**D) / 2) ** (1 / D)
    return DiagonalParams(mean, mean.copy())


def bounded_start(problem: Problem, alpha: float) -> DiagonalParams:
    """α·u + α^{1−D}·p, where the problem's own start is u + p."""
    D, even = problem.model.depth, unbiased_part(problem)
    return DiagonalParams(
        *(alpha * u + alpha ** (1 - D) * (w - u) for u, w in zip(even, problem.start, strict=True))
    )


def _bounded(problem: Problem, time_s: float) -> tuple[Check, ...]:
    """Flows from larger and larger starts whose bias stays bounded, against the affine model with
    that bias."""
    D = problem.model.depth
    smallest = float(min(np.min(leaf) for leaf in problem.start))
    if smallest ** (2 * D - 2) < SMALLEST_NORMAL:
        raise Unmeasured(f"the kernel at this start, {smallest:g}^{2 * D - 2}, is no float")
    even = dataclasses.replace(problem, start=unbiased_part(problem))
    first = tangent_interpolator(
        problem.model, even.start, problem.data.X, problem.data.y
    ).objective
    tilted = size(DiagonalParams(*(w - u for w, u in zip(problem.start, even.start, strict=True))))
    unit = (first + tilted) / size(even.start)
    names = {
        "end": "distance of the limit from that of the affine model with its bias",
        "along": "largest distance from the affine model's flow",
        "kernel": "largest change of the kernel",
    }
    words = {name: f"bounded bias: exponent in α^D of the {what}" for name, what in names.items()}
    found = []
    for movement in MOVEMENTS:
        start = bounded_start(problem, (unit / movement) ** (1 / D))
        larger = dataclasses.replace(problem, start=start)
        run = need(witness_flow(larger, time_s=time_s / len(MOVEMENTS), rtol=FLOW_RTOL))
        found.append(departure(larger, run, elsewhere(problem.data.X)))
    return tuple(
        law_check(
            quantity,
            1 / np.array(MOVEMENTS),
            *departure_columns(found, name),
            True,
            "∇L followed in the weights",
        )
        for name, quantity in words.items()
    )


def own_unit(problem: Problem) -> float:
    """The largest label over the largest prediction of the start."""
    return float(
        np.max(np.abs(problem.data.y))
        / np.max(np.abs(problem.model(problem.start, problem.data.X)))
    )


def silent(problem: Problem) -> Problem:
    """The same start with labels zero."""
    return dataclasses.replace(problem, data=Dataset(problem.data.X, np.zeros_like(problem.data.y)))


def kernel_change(problem: Problem, final: DiagonalParams) -> float:
    """‖K_w − K_{w(0)}‖/‖K_{w(0)}‖, by the largest entries."""
    K, end = (tangent_kernel(problem.model, at, problem.data.X) for at in (problem.start, final))
    return float(np.max(np.abs(end - K)) / np.max(np.abs(K)))


def weights_at(problem: Problem, beta: Array) -> DiagonalParams:
    """The weights at which a flow from the problem's start has this β: w₊w₋ is kept for D = 2,
    w₊^{2−D} + w₋^{2−D} beyond."""
    D, (plus, minus) = problem.model.depth, problem.start
    if D == 2:
        total = np.hypot(beta, 2 * plus * minus)  # w₊² + w₋²
        large = np.sqrt((total + np.abs(beta)) / 2)
        small = plus * minus / large
        return DiagonalParams(np.where(beta >= 0, large, small), np.where(beta >= 0, small, large))
    half = (plus ** (2.0 - D) + minus ** (2.0 - D)) / 2
    # 1 − |z|, β = half^{−D/(D−2)}·h_D(z)
    slack = np.exp(log_slack(beta * half ** (D / (D - 2)), D))
    large, small = (half * slack) ** (-1 / (D - 2)), (half * (2 - slack)) ** (-1 / (D - 2))
    return DiagonalParams(np.where(beta >= 0, large, small), np.where(beta >= 0, small, large))


def _fixed(problem: Problem, time_s: float) -> tuple[Check, ...]:
    """Flows from α·w₀ with α^D·f(w₀) as it grows, against the flow with labels zero."""
    words = (
        "growing bias: exponent in α^D of the distance of w(∞)/α from the end with labels zero",
        "growing bias: the kernel's change with labels zero, what is left as α → ∞, over that at "
        "the D_φ-nearest β with Xβ = 0",
    )
    still = silent(problem)
    if still.first_loss < SMALLEST_NORMAL:
        raise Unmeasured("with labels zero the loss at this start is no float")
    target = need(witness_flow(still, time_s=time_s / 4, rtol=FLOW_RTOL))
    D, unit, largest = (
        problem.model.depth,
        own_unit(problem),
        max(float(np.max(np.abs(leaf))) for leaf in target.final),
    )
    away, errors = [], []
    for factor in UNITS:
        alpha = (factor * unit) ** (1 / D)
        run = need(
            witness_flow(
                dataclasses.replace(problem, start=scaled(problem.start, alpha)),
                time_s=time_s / len(UNITS),
                rtol=FLOW_RTOL,
            )
        )
        away.append(
            max(
                float(np.max(np.abs(a / alpha - b)))
                for a, b in zip(leaves(run.final), leaves(target.final), strict=True)
            )
        )
        errors.append(_weight_error(run) / alpha + _weight_error(target))
    notes: dict[str, Any] = {"witness": "∇L followed in the weights", "null": 0.0}
    return (
        exponent_check(
            words[0], UNITS, np.array(away), -1.0, np.array(errors) / np.array(away), **notes
        ),
        _for_good(still, target, words[1], 4 * D * _weight_error(target) / largest),
    )


def _for_good(still: Problem, target: Trajectory, quantity: str, error: float) -> Check:
    """The kernel where the flow with labels zero ends, by the model's derivatives, against that at
    the projection of β₀."""
    found = limit(still.model, still.data, still.loss, start=still.start, time_s=RECORDED_S)
    expected = kernel_change(still, weights_at(still, np.asarray(found.value)))
    if not expected > error:
        return unknown_check(
            quantity, f"the kernel changes by {expected:.1g}, which the flow does not resolve"
        )
    change = kernel_change(still, target.final)
    return Check(
        quantity,
        change / expected,
        "==",
        1.0,
        error / expected,
        witness="∇L followed in the weights",
        null=0.0,
    )


def _weight_error(flow: Trajectory) -> float:
    """Of the weights where a flow ends: its own, and what its last Newton step makes of them."""
    problem, final = flow.problem, flow.final
    assert isinstance(problem, Problem)
    D = problem.model.depth
    gain = D * np.sqrt(final.plus ** (2 * D - 2) + final.minus ** (2 * D - 2))
    left = problem.data.y - problem.data.X @ problem.model.effective(final)
    step = np.abs(np.linalg.lstsq(problem.data.X * gain, left, rcond=None)[0])
    return float(flow.error[-1]) + 2 * float(np.max(step))


def _bias(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    return (
        *part("bounded bias", lambda: _bounded(problem, evidence.time_left / 2)),
        *part("growing bias", lambda: _fixed(problem, evidence.time_left)),
    )


def _biased(problem: Any) -> str | None:
    D, (plus, minus) = problem.model.depth, problem.start
    if np.any(plus <= 0) or np.any(minus <= 0):
        return "needs positive weights at the start"
    seen = float(np.max(np.abs(problem.model(problem.start, problem.data.X))))
    size = float(np.max(np.abs(problem.data.X) @ (plus**D + minus**D)))
    return (
        None
        if seen > LEAST_BIAS * size
        else "the start is unbiased, or nearly: W/sec3 speaks about it"
    )


def tilted(problem: Problem, key: int, by: float = 0.4) -> Problem:
    """The same from weights of random size, so that β₀ ≠ 0."""
    rng = np.random.default_rng((89, key))
    plus, minus = (leaf * np.exp(rng.uniform(-by, by, problem.data.d)) for leaf in problem.start)
    return dataclasses.replace(problem, start=DiagonalParams(plus, minus))


BIASED = Hypothesis(
    "biased", "the start is biased: f(w₀) ≠ 0, and its weights are positive", on_problem(_biased)
)

bias = Claim(
    "W/sec3-bias",
    "The kernel regime from a biased start is the affine model f(w(0), x) + ⟨w − w(0), ∇f(w(0), "
    "x)⟩: from α·u + α^{1−D}·p, u unbiased, whose bias stays bounded, flow, limit and kernel tend "
    "to it like α^{−2D}. From α·w₀ with f(w₀) ≠ 0 the bias grows, and it is never reached: w/α "
    "tends to the flow of labels zero, at the rate α^{−D}, whose kernel changes as β₀'s projection "
    "says.",
    'W, Section 3 ("a bias term … and in particular its scaling"; the rates are ours)',
    (DIAGONAL, SQUARE, CONSISTENT, NONTRIVIAL, BIASED),
    lambda key: tilted(diagonal_problem(key, depth=2 + key % 3, n=4, d=8), key),
    _bias,
    kind=Kind.ASYMPTOTIC,
    witness="∇L followed in the weights",
    null="a distance that does not fall; a kernel that does not change",
    family=lambda key: tilted(diagonal_family(key, 2 + key % 3), key, 0.7),
)

CLAIMS = (bias,)
