"""How fast a mirror flow converges: R's equation (3), and sharper bounds through the dual.

The mirror flow is, in ν, Euclidean gradient flow on the convex f(ν) = Σφ*(∇φ(β₀) + Xᵀν) − ⟨y, ν⟩, and
D_φ(β*, β(t)) = f(ν(t)) − f*. So f − f* ≤ ‖ν*‖²/(2t), ‖∇f‖ = ‖Xβ − y‖ ≤ ‖ν*‖/t, and with H ⪰ w_min·σ_min(X)² everywhere,
f − f* ≤ (f₀ − f*)e^{−2 w_min σ_min² t}. For ½Φ_r, w_min = 2·inf r: four times R's κ₁. `docs/sharp.md` has the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inputs import Array
from ..evidence import Evidence
from ..examples import mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, MIRROR, NONTRIVIAL, REACHED, SQUARE
from ..verdicts import Check, Claim

ROUNDING = 1e-9
"""Relative error of a ratio of quantities that the integrator knows to about 1e-8 and the bounds compare with 1."""
LATE = (1e-6, 1e-11)
"""Divergences, relative to their start, between which the asymptotic rate is read off."""
RESOLVED = 1e-14
"""Divergence, relative to its start, below which the integrator's error shows."""
RATE_ERROR = 5e-3
"""Relative error of the rate there: the flow is linear to √1e-6, the integrator to about as much."""


MOVED = 1e-3
"""Relative fall of D after which a bound that is attained at the start can be judged."""
TOLERANCE = 1e-7
"""What the integrator's tolerance, 1e-8 a step, makes of √D relative to its start."""


def resolution(D: Any, start: float) -> Any:
    """The relative error of D: √D is known to about 1e-7 of its start."""
    return ROUNDING + 2 * TOLERANCE * np.sqrt(start / D)


def bounded(quantity: str, D: Array, bound: Array) -> Check:
    """D ≤ bound once D has left its start, where the two are equal: the largest ratio against 1 plus the error there."""
    left = (1 - MOVED) * D[0] >= D
    if not np.any(left):
        return Check(quantity, float("nan"), "<=", 1.0)
    ratios = D[left] / bound[left]
    slack = 1 + resolution(D[left], float(D[0])) - ratios
    k = int(np.argmin(slack))
    return Check(quantity, float(ratios[k]), "<=", 1 + float(resolution(D[left][k], float(D[0]))))


def _eq3(evidence: Evidence) -> tuple[Check, ...]:
    t, loss = evidence.trajectory.times, evidence.half_loss
    start = evidence.start_divergence
    return (Check("max over t of t·(F(β(t)) − F*)/D_φ(β*, β₀)", float(np.max(t * loss / start)), "<=", 1.0, ROUNDING),)


def _sharp(evidence: Evidence) -> tuple[Check, ...]:
    m, t, loss, D = evidence.mirror, evidence.trajectory.times, evidence.half_loss, evidence.divergences
    best, start = evidence.best, evidence.start_divergence
    nu = float(np.linalg.norm(evidence.projection.stats["nu"])) ** 2
    later = (t > 0) & (RESOLVED * start < D)
    rate = 2 * float(np.min(_least_weight(evidence))) * float(np.linalg.svd(m.X, compute_uv=False)[-1]) ** 2
    bound = np.append(start, start * np.exp(-rate * t[later]))
    checks = [
        Check("max over t of 2t·D_φ(β*, β(t))/‖ν*‖²", float(np.max(2 * t * D / nu)), "<=", 1.0, ROUNDING),
        Check("max over t of 2t²·F(β(t))/‖ν*‖²", float(np.max(2 * t**2 * loss / nu)), "<=", 1.0, ROUNDING),
        bounded("D_φ(β*, β(t))·e^{κt}/D_φ(β*, β₀), κ = 2·inf w·σ_min(X)²", _from_start(D[later], start), bound),
    ]
    return (*checks, *_late_rate(evidence, best.weight(), D, start))


def _from_start(D: Array, start: float) -> Array:
    return np.append(start, D)


def _least_weight(evidence: Evidence) -> Array:
    """inf (φ*)'' per coordinate: at η = 0, but zero on half-lines, where β may vanish."""
    m, d = evidence.mirror, evidence.mirror.X.shape[1]
    potential = m.potential if m.beta0 is None else m.potential.oriented(m.beta0)
    return np.where(potential.half_lines(d) != 0, 0.0, potential.at_dual(np.zeros(d)).weight())


def _late_rate(evidence: Evidence, weight: Array, D: Array, start: float) -> tuple[Check, ...]:
    """The decay of D between two late times; modes beside the slowest that are still alive bound how fast it may be."""
    window = np.flatnonzero((LATE[0] * start > D) & (LATE[1] * start < D))
    if window.size < 2:
        return ()
    first, last = window[0], window[-1]
    m, t = evidence.mirror, evidence.trajectory.times
    modes, vectors = np.linalg.eigh((m.X * weight) @ m.X.T)
    content = (vectors.T @ (m.X @ evidence.predictors[first] - m.y)) ** 2
    mixture = float(np.sum(content) / np.sum(content / modes)) / modes[0] - 1
    unresolved = float(resolution(D[last], start)) / float(np.log(D[first] / D[last]))
    unresolved += float(np.sqrt(2 * D[first] / np.max(weight)))  # the curvature still changes by δβ/w
    measured = float(np.log(D[first] / D[last]) / (t[last] - t[first])) / (2 * modes[0])
    return (Check("late decay rate of D over 2λ_min(X·diag(w*)·Xᵀ)", measured, "==", 1.0, mixture + RATE_ERROR + unresolved),)


eq3 = Claim(
    "R/eq3",
    "F(β(t)) − F* ≤ D_φ(β*, β₀)/t.",
    "R, equation (3)",
    (MIRROR, SQUARE, CONSISTENT, NONTRIVIAL, REACHED),
    mirror_problem,
    _eq3,
)

sharp = Claim(
    "R/sharp",
    "D_φ(β*, β(t)) ≤ ‖ν*‖²/(2t), F ≤ ‖ν*‖²/(2t²), D_φ ≤ D_φ(β*, β₀)·e^{−2·inf w·σ_min(X)²·t} with w = (φ*)'',"
    " and D finally decays at the rate 2λ_min(X·diag(w*)·Xᵀ), unless the start has no part in that mode.",
    "dual gradient flow; sharpens R, Lemmas 3.6 and 3.7",
    (MIRROR, SQUARE, CONSISTENT, NONTRIVIAL, REACHED, FULL_RANK),
    mirror_problem,
    _sharp,
)

CLAIMS = (eq3, sharp)
