"""Worlds for R's claims on equal samples, potentials that are not separable and random weights."""

import dataclasses

import numpy as np
from worlds import World

from biasflow.theory import claim
from biasflow.theory.examples import fixed_directions_problem
from biasflow.theory.mirror import cones as cone, legendre, twins


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
        return real(
            problem,
            shift if length == 0 else 1e-3 * np.linalg.norm(problem.X[0]) * shift / length,
            label,
        )

    patch.setattr(twins, "with_twin", changed)


def other_responses(patch):
    """Responses that differ by ε."""
    real = twins.with_twin
    patch.setattr(
        twins,
        "with_twin",
        lambda p, shift, label=0.0: real(
            p, shift, float(np.linalg.norm(shift) / np.linalg.norm(p.X[0])) * np.max(np.abs(p.y))
        ),
    )


def unmoved(patch):
    """The limit of the sample given twice in place of β*: nothing would be left to go."""
    real = twins.bregman_projection

    def changed(potential, X, y, beta0):
        return real(potential, X[:-1], y[:-1], beta0)

    patch.setattr(twins, "bregman_projection", changed)


def potential_with(key=0, **changes):
    """An example whose functions are changed: `changes` map the problem to a function."""

    def spoil(patch):
        problem = claim("R/legendre").example(key)
        return {
            "problem": dataclasses.replace(
                problem, **{name: change(problem) for name, change in changes.items()}
            )
        }

    return spoil


def nearest_in_l2(patch):
    """The interpolator nearest in ℓ2 in place of the projection."""
    patch.setattr(legendre, "projection", legendre.interior_point)


def moved_projection(patch):
    """The projection moved by 1e-6 inside the null space."""
    real = legendre.projection
    patch.setattr(legendre, "projection", lambda p: real(p) + 1e-6 * legendre.room(p, real(p)))


def slow_flow(patch):
    """A flow four times slower: ∇φ of 4φ, while divergences are those of φ."""
    real = legendre._followed

    def changed(p, rtol, times=None):
        found = real(p, rtol, None if times is None else times / 4)
        return (
            found
            if isinstance(found, str)
            else (4 * found[0], np.column_stack([found[1][:, :-1], 4 * found[1][:, -1]]))
        )

    patch.setattr(legendre, "_followed", changed)


def sideways_flow(patch):
    """∇φ moves along Aᵀ in place of Xᵀ: no mirror flow of F."""
    real = legendre._followed

    def changed(p, rtol, times=None):
        found = real(p, rtol, times)
        if isinstance(found, str):
            return found
        rows = found[1].copy()
        beta = p.inverse(rows[-1, :-1])
        rows[:, :-1] += np.linspace(0, 1, len(rows))[:, None] * (
            p.gradient(beta + 1e-3 * legendre.room(p, beta)) - p.gradient(beta)
        )
        return found[0], rows

    patch.setattr(legendre, "_followed", changed)


def other_dimension(patch):
    """The probability in one dimension more."""
    real = cone.log_failing
    patch.setattr(cone, "log_failing", lambda d, kind: real(d + 1, kind))


def in_high_dimension(spoil):
    """The same where no draw that is not aimed fails."""

    def change(patch):
        spoil(patch)
        return {"problem": fixed_directions_problem(0, d=40, m=8)}

    return change


def likelier(patch):
    """A failure a tenth more likely."""
    real = cone.log_failing
    patch.setattr(cone, "log_failing", lambda d, kind: real(d, kind) + np.log(1.1))


def one_neuron(patch):
    """The probability for half of the neurons."""
    real = cone.all_inside
    patch.setattr(cone, "all_inside", lambda d, m, kind: real(d, m // 2, kind))


def other_weights(patch):
    """Gaussian weights where uniform ones are asked for, and the other way round."""
    real = cone.drawn
    patch.setattr(
        cone,
        "drawn",
        lambda rng, kind, shape: real(rng, "uniform" if kind == "Gaussian" else "Gaussian", shape),
    )


def slower_decay(patch):
    """A failure that is as likely in high dimension."""
    real = cone.log_failing
    patch.setattr(cone, "log_failing", lambda d, kind: real(6, kind))


def straight_aim(patch):
    """Draws that are aimed, and counted as if they were not."""
    real = cone.aimed
    patch.setattr(cone, "aimed", lambda *a: (*(found := real(*a))[:2], 0 * found[2]))


WORLDS: tuple[World, ...] = (
    World("R/twins", "the sample times two", another_weight, key=2),
    World("R/twins", "½ε²⟨z, β̂⟩²", another_floor, key=2),
    World("R/twins", "a distance that does not fall", twins_that_stay, key=2),
    World("R/twins", "responses that differ by ε", other_responses, key=2),
    World("R/twins", "the limit of the sample given twice", unmoved, key=2),
    World("R/cone", "one dimension more", other_dimension),
    World("R/cone", "half of the neurons", one_neuron),
    World("R/cone", "Gaussian for uniform weights", other_weights),
    World("R/cone", "failures that do not fall with d", slower_decay),
    World("R/cone", "40 dimensions: one more in p_d", in_high_dimension(other_dimension)),
    World("R/cone", "40 dimensions: p_d times 1.1", in_high_dimension(likelier)),
    World(
        "R/cone",
        "40 dimensions: draws that are aimed, not weighed",
        in_high_dimension(straight_aim),
    ),
    World("R/legendre", "the interpolator nearest in ℓ2", nearest_in_l2),
    World(
        "R/legendre", "the projection moved inside the null space by 1e-6", moved_projection, key=1
    ),
    World("R/legendre", "a flow four times slower", slow_flow),
    World("R/legendre", "∇φ pushed out of Im Xᵀ", sideways_flow, key=2),
    World(
        "R/legendre",
        "φ twice as large as its gradient says",
        potential_with(value=lambda p: lambda b: 2 * p.value(b)),
    ),
    World(
        "R/legendre",
        "∇φ* of another norm",
        potential_with(inverse=lambda p: legendre.power_norm(1.6)[2]),
    ),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
