"""C, §6 and Appendix G: how margins depend on the distance between classes, and what they say about unseen data."""

from __future__ import annotations

import numpy as np

from ...data import clusters
from ...diagnostics import interclass_distance, margin_bound
from ...inputs import Array
from ...limits import f1_max_margin, f2_max_margin, margin_certificate
from ...models import Particles
from ...records import Dataset
from ..evidence import Evidence
from ..verdicts import Check, Claim
from .examples import alternating, far_classes
from .hypotheses import ALTERNATING, DATA, INFORMATIVE, SEPARABLE, SIGNS, TWO_CLASSES
from .setting import DELTA, LOOSE, Alternating, inputs_of, split

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
    family: Alternating = evidence.problem
    ratios, ones, twos = _margins(family)
    bound = (family.rank + 3) / 2
    checks = []
    for name, margins in (("γ₁", ones), ("γ₂", twos)):
        exponent, error = _exponent(ratios, margins)
        checks.append(
            Check(f"exponent of {name} in Δ_r/R, {exponent:.3g} ± {error:.1g}: its lower end", exponent - error, "<=", bound)
        )
    return tuple(checks)


def _thm8(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem
    ratios, ones, _ = _margins(family)
    terms = []
    for k, gamma in zip(family.sizes, ones, strict=True):
        data = family.grid(k)
        terms.append(margin_bound(data.X, gamma).complexity * np.sqrt(data.n))
    exponent, error = _exponent(ratios, 1 / np.array(terms))
    quantity = f"exponent of √n·(first term of the bound) in R/Δ_r, {exponent:.3g} ± {error:.1g}: its lower end"
    checks = [Check(quantity, exponent - error, "<=", (family.rank + 3) / 2)]
    for k in CLUSTER_SIDES:
        data = _two_classes(k)
        apart = interclass_distance(data.X, data.y, 2)
        checks.append(
            Check(
                f"Δ₂(S_n) of {k}×{k} clusters in d = {data.d}, at least Δ₂(P) ≥ 1/(3k−1)", apart.objective, ">=", 1 / (3 * k - 1)
            )
        )
    return tuple(checks)


def _two_classes(k: int) -> Dataset:
    draws = (clusters(60, 6, k, key=attempt) for attempt in range(100))
    return next(data for data in draws if np.unique(data.y).size == 2)


def _thm22(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    seen, unseen = split(data)
    found = f1_max_margin(seen.X, seen.y, gap=LOOSE)
    bound = margin_bound(seen.X, found.objective, DELTA)
    wrong = float(np.mean(unseen.y * found.value(unseen.X) < 0))
    spread = float(np.sqrt(np.log(1 / DELTA) / (2 * unseen.n)))
    measured, error = _rademacher(seen.X[:SUBSAMPLE])
    radius = float(np.max(np.linalg.norm(seen.X[:SUBSAMPLE], axis=1)))
    allowed = float(np.sqrt((radius**2 + 1) / min(SUBSAMPLE, seen.n)))
    return (
        Check("error on the last quarter, against the bound from the others", wrong, "<=", bound.value, spread),
        Check("Rademacher complexity of the unit ball of F1, at most √((R²+1)/n)", measured, "<=", allowed, error),
    )


def _rademacher(X: Array) -> tuple[float, float]:
    """E_ε sup_{‖f‖_{F1} ≤ 1} (1/n)Σε_if(x_i), the supremum with its proof, and a multiple of its standard error."""
    rng, any_network = np.random.default_rng(0), Particles(np.eye(1, X.shape[1] + 1), np.ones(1), np.zeros(1))
    signs = rng.choice([-1.0, 1.0], (SIGN_DRAWS, len(X)))
    values = [margin_certificate(any_network, X, y, weights=np.ones(len(X))).upper for y in signs]
    return float(np.mean(values)), DEVIATIONS * float(np.std(values)) / float(np.sqrt(SIGN_DRAWS))


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
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE, INFORMATIVE),
    far_classes,
    _thm22,
)

CLAIMS = (lem20, thm8, thm22)
