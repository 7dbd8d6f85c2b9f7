"""Worlds for W's §3 and §6 and its footnotes: kernels, matrix completion, equivalent models."""

import dataclasses

import numpy as np
from regimes_changes import another_radius, example, forbidden, null_space, with_limit
from worlds import World

import biasflow as bf
from biasflow.theory.regimes import equivalences, kernel, matrix_completion as completion, recovery


def wrong_jacobian(patch):
    """The derivative of w^D without its factor on one side."""
    real = bf.DiagonalNetwork.jacobian

    def jacobian(self, params, X):
        plus, minus = real(self, params, X)
        return bf.models.DiagonalParams(plus, minus / 2)

    patch.setattr(bf.DiagonalNetwork, "jacobian", jacobian)


class Mistaken(bf.DiagonalNetwork):
    """A network of degree D that calls itself one of degree D + 1."""

    @property
    def homogeneity(self):
        return self.depth + 1


def mistaken_degree(patch):
    p = example("W/sec3")
    return {"problem": dataclasses.replace(p, model=Mistaken(p.model.depth))}


def rich_kernel(patch):
    patch.setattr(kernel, "min_l2", bf.limits.min_l1)


def frozen_kernel(patch):
    """The linearised model's kernel half as large: its flow is slower."""
    real = kernel.tangent_kernel
    patch.setattr(kernel, "tangent_kernel", lambda *arguments: 0.5 * real(*arguments))


def shared_direction(patch):
    """Rows of the identity start that share a direction: K couples the entries of a column."""
    real = completion.started

    def started(problem, k=None, key=0):
        start = real(problem, k, key)
        if k is not None:
            return start
        rows = np.eye(start.model.shape[0], max(start.model.shape)) + 0.5
        columns = np.eye(start.model.shape[1], max(start.model.shape)) + 0.5
        return completion.doubled(problem, rows, columns)

    patch.setattr(completion, "started", started)


def layers_swapped(patch):
    """⟨V_j, V_j'⟩ where ⟨U_i, U_i'⟩ belongs, in the kernel as printed."""
    real = completion.printed_kernel

    def changed(problem):
        U, V = problem.start
        return real(dataclasses.replace(problem, start=type(problem.start)(V, U)))

    patch.setattr(completion, "printed_kernel", changed)


def scaled_by_width(patch):
    """Gaussian factors of variance 1/k: the transition does not depend on k."""
    real = completion.started

    def started(problem, k=None, key=0):
        start = real(problem, k, key)
        return (
            start
            if k is None
            else dataclasses.replace(start, start=completion.scaled(start.start, k**-0.5))
        )

    patch.setattr(completion, "started", started)


def at_speed(name, factor):
    """The second flow at another speed."""

    def spoil(patch):
        real = getattr(equivalences, name)

        def changed(*arguments):
            problem, speed = real(*arguments)
            return problem, factor * speed

        patch.setattr(equivalences, name, changed)

    return spoil


def mistaken_output(patch):
    """An output scaled by α^{D+1}."""
    p = example("W/fn1", 1)
    return {"problem": dataclasses.replace(p, model=Mistaken(p.model.depth))}


def start_left_alone(patch):
    """The output is scaled, the start is not."""
    real = equivalences.louder_problem

    def changed(problem, alpha):
        louder, speed = real(problem, alpha)
        return dataclasses.replace(louder, start=problem.start), speed

    patch.setattr(equivalences, "louder_problem", changed)


def slow_output_layer(patch):
    """v descends at half speed: no gradient flow of L."""
    real = bf.ProductNetwork.gradient

    def gradient(self, params, X, output_gradient):
        u, v = real(self, params, X, output_gradient)
        return bf.models.ProductParams(u, 0.5 * v)

    patch.setattr(bf.ProductNetwork, "gradient", gradient)


def another_pair(patch):
    """w± = u ± v in place of half of it."""
    patch.setattr(
        bf.ProductNetwork,
        "paired",
        lambda self, params: bf.models.DiagonalParams(params.u + params.v, params.u - params.v),
    )


def least_nuclear_norm(patch):
    """The completion of least nuclear norm in place of the planted matrix."""

    def completed(problem):
        i, j, values = bf.data.observed_entries(problem.data, problem.model.shape)
        return bf.limits.min_nuclear_norm(problem.model.shape, i, j, values).value

    patch.setattr(recovery, "rank_one_completion", completed)


def zeros_elsewhere(patch):
    """The kernel regime's completion in place of the planted matrix."""

    def completed(problem):
        i, j, values = bf.data.observed_entries(problem.data, problem.model.shape)
        return bf.limits.min_frobenius_norm(problem.model.shape, i, j, values).value

    patch.setattr(recovery, "rank_one_completion", completed)


WORLDS: tuple[World, ...] = (
    World("W/fn1", "half of the speed", at_speed("louder_problem", 0.5)),
    World("W/fn1", "an output scaled by α^{D+1}", mistaken_output, key=1),
    World("W/fn1", "the output is scaled, the start is not", start_left_alone),
    World("W/fn1", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/fn1", "ReLU network: 1.01 times the speed", at_speed("louder_problem", 1.01), key=7),
    World("W/fn1", "ReLU network: the output is scaled, the start is not", start_left_alone, key=7),
    World("W/fn2", "the same speed", at_speed("pair_problem", 2.0)),
    World("W/fn2", "v descends at half speed", slow_output_layer, key=1),
    World("W/fn2", "w± = u ± v", another_pair),
    World("W/fn2", "r = |u² − v²|/4", another_radius, key=1),
    World(
        "W/fn2",
        "the limit moved inside the null space by 1e-6",
        with_limit("W/fn2", null_space(1e-6)),
    ),
    World("W/fn2", "∇_w raises", forbidden(bf.ProductNetwork)),
    World("W/sec3", "a network that mistakes its degree", mistaken_degree),
    World("W/sec3", "a wrong derivative in the kernel", wrong_jacobian),
    World("W/sec3", "min ℓ1 in place of min ℓ2", rich_kernel),
    World("W/sec3", "half of the kernel", frozen_kernel),
    World("W/sec3", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/sec6", "rows that share a direction", shared_direction),
    World("W/sec6", "Gaussian factors of variance 1/k", scaled_by_width),
    World("W/sec6", "layers swapped in the kernel as printed", layers_swapped, slow=True),
    World("W/sec6", "∇_w raises", forbidden(bf.MatrixFactorisation)),
    World(
        "W/sec6-rich",
        "the completion of least nuclear norm, where it is another",
        least_nuclear_norm,
        key=2,
    ),
    World("W/sec6-rich", "zeros on the unobserved entries", zeros_elsewhere),
    World(
        "W/sec6-rich",
        "large starts",
        lambda patch: patch.setattr(
            recovery, "SMALL", tuple(1e8 * unit for unit in recovery.SMALL)
        ),
    ),
    World("W/sec6-rich", "∇_w raises", forbidden(bf.MatrixFactorisation)),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
