"""Worlds for R's claims on mirror flow, its rates and its networks."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.models import FixedDirections, FixedDirectionsParams, hyperbola
from biasflow.potentials import hypentropy
from biasflow.records import Certificate, Limit
from biasflow.theory import claim, evidence
from biasflow.theory.evidence import Evidence
from biasflow.theory.mirror import (
    ablations,
    bias,
    boundary,
    hypentropic,
    local,
    measured,
    networks,
    objectives,
    operator_norm,
    rates,
    widths,
    witness,
)
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
            return dataclasses.replace(found, value=change(bf.MirrorProblem(potential, X, y, beta0), found.value))

        patch.setattr(evidence, "bregman_projection", new)

    return spoil


def moved_limit(eps):
    """The limit moved by eps of its size inside the null space of X: it still interpolates."""
    return wrong_limit(lambda p, best: best + eps * np.max(np.abs(best)) * null_vector(p.X))


kernel_limit = wrong_limit(lambda p, best: bias.nearest(p.X, p.y, p.beta0))
"""The interpolator nearest to the start in ℓ2, where another regime's flow would end."""


def other_scale(p, best):
    """The projection for r ten times larger."""
    factor, inner = p.potential.factor, p.potential.potential
    return bf.bregman_projection(bf.ScaledPotential(factor, bf.Hypentropy(10 * inner.alpha)), p.X, p.y, p.beta0).value


def other_flow(patch):
    """The flow of a hypentropy with r one thousandth larger, handed out as this one's."""

    def spoiled(potential, d, start=None):
        inner = getattr(potential, "potential", potential)
        if isinstance(inner, bf.Hypentropy) and np.all(inner.alpha > 0):
            return formulas_of(bf.ScaledPotential(potential.factor, bf.Hypentropy(1.001 * inner.alpha)), d, start)
        return formulas_of(bf.ScaledPotential(1.0, bf.Hypentropy(1.0)), d, start)

    patch.setattr(witness, "formulas_of", spoiled)


def euclidean_flow(patch):
    """Gradient flow in β, the kernel regime's, handed out as this potential's."""
    patch.setattr(witness, "formulas_of", lambda potential, d, start=None: formulas_of(bf.Euclidean(), d, start))


def slower(factor):
    """The same path at another pace."""

    def spoil(patch):
        old = witness.PrimalField.velocity
        patch.setattr(witness.PrimalField, "velocity", lambda self, t, u: factor * old(self, t, u))

    return spoil


slower_flow = slower(0.999)


def pushed_flow(patch):
    """A small push that is no gradient: along a fixed direction, as long as there is a force."""
    old = witness.PrimalField.velocity

    def velocity(self, t, u):
        v = old(self, t, u)
        return v + 1e-4 * np.linalg.norm(v) * np.cos(np.arange(len(v)))

    patch.setattr(witness.PrimalField, "velocity", velocity)


def replaced(module, name, **changes):
    """A function whose result has other fields, each multiplied by a factor."""

    def spoil(patch):
        old = getattr(module, name)

        def new(*args, **options):
            found = old(*args, **options)
            return dataclasses.replace(found, **{field: _times(getattr(found, field), f) for field, f in changes.items()})

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
        patch.setattr(measured.Measured, "divergence", lambda self, target: factor * old(self, target))

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
    patch.setattr(rates, "minimisers", lambda m: tuple(dataclasses.replace(t, beta=1.001 * t.beta) for t in old(m)))


def start_on_the_wall(patch):
    p = claim("R/lemA1").example(KEY)
    beta0 = np.abs(p.beta0)
    beta0[0] = 0.0
    return {"problem": bf.MirrorProblem(bf.Entropy(), p.X, p.y, beta0)}


def other_labels(patch):
    """The second start is followed under other labels, whose ∇F is the opposite there: solutions part."""
    old = bias.primal_flow
    patch.setattr(bias, "primal_flow", lambda p, *rest: old(dataclasses.replace(p, y=2 * p.X @ p.beta0 - p.y), *rest))


def bounded_potential(name):
    """A network of depth three, whose ∇φ stays in a bounded set."""

    def spoil(patch):
        p = claim(name).example(KEY)
        return {"problem": bf.MirrorProblem(bf.DepthPotential(3, 0.3), p.X, p.y, p.beta0)}

    return spoil


def other_weights(patch):
    """Samples of their own weights in the least squares that labels out of reach are replaced by."""
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
    patch.setattr(boundary, "least_squares_fit", lambda X, y, signs: X @ np.linalg.lstsq(X, y, rcond=None)[0])


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
        return Limit(u, float(np.linalg.norm(u)), Certificate(1.0, 1e9, 0.0, "bound"), {"norm": norm})

    patch.setattr(operator_norm, "inverse_norm", new)


