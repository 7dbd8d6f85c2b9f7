"""Worlds for S/lasso and S/lasso-path."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import averages

A, P = "S/lasso", "S/lasso-path"


def averages_changed(**change):
    """What `lasso_gap` says, changed field by field."""

    def spoil(patch):
        real = averages.lasso_gap

        def changed(flow, times=None):
            found = real(flow, times)
            return dataclasses.replace(
                found, **{name: f(getattr(found, name)) for name, f in change.items()}
            )

        patch.setattr(averages, "lasso_gap", changed)

    return spoil


def last_iterate(patch):
    """β(t) in place of its mean."""
    real = averages.lasso_gap

    def changed(flow, times=None):
        found, X, y = real(flow, times), flow.problem.data.X, flow.problem.data.y
        mean = np.array([flow.problem.model.effective(flow.at(t)) for t in found.times])
        proofs = np.array([averages.lasso_proof(X, y, beta) for beta in mean])
        return dataclasses.replace(found, mean=mean, penalty=proofs[:, 0])

    patch.setattr(averages, "lasso_gap", changed)


def coordinates(factor):
    def spoil(patch):
        real = averages.mirror_coordinates
        patch.setattr(
            averages, "mirror_coordinates", lambda problem, params: factor * real(problem, params)
        )

    return spoil


def another_least(factor):
    """A Lasso whose least value is a share of the true one."""

    def spoil(patch):
        real = averages.least_objective
        patch.setattr(
            averages,
            "least_objective",
            lambda X, y, penalty: tuple(factor * value for value in real(X, y, penalty)),
        )

    return spoil


def momentum(patch):
    """A flow twice as fast from the middle on: no gradient flow."""
    problem = bf.theory.claim(A).example(0)
    flow = bf.theory.Evidence(problem).trajectory
    half = float(flow.times[-1]) / 8

    def warped(t):
        return t if t < half else half + (t - half) / 2

    changed = dataclasses.replace(flow, interpolant=lambda t: flow.at(warped(t)))
    patch.setattr(averages.Evidence, "trajectory", property(lambda self: changed))


def expected(change):
    def spoil(patch):
        real = averages.expected_product
        patch.setattr(
            averages,
            "expected_product",
            lambda problem, end, mean: change(real(problem, end, mean)),
        )

    return spoil


def other_average(change):
    def spoil(patch):
        real = averages._mean_of_steps
        patch.setattr(averages, "_mean_of_steps", lambda ends, at: change(real(ends, at), ends, at))

    return spoil


def without_mean(mean, ends, at):
    return at(ends[-1:])[0]


def late_half(mean, ends, at):
    return real_mean(ends[len(ends) // 2 :], at) if len(ends) > 4 else mean


def real_mean(ends, at):
    values = at(ends)
    return np.trapezoid(values, ends, axis=0) / (ends[-1] - ends[0])


WORLDS = (
    World(A, "a tenth of the gap", averages_changed(gap=lambda gap: gap / 10)),
    World(A, "averages 0.1% too large", averages_changed(mean=lambda mean: 1.001 * mean)),
    World(A, "η of the loss without its 2", coordinates(2.0)),
    World(A, "β(t) in place of its mean", last_iterate),
    World(A, "a Lasso whose least value is half", another_least(0.5)),
    World(A, "a flow whose clock changes on the way", momentum),
    World(P, "the last iterate in place of the mean", other_average(without_mean)),
    World(P, "the mean over the later half", other_average(late_half)),
    World(P, "t·gap times 1.1", expected(lambda value: value / 1.1)),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
