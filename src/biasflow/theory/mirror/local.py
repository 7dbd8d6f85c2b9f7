"""R, §2.2: Łojasiewicz conditions and the local rates they give.

With β* the limit, dD_φ(β*, β(t))/dt = −‖Xβ−y‖² = −2D_F(β*, β(t)) exactly, so a lower bound on D_F
in terms of D_φ is a rate. Theorem 2.6 is false as printed: that ∇φ is L-Lipschitz on the sublevel
set B alone is not enough (co-coercivity, printed in the wrong direction, needs φ'' ≤ L on a convex
set), and ‖·‖_* lives on R^d. Here B lies in the box Π{D_{φ_i}(β*_i, ·) ≤ r}, on which φ'' is
bounded.

The rates are measured on the trajectory; their constants are compared with ones found here from the
formulas of the potential.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..._core.arguments import SMALLEST_NORMAL, Array, Index, Mask
from ...diagnostics import local_bounds
from ...diagnostics.bounds import asymptotic_rate
from ..evidence import Evidence
from ..examples import mirror_family, mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, MIRROR, NONTRIVIAL, REACHED, SQUARE
from ..verdicts import Check, Claim, Kind, unknown_check
from .conditions import MOVES, ONTO, START
from .flow_rates import eq2_checks, largest_check
from .formulas import Formulas
from .limits_of_flows import of_this_flow
from .measured import (
    EPS,
    SLOW_FLOW,
    Measured,
    exponential_check,
    hyperbolic_check,
    measured,
    membership_check,
    rate_check,
    within_floats,
)

SHARES = (1.0, 0.1, 1e-3)
"""Radii, as shares of D_φ(β*, β₀)."""
NEAR_RADIUS = 1e-9
"""Radius, as a share of D₀, at which the weighted rate is that of the linearised flow but for
√NEAR_RADIUS."""
PAIRS = 8
"""Of points at which D_F is computed in exact arithmetic."""
BISECTIONS = 54
"""Of the side of a box, found to a factor of two: its ends are then equal to rounding."""
FIRST_CHANGE = 1e-12
"""Change of η with which the search for a side begins."""
UNBOUNDED_CHANGE = 1e5
"""Change of η beyond which a box is called unbounded."""
CONSTANTS_ERROR = 1e-8
"""Relative agreement of constants found by bisection to rounding: the ends of a box depend on D_φ
through a square root."""
BELOW = SMALLEST_NORMAL / EPS
"""Constants below it are zero as far as floats say: the least weight they come from may have lost
digits to underflow."""
MOST_ENTRIES = 600
"""Entries of X up to which the norms that need linear programs are computed."""


def objective(X: list[list[Fraction]], y: list[Fraction], beta: list[Fraction]) -> Fraction:
    """F(β) = ½‖Xβ − y‖², exactly."""
    residuals = [
        sum((a * b for a, b in zip(row, beta, strict=True)), -label)
        for row, label in zip(X, y, strict=True)
    ]
    return sum((r * r for r in residuals), Fraction()) / 2


def _lem2_4(evidence: Evidence) -> tuple[Check, ...]:
    """D_F by its definition from values of F alone, in rational arithmetic; a central difference is
    ⟨∇F(β₁), v⟩ for squares."""
    X, y = evidence.mirror.X, evidence.mirror.y
    rng = np.random.default_rng(0)
    exact_X, exact_y = [[Fraction(v) for v in row] for row in X], [Fraction(v) for v in y]
    worst, allowed, skew = 0.0, 0.0, 0.0
    for draw in range(PAIRS):
        first = np.asarray(rng.standard_normal(X.shape[1]) * 10.0 ** rng.uniform(-3, 3))
        second = np.asarray(rng.standard_normal(X.shape[1]))
        if draw % 2:
            second = first * (1 + 1e-6 * second)
        one, two = [Fraction(v) for v in first], [Fraction(v) for v in second]
        forth, back = (_definition(exact_X, exact_y, *pair) for pair in ((one, two), (two, one)))
        claimed = mahalanobis(X, first, second)
        step = first - second
        rounding = (
            2
            * (len(step) + 2)
            * EPS
            * float(np.linalg.norm(np.abs(X) @ np.abs(step)) / np.linalg.norm(X @ step))
        )
        off = abs(float(Fraction(claimed) / forth) - 1)
        if allowed == 0 or off / rounding > worst / allowed:
            worst, allowed = off, rounding
        skew = max(skew, abs(float(back / forth) - 1))
    exact = "exact rational arithmetic, ∇F by central differences"
    return (
        Check(
            "½‖Xβ₀−Xβ₁‖² over D_F(β₀, β₁) by its definition",
            1 + worst,
            "==",
            1.0,
            allowed + EPS,
            witness=exact,
        ),
        Check("D_F(β₁, β₀)/D_F(β₀, β₁): symmetric", 1 + skew, "==", 1.0, 0.0, witness=exact),
    )


def mahalanobis(X: Array, first: Array, second: Array) -> float:
    """What the lemma says D_F is: ½‖Xβ₀ − Xβ₁‖²."""
    return 0.5 * float(np.sum((X @ (first - second)) ** 2))


def _definition(
    X: list[list[Fraction]], y: list[Fraction], first: list[Fraction], second: list[Fraction]
) -> Fraction:
    ahead = [2 * b - a for a, b in zip(first, second, strict=True)]  # β₁ − (β₀ − β₁)
    slope = (objective(X, y, first) - objective(X, y, ahead)) / 2
    return objective(X, y, first) - objective(X, y, second) - slope


def box(m: Measured, radius: float) -> tuple[Array, Array]:
    """(η*−η_low, η_high−η*): how far η_i may move until D_{φ_i}(β*_i, ·) is the radius, by
    bisection on the formulas."""
    return _side(m.formulas, m.best, radius, -1.0), _side(m.formulas, m.best, radius, 1.0)


def _side(f: Formulas, best: Array, radius: float, side: float) -> Array:
    centre = f.gradient(best)

    def inside(delta: Array) -> Mask:
        with np.errstate(all="ignore"):
            eta = centre + side * delta
            reached = f.inverse(eta)
            D = f.divergence(best, reached)
            # η says where β no longer can
            gone = (f.signs != 0) & (best != 0) & (np.abs(reached) < SMALLEST_NORMAL)
            D = np.where(
                gone,
                best * (centre - eta) - f.conjugate(best) + f.conjugate(np.zeros_like(best)),
                D,
            )
            return (radius >= D) & np.isfinite(reached)

    low, high = np.zeros_like(best), np.full_like(best, FIRST_CHANGE)
    within = inside(high)
    while np.any(within & (high < UNBOUNDED_CHANGE)):
        low, high = np.where(within, high, low), np.where(within, 2 * high, high)
        within = inside(high)
    open_ended = within
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        within = inside(middle)
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.where(open_ended | (high > UNBOUNDED_CHANGE), np.inf, high)


def _side_error(m: Measured, radius: float, delta: Array, side: float) -> Array:
    """Of δ with D_φ(β*, β(η* + δ)) = r: rounding of η, and rounding of D and the error of η* over
    dD/dδ = |β − β*|."""
    f = m.formulas
    with np.errstate(all="ignore"):
        centre, w = f.gradient(m.best), f.weight(m.best)
        reached = f.inverse(centre + side * delta)
        slope = np.abs(reached - m.best)
        # dD/dη* at a fixed δ
        turned = np.abs(reached - m.best - side * w * delta) * m.best_error / w
        rounding = f.rounding(m.best, reached)
        gone = (f.signs != 0) & (np.abs(reached) < SMALLEST_NORMAL)
        rounding = np.where(
            gone, 16 * EPS * (np.abs(m.best) * (1 + np.abs(centre) + delta)), rounding
        )
        error = 4 * EPS * (1 + np.abs(centre) + delta) + (turned + rounding) / slope
    return np.where(np.isfinite(delta), error, 0.0)


def spread_of_box(m: Measured, radius: float) -> tuple[float, float]:
    """C_φ in ℓ2 over the box, and its relative error."""
    down, up = box(m, radius)
    longest = np.maximum(down, up)
    errors = np.maximum(_side_error(m, radius, down, -1.0), _side_error(m, radius, up, 1.0))
    spread = float(np.linalg.norm(longest))
    return spread, float(np.linalg.norm(errors)) / spread if np.isfinite(spread) else 0.0


def least_weights(m: Measured, radius: float) -> Array:
    """inf 1/φ'' over each side of the box: at the point nearest to the minimum of 1/φ'', at the
    wall's end of a half-line."""
    return weights_of_box(m, radius)[0]


