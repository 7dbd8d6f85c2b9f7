"""R, §3.1 and §4: what merging says of W's pair of weights, and of networks that grow wide.

Weights of size s = α/√m have r_j = ½(a_j² − b_j²) ∝ s² for each of m neurons. Over the N = m/p
neurons of one of p directions r_k = ½‖a+b‖·‖a−b‖ → ½N·E(a² + b²) = α²E(a² + b²)/(2ps²), since a and
b are independent and b is as often negative: it converges.
"""

from __future__ import annotations

from math import gamma, pi

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.problems import Dataset, Problem
from ..._numerics.deadlines import RECORDED_S
from ...errors import BiasflowError
from ...flows import limit
from ...limits import mirror_limit
from ...models import (
    DiagonalNetwork,
    DiagonalParams,
    FixedDirections,
    FixedDirectionsParams,
    merge_directions,
    mirror,
)
from ...potentials import Hypentropy, ScaledPotential
from ..evidence import Evidence
from ..examples import fixed_directions_problem, network_family
from ..fits import exponent_check
from ..hypotheses import CONE, CONSISTENT, FELT, FIXED, NONTRIVIAL, SQUARE
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Hypothesis, Kind, on_problem, unknown_check
from ..witness import witness_flow
from .fixed_direction_flows import EQUATION, Reduced, mirror_equation, printed_radius
from .followed import GIVEN_ERROR_FACTOR, SAVED, followed_weights
from .measured import AT_END, EPS

NEURONS = np.unique(np.round(np.geomspace(10, 12_000, 10)).astype(int))
"""Neurons for each direction, over three decades and a little, so that rounding does not make them
fewer."""
DRAWS = 12
"""Networks of each width over which the distance of their limits is averaged."""
FOLLOWED_NEURONS = 3
"""Neurons for each direction of the network whose weights are followed."""
DEVIATIONS = 4.0
"""Standard errors that a mean may be off."""
SAMPLING_ERROR = 0.25
"""Relative error of a root mean square over so few draws of vectors with three free directions or
more: twice its deviation."""
QUADRATIC_DISTANCES = (1e-7, 0.05)
"""Relative distances from the ℓ2 projection between which they fall as 1/r²: above φ is not
quadratic yet, below limits round."""
MEDIAN_OVER_MEAN = 1.2533
"""√(π/2): the deviation of a median over that of a mean, for many draws."""
LIMIT_ERROR = 1e-9
"""Relative error of a limit, at which its solver may stop."""
CONE_EDGE = 1e-12
"""|a − |b|| over a up to which a neuron is on the edge of the cone."""


def pair_problem(key: int) -> Problem:
    """Two neurons for each direction, a = (w₊, w₋) and b = (w₊, −w₋): W's model in R's clothes."""
    return _paired(fixed_directions_problem(2 * key), key)


def pair_family(key: int) -> Problem:
    return _paired(network_family(key), key)


def _paired(problem: Problem, key: int) -> Problem:
    rng = np.random.default_rng((71, key))
    size = float(np.max(problem.start.a))
    plus, minus = size * 10.0 ** rng.uniform(-1, 0.3, (2, problem.model.width))
    directions = np.vstack([problem.model.directions, problem.model.directions])
    params = FixedDirectionsParams(np.append(plus, minus), np.append(plus, -minus))
    return Problem(FixedDirections(directions), problem.data, problem.loss, params)


def _pairs(problem: Problem) -> str | None:
    a, b = problem.start
    if np.any(np.abs(a - np.abs(b)) > CONE_EDGE * a):
        return "some neurons start off the edge |b| = a"
    groups = merge_directions(problem).groups
    signs = [sorted(np.sign(b[groups == k])) for k in range(int(np.max(groups)) + 1)]
    return (
        None
        if all(found == [-1, 1] for found in signs)
        else "not two neurons with outputs of both signs in every direction"
    )


def as_diagonal(problem: Problem, X: Array, groups: Index) -> Problem:
    """W's problem with the same w₊ = a where b > 0, w₋ = a where b < 0."""
    a, b = problem.start
    plus, minus = (
        np.bincount(groups, np.where(side * b > 0, a, 0.0)).astype(np.float64)
        for side in (1.0, -1.0)
    )
    return Problem(
        DiagonalNetwork(2), Dataset(X, problem.data.y), problem.loss, DiagonalParams(plus, minus)
    )


