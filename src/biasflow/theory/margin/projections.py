"""C, §6, on any labelled inputs: what the distance between classes says about γ₁, with constants,
and what projections do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ...diagnostics import interclass_distance
from ...limits import f1_max_margin, f2_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..unmeasured import need, part
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA, SEPARABLE, SIGNS, TWO_CLASSES
from .margin_limits import of_f1_margin
from .margin_setting import LOOSE_GAP, inputs_of
from .margins import SUM_ROUNDING, measured_margins

GAP = 1e-7
"""Relative gap to which γ₁ is asked for."""
RANKS = (1, 2)
"""Of projections: γ₁ is exact there."""
WRITTEN = "a piecewise affine classifier written down, summed over its neurons"
SUMMED = "f summed over its neurons"
LIPSCHITZ = "a neuron of mass one is ½-Lipschitz"


@dataclass(frozen=True, eq=False)
class Line:
    """Inputs on a line with labels: places s (n,), and the classifier that is ±1 on them and
    straight between opposite labels."""

    places: Array
    labels: Array

    @cached_property
    def distance(self) -> float:
        return float(
            np.min(np.abs(self.places[self.labels > 0][:, None] - self.places[self.labels < 0]))
        )

    @property
    def radius(self) -> float:
        return float(np.max(np.abs(self.places)))

    @cached_property
    def classifier(self) -> Particles:
        """The first label on the left, and for each change of label two bends of 2/gap, at its
        ends: as a measure of mass one."""
        order = np.argsort(self.places, kind="stable")
        s, y = self.places[order], self.labels[order]
        change = np.flatnonzero(y[1:] != y[:-1])
        bends = (y[change + 1] - y[change]) / (s[change + 1] - s[change])
        ends, sizes = np.concatenate([s[change], s[change + 1]]), np.concatenate([bends, -bends])
        lengths = np.hypot(1.0, ends)
        u = np.vstack([[0.0, 1.0], np.column_stack([1 / lengths, -ends / lengths])])
        masses = 2 * np.append(1.0, np.abs(sizes) * lengths)
        return Particles(u, np.append(y[0], np.sign(sizes)), np.log(masses))

    @property
    def bound(self) -> float:
        """1/(2 + 16R√(1 + R²)/Δ²): at most 2R/Δ changes of label, each two bends of at most 2/Δ,
        each of mass 2|c|√(1 + R²)."""
        return 1 / (2 + 16 * self.radius * float(np.hypot(1.0, self.radius)) / self.distance**2)


def _sec6(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    best = need(f1_max_margin(data.X, data.y, gap=GAP, time_s=evidence.time_left / 3), LOOSE_GAP)
    size = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    margin, upper = float(np.min(measured_margins(best.value, data))), best.certificate.dual
    error = SUM_ROUNDING * size / max(margin, float(np.finfo(float).tiny))
    open_gap = best.certificate.relative_gap
    if error > TELLING:
        return (
            unknown_check(
                "γ₁",
                f"γ₁, at least {margin:.2g}, is below what float64 resolves for inputs of this "
                "size",
            ),
        )
    plain = interclass_distance(data.X, data.y, data.d).objective
    return (
        Check(
            "margin of the maximiser, over γ₁ stated",
            margin / best.objective,
            "==",
            1.0,
            error + GAP + open_gap,
            witness=SUMMED,
        ),
        Check(
            "γ₁ over Δ_d/4: classes near each other have a small margin, however small R",
            margin / (plain / 4),
            "<=",
            1 + 2 * error,
            error + open_gap,
            witness=LIPSCHITZ,
        ),
        *_on_a_line(data, margin, upper, error),
        *itertools.chain.from_iterable(
            part(f"the projection of rank {rank}", partial(_projected, evidence, data, rank, upper))
            for rank in RANKS
            if rank < data.d
        ),
    )


def _on_a_line(data: Dataset, margin: float, upper: float, error: float) -> tuple[Check, ...]:
    """Lemma 20 for r = 1 with its constants."""
    frame = interclass_distance(data.X, data.y, 1).value
    line = Line(data.X @ frame[:, 0], data.y)
    quantity = "γ₁ over 1/(2 + 16R√(1 + R²)/Δ₁²), Lemma 20 for r = 1"
    if line.distance <= SUM_ROUNDING * line.radius:
        return (unknown_check(quantity, "classes meet on every line: Δ₁ is zero to rounding"),)
    flat = Dataset(line.places[:, None], line.labels)
    found = float(np.min(measured_margins(line.classifier, flat)))
    rounding = error + SUM_ROUNDING * line.radius / line.distance
    lifted = measured_margins(_lifted(line.classifier, frame), data)
    axis = _random_axis(data.d)
    chance = Line(data.X @ axis[:, 0], data.y)
    return (
        Check(
            "margin of the classifier of a line, lifted, over what it has there",
            float(np.min(lifted)) / found,
            "==",
            1.0,
            2 * rounding + SUM_ROUNDING / found,
            witness=WRITTEN,
        ),
        Check(
            "its margin, over 1/(2 + 16R√(1 + R²)/Δ₁²)",
            found / line.bound,
            ">=",
            1.0,
            rounding,
            witness=WRITTEN,
        ),
        Check(
            "γ₁'s upper bound, over its margin",
            upper / found,
            ">=",
            1 - 2 * (rounding + GAP),
            rounding + GAP,
            witness=WRITTEN,
        ),
        Check(
            quantity,
            margin / line.bound,
            ">=",
            1.0,
            rounding + GAP,
            witness=WRITTEN,
            null=float(np.min(measured_margins(_lifted(chance.classifier, axis), data)))
            / line.bound
            if chance.distance > 0
            else 0.0,
        ),
    )


def _projected(evidence: Evidence, data: Dataset, rank: int, upper: float) -> tuple[Check, ...]:
    frame = interclass_distance(data.X, data.y, rank).value
    flat = Dataset(data.X @ frame, data.y)
    quantity = f"γ₁ over that of the projection of rank {rank}"
    found = need(f1_max_margin(flat.X, flat.y, gap=GAP, time_s=evidence.time_left / 3), LOOSE_GAP)
    here = float(np.min(measured_margins(found.value, flat)))
    if not here > TELLING * SUM_ROUNDING * float(np.max(np.linalg.norm(augmented(data.X), axis=1))):
        return (unknown_check(quantity, "the projection leaves no margin that floats resolve"),)
    lifted = float(np.min(measured_margins(_lifted(found.value, frame), data)))
    kernels = [
        f2_max_margin(each.X, each.y, time_s=evidence.time_left / 3) for each in (data, flat)
    ]
    rounding = SUM_ROUNDING * float(np.max(np.linalg.norm(augmented(data.X), axis=1))) / here
    return (
        Check(
            f"margin of its classifier, lifted, over what it has in {rank}",
            lifted / here,
            "==",
            1.0,
            rounding,
            witness=SUMMED,
        ),
        Check(
            quantity,
            upper / here,
            ">=",
            1 - 2 * (rounding + GAP),
            rounding + GAP,
            witness=SUMMED,
            null=kernels[0].objective / kernels[1].objective if kernels[1].objective > 0 else None,
        ),
        Check(
            "γ₂ of that projection, over 2γ₁ (C's norms lack a factor): ‖f∘P‖_F1 ≤ 2‖f‖_F2 on "
            f"{rank}",
            kernels[1].certificate.primal / (2 * upper),
            "<=",
            1.0,
            rounding + GAP,
            witness="margins of two solvers",
        ),
    )


def _lifted(measure: Particles, frame: Array) -> Particles:
    """f∘P: the same neurons over inputs that the frame (d, r) projects."""
    u = measure.directions
    return measure._replace(directions=np.hstack([u[:, :-1] @ frame.T, u[:, -1:]]))


def _random_axis(d: int) -> Array:
    axis = np.random.default_rng(0).standard_normal((d, 1))
    return np.asarray(axis / np.linalg.norm(axis))


sec6 = Claim(
    "C/sec6",
    "On labelled inputs with ‖x_i‖ ≤ R: γ₁ ≥ 1/(2 + 16R√(1+R²)/Δ₁²), a constant that is ours, from "
    "the classifier of C's proof of Lemma 20 for r = 1; and γ₁ ≤ Δ_d/4, so that Lemma 20, whose "
    "constants depend on r alone, needs R ≥ 1. γ₁ of inputs is at least γ₁ of any projection of "
    "them (ranks 1 and 2 are looked at); γ₂ can be less than γ₂ of a projection.",
    "C, Lemma 20 and its proof",
    (DATA, SIGNS, TWO_CLASSES, SEPARABLE),
    lambda key: cluster_data(key, 12, d=3, k=2),
    _sec6,
    kind=Kind.STATIC,
    witness=WRITTEN,
    null="the classifier of a random line; the F2 max margin",
    family=lambda key: labelled_family(key, classes=2),
    limit=of_f1_margin,
)

CLAIMS = (sec6,)
