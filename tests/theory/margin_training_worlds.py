"""Worlds for C's claims on training, rates and transport."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.theory.margin import (
    ascent_rates as rates,
    both_layers as training,
    fixed,
    measure_transport as transport,
    more_neurons as widths,
    norm_growth as growth,
    projected,
    trained,
)
from biasflow.theory.margin.margin_examples import (
    line_problem,
    plane_problem,
    population_problem,
    relu_problem,
)
from biasflow.training.feature_ascents import FeatureAscent

RATES = ("C/prop6", "C/prop7", "C/lem17", "C/lem18")


def times_steps(factor):
    """C's steps, longer or shorter."""

    def spoil(patch):
        ascent = fixed.feature_ascent

        def other(Z, steps, training="directions", **named):
            largest = float(np.max(np.abs(Z)))
            if training == "directions":
                return ascent(
                    Z,
                    steps,
                    training,
                    bf.training.InverseRootStep(factor / (16 * largest)),
                    **named,
                )
            return ascent(
                Z,
                steps,
                training,
                bf.training.InverseRootStep(factor * np.sqrt(2) / largest, with_norm=True),
                **named,
            )

        patch.setattr(fixed, "feature_ascent", other)
        patch.setattr(rates, "feature_ascent", other)

    return spoil


def slack_times(factor):
    """A guarantee that promises more."""

    def spoil(patch):
        right = FeatureAscent.guarantee
        patch.setattr(
            FeatureAscent,
            "guarantee",
            lambda self, gamma: gamma - factor * (gamma - right(self, gamma)),
        )

    return spoil


def allowed_times(factor):
    """The proposition's own bound, tighter."""

    def spoil(patch):
        right = rates._slow
        patch.setattr(rates, "_slow", lambda *args: factor * right(*args))
        guarantee = FeatureAscent.guarantee
        patch.setattr(
            FeatureAscent,
            "guarantee",
            lambda self, gamma: gamma - factor * (gamma - guarantee(self, gamma)),
        )

    return spoil


def margin_times(name, factor):
    def spoil(patch):
        right = getattr(fixed, name)
        patch.setattr(
            fixed,
            name,
            lambda Z: dataclasses.replace(right(Z), objective=factor * right(Z).objective),
        )

    return spoil


def wrong_recursion(patch):
    """ā(1 + 2ηg)² with the printed 1 + ηg: half of the growth."""
    right = rates._multiplied
    patch.setattr(rates, "_multiplied", lambda bar, eta, g: right(bar, eta / 2, g))


def other_projection(patch):
    """Iterates of the output layer off the ball's nearest point."""
    ascent = rates.feature_ascent

    def moved(Z, steps, training="directions", **named):
        run = ascent(Z, steps, training, **named)
        if training == "directions":
            return run
        return dataclasses.replace(
            run, iterates=run.iterates * (1 - 1e-6 * np.arange(len(run.iterates))[:, None])
        )

    patch.setattr(rates, "feature_ascent", moved)


def logistic_iterates(patch):
    """The library's ascent with another loss."""
    ascent = rates.feature_ascent
    patch.setattr(
        rates, "feature_ascent", lambda *args, **named: ascent(*args, loss="logistic", **named)
    )
    patch.setattr(
        fixed, "feature_ascent", lambda *args, **named: ascent(*args, loss="logistic", **named)
    )


def growth_of(factor):
    return lambda patch: patch.setattr(rates, "GROWTH", factor)


def still_norm(patch):
    """Ascent whose norm is held: β does not grow."""
    right = fixed.plain_ascent

    def held(*args, **named):
        run = right(*args, **named)
        return dataclasses.replace(run, log_beta=0.0 * run.log_beta, growth=0.0 * run.growth)

    patch.setattr(fixed, "plain_ascent", held)


def gamma_times(factor, name="f1_max_margin"):
    def spoil(patch):
        right = getattr(trained, name)

        def wrong(X, y, **named):
            found = right(X, y, **named)
            other = dataclasses.replace(
                found.certificate,
                dual=factor * found.certificate.dual,
                primal=factor * found.certificate.primal,
            )
            return dataclasses.replace(found, objective=factor * found.objective, certificate=other)

        patch.setattr(trained, name, wrong)

    return spoil


