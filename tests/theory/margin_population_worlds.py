"""Worlds for C's claims on the energy, the clock, populations and fixed directions."""

import dataclasses

import numpy as np
from margin_static_worlds import scaled, wrapped
from margin_training_worlds import moving_in
from worlds import World

import biasflow as bf
from biasflow.losses import margin_losses as losses
from biasflow.theory.margin import (
    directions,
    discs,
    energy,
    injectivity,
    optimality,
    populations,
    regularity,
)
from biasflow.theory.margin.margin_examples import cluster_data, interval_data


def slower(factor):
    """A flow that is slower than that of the smooth margin, in the weights alone."""

    def spoil(patch):
        right, flow = bf.SignedTwoLayer.gradient, energy.integrate_weights

        def other(*args):
            with patch.context() as inner:
                inner.setattr(
                    bf.SignedTwoLayer,
                    "gradient",
                    lambda self, *rest: type(right(self, *rest))(factor * right(self, *rest).W),
                )
                return flow(*args)

        patch.setattr(energy, "integrate_weights", other)

    return spoil


def part(index, factor):
    """One of the parts of d/dt S: at fixed β, the entropy of p, the growth of ‖ν‖."""

    def change(found, *_):
        return tuple(factor * value if k == index else value for k, value in enumerate(found))

    return wrapped(energy, "_parts", change)


def printed_sign(patch):
    """−n·d/dt(1/‖ν‖), as printed."""
    patch.setattr(energy, "_allowed", lambda n, growth: n * growth)


def integrals_times(factor):
    def spoil(patch):
        right = energy.Gaining.integrated
        patch.setattr(
            energy.Gaining,
            "integrated",
            lambda self, rate: (factor * right(self, rate)[0], right(self, rate)[1]),
        )

    return spoil


def sum_for_mean(patch):
    """The sum of the losses for their mean: another clock."""
    right = losses.LogisticLoss.gradient
    patch.setattr(losses.LogisticLoss, "gradient", lambda self, f, y: y.size * right(self, f, y))


def own_tail(patch):
    """Weights of samples as if the loss were the exponential."""
    patch.setattr(
        losses.SmoothMargin,
        "gradient",
        lambda self, f, y: -y * np.exp(-(y * f)) / np.sum(np.exp(-(y * f))),
    )


def weights_of(change):
    """Another ∇S: change(scores)."""
    return lambda patch: patch.setattr(
        losses.SmoothMargin, "weights", lambda self, f, y: change(y * f)
    )


def soft_argmin(scores):
    p = np.exp(np.min(scores) - scores)
    return p / np.sum(p)


def half_as_cold(scores):
    p = soft_argmin(scores / 2)
    return p / np.sum(p)


def not_normalised(scores):
    return 1.01 * soft_argmin(scores)


def smooth_margin_times(factor):
    def spoil(patch):
        right = losses.SmoothMargin.__call__
        patch.setattr(
            losses.SmoothMargin, "__call__", lambda self, f, y: factor * right(self, f, y)
        )

    return spoil


def flat(patch):
    """A population whose mean excess falls as 1/√β."""
    right = populations.Spread.excess
    patch.setattr(populations.Spread, "excess", lambda self, beta: right(self, beta) ** 0.5)


def atoms(patch):
    """Inputs as they are for their intervals."""
    right = regularity.Turning.gradient

    def jumping(self, angles):
        return right(self, np.round(angles, 2))

    patch.setattr(regularity.Turning, "gradient", jumping)


def density_times(factor):
    def spoil(patch):
        right = populations.Spread.densest.fget
        patch.setattr(populations.Spread, "densest", property(lambda self: factor * right(self)))

    return spoil


def other_gates(slope):
    """Neurons whose gradient does not vanish where they are off."""

    def spoil(patch):
        right = bf.TwoLayer.gradient

        def leaking(self, params, X, output):
            off = (params.W @ X.T <= 0) * output
            return right(self, params, X, output)._replace(
                W=right(self, params, X, output).W + slope * params.a[:, None] * (off @ X)
            )

        patch.setattr(bf.TwoLayer, "gradient", leaking)

    return spoil


def hidden_as(change):
    """Another activation: change(projections)."""
    return lambda patch: patch.setattr(
        bf.TwoLayer, "hidden", lambda self, params, X: change(params.W @ X.T)
    )


def no_bias(patch):
    """Features of x without the one, on inputs some of which are multiples of each other."""
    patch.setattr(injectivity, "augmented", lambda X: X)
    data = cluster_data(0)
    return {
        "problem": bf.Dataset(np.vstack([data.X, 2 * data.X[:1]]), np.append(data.y, data.y[0]))
    }


OVER = (directions, "l1_max_margin")


def fewer(patch):
    """The margin over half of the directions."""
    right = directions.l1_max_margin
    patch.setattr(
        directions,
        "l1_max_margin",
        lambda Z: right(np.where(np.arange(Z.shape[1]) % 2 == 0, Z, 0.0)),
    )


def by_norm_two(found, Z):
    return dataclasses.replace(found, objective=bf.limits.l2_max_margin(Z).objective)


def limit_of_fewer_labels(patch):
    data = cluster_data(0)
    return {"problem": data, "limit": bf.limits.f1_max_margin(data.X[:6], data.y[:6])}


def mass_times(factor):
    def spoil(patch):
        right = populations.Spread.mass.fget
        patch.setattr(populations.Spread, "mass", property(lambda self: factor * right(self)))

    return spoil


