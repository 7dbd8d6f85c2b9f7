"""Worlds for S/certify."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import global_margins as margins

CERTIFICATE, NORMALISED = margins.certificate, margins.normalised_margin


def certificates(change):
    """Another answer of `certify`, from the right one."""

    def spoil(patch):
        def answer(a, W, data, time_s):
            return change(CERTIFICATE(a, W, data, time_s), a, W, data)

        patch.setattr(margins, "certificate", answer)

    return spoil


def scaled(bracket, factor):
    return dataclasses.replace(bracket, lower=factor * bracket.lower, upper=factor * bracket.upper)


def larger_by_a_millionth(found, a, W, data):
    return dataclasses.replace(found, best=scaled(found.best, 1.000002))


def stationary_points_are_global(found, a, W, data):
    """As if a KKT point had the largest margin."""
    if not found.stationary:
        return found
    return dataclasses.replace(found, fraction=scaled(found.fraction, 1 / found.fraction.upper))


def layers_are_rescaled_for_free(found, a, W, data):
    """Σ2|a_j|‖w_j‖ in the place of ‖θ‖²."""
    return dataclasses.replace(found, fraction=scaled(found.fraction, 1 / found.balance))


def multipliers_are_equal(found, a, W, data):
    """As if samples near the origin carried no more than others."""
    lam = found.kkt.multipliers
    kkt = dataclasses.replace(found.kkt, multipliers=np.full(lam.size, np.mean(lam)))
    return dataclasses.replace(found, kkt=kkt)


def stationarity_is_forgotten(found, a, W, data):
    """The residual of complementarity alone."""
    return dataclasses.replace(found, kkt=dataclasses.replace(found.kkt, stationarity=0.0))


def half_the_norm(patch):
    """Σ|a_j|‖w_j‖ in the place of ‖θ‖², which is twice as much: margins above γ₁."""

    def margin(a, W, data):
        norms = np.sum(a**2) + np.sum(W**2)
        return NORMALISED(a, W, data) * norms / np.sum(np.abs(a) * np.linalg.norm(W, axis=1))

    patch.setattr(margins, "normalised_margin", margin)


def masses_are_equal(patch):
    """½·min‖x_i‖/n: as if every neuron had the same mass."""

    def predicted(data):
        return 0.5 * float(np.min(np.linalg.norm(data.X, axis=1))) / data.n

    patch.setattr(margins, "predicted_margin", predicted)


def in_other_units(patch):
    data = margins.margin_data(0)
    return {"problem": bf.Dataset(1000 * data.X, data.y, "larger inputs")}


WORLDS = [
    World("S/certify", "γ₁ larger by 2e-6", certificates(larger_by_a_millionth)),
    World("S/certify", "every KKT point is global", certificates(stationary_points_are_global)),
    World("S/certify", "a → ca, w → w/c for free", certificates(layers_are_rescaled_for_free)),
    World("S/certify", "equal multipliers", certificates(multipliers_are_equal)),
    World("S/certify", "no stationarity asked for", certificates(stationarity_is_forgotten)),
    World("S/certify", "margins over Σ|a|‖w‖", half_the_norm),
    World("S/certify", "one neuron each, of equal masses", masses_are_equal),
    World(
        "S/certify",
        "inputs in other units",
        in_other_units,
        "still true",
        "margins are proportional to the inputs",
    ),
]
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
