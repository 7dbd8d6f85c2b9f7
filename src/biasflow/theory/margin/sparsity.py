"""C, §7: max-margin classifiers in F1 are few neurons, piecewise affine, and those in F2 are smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...inputs import Array
from ...limits import KernelClassifier, f1_max_margin, f2_max_margin, l1_max_margin
from ...models import Particles, augmented
from ...records import Dataset
from ..evidence import Evidence
from ..fits import exponent_check
from ..verdicts import TELLING, Check, Claim, Kind, unknown_check
from .examples import cluster_data, labelled_family
from .hypotheses import DATA, SEPARABLE, SIGNS
from .margins import CELLS, PROVEN, SUMS, gain_of, measured_margins
from .routes import circle_kernel
from .setting import given_limit, inputs_of

SHORT = np.geomspace(0.5, 4e-4, 7)
"""h within which the slope of a piecewise affine function changes at a kink, over the distance of the next kink."""
LONG = np.geomspace(3e-2, 2e-5, 7)
"""The same for a smooth function, over the longest distance of inputs; both over more than three decades."""
BESIDE = 1e-3
"""h off kinks, over that distance."""
LINES = 5
"""Lines through pairs of inputs along which a classifier is looked at."""
PLACES = 24
"""Places on each of them; beside them the places of the kinks themselves."""
SOLVED = 1e-7
"""Of linear programs: HiGHS asks its primal and dual residuals for 1e-7."""
SEEN = 1e-6
"""Mass below which an atom of a linear program's vertex is none: what its residuals leave."""
VERTEX = "a vertex of the linear program over the maximiser's atoms, summed over its neurons"
EPS = 16 * float(np.finfo(float).eps)
"""Of sums over neurons and of coordinates of places, relative."""
ALONG = "slopes along lines, by plain sums"


def _sparse(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    solved = f1_max_margin(data.X, data.y, time_s=evidence.time_left / 2)
    best = given_limit(evidence) or solved
    if not isinstance(best.value, Particles):
        return (unknown_check("γ₁", f"its maximiser is a {type(best.value).__name__}, needs Particles"),)
    longest = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    upper = max(best.certificate.dual, float(np.finfo(float).tiny))
    error = (SUMS + SOLVED) * longest / upper
    if error > TELLING:
        return (unknown_check("atoms", f"γ₁ ≤ {upper:.2g} is below what a linear program resolves for inputs of this size"),)
    few, tight = few_atoms(best.value, data)
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
        Check("its margin, over γ₁'s upper bound", margin / upper, "==", 1.0, error + gap, witness=VERTEX),
        _proven(data, solved.stats["weights"], upper, PROVEN + error + gap),
        *_shapes(data, few),
    )


def few_atoms(measure: Particles, data: Dataset) -> tuple[Particles, int]:
    """A measure on at most as many of the atoms as there are samples on the margin, with the same margin; and that number.

    A linear program over the atoms has a vertex with n + 1 basic variables: the margin, the slacks of the samples off it, and
    as many masses as samples are left.
    """
    merged = measure.support
    Z = data.y[:, None] * np.maximum(augmented(data.X) @ merged.directions.T, 0.0) * merged.signs / 2
    found = l1_max_margin(Z)
    masses = np.maximum(found.value, 0.0)
    kept = masses > SEEN * np.sum(masses)
    few = Particles(merged.directions[kept], merged.signs[kept], np.log(masses[kept] / np.sum(masses[kept])))
    margins = measured_margins(few, data)
    size = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    return few, int(np.sum(margins <= np.min(margins) + SOLVED * size))


def _proven(data: Dataset, weights: Array, upper: float, error: float) -> Check:
    """That γ₁ is not more: the largest gain of weights, over every cell."""
    quantity, gain = "largest gain of weights on the samples, over γ₁'s upper bound", gain_of(weights, data)
    if gain is None:
        return unknown_check(quantity, "too many cells of the sphere for a second search")
    return Check(quantity, gain / upper, "==", 1.0, error, witness=CELLS)


