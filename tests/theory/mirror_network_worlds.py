"""Worlds for R's §3 to §5: hypentropies, networks, widths, ablations."""

from __future__ import annotations

import dataclasses

import numpy as np
from mirror_changes import (
    KEY,
    W,
    kernel_limit,
    moved_limit,
    other_flow,
    replaced,
    scaled,
    slower_flow,
    wrong_limit,
)
from worlds import World

import biasflow as bf
from biasflow.models import FixedDirections, FixedDirectionsParams, hyperbola
from biasflow.potentials import hypentropy
from biasflow.theory import claim
from biasflow.theory.mirror import (
    ablations,
    fixed_direction_flows as networks,
    growing_widths as widths,
    hypentropic,
    measured,
    objectives,
    operator_norm,
)
from biasflow.theory.mirror.formulas import formulas_of


def garbage_norm(patch):
    """A random u of the right length, and an upper end of 1e9."""
    old = operator_norm.inverse_norm

    def new(X, norm="l2", weights=None, **options):
        good = old(X, norm, weights=weights, **options)
        if not np.isfinite(good.objective):
            return good
        u = np.random.default_rng(5).standard_normal(X.shape[0])
        v = u @ X
        sizes = {
            "l2": np.sqrt(np.sum((1.0 if weights is None else weights) * v**2)),
            "l1": np.abs(v).sum(),
            "linf": np.abs(v).max(),
        }
        u = u / sizes[norm]
        return bf.Bracket(1.0, 1e9, "bound", u, float(np.linalg.norm(u)), {"norm": norm})

    patch.setattr(operator_norm, "inverse_norm", new)


def bracket(lower=1.0, upper=1.0):
    """The ends of the brackets of ℓ1 and ℓ∞ multiplied."""

    def spoil(patch):
        old = operator_norm.inverse_norm

        def new(X, norm="l2", **options):
            found = old(X, norm, **options)
            if norm == "l2":
                return found
            value, objective = lower * found.value, lower * found.objective
            return dataclasses.replace(
                found, value=value, objective=objective, upper=upper * found.upper
            )

        patch.setattr(operator_norm, "inverse_norm", new)

    return spoil


def largest_singular(patch):
    """1/σ_max in place of 1/σ_min."""
    old = operator_norm.inverse_norm

    def new(X, norm="l2", **options):
        found = old(X, norm, **options)
        if norm != "l2" or not np.isfinite(found.objective):
            return found
        size = 1 / np.linalg.svd(X, compute_uv=False)[0]
        return dataclasses.replace(found, objective=size, lower=size, upper=size, kind="exact")

    patch.setattr(operator_norm, "inverse_norm", new)


def finite_below_rank(patch):
    """A pseudo-inverse's norm where the rank is below n."""
    old = operator_norm.inverse_norm

    def new(X, *args, **options):
        found = old(X, *args, **options)
        return found if np.isfinite(found.objective) else dataclasses.replace(found, objective=1.0)

    patch.setattr(operator_norm, "inverse_norm", new)


def log_radius(shift):
    def spoil(patch):
        old = hyperbola._log_radius

        def new(plus, minus):
            log_r, rest = old(plus, minus)
            return log_r + shift, rest

        patch.setattr(hyperbola, "_log_radius", new)

    return spoil


def wrong_merge(patch):
    old = networks.merge_directions

    def new(problem):
        found = old(problem)
        potential = bf.potentials.ScaledPotential(
            0.5, bf.potentials.Hypentropy(1.001 * np.asarray(found.r))
        )
        return dataclasses.replace(
            found, mirror=dataclasses.replace(found.mirror, potential=potential)
        )

    patch.setattr(networks, "merge_directions", new)


def wrong_gradient(a=1.0, b=1.0):
    """The gradients of the two layers multiplied: two learning rates."""

    def spoil(patch):
        old = FixedDirections.gradient

        def new(self, params, X, output):
            found = old(self, params, X, output)
            return FixedDirectionsParams(a * found.a, b * found.b)

        patch.setattr(FixedDirections, "gradient", new)

    return spoil


