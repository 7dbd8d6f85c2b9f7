"""B, B.6: the landscape near θ*. Lemma 13 (small loss), Lemmas 14, 5 and 15 (a PL inequality in
balls).

Lemma 14 is printed for all balanced parameters and false where neurons are off. What its proof
gives, balanced or not, is

    ‖∇L‖² ≥ 2L·min_k (1/n)Σ_{j active on k} a_j²,

since ‖D_j‖² = Σ_{k active}r_k²/n² on orthonormal inputs. Lemmas 5 and 15 follow from it as printed,
without asking for activity: a neuron with cosine c to x_k that turns off moves by c‖w_j‖ at least,
so that in a ball of radius r around a centre with U_k = Σ‖w_j‖² over the neurons active on k at
most r²/c_k² of U_k turns off, and what is left is (√(U_k − r²/c_k²) − r)² at least.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ...models import TwoLayerParams
from ..evidence import Evidence
from ..fits import exponent_check, fitted_exponent
from ..unmeasured import Unmeasured, part
from ..verdicts import Check, Claim, Kind
from .course import Course
from .relu_examples import orthonormal_family, orthonormal_problem
from .relu_hypotheses import (
    ASSUMED,
    ASSUMPTION_1,
    ASSUMPTION_3,
    CROSSED,
    LABELLED,
    MODERATE,
    NETWORK,
    NONZERO,
    SMALL_START,
    TWO_SIGNS,
)
from .relu_setting import LabelCluster, Setting
from .three_phases import KINK_COSINE, slopes

LEMMA_14 = 2.0
"""The factor of L in Lemma 14."""
SHARE = 0.5
"""Of n‖D_−‖ that Lemma 15 keeps of a cluster's mass."""
COSINE_DEFECT = 1.0
"""Cosine defect that condition (iv) of Lemma 13 allows, in units of λ^{ε'}."""
QUOTIENT_ERROR = 1e-9
"""Relative error of quotients of sums over neurons and inputs."""
DRAWS, CLIMBS = 200, 150
"""States that are drawn, and steps of a search downhill from the worst of them."""
NEARLY_ACROSS = 1e-6
"""Cosine of neurons with the one input they are active on, where Lemma 14 is nearly attained: to
its square."""
SWEEP = 10.0 ** -np.array([0.0, *np.arange(2.0, 6.5, 0.5)])
"""λ^{ε'} over the largest that counts as small: that one, and four decades for an exponent."""
GROWN_SHARE = 0.9
"""Share of n‖D_−‖ that the second cluster has at least at what is taken for t₃: the printed n‖D_−‖
− λ^{ε/29} may be less where λ is not small."""


def quotient(s: Setting, params: TwoLayerParams) -> float:
    """‖∇L‖²/L in B's clock, from ∇L; NaN where L = 0."""
    value = float(s.problem.loss(s.problem.model(params, s.X), s.y))
    return (
        float(np.sum(slopes(s.problem, params) ** 2)) / value / s.speed
        if value > 0
        else float("nan")
    )


def active_mass(s: Setting, params: TwoLayerParams) -> Array:
    """(1/n)Σa_j² over the neurons active on each input."""
    on = KINK_COSINE * np.linalg.norm(params.W, axis=1)[:, None] < params.W @ s.X.T
    return np.asarray(on.T @ params.a**2 / s.n)


