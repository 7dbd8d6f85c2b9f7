"""Worlds for C's static claims: assumptions, margins, the soft minimum, generalisation."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.limits.neurons import f2_margin as f2
from biasflow.losses import margin_losses as losses
from biasflow.models import SphereMeasure
from biasflow.theory.margin import (
    class_distances,
    margin_assumptions as assumptions,
    margin_generalisation as generalisation,
    margins,
    smooth_margins as softmin,
    unseen,
    variation_norm as variation,
)
from biasflow.theory.margin.margin_examples import (
    cluster_data,
    network_problem,
    relu_problem,
    smooth_problem,
)


def wrapped(module, name, change):
    """A world in which what a library function returns is changed: change(result, *arguments)."""

    def spoil(patch):
        original = getattr(module, name)
        patch.setattr(module, name, lambda *args, **named: change(original(*args, **named), *args))

    return spoil


def scaled(**factors):
    """A bracket whose objective, primal or dual is multiplied."""

    def change(found, *_):
        primal, dual = (
            getattr(found.certificate, end) * factors.get(end, 1) for end in ("primal", "dual")
        )
        if isinstance(found, bf.Bracket):
            proof = {"lower": primal, "upper": dual}
        else:
            proof = {
                "certificate": dataclasses.replace(found.certificate, primal=primal, dual=dual)
            }
        return dataclasses.replace(
            found, objective=found.objective * factors.get("objective", 1), **proof
        )

    return change


def with_stats(**entries):
    return lambda found, *_: dataclasses.replace(found, stats={**found.stats, **entries})


def random_measure(found, X, *_):
    rng = np.random.default_rng(5)
    u = rng.standard_normal((50, X.shape[1] + 1))
    value = bf.models.Particles(
        u / np.linalg.norm(u, axis=1)[:, None],
        rng.choice([-1.0, 1.0], 50),
        np.full(50, -np.log(50)),
    )
    return dataclasses.replace(found, value=value)


def even_weights(found, X, *_):
    return with_stats(weights=np.full(len(X), 1 / len(X)))(found)


def other_labels(patch):
    original = margins.f1_max_margin
    patch.setattr(
        margins,
        "f1_max_margin",
        lambda X, y, **named: original(X, np.append(-y[:1], y[1:]), **named),
    )


def limit_of(solver, change):
    """A limit that the user hands in."""

    def spoil(patch):
        data = cluster_data(0)
        return {"problem": data, "limit": change(solver(data.X, data.y), data.X, data.y)}

    return spoil


def half_sphere(patch):
    """A first layer whose biases are all positive."""
    original = f2._first_layer

    def biased(features, dim, key):
        u = original(features, dim, key)
        return np.hstack([u[:, :-1], np.abs(u[:, -1:])])

    patch.setattr(f2, "_first_layer", biased)


def other_kernel(patch):
    original = f2.f2_bracket
    patch.setattr(
        f2,
        "f2_bracket",
        lambda X, y, activation, deadline: original(X, y, "squared_relu", deadline),
    )


def larger_kernel(found, *_):
    return dataclasses.replace(found, lower=1.5**0.5 * found.lower, upper=1.5**0.5 * found.upper)


def uniform_kernel_weights(patch):
    original = margins.f2_max_margin

    def even(X, y, **named):
        found = original(X, y, **named)
        return (
            found
            if "features" in named
            else dataclasses.replace(
                found, value=dataclasses.replace(found.value, coefficients=np.asarray(y))
            )
        )

    patch.setattr(margins, "f2_max_margin", even)


def first_axes(dual=None):
    """Projections onto the first axes, with the solver's upper bound or another."""

    def change(found, X, y, rank, *_):
        V = np.eye(X.shape[1])[:, :rank][::-1] if dual is None else np.eye(X.shape[1])[:, :rank]
        pairs = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, X.shape[1])
        least = float(np.min(np.linalg.norm(pairs @ V, axis=1)))
        upper = found.upper if dual is None or rank == X.shape[1] else dual
        return bf.Bracket(least, upper, "bound", V, least, found.stats)

    return change


def below_full_rank(change):
    return lambda found, X, y, rank, *rest: (
        change(found, X, y, rank) if rank < X.shape[1] else found
    )


def skewed(found, *_):
    return dataclasses.replace(found, value=found.value * 1.01)


def heavier(particles, *_):
    return particles._replace(log_masses=particles.log_masses + 0.1)


def half_as_heavy(particles, *_):
    return particles._replace(log_masses=particles.log_masses - np.log(2))


