"""Limits that are handed in, right and spoiled, and what may still be said of spoiled ones."""

import dataclasses

import numpy as np

import biasflow as bf
from biasflow.limits.neurons.squared_relu_line import squared_f1_max_margin
from biasflow.models import Particles, TwoLayerParams
from biasflow.theory import claim
from biasflow.theory.margin.margin_setting import inputs_of
from biasflow.theory.margin.optimality import intervals_of, population_margin

TAKING = tuple(name for name in bf.claims() if claim(name).limit is not None)


RESOLVED = 1e-7
"""Difference, relative, below which a flow cannot tell the limits of two starts apart."""


def own_limit(name, problem):
    """The right limit: of the flow, of the program that the claim is about."""
    if name == "C/gamma2":
        data = inputs_of(problem)
        return bf.limits.f2_max_margin(data.X, data.y)
    if name == "C/prop29":
        data = inputs_of(problem)
        measure, sample, _ = population_margin(intervals_of(data), 20.0)
        return dataclasses.replace(bf.limits.f1_max_margin(sample.X, sample.y), value=measure)
    if name == "B/eq8":
        return bf.limits.min_norm_interpolator(problem.data.X, problem.data.y)
    if name in ("C/thm3", "C/thm10", "C/growth"):
        data = inputs_of(problem)
        return squared_f1_max_margin(data.X, data.y)
    if isinstance(problem, bf.Dataset):
        return bf.limits.f1_max_margin(problem.X, problem.y)
    return bf.limit(problem)


def vectors(value, rng):
    away = rng.standard_normal(value.shape)
    yield "off by 1e-3", value + 1e-3 * np.max(np.abs(value)) * away / np.max(np.abs(away))
    for factor in (1.001, 0.9, 1.1):
        yield f"times {factor}", factor * value


def networks(value, rng):
    a, W = value
    noise = 1 + 1e-3 * rng.standard_normal(len(a))
    yield "off by 1e-3", TwoLayerParams(noise * a, W)
    for factor in (1.001, 0.9, 1.1):
        yield f"times {factor}", TwoLayerParams(factor * a, factor * W)
    yield "unbalanced", TwoLayerParams(1.25 * a, W / 1.25)


def measures(value, rng):
    u, signs, logs = value
    for factor in (1.001, 0.9, 1.1):
        yield f"times {factor}", Particles(u, signs, logs + np.log(factor))
    more = np.where(np.arange(len(logs)) == np.argmax(logs), logs + np.log(1.05), logs)
    yield "one mass +5%", Particles(u, signs, more)
    yield "one mass +5%, of mass one", Particles(u, signs, more - np.log(np.sum(np.exp(more))))
    turned = u + 1e-2 * rng.standard_normal(u.shape)
    turned /= np.linalg.norm(turned, axis=1)[:, None]
    yield "directions off by 1e-2", Particles(turned, signs, logs)


def squared(value, rng):
    u, signs, masses = value
    for factor in (1.001, 0.9, 1.1):
        yield f"times {factor}", (u, signs, factor * masses)
    more = np.where(masses == np.max(masses), 1.05 * masses, masses)
    yield "one mass +5%, of mass one", (u, signs, more / np.sum(more))


def classifiers(value, rng):
    c = value.coefficients
    for factor in (1.001, 0.9, 1.1):
        yield f"times {factor}", dataclasses.replace(value, coefficients=factor * c)
    noise = 1 + 1e-2 * rng.standard_normal(len(c))
    yield "off by 1e-2", dataclasses.replace(value, coefficients=noise * c)


def spoiled(problem, limit, key):
    """(name, limit) of wrong limits."""
    rng, value = np.random.default_rng((35, key)), limit.value
    kinds = {np.ndarray: vectors, TwoLayerParams: networks, Particles: measures, tuple: squared}
    for name, wrong in kinds.get(type(value), classifiers)(value, rng):
        yield name, dataclasses.replace(limit, value=wrong)
    if isinstance(problem, bf.Problem) and isinstance(value, np.ndarray):
        for factor in (1.001, 2.0):
            start = type(problem.start)(*(factor * leaf for leaf in problem.start))
            other = dataclasses.replace(problem, start=start)
            found = bf.limit(other)
            if np.max(np.abs(found.value - value)) > RESOLVED * np.max(np.abs(value)):
                yield f"of a start {factor} times as large", found