def _lem14(evidence: Evidence) -> tuple[Check, ...]:
    s = Setting(evidence.network)
    rng = np.random.default_rng(0)
    signs = np.sign(s.unit.a)

    def ratio(params: TwoLayerParams) -> float:
        least = float(np.min(active_mass(s, params)))
        return quotient(s, params) / (LEMMA_14 * least) if least > 0 else np.inf

    found = [ratio(_drawn(s, rng, signs, k)) for k in range(DRAWS)]
    active = [_cones(s, rng, signs, k) for k in range(DRAWS)]
    printed = [quotient(s, params) / (LEMMA_14 * _masses(s, params)) for params in active]
    sources = f"∇L at {DRAWS} networks"
    off = TwoLayerParams(
        signs * float(np.sqrt(s.n)), np.tile(-np.sum(s.X, axis=0), (len(signs), 1))
    )
    everywhere = quotient(s, off) / (LEMMA_14 * _masses(s, off))
    return (
        Check(
            "least ‖∇L‖²/(2L·min_kΣ_{j active on k}a_j²/n), any weights",
            min(found),
            ">=",
            1.0,
            QUOTIENT_ERROR,
            witness=sources,
        ),
        Check(
            "the same where neurons are nearly across the input they fit",
            ratio(_across(s)),
            "==",
            1.0,
            1e-9,
            witness="∇L",
        ),
        Check(
            "least ‖∇L‖²/(2L·min u_±/n), balanced, clusters active on their labels",
            min(printed),
            ">=",
            1.0,
            QUOTIENT_ERROR,
            witness=sources,
        ),
        Check(
            "the same with all neurons off, as Lemma 14 is printed",
            everywhere,
            "==",
            0.0,
            QUOTIENT_ERROR,
            witness="∇L",
            null=1.0,
        ),
    )


def _masses(s: Setting, params: TwoLayerParams) -> float:
    return min(float(cluster.size(params)) for cluster in s.clusters) / s.n


def _drawn(s: Setting, rng: np.random.Generator, signs: Array, k: int) -> TwoLayerParams:
    """A network of any size, balanced or not, on or off anywhere, with residuals that are small on
    some labels."""
    size = float(np.sqrt(np.max(np.abs(s.y)))) * 10.0 ** rng.uniform(-2, 1)
    W = size * rng.standard_normal(s.start.W.shape)
    a = (
        signs
        * np.linalg.norm(W, axis=1)
        * (10.0 ** rng.uniform(-1, 1, len(signs)) if k % 2 else 1.0)
    )
    if k % 3 == 0:  # outputs that fit all labels but one
        hidden, keep = np.maximum(s.X @ W.T, 0.0), np.arange(s.n) != k % s.n
        a = a + np.linalg.lstsq(hidden[keep], (s.y - hidden @ a)[keep], rcond=None)[0]
    return TwoLayerParams(a, W)


def _cones(s: Setting, rng: np.random.Generator, signs: Array, k: int) -> TwoLayerParams:
    """A balanced network whose clusters are active on the labels of their sign."""
    W = (
        float(np.sqrt(np.max(np.abs(s.y))))
        * 10.0 ** rng.uniform(-2, 1)
        * rng.standard_normal(s.start.W.shape)
    )
    for cluster in s.clusters:
        own = s.X[cluster.sign * s.y > 0]
        products = W[cluster.neurons] @ own.T
        W[cluster.neurons] += (np.abs(products) * 10.0 ** rng.uniform(-4, 0) - products) @ own
    return TwoLayerParams(signs * np.linalg.norm(W, axis=1), W)


def _across(s: Setting) -> TwoLayerParams:
    """Residuals on one label only, whose neurons are nearly across its input: 2L·Σa_j²/n is then
    nearly ‖∇L‖²."""
    (m, d), k = s.start.W.shape, int(np.argmin(np.abs(s.y)))
    a, W = np.zeros(m), np.zeros((m, d))
    size = float(np.sqrt(np.max(np.abs(s.y))))
    off = s.X[np.delete(np.arange(s.n), k)][:1]  # an input on which it is off, if there is one
    a[0], W[0] = 1e-2 * size, 1e-2 * size * (NEARLY_ACROSS * s.X[k] - np.sum(off, axis=0))
    rest = TwoLayerParams(a, W)
    left = s.y - s.problem.model(rest, s.X)
    rows = np.array([i for i in range(s.n) if i != k])[: m - 1]
    for j, i in enumerate(rows, start=1):
        a[j], W[j] = np.sign(left[i]) * size, np.abs(left[i]) / size * s.X[i]
    return TwoLayerParams(a, W)


