"""Worlds for S/extremal, S/relu-saddles and S/spurious."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.since import relu_saddles as saddles

E, P, S = "S/extremal", "S/relu-saddles", "S/spurious"


def changed(name, change):
    def spoil(patch):
        real = getattr(saddles, name)
        patch.setattr(saddles, name, lambda problem, *more: change(real(problem, *more), problem))

    return spoil


def one_forgotten(found, problem):
    return found._chosen(np.arange(len(found)) != np.argmax(found.rates))


def faster(found, problem):
    return dataclasses.replace(found, growth=1.01 * found.growth)


def turned(found, problem):
    u = found.directions + 1e-4
    return dataclasses.replace(found, directions=u / np.linalg.norm(u, axis=1)[:, None])


def other_signs(found, problem):
    return dataclasses.replace(found, attracts=-found.attracts)


def without_kinks(found, problem):
    return found._chosen(np.all(found.sides != 0, axis=1))


def moved(field, change):
    def later(path, problem):
        stops = tuple(
            dataclasses.replace(stop, **{field: change(getattr(stop, field), k)})
            for k, stop in enumerate(path.saddles)
        )
        return dataclasses.replace(path, saddles=stops)

    return later


def first_rates_only(path, problem):
    """Clusters that grow as at the first saddle, whatever joined."""
    found = bf.flows.early_alignment(problem.data, problem.start, problem.loss)
    waits = np.unique(np.round(1 / found.rates[found.rates > 0], 9))
    return moved("time", lambda t, k: t if k < 2 else float(waits[min(k, len(waits)) - 1]))(
        path, problem
    )


def ridge(patch):
    def shrunk(data):
        return np.linalg.solve(data.X.T @ data.X + 0.01 * np.eye(data.d), data.X.T @ data.y)

    patch.setattr(saddles, "least_squares", shrunk)


def labels_fitted(patch):
    patch.setattr(saddles, "path_of", lambda problem, time_s: _Fitted())


class _Fitted:
    losses = (1.0, 0.0)
    saddles = (type("Stop", (), {"kind": "minimum"})(),)


def linear_in_one(patch):
    patch.setattr(saddles, "least_squares", lambda data: np.array([0.0, np.mean(data.y)]))


WORLDS = (
    World(E, "the fastest vector is forgotten", changed("listed", one_forgotten)),
    World(E, "neurons grow 1% faster", changed("listed", faster)),
    World(E, "directions are turned by 1e-4", changed("listed", turned)),
    World(E, "signs are exchanged", changed("listed", other_signs)),
    World(E, "vectors on kinks are left out", changed("listed", without_kinks)),
    World(P, "jumps come 0.1% later", changed("path_of", moved("time", lambda t, k: 1.001 * t))),
    World(P, "plateaus are 1% lower", changed("path_of", moved("loss", lambda v, k: 0.99 * v))),
    World(P, "later clusters grow as at the first saddle", changed("path_of", first_rates_only)),
    World(S, "least squares with a ridge of 0.01", ridge),
    World(S, "the path fits the labels", labels_fitted),
    World(S, "the mean of the labels in place of least squares", linear_in_one),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
