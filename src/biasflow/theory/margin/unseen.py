"""C, Theorem 22: what a margin says about unseen data."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ...diagnostics import margin_bound
from ...limits import f1_max_margin
from ...models import augmented
from ..evidence import Evidence
from ..fits import share_check
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import population, population_family
from .margin_hypotheses import DATA, MARGIN, SEPARABLE, SIGNS, TWO_CLASSES
from .margin_setting import DELTA, LOOSE_GAP, inputs_of, remembered
from .margins import measured_margins
from .routes import activation_cells, largest_gain

SIGN_DRAWS = 40
"""Draws of random signs that estimate a Rademacher complexity."""
SUBSAMPLES = (60, 24, 12, 6)
"""Rows over which a Rademacher complexity is taken: the first number whose cells of the sphere can
be counted."""
DEVIATIONS = 4.0
"""Standard errors of a mean over draws that are allowed for."""
DRAWS = 150
"""Samples drawn afresh: 104 without a failure would put a share above 95% with 99% confidence."""
ROUNDING = 1e-12
"""Of the bound's three terms and their sum."""


def _thm22(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    whole = remembered(
        evidence,
        "loose γ₁",
        lambda: f1_max_margin(data.X, data.y, gap=LOOSE_GAP, time_s=evidence.time_left / 2),
    )
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
    """The rows as a population: samples of n drawn from it, for each a max-margin classifier, its
    bound and error on all rows."""
    rng = np.random.default_rng(0)
    rows, group, counts = np.unique(
        np.column_stack([data.X, data.y]), axis=0, return_inverse=True, return_counts=True
    )
    group, radius = group.ravel(), float(np.max(np.linalg.norm(data.X, axis=1)))
    places, share = Dataset(rows[:, :-1], rows[:, -1]), counts / data.n
    untrained = _untrained_errors(places, share, DRAWS)
    known: dict[tuple[int, ...], tuple[float, float]] = {}
    errors, bounds = [], []
    for _ in range(DRAWS):
        drawn = rng.integers(0, data.n, data.n)
        seen = tuple(np.unique(group[drawn]).tolist())
        if seen not in known:
            if evidence.deadline.over():
                break
            known[seen] = _trained(places, share, seen, evidence.time_left)
        wrong, margin = known[seen]
        if margin <= 0:
            return (
                unknown_check(
                    "share of samples whose bound holds",
                    "a classifier found has no margin on its own sample",
                ),
            )
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


def _trained(
    places: Dataset, share: Array, seen: tuple[int, ...], time_s: float
) -> tuple[float, float]:
    """Error on the population and margin on the sample of the F1 max-margin classifier of the
    places that were seen."""
    index = np.array(seen)
    found = f1_max_margin(places.X[index], places.y[index], gap=LOOSE_GAP, time_s=time_s)
    values = measured_margins(found.value, places)
    return float(np.sum(share[values < 0])), float(np.min(values[index]))


def _untrained_errors(places: Dataset, share: Array, count: int) -> Array:
    """Of random networks of ten neurons."""
    rng = np.random.default_rng(1)
    hidden = np.maximum(
        augmented(places.X) @ rng.standard_normal((count, 10, places.d + 1)).swapaxes(1, 2), 0.0
    )
    values = np.einsum("cnm,cm->cn", hidden, rng.standard_normal((count, 10)))
    return (places.y * values <= 0) @ share


def _rademacher(X: Array) -> tuple[float, float]:
    """E_ε sup_{‖f‖_{F1} ≤ 1} (1/n)Σε_if(x_i), the supremum over every cell, and a multiple of its
    standard error."""
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


thm22 = Claim(
    "C/thm22",
    "P[yf(x) < 0] ≤ 4·Rad_n/γ + √(log log₂(4C/γ)/n) + √(log(1/δ)/2n), with Rad_n ≤ √((R²+1)/n) "
    "for F1 (C prints 1/√n).",
    "C, Theorem 22",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE, MARGIN),
    population,
    _thm22,
    kind=Kind.PROBABILITY,
    witness="fresh samples from the rows as a population",
    null="an untrained network",
    family=population_family,
)

CLAIMS = (thm22,)