def weights_of_box(m: Measured, radius: float) -> tuple[Array, Array]:
    """Those, and their relative errors: with w the weight at η, dw/w = w'(β)dη."""
    f, (down, up) = m.formulas, box(m, radius)
    with np.errstate(all="ignore"):
        centre = f.gradient(m.best)
        nearest = np.clip(0.0, centre - down, centre + up)
        wall = np.where(f.signs > 0, centre - down, centre + up)
        point = np.where(f.signs != 0, wall, nearest)
        reached = f.inverse(point)
        w = f.weight(reached)
        steep = f.slope(reached) if f.slope else w / f.scale(reached)
        lower = (f.signs > 0) | ((f.signs == 0) & (point > 0))
        moved = np.where(lower, _side_error(m, radius, down, -1.0), _side_error(m, radius, up, 1.0))
        error = np.abs(steep) * (moved + m.best_error / f.weight(m.best))
    fixed = ~np.isfinite(point) | ((f.signs == 0) & (point == 0))
    return np.where(np.isfinite(w), w, 0.0), np.where(fixed, 0.0, error)


def _weight_error(m: Measured) -> Array:
    """Relative error of 1/φ'' at β*, of its slope and the error of β*; none at a wall, where it is
    zero."""
    f = m.formulas
    with np.errstate(all="ignore"):
        w = f.weight(m.best)
        error = np.abs(f.slope(m.best) if f.slope else w / f.scale(m.best)) * m.best_error / w
    return np.where(w > 0, error, 0.0)


