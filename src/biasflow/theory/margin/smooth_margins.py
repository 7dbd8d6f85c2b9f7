"""C, Lemmas 13–15: the smooth margin tends to the margin, and its gradient to the samples on it."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext

import numpy as np

from ..._core.arguments import Array
from ...losses import ExponentialLoss, LogisticLoss, SmoothMargin
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind
from .margin_examples import scores, scores_family
from .margin_hypotheses import POSITIVE, SCORES, TIE_TOLERANCE, UNEQUAL
from .margin_setting import Scores
from .routes import precise_gradient, precise_smooth_margin

SIZES = (1.0, 10.0, 1e3, 1e6)
"""β·min ū at which the lemmas are tried."""
FAR_SCORE = 60.0
"""β times the distance of the second score at which its share e^{−60} is below rounding."""
EPS = float(np.finfo(float).eps)
WEIGHT_ERROR = 1e-12
"""Of soft-argmin weights at scores up to a thousand: exponents lose their last three digits."""
LEAST_SHARE = 1e-280
"""A share above this is a number that float64 holds with all digits."""
SPREADS = (1.0, 5.0, 20.0)
"""Largest distances of scores at which S is looked at for concavity."""
DIRECTIONS = 6
"""Changes of scores along which it is, beside two coordinates."""
APART = Decimal("1e-10")
"""Step of its second differences."""
TRUNCATION = 1e-15
"""What their truncation leaves, with room."""
VARIANCE_ERROR = 1e-9
"""Of a variance under weights in float64, for changes of some units."""
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
    others = u[u > least * (1 + TIE_TOLERANCE)]
    if others.size:
        beta = FAR_SCORE / float(np.min(others) - least)
        share, ties = float(np.log(n / (n - others.size))), u[u <= least * (1 + TIE_TOLERANCE)]
        allowed = (
            np.exp(-beta * least)
            + n * np.exp(-FAR_SCORE)
            + beta * np.max(ties - least)
            + 4 * EPS * (1 + beta * least)
        )
        checks.append(
            Check(
                "β(S_β(ū) − min ū) far out, log(n/#argmin)",
                _lifted(smooth, beta * u),
                "==",
                share,
                float(allowed),
                DIGITS,
            )
        )
    return tuple(checks)


def _lem14(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    ones, checks = np.ones(u.size), []
    for size in SIZES:
        scaled = u * (size / least)
        weights, exact = smooth.weights(scaled, ones), precise_gradient(scaled, smooth.loss)
        error = WEIGHT_ERROR + 8 * EPS * size
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
    error = WEIGHT_ERROR + 16 * EPS * float(u[first])
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
    off, ones = u > least * (1 + TIE_TOLERANCE), np.ones(u.size)
    checks = []
    for size in (*SIZES, FAR_SCORE * least / float(np.min(u[off]) - least)):
        scaled = u * (size / least)
        lowest = float(np.min(scaled))
        weights, exact = smooth.weights(scaled, ones), precise_gradient(scaled, smooth.loss)
        bound = np.exp(-(scaled - lowest)) / (1 - np.exp(-lowest) / 2)
        seen = off & (bound > LEAST_SHARE)
        error = WEIGHT_ERROR + 8 * EPS * (size + float(np.max(scaled[seen], initial=0.0)))
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
                Check(
                    f"largest share where the bound is below {LEAST_SHARE:g}, {place}",
                    faint,
                    "<=",
                    LEAST_SHARE,
                    0.0,
                    DIFFERENCES,
                )
            )
    return tuple(checks)


def _eq6(evidence: Evidence) -> tuple[Check, ...]:
    u, smooth, least = _scores(evidence)
    rng, ones = np.random.default_rng(0), np.ones(u.size)
    spread = float(np.ptp(u)) or least
    exponential = isinstance(smooth.loss, ExponentialLoss)
    found, predicted, along = [], [], []
    for size in SPREADS:
        scaled = (u - least) * (size / spread) + 1.0
        p = np.asarray(smooth.weights(scaled, ones))
        for v in (*np.eye(u.size)[:2], *rng.standard_normal((DIRECTIONS, u.size))):
            found.append(_second_derivative(scaled, v, smooth))
            predicted.append(-_variance(p, v) if exponential else _curved(scaled, p, v, smooth))
        along.append((scaled, 1 + np.exp(-scaled)))
    off = float(np.max(np.abs(np.array(found) - predicted)))
    if exponential:
        logistic = SmoothMargin(LogisticLoss())
        return (
            Check(
                "largest |second derivative of S along v + Var_p v|, p = ∇S",
                off,
                "==",
                0.0,
                VARIANCE_ERROR,
                DIFFERENCES,
            ),
            Check(
                "largest second derivative of S along any v: concave",
                max(found),
                "<=",
                2 * TRUNCATION,
                TRUNCATION,
                DIFFERENCES,
                null=max(_second_derivative(*each, logistic) for each in along),
            ),
        )
    ratios = [_second_derivative(*each, smooth) / _bulge(each[0]) for each in along]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    other = SmoothMargin(ExponentialLoss())
    return (
        Check(
            "largest |second derivative of S along v − (p·v)² + Σq_iv_i²|, p = ∇S, q = ℓ''/Σℓ",
            off,
            "==",
            0.0,
            VARIANCE_ERROR,
            DIFFERENCES,
        ),
        Check(
            "S'' along v_i = 1 + e^{−u_i}, over ρ(ρ − 1), ρ = Σe^{−u_i}/Σlog(1 + e^{−u_i}) > 1: "
            "concave nowhere",
            worst,
            "==",
            1.0,
            VARIANCE_ERROR,
            DIFFERENCES,
            null=min(_second_derivative(*each, other) / _bulge(each[0]) for each in along),
        ),
    )


def _curved(u: Array, p: Array, v: Array, smooth: SmoothMargin) -> float:
    """(p·v)² − Σq_iv_i² with q_i = ℓ''(−u_i)/Σℓ, from the library's ∇S and ℓ''."""
    q = np.exp(np.asarray(smooth.loss.log_curvature(u))) / float(
        np.sum(np.exp(np.asarray(smooth.loss.log_loss(u))))
    )
    return float((p @ v) ** 2 - q @ v**2)


