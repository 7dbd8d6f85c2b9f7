"""Changes that worlds of several sections of R share."""

from __future__ import annotations

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory import evidence
from biasflow.theory.mirror import bias, mirror_witness as witness
from biasflow.theory.mirror.formulas import formulas_of

KEY = 0


def null_vector(X, seed=1):
    z = np.random.default_rng(seed).standard_normal(X.shape[1])
    z -= np.linalg.pinv(X) @ (X @ z)
    return z / np.max(np.abs(z))


def wrong_limit(change):
    """The library predicts another limit: `change(problem, β*)`."""

    def spoil(patch):
        old = evidence.bregman_projection

        def new(potential, X, y, beta0=None):
            found = old(potential, X, y, beta0)
            return dataclasses.replace(
                found, value=change(bf.MirrorProblem(potential, X, y, beta0), found.value)
            )

        patch.setattr(evidence, "bregman_projection", new)

    return spoil


def moved_limit(eps):
    """The limit moved by eps of its size inside the null space of X: it still interpolates."""
    return wrong_limit(lambda p, best: best + eps * np.max(np.abs(best)) * null_vector(p.X))


kernel_limit = wrong_limit(lambda p, best: bias.nearest(p.X, p.y, p.beta0))
"""The interpolator nearest to the start in ℓ2, where another regime's flow would end."""


def other_flow(patch):
    """The flow of a hypentropy with r one thousandth larger, handed out as this one's."""

    def spoiled(potential, d, start=None):
        inner = getattr(potential, "potential", potential)
        if isinstance(inner, bf.potentials.Hypentropy) and np.all(inner.alpha > 0):
            return formulas_of(
                bf.potentials.ScaledPotential(
                    potential.factor, bf.potentials.Hypentropy(1.001 * inner.alpha)
                ),
                d,
                start,
            )
        return formulas_of(
            bf.potentials.ScaledPotential(1.0, bf.potentials.Hypentropy(1.0)), d, start
        )

    patch.setattr(witness, "formulas_of", spoiled)


def slower(factor):
    """The same path at another pace."""

    def spoil(patch):
        old = witness.PrimalField.velocity
        patch.setattr(witness.PrimalField, "velocity", lambda self, t, u: factor * old(self, t, u))

    return spoil


slower_flow = slower(0.999)


def replaced(module, name, **changes):
    """A function whose result has other fields, each multiplied by a factor."""

    def spoil(patch):
        old = getattr(module, name)

        def new(*args, **options):
            found = old(*args, **options)
            return dataclasses.replace(
                found, **{field: _times(getattr(found, field), f) for field, f in changes.items()}
            )

        patch.setattr(module, name, new)

    return spoil


def _times(value, factor):
    return {k: v * factor for k, v in value.items()} if isinstance(value, dict) else value * factor


def scaled(module, name, factor):
    """A function whose result is multiplied by a factor."""

    def spoil(patch):
        old = getattr(module, name)
        patch.setattr(module, name, lambda *args, **options: factor * old(*args, **options))

    return spoil


W = World
"""Claims whose examples are at best consistent, and what is missing."""
