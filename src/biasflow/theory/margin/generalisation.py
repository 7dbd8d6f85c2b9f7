"""C, §6 and Appendix G: how margins depend on the distance between classes, and what they say about unseen data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...diagnostics import interclass_distance, margin_bound
from ...inputs import Array
from ...limits import f1_max_margin, f2_max_margin
from ...models import Particles, augmented
from ...records import Dataset, Limit
from ..evidence import Evidence
from ..fits import exponent_check, share_check
from ..verdicts import Check, Claim, Kind, unknown_check
from .examples import alternating, alternating_family, population, population_family
from .hypotheses import ALTERNATING, DATA, MARGIN, SEPARABLE, SIGNS, TWO_CLASSES
from .margins import PROVEN, gain_of, measured_margins
from .routes import activation_cells, alternating_bracket, largest_gain
from .setting import DELTA, LOOSE, Alternating, inputs_of, remembered

EXACT = 1e-9
LONG_SIZES = tuple(2**j + 1 for j in range(5, 17))
"""Numbers of points on a line over more than three decades of R/Δ."""
KERNEL_SIZES = {1: (5, 9, 17), 2: (3, 5, 7)}
"""Sizes of grids in r + 1 dimensions for the kernel: some three hundred points at most."""
COPIES = (-1.0, 0.0, 1.0)
"""Where a grid is repeated along a further coordinate; at 0 it is itself."""
SIGN_DRAWS = 40
"""Draws of random signs that estimate a Rademacher complexity."""
SUBSAMPLES = (60, 24, 12, 6)
"""Rows over which a Rademacher complexity is taken: the first number whose cells of the sphere can be counted."""
DEVIATIONS = 4.0
"""Standard errors of a mean over draws that are allowed for."""
DRAWS = 150
"""Samples drawn afresh: 104 without a failure would put a share above 95% with 99% confidence."""
ROUNDING = 1e-12


def _extrapolated(ratios: Array, margins: Array) -> tuple[float, float]:
    """−d log γ/d log(R/Δ) as R/Δ → ∞: local exponents converge like Δ, so extrapolate once; the step taken is the error."""
    local = -np.diff(np.log(margins)) / np.diff(np.log(ratios))
    near, far = float(local[-2]), float(local[-1])
    step = (far - near) / (ratios[-1] / ratios[-2] - 1)
    return far + step, abs(step)


def _ratio(data: Dataset, rank: int) -> float:
    """R/Δ_r."""
    return float(np.max(np.linalg.norm(data.X, axis=1))) / interclass_distance(data.X, data.y, rank).objective


def _judged(found: Limit[Particles], data: Dataset) -> tuple[float, float | None]:
    """The margin of a measure summed over its neurons, and the largest gain of its weights: γ₁ lies between."""
    return float(np.min(measured_margins(found.value, data))), gain_of(found.stats["weights"], data)


def _line(k: int, family: Alternating) -> tuple[float, float]:
    data = family.grid(k)
    return alternating_bracket(data.X[:, 0], data.y)


def _f1_values(family: Alternating) -> tuple[Array, list[Limit[Particles]], list[Check]]:
    """R/Δ_r, γ₁ along the family, and checks that γ₁ is what neurons and weights say, or what a line's two objects do."""
    ratios, found, lowest, highest, off = [], [], np.inf, -np.inf, 0.0
    for k in family.sizes:
        data = family.grid(k)
        ratios.append(_ratio(data, family.rank))
        found.append(f1_max_margin(data.X, data.y, gap=EXACT))
        margin, gain = _judged(found[-1], data) if family.rank > 1 else _line(k, family)
        stated = found[-1].objective
        lowest = min(lowest, stated / margin)
        highest = max(highest, stated / gain) if gain is not None else highest
        off = max(off, abs(float(np.min(measured_margins(found[-1].value, data))) / stated - 1))
    witness = "a zigzag and weights written down" if family.rank == 1 else "neurons summed, cells of the sphere"
    checks = [
        Check("largest |margin of the measure/γ₁ stated − 1|", off, "<=", 2 * PROVEN, PROVEN, "f summed over its neurons"),
        Check("least γ₁ stated, over a lower bound", lowest, ">=", 1 - 2 * PROVEN, PROVEN, witness),
    ]
    upper = "largest γ₁ stated, over an upper bound"
    if np.isfinite(highest):
        checks.append(Check(upper, highest, "<=", 1 + 2 * PROVEN, PROVEN, witness))
    else:
        checks.append(unknown_check(upper, "too many cells of the sphere"))
    return np.array(ratios), found, checks


