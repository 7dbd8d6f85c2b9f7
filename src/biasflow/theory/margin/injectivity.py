"""C, Lemma 28: features tell measures apart."""

from __future__ import annotations

import numpy as np

from ..._core.arguments import Array
from ...models import TwoLayer, TwoLayerParams, augmented
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_examples import cluster_data, labelled_family
from .margin_hypotheses import DATA
from .margin_setting import inputs_of

EPS = float(np.finfo(float).eps)
PLACES_TRIED = 400
"""Places tried on an input's kink."""
PIECES = 12
"""Intervals of the line over which a density is spread, each with its own mass."""
READ = "second differences of a ↦ ∫(aᵀ(x, 1))₊dλ across kinks"


def _lem28(evidence: Evidence) -> tuple[Check, ...]:
    data = inputs_of(evidence.problem)
    rows = augmented(np.unique(data.X, axis=0))
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    rng = np.random.default_rng(0)
    masses = rng.standard_normal(len(rows))
    quantity = "λ read off its transform, off λ, largest over points, over the largest mass"
    found, error, blind = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    for i, row in enumerate(unit):
        w, clear = _lone_place(unit, i, rng)
        if clear == 0:
            unread = unknown_check(quantity, "an input has its kink where another has its own")
            return unread, _density(data.X, rng)
        step = clear / 2
        ends = np.stack([w + step * row, w - step * row, w])
        values = _transform(ends, unit, masses)
        found[i] = (values[0] + values[1] - 2 * values[2]) / step
        error[i] = 8 * len(rows) * EPS * float(np.sum(np.abs(masses))) / step
        straight = ends @ unit.T @ masses
        blind[i] = (straight[0] + straight[1] - 2 * straight[2]) / step
    size = float(np.max(np.abs(masses)))
    worst = int(np.argmax(np.abs(found - masses) - error))
    return (
        Check(
            quantity,
            float(abs(found[worst] - masses[worst])) / size,
            "==",
            0.0,
            float(np.max(error)) / size,
            witness=READ,
            null=float(np.max(np.abs(blind - masses))) / size,
        ),
        _density(data.X, rng),
    )


def _density(X: Array, rng: np.random.Generator) -> Check:
    """A signed density on R^d that is constant between planes across a line, of which neurons along
    the line see the masses.

    (⟨v, x⟩ − t)₊ integrated has the density's image on the line as its second derivative in t: read
    off in each piece by a second difference, exact since the image is constant there. All lines
    together tell the measure (Cramér and Wold).
    """
    drawn = rng.standard_normal(X.shape[1])
    v = np.asarray(drawn / np.linalg.norm(drawn))
    low, high = float(np.min(X @ v)), float(np.max(X @ v))
    edges = (
        np.linspace(low, high, PIECES + 1)
        if high > low
        else low + np.linspace(-1.0, 1.0, PIECES + 1)
    )
    half, masses = float(edges[1] - edges[0]) / 2, rng.standard_normal(PIECES)
    nodes = (edges[:-1] + half)[:, None] + half * np.array([-1, -1, 1, 1]) * (
        0.5 + 0.5 / 3**0.5 * np.array([1, -1, -1, 1])
    )
    across = rng.standard_normal((nodes.size, X.shape[1]))
    points = np.outer(nodes.ravel(), v) + (across - np.outer(across @ v, v)) * half
    t = np.concatenate([edges, edges[:-1] + half])
    directions = np.column_stack([np.tile(v, (t.size, 1)), -t])
    shares = np.repeat(masses / 4, 4)
    values, straight = (
        _transform(directions, augmented(points), shares),
        directions @ augmented(points).T @ shares,
    )
    ends, middles = np.arange(PIECES), PIECES + 1 + np.arange(PIECES)
    found, blind = (
        (2 / half) * (each[ends] + each[ends + 1] - 2 * each[middles])
        for each in (values, straight)
    )
    size = float(np.max(np.abs(masses)))
    reach = max(abs(low), abs(high)) + half
    error = 64 * EPS * float(np.sum(np.abs(masses))) * reach / half
    return Check(
        "masses of a signed density along a line read off its transform, off them, largest, over "
        "the largest mass",
        float(np.max(np.abs(found - masses))) / size,
        "==",
        0.0,
        error / size,
        witness=READ,
        null=float(np.max(np.abs(blind - masses))) / size,
    )


def _transform(directions: Array, rows: Array, masses: Array) -> Array:
    """a ↦ ∫(aᵀ(x, 1))₊dλ of a signed measure with finitely many atoms, by the library's neurons."""
    neurons = TwoLayerParams(np.ones(len(directions)), directions)
    return np.asarray(TwoLayer(*directions.shape).hidden(neurons, rows) @ masses)


def _lone_place(unit: Array, i: int, rng: np.random.Generator) -> tuple[Array, float]:
    """A place on input i's kink, and its distance from all others'."""
    w = rng.standard_normal((PLACES_TRIED, unit.shape[1]))
    for _ in range(2):  # again: what rounding left
        w -= np.outer(w @ unit[i], unit[i])
    size = np.linalg.norm(w, axis=1)
    w = w[size > 0] / size[size > 0, None]
    others = np.abs(w @ (np.delete(unit, i, axis=0) - unit[i]).T)
    clear = np.min(others, axis=1, initial=1.0)
    best = int(np.argmax(clear))
    return w[best], float(clear[best])


lem28 = Claim(
    "C/lem28",
    "If ∫(aᵀ(x, 1))₊dλ(x) = 0 for all a, then λ = 0: a signed measure on the inputs can be read "
    "off this function of a.",
    "C, Lemma 28",
    (DATA,),
    cluster_data,
    _lem28,
    Kind.UNIQUENESS,
    READ,
    "features without the positive part",
    labelled_family,
)

CLAIMS = (lem28,)