def decayed(patch):
    """Weight decay on the first layer."""
    old = FixedDirections.gradient

    def new(self, params, X, output):
        found = old(self, params, X, output)
        return FixedDirectionsParams(found.a + 1e-6 * params.a, found.b)

    patch.setattr(FixedDirections, "gradient", new)


def linear_features(patch):
    """Features without the ReLU."""
    patch.setattr(FixedDirections, "features", lambda self, X: np.abs(X @ self.directions.T))


def without_cross_terms(patch):
    """r_k from Σ(a_ia_j − b_ib_j)² alone."""
    patch.setattr(
        networks,
        "printed_radius",
        lambda a, b: float(np.linalg.norm(np.outer(a, a) - np.outer(b, b)) / 2),
    )


def half_radius(patch):
    """r = a₀² − b₀², without the ½."""
    old = networks.printed_radius
    patch.setattr(networks, "printed_radius", lambda a, b: 2 * old(a, b))


def outside_cone(patch):
    p = claim("R/lemA2").example(KEY)
    b = p.start.b.copy()
    b[0] = 1.1 * p.start.a[0]
    return {"problem": dataclasses.replace(p, start=FixedDirectionsParams(p.start.a, b))}


def bounded_gradient(patch):
    """A potential whose ∇φ is arctan(x/α): not onto."""
    old = bf.potentials.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        return dataclasses.replace(
            found, eta=np.arctan(beta / np.where(self.alpha > 0, self.alpha, 1.0))
        )

    patch.setattr(bf.potentials.Hypentropy, "at", at)


def inverse_off(patch):
    old = hypentropy._primal
    patch.setattr(hypentropy, "_primal", lambda *args: old(*args) * (1 + 1e-12))


def open_wall(patch):
    """Points across the wall are taken in."""
    old = bf.potentials.Hypentropy.at
    patch.setattr(
        bf.potentials.Hypentropy,
        "at",
        lambda self, beta: old(self, np.where(self.alpha == 0, self.sign * np.abs(beta), beta)),
    )


def shallow_wall(patch):
    """φ₀' = 2√|x| − 2 near the wall: finite there."""
    old = bf.potentials.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        near = np.where(self.alpha == 0, self.sign * (2 * np.sqrt(np.abs(beta)) - 2), found.eta)
        return dataclasses.replace(found, eta=near)

    patch.setattr(bf.potentials.Hypentropy, "at", at)


def point(name, change):
    """A method of the hypentropy's points with another result."""

    def spoil(patch):
        old = getattr(hypentropy.HypentropyPoint, name)
        patch.setattr(
            hypentropy.HypentropyPoint, name, lambda self, *args: change(self, old(self, *args))
        )

    return spoil


def gradient_off(patch):
    old = bf.potentials.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        return dataclasses.replace(found, eta=found.eta * (1 + 1e-13))

    patch.setattr(bf.potentials.Hypentropy, "at", at)


def hinge_shares(patch):
    """The hinge's place is taken by least squares, whose minimisers share Xβ: the cause is gone."""
    patch.setattr(ablations, "squared_hinge", objectives.least_squares)


def logistic_is_hinge(patch):
    """A hinge whose minimisers do not share Xβ, called logistic; its flow starts at a margin of log
    2."""
    patch.setattr(ablations, "logistic", objectives.squared_hinge)


def other_objective_flow(patch):
    def spoiled(potential, d, start=None):
        return formulas_of(
            bf.potentials.ScaledPotential(
                0.5, bf.potentials.Hypentropy(1.001 * potential.potential.alpha)
            ),
            d,
            start,
        )

    patch.setattr(objectives, "formulas_of", spoiled)


def printed_sign(patch):
    """The derivative of the difference as printed, with a minus."""
    old = measured.Measured.integral
    patch.setattr(
        measured.Measured,
        "integral",
        lambda self, density, index: old(self, lambda beta: -density(beta), index),
    )


def closed_form(change):
    def spoil(patch):
        patch.setattr(ablations, "closed_form", change)

    return spoil