def least_eigenvalue(X: Array, weights: Array) -> float:
    """λ_min(X·diag(ω)·Xᵀ)."""
    return max(float(np.linalg.eigvalsh((X * weights) @ X.T)[0]), 0.0)


def eigen_error(X: Array, weights: Array) -> float:
    """Relative rounding of that eigenvalue."""
    values = np.linalg.eigvalsh((X * weights) @ X.T)
    return float(8 * len(values) * EPS * values[-1] / values[0]) if values[0] > 0 else np.inf


def constant_check(quantity: str, stated: float, found: float, error: float, m: Measured) -> Check:
    """A constant of a theorem against the same from the formulas of the potential, as a ratio."""
    if not np.isfinite(error):
        return unknown_check(quantity, "the least eigenvalue is below the rounding of the largest")
    if not np.isfinite(found):
        return Check(
            quantity,
            stated,
            "==",
            found,
            witness="formulas of φ, eigenvalues of X·diag(ω)·Xᵀ",
            size=1.0,
        )
    if abs(found) < BELOW:
        return Check(
            quantity,
            stated,
            "==",
            found,
            BELOW,
            witness="formulas of φ, eigenvalues of X·diag(ω)·Xᵀ",
            size=1.0,
        )
    witness = "formulas of φ, eigenvalues of X·diag(ω)·Xᵀ" if m.formulas.independent else ""
    return Check(
        quantity,
        stated / found,
        "==",
        1.0,
        error,
        witness=witness,
        reason="" if witness else m.missing,
    )


def _inside(m: Measured, radius: float) -> Index:
    """The times, as indices, from when D_φ is at most the radius, as long as it is resolved."""
    return m.resolved[m.D[m.resolved] <= radius * (1 + CONSTANTS_ERROR)]