def safe_radius(s: Setting, centre: TwoLayerParams) -> float:
    """The radius of a ball in which every input keeps neurons of mass n‖D_−‖/2 that are active on
    it."""
    keep = SHARE * s.n * s.second.rate
    radii = []
    for own, cluster in ((cluster.sign * s.y > 0, cluster) for cluster in s.clusters):
        W = centre.W[cluster.neurons]
        lengths = np.linalg.norm(W, axis=1)
        for x in s.X[own]:
            on = W @ x > 0
            mass = float(np.sum(lengths[on] ** 2))
            if mass <= keep:
                return 0.0
            steep = 1 + float(np.min((W @ x)[on] / lengths[on])) ** -2
            radii.append((np.sqrt(keep + steep * (mass - keep)) - np.sqrt(keep)) / steep)
    return float(min(radii))


def least_in_ball(s: Setting, centre: TwoLayerParams, radius: float) -> tuple[float, int]:
    """The least ‖∇L‖²/(L‖D_−‖) found in B(centre, radius)∩Θ, neurons off included, and how many
    states were looked at."""
    rng, signs = (
        np.random.default_rng(0),
        np.where(centre.a != 0, np.sign(centre.a), np.sign(s.unit.a)),
    )
    reach = radius / np.sqrt(2)  # |a_j| = ‖w_j‖ moves at most as far again

    def value(step: Array) -> float:
        W = centre.W + step * min(1.0, reach / max(float(np.linalg.norm(step)), 1e-300))
        found = quotient(s, TwoLayerParams(signs * np.linalg.norm(W, axis=1), W)) / s.second.rate
        return found if np.isfinite(found) else np.inf

    steps = [
        rng.standard_normal(centre.W.shape)
        * (np.linalg.norm(centre.W, axis=1) > 0)[:, None] ** (k % 2)
        for k in range(DRAWS)
    ]
    steps = [step * reach / np.linalg.norm(step) * rng.uniform() ** (1 / 8) for step in steps]
    steps += [
        _turned_off(s, cluster, centre, x, reach, share)
        for cluster in s.clusters
        for x in s.X[cluster.sign * s.y > 0]
        for share in (0.3, 0.6, 0.9, 1.0)
    ]
    values = [value(step) for step in steps]
    worst, place, size = min(values), steps[int(np.argmin(values))], 0.3
    for _ in range(CLIMBS):
        trial = place + size * reach * rng.standard_normal(place.shape) / np.sqrt(place.size)
        found = value(trial)
        if found < worst:
            worst, place, size = found, trial, min(1.0, 1.5 * size)
        else:
            size = max(1e-3, 0.97 * size)
    return worst, len(steps) + CLIMBS


def _turned_off(
    s: Setting, cluster: LabelCluster, centre: TwoLayerParams, x: Array, reach: float, share: float
) -> Array:
    """Turn off, on one input, as many neurons of a cluster as a share of the reach allows; shrink
    the others with the rest."""
    step, left = np.zeros_like(centre.W), (share * reach) ** 2
    rest = []
    for j in cluster.neurons:
        product = 1.001 * max(float(centre.W[j] @ x), 0.0)
        if product**2 <= left:
            step[j], left = -product * x, left - product**2
        else:
            rest.append(j)
    length = float(np.linalg.norm(centre.W[rest])) if rest else 0.0
    if length > 0:
        step[rest] = -np.sqrt(max(reach**2 - float(np.sum(step**2)), 0.0)) * centre.W[rest] / length
    return step


def _lem15(evidence: Evidence) -> tuple[Check, ...]:
    """In the whole of a ball around θ*, and around the state at t₃; and not near the intermediate
    saddle."""
    course = Course(evidence)
    s, quantity = course.setting, "least ‖∇L‖²/(L‖D_−‖) in a ball around "
    checks = [
        *part(f"{quantity}θ*", lambda: _in_ball(s, f"{quantity}θ*", course.limit.value, {})),
        *part(
            f"{quantity}θ(t₃)",
            lambda: _in_ball(s, f"{quantity}θ(t₃)", course.at(_third(course)), course.notes),
        ),
    ]
    if 0 < s.ends[1] <= s.ends[2]:
        saddle = "‖∇L‖²/(L‖D_−‖) at the intermediate saddle: no PL all the way"
        checks += part(saddle, lambda: _at_the_saddle(course, saddle))
        near_zero = quotient(s, s.start) / s.second.rate
        checks.append(
            Check(
                "the same at the start",
                near_zero,
                "<=",
                1.0,
                QUOTIENT_ERROR,
                witness="∇L",
                null=2.0,
            )
        )
    return tuple(checks)


