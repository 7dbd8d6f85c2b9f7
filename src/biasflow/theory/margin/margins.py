"""C, §2.3: max margins in F1 and F2 with their certificates."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._core.results import Limit
from ...limits import arc_cosine_kernel, f1_max_margin, f2_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need, part
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA, SEPARABLE, SIGNS
from .margin_limits import of_f1_margin, of_f2_margin
from .margin_setting import LOOSE_GAP, inputs_of
from .routes import activation_cells, circle_kernel, largest_gain

ROUNDING = 1e-12
"""What recomputing a margin or a distance in floats leaves, relative."""
PROVEN_GAP = 1e-8
"""Relative gap at which a max margin counts as found: f1_max_margin is asked for 1e-9."""
FEATURES = 2000
"""Neurons of the random first layer whose margin is compared with the kernel's."""
DEVIATIONS = 6.0
"""Standard errors that an entry of a random-feature kernel may be off, in Bernstein's
inequality."""
EPS = float(np.finfo(float).eps)
SUM_ROUNDING = 16 * EPS
"""What sums over neurons and samples leave, relative to their largest term."""
CELLS = "every cell of the sphere, by non-negative least squares"
QUADRATURE = "kernel by quadrature over the circle"


def measured_margins(measure: Particles, data: Dataset) -> Array:
    """y_i·½Σ_jmass_js_j(⟨u_j, (x_i, 1)⟩)₊ over the total mass, in plain arithmetic."""
    masses = np.exp(measure.log_masses)
    hidden = np.maximum(augmented(data.X) @ measure.directions.T, 0.0)
    return data.y * (hidden @ (masses * measure.signs)) / 2 / float(np.sum(masses))


def gain_of(weights: Array, data: Dataset) -> float | None:
    """max_θ Σp_iy_iφ(θ, x_i) over every cell of the support's arrangement; None where there are too
    many cells."""
    support = np.flatnonzero(weights)
    rows = augmented(data.X)[support]
    cells = activation_cells(rows)
    return None if cells is None else largest_gain(rows, (weights * data.y)[support], cells)


