"""Worlds for B, §3.2: nearly orthogonal inputs, and the scale of initialisation; A.1: large starts;
C: KKT points."""

import dataclasses

import numpy as np
from relu_spoils import constants, of_problem, patched, scaled, spoiled
from worlds import World

import biasflow as bf
from biasflow.theory.relu import lazy, minimal, nearly, scale


def orthogonalised(problem):
    """The nearest orthonormal inputs."""
    u, _, v = np.linalg.svd(problem.data.X, full_matrices=False)
    return dataclasses.replace(problem, data=bf.Dataset(u @ v, problem.data.y))


def labels_of_size(sizes):
    """Labels of other sizes on the same inputs."""

    def other(problem):
        y = problem.data.y * np.resize(sizes, problem.data.n)
        return dataclasses.replace(problem, data=bf.Dataset(problem.data.X, y))

    return of_problem(other)


def growth_of(power):
    """κ to a power: another exponent."""
    found = nearly.lacking
    return patched(
        nearly,
        "lacking",
        lambda s: [dataclasses.replace(each, growth=each.growth**power) for each in found(s)],
    )


def threshold_times(factor):
    found = nearly.openings
    return patched(
        nearly, "openings", lambda *a: {j: factor * delta for j, delta in found(*a).items()}
    )


def needed_times(factor):
    found = scale.needed
    return patched(scale, "needed", lambda count, share: factor * found(count, share))


def without_dependence(patch):
    """A λ that is the same for all n."""
    found = scale.needed
    patch.setattr(scale, "needed", lambda count, share: found(2, share))


def of_outputs(params, X):
    """The features of a network whose outputs alone are trained."""
    found = FEATURES(params, X).reshape(len(X), len(params.a), -1).copy()
    found[:, :, 1:] = 0.0
    return found.reshape(len(X), -1)


FEATURES = lazy.features
SPLIT = lazy.split


def one_layer_larger(s):
    """Neurons that fit a label each, unbalanced."""
    found = SPLIT(s)
    return bf.models.TwoLayerParams(2 * found.a, found.W / 2)


WORLDS = (
    World(
        "B/nearly",
        "inputs that are orthogonal after all",
        spoiled(of_problem(orthogonalised), everywhere=True),
        slow=True,
    ),
    World("B/nearly", "κ² for κ", growth_of(2.0), slow=True),
    World("B/nearly", "δ* of order λ, as printed", growth_of(0.0), slow=True),
    World("B/nearly", "δ* a fifth larger", threshold_times(1.2)),
    World("B/nearly", "δ* a fifth smaller", threshold_times(1 / 1.2)),
    World("B/nearly", "neurons that realign from δ*/1000 on", patched(nearly, "WELL_BEYOND", 1e-3)),
    World("B/scale", "ln λ times 1.05", needed_times(1.05)),
    World("B/scale", "λ that does not depend on n", constants(without_dependence)),
    World(
        "B/scale",
        "labels of other sizes",
        spoiled(labels_of_size([1.0, 1.2, 0.8]), everywhere=True),
        slow=True,
    ),
    World("B/scale", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
    World("B/scale", "a network, its copies at λ/k", patched(scale, "COPY_POWER", 1.0)),
    World("B/lazy", "weights that move as 1/λ", patched(lazy, "POWER", 1.0)),
    World("B/lazy", "the kernel of the outputs alone", patched(lazy, "features", of_outputs)),
    World(
        "B/lazy",
        "a network without its negative",
        patched(lazy, "with_negative", lambda params: params),
    ),
    World("B/lazy", "weights that move as 1/m", patched(lazy, "WIDER", 1.0)),
    World("B/lazy", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
    World("B/kkt-only", "a network of least norm", patched(lazy, "split", minimal.two_neurons)),
    World(
        "B/kkt-only",
        "a neuron for each label, outputs twice as large",
        patched(lazy, "split", one_layer_larger),
    ),
    World("B/kkt-only", "one minimiser twice", patched(lazy, "_swapped", lambda params: params)),
)