def _shapes(data: Dataset, few: Particles) -> tuple[Check, ...]:
    """How much slopes change within h: by the same amount however short h, at a kink; in proportion to h, where f is smooth."""
    kernel = f2_max_margin(data.X, data.y).value
    if not isinstance(kernel, KernelClassifier):
        return (unknown_check("exponent in h of the largest change of slope", "γ₂ is zero to rounding"),)
    lines, length = _lines(data, few)
    neurons, smooth = _by_neurons(few), _by_kernel(kernel)
    size = float(np.max(np.linalg.norm(augmented(data.X), axis=1)))
    own = EPS * size * (1 + size / length)
    other = EPS * float(np.sum(np.abs(kernel.coefficients))) * size**2
    h, floor = length * BESIDE, own / (length * BESIDE)
    off, null = 0.0, 0.0
    for places, e in lines:
        beside = np.min(np.abs(_crossings(few, places, e)), axis=1) <= h
        off = max(off, float(np.max(np.abs(_bends(neurons, places, e, h)[~beside]), initial=0.0)))
        null = max(null, float(np.max(np.abs(_bends(smooth, places, e, h)))))
    curves = np.array([_largest(smooth, lines, each) for each in length * LONG])
    found = [
        Check(
            "largest change of slope of the F1 classifier off its neurons' kinks, over what rounding leaves: it is affine there",
            off / floor,
            "<=",
            1.0,
            witness=ALONG,
            null=null / floor,
        ),
        exponent_check(
            "exponent in h of the largest change of slope of the F2 classifier",
            LONG,
            curves,
            1.0,
            other / (length * LONG) / curves + _curvature(LONG, curves),
            witness="kernel by quadrature over the circle",
            null=0.0,
        ),
    ]
    place, e, clear = _sharpest(few, lines)
    bends = np.array([abs(float(_bends(neurons, place[None], e, each)[0])) for each in (clear or 1.0) * SHORT])
    noise = own / ((clear or 1.0) * SHORT)
    if clear > 0 and bends[0] > noise[-1]:  # else it is affine on the inputs, as for one class
        quantity = "exponent in h of the largest change of slope of the F1 classifier: it has kinks"
        found.append(exponent_check(quantity, SHORT, bends, 0.0, noise / bends, witness=ALONG, size=1.0))
    return tuple(found)


def _curvature(h: Array, curves: Array) -> Array:
    """What a next order leaves of changes in proportion to h, relative: in proportion to h too, and read off the two longest."""
    first, second = curves[:2] / h[:2]
    return np.asarray(abs(first / second - 1) / (1 - h[1] / h[0]) * h / h[0])


def _lines(data: Dataset, few: Particles) -> tuple[list[tuple[Array, Array]], float]:
    """Places on segments between inputs, of both classes where there are two, with those of kinks; and the longest segment."""
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(data.n) for j in range(i) if np.any(data.X[i] != data.X[j])]
    mixed = [(i, j) for i, j in pairs if data.y[i] != data.y[j]] or pairs or [(0, 0)]
    found, longest = [], 0.0
    for k in rng.permutation(len(mixed))[:LINES]:
        i, j = mixed[k]
        length = float(np.linalg.norm(data.X[j] - data.X[i])) or 1.0
        e = (data.X[j] - data.X[i]) / length if i != j else np.eye(data.d)[0]
        kinks = _crossings(few, data.X[i : i + 1], e)[0]
        inside = kinks[(kinks > 0) & (kinks < length)]
        found.append((data.X[i] + np.append(np.linspace(0, length, PLACES), inside)[:, None] * e, e))
        longest = max(longest, length)
    return found, longest


def _crossings(few: Particles, places: Array, e: Array) -> Array:
    """How far each neuron's kink is from places along e, (places, neurons); infinite where e runs along the kink."""
    along = few.directions[:, :-1] @ e
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(along != 0, -(augmented(places) @ few.directions.T) / along, np.inf)


def _sharpest(few: Particles, lines: list[tuple[Array, Array]]) -> tuple[Array, Array, float]:
    """The kink of the largest mass on the lines: its place, the line's direction, and how far the next kink or end is."""
    best = (lines[0][0][0], lines[0][1], 0.0)
    largest = 0.0
    for places, e in lines:
        along = np.exp(few.log_masses) * np.abs(few.directions[:, :-1] @ e)
        length = float(np.linalg.norm(places[PLACES - 1] - places[0]))
        kinks = _crossings(few, places[:1], e)[0]
        for j in np.flatnonzero((kinks > 0) & (kinks < length) & (along > largest)):
            others = np.abs(kinks - kinks[j])
            clear = float(np.min(others[others > length * EPS * 1e3], initial=length))
            best, largest = (places[0] + kinks[j] * e, e, clear), float(along[j])
    return best


def _bends(f: Callable[[Array], Array], places: Array, e: Array, h: float) -> Array:
    """(f(x + he) + f(x − he) − 2f(x))/h: what the slope along e changes by."""
    return np.asarray((f(places + h * e) + f(places - h * e) - 2 * f(places)) / h)


def _largest(f: Callable[[Array], Array], lines: list[tuple[Array, Array]], h: float) -> float:
    return max(float(np.max(np.abs(_bends(f, places, e, h)))) for places, e in lines)


def _by_neurons(few: Particles) -> Callable[[Array], Array]:
    weights = few.signs * np.exp(few.log_masses) / 2
    return lambda X: np.asarray(np.maximum(augmented(X) @ few.directions.T, 0.0) @ weights)


def _by_kernel(found: KernelClassifier) -> Callable[[Array], Array]:
    points = augmented(found.points)
    return lambda X: np.asarray(circle_kernel(augmented(X), points) @ found.coefficients)


sparse = Claim(
    "C/sparse",
    "Some F1 max-margin classifier has no more neurons than samples on its margin, so n at most, and is affine between their"
    " kinks; the F2 max-margin classifier has a continuous slope (it is twice differentiable).",
    "C, §7, low dimensional illustrations",
    (DATA, SIGNS, SEPARABLE),
    cluster_data,
    _sparse,
    Kind.EXISTENCE,
    VERTEX,
    "a hundred neurons; the F2 max-margin classifier, which bends everywhere",
    labelled_family,
)

CLAIMS = (sparse,)