def sphere_with(**changes):
    def change(measure, *_):
        named = {name: make(measure) for name, make in changes.items()}
        return SphereMeasure(
            **{
                "model": measure.model,
                "neurons": measure.neurons,
                "log_masses": measure.log_masses,
                **named,
            }
        )

    return change


def calls(kind, change):
    """A network whose output is changed: change(output, params, X)."""

    def spoil(patch):
        original = kind.__call__
        patch.setattr(
            kind, "__call__", lambda self, params, X: change(original(self, params, X), params, X)
        )

    return spoil


def gradients(factor):
    def spoil(patch):
        original = bf.SignedTwoLayer.gradient
        patch.setattr(
            bf.SignedTwoLayer,
            "gradient",
            lambda self, params, X, out: type(params)(
                factor(params.W) * original(self, params, X, out).W
            ),
        )

    return spoil


def printed_gradient(patch):
    """∇S as printed in App. C.2: ℓ' in the denominator too."""

    def weights(self, predictions, labels):
        slopes = self.loss.log_slope(labels * predictions)
        return np.exp(slopes - np.logaddexp.reduce(slopes, axis=-1, keepdims=True))

    patch.setattr(losses.SmoothMargin, "weights", weights)


def weights_changed(change):
    def spoil(patch):
        original = losses.SmoothMargin.weights
        patch.setattr(
            losses.SmoothMargin, "weights", lambda self, f, y: change(original, self, f, y)
        )

    return spoil


def smooth_margin_changed(change):
    def spoil(patch):
        original = losses.SmoothMargin.__call__
        patch.setattr(
            losses.SmoothMargin, "__call__", lambda self, f, y: change(original(self, f, y), f)
        )

    return spoil


def sum_for_mean(patch):
    mean = losses.soft_minimum

    def of_the_sum(loss, margins, *rest):
        found = mean(loss, margins, *rest)
        return found._replace(value=found.value - np.log(margins.shape[-1]))

    patch.setattr(losses, "soft_minimum", of_the_sum)


@dataclasses.dataclass(frozen=True)
class Tail(bf.losses.MarginLoss):
    """A loss given by log ℓ and log ℓ' of the margin."""

    kind: str = "polynomial"

    def log_loss(self, margins):
        u = np.asarray(margins, float)
        far, slow = np.maximum(u, 0.0), 1 / np.hypot(1.0, u)
        return {
            "polynomial": np.where(u > 0, -np.log1p(far), np.log1p(np.maximum(-u, 0.0))),
            "twice": np.log(2.0) - u,
            "faster": -1.01 * u,
            "with a factor u": np.log1p(far) - u,
            "saturating": -np.logaddexp(0.0, u),
            "wrong slope": -u,
            "a faster term": np.logaddexp(-u, -1.5 * u),
            "a slow factor": np.log1p(slow) - u,
        }[self.kind]

    def log_slope(self, margins):
        u = np.asarray(margins, float)
        far, slow = np.maximum(u, 0.0), 1 / np.hypot(1.0, u)
        return {
            "polynomial": np.where(u > 0, -2 * np.log1p(far), -np.log1p(np.maximum(-u, 0.0))),
            "twice": np.log(2.0) - u,
            "faster": np.log(1.01) - 1.01 * u,
            "with a factor u": np.where(u > 0, np.log(np.maximum(far, 1e-300)), 0.0) - u,
            "saturating": -np.logaddexp(0.0, u) - np.logaddexp(0.0, -u),
            "wrong slope": -u + np.where(np.abs(u) < 1, 0.1, 0.0),
            "a faster term": np.logaddexp(-u, np.log(1.5) - 1.5 * u),
            "a slow factor": np.log(1 + slow + u * slow**3) - u,
        }[self.kind]

    def log_curvature(self, margins):
        return self.log_slope(margins)


def with_loss(kind):
    return lambda patch: {
        "problem": dataclasses.replace(network_problem(0), loss=bf.SmoothMargin(Tail(kind)))
    }


def inputs_moved(move):
    """A squared-ReLU network whose first input is put at `move` of the second."""

    def spoil(patch):
        problem = smooth_problem(0)
        X = problem.data.X.copy()
        X[0] = X[1] + move * np.append(np.ones(X.shape[1] - 1), 0.0)
        return {"problem": dataclasses.replace(problem, data=bf.Dataset(X, problem.data.y))}

    return spoil


def f2_for_f1(patch):
    patch.setattr(
        generalisation, "f1_max_margin", lambda X, y, **named: bf.limits.f2_max_margin(X, y)
    )


def kernel_margin(found, X, y, *_):
    return dataclasses.replace(found, objective=bf.limits.f2_max_margin(X, y).objective)


