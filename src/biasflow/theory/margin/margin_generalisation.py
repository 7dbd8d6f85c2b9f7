"""C, §6 and Appendix G: how margins, and the bounds made of them, depend on the distance between
classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._core.results import Limit
from ..._numerics.deadlines import RECORDED_S
from ...diagnostics import interclass_distance, margin_bound
from ...limits import f1_max_margin, f2_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import need
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import alternating, alternating_family
from .margin_hypotheses import ALTERNATING
from .margin_setting import Alternating
from .margins import PROVEN_GAP, gain_of, measured_margins
from .routes import alternating_bracket, circle_kernel

EXACT = 1e-9
LONG_SIZES = tuple(2**j + 1 for j in range(5, 17))
"""Numbers of points on a line over more than three decades of R/Δ."""
KERNEL_SIZES = {1: (5, 9, 17), 2: (3, 5, 7)}
"""Sizes of grids in r + 1 dimensions for the kernel: some three hundred points at most."""
COPIES = (-1.0, 0.0, 1.0)
"""Where a grid is repeated along a further coordinate; at 0 it is itself."""
KERNEL_DRAWS = 4000
"""Draws of random signs that estimate the Rademacher complexity of F2, where a supremum is a square
root."""
DEVIATIONS = 4.0
"""Standard errors of a mean over draws that are allowed for."""


def _extrapolated(ratios: Array, margins: Array) -> tuple[float, float]:
    """−d log γ/d log(R/Δ) as R/Δ → ∞: local exponents converge like Δ, so extrapolate once; the
    step taken is the error."""
    local = -np.diff(np.log(margins)) / np.diff(np.log(ratios))
    near, far = float(local[-2]), float(local[-1])
    step = (far - near) / (ratios[-1] / ratios[-2] - 1)
    return far + step, abs(step)


def _ratio(data: Dataset, rank: int) -> float:
    """R/Δ_r."""
    return (
        float(np.max(np.linalg.norm(data.X, axis=1)))
        / interclass_distance(data.X, data.y, rank).objective
    )


def _judged(found: Limit[Particles], data: Dataset) -> tuple[float, float | None]:
    """The margin of a measure summed over its neurons, and the largest gain of its weights: γ₁ lies
    between."""
    return float(np.min(measured_margins(found.value, data))), gain_of(found.stats["weights"], data)


def _line(k: int, family: Alternating) -> tuple[float, float]:
    data = family.grid(k)
    return alternating_bracket(data.X[:, 0], data.y)


def _solved(evidence: Evidence, data: Dataset) -> Limit[Particles]:
    """γ₁ of a grid, to EXACT."""
    return need(f1_max_margin(data.X, data.y, gap=EXACT, time_s=evidence.time_left / 2), PROVEN_GAP)


def _f1_values(
    evidence: Evidence, family: Alternating
) -> tuple[Array, list[Limit[Particles]], list[Check]]:
    """R/Δ_r, γ₁ along the family, and checks that γ₁ is what neurons and weights say, or what a
    line's two objects do."""
    ratios, found, lowest, highest, off = [], [], np.inf, -np.inf, 0.0
    for k in family.sizes:
        data = family.grid(k)
        ratios.append(_ratio(data, family.rank))
        found.append(_solved(evidence, data))
        margin, gain = _judged(found[-1], data) if family.rank > 1 else _line(k, family)
        stated = found[-1].objective
        lowest = min(lowest, stated / margin)
        highest = max(highest, stated / gain) if gain is not None else highest
        off = max(off, abs(float(np.min(measured_margins(found[-1].value, data))) / stated - 1))
    witness = (
        "a zigzag and weights written down"
        if family.rank == 1
        else "neurons summed, cells of the sphere"
    )
    checks = [
        Check(
            "largest |margin of the measure/γ₁ stated − 1|",
            off,
            "<=",
            2 * PROVEN_GAP,
            PROVEN_GAP,
            "f summed over its neurons",
        ),
        Check(
            "least γ₁ stated, over a lower bound",
            lowest,
            ">=",
            1 - 2 * PROVEN_GAP,
            PROVEN_GAP,
            witness,
        ),
    ]
    upper = "largest γ₁ stated, over an upper bound"
    if np.isfinite(highest):
        checks.append(Check(upper, highest, "<=", 1 + 2 * PROVEN_GAP, PROVEN_GAP, witness))
    else:
        checks.append(unknown_check(upper, "too many cells of the sphere"))
    return np.array(ratios), found, checks


def _long_line(family: Alternating) -> tuple[Array, Array, Array]:
    """R/Δ₁, γ₁ and its relative error over three decades, from the two objects of a line."""
    brackets = np.array([_line(k, family) for k in LONG_SIZES])
    radius = 1 + abs(family.centre)
    ratios = np.array([radius * (k - 1) / 2 for k in LONG_SIZES])
    return (
        ratios,
        np.sqrt(brackets[:, 0] * brackets[:, 1]),
        np.log(brackets[:, 1] / brackets[:, 0]) / 2,
    )


