"""Worlds for B's claims on inputs of any lengths, and on starts below float range."""

import dataclasses

import numpy as np
from relu_spoils import (
    constants,
    grown,
    handed,
    label_times,
    of_problem,
    scaled,
    slowed,
    spoiled,
    unsigned_law,
    with_problem,
)
from worlds import World

import biasflow as bf
from biasflow.flows.relu import cluster_growth as growth
from biasflow.theory.relu import course
from biasflow.theory.relu.relu_examples import ordinary_problem
from biasflow.theory.relu.relu_setting import Setting

FIGURE_2, GAUSSIAN = 1, 2
"""Keys of `ordinary_problem`: the two points of Figure 2, and Gaussian labels on inputs of any
lengths, below float range."""


def without_lengths(name, value):
    """A formula of orthonormal inputs, on others."""
    return constants(lambda patch: patch.setattr(Setting, name, property(value)))


def printed_multipliers(s):
    up, down = (s.n * c.rate for c in sorted(s.clusters, key=lambda c: -c.sign))
    return s.y / np.where(s.y > 0, up, down)


def logistic(patch):
    """Clusters that do not turn while they grow."""
    patch.setattr(growth.Growth, "logistic", property(lambda self: True))


def along_pull(problem):
    """Neurons that end along D_±, as on inputs of one length."""
    s = Setting(problem)
    found = course.saddle_limit(s.problem.data, s.unit)
    a, W = found.value.a.copy(), found.value.W.copy()
    for cluster in s.clusters:
        W[cluster.neurons] = np.abs(a[cluster.neurons])[:, None] * cluster.direction
    return dataclasses.replace(found, value=bf.models.TwoLayerParams(a, W))


def log_power(power):
    return of_problem(lambda p: dataclasses.replace(p, log_scale=power * p.log_scale))


def figure_2(y):
    def make():
        p = ordinary_problem(FIGURE_2)
        return dataclasses.replace(p, data=bf.Dataset(p.data.X, np.array(y)))

    return with_problem(make)


def at_gaussian(function):
    return handed(function, lambda _: ordinary_problem(GAUSSIAN))


WORLDS = (
    World(
        "B/assumption-2", "Figure 2: labels with ‖D_+‖ = ‖D_−‖", figure_2((-2.0, 1.0)), key=FIGURE_2
    ),
    World(
        "B/assumption-2",
        "Figure 2: labels of equal squares",
        figure_2((-0.3, 0.3)),
        "still true",
        "inputs of other lengths pull differently",
        key=FIGURE_2,
    ),
    World(
        "B/prop1",
        "Figure 2: 2n(‖D_+‖ + ‖D_−‖)",
        without_lengths("least_norm", lambda s: 2 * s.n * (s.first.rate + s.second.rate)),
        key=FIGURE_2,
    ),
    World(
        "B/prop1",
        "Gaussian labels: λ_k without lengths",
        without_lengths("multipliers", printed_multipliers),
        key=GAUSSIAN,
    ),
    World(
        "B/kkt",
        "Gaussian labels: λ_k without lengths",
        without_lengths("multipliers", printed_multipliers),
        key=GAUSSIAN,
    ),
    World("B/kkt", "Gaussian labels: θ times 1.001", spoiled(scaled(1.001)), key=GAUSSIAN),
    World("B/limit", "Gaussian labels: θ* along D_±", at_gaussian(along_pull), key=GAUSSIAN),
    World(
        "B/limit",
        "Gaussian labels: a limit grown by 1e-4",
        at_gaussian(grown(1 + 1e-4)),
        key=GAUSSIAN,
    ),
    World("B/limit", "Gaussian labels: θ times 1 + 1e-7", spoiled(scaled(1 + 1e-7)), key=GAUSSIAN),
    World(
        "B/limit",
        "Gaussian labels: start λ^0.99",
        spoiled(log_power(0.99)),
        "still true",
        "the limit does not depend on λ",
        key=GAUSSIAN,
    ),
    World(
        "B/timeline",
        "Gaussian labels: clusters that do not turn",
        constants(logistic),
        key=GAUSSIAN,
    ),
    World("B/timeline", "Gaussian labels: start λ^0.99", spoiled(log_power(0.99)), key=GAUSSIAN),
    World(
        "B/timeline",
        "Gaussian labels: 1 + 1e-5 times slower",
        spoiled(slowed(1 + 1e-5)),
        key=GAUSSIAN,
    ),
    World(
        "B/u-plus", "Gaussian labels: clusters that do not turn", constants(logistic), key=GAUSSIAN
    ),
    World("B/u-plus", "Gaussian labels: start λ^0.99", spoiled(log_power(0.99)), key=GAUSSIAN),
    World("B/lem2", "Gaussian labels: start λ^0.9", spoiled(log_power(0.9)), key=GAUSSIAN),
    World(
        "B/lem2", "Gaussian labels: first label times 1.5", spoiled(label_times(1.5)), key=GAUSSIAN
    ),
    World("B/lem6", "Gaussian labels: (11) without s_j", unsigned_law, key=GAUSSIAN),
)
