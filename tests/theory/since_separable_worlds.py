"""Worlds for S/separable and S/separable-deep."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import deep_separable as deeper, separable_directions as directions

S, DEEP = "S/separable", "S/separable-deep"


def another_path(change):
    def spoil(patch):
        real = directions.followed
        patch.setattr(
            directions, "followed", lambda problem, far: change(real(problem, far), problem)
        )

    return spoil


def kernel_end(path, problem):
    """Directions that stay in the kernel regime."""
    Z = directions.signed_rows(problem)
    kernel = bf.limits.l2_max_margin(Z).value
    ends = np.vstack([path.directions[:-1], kernel / np.sum(np.abs(kernel))])
    return dataclasses.replace(path, directions=ends)


def turned(path, problem):
    """A dual flow that mixes a hundredth of where it was before."""
    moved = np.roll(path.directions, 1, axis=0)
    return dataclasses.replace(path, directions=0.99 * path.directions + 0.01 * moved)


def larger_margin(patch):
    real = directions.best_direction

    def more(problem):
        found = real(problem)
        return dataclasses.replace(found, objective=1.02 * found.objective)

    patch.setattr(directions, "best_direction", more)


def another_flow(model):
    """Raw gradients of another network."""

    def spoil(patch):
        real = directions.witness_flow

        def follow(problem, **words):
            other = dataclasses.replace(problem, loss=bf.SmoothMargin(bf.LogisticLoss()))
            return real(other if model == "logistic" else problem, **words)

        patch.setattr(directions, "witness_flow", follow)

    return spoil


def falling_margin(patch):
    """A flow that goes backwards."""
    real = directions.witness_flow

    def follow(problem, **words):
        flow = real(problem, **words)
        order = [0, *range(len(flow.times) - 1, 0, -1)]
        states = type(flow.states)(*(leaf[order] for leaf in flow.states))
        return dataclasses.replace(flow, states=states)

    patch.setattr(directions, "witness_flow", follow)


def deeper_flow(change):
    def spoil(patch):
        real = deeper.followed
        patch.setattr(
            deeper, "followed", lambda problem, time_s: change(real(problem, time_s), problem)
        )

    return spoil


def opposed(flow, problem):
    """Weights of the other sign that grow along, at half the size: against the gradient."""
    return dataclasses.replace(
        flow, states=type(flow.states)(flow.states.plus, 0.5 * flow.states.plus)
    )


def standing(flow, problem):
    """Angles as at the start, a margin that has grown."""
    first = flow.states
    size = np.linspace(1, 2, len(flow.times))[:, None]
    fixed = type(first)(*(size * leaf[:1] for leaf in first))
    return dataclasses.replace(flow, states=fixed)


def forgotten_start(patch):
    patch.setattr(deeper, "other_start", lambda problem: problem)


WORLDS = (
    World(S, "an end at the largest ℓ2 margin", another_path(kernel_end)),
    World(S, "a dual flow that lags behind the weights", another_path(turned)),
    World(S, "a margin 2% larger than the largest", larger_margin),
    World(S, "weights under another loss", another_flow("logistic")),
    World(S, "a margin that falls", falling_margin),
    World(DEEP, "weights that grow against the gradient", deeper_flow(opposed)),
    World(DEEP, "an angle that stays", deeper_flow(standing)),
    World(DEEP, "a start that does not matter", forgotten_start),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
