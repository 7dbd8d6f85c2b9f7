"""C, Lemmas 13–15: the smooth margin tends to the margin, and its gradient to the samples on it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from ...inputs import Array
from ...losses import SmoothMargin
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind
from .examples import scores, scores_family
from .hypotheses import POSITIVE, SCORES, TIED, UNEQUAL
from .routes import precise_gradient, precise_smooth_margin
from .setting import Scores

SIZES = (1.0, 10.0, 1e3, 1e6)
"""β·min ū at which the lemmas are tried."""
FAR = 60.0
"""β times the distance of the second score at which its share e^{−60} is below rounding."""
EPS = float(np.finfo(float).eps)
SHARES = 1e-12
"""Of soft-argmin weights at scores up to a thousand: exponents lose their last three digits."""
FEWEST = 1e-280
"""A share above this is a number that float64 holds with all digits."""
DIGITS = "S with sixty digits"
DIFFERENCES = "differences of S with sixty digits"


def _scores(evidence: Evidence) -> tuple[Array, SmoothMargin, float]:
    problem: Scores = evidence.problem
    return problem.margins, SmoothMargin(problem.loss), float(np.min(problem.margins))


def _value(smooth: SmoothMargin, u: Array) -> float:
    """S(u) of the library."""
    return -float(smooth(u, np.ones(u.size)))


def _lifted(smooth: SmoothMargin, u: Array) -> float:
    """S(u) − min u with sixty digits."""
    exact = [Decimal(float(each)) for each in u]
    return float(precise_smooth_margin(exact, smooth.loss) - min(exact))


def _lem13(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    n, checks = u.size, []
    for size in SIZES:
        scaled = u * (size / least)
        gain, lowest = _lifted(smooth, scaled), float(np.min(scaled))
        rounding = 4 * EPS * (1 + abs(gain) + lowest)
        limit = float(np.log(n) + np.exp(-lowest))
        mean = float(np.mean(scaled)) - lowest
        checks += [
            Check(
                f"|S − S with sixty digits| at β·min ū = {size:g}",
                abs(_value(smooth, scaled) - lowest - gain),
                "<=",
                2 * rounding,
                rounding,
                DIGITS,
            ),
            Check("β(S_β(ū) − min ū)", gain, ">=", -EPS, EPS, DIGITS),
            Check(
                "the same, at most log n + e^{−β·min ū}",
                gain,
                "<=",
                limit + 8 * EPS * (1 + limit),
                4 * EPS * (1 + limit),
                DIGITS,
                null=mean,
            ),
        ]
    others = u[u > least * (1 + TIED)]
    if others.size:
        beta = FAR / float(np.min(others) - least)
        share, ties = float(np.log(n / (n - others.size))), u[u <= least * (1 + TIED)]
        allowed = np.exp(-beta * least) + n * np.exp(-FAR) + beta * np.max(ties - least) + 4 * EPS * (1 + beta * least)
        checks.append(
            Check("β(S_β(ū) − min ū) far out, log(n/#argmin)", _lifted(smooth, beta * u), "==", share, float(allowed), DIGITS)
        )
    return tuple(checks)


def _lem14(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    ones, checks = np.ones(u.size), []
    for size in SIZES:
        scaled = u * (size / least)
        weights, exact = smooth.weights(scaled, ones), precise_gradient(scaled, smooth.loss)
        error = SHARES + 8 * EPS * size
        off = float(np.max(np.abs(weights - exact)))
        lowest = float(np.min(scaled))
        checks += [
            Check(
                f"largest |∇S − differences of S| at min u = {size:g}",
                off,
                "<=",
                2 * error,
                error,
                DIFFERENCES,
                null=_flat(exact),
            ),
            Check(
                "|Σ_i∇_iS − 1|",
                abs(float(np.sum(weights)) - 1),
                "<=",
                float(np.exp(-lowest)) + 2 * u.size * error,
                u.size * error,
                DIFFERENCES,
            ),
        ]
    first = int(np.argmin(u))
    paths = [np.where(np.arange(u.size) == first, u, u * growth) for growth in (1.0, *SIZES)]
    kept = [float(smooth.weights(path, ones)[first]) for path in paths]
    start = precise_smooth_margin([Decimal(float(each)) for each in u], smooth.loss)
    slope = precise_gradient(np.full(1, u[first]), smooth.loss)[0]  # ℓ'/ℓ of the score that stays
    alone = precise_smooth_margin([Decimal(float(u[first]))], smooth.loss)
    bound = float(slope * np.exp(float(start - alone)) / u.size)
    error = SHARES + 16 * EPS * float(u[first])
    checks.append(
        Check(
            "least ∇_{i₀}S while u_{i₀} stays and others grow, over ℓ'(−u_{i₀})e^S/n",
            min(kept) / bound,
            ">=",
            1 - 2 * error,
            error,
            DIFFERENCES,
            null=0.0,
        )
    )
    return tuple(checks)


def _flat(exact: Array) -> float | None:
    """How far equal shares are from ∇S."""
    return float(np.max(np.abs(exact - 1 / exact.size)))


def _lem15(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    off, ones = u > least * (1 + TIED), np.ones(u.size)
    checks = []
    for size in (*SIZES, FAR * least / float(np.min(u[off]) - least)):
        scaled = u * (size / least)
        lowest = float(np.min(scaled))
        weights, exact = smooth.weights(scaled, ones), precise_gradient(scaled, smooth.loss)
        bound = np.exp(-(scaled - lowest)) / (1 - np.exp(-lowest) / 2)
        seen = off & (bound > FEWEST)
        error = SHARES + 8 * EPS * (size + float(np.max(scaled[seen], initial=0.0)))
        place = f"at β·min ū = {size:.3g}"
        faint = float(np.max(weights[off & ~seen], initial=0.0))
        checks.append(
            Check(
                f"largest |∇_iS_β − differences of S|/Σ {place}",
                float(np.max(np.abs(weights - exact))),
                "<=",
                2 * error,
                error,
                DIFFERENCES,
                null=_flat(exact),
            )
        )
        if np.any(seen):
            ratio = float(np.max(weights[seen] / bound[seen]))
            checks.append(
                Check(
                    f"largest share off the margin, over its bound, {place}",
                    ratio,
                    "<=",
                    1 + 2 * error,
                    error,
                    DIFFERENCES,
                    null=float(np.max(1 / u.size / bound[seen])),
                )
            )
        if np.any(off & ~seen):
            checks.append(
                Check(f"largest share where the bound is below {FEWEST:g}, {place}", faint, "<=", FEWEST, 0.0, DIFFERENCES)
            )
    return tuple(checks)


lem13 = Claim(
    "C/lem13",
    "S_β(ū) → min ū as β → ∞ where ℓ(u) ~ e^u as u → −∞ (C prints u → ∞): within (log n + e^{−β·min ū})/β.",
    "C, Lemma 13",
    (SCORES, POSITIVE),
    scores,
    _lem13,
    kind=Kind.STATIC,
    witness=DIGITS,
    null="the mean score",
    family=scores_family,
)
lem14 = Claim(
    "C/lem14",
    "∇S does not tend to zero: its entries sum to one as all scores grow, and stay away from zero where one score stays bounded.",
    "C, Lemma 14",
    (SCORES, POSITIVE),
    scores,
    _lem14,
    kind=Kind.STATIC,
    witness=DIFFERENCES,
    null="equal shares, and a share that vanishes",
    family=scores_family,
)
lem15 = Claim(
    "C/lem15",
    "∇S_β concentrates on the least scores: another sample's share is at most e^{−β(ū_i − min ū)}/(1 − e^{−β·min ū}/2).",
    "C, Lemma 15",
    (SCORES, POSITIVE, UNEQUAL),
    scores,
    _lem15,
    kind=Kind.STATIC,
    witness=DIFFERENCES,
    null="equal shares",
    family=scores_family,
)

CLAIMS = (lem13, lem14, lem15)
