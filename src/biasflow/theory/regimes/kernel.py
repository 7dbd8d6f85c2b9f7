"""W, §3: the kernel regime, for diagonal networks."""

from __future__ import annotations

import numpy as np

from ...limits import limit, tangent_kernel, tangent_kernel_limit
from ...records import Check, Claim
from ..evidence import Evidence
from ..examples import diagonal_problem
from ..hypotheses import CONSISTENT, DIAGONAL, NONTRIVIAL, SQUARE, UNIFORM, start_scale

UNITS = (30.0, 300.0)
"""Scales at which the approach to the kernel limit is measured: α^D this many times the largest entry of that limit."""
ROUNDED = 1e-9
"""Relative distance at the first scale below which the second is rounding."""
EXPONENT_ERROR = 0.02
"""The next term is 1/30² of the leading one at the first scale."""


def _sec3(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    model, X, D = problem.model, problem.data.X, problem.model.depth
    alpha = start_scale(problem)
    at_one = tangent_kernel(model, model.init(1.0, dim=problem.data.d), X)
    at_alpha = tangent_kernel(model, problem.params0, X)
    mismatch = float(np.max(np.abs(at_alpha / alpha ** (2 * (D - 1)) - at_one)) / np.max(np.abs(at_one)))
    kernel = tangent_kernel_limit(model, problem.data, problem.params0)
    size = float(np.max(np.abs(kernel.value)))
    scales = [(unit * size) ** (1 / D) for unit in UNITS]
    distances = [float(np.max(np.abs(limit(model, problem.data, scale=a).value - kernel.value))) for a in scales]
    apart = float(np.max(np.abs(evidence.l2.value - kernel.value))) / size
    checks = [
        Check("relative mismatch of K at scale α and α^{2(D−1)}K₀", mismatch, "<=", 1e-12),
        Check("relative distance from min ℓ2 to the least tangent-kernel norm", apart, "<=", 1e-9),
    ]
    if distances[0] > ROUNDED * size:  # with as many samples as coordinates every interpolator is the same
        exponent = np.log(distances[1] / distances[0]) / np.log(scales[1] / scales[0])
        checks.append(Check("exponent of ‖β_α(∞) − β_K‖ in α, over −2D", exponent / (-2 * D), "==", 1.0, EXPONENT_ERROR))
    return tuple(checks)


sec3 = Claim(
    "W/sec3",
    "The tangent kernel at scale α is α^{2(D−1)}K₀; from an unbiased start the limit tends to the interpolator of least"
    " tangent-kernel norm as α → ∞ (for diagonal networks min ℓ2, at the rate α^{−2D}).",
    "W, Section 3",
    (DIAGONAL, SQUARE, UNIFORM, CONSISTENT, NONTRIVIAL),
    lambda key: diagonal_problem(key, depth=2 + key % 3),
    _sec3,
)

CLAIMS = (sec3,)