def _lem20(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem
    expected = (family.rank + 3) / 2
    ratios, found, checks = _f1_values(evidence, family)
    ones = np.array([each.objective for each in found])
    twos = np.array(
        [
            f2_max_margin(data.X, data.y, time_s=evidence.time_left / 2).objective
            for data in map(family.grid, family.sizes)
        ]
    )
    sized = "margins of exact solvers along the family"
    if family.rank > 1:
        exponent, error = _extrapolated(ratios, ones)
        kernel, spread = _extrapolated(ratios, twos)
        return (
            *checks,
            Check(
                f"exponent of γ₁ in Δ_r/R, known to {error:.1g}",
                exponent,
                "<=",
                expected,
                error,
                sized,
            ),
            Check(
                f"exponent of γ₂ in Δ_r/R, known to {spread:.1g}",
                kernel,
                "<=",
                expected,
                spread,
                sized,
            ),
        )
    far, margins, errors = _long_line(family)
    for name, values in (("γ₁", ones), ("γ₂", twos)):
        exponent, error = _extrapolated(ratios, values)
        checks.append(
            Check(
                f"exponent of {name} in Δ_r/R, here attained",
                exponent,
                "==",
                expected,
                error,
                sized,
            )
        )
    long = exponent_check(
        "exponent of γ₁ over three decades",
        1 / far,
        margins,
        expected,
        errors,
        witness="a zigzag and weights written down",
    )
    return (*checks, long)


def _thm8(evidence: Evidence) -> tuple[Check, ...]:
    family: Alternating = evidence.problem
    r, k = family.rank, family.sizes[0]
    data = family.grid(k)
    flat = _solved(evidence, data)
    if not isinstance(flat.value, Particles):
        return (
            unknown_check(
                "γ₁", f"its classifier is a {type(flat.value).__name__}, no measure on the sphere"
            ),
        )
    checks = []
    for extra in (1, 2, 8):
        wide = _repeated(data, extra)
        margin = float(np.min(measured_margins(_lifted(flat.value, extra), wide)))
        quantity = (
            f"margin of the lifted classifier in d = {r + extra}, over γ₁ of the "
            f"{r}-dimensional grid"
        )
        checks.append(
            Check(
                quantity,
                margin / flat.objective,
                "==",
                1.0,
                PROVEN_GAP,
                "f summed over its neurons",
            )
        )
    wide = _repeated(data, 1)
    found = f1_max_margin(wide.X, wide.y, gap=PROVEN_GAP, time_s=evidence.time_left / 2)
    own = float(np.min(measured_margins(found.value, wide))) / flat.objective
    error = PROVEN_GAP + max(found.stats["relative_gap"], 0.0)
    checks.append(
        Check(
            f"γ₁ in d = {r + 1}, over γ₁ of the {r}-dimensional grid",
            own,
            "==",
            1.0,
            error,
            "margin of another solution",
        )
    )
    kernel, spread = _kernel_exponent(family)
    ratios, terms, errors = _first_terms(evidence, family)
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
            Check(
                f"{own_name}, known to {slack:.1g}",
                one,
                "<=",
                (r + 3) / 2,
                slack,
                "margins of exact solvers",
                null=kernel,
            )
        )
    quantity = f"exponent of 1/γ₂ in d = {r + 1}, over F1's: the kernel sees the further coordinate"
    return (
        *checks,
        Check(
            quantity,
            kernel / one,
            ">=",
            1.0,
            (spread + slack) / one,
            "kernel margins along the family",
        ),
        _union_term(evidence, family),
        *_kernel_half(family),
    )


def _union_term(evidence: Evidence, family: Alternating) -> Check:
    """log₂(4C/γ₁) against B = log₂(4(R+1)C₂) + (r+2)log₂(R/Δ_r), C₂ the constant that the coarsest
    classes ask for."""
    r = family.rank
    if r == 1:
        ratios, margins, _ = _long_line(family)
        grids = [family.grid(k) for k in LONG_SIZES]
    else:
        grids = [family.grid(k) for k in family.sizes]
        ratios = np.array([_ratio(data, r) for data in grids])
        margins = np.array([_solved(evidence, data).objective for data in grids])
    radius = float(np.max(np.linalg.norm(grids[0].X, axis=1)))
    supremum = margin_bound(grids[0].X, float(margins[0])).supremum
    factor = _union_factor(r)
    constant = 1 / float(margins[0]) / ratios[0] ** factor
    B = np.log2(4 * (radius + 1) * constant) + factor * np.log2(ratios)
    quantity = (
        "largest log₂(4C/γ₁), over B = log₂(4(R+1)C₂) + (r+2)log₂(R/Δ_r) with C₂ from the "
        "coarsest classes"
    )
    witness = "a zigzag and weights written down" if r == 1 else "margins of exact solvers"
    return Check(
        quantity, float(np.max(np.log2(4 * supremum / margins) / B)), "<=", 1.0, PROVEN_GAP, witness
    )