def _pair(evidence: Evidence) -> tuple[Check, ...]:
    """β̇ = −(a₁² + b₁² + a₂² + b₂²)g = −2(w₊² + w₋²)g for R's neurons, −4(w₊² + w₋²)g for W's
    weights: half the speed."""
    followed = followed_weights(evidence)
    if isinstance(followed, str):
        return (unknown_check("flow of the weights", followed),)
    p = evidence.network
    groups = merge_directions(p).groups
    m = Reduced(evidence, followed, groups)
    other = as_diagonal(p, m.X, groups)
    plus, minus = other.start
    r = np.array(
        [printed_radius(p.start.a[groups == k], p.start.b[groups == k]) for k in range(m.d)]
    )
    points = np.random.default_rng(0).standard_normal((5, m.d)) * r
    slopes = np.array(
        [mirror(other).potential.grad(beta) for beta in points]
    ) / m.formulas.gradient(points)
    # Reduced has ½Φ_r, whatever the loss
    clock = float(np.mean(slopes)) * 4 * p.loss.factor(p.data.n)
    off, arcsinh = float(np.max(np.abs(r / (2 * plus * minus) - 1))), "½arcsinh(β/r)"
    return (
        Check("largest |r_k/(2w₊w₋) − 1|", off, "==", 0.0, 16 * EPS, witness="R's sum"),
        Check(
            "∇φ of W's mirror form over ∇(½Φ_r), times 4c: half the speed",
            clock,
            "==",
            1.0,
            64 * EPS,
            witness=arcsinh,
        ),
        *part(EQUATION, lambda: mirror_equation(m)),
        *part(PREDICTOR, lambda: _same_predictor(evidence, m, other)),
        _same_limit(m, other),
    )


PREDICTOR = "largest ‖β_W(t/2) − Σa_jb_j(t)‖_∞ over ‖β‖_∞: W's weights against R's neurons"


def _same_predictor(evidence: Evidence, m: Reduced, other: Problem) -> Check:
    at = np.unique(np.linspace(1, len(m.times) - 1, SAVED).astype(int))
    flow = need(witness_flow(other, times=m.times[at] / 2, time_s=evidence.time_left / 2))
    size = float(np.max(np.abs(m.betas)))
    distance = float(np.max(np.abs(other.model.effective(flow.states) - m.betas[at]))) / size
    stated = GIVEN_ERROR_FACTOR * flow.predictor_error
    error = float(np.max(np.max(m.spread[at], axis=1) + stated)) / size
    return Check(PREDICTOR, distance, "==", 0.0, error, **m.notes)


def _same_limit(m: Reduced, other: Problem) -> Check:
    name = "‖Σa_jb_j(T) − W's limit‖_∞, relative"
    try:
        found = limit(other.model, other.data, other.loss, start=other.start, time_s=RECORDED_S)
    except BiasflowError as reason:
        return unknown_check(name, str(reason))
    size = float(np.max(np.abs(found.value)))
    error = (
        float(np.max(m.spread[-1] + 2 * m.left_to_go)) / size
        + 100 * EPS
        + found.certificate.residual
    )
    if error > AT_END:
        return unknown_check(name, f"the flow still has {error:.2g} of its way to go")
    return Check(
        name, float(np.max(np.abs(m.betas[-1] - found.value))) / size, "==", 0.0, error, **m.notes
    )


def drawn_weights(rng: np.random.Generator, count: int, dim: int) -> tuple[Array, Array]:
    """(‖w_j‖, b_j) of neurons with all weights uniform on [−1, 1], those outside the cone drawn
    again (R, §4)."""
    a, b = np.empty(0), np.empty(0)
    while a.size < count:
        norms = np.sqrt(sum(rng.uniform(-1, 1, count) ** 2 for _ in range(dim)))
        outputs = rng.uniform(-1, 1, count)
        kept = norms >= np.abs(outputs)
        a, b = np.append(a, norms[kept]), np.append(b, outputs[kept])
    return a[:count], b[:count]


def weight_scale(alpha: float, m: int) -> float:
    """s = α/√m."""
    return alpha / np.sqrt(m)