def _bulge(u: Array) -> float:
    """ρ(ρ − 1): with s = ℓ' = 1/(1 + e^u), p_i = s_i/Σℓ and q_i = s_i(1 − s_i)/Σℓ, v = 1/(1 − s)
    has p·v = Σq_iv_i² = ρ."""
    ratio = float(np.sum(np.exp(-u)) / np.sum(np.log1p(np.exp(-u))))
    return ratio * (ratio - 1)


def _variance(p: Array, v: Array) -> float:
    return float(p @ v**2 - (p @ v) ** 2)


def _second_derivative(u: Array, v: Array, smooth: SmoothMargin) -> float:
    """d²S(u + sv)/ds² by a central difference with sixty digits: 1e-20 of truncation, 1e-39 of
    rounding."""
    with localcontext(Context(prec=60, Emin=-(10**9), Emax=10**9)):
        places = [
            [Decimal(float(a)) + k * APART * Decimal(float(b)) for a, b in zip(u, v, strict=True)]
            for k in (-1, 0, 1)
        ]
        low, middle, high = (precise_smooth_margin(each, smooth.loss) for each in places)
        return float((low + high - 2 * middle) / APART**2)


eq6 = Claim(
    "C/eq6",
    "For ℓ = exp the smooth margin S is concave: its second derivative is minus a variance under "
    "∇S. For the logistic loss it is concave nowhere: along v_i = 1 + e^{−u_i} it is ρ(ρ − 1) > 0, "
    "ρ = Σe^{−u_i}/Σlog(1 + e^{−u_i}).",
    "C, eq. (6)",
    (SCORES, POSITIVE),
    scores,
    _eq6,
    kind=Kind.STATIC,
    witness=DIFFERENCES,
    null="the logistic loss for the exponential, and conversely",
    family=scores_family,
)
lem13 = Claim(
    "C/lem13",
    "S_β(ū) → min ū as β → ∞ where ℓ(u) ~ e^u as u → −∞ (C prints u → ∞): for exp and logistic "
    "losses within (log n + e^{−β·min ū})/β.",
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
    "∇S does not tend to zero: its entries sum to one as all scores grow, and stay away from zero "
    "where one score stays bounded.",
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
    "∇S_β concentrates on the least scores; for exp and logistic losses another sample's"
    " share is at most e^{−β(ū_i − min ū)}/(1 − e^{−β·min ū}/2).",
    "C, Lemma 15",
    (SCORES, POSITIVE, UNEQUAL),
    scores,
    _lem15,
    kind=Kind.STATIC,
    witness=DIFFERENCES,
    null="equal shares",
    family=scores_family,
)

CLAIMS = (eq6, lem13, lem14, lem15)
