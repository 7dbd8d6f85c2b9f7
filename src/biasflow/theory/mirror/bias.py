"""R, §2.1 and A.1: that a mirror flow exists, and which minimiser it picks inside the domain."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..._core.arguments import Array, Index
from ...errors import BiasflowError
from ..evidence import Evidence
from ..examples import mirror_family, mirror_problem
from ..hypotheses import MIRROR, SQUARE
from ..unmeasured import Unmeasured, need, part
from ..verdicts import Check, Claim, Kind, unknown_check
from ..witness import ERROR_FACTOR, WITNESS_RTOL
from .conditions import ATTAINED, MOVES, ONTO, START
from .limits_of_flows import of_this_flow
from .measured import AT_END, EPS, Measured, farthest, measured, membership_check, within_floats
from .mirror_witness import primal_flow

RIVALS = 6
"""Other minimisers with which a projection is compared."""
ROUNDED_SHARE = 1e-13
"""Share of F(β₀) below which a change of F is rounding: F is a sum of squares of differences of
order one."""
JUDGED_SHARE = 0.9
"""Share of F(β₀) from which the length of ∇φ's path is judged: at the start it may attain its
bound."""
START_DISTANCE = 0.3
"""Distance of a second start from the first in ∇φ, over how far that goes: another curve, in the
same place."""
TIMES_COMPARED = 40
"""Times at which two flows are compared."""


@within_floats
def limit_checks(evidence: Evidence) -> tuple[Check, ...]:
    """The flow ends at β*, which is the projection: Xβ* = y, ∇φ moved inside Im Xᵀ, every rival β̄
    is farther by D_φ(β̄, β*)."""
    m = measured(evidence)
    f, best, size = (
        m.formulas,
        m.best,
        max(float(np.max(np.abs(m.best))), float(np.max(np.abs(m.start)))),
    )
    error = float(np.max(ERROR_FACTOR * m.spread[-1] + 2 * m.remaining + m.best_error)) / size
    far = f"the flow still has {error:.2g} of its way to go"
    distance = "‖β(T) − β*‖_∞ over the larger of ‖β*‖_∞, ‖β₀‖_∞, flow against projection"
    reached, kernel = m.betas[-1], nearest(m.X, m.y, m.start)
    checks = [
        Check(
            distance,
            float(np.max(np.abs(reached - best))) / size,
            "==",
            0.0,
            error,
            **m.notes,
            null=float(np.max(np.abs(reached - kernel))) / size,
        )
        if error <= AT_END
        else unknown_check(distance, far)
    ]
    with np.errstate(all="ignore"):
        moved, known = f.gradient(best) - f.gradient(m.start), m.best_error / f.weight(best)
    route = (
        {"witness": "∇φ from its formula, singular vectors of X"}
        if f.independent
        else {"reason": m.missing}
    )
    checks.append(
        membership_check(
            "distance of ∇φ(β*) − ∇φ(β₀) from Im Xᵀ, relative", m.X, moved, known, **route
        )
    )
    checks.append(_interpolates(m))
    return (*checks, *rival_checks(m, np.arange(m.d)))


def _interpolates(m: Measured) -> Check:
    """Xβ* = ŷ, which is y where the labels can be met, to the residual at which the solver may
    stop."""
    size = float(np.max(np.abs(m.X) @ np.abs(m.best) + np.abs(m.y)))
    left = float(np.max(np.abs(m.X @ m.best - m.fit))) / size
    return Check(
        "|Xβ* − ŷ| over its terms: β* is a minimiser",
        left,
        "==",
        0.0,
        1e-9 + 8 * EPS * m.d,
        witness="singular vectors of X",
    )


def nearest(X: Array, y: Array, start: Array) -> Array:
    """The interpolator nearest to the start in ℓ2: where a flow in the kernel regime would end."""
    return start + np.linalg.lstsq(X, y - X @ start, rcond=None)[0]


def rival_checks(m: Measured, kept: Index) -> tuple[Check, ...]:
    """D_φ(β̄, β₀) − D_φ(β*, β₀) = D_φ(β̄, β*) for other minimisers β̄ = β* + z, z in the null space
    of the columns kept.

    This is Pythagoras' theorem of Bregman projections; with D_φ(β̄, β*) > 0 it says that β* is the
    only projection.
    """
    f, best = m.formulas, m.best
    name = "least (D_φ(β̄, β₀) − D_φ(β*, β₀))/D_φ(β̄, β*) over other minimisers β̄"
    if kept.size == 0:
        return ()
    _, singular, right = np.linalg.svd(m.X[:, kept])
    null = right[int(np.sum(singular > max(m.X.shape) * EPS * singular[0])) :]
    if len(null) == 0:
        return ()  # one minimiser: nothing to choose
    rng = np.random.default_rng(0)
    worst: tuple[float, float] | None = None
    for _ in range(RIVALS):
        z = np.zeros(m.d)
        z[kept] = rng.standard_normal(len(null)) @ null
        unit = f.scale(best)[kept]
        reach = min(
            room(f.signs, best, z),
            float(np.max(np.where(np.isfinite(unit), unit, np.max(np.abs(best)))))
            / np.max(np.abs(z)),
        )
        for size in (1.0, 0.03):
            rival = best + size * reach * z
            parts = [
                f.divergence(rival, m.start),
                f.divergence(best, m.start),
                f.divergence(rival, best),
            ]
            total = [float(np.sum(part)) for part in parts]
            if not (np.all(np.isfinite(total)) and total[2] > 0):
                continue
            with np.errstate(all="ignore"):
                shift = np.abs(f.gradient(rival) - f.gradient(best)) * m.best_error
            error = float(np.sum(np.where(np.isfinite(shift), shift, 0.0)))
            error += 32 * EPS * (total[0] + total[1]) + f.differenced * sum(total)
            ratio = (total[0] - total[1]) / total[2]
            if worst is None or abs(ratio - 1) - error / total[2] > abs(worst[0] - 1) - worst[1]:
                worst = (ratio, error / total[2])
    if worst is None:
        return (unknown_check(name, "no other minimiser at a finite divergence was found"),)
    witness = "D_φ by quadrature at random minimisers" if f.independent else ""
    return (
        Check(
            name,
            worst[0],
            "==",
            1.0,
            worst[1],
            witness=witness,
            reason="" if f.independent else m.missing,
        ),
    )


def room(signs: Array, best: Array, z: Array) -> float:
    """Half the largest step along z that stays inside the half-lines."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where((signs != 0) & (signs * z < 0), -best / z, np.inf)
    room = float(np.min(steps)) / 2
    return room if np.isfinite(room) else 1e300