def given_limit(problem, factor, squared):
    """A limit of the user's own that is not γ₁."""

    def spoil(patch):
        asked = problem()
        solver = trained.squared_f1_max_margin if squared else trained.f1_max_margin
        found = solver(asked.data.X[:, :-1], asked.data.y)
        bounds = found.certificate
        wrong = dataclasses.replace(
            bounds, dual=factor * bounds.dual, primal=factor * bounds.primal
        )
        return {
            "problem": asked,
            "limit": dataclasses.replace(
                found, objective=factor * found.objective, certificate=wrong
            ),
        }

    return spoil


def f2_for_f1(patch):
    patch.setattr(trained, "f1_max_margin", lambda X, y, **named: bf.limits.f2_max_margin(X, y))


def short_training(patch):
    """Training that ends at log β = 9 and calls it thirty."""
    right = trained.gradient_flow

    def brief(*args, log_norm=None, **named):
        if log_norm is None:
            return right(*args, **named)
        flow = right(*args, log_norm=9.0, **named)
        return dataclasses.replace(
            flow, states=type(flow.states)(*(np.exp(10.5) * leaf for leaf in flow.states))
        )

    patch.setattr(trained, "gradient_flow", brief)


def frozen_directions(patch):
    """Neurons that grow and never turn."""
    for view in (bf.TwoLayer, bf.SignedTwoLayer):
        right = view.gradient

        def radial(self, params, X, output, right=right):
            found = right(self, params, X, output)
            W = params.W
            along = np.sum(W * found.W, axis=-1, keepdims=True) / np.maximum(
                np.sum(W * W, axis=-1, keepdims=True), 1e-300
            )
            return found._replace(W=along * W)

        patch.setattr(view, "gradient", radial)


def moved_final(patch):
    """The end of training, each neuron turned by a little."""
    right = trained.Trained.state

    def turned(self, k):
        found = right(self, k)
        rng = np.random.default_rng(0)
        W = found.W + 0.05 * np.linalg.norm(found.W, axis=1)[:, None] * rng.standard_normal(
            found.W.shape
        )
        return found._replace(W=W)

    patch.setattr(trained.Trained, "state", turned)


@dataclass(frozen=True)
class Polynomial(bf.losses.MarginLoss):
    """ℓ(−u) = 1/(1 + u) for u > 0, 1 − u for u ≤ 0: no exponential tail."""

    def log_loss(self, margins):
        return np.where(
            margins > 0, -np.log1p(np.maximum(margins, 0)), np.log1p(np.maximum(-margins, 0))
        )

    def log_slope(self, margins):
        return np.where(margins > 0, -2 * np.log1p(np.maximum(margins, 0)), 0.0)

    def log_curvature(self, margins):
        return np.where(margins > 0, np.log(2) - 3 * np.log1p(np.maximum(margins, 0)), -700.0)


def polynomial_tail(problem):
    return lambda patch: {
        "problem": dataclasses.replace(problem(0), loss=bf.SmoothMargin(Polynomial()))
    }


def twice(problem):
    def spoil(patch):
        asked = problem(0)
        data = bf.Dataset(
            np.vstack([asked.data.X, asked.data.X[:1]]), np.append(asked.data.y, asked.data.y[0])
        )
        return {"problem": dataclasses.replace(asked, data=data)}

    return spoil


def half_space(problem):
    def spoil(patch):
        asked = problem(0)
        W = asked.start.W * np.where(asked.start.W[:, :1] > 0, 1, -1)
        return {"problem": dataclasses.replace(asked, start=asked.start._replace(W=W))}

    return spoil


def unbalanced(patch):
    asked = relu_problem(0, balanced=True)
    return {
        "problem": dataclasses.replace(asked, start=asked.start._replace(a=1.001 * asked.start.a))
    }


def wrong_gradient(leaf, factor):
    """One layer learns faster: D is no longer invariant."""

    def spoil(patch):
        right = bf.TwoLayer.gradient

        def wrong(self, params, X, output):
            found = right(self, params, X, output)
            return found._replace(**{leaf: factor * getattr(found, leaf)})

        patch.setattr(bf.TwoLayer, "gradient", wrong)

    return spoil


