"""Worlds for R's §2: existence, limits and rates of mirror flow."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from mirror_changes import (
    KEY,
    W,
    kernel_limit,
    moved_limit,
    other_flow,
    replaced,
    scaled,
    slower,
    slower_flow,
    wrong_limit,
)
from worlds import World

import biasflow as bf
from biasflow.potentials import hypentropy
from biasflow.theory import claim
from biasflow.theory.evidence import Evidence
from biasflow.theory.mirror import (
    bias,
    boundary_limits as boundary,
    flow_rates as rates,
    local,
    measured,
    mirror_witness as witness,
)
from biasflow.theory.mirror.formulas import formulas_of


def other_scale(p, best):
    """The projection for r ten times larger."""
    factor, inner = p.potential.factor, p.potential.potential
    return bf.bregman_projection(
        bf.potentials.ScaledPotential(factor, bf.potentials.Hypentropy(10 * inner.alpha)),
        p.X,
        p.y,
        p.beta0,
    ).value


def euclidean_flow(patch):
    """Gradient flow in β, the kernel regime's, handed out as this potential's."""
    patch.setattr(
        witness,
        "formulas_of",
        lambda potential, d, start=None: formulas_of(bf.potentials.Euclidean(), d, start),
    )


def pushed_flow(patch):
    """A small push that is no gradient: along a fixed direction, as long as there is a force."""
    old = witness.PrimalField.velocity

    def velocity(self, t, u):
        v = old(self, t, u)
        return v + 1e-4 * np.linalg.norm(v) * np.cos(np.arange(len(v)))

    patch.setattr(witness.PrimalField, "velocity", velocity)


def rising_loss(eps):
    """F rises once, by eps of its start."""

    def spoil(patch):
        old = Evidence.__dict__["half_loss"].func

        def new(self):
            F = old(self).copy()
            k = len(F) // 2
            F[k] = F[k - 1] + eps * F[0]
            return F

        patch.setattr(Evidence, "half_loss", property(new))

    return spoil


def scaled_divergence(factor):
    """D_φ multiplied: the bound's D₀ and the rest alike."""

    def spoil(patch):
        old = measured.Measured.divergence
        patch.setattr(
            measured.Measured, "divergence", lambda self, target: factor * old(self, target)
        )

    return spoil


def halved_rate(factor):
    """The integral of 2(F − F*) multiplied."""

    def spoil(patch):
        old = measured.Measured.integral

        def new(self, density, index):
            total, error = old(self, density, index)
            return factor * total, error

        patch.setattr(measured.Measured, "integral", new)

    return spoil


def no_minimisers(patch):
    """Points in place of minimisers: off their affine space by a thousandth."""
    old = rates.minimisers
    patch.setattr(
        rates,
        "minimisers",
        lambda m: tuple(dataclasses.replace(t, beta=1.001 * t.beta) for t in old(m)),
    )


def start_on_the_wall(patch):
    p = claim("R/lemA1").example(KEY)
    beta0 = np.abs(p.beta0)
    beta0[0] = 0.0
    return {"problem": bf.MirrorProblem(bf.potentials.Entropy(), p.X, p.y, beta0)}


def other_labels(patch):
    """The second start is followed under other labels, whose ∇F is the opposite there: solutions
    part."""
    old = bias.primal_flow
    patch.setattr(
        bias,
        "primal_flow",
        lambda p, *rest: old(dataclasses.replace(p, y=2 * p.X @ p.beta0 - p.y), *rest),
    )


def bounded_potential(name):
    """A network of depth three, whose ∇φ stays in a bounded set."""

    def spoil(patch):
        p = claim(name).example(KEY)
        return {
            "problem": bf.MirrorProblem(bf.potentials.DepthPotential(3, 0.3), p.X, p.y, p.beta0)
        }

    return spoil