def bracket(lower=1.0, upper=1.0):
    """The ends of the brackets of ℓ1 and ℓ∞ multiplied."""

    def spoil(patch):
        old = operator_norm.inverse_norm

        def new(X, norm="l2", **options):
            found = old(X, norm, **options)
            if norm == "l2":
                return found
            ends = dataclasses.replace(found.certificate, dual=upper * found.certificate.dual)
            return Limit(lower * found.value, lower * found.objective, ends, found.stats)

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
        return dataclasses.replace(found, objective=size, certificate=Certificate(size, size, 0.0, "exact"))

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
        potential = bf.ScaledPotential(0.5, bf.Hypentropy(1.001 * np.asarray(found.r)))
        return dataclasses.replace(found, mirror=dataclasses.replace(found.mirror, potential=potential))

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
    patch.setattr(networks, "printed_radius", lambda a, b: float(np.linalg.norm(np.outer(a, a) - np.outer(b, b)) / 2))


def half_radius(patch):
    """r = a₀² − b₀², without the ½."""
    old = networks.printed_radius
    patch.setattr(networks, "printed_radius", lambda a, b: 2 * old(a, b))


def outside_cone(patch):
    p = claim("R/lemA2").example(KEY)
    b = p.params0.b.copy()
    b[0] = 1.1 * p.params0.a[0]
    return {"problem": dataclasses.replace(p, params0=FixedDirectionsParams(p.params0.a, b))}


def cubic_objective(patch):
    """F with a cube in it: its divergence is no Mahalanobis distance."""
    old = local.objective

    def new(X, y, beta):
        residuals = [sum((a * b for a, b in zip(row, beta, strict=True)), -label) for row, label in zip(X, y, strict=True)]
        return old(X, y, beta) + sum((abs(r) ** 3 for r in residuals), Fraction()) / 1000

    patch.setattr(local, "objective", new)


def plain_distance(patch):
    patch.setattr(local, "mahalanobis", lambda X, first, second: 0.5 * float(np.sum((first - second) ** 2)))


def bounded_gradient(patch):
    """A potential whose ∇φ is arctan(x/α): not onto."""
    old = bf.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        return dataclasses.replace(found, eta=np.arctan(beta / np.where(self.alpha > 0, self.alpha, 1.0)))

    patch.setattr(bf.Hypentropy, "at", at)


def inverse_off(patch):
    old = hypentropy._primal
    patch.setattr(hypentropy, "_primal", lambda *args: old(*args) * (1 + 1e-12))


def open_wall(patch):
    """Points across the wall are taken in."""
    old = bf.Hypentropy.at
    patch.setattr(bf.Hypentropy, "at", lambda self, beta: old(self, np.where(self.alpha == 0, self.sign * np.abs(beta), beta)))


def shallow_wall(patch):
    """φ₀' = 2√|x| − 2 near the wall: finite there."""
    old = bf.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        near = np.where(self.alpha == 0, self.sign * (2 * np.sqrt(np.abs(beta)) - 2), found.eta)
        return dataclasses.replace(found, eta=near)

    patch.setattr(bf.Hypentropy, "at", at)


def point(name, change):
    """A method of the hypentropy's points with another result."""

    def spoil(patch):
        old = getattr(hypentropy.HypentropyPoint, name)
        patch.setattr(hypentropy.HypentropyPoint, name, lambda self, *args: change(self, old(self, *args)))

    return spoil


def gradient_off(patch):
    old = bf.Hypentropy.at

    def at(self, beta):
        found = old(self, beta)
        return dataclasses.replace(found, eta=found.eta * (1 + 1e-13))

    patch.setattr(bf.Hypentropy, "at", at)


def hinge_shares(patch):
    """The hinge's place is taken by least squares, whose minimisers share Xβ: the cause is gone."""
    patch.setattr(ablations, "squared_hinge", objectives.least_squares)


def logistic_is_hinge(patch):
    """A hinge whose minimisers do not share Xβ, called logistic; its flow starts at a margin of log 2."""
    patch.setattr(ablations, "logistic", objectives.squared_hinge)


def other_objective_flow(patch):
    def spoiled(potential, d, start=None):
        return formulas_of(bf.ScaledPotential(0.5, bf.Hypentropy(1.001 * potential.potential.alpha)), d, start)

    patch.setattr(objectives, "formulas_of", spoiled)


def printed_sign(patch):
    """The derivative of the difference as printed, with a minus."""
    old = measured.Measured.integral
    patch.setattr(measured.Measured, "integral", lambda self, density, index: old(self, lambda beta: -density(beta), index))


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


def late_weights(patch):
    """The curvature of the start in place of that of β*."""
    old = rates.late_rate

    def new(m):
        f = m.formulas
        moved = dataclasses.replace(f, weight=lambda beta: f.weight(m.start) if beta is m.best else f.weight(beta))
        object.__setattr__(m, "formulas", moved)
        return old(m)

    patch.setattr(rates, "late_rate", new)


def lame_diagonal(patch):
    old = bf.DiagonalNetwork.gradient

    def new(self, params, X, output):
        found = old(self, params, X, output)
        return found._replace(minus=found.minus / 2)

    patch.setattr(bf.DiagonalNetwork, "gradient", new)


def equal_clocks(patch):
    """W's weights at R's times, not at half of them."""
    old = widths.witness_flow
    patch.setattr(
        widths, "witness_flow", lambda p, times=None, **rest: old(p, times=None if times is None else 2 * times, **rest)
    )


