"""C, eq. (17) and Proposition 29: the max margin on a whole population, here intervals of a line,
and its optimality conditions.

𝒳 is the union of intervals around the inputs (`populations.half_width`). A measure of finitely many
neurons is straight between kinks, so that its margin on 𝒳 is the least at ends of intervals and at
kinks inside. Samples are added where a classifier of
fewer fails, until it has its margin on all of 𝒳: then the margin of ν on 𝒳 is below γ₁, and the
largest gain of λ above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._core.results import Limit
from ...limits import f1_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..unmeasured import Unmeasured, need
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import any_interval_data, interval_data
from .margin_hypotheses import DATA, INTERVALS, SEPARABLE, SIGNS
from .margin_limits import margin_checks, mass_checks, measure_of
from .margin_setting import LOOSE_GAP, inputs_of
from .margins import CELLS, PROVEN_GAP, SUM_ROUNDING, gain_of, measured_margins
from .populations import half_width

ROUNDS = 12
"""Of adding places at which a classifier lacks its margin."""
LACKING_SHARE = 1e-10
"""Share of the margin by which a place may lack it before it is added."""
PLACES_AGAIN = 400
"""Places on each interval at which a margin on all of them is looked at again."""
SUMMED = "f summed over its neurons, at ends of intervals and at kinks"


@dataclass(frozen=True, eq=False)
class Intervals:
    """𝒳: an interval of half-width `width` around each input of a line, with its label."""

    centres: Array
    labels: Array
    width: float

    @property
    def ends(self) -> Dataset:
        x, y = (
            np.concatenate([self.centres - self.width, self.centres + self.width]),
            np.tile(self.labels, 2),
        )
        places, first = np.unique(x, return_index=True)
        return Dataset(places[:, None], y[first])

    def inside(self, places: Array) -> Dataset:
        """Those of the places that lie in 𝒳, with their labels."""
        apart = np.abs(places[:, None] - self.centres)
        some = np.min(apart, axis=1) <= self.width
        return (
            Dataset(places[some][:, None], self.labels[np.argmin(apart, axis=1)][some])
            if np.any(some)
            else self.ends
        )

    def bends(self, measure: Particles) -> Dataset:
        """Ends of intervals, and kinks of the neurons inside."""
        u = measure.directions[measure.directions[:, 0] != 0]
        kinks, ends = self.inside(-u[:, 1] / u[:, 0]), self.ends
        return Dataset(np.vstack([ends.X, kinks.X]), np.append(ends.y, kinks.y))

    def margin(self, measure: Particles) -> float:
        """min over 𝒳 of y(x)·f(x)."""
        return float(np.min(measured_margins(measure, self.bends(measure))))

    def fine_margin(self, measure: Particles) -> float:
        """The same on a fine grid of every interval."""
        grid = (self.centres[:, None] + self.width * np.linspace(-1, 1, PLACES_AGAIN)).ravel()
        return float(
            np.min(
                measured_margins(
                    measure, Dataset(grid[:, None], np.repeat(self.labels, PLACES_AGAIN))
                )
            )
        )


def intervals_of(data: Dataset) -> Intervals:
    return Intervals(data.X[:, 0], data.y, half_width(data.X[:, 0], data.y))


def population_margin(found: Intervals, time_s: float) -> tuple[Particles, Dataset, Array]:
    """ν, and λ as weights on places of 𝒳."""
    sample = found.ends
    for _ in range(ROUNDS):
        best = need(f1_max_margin(sample.X, sample.y, time_s=time_s), LOOSE_GAP)
        tried = found.bends(best.value)
        lacking = measured_margins(best.value, tried) < best.objective * (1 - LACKING_SHARE)
        if not np.any(lacking):
            break
        places, first = np.unique(np.append(sample.X[:, 0], tried.X[lacking, 0]), return_index=True)
        sample = Dataset(places[:, None], np.append(sample.y, tried.y[lacking])[first])
    return best.value, sample, np.asarray(best.stats["weights"])


def of_population_margin(evidence: Evidence, limit: Limit[Any]) -> tuple[Check, ...]:
    """A measure of mass one whose margin is the largest on all of the intervals."""
    data = inputs_of(evidence.problem)
    measure, found = measure_of(limit, data), intervals_of(data)
    best, sample, weights = population_margin(found, evidence.time_left)
    gain = gain_of(weights, sample)
    if gain is None:
        raise Unmeasured("too many cells of the circle for a proof of the largest margin")
    margin = min(found.margin(measure), found.fine_margin(measure))
    least = min(found.margin(best), gain * (1 - PROVEN_GAP))
    return (*mass_checks(measure), *margin_checks(None, margin, least, gain, found.ends))


def _prop29(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    found = intervals_of(data)
    measure, sample, weights = population_margin(found, evidence.time_left / 4)
    gain, margin = gain_of(weights, sample), found.margin(measure)
    size = float(np.max(np.linalg.norm(augmented(found.ends.X), axis=1)))
    if gain is None:
        return (unknown_check("γ₁", "too many cells of the circle for a second search"),)
    error = SUM_ROUNDING * size / gain
    if error > TELLING:
        return (
            unknown_check(
                "γ₁", f"γ₁ ≤ {gain:.2g} is below what float64 resolves for inputs of this size"
            ),
        )
    mean = float(weights @ measured_margins(measure, sample))
    alone = f1_max_margin(data.X, data.y, time_s=evidence.time_left / 4).value  # a null model
    lost = (float(weights @ measured_margins(alone, sample)), found.margin(alone))
    return (
        Check("total mass of λ*", float(np.sum(weights)), "==", 1.0, error, witness=SUMMED),
        Check(
            "min over 𝒳 of y·h(ν*, x), over max_θ∫yφ dλ*: γ₁ is between",
            margin / gain,
            "==",
            1.0,
            PROVEN_GAP + error,
            witness=f"{SUMMED}; {CELLS}",
            null=lost[1] / gain,
        ),
        Check(
            "(i) slack of ν*: (max J − ∫J dν*)/γ₁, J = ∫yφ dλ*",
            (gain - mean) / gain,
            "<=",
            PROVEN_GAP + 2 * error,
            error,
            witness=CELLS,
        ),
        Check(
            "(ii) slack of λ*: (∫y·h dλ* − min over 𝒳)/γ₁",
            (mean - margin) / gain,
            "<=",
            PROVEN_GAP + 2 * error,
            error,
            witness=SUMMED,
            null=(lost[0] - lost[1]) / gain,
        ),
        Check(
            "min of y·h on a fine grid of 𝒳, over that at ends and kinks",
            found.fine_margin(measure) / margin,
            ">=",
            1 - 2 * error,
            error,
            witness="a grid of every interval",
        ),
    )


prop29 = Claim(
    "C/prop29",
    "On a population, here intervals around the inputs, max_ν min_{x∈𝒳} y·h(ν, x) is attained: by "
    "ν* and λ* ∈ P(𝒳) with ν* where ∫yφ dλ* is largest, and λ* where y·h(ν*, ·) is least on 𝒳. "
    "Such a pair proves both: γ₁ is between them.",
    "C, eq. (17) and Proposition 29",
    (DATA, INTERVALS, SIGNS, SEPARABLE),
    interval_data,
    _prop29,
    Kind.STATIC,
    f"{SUMMED}; {CELLS}",
    "the max-margin classifier of the inputs alone",
    any_interval_data,
    limit=of_population_margin,
)

CLAIMS = (prop29,)