def _at_the_saddle(course: Course, quantity: str) -> Check:
    s = course.setting
    near = quotient(s, course.at((s.ends[1] + s.ends[2]) / 2)) / s.second.rate
    return Check(quantity, near, "<=", 1.0, QUOTIENT_ERROR, null=2.0, **course.notes)


def _third(course: Course) -> float:
    """When the second cluster has grown: t₃, if that is later."""
    s = course.setting
    grown = course.grown(s.second, GROWN_SHARE * s.n * s.second.rate)
    try:
        return max(grown, course.t3)
    except Unmeasured:
        return grown


def _in_ball(s: Setting, quantity: str, centre: TwoLayerParams, notes: dict[str, Any]) -> Check:
    radius = min(s.power(1 / 240), safe_radius(s, centre))
    if radius <= 0:
        raise Unmeasured("its clusters have less than n‖D_−‖/2: there is no such ball")
    worst, count = least_in_ball(s, centre, radius)
    searched = f"∇L at {count} networks of the ball, searched downhill"
    notes = {**notes, "witness": searched if notes.get("witness", True) else ""}
    return Check(quantity, worst, ">=", 1.0, QUOTIENT_ERROR, null=0.0, **notes)


def _lem13(evidence: Evidence) -> tuple[Check, ...]:
    """q = λ^{ε'}: networks with (i)–(iv), as bad as they can be, against √q; and the bound that the
    proof gives."""
    s = Setting(evidence.network)
    top = _small_enough(s)
    losses, bounds = [], []
    for q in top * SWEEP:
        losses.append(_largest_loss(s, float(q)))
        bounds.append(explicit_loss(s, float(q)))
    witness = f"L of {DRAWS} networks that satisfy (i)–(iv), for each of {len(SWEEP)} λ"
    worst = max(loss / np.sqrt(q) for loss, q in zip(losses, top * SWEEP, strict=True))
    tight = max(loss / bound for loss, bound in zip(losses, bounds, strict=True))
    null = float(s.y @ s.y) / (2 * s.n) / np.sqrt(top)
    quantity = "exponent of the largest L in λ^{ε'}: twice the printed"
    fitted = exponent_check(
        quantity, top * SWEEP[1:], losses[1:], 1.0, QUOTIENT_ERROR, witness=witness
    )
    # terms of order q beside √q
    next_order = abs(fitted_exponent(top * SWEEP[1:], bounds[1:])[0] - 1)
    return (
        Check(
            "largest L/λ^{ε'/2} under (i)–(iv)",
            worst,
            "<=",
            1.0,
            QUOTIENT_ERROR,
            witness=witness,
            null=null,
        ),
        Check(
            "largest L over the bound of its proof, completed",
            tight,
            "<=",
            1.0,
            QUOTIENT_ERROR,
            witness=witness,
        ),
        dataclasses.replace(fitted, error=fitted.error + 2 * next_order),
    )


def explicit_loss(s: Setting, q: float) -> float:
    """‖h − y‖²/(2n) with ‖h − y‖ ≤ 2nq + Σ_± n(‖D_±‖ + q)√(2q/‖D_±‖) + mq², the other cluster's
    tilt included."""
    tilts = sum(
        s.n * (cluster.rate + q) * np.sqrt(2 * COSINE_DEFECT * q / cluster.rate)
        for cluster in s.clusters
    )
    return float(2 * s.n * q + tilts + len(s.start.a) * q**2) ** 2 / (2 * s.n)