def other_weights(patch):
    """Samples of their own weights in the least squares that labels out of reach are replaced
    by."""
    p = claim("R/thm2.2").example(KEY)

    def new(X, y):
        root = np.linspace(1.0, 1.001, len(y))
        return X @ np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0]

    patch.setattr(measured, "least_fit", new)
    X, y = np.vstack([p.X, p.X[:1]]), np.append(p.y, -p.y[0])
    return {"problem": bf.MirrorProblem(p.potential, X, y, p.beta0)}


def wrong_dual(patch):
    """The library's φ*'' off by a thousandth, and with it its flow in ν."""
    old = hypentropy._primal
    patch.setattr(hypentropy, "_primal", lambda eta, *rest: old(1.001 * eta, *rest))


def twin_exchange(eps):
    """Mass exchanged between equal columns: the same fit, another minimiser."""

    def spoil(patch):
        old = boundary.mirror_limit

        def new(potential, X, *rest):
            found = old(potential, X, *rest)
            value, d = found.value.copy(), X.shape[1]
            for j in range(3):
                moved = eps * value[d - 3 + j]
                if value[j] != 0:
                    value[d - 3 + j] -= moved
                    value[j] += moved
            return dataclasses.replace(found, value=value)

        patch.setattr(boundary, "mirror_limit", new)

    return spoil


def wrong_fit(patch):
    """Least squares without regard to the signs: the fit that no point of the domain has."""
    patch.setattr(
        boundary, "least_squares_fit", lambda X, y, signs: X @ np.linalg.lstsq(X, y, rcond=None)[0]
    )


def cubic_objective(patch):
    """F with a cube in it: its divergence is no Mahalanobis distance."""
    old = local.objective

    def new(X, y, beta):
        residuals = [
            sum((a * b for a, b in zip(row, beta, strict=True)), -label)
            for row, label in zip(X, y, strict=True)
        ]
        return old(X, y, beta) + sum((abs(r) ** 3 for r in residuals), Fraction()) / 1000

    patch.setattr(local, "objective", new)


def plain_distance(patch):
    patch.setattr(
        local, "mahalanobis", lambda X, first, second: 0.5 * float(np.sum((first - second) ** 2))
    )


def late_weights(patch):
    """The curvature of the start in place of that of β*."""
    old = rates.late_rate

    def new(m):
        f = m.formulas
        moved = dataclasses.replace(
            f, weight=lambda beta: f.weight(m.start) if beta is m.best else f.weight(beta)
        )
        object.__setattr__(m, "formulas", moved)
        return old(m)

    patch.setattr(rates, "late_rate", new)


LOOSE = "the bound is that loose here, and its sharpness says so"