def decaying_outputs(patch):
    """Output weights that cross zero."""
    right = training.raw_flow

    def crossing(problem, times):
        run = right(problem, times)

        def turned(w):
            return w._replace(a=np.where(np.arange(w.a.size) == 3, -w.a, w.a))

        looser = [tuple(map(turned, others)) for others in run.looser]
        return dataclasses.replace(run, states=[turned(w) for w in run.states], looser=looser)

    patch.setattr(training, "raw_flow", crossing)


def prefactor(power):
    """Networks m^(−power)·Σφ: no limit exists unless power is one."""

    def spoil(patch):
        right = widths._neurons_at

        def other(problem, neurons, m, times, plain_sum=False):
            if plain_sum:
                return right(problem, neurons, m, times, plain_sum)
            scale = m ** ((1 - power) / 2)
            return right(problem, scale * neurons, m, times) / scale

        patch.setattr(widths, "_neurons_at", other)

    return spoil


def law_of(change):
    """Another law than that of the draws."""

    def spoil(patch):
        right = widths._law
        patch.setattr(widths, "_law", lambda size, *rest: right(change * size, *rest))

    return spoil


def moving(**changes):
    """A spoiled transport and growth."""
    return moving_in(transport, **changes)


def moving_in(module, **changes):
    """The same where another module uses them."""

    def spoil(patch):
        right = module.transport_growth

        def wrong(*args):
            found = right(*args)
            return found._replace(
                **{name: factor * getattr(found, name) for name, factor in changes.items()}
            )

        patch.setattr(module, "transport_growth", wrong)

    return spoil


def printed_equation(patch):
    """J' at ν̄ in both, as eq. (12) prints it."""
    patch.setattr(
        transport.Moving,
        "weights",
        lambda self, params: self.problem.loss.weights(
            self.problem.model(params, self.problem.data.X) / np.sum(params.W**2),
            self.problem.data.y,
        ),
    )


def wrong_flow(factor):
    """A flow that is slower than that of the smooth margin."""

    def spoil(patch):
        right = bf.SignedTwoLayer.gradient
        flow = transport.integrate_weights

        def slow(*args):
            with patch.context() as inner:
                inner.setattr(
                    bf.SignedTwoLayer,
                    "gradient",
                    lambda self, *rest: type(right(self, *rest))(factor * right(self, *rest).W),
                )
                return flow(*args)

        patch.setattr(transport, "integrate_weights", slow)

    return spoil


def weights_that_move(patch):
    """Shares that go on passing between two neighbours on the margin: J' hardly changes, its
    gradient does."""
    right = trained._late_weights

    def moving(evidence):
        p, early, last = right(evidence)
        k = int(np.argmax(p[1]))
        near = (
            k + 1
            if k + 1 < p.shape[1] and evidence.network.data.y[k + 1] == evidence.network.data.y[k]
            else k - 1
        )
        p = p.copy()
        p[0, [k, near]] = p[0, [near, k]]
        return p, early, last

    patch.setattr(trained, "_late_weights", moving)


def paced(module, change):
    """Another gradient in the weights alone, where raw gradients are followed: change(W, ∇_W)."""

    def spoil(patch):
        right, flow = bf.SignedTwoLayer.gradient, module.integrate_weights

        def other(*args, **named):
            with patch.context() as inner:
                inner.setattr(
                    bf.SignedTwoLayer,
                    "gradient",
                    lambda self, params, X, output: type(params)(
                        change(params.W, right(self, params, X, output).W)
                    ),
                )
                return flow(*args, **named)

        patch.setattr(module, "integrate_weights", other)

    return spoil


def radial_only(W, slope):
    return (
        W
        * np.sum(W * slope, axis=1, keepdims=True)
        / np.maximum(np.sum(W * W, axis=1, keepdims=True), 1e-300)
    )


def turned_away(W, slope):
    """Neurons grow as they should, and turn away from where J' is large."""
    return 2 * radial_only(W, slope) - slope


