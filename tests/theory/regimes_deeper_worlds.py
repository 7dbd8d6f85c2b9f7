"""Worlds for W's §5 and appendix C: deeper models, thresholds, escape."""

import numpy as np
from regimes_changes import (
    divided,
    forbidden,
    kernel_solution,
    next_depth,
    null_space,
    rich_solution,
    slowed,
    smaller_unit,
    with_limit,
)
from worlds import World

import biasflow as bf
import biasflow.models.diagonal as diagonal
from biasflow.models.model import MirrorForm
from biasflow.potentials import Hypentropy, ScaledPotential
from biasflow.theory.regimes import (
    deeper,
    escape,
    thresholds,
)


def wrong_law(patch):
    """For D ≥ 3: w₊w₋ conserved as for D = 2, and the hypentropy with r = 2α^D."""

    def form(depth, params0, c):
        a, factor = params0.plus, 1 / (8 * c)

        def lift(point):
            delta = point.eta / factor / depth
            return bf.models.DiagonalParams(a * np.exp(delta), a * np.exp(-delta))

        return MirrorForm(ScaledPotential(factor, Hypentropy(2 * a**depth)), None, lift)

    patch.setattr(diagonal, "_deeper", form)


def quicker_alpha(patch):
    """α ∝ ε^{1/(D−1)} in place of ε^{1/(D−2)}."""
    patch.setattr(
        thresholds,
        "disproportion",
        lambda log, order, d: np.exp((order - 1) * log) if order > 2 else np.exp(log),
    )


def without_halving(patch):
    """The leading order with D in place of D/2."""
    real = thresholds.leading_alpha
    patch.setattr(thresholds, "leading_alpha", lambda eps, order, d: real(eps / 2, order, d))


def polynomial_two(patch):
    """D = 2 with a power of α in place of its logarithm."""
    real = thresholds.disproportion
    patch.setattr(
        thresholds,
        "disproportion",
        lambda log, order, d: np.exp(log) if order == 2 else real(log, order, d),
    )


def same_order(patch):
    """Other orders whose limits are those of the own."""
    real = thresholds.nearest
    patch.setattr(
        thresholds, "nearest", lambda problem, order, end: real(problem, problem.model.depth, end)
    )


def next_decay(patch):
    real = thresholds.log_slack
    patch.setattr(thresholds, "log_slack", lambda x, depth: real(x, depth + 1))


def deeper_potential(patch):
    """The library's regulariser one order deeper than the network."""
    real = bf.DiagonalNetwork.potential
    patch.setattr(
        bf.DiagonalNetwork,
        "potential",
        lambda self, **options: real(bf.DiagonalNetwork(self.depth + 1), **options),
    )


def power_in_place_of_q(exponent):
    """|β|^p in place of q: for a p-norm the ratio does not depend on α."""
    return lambda patch: patch.setattr(
        thresholds, "relative_value", lambda x, order: x ** (exponent - 1)
    )


def bumped(patch):
    """Q with a bump, so that the ratio is not monotone."""
    real = thresholds.relative_value
    patch.setattr(
        thresholds,
        "relative_value",
        lambda x, order: real(x, order) * (1 + 0.3 * np.sin(np.log(x))),
    )


def constant_rate(factor):
    def spoil(patch):
        real = escape.escape_rate
        patch.setattr(escape, "escape_rate", lambda D, c, force: factor * real(D, c, force))

    return spoil


def rate_by_norm(patch):
    """‖Xᵀy‖₂ in place of ‖Xᵀy‖_∞."""
    real = escape.first_target

    def changed(problem):
        _, target = real(problem)
        return float(np.linalg.norm(problem.data.X.T @ problem.data.y)), target

    patch.setattr(escape, "first_target", changed)


def warm_start(patch):
    """A start that does not shrink: α^{2−D} is only told to."""
    real = bf.DiagonalNetwork.init
    patch.setattr(
        bf.DiagonalNetwork,
        "init",
        lambda self, scale, **options: real(self, np.sqrt(scale), **options),
    )


WORLDS: tuple[World, ...] = (
    World("W/thm3", "another conservation law and another potential", wrong_law),
    World("W/thm3", "another conservation law and another potential, D = 4", wrong_law, key=1),
    World("W/thm3", "q_{D+1}", next_depth),
    World("W/thm3", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World(
        "W/thm3",
        "the limit moved inside the null space by 1e-6",
        with_limit("W/thm3", null_space(1e-6)),
    ),
    World("W/thm3", "the kernel solution as limit", with_limit("W/thm3", kernel_solution)),
    World("W/thm3", "the rich solution as limit", with_limit("W/thm3", rich_solution)),
    World("W/lem4", "half of the bound: 4c for 2c", divided(deeper, "lemma_4_bound", 2.0)),
    World(
        "W/lem4",
        "the bound as printed for ½‖·‖²",
        divided(deeper, "lemma_4_bound", 0.5),
        "still true",
        "for ‖·‖² the printed bound is twice the right one",
    ),
    World(
        "W/lem4",
        "α^{3−D}",
        lambda patch: patch.setattr(
            deeper, "lemma_4_bound", lambda a, D, c: a ** (3 - D) / (2 * c * D * (D - 2))
        ),
    ),
    World("W/lem4", "∇L halved", slowed),
    World("W/lem4", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/sec5", "α ∝ ε^{1/(D−1)}", quicker_alpha, key=1),
    World("W/sec5", "D in place of D/2", without_halving),
    World("W/sec5", "a power of α for D = 2 too", polynomial_two),
    World("W/sec5", "ε/100", divided(thresholds, "sufficient_epsilon", 100.0)),
    World("W/sec5", "the kernel solution as limit", with_limit("W/sec5", kernel_solution)),
    World("W/sec5", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/unique", "limits of the own order", same_order),
    World("W/unique", "q_{D+1}'", next_decay),
    World(
        "W/unique",
        "the limit moved inside the null space by 1e-6",
        with_limit("W/unique", null_space(1e-6)),
    ),
    World("W/unique", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/eq58", "ℓ1 in place of Q", power_in_place_of_q(1.0)),
    World("W/eq58", "ℓ2² in place of Q", power_in_place_of_q(2.0)),
    World("W/eq58", "Q with a bump", bumped),
    World("W/eq58", "the library's q_{D+1}", deeper_potential, key=1),
    World("W/eq58", "the library's potential at r = α²", smaller_unit),
    World("W/escape", "0.7 times the rate, D = 2", constant_rate(0.7)),
    World("W/escape", "1.1 times the rate, D = 3", constant_rate(1.1), key=1),
    World("W/escape", "‖Xᵀy‖₂ in place of ‖Xᵀy‖_∞", rate_by_norm, key=2),
    World("W/escape", "starts that shrink like √α", warm_start, key=1, slow=True),
    World("W/escape", "∇L halved, D = 3", slowed, key=1),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
