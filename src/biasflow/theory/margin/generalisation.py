"""C, §6 and Appendix G: how margins depend on the distance between classes, and what they say about unseen data."""

from __future__ import annotations

import numpy as np

from ...data import clusters
from ...diagnostics import interclass_distance, margin_bound
from ...inputs import Array
from ...limits import f1_max_margin, f2_max_margin
from ...limits.margin import largest_gain
from ...models import Particles
from ...records import Check, Claim, Dataset
from ..evidence import Evidence
from .examples import alternating, far_classes
from .hypotheses import ALTERNATING, CARRIES_A_LINE, DATA, SEPARABLE, SIGNS, TWO_CLASSES
from .setting import Alternating, inputs_of, line_classifier

EXACT = 1e-9
SIGN_DRAWS = 40
"""Draws of random signs that estimate a Rademacher complexity."""
SUBSAMPLE = 60
DEVIATIONS = 4.0
CLUSTER_SIDES = (2, 3)


def _margins(family: Alternating) -> tuple[Array, Array, Array]:
    """R/Δ_r, γ₁ and γ₂ along the family."""
    ratios, ones, twos = [], [], []
    for k in family.sizes:
        data = family.grid(k)
        apart = interclass_distance(data.X, data.y, family.rank).objective
        ratios.append(float(np.max(np.linalg.norm(data.X, axis=1))) / apart)
        ones.append(f1_max_margin(data.X, data.y, gap=EXACT).objective)
        twos.append(f2_max_margin(data.X, data.y).objective)
    return np.array(ratios), np.array(ones), np.array(twos)


def _exponent(ratios: Array, margins: Array) -> tuple[float, float]:
    """−d log γ/d log(R/Δ) as R/Δ → ∞: local exponents converge like Δ, so extrapolate once; the step taken is the error."""
    local = -np.diff(np.log(margins)) / np.diff(np.log(ratios))
    near, far = float(local[-2]), float(local[-1])
    step = (far - near) / (ratios[-1] / ratios[-2] - 1)
    return far + step, abs(step)


def _lem20(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem  # type: ignore[assignment]
    ratios, ones, twos = _margins(family)
    bound = (family.rank + 3) / 2
    checks = []
    for name, margins in (("γ₁", ones), ("γ₂", twos)):
        exponent, error = _exponent(ratios, margins)
        checks.append(Check(f"exponent of {name} in Δ_r/R, at most (r+3)/2", exponent, "<=", bound, error))
        constant = float(np.min(margins * ratios**bound) / np.max(margins * ratios**bound))
        checks.append(Check(f"least {name}·(R/Δ_r)^((r+3)/2) along the family, over the largest: bounded below", constant, ">=", 0.1))
    return tuple(checks)


def _thm8(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem  # type: ignore[assignment]
    ratios, ones, _ = _margins(family)
    terms = []
    for k, gamma in zip(family.sizes, ones, strict=True):
        data = family.grid(k)
        terms.append(margin_bound(data.X, gamma).complexity * np.sqrt(data.n))
    exponent, error = _exponent(ratios, 1 / np.array(terms))
    checks = [Check("exponent of √n·(first term of the bound) in R/Δ_r, at most (r+3)/2", exponent, "<=", (family.rank + 3) / 2, error)]
    for k in CLUSTER_SIDES:
        data = _two_classes(k, family.key)
        apart = interclass_distance(data.X, data.y, 2)
        checks.append(Check(f"Δ₂(S_n) of {k}×{k} clusters in d = {data.d}, at least Δ₂(P) ≥ 1/(3k−1)", apart.objective, ">=", 1 / (3 * k - 1)))
    return tuple(checks)


def _two_classes(k: int, key: int) -> Dataset:
    draws = (clusters(60, 6, k, key=100 * key + attempt) for attempt in range(100))
    return next(data for data in draws if np.unique(data.y).size == 2)


def _thm22(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    f = line_classifier(data)
    bound = margin_bound(data.X, f.margin(data.X, data.y))
    half = data.n // 2
    trained = line_classifier(Dataset(data.X[:half], data.y[:half]))
    seen = margin_bound(data.X[:half], trained.margin(data.X[:half], data.y[:half]))
    wrong = float(np.mean(data.y[half:] * trained(data.X[half:]) < 0))
    spread = float(np.sqrt(np.log(1 / 0.05) / (2 * (data.n - half))))
    measured, error = _rademacher(data.X)
    allowed = float(np.sqrt((np.max(np.sum(data.X**2, axis=1)) + 1) / min(SUBSAMPLE, data.n)))
    return (
        Check("error on the other half, against the bound from this half", wrong, "<=", seen.value, spread),
        Check("the bound on all samples, below one", bound.value, "<=", 1.0),
        Check("Rademacher complexity of the unit ball of F1, at most √((R²+1)/n)", measured, "<=", allowed, error),
    )


def _rademacher(X: Array) -> tuple[float, float]:
    """E_ε sup_{‖f‖_{F1} ≤ 1} (1/n)Σε_if(x_i) on a part of the sample, the supremum exact, and its standard error."""
    rng = np.random.default_rng(0)
    part = X[:SUBSAMPLE]
    values = [largest_gain(part, rng.choice([-1.0, 1.0], len(part)) / len(part)) for _ in range(SIGN_DRAWS)]
    return float(np.mean(values)), DEVIATIONS * float(np.std(values)) / np.sqrt(SIGN_DRAWS)


lem20 = Claim(
    "C/lem20",
    "γ₁ and γ₂ fall no faster than (Δ_r/R)^{(r+3)/2} as classes come closer (γ ≥ 1/N, where C prints ≤); the constants are not"
    " stated, so the exponent is fitted.",
    "C, Lemma 20",
    (ALTERNATING,),
    alternating,
    _lem20,
)
thm8 = Claim(
    "C/thm8",
    "The generalisation bound of the F1 max margin grows no faster than (R/Δ_r)^{(r+3)/2}/√n, whatever the dimension; samples are"
    " at least as far apart as the population: Δ_r(S_n) ≥ Δ_r(P), where C prints ≤.",
    "C, Theorem 8",
    (ALTERNATING,),
    alternating,
    _thm8,
)
thm22 = Claim(
    "C/thm22",
    "P[yf(x) < 0] ≤ 4·Rad_n/γ + √(log log₂(4C/γ)/n) + √(log(1/δ)/2n), with Rad_n ≤ √((R²+1)/n) for F1 (C prints 1/√n).",
    "C, Theorem 22",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE, CARRIES_A_LINE),
    far_classes,
    _thm22,
)

CLAIMS = (lem20, thm8, thm22)
