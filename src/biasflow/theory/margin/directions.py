"""C, §4: the max margin over fixed directions tends to γ₁ as the directions fill the sphere."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._numerics.deadlines import RECORDED_S
from ...limits import f1_max_margin, l1_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..unmeasured import need
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA, SEPARABLE, SIGNS
from .margin_limits import of_f1_margin
from .margin_setting import LOOSE_GAP, inputs_of
from .margins import measured_margins

NUMBERS = (30, 120, 480, 1920)
"""Directions, the first of one sequence: each number has those before it."""
PROGRAM_ERROR = 1e-7
"""Of linear programs: HiGHS asks its primal and dual residuals for 1e-7."""
SUMS = 64 * float(np.finfo(float).eps)
"""What sums over neurons leave, relative to their largest term."""
BOTH = "its masses summed over the directions, and weights p on the samples"
MOVED = "the maximiser's atoms, each moved to the nearest direction"


def _sec4(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    best = need(f1_max_margin(data.X, data.y, time_s=evidence.time_left / 2), LOOSE_GAP)
    longest = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    upper, lower = best.certificate.dual, float(np.min(measured_margins(best.value, data)))
    if not lower > 0 or (SUMS + PROGRAM_ERROR) * longest > TELLING * lower:
        why = (
            f"γ₁, at least {lower:.2g}, is below what a linear program resolves for inputs of "
            f"size {longest:.2g}"
        )
        return (unknown_check("γ₁^(m), over γ₁", why),)
    u = _directions(NUMBERS[-1], data.d + 1)
    error = (SUMS + PROGRAM_ERROR) * longest / lower
    rows, before = [], 0.0
    for m in NUMBERS:
        stated, margin, gain = _over(data, u[:m])
        far, moved = _moved(best.value, u[:m], data)
        rows.append(
            (
                stated,
                abs(stated - margin),
                abs(stated - gain),
                stated - moved,
                stated - before,
                longest / 2 * far,
            )
        )
        before = stated
    found, primal, dual, better, grown, reach = np.array(rows).T
    gap = abs(upper - best.certificate.primal) / upper
    return (
        Check(
            "margin of the maximiser, over γ₁'s upper bound",
            lower / upper,
            "==",
            1.0,
            error + gap,
            "f summed over its neurons",
        ),
        Check(
            "largest |γ₁^(m) − margin of its masses|/γ₁",
            float(np.max(primal)) / lower,
            "==",
            0.0,
            error,
            BOTH,
        ),
        Check(
            "largest |γ₁^(m) − largest gain of its weights|/γ₁",
            float(np.max(dual)) / lower,
            "==",
            0.0,
            error,
            BOTH,
        ),
        Check(
            "largest γ₁^(m)/γ₁",
            float(np.max(found)) / upper,
            "<=",
            1.0 + 2 * error,
            error,
            "a proven upper bound",
        ),
        Check(
            "least (γ₁^(m) − margin of the maximiser on the nearest directions)/γ₁",
            float(np.min(better)) / lower,
            ">=",
            -2 * error,
            error,
            MOVED,
        ),
        Check(
            "least (γ₁^(m) − γ₁)/(½max‖(x, 1)‖·δ)",
            float(np.min((found - lower) / reach)),
            ">=",
            -1.0,
            error * lower / float(np.min(reach)),
            MOVED,
        ),
        Check(
            "least growth of γ₁^(m) with m, over γ₁",
            float(np.min(grown)) / lower,
            ">=",
            -2 * error,
            error,
            BOTH,
        ),
        Check(
            f"γ₁^({NUMBERS[-1]})/γ₁, at least 1 − ½max‖(x, 1)‖·δ/γ₁",
            float(found[-1]) / lower,
            ">=",
            max(1 - float(reach[-1]) / lower, -1.0),
            error,
            MOVED,
        ),
    )


def _directions(count: int, d: int) -> Array:
    u = np.random.default_rng(3).standard_normal((count, d))
    return np.asarray(u / np.linalg.norm(u, axis=1)[:, None])


def _features(data: Dataset, u: Array) -> Array:
    """y_iφ(θ, x_i) = ±½y_i(⟨u, (x_i, 1)⟩)₊ over both signs, (n, 2m)."""
    values = data.y[:, None] * np.maximum(augmented(data.X) @ u.T, 0.0) / 2
    return np.hstack([values, -values])


def _over(data: Dataset, u: Array) -> tuple[float, float, float]:
    """γ₁^(m) by the library, the margin of its masses, and the largest gain of its weights."""
    Z = _features(data, u)
    found = l1_max_margin(Z, time_s=RECORDED_S)
    a, p = np.maximum(found.value, 0.0), np.maximum(found.stats["weights"], 0.0)
    total = float(np.sum(a))
    margin = float(np.min(Z @ a)) / total if total > 0 else 0.0
    return float(found.objective), margin, max(float(np.max(p @ Z)) / float(np.sum(p)), 0.0)


def _moved(measure: Particles, u: Array, data: Dataset) -> tuple[float, float]:
    """The largest distance of an atom from its nearest direction, and the margin of the measure
    with all atoms moved there."""
    nearest = np.argmax(measure.directions @ u.T, axis=1)
    far = float(np.max(np.linalg.norm(measure.directions - u[nearest], axis=1)))
    return far, float(np.min(measured_margins(measure._replace(directions=u[nearest]), data)))


sec4 = Claim(
    "C/sec4",
    "Over m fixed directions the max margin γ₁^(m) grows with them towards γ₁: γ₁ − ½max‖(x, 1)‖·δ "
    "≤ γ₁^(m) ≤ γ₁, δ the largest distance of a maximiser's atom from a direction, which vanishes "
    "as the directions fill the sphere.",
    "C, §4, continuous limit",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _sec4,
    kind=Kind.STATIC,
    witness=MOVED,
    family=labelled_family,
    limit=of_f1_margin,
)

CLAIMS = (sec4,)
