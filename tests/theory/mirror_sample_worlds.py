"""Worlds for R's claims on equal samples."""

import dataclasses

import numpy as np
from worlds import World

from biasflow.theory.mirror import twins


def another_weight(patch):
    """The sample times two."""
    real = twins.heavier

    def changed(problem):
        found, factor = real(problem), np.append(np.sqrt(2.0), np.ones(len(problem.y) - 1))
        return dataclasses.replace(found, X=factor[:, None] * found.X, y=factor * found.y)

    patch.setattr(twins, "heavier", changed)


def another_floor(patch):
    """½ε²⟨z, β̂⟩²: as if one sample alone were off."""
    real = twins.floor_of_loss
    patch.setattr(twins, "floor_of_loss", lambda eps, tilt: 2 * real(eps, tilt))


def twins_that_stay(patch):
    """Second samples at one distance, whatever ε."""
    real = twins.with_twin

    def changed(problem, shift, label=0.0):
        length = np.linalg.norm(shift)
        return real(problem, shift if length == 0 else 1e-3 * np.linalg.norm(problem.X[0]) * shift / length, label)

    patch.setattr(twins, "with_twin", changed)


def other_responses(patch):
    """Responses that differ by ε."""
    real = twins.with_twin
    patch.setattr(
        twins,
        "with_twin",
        lambda p, shift, label=0.0: real(p, shift, float(np.linalg.norm(shift) / np.linalg.norm(p.X[0])) * np.max(np.abs(p.y))),
    )


def unmoved(patch):
    """The limit of the sample given twice in place of β*: nothing would be left to go."""
    real = twins.bregman_projection

    def changed(potential, X, y, beta0):
        return real(potential, X[:-1], y[:-1], beta0)

    patch.setattr(twins, "bregman_projection", changed)


WORLDS: tuple[World, ...] = (
    World("R/twins", "the sample times two", another_weight),
    World("R/twins", "½ε²⟨z, β̂⟩²", another_floor),
    World("R/twins", "a distance that does not fall", twins_that_stay, key=2),
    World("R/twins", "responses that differ by ε", other_responses, key=2),
    World("R/twins", "the limit of the sample given twice", unmoved),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
