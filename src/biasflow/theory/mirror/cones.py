"""R, A.2, last paragraph: independent weights satisfy ‖a_j‖ ≥ |b_j| for all neurons with high
probability in high dimension.

One neuron fails with probability P(b² > ‖a‖²): for Gaussian weights b²/(b² + ‖a‖²) is a Beta(½,
d/2) variable, so that this is I_{1/2}(d/2, ½), about 2^{−d/2}; for weights uniform on a segment it
is the mean of |b|^d times the share V_d/2^d of the unit ball in its cube, V_d/(2^d(d+1)).

Where d is large no draw fails, so that a share of draws tells nothing of p_d. Weights are then
drawn where failures are, and each counts as often as it would be drawn (importance sampling):
Gaussian a of half the variance, at which ‖a‖² is d/2, and |b| beyond ‖a‖ by an exponential
variable; uniform a as Gaussian ones of the length of |b|, and |b| near one.
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaln

from ..._core.arguments import Array
from ..._core.problems import Problem
from ..evidence import Evidence
from ..examples import fixed_directions_problem, network_family
from ..hypotheses import FIXED
from ..verdicts import Check, Claim, Kind

DRAWS = 20_000
"""Networks drawn of each kind."""
AIMED_DRAWS = 100_000
"""Neurons drawn where failures are, of each kind: they give p_d to a few percent in hundreds of
dimensions."""
NUMBERS_DRAWN_AT_ONCE = 2_000_000
"""Numbers drawn at once."""
CONFIDENCE = 1 - 1e-6
"""Confidence of each interval: a verdict has a dozen of them, and a search looks at hundreds of
problems."""
FEWEST_EXPECTED = 100
"""Networks in the cone, and outside, that are expected among the draws where their share is
compared."""
HIGH_DIMENSION = 30
"""A dimension in which hardly any network drawn fails: p_d is looked at in as many or more."""
AIM = f"{AIMED_DRAWS} draws aimed at failures"
AIMED_SHARE = 0.5
"""Of 1/√(d/2), by which |b| may be below ‖a‖ where Gaussian weights are aimed: some of the draws do
not fail."""


def failing(d: int, kind: str) -> float:
    """P(‖a‖ < |b|) for one neuron with d weights into it and one out of it."""
    return float(np.exp(log_failing(d, kind)))


def log_failing(d: int, kind: str) -> float:
    """Its logarithm, which is finite where no float holds it."""
    if kind == "Gaussian":
        return float(np.log(betainc(d / 2, 0.5, 0.5)))
    return float(d / 2 * np.log(np.pi) - gammaln(d / 2 + 1) - d * np.log(2.0) - np.log(d + 1))


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
        count = max(1, min(left, NUMBERS_DRAWN_AT_ONCE // (m * (d + 1))))
        weights = drawn(rng, kind, (count, m, d + 1))
        found += int(
            np.sum(np.all(np.sum(weights[..., :-1] ** 2, axis=-1) >= weights[..., -1] ** 2, axis=1))
        )
        left -= count
    return found


def aimed(rng: np.random.Generator, kind: str, d: int, count: int) -> tuple[Array, Array, Array]:
    """Neurons drawn near the edge of the cone: a (count, d), |b|, and the logarithm of their
    density over that of the draw."""
    if kind == "Gaussian":
        a = np.sqrt(0.5) * rng.standard_normal((count, d))
        squares = np.sum(a**2, axis=1)
        rate, excess = np.sqrt(d / 2), rng.exponential(size=count)
        b = np.sqrt(squares) + (excess - AIMED_SHARE) / rate
        of_a = squares / 2 - d / 2 * np.log(2.0)
        of_b = 0.5 * np.log(2 / np.pi) - b**2 / 2 - (np.log(rate) - excess)
        return a, b, np.where(b > 0, of_a + of_b, -np.inf)
    b = rng.uniform(size=count) ** (1 / (d + 1))
    a = rng.standard_normal((count, d)) / np.sqrt(d + 2)
    of_a = (
        -d * np.log(2.0) + d / 2 * np.log(2 * np.pi / (d + 2)) + (d + 2) / 2 * np.sum(a**2, axis=1)
    )
    of_b = -np.log(d + 1) - d * np.log(b)
    return a, b, np.where(np.max(np.abs(a), axis=1) <= 1, of_a + of_b, -np.inf)


def failure_of_draws(d: int, kind: str) -> tuple[float, float]:
    """The logarithm of P(‖a‖ < |b|) by draws that are aimed, and the error of P over P."""
    from scipy.stats import norm

    rng, logs, left = np.random.default_rng((137, d, len(kind))), [], AIMED_DRAWS
    while left:
        count = max(1, min(left, NUMBERS_DRAWN_AT_ONCE // (d + 1)))
        a, b, log_ratio = aimed(rng, kind, d, count)
        logs.append(np.where(np.sum(a**2, axis=1) < b**2, log_ratio, -np.inf))
        left -= count
    found = np.concatenate(logs)
    top = float(np.max(found))
    shares = np.exp(found - top)
    mean = float(np.mean(shares))
    error = float(norm.ppf((1 + CONFIDENCE) / 2) * np.std(shares) / np.sqrt(len(shares)) / mean)
    return top + float(np.log(mean)), error


def _cone(evidence: Evidence) -> tuple[Check, ...]:
    d, m = evidence.network.model.directions.shape[1], evidence.network.model.width
    checks: list[Check] = []
    for kind in ("Gaussian", "uniform"):
        found = {
            dimension: failure_of_draws(dimension, kind)
            for dimension in {d, 2 * d, max(d, HIGH_DIMENSION), 2 * max(d, HIGH_DIMENSION)}
        }
        checks += [check for dimension in (d, 2 * d) for check in _share(dimension, m, kind)]
        for dimension, (log_found, error) in sorted(found.items()):
            name = (
                f"{kind} weights, d = {dimension}: P(‖a‖ < |b|) over p_d = "
                f"{failing(dimension, kind):.2g}"
            )
            ratio = float(np.exp(log_found - log_failing(dimension, kind)))
            checks.append(Check(name, ratio, "==", 1.0, error, witness=AIM))
        for dimension in sorted({d, max(d, HIGH_DIMENSION)}):
            (near, near_error), (far, far_error) = found[dimension], found[2 * dimension]
            name = (
                f"{kind} weights: log₂ of P(‖a‖ < |b|) at d = {2 * dimension} over that at "
                f"{dimension}, against −d/2"
            )
            error = (near_error + far_error) / np.log(2)
            checks.append(
                Check(
                    name,
                    (far - near) / np.log(2),
                    "<=",
                    -dimension / 2,
                    error,
                    witness=AIM,
                    null=0.0,
                )
            )
    return tuple(checks)


def _share(d: int, m: int, kind: str) -> list[Check]:
    """Networks in the cone among those drawn; nothing where hardly any would be outside, or inside:
    p_d itself has to tell."""
    from scipy.stats import binomtest

    name = f"{kind} weights, d = {d}, m = {m}: share of networks in the cone"
    expected = all_inside(d, m, kind)
    if min(expected, 1 - expected) * DRAWS < FEWEST_EXPECTED:
        return []
    count = successes(d, m, kind)
    interval = binomtest(count, DRAWS).proportion_ci(CONFIDENCE, method="exact")
    share = count / DRAWS
    error = interval.high - share if share < expected else share - interval.low
    return [
        Check(name, share, "==", expected, float(error), size=1.0, witness=f"{DRAWS} fresh draws")
    ]


def cone_family(key: int) -> Problem:
    """Networks of R's kind, and every third of them in 30 to 200 dimensions."""
    if key % 3:
        return network_family(key)
    rng = np.random.default_rng((139, key))
    return fixed_directions_problem(
        key, n=3, d=int(rng.integers(HIGH_DIMENSION, 200)), m=int(rng.integers(2, 60))
    )


cone = Claim(
    "R/cone",
    "With independent weights the condition ‖a_j‖ ≥ |b_j| holds for all m neurons with probability "
    "(1 − p_d)^m, where p_d is I_{1/2}(d/2, ½) for Gaussian and V_d/(2^d(d+1)) for uniform ones: "
    "p_{2d} ≤ 2^{−d/2}p_d, so very likely in high dimension.",
    "R, A.2, last paragraph, and Figure 5 (the probabilities are ours)",
    (FIXED,),
    fixed_directions_problem,
    _cone,
    kind=Kind.PROBABILITY,
    witness="fresh draws, in high dimension aimed at failures",
    family=cone_family,
)

CLAIMS = (cone,)
