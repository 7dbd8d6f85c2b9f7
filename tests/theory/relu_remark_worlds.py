"""Worlds for B, §3.2: nearly orthogonal inputs, and the scale of initialisation."""

import dataclasses

import numpy as np
from relu_spoils import constants, of_problem, patched, scaled, spoiled
from worlds import World

import biasflow as bf
from biasflow.theory.relu import nearly, scale


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
    return patched(nearly, "lacking", lambda s: [dataclasses.replace(each, growth=each.growth**power) for each in found(s)])


def threshold_times(factor):
    found = nearly.opening
    return patched(nearly, "opening", lambda *a: factor * found(*a))


def needed_times(factor):
    found = scale.needed
    return patched(scale, "needed", lambda count, share: factor * found(count, share))


def without_dependence(patch):
    """A λ that is the same for all n."""
    found = scale.needed
    patch.setattr(scale, "needed", lambda count, share: found(2, share))


WORLDS = (
    World("B/nearly", "inputs that are orthogonal after all", spoiled(of_problem(orthogonalised), everywhere=True)),
    World("B/nearly", "κ² for κ", growth_of(2.0), slow=True),
    World("B/nearly", "a δ a hundred times too large", threshold_times(100.0)),
    World("B/nearly", "a δ a hundred times too small", threshold_times(0.01)),
    World("B/nearly", "δ ~ λ² without S_{+,1}", patched(nearly, "FAR", 1e-3)),
    World("B/scale", "ln λ times 1.05", needed_times(1.05)),
    World("B/scale", "λ that does not depend on n", constants(without_dependence)),
    World("B/scale", "labels of other sizes", spoiled(labels_of_size([1.0, 1.2, 0.8]), everywhere=True), slow=True),
    World("B/scale", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
    World("B/scale", "a network, its copies at λ/k", patched(scale, "COPY_POWER", 1.0)),
)