def another_power(patch):
    """The flow of x^{n+2} in place of x^{n+1}."""
    old = ablations._power_flow

    def new(p, t, tolerance):
        return old(dataclasses.replace(p, n=p.n + 1), t, tolerance)

    patch.setattr(ablations, "_power_flow", new)


def lame_diagonal(patch):
    old = bf.DiagonalNetwork.gradient

    def new(self, params, X, output):
        found = old(self, params, X, output)
        return found._replace(minus=found.minus / 2)

    patch.setattr(bf.DiagonalNetwork, "gradient", new)


def narrower_bound(patch):
    old = hypentropic.gradient_bound
    patch.setattr(hypentropic, "gradient_bound", lambda m, *rest: old(m, *rest) / m**0.5)


def equal_clocks(patch):
    """W's weights at R's times, not at half of them."""
    old = widths.witness_flow
    patch.setattr(
        widths,
        "witness_flow",
        lambda p, times=None, **rest: old(p, times=None if times is None else 2 * times, **rest),
    )


def off_the_edge(patch):
    p = claim("R/pair").example(KEY)
    return {
        "problem": dataclasses.replace(p, start=FixedDirectionsParams(p.start.a, 0.999 * p.start.b))
    }


def scaled_weights(power):
    def spoil(patch):
        patch.setattr(widths, "weight_scale", lambda alpha, m: alpha * float(m) ** power)

    return spoil


def summed_radius(patch):
    patch.setattr(widths, "merged_radius", lambda a, b: 0.5 * np.sum(a**2 - b**2, axis=-1))


def without_cone(patch):
    patch.setattr(widths, "mean_square", lambda dim: (dim + 1) / 3)


