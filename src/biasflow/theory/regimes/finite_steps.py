"""Gradient descent and SGD with a finite step on the depth-2 model: the same projection, at an effective α per coordinate."""

from __future__ import annotations

import numpy as np

from ...flows import effective_limit
from ...records import Problem, Result
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, NONTRIVIAL, SQUARE, UNIFORM, depth, start_scale
from ..verdicts import Check, Claim

STEPS = 100_000
"""Steps after which a run that has not converged leaves the verdict open."""
SHARE = 0.2
"""Step size as a share of the inverse of the largest curvature at the limit."""


def stable_step(problem: Problem, beta: np.ndarray) -> float:
    """1/λ of the loss's Hessian at an interpolator with w₊² − w₋² = β, w₊w₋ = α²: λ = 8c·λ_max(X·diag(w₊²+w₋²)·Xᵀ)."""
    X, c, alpha = problem.data.X, problem.loss.factor(problem.data.n), start_scale(problem)
    size = np.hypot(beta, 2 * alpha**2)
    return 1 / (8 * c * float(np.linalg.eigvalsh((X * size) @ X.T)[-1]))


def _descent(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    step = SHARE * stable_step(problem, evidence.limit.value)
    batch = max(problem.data.n // 2, 1)
    checks = []
    for name, size in (("gradient descent", None), ("SGD, half batches", batch)):
        predicted, params = effective_limit(problem.model, problem.data, problem.loss, problem.params0, step, STEPS, batch=size)
        beta = problem.model.effective(params)
        scale = float(np.max(np.abs(beta)))
        converged = predicted.stats["descent"] is Result.CONVERGED
        gain = predicted.stats["log_gain"]
        product = np.log(np.abs(params.plus * params.minus)) - 2 * np.log(start_scale(problem))
        distance = float(np.max(np.abs(beta - predicted.value))) / scale
        mismatch = float(np.max(np.abs(product - gain)))
        checks += [
            Check(f"{name}: relative distance from the projection at r_eff", distance, "<=", 1e-7 if converged else np.nan),
            Check(f"{name}: log(w₊w₋/α²) against Σlog|1−s²|, largest difference", mismatch, "<=", 1e-9),
            Check(f"{name}: largest log(r_eff/r)", float(np.max(gain)), "<=", 0.0),
        ]
    return tuple(checks)


descent = Claim(
    "W/descent",
    "With a finite step, or minibatches, the limit is the projection for r_eff = 2α²Π(1−s_k²) ≤ 2α² from a start shifted by"
    " −2Σ(artanh s_k − s_k), s_k the relative steps: a smaller effective α, but not the same for every coordinate.",
    "Even et al. 2023, Pesme et al. 2021, for W's model",
    (depth(2, 2), SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, scale=[0.1, 0.3, 0.03][key % 3]),
    _descent,
)

CLAIMS = (descent,)