def _untrained(data: Dataset) -> Particles:
    """A hundred random neurons of equal mass: the null model of a max margin."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((100, data.d + 1))
    return Particles(
        u / np.linalg.norm(u, axis=1)[:, None],
        rng.choice([-1.0, 1.0], 100),
        np.full(100, -np.log(100.0)),
    )


def _gamma1(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    found = f1_max_margin(data.X, data.y, time_s=evidence.time_left / 2)
    p, proof = found.stats["weights"], found.certificate
    size = max(proof.dual, float(np.finfo(float).tiny))
    terms = found.value.signs.size + 2 * data.d + 24  # a sum over neurons of sums over coordinates
    error = EPS * terms * float(np.max(np.linalg.norm(augmented(data.X), axis=1))) / size
    if error > TELLING:
        return (
            unknown_check(
                "γ₁",
                f"γ₁ ≤ {proof.dual:.2g} is below what float64 resolves for inputs of this size",
            ),
        )
    margins, gain = measured_margins(found.value, data), gain_of(p, data)
    rival = measured_margins(_untrained(data), data)
    mass = float(np.sum(np.exp(found.value.log_masses)))
    direct = "f summed over its neurons"
    checks = [
        Check(
            "margin of the measure, over γ₁'s lower bound",
            ratio(np.min(margins), proof.primal),
            "==",
            1.0,
            error,
            direct,
        ),
        Check(
            "γ₁ stated, over its lower bound",
            ratio(found.objective, proof.primal),
            "==",
            1.0,
            error,
            direct,
        ),
        Check("total mass", mass, "==", 1.0, ROUNDING, direct),
        Check("total weight", float(np.sum(p)), "==", 1.0, ROUNDING, direct),
    ]
    if gain is None:
        return (
            *checks,
            Check(
                "lower bound, over the upper bound",
                proof.primal / size,
                "<=",
                1.0,
                reason="too many cells for a second search",
            ),
        )
    if proof.kind != "exact":
        return (
            *checks,
            Check(
                "largest gain of the weights, over the upper bound",
                gain / size,
                "<=",
                1.0 + error,
                error,
                CELLS,
            ),
            unknown_check(
                "conditions (i), (ii)", f"γ₁ is known up to {1 - proof.primal / size:.2g} only"
            ),
        )
    mean = float(p @ margins)
    return (
        *checks,
        Check(
            "largest gain of the weights, over the upper bound",
            gain / size,
            "==",
            1.0,
            PROVEN_GAP + error,
            CELLS,
        ),
        Check(
            "(i) slack of the support: (max J − ∫J dν)/γ₁",
            (gain - mean) / size,
            "<=",
            PROVEN_GAP,
            error,
            CELLS,
            null=(gain - float(p @ rival)) / size,
        ),
        Check(
            "(ii) slack of the samples: (Σp_iy_if(x_i) − margin)/γ₁",
            (mean - float(np.min(margins))) / size,
            "<=",
            PROVEN_GAP,
            error,
            direct,
            null=float(p @ rival - np.min(rival)) / size,
        ),
    )


def ratio(one: float, other: float) -> float:
    return float(one) / other if other else float("nan")


def _gamma2(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    rows = augmented(data.X)
    K = circle_kernel(rows, rows)
    found = f2_max_margin(data.X, data.y, time_s=evidence.time_left / 2)
    p = found.stats["weights"]
    upper = float(np.sqrt(np.maximum((p * data.y) @ K @ (p * data.y), 0.0)))
    noise = EPS * (8 * float(np.max(K)) + data.n * float(np.linalg.eigvalsh(K)[-1]))
    largest = float(max(upper, found.certificate.dual, np.finfo(float).tiny))
    error = noise / largest**2
    if error > TELLING:
        why = (
            f"γ₂ ≤ {largest:.2g} is below what a Gram matrix in float64 resolves, "
            f"{np.sqrt(noise):.2g}"
        )
        return (unknown_check("γ₂", why),)
    c, points = found.value.coefficients, augmented(found.value.points)
    values = circle_kernel(rows, points) @ c
    norm = float(np.sqrt(np.maximum(c @ circle_kernel(points, points) @ c, 0.0)))
    rival = data.y * (K @ data.y) / float(np.sqrt(np.maximum(data.y @ K @ data.y, noise)))
    return (
        Check(
            "margin of the classifier, over γ₂ stated",
            ratio(np.min(data.y * values), found.objective),
            "==",
            1.0,
            error,
            QUADRATURE,
        ),
        Check("norm of the classifier", norm, "==", 1.0, error, QUADRATURE),
        Check(
            "norm of Σp_iy_ik(x_i, ·), over γ₂'s upper bound",
            ratio(upper, found.certificate.dual),
            "==",
            1.0,
            error,
            QUADRATURE,
        ),
        Check(
            "gap of γ₂: what the margin lacks of that norm, relative",
            1 - float(np.min(data.y * values)) / upper,
            "<=",
            PROVEN_GAP + error,
            error,
            QUADRATURE,
            null=1 - float(np.min(rival)) / upper,
        ),
        *_random_features(data, K, found, noise, evidence.time_left / 2),
        *_against_f1(data, found, error, evidence.time_left / 2),
    )


def _random_features(
    data: Dataset, K: Array, found: Limit[object], noise: float, time_s: float
) -> tuple[Check, ...]:
    """γ₂^(m) by plain sums over the neurons drawn, and how far it may be from γ₂."""
    drawn = f2_max_margin(data.X, data.y, features=FEATURES, time_s=time_s)
    hidden = np.maximum(augmented(data.X) @ drawn.value.directions.T, 0.0)
    a, p = drawn.value.weights, drawn.stats["weights"]
    upper = float(np.linalg.norm((p * data.y) @ hidden)) / np.sqrt(FEATURES)
    error = noise / max(upper, drawn.certificate.dual, float(np.finfo(float).tiny)) ** 2
    # what rounding of the features leaves
    width = drawn.certificate.dual - drawn.certificate.primal
    stated = error + ratio(width, drawn.certificate.dual)
    if error > TELLING:
        return (
            unknown_check(
                "γ₂^(m)",
                f"γ₂^(m) ≤ {upper:.2g} is below what sums in float64 resolve, {np.sqrt(noise):.2g}",
            ),
        )
    worst = np.abs(hidden @ hidden.T / FEATURES - K)
    margin = float(np.min(data.y * (hidden @ a))) / float(np.sqrt(FEATURES) * np.linalg.norm(a))
    direct = "sums over the neurons drawn"
    return (
        Check(
            "margin of the m features' classifier, over γ₂^(m) stated",
            margin / drawn.objective,
            "==",
            1.0,
            stated,
            direct,
        ),
        Check(
            "‖Σp_iy_iσ(x_i)‖/√m, over γ₂^(m)'s upper bound",
            upper / drawn.certificate.dual,
            "==",
            1.0,
            stated,
            direct,
        ),
        Check(
            "gap of γ₂^(m), relative", 1 - margin / upper, "<=", PROVEN_GAP + error, error, direct
        ),
        Check(
            "|γ₂^(m)² − γ₂²| (at most the largest error of the kernel)",
            abs(drawn.objective**2 - found.objective**2),
            "<=",
            float(np.max(worst)) + 2 * noise + 2 * drawn.certificate.dual * width,
            noise + 2 * drawn.certificate.dual * width,
            QUADRATURE,
        ),
        Check(
            "largest error of the kernel of m random features, over what Bernstein's inequality "
            "allows",
            float(np.max(worst / _bernstein(data.X, K))),
            "<=",
            1.0,
            ROUNDING,
            QUADRATURE,
        ),
    )


def _against_f1(
    data: Dataset, found: Limit[object], error: float, time_s: float
) -> tuple[Check, ...]:
    quantity = "γ₂'s upper bound (C's norms lack a factor: γ₂ ≤ 2γ₁), over 2γ₁'s lower one"

    def compared() -> Check:
        wide = need(f1_max_margin(data.X, data.y, gap=PROVEN_GAP, time_s=time_s), LOOSE_GAP)
        margin = float(np.min(measured_margins(wide.value, data)))
        if margin <= 0:
            raise Unmeasured("γ₁ has no positive lower bound")
        return Check(
            quantity,
            found.certificate.dual / (2 * margin),
            "<=",
            1.0,
            error + wide.certificate.relative_gap,
            "margin of a measure of mass one",
        )

    return part(quantity, compared)


def _bernstein(X: Array, K: Array) -> Array:
    """What the mean of σ(⟨u, x⟩)σ(⟨u, x'⟩) over m random u may be off: its variance is known, its
    values are at most ½(‖x‖‖x'‖ + ⟨x, x'⟩)."""
    inputs = augmented(X)
    lengths = np.linalg.norm(inputs, axis=1)
    largest = (np.outer(lengths, lengths) + inputs @ inputs.T) / 2
    variance = np.maximum(arc_cosine_kernel(X, activation="squared_relu") - K**2, 0.0)
    rounding = ROUNDING * np.outer(lengths, lengths)
    return (
        DEVIATIONS * np.sqrt(variance / FEATURES)
        + DEVIATIONS**2 / 3 * largest / FEATURES
        + rounding
    )


gamma1 = Claim(
    "C/gamma1",
    "γ₁ has a maximiser ν of mass one with weights p: ν sits where J(θ) = Σp_iy_iφ(θ, x_i) is "
    "largest, p on the margin.",
    "C, eq. (4) and Proposition 12",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _gamma1,
    kind=Kind.STATIC,
    witness="the margin summed over neurons, and max J over every cell of the sphere",
    null="an untrained network",
    family=labelled_family,
    limit=of_f1_margin,
)
gamma2 = Claim(
    "C/gamma2",
    "γ₂ is a hard-margin SVM with the arc-cosine kernel; with m random features γ₂^(m) tends to "
    "it as their kernel does.",
    "C, eq. (5)",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _gamma2,
    kind=Kind.STATIC,
    witness="classifier and dual weights judged with the kernel by quadrature",
    null="equal weights on all samples",
    family=labelled_family,
    limit=of_f2_margin,
)
CLAIMS = (gamma1, gamma2)
