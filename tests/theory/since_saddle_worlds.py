"""Worlds for S/saddles."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import vanishing_starts as starts

S = "S/saddles"


def another_path(change):
    def spoil(patch):
        real = starts.network_path
        patch.setattr(starts, "network_path", lambda problem: change(real(problem), problem))

    return spoil


def late_jumps(path, problem):
    return dataclasses.replace(path, times=1.05 * path.times)


def kernel_end(path, problem):
    least = np.linalg.lstsq(problem.data.X, problem.data.y, rcond=None)[0]
    return dataclasses.replace(path, states=np.vstack([path.states[:-1], least]))


def grown(power):
    """Growth times c^power, whatever the depth."""

    def change(path, problem):
        both = np.stack(problem.start)
        growth = (both / np.max(both)) ** power
        return bf.saddle_path(problem.data.X, problem.data.y, growth=growth)

    return change


def half_clock(patch):
    patch.setattr(starts, "EXPONENT", 4.0)


WORLDS = (
    World(S, "depth two that remembers c", another_path(grown(-1.0))),
    World(S, "jumps 5% later", another_path(late_jumps)),
    World(S, "an end at least ℓ2 norm", another_path(kernel_end)),
    World(S, "the clock 4c in place of 8c", half_clock),
    World(S, "depth three with equal growth times", another_path(grown(0.0)), key=1),
    World(S, "depth three with c^{−2}", another_path(grown(-2.0)), key=1),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
