"""C, §2.3 and eq. (10): max margins in F1 and F2 with their certificates, and the distance between classes."""

from __future__ import annotations

import itertools

import numpy as np

from ...diagnostics import interclass_distance
from ...inputs import Array
from ...limits import arc_cosine_kernel, f1_max_margin, f2_max_margin, margin_certificate
from ...models import augmented
from ...records import Limit
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import cluster_data
from .hypotheses import DATA, SEPARABLE, SIGNS, TWO_CLASSES
from .setting import inputs_of

ROUNDING = 1e-12
"""What recomputing a margin or a distance in floats leaves, relative."""
PROVEN = 1e-8
"""Relative gap at which a max margin counts as found: f1_max_margin is asked for 1e-9."""
RANDOM_DIRECTIONS = 4000
FEATURES = 2000
"""Neurons of the random first layer whose margin is compared with the kernel's."""
DEVIATIONS = 6.0
"""Standard errors that an entry of a random-feature kernel may be off, in Bernstein's inequality."""
CANCELLATION = 10 * float(np.finfo(float).eps)
"""What rounding leaves of a relative gap, over the square of the kernel's size over γ₂."""


def _gamma1(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    found = f1_max_margin(data.X, data.y)
    p, proof = found.stats["weights"], found.certificate
    judged = margin_certificate(found.value, data.X, data.y, weights=p)
    size = max(proof.dual, np.finfo(float).tiny)
    checks = [
        Check("|margin of the measure − γ₁'s lower bound|/γ₁", abs(judged.margin - proof.primal) / size, "<=", ROUNDING),
        Check("least mass, over the total", float(np.min(found.value.shares)), ">=", 0.0),
        Check("|total mass − 1|", abs(found.value.norm - 1), "<=", ROUNDING),
        Check("largest gain of random directions, over the upper bound", _largest_gain(data.X, data.y, p) / size, "<=", 1.0),
    ]
    if proof.kind != "exact":
        return (*checks, Check("lower bound, over the proven upper bound", proof.primal / size, "<=", 1.0))
    return (
        *checks,
        Check("(i) slack of the support: (max J − ∫J dν)/γ₁", judged.direction_slack / size, "<=", PROVEN),
        Check("(ii) slack of the samples: (Σp_iy_if(x_i) − margin)/γ₁", judged.sample_slack / size, "<=", PROVEN),
    )


def _largest_gain(X: Array, y: Array, p: Array) -> float:
    """max |½Σ_ip_iy_i(⟨u, (x_i, 1)⟩)₊| over random unit u."""
    inputs = augmented(X)
    u = np.random.default_rng(0).standard_normal((RANDOM_DIRECTIONS, inputs.shape[1]))
    u /= np.linalg.norm(u, axis=1)[:, None]
    return float(np.max(np.abs(0.5 * np.maximum(u @ inputs.T, 0.0) @ (p * y))))


def _gamma2(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    K, found = arc_cosine_kernel(data.X), f2_max_margin(data.X, data.y)
    drawn = f2_max_margin(data.X, data.y, features=FEATURES)
    hidden = drawn.value.features(data.X)
    worst = np.abs(hidden @ hidden.T / FEATURES - K)
    off, size = float(np.max(worst)), float(np.max(K))
    rounding = CANCELLATION * size / max(found.objective, drawn.objective, ROUNDING) ** 2
    upper = f1_max_margin(data.X, data.y, gap=PROVEN).certificate.dual
    return (
        Check("gap of γ₂, relative", _relative_gap(found), "<=", PROVEN, rounding),
        Check("gap of γ₂^(m), relative", _relative_gap(drawn), "<=", PROVEN, rounding),
        Check("|norm of the classifier − 1|", abs(found.value.norm - 1), "<=", PROVEN, rounding),
        Check(
            "|γ₂^(m)² − γ₂²| (at most the largest error of the kernel)",
            abs(drawn.objective**2 - found.objective**2),
            "<=",
            off + PROVEN * size,
        ),
        Check(
            "largest error of the kernel of m random features, over what Bernstein's inequality allows",
            float(np.max(worst / _bernstein(data.X, K))),
            "<=",
            1.0,
        ),
        Check("γ₂ (C's norms lack a factor: γ₂ ≤ 2γ₁)", found.objective, "<=", 2 * upper),
    )


def _bernstein(X: Array, K: Array) -> Array:
    """What the mean of σ(⟨u, x⟩)σ(⟨u, x'⟩) over m random u may be off: its variance is known, its values are at most
    ½(‖x‖‖x'‖ + ⟨x, x'⟩)."""
    inputs = augmented(X)
    lengths = np.linalg.norm(inputs, axis=1)
    largest = (np.outer(lengths, lengths) + inputs @ inputs.T) / 2
    variance = np.maximum(arc_cosine_kernel(X, activation="squared_relu") - K**2, 0.0)
    rounding = ROUNDING * np.outer(lengths, lengths)
    return DEVIATIONS * np.sqrt(variance / FEATURES) + DEVIATIONS**2 / 3 * largest / FEATURES + rounding


def _relative_gap(limit: Limit) -> float:
    return (limit.certificate.dual - limit.certificate.primal) / max(limit.certificate.dual, np.finfo(float).tiny)


def _eq10(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    brackets = [interclass_distance(data.X, data.y, rank) for rank in range(1, data.d + 1)]
    plus, minus = data.X[data.y > 0], data.X[data.y < 0]
    plain = float(np.min(np.linalg.norm(plus[:, None] - minus[None], axis=2)))
    checks = [
        Check("Δ_d (no projection), over the least distance of the classes", brackets[-1].objective / plain, "==", 1.0, ROUNDING)
    ]
    for rank, found in enumerate(brackets, start=1):
        V = found.value
        closest = float(np.min(np.linalg.norm((plus[:, None] - minus[None]) @ V, axis=2)))
        checks += [
            Check(f"Δ_{rank}: frame's distance from orthonormal", float(np.max(np.abs(V.T @ V - np.eye(rank)))), "<=", ROUNDING),
            Check(
                f"Δ_{rank}: |distance after the projection − lower bound|", abs(closest - found.objective), "<=", ROUNDING * plain
            ),
            Check(f"Δ_{rank}: lower bound, at most the upper", found.objective, "<=", found.certificate.dual),
            Check(f"Δ_{rank}: lower bound, at most Δ_d", found.objective, "<=", plain, ROUNDING * plain),
        ]
    checks += [
        Check(f"upper bound of Δ_{rank}, at least the lower one of Δ_{rank - 1}", after.certificate.dual, ">=", before.objective)
        for rank, (before, after) in enumerate(itertools.pairwise(brackets), start=2)
    ]
    return tuple(checks)


gamma1 = Claim(
    "C/gamma1",
    "γ₁ has a maximiser ν of mass one with weights p: ν sits where J(θ) = Σp_iy_iφ(θ, x_i) is largest, p on the margin.",
    "C, eq. (4) and Proposition 12",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _gamma1,
)
gamma2 = Claim(
    "C/gamma2",
    "γ₂ is a hard-margin SVM with the arc-cosine kernel; with m random features γ₂^(m) tends to it as their kernel does.",
    "C, eq. (5)",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _gamma2,
)
eq10 = Claim(
    "C/eq10",
    "Δ_r, the distance of the classes after the best projection of rank r, grows with r up to their plain distance.",
    "C, eq. (10)",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE),
    lambda key: cluster_data(key, d=4),
    _eq10,
)

CLAIMS = (gamma1, gamma2, eq10)
