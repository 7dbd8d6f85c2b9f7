"""How good the directions of a trained network are: the best masses on them, by linear
programming."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core.arguments import labels
from ..._core.results import Limit
from ...errors import InputError
from ...models import Particles, as_particles
from ..matrix_games import l1_max_margin


def polish(network: Any, X: ArrayLike, y: ArrayLike) -> Limit[Particles]:
    """γ₁^(m) = max over masses of Σmass ≤ 1 on the network's own directions of min_i y_if(x_i) (C,
    Proposition 6's problem).

    network: `Particles`, or parameters (a, W) with the bias coordinate of W last; X (n, d) without
    the bias column, y = ±1. At most γ₁, which any directions may reach, and at least the network's
    own margin. value: `Particles` of mass one, the massless left out; certificate: exact over these
    directions, no bound on γ₁. stats: weights p on the samples, support (which neurons are kept),
    separable, margin (the network's own).
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