LOSS = "|F(t₂) − F(t₁) + ∫⟨∇F, ∇F/φ''⟩dt| over F(β₀), where it is farthest beyond its error"
SAME = "largest ‖β(t) − β'(t)‖_∞ of the solutions in β and in ν, over ‖β‖_∞"
NOT_APART = (
    "largest growth of ‖u‖ over any stretch, ∇φ(β) − ∇φ(β') = Xᵀu, over its start: solutions do "
    "not part"
)


@within_floats
def _lemA1(evidence: Evidence) -> tuple[Check, ...]:
    """F loses what the flow dissipates, never more slowly than zero; ∇φ moves inside Im Xᵀ and no
    faster than ‖∇F(β₀)‖ allows.

    So a solution cannot blow up. Uniqueness: integrated in β, and in ν where η = η₀ + Xᵀν, it is
    the same curve; and solutions with η − η' = Xᵀu never part, because d/dt½‖u‖² = −⟨X(β − β'), u⟩
    = −⟨β − β', η − η'⟩ ≤ 0. R takes ∇φ* to be locally Lipschitz
    instead, which strict convexity does not give: for φ = x⁴/4 it is the cube root.
    """
    m = measured(evidence)
    chosen = np.unique(np.linspace(0, len(m.times) - 1, TIMES_COMPARED).astype(int))
    return (
        *part(LOSS, lambda: _dissipated(evidence, m)),
        membership_check(
            "distance of ∇φ(β(T)) − ∇φ(β₀) from Im Xᵀ, relative",
            m.X,
            m.dual[-1],
            m.dual_error[-1],
            **m.notes,
        ),
        _path(evidence, m),
        *part(SAME, lambda: _same_curve(evidence, m, chosen)),
        *part(NOT_APART, lambda: _approach(evidence, m, chosen)),
    )


def _losses(evidence: Evidence, m: Measured) -> Array:
    return evidence.half_loss if len(evidence.half_loss) == len(m.F) else m.F


def _dissipated(evidence: Evidence, m: Measured) -> Check:
    F = _losses(evidence, m)
    lost, quadrature = m.integral(m.dissipation, np.arange(len(m.times)))
    off = np.abs(np.diff(F) + np.diff(lost))
    spans = np.diff(m.times) * np.maximum(m.dissipation_error[1:], m.dissipation_error[:-1])
    allowed = m.F_error[1:] + m.F_error[:-1] + np.diff(quadrature) + spans + ROUNDED_SHARE * F[0]
    k = farthest(off, allowed)
    return Check(LOSS, float(off[k] / F[0]), "==", 0.0, float(allowed[k] / F[0]), **m.notes)