WORLDS: tuple[World, ...] = (
    W("R/lemA1", "F rises once by 1e-3 of its start", rising_loss(1e-3)),
    W("R/lemA1", "F rises once by 1e-5 of its start", rising_loss(1e-5)),
    W("R/lemA1", "F rises once by 1e-6 of its start", rising_loss(1e-6)),
    W("R/lemA1", "F rises once by 1e-7 of its start", rising_loss(1e-7)),
    W("R/lemA1", "the flow in ν has another ∇φ*", wrong_dual),
    W("R/lemA1", "the flow in β is pushed off", pushed_flow),
    W("R/lemA1", "the flow in β is that of another r", other_flow),
    W("R/lemA1", "a start on the wall of its half-line", start_on_the_wall),
    W("R/lemA1", "the second flow is that of other labels", other_labels),
    W("R/lemA1", "∇φ is not onto", bounded_potential("R/lemA1")),
    W("R/thm2.2", "∇φ is not onto", bounded_potential("R/thm2.2")),
    W("R/thm2.2", "labels out of reach, and their least squares by other weights", other_weights),
    W("R/thm2.2", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/thm2.2", "limit moved in the null space by 1e-6", moved_limit(1e-6)),
    W("R/thm2.2", "limit moved in the null space by 1e-8", moved_limit(1e-8)),
    W("R/thm2.2", "limit of the kernel regime", kernel_limit),
    W("R/thm2.2", "limit for another r", wrong_limit(other_scale)),
    W("R/thm2.2", "the flow is that of another r", other_flow),
    W("R/thm2.2", "the flow is that of ½‖·‖²", euclidean_flow),
    W(
        "R/thm2.2",
        "the same flow, slower",
        slower_flow,
        "still true",
        "the limit does not depend on the clock",
    ),
    W("R/thm2.3", "mass exchanged between equal columns, 1e-2", twin_exchange(1e-2)),
    W("R/thm2.3", "mass exchanged between equal columns, 1e-3", twin_exchange(1e-3)),
    W("R/thm2.3", "mass exchanged between equal columns, 1e-4", twin_exchange(1e-4)),
    W("R/thm2.3", "the flow is that of another potential", other_flow),
    W("R/thm2.3", "the flow is pushed off", pushed_flow),
    W("R/thm2.3", "a fit out of reach", wrong_fit),
    W("R/eq2", "the rate as printed, half of it", halved_rate(0.5)),
    W("R/eq2", "the rate off by a thousandth", halved_rate(1.001)),
    W("R/eq2", "D_φ smaller by a thousandth", scaled_divergence(0.999)),
    W("R/eq2", "points that are no minimisers", no_minimisers),
    W("R/eq2", "the flow is slower by a thousandth", slower_flow),
    W("R/eq2", "the flow is that of another r", other_flow),
    W("R/eq2", "limit of the kernel regime", kernel_limit),
    W("R/eq3", "D_φ halved", scaled_divergence(0.5)),
    W("R/eq3", "D_φ smaller by a thousandth", scaled_divergence(0.999)),
    W("R/eq3", "D₀ a tenth", scaled_divergence(0.1)),
    W("R/eq3", "limit of the kernel regime", kernel_limit),
    W("R/eq3", "the flow is slower by a thousandth", slower_flow),
    W("R/eq3", "the flow is that of another r", other_flow),
    W("R/sharp", "limit of the kernel regime", kernel_limit),
    W("R/sharp", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/sharp", "inf w times 1.5", scaled(rates, "_least_weight", 1.5)),
    W("R/sharp", "inf w times 8", scaled(rates, "_least_weight", 8.0)),
    W("R/sharp", "the late rate with the curvature of the start", late_weights),
    W("R/sharp", "the flow is slower by a fiftieth", slower(0.98)),
    W("R/lem2.4", "½ missing", scaled(local, "mahalanobis", 2.0)),
    W("R/lem2.4", "off by 1e-10", scaled(local, "mahalanobis", 1 + 1e-10)),
    W("R/lem2.4", "‖β₀ − β₁‖² in place of ‖X(β₀ − β₁)‖²", plain_distance),
    W("R/lem2.4", "F is not quadratic", cubic_objective),
    W("R/lem2.5", "κ on B(r) doubled", scaled(local, "least_eigenvalue", 2.0)),
    W("R/lem2.5", "dD_φ/dt = −2.002D_F", scaled_divergence(1.001)),
    W("R/lem2.5", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/lem2.5", "limit of the kernel regime", kernel_limit),
    W("R/lem2.5", "the flow is that of another r", other_flow),
    W(
        "R/thm2.6",
        "κ larger by a half, both norms",
        replaced(local, "local_bounds", linear=1.5, weighted=1.5),
    ),
    W("R/thm2.6", "κ larger by a half, ℓ2 alone", replaced(local, "local_bounds", linear=1.5)),
    W("R/thm2.6", "κ times 20", replaced(local, "local_bounds", linear=20.0, weighted=20.0)),
    W("R/thm2.6", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/thm2.6", "the exact rate off by 1e-3", scaled(local, "asymptotic_rate", 1.001)),
    W("R/thm2.7", "κ₂ larger by a half", replaced(local, "local_bounds", sublinear=1.5)),
    W("R/thm2.7", "κ₂ times 1000", replaced(local, "local_bounds", sublinear=1000.0)),
    W("R/thm2.7", "limit of the kernel regime", kernel_limit),
    W("R/thm2.7", "a flow slower by a thousandth", slower_flow, "still true", LOOSE),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
