"""Worlds for S/line."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import least_norms_on_a_line as line

SOLVE, FORMULA = line.line_interpolants, line.formula


def solver(change):
    """Another answer, by variant (penalise_bias, skip)."""

    def spoil(patch):
        def answer(x, y, *, penalise_bias, skip):
            return change(x, y, penalise_bias, skip)

        patch.setattr(line, "line_interpolants", answer)

    return spoil


def needs_no_skip(x, y, penalise_bias, skip):
    """∫√(1+t²)|f″| whether or not an affine part is free, as printed."""
    return SOLVE(x, y, penalise_bias=penalise_bias, skip=skip or penalise_bias)


def outer_slopes_are_free(x, y, penalise_bias, skip):
    """∫|f″| with free biases, whether or not an affine part is free."""
    return SOLVE(x, y, penalise_bias=penalise_bias, skip=skip or not penalise_bias)


def biases_are_free(x, y, penalise_bias, skip):
    """Kinks cost the same wherever they are."""
    return SOLVE(x, y, penalise_bias=False, skip=skip)


def the_spline_is_best(x, y, penalise_bias, skip):
    found = SOLVE(x, y, penalise_bias=penalise_bias, skip=skip)
    spline = line.chords(found.x, found.y)
    norm = spline.norm(penalise_bias=penalise_bias, skip=skip)
    return dataclasses.replace(found, value=spline, objective=norm)


def the_minimiser_is_unique(x, y, penalise_bias, skip):
    found = SOLVE(x, y, penalise_bias=penalise_bias, skip=skip)
    return dataclasses.replace(found, unique=True)


def slightly_more(x, y, penalise_bias, skip):
    found = SOLVE(x, y, penalise_bias=penalise_bias, skip=skip)
    return dataclasses.replace(found, objective=1.00001 * found.objective)


def formula_of(change):
    def spoil(patch):
        patch.setattr(line, "formula", change)

    return spoil


def affine_part_for_free(f, penalise_bias, skip):
    return FORMULA(f, penalise_bias, skip or penalise_bias)


def constants_cost_two(f, penalise_bias, skip):
    """2√(α²+β²) for all affine functions: as if no neuron were constant."""
    if penalise_bias and not skip and not f.kinks.size:
        return 2 * float(np.hypot(f.left, f.values[0] - f.left * f.points[0]))
    return FORMULA(f, penalise_bias, skip)


def in_other_units(patch):
    """Labels a thousand times as large: every norm is, too."""
    data = line.line_data(0)
    return {"problem": bf.Dataset(data.X, 1000 * data.y, "larger labels")}


WORLDS = [
    World("S/line", "penalised biases without the affine part as with it", solver(needs_no_skip)),
    World(
        "S/line", "free biases without the affine part as with it", solver(outer_slopes_are_free)
    ),
    World("S/line", "penalised biases as if they were free", solver(biases_are_free)),
    World("S/line", "the linear spline has the least norm", solver(the_spline_is_best)),
    World("S/line", "the minimiser is always unique", solver(the_minimiser_is_unique)),
    World("S/line", "least norms larger by 1e-5", solver(slightly_more)),
    World("S/line", "‖√(1+t²)f″‖ without an affine part", formula_of(affine_part_for_free)),
    World("S/line", "2√(α²+β²) for every αx + β", formula_of(constants_cost_two)),
    World(
        "S/line",
        "labels in other units",
        in_other_units,
        "still true",
        "norms and functions are proportional to the labels",
    ),
]
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