def _path(evidence: Evidence, m: Measured) -> Check:
    F = _losses(evidence, m)
    speed = float(np.linalg.norm(m.X, 2)) * np.sqrt(2 * F[0])
    known = np.where(np.isfinite(m.dual), m.dual, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        path = np.linalg.norm(known, axis=1)[1:] / (speed * m.times[1:])
        unsure = np.linalg.norm(np.where(np.isfinite(m.dual_error), m.dual_error, 0.0), axis=1)[
            1:
        ] / (speed * m.times[1:])
    reach = int(np.argmax(np.where((unsure < AT_END) & (F[1:] <= JUDGED_SHARE * F[0]), path, 0.0)))
    return Check(
        "max ‖∇φ(β(t)) − ∇φ(β₀)‖/(t‖X‖√(2F₀)), which excludes blow-up",
        float(path[reach]),
        "<=",
        1.0,
        float(unsure[reach]),
        **m.notes,
    )


def _same_curve(evidence: Evidence, m: Measured, chosen: Index) -> Check:
    from ...flows import mirror_flow

    at = chosen[m.times[chosen] > 0]
    try:
        other = mirror_flow(
            evidence.mirror, times=m.times[at], rtol=1e-10, time_s=evidence.time_left / 2
        )
    except BiasflowError as reason:
        raise Unmeasured(f"the flow in ν: {reason}") from reason
    size = float(np.max(np.abs(m.betas)))
    error = float(np.max(np.max(m.spread[at], axis=1) + other.predictor_error)) / size
    distance = float(np.max(np.abs(other.states - m.betas[at]))) / size
    return Check(SAME, distance, "==", 0.0, error, **m.notes)


def _approach(evidence: Evidence, m: Measured, chosen: Index) -> Check:
    """By how much ‖u‖, η − η' = Xᵀu, grows over any stretch, for a second start in ∇φ(β₀) + Im Xᵀ,
    both followed in β."""
    f, p = m.formulas, evidence.mirror
    back = np.linalg.pinv(m.X.T)
    reached = float(np.max(np.abs(m.dual[-1][np.isfinite(m.dual[-1])]), initial=0.0))
    shift = np.random.default_rng(3).standard_normal(len(m.y))
    shift *= START_DISTANCE * reached / float(np.max(np.abs(m.X.T @ shift)))
    with np.errstate(all="ignore"):
        start = np.asarray(f.inverse(f.gradient(m.start) + m.X.T @ shift), dtype=np.float64)
    if not np.all(np.isfinite(start)):
        raise Unmeasured("a second start is out of the range of floats")
    other = need(
        primal_flow(
            dataclasses.replace(p, beta0=start),
            None,
            m.times[chosen],
            WITNESS_RTOL,
            evidence.time_left / 2,
        )
    )
    with np.errstate(all="ignore"):
        apart = f.gradient(m.betas[chosen]) - f.gradient(other.states)
        unsure = m.dual_error[chosen] + other.stats["spread"] / f.weight(other.states)
        unsure += 4 * EPS * (1 + np.abs(f.gradient(other.states)))
    known = np.all(np.isfinite(apart) & np.isfinite(unsure), axis=1)
    length = np.linalg.norm(apart[known] @ back.T, axis=1)
    error = np.linalg.norm(unsure[known] @ np.abs(back).T, axis=1)
    if length.size < 2:
        raise Unmeasured("∇φ left the range of floats")
    least = np.minimum.accumulate(length)
    first = np.maximum.accumulate(np.where(length == least, np.arange(len(length)), 0))
    growth, allowed = length - least, error + error[first]
    k = farthest(growth, allowed)
    return Check(
        NOT_APART, float(growth[k] / length[0]), "==", 0.0, float(allowed[k] / length[0]), **m.notes
    )


lemA1 = Claim(
    "R/lemA1",
    "From every β₀ ∈ D (R^d in print) the mirror flow exists for all time and is unique, because "
    "solutions do not part; F never rises along it, and ∇φ(β) stays in ∇φ(β₀) + Im Xᵀ.",
    "R, Lemma A.1",
    (MIRROR, SQUARE, START, ONTO, MOVES),
    mirror_problem,
    _lemA1,
    kind=Kind.EXISTENCE,
    witness="the flow integrated in β, and in ν",
    family=mirror_family,
)
thm2_2 = Claim(
    "R/thm2.2",
    "Mirror flow converges to the Bregman projection of β₀ onto the minimisers of F: Xβ* = y, or "
    "the least-squares fit ŷ where y is out of reach, and ∇φ(β*) − ∇φ(β₀) ∈ Im Xᵀ.",
    "R, Theorem 2.2",
    (MIRROR, SQUARE, START, ONTO, ATTAINED, MOVES),
    mirror_problem,
    limit_checks,
    kind=Kind.FLOW,
    witness="the flow in β or in the weights, Pythagoras' theorem at other minimisers",
    null="the interpolator nearest to the start in ℓ2",
    family=mirror_family,
    limit=of_this_flow,
)

CLAIMS = (lemA1, thm2_2)
