"""Worlds for W's claims on parametrisations: the recipe of appendix A, biased starts, the saddle at
zero, width, norms."""

import dataclasses

import numpy as np
from regimes_changes import (
    another_radius,
    forbidden,
    kernel_solution,
    next_depth,
    null_space,
    one_sided,
    slowed,
    with_limit,
)
from worlds import World

import biasflow as bf
from biasflow.theory.regimes import (
    biased,
    explicit,
    hilbert,
    kernel,
    recipe,
    saddle_at_zero as saddle,
    wide,
)


def another_rate(patch):
    """dw/ds = 4c·∂β/∂w."""
    real = recipe.push_rate
    patch.setattr(recipe, "push_rate", lambda problem: 2 * real(problem))


def linear_f(patch):
    """∂β/∂w stays what it is at the start: the linearised model."""
    real = recipe.sensitivities
    patch.setattr(recipe, "sensitivities", lambda problem, weights: real(problem, problem.start))


def another_start(patch):
    """f from twice the start."""
    real = recipe.pushed

    def changed(problem, weights, moved, steered="dual"):
        double = type(weights)(*(2 * leaf for leaf in weights)) if steered == "dual" else weights
        return real(problem, double, moved, steered)

    patch.setattr(recipe, "pushed", changed)


def integral_of_f(patch):
    """Q = ∫f in place of ∫f⁻¹."""
    real = recipe.pushed

    def changed(problem, weights, moved, steered="dual"):
        found = real(problem, weights, moved, steered)
        return dataclasses.replace(found, value=found.beta * found.dual - found.value)

    patch.setattr(recipe, "pushed", changed)


def miscounted(patch):
    """∫r off by one part in a thousand."""
    real = recipe.residual_integrals

    def changed(problem, flow):
        times, integrals, errors = real(problem, flow)
        return times, 1.001 * integrals, errors

    patch.setattr(recipe, "residual_integrals", changed)


def growing(patch):
    """α·w₀ itself, whose bias grows like α^D."""
    patch.setattr(
        biased, "bounded_start", lambda problem, alpha: biased.scaled(problem.start, alpha)
    )


def without_bias(patch):
    """The affine model without its bias term."""
    real = kernel.bias_term
    patch.setattr(kernel, "bias_term", lambda problem, X: 0 * real(problem, X))


def with_labels(patch):
    """The flow with its labels in place of zero."""
    patch.setattr(biased, "silent", lambda problem: problem)


def from_the_even_part(patch):
    """The flow with labels zero from the unbiased part, which is at rest."""
    real = biased.silent
    patch.setattr(
        biased, "silent", lambda p: dataclasses.replace(real(p), start=biased.unbiased_part(p))
    )


def another_invariant(patch):
    """Weights whose product, or sum of powers 2 − D, is not kept."""
    real = biased.weights_at
    patch.setattr(
        biased,
        "weights_at",
        lambda p, beta: real(dataclasses.replace(p, start=biased.scaled(p.start, 1.005)), beta),
    )


def falling_everywhere(patch):
    """L that falls along every weight."""
    real = saddle.loss_change
    patch.setattr(saddle, "loss_change", lambda problem, params: -abs(real(problem, params)))


def one_order_higher(patch):
    """w^{D+1} in place of w^D."""
    real = saddle.along_weight
    patch.setattr(
        saddle,
        "along_weight",
        lambda problem, i, sign, step: real(
            problem, i, sign, step ** (1 + 1 / problem.model.depth)
        ),
    )


def steeper(factor):
    def spoil(patch):
        real = saddle.strictness
        patch.setattr(saddle, "strictness", lambda D, c, force: factor * real(2, c, force))

    return spoil


def not_stationary(patch):
    """Points that are no least squares on their support."""
    real = saddle.stationary_point
    patch.setattr(
        saddle,
        "stationary_point",
        lambda problem, key: bf.models.DiagonalParams(*(1.1 * w for w in real(problem, key))),
    )


def doubled_start(patch):
    """F(w(0)) = 0, as by doubling: no exponent of k is left."""
    real = wide.wide_start

    def changed(problem, k, s, key):
        start = real(problem, k, s, key)
        U, V = start.start
        rows, cols = problem.model.shape
        return dataclasses.replace(
            start,
            start=bf.models.FactorParams(
                np.hstack([np.diag(np.linalg.norm(U, axis=1)), np.zeros((rows, cols))]),
                np.hstack([np.zeros((cols, rows)), np.diag(np.linalg.norm(V, axis=1))]),
            ),
        )

    patch.setattr(wide, "wide_start", changed)


def another_size(shift):
    """Entries of size k^{−s−shift}."""

    def spoil(patch):
        real = wide.wide_start
        patch.setattr(
            wide, "wide_start", lambda problem, k, s, key: real(problem, k, s + shift, key)
        )

    return spoil


def first_order(patch):
    """A kernel that changes at first order of the movement."""
    patch.setattr(wide, "predicted_change", lambda s: -(1 - 2 * s))