def off_the_edge(patch):
    p = claim("R/pair").example(KEY)
    return {"problem": dataclasses.replace(p, params0=FixedDirectionsParams(p.params0.a, 0.999 * p.params0.b))}


def scaled_weights(power):
    def spoil(patch):
        patch.setattr(widths, "weight_scale", lambda alpha, m: alpha * float(m) ** power)

    return spoil


def summed_radius(patch):
    patch.setattr(widths, "merged_radius", lambda a, b: 0.5 * np.sum(a**2 - b**2, axis=-1))


def without_cone(patch):
    patch.setattr(widths, "mean_square", lambda dim: (dim + 1) / 3)


LOOSE = "the bound is that loose here, and its sharpness says so"
W = World
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
    W("R/thm2.2", "the same flow, slower", slower_flow, "still true", "the limit does not depend on the clock"),
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
    W("R/thm2.6", "κ larger by a half, both norms", replaced(local, "local_bounds", linear=1.5, weighted=1.5)),
    W("R/thm2.6", "κ larger by a half, ℓ2 alone", replaced(local, "local_bounds", linear=1.5)),
    W("R/thm2.6", "κ times 20", replaced(local, "local_bounds", linear=20.0, weighted=20.0)),
    W("R/thm2.6", "limit moved in the null space by 1e-3", moved_limit(1e-3)),
    W("R/thm2.6", "the exact rate off by 1e-3", scaled(local, "asymptotic_rate", 1.001)),
    W("R/thm2.7", "κ₂ larger by a half", replaced(local, "local_bounds", sublinear=1.5)),
    W("R/thm2.7", "κ₂ times 1000", replaced(local, "local_bounds", sublinear=1000.0)),
    W("R/thm2.7", "limit of the kernel regime", kernel_limit),
    W("R/thm2.7", "a flow slower by a thousandth", slower_flow, "still true", LOOSE),
    W("R/lem3.3", "∇φ is bounded", bounded_gradient),
    W("R/lem3.3", "∇φ* off by 1e-12", inverse_off),
    W("R/lem3.3", "points across the wall are taken in", open_wall),
    W("R/lem3.3", "∇φ₀ finite at the wall", shallow_wall),
    W("R/lemA3", "φ' off by 1e-13", gradient_off),
    W("R/lemA3", "φ'' off by 1e-13", point("weight", lambda self, found: found * (1 + 1e-13))),
    W("R/lemA3", "φ without + α", point("value", lambda self, found: found - self.alpha)),
    W("R/lemA3", "φ'' = 1/(|x| + α)", point("weight", lambda self, found: np.abs(self.beta) + self.alpha)),
    W("R/lem3.6", "κ₁ larger by a half", replaced(hypentropic, "convergence_bounds", kappa1=1.5)),
    W("R/lem3.6", "κ₁ times 40", replaced(hypentropic, "convergence_bounds", kappa1=40.0)),
    W("R/lem3.6", "limit of the kernel regime", kernel_limit),
    W("R/lem3.6", "the curvature near β* times 4", replaced(hypentropic, "local_bounds", weighted=4.0)),
    W("R/lem3.7", "κ₂ larger by a half", replaced(hypentropic, "convergence_bounds", kappa2=1.5)),
    W("R/lem3.7", "κ₂ times 1e5", replaced(hypentropic, "convergence_bounds", kappa2=1e5)),
    W("R/lem3.7", "C halved", replaced(hypentropic, "convergence_bounds", C=0.5)),
    W("R/lem3.7", "C a hundredth", replaced(hypentropic, "convergence_bounds", C=0.01)),
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
    W("R/lemA2", "both layers slower", wrong_gradient(0.5, 0.5), "still true", "a²−b² is conserved at any pace"),
    W("R/sec5.1", "the hinge's minimisers share Xβ", hinge_shares),
    W("R/sec5.1", "a hinge called logistic", logistic_is_hinge),
    W("R/sec5.1", "the flows are those of another r", other_objective_flow),
    W("R/sec5.1", "the sign as printed", printed_sign),
    W("R/sec5.1", "limit of the kernel regime", kernel_limit),
    W("R/lem5.1", "exponent 1/(n+1)", closed_form(lambda p, t: (p.beta0 ** (-p.n) + p.mu * t) ** (-1 / (p.n + 1)))),
    W("R/lem5.1", "μ off by 1e-6", closed_form(lambda p, t: (p.beta0 ** (-p.n) + (1 + 1e-6) * p.mu * t) ** (-1 / p.n))),
    W("R/lem5.1", "the flow of another power", another_power),
    W("R/lem5.1", "D_φ off by 1e-9", point("divergence", lambda self, found: found * (1 + 1e-9))),
    W("R/sec5.3", "κ of Theorem 2.6 off by a thousandth", replaced(ablations, "local_bounds", linear=1.001)),
    W("R/sec5.3", "κ of Theorem 2.6 doubled: no factor is lost", replaced(ablations, "local_bounds", linear=2.0)),
    W("R/sec5.3", "the exact rate off by a thousandth", scaled(ablations, "asymptotic_rate", 1.001)),
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