def rates_of(low, high):
    return lambda patch: patch.setattr(
        growth, "step_rates", lambda M, v: (4 * (M + low * v), 4 * (M + high * v))
    )


def exponent_of_norm(factor):
    return lambda patch: patch.setattr(growth, "growth_exponent", lambda: factor)


def slower_clock(factor):
    """Times of long training that are off."""

    def spoil(patch):
        right = trained.Trained._followed

        def other(self, rtol):
            found = right(self, rtol)
            return dataclasses.replace(found, times=factor * found.times)

        patch.setattr(trained.Trained, "_followed", other)

    return spoil


def halves_of_length(patch):
    """Parts whose lengths add up in place of their squares: another Π₂."""
    right = projected.split

    def other(problem, key=0):
        parts, owner = right(problem, key)
        return dataclasses.replace(
            parts,
            start=bf.models.SignedTwoLayerParams(parts.start.W / np.sqrt(projected.SPLIT_PARTS)),
        ), owner

    patch.setattr(projected, "split", other)


def pair_for_parts(patch):
    """A start with the same predictor and another Π₂ for one with the same Π₂."""

    def other(problem, key=0):
        found = projected.hidden_pair(problem)
        return found, np.append(np.arange(problem.model.width), [0, 0])

    patch.setattr(projected, "split", other)