def merged_radius(a: Array, b: Array) -> Array:
    """r_k over the last axis."""
    return np.asarray(0.5 * np.linalg.norm(a + b, axis=-1) * np.linalg.norm(a - b, axis=-1))


def mean_square(dim: int) -> float:
    """E(a² + b² | a ≥ |b|): (d+1)/3 without the condition, which fails with probability
    V_d/(2^d(d+1))."""
    ball = pi ** (dim / 2) / gamma(dim / 2 + 1) / 2.0**dim
    return ((dim + 1) / 3 - ball * (2 * dim + 2) / ((dim + 2) * (dim + 3))) / (1 - ball / (dim + 1))


def _sec4(evidence: Evidence) -> tuple[Check, ...]:
    p = evidence.network
    merged = merge_directions(p)
    count, dim = len(merged.r), p.data.d
    X, y = merged.mirror.X, p.data.y
    a0, b0 = p.start
    alpha = float(np.sqrt(3 * np.sum(a0**2 + b0**2) / (dim + 1)))
    rng = np.random.default_rng(5)
    final = alpha**2 * mean_square(dim) / (2 * count)
    widths, single, scatter, grouped, spread, distances = NEURONS * count, [], [], [], [], []
    target = _limit(X, y, np.full(count, final), np.zeros(count))
    for N in NEURONS:
        radii, off = [], []
        for _ in range(DRAWS):
            a, b = (
                weight_scale(alpha, N * count) * part.reshape(count, N)
                for part in drawn_weights(rng, N * count, dim)
            )
            radii.append(merged_radius(a, b))
            off.append(_distance(_limit(X, y, radii[-1], np.sum(a * b, axis=1)), target))
        own = 0.5 * (a**2 - b**2)
        single.append(float(np.median(own)))
        # relative, because squares of tiny radii are no floats
        scatter.append(MEDIAN_OVER_MEAN * float(np.std(own / single[-1])) / np.sqrt(own.size))
        grouped.append(float(np.mean(radii)))
        spread.append(float(np.std(np.array(radii) / grouped[-1])) / np.sqrt(np.size(radii)))
        distances.append(float(np.sqrt(np.mean(np.square(off)))))
    sizes = [N * radii[-1] for N in NEURONS]  # weights of one size, whatever m, in pairs ±b: β₀ = 0
    lazy = np.array([_distance(_limit(X, y, r, np.zeros(count)), _nearest(X, y, r)) for r in sizes])
    draws = "fresh draws of R's weights"
    error = DEVIATIONS * spread[-1] + 2 / float(NEURONS[-1])
    settled, unsure = (
        (lazy < QUADRATIC_DISTANCES[1]) & (lazy > QUADRATIC_DISTANCES[0]),
        DEVIATIONS * np.array(spread),
    )
    correction = lazy + LIMIT_ERROR / lazy  # the next order in β/r, and rounding
    apart = "exponent in m of the distance of the limit from that of r_k's limit"
    kernel = "exponent in m of the distance from the ℓ2 projection, weights of one size"
    return (
        exponent_check(
            "exponent of a neuron's r_j in m, weights of size α/√m",
            widths,
            single,
            -1.0,
            DEVIATIONS * np.array(scatter),
            witness=draws,
        ),
        exponent_check(
            "exponent of the merged r_k in m", widths, grouped, 0.0, unsure, witness=draws
        ),
        Check(
            "merged r_k at the largest m over α²E(a²+b²)/(2ps²)",
            grouped[-1] / final,
            "==",
            1.0,
            error,
            witness=draws,
        ),
        exponent_check(apart, widths, distances, -0.5, SAMPLING_ERROR, witness=draws, size=1.0)
        if min(distances) > QUADRATIC_DISTANCES[0]
        else unknown_check(apart, "the limits differ by their rounding alone"),
        exponent_check(
            kernel, widths[settled], lazy[settled], -2.0, correction[settled], witness=draws
        )
        if np.sum(settled) > 3
        else unknown_check(kernel, "too few of these widths are near it"),
        *part(ENDED, lambda: _followed(evidence, p, merged.groups, rng, alpha)),
    )


def _limit(X: Array, y: Array, r: Array, start: Array) -> Array:
    return mirror_limit(ScaledPotential(0.5, Hypentropy(r)), X, y, start).value