@within_floats
def _lem2_5(evidence: Evidence) -> tuple[Check, ...]:
    """dD/dt = −2D_F, the flow stays in B(r), and a κ that is certified on all of B(r) is a rate,
    for θ = 1 and 2.

    With ω_i the least 1/φ'' on the box around B(r), f is strongly convex there with constant λ =
    λ_min(X·diag(ω)·Xᵀ), so that 2D_F = ‖∇f‖² ≥ 2λ(f − f*) = 2λD_φ, and 2D_F ≥ (2λ/r)D_φ²: neither
    looks at the flow.
    """
    m = measured(evidence)
    radius = 0.1 * m.D[0]
    after = _inside(m, radius)
    if after.size < 3:
        few = f"D_φ is known to three digits at {after.size} times after T₀; three are needed"
        return (*eq2_checks(m), unknown_check("least rate of D_φ after T₀, against κ on B(r)", few))
    first = int(after[0])
    notes = m.notes
    f = m.formulas
    with np.errstate(all="ignore"):
        between = f.gradient(m.betas[first]) - f.gradient(m.best)
        unsure = m.dual_error[first] + m.best_error / f.weight(m.best)
    weights = least_weights(m, radius)
    kappa = 2 * least_eigenvalue(m.X, weights) * (1 - min(eigen_error(m.X, weights), 1.0))
    return (
        *eq2_checks(m),
        membership_check(
            "distance of ∇φ(β(T₀)) − ∇φ(β*) from Im Xᵀ, relative", m.X, between, unsure, **notes
        ),
        exponential_check("least rate of D_φ after T₀, against κ on B(r), θ = 1", m, after, kappa),
        hyperbolic_check("the same for 1/D_φ, θ = 2", m, after, kappa / radius),
    )


@within_floats
def _thm2_6(evidence: Evidence) -> tuple[Check, ...]:
    m, checks = measured(evidence), []
    least = least_eigenvalue(m.X, np.ones(m.d))
    for share in SHARES:
        radius = share * m.D[0]
        bounds, seen = local_bounds(evidence.mirror, radius), _inside(m, radius)
        weights, unsure = weights_of_box(m, radius)
        place = int(np.argmin(weights))
        rounding = CONSTANTS_ERROR + eigen_error(m.X, np.ones(m.d)) + float(unsure[place])
        checks.append(
            constant_check(
                f"κ, r = {share:g}·D₀, ℓ2",
                bounds.linear,
                float(weights[place]) * least,
                rounding,
                m,
            )
        )
        # ω·(1 ± e) changes λ_min by a factor between 1 − max e and 1 + max e
        found, rounding = (
            least_eigenvalue(m.X, weights),
            CONSTANTS_ERROR + eigen_error(m.X, weights) + float(np.max(unsure)),
        )
        checks.append(
            constant_check(f"κ, r = {share:g}·D₀, weighted ℓ2", bounds.weighted, found, rounding, m)
        )
        for name, kappa in (("ℓ2", bounds.linear), ("weighted ℓ2", bounds.weighted)):
            quantity = f"least log(D(T₀)/D(t))/(t−T₀), against κ, r = {share:g}·D₀, {name}"
            if seen.size >= 2:
                checks.append(exponential_check(quantity, m, seen, kappa))
            else:
                checks.append(unknown_check(quantity, "the flow was not followed so far"))
    near = local_bounds(evidence.mirror, NEAR_RADIUS * m.D[0]).weighted
    exact = 2 * least_eigenvalue(m.X, m.formulas.weight(m.best))
    ratio, error = (
        2 * near / exact,
        CONSTANTS_ERROR
        + eigen_error(m.X, m.formulas.weight(m.best))
        + float(np.max(_weight_error(m))),
    )
    checks.append(
        Check(
            "2κ near β*, weighted ℓ2, over the exact rate",
            ratio,
            "<=",
            1 + error,
            0.0,
            witness="eigenvalues at β*",
        )
    )
    stated = asymptotic_rate(evidence.mirror, m.limit)
    return (
        *checks,
        constant_check("the rate of the linearised flow, as stated", stated, exact, error, m),
    )


