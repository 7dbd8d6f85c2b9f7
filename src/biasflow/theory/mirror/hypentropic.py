"""R, §3.1 and A.3: the hypentropy as a potential; §3.2: the global rates it gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...diagnostics import convergence_bounds
from ...diagnostics.bounds import as_mirror, hypentropy_of, local_bounds
from ...inputs import Array
from ...potentials import Hypentropy
from ..evidence import Evidence
from ..examples import half_line_problem, mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, HYPENTROPY, MIRROR, NONTRIVIAL, POSITIVE, REPRESENTABLE, SQUARE
from ..verdicts import Check, Claim
from .rates import RESOLVED, ROUNDING, bounded

EPS = float(np.finfo(float).eps)
SPAN = 200.0
"""Range of η sampled: β from α·e^{−200} to α·e^{200}."""
DIFFERENCES = 1e-9
"""Relative error of a fourth-order difference quotient with relative step 1e-3."""
MANY = 1e6


def _sample(evidence: Evidence) -> tuple[Hypentropy, Array]:
    """The hypentropy of the problem, half-lines oriented, and points of its domain: a few per coordinate, log-spaced."""
    _, potential = hypentropy_of(as_mirror(evidence.problem).potential)
    d = evidence.mirror.X.shape[1]
    signs = potential.half_lines(d)
    size = np.geomspace(1e-6, 1e6, 12)[:, None] * np.where(signs != 0, 1.0, np.exp(potential.log_units(d)))
    return potential, np.concatenate([np.where(signs != 0, signs, 1.0) * size, np.where(signs != 0, signs, -1.0) * size])


def _lem3_3(evidence: Evidence) -> tuple[Check, ...]:
    potential, points = _sample(evidence)
    d = points.shape[1]
    signs = potential.half_lines(d)
    eta = np.linspace(-SPAN, SPAN, 81)[:, None] * np.ones(d)
    back = max(float(np.max(np.abs(potential.grad(potential.grad_conjugate(row)) - row) / (1 + np.abs(row)))) for row in eta)
    curvature = min(float(np.min(potential.hessian_diag(row) * np.hypot(row, potential.alpha))) for row in points)
    checks = [
        Check("largest error of ∇Φ(∇Φ*(η)) = η for |η| ≤ 200", back, "==", 0.0, 100 * EPS),
        Check("least Φ''·√(x²+α²) on a sample (strict convexity)", curvature, "==", 1.0, 10 * EPS),
    ]
    if np.any(signs):
        wall = np.where(signs != 0, signs, 1.0) * 1e-300
        slope = float(np.max((signs * potential.grad(np.where(signs != 0, wall, 0.0)))[signs != 0]))
        checks.append(Check("⟨∇φ₀(tx), x⟩/|x| at the wall, t|x| = 1e-300", slope, "<=", float(np.log(1e-300)) * (1 - 1e-12)))
    return tuple(checks)


def _lemA3(evidence: Evidence) -> tuple[Check, ...]:
    potential, points = _sample(evidence)
    signs = potential.half_lines(points.shape[1])
    first = second = formula = 0.0
    for row in points:
        h = 1e-3 * np.where(signs != 0, np.abs(row), np.hypot(row, potential.alpha))
        grad, hessian = potential.grad(row), potential.hessian_diag(row)
        slope = _difference(lambda x: potential.at(x).value(), row, h)
        first = largest(first, np.abs(slope - grad) / (1 + np.abs(grad)))
        second = largest(second, np.abs(_difference(potential.grad, row, h) / hessian - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = np.where(signs != 0, np.sign(row) * np.log(np.abs(row)), np.arcsinh(row / potential.alpha))
        formula = largest(formula, np.abs(grad - expected) / (1 + np.abs(expected)))
        formula = largest(formula, np.abs(hessian * np.hypot(row, potential.alpha) - 1))
    return (
        Check(
            "φ' as printed: arcsinh(x/α), sign(x)log|x|; φ'' = 1/√(x²+α²); largest relative error", formula, "==", 0.0, 20 * EPS
        ),
        Check("φ' against differences of φ", first, "==", 0.0, DIFFERENCES),
        Check("φ'' against differences of φ'", second, "==", 0.0, DIFFERENCES),
    )


def largest(so_far: float, values: Array) -> float:
    """The larger of a number and the largest of some; not a number where one of them is not."""
    return float(np.maximum(so_far, np.max(values)))


def _difference(function: Callable[[Array], Array], x: Array, h: Array) -> Array:
    return (8 * (function(x + h) - function(x - h)) - (function(x + 2 * h) - function(x - 2 * h))) / (12 * h)


def _resolved(evidence: Evidence) -> tuple[Array, Array]:
    """Times and D_{Φ_r}(β*, β(t)) while the integrator resolves it."""
    factor, _ = hypentropy_of(evidence.mirror.potential)
    seen = RESOLVED * evidence.start_divergence < evidence.divergences
    return evidence.trajectory.times[seen], evidence.divergences[seen] / factor


def _lem3_6(evidence: Evidence) -> tuple[Check, ...]:
    bounds = convergence_bounds(evidence.problem, evidence.trajectory)
    t, D = _resolved(evidence)
    near = local_bounds(evidence.mirror, 1e-3 * evidence.start_divergence)
    later = evidence.divergences <= near.radius
    later &= RESOLVED * evidence.start_divergence < evidence.divergences
    checks = [
        bounded("max D_{Φ_r}(β*, β(t)) over D₀e^{−κ₁t}", D, bounds.linear(t)),
        Check("max D_{Φ_r}·κ₁t/D₀", float(np.max(D * bounds.kappa1 * t / bounds.start_divergence)), "<=", 1.0, ROUNDING),
    ]
    if np.sum(later) >= 2:
        s, E = evidence.trajectory.times[later], evidence.divergences[later]
        checks.append(
            bounded("the same near β*, with the curvature there (after the lemma)", E, E[0] * np.exp(-near.weighted * (s - s[0])))
        )
    return tuple(checks)


def _lem3_7(evidence: Evidence) -> tuple[Check, ...]:
    bounds = convergence_bounds(evidence.problem, evidence.trajectory)
    t, D = _resolved(evidence)
    m = MANY * 2 * bounds.mass / bounds.inf_r
    limit = 2 * m * float(np.log1p(2 * bounds.mass / (m * bounds.inf_r))) * bounds.inf_r / (4 * bounds.mass)
    share = bounds.C * bounds.inf_r / (4 * bounds.mass)
    return (
        Check("C over 4M/inf r, its limit for many neurons", share, "<=", 1 + ROUNDING),
        bounded("max D_{Φ_r}(β*, β(t))·(κ₂t + 1/D₀)", D, bounds.sublinear(t)),
        Check("C·inf r/(4M) with 10⁶·2M/inf r neurons", limit, "==", 1.0, 1 / MANY),
    )


lem3_3 = Claim(
    "R/lem3.3",
    "The hypentropy compatible with z is of Legendre type on its domain, and ∇Φ_α maps it onto R^d.",
    "R, Lemma 3.3",
    (MIRROR, HYPENTROPY, REPRESENTABLE),
    half_line_problem,
    _lem3_3,
)
lemA3 = Claim(
    "R/lemA3",
    "φ_α' = arcsinh(x/α), φ_α'' = 1/√(x²+α²); φ₀' = sign(x)log|x|, φ₀'' = 1/|x| on the half-line of z.",
    "R, Lemma A.3 and Definitions 3.1, 3.2",
    (MIRROR, HYPENTROPY, REPRESENTABLE),
    half_line_problem,
    _lemA3,
)
GLOBAL = (MIRROR, SQUARE, HYPENTROPY, POSITIVE, REPRESENTABLE, CONSISTENT, NONTRIVIAL, FULL_RANK)
lem3_6 = Claim(
    "R/lem3.6",
    "For the hypentropy, D_{Φ_r}(β*, β(t)) ≤ D_{Φ_r}(β*, β₀)·e^{−κ₁t}, κ₁ = inf r/‖Xᵀ†‖² (R/sharp: four times that).",
    "R, Lemma 3.6",
    GLOBAL,
    mirror_problem,
    _lem3_6,
)
lem3_7 = Claim(
    "R/lem3.7",
    "With ‖β(t)‖₁ ≤ M, D_{Φ_r}(β*, β(t)) ≤ 1/(κ₂t + c), κ₂ = 1/(C‖Xᵀ†‖)², C = 2m·log(1 + 2M/(m·inf r)) → 4M/inf r as m → ∞.",
    "R, Lemma 3.7",
    GLOBAL,
    mirror_problem,
    _lem3_7,
)

CLAIMS = (lem3_3, lemA3, lem3_6, lem3_7)