def _nearest(X: Array, y: Array, r: Array) -> Array:
    """argmin Σβ_k²/r_k over the minimisers: the limit for large r."""
    root = np.sqrt(r)
    return np.asarray(root * np.linalg.lstsq(X * root, y, rcond=None)[0])


def _distance(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


ENDED = (
    f"end of the weights' flow, {FOLLOWED_NEURONS} neurons for each direction, against the "
    "projection for the merged r, relative"
)


def _followed(
    evidence: Evidence, p: Problem, groups: Index, rng: np.random.Generator, alpha: float
) -> Check:
    """A network of a few neurons for each direction, its weights followed, against the projection
    for its merged r."""
    first = np.array([int(np.flatnonzero(groups == k)[0]) for k in range(int(np.max(groups)) + 1)])
    count = len(first)
    a, b = (
        weight_scale(alpha, FOLLOWED_NEURONS * count) * part
        for part in drawn_weights(rng, FOLLOWED_NEURONS * count, p.data.d)
    )
    directions = np.repeat(p.model.directions[first], FOLLOWED_NEURONS, axis=0)
    network = Problem(FixedDirections(directions), p.data, p.loss, FixedDirectionsParams(a, b))
    flow = need(witness_flow(network, time_s=evidence.time_left / 2))
    end = network.model.effective(flow.final).reshape(count, FOLLOWED_NEURONS).sum(axis=1)
    merged = merge_directions(network).mirror
    r = merged_radius(a.reshape(count, FOLLOWED_NEURONS), b.reshape(count, FOLLOWED_NEURONS))
    best = _limit(merged.X, p.data.y, r, np.sum((a * b).reshape(count, FOLLOWED_NEURONS), axis=1))
    w = np.sqrt(np.hypot(end, r))
    left = np.abs(
        w * np.linalg.lstsq(merged.X * w, merged.X @ best - merged.X @ end, rcond=None)[0]
    )
    size = float(np.max(np.abs(best)))
    error = (
        FOLLOWED_NEURONS * float(flow.predictor_error[-1]) + 2 * float(np.max(left))
    ) / size + 100 * EPS
    if error > AT_END:
        raise Unmeasured(f"the flow still has {error:.2g} of its way to go")
    return Check(
        ENDED,
        float(np.max(np.abs(end - best))) / size,
        "==",
        0.0,
        error,
        witness="∇L followed in the weights",
    )


def _choice(problem: Problem) -> str | None:
    X = merge_directions(problem).mirror.X
    rank = int(np.linalg.matrix_rank(X))
    return (
        None
        if rank < X.shape[1]
        else f"{X.shape[1]} directions of rank {rank}: one minimiser, and no bias to speak of"
    )


CHOICE = Hypothesis("choice", "F has several minimisers", on_problem(_choice))
PAIRS = Hypothesis("pairs", "two neurons with outputs ±a in every direction", on_problem(_pairs))
pair = Claim(
    "R/pair",
    "W's weight β = w₊² − w₋² is a pair of neurons with one direction, a = (w₊, w₋), b = (w₊, "
    "−w₋): merged, r = 2w₊w₋ (2α² from α·1), at half W's speed, with W's limit.",
    "R, §3.1, after Theorem 3.4: W's reparametrisation as a case of Lemma 3.5",
    (FIXED, SQUARE, CONE, CONSISTENT, NONTRIVIAL, FELT, PAIRS),
    pair_problem,
    _pair,
    kind=Kind.FLOW,
    witness="∇L followed in R's weights and in W's",
    family=pair_family,
)
sec4 = Claim(
    "R/sec4",
    "With weights of size α/√m each neuron's r_j falls as 1/m, but the merged r_k converges, and "
    "with it the limit of the predictor, as 1/√m: the bias is that of the merged r. With weights "
    "of one size r_k grows as m, and the limit tends to the ℓ2 projection.",
    "R, §4, last paragraph, corrected: r_j changes, the bias of the predictor does not",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT, CHOICE),
    fixed_directions_problem,
    _sec4,
    kind=Kind.ASYMPTOTIC,
    witness="fresh draws over three decades of m, and the weights of one network followed",
    family=network_family,
)

CLAIMS = (pair, sec4)