def no_root(patch):
    """c + ½MMᵀ/c in place of √(c² + MMᵀ): the kernel to second order in M."""

    def series(square):
        c = np.sqrt(np.min(np.linalg.eigvalsh(square)))
        return (c**2 * np.eye(len(square)) + square) / (2 * c)

    patch.setattr(wide, "matrix_root", series)


def no_face(patch):
    """A column and the mean of all of them, which are on no common face."""
    real = hilbert.on_one_face
    patch.setattr(hilbert, "on_one_face", lambda X, y: (real(X, y)[0], np.mean(X, axis=1)))


def another_bridge(power):
    """|β|^p in place of |β|^{2/D}."""
    return lambda patch: patch.setattr(
        explicit, "bridge", lambda beta, order: np.sum(np.abs(beta) ** power, axis=-1)
    )


def fewer_vertices(patch):
    """Vertices of half of the coordinates only."""
    real = explicit.vertices

    def changed(X, y):
        kept = real(X, y)
        return kept[np.argsort(-explicit.bridge(kept, 3))[: max(len(kept) // 2, 1)]]

    patch.setattr(explicit, "vertices", changed)


def same_cost(name, other):
    """One regime's cost in place of the other's."""
    return lambda patch: patch.setattr(hilbert, name, getattr(hilbert, other))


def weighted_cost(patch):
    """A sum of the two costs in place of the kernel's."""
    kernel_cost, rich_cost = hilbert.kernel_cost, hilbert.rich_cost
    patch.setattr(hilbert, "kernel_cost", lambda X, y: kernel_cost(X, y) + 1e-3 * rich_cost(X, y))


WORLDS: tuple[World, ...] = (
    World("W/appA", "dw/ds twice as large", another_rate),
    World("W/appA", "the linearised model's f", linear_f),
    World("W/appA", "f from another start", another_start, key=1),
    World("W/appA", "∫f in place of ∫f⁻¹", integral_of_f),
    World("W/appA", "∫r off by 1e-3", miscounted),
    World("W/appA", "w₋ descends at half speed", one_sided),
    World("W/appA", "the library's r = α²", another_radius),
    World("W/appA", "the library's q_{D+1}", next_depth, key=1),
    World(
        "W/appA",
        "a limit given, moved by 1e-6 in the null space",
        with_limit("W/appA", null_space(1e-6)),
    ),
    World("W/appA", "min ℓ2 given as the limit", with_limit("W/appA", kernel_solution)),
    World("W/appA", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/sec3-bias", "a bias that grows with α", growing),
    World("W/sec3-bias", "no bias term", without_bias),
    World("W/sec3-bias", "labels that are not zero", with_labels),
    World("W/sec3-bias", "an unbiased start at rest", from_the_even_part, key=1),
    World("W/sec3-bias", "a product w₊w₋ that grows by 1%", another_invariant),
    World("W/sec3-bias", "w₋ descends at half speed", one_sided, key=1),
    World("W/sec3-bias", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/sec8", "a start without bias", doubled_start),
    World("W/sec8", "entries of size k^{−s−0.05}", another_size(0.05)),
    World("W/sec8", "a change at first order", first_order),
    World("W/sec8", "the kernel to second order in M", no_root),
    World("W/sec8", "∇_w raises", forbidden(bf.MatrixFactorisation)),
    World("W/explicit", "|β|^{2/3} for D = 2", another_bridge(2 / 3)),
    World("W/explicit", "ℓ1 for D = 3", another_bridge(1.0), key=1),
    World("W/explicit", "the better half of the vertices left out", fewer_vertices, key=1),
    World("W/explicit", "∇_w raises", forbidden(bf.DiagonalNetwork), key=1),
    World(
        "W/explicit",
        "a large start, from which the flow goes elsewhere",
        lambda patch: patch.setattr(explicit, "EXHIBIT_SCALE", 30.0),
        "still true",
        "from a large start the flow goes to min ℓ2, which is not the explicit solution either",
        key=1,
    ),
    World("W/hilbert", "min ℓ2 in place of min ℓ1", same_cost("rich_cost", "kernel_cost")),
    World("W/hilbert", "min ℓ1 in place of min ℓ2", same_cost("kernel_cost", "rich_cost")),
    World("W/hilbert", "labels on no common face", no_face),
    World("W/hilbert", "a thousandth of ℓ1 in the kernel's norm", weighted_cost),
    World("W/saddle", "L falls along every weight: no saddle", falling_everywhere),
    World("W/saddle", "w^{D+1}", one_order_higher, key=1),
    World("W/saddle", "a curvature of −8c‖Xᵀr‖_∞", steeper(2.0)),
    World("W/saddle", "a strict saddle for D = 3", steeper(1.0), key=1),
    World("W/saddle", "points that are not stationary", not_stationary),
    World("W/saddle", "∇L halved", slowed),
    World("W/saddle", "∇_w raises", forbidden(bf.DiagonalNetwork)),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
