"""R, §2.2: Łojasiewicz conditions and the local rates they give.

With β* the limit, dD_φ(β*, β(t))/dt = −‖Xβ−y‖² = −2D_F(β*, β(t)) exactly, so a lower bound on D_F in terms of D_φ is a rate.
Theorem 2.6 is false as printed: that ∇φ is L-Lipschitz on the sublevel set B alone is not enough (co-coercivity, printed in the
wrong direction, needs φ'' ≤ L on a convex set), and ‖·‖_* lives on R^d. Here B lies in the box Π{D_{φ_i}(β*_i, ·) ≤ r}, on
which φ'' is bounded.
"""

from __future__ import annotations

import numpy as np

from ...diagnostics import local_bounds
from ...diagnostics.bounds import asymptotic_rate
from ...inputs import Array
from ..evidence import Evidence
from ..examples import mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, MIRROR, NONTRIVIAL, REACHED, SQUARE
from ..verdicts import Check, Claim
from .rates import RESOLVED, ROUNDING, bounded

SHARES = (1.0, 0.1, 1e-3)
"""Radii, as shares of D_φ(β*, β₀)."""
QUADRATURE = 1e-6
"""Relative error of an integral of the residual over the dense output, integrated to 1e-8."""
PAIRS = 20


def _lem2_4(evidence: Evidence) -> tuple[Check, ...]:
    """D_F by its definition, at points of the trajectory, against ½‖Xβ₀−Xβ₁‖²."""
    X, y, betas = evidence.mirror.X, evidence.mirror.y, evidence.predictors
    picked = betas[np.linspace(0, len(betas) - 1, PAIRS).astype(int)]
    worst, scale = 0.0, 0.0
    for first, second in zip(picked, np.roll(picked, 7, axis=0), strict=True):
        residual = X @ second - y
        terms = [0.5 * np.sum((X @ first - y) ** 2), 0.5 * np.sum(residual**2), (X.T @ residual) @ (first - second)]
        off = terms[0] - terms[1] - terms[2] - 0.5 * float(np.sum((X @ (first - second)) ** 2))
        worst, scale = float(np.maximum(worst, abs(off))), float(np.max([scale, *np.abs(terms)]))
    error = 100 * np.finfo(float).eps
    return (Check("|D_F(β₀, β₁) − ½‖Xβ₀−Xβ₁‖²| over its terms", worst / scale, "==", 0.0, error),)


def _lem2_5(evidence: Evidence) -> tuple[Check, ...]:
    """dD/dt = −2D_F, and what a θ-Łojasiewicz condition with the constant met on the way gives for θ = 1, 2."""
    from scipy.integrate import quad

    t, D, loss = evidence.trajectory.times, evidence.divergences, evidence.half_loss
    after = np.flatnonzero((0.1 * evidence.start_divergence >= D) & (RESOLVED * evidence.start_divergence < D))
    if after.size < 3:
        return (Check("times after D_φ ≤ r", float("nan"), ">=", 3.0),)
    first = after[0]
    last = after[min(int(np.searchsorted(-D[after], -1e-3 * D[first])), after.size - 1)]
    flow, m = evidence.trajectory, evidence.mirror

    def rate(s: float) -> float:
        return float(np.sum((m.X @ evidence.effective(flow.at(s)) - m.y) ** 2))

    lost = quad(rate, t[first], t[last], epsrel=QUADRATURE / 10, limit=500, points=t[first + 1 : last][:50])[0]
    checks = [Check("∫‖Xβ−y‖² over the loss of D_φ", lost / float(D[first] - D[last]), "==", 1.0, 10 * QUADRATURE)]
    for theta, bound in ((1, _exponential), (2, _hyperbolic)):
        kappa = float(np.min(2 * loss[after] / D[after] ** theta))
        predicted = bound(kappa, t[after] - t[first], float(D[first]))
        checks.append(bounded(f"max D_φ over its bound, θ = {theta}, least κ met after T₀", D[after], predicted))
    return tuple(checks)


def _exponential(kappa: float, t: Array, start: float) -> Array:
    return start * np.exp(-kappa * t)


def _hyperbolic(kappa: float, t: Array, start: float) -> Array:
    return 1 / (kappa * t + 1 / start)


