"""R, §3.1 and A.2: a two-layer network with fixed directions is a mirror flow.

The witness is a flow of the weights (a, b) themselves, which knows nothing of the reduction.
"""

from __future__ import annotations

import numpy as np

from ...errors import BiasflowError
from ...flows import gradient_flow, mirror_flow
from ...inputs import Array, Index
from ...models import merge_directions
from ...records import Trajectory
from ..evidence import Evidence
from ..examples import fixed_directions_problem, twin_problem
from ..hypotheses import CONE, FELT, FIXED, NONTRIVIAL, SQUARE
from ..verdicts import Check, Claim

TIGHT, TIGHTER = 1e-10, 1e-11
"""Tolerances of the dual flow and of the witness."""
AGREE = 1e-8
"""Agreement asked of the reduction, relative to the largest β."""
SAVED, LEAST = 33, 3
"""Times compared, and how many must be reached for a verdict."""
UNKNOWN = (Check("flow of the weights, which could not be followed here", float("nan"), "==", 0.0),)


def _pair(evidence: Evidence) -> tuple[Trajectory, Trajectory] | None:
    """The flow through the mirror form and the flow of the weights, at the same times; None where the weights cannot be followed.

    At tiny scales, and where a neuron on the edge of the cone decays until rounding takes it across, the witness gives up.
    """
    p = evidence.network
    times = np.linspace(0.0, float(evidence.trajectory.times[-1]), SAVED)[1:]
    try:
        witness = gradient_flow(p.model, p.data, p.loss, p.params0, times=times, rtol=TIGHTER, method="weights", throw=False)
    except (BiasflowError, ValueError):
        return None
    if len(witness.times) < LEAST or not np.all(np.isfinite(witness.error)):
        return None
    dual = gradient_flow(p.model, p.data, p.loss, p.params0, times=witness.times, rtol=TIGHT)
    return dual, witness


def _thm3_4(evidence: Evidence) -> tuple[Check, ...]:
    p, pair = evidence.network, _pair(evidence)
    if pair is None:
        return UNKNOWN
    dual, witness = pair
    beta, gamma = p.model.effective(dual.states), p.model.effective(witness.states)
    size = float(np.max(np.abs(gamma)))
    error = float(np.max(dual.error + witness.error)) / size
    linear = float(np.max(np.abs(p.model.features(p.data.X) @ gamma.T - p.model(witness.states, p.data.X).T)))
    reach = float(np.max(np.abs(p.model.features(p.data.X)) @ np.max(np.abs(gamma), axis=0)))
    return (
        Check(
            "‖β(t) − a(t)b(t)‖_∞ over ‖β‖_∞, mirror flow against the weights", _distance(beta, gamma) / size, "<=", AGREE, error
        ),
        Check("|Σb_j(⟨a_jθ_j, x⟩)₊ − Σβ_j(⟨θ_j, x⟩)₊|", linear / reach, "==", 0.0, 100 * np.finfo(float).eps),
    )


def _lemA2(evidence: Evidence) -> tuple[Check, ...]:
    pair = _pair(evidence)
    if pair is None:
        return UNKNOWN
    a, b = pair[1].states
    a0, b0 = evidence.network.params0
    size = float(np.max(np.abs(a) + np.abs(b))) ** 2
    error = 10 * float(np.max(pair[1].error)) / size + 1e-11  # the integrator's tolerance, TIGHTER, on a and b
    drift = float(np.max(np.abs((a - b) * (a + b) - (a0 - b0) * (a0 + b0)))) / size
    inside = float(np.min((a - b) * (a + b))) / size
    return (
        Check("drift of a²−b² over (|a|+|b|)²", drift, "==", 0.0, error),
        Check("least a²−b² over (|a|+|b|)² (the cone), against the numerical error", inside, ">=", -error),
        Check("least a(t), against the numerical error", float(np.min(a)), ">=", -1e-11 * float(np.max(a))),
    )


def _lem3_5(evidence: Evidence) -> tuple[Check, ...]:
    p, pair = evidence.network, _pair(evidence)
    if pair is None:
        return UNKNOWN
    merged, (dual, witness) = merge_directions(p), pair
    m = merged.mirror
    flow = mirror_flow(m.potential, m.X, m.y, m.beta0, times=dual.times, rtol=TIGHT)
    summed = _by_group(p.model.effective(witness.states), merged.groups)
    size = float(np.max(np.abs(summed)))
    error = float(np.max(flow.error + witness.error)) / size
    count = int(np.max(merged.groups)) + 1
    printed = np.array([_printed_radius(*(leaf[merged.groups == k] for leaf in p.params0)) for k in range(count)])
    later = np.array([_radii(a, b, merged.groups) for a, b in zip(*witness.states, strict=True)])
    a0, b0 = p.params0
    start, top = float(np.max(a0 + np.abs(b0))) ** 2, float(np.max(np.sum(np.abs(witness.states), axis=0))) ** 2
    drift = float(np.max(np.abs(later - merged.r))) / top
    agreement = _distance(flow.states, summed) / size
    return (
        Check("‖β_k(t) − Σa_jb_j‖_∞ over ‖β‖_∞, merged mirror flow against the weights", agreement, "<=", AGREE, error),
        Check("r_k as printed against ½‖a+b‖·‖a−b‖", float(np.max(np.abs(printed - merged.r))) / start, "==", 0.0, 1e-7),
        Check("drift of r_k along the weights, over (|a|+|b|)²", drift, "==", 0.0, 1e-9),
    )


def _distance(first: Array, second: Array) -> float:
    return float(np.max(np.abs(first - second)))


def _by_group(betas: Array, groups: Index) -> Array:
    return np.stack([np.bincount(groups, row) for row in betas])


def _radii(a: Array, b: Array, groups: Index) -> Array:
    """½‖a+b‖·‖a−b‖ per group."""
    return 0.5 * np.sqrt(np.bincount(groups, (a + b) ** 2) * np.bincount(groups, (a - b) ** 2))


def _printed_radius(a: Array, b: Array) -> float:
    """R's r_k, from r_k² = ¼Σ_{i,j}[(a_ia_j−b_ib_j)² + (a_ib_j−b_ia_j)²]."""
    first, second = np.outer(a, a) - np.outer(b, b), np.outer(a, b) - np.outer(b, a)
    return float(np.sqrt(np.sum(first**2 + second**2)) / 2)


thm3_4 = Claim(
    "R/thm3.4",
    "β_j = a_jb_j follows a mirror flow with potential ½Φ_r, r = ½(a₀²−b₀²), and X_ij = (⟨θ_j, x_i⟩)₊.",
    "R, Theorem 3.4",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    fixed_directions_problem,
    _thm3_4,
)
lem3_5 = Claim(
    "R/lem3.5",
    "Neurons with equal directions merge: β_k = Σa_jb_j follows ½Φ_r with r_k² = ¼Σ_{i,j}[(a_ia_j−b_ib_j)² + (a_ib_j−b_ia_j)²]"
    " = ¼‖a+b‖²‖a−b‖², X_ik = (⟨θ_k, x_i⟩)₊ (indices transposed in print).",
    "R, Lemma 3.5",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    twin_problem,
    _lem3_5,
)
lemA2 = Claim(
    "R/lemA2",
    "The cone a_j² ≥ b_j² is invariant, a_j²−b_j² is conserved, and a_j keeps its sign.",
    "R, Lemma A.2",
    (FIXED, SQUARE, CONE, NONTRIVIAL, FELT),
    fixed_directions_problem,
    _lemA2,
)

CLAIMS = (thm3_4, lem3_5, lemA2)