def _long_line(family: Alternating) -> tuple[Array, Array, Array]:
    """R/Δ₁, γ₁ and its relative error over three decades, from the two objects of a line."""
    brackets = np.array([_line(k, family) for k in LONG_SIZES])
    radius = 1 + abs(family.centre)
    ratios = np.array([radius * (k - 1) / 2 for k in LONG_SIZES])
    return ratios, np.sqrt(brackets[:, 0] * brackets[:, 1]), np.log(brackets[:, 1] / brackets[:, 0]) / 2


def _lem20(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem
    expected = (family.rank + 3) / 2
    ratios, found, checks = _f1_values(family)
    ones = np.array([each.objective for each in found])
    twos = np.array([f2_max_margin(data.X, data.y).objective for data in map(family.grid, family.sizes)])
    sized = "margins of exact solvers along the family"
    if family.rank > 1:
        exponent, error = _extrapolated(ratios, ones)
        kernel, spread = _extrapolated(ratios, twos)
        return (
            *checks,
            Check(f"exponent of γ₁ in Δ_r/R, known to {error:.1g}", exponent, "<=", expected, error, sized),
            Check(f"exponent of γ₂ in Δ_r/R, known to {spread:.1g}", kernel, "<=", expected, spread, sized),
        )
    far, margins, errors = _long_line(family)
    for name, values in (("γ₁", ones), ("γ₂", twos)):
        exponent, error = _extrapolated(ratios, values)
        checks.append(Check(f"exponent of {name} in Δ_r/R, here attained", exponent, "==", expected, error, sized))
    long = exponent_check(
        "exponent of γ₁ over three decades", 1 / far, margins, expected, errors, witness="a zigzag and weights written down"
    )
    return (*checks, long)


def _thm8(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem
    r, k = family.rank, family.sizes[0]
    data = family.grid(k)
    flat = f1_max_margin(data.X, data.y, gap=EXACT)
    if not isinstance(flat.value, Particles):
        return (unknown_check("γ₁", f"its classifier is a {type(flat.value).__name__}, no measure on the sphere"),)
    checks = []
    for extra in (1, 2, 8):
        wide = _repeated(data, extra)
        margin = float(np.min(measured_margins(_lifted(flat.value, extra), wide)))
        quantity = f"margin of the lifted classifier in d = {r + extra}, over γ₁ of the {r}-dimensional grid"
        checks.append(Check(quantity, margin / flat.objective, "==", 1.0, PROVEN, "f summed over its neurons"))
    wide = _repeated(data, 1)
    found = f1_max_margin(wide.X, wide.y, gap=PROVEN, time_s=evidence.time_left / 4)
    own = float(np.min(measured_margins(found.value, wide))) / flat.objective
    error = PROVEN + max(found.stats["relative_gap"], 0.0)
    checks.append(
        Check(f"γ₁ in d = {r + 1}, over γ₁ of the {r}-dimensional grid", own, "==", 1.0, error, "margin of another solution")
    )
    kernel, spread = _kernel_exponent(family)
    ratios, terms, errors = _first_terms(family)
    own_name = "exponent of √n·(first term of F1's bound) in R/Δ_r"
    if r == 1:
        checks.append(
            exponent_check(
                f"{own_name} in d = {r + 1}",
                ratios,
                terms,
                (r + 3) / 2,
                errors,
                witness="a zigzag and weights written down",
                null=kernel,
            )
        )
        one, slack = checks[-1].measured, checks[-1].error
    else:
        one, slack = _extrapolated(ratios, 1 / terms)
        checks.append(
            Check(f"{own_name}, known to {slack:.1g}", one, "<=", (r + 3) / 2, slack, "margins of exact solvers", null=kernel)
        )
    quantity = f"exponent of 1/γ₂ in d = {r + 1}, over F1's: the kernel sees the further coordinate"
    return (*checks, Check(quantity, kernel / one, ">=", 1.0, (spread + slack) / one, "kernel margins along the family"))


def _lifted(measure: Particles, extra: int) -> Particles:
    """The same measure over inputs with further coordinates, which its neurons do not look at."""
    u = measure.directions
    return measure._replace(directions=np.hstack([u[:, :-1], np.zeros((len(u), extra)), u[:, -1:]]))


def _repeated(data: Dataset, extra: int) -> Dataset:
    """The grid repeated along each further coordinate at −1, 0 and 1."""
    places = np.vstack([np.zeros(extra), *(c * e for e in np.eye(extra) for c in COPIES if c)])
    X = np.vstack([np.hstack([data.X, np.tile(z, (data.n, 1))]) for z in places])
    return Dataset(X, np.tile(data.y, len(places)), f"{data.name}, repeated")


def _kernel_exponent(family: Alternating) -> tuple[float, float]:
    """That of 1/γ₂ in R/Δ_r on full grids with one further coordinate."""
    sizes = KERNEL_SIZES[family.rank]
    ratios, margins = [], []
    for k in sizes:
        flat = family.grid(k)
        X = np.vstack([np.hstack([flat.X, np.full((flat.n, 1), z)]) for z in np.linspace(-1, 1, k)])
        ratios.append(_ratio(flat, family.rank))
        margins.append(f2_max_margin(X, np.tile(flat.y, k)).objective)
    return _extrapolated(np.array(ratios), np.array(margins))


def _first_terms(family: Alternating) -> tuple[Array, Array, Array]:
    """R/Δ_r, √n·4·Rad_n/γ₁ in r + 1 dimensions and its relative error: over three decades on a line, along the family else."""
    if family.rank == 1:
        ratios, margins, errors = _long_line(family)
        grids: Any = (family.grid(k) for k in LONG_SIZES)
    else:
        grids = [family.grid(k) for k in family.sizes]
        ratios = np.array([_ratio(data, family.rank) for data in grids])
        margins = np.array([f1_max_margin(data.X, data.y, gap=EXACT).objective for data in grids])
        errors = np.full(len(margins), EXACT)
    wide = (_repeated(data, 1) for data in grids)
    terms = [margin_bound(data.X, float(gamma)).complexity * np.sqrt(data.n) for data, gamma in zip(wide, margins, strict=True)]
    return ratios, np.array(terms), errors


def _thm22(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    whole = remembered(evidence, "loose γ₁", lambda: f1_max_margin(data.X, data.y, gap=LOOSE))
    bound = margin_bound(data.X, whole.objective, DELTA)
    for count in SUBSAMPLES:
        rows = data.X[:count]
        measured, error = _rademacher(rows)
        if np.isfinite(measured):
            break
    small = margin_bound(rows, _half_supremum(rows), DELTA)
    return (
        Check(
            "the bound, over its terms written out",
            bound.value / _written_out(data, whole.objective),
            "==",
            1.0,
            ROUNDING,
            "the theorem's formula",
        ),
        Check(
            "Rademacher complexity of the unit ball of F1, at most √((R²+1)/n)",
            measured,
            "<=",
            small.rademacher,
            error,
            "random signs, with every cell of the sphere",
        ),
        *_fresh_draws(evidence, data),
    )


def _half_supremum(X: Array) -> float:
    return float(np.sqrt(np.max(np.sum(X**2, axis=1)) + 1)) / 4


def _written_out(data: Dataset, margin: float) -> float:
    """4·Rad_n/γ + √(log log₂(4C/γ)/n) + √(log(1/δ)/2n) with Rad_n ≤ √((R²+1)/n), C = √(R²+1)/2."""
    length = float(np.sqrt(np.max(np.sum(data.X**2, axis=1)) + 1))
    first = 4 * length / np.sqrt(data.n) / margin
    union = np.sqrt(np.log(np.log(2 * length / margin) / np.log(2)) / data.n)
    return float(first + union + np.sqrt(-np.log(DELTA) / 2 / data.n))


def _fresh_draws(evidence: Evidence, data: Dataset) -> tuple[Check, ...]:
    """The rows as a population: samples of n drawn from it, for each a max-margin classifier, its bound and error on all rows."""
    rng = np.random.default_rng(0)
    rows, group, counts = np.unique(np.column_stack([data.X, data.y]), axis=0, return_inverse=True, return_counts=True)
    group, radius = group.ravel(), float(np.max(np.linalg.norm(data.X, axis=1)))
    places, share = Dataset(rows[:, :-1], rows[:, -1]), counts / data.n
    untrained = _untrained_errors(places, share, DRAWS)
    known: dict[tuple[int, ...], tuple[float, float]] = {}
    errors, bounds = [], []
    for _ in range(DRAWS):
        drawn = rng.integers(0, data.n, data.n)
        seen = tuple(np.unique(group[drawn]).tolist())
        if seen not in known:
            if evidence.time_left <= 1.0:
                break
            known[seen] = _trained(places, share, seen)
        wrong, margin = known[seen]
        if margin <= 0:
            return (unknown_check("share of samples whose bound holds", "a classifier found has no margin on its own sample"),)
        errors.append(wrong)
        bounds.append(margin_bound(data.X[drawn], margin, DELTA, radius=radius).value)
    count = len(errors)
    if count < 2:
        return (unknown_check("share of samples whose bound holds", "no time for fresh samples"),)
    below = int(np.sum(np.array(errors) <= np.array(bounds)))
    spread = DEVIATIONS * float(np.std(np.array(errors) - np.minimum(bounds, 1.0))) / np.sqrt(count)
    witness = f"exact binomial interval over {count} fresh samples"
    return (
        share_check(
            "share of fresh samples whose bound holds on the population",
            below,
            count,
            1 - DELTA,
            witness=witness,
            null=float(np.mean(untrained[:count] <= np.array(bounds))),
        ),
        Check(
            "mean error on the population, at most the mean bound and δ",
            float(np.mean(errors)),
            "<=",
            float(np.mean(np.minimum(bounds, 1.0))) + DELTA,
            spread,
            witness,
            null=float(np.mean(untrained[:count])),
        ),
    )


def _trained(places: Dataset, share: Array, seen: tuple[int, ...]) -> tuple[float, float]:
    """Error on the population and margin on the sample of the F1 max-margin classifier of the places that were seen."""
    index = np.array(seen)
    found = f1_max_margin(places.X[index], places.y[index], gap=LOOSE)
    values = measured_margins(found.value, places)
    return float(np.sum(share[values < 0])), float(np.min(values[index]))


def _untrained_errors(places: Dataset, share: Array, count: int) -> Array:
    """Of random networks of ten neurons."""
    rng = np.random.default_rng(1)
    hidden = np.maximum(augmented(places.X) @ rng.standard_normal((count, 10, places.d + 1)).swapaxes(1, 2), 0.0)
    values = np.einsum("cnm,cm->cn", hidden, rng.standard_normal((count, 10)))
    return (places.y * values <= 0) @ share


def _rademacher(X: Array) -> tuple[float, float]:
    """E_ε sup_{‖f‖_{F1} ≤ 1} (1/n)Σε_if(x_i), the supremum over every cell, and a multiple of its standard error."""
    rng = np.random.default_rng(0)
    rows, group = np.unique(augmented(X), axis=0, return_inverse=True)
    cells = activation_cells(rows)
    if cells is None:
        return float("nan"), 0.0
    values = []
    for signs in rng.choice([-1.0, 1.0], (SIGN_DRAWS, len(X))):
        sums = np.bincount(group.ravel(), signs, len(rows))
        values.append(largest_gain(rows, sums / len(X), cells))
    return float(np.mean(values)), DEVIATIONS * float(np.std(values)) / float(np.sqrt(SIGN_DRAWS))


lem20 = Claim(
    "C/lem20",
    "γ₁ and γ₂ fall no faster than (Δ_r/R)^{(r+3)/2} as classes come closer (γ ≥ 1/N, where C prints ≤); the constants are not"
    " stated, so the exponent is fitted. Alternating points on a line attain it.",
    "C, Lemma 20",
    (ALTERNATING,),
    alternating,
    _lem20,
    kind=Kind.ASYMPTOTIC,
    witness="margins from a zigzag and weights written down, over three decades",
    family=alternating_family,
)
thm8 = Claim(
    "C/thm8",
    "The generalisation bound of the F1 max margin grows no faster than (R/Δ_r)^{(r+3)/2}/√n, whatever the dimension: γ₁ does not"
    " see further coordinates, while γ₂ falls faster with them. Samples have Δ_r(S_n) ≥ Δ_r(P), where C prints ≤.",
    "C, Theorem 8",
    (ALTERNATING,),
    alternating,
    _thm8,
    kind=Kind.ASYMPTOTIC,
    witness="lifted classifiers; margins over three decades of R/Δ_r",
    null="the kernel's max margin",
    family=alternating_family,
)
thm22 = Claim(
    "C/thm22",
    "P[yf(x) < 0] ≤ 4·Rad_n/γ + √(log log₂(4C/γ)/n) + √(log(1/δ)/2n), with Rad_n ≤ √((R²+1)/n) for F1 (C prints 1/√n).",
    "C, Theorem 22",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE, MARGIN),
    population,
    _thm22,
    kind=Kind.PROBABILITY,
    witness="fresh samples from the rows as a population",
    null="an untrained network",
    family=population_family,
)

CLAIMS = (lem20, thm8, thm22)