def _after(evidence: Evidence, radius: float) -> tuple[Array, Array] | None:
    """Times since D_φ first was at most the radius, and D_φ there."""
    t, D = evidence.trajectory.times, evidence.divergences
    inside = np.flatnonzero((radius * (1 + ROUNDING) >= D) & (RESOLVED * evidence.start_divergence < D))
    return (t[inside] - t[inside[0]], D[inside]) if inside.size >= 2 else None


def _thm2_6(evidence: Evidence) -> tuple[Check, ...]:
    checks = []
    for share in SHARES:
        radius = share * evidence.start_divergence
        bounds, seen = local_bounds(evidence.mirror, radius), _after(evidence, radius)
        if seen is None:
            continue
        t, D = seen
        for name, kappa in (("ℓ2", bounds.linear), ("weighted ℓ2", bounds.weighted)):
            checks.append(
                bounded(f"max D_φ over D_φ(T₀)e^(−κ(t−T₀)), r = {share:g}·D₀, {name}", D, _exponential(kappa, t, float(D[0])))
            )
    near = local_bounds(evidence.mirror, 1e-9 * evidence.start_divergence).weighted
    exact = asymptotic_rate(evidence.mirror, evidence.projection)
    return (*checks, Check("2κ near β*, weighted ℓ2, over the exact rate", 2 * near / exact, "<=", 1 + ROUNDING))


def _thm2_7(evidence: Evidence) -> tuple[Check, ...]:
    checks = []
    for share in SHARES:
        radius = share * evidence.start_divergence
        bounds, seen = local_bounds(evidence.mirror, radius, ("l2", "l1", "linf")), _after(evidence, radius)
        if seen is None:
            continue
        t, D = seen
        for norm, kappa in bounds.sublinear.items():
            checks.append(bounded(f"max D_φ·(κ₂(t−T₀) + c), r = {share:g}·D₀, {norm}", D, _hyperbolic(kappa, t, float(D[0]))))
        with np.errstate(divide="ignore"):
            crude = float(np.max(D * bounds.linear * t / D[0]))
        checks.append(Check(f"max D_φ·κ₁(t−T₀)/D_φ(T₀), r = {share:g}·D₀ (§2.2.2)", crude, "<=", 1.0, ROUNDING))
    return tuple(checks)


INSIDE = (MIRROR, SQUARE, CONSISTENT, NONTRIVIAL, REACHED)

lem2_4 = Claim("R/lem2.4", "D_F(β₀, β₁) = ½‖Xβ₀−Xβ₁‖².", "R, Lemma 2.4", (MIRROR, SQUARE, NONTRIVIAL), mirror_problem, _lem2_4)
lem2_5 = Claim(
    "R/lem2.5",
    "dD_φ/dt = −2D_F; where D_F ≥ (κ/2)D_φ^θ holds once D_φ(β*, β) ≤ r, dD_φ/dt ≤ −κD_φ^θ from T₀ on.",
    "R, Lemma 2.5",
    INSIDE,
    mirror_problem,
    _lem2_5,
)
thm2_6 = Claim(
    "R/thm2.6",
    "Once D_φ(β*, β) ≤ r, D_φ ≤ D_φ(T₀)·e^{−κ(t−T₀)}, κ = 1/(L_φ‖Xᵀ†‖²), with φ'' ≤ L_φ on a convex set around the"
    " sublevel set (corrected: a Lipschitz constant on the sublevel set is not enough).",
    "R, Theorem 2.6, corrected",
    (*INSIDE, FULL_RANK),
    mirror_problem,
    _thm2_6,
)
thm2_7 = Claim(
    "R/thm2.7",
    "Once D_φ(β*, β) ≤ r, D_φ ≤ 1/(κ₂(t−T₀) + c), κ₂ = 1/(C_φ‖Xᵀ†‖)², C_φ = sup‖∇φ(β)−∇φ(β*)‖_*; also D_φ ≤ D_φ(T₀)/(κ₁(t−T₀)).",
    "R, Theorem 2.7 and §2.2.2",
    (*INSIDE, FULL_RANK),
    mirror_problem,
    _thm2_7,
)

CLAIMS = (lem2_4, lem2_5, thm2_6, thm2_7)
