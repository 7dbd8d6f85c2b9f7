"""Worlds for S/parametrisation."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import commuting_gradients as gradients

S = "S/parametrisation"


def another_limit(change):
    def spoil(patch):
        real = gradients.predicted
        patch.setattr(
            gradients,
            "predicted",
            lambda found, X, y: dataclasses.replace(
                real(found, X, y), value=change(real(found, X, y).value, found, X, y)
            ),
        )

    return spoil


def nearest(value, found, X, y):
    return found.beta0 + np.linalg.lstsq(X, y - X @ found.beta0, rcond=None)[0]


def from_zero(value, found, X, y):
    return np.linalg.lstsq(X, y, rcond=None)[0]


def another_start(value, found, X, y):
    """The limit of the same potential from a start one part in a thousand larger."""
    other = bf.diagnostics.find_potential(found.fields.function, 1.001 * found.start, loops=1)
    return other.limit(X, y).value


def another_mirror_map(change):
    def spoil(patch):
        real = gradients.dual_value
        patch.setattr(gradients, "dual_value", lambda found, mu: change(real(found, mu), found, mu))

    return spoil


def halved_pull(beta, found, mu):
    return found.at(mu / 2).beta


def straight_line(beta, found, mu):
    """The mirror map of linear weights: ∂G∂Gᵀ as at the start."""
    J = found.fields.jacobian(found.start)
    return found.beta0 + J @ (J.T @ mu)


WORLDS = (
    World(S, "an end nearest to the start", another_limit(nearest)),
    World(S, "an end at least ℓ2 norm", another_limit(from_zero)),
    World(S, "a start that is 0.1% larger", another_limit(another_start)),
    World(S, "half of the pull", another_mirror_map(halved_pull)),
    World(S, "weights that stay where they began", another_mirror_map(straight_line)),
    World(S, "depth three from half of the pull", another_mirror_map(halved_pull), key=1),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
