"""Changes that worlds of several sections of W share."""

import dataclasses

import numpy as np

import biasflow as bf
import biasflow.models.diagonal as diagonal
import biasflow.models.hyperbola as hyperbola
from biasflow.potentials import Hypentropy
from biasflow.theory import Evidence, claim


def example(name, key=0):
    return claim(name).example(key)


def with_limit(name, change, key=0):
    """A world in which the limit is what `change(evidence)` says."""

    def spoil(patch):
        evidence = Evidence(example(name, key))
        return {"limit": dataclasses.replace(evidence.limit, value=change(evidence))}

    return spoil


def null_space(share):
    """The limit moved by a share of its largest entry inside the null space of X: it still
    interpolates."""

    def change(evidence):
        X, beta = evidence.mirror.X, evidence.limit.value
        z = np.random.default_rng(1).standard_normal(X.shape[1])
        z -= np.linalg.pinv(X) @ (X @ z)
        return beta + share * np.max(np.abs(beta)) * z / np.max(np.abs(z))

    return change


def kernel_solution(evidence):
    return evidence.l2.value


def rich_solution(evidence):
    return evidence.l1.value


def forbidden(model):
    """The gradient in the weights is never evaluated without being noticed."""

    def raises(self, params, X, output_gradient):
        raise RuntimeError("the gradient was called")

    return lambda patch: patch.setattr(model, "gradient", raises)


def another_radius(patch):
    """r = α² in place of 2α²."""
    real = hyperbola._log_radius
    patch.setattr(
        hyperbola,
        "_log_radius",
        lambda plus, minus: (real(plus, minus)[0] - np.log(2.0), real(plus, minus)[1]),
    )


def smaller_unit(patch):
    """The library's potential at r = α² in place of 2α²."""
    patch.setattr(
        bf.DiagonalNetwork,
        "potential",
        lambda self, scale=None, log_scale=None: Hypentropy(log_alpha=2 * np.log(scale)),
    )


def divided(module, name, factor):
    """A function that returns a number, or None, divided."""

    def spoil(patch):
        real = getattr(module, name)

        def changed(*arguments):
            value = real(*arguments)
            return None if value is None else value / factor

        patch.setattr(module, name, changed)

    return spoil


def slowed(patch):
    """∇L halved: ∫r is twice as large."""
    real = bf.DiagonalNetwork.gradient
    patch.setattr(
        bf.DiagonalNetwork,
        "gradient",
        lambda self, params, X, g: bf.models.DiagonalParams(
            *(0.5 * part for part in real(self, params, X, g))
        ),
    )


def next_depth(patch):
    """q_{D+1} in place of q_D."""
    real = diagonal.DepthPotential
    patch.setattr(diagonal, "DepthPotential", lambda depth, **options: real(depth + 1, **options))


def one_sided(patch):
    """w₋ descends at half speed: no gradient flow of L."""
    real = bf.DiagonalNetwork.gradient

    def gradient(self, params, X, output_gradient):
        plus, minus = real(self, params, X, output_gradient)
        return bf.models.DiagonalParams(plus, 0.5 * minus)

    patch.setattr(bf.DiagonalNetwork, "gradient", gradient)
