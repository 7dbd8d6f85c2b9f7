"""Is this network an F1 max-margin classifier? The optimality conditions, with residuals (C,
Proposition 12); and the best masses on its own directions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import Array, Index, labels, positive_float, positive_int, vector
from ..._core.results import Enclosure, Limit
from ...errors import InputError
from ...models import Particles, as_particles
from ..matrix_games import l1_max_margin
from .best_neuron import SearchOracle, in_units, load_search
from .columns import Neurons, no_neurons
from .f1_margin import RESTARTS, STREAM, margin_bracket
from .labelled_inputs import Labelled, read_labelled, without_bias
from .relaxation import bounded_gain

CLOSE_ENOUGH = 1.001
"""Bound over what was found at which its search may end, where no face is visited."""
ON_MARGIN = 1e-9
"""Relative distance from the margin at which a sample still counts as on it."""


@dataclass(frozen=True, eq=False, repr=False)
class MarginCertificate(Enclosure):
    """A measure ν of mass one with weights p in the simplex, and how far they are from C,
    Proposition 12.

    margin: min_i y_if(x_i) ≤ γ₁ ≤ upper, the largest gain max_θ J(θ), J(θ) = Σ_ip_iy_iφ(θ, x_i).
    direction_slack: upper − ∫J dν, zero iff ν sits on maximisers of J (condition i). sample_slack:
    Σp_iy_if(x_i) − margin, zero iff p sits on the margin (ii). The gap is their sum. kind: 'exact'
    if max J was found exactly, 'bound' if it is only bounded; heuristic_upper: what a search
    without proof says.
    """

    weights: Array
    margins: Array
    margin: float
    upper: float
    direction_slack: float
    sample_slack: float
    kind: str
    heuristic_upper: float

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The margin."""
        return self.margin

    @property
    def gap(self) -> float:
        """upper − margin, an upper bound on γ₁ − margin."""
        return self.upper - self.margin

    @property
    def on_margin(self) -> Index:
        """The samples on the margin."""
        return np.flatnonzero(
            self.margins <= self.margin + ON_MARGIN * max(abs(self.margin), self.upper)
        )


def margin_certificate(
    network: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    gap: float = 1e-9,
    time_s: float = 60.0,
    key: int = 0,
    bias: str = "append",
) -> MarginCertificate:
    """How far a network is from the F1 max margin, with proof (C, Proposition 12).

    Parameters
    ----------
    network : models.Particles or (a, W)
        Parameters of Σ_ja_j(⟨w_j, (x, 1)⟩)₊, W (m, d+1).
    X : array of shape (n, d)
        Without the bias column, or with bias='column' its last one.
    y : array of shape (n,)
        Labels ±1.
    weights : array of shape (n,), optional
        p on the samples, normalised here; where none are given, those that bound γ₁ best, found by
        column generation that begins with the network's own neurons.
    gap, time_s, key, bias
        As in `f1_max_margin`.

    Returns
    -------
    limits.MarginCertificate

    Examples
    --------
    >>> X, y = [[-1.0], [1.0]], [-1, 1]
    >>> network = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> found = bf.limits.margin_certificate(network, X, y)
    >>> print(round(found.margin, 4), round(found.upper, 4), found.kind)
    0.25 0.3536 exact
    """
    X = without_bias(X, bias)
    particles, data = as_particles(network), read_labelled(X, y)
    if particles.norm == 0:
        raise InputError("network: the zero measure has no margin")
    gap, time_s, key = (
        positive_float("gap", gap),
        positive_float("time_s", time_s),
        positive_int("key", key, least=0),
    )
    margins = particles.margins(X, y)
    if weights is not None:
        p = _simplex(weights, margins.size)
        upper, kind, guess = _largest_gain(data, data.gathered(p * labels("y", y)), time_s, key)
    elif data.conflict is not None:
        p, upper, kind, guess = data.conflict_weights, 0.0, "exact", 0.0
    else:
        neurons = Neurons(particles.directions, particles.signs)
        bracket = margin_bracket(data, gap, time_s, key, neurons)
        p, upper, kind = data.spread(bracket.weights * data.y), bracket.upper, bracket.kind
        guess = min(bracket.guess, upper)
    margin, mean = float(np.min(margins)), float(p @ margins)
    return MarginCertificate(p, margins, margin, upper, upper - mean, mean - margin, kind, guess)


def polish(network: Any, X: ArrayLike, y: ArrayLike) -> Limit[Particles]:
    """γ₁^(m) = max over masses of Σmass ≤ 1 on the network's own directions of min_i y_if(x_i) (C,
    Proposition 6's problem).

    At most γ₁, which any directions may reach, and at least the network's own margin.

    Parameters
    ----------
    network : models.Particles or (a, W)
        With the bias coordinate of W last.
    X : array of shape (n, d)
        Without the bias column.
    y : array of shape (n,)
        Labels ±1.

    Returns
    -------
    Limit
        value: `models.Particles` of mass one, the massless left out; certificate: exact over these
        directions, no bound on γ₁. stats: weights p on the samples, support (which neurons are
        kept), separable, margin (the network's own).

    Examples
    --------
    >>> network = np.array([3.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> best = bf.limits.polish(network, [[-1.0], [1.0]], [-1, 1])
    >>> print(round(best.stats["margin"], 6), round(best.objective, 6), best.value.masses.round(6))
    0.125 0.25 [0.5 0.5]
    """
    particles = as_particles(network)
    if particles.signs.size == 0:
        raise InputError("network: every neuron is zero, there is no direction to put mass on")
    features = particles.features(X)
    found = l1_max_margin(labels("y", y, features.shape[0])[:, None] * features)
    kept = found.stats["support"]
    value = Particles(particles.directions[kept], particles.signs[kept], np.log(found.value[kept]))
    return Limit(
        value, found.objective, found.certificate, {**found.stats, "margin": particles.margin(X, y)}
    )


def _largest_gain(
    data: Labelled, signed: Array, time_s: float, key: int
) -> tuple[float, str, float]:
    """max_θ J(θ) for signed weights Σp_iy_i on the distinct inputs: bound, its kind, and what a
    search without proof says."""
    if not np.any(signed):
        return 0.0, "exact", 0.0
    rows, unit = in_units(data.rows / 2)
    load_search(rows)
    deadline = time.monotonic() + time_s
    oracle = SearchOracle(rows, np.random.default_rng([STREAM, key]), RESTARTS, deadline)
    answer = oracle.verified(signed, no_neurons(rows.shape[1]), 0.0, deadline)
    found = float(np.ldexp(answer.maximum, unit))
    if answer.kind == "exact":
        return found, "exact", found
    bound = min(
        bounded_gain(rows, signed), oracle.bounded(signed, answer.maximum * CLOSE_ENOUGH, deadline)
    )
    return max(float(np.ldexp(bound, unit)), found), "bound", found


def _simplex(weights: ArrayLike, n: int) -> Array:
    p = vector("weights", weights, n)
    if np.any(p < 0) or not np.sum(p) > 0:
        raise InputError(
            f"weights: expected numbers of at least zero, not all zero; the least is {np.min(p):g}"
        )
    return p / np.sum(p)
