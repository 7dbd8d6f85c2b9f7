"""R, A.2, last paragraph: independent weights satisfy ‖a_j‖ ≥ |b_j| for all neurons with high probability in high dimension.

One neuron fails with probability P(b² > ‖a‖²): for Gaussian weights b²/(b² + ‖a‖²) is a Beta(½, d/2) variable, so that this is
I_{1/2}(d/2, ½), about 2^{−d/2}; for weights uniform on a segment it is the mean of |b|^d times the share V_d/2^d of the unit ball
in its cube, V_d/(2^d(d+1)).
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln
from scipy.stats import binomtest

from ...inputs import Array
from ..evidence import Evidence
from ..examples import fixed_directions_problem, network_family
from ..fits import CONFIDENCE
from ..hypotheses import FIXED
from ..verdicts import Check, Claim, Kind, unknown_check
from .given import about_no_limit

DRAWS = 20_000
"""Networks drawn of each kind."""
AT_ONCE = 2_000_000
"""Numbers drawn at once."""
SIGNIFICANCE = 1 - (1 - CONFIDENCE) / 10
"""Of each interval, so that all of them together have the confidence of one."""


def failing(d: int, kind: str) -> float:
    """P(‖a‖ < |b|) for one neuron with d weights into it and one out of it."""
    if kind == "Gaussian":
        return float(betainc(d / 2, 0.5, 0.5))
    return float(np.exp(d / 2 * np.log(np.pi) - gammaln(d / 2 + 1) - d * np.log(2.0)) / (d + 1))


def all_inside(d: int, m: int, kind: str) -> float:
    """P(‖a_j‖ ≥ |b_j| for all j)."""
    return float(np.exp(m * np.log1p(-failing(d, kind))))


def drawn(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Array:
    """Independent weights; their scale does not matter."""
    return rng.standard_normal(shape) if kind == "Gaussian" else rng.uniform(-1, 1, shape)


def successes(d: int, m: int, kind: str) -> int:
    """Networks among DRAWS all of whose neurons satisfy the condition."""
    rng, found, left = np.random.default_rng((131, d, m, len(kind))), 0, DRAWS
    while left:
        count = max(1, min(left, AT_ONCE // (m * (d + 1))))
        weights = drawn(rng, kind, (count, m, d + 1))
        found += int(np.sum(np.all(np.sum(weights[..., :-1] ** 2, axis=-1) >= weights[..., -1] ** 2, axis=1)))
        left -= count
    return found


def _cone(evidence: Evidence) -> tuple[Check, ...]:
    d, m = evidence.network.model.directions.shape[1], evidence.network.model.width
    checks = []
    for kind in ("Gaussian", "uniform"):
        for dimension in (d, 2 * d):
            name = f"{kind} weights, d = {dimension}, m = {m}: share of networks in the cone"
            expected = all_inside(dimension, m, kind)
            if expected * DRAWS < 100:
                checks.append(unknown_check(name, f"{expected:.2g} is too small a probability for {DRAWS} draws"))
                continue
            count = successes(dimension, m, kind)
            interval = binomtest(count, DRAWS).proportion_ci(SIGNIFICANCE, method="exact")
            share = count / DRAWS
            error = interval.high - share if share < expected else share - interval.low
            checks.append(Check(name, share, "==", expected, float(error), witness=f"{DRAWS} fresh draws"))
        fell = failing(2 * d, kind) / failing(d, kind)
        name = f"{kind} weights: P(‖a‖ < |b|) at 2d over that at d, against 2^{{−d/2}}"
        bound = 2.0 ** (-d / 2)
        checks.append(Check(name, fell, "<=", bound, 1e-12 * bound, witness="probabilities that the draws confirm"))
    return tuple(checks)


cone = Claim(
    "R/cone",
    "With independent weights the condition ‖a_j‖ ≥ |b_j| holds for all m neurons with probability (1 − p_d)^m, where p_d is"
    " I_{1/2}(d/2, ½) for Gaussian and V_d/(2^d(d+1)) for uniform ones: p_{2d} ≤ 2^{−d/2}p_d, so very likely in high dimension.",
    "R, A.2, last paragraph, and Figure 5 (the probabilities are ours)",
    (FIXED,),
    fixed_directions_problem,
    about_no_limit(_cone),
    kind=Kind.PROBABILITY,
    witness="fresh draws",
    family=network_family,
)

CLAIMS = (cone,)
