"""C, §7: max-margin classifiers in F1 are few neurons, piecewise affine, and those in F2 are
smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset
from ..._numerics.deadlines import RECORDED_S
from ...limits import KernelClassifier, f1_max_margin, f2_max_margin, l1_max_margin
from ...models import Particles, augmented
from ..evidence import Evidence
from ..fits import exponent_check
from ..unmeasured import need
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA, SEPARABLE, SIGNS
from .margin_limits import of_f1_margin
from .margin_setting import LOOSE_GAP, inputs_of
from .margins import CELLS, PROVEN_GAP, SUM_ROUNDING, gain_of, measured_margins
from .routes import circle_kernel

LONG = np.geomspace(3e-2, 2e-5, 7)
"""h within which slopes of a smooth function change, over the longest distance of inputs; more than
three decades."""
LINES = 5
"""Lines through pairs of inputs along which a classifier is looked at."""
PLACES = 24
"""Places on each of them."""
PROGRAM_ERROR = 1e-7
"""Of linear programs, relative to the margin: HiGHS asks its residuals for 1e-7."""
VERTEX = "a vertex of the linear program over the maximiser's atoms, summed over its neurons"
EPS = 16 * float(np.finfo(float).eps)
"""Of sums over neurons and of coordinates of places, relative."""


def _sparse(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    best = need(f1_max_margin(data.X, data.y, time_s=evidence.time_left / 2), LOOSE_GAP)
    longest = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    upper = max(best.certificate.dual, float(np.finfo(float).tiny))
    error = SUM_ROUNDING * longest / upper
    if error > TELLING:
        return (
            unknown_check(
                "atoms",
                f"γ₁ ≤ {upper:.2g} is below what float64 resolves for inputs of this size",
            ),
        )
    few, tight, missed = few_atoms(best.value, data)
    margin = float(np.min(measured_margins(few, data)))
    gap = abs(best.certificate.dual - best.certificate.primal) / upper
    return (
        Check(
            "atoms of a maximiser, over the number of samples on its margin",
            len(few.signs) / tight,
            "<=",
            1.0,
            witness=VERTEX,
            null=100 / tight,
        ),
        Check(
            "its margin, over γ₁'s upper bound",
            margin / upper,
            "==",
            1.0,
            error + gap + missed,
            witness=VERTEX,
        ),
        _proven(data, best.stats["weights"], upper, PROVEN_GAP + error + gap),
        _smooth(data, evidence.time_left),
    )


def few_atoms(measure: Particles, data: Dataset) -> tuple[Particles, int, float]:
    """A measure on at most as many of the atoms as there are samples on the margin, with the same
    margin; that number; and by what share of the margin it may miss it.

    A linear program over the atoms has a vertex with n + 1 basic variables: the margin, the slacks
    of the samples off it, and as many masses as samples are left.
    """
    merged = measure.support
    Z = (
        data.y[:, None]
        * np.maximum(augmented(data.X) @ merged.directions.T, 0.0)
        * merged.signs
        / 2
    )
    found = l1_max_margin(Z, time_s=RECORDED_S)
    masses, margin = np.maximum(found.value, 0.0), found.objective
    # an atom counts by what it adds to scores: where margins are small, small masses make them
    kept = masses * np.max(np.abs(Z), axis=0) > PROGRAM_ERROR * margin
    few = Particles(
        merged.directions[kept], merged.signs[kept], np.log(masses[kept] / np.sum(masses[kept]))
    )
    margins = measured_margins(few, data)
    size = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    missed = PROGRAM_ERROR * len(masses) + found.certificate.relative_gap
    tight = margins <= np.min(margins) + missed * margin + SUM_ROUNDING * size
    return few, int(np.sum(tight)), missed


def _proven(data: Dataset, weights: Array, upper: float, error: float) -> Check:
    """That γ₁ is not more: the largest gain of weights, over every cell."""
    quantity, gain = (
        "largest gain of weights on the samples, over γ₁'s upper bound",
        gain_of(weights, data),
    )
    if gain is None:
        return unknown_check(quantity, "too many cells of the sphere for a second search")
    return Check(quantity, gain / upper, "==", 1.0, error, witness=CELLS)


def _smooth(data: Dataset, time_s: float) -> Check:
    """How much slopes of the F2 classifier change within h: in proportion to h, where f is smooth;
    by as much, at a kink."""
    quantity, kernel = (
        "exponent in h of the largest change of slope of the F2 classifier",
        f2_max_margin(data.X, data.y, time_s=time_s).value,
    )
    if not isinstance(kernel, KernelClassifier):
        return unknown_check(quantity, "γ₂ is zero to rounding")
    lines, length = _lines(data)
    size = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    noise = EPS * float(np.sum(np.abs(kernel.coefficients))) * size**2
    curves = np.array([_largest(_by_kernel(kernel), lines, each) for each in length * LONG])
    error = noise / (length * LONG) / curves + _curvature(LONG, curves)
    return exponent_check(
        quantity, LONG, curves, 1.0, error, witness="kernel by quadrature over the circle", null=0.0
    )


def _curvature(h: Array, curves: Array) -> Array:
    """What a next order leaves of changes in proportion to h, relative: in proportion to h too, and
    read off the two longest."""
    first, second = curves[:2] / h[:2]
    return np.asarray(abs(first / second - 1) / (1 - h[1] / h[0]) * h / h[0])


def _lines(data: Dataset) -> tuple[list[tuple[Array, Array]], float]:
    """Places on segments between inputs, of both classes where there are two; and the longest
    segment."""
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(data.n) for j in range(i) if np.any(data.X[i] != data.X[j])]
    mixed = [(i, j) for i, j in pairs if data.y[i] != data.y[j]] or pairs or [(0, 0)]
    found, longest = [], 0.0
    for k in rng.permutation(len(mixed))[:LINES]:
        i, j = mixed[k]
        length = float(np.linalg.norm(data.X[j] - data.X[i])) or 1.0
        e = (data.X[j] - data.X[i]) / length if i != j else np.eye(data.d)[0]
        found.append((data.X[i] + np.linspace(0, length, PLACES)[:, None] * e, e))
        longest = max(longest, length)
    return found, longest


def _bends(f: Callable[[Array], Array], places: Array, e: Array, h: float) -> Array:
    """(f(x + he) + f(x − he) − 2f(x))/h: what the slope along e changes by."""
    return np.asarray((f(places + h * e) + f(places - h * e) - 2 * f(places)) / h)


def _largest(f: Callable[[Array], Array], lines: list[tuple[Array, Array]], h: float) -> float:
    return max(float(np.max(np.abs(_bends(f, places, e, h)))) for places, e in lines)


def _by_kernel(found: KernelClassifier) -> Callable[[Array], Array]:
    points = augmented(found.points)
    return lambda X: np.asarray(circle_kernel(augmented(X), points) @ found.coefficients)


sparse = Claim(
    "C/sparse",
    "Some F1 max-margin classifier is a sum of no more neurons than samples on its margin, so of "
    "n at most, and thereby piecewise"
    " affine; the F2 max-margin classifier has a continuous slope (it is twice differentiable).",
    "C, §7, low dimensional illustrations",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _sparse,
    Kind.EXISTENCE,
    VERTEX,
    "a hundred neurons",
    labelled_family,
    limit=of_f1_margin,
)

CLAIMS = (sparse,)