LOOSE = "the bound is a true one with room: the verdict's sharpness says how much"
WORLDS = (
    *(World(name, f"steps ×{s:g}", times_steps(s)) for name in RATES for s in (0.1, 10.0, 100.0)),
    *(World("C/prop6", f"guarantee's slack ×{s:g}", slack_times(s)) for s in (0.5, 0.05)),
    *(World("C/prop7", f"guarantee's slack ×{s:g}", slack_times(s)) for s in (0.5, 0.1)),
    World("C/prop6", "allowed ×0.05", allowed_times(0.05), "still true", LOOSE),
    World("C/prop6", "allowed ×0.02", allowed_times(0.02)),
    World("C/prop7", "allowed ×0.1", allowed_times(0.1), "still true", LOOSE),
    World("C/prop7", "allowed ×0.05", allowed_times(0.05)),
    World("C/prop6", "γ₁^(m) ×1.01", margin_times("l1_max_margin", 1.01)),
    World("C/prop7", "γ₂^(m) ×0.99", margin_times("l2_max_margin", 0.99)),
    World(
        "C/prop6",
        "γ₂^(m) for γ₁^(m)",
        lambda patch: patch.setattr(fixed, "l1_max_margin", fixed.l2_max_margin),
    ),
    World("C/prop6", "the logistic loss", logistic_iterates),
    World("C/mirror", "half of the growth", wrong_recursion),
    World("C/mirror", "another projection", other_projection),
    World("C/mirror", "the logistic loss", logistic_iterates),
    World("C/mirror", "steps ×1.001", times_steps(1.001)),
    World("C/lem17", "twice the growth", growth_of(8.0)),
    World("C/lem17", "a norm that is held", still_norm),
    World("C/lem18", "8η for 4η", growth_of(8.0)),
    World("C/lem18", "4.01η for 4η", growth_of(4.01)),
    World(
        "C/lem18",
        "η for 4η, as printed",
        growth_of(1.0),
        "still true",
        "a weaker bound, which the growth exceeds",
    ),
    World("C/lem18", "a norm that is held", still_norm),
    *(
        World("C/thm3", f"γ₁ ×{g:g}", gamma_times(g, "squared_f1_max_margin"), slow=g != 1.005)
        for g in (0.995, 1.005, 1.02)
    ),
    World(
        "C/thm3",
        "a limit given, ×1.01",
        given_limit(lambda: line_problem(0), 1.01, True),
        slow=True,
    ),
    World("C/thm3", "training ends early", short_training),
    World("C/thm3", "neurons that never turn", frozen_directions, slow=True),
    World("C/thm3", "every neuron turned a little", moved_final),
    World("C/thm3", "a polynomial tail", polynomial_tail(line_problem)),
    World("C/thm3", "an input twice", twice(line_problem)),
    World("C/thm3", "neurons of a half space", half_space(line_problem)),
    *(World("C/cor4", f"γ₁ ×{g:g}", gamma_times(g), slow=g != 1.005) for g in (0.995, 1.005, 1.02)),
    World(
        "C/cor4",
        "a limit given, ×0.99",
        given_limit(lambda: plane_problem(0), 0.99, False),
        slow=True,
    ),
    World("C/cor4", "F2 for F1", f2_for_f1, slow=True),
    World("C/cor4", "training ends early", short_training, slow=True),
    World("C/cor4", "every neuron turned a little", moved_final),
    World("C/cor4", "a polynomial tail", polynomial_tail(plane_problem)),
    World("C/thm5", "γ₁ ×1.005", gamma_times(1.005), key=1),
    World("C/thm5", "training ends early", short_training, key=1),
    World("C/thm5", "neurons of a half space", half_space(population_problem), key=1),
    World("C/thm5", "a polynomial tail", polynomial_tail(population_problem), key=1),
    World(
        "C/thm5", "shares that go on moving between neighbours: (*) fails", weights_that_move, key=1
    ),
    World("C/thm10", "neurons that grow half as fast", paced(growth, lambda W, slope: slope / 2)),
    World("C/thm10", "neurons that turn away", paced(growth, turned_away)),
    World("C/thm10", "rates 4(M + v) and 4(M − 3v)", rates_of(1.0, -3.0)),
    World("C/thm10", "neurons of a half space", half_space(growth.step_problem)),
    World("C/growth", "‖ν‖ ~ e^{2γ₁t}", exponent_of_norm(0.5)),
    World("C/growth", "times longer by 3%", slower_clock(1.03)),
    World("C/growth", "γ₁ ×1.02", gamma_times(1.02, "squared_f1_max_margin")),
    World("C/growth", "a polynomial tail", polynomial_tail(growth.growing_problem)),
    World("C/appC2", "lengths that add up", halves_of_length),
    World("C/appC2", "another Π₂ with the same predictor", pair_for_parts),
    World(
        "C/appC2",
        "features that are not 2-homogeneous",
        paced(
            projected, lambda W, slope: slope + 1e-3 * slope * np.linalg.norm(W, axis=1)[:, None]
        ),
    ),
    World(
        "C/appC2",
        "neurons of their own speeds",
        paced(projected, lambda W, slope: slope * (1 + 1e-4 * np.arange(len(W)))[:, None]),
    ),
    World("C/lem26", "a start off D by a thousandth", unbalanced),
    World("C/lem26", "the output layer learns 1% faster", wrong_gradient("a", 1.01)),
    World("C/lem26", "the input layer learns 1% slower", wrong_gradient("W", 0.99)),
    World("C/lem26", "an output weight turns", decaying_outputs),
    *(
        World("C/thm2", f"prefactor m^(−{p:g})", prefactor(p), slow=p != 0.8)
        for p in (0.9, 0.8, 0.6, 0.0)
    ),
    World("C/thm2", "a law twice as wide", law_of(2.0)),
    World("C/thm2", "a polynomial tail", polynomial_tail(line_problem)),
    *(
        World(name, change, spoil)
        for name in ("C/eq11", "C/eq12")
        for change, spoil in (
            ("growth 2J'", moving(growth=0.5)),
            ("growth 4.001J'", moving(growth=1.00025)),
            ("neurons that never turn", moving(velocity=0.0)),
            ("the flow of another clock", wrong_flow(0.99)),
        )
    ),
    World("C/eq12", "J' at ν̄, as printed", printed_equation),
)
FEWER: dict[str, str] = {}
CONSISTENT = {
    "C/thm3": "m → ∞: finitely many neurons have no full support, and the theorem gives no rate",
    "C/cor4": "m, t → ∞, without a rate; ReLUs are outside (A3)",
    "C/thm2": (
        "m → ∞: the theorem gives no rate, and distances are seen to fall on finitely many neurons"
    ),
    "C/thm5": "a density of the inputs, and m, t → ∞",
}
"""Claims whose examples are at best consistent, and what is missing."""