def _small_enough(s: Setting) -> float:
    """The largest q up to which that bound is below √q, which is 'for λ small enough' made
    explicit."""
    low, high = -80.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        q = float(np.exp(middle))
        fits = explicit_loss(s, q) <= np.sqrt(q) and 2 * q <= s.clusters[-1].rate
        low, high = (middle, high) if fits else (low, middle)
    return float(np.exp(low))


def _largest_loss(s: Setting, q: float) -> float:
    """The largest L found among balanced networks with (i)–(iv): clusters tilted as far as (iv)
    allows, each in one direction."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for k in range(DRAWS):
        W, a = np.zeros_like(s.start.W), np.zeros_like(s.start.a)
        aim = s.X[rng.integers(s.n)] if k % 2 else rng.standard_normal(s.X.shape[1])
        for cluster in s.clusters:
            tilt = aim if k % 4 < 2 else rng.standard_normal(s.X.shape[1])
            tilt = (1 if cluster.sign > 0 or k % 8 < 4 else -1) * (
                tilt - (tilt @ cluster.direction) * cluster.direction
            )
            length = float(np.linalg.norm(tilt))
            cosine = 1 - COSINE_DEFECT * q / cluster.rate
            unit = cosine * cluster.direction + np.sqrt(max(1 - cosine**2, 0.0)) * tilt / (
                length or 1.0
            )
            mass = s.n * (cluster.rate + q * (1 if k % 3 else -1)) / cluster.neurons.size
            W[cluster.neurons], a[cluster.neurons] = (
                np.sqrt(mass) * unit / np.linalg.norm(unit),
                cluster.sign * np.sqrt(mass),
            )
        idle = a == 0
        W[idle] = q * rng.choice([-1.0, 1.0]) * s.X[rng.integers(s.n)]
        a[idle] = np.sign(s.unit.a[idle]) * q
        worst = max(worst, float(np.sum((np.maximum(s.X @ W.T, 0.0) @ a - s.y) ** 2)) / (2 * s.n))
    return worst


STATIC = (NETWORK, LABELLED, ASSUMPTION_1, NONZERO, MODERATE, ASSUMPTION_3)

lem13 = Claim(
    "B/lem13",
    "If all others are below λ^{ε'}, clusters have masses n‖D_±‖ up to nλ^{ε'} and cosines with "
    "±D_± up to λ^{ε'}/‖D_±‖, then L ≤ λ^{ε'/2} for small λ; their largest L is of order λ^{ε'}.",
    "B, Lemma 13 (its proof completed: each cluster adds to the labels of the other)",
    (*STATIC, TWO_SIGNS),
    orthonormal_problem,
    _lem13,
    Kind.STATIC,
    "networks with these properties, as bad as they can be",
    "the network zero",
    orthonormal_family,
    below_floats=True,
)
lem14 = Claim(
    "B/lem14",
    "‖∇L‖² ≥ 2L·min_k Σ_{j active on k}a_j²/n for all weights, so ≥ 2L·min u_±/n where clusters "
    "are active on their labels, and not for all balanced weights.",
    "B, Lemma 14 (corrected)",
    STATIC,
    orthonormal_problem,
    _lem14,
    Kind.STATIC,
    "raw gradients at networks of any size, on or off",
    "the printed inequality",
    orthonormal_family,
    below_floats=True,
)
lem15 = Claim(
    "B/lem15",
    "‖∇L‖² ≥ ‖D_−‖L for all balanced weights in a ball around θ* and around θ(t₃), whichever "
    "neurons are off there; near the saddles on the way there it fails.",
    "B, Lemmas 5 and 15 (proof by the corrected Lemma 14), §3.2",
    (*ASSUMED, SMALL_START, CROSSED),
    orthonormal_problem,
    _lem15,
    Kind.FLOW,
    "raw gradients all over the balls, with neurons turned off on purpose",
    "a network with all neurons off",
    orthonormal_family,
    below_floats=True,
)

CLAIMS = (lem13, lem14, lem15)
