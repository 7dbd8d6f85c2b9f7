"""Worlds for W's claims on diagonal networks, kernels and matrix completion."""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
import biasflow.models.diagonal as diagonal
import biasflow.models.hyperbola as hyperbola
from biasflow.models.base import MirrorForm
from biasflow.potentials import Hypentropy, ScaledPotential
from biasflow.theory import Evidence, claim
from biasflow.theory.regimes import (
    completion,
    deeper,
    depth_two,
    equivalences,
    escape,
    finite_steps,
    kernel,
    lemmas,
    recovery,
    samples,
    thresholds,
    vanishing,
)


def example(name, key=0):
    return claim(name).example(key)


def with_limit(name, change, key=0):
    """A world in which the limit is what `change(evidence)` says."""

    def spoil(patch):
        evidence = Evidence(example(name, key))
        return {"limit": dataclasses.replace(evidence.limit, value=change(evidence))}

    return spoil


def null_space(share):
    """The limit moved by a share of its largest entry inside the null space of X: it still interpolates."""

    def change(evidence):
        X, beta = evidence.mirror.X, evidence.limit.value
        z = np.random.default_rng(1).standard_normal(X.shape[1])
        z -= np.linalg.pinv(X) @ (X @ z)
        return beta + share * np.max(np.abs(beta)) * z / np.max(np.abs(z))

    return change


def kernel_solution(evidence):
    return evidence.l2.value


def rich_solution(evidence):
    return evidence.l1.value


def at_another_scale(evidence):
    p = evidence.problem
    return bf.limit(p.model, p.data, scale=2 * p.params0.plus[0]).value


def forbidden(model):
    """The gradient in the weights is never evaluated without being noticed."""

    def raises(self, params, X, output_gradient):
        raise RuntimeError("the gradient was called")

    return lambda patch: patch.setattr(model, "gradient", raises)


def one_sided(patch):
    """w₋ descends at half speed: no gradient flow of L."""
    real = bf.DiagonalNetwork.gradient

    def gradient(self, params, X, output_gradient):
        plus, minus = real(self, params, X, output_gradient)
        return bf.DiagonalParams(plus, 0.5 * minus)

    patch.setattr(bf.DiagonalNetwork, "gradient", gradient)


def slowed(patch):
    """∇L halved: ∫r is twice as large."""
    real = bf.DiagonalNetwork.gradient
    patch.setattr(
        bf.DiagonalNetwork,
        "gradient",
        lambda self, params, X, g: bf.DiagonalParams(*(0.5 * part for part in real(self, params, X, g))),
    )


def printed_clock(patch):
    real = diagonal.hyperbolic_form
    patch.setattr(diagonal, "hyperbolic_form", lambda plus, minus, factor, P: real(plus, minus, 2 * factor, P))


def clock_and_exponent(patch):
    printed_clock(patch)
    patch.setattr(depth_two, "EXPONENT", 4.0)


def another_radius(patch):
    """r = α² in place of 2α²."""
    real = hyperbola._log_radius
    patch.setattr(hyperbola, "_log_radius", lambda plus, minus: (real(plus, minus)[0] - np.log(2.0), real(plus, minus)[1]))


def smaller_unit(patch):
    """The library's potential at r = α² in place of 2α²."""
    patch.setattr(
        bf.DiagonalNetwork, "potential", lambda self, scale=None, log_scale=None: Hypentropy(log_alpha=2 * np.log(scale))
    )