def power_of_f1(power, rank=1):
    def spoil(patch):
        def change(found, *_):
            return dataclasses.replace(found, objective=found.objective**power)

        wrapped(generalisation, "f1_max_margin", change)(patch)
        return {"problem": bf.theory.Alternating(2, (3, 5, 7), 0.1, 0.2)} if rank == 2 else None

    return spoil


def power_of_f2(power):
    return wrapped(
        generalisation,
        "f2_max_margin",
        lambda found, *_: dataclasses.replace(found, objective=found.objective**power),
    )


def sees_the_dimension(found, X, *_):
    return random_measure(found, X) if X.shape[1] > 1 else found


def kernel_as_good_as_f1(patch):
    def flat(X, y, **named):
        line = X[:, -1] == 0 if X.shape[1] > 1 else np.full(len(X), True)
        return bf.limits.f1_max_margin(X[line][:, :1], y[line])

    patch.setattr(generalisation, "f2_max_margin", flat)


def bound_with(**factors):
    def change(bound, *_):
        return dataclasses.replace(
            bound, **{name: getattr(bound, name) * factor for name, factor in factors.items()}
        )

    return wrapped(unseen, "margin_bound", change)


def kernel_half(**factors):
    """F2's bound alone, with other terms."""

    def spoil(patch):
        right = generalisation.margin_bound

        def other(X, margin, *args, **named):
            found = right(X, margin, *args, **named)
            some = factors if named.get("space") == "F2" else {}
            return dataclasses.replace(
                found, **{name: factor * getattr(found, name) for name, factor in some.items()}
            )

        patch.setattr(generalisation, "margin_bound", other)

    return spoil


def bound_over(divisor):
    return bound_with(complexity=1 / divisor, union=1 / divisor, confidence=1 / divisor)


def power_of_the_bound(patch):
    wrapped(
        generalisation,
        "margin_bound",
        lambda bound, *_: dataclasses.replace(bound, complexity=bound.complexity**1.1),
    )(patch)


def printed_rademacher(patch):
    original = unseen.margin_bound

    def printed(X, margin, delta=0.05, **named):
        return original(X, margin, delta, rademacher=1 / np.sqrt(len(X)), **named)

    patch.setattr(unseen, "margin_bound", printed)


def silent_bound(patch):
    """A bound too small for any error: only the share of fresh samples can tell, since the formula
    is changed with it."""
    bound_with(complexity=1e-9, union=0.0, confidence=0.0)(patch)
    patch.setattr(
        unseen, "_written_out", lambda data, margin: unseen.margin_bound(data.X, margin).value
    )


def opposite_classifier(found, *_):
    return dataclasses.replace(found, value=found.value._replace(signs=-found.value.signs))


G1, G2, E10 = "C/gamma1", "C/gamma2", "C/eq10"
F1, F2, DISTANCE = (
    (margins, "f1_max_margin"),
    (margins, "f2_max_margin"),
    (class_distances, "interclass_distance"),
)

