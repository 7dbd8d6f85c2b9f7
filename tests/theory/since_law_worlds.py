"""Worlds for S/laws and S/laws-decay."""

import dataclasses

import numpy as np
from worlds import World

from biasflow.models import MatrixFactorisation
from biasflow.models.factorisation import FactorParams
from biasflow.theory.since import damped, kept_quantities

LAWS, DECAY = "S/laws", "S/laws-decay"


def laws_changed(module, change):
    def spoil(patch):
        real = module.laws_at
        patch.setattr(module, "laws_at", lambda problem: change(real(problem)))

    return spoil


def formulas(change):
    """Every formula by another."""
    return lambda laws: dataclasses.replace(laws, laws=tuple(change(law) for law in laws.laws))


def product_for_depth_three(law):
    return dataclasses.replace(
        law, values=lambda p: p.plus * p.minus, sizes=lambda p: np.abs(p.plus * p.minus)
    )


def sum_of_squares(law):
    rows, cols = np.triu_indices(2)
    return dataclasses.replace(law, values=lambda p: (p.U.T @ p.U + p.V.T @ p.V)[rows, cols])


def nearly(law):
    """One part in a thousand of ‖U‖² beside the law."""
    return dataclasses.replace(law, values=lambda p: law.values(p) + 1e-3 * np.sum(p.U**2))


def more_laws(count):
    return lambda laws: dataclasses.replace(laws, number=laws.number + count)


def a_factor_that_learns_faster(patch):
    """The rate of V 1.01 times that of U: another metric, other laws."""
    real = MatrixFactorisation.gradient

    def gradient(self, params, X, output_gradient):
        found = real(self, params, X, output_gradient)
        return FactorParams(found.U, 1.01 * found.V)

    patch.setattr(MatrixFactorisation, "gradient", gradient)


def degrees(change):
    return formulas(lambda law: dataclasses.replace(law, degree=change(law.degree)))


def another_friction(patch):
    real = damped.moved_states

    def states(problem, gamma, velocity, times, laws):
        return real(problem, 1.01 * gamma, velocity, times, laws)

    patch.setattr(damped, "moved_states", states)


def source_halved(patch):
    real = damped.moved_states

    def states(problem, gamma, velocity, times, laws):
        found, errors = real(problem, gamma, velocity, times, laws)
        return found * np.where(np.arange(found.shape[1]) < 2 * velocity.size, 1.0, 0.5), errors

    patch.setattr(damped, "moved_states", states)


WORLDS = (
    World(LAWS, "UᵀU + VᵀV", laws_changed(kept_quantities, formulas(sum_of_squares))),
    World(
        LAWS, "a thousandth of ‖U‖² beside the law", laws_changed(kept_quantities, formulas(nearly))
    ),
    World(LAWS, "one law more", laws_changed(kept_quantities, more_laws(1))),
    World(LAWS, "one law fewer", laws_changed(kept_quantities, more_laws(-1))),
    World(LAWS, "V learns 1% faster than U", a_factor_that_learns_faster),
    World(
        LAWS,
        "w₊w₋ at depth three",
        laws_changed(kept_quantities, formulas(product_for_depth_three)),
        key=1,
    ),
    World(DECAY, "decay as e^{−κt}", laws_changed(damped, degrees(lambda k: k - 1))),
    World(DECAY, "friction 1% stronger than said", another_friction),
    World(DECAY, "C(θ̇) in place of 2C(θ̇)", source_halved),
    World(DECAY, "depth three decays, too", laws_changed(damped, degrees(abs)), key=1),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
