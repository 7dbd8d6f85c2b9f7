"""C, Lemmas 13–15: the smooth margin tends to the margin, and its gradient to the samples on it."""

from __future__ import annotations

import numpy as np

from ...inputs import Array
from ...losses import SmoothMargin
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import scores
from .hypotheses import POSITIVE, TIED, UNEQUAL
from .setting import Scores

SIZES = (1.0, 10.0, 1e3, 1e6)
"""β·min ū at which the lemmas are tried."""
FAR = 60.0
"""β times the distance of the second score at which its share e^{−60} is below rounding."""
ROUNDING = 1e-9
"""Of exponents up to 1e6, whose last digit is 1e-10."""


def _scores(evidence: Evidence) -> tuple[Array, SmoothMargin, float]:
    problem: Scores = evidence.problem
    return problem.margins, SmoothMargin(problem.loss), float(np.min(problem.margins))


def _value(smooth: SmoothMargin, u: Array) -> float:
    """S(u)."""
    return -float(smooth(u, np.ones(u.size)))


def _lem13(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    n, checks = u.size, []
    for size in SIZES:
        beta = size / least
        gain = _value(smooth, beta * u) - size
        checks += [
            Check(f"β(S_β(ū) − min ū) at β·min ū = {size:g}", gain, ">=", 0.0, ROUNDING * size),
            Check("the same, at most log n + e^{−β·min ū}", gain, "<=", float(np.log(n) + np.exp(-size)), ROUNDING * size),
        ]
    others = u[u > least * (1 + TIED)]
    if others.size:
        beta = FAR / float(np.min(others) - least)
        excess = _value(smooth, beta * u) - beta * least
        ties = n - others.size
        checks.append(
            Check(
                "β(S_β(ū) − min ū) far out, log(n/#argmin)",
                excess,
                "==",
                float(np.log(n / ties)),
                np.exp(-beta * least) + ROUNDING * beta,
            )
        )
    return tuple(checks)


def _lem14(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    ones, checks = np.ones(u.size), []
    for size in SIZES:
        total = float(np.sum(smooth.weights(u * (size / least), ones)))
        checks.append(Check(f"|Σ_i∇_iS − 1| at min u = {size:g}", abs(total - 1), "<=", float(np.exp(-size)) + ROUNDING))
    first = int(np.argmin(u))
    paths = [np.where(np.arange(u.size) == first, u, u * growth) for growth in (1.0, *SIZES)]
    kept = min(float(smooth.weights(path, ones)[first]) for path in paths)
    bound = float(np.exp(smooth.loss.log_slope(u)[first] + _value(smooth, paths[0])) / u.size)
    return (*checks, Check("least ∇_{i₀}S while u_{i₀} stays, others grow", kept, ">=", (1 - ROUNDING) * bound))


def _lem15(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    off = u > least * (1 + TIED)
    checks = []
    for size in SIZES:
        beta = size / least
        logs = smooth.loss.log_slope(beta * u) - np.log(u.size) + _value(smooth, beta * u)
        bound = -beta * (u - least) - np.log1p(-np.exp(-size) / 2)
        checks.append(
            Check(
                f"largest log ∇_iS_β + β(ū_i − min ū) off the margin, at β·min ū = {size:g}",
                float(np.max((logs - bound)[off])),
                "<=",
                0.0,
                ROUNDING * beta * float(np.max(u)),
            )
        )
    return tuple(checks)


lem13 = Claim(
    "C/lem13",
    "S_β(ū) → min ū as β → ∞ where ℓ(u) ~ e^u as u → −∞ (C prints u → ∞): within (log n + e^{−β·min ū})/β.",
    "C, Lemma 13",
    (POSITIVE,),
    scores,
    _lem13,
)
lem14 = Claim(
    "C/lem14",
    "∇S does not tend to zero: its entries sum to one as all scores grow, and stay away from zero where one score stays bounded.",
    "C, Lemma 14",
    (POSITIVE,),
    scores,
    _lem14,
)
lem15 = Claim(
    "C/lem15",
    "∇S_β concentrates on the least scores: another sample's share is at most e^{−β(ū_i − min ū)}/(1 − e^{−β·min ū}/2).",
    "C, Lemma 15",
    (POSITIVE, UNEQUAL),
    scores,
    _lem15,
)

CLAIMS = (lem13, lem14, lem15)
