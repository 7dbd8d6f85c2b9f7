"""R, §3.1 and A.3: the hypentropy as a potential, against the printed function in 80 digits; §3.2:
the global rates it gives."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from ..._core.arguments import Array
from ...diagnostics import convergence_bounds
from ...diagnostics.bounds import as_mirror, gradient_bound, hypentropy_of, local_bounds
from ...errors import BiasflowError
from ...potentials import Hypentropy
from ..evidence import Evidence
from ..examples import half_line_problem, hypentropy_family, mirror_problem, potential_family
from ..fits import exponent_check
from ..hypotheses import CONSISTENT, FULL_RANK, HYPENTROPY, MIRROR, POSITIVE, REPRESENTABLE, SQUARE
from ..verdicts import Check, Claim, Kind, unknown_check
from .conditions import MOVES
from .flow_rates import largest_check
from .limits_of_flows import of_this_flow
from .local import FOLLOWED, constant_check, eigen_error, least_eigenvalue
from .measured import (
    EPS,
    SLOW_FLOW,
    Measured,
    ended_check,
    exponential_check,
    hyperbolic_check,
    measured,
    rate_check,
    within_floats,
)

DIGITS = 80
"""Of the arithmetic in which the printed function is differentiated: with steps of 1e-20, φ'' keeps
40 digits."""
PRINTED = f"differences of the printed φ in {DIGITS} digits"
QUADRATURE = 1e-12
"""Relative error asked of an integral."""
OPERATIONS = 8.0
"""Roundings in a value of φ, φ' or φ'', each with a condition number of at most one."""
LARGEST_LOG = 690.0
"""|log|β|| up to which ∇Φ is inverted: the range of floats."""
COORDINATES = 6
"""Looked at, those with the least and largest α among them."""
WIDTHS = np.geomspace(1e3, 1e6, 7)
"""m over 2M/inf r, where C nears its limit."""
MEASURED_SHARE = 1e-3
"""Share of D₀ from which the local rate after Lemma 3.6 is measured."""


def _chosen(evidence: Evidence) -> tuple[Hypentropy, Array, Array]:
    """(Φ on a few coordinates, its α, the signs of its half-lines)."""
    _, potential = hypentropy_of(as_mirror(evidence.problem).potential)
    d = evidence.mirror.X.shape[1]
    alpha, signs = np.broadcast_to(potential.alpha, (d,)), potential.half_lines(d)
    order = np.argsort(alpha)
    picked = np.unique(order[np.linspace(0, d - 1, min(COORDINATES, d)).astype(int)])
    return potential.restricted(picked), alpha[picked], signs[picked]


def printed(alpha: float, x: Decimal) -> Decimal:
    """φ_α(x) as R prints it, Definitions 3.1 and 3.2."""
    size = abs(x)
    if alpha == 0:
        return size * size.ln() - size + 1
    a = Decimal(alpha)
    ratio = size / a
    return size * (ratio + (ratio * ratio + 1).sqrt()).ln() - (x * x + a * a).sqrt() + a


