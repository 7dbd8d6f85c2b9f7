"""B, §2: what is assumed of data and start, what balancedness gives, and what orthogonality does to activations."""

from __future__ import annotations

import numpy as np

from ...inputs import Index
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import general_problem, orthonormal_problem
from .hypotheses import ALIVE, ASSUMPTION_2, BALANCED, LABELLED, NETWORK, ORTHOGONAL, ORTHONORMAL, worst_product
from .setting import Setting

CONSERVED = 1e-12
"""Relative drift of a²−‖w‖²: the flow projects onto it at every step."""
ROUNDING = 1e-12
"""Cosine of a neuron and an input that is none."""
NAMED = 8


def _assumption_1(evidence: Evidence) -> tuple[Check, ...]:
    off, k, i = worst_product(evidence.network.data.X)
    return (Check(f"largest |⟨x_k, x_l⟩ − 1[k = l]|, at k = {k}, l = {i}", off, "<=", ORTHONORMAL),)


def _assumption_2(evidence: Evidence) -> tuple[Check, ...]:
    y = evidence.network.data.y
    up, down = float(np.sum(y[y > 0] ** 2)), float(np.sum(y[y < 0] ** 2))
    tiny = float(np.finfo(float).tiny)
    return (
        Check("least |y_k|", float(np.min(np.abs(y))), ">=", tiny),
        Check("|Σ_{y>0}y² − Σ_{y<0}y²|", abs(up - down), ">=", tiny),
    )


def _assumption_3(evidence: Evidence) -> tuple[Check, ...]:
    return tuple(
        Check(f"neurons in S_{{{'+' if c.sign > 0 else '−'},1}} ({_names(c.neurons)})", float(c.neurons.size), ">=", 1.0)
        for c in Setting(evidence.network).clusters
    )


def _names(neurons: Index) -> str:
    shown = ", ".join(map(str, neurons[:NAMED].tolist()))
    return shown + (", …" if neurons.size > NAMED else "") if neurons.size else "none"


def _lem1(evidence: Evidence) -> tuple[Check, ...]:
    (a, W), (a0, W0) = evidence.trajectory.states, evidence.network.params0
    size = np.maximum(np.max(a**2 + np.sum(W**2, axis=-1), axis=0), np.finfo(float).tiny)
    drift = np.abs((a**2 - np.sum(W**2, axis=-1)) - (a0**2 - np.sum(W0**2, axis=-1))) / size
    checks = [Check("largest drift of a_j² − ‖w_j‖² over a_j² + ‖w_j‖²", float(np.max(drift)), "<=", CONSERVED)]
    if BALANCED.test(evidence) is None:
        least = float(np.min(a * np.sign(a0) / np.max(np.abs(a), axis=0)))
        checks.append(Check("least a_j(t)·sign a_j(0) over max|a_j| (the start is balanced)", least, ">=", 0.0))
    return tuple(checks)


def _lem6(evidence: Evidence) -> tuple[Check, ...]:
    W, X = evidence.trajectory.states.W, evidence.network.data.X
    size = np.linalg.norm(W, axis=-1)[..., None] * np.linalg.norm(X, axis=1)
    cosines = np.divide(W @ X.T, size, out=np.zeros_like(size), where=size > 0)
    off = np.logical_or.accumulate(cosines < -ROUNDING, axis=0)
    revived = float(np.sum(np.any(off & (cosines > ROUNDING), axis=0)))
    turned_on = sum(event.kind in ("on", "slide out") for event in evidence.trajectory.events)
    return (
        Check("pairs (j, k) with ⟨w_j, x_k⟩ > 0 after it was negative", revived, "==", 0.0),
        Check("gates that open along the flow", float(turned_on), "==", 0.0),
    )


assumption_1 = Claim(
    "B/assumption-1",
    "The inputs are orthonormal.",
    "B, Assumption 1",
    (NETWORK, LABELLED),
    orthonormal_problem,
    _assumption_1,
)
assumption_2 = Claim(
    "B/assumption-2",
    "No label is zero, and positive and negative labels differ in their sum of squares.",
    "B, Assumption 2",
    (NETWORK, LABELLED),
    orthonormal_problem,
    _assumption_2,
)
assumption_3 = Claim(
    "B/assumption-3",
    "S_{+,1} and S_{−,1} are not empty: some neuron of each sign is active on all inputs with labels of that sign.",
    "B, Assumption 3",
    (NETWORK, LABELLED, ASSUMPTION_2),
    orthonormal_problem,
    _assumption_3,
)
lem1 = Claim(
    "B/lem1",
    "a_j² − ‖w_j‖² is conserved for any data; from a balanced start a_j = s_j‖w_j‖ with the sign of the start.",
    "B, Lemma 1",
    (NETWORK, ALIVE, LABELLED),
    general_problem,
    _lem1,
)
lem6 = Claim(
    "B/lem6",
    "On orthogonal inputs a negative pre-activation stays negative.",
    "B, Lemma 6",
    (NETWORK, ALIVE, LABELLED, ORTHOGONAL),
    orthonormal_problem,
    _lem6,
)

CLAIMS = (lem1, assumption_1, assumption_2, assumption_3, lem6)
