"""How fast a mirror flow converges: R's equation (3), and sharper bounds through the dual.

The mirror flow is, in ν, Euclidean gradient flow on the convex f(ν) = Σφ*(∇φ(β₀) + Xᵀν) − ⟨y, ν⟩, and
D_φ(β*, β(t)) = f(ν(t)) − f*. So f − f* ≤ ‖ν*‖²/(2t), ‖∇f‖ = ‖Xβ − y‖ ≤ ‖ν*‖/t, and with H ⪰ w_min·σ_min(X)² everywhere,
f − f* ≤ (f₀ − f*)e^{−2 w_min σ_min² t}. For ½Φ_r, w_min = 2·inf r: four times R's κ₁. `docs/sharp.md` has the proof.
"""

from __future__ import annotations

import numpy as np

from ...inputs import Array
from ...records import Check, Claim
from ..evidence import Evidence
from ..examples import mirror_problem
from ..hypotheses import CONSISTENT, FULL_RANK, MIRROR, REACHED, SQUARE

ROUNDING = 1e-9
"""Relative error of a ratio of quantities that the integrator knows to about 1e-8 and the bounds compare with 1."""
LATE = 1e-12
"""Divergence, relative to its start, at which the asymptotic rate is read off."""
RATE_ERROR = 1e-3
"""Relative error of the rate there: the integrator's at a loss of about 1e-12."""


def divergences(evidence: Evidence) -> Array:
    """D_φ(β*, β(t)) along the trajectory."""
    best = evidence.mirror.potential.at(evidence.projection.value)
    return np.array([float(np.sum(best.divergence(point))) for point in evidence.points])


def _eq3(evidence: Evidence) -> tuple[Check, ...]:
    t, loss = evidence.trajectory.times[1:], evidence.half_loss[1:]
    start = divergences(evidence)[0]
    ratio = float(np.max(t * loss / start)) if start > 0 else 0.0
    return (Check("max over t of t·(F(β(t)) − F*)/D_φ(β*, β₀)", ratio, "<=", 1.0, ROUNDING),)


def _sharp(evidence: Evidence) -> tuple[Check, ...]:
    m = evidence.mirror
    t, loss, D = evidence.trajectory.times, evidence.half_loss, divergences(evidence)
    nu = float(np.linalg.norm(evidence.projection.stats["nu"])) ** 2
    resolved = 1e-14 * D[0] < D
    flattest = m.potential.at_dual(np.zeros(m.X.shape[1])).weight()
    rate = 2 * float(np.min(flattest)) * float(np.linalg.svd(m.X, compute_uv=False)[-1]) ** 2
    weight = m.potential.at(evidence.projection.value).weight()
    asymptotic = 2 * float(np.linalg.eigvalsh((m.X * weight) @ m.X.T)[0])
    checks = [
        Check("max over t of 2t·D_φ(β*, β(t))/‖ν*‖²", float(np.max(2 * t * D / nu)), "<=", 1.0, ROUNDING),
        Check("max over t of 2t²·F(β(t))/‖ν*‖²", float(np.max(2 * t**2 * loss / nu)), "<=", 1.0, ROUNDING),
        Check(
            "max over t of D_φ(β*, β(t))·e^{κt}/D_φ(β*, β₀), κ = 2·min w·σ_min(X)²",
            float(np.max(D[resolved] * np.exp(rate * t[resolved]) / D[0])),
            "<=",
            1.0,
            ROUNDING,
        ),
    ]
    late = int(np.flatnonzero(LATE * D[0] < D)[-1])
    if D[late] < 1e-3 * D[0]:
        # dD/dt = −‖Xβ − y‖² = −2F; the modes still alive say how far that rate is from its limit
        modes, vectors = np.linalg.eigh((m.X * weight) @ m.X.T)
        content = (vectors.T @ (m.X @ evidence.predictors[late] - m.y)) ** 2
        mixture = float(np.sum(content) / np.sum(content / modes)) / modes[0] - 1
        checks.append(
            Check(
                "late rate 2F/D over 2λ_min(X·diag(w*)·Xᵀ)",
                2 * loss[late] / D[late] / asymptotic,
                "==",
                1.0,
                mixture + RATE_ERROR,
            )
        )
    return tuple(checks)


eq3 = Claim(
    "R/eq3",
    "F(β(t)) − F* ≤ D_φ(β*, β₀)/t.",
    "R, equation (3)",
    (MIRROR, SQUARE, CONSISTENT, REACHED),
    mirror_problem,
    _eq3,
)

sharp = Claim(
    "R/sharp",
    "D_φ(β*, β(t)) ≤ ‖ν*‖²/(2t), F ≤ ‖ν*‖²/(2t²), D_φ ≤ D_φ(β*, β₀)·e^{−2·min w·σ_min(X)²·t} with w = (φ*)'',"
    " and D decays at the rate 2λ_min(X·diag(w*)·Xᵀ).",
    "dual gradient flow; sharpens R, Lemmas 3.6 and 3.7",
    (MIRROR, SQUARE, CONSISTENT, REACHED, FULL_RANK),
    mirror_problem,
    _sharp,
)

CLAIMS = (eq3, sharp)