def _union_factor(rank: int) -> int:
    """Of log₂(R/Δ_r) in B; the margin asks for (r+3)/2."""
    return rank + 2


def _kernel_half(family: Alternating) -> tuple[Check, ...]:
    """Theorem 8 for F2, r = d: the first term of its bound, and the Rademacher complexity that it
    is made of."""
    r, expected = family.rank, (family.rank + 3) / 2
    grids = [family.grid(k) for k in family.sizes]
    ratios = np.array([_ratio(data, r) for data in grids])
    margins = [f2_max_margin(data.X, data.y, time_s=RECORDED_S).objective for data in grids]
    bounds = [
        margin_bound(data.X, gamma, space="F2") for data, gamma in zip(grids, margins, strict=True)
    ]
    terms = np.array(
        [each.complexity * np.sqrt(data.n) for each, data in zip(bounds, grids, strict=True)]
    )
    exponent, error = _extrapolated(ratios, 1 / terms)
    attained = r == 1
    quantity = f"exponent of √n·(first term of F2's bound) in R/Δ_r for d = r = {r}" + (
        ", here attained" if attained else ""
    )
    sized = "kernel margins along the family"
    data = grids[-1]
    rows = augmented(data.X)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (KERNEL_DRAWS, data.n))
    sups = (
        np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", signs, circle_kernel(rows, rows), signs), 0.0))
        / data.n
    )
    spread = DEVIATIONS * float(np.std(sups)) / np.sqrt(KERNEL_DRAWS)
    allowed = bounds[-1].rademacher
    return (
        Check(quantity, exponent, "==" if attained else "<=", expected, error, sized),
        Check(
            "Rademacher complexity of the unit ball of F2, over √((R²+1)/(2(d+1)n))",
            float(np.mean(sups)) / allowed,
            "<=",
            1.0,
            spread / allowed,
            "random signs, kernel by quadrature over the circle",
        ),
        Check(
            "the same with √(Σ‖(x_i, 1)‖²/(2(d+1)))/n: its root mean square, attained",
            float(np.sqrt(np.mean(sups**2)))
            / float(np.sqrt(np.sum(rows**2) / (2 * (data.d + 1))) / data.n),
            "==",
            1.0,
            DEVIATIONS * float(np.std(sups**2) / np.mean(sups**2)) / np.sqrt(KERNEL_DRAWS),
            "random signs, kernel by quadrature over the circle",
        ),
    )


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
        margins.append(f2_max_margin(X, np.tile(flat.y, k), time_s=RECORDED_S).objective)
    return _extrapolated(np.array(ratios), np.array(margins))


def _first_terms(evidence: Evidence, family: Alternating) -> tuple[Array, Array, Array]:
    """R/Δ_r, √n·4·Rad_n/γ₁ in r + 1 dimensions and its relative error: over three decades on a
    line, along the family else."""
    if family.rank == 1:
        ratios, margins, errors = _long_line(family)
        grids: Any = (family.grid(k) for k in LONG_SIZES)
    else:
        grids = [family.grid(k) for k in family.sizes]
        ratios = np.array([_ratio(data, family.rank) for data in grids])
        margins = np.array([_solved(evidence, data).objective for data in grids])
        errors = np.full(len(margins), EXACT)
    wide = (_repeated(data, 1) for data in grids)
    terms = [
        margin_bound(data.X, float(gamma)).complexity * np.sqrt(data.n)
        for data, gamma in zip(wide, margins, strict=True)
    ]
    return ratios, np.array(terms), errors


lem20 = Claim(
    "C/lem20",
    "γ₁ and γ₂ fall no faster than (Δ_r/R)^{(r+3)/2} as classes come closer (γ ≥ 1/N, where C "
    "prints ≤); the constants are not"
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
    "At fixed R the generalisation bound of the F1 max margin grows no faster than "
    "√(R²+1)·(R/Δ_r)^{(r+3)/2}/√n, whatever the dimension (C prints no √(R²+1)): γ₁ does not see "
    "further coordinates, while γ₂ falls faster with them; for r = d F2's bound does the same, and "
    "B's log₂(R/Δ_r) needs no factor above r + 2. Samples have Δ_r(S_n) ≥ Δ_r(P), where C prints "
    "≤.",
    "C, Theorem 8",
    (ALTERNATING,),
    alternating,
    _thm8,
    kind=Kind.ASYMPTOTIC,
    witness="lifted classifiers; margins over three decades of R/Δ_r",
    null="the kernel's max margin",
    family=alternating_family,
)
CLAIMS = (lem20, thm8)