def wider_intervals(patch):
    """Intervals so long that classes meet."""
    patch.setattr(populations, "HALF_WIDTH", 0.5)


def an_atom(patch):
    """An interval of no length that has mass."""
    right = populations._share
    patch.setattr(
        populations, "_share", lambda found, piece, part: right(found, piece, part) + 0.01
    )


def inputs_alone(patch):
    """The max margin of the inputs as they are for that of their intervals."""
    data = interval_data(0)
    return {"problem": data, "limit": bf.limits.f1_max_margin(data.X, data.y)}


def centres_for_ends(patch):
    """Intervals of which only the middle is asked for."""

    def other(found, time_s):
        sample = bf.Dataset(found.centres[:, None], found.labels)
        best = bf.limits.f1_max_margin(sample.X, sample.y)
        return best.value, sample, best.stats["weights"]

    patch.setattr(optimality, "population_margin", other)


def even_weights(patch):
    """λ even on the places in place of λ*."""
    right = optimality.population_margin

    def other(found, time_s):
        measure, sample, weights = right(found, time_s)
        return measure, sample, np.full(weights.size, 1 / weights.size)

    patch.setattr(optimality, "population_margin", other)


def redrawn(change):
    """Another distribution: change(X, y)."""

    def spoil(patch):
        right = discs.clusters
        patch.setattr(
            discs,
            "clusters",
            lambda *args, **named: bf.Dataset(*change(*right(*args, **named)[:2])),
        )

    return spoil


def widened(X, y):
    """Discs half as large again."""
    k = 3
    centre = (np.floor((X[:, :2] + 0.5) * k) * 3 + 1) / (3 * k - 1) - 0.5
    return np.hstack([centre + 1.5 * (X[:, :2] - centre), X[:, 2:]]), y


def own_classes(X, y):
    return X, np.random.default_rng(0).permutation(y)


E, C11, CLOCK = "C/energy", "C/cor11", "C/clock"
WORLDS = (
    World(E, "growth 4.001J'", moving_in(energy, potential=1.00025)),
    World(E, "neurons that never turn", moving_in(energy, velocity=0.0)),
    World(E, "the flow of another clock", slower(0.99)),
    World(E, "half of it", integrals_times(0.5)),
    World(C11, "−n·d/dt(1/‖ν‖), as printed", printed_sign),
    World(C11, "2 Var J' for 4 Var J', and half of ‖∇J'‖²", part(0, 0.5)),
    World(C11, "no entropy", part(1, 0.0)),
    World(C11, "‖ν‖ grows at 2∫J'", part(2, 0.5)),
    World(C11, "the flow of another clock", slower(0.99)),
    World(CLOCK, "τ longer by 1%", integrals_times(1.01)),
    World(CLOCK, "sums for means", sum_for_mean),
    World(CLOCK, "the exponential's weights", own_tail),
    World("C/A4", "mass 1.01", mass_times(1.01)),
    World("C/A4", "intervals that meet", wider_intervals),
    World("C/A4", "an atom of mass 0.01", an_atom),
    World("C/lem23", "∇S at half of β", weights_of(half_as_cold)),
    World("C/lem23", "∇S of mass 1.01", weights_of(not_normalised)),
    World("C/lem23", "S × 1.001", smooth_margin_times(1.001)),
    World("C/lem23", "even weights", weights_of(lambda u: np.full(u.size, 1 / u.size))),
    World("C/lem24", "∇S at half of β", weights_of(half_as_cold)),
    World("C/lem24", "even weights", weights_of(lambda u: np.full(u.size, 1 / u.size))),
    World("C/lem24", "a mean excess of 1/√β", flat),
    World("C/lem25", "a gradient that jumps", atoms),
    World("C/lem25", "neurons that leak", other_gates(0.01)),
    World("C/lem25", "a density ten times lower", density_times(0.1)),
    World("C/lem28", "no positive part", hidden_as(lambda z: z)),
    World("C/lem28", "a smooth positive part", hidden_as(lambda z: np.logaddexp(0.0, 3 * z) / 3)),
    World("C/lem28", "no bias, and inputs that are multiples", no_bias),
    World("C/lem28", "a leak of 1%", hidden_as(lambda z: np.maximum(z, 0.01 * z))),
    World("C/prop29", "the inputs' own max margin given", inputs_alone),
    World("C/prop29", "the middles of intervals alone", centres_for_ends),
    World("C/prop29", "λ even on its places", even_weights),
    World(
        "C/prop29", "max J × 0.999", wrapped(optimality, "gain_of", lambda found, *_: 0.999 * found)
    ),
    World(
        "C/sec7",
        "1/(3k − 2)",
        lambda patch: patch.setattr(discs, "promised", lambda k: 1 / (3 * k - 2)),
    ),
    World("C/sec7", "discs half as large again", redrawn(widened)),
    World("C/sec7", "classes of points, not of discs", redrawn(own_classes)),
    World("C/sec7", "inputs twice as far out", redrawn(lambda X, y: (2 * X, y))),
    World("C/sec4", "γ₁^(m) × 1.001", wrapped(*OVER, scaled(objective=1.001))),
    World("C/sec4", "half of the directions", fewer),
    World("C/sec4", "γ₂^(m) for γ₁^(m)", wrapped(*OVER, by_norm_two)),
    World("C/sec4", "γ₁ of fewer samples given", limit_of_fewer_labels),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