def spoiled_flow(patch):
    """Checkpoints whose second half is off by one part in a thousand."""
    p = example("W/thm1")
    flow = bf.gradient_flow(p.model, p.data, p.loss, p.params0)
    late = np.where(np.arange(len(flow.times)) > len(flow.times) // 2, 1.001, 1.0)[:, None]
    states = bf.DiagonalParams(flow.states.plus * late, flow.states.minus)
    return {"problem": p, "flow": dataclasses.replace(flow, states=states)}


def wrong_law(patch):
    """For D ≥ 3: w₊w₋ conserved as for D = 2, and the hypentropy with r = 2α^D."""

    def form(depth, params0, c):
        a, factor = params0.plus, 1 / (8 * c)

        def lift(point):
            delta = point.eta / factor / depth
            return bf.DiagonalParams(a * np.exp(delta), a * np.exp(-delta))

        return MirrorForm(ScaledPotential(factor, Hypentropy(2 * a**depth)), None, lift)

    patch.setattr(diagonal, "_deeper", form)


def next_depth(patch):
    """q_{D+1} in place of q_D."""
    real = diagonal.DepthPotential
    patch.setattr(diagonal, "DepthPotential", lambda depth, **options: real(depth + 1, **options))


def divided(module, name, factor):
    """A function that returns a number, or None, divided."""

    def spoil(patch):
        real = getattr(module, name)

        def changed(*arguments):
            value = real(*arguments)
            return None if value is None else value / factor

        patch.setattr(module, name, changed)

    return spoil


def both_epsilons(factor):
    def spoil(patch):
        divided(depth_two, "least_epsilon_l1", factor)(patch)
        divided(depth_two, "least_epsilon_l2", factor)(patch)

    return spoil


def in_place_of_q(norm):
    return lambda patch: patch.setattr(lemmas, "by_definition", lambda problem, beta: norm(problem, beta))


def steeper_lemma_3(patch):
    patch.setattr(lemmas, "lemma_3_epsilon", lambda alpha, norm: float((alpha / np.sqrt(norm) - 1) ** -8.0))


def without_dimension(patch):
    """Lemma 1 without its e^{−d/(2ε‖β‖₁)}."""
    patch.setattr(lemmas, "lemma_1_epsilon", lambda alpha, norm, d: max(float(np.log(2 * norm) / (2 * np.log(1 / alpha))), 1e-3))


def swapped(patch):
    real = lemmas.extremes
    patch.setattr(lemmas, "extremes", lambda d: (real(d)[1] / np.sqrt(d), np.sqrt(d) * real(d)[0]))


def another_path(change):
    def spoil(patch):
        real = vanishing.saddle_path
        patch.setattr(vanishing, "saddle_path", lambda X, y: change(real(X, y), X, y))

    return spoil


def random_plateaus(path, X, y):
    states = path.states.copy()
    states[1:-1] = np.random.default_rng(0).standard_normal(states[1:-1].shape)
    return dataclasses.replace(path, states=states)


def kernel_end(path, X, y):
    return dataclasses.replace(path, states=np.vstack([path.states[:-1], bf.min_l2(X, y).value]))


def late_jumps(path, X, y):
    return dataclasses.replace(path, times=1.05 * path.times)


def biased_start(patch):
    rng = np.random.default_rng(0)
    p = example("W/limit")
    start = bf.DiagonalParams(rng.uniform(0.1, 1, p.data.d), rng.uniform(0.1, 1, p.data.d))
    return {"problem": dataclasses.replace(p, params0=start)}


def wrong_jacobian(patch):
    """The derivative of w^D without its factor on one side."""
    real = bf.DiagonalNetwork.jacobian

    def jacobian(self, params, X):
        plus, minus = real(self, params, X)
        return bf.DiagonalParams(plus, minus / 2)

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
    patch.setattr(kernel, "min_l2", bf.min_l1)


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
        U, V = problem.params0
        return real(dataclasses.replace(problem, params0=type(problem.params0)(V, U)))

    patch.setattr(completion, "printed_kernel", changed)


def scaled_by_width(patch):
    """Gaussian factors of variance 1/k: the transition does not depend on k."""
    real = completion.started

    def started(problem, k=None, key=0):
        start = real(problem, k, key)
        return start if k is None else dataclasses.replace(start, params0=completion.scaled(start.params0, k**-0.5))

    patch.setattr(completion, "started", started)


def at_r(patch):
    """Gradient flow's limit in place of that at r_eff."""
    real = finite_steps.effective_limit

    def changed(model, data, loss, params0, step, steps, **options):
        predicted, params = real(model, data, loss, params0, step, steps, **options)
        flow = bf.limit(model, data, loss, params0=params0)
        return dataclasses.replace(flow, stats=predicted.stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def without_shift(patch):
    """r_eff, but from the start itself."""
    real = finite_steps.effective_limit

    def changed(model, data, loss, params0, step, steps, **options):
        predicted, params = real(model, data, loss, params0, step, steps, **options)
        potential = Hypentropy(log_alpha=np.log(2 * params0.plus * params0.minus) + predicted.stats["log_gain"])
        value = bf.bregman_projection(potential, data.X, data.y)
        return dataclasses.replace(value, stats=predicted.stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def gain_without_square(patch):
    """Π(1−s) in place of Π(1−s²), so to speak: half of the gain."""
    real = finite_steps.effective_limit

    def changed(*arguments, **options):
        predicted, params = real(*arguments, **options)
        stats = {**predicted.stats, "log_gain": predicted.stats["log_gain"] / 2}
        return dataclasses.replace(predicted, stats=stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def quicker_alpha(patch):
    """α ∝ ε^{1/(D−1)} in place of ε^{1/(D−2)}."""
    patch.setattr(thresholds, "disproportion", lambda log, order, d: np.exp((order - 1) * log) if order > 2 else np.exp(log))


def without_halving(patch):
    """The leading order with D in place of D/2."""
    real = thresholds.leading_alpha
    patch.setattr(thresholds, "leading_alpha", lambda eps, order, d: real(eps / 2, order, d))


def polynomial_two(patch):
    """D = 2 with a power of α in place of its logarithm."""
    real = thresholds.disproportion
    patch.setattr(thresholds, "disproportion", lambda log, order, d: np.exp(log) if order == 2 else real(log, order, d))


def same_order(patch):
    """Other orders whose limits are those of the own."""
    real = thresholds.nearest
    patch.setattr(thresholds, "nearest", lambda problem, order, end: real(problem, problem.model.depth, end))


def next_decay(patch):
    real = thresholds.log_slack
    patch.setattr(thresholds, "log_slack", lambda x, depth: real(x, depth + 1))


def deeper_potential(patch):
    """The library's regulariser one order deeper than the network."""
    real = bf.DiagonalNetwork.potential
    patch.setattr(bf.DiagonalNetwork, "potential", lambda self, **options: real(bf.DiagonalNetwork(self.depth + 1), **options))


def power_in_place_of_q(exponent):
    """|β|^p in place of q: for a p-norm the ratio does not depend on α."""
    return lambda patch: patch.setattr(thresholds, "relative_value", lambda x, order: x ** (exponent - 1))


def bumped(patch):
    """Q with a bump, so that the ratio is not monotone."""
    real = thresholds.relative_value
    patch.setattr(thresholds, "relative_value", lambda x, order: real(x, order) * (1 + 0.3 * np.sin(np.log(x))))


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
    patch.setattr(bf.DiagonalNetwork, "init", lambda self, scale, **options: real(self, np.sqrt(scale), **options))


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
        return dataclasses.replace(louder, params0=problem.params0), speed

    patch.setattr(equivalences, "louder_problem", changed)


def slow_output_layer(patch):
    """v descends at half speed: no gradient flow of L."""
    real = bf.ProductNetwork.gradient

    def gradient(self, params, X, output_gradient):
        u, v = real(self, params, X, output_gradient)
        return bf.ProductParams(u, 0.5 * v)

    patch.setattr(bf.ProductNetwork, "gradient", gradient)


def another_pair(patch):
    """w± = u ± v in place of half of it."""
    patch.setattr(bf.ProductNetwork, "paired", lambda self, params: bf.DiagonalParams(params.u + params.v, params.u - params.v))


def least_nuclear_norm(patch):
    """The completion of least nuclear norm in place of the planted matrix."""

    def completed(problem):
        i, j, values = bf.data.observed_entries(problem.data, problem.model.shape)
        return bf.min_nuclear_norm(problem.model.shape, i, j, values).value

    patch.setattr(recovery, "rank_one_completion", completed)


def zeros_elsewhere(patch):
    """The kernel regime's completion in place of the planted matrix."""

    def completed(problem):
        i, j, values = bf.data.observed_entries(problem.data, problem.model.shape)
        return bf.min_frobenius_norm(problem.model.shape, i, j, values).value

    patch.setattr(recovery, "rank_one_completion", completed)


def fewer_samples(patch):
    """A fifth of the samples."""
    patch.setattr(samples, "ENOUGH", samples.ENOUGH / 5)


def kinder_kernel(patch):
    """The kernel regime's error at twice as many samples."""
    real = samples.kernel_error
    patch.setattr(samples, "kernel_error", lambda n, d: real(2 * n, d))


def dense_truth(patch):
    """A planted predictor with entries everywhere."""
    real = samples.sparse_regression
    patch.setattr(samples, "sparse_regression", lambda n, d, sparsity, noise, key: real(n, d, d, noise, key=key))


WORLDS: tuple[World, ...] = (
    World("W/thm1", "clock and exponent both as printed, 4 for ‖·‖²", clock_and_exponent),
    World(
        "W/thm1",
        "the clock of the library's own flow twice as fast",
        printed_clock,
        "still true",
        "that flow is no evidence here: the limit does not depend on a clock, and the formula is compared with raw gradients",
    ),
    World("W/thm1", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/thm1", "w₋ descends at half speed", one_sided),
    World("W/thm1", "r = α² in place of 2α²", another_radius),
    World("W/thm1", "the limit moved inside the null space by 1e-3", with_limit("W/thm1", null_space(1e-3))),
    World("W/thm1", "the limit moved inside the null space by 1e-8", with_limit("W/thm1", null_space(1e-8))),
    World("W/thm1", "the kernel solution as limit", with_limit("W/thm1", kernel_solution)),
    World("W/thm1", "the limit at another scale", with_limit("W/thm1", at_another_scale)),
    World("W/thm1", "a flow off by 1e-3 in its second half", spoiled_flow),
    World("W/thm2", "the kernel solution as limit", with_limit("W/thm2", kernel_solution)),
    World("W/thm2", "the rich solution as limit, α = 10", with_limit("W/thm2", rich_solution, 1), key=1),
    World("W/thm2", "the limit moved inside the null space by 1e-6", with_limit("W/thm2", null_space(1e-6))),
    World("W/thm2", "∇_w raises, α = 10", forbidden(bf.DiagonalNetwork), key=1),
    World(
        "W/thm2",
        "ε/100, α = 10",
        both_epsilons(100.0),
        "still true",
        "the theorem is loose: the excess is 1e-11 of ε there, as its sharpness says",
        key=1,
    ),
    World("W/thm2", "ε/100 where the excess is ε/63", both_epsilons(100.0), key=3),
    World("W/thm2", "ε/1e13, α = 10", both_epsilons(1e13), key=1),
    World("W/lem1", "ε/1.2", divided(lemmas, "lemma_1_epsilon", 1.2)),
    World("W/lem1", "ε/5", divided(lemmas, "lemma_1_epsilon", 5.0), key=1),
    World("W/lem1", "no threshold for d", without_dimension),
    World("W/lem1", "the library's potential at r = α²", smaller_unit),
    World("W/lem1", "the kernel regime's ℓ2 in place of Q", in_place_of_q(lambda p, b: float(np.sum(b**2)))),
    World("W/lem2", "5ε", divided(lemmas, "lemma_2_epsilon", 0.2), key=1),
    World(
        "W/lem2",
        "5ε, α = 1",
        divided(lemmas, "lemma_2_epsilon", 0.2),
        "still true",
        "at α = 1 the lemma is loose by a factor 24, as its sharpness says",
    ),
    World("W/lem2", "30ε, α = 1", divided(lemmas, "lemma_2_epsilon", 1 / 30)),
    World("W/lem2", "ℓ1 in place of Q", in_place_of_q(lambda p, b: float(np.sum(np.abs(b))))),
    World("W/lem2", "the two vectors swapped", swapped),
    World("W/lem2", "the library's potential at r = α²", smaller_unit),
    World(
        "W/lem3",
        "ε/30",
        divided(lemmas, "lemma_3_epsilon", 30.0),
        "still true",
        "the deviation is (‖β‖/α²)²/48 to leading order: ε may be 48 times smaller, as its sharpness says",
    ),
    World("W/lem3", "ε/100", divided(lemmas, "lemma_3_epsilon", 100.0)),
    World("W/lem3", "ε^{−1/8} in place of ε^{−1/4}", steeper_lemma_3),
    World("W/lem3", "ℓ1 in place of Q", in_place_of_q(lambda p, b: float(np.sum(np.abs(b))))),
    World("W/lem3", "the library's potential at r = α²", smaller_unit),
    World("W/thm3", "another conservation law and another potential", wrong_law),
    World("W/thm3", "another conservation law and another potential, D = 4", wrong_law, key=1),
    World("W/thm3", "q_{D+1}", next_depth),
    World("W/thm3", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/thm3", "the limit moved inside the null space by 1e-6", with_limit("W/thm3", null_space(1e-6))),
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
        lambda patch: patch.setattr(deeper, "lemma_4_bound", lambda a, D, c: a ** (3 - D) / (2 * c * D * (D - 2))),
    ),
    World("W/lem4", "∇L halved", slowed),
    World("W/lem4", "∇_w raises", forbidden(bf.DiagonalNetwork)),
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
    World("W/fn2", "the limit moved inside the null space by 1e-6", with_limit("W/fn2", null_space(1e-6))),
    World("W/fn2", "∇_w raises", forbidden(bf.ProductNetwork)),
    World("W/sec5", "α ∝ ε^{1/(D−1)}", quicker_alpha, key=1),
    World("W/sec5", "D in place of D/2", without_halving),
    World("W/sec5", "a power of α for D = 2 too", polynomial_two),
    World("W/sec5", "ε/100", divided(thresholds, "sufficient_epsilon", 100.0)),
    World("W/sec5", "the kernel solution as limit", with_limit("W/sec5", kernel_solution)),
    World("W/sec5", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/unique", "limits of the own order", same_order),
    World("W/unique", "q_{D+1}'", next_decay),
    World("W/unique", "the limit moved inside the null space by 1e-6", with_limit("W/unique", null_space(1e-6))),
    World("W/unique", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/eq58", "ℓ1 in place of Q", power_in_place_of_q(1.0)),
    World("W/eq58", "ℓ2² in place of Q", power_in_place_of_q(2.0)),
    World("W/eq58", "Q with a bump", bumped),
    World("W/eq58", "the library's q_{D+1}", deeper_potential, key=1),
    World("W/eq58", "the library's potential at r = α²", smaller_unit),
    World("W/escape", "0.7 times the rate, D = 2", constant_rate(0.7)),
    World("W/escape", "1.1 times the rate, D = 3", constant_rate(1.1), key=1),
    World("W/escape", "‖Xᵀy‖₂ in place of ‖Xᵀy‖_∞", rate_by_norm, key=2),
    World("W/escape", "starts that shrink like √α", warm_start, key=1),
    World("W/escape", "∇L halved, D = 3", slowed, key=1),
    World("W/samples", "a fifth of the samples", fewer_samples),
    World("W/samples", "a dense planted predictor", dense_truth),
    World("W/samples", "min ℓ2 in place of min ℓ1", lambda patch: patch.setattr(samples, "min_l1", bf.min_l2)),
    World(
        "W/samples",
        "a kernel regime that needs √d",
        lambda patch: patch.setattr(samples, "kernel_error", lambda n, d: 1 - n / d**0.5),
    ),
    World("W/limit", "random plateaus", another_path(random_plateaus)),
    World("W/limit", "jumps 5% later", another_path(late_jumps)),
    World("W/limit", "an end at min ℓ2", another_path(kernel_end)),
    World("W/limit", "the clock as printed, 4c", lambda patch: patch.setattr(vanishing, "EXPONENT", 4.0)),
    World("W/limit", "a biased start that is not uniform", biased_start),
    World("W/sec3", "a network that mistakes its degree", mistaken_degree),
    World("W/sec3", "a wrong derivative in the kernel", wrong_jacobian),
    World("W/sec3", "min ℓ1 in place of min ℓ2", rich_kernel),
    World("W/sec3", "half of the kernel", frozen_kernel),
    World("W/sec3", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/sec6", "rows that share a direction", shared_direction),
    World("W/sec6", "Gaussian factors of variance 1/k", scaled_by_width),
    World("W/sec6", "layers swapped in the kernel as printed", layers_swapped, slow=True),
    World("W/sec6", "∇_w raises", forbidden(bf.MatrixFactorisation)),
    World("W/sec6-rich", "the completion of least nuclear norm, where it is another", least_nuclear_norm, key=2),
    World("W/sec6-rich", "zeros on the unobserved entries", zeros_elsewhere),
    World(
        "W/sec6-rich",
        "large starts",
        lambda patch: patch.setattr(recovery, "SMALL", tuple(1e8 * unit for unit in recovery.SMALL)),
    ),
    World("W/sec6-rich", "∇_w raises", forbidden(bf.MatrixFactorisation)),
    World("W/descent", "gradient flow's limit, at r", at_r),
    World("W/descent", "r_eff without the shift", without_shift),
    World("W/descent", "half of the gain", gain_without_square),
    World("W/descent", "∇_w raises", forbidden(bf.DiagonalNetwork)),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