WORLDS: tuple[World, ...] = (
    W("R/lem3.3", "∇φ is bounded", bounded_gradient),
    W("R/lem3.3", "∇φ* off by 1e-12", inverse_off),
    W("R/lem3.3", "points across the wall are taken in", open_wall),
    W("R/lem3.3", "∇φ₀ finite at the wall", shallow_wall),
    W("R/lemA3", "φ' off by 1e-13", gradient_off),
    W("R/lemA3", "φ'' off by 1e-13", point("weight", lambda self, found: found * (1 + 1e-13))),
    W("R/lemA3", "φ without + α", point("value", lambda self, found: found - self.alpha)),
    W(
        "R/lemA3",
        "φ'' = 1/(|x| + α)",
        point("weight", lambda self, found: np.abs(self.beta) + self.alpha),
    ),
    W("R/lem3.6", "κ₁ larger by a half", replaced(hypentropic, "convergence_bounds", kappa1=1.5)),
    W("R/lem3.6", "κ₁ times 40", replaced(hypentropic, "convergence_bounds", kappa1=40.0)),
    W("R/lem3.6", "limit of the kernel regime", kernel_limit),
    W(
        "R/lem3.6",
        "the curvature near β* times 4",
        replaced(hypentropic, "local_bounds", weighted=4.0),
    ),
    W("R/lem3.7", "κ₂ larger by a half", replaced(hypentropic, "convergence_bounds", kappa2=1.5)),
    W("R/lem3.7", "κ₂ times 1e5", replaced(hypentropic, "convergence_bounds", kappa2=1e5)),
    W("R/lem3.7", "C halved", replaced(hypentropic, "convergence_bounds", C=0.5)),
    W("R/lem3.7", "C a hundredth", replaced(hypentropic, "convergence_bounds", C=0.01)),
    W("R/lem3.7", "√m in place of m in the wide limit of C", narrower_bound),
    W("R/lem3.7", "limit of the kernel regime", kernel_limit),
    W("R/lem3.7", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/lem3.7", "limit zero", wrong_limit(lambda p, best: 0 * best)),
    W("R/thm3.4", "r off by 1e-3 in the mirror form", log_radius(1e-3)),
    W("R/thm3.4", "r = a₀² − b₀²", half_radius),
    W("R/thm3.4", "two learning rates", wrong_gradient(b=1.001)),
    W("R/thm3.4", "weight decay on a", decayed),
    W("R/thm3.4", "features |⟨θ, x⟩|", linear_features),
    W("R/lem3.5", "merged r off by 1e-3 in the flow", wrong_merge),
    W("R/lem3.5", "r_k without its cross terms", without_cross_terms),
    W("R/lem3.5", "two learning rates", wrong_gradient(a=1.001)),
    W(
        "R/lem3.5",
        "r off by 1e-3 for single neurons",
        log_radius(1e-3),
        "still true",
        "merging does not use the single neurons' r",
    ),
    W("R/lemA2", "two learning rates", wrong_gradient(b=1.001)),
    W("R/lemA2", "weight decay on a", decayed),
    W("R/lemA2", "the first layer's gradient reversed", wrong_gradient(a=-1.0)),
    W("R/lemA2", "a start outside the cone", outside_cone),
    W(
        "R/lemA2",
        "both layers slower",
        wrong_gradient(0.5, 0.5),
        "still true",
        "a²−b² is conserved at any pace",
    ),
    W("R/sec5.1", "the hinge's minimisers share Xβ", hinge_shares),
    W("R/sec5.1", "a hinge called logistic", logistic_is_hinge),
    W("R/sec5.1", "the flows are those of another r", other_objective_flow),
    W("R/sec5.1", "the sign as printed", printed_sign),
    W("R/sec5.1", "limit of the kernel regime", kernel_limit),
    W(
        "R/lem5.1",
        "exponent 1/(n+1)",
        closed_form(lambda p, t: (p.beta0 ** (-p.n) + p.mu * t) ** (-1 / (p.n + 1))),
    ),
    W(
        "R/lem5.1",
        "μ off by 1e-6",
        closed_form(lambda p, t: (p.beta0 ** (-p.n) + (1 + 1e-6) * p.mu * t) ** (-1 / p.n)),
    ),
    W("R/lem5.1", "the flow of another power", another_power),
    W("R/lem5.1", "D_φ off by 1e-9", point("divergence", lambda self, found: found * (1 + 1e-9))),
    W(
        "R/sec5.3",
        "κ of Theorem 2.6 off by a thousandth",
        replaced(ablations, "local_bounds", linear=1.001),
    ),
    W(
        "R/sec5.3",
        "κ of Theorem 2.6 doubled: no factor is lost",
        replaced(ablations, "local_bounds", linear=2.0),
    ),
    W(
        "R/sec5.3",
        "the exact rate off by a thousandth",
        scaled(ablations, "asymptotic_rate", 1.001),
    ),
    W("R/sec5.3", "the flow is that of another potential", other_flow),
    W("R/sec5.3", "the flow is slower by a thousandth", slower_flow),
    W("R/pair", "r_k without its cross terms", without_cross_terms),
    W("R/pair", "two learning rates", wrong_gradient(a=1.001)),
    W("R/pair", "w₋ descends at half speed", lame_diagonal),
    W("R/pair", "W's clock as R's", equal_clocks),
    W("R/pair", "a start off the edge", off_the_edge),
    W("R/sec4", "weights of size α/m", scaled_weights(-1.0)),
    W("R/sec4", "weights of size α·m^{−0.45}", scaled_weights(-0.45)),
    W("R/sec4", "r_k the sum of its neurons' r_j", summed_radius),
    W("R/sec4", "no cone in E(a² + b²)", without_cone),
    W("R/sec4", "the flow of two learning rates", wrong_gradient(a=1.001)),
    W("R/sec5.4", "a random u, upper end 1e9", garbage_norm),
    W("R/sec5.4", "1/σ_max in place of 1/σ_min", largest_singular),
    W("R/sec5.4", "lower ends too large by 1e-6", bracket(lower=1 + 1e-6)),
    W("R/sec5.4", "upper ends below the norm", bracket(upper=0.9)),
    W("R/sec5.4", "upper ends four times larger", bracket(upper=4.0)),
    W("R/sec5.4", "finite below rank n", finite_below_rank),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