@within_floats
def _thm2_7(evidence: Evidence) -> tuple[Check, ...]:
    m, checks = measured(evidence), []
    norms = ("l2", "l1", "linf") if m.X.size <= MOST_ENTRIES else ("l2",)
    least = least_eigenvalue(m.X, np.ones(m.d))
    f = m.formulas
    for share in SHARES:
        radius = share * m.D[0]
        bounds, seen = (
            local_bounds(evidence.mirror, radius, norms if share == 1 else ("l2",)),
            _inside(m, radius),
        )
        spread, unsettled = spread_of_box(m, radius)
        rounding = CONSTANTS_ERROR + eigen_error(m.X, np.ones(m.d)) + 2 * unsettled
        name = f"κ₂, r = {share:g}·D₀, ℓ2"
        checks.append(constant_check(name, bounds.sublinear["l2"], least / spread**2, rounding, m))
        if seen.size < 2:
            checks.append(
                unknown_check(f"rates from r = {share:g}·D₀", "the flow was not followed so far")
            )
            continue
        with np.errstate(all="ignore"):
            moved = np.linalg.norm(f.gradient(m.betas[seen]) - f.gradient(m.best), axis=1)
            unsure = np.linalg.norm(m.dual_error[seen], axis=1) / spread
        quantity = f"max ‖∇φ(β(t)) − ∇φ(β*)‖₂ over C_φ, r = {share:g}·D₀"
        checks.append(largest_check(quantity, moved / spread, unsure, 1.0, None, m))
        for norm, kappa in bounds.sublinear.items():
            quantity = f"least (1/D(t) − 1/D(T₀))/(t−T₀), against κ₂, r = {share:g}·D₀, {norm}"
            checks.append(hyperbolic_check(quantity, m, seen, kappa))
        since, D = m.times[seen[1:]] - m.times[seen[0]], m.D[seen[1:]]
        error = m.D_error[seen[1:]] / D * m.D[seen[0]] / D
        quantity = f"least D(T₀)/D(t)/(t−T₀), against κ₁, r = {share:g}·D₀ (§2.2.2)"
        checks.append(
            rate_check(quantity, m.D[seen[0]] / D, error, since, bounds.linear, **m.notes)
        )
    return tuple(checks)


INSIDE = (MIRROR, SQUARE, START, ONTO, CONSISTENT, MOVES, REACHED)
FOLLOWED = "the flow in β or in the weights, D_φ by quadrature, constants from the formulas of φ"

lem2_4 = Claim(
    "R/lem2.4",
    "D_F(β₀, β₁) = ½‖Xβ₀−Xβ₁‖².",
    "R, Lemma 2.4",
    (MIRROR, SQUARE, NONTRIVIAL),
    mirror_problem,
    _lem2_4,
    kind=Kind.STATIC,
    witness="exact rational arithmetic",
    family=mirror_family,
)
lem2_5 = Claim(
    "R/lem2.5",
    "dD_φ/dt = −2D_F; where D_F ≥ (κ/2)D_φ^θ holds once D_φ(β*, β) ≤ r, dD_φ/dt ≤ −κD_φ^θ from T₀ "
    "on.",
    "R, Lemma 2.5",
    (*INSIDE, FULL_RANK),
    mirror_problem,
    _lem2_5,
    kind=Kind.FLOW,
    witness=FOLLOWED,
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)
thm2_6 = Claim(
    "R/thm2.6",
    "Once D_φ(β*, β) ≤ r, D_φ ≤ D_φ(T₀)·e^{−κ(t−T₀)}, κ = 1/(L_φ‖Xᵀ†‖²), with φ'' ≤ L_φ on a "
    "convex set around the"
    " sublevel set (corrected: a Lipschitz constant on the sublevel set is not enough).",
    "R, Theorem 2.6, corrected",
    (*INSIDE, FULL_RANK),
    mirror_problem,
    _thm2_6,
    kind=Kind.FLOW,
    witness=FOLLOWED,
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)
thm2_7 = Claim(
    "R/thm2.7",
    "Once D_φ(β*, β) ≤ r, D_φ ≤ 1/(κ₂(t−T₀) + c), κ₂ = 1/(C_φ‖Xᵀ†‖)², C_φ = sup‖∇φ(β)−∇φ(β*)‖_*; "
    "also D_φ ≤ D_φ(T₀)/(κ₁(t−T₀)).",
    "R, Theorem 2.7 and §2.2.2",
    (*INSIDE, FULL_RANK),
    mirror_problem,
    _thm2_7,
    kind=Kind.FLOW,
    witness=FOLLOWED,
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)

CLAIMS = (lem2_4, lem2_5, thm2_6, thm2_7)
