"""How fast a mirror flow converges: R's equations (2) and (3), and sharper bounds through the dual.

The mirror flow is, in ν, Euclidean gradient flow on the convex f(ν) = Σφ*(∇φ(β₀) + Xᵀν) − ⟨y, ν⟩,
and D_φ(β*, β(t)) = f(ν(t)) − f*. So f − f* ≤ ‖ν*‖²/(2t), ‖∇f‖ = ‖Xβ − y‖ ≤ ‖ν*‖/t, and with H ⪰
w_min·σ_min(X)² everywhere, f − f* ≤ (f₀ − f*)e^{−2 w_min σ_min² t}. For ½Φ_r, w_min = 2·inf r: four
times R's κ₁. `docs/sharp.md` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array, Index
from ..evidence import Evidence
from ..examples import mirror_family, mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, MIRROR, REACHED, SQUARE
from ..unmeasured import part
from ..verdicts import Check, Claim, Kind, unknown_check
from .bias import nearest, room
from .conditions import ATTAINED, MOVES, ONTO, START
from .limits_of_flows import of_this_flow
from .measured import (
    EPS,
    SLOW_FLOW,
    SLOWER_FACTOR,
    Measured,
    ended_check,
    exponential_check,
    farthest,
    measured,
    within_floats,
)

TIMES_COMPARED = 8
"""Times at which equation (2) is compared in its integrated form."""
OTHERS = {"another, near": 0.03, "another": 1.0, "another, far": 30.0}
"""Distances from β*, over its size, of minimisers with which equation (2) is compared."""
KNOWN_ERROR = 1e-3
"""Error of a ratio that is compared with one, beyond which a time is left out."""
ERROR_FACTOR = 3.0
"""Times the estimated errors of D at the ends of the window: at its last end D is hardly known, and
so is its error."""
DECADES = 2.0
"""Of D over which its late decay is read off, its last ones: the slowest mode is alone there, and
the curvature is that of β*."""


def eq2_checks(m: Measured, targets: tuple[Minimiser, ...] | None = None) -> tuple[Check, ...]:
    """D_φ(β̄, β₀) − D_φ(β̄, β(t)) = 2∫(F − F*) for minimisers β̄, by default β* and the nearest:
    equation (2) is an equality."""
    return part("equation (2), integrated", lambda: _integrated(m, targets or minimisers(m)[:2]))


def _integrated(m: Measured, targets: tuple[Minimiser, ...]) -> tuple[Check, ...]:
    index = np.unique(np.searchsorted(-m.D, -m.D[0] * np.linspace(1, 0.02, TIMES_COMPARED))).clip(
        1, len(m.times) - 1
    )
    index = np.unique(np.append(index, len(m.times) - 1))
    total, quadrature = m.integral(
        lambda beta: np.asarray(np.sum((m.X @ beta - m.fit) ** 2)), index
    )
    along = np.append(
        0.0, np.cumsum(np.diff(m.times) * 2 * np.maximum(m.excess_error[1:], m.excess_error[:-1]))
    )[index]
    checks = []
    for target in targets:
        quantity = (
            f"(D_φ(β̄, β₀) − D_φ(β̄, β(t)))/∫2(F − F*)dt, β̄ = {target.name} (R, equation "
            "2, an equality here)"
        )
        D, error = m.divergence(target.beta), m.divergence_error(target.beta, target.error)
        fallen = D[0] - D[index]
        unsure = (error[0] + error[index] + quadrature + along) / total
        off = np.abs(fallen / total - 1)
        k = farthest(np.where(unsure < KNOWN_ERROR, off, 0.0), unsure)
        checks.append(
            Check(quantity, float(fallen[k] / total[k]), "==", 1.0, float(unsure[k]), **m.notes)
        )
    return tuple(checks)


@dataclass(frozen=True, eq=False)
class Minimiser:
    """A minimiser of F inside the domain, each coordinate up to its error."""

    name: str
    beta: Array
    error: Array


def minimisers(m: Measured) -> tuple[Minimiser, ...]:
    """β*, the one nearest to the start in ℓ2 where it is inside, and others: β* + z with Xz = 0,
    near, as far as β*, farther."""
    found = [Minimiser("β*", m.best, m.best_error)]
    other = nearest(m.X, m.fit, m.start)
    rounded = 64 * EPS * float(np.max(np.abs(other))) * np.ones(m.d)
    if not np.any(m.formulas.signs * other < 0):
        found.append(Minimiser("the minimiser nearest to the start", other, rounded))
    _, singular, right = np.linalg.svd(m.X)
    null = right[int(np.sum(singular > max(m.X.shape) * EPS * singular[0])) :]
    rng = np.random.default_rng(4)
    for name, size in OTHERS.items() if len(null) else ():
        z = rng.standard_normal(len(null)) @ null
        step = min(
            size * float(np.max(np.abs(m.best))) / float(np.max(np.abs(z))),
            room(m.formulas.signs, m.best, z),
        )
        beta = m.best + step * z
        found.append(
            Minimiser(name, beta, m.best_error + 8 * EPS * (np.abs(beta) + step * np.abs(z)))
        )
    return tuple(found)


@within_floats
def _eq2(evidence: Evidence) -> tuple[Check, ...]:
    m = measured(evidence)
    targets = minimisers(m)
    checks = list(eq2_checks(m, targets))
    for target in targets:
        D, error = m.divergence(target.beta), m.divergence_error(target.beta, target.error)
        share = 2 * m.times * m.excess / D[0]
        unsure = 2 * m.times * m.excess_error / D[0] + error[0] / D[0] * share
        name = f"max over t of 2t·(F(β(t)) − F*)/D_φ(β̄, β₀), β̄ = {target.name} (equation 3, halved)"
        checks.append(largest_check(name, share, unsure, 1.0, SLOWER_FACTOR, m))
    if len(targets) < 3:
        checks.append(Check("minimisers of F", 1.0, "==", 1.0, witness="the rank of X"))
    return (*checks, ended_check(m))


def largest_check(
    quantity: str, values: Array, errors: Array, bound: float, slower: float | None, m: Measured
) -> Check:
    """The largest of some numbers against a bound, where they are known well enough; `slower`:
    times which a slower flow has."""
    known = np.flatnonzero((errors < KNOWN_ERROR * bound) & np.isfinite(values))
    if known.size == 0:
        return unknown_check(quantity, "its error exceeds a thousandth everywhere")
    k = int(known[np.argmax(values[known])])
    found, off = float(values[k]), float(errors[k])
    null = None if slower is None else slower * found
    if abs(found - bound) < off:
        return Check(f"{quantity} (attained)", found, "==", bound, off, null=null, **m.notes)
    return Check(quantity, found, "<=", bound, float(errors[k]), null=null, **m.notes)


@within_floats
def _eq3(evidence: Evidence) -> tuple[Check, ...]:
    m = measured(evidence)
    share = m.times * m.excess / m.D[0]
    error = m.times * m.excess_error / m.D[0] + m.D_error[0] / m.D[0] * share
    bound = largest_check(
        "max over t of t·(F(β(t)) − F*)/D_φ(β*, β₀)", share, error, 1.0, SLOWER_FACTOR, m
    )
    return (bound, *eq2_checks(m), ended_check(m))


@within_floats
def _sharp(evidence: Evidence) -> tuple[Check, ...]:
    m = measured(evidence)
    f, t = m.formulas, m.times
    with np.errstate(all="ignore"):
        moved = f.gradient(m.best) - f.gradient(m.start)
    nu = float(np.linalg.norm(np.linalg.lstsq(m.X.T, moved, rcond=None)[0])) ** 2
    singular = float(np.sqrt(max(np.linalg.eigvalsh(m.X @ m.X.T)[0], 0.0)))
    least = float(np.min(_least_weight(evidence)))
    rate = 2 * least * singular**2
    quadratic = 2 * t**2 / nu
    bounds = [
        largest_check(
            "max over t of 2t·D_φ(β*, β(t))/‖ν*‖²",
            2 * t * m.D / nu,
            2 * t * m.D_error / nu,
            1.0,
            SLOWER_FACTOR,
            m,
        ),
        largest_check(
            "max over t of 2t²·F(β(t))/‖ν*‖²",
            quadratic * m.F,
            quadratic * m.F_error,
            1.0,
            SLOWER_FACTOR**2,
            m,
        ),
        exponential_check(
            "least log(D₀/D(t))/t, against κ = 2·inf w·σ_min(X)²", m, _with_start(m), rate
        ),
    ]
    return (*bounds, late_rate(m), _searched(m, least), ended_check(m))


def _searched(m: Measured, least: float) -> Check:
    """inf w against the least w at β from far to near on both sides of zero, or towards the
    wall."""
    f = m.formulas
    sizes = np.append(0.0, np.logspace(-12, 6, 73))[:, None] * np.where(
        np.isfinite(f.scale(m.best)), f.scale(m.best), 1.0
    )
    found = min(
        float(np.min(f.weight(np.where(f.signs != 0, f.signs, side) * sizes)))
        for side in (1.0, -1.0)
    )
    name = "inf w over the least w of a search, both against its size at β*"
    size = float(np.max(f.weight(m.best)))
    if found <= EPS * size:
        return Check(name, least / size, "==", 0.0, EPS, witness="a search over β")
    return Check(
        name,
        least / found,
        "==",
        1.0,
        16 * EPS,
        witness="a search over β" if f.independent else "",
        reason=m.missing,
    )


def _with_start(m: Measured) -> Index:
    return np.unique(np.append(0, m.resolved))


def _least_weight(evidence: Evidence) -> Array:
    """inf (φ*)'' per coordinate: zero on half-lines, where β may vanish."""
    return measured(evidence).formulas.least


def late_rate(m: Measured) -> Check:
    """The decay of D over its last decades against 2λ_min(H), H = X·diag(w*)·Xᵀ.

    −d log D/dt = ‖r‖²/D with r = Xβ − y. Where the flow is linear D = ½rᵀH⁻¹r, so the rate over
    2λ_min is the product of ‖r‖²/(λ_min·rᵀH⁻¹r) ≥ 1, which other modes than the slowest make
    larger, and of ½rᵀH⁻¹r/D, which is one once the curvature is that of β*. Both are measured over
    the window, for any potential, and are the error.
    """
    name = "late decay rate of D over 2λ_min(X·diag(w*)·Xᵀ)"
    window = (
        m.resolved[m.D[m.resolved] <= m.D[m.resolved[-1]] * 10**DECADES]
        if m.resolved.size
        else m.resolved
    )
    if (
        window.size < 2
        or m.D[window[0]] > KNOWN_ERROR * m.D[0]
        or m.D[window[0]] < 10 * m.D[window[-1]]
    ):
        return unknown_check(
            name, "the flow was not followed until its decay is that of its slowest mode"
        )
    H = (m.X * m.formulas.weight(m.best)) @ m.X.T
    modes, vectors = np.linalg.eigh(H)
    content = (m.residuals[window] @ vectors) ** 2
    linear = np.sum(content / modes, axis=1)
    mixture = float(np.max(np.sum(content, axis=1) / linear / modes[0] - 1))
    curvature = float(np.max(np.abs(0.5 * linear / m.D[window] - 1)))
    first, last = int(window[0]), int(window[-1])
    fallen = float(np.log(m.D[first] / m.D[last]))
    unsure = (
        ERROR_FACTOR * float(m.D_error[first] / m.D[first] + m.D_error[last] / m.D[last]) / fallen
    )
    rounding = EPS * float(modes[-1] / modes[0]) * len(modes)
    pace = fallen / float(m.times[last] - m.times[first]) / (2 * float(modes[0]))
    error = mixture + curvature + unsure + rounding
    return Check(name, pace, "==", 1.0, error, **m.notes)


eq2 = Claim(
    "R/eq2",
    "For every minimiser β̄ ∈ D of F, dD_φ(β̄, β(t))/dt = −2(F(β(t)) − F*) (print: ≤ −(F − F*)), "
    "so that D_φ(β̄, β(t)) falls and F(β(t)) − F* ≤ D_φ(β̄, β₀)/(2t), half of equation (3).",
    "R, equation (2), sharpened",
    (MIRROR, SQUARE, START, ONTO, ATTAINED, MOVES),
    mirror_problem,
    _eq2,
    kind=Kind.FLOW,
    witness="the flow in β or in the weights, D_φ by quadrature at minimisers near and far",
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)
eq3 = Claim(
    "R/eq3",
    "F(β(t)) − F* ≤ D_φ(β*, β₀)/t, because D_φ(β*, β(t)) falls at the rate 2(F − F*) and F does "
    "not rise.",
    "R, equation (3)",
    (MIRROR, SQUARE, START, ONTO, ATTAINED, MOVES),
    mirror_problem,
    _eq3,
    kind=Kind.FLOW,
    witness="the flow in β or in the weights, D_φ by quadrature",
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)

sharp = Claim(
    "R/sharp",
    "D_φ(β*, β(t)) ≤ ‖ν*‖²/(2t), F ≤ ‖ν*‖²/(2t²), D_φ ≤ D_φ(β*, β₀)·e^{−2·inf w·σ_min(X)²·t} with "
    "w = (φ*)'', and D finally decays at the rate 2λ_min(X·diag(w*)·Xᵀ), unless the start has no "
    "part in that mode.",
    "dual gradient flow; sharpens R, Lemmas 3.6 and 3.7",
    (MIRROR, SQUARE, START, CONSISTENT, MOVES, REACHED, FULL_RANK),
    mirror_problem,
    _sharp,
    kind=Kind.FLOW,
    witness="the flow in β or in the weights, D_φ by quadrature",
    null=SLOW_FLOW,
    family=mirror_family,
    limit=of_this_flow,
)

CLAIMS = (eq2, eq3, sharp)