WORLDS = (
    World(G1, "upper bound × 0.9", wrapped(*F1, scaled(dual=0.9))),
    World(G1, "lower bound × 1.05", wrapped(*F1, scaled(primal=1.05, objective=1.05))),
    World(G1, "both bounds × 0.8", wrapped(*F1, scaled(primal=0.8, dual=0.8, objective=0.8))),
    World(G1, "a random network for the maximiser", wrapped(*F1, random_measure)),
    World(G1, "even weights", wrapped(*F1, even_weights)),
    World(G1, "the maximiser for another label", other_labels),
    World(
        G1,
        "a measure of mass 1.1",
        wrapped(*F1, lambda found, *_: dataclasses.replace(found, value=heavier(found.value))),
    ),
    World(
        G1, "a limit given, of a random network", limit_of(bf.limits.f1_max_margin, random_measure)
    ),
    World(
        G1,
        "a limit given, the solver's own",
        limit_of(bf.limits.f1_max_margin, lambda found, *_: found),
        "still true",
        "it is right",
    ),
    World(
        G2,
        "a limit given, with its bracket × 0.8",
        limit_of(bf.limits.f2_max_margin, scaled(objective=0.8, primal=0.8, dual=0.8)),
    ),
    World(G2, "F1's limit given", limit_of(bf.limits.f1_max_margin, lambda found, *_: found)),
    World(G2, "both brackets × 0.8", wrapped(*F2, scaled(objective=0.8, primal=0.8, dual=0.8))),
    World(G2, "the kernel of squared ReLUs", other_kernel),
    World(G2, "the kernel × 1.5", wrapped(f2, "f2_bracket", larger_kernel)),
    World(G2, "even coefficients", uniform_kernel_weights),
    World(G2, "upper bounds × 1.01", wrapped(*F2, scaled(dual=1.01))),
    World(G2, "a first layer on half of the sphere", half_sphere),
    World(E10, "the first axes, upper bound 1000", wrapped(*DISTANCE, first_axes(1000.0))),
    World(E10, "upper bounds × 100", wrapped(*DISTANCE, below_full_rank(scaled(dual=100.0)))),
    World(
        E10,
        "other axes, with the solver's upper bounds",
        wrapped(*DISTANCE, below_full_rank(first_axes())),
    ),
    World(E10, "upper bounds × 0.9", wrapped(*DISTANCE, below_full_rank(scaled(dual=0.9)))),
    World(E10, "lower bounds × 1.01", wrapped(*DISTANCE, scaled(objective=1.01, primal=1.01))),
    World(E10, "frames that are not orthonormal", wrapped(*DISTANCE, skewed)),
    World("C/prop9", "balanced masses × 1.1", wrapped(variation, "as_particles", heavier)),
    World(
        "C/prop9",
        "the path norm itself, without the factor two",
        wrapped(variation, "as_particles", half_as_heavy),
    ),
    World(
        "C/prop9",
        "norms for squared norms in Π₂",
        wrapped(variation, "sphere_measure", sphere_with(log_masses=lambda m: m.log_masses / 2)),
    ),
    World("C/prop9", "outputs × 1.001", calls(bf.TwoLayer, lambda f, params, X: 1.001 * f)),
    World("C/A1", "a bias of the output", calls(bf.TwoLayer, lambda f, params, X: f + 1e-6)),
    World(
        "C/A1", "degree one", calls(bf.TwoLayer, lambda f, params, X: f / np.linalg.norm(params.a))
    ),
    World(
        "C/A1",
        "degree 2.01",
        calls(bf.SignedTwoLayer, lambda f, params, X: f * np.linalg.norm(params.W) ** 0.01),
        key=1,
    ),
    World(
        "C/A1",
        "no T that changes the sign",
        wrapped(assumptions, "opposite", lambda _, problem: (problem.model, problem.start)),
    ),
    World("C/A2", "a polynomial tail", with_loss("polynomial")),
    World("C/A2", "ℓ ~ 2e^u", with_loss("twice")),
    World("C/A2", "ℓ ~ e^{1.01u}", with_loss("faster")),
    World("C/A2", "ℓ ~ |u|e^u", with_loss("with a factor u")),
    World("C/A2", "a slope that vanishes for large u", with_loss("saturating")),
    World("C/A2", "a slope that is not that of ℓ", with_loss("wrong slope")),
    World(
        "C/A2",
        "ℓ = e^u + e^{1.5u}",
        with_loss("a faster term"),
        "still true",
        "the second term is smaller by e^{u/2}",
    ),
    World("C/A3", "two equal inputs", inputs_moved(0.0)),
    World(
        "C/A3",
        "two inputs 1e-9 apart",
        inputs_moved(1e-9),
        "still true",
        "distinct inputs have distinct kinks",
    ),
    World("C/A3", "gradients × 1.01", gradients(lambda W: 1.01)),
    World(
        "C/A3", "gradients that jump where w₁ changes sign", gradients(lambda W: np.sign(W[:, :1]))
    ),
    World("C/A3", "ReLUs", lambda patch: {"problem": relu_problem(0)}),
    World(
        "C/pi2",
        "a network that is not the sum of its neurons",
        calls(bf.TwoLayer, lambda f, params, X: f + 1e-9),
    ),
    World(
        "C/pi2",
        "norms for squared norms",
        wrapped(assumptions, "sphere_measure", sphere_with(log_masses=lambda m: m.log_masses / 2)),
    ),
    World(
        "C/pi2",
        "equal masses",
        wrapped(
            assumptions,
            "sphere_measure",
            sphere_with(log_masses=lambda m: np.full(80, m.log_norm - np.log(80))),
        ),
    ),
    World(
        "C/pi2",
        "mass × 1.001",
        wrapped(
            assumptions, "sphere_measure", sphere_with(log_masses=lambda m: m.log_masses + 1e-3)
        ),
    ),
    World(
        "C/pi2",
        "neurons in another order",
        wrapped(
            assumptions,
            "sphere_measure",
            sphere_with(neurons=lambda m: type(m.neurons)(*(leaf[::-1] for leaf in m.neurons))),
        ),
    ),
    World(
        "C/lem13",
        "the minimum for the soft minimum",
        smooth_margin_changed(lambda value, f: -np.min(f, axis=-1)),
    ),
    World(
        "C/lem13",
        "the mean score for the soft minimum",
        smooth_margin_changed(lambda value, f: -np.mean(f, axis=-1)),
    ),
    World("C/lem13", "the sum of losses for their mean", sum_for_mean),
    World(
        "C/lem13",
        "ℓ' for ℓ",
        lambda patch: patch.setattr(losses.LogisticLoss, "log_loss", losses.LogisticLoss.log_slope),
        key=1,
    ),
    World("C/lem14", "∇S as printed", printed_gradient, key=1),
    World(
        "C/lem14",
        "∇S as printed, for the exponential",
        printed_gradient,
        "still true",
        "ℓ' = ℓ for the exponential",
    ),
    World(
        "C/lem14",
        "weights × 0.999",
        weights_changed(lambda old, self, f, y: 0.999 * old(self, f, y)),
    ),
    World(
        "C/lem14",
        "equal weights",
        weights_changed(lambda old, self, f, y: np.full(f.shape, 1 / f.shape[-1])),
    ),
    World("C/lem15", "∇S as printed", printed_gradient, key=1),
    World(
        "C/eq6",
        "half the scores in ∇S",
        weights_changed(lambda old, self, f, y: old(self, f / 2, y)),
    ),
    World(
        "C/eq6",
        "a mean of squares for a variance",
        wrapped(softmin, "_variance", lambda found, p, v: float(p @ v**2)),
    ),
    World(
        "C/eq6",
        "the soft maximum",
        wrapped(softmin, "_second_derivative", lambda found, *_: -found),
    ),
    World(
        "C/eq6", "ρ(ρ − 1) + 0.01", wrapped(softmin, "_bulge", lambda found, u: found + 0.01), key=1
    ),
    World(
        "C/eq6",
        "∇S of the exponential for the logistic loss",
        weights_changed(lambda old, self, f, y: np.exp(-f) / np.sum(np.exp(-f))),
        key=1,
    ),
    World(
        "C/eq6",
        "a concave logistic S",
        wrapped(softmin, "_second_derivative", lambda found, *_: -found),
        key=1,
    ),
    World(
        "C/lem15", "half the scores", weights_changed(lambda old, self, f, y: old(self, f / 2, y))
    ),
    World(
        "C/lem15",
        "equal weights",
        weights_changed(lambda old, self, f, y: np.full(f.shape, 1 / f.shape[-1])),
    ),
    World(
        "C/lem15",
        "the largest scores for the least",
        weights_changed(lambda old, self, f, y: old(self, np.max(f) + np.min(f) - f, y)),
    ),
    World("C/lem20", "γ₁^1.1", power_of_f1(1.1)),
    World("C/lem20", "γ₁^1.25", power_of_f1(1.25)),
    World("C/lem20", "γ₁^1.5", power_of_f1(1.5)),
    World("C/lem20", "γ₁^1.1 on checkerboards", power_of_f1(1.1, rank=2)),
    World("C/lem20", "γ₁^1.25 on checkerboards", power_of_f1(1.25, rank=2), slow=True),
    World("C/lem20", "γ₂^1.1", power_of_f2(1.1)),
    World(
        "C/thm8", "F2's margin for F1's", wrapped(generalisation, "f1_max_margin", kernel_margin)
    ),
    World("C/thm8", "F2's classifier for F1's", f2_for_f1),
    World("C/thm8", "F2's classifier for F1's, another line", f2_for_f1, key=1, slow=True),
    World("C/thm8", "the first term to the power 1.1", power_of_the_bound),
    World(
        "C/thm8",
        "a solver that sees further coordinates",
        wrapped(generalisation, "f1_max_margin", sees_the_dimension),
    ),
    World("C/thm8", "a kernel that does not see further coordinates", kernel_as_good_as_f1),
    World("C/thm8", "Rad_n of F2 half as large", kernel_half(rademacher=0.5), slow=True),
    World("C/thm8", "F2's margin to the power 1.1", power_of_f2(1.1), slow=True),
    World(
        "C/thm8", "log₂(R/Δ_r) alone in B", wrapped(generalisation, "_union_factor", lambda *_: 1)
    ),
    World("C/thm22", "the bound / 2", bound_over(2)),
    World("C/thm22", "the bound / 8", bound_over(8), slow=True),
    World("C/thm22", "Rad_n ≤ 1/√n as printed", printed_rademacher),
    World("C/thm22", "Rad_n / 4", bound_with(rademacher=0.25), slow=True),
    World("C/thm22", "a bound below every error, formula and all", silent_bound),
    World(
        "C/thm22", "the opposite classifier", wrapped(unseen, "f1_max_margin", opposite_classifier)
    ),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
