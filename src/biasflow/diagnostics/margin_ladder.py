"""What a convex step would gain: a two-layer network, balanced, with the best masses on its own
neurons, with one neuron more, and the best there is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .._core.arguments import Array, row_lengths
from .._core.results import Bracket, Limit
from .._numerics.deadlines import MOMENT
from ..limits import l1_max_margin
from ..limits.neurons.best_neuron import SearchOracle, in_units
from ..limits.neurons.columns import Neurons
from ..limits.neurons.f1_margin import RESTARTS, STREAM, largest_margin
from ..limits.neurons.labelled_inputs import Labelled
from ..models import Particles, TwoLayerParams
from .exact_margins import margin_bounds

MOST_ENTRIES = 3_000_000
"""Samples times neurons up to which the best masses are solved for."""
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Polish:
    """Normalised margins on the way from a network to the best one, each at least the one before.

    own: the network's. balanced: with |a_j| = ‖w_j‖, the same function at least norm. masses: with
    the best masses on its own neurons. neuron: with one more neuron, and the best masses again.
    direction, sign: that neuron; violation: by which share of the margin its gain Σ_ip_iy_iφ
    exceeds that of every own neuron, zero where no neuron can gain. network: (a, W) with the best
    masses. further: (a, W) with the neuron.
    """

    own: float
    balanced: float
    masses: float
    neuron: float
    direction: Array
    sign: float
    violation: float
    network: TwoLayerParams
    further: TwoLayerParams

    @property
    def gain(self) -> float:
        """Margin of the polished network over the network's own; infinite from a margin that is
        not positive."""
        return self.masses / self.own if self.own > 0 else np.inf


def unit_neurons(a: Array, W: Array) -> tuple[Neurons, Array]:
    """Directions with signs, and masses 2|a_j|‖w_j‖; those that are zero left out."""
    lengths = row_lengths(W)
    kept = (a != 0) & (lengths > 0)
    u = W[kept] / lengths[kept, None]
    u = u / np.linalg.norm(u, axis=1)[:, None]
    return Neurons(u, np.sign(a[kept])), 2 * np.abs(a[kept]) * lengths[kept]


def as_network(neurons: Neurons, masses: Array) -> TwoLayerParams:
    """The balanced network of a measure, massless neurons left out."""
    kept = masses > 0
    size = np.sqrt(masses[kept] / 2)
    return TwoLayerParams(neurons.s[kept] * size, size[:, None] * neurons.u[kept])


def best_margin(
    data: Labelled, neurons: Neurons, gap: float, time_s: float, key: int
) -> tuple[Bracket, Limit[Particles]]:
    """γ₁ of these inputs between proven bounds, from the network's own neurons on."""
    found = largest_margin(data, gap, time_s, key, neurons)
    proof = found.certificate
    bracket = Bracket(
        proof.lower, proof.upper, proof.kind, found.value, found.objective, found.stats
    )
    return bracket, found


def polish_steps(
    a: Array, W: Array, data: Labelled, own: float, key: int, deadline: float
) -> Polish | None:
    """None where there are too many samples and neurons, or time is up."""
    neurons, masses = unit_neurons(a, W)
    if data.y.size * len(neurons) > MOST_ENTRIES or time.monotonic() > deadline:
        return None
    network, p, level = _best_masses(neurons, data, deadline)
    balanced = _margin(as_network(neurons, masses), data)
    rows, unit = in_units(data.rows / 2)
    oracle = SearchOracle(rows, np.random.default_rng([STREAM, key]), RESTARTS, deadline)
    answer = oracle.best(p * data.y, neurons, 0.0)
    best = answer.neurons.chosen(np.array([0]))
    gain = float(np.ldexp(answer.values[0], unit))
    more = neurons.joined(best) if gain > level * (1 + len(neurons) * EPS) else neurons
    further = _best_masses(more, data, deadline)[0] if len(more) > len(neurons) else network
    steps = [own, balanced, _margin(network, data), _margin(further, data)]
    own, balanced, polished, longer = np.maximum.accumulate(steps)
    violation = max(gain / level - 1, 0.0) if level > 0 else np.inf
    return Polish(
        float(own),
        float(balanced),
        float(polished),
        float(longer),
        best.u[0],
        float(best.s[0]),
        violation,
        network,
        further,
    )


def _best_masses(
    neurons: Neurons, data: Labelled, deadline: float
) -> tuple[TwoLayerParams, Array, float]:
    """A network on these neurons of the largest margin, the samples' weights, and the margin that
    no masses exceed."""
    left = max(deadline - time.monotonic(), MOMENT)
    Z = data.y[:, None] * neurons.features(data.rows / 2)
    found = l1_max_margin(Z, time_s=left)
    masses = np.asarray(found.value)
    return as_network(neurons, masses), found.stats["weights"], found.certificate.upper


def _margin(network: TwoLayerParams, data: Labelled) -> float:
    return margin_bounds(network.a, network.W, data.rows, data.y)[0]