def derivatives(alpha: float, x: float) -> tuple[Decimal, Decimal, Decimal]:
    """(φ, φ', φ'') of the printed φ at a float, by central differences in as many digits as they
    need."""
    with localcontext() as context:
        point, unit = Decimal(x), Decimal(alpha) if alpha else Decimal(1)
        # digits that cancel in φ: twice as many as between x and its unit
        apart = abs(point.adjusted() - unit.adjusted())
        context.prec, context.Emin, context.Emax = DIGITS + 2 * apart, -(10**6), 10**6
        h = max(abs(point), Decimal(alpha)) * Decimal(10) ** (-DIGITS // 4)
        if alpha == 0:
            h = abs(point) * Decimal(10) ** (-DIGITS // 4)
        below, here, above = (printed(alpha, point + k * h) for k in (-1, 0, 1))
        return here, (above - below) / (2 * h), (above - 2 * here + below) / (h * h)


def _relative(found: float, true: Decimal) -> float:
    """|found/true − 1|; where the true one vanishes, the distance."""
    vanishes = abs(true) < Decimal(10) ** (-DIGITS // 4)
    return float(abs(Decimal(found) - true) / (Decimal(1) if vanishes else abs(true)))


def _lem3_3(evidence: Evidence) -> tuple[Check, ...]:
    """Onto: η as far out as floats reach is inverted, and the printed φ differentiated there gives
    it back.

    Strict convexity: ∇Φ grows between neighbours by ∫dx/√(x²+α²), which is positive. At the wall of
    a half-line |∇Φ| is as large as |log|x|| is, and points beyond it are refused.
    """
    potential, alpha, signs = _chosen(evidence)
    checks = [_onto(potential, alpha, signs), _convex(potential, alpha, signs)]
    return tuple(
        [*checks, _steep(potential, signs), _refused(potential, signs)] if np.any(signs) else checks
    )


def _onto(potential: Hypentropy, alpha: Array, signs: Array) -> Check:
    """Rounding of η moves β by |η|·eps of itself, and β's own rounding moves φ' by OPERATIONS·eps:
    over 1 + |η| that is eps."""
    log_unit = np.where(signs != 0, 0.0, np.log(np.where(signs != 0, 1.0, alpha)))
    largest, smallest = (
        LARGEST_LOG - log_unit,
        np.where(signs != 0, LARGEST_LOG, LARGEST_LOG - log_unit),
    )
    worst = 0.0
    for share in (-1.0, -0.5, -1e-3, 1e-9, 1e-3, 0.5, 1.0):
        eta = share * np.where(signs * share < 0, smallest, largest)
        beta = potential.grad_conjugate(eta)
        for i in range(len(alpha)):
            slope = derivatives(float(alpha[i]), float(beta[i]))[1]
            worst = max(
                worst,
                float(abs(slope - Decimal(float(eta[i]))) / (1 + abs(Decimal(float(eta[i]))))),
            )
    name = "largest |φ'(∇Φ*(η)) − η|/(1 + |η|), η as far as floats reach (onto)"
    return Check(name, worst, "==", 0.0, OPERATIONS * EPS, witness=PRINTED)


def _convex(potential: Hypentropy, alpha: Array, signs: Array) -> Check:
    """(∇Φ(b) − ∇Φ(a))/∫_a^b dx/√(x²+α²) = 1 on short and long intervals, by adaptive quadrature."""
    from scipy.integrate import quad

    unit, on = np.where(signs != 0, 1.0, alpha), signs != 0
    sign = np.where(signs < 0, -1.0, 1.0)
    worst, allowed = 0.0, 0.0
    for left, right in ((-1e3, -1.0), (-3.0, 0.5), (-1e-3, 2e-3), (0.1, 1e2), (1e3, 2e3)):
        low = np.where(on, abs(left) + abs(right), left) * unit
        high = np.where(on, 3 * low, right * unit)
        ends = [sign * potential.grad(sign * x) for x in (high, low)]
        for i in range(len(alpha)):
            ratio = float(alpha[i] / unit[i])
            knots = [x for x in (-10.0, 0.0, 10.0) if low[i] / unit[i] < x < high[i] / unit[i]]
            area, error = quad(
                lambda x, a=ratio: 1 / np.sqrt(x * x + a * a),
                low[i] / unit[i],
                high[i] / unit[i],
                points=knots or None,
                epsabs=0,
                epsrel=QUADRATURE,
                limit=200,
            )
            rounding = OPERATIONS * EPS * max(abs(ends[0][i]), abs(ends[1][i])) / area
            off = abs((ends[0][i] - ends[1][i]) / area - 1)
            if off - rounding - error / area > worst - allowed or allowed == 0:
                worst, allowed = off, rounding + error / area
    name = "(∇Φ(b) − ∇Φ(a))/∫dx/√(x²+α²) − 1, a < b (strict convexity)"
    return Check(name, worst, "==", 0.0, allowed, witness="adaptive quadrature of 1/√(x²+α²)")


def _steep(potential: Hypentropy, signs: Array) -> Check:
    on = signs != 0
    worst = 0.0
    for exponent in (-300, -150, -10):
        x = float(10.0**exponent)
        slope = (signs * potential.grad(np.where(on, signs * x, 1.0)))[on]
        true = derivatives(0.0, x)[1]
        worst = max(worst, *(_relative(float(s), true) for s in slope))
    name = "⟨∇φ₀(x), x⟩/|x| over log|x| as x nears the wall, less one"
    return Check(name, worst, "==", 0.0, OPERATIONS * EPS, witness=PRINTED)


def _refused(potential: Hypentropy, signs: Array) -> Check:
    """One where a point across the wall is refused, on each half-line."""
    refused = []
    for i in np.flatnonzero(signs):
        across = np.where(signs != 0, signs, 0.5)
        across[i] = -1e-300 * signs[i]
        try:
            potential.grad(across)
            refused.append(0.0)
        except BiasflowError:
            refused.append(1.0)
    name = "share of half-lines beyond whose wall points are refused"
    return Check(name, float(np.mean(refused)), "==", 1.0, witness="points across the wall")


def _lemA3(evidence: Evidence) -> tuple[Check, ...]:
    """φ, φ' and φ'' of the library against the printed φ and its differences."""
    potential, alpha, signs = _chosen(evidence)
    unit = np.where(signs != 0, 1.0, alpha)
    worst = np.zeros(3)
    for size in (1e-6, 3e-2, 0.9, 1.0, 1.1, 40.0, 1e6):
        for side in (1.0, -1.0):
            row = np.where(signs != 0, signs, side) * size * unit
            found = np.stack(
                [potential.at(row).value(), potential.grad(row), potential.hessian_diag(row)]
            )
            for i in range(len(alpha)):
                true = derivatives(float(alpha[i]), float(row[i]))
                worst = np.maximum(
                    worst, [_relative(float(v), t) for v, t in zip(found[:, i], true, strict=True)]
                )
    names = ("φ", "φ' = arcsinh(x/α), sign(x)log|x|", "φ'' = 1/√(x²+α²)")
    return tuple(
        Check(
            f"largest relative error of {name}",
            float(value),
            "==",
            0.0,
            OPERATIONS * EPS,
            witness=PRINTED,
        )
        for name, value in zip(names, worst, strict=True)
    )


def _scaled(evidence: Evidence) -> tuple[Measured, float]:
    """What is measured, and the c of φ = cΦ_r: D_{Φ_r} = D_φ/c."""
    factor, _ = hypentropy_of(evidence.mirror.potential)
    return measured(evidence), factor


@within_floats
def _lem3_6(evidence: Evidence) -> tuple[Check, ...]:
    m, factor = _scaled(evidence)
    bounds = convergence_bounds(evidence.problem, evidence.trajectory, time_s=evidence.time_left)
    start = np.unique(np.append(0, m.resolved))
    least = least_eigenvalue(m.X, np.ones(m.d))
    inf_r = factor * float(np.min(m.formulas.least))
    rounding = 16 * EPS + eigen_error(m.X, np.ones(m.d))
    checks = [
        constant_check(
            "κ₁ against inf r·σ_min(X)²/(2c)",
            bounds.kappa1,
            inf_r * least / (2 * factor),
            rounding,
            m,
        ),
        exponential_check("least log(D₀/D(t))/t, against κ₁", m, start, bounds.kappa1),
        ended_check(m),
    ]
    later = start[m.D[start] <= (1 - 1e-3) * m.D[0]]
    if later.size:
        error = m.D_error[later] / m.D[later] * m.D[0] / m.D[later]
        quantity = "least D₀/(t·D(t)), against κ₁"
        gained = m.D[0] / m.D[later]
        checks.append(rate_check(quantity, gained, error, m.times[later], bounds.kappa1, **m.notes))
    near = local_bounds(evidence.mirror, MEASURED_SHARE * m.D[0])
    seen = m.resolved[m.D[m.resolved] <= near.radius]
    quantity = "the same near β*, with the curvature there (after the lemma)"
    checks.append(
        exponential_check(quantity, m, seen, near.weighted)
        if seen.size >= 2
        else unknown_check(quantity, "the flow was not followed so far")
    )
    return tuple(checks)


@within_floats
def _lem3_7(evidence: Evidence) -> tuple[Check, ...]:
    m, factor = _scaled(evidence)
    bounds = convergence_bounds(evidence.problem, evidence.trajectory, time_s=evidence.time_left)
    start = np.unique(np.append(0, m.resolved))
    mass = max(float(np.max(np.sum(np.abs(m.betas), axis=1))), float(np.sum(np.abs(m.best))))
    inf_r = factor * float(np.min(m.formulas.least))
    C = 2 * m.d * float(np.log1p(2 * mass / (m.d * inf_r)))
    least = least_eigenvalue(m.X, np.ones(m.d))
    rounding = 1e-9 + eigen_error(m.X, np.ones(m.d))
    with np.errstate(all="ignore"):
        f = m.formulas
        moved = np.linalg.norm(f.gradient(m.betas) - f.gradient(m.best), axis=1) / factor
        unsure = np.linalg.norm(m.dual_error, axis=1) / factor
    bound = hyperbolic_check(
        "least (1/D_φ(t) − 1/D_φ(0))/t, against κ₂/γ, φ = γΦ_r", m, start, bounds.kappa2 / factor
    )
    return (
        constant_check("C against 2m·log(1 + 2M/(m·inf r))", bounds.C, C, 1e-9, m),
        constant_check(
            "κ₂ against σ_min(X)²/(2γ·C²), φ = γΦ_r",
            bounds.kappa2,
            least / (2 * factor * C**2),
            rounding,
            m,
        ),
        largest_check(
            "max ‖∇Φ_r(β(t)) − ∇Φ_r(β*)‖₂ over C", moved / bounds.C, unsure / bounds.C, 1.0, None, m
        ),
        _wide(mass, inf_r),
        bound,
        ended_check(m),
    )


def _wide(mass: float, inf_r: float) -> Check:
    """C → 4M/inf r as m → ∞ while M and inf r stay: with x = 2M/inf r, 1 − C/2x is x/2m and less
    by at most x/m of itself."""
    name = "exponent in m of 1 − C/(4M/inf r), M and inf r fixed"
    x = 2 * mass / inf_r
    if not np.isfinite(x * WIDTHS[-1]):
        return unknown_check(name, f"2M/inf r = {x:.3g} is near the end of the floats")
    limit = [gradient_bound(m, mass, float(np.log(inf_r))) / (2 * x) for m in x * WIDTHS]
    short = 1 - np.array(limit)
    error = 1 / WIDTHS + OPERATIONS * EPS * (1 + abs(np.log(inf_r))) / short
    return exponent_check(name, WIDTHS, short, -1.0, error, witness="4M/inf r")


lem3_3 = Claim(
    "R/lem3.3",
    "The hypentropy compatible with z is of Legendre type on its domain, and ∇Φ_α maps it onto "
    "R^d.",
    "R, Lemma 3.3",
    (MIRROR, HYPENTROPY, REPRESENTABLE),
    half_line_problem,
    _lem3_3,
    kind=Kind.STATIC,
    witness="the printed function in 80 digits, quadrature of 1/√(x²+α²)",
    family=potential_family,
)
lemA3 = Claim(
    "R/lemA3",
    "φ_α' = arcsinh(x/α), φ_α'' = 1/√(x²+α²); φ₀' = sign(x)log|x|, φ₀'' = 1/|x| on the half-line "
    "of z.",
    "R, Lemma A.3 and Definitions 3.1, 3.2",
    (MIRROR, HYPENTROPY, REPRESENTABLE),
    half_line_problem,
    _lemA3,
    kind=Kind.STATIC,
    witness="the printed function and its derivatives in 80 digits",
    family=potential_family,
)
GLOBAL = (MIRROR, SQUARE, HYPENTROPY, POSITIVE, REPRESENTABLE, CONSISTENT, MOVES, FULL_RANK)
lem3_6 = Claim(
    "R/lem3.6",
    "For the hypentropy, D_{Φ_r}(β*, β(t)) ≤ D_{Φ_r}(β*, β₀)·e^{−κ₁t}, κ₁ = inf r/‖Xᵀ†‖² "
    "(R/sharp: four times that).",
    "R, Lemma 3.6",
    GLOBAL,
    mirror_problem,
    _lem3_6,
    kind=Kind.FLOW,
    witness=FOLLOWED,
    null=SLOW_FLOW,
    family=hypentropy_family,
    limit=of_this_flow,
)
lem3_7 = Claim(
    "R/lem3.7",
    "With ‖β(t)‖₁ ≤ M, D_{Φ_r}(β*, β(t)) ≤ 1/(κ₂t + c), κ₂ = 1/(C‖Xᵀ†‖)², C = 2m·log(1 + 2M/(m·inf "
    "r)) (which tends to 4M/inf r as m → ∞), because ‖∇Φ_r(β(t)) − ∇Φ_r(β*)‖₂ ≤ C.",
    "R, Lemma 3.7",
    GLOBAL,
    mirror_problem,
    _lem3_7,
    kind=Kind.FLOW,
    witness=FOLLOWED,
    null=SLOW_FLOW,
    family=hypentropy_family,
    limit=of_this_flow,
)

CLAIMS = (lem3_3, lemA3, lem3_6, lem3_7)
